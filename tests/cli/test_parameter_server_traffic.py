# SPDX-License-Identifier: Apache-2.0
# timeout: 240
"""Variables of parameter servers move once by the traffic that was measured, with real processes: what is said of it, that bits stay, and tasks that are
lost and started again around it."""

import re
import sys

import numpy as np
from cli import K, L, expect, run_checks, save
from oracle import digest
from servers import STEPS, launch, loses, one_process, path, plan, trains

ROWS = 500
DATA = "npz:" + path("traffic.npz") + "#a,c,y"


def uneven():
    """Most bytes are a table of which a batch reads little, so all that travels much lies at the other server."""
    a, c = K.Input((2,), dtype="int32", name="a"), K.Input((4,), name="c")
    h = L.Concatenate()([L.Flatten()(L.Embedding(20000, 16, name="table")(a)), c])
    for name in ("one", "two", "three"):
        h = L.Dense(256, activation="relu", name=name)(h)
    m = K.Model([a, c], L.Dense(3, activation="softmax")(h))
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def heavy():
    """One variable is most of all."""
    m = K.Sequential([K.Input((4,)), L.Dense(8000, activation="relu", use_bias=False), L.Dense(3, activation="softmax", name="last")])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def data():
    r = np.random.default_rng(4)
    a, c, y = r.integers(0, 20000, (ROWS, 2)).astype("int32"), r.normal(size=(ROWS, 4)).astype("float32"), r.integers(0, 3, ROWS).astype("int32")
    np.savez(path("traffic.npz"), a=a, c=c, y=y)


data()
MODEL = save(uneven, path("uneven.keras"))
MOVED = re.compile(r"has had ([0-9.]+) times the mean traffic; with (\d+) of \d+ pieces elsewhere it has ([0-9.]+) times")


def moved(said, times=1):
    """So often, and to an even load."""
    found = MOVED.findall(said)
    expect(len(found) == times, "moves", found, said[-800:])
    expect(all(float(before) > 1.5 and float(after) <= 1.1 for before, _, after in found), "ratios", found)
    expect(said.count(" goes from ") == sum(int(pieces) for _, pieces, _ in found), "pieces", said[-800:])


def told_again(ran):
    """Who owns how much, and all pieces, before and after the move."""
    parts = re.findall(r"^# parts, placed by traffic (once it is|that was) measured.*\n((?:ps .*\n)+)", plan(ran), re.M)
    expect([when for when, _ in parts] == ["once it is", "that was"], "lists of pieces", parts)
    lines = [dict(reversed(line.split(": ", 1)) for line in pieces.splitlines() if "/" in line) for _, pieces in parts]
    gone = sorted(name.split(" ")[0] for name in lines[0] if lines[0][name] != lines[1][name])
    expect(gone == sorted(re.findall(r"(\S+) goes from ", ran.err)), "moved", gone, ran.err[-800:])
    expect(len(re.findall(r" owns \d+ bytes of variables", ran.err)) == 4, "owners", ran.err[-800:])


def bits():
    """In sync a run has the bits of one process, wherever variables lie; in other modes each batch counts once. With copies too."""
    alone, kept = one_process(MODEL, DATA)
    for more in (("--ps-copies", "1"), ()):
        h, ran = trains(2, 2, MODEL, DATA, "--consistency", "sync", "--explain", *more, falls=False)
        moved(ran.err)
        told_again(ran)
        expect(digest(path("o.keras")) == alone and h == kept, "other bits", more)
    for mode in ("async", "bounded:1", "sync:1"):
        _, ran = trains(2, 2, MODEL, DATA, "--consistency", mode, "--ps-copies", "2", falls=False)
        expect(mode == "sync:1" or len(MOVED.findall(ran.err)) == 1, mode, ran.err[-800:])


def stays():
    """What cannot be evened out is named; what is even is not mentioned."""
    _, ran = trains(1, 2, save(heavy, path("heavy.keras")), DATA.replace("#a,c", "#c"), falls=False)
    expect("last/kernel alone has" in ran.err and "--partitioner" in ran.err and not MOVED.search(ran.err), ran.err[-800:])
    _, ran = trains(1, 1, MODEL, DATA, falls=False)
    expect("mean traffic" not in ran.err, ran.err[-800:])


def losing():
    """A server is killed after the move: what it has is made anew, without copies from the last epoch's end, with copies by who has one."""
    alone, _ = one_process(MODEL, DATA, "--epochs", "8")
    for more in (("--ps-copies", "1"), ("--ps-copies", "2")):
        moved(loses("ps", 0, MODEL, DATA, "--consistency", "sync", *more, epochs=8, step=STEPS + 3))
        expect(digest(path("lost.keras")) == alone, "other bits", more)
    moved(loses("ps", 1, MODEL, DATA, "--ps-copies", "2", epochs=8, step=STEPS + 3))


def again():
    """A run that goes on from a checkpoint measures again, and has the bits of one that was never ended."""
    alone, _ = one_process(MODEL, DATA, "--epochs", "5")
    more = ("--consistency", "sync", "--checkpoint-dir", path("checkpoints"))
    _, ran = trains(2, 2, MODEL, DATA, *more, falls=False)
    moved(ran.err)
    out = path("again.keras")
    ran = launch(2, 2, MODEL, DATA, *more, "--epochs", "5", "--output", out)
    expect(ran.rc == 0 and digest(out) == alone, "exit code", ran.rc, ran.err[-800:])
    moved(ran.err)


sys.exit(run_checks(bits, stays, losing, again))
