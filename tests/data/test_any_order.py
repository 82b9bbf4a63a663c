# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# long form: 600
"""Random pipelines, with every stage that draws, orders, keeps or joins: an element is the same bits whatever was asked for before it, in
whichever pass, with all the memory for data or with none, at home or from a data service. So a run that goes on at any element goes on alike.
"""
import json
import math
import os
import re
import subprocess
import sys

import numpy as np
from data import ARTEL, PROGRAM, check, report

LONG = os.environ.get("ARTEL_LONG") == "1"
RNG = np.random.default_rng(31)
files = 0


def source(depth):
    global files
    kind = RNG.choice(["file", "file", "concatenate", "interleave", "sample", "chain"]) if depth > 0 else "file"
    if kind == "chain":
        return {"from": source(depth - 1), "stages": stages()}
    if kind == "file":
        files += 1
        n = int(RNG.choice([1, 2, 5, 9, 17, 33]))
        if RNG.integers(3) == 0:
            with open("a%d.csv" % files, "w") as f:
                f.write("a,b,y\n" + "".join("%d,%.3f,1\n" % (i, v) for i, v in enumerate(RNG.random(n))))
            return {"from": "csv:a%d.csv#label=y&stream=yes" % files, "stages": [dict(stage="select", columns=["x"]), dict(stage="reshape", column="x", shape=[1, 2, 1]),
                                                                          dict(stage="resize", column="x", height=4, width=5), dict(stage="cast", column="x", dtype="float32")]}
        np.savez("a%d.npz" % files, x=RNG.integers(0, 256, (n, 4, 5, 1)).astype("f4"))
        return "npz:a%d.npz" % files
    parts = [source(depth - 1) for _ in range(RNG.integers(1, 4))]
    if kind == "interleave":
        return {kind: parts, "cycle": int(RNG.integers(1, 5)), "block": int(RNG.integers(1, 4))}
    if kind == "sample":
        return {kind: parts, "weights": [int(v) for v in RNG.integers(1, 4, len(parts))], "seed": int(RNG.integers(9))}
    return {kind: parts}


def one_stage():
    n = lambda low, high: int(RNG.integers(low, high))
    kept = "k%d" % n(0, 10**9)
    return [
        lambda: [dict(stage="shuffle", seed=n(0, 9))], lambda: [dict(stage="shuffle", seed=n(0, 9), buffer=n(1, 20))],
        lambda: [dict(stage="repeat", count=n(1, 4))], lambda: [dict(stage="skip", count=n(0, 3))], lambda: [dict(stage="take", count=n(3, 60))],
        lambda: [dict(stage="shard", count=2, index=0)], lambda: [{"stage": "filter", "column": "x", "is": "<", "value": n(240, 300)}],
        lambda: [dict(stage="cache")], lambda: [dict(stage="cache", file=kept)], lambda: [dict(stage="snapshot", folder="s")],
        lambda: [dict(stage="window", size=n(1, 4), shift=n(1, 3)), dict(stage="unbatch")], lambda: [dict(stage="batch", size=n(1, 4)), dict(stage="unbatch")],
        lambda: [dict(stage="random_crop", column="x", height=4, width=4, seed=n(0, 9)), dict(stage="resize", column="x", height=4, width=5)],
        lambda: [dict(stage="random_flip", column="x", seed=n(0, 9))], lambda: [dict(stage="random_brightness", column="x", low=-9, high=9)],
        lambda: [dict(stage="random_contrast", column="x", low=0.5, high=2)], lambda: [dict(stage="scale", column="x", divide=3, add=1)],
        lambda: [dict(stage="repeat"), dict(stage="skip", count=n(0, 99)), dict(stage="take", count=n(1, 70))],
    ][RNG.integers(18)]()


def stages():
    return sum((one_stage() for _ in range(RNG.integers(1, 6))), [])


def read(spec, passed=0, **more):
    env = dict(os.environ, ARTEL_TEST_PASS=str(passed), **{"ARTEL_TEST_" + k.upper(): str(v) for k, v in more.items()})
    done = subprocess.run([PROGRAM, spec, "float32", "out.raw"], capture_output=True, text=True, timeout=100, env=env)
    if done.returncode:
        return None, done.stderr
    return np.fromfile("out.raw", "f4").reshape(-1, 20), done.stderr


def clear():
    for name in [n for n in os.listdir(".") if re.match(r"k\d+$", n)] + ["s/" + n for n in (os.listdir("s") if os.path.isdir("s") else [])]:
        os.unlink(name)


def orders(name, spec, whole):
    """Each element behind another one: backwards and in strides, in a pass, with and without memory."""
    n, passed = len(whole[0]), 0
    steps = [max(n - 1, 1)] + [s for s in (3, 7, 11, 13) if math.gcd(s, n) == 1][:1]
    for step in steps:
        for memory in (0, 1):
            passed = 1 - passed
            clear()
            found, said = read(spec, passed, step=step, rows=n, memory=memory)
            wanted = whole[passed][np.arange(n) * step % n]
            good = found is not None and found.tobytes() == wanted.tobytes()
            check("%s, pass %d, step %d, memory %d" % (name, passed, step, memory), good, said, open("p.json").read())


def served(name, pipeline, whole):
    """The same from a data service of one worker, from the last element to the first."""
    d = subprocess.Popen([ARTEL, "data-service", "dispatcher", "p=" + pipeline, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    at = d.stdout.readline().split()[-1]
    w = subprocess.Popen([ARTEL, "data-service", "worker", at, "--threads", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    w.stdout.readline()
    for passed in (0, 1):
        found, said = read("service:%s/p#x" % at, passed, step=max(len(whole[0]) - 1, 1), rows=len(whole[0]))
        wanted = whole[passed][np.arange(len(whole[0])) * max(len(whole[0]) - 1, 1) % len(whole[0])]
        check("%s served, pass %d" % (name, passed), found is not None and found.tobytes() == wanted.tobytes(), said, open("p.json").read())
    for p in (w, d):
        p.terminate()
        p.wait()
        p.stdout.close()


told = 0
for turn in range(300 if LONG else 24):
    value = {"from": source(int(RNG.integers(1, 4))), "stages": stages()}
    with open("p.json", "w") as f:
        json.dump(value, f)
    clear()
    first, said = read("pipeline:p.json#x")
    if first is None:
        check("tree %d is empty" % turn, "empty" in said or "no element" in said, said, json.dumps(value))
        continue
    told += 1
    second = read("pipeline:p.json#x", 1)[0]
    check("tree %d, all in another pass" % turn, second is not None and len(second) == len(first))
    orders("tree %d" % turn, "pipeline:p.json#x", [first, second])
    if turn % 6 == 0:
        served("tree %d" % turn, "pipeline:p.json", [first, second])
check("trees with rows", told >= 15, told)
sys.exit(report())
