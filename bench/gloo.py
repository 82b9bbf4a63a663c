# SPDX-License-Identifier: Apache-2.0
"""All-reduce over loopback: artel's collectives beside torch.distributed's gloo.

usage: gloo.py --coll-bench PROGRAM [--rounds 5] [--ranks 2,4] [--out bench/all-reduce.md]
       gloo.py rank RANK RANKS PORT          one process of gloo, started by the former

PROGRAM is bench/coll_bench.c, built as its head says. In each round, in turn: artel through shared memory (what ranks of one host use),
over TCP, over TLS, and gloo; float32 sums, every rank bound to a core (several share one where there are fewer). Figures are medians over the
rounds of each run's median. Gloo runs under TORCH_PYTHON (else python3).
"""
import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

from run import HERE, machine

SIZES = {4: 400, 65536: 400, 4 << 20: 60, 100000000: 8}  # bytes: calls; as in coll_bench.c
WAYS = {"shm": "artel", "tcp": "artel, TCP", "tls": "artel, mTLS", "gloo": "gloo"}


def be_rank(rank, ranks, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(ranks), GLOO_SOCKET_IFNAME="lo")
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    for size, calls in SIZES.items():
        x, took = torch.ones(size // 4), []
        for i in range(-(calls // 8 + 2), calls):
            start = time.perf_counter()
            torch.distributed.all_reduce(x)
            end = time.perf_counter()
            took += [end - start] if i >= 0 else []
            x.div_(ranks)
        if rank == 0:
            print(json.dumps({"bytes": size, "us": 1e6 * statistics.median(took)}), flush=True)
    torch.distributed.barrier()


def cores(ranks):
    usable = sorted(os.sched_getaffinity(0))
    return [str(usable[r % len(usable)]) for r in range(ranks)]


def run_artel(program, way, ranks):
    done = subprocess.run([program, way, str(ranks), *cores(ranks)[:min(ranks, os.cpu_count())]], capture_output=True, text=True, timeout=300)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return {int(size): float(us) for size, us in re.findall(r"(\d+) bytes: all-reduce +([\d.]+) us", done.stdout)}


def run_gloo(ranks):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    python = os.environ.get("TORCH_PYTHON", "python3")
    started = [subprocess.Popen(["taskset", "-c", core, python, os.path.abspath(__file__), "rank", str(r), str(ranks), port],
                                env=dict(os.environ, OMP_NUM_THREADS="1"), stdout=subprocess.PIPE, text=True) for r, core in enumerate(cores(ranks))]
    lines = [p.communicate(timeout=300)[0] for p in started][0].splitlines()
    return {e["bytes"]: e["us"] for e in map(json.loads, lines)}


def write(path, rounds, table):
    with open(path, "w") as out:
        out.write(f"# All-reduce between processes of one machine\n\n{machine()}; loopback; {rounds} interleaved rounds, medians, microseconds; written by "
                  "`bench/gloo.py`. \"artel\" is through shared memory, as ranks of one host do it.\n\n| ranks | bytes | "
                  + " | ".join(WAYS.values()) + " | gloo / artel | gloo / TCP |\n|---|---|---|---|---|---|---|---|\n")
        for (ranks, size), got in table.items():
            us = {way: statistics.median(got[way]) for way in WAYS}
            out.write(f"| {ranks} | {size:,} | " + " | ".join(f"{us[w]:,.1f}" for w in WAYS) + f" | {us['gloo'] / us['shm']:.1f} | {us['gloo'] / us['tcp']:.1f} |\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--coll-bench", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--ranks", default="2,4")
    p.add_argument("--out", default=os.path.join(HERE, "all-reduce.md"))
    a = p.parse_args()
    table = {(ranks, size): {way: [] for way in WAYS} for ranks in map(int, a.ranks.split(",")) for size in SIZES}
    for _ in range(a.rounds):
        for ranks in map(int, a.ranks.split(",")):
            for way in WAYS:
                found = run_gloo(ranks) if way == "gloo" else run_artel(a.coll_bench, way, ranks)
                for size, us in found.items():
                    table[ranks, size][way].append(us)
                    print(json.dumps({"ranks": ranks, "way": way, "bytes": size, "us": us}), flush=True)
    write(a.out, a.rounds, table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        be_rank(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        main()
