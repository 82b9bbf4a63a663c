# SPDX-License-Identifier: Apache-2.0
"""What is paid besides the arithmetic of large batches: the start, the smallest steps, the cut into shards, the second replica.

usage: start.py --artel PROGRAM [--rounds 7] [--parts start,small,shards,replicas] [--models mlp,cnn,...] [--found FILE] [--out bench/start.md]

start     the MLP: exec to the line of its first step, read here; the first step over a later one; resident memory just before the
          model file is opened (a pipe in its place: the program waits there) and at its peak
small     training steps of the MLP with one row, artel beside TensorFlow (as it is, XLA) and PyTorch (as it is, compiled)
shards    a step cut into 8 virtual shards over the same step as one shard
replicas  two replicas on two cores at one global batch over two processes that know nothing of each other, a core and half of
          the rows each

Rounds are interleaved, figures are medians over them. All but `replicas` use one core. Bars are the right column of the tables.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import models
from cluster import side_by_side
from run import HERE, Peer, export, find_peers, machine, pinned, run_artel

BARS = {"start": "25 ms", "first": "2", "rss": "20 MB"}
SMALL_BARS = ("200", "3")  # microseconds, times faster than the best peer
CUT_BARS = {"mlp": ("10 %", "0.85"), "cnn": ("3 %", "0.97"), "transformer": ("3 %", "0.97"), "resnet50": ("3 %", "0.97")}  # shards, replicas
STEPS, ROWS = 40, 38400  # of the runs that show the start; of so many rows those of a batch are made when it is fetched
SMALL = ("tensorflow:function", "tensorflow:xla", "torch:eager", "torch:compile")
CUT = {"mlp": 256, "cnn": 64, "transformer": 16, "resnet50": 16}  # rows of a step that is cut, into shards or for two replicas
PARTS = ("start", "small", "shards", "replicas")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--models", default=",".join(CUT), help="of the parts shards and replicas")
    p.add_argument("--found", help="a file with what other calls have found, for parts that are measured one by one; added to")
    p.add_argument("--out", default=os.path.join(HERE, "start.md"))
    p.add_argument("--keras-dir", default="", help="where the .keras files are or will be")
    return p.parse_args()


def fit(a, path, rows, batch, *more):
    return [os.path.abspath(a.artel), "fit", path, "--data", f"synthetic:{rows}", "--batch-size", str(batch), "--verbose", "0", *more]


def until_first_step(a, path):
    """Seconds from exec until the line of the first step can be read, and the event of the end."""
    begin, seen, text = time.perf_counter(), None, b""
    process = subprocess.Popen(fit(a, path, ROWS, 64, "--steps-per-epoch", str(STEPS), "--threads", "1", "--json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    while piece := os.read(process.stdout.fileno(), 1 << 16):
        text += piece
        if seen is None and b'"event": "step"' in text:
            seen = time.perf_counter() - begin
    if process.wait() or seen is None:
        raise SystemExit("start: artel fit did not reach its first step")
    return seen, json.loads(text.splitlines()[-1])


def memory_before_model(a, folder):
    """Resident MB while the program waits for its model to be opened."""
    path = os.path.join(folder, "waiting.keras")
    os.mkfifo(path)
    process = subprocess.Popen(fit(a, path, ROWS, 64, "--threads", "1"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        status = open(f"/proc/{process.pid}/status").read()
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # fails when nobody was waiting
    finally:
        process.kill()
        process.wait()
        os.unlink(path)
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def start_round(a, folder, pythons):
    seconds, end = until_first_step(a, os.path.join(folder, "mlp.keras"))
    return {"start": 1e3 * seconds, "told": end["start_ms"], "first": end["first_step_ms"] / end["step_ms"],
            "rss": memory_before_model(a, folder), "peak": end["peak_rss_bytes"] / 2**20}


def small_round(a, folder, pythons):
    found = {"artel": run_artel(a, folder, "mlp", 1, 1)}
    for key in SMALL:
        framework = key.split(":")[0]
        if framework in pythons:
            peer = Peer(key, pythons[framework], "mlp", 1, 1)
            found[key] = peer.turn()
            peer.close()
    return {k: 1e6 / v["rate"] for k, v in found.items() if v}  # microseconds a step


def step_ms(a, folder, name, threads, *more):
    rows = models.MODELS[name]["steps"] * CUT[name]
    end = pinned(fit(a, os.path.join(folder, name + ".keras"), rows, CUT[name], "--threads", str(threads), "--json=epochs", *more), threads)
    if not end:
        raise SystemExit(f"start: artel fit of {name} failed")
    return end["step_ms"]


def shards_round(a, folder, pythons):
    found = {}
    for name in a.models.split(","):
        for shards in ("1", "8"):
            found[f"{name} {shards}"] = step_ms(a, folder, name, 1, "--strategy", "one-device", "--shards", shards)
    return found


def replicas_round(a, folder, pythons):
    found = {}
    for name in a.models.split(","):
        half, path = CUT[name] // 2, os.path.join(folder, name + ".keras")
        apart = fit(a, path, models.MODELS[name]["steps"] * half, half, "--threads", "1", "--strategy", "one-device", "--json=epochs")
        ends = [e for lines in side_by_side([apart, apart]) for e in lines if e["event"] == "end"]
        if len(ends) == 2:
            found[name + " apart"] = sum(half / (e["step_ms"] * 1e-3) for e in ends)
        found[name + " two"] = CUT[name] / (step_ms(a, folder, name, 2, "--strategy", "mirrored", "--replicas", "2") * 1e-3)
    return found


def write_start(out, m):
    out.write("## From exec to the first step\n\nThe MLP with 64 rows a step. The program itself knows its start to a tick of 10 ms only.\n\n| | | bar |\n|---|---|---|\n"
              f"| exec to the first step, seen from outside | {m['start']:.1f} ms | {BARS['start']} |\n| the same as `start_ms` tells it | {m['told']:.1f} ms | |\n"
              f"| the first step over a later one | {m['first']:.2f} | {BARS['first']} |\n| resident before the model file is opened | {m['rss']:.1f} MB | {BARS['rss']} |\n"
              f"| resident at the peak of the run | {m['peak']:.1f} MB | |\n")


def write_small(out, m):
    best = min((v for k, v in m.items() if k != "artel"), default=float("nan"))
    out.write("\n## Steps of one row\n\nThe MLP, SGD with momentum; microseconds a step.\n\n| | us | artel faster by | bar |\n|---|---|---|---|\n")
    for key in ("artel",) + SMALL:
        if key in m:
            bar = SMALL_BARS[0] if key == "artel" else SMALL_BARS[1] if m[key] == best else ""
            out.write(f"| {key} | {m[key]:,.1f} | {'' if key == 'artel' else '%.2f' % (m[key] / m['artel'])} | {bar} |\n")


def write_shards(out, m):
    out.write("\n## 8 virtual shards\n\n| model | rows | one shard, ms | 8 shards, ms | cost | bar |\n|---|---|---|---|---|---|\n")
    for name in [n for n in CUT if n + " 1" in m]:
        one, eight = m[name + " 1"], m[name + " 8"]
        out.write(f"| {name} | {CUT[name]} | {one:,.2f} | {eight:,.2f} | {100 * (eight / one - 1):.1f} % | {CUT_BARS[name][0]} |\n")


def write_replicas(out, m):
    out.write("\n## Two replicas on two cores\n\nExamples a second.\n\n| model | global batch | two replicas | two processes apart | share | bar |\n|---|---|---|---|---|---|\n")
    for name in [n for n in CUT if n + " apart" in m]:
        two, apart = m[name + " two"], m[name + " apart"]
        out.write(f"| {name} | {CUT[name]} | {two:,.1f} | {apart:,.1f} | {two / apart:.2f} | {CUT_BARS[name][1]} |\n")


def write(path, found):
    with open(path, "w") as out:
        out.write(f"# Start, small steps, shards, replicas\n\n{machine()}; interleaved rounds, medians; written by `bench/start.py`.\n\n")
        for part, put in (("start", write_start), ("small", write_small), ("shards", write_shards), ("replicas", write_replicas)):
            if part in found:
                put(out, {k: statistics.median(v) for k, v in found[part].items()})


def main():
    a, found = arguments(), {}
    rounds = {"start": start_round, "small": small_round, "shards": shards_round, "replicas": replicas_round}
    parts = [p for p in PARTS if p in a.parts.split(",")]
    if a.found and os.path.exists(a.found):
        found = {k: v for k, v in json.load(open(a.found)).items() if k not in parts}
    pythons = find_peers(a.artel)
    with tempfile.TemporaryDirectory() as scratch:
        folder = a.keras_dir or scratch
        cut = a.models.split(",") if {"shards", "replicas"} & set(parts) else []
        export(folder, sorted({"mlp", *cut}), pythons)
        for _ in range(a.rounds):
            for part in parts:
                one = rounds[part](a, folder, pythons)
                print(part, json.dumps(one), flush=True)
                for key, value in one.items():
                    found.setdefault(part, {}).setdefault(key, []).append(value)
    if a.found:
        json.dump(found, open(a.found, "w"))
    write(a.out, found)


if __name__ == "__main__":
    main()
