# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Gradients of embedding tables as rows: the bits of table-size gradients, on any number of replicas and threads.

Each model trains with rows, and again with a penalty on the table that is too small to change anything but makes its gradient the
table's size; digests with the optimizer's state are compared, and what --explain says. Optimizers that square see a token once a batch
there: under a penalty they square a sum, without it they add squares, as Keras.
"""

import dataclasses
import os

import numpy as np
from cli import K, L, O, save
from oracle import Failure, artel, digest, keras_module, table

ROWS_OF_DATA, BATCH, VOCABULARY = 150, 64, 900
REASONS = {
    "clipnorm": (lambda: O.Adagrad(0.05, clipnorm=0.1), "clipping by norm adds up the whole gradient"),
    "global-clipnorm": (lambda: O.Adam(0.01, global_clipnorm=0.1), "clipping by norm adds up the whole gradient"),
}


@dataclasses.dataclass
class Row:
    name: str
    optimizer: object
    options: dict = dataclasses.field(default_factory=dict)  # of the first table
    why: str = ""  # the first table's gradient has its size
    shared: bool = False
    distinct: bool = False  # a batch names no row twice
    others: bool = False  # rows without a gradient take a step too


def build(row, **options):
    """Two tables of other shapes, one of them fed with two indices a row."""
    a, b = K.Input((), dtype="int32", name="a"), K.Input((2,), dtype="int32", name="b")
    one = L.Embedding(VOCABULARY, 5, **row.options, **options)
    t = [one(a), L.Flatten()(L.Embedding(VOCABULARY + 77, 17, **options)(b))] + ([L.Flatten()(one(b))] if row.shared else [])
    m = K.Model([a, b], L.Dense(1)(L.Dense(8, activation="tanh")(L.Concatenate()(t))))
    m.compile(row.optimizer(), "mse")
    return m


def fit(folder, name, *flags):
    out = os.path.join(folder, "out.keras")
    ran = artel("fit", os.path.join(folder, name), "--data", "npz:" + os.path.join(folder, "d.npz"), "--batch-size", BATCH, "--shards", 8, "--epochs", 2,
                "--seed", 3, "--output", out, "--explain", "--verbose", 0, *flags)
    if ran.rc:
        raise Failure("%s %s: exit %d (%s)" % (name, " ".join(map(str, flags)), ran.rc, ran.err[-300:]))
    return digest(out, kind="all"), ran.out


def run(row, index, folder, keras_only):
    del index
    save(lambda: build(row), os.path.join(folder, "rows.keras"))
    save(lambda: build(row, embeddings_regularizer=keras_module().regularizers.L2(1e-42)), os.path.join(folder, "whole.keras"))
    if keras_only:
        return [""]
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, VOCABULARY, ROWS_OF_DATA) // 7, rng.integers(0, VOCABULARY, (ROWS_OF_DATA, 2))
    if row.distinct:
        a, b = rng.permutation(VOCABULARY)[:ROWS_OF_DATA], rng.permutation(VOCABULARY)[:2 * ROWS_OF_DATA].reshape(-1, 2)
    np.savez(os.path.join(folder, "d.npz"), a=a.astype("i4"), b=b.astype("i4"), y=rng.standard_normal((ROWS_OF_DATA, 1)).astype("f4"))
    bits, plan = fit(folder, "rows.keras", "--strategy", "one-device")
    tables = plan.count(" optimize_rows[")
    if tables != (0 if row.why and not row.shared else 1 if row.why else 2) or (row.why and "[the whole table: %s]" % row.why not in plan):
        raise Failure("%d tables by rows; %s" % (tables, "not explained" if row.why else ""))
    if plan.count("[the others without a gradient]") != (tables if row.others else 0):
        raise Failure("not said which rows take a step")
    if not row.options and not row.why and (row.distinct or "sgd" in row.name):
        whole, plan = fit(folder, "whole.keras", "--strategy", "one-device")
        if " optimize_rows[" in plan or plan.count("[the whole table: ") < 2:
            raise Failure("tables with a penalty by rows")
        if whole != bits:
            raise Failure("rows give other bits than the whole table")
    for replicas in (2, 3, 8):
        for threads in (replicas, 2 * replicas):
            other, _ = fit(folder, "rows.keras", "--strategy", "mirrored", "--replicas", replicas, "--threads", threads)
            if other != bits:
                raise Failure("%d replicas, %d threads: other bits" % (replicas, threads))
    return ["%d" % tables]


TABLE = [
    Row("sgd", lambda: O.SGD(0.05)),
    Row("adagrad", lambda: O.Adagrad(0.05)),
    Row("adagrad-distinct", lambda: O.Adagrad(0.05), distinct=True),
    Row("adagrad-clipvalue", lambda: O.Adagrad(0.05, clipvalue=0.01)),
    Row("sgd-averages", lambda: O.SGD(0.05, use_ema=True, ema_momentum=0.9)),
    Row("sgd-constraint", lambda: O.SGD(0.05), dict(embeddings_constraint="non_neg")),
    Row("sgd-mask", lambda: O.SGD(0.05), dict(mask_zero=True)),
    Row("sgd-momentum", lambda: O.SGD(0.05, momentum=0.9), others=True),
    Row("sgd-weight-decay", lambda: O.SGD(0.05, weight_decay=0.01), others=True),
    Row("adagrad-no-epsilon", lambda: O.Adagrad(0.05, epsilon=0.0), distinct=True, others=True),
    Row("adam", lambda: O.Adam(0.01), others=True),
    Row("adam-distinct", lambda: O.Adam(0.01, amsgrad=True), distinct=True, others=True),
    Row("adamw-distinct", lambda: O.AdamW(0.01), distinct=True, others=True),
    Row("adamax", lambda: O.Adamax(0.02), others=True),
    Row("adadelta", lambda: O.Adadelta(0.5), others=True),
    Row("nadam-clipvalue", lambda: O.Nadam(0.01, clipvalue=0.01), others=True),
    Row("lamb-distinct", lambda: O.Lamb(0.01), distinct=True, others=True),
    Row("adagrad-shared", lambda: O.Adagrad(0.05), why="it is not the gradient of one embedding alone", shared=True),
] + [Row(name, f, why=why) for name, (f, why) in REASONS.items()]

if __name__ == "__main__":
    table(TABLE, run, ["tables by rows"])
