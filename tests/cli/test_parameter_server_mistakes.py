# SPDX-License-Identifier: Apache-2.0
# timeout: 400
"""Mistakes with parameter servers, and tasks that do not reach one another: each ends in one clear error, or waits by name, on the chief and on the other tasks."""

import json
import os
import re
import signal
import sys

import numpy as np
from cli import K, L, O, expect, run_checks, save, save_arrays
from cluster import Patience, Task, await_listening, free_ports
from servers import STEPS, Job, jobs, path, words

DATA = save_arrays("mlp", path("d.npz"), 500)


def plain(units=64):
    m = K.Sequential([K.Input((20,)), L.Dense(units, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


MODEL, OTHER = save(plain, path("m.keras")), save(lambda: plain(65), path("other.keras"))


def address_of(who, env):
    return json.loads(env["TF_CONFIG"])["cluster"][who[0]][who[1]]


def start(environments, model=MODEL, data=DATA, more=lambda who: [], prefix=lambda who: ()):
    """Every task of a job, with what is its own; by (type, index). Who differs comes when the others can be connected to, so that all hear of it."""
    args = ["--strategy", "parameter-server", "--post-mortem", "none"]
    tasks = {}
    for who, env in sorted(environments.items(), key=lambda one: bool(more(one[0]))):
        mine = more(who)
        if mine:
            await_listening([(task.process, address_of(other, env)) for other, task in tasks.items()])
        chosen = mine.pop(0) if mine and mine[0].endswith(".keras") else model
        tasks[who] = Task([str(a) for a in words(chosen, data, *args, *mine)], env, prefix=prefix(who))
        tasks[who].drain()
    return tasks


def all_end(tasks, *texts, code=1):
    """Each with this exit code, and with these words."""
    patience = Patience(60)
    codes = {who: task.finish(patience) for who, task in tasks.items()}
    for who, task in tasks.items():
        expect(codes[who] == code, who, "exit code", codes[who], task.err()[-400:])
        for text in texts:
            expect(text in task.err(), who, "does not say", text, task.err()[-400:])


def cluster_of(**count):
    """Environments of a cluster that lacks something, or has too much of it."""
    ports = iter("127.0.0.1:%d" % p for p in free_ports(sum(count.values())))
    cluster = {kind: [next(ports) for _ in range(n)] for kind, n in count.items()}
    return {(k, i): {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": k, "index": i}})} for k, v in cluster.items() for i in range(len(v))}


def a_wrong_partitioner():
    for option in ("--partitioner", "--ps-partitioner"):
        all_end(start(jobs(1, 1), more=lambda who: [option, "thirds"]), "--partitioner", 'not a partitioner: thirds')  # pylint: disable=cell-var-from-loop


def a_wrong_loss():
    all_end(start(jobs(1, 1), more=lambda who: ["--ps-loss", "panic"]), "--ps-loss", "panic")


def SG4_no_ps():
    all_end(start(cluster_of(chief=1, worker=1)), "parameter-server needs a ps task")


def SG4_no_worker():
    all_end(start(cluster_of(chief=1, ps=1)), "parameter-server needs a worker")


def unequal_programs():
    for option, value, name in (("--consistency", "sync", "consistency"), ("--partitioner", "fixed:2", "partitioner"), ("--embedding-updates", "lazy", "embedding updates"), ("--epochs", "7", "epochs")):
        all_end(start(jobs(1, 1), more=lambda who: [option, value] if who[0] == "ps" else []), "differs in " + name)  # pylint: disable=cell-var-from-loop


def mistakes_within_an_epoch():
    """What every worker would meet ends the job, not one worker after another while the chief waits for more; so does what fails at the chief, without whom
    the others would wait: a callback, a file that is larger than may be written."""
    with np.load(path("d.npz")) as arrays:
        x, y = arrays["x"].copy(), arrays["y"].copy()
    x[200, 3] = np.nan
    np.savez(path("nan.npz"), x=x, y=y)
    y[222] = 77
    np.savez(path("label.npz"), x=x, y=y)
    for mode in ("async", "sync"):
        all_end(start(jobs(2, 1), data="npz:" + path("label.npz"), more=lambda who: ["--consistency", mode]), "record 222", "outside the classes 0 to 9")  # pylint: disable=cell-var-from-loop
        nan = ["--no-shuffle", "--consistency", mode, "--callbacks", "TerminateOnNaN:raise_error=true"]
        all_end(start(jobs(1, 1), data="npz:" + path("nan.npz"), more=lambda who: list(nan)), "TerminateOnNaN: the loss of batch 6 is not finite", code=2)  # pylint: disable=cell-var-from-loop
    size = os.path.getsize(MODEL) + 4000  # the trained one has slots
    small = lambda who: ("prlimit", "--fsize=%d" % size) if who[0] == "chief" else ()
    for what in (["--output", path("large.keras")], ["--callbacks", "ModelCheckpoint:save_freq=3,filepath=" + path("large-{batch}.keras")]):
        all_end(start(jobs(1, 1), more=lambda who: list(what), prefix=small), path("large"), code=2)  # pylint: disable=cell-var-from-loop


def an_unknown_variable():
    """A server whose model has other variables; what one says that is not asked is train.serve's."""
    all_end(start(jobs(1, 1), more=lambda who: [OTHER] if who[0] == "ps" else []), "differs in model")


def a_server_out_of_memory():
    def huge():
        m = K.Sequential([K.Input((20,)), L.Dense(3000), L.Dense(3000), L.Dense(10, activation="softmax")])
        m.compile("adam", "sparse_categorical_crossentropy")
        return m

    np.savez(path("wide.npz"), x=np.zeros((64, 20), "float32"), y=np.zeros((64,), "int32"))
    tasks = start(jobs(1, 1), save(huge, path("huge.keras")), "npz:" + path("wide.npz"), prefix=lambda who: ("prlimit", "--data=230000000") if who[0] == "ps" else ())
    expect(tasks["ps", 0].finish(60) == 2 and "bytes of memory are not to be had" in tasks["ps", 0].err(), "without memory:", tasks["ps", 0].err()[-300:])
    for who in (("worker", 0), ("chief", 0)):
        expect(tasks[who].until_said("memory are not to be had", 60) and "ps 0" in tasks[who].err(), who, "does not say who and why:", tasks[who].err()[-300:])
    expect(tasks["chief", 0].until_said("waiting for", 60), "the chief does not say for whom it waits", tasks["chief", 0].err()[-300:])
    for who in ("worker", "chief"):
        tasks[who, 0].process.kill()
        tasks[who, 0].finish(10)


def stops(job):
    """When it has gone on beyond the second epoch, so that there is more to be saved than what all began with."""
    expect(Patience(60).until(lambda: job.chief.last_step() > 2 * STEPS + 1), "they do not go on", job.chief.err()[-600:])
    job.stops()


def a_stale_view():
    """A server sleeps until the others have formed a view without it: what it has then is void, and it gets its part anew."""
    job = Job(2, 2, MODEL, DATA, "--ps-copies", 2, "--suspect-after", "3s", epochs=None)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    slow = job.tasks["ps", 1]
    slow.process.send_signal(signal.SIGSTOP)
    left = Patience(60).until(lambda: job.left(("ps", 1)))
    slow.process.send_signal(signal.SIGCONT)
    expect(left, "it is not left out", job.chief.err()[-600:])
    expect(slow.until_said("the job went on without this task", 60), "it does not say why it begins anew", slow.err()[-400:])
    given = Patience(60).until(lambda: "has a new copy" in job.chief.err() or "are made again" in job.chief.err())
    expect(given, "it gets no part", job.chief.err()[-600:], slow.err()[-400:])
    stops(job)


def a_loss_that_stops():
    """With --ps-loss stop nothing is made again: all end, and the chief says what is lost. A worker may be lost all the same."""
    for mode in ("async", "sync"):
        job = Job(2, 2, MODEL, DATA, "--ps-copies", 1, "--ps-loss", "stop", "--consistency", mode, "--save-every", "1epoch", epochs=None)
        expect(job.chief.until_step(STEPS + 3), mode, "no steps:", job.chief.err())
        job.drain()
        job.kill(("worker", 1))
        expect(Patience(60).until(lambda: job.left(("worker", 1))), mode, "the worker is not missed", job.chief.err()[-600:])  # pylint: disable=cell-var-from-loop
        before = job.chief.last_step()
        expect(Patience(60).until(lambda: job.chief.last_step() > before + 3), mode, "they do not go on", job.chief.err()[-600:])  # pylint: disable=cell-var-from-loop
        job.kill(("ps", 1))
        patience = Patience(60)
        for who in (("chief", 0), ("worker", 0), ("ps", 0)):
            expect(job.tasks[who].finish(patience) == 2, mode, who, "does not end with 2:", job.tasks[who].process.returncode, job.tasks[who].err()[-600:])
        said = job.chief.err()
        expect(re.search(r'which no other has: \d+ updates since step \d+ are lost, and --ps-loss is "stop"', said) and "from its newest checkpoint" in said, mode, "the loss", said[-600:])


def two_chiefs():
    """In one cluster's description; and a second process as the chief of a job that has one, at its address and at another one."""
    all_end(start(cluster_of(chief=2, worker=1, ps=1)), "there are 2 chiefs")
    job = Job(1, 1, MODEL, DATA, "--suspect-after", "30s", epochs=None)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    args, env = job.start["chief", 0]
    told = json.loads(env["TF_CONFIG"])
    told["cluster"]["chief"] = ["127.0.0.1:%d" % free_ports(1)[0]]
    for where, code, text in ((env, 2, "cannot bind"), ({"TF_CONFIG": json.dumps(told)}, 1, "two processes have that task index")):
        second = Task(args, where)
        second.drain()
        expect(second.finish(60) == code and text in second.err(), "a second chief:", second.process.returncode, second.err()[-400:])
    before = job.chief.last_step()
    expect(Patience(60).until(lambda: job.chief.last_step() > before + STEPS), "the first one does not go on", job.chief.err()[-400:])
    stops(job)


def says_missing(job, *missing):
    names = ".*, ".join("%s %d " % who for who in missing)
    found = Patience(60).until(lambda: re.search(r"waiting for a majority of the ps tasks \(%s.* not here\)" % names, job.tasks["chief", 0].err()))
    expect(found, "the chief does not wait for", missing, job.tasks["chief", 0].err()[-600:])
    expect(job.tasks["ps", 0].until_said("the chief has no majority", 60), "its server does not say so", job.tasks["ps", 0].err()[-400:])
    worker = job.tasks["worker", 0]
    expect(Patience(60).until(lambda: re.search(r"waiting for an answer of chief 0 \(.*\), \d+ s", worker.err())), "its worker does not say for whom it waits", worker.err()[-400:])


def no_majority_of_servers():
    """The chief and two of three servers are lost: a new chief has not their votes, and waits for both, though the first that comes back may be one that was
    cut off."""
    job = Job(1, 3, MODEL, DATA, epochs=None)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    job.kill(("chief", 0), ("ps", 1), ("ps", 2))
    job.restart(("chief", 0))
    job.chief = job.tasks["chief", 0]
    job.drain()
    says_missing(job, ("ps", 1), ("ps", 2))
    job.restart(("ps", 1))
    job.drain()
    says_missing(job, ("ps", 2))
    expect(job.chief.last_step() < 1, "it goes on without a majority", job.chief.err()[-600:])
    job.restart(("ps", 2))
    job.drain()
    stops(job)


def a_cut():
    """A server sleeps, as on the other side of a cut, where the first chief may be alive, too. A chief that is started beside the other servers has no
    majority, and waits until that server wakes."""
    job = Job(1, 3, MODEL, DATA, "--suspect-after", "3s", epochs=None)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    beside = job.tasks["ps", 1].process
    beside.send_signal(signal.SIGSTOP)
    left = Patience(60).until(lambda: job.left(("ps", 1)))
    job.kill(("chief", 0))
    expect(left, "it is not left out", job.chief.err()[-600:])
    job.restart(("chief", 0))
    job.chief = job.tasks["chief", 0]
    job.drain()
    says_missing(job, ("ps", 1))
    expect(job.chief.last_step() < 1, "it goes on without a majority", job.chief.err()[-600:])
    beside.send_signal(signal.SIGCONT)
    stops(job)


def a_partition_without_majority():
    """Fewer than --min-workers are left: all that are wait, and say for whom, until the others are back."""
    job = Job(2, 2, MODEL, DATA, "--min-workers", 3, epochs=None)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    gone = (("worker", 0), ("worker", 1), ("ps", 1))
    job.kill(*gone)
    for who in (("chief", 0), ("ps", 0)):
        task = job.tasks[who]
        waits = Patience(60).until(lambda: re.search(r"waiting for worker 0 .*worker 1 .*ps 1 ", task.err()))  # pylint: disable=cell-var-from-loop
        expect(waits, who, "does not say for whom it waits", task.err()[-400:])
    before = job.chief.last_step()
    for who in gone:
        job.restart(who)
    job.drain()
    expect(Patience(60).until(lambda: job.chief.last_step() > before), "they do not go on", job.chief.err()[-600:])
    expect("3 are needed; waiting" in job.chief.err(), "how many are needed is not said", job.chief.err()[-600:])
    stops(job)


def a_slow_task():
    """A worker, a server and the chief stop for less than --suspect-after says: who waits for them says so, and all go on. A server is waited for by
    whoever needs it next: the worker, or, at the end of an epoch, the chief, for whom the worker waits then."""
    job = Job(1, 1, MODEL, DATA, "--suspect-after", "600s", epochs=None)
    expect(job.chief.until_step(3), "no steps:", job.chief.err())
    job.drain()
    for who, wait, text in ((("worker", 0), (("chief", 0),), r"waiting for worker 0 \(.*\), which has had a batch for \d+ s"),
                            (("ps", 0), (("worker", 0), ("chief", 0)), r"waiting for an answer of ps 0 \(.*\), \d+ s"),
                            (("chief", 0), (("worker", 0),), r"waiting for an answer of chief 0 \(.*\), \d+ s")):
        before = {one: len(job.tasks[one].err()) for one in wait}
        job.tasks[who].process.send_signal(signal.SIGSTOP)
        said = Patience(60).until(lambda: any(re.search(text, job.tasks[one].err()[before[one]:]) for one in wait))  # pylint: disable=cell-var-from-loop
        job.tasks[who].process.send_signal(signal.SIGCONT)
        expect(said, wait, "do not say that they wait for", who, [job.tasks[one].err()[-600:] for one in wait])
    before = job.chief.last_step()
    expect(Patience(60).until(lambda: job.chief.last_step() > before), "they do not go on", job.chief.err()[-600:])
    stops(job)


sys.exit(run_checks(a_slow_task, a_loss_that_stops, a_wrong_partitioner, a_wrong_loss, SG4_no_ps, SG4_no_worker, unequal_programs, mistakes_within_an_epoch, an_unknown_variable, a_server_out_of_memory, a_stale_view, two_chiefs, no_majority_of_servers, a_cut, a_partition_without_majority))
