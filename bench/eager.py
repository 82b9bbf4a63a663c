# SPDX-License-Identifier: Apache-2.0
"""What a call costs besides its arithmetic, in C and in the eager modes of TensorFlow and PyTorch, each on one core.

usage: eager.py --eager-bench PROGRAM [--rounds 5] [--out bench/eager.md]

PROGRAM is bench/eager_bench.c, built by hand after artel: cc -O2 -Iinclude bench/eager_bench.c build/libartel.so -o build/eager_bench.
Peers are those of the Python that runs this; what is not installed is left out. Contenders take turns in each round; figures are the
fastest of the rounds, as timeit recommends, for the machine only adds to them.

add       a + b of 16 float32
empty     a cached function of no arguments that does nothing (tf.function; PyTorch has none without compiling)
gradient  of sum(x * x) with respect to x: artel_eager_call of a traced function, GradientTape, backward
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BARS = {"add": "100 ns", "empty": "1 us", "gradient": "10 x faster"}

TENSORFLOW = """
import tensorflow as tf, json, time
tf.config.threading.set_intra_op_parallelism_threads(1)
a, b = tf.random.uniform([16]), tf.random.uniform([16])
nothing = tf.function(lambda: None)
def gradient():
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.reduce_sum(a * a)
    return tape.gradient(y, a)
calls = {"add": lambda: a + b, "empty": nothing, "gradient": gradient}
"""
TORCH = """
import torch, json, time
torch.set_num_threads(1)
a, b = torch.rand(16), torch.rand(16)
x = torch.rand(16, requires_grad=True)
def gradient():
    x.grad = None
    (x * x).sum().backward()
calls = {"add": lambda: a + b, "gradient": gradient}
"""
MEASURE = """
found = {}
for name, call in calls.items():
    best = 1e9
    for _ in range(7):
        begin = time.perf_counter_ns()
        for _ in range(2000):
            call()
        best = min(best, (time.perf_counter_ns() - begin) / 2000)
    found[name] = best
print(json.dumps(found))
"""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--eager-bench", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--out", default=os.path.join(HERE, "eager.md"))
    a = p.parse_args()
    core = min(os.sched_getaffinity(0))
    contenders = {"artel": [os.path.abspath(a.eager_bench)], "TensorFlow": [sys.executable, "-c", TENSORFLOW + MEASURE],
                  "PyTorch": [sys.executable, "-c", TORCH + MEASURE]}
    best = {}
    for _ in range(a.rounds):
        for name, command in contenders.items():
            done = subprocess.run(["taskset", "-c", str(core), *command], capture_output=True, text=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""})
            if done.returncode:
                if name == "artel":
                    sys.exit(done.stderr)
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            before = best.setdefault(name, found)
            best[name] = {key: min(value, before[key]) for key, value in found.items()}
    rows = [f"| {what} | " + " | ".join(f"{best[name][what]:,.0f} ns" if what in best[name] else "-" for name in best) + f" | {BARS[what]} |" for what in BARS]
    text = ["# What a call costs", "", f"`python3 bench/eager.py --eager-bench PROGRAM`, one core, the fastest of {a.rounds} rounds in turn. What is measured: the head of [eager.py](eager.py).", "",
            "| | " + " | ".join(best) + " | bar |", "|---" * (len(best) + 2) + "|", *rows, ""]
    with open(a.out, "w") as f:
        f.write("\n".join(text))
    print("\n".join(text))


main()
