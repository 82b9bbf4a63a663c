# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# long form: 3600
"""Any task of a job with parameter servers is killed and started again, the chief too: by the servers' logs each batch that was acknowledged counts
once at each part, and in sync the bits are those of one process."""

import os
import random
import sys
import tempfile
import time

from applied import Life, counts_once
from cli import Failure, K, L, O, expect, run_checks, save, save_arrays
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


def run(mode, copies, epochs, victims, *more):
    """victims: a list, or how many at random; then the run is stopped (epochs None) or ends by itself."""
    lives = []

    def heed(who):
        if who[0] != "ps":
            return lambda line: False
        lives.append(Life(who))
        return lives[-1]

    bits = one_process(MODEL, DATA, "--epochs", epochs)[0] if epochs else None
    keep = () if epochs is None else ("--checkpoint-dir", tempfile.mkdtemp(dir=FOLDER), "--save-every", "20epochs")
    often = {} if epochs else {"save_every": "20epochs"}
    job = Job(2, 3, MODEL, DATA, "--consistency", mode, "--ps-copies", copies, "--log-level", "debug", *more, *keep, epochs=epochs, heed=heed, **often)
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
    ended = {life.who: life for life in lives}.values()
    acknowledged, states = counts_once(lives, ended, epochs * STEPS if epochs else job.step)
    told = (mode, copies, done, took, chiefs, acknowledged, states)
    print("        %s, %d copies: %d kills in %.0f s, %d of them of the chief; %d acknowledgements, %d states" % told, flush=True)
    expect(bits is None or digest(job.out) == bits, "other bits in", mode)
    return done


def planted():
    """What the logs are looked through for is found in them: ps:0 is head until it dies with an update that nobody else has, ps:1 from then on."""

    def said(*changes):
        log = {
            0: ["1: installed with 7 updates, items from 3 on", "2: item 3 is update 8", "2: item 3 is acknowledged", "2: item 5 is update 9", "2: item 4 is update 10"],
            1: ["1: installed with 7 updates, items from 3 on", "2: item 3 is update 8", "2: item 5 is update 9", "5: item 4 is update 10", "5: item 4 is acknowledged", "5: item 5 is acknowledged"],
        }
        for server, old, new in changes:
            log[server][log[server].index(old)] = new
        lives = [Life(("ps", server)) for server in log]
        for life in lives:
            for line in log[life.who[1]]:
                expect(life(b"artel: debug: part 0 of state 00000000000000aa, epoch %s\n" % line.encode()), "not understood:", line)
        return counts_once(lives, lives[1:], 6)

    expect(said() == (3, 1), "a good log", said())
    for what, changes in (
        ("doubled", [(1, "5: item 4 is update 10", "5: item 3 is update 10")]),
        ("not agreed", [(1, "2: item 5 is update 9", "2: item 4 is update 9")]),
        ("left out", [(1, "5: item 4 is update 10", "5: item 4 is update 11")]),
        ("lost", [(0, "2: item 3 is acknowledged", "2: item 4 is acknowledged"), (1, "5: item 4 is update 10", "5: item 6 is update 10")]),
        ("not applied", [(1, "5: item 4 is acknowledged", "5: item 6 is acknowledged")]),
        ("never applied", [(0, "2: item 3 is update 8", "2: item 6 is update 8"), (1, "2: item 3 is update 8", "2: item 6 is update 8")]),
        ("of another state", [(0, "2: item 3 is update 8", "2: item 2 is update 8"), (1, "2: item 3 is update 8", "2: item 2 is update 8")]),
    ):
        try:
            said(*changes)
        except Failure:
            continue
        raise Failure("not found: %s" % what)


def few():
    """One of each kind."""
    order = [("worker", 1), ("chief", 0), ("ps", 0)]
    expect(run("async", 2, None, order) == len(order), "the run ended too early")


def storm():
    norms = ("--optimizer", "adam:global_clipnorm=0.05")  # which servers find together
    for mode, epochs, more in (("async", None, ()), ("sync", 24000, ()), ("sync:2", None, ()), ("sync:2", None, norms)) if LONG else ():
        done = run(mode, 2, epochs, 200, *more)
        expect(epochs or done == 200, "it ended after", done, "kills")


sys.exit(run_checks(planted, few, storm))
