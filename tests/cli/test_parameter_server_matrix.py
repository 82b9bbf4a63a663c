# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# long form: 1200
"""Parameter servers in sync: the bits of one process with any number of servers, workers and copies. `make test` takes some, `make test-long` all."""

import os
import sys

from cli import K, L, O, expect, run_checks, save, save_arrays
from oracle import digest
from servers import one_process, path, trains

LONG = os.environ.get("ARTEL_LONG", "") not in ("", "0")
DATA = save_arrays("mlp", path("d.npz"), 500)
ALL = [(servers, workers, copies) for servers in (1, 2, 3) for workers in (1, 2, 3, 4) for copies in range(1, servers + 1)]
SOME = [(1, 4, 1), (2, 3, 2), (3, 1, 3)]


def plain():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu", kernel_regularizer="l2"), L.BatchNormalization(), L.Dropout(0.3), L.Dense(33, activation="relu"),
                      L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003, clipnorm=0.5), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def sync():
    model = save(plain, path("m.keras"))
    bits, kept = one_process(model, DATA)
    for servers, workers, copies in ALL if LONG else SOME:
        h, _ = trains(workers, servers, model, DATA, "--consistency", "sync", "--partitioner", "fixed:3", "--ps-copies", copies)
        expect(digest(path("o.keras")) == bits and h == kept, "other bits with", servers, "servers,", workers, "workers,", copies, "copies")


sys.exit(run_checks(sync))
