# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""A table that is larger than the memory any task may have: each server draws its own rows, and the rest lies in files."""

import os
import sys

import numpy as np
from cli import K, L, expect, run_checks
from cluster import Patience, Task
from oracle import artel, digest
from servers import FOLDER, jobs, path

ROWS, WIDTH = 1200000, 16  # 77 MB, and as much again of the optimizer
LEAST = {"chief": 60_000_000, "worker": 60_000_000, "ps": 100_000_000}  # bytes of data a process may have (prlimit --data)
TABLE = ROWS * WIDTH * 4


def model():
    """An architecture without weights: these come from the seed."""
    x = K.Input((8,), dtype="int32")
    m = K.Model(x, L.Dense(1, activation="sigmoid")(L.Dense(16, activation="relu")(L.Flatten()(L.Embedding(999, WIDTH, name="big")(x)))))
    with open(path("big.json"), "w") as f:
        f.write(m.to_json().replace('"input_dim": 999', '"input_dim": %d' % ROWS))
    r = np.random.default_rng(0)
    np.savez(path("d.npz"), x=r.integers(0, ROWS, (128, 8)).astype("int32"), y=r.integers(0, 2, (128, 1)).astype("float32"))
    return path("big.json")


def words(file, *more):
    return ["fit", file, "--data", "npz:" + path("d.npz") + "#x,y", "--loss", "binary_crossentropy", "--optimizer", "adagrad", "--metrics", "accuracy", "--epochs", "1", "--threads", "1",
            "--verbose", "0", *more]


def limited(workers, servers, file, *more):
    """A job whose tasks may have no more memory than that; the digest of what it writes."""
    out = path("limited.keras")
    args = words(file, "--strategy", "parameter-server", "--post-mortem", "none", "--insecure-network", "--partitioner", "fixed:%d" % servers, "--ps-copies", 1, "--spill", FOLDER, "--output", out, *more)
    tasks = {who: Task(args, env, prefix=("prlimit", "--data=%d" % LEAST[who[0]])) for who, env in jobs(workers, servers).items()}
    for task in tasks.values():
        task.drain()
    patience = Patience(300)
    for who, task in tasks.items():
        expect(task.finish(patience) == 0, who, "of limited memory:", task.err()[-400:])
    expect(not [name for name in os.listdir(FOLDER) if name.startswith("artel-spill")], "files are left")
    return digest(out)


def one(file, *more):
    ran = artel(*words(file, "--output", path("one.keras"), *more))
    expect(ran.rc == 0, "one process", ran.err)
    return digest(path("one.keras"))


def PS9_beyond():
    """The bits of one process that has it all; what was written is read again by another number of servers, each task as limited as before."""
    assert all(limit < TABLE for who, limit in LEAST.items() if who != "ps") and LEAST["ps"] < 2 * TABLE
    file = model()
    bits = one(file)
    expect(limited(2, 3, file, "--consistency", "sync") == bits, "other bits of rows that servers have drawn")
    os.rename(path("one.keras"), path("again.keras"))
    bits = one(path("again.keras"))
    expect(limited(1, 4, path("again.keras"), "--consistency", "bounded:0") == bits, "other bits of a table that was read")


def without():
    """The limit is one: without a folder the chief has no place for the table. And what the folder refuses is said."""
    ran = artel(*words(path("big.json"), "--spill", path("nowhere")))
    expect(ran.rc == 1 and "nowhere" in ran.err, "a folder that is not there", ran.rc, ran.err)
    who, env = next((who, env) for who, env in jobs(1, 1).items() if who[0] == "chief")
    task = Task(words(path("big.json"), "--strategy", "parameter-server", "--post-mortem", "none", "--insecure-network"), env, prefix=("prlimit", "--data=%d" % LEAST[who[0]]))
    task.drain()
    expect(task.finish(60) == 2 and "not to be had" in task.err(), "without a folder:", task.err()[-300:])


sys.exit(run_checks(PS9_beyond, without))
