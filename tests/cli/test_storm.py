# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# long form: 3000
"""Training in a storm: tasks are killed, told to leave and stopped at moments that a seed decides, while they start, join,
validate, save and end; every run ends, and with the bits of an undisturbed one.

Those bits say that each sample was used once an epoch: a step that is lost, done twice or done with other rows changes them, and
the history, whose means count rows. A seed is replayed by ARTEL_STORM_SEED=N (with `-k launched` or `-k by-hand`); the blows are the
same then, their moments as near as a clock brings them. ARTEL_STORM_BLOWS=N: so many in all.
"""

import dataclasses
import json
import os
import random
import shutil

import numpy as np
from cli import K, L, O, save
from oracle import LONG, Failure, artel, digest, table
from storm import ByHand, Launched, make_blows

SEED = os.environ.get("ARTEL_STORM_SEED")
LIMIT = 400  # seconds for a run to end after its last blow


@dataclasses.dataclass
class Row:
    name: str
    check: object


def network():
    """Steps of some milliseconds, so that a run lasts."""
    m = K.Sequential([K.Input((64,)), L.Dense(384, activation="relu"), L.Dropout(0.2), L.Dense(384, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.0003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


EPOCHS = 60


class Truth:
    """A model, its data, and what an undisturbed process makes of them."""

    def __init__(self, folder):
        self.folder = folder
        self.model = save(network, os.path.join(folder, "m.keras"))
        rng = np.random.default_rng(23)
        x = rng.standard_normal((1500, 64)).astype("f4")
        np.savez(os.path.join(folder, "d.npz"), x=x, y=np.argmax(x[:, :10], -1).astype("i4"))
        self.digest, self.history, self.epochs = self.run()

    def fit(self, folder, *more):
        return ["fit", self.model, "--data", "npz:" + os.path.join(self.folder, "d.npz"), "--validation-split", 0.2, "--batch-size", 96, "--shards", 16, "--epochs", EPOCHS,
                "--output", os.path.join(folder, "out.keras"), "--history", os.path.join(folder, "h.json"), "--json=epochs", *more]

    def run(self):
        ran = artel(*self.fit(self.folder, "--threads", 1))
        if ran.rc:
            raise Failure("one process: " + ran.err)
        return digest(os.path.join(self.folder, "out.keras")), self.read(self.folder), {e["epoch"]: e for e in ran.events("epoch")}

    def read(self, folder):
        return open(os.path.join(folder, "h.json")).read()


def compare(truth, folder, job):
    if digest(os.path.join(folder, "out.keras")) != truth.digest:
        return "another digest"
    if truth.read(folder) != truth.history:
        return "another history"
    for line in job.printed().splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # cut by a kill
        if event.get("event") != "epoch":
            continue
        event.pop("task", None)
        if event != truth.epochs[event["epoch"]]:
            return "another epoch: " + line
    return ""


def judge(truth, folder, job, ended):
    """What is wrong, or ""."""
    if not ended:
        return "no end; %s" % job.stacks()
    if isinstance(job, Launched) and job.process.returncode != 0:
        return "exit code %d" % job.process.returncode
    strange = [c for c in getattr(job, "codes", []) if c not in (0, 2, 143, -9, -15)]
    if strange:
        return "exit codes %s" % strange
    return compare(truth, folder, job)


def weather(rng, folder):
    """Options of a run."""
    more = ["--suspect-after", rng.choice(["0.5s", "1s", "2s"])]
    if rng.random() < 0.6:
        more += ["--checkpoint-dir", os.path.join(folder, "ckpt"), "--save-every", rng.choice(["5steps", "17steps", "1epoch"])]
        if rng.random() < 0.4:
            more += ["--on-preempt", "save"]
    if rng.random() < 0.2:
        more += ["--replicas", 2]
    return more


def launched(rng, truth, folder):
    before = ["--insecure-network"] if rng.random() < 0.6 else []
    arguments = truth.fit(folder, "--strategy", "multi-worker", *weather(rng, folder))
    return Launched(folder, rng.choice([2, 3, 3, 5]), before, arguments), make_blows(rng, 14)


def by_hand(rng, truth, folder):
    """The cluster grows from two to five tasks, and shrinks to three."""
    arguments = truth.fit(folder, "--threads", 1, "--strategy", "multi-worker", "--min-workers", 2, "--wait-for-cluster", "4s", *weather(rng, folder))
    return ByHand(folder, 5, {0: 2, rng.randrange(1, 4): 5, rng.randrange(7, 11): 3}, arguments), make_blows(rng, 14)


def run_seed(make, truth, seed):
    """One run; the blows that fell, and what is wrong."""
    folder = os.path.join(truth.folder, "run")
    os.mkdir(folder)
    job, blows = make(random.Random(seed), truth, folder)
    try:
        job.suffer(blows)
        ended = job.wait(LIMIT)
        wrong = judge(truth, folder, job, ended)
        if wrong:
            wrong = "seed %d: %s\nreplay with ARTEL_STORM_SEED=%d; it did:\n%s\nand they said:\n%s" % (seed, wrong, seed, "\n".join(job.log), job.said()[-6000:])
    finally:
        job.close()
    shutil.rmtree(folder)
    return job.blows, wrong


def storm(make, first, wanted):
    def check(truth):
        seeds = [int(SEED)] if SEED else range(first, first + 10000)
        fallen, runs = 0, 0
        for seed in seeds:
            blows, wrong = run_seed(make, truth, seed)
            fallen, runs = fallen + blows, runs + 1
            if wrong:
                raise Failure(wrong)
            if fallen >= wanted:
                break
        return [runs, fallen]

    return check


BLOWS = int(os.environ.get("ARTEL_STORM_BLOWS") or (500 if LONG else 30))
TABLE = [Row("launched", storm(launched, 1000, BLOWS // 2)), Row("by-hand", storm(by_hand, 5000, BLOWS // 2))]

if __name__ == "__main__":
    table(TABLE, lambda row, index, folder, _: row.check(Truth(folder)), ["runs", "blows"], at_once=2)
