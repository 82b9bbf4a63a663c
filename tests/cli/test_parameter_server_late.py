# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Tasks of a job with parameter servers that wake, or come, when all others have ended: each ends with one clear message, and changes nothing. And a
chief that sleeps while it saves on request, until the others go on without it: all save all the same, with parameter servers and without."""

import json
import os
import signal
import sys
import tempfile

from cli import K, L, O, expect, run_checks, save, save_arrays
from cluster import Cluster, Patience, Task, free_ports
from servers import FOLDER, STEPS, Job, is_stopped, jobs, path, words
from wired import CHIEF, PRELOAD, Wired

DATA = save_arrays("mlp", path("d.npz"), 500)
LIMIT = 15  # seconds that a task which is to find nobody waits; it begins when the others can be connected to


def plain():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


MODEL = save(plain, path("m.keras"))


def file_of(name):
    """Which file that is: another one, if it was written anew."""
    info = os.stat(name)
    return info.st_ino, info.st_mtime_ns


def stopped(task):
    expect(Patience(60).until(lambda: is_stopped(task)), "it does not stop", task.err()[-400:])


def gives_up(task, whom):
    code = task.finish(60)
    text = "artel: parameter servers: waited %d s for %s (--wait-for-cluster), without which nothing goes on" % (LIMIT, whom)
    expect(code == 2 and task.err().count(text) == 1, "a task that wakes alone:", code, task.err()[-600:])


def waits(*who):
    return lambda one: ["--wait-for-cluster", "%ds" % LIMIT] if one in who else []


def woken():
    """A chief stops with its output whole, a worker and a server of another job after an epoch; when they wake, all others have ended."""
    job = Wired(1, 2, MODEL, DATA, "--checkpoint-dir", path("last"), sleeps="job.keras", epochs=3, each=waits(CHIEF))
    job.drain()
    chief = job.chief
    stopped(chief)
    job.without_chief()
    job.replace(CHIEF)
    job.drain()
    job.ends()
    before = file_of(job.out)
    gone = [("worker", 1), ("ps", 1)]
    second = Job(2, 2, MODEL, DATA, "--ps-copies", 2, "--suspect-after", "3s", epochs=None, each=waits(*gone))
    expect(second.chief.until_step(STEPS + 3), "no steps:", second.chief.err())
    second.drain()
    sleepers = [second.tasks.pop(who) for who in gone]
    for task in sleepers:
        task.process.send_signal(signal.SIGSTOP)
    expect(Patience(60).until(lambda: all(second.left(who) for who in gone)), "they are not left out", second.chief.err()[-600:])
    last = second.chief.last_step()
    expect(Patience(60).until(lambda: second.chief.last_step() > last + 2 * STEPS), "the others do not go on", second.chief.err()[-600:])
    second.kill(*second.tasks)  # without a last word, which a task that wakes might still hear
    for task in second.tasks.values():
        expect(task.finish(60) == -signal.SIGKILL, "exit code", task.process.returncode)
    for task in (chief, *sleepers):
        task.process.send_signal(signal.SIGCONT)
    gives_up(chief, "a ps task")
    for task in sleepers:
        gives_up(task, "the chief")
    expect(file_of(job.out) == before, "the output is written over by who woke", chief.err()[-600:])


def begun_late():
    """Each task of a job that is over, started again, and no other one. The chief has the checkpoint, by which it knows that the run is finished."""
    folder, start = tempfile.mkdtemp(dir=FOLDER), jobs(1, 1)
    told = json.loads(start[CHIEF]["TF_CONFIG"])["cluster"]
    start["evaluator", 0] = {"TF_CONFIG": json.dumps({"cluster": {**told, "evaluator": ["127.0.0.1:%d" % free_ports(1)[0]]}, "task": {"type": "evaluator", "index": 0}})}
    args = [*words(MODEL, DATA, "--strategy", "parameter-server", "--post-mortem", "none", "--suspect-after", "30s"), "--validation", DATA, "--validation-split", 0]
    keep = ("--checkpoint-dir", folder)
    evaluator = Task([*args, *keep], start["evaluator", 0])
    evaluator.drain()
    evaluator.process.send_signal(signal.SIGSTOP)
    tasks = {who: Task([*args, *keep], start[who]) for who in start if who[0] != "evaluator"}
    for who, task in tasks.items():
        task.drain()
        expect(task.finish(60) == 0, who, "exit code", task.process.returncode, task.err()[-400:])
    evaluator.process.send_signal(signal.SIGCONT)
    expect(evaluator.finish(60) == 0, "an evaluator that wakes late:", evaluator.process.returncode, evaluator.err()[-400:])
    out, finished = path("late.keras"), "nothing is left to be done"
    rows = [(CHIEF, 0, finished, (*keep, "--output", out)), (("evaluator", 0), 0, "", keep)]
    rows += [(who, 2, "no generation after 1 s (--wait-for-cluster); missing: ", ()) for who in tasks]
    for who, code, text, more in rows:
        task = Task([*args, "--wait-for-cluster", "1s", *more], start[who])
        task.drain()
        expect(task.finish(60) == code and text in task.err(), who, more, "that comes late:", task.process.returncode, task.err()[-400:])
    expect(os.path.exists(out), "the chief writes no output")


def asleep_saving():
    """SIGTERM with --on-preempt save; the chief stops with the checkpoint whole and not there, until the others wait for it."""
    job = Wired(2, 2, MODEL, DATA, sleeps="tmp-ckpt-", epochs=None)
    expect(job.chief.until_step(2 * STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    job.chief.process.send_signal(signal.SIGTERM)
    stopped(job.chief)
    job.without_chief()
    job.chief.process.send_signal(signal.SIGCONT)
    job.saves()
    expect("after saving" in job.chief.err(), "the chief does not say that it has saved", job.chief.err()[-400:])
    for who, task in job.tasks.items():
        expect(who == CHIEF or "stopped on request, after the chief has saved" in task.err(), who, task.err()[-400:])


def asleep_saving_together():
    """The same without parameter servers, where the others train on meanwhile."""
    folder = tempfile.mkdtemp(dir=FOLDER)
    args = words(MODEL, DATA, "--strategy", "multi-worker", "--epochs", 10**6, "--post-mortem", "none", "--suspect-after", "3s")
    args += ["--on-preempt", "save", "--checkpoint-dir", folder, "--save-every", "1000000epochs", "--json"]
    preload = ("env", "LD_PRELOAD=" + PRELOAD, "SLEEP_AT=tmp-ckpt-")
    cluster = Cluster(3, lambda r: args, prefix=lambda r: () if r else preload)
    first = cluster.tasks[0]
    expect(first.until_step(STEPS), "no steps:", first.err())
    for task in cluster.tasks.values():
        task.drain()
    cluster.kill(0, signal.SIGTERM)
    stopped(first)
    rest = [t for r, t in cluster.tasks.items() if r]
    left = Patience(60).until(lambda: all("1 left (worker 0 " in t.err() for t in rest))
    expect(left, "the others do not go on", rest[0].err()[-600:])
    cluster.kill(0, signal.SIGCONT)
    codes = cluster.finish()
    expect(set(codes.values()) == {143}, "exit codes", codes, [t.err()[-400:] for t in cluster.tasks.values()])
    steps = {int(name.split("-")[1]) for name in os.listdir(folder) if name.startswith("ckpt-")}
    said = [t.err() for t in cluster.tasks.values()]
    expect(all("stopped on request at step %d, after saving" % max(steps) in text for text in said), "what they say", steps, said[0][-400:], said[1][-400:])


sys.exit(run_checks(woken, begun_late, asleep_saving, asleep_saving_together))
