# SPDX-License-Identifier: Apache-2.0
# timeout: 240
"""sync:K with real processes: the mean of all is the gradient of the batch, whoever makes its shares, who is slow is not waited for, who dies is not missed. And
bounded:S: who is slow is waited for, just so long."""

import re
import signal
import sys

import numpy as np
from cli import K, L, O, expect, run_checks, save, save_arrays
from cluster import Patience
from oracle import digest
from servers import STEPS, Job, launch, one_process, path, rests, trains

DATA = save_arrays("mlp", path("d.npz"), 500)


def smooth():
    """Tanh, so that a last bit stays one; a regularizer and averages, which each worker has for itself."""
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="tanh", kernel_regularizer="l2"), L.Dense(33, activation="tanh"), L.Dense(10, activation="softmax")])
    m.compile(O.SGD(0.05, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def words():
    """A table, which travels whole here; its tokens repeat in and across workers' rows."""
    m = K.Sequential([K.Input((6,), dtype="int32"), L.Embedding(900, 8), L.GlobalAveragePooling1D(), L.Dense(10, activation="softmax")])
    m.compile(O.Adagrad(0.1), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


MODEL, TEXT = save(smooth, path("m.keras")), save(words, path("w.keras"))
r = np.random.default_rng(3)
np.savez(path("w.npz"), x=(r.zipf(1.3, (500, 6)) % 900).astype("int32"), y=r.integers(0, 10, 500).astype("int32"))
TOKENS = "npz:" + path("w.npz") + "#x,y"
LATE = r"(\d+) of (\d+) gradients of workers came too late"


def counted(said):
    return [(int(a), int(b)) for a, b in re.findall(LATE, said)]


def all_of_them():
    """K of K: up to rounding the steps of one process, whose batch is of 32 rows, at last 16. By fewer workers, each of which makes several shares of a
    step, the same bits, in the history, too."""
    for model, data in ((MODEL, DATA), (TEXT, TOKENS)):
        _, kept = one_process(model, data)
        digests, told = set(), []
        for workers, servers in ((3, 2), (2, 2), (1, 1)):
            h, ran = trains(workers, servers, model, data, "--consistency", "sync:3", "--partitioner", "fixed:2", falls=False)
            digests.add(digest(path("o.keras")))
            told.append(h)
            for key in kept:
                expect(np.allclose(h[key], kept[key], rtol=2e-4, atol=2e-5), key, h[key], "and one process", kept[key])
            expect(counted(ran.err) == [(0, 3 * STEPS)] * 2, "counts", counted(ran.err), ran.err[-300:])
            expect("staleness of 13 updates: half at most 0, 90 % at most 0, the most 0" in ran.err, "staleness", ran.err[-300:])
        expect(len(digests) == 1 and told == told[:1] * 3, "all workers were in time, and bits differ", told)


def norms():
    """Clipped by the norm of the mean, which the servers find together; of a loss whose scale begins too large. The same bits by however many workers and
    servers."""
    scaled = 'LossScaleOptimizer:initial_scale=1e38,inner_optimizer={"class_name": "Adam", "config": {"global_clipnorm": 0.05}}'
    for optimizer in ("sgd:clipnorm=0.05", scaled):
        digests = set()
        for workers, servers in ((3, 2), (1, 3)):
            ran = launch(workers, servers, MODEL, DATA, "--consistency", "sync:3", "--partitioner", "fixed:2", "--optimizer", optimizer, "--output", path("o.keras"))
            expect(ran.rc == 0, optimizer, ran.rc, ran.err[-600:])
            digests.add(digest(path("o.keras")))
        expect(len(digests) == 1, optimizer, "other bits", digests)


def GS5_the_slow_one():
    """One of three sleeps: two make the steps, and what it sends when it wakes is dropped and counted."""
    for more in (("--ps-copies", 1), ()):
        job = Job(3, 2, MODEL, DATA, "--consistency", "sync:2", "--suspect-after", 600, *more, epochs=None)
        expect(job.chief.until_step(STEPS), "no steps:", job.chief.err())
        slow = job.tasks["worker", 1].process
        slow.send_signal(signal.SIGSTOP)
        asleep = job.chief.last_step() + 20 * STEPS
        expect(job.chief.until_step(asleep), "nobody goes on:", job.chief.err())
        slow.send_signal(signal.SIGCONT)
        job.chief.drain()
        expect(Patience(60).until(lambda: any(late for late, _ in counted(job.chief.err()))), "nothing came late", job.chief.err()[-600:])
        said = job.stops()
        expect(min(given for _, given in counted(said)) < 3 * STEPS, "it was asleep, and all gave their shares", said[-600:])
        expect(not re.search(r"[1-9]\d* left", said), "it was given up", said[-600:])


def who_dies():
    """With two of three, then with one of two, which is fewer than K."""
    job = Job(3, 2, MODEL, DATA, "--consistency", "sync:2", "--ps-copies", 2, epochs=60)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.kill(("worker", 0))
    expect(job.chief.until_step(10 * STEPS), "nobody goes on:", job.chief.err())
    job.kill(("worker", 2))
    expect(job.chief.until_step(20 * STEPS), "nobody goes on:", job.chief.err())
    job.kill(("ps", 0))
    said = job.ends()
    expect("are made again" not in said, "updates were lost", said[-600:])


def PS21_bounds():
    """Nobody reads what lacks more than S rounds of anybody; with one asleep the others stop."""
    for mode, most in (("bounded:0", 2), ("bounded:2", 10)):
        job = Job(3, 2, MODEL, DATA, "--consistency", mode, "--suspect-after", 600, epochs=40)
        expect(job.chief.until_step(2 * STEPS), "no steps:", job.chief.err())
        job.tasks["worker", 1].process.send_signal(signal.SIGSTOP)
        job.chief.drain()
        expect(rests(job), mode, "but they go on without one:", job.chief.last_step())
        job.tasks["worker", 1].process.send_signal(signal.SIGCONT)
        said = job.ends()
        told = [int(n) for n in re.findall(r"the most (\d+)", said)]
        expect(told and max(told) <= most, mode, "but updates were", max(told), "late")


sys.exit(run_checks(all_of_them, norms, GS5_the_slow_one, who_dies, PS21_bounds))
