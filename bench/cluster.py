# SPDX-License-Identifier: Apache-2.0
"""Two workers with a core each: artel beside TensorFlow's MultiWorkerMirroredStrategy and PyTorch's DistributedDataParallel.

usage: cluster.py --artel PROGRAM [--rounds 7] [--models mlp,convnet,resnet50] [--out bench/cluster.md]

In each round, in turn: artel as two workers (plain and encrypted), two artel processes that know nothing of each other, and both
peers. Figures are medians over the rounds of the examples a second of both workers together.

Workers that agree after each step go at the pace of the slower one in each step; who that is changes. What that alone costs on the
machine is told beside: the rate of the two processes that know nothing of each other, had each waited for the other after each step, in
parts of their rate. An exchange that took no time at all would reach it.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile

import models
from run import HERE, export, find_peers, machine

CASES = {"mlp": 64, "convnet": 128, "resnet50": 8}  # rows a worker and step


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--models", default=",".join(CASES))
    p.add_argument("--out", default=os.path.join(HERE, "cluster.md"))
    p.add_argument("--keras-dir", default="")
    return p.parse_args()


def ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    numbers = [str(s.getsockname()[1]) for s in sockets]
    for s in sockets:
        s.close()
    return numbers


def side_by_side(commands, env=None):
    """One process a core; the JSON lines of each."""
    cores = sorted(os.sched_getaffinity(0))
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", **(env or {}))
    started = [subprocess.Popen(["taskset", "-c", str(cores[i])] + c, env=env, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for i, c in enumerate(commands)]
    try:
        ended = [p.communicate(timeout=600) for p in started]
    except subprocess.TimeoutExpired:
        for p in started:
            p.kill()
        return []
    for p, (_, err) in zip(started, ended):
        if p.returncode:
            print(err[-500:], file=sys.stderr)
    return [[json.loads(line) for line in out.splitlines() if line.startswith("{")] for out, _ in ended]


def fit(a, folder, name, batch, rows):
    return [os.path.abspath(a.artel), "fit", os.path.join(folder, name + ".keras"), "--data", f"synthetic:{rows}", "--batch-size", str(batch),
            "--threads", "1", "--json=epochs", "--verbose", "0"]


def run_artel(a, folder, name, certs=None):
    batch = CASES[name]
    rows = models.MODELS[name]["steps"] * batch * 2
    where = ports(2)
    cluster = {"worker": ["127.0.0.1:" + p for p in where]}
    path = os.path.join(folder, "cluster.json")
    with open(path, "w") as f:
        json.dump(cluster, f)
    command = fit(a, folder, name, 2 * batch, rows) + ["--strategy", "multi-worker", "--cluster-file", path]
    command += ["--cert-dir", certs] if certs else []
    lines = side_by_side([command + ["--task", "worker:%d" % r] for r in range(2)])
    ends = [e for e in lines[0] if e["event"] == "end"] if lines else []
    return 2 * batch / (ends[0]["step_ms"] * 1e-3) if ends else None


def run_apart(a, folder, name):
    batch = CASES[name]
    command = fit(a, folder, name, batch, models.MODELS[name]["steps"] * batch) + ["--strategy", "one-device"]
    lines = side_by_side([command, command])
    ends = [e for one in lines for e in one if e["event"] == "end"]
    return sum(batch / (e["step_ms"] * 1e-3) for e in ends) if len(ends) == 2 else None


def run_in_step(a, folder, name):
    """From the beginnings of the steps in two timelines."""
    batch, lengths = CASES[name], []
    traces = [os.path.join(a.scratch, "trace%d.json" % r) for r in range(2)]
    command = fit(a, folder, name, batch, models.MODELS[name]["steps"] * batch) + ["--strategy", "one-device", "--profile"]
    side_by_side([command + [t] for t in traces])
    for trace in traces:
        with open(trace) as f:
            begins = [e["ts"] for e in json.load(f) if e.get("cat") == "step"][1:]
        lengths.append([b - a for a, b in zip(begins, begins[1:])])
    slower = statistics.median(map(max, zip(*lengths)))
    return 2 / slower / sum(1 / statistics.median(one) for one in lengths)


def run_peer(peer, python, name):
    where = ports(2)
    command = [python, os.path.join(HERE, "cluster_peer.py"), peer, name, str(CASES[name])]
    lines = side_by_side([command + [str(r)] + where for r in range(2)])
    return lines[0][-1]["rate"] if lines and lines[0] else None


def measure(a, folder, pythons, certs, name):
    runs = {"artel": lambda: run_artel(a, folder, name), "artel, encrypted": lambda: run_artel(a, folder, name, certs),
            "artel, two apart": lambda: run_apart(a, folder, name), "artel, in step": lambda: run_in_step(a, folder, name)}
    for peer, python in pythons.items():
        runs[peer] = lambda peer=peer, python=python: run_peer(peer, python, name)
    got = {k: [] for k in runs}
    for _ in range(a.rounds):
        for key, run in runs.items():
            rate = run()
            if rate:
                got[key].append(rate)
    row = {"model": name, "batch": CASES[name], "rates": {k: statistics.median(v) for k, v in got.items() if v}, "rounds": a.rounds}
    print(json.dumps(row), flush=True)
    return row


def write(path, rows):
    with open(path, "w") as out:
        out.write(f"# Two workers with a core each\n\n{machine()}; loopback; interleaved rounds, medians; written by `bench/cluster.py`. Examples a second "
                  "of both workers together. In no time: what two apart would reach if each waited for the other after each step.\n\n"
                  "| model | a worker | rounds | artel | of two apart | in no time | encrypted | TensorFlow MWMS | PyTorch DDP | ahead by |\n"
                  "|---|---|---|---|---|---|---|---|---|---|\n")
        for row in rows:
            r = row["rates"]
            best = max(r.get("tensorflow", 0), r.get("torch", 0))
            own, apart, safe = r.get("artel", 0), r.get("artel, two apart", 0), r.get("artel, encrypted", 0)
            out.write(f"| {row['model']} | {row['batch']} | {row['rounds']} | {own:,.1f} | {own / apart if apart else 0:.2f} | "
                      f"{r.get('artel, in step', 0):.2f} | {safe / own if own else 0:.2f} | "
                      f"{r.get('tensorflow', 0):,.1f} | {r.get('torch', 0):,.1f} | {own / best if best else 0:.2f} |\n")


def main():
    a = arguments()
    pythons = find_peers(a.artel)
    with tempfile.TemporaryDirectory() as scratch:
        folder, a.scratch = a.keras_dir or scratch, scratch
        certs = os.path.join(scratch, "certs")
        for command in (["init", certs], ["issue", certs, "worker-[0-1]"]):
            subprocess.run([os.path.abspath(a.artel), "cert", *command], check=True, capture_output=True)
        names = a.models.split(",")
        export(folder, names, pythons)
        write(a.out, [measure(a, folder, pythons, certs, name) for name in names])


if __name__ == "__main__":
    main()
