# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# processors: 2
# long form: 2400
"""Any task of a job with parameter servers is killed and started again, the chief too: each batch counts once at each part, and in sync the bits
are those of one process."""

import os
import random
import sys
import tempfile
import time

from cli import K, L, O, expect, run_checks, save, save_arrays
from cluster import Patience
from oracle import digest
from servers import FOLDER, STEPS, Job, one_process, path

LONG = os.environ.get("ARTEL_LONG", "") not in ("", "0")
DATA = save_arrays("mlp", path("d.npz"), 500)


def smooth():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu"), L.Dense(33, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


MODEL = save(smooth, path("s.keras"))


def over(job):
    return job.chief.process.poll() is not None


def fell(job, who):
    """Killed, started again, and seen to be back: by the chief, or the chief by a step of its own. False: the run is over."""
    joined = job.joined()
    if over(job) or job.tasks[who].process.poll() is not None:
        return False
    job.kill(who)
    job.restart(who)
    job.chief = job.tasks["chief", 0]
    job.drain()
    seen = (lambda: job.chief.last_step() > 0) if who[0] == "chief" else (lambda: job.joined() > joined)
    back = Patience(120).until(lambda: seen() or over(job))
    expect(back, who, "does not come back", job.chief.err()[-800:], job.tasks[who].err()[-400:])
    return not over(job)


def run(mode, copies, epochs, victims):
    """victims: a list, or how many at random; then the run is stopped (epochs None) or ends by itself. An update that were lost or doubled at a
    part would show: the chief compares what each part has applied with what it has dealt out, whenever it takes the state."""
    bits = one_process(MODEL, DATA, "--epochs", epochs)[0] if epochs else None
    keep = () if epochs is None else ("--checkpoint-dir", tempfile.mkdtemp(dir=FOLDER), "--save-every", "20epochs")
    job = Job(2, 3, MODEL, DATA, "--consistency", mode, "--ps-copies", copies, *keep, epochs=epochs, **({} if epochs else {"save_every": "20epochs"}))
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    dice, since, done, chiefs = random.Random(26), time.monotonic(), 0, 0
    for n in range(victims if isinstance(victims, int) else len(victims)):
        who = dice.choice(sorted(job.start)) if isinstance(victims, int) else victims[n]
        if not fell(job, who):
            break
        done, chiefs = done + 1, chiefs + (who[0] == "chief")
    took = time.monotonic() - since
    (job.ends if epochs else job.stops)(600)
    print("        %s, %d copies: %d kills in %.0f s, %d of them of the chief" % (mode, copies, done, took, chiefs), flush=True)
    expect(bits is None or digest(job.out) == bits, "other bits in", mode)
    return done


def few():
    """One of each kind."""
    order = [("worker", 1), ("chief", 0), ("ps", 0)]
    expect(run("async", 2, None, order) == len(order), "the run ended too early")


def storm():
    for mode, epochs in (("async", None), ("sync", 24000)) if LONG else ():
        done = run(mode, 2, epochs, 200)
        expect(epochs or done == 200, "it ended after", done, "kills")


sys.exit(run_checks(few, storm))
