# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Stages `cache` with a file and `snapshot`: the values are those of the pipeline, whatever becomes of the file; a file of another pipeline is refused;
training on them has the bits of a cache in memory, killed, continued and by several processes at once.
"""
import json
import os
import signal
import subprocess
import sys

import numpy as np
import data
from data import ARTEL, check, report, run, same
from support.checksum import crc32c

ROWS, HEAD, SLOT = 50, 4096, 8 + 24
X = np.random.default_rng(5).integers(0, 1000, (ROWS, 3)).astype("i8")


def save(*stages, file="d.npz"):
    with open("p.json", "w") as f:
        json.dump({"from": "npz:" + file, "stages": list(stages)}, f)


def rows(*stages):
    save(*stages)
    return data.deliver("pipeline:p.json#x", "int64")


def refused(name, stages, *words):
    save(*stages)
    data.refused(name, "pipeline:p.json#x", *words)


def change(path, at, content):
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(content)


def files():
    cached = {"stage": "cache", "file": "c"}
    skip = {"stage": "skip", "count": 2}
    want = X[2:]
    same("made", rows(skip, cached), want)
    same("read", rows(skip, cached), want)
    at = HEAD + 7 * SLOT
    with open("c", "rb") as f:
        f.seek(at)
        place = f.read(SLOT)
    check("place", place[8:] == want[7].tobytes(), place)
    # The head's sum is over the place's position and the value: a value written with it is believed.
    other = (want[7] + 1).tobytes()
    change("c", at, place[:4] + crc32c(at.to_bytes(8, "little") + other).to_bytes(4, "little") + other)
    believed = want.copy()
    believed[7] += 1
    same("it is the file that is read", rows(skip, cached), believed)
    change("c", at + 10, b"\x99\x98")
    same("damage is made anew", rows(skip, cached), want)
    for size in (HEAD + 20 * SLOT + 5, HEAD, HEAD + 1):
        os.truncate("c", size)
        same("cut to %d" % size, rows(skip, cached), want)
    change("c", HEAD + 3 * SLOT, bytes(SLOT))
    same("a place that is empty", rows(skip, cached), want)
    # Places that were swapped belong to nobody.
    with open("c", "r+b") as f:
        f.seek(HEAD)
        first, second = f.read(SLOT), f.read(SLOT)
        f.seek(HEAD)
        f.write(second + first)
    same("swapped", rows(skip, cached), want)


def strangers():
    cached = {"stage": "cache", "file": "s"}
    rows({"stage": "take", "count": 9}, cached)
    for stages in ([{"stage": "take", "count": 8}, cached], [cached], [{"stage": "skip", "count": 41}, cached]):
        refused("another pipeline", stages, "another pipeline")
    np.savez("d.npz", x=X + 1)
    refused("other data", [{"stage": "take", "count": 9}, cached], "another pipeline")
    np.savez("d.npz", x=X)
    same("the same again", rows({"stage": "take", "count": 9}, cached), X[:9])
    change("s", 20, b"?")
    refused("a damaged head", [{"stage": "take", "count": 9}, cached], "head of the cache is damaged")
    for name, content in (("text", b"a letter\n" * 900), ("empty", b"")):
        with open(name, "wb") as f:
            f.write(content)
        refused("no cache: " + name, [{"stage": "cache", "file": name}], "no cache of artel")
        with open(name, "rb") as f:
            check("it is as it was: " + name, f.read() == content)
    refused("no end", [{"stage": "repeat"}, cached], "no end")
    refused("no folder", [{"stage": "cache", "file": "nowhere/c"}], "nowhere")


def DS6_snapshots():
    kept = {"stage": "snapshot", "folder": "snaps/of"}
    for stages, count in (([kept], 1), ([kept], 1), ([{"stage": "skip", "count": 1}, kept], 2), ([kept, {"stage": "skip", "count": 1}], 2)):
        skipped = len(stages) - 1
        same("snapshot", rows(*stages), X[skipped:])
        names = os.listdir("snaps/of")
        check("snapshots", len(names) == count and all(n.endswith(".snapshot") for n in names), names)


def training():
    """Random crops that are drawn once: by memory, by file, by two processes at once, with one killed."""
    model = "m.keras"
    code, _, err = run(ARTEL, "new", "mlp", "--input", "12,12,3", "--output", model)
    check("new", code == 0, err)
    rng = np.random.default_rng(1)
    np.savez("i.npz", x=rng.integers(0, 255, (120, 14, 14, 3)).astype("u1"), y=rng.integers(0, 10, 120))
    crop = {"stage": "random_crop", "column": "x", "height": 12, "width": 12}

    def words(stage, out):
        save(crop, stage, file="i.npz")
        os.replace("p.json", out + ".json")
        return [ARTEL, "fit", model, "--data", "pipeline:%s.json" % out, "--batch-size", "16", "--epochs", "3", "--verbose", "0", "--output", out + ".keras"]

    def digest(out):
        return run(ARTEL, "inspect", out + ".keras", "--digest")[1].split()[-1]

    code, _, err = run(*words({"stage": "cache"}, "memory"))
    check("memory", code == 0, err)
    kept = {"stage": "snapshot", "folder": "crops"}
    both = [subprocess.Popen(words(kept, name), stderr=subprocess.PIPE, text=True) for name in ("one", "two")]
    for name, p in zip(("one", "two"), both):
        err = p.communicate()[1]
        check(name, p.returncode == 0 and digest(name) == digest("memory"), err)
    file = os.path.join("crops", os.listdir("crops")[0])
    with open(file, "rb") as f:
        whole = f.read()
    os.unlink(file)
    p = subprocess.Popen([*words(kept, "killed"), "--epochs", "100000", "--json"], stdout=subprocess.PIPE, text=True)
    next(line for line in p.stdout if '"step"' in line)
    p.send_signal(signal.SIGKILL)
    p.communicate()
    code, _, err = run(*words(kept, "after"))
    with open(file, "rb") as f:
        check("after a kill", code == 0 and digest("after") == digest("memory") and f.read() == whole, err)


np.savez("d.npz", x=X)
files()
strangers()
DS6_snapshots()
training()
sys.exit(report())
