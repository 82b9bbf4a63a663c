# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# long form: 1200
"""Tasks of a job with parameter servers that are stopped, or cut off, for longer than it takes to replace them, and come back beside who has taken
their place: nothing that they do is taken, and each ends with one clear message, or waits by name.

Nothing here waits for a time: a task is stopped, the others say that they have gone on without it, it wakes.
"""

import os
import signal
import sys

from cli import K, L, O, expect, run_checks, save, save_arrays
from cluster import Patience
from oracle import digest
from servers import STEPS, is_stopped, one_process, path
from wired import CHIEF, Wired

LONG = os.environ.get("ARTEL_LONG", "") not in ("", "0")
DATA = save_arrays("mlp", path("d.npz"), 500)
REPLACED = "another process has taken this task's place, and the job goes on with that one"


def plain():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


MODEL = save(plain, path("m.keras"))


def replaced(task):
    """One who wakes: says so once, and ends by itself."""
    if not hasattr(task, "drainer"):
        task.drain()
    task.process.send_signal(signal.SIGCONT)
    code = task.finish(60)
    said = task.err()
    expect(code == 2 and said.count(REPLACED) == 1, "a task that wakes beside its successor:", code, said[-600:])


def checkpoints(task):
    return [e["step"] for e in task.events() if e["event"] == "checkpoint"]


def file_of(name):
    """Which file that is: another one, if it was written anew."""
    info = os.stat(name)
    return info.st_ino, info.st_mtime_ns


def chief(mode, copies):
    """Stopped while batches are out. The new one goes on from the newest checkpoint; in sync to the bits of one process."""

    def check():
        finite = {"epochs": 12} if mode == "sync" else {"epochs": None, "save_every": "1epochs"}
        keep = ("--checkpoint-dir", path("asleep%d" % copies), "--save-every", "1epochs") if mode == "sync" else ()
        job = Wired(2, 2, MODEL, DATA, "--consistency", mode, "--ps-copies", copies, *keep, **finite)
        expect(job.chief.until_step(3 * STEPS + 3), "no steps:", job.chief.err())
        job.chief.process.send_signal(signal.SIGSTOP)
        for who, task in job.tasks.items():
            if who != CHIEF:
                task.drain()
        job.without_chief()
        old = job.replace(CHIEF)
        expect(job.chief.until_step(4 * STEPS), "the new chief does not go on", job.chief.err()[-600:])
        known = checkpoints(old)
        replaced(old)  # and the new one is not over: it waits for its reader
        job.drain()
        expect(checkpoints(old)[len(known):] in ([], checkpoints(old)[-1:]), "it has written checkpoints", checkpoints(old), known)
        if mode == "sync":
            job.ends()
            expect(digest(job.out) == BITS, "a chief that woke changes bits in sync")
        else:
            job.goes_on()
            job.stops()

    check.__name__ = "chief_%s_%d" % (mode.replace(":", ""), copies)
    return check


BITS = one_process(MODEL, DATA, "--epochs", "12")[0]


def asleep_in_a_checkpoint():
    """The chief stops with a checkpoint that is whole and has not appeared. The new one writes its own of that step, which stays."""
    job = Wired(2, 2, MODEL, DATA, "--keep", 1000, epochs=None, save_every="1epochs", sleeps="tmp-ckpt-%d." % (3 * STEPS))
    job.drain()
    old = job.chief
    expect(Patience(60).until(lambda: is_stopped(old)), "it does not stop", old.err()[-400:])
    job.without_chief()
    job.replace(CHIEF)
    job.drain()
    name = os.path.join(job.folder, "ckpt-%d" % (3 * STEPS), "manifest.json")
    expect(Patience(60).until(lambda: os.path.exists(name)), "the new one writes no checkpoint", job.chief.err()[-400:])
    before = file_of(name)
    replaced(old)
    expect(file_of(name) == before and max(checkpoints(old)) < 3 * STEPS, "a checkpoint is written over by who woke", checkpoints(old))
    job.goes_on()
    job.stops()
    expect(not [n for n in os.listdir(job.folder) if n.startswith("tmp-")], "it leaves behind", os.listdir(job.folder))


def too_late():
    """A chief that wakes when the one that took its place has gone, too: the ps tasks let it in, and it hears from them that others have come further."""
    job = Wired(2, 2, MODEL, DATA, "--ps-copies", 2, epochs=None, save_every="1epochs")
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    job.chief.process.send_signal(signal.SIGSTOP)
    job.without_chief()
    old = job.replace(CHIEF)
    expect(job.chief.until_step(3 * STEPS), "the new chief does not go on", job.chief.err()[-600:])
    job.drain()
    waits = {who: task.err().count("waiting for the chief") for who, task in job.tasks.items() if who != CHIEF}
    job.tasks[CHIEF].process.kill()
    for who, count in waits.items():
        waiting = Patience(60).until(lambda: job.tasks[who].err().count("waiting for the chief") > count)  # pylint: disable=cell-var-from-loop
        expect(waiting, who, "does not wait for a chief", job.tasks[who].err()[-600:])
    known = checkpoints(old)
    job.cables.leads[CHIEF] = job.cables.tasks[CHIEF]
    old.process.send_signal(signal.SIGCONT)
    text = "another chief has gone on with the job since this one was cut off or stopped"
    expect(old.finish(60) == 2 and old.err().count(text) == 1, "a chief that is too late:", old.process.returncode, old.err()[-600:])
    expect(len(checkpoints(old)) <= len(known) + 1, "it has written checkpoints", checkpoints(old), known)
    job.replace(CHIEF)
    job.drain()
    expect(Patience(60).until(lambda: job.chief.last_step() > 5 * STEPS), "a third chief does not go on", job.chief.err()[-600:])
    job.stops()


def left(job, who):
    expect(Patience(60).until(lambda: job.left(who)), "it is not left out", job.chief.err()[-600:])


def other(who):
    """A worker, or a server, is stopped, and another process takes its place."""

    def check():
        job = Wired(2, 2, MODEL, DATA, "--ps-copies", 2, epochs=None)
        expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
        job.drain()
        job.tasks[who].process.send_signal(signal.SIGSTOP)
        left(job, who)
        joined, old = job.joined(), job.replace(who)
        job.drain()
        expect(Patience(60).until(lambda: job.joined() > joined), "the new one does not join", job.chief.err()[-600:])
        replaced(old)
        job.goes_on()
        expect("are made again" not in job.stops(), "updates were lost", job.chief.err()[-600:])

    check.__name__ = who[0]
    return check


def cut_off():
    """A server is cut off from all others: they go on with the copy of its part, it waits by name; then the cable is whole again, what it has is
    void, and it gets a copy."""
    job, who = Wired(2, 2, MODEL, DATA, "--ps-copies", 2, epochs=None), ("ps", 1)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    rest = [t for t in job.tasks if t != who]
    job.cables.cut([who], rest)
    left(job, who)
    job.goes_on()
    expect(job.tasks[who].until_said("waiting for ", 60), "it does not wait by name", job.tasks[who].err()[-600:])
    copies = job.chief.err().count("has a new copy")
    job.cables.cut([who], rest, whole=True)
    copied = Patience(60).until(lambda: job.chief.err().count("has a new copy") > copies)
    expect(copied, "it gets no copy", job.chief.err()[-600:], job.tasks[who].err()[-600:])
    job.goes_on()
    expect("are made again" not in job.stops(), "updates were lost", job.chief.err()[-600:])


SHORT = (chief("async", 2), chief("sync", 1), asleep_in_a_checkpoint, too_late, cut_off)
MORE = [chief(*row) for row in (("async", 1), ("bounded:1", 1), ("bounded:1", 2), ("sync", 2))] + [other(("worker", 1)), other(("ps", 1))]
sys.exit(run_checks(*SHORT, *(MORE if LONG else ())))
