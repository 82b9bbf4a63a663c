# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# processors: 2
"""Tables of embeddings on parameter servers with real processes: which travel by rows, whose bits they have, and when a task is lost."""

import re
import sys

import numpy as np
from cli import K, L, expect, run_checks, save
from oracle import artel, digest
from servers import launch, loses, one_process, path, plan, trains, words

TABLES = "npz:" + path("tables.npz") + "#a,b,c,y"
ROWS = 500


def tables(**odd):
    """Three tables: one that is averaged over five tokens, one whose last rows belong to a smaller piece, one that is smaller than a batch."""

    def build():
        a, b, c = K.Input((5,), dtype="int32", name="a"), K.Input((1,), dtype="int32", name="b"), K.Input((4,), name="c")
        big, few = L.Embedding(1000, 6, mask_zero=True, name="big")(a), L.Flatten()(L.Embedding(7, 3, name="few")(c[:, :1]))
        single = L.Flatten()(L.Embedding(3001, 9, name="odd", **odd)(b))
        h = L.Concatenate()([L.GlobalAveragePooling1D()(big), single, few, c])
        m = K.Model([a, b, c], L.Dense(3, activation="softmax")(L.Dropout(0.2)(L.Dense(16, activation="relu")(h))))
        m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return m

    return build


def data():
    """Some tokens in nearly every batch, most in few, many in none; within a batch and within a record they repeat."""
    r = np.random.default_rng(1)
    a, b = r.zipf(1.2, (ROWS, 5)) % 1000, r.zipf(1.3, (ROWS, 1)) % 3001
    c = np.concatenate([r.integers(0, 7, (ROWS, 1)), r.normal(size=(ROWS, 3))], 1)
    np.savez(path("tables.npz"), a=a.astype("int32"), b=b.astype("int32"), c=c.astype("float32"), y=r.integers(0, 3, ROWS).astype("int32"))


data()
MODEL = save(tables(), path("tables.keras"))
RULES = ("sgd:learning_rate=0.1", "sgd:momentum=0.9,nesterov=true", "rmsprop:centered=true,momentum=0.5", "adagrad", "ftrl", "adadelta", "adamax", "nadam",
         "lion", "adamw", "adam:amsgrad=true", "adam:clipvalue=0.001", "adam:learning_rate=cosine_decay(initial=0.1,steps=15)")


def rules():
    """Late steps, sums over repeated tokens and squares of occurrences: one process has the same bits, whose walk of a table visits each row."""
    for i, rule in enumerate(RULES):
        bits, kept = one_process(MODEL, TABLES, "--optimizer", rule)
        workers, mode = ((1, "bounded:0"), (2, "sync"))[i % 2]
        h, _ = trains(workers, 2, MODEL, TABLES, "--consistency", mode, "--partitioner", "fixed:3", "--optimizer", rule, falls=False)
        expect(digest(path("o.keras")) == bits and h == kept, "other bits with", rule, mode)


def placement(model, *more):
    ran = launch(1, 2, model, TABLES, "--explain", "--epochs", "1", *more)
    expect(ran.rc == 0, "exit code", ran.rc, ran.err[-400:])
    parts = re.split(r"^# parts, ", plan(ran), maxsplit=1, flags=re.M)[1].splitlines()
    return {t: any(t + "/embeddings" in line and "(rows travel alone)" in line for line in parts) for t in ("big", "odd", "few")}


def which():
    """Rows travel where a batch reads fewer than there are, and nothing wants the whole table; else the table does, with the same bits."""
    expect(placement(MODEL) == {"big": True, "odd": True, "few": False}, "of plain tables", placement(MODEL))
    for text in ("adam:clipnorm=0.1", "adam:use_ema=true", "lamb"):
        expect(not any(placement(MODEL, "--optimizer", text).values()), "rows travel with", text)
    for name, odd in (("embeddings_regularizer", "l2"), ("embeddings_constraint", "unit_norm")):
        model = save(tables(**{name: odd}), path("odd.keras"))
        expect(placement(model) == {"big": True, "odd": False, "few": False}, "with", name, placement(model))
        bits, _ = one_process(model, TABLES)
        trains(2, 2, model, TABLES, "--consistency", "sync")
        expect(digest(path("o.keras")) == bits, "other bits with", name)


def shared():
    """A table that two embeddings read, and one that a layer behind computes the tokens of."""

    def build():
        a, b, c = K.Input((5,), dtype="int32", name="a"), K.Input((1,), dtype="int32", name="b"), K.Input((4,), name="c")
        both, hashed = L.Embedding(3001, 4, name="big"), L.Embedding(1000, 4, name="odd")
        bucket = K.ops.minimum(b, 999)
        h = L.Concatenate()([L.Flatten()(both(a)), L.Flatten()(both(b)), L.Flatten()(hashed(bucket)), c])
        m = K.Model([a, b, c], L.Dense(3, activation="softmax")(h))
        m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return m

    model = save(build, path("shared.keras"))
    told = placement(model)
    expect(told == {"big": False, "odd": True, "few": False}, "of two readers, and of computed tokens", told)
    bits, _ = one_process(model, TABLES)
    trains(2, 2, model, TABLES, "--consistency", "sync")
    expect(digest(path("o.keras")) == bits, "other bits")


def free():
    """Without order: every batch counts once, and it learns."""
    trains(3, 2, MODEL, TABLES, "--partitioner", "fixed:4", secure=True)
    trains(2, 2, MODEL, TABLES, "--consistency", "bounded:1")


def losing():
    """A lost worker in sync, and a lost server: rows that had waited for their steps have made them in the state that all go back to."""
    bits, _ = one_process(MODEL, TABLES, "--epochs", "20")
    loses("worker", 0, MODEL, TABLES, "--consistency", "sync")
    expect(digest(path("lost.keras")) == bits, "a lost worker changes bits in sync")
    loses("ps", 1, MODEL, TABLES, "--consistency", "sync", "--partitioner", "fixed:3")
    expect(digest(path("lost.keras")) == bits, "a lost server changes bits in sync")
    loses("worker", 1, MODEL, TABLES)


def outside():
    """A token that no table has is named, as by one process."""
    r = np.load(path("tables.npz"))
    arrays = {k: r[k].copy() for k in r.files}
    arrays["b"][3] = 3001
    np.savez(path("outside.npz"), **arrays)
    bad = "npz:" + path("outside.npz") + "#a,b,c,y"
    alone, ran = artel(*words(MODEL, bad)), launch(1, 1, MODEL, bad)
    expect(alone.rc == 1 and "holds the index 3001" in alone.err, "one process says", alone.err)
    expect(ran.rc == 1 and "holds the index 3001" in ran.err, "servers:", ran.rc, ran.err[-400:])


sys.exit(run_checks(rules, which, shared, free, losing, outside))
