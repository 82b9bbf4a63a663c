# SPDX-License-Identifier: Apache-2.0
"""A loop written by hand beside `fit`: the convolutional network of examples/fashion-mnist, the same samples in the same order, the same digest.

usage: loop.py --artel PROGRAM [--loop build/examples/custom_loop] [--threads 1] [--samples 6400] [--rounds 9] [--bar 2] [--out bench/loop.md]

Each contender trains twice, on the samples once and four times; the difference is three passes without start and end. The two take turns within a
round, and whoever begins changes from round to round. Figures are medians over the rounds; the ratio is the median of the rounds' ratios. The exit code is 1 when
digests differ or the loop is slower than fit by more than the bar, in percent. Runs are pinned to as many cores as they are to have threads, and neither is told a number: both
take the cores that they may use.
"""
import argparse
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from run import HERE, machine

SOURCE = os.path.dirname(HERE)
MODEL = os.path.join(SOURCE, "examples", "fashion-mnist", "cnn.json")
FEW, MANY = 1, 4


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--loop", help="the example custom_loop; beside the program unless given")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--samples", type=int, default=6400)
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--bar", type=float, default=2)
    p.add_argument("--out", default=os.path.join(HERE, "loop.md"))
    a = p.parse_args()
    if a.threads < 1 or a.threads > len(os.sched_getaffinity(0)):
        p.error(f"--threads {a.threads}: this process may use {len(os.sched_getaffinity(0))} cores")
    a.artel = os.path.abspath(a.artel)
    a.loop = os.path.abspath(a.loop or os.path.join(os.path.dirname(a.artel), "examples", "custom_loop"))
    return a


def make(a, path):
    """Random images and labels, in idx files: a loop by hand reads files, and gives no shape to synthetic rows."""
    dice = random.Random(0)
    with open(path + ".images", "wb") as images, open(path + ".labels", "wb") as labels:
        images.write(struct.pack(">4i", 0x803, a.samples, 28, 28) + dice.randbytes(784 * a.samples))
        labels.write(struct.pack(">2i", 0x801, a.samples) + bytes(dice.choices(range(10), k=a.samples)))
    a.data = f"idx:{path}.images,{path}.labels"


def commands(a, passes, out):
    data = a.data
    return {"fit": [a.artel, "fit", MODEL, "--data", data, "--loss", "sparse_categorical_crossentropy", "--optimizer", "adam", "--epochs", str(passes), "--strategy", "one-device",
                    "--verbose", "0", "--output", out],
            "loop": [a.loop, MODEL, data, out, str(passes), "one-device", "1"]}


def seconds(a, who, passes, out):
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:a.threads]))
    begin = time.perf_counter()
    done = subprocess.run(["taskset", "-c", cores, *commands(a, passes, out)[who]], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"loop: {who} failed: {done.stderr}")
    return time.perf_counter() - begin


def digest(a, path):
    return re.search(r"[0-9a-f]{64}", subprocess.run([a.artel, "inspect", path, "--digest"], capture_output=True, text=True, check=True).stdout)[0]


def measure(a, folder):
    """Seconds of three passes by contender and round; ends the program where the two make other weights."""
    found = {"fit": [], "loop": []}
    for number in range(a.rounds):
        made = {}
        for who in sorted(found, reverse=number % 2 == 1):
            out = os.path.join(folder, who + ".keras")
            few = seconds(a, who, FEW, out)
            found[who].append(seconds(a, who, MANY, out) - few)
            made[who] = digest(a, out)
        if made["fit"] != made["loop"]:
            sys.exit(f"loop: other digests: {made}")
    return found, made["fit"]


def main():
    a = arguments()
    with tempfile.TemporaryDirectory() as folder:
        make(a, os.path.join(folder, "data"))
        found, value = measure(a, folder)
    ratio = statistics.median(l / f for l, f in zip(found["loop"], found["fit"]))
    rate = {who: (MANY - FEW) * a.samples / statistics.median(times) for who, times in found.items()}
    text = "\n".join(["# A loop of one's own beside fit", "", f"{machine()}; `python3 bench/loop.py`, {a.threads} thread, {a.samples} samples a pass, {a.rounds} rounds in turn, medians.", "",
                      "| | samples a second | digest |", "|---|---|---|", *(f"| {who} | {rate[who]:,.0f} | `{value[:16]}` |" for who in rate), "",
                      f"The loop takes {100 * (ratio - 1):+.2f} % of fit's time; the bar is {a.bar:g} %.", ""])
    with open(a.out, "w") as out:
        out.write(text)
    print(text)
    return ratio > 1 + a.bar / 100


sys.exit(main())
