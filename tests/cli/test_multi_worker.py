# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""One model trained, evaluated and used by several processes: the same bits as one; differences, losses and silence by name."""

import json
import os
import re
import resource
import shutil
import signal
import time

import numpy as np
from cli import K, L, MODELS, Row, arrays, expect, save, save_arrays
from cluster import Cluster, Scene, certificates
from oracle import BUILD, LONG, artel, digest, table
from started import cleaning


# ---------------------------------------------------------------- the same bits
def same_digests(scene):
    shapes = [(96, [1, 1]), (100, [1, 1, 1]), (100, [1, 3, 2])] + ([(96, [1] * 5)] if LONG or scene.row.model == "mlp" else [])
    single = {}
    for batch, replicas in shapes:
        out, history = scene.path("out.keras"), scene.path("h.json")
        args = ["--batch-size", batch, "--epochs", 2, "--output", out, "--history", history]
        if batch not in single:
            ran = artel(*scene.fit(*args))
            expect(ran.rc == 0, "one process:", ran.err[-300:])
            single[batch] = digest(out), open(history).read()
        os.unlink(out)
        # Nobody is suspected, and named, only because the machine is busy: all are to be silent, but for who waits for a slow start.
        cluster = scene.cluster(len(replicas), *args, "--suspect-after", "60s", each=lambda r: ["--replicas", replicas[r], "--threads", replicas[r]])
        scene.all_end(cluster, 0, 60)
        expect(digest(out) == single[batch][0], "another digest with replicas", replicas, "and batch", batch)
        expect(open(history).read() == single[batch][1], "another history with replicas", replicas)
        said = [line for t in cluster.tasks.values() for line in t.err().splitlines() if "waiting for" not in line]
        expect(not said, "a worker says something:", said)
    return same_pass(scene)


def same_pass(scene):
    model, more = scene.path("out.keras"), ["--data", scene.data, "--batch-size", 90, "--threads", 1]
    one = artel("evaluate", model, *more).out
    ran = artel("predict", model, *more, "--output", scene.path("p1.npy"))
    expect(one and ran.rc == 0, "one process:", ran.err[-300:])
    for replicas in ([1, 2], [2, 1, 1]):
        each = lambda r: ["--strategy", "multi-worker", "--replicas", replicas[r]]
        cluster = Cluster(len(replicas), lambda r: ["evaluate", model, *more, *each(r)])
        scene.all_end(cluster, 0, 30)
        expect(cluster.tasks[0].out() == one and not cluster.tasks[1].out(), "evaluate says", cluster.tasks[0].out(), "one process", one)
        cluster = Cluster(len(replicas), lambda r: ["predict", model, *more, *each(r), "--output", scene.path("p%d.npy" % (10 + r))])
        scene.all_end(cluster, 0, 30)
        expect(np.array_equal(np.load(scene.path("p1.npy")), np.load(scene.path("p10.npy"))), "other predictions")
        expect(not os.path.exists(scene.path("p11.npy")), "worker 1 wrote predictions")
        os.unlink(scene.path("p10.npy"))


def events(scene):
    cluster = scene.cluster(3, "--epochs", 1, "--json", chief=True)
    scene.all_end(cluster, 0, 60)
    for r, task in cluster.tasks.items():
        kinds = [e["event"] for e in task.events()]
        start = task.events()[0]
        expect(start["role"] == ("worker" if r else "chief") and start["task"] == ("worker:%d" % (r - 1) if r else "chief:0"), "start:", start)
        expect(kinds == ["start"] if r else kinds[-1] == "end", "events of %d:" % r, kinds)


def torchrun(scene):
    """Only rank 0's address is known; the others register there."""
    out = scene.path("out.keras")
    expect(artel(*scene.fit("--output", out)).rc == 0, "one process")
    one = digest(out)
    environment = lambda r, ports: {"RANK": str(r), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(ports[0])}
    scene.all_end(scene.cluster(3, "--output", out, environment=environment), 0, 60)
    expect(digest(out) == one, "another digest")


def explain(scene):
    """The plan of its part, from the task that writes results, once."""
    cluster = scene.cluster(2, "--explain")
    scene.all_end(cluster, 0, 60)
    said, silent = (cluster.tasks[r].out() + cluster.tasks[r].err() for r in range(2))
    expect(said.count("# training plan") == 1 and "# training plan" not in silent, "plans:", said, silent)


def alone(scene):
    out = scene.path("out.keras")
    expect(artel(*scene.fit("--output", out)).rc == 0, "one process")
    one = digest(out)
    scene.all_end(scene.cluster(1, "--output", out), 0, 60)
    expect(digest(out) == one, "another digest")
    ran = artel(*scene.fit("--output", out, "--strategy", "multi-worker"))
    expect(ran.rc == 0 and digest(out) == one, "without a cluster:", ran.err)


# ---------------------------------------------------------------- encryption
def encrypted(scene):
    if not os.path.exists(os.path.join(BUILD, "libartel-tls.so")):
        return
    certs, out = certificates(scene), scene.path("out.keras")
    expect(artel(*scene.fit("--output", out)).rc == 0, "one process")
    one = digest(out)
    scene.all_end(scene.cluster(3, "--output", out, "--cert-dir", certs, each=lambda r: ["--replicas", 1 + r % 2]), 0, 60)
    expect(digest(out) == one, "another digest")
    for odd in range(3):
        scene.all_end(scene.cluster(3, each=lambda r: ["--cert-dir", certs + "2" * (r == odd)], last=odd), 1, 5, "certificate")
    scene.all_end(scene.cluster(3, each=lambda r: ["--cert-dir", certs] if r else [], last=0), 1, 5, "certificate")


# ---------------------------------------------------------------- what cannot heal
def compiled(model):
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def refused(field, *different):
    def check(scene):
        x, y = arrays(scene.row.model, 500)
        np.savez(scene.path("other.npz"), x=x + 1 if x.dtype.kind == "f" else x, y=y[::-1])
        wider = lambda: K.Sequential([K.Input((20,)), L.Dense(9, activation="relu"), L.Dense(10, activation="softmax")])
        save(lambda: compiled(wider()), scene.path("other.keras"))
        args = scene.fit("--strategy", "multi-worker")
        odd = ["fit", scene.path("other.keras"), *args[2:]] if "other.keras" in different else list(args)
        odd += ["npz:" + scene.path(d) if d == "other.npz" else d for d in different if d != "other.keras"]
        cluster = Cluster(3, lambda r: odd if r == 1 else args, last=1)
        scene.all_end(cluster, 1, 5, field)
        for r, task in cluster.tasks.items():
            expect("worker 1 (" in task.err() or "worker-1;" in task.err(), "worker %d does not name worker 1:" % r, task.err())

    return check


def other_rows(scene):
    """Rows in the middle of one worker's file are others: named before the first step, or as they are read, and nothing is written."""
    x, y = arrays(scene.row.model, 3000)
    for name, rows in (("x", x), ("y", y), ("other", x + (np.arange(3000) // 100 == 14)[:, None])):  # a .npz has sums of its content at its end
        np.save(scene.path(name), rows.astype(x.dtype) if name == "other" else rows)
    scene.data, wrong = ("npy:%s.npy,%s.npy" % (scene.path(name), scene.path("y")) for name in ("x", "other"))
    out, other = scene.path("out.keras"), lambda r: ["--data", wrong] if r == 1 else []
    scene.all_end(scene.cluster(3, "--output", out, each=other, last=1), 1, 10, "data content")
    for count in (2, 3):
        cluster = scene.cluster(count, "--output", out, "--check-data", "reading", each=other)
        scene.all_end(cluster, 1, 30, "--data", "is not that of")
        expect(all("worker 1" in t.err() for t in cluster.tasks.values()), "worker 1 is not named:", cluster.tasks[0].err())
    uneven = scene.cluster(2, "--output", out, "--check-data", "reading", each=lambda r: [*other(r), "--replicas", 1 + 2 * r])
    scene.all_end(uneven, 1, 30, "--data")
    expect(all(re.search("data of (worker [01]).* is not that of (?!\\1)worker [01]", t.err()) for t in uneven.tasks.values()), "both:", uneven.tasks[0].err())
    half = lambda r: ["--validation-split", 0, "--validation", wrong if r else scene.data]
    scene.all_end(scene.cluster(2, "--output", out, "--check-data", "reading", each=half), 1, 30, "data of the evaluation")
    expect(not os.path.exists(out), "a model was written")
    scene.all_end(scene.cluster(2, "--check-data", "off", each=other), 0, 30)
    expect(artel(*scene.fit("--epochs", 2, "--output", out)).rc == 0, "one process")
    one = digest(out)
    for replicas in ([1, 1], [1, 3, 2]):
        scene.all_end(scene.cluster(len(replicas), "--epochs", 2, "--output", out, "--check-data", "reading", "--checkpoint-dir", scene.path("c%d" % len(replicas)),
                                    "--save-every", "7steps", each=lambda r: ["--replicas", replicas[r], "--threads", replicas[r]]), 0, 60)
        expect(digest(out) == one, "another digest")


def other_weights(scene):
    other = save(MODELS[scene.row.model], scene.path("other.keras"))
    expect(artel("fit", scene.model, "--data", scene.data, "--output", other, "--verbose", 0).rc == 0, "one process")
    cluster = Cluster(2, lambda r: ["evaluate", other if r else scene.model, "--data", scene.data, "--strategy", "multi-worker"])
    scene.all_end(cluster, 1, 5, "weights")


def too_many(scene):
    scene.all_end(scene.cluster(3, "--replicas", 3), 1, 5, "--shards")


def duplicate(scene):
    """Two processes are worker 1, before the job could begin: all end."""
    environment = lambda r, ports: {"RANK": "1" if r == 2 else str(r), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(ports[0])}
    scene.all_end(scene.cluster(3, environment=environment), 1, 5, "two processes have that task index")


def other_lists(scene):
    """Two tasks were told another number of tasks, one of them only where rank 0 is: both end, and say what differs."""
    for variables in (lambda r, ports: {"RANK": str(r), "WORLD_SIZE": str(2 + r), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(ports[0])},
                      lambda r, ports: {"TF_CONFIG": json.dumps({"cluster": {"worker": ["127.0.0.1:%d" % p for p in ports] + ["127.0.0.1:1"] * r},
                                                                 "task": {"type": "worker", "index": r}})}):
        scene.all_end(scene.cluster(2, environment=variables), 1, 5, "TF_CONFIG, world size")


def missing(scene):
    begin, cluster = time.monotonic(), scene.cluster(3, "--wait-for-cluster", "7s", absent=[1])
    scene.all_end(cluster, 2, 15, "waiting for worker 1 (%s)" % cluster.addresses[1], "no generation after 7 s (--wait-for-cluster); missing: worker 1 (%s)" % cluster.addresses[1])
    expect(time.monotonic() - begin > 6, "it did not wait")


def bad_data_here(scene):
    """A label out of range in one worker's rows: everybody ends and says what it was."""
    x, y = arrays(scene.row.model, 500)
    y[333] = 77
    np.savez(scene.path("d.npz"), x=x, y=y)
    scene.all_end(scene.cluster(3), 1, 20, "77")


def fails_alone(scene):
    """What one task runs into before the job begins is what all name, and do not take for another version."""
    gone = scene.path("gone.npz")
    for bad in (0, 2):
        cluster = scene.cluster(3, each=lambda r, bad=bad: ["--data", "npz:" + gone] if r == bad else [], last=bad)
        scene.all_end(cluster, 1, 20, gone, "No such file")
        for r, task in cluster.tasks.items():
            expect("differs" not in task.err() and (r == bad or re.search("worker[- ]%d" % bad, task.err())), "worker %d:" % r, task.err())
    scene.all_end(scene.cluster(3, "--shards", 2), 1, 20, "--shards")
    scene.all_end(scene.cluster(2, "--min-workers", 3), 1, 20, "--min-workers", "3", "has 2")


def said_once(scene):
    """What callbacks say is said by the task that shows the run."""
    path = scene.path("callbacks.json")
    with open(path, "w") as f:
        json.dump([{"class_name": "ReduceLROnPlateau", "config": {"monitor": "loss", "patience": 0, "min_delta": 9, "verbose": 1}},
                   {"class_name": "LearningRateScheduler", "config": {"schedule": [0.01], "verbose": 1}},
                   {"class_name": "EarlyStopping", "config": {"patience": 1, "min_delta": 9, "restore_best_weights": True, "verbose": 1}}], f)
    cluster = scene.cluster(3, "--epochs", 4, "--callbacks", path)
    codes = cluster.finish()
    expect(set(codes.values()) == {0}, "exit codes", codes)
    for text in ("early stopping", "Restoring", "ReduceLROnPlateau", "LearningRateScheduler"):
        expect([text in t.err() for t in cluster.tasks.values()] == [True, False, False], text, "is said by", [t.err() for t in cluster.tasks.values()])


def not_finite(scene):
    """A NaN in one worker's rows: all say where it was seen first, as one process does."""
    x, y = arrays(scene.row.model, 500)
    x[333, 4] = np.nan
    np.savez(scene.path("d.npz"), x=x, y=y)
    one = artel(*scene.fit("--stop-on-nan"))
    found = one.err[one.err.index("step "):].split(";")[0].strip()
    expect(one.rc == 2 and "not finite" in found, "one process:", one.err)
    scene.all_end(scene.cluster(3, "--stop-on-nan"), 2, 20, found)
    scene.all_end(scene.cluster(3), 0, 20, found)


def options(scene):
    """What counts replicas or shards counts those of all tasks; what is added up over steps is the same everywhere."""
    rates = '{"class_name": "ByReplicas", "config": {"table": {"1": 0.5, "4": 0.01}}}'
    scheduler = scene.path("scheduler.json")
    with open(scheduler, "w") as f:
        f.write('[{"class_name": "LearningRateScheduler", "config": {"schedule": %s}}]' % rates)
    for more, plain in ((["--batch-norm", "groups:4"], None), (["--optimizer", "adam:gradient_accumulation_steps=3,global_clipnorm=0.5,use_ema=true"], None),
                        (["--optimizer", "sgd:learning_rate=" + rates], ["--optimizer", "sgd:learning_rate=0.01"]),
                        (["--optimizer", "sgd", "--callbacks", scheduler], ["--optimizer", "sgd:learning_rate=0.01"])):
        out = scene.path("out.keras")
        ran = artel(*scene.fit("--strategy", "mirrored", "--replicas", 4, "--output", out, *more))
        expect(ran.rc == 0, "one process:", ran.err)
        one = digest(out)
        if plain:  # two that agree may both be wrong
            expect(artel(*scene.fit("--output", out, *plain)).rc == 0 and digest(out) == one, "not the rate of four replicas:", more)
        scene.all_end(scene.cluster(2, "--output", out, *more, each=lambda r: ["--replicas", 3 - 2 * r]), 0, 30)
        expect(digest(out) == one, "another digest with", more)


def bad_output(scene):
    """The chief cannot write: the others do not claim success."""
    folder = scene.path("gone")
    os.mkdir(folder)
    cluster = scene.cluster(2, "--epochs", 60, "--json", "--output", os.path.join(folder, "out.keras"))
    expect(cluster.tasks[0].until_step(3), "no step:", cluster.tasks[0].err())
    shutil.rmtree(folder)
    codes = cluster.finish(60)
    expect(codes[0] not in (0, None) and codes[1] not in (0, None), "exit codes", codes)
    expect("worker 0" in cluster.tasks[1].err(), "worker 1 does not name worker 0:", cluster.tasks[1].err())


# ---------------------------------------------------------------- losses
EPOCHS = ["--epochs", 40, "--batch-size", 16]
STEPS = 40 * 25


def undisturbed(scene, *more):
    out, history = scene.path("one.keras"), scene.path("one.json")
    ran = artel(*scene.fit(*EPOCHS, *more, "--output", out, "--history", history))
    expect(ran.rc == 0, "one process:", ran.err)
    return digest(out), open(history).read()


def started(scene, *more, count=3, patient=True):
    """A cluster in the midst of its run. `patient`: nobody is left out only because the machine is busy; who dies is missed at once."""
    args = [*EPOCHS, "--output", scene.path("out.keras"), "--history", scene.path("h.json"), "--json", *(["--suspect-after", "20s"] if patient else []), *more]
    cluster = scene.cluster(count, *args)
    for task in cluster.tasks.values():
        task.whole = STEPS
    expect(cluster.tasks[0].until_step(40), "no step:", cluster.tasks[0].err())
    return cluster


def check_result(scene, one):
    expect(digest(scene.path("out.keras")) == one[0], "another digest")
    expect(open(scene.path("h.json")).read() == one[1], "another history")


def lost(rank, more=()):
    """kill -9: the others go on, and the result is as if nothing had happened."""

    def check(scene):
        one, cluster = undisturbed(scene), started(scene, *more)
        cluster.kill(rank)
        codes = cluster.finish(60)
        for r, task in cluster.tasks.items():
            expect(codes[r] == (-signal.SIGKILL if r == rank else 0), "worker %d: exit code %s;" % (r, codes[r]), task.err())
            said = "worker %d (%s): " % (rank, cluster.addresses[rank])
            expect(r == rank or (said in task.err() and "1 left" in task.err()), "worker %d does not name it:" % r, task.err())
        check_result(scene, one)

    return check


def few_files(rank):
    """A task that has no files left for its connections to a new generation says so and leaves; the others go on."""

    def check(scene):
        one, cluster = undisturbed(scene), started(scene)
        resource.prlimit(cluster.tasks[rank].process.pid, resource.RLIMIT_NOFILE, (4, 4))
        cluster.kill(2)
        codes = cluster.finish(60)
        said = cluster.tasks[0].err(), cluster.tasks[1].err()
        expect(codes == {rank: 2, 1 - rank: 0, 2: -signal.SIGKILL}, "exit codes", codes, *said)
        for r in (0, 1):
            expect("Too many open files" in said[r], "worker %d does not say why:" % r, said[r])
        check_result(scene, one)

    return check


def few_files_for_a_moment(rank):
    """What failed at first goes better in time: nobody leaves."""

    def check(scene):
        one, cluster = undisturbed(scene), started(scene)
        pid = cluster.tasks[rank].process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, before[1]))
        cluster.kill(2)
        time.sleep(0.5)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        codes = cluster.finish(60)
        said = cluster.tasks[0].err(), cluster.tasks[1].err()
        expect(codes == {0: 0, 1: 0, 2: -signal.SIGKILL}, "exit codes", codes, *said)
        expect("2 members" in said[0] and "1 left" in said[0], "worker %d was not kept:" % rank, *said)
        check_result(scene, one)

    return check


def profile(scene):
    """A profile of one worker, of all steps but those that were broken off, while another dies; the bits are the same."""
    one, trace = undisturbed(scene), scene.path("t.json")
    cluster = started(scene, "--profile", trace)
    cluster.kill(2)
    codes = cluster.finish(60)
    expect(codes == {0: 0, 1: 0, 2: -signal.SIGKILL}, "exit codes", codes, cluster.tasks[0].err())
    check_result(scene, one)
    with open(trace) as f:
        events = [e for e in json.load(f) if e.get("ph") == "X"]
    expect(events and all(e["dur"] >= 0 for e in events), "the timeline:", events[:3])
    expect("by layer" in cluster.tasks[0].err() and "by layer" not in cluster.tasks[1].err(), "tables:", cluster.tasks[0].err())


def borrowed(task):
    """How many blocks of other tasks' memory a task has mapped."""
    with open("/proc/%d/maps" % task.process.pid) as maps:
        return sum("/memfd:artel (deleted)" in line and " r--s " in line for line in maps)


def lent(scene):
    """Long gradients are read where the other tasks have them, unless memory is not to be shared; the bits are the same."""
    few = ["--epochs", 8]
    one = undisturbed(scene, *few)
    for count, more, blocks in ((2, [], 1), (3, ["--replicas", 2], None), (3, ["--no-shared-memory"], 0)):
        cluster = started(scene, *few, *more, count=count)
        counts = [borrowed(t) for t in cluster.tasks.values()]
        expect(all(c == blocks if blocks is not None else c > 0 for c in counts), "blocks of other tasks:", counts, more)
        codes = cluster.finish(60)
        expect(set(codes.values()) == {0}, "exit codes", codes, cluster.tasks[0].err())
        check_result(scene, one)


def frozen(rank):
    """SIGSTOP: it is named and left behind; when it wakes it finds the job gone on, and joins again."""

    def check(scene):
        one, cluster = undisturbed(scene), started(scene, patient=False)
        cluster.kill(rank, signal.SIGSTOP)
        other, heir = cluster.tasks[(rank + 1) % 3], cluster.tasks[0 if rank else 1]  # the run goes no further than what the heir's reader takes
        for task in cluster.tasks.values():
            if task is not heir:
                task.drain()
        missed = heir.read_until(lambda: re.search(r"[12] left \(.*nothing heard from it", other.err()), 8)
        expect(missed, "worker %d is not missed:" % rank, other.err())
        cluster.kill(rank, signal.SIGCONT)
        back = heir.read_until(lambda: "with the state of another task" in cluster.tasks[rank].err())
        expect(back, "it does not come back:", cluster.tasks[rank].err(), other.err())
        codes = cluster.finish(90)
        expect(set(codes.values()) == {0}, "exit codes", codes, cluster.tasks[rank].err())
        expect("worker %d (%s)" % (rank, cluster.addresses[rank]) in other.err(), "it is not named:", other.err())
        check_result(scene, one)

    return check


def left(rank):
    """SIGTERM to one: it leaves in order, the others go on."""

    def check(scene):
        one, cluster = undisturbed(scene), started(scene)
        cluster.lose(0 if rank else 1, rank, signal.SIGTERM)
        codes = cluster.finish(60)
        expect(codes == {r: 143 if r == rank else 0 for r in range(3)}, "exit codes", codes, cluster.tasks[rank].err())
        expect("left the job in order" in cluster.tasks[rank].err(), "it does not say so:", cluster.tasks[rank].err())
        check_result(scene, one)

    return check


def rejoined(scene):
    """A task that died is started again: it gets the state from the others' memory, and the job ends with all."""
    one, cluster = undisturbed(scene), started(scene)
    cluster.lose(0, 1, again=True)
    codes = cluster.finish(90)
    expect(set(codes.values()) == {0}, "exit codes", codes)
    expect("1 left" in cluster.tasks[0].err(), "it is not missed:", cluster.tasks[0].err())
    check_result(scene, one)


def passes(scene):
    """evaluate and predict go on without a worker that dies, and take it in again, whenever that is."""
    rows = save_arrays(scene.row.model, scene.path("many.npz"), 60000)
    more = ["--data", rows, "--batch-size", 8, "--threads", 1]
    one = json.loads(artel("evaluate", scene.model, *more, "--json").out.splitlines()[-1])
    artel("predict", scene.model, *more, "--output", scene.path("one.npy"))
    for command in ("evaluate", "predict"):
        output = ["--output", scene.path("p.npy")] if command == "predict" else []
        cluster = Cluster(3, lambda r: [command, scene.model, *more, *output, "--json", "--strategy", "multi-worker"])
        cluster.kill(2)
        cluster.tasks[2].drain()
        cluster.restart(2)
        cluster.begun(0)  # who dies before, and is not started again, is waited for
        time.sleep(0.2)
        cluster.kill(2)
        codes = cluster.finish(60)
        expect(codes[0] == codes[1] == 0, "exit codes", codes, [t.err()[-1500:] for t in cluster.tasks.values()])
        if command == "evaluate":
            expect(cluster.tasks[0].events()[-1]["metrics"] == one["metrics"], "other metrics", cluster.tasks[0].events()[-1], one)
    expect(np.array_equal(np.load(scene.path("p.npy")), np.load(scene.path("one.npy"))), "other predictions")


def passes_written(scene):
    """What evaluate and predict find is written while all hold it: by the next task when one cannot, and nobody claims success when none can."""
    rows = save_arrays(scene.row.model, scene.path("many.npz"), 20000)
    more = ["--data", rows, "--batch-size", 8, "--threads", 1, "--strategy", "multi-worker"]
    one = artel("evaluate", scene.model, "--data", rows, "--batch-size", 8, "--threads", 1, "--json")
    cluster = Cluster(2, lambda r: ["evaluate", scene.model, *more, "--json"], full=[0])  # it is not over when it is killed: it cannot print
    expect(cluster.begun(1), "over before it was seen:", cluster.tasks[1].err())
    cluster.kill(0)
    codes = cluster.finish(60)
    expect(codes[1] == 0 and cluster.tasks[1].events() == [json.loads(one.out)], "the second one:", codes, cluster.tasks[1].out())
    full, short = scene.path("full.npy"), save_arrays(scene.row.model, scene.path("few.npz"), 300)
    os.symlink("/dev/full", full)
    outputs = {0: full, 1: scene.path("p.npy")}
    for which in ({0: full, 1: full}, outputs):
        cluster = Cluster(2, lambda r, which=which: ["predict", scene.model, *more, "--data", short, "--output", which[r]])
        codes = cluster.finish(20)
        expect(codes == {0: 2, 1: 2 if which[1] == full else 0}, "exit codes", codes, [t.err() for t in cluster.tasks.values()])
        expect("No space left" in cluster.tasks[1].err(), "says:", cluster.tasks[1].err())
    expect(np.load(outputs[1]).shape == (300, 10), "rows of predictions")


def cut_off(scene):
    """A data file that is cut off while it is read is named by those who read it."""
    for count in (1, 2):
        rows = save_arrays(scene.row.model, scene.path("cut.npz"), 60000)
        cluster = scene.cluster(count, "--data", rows, "--epochs", 50, "--json")
        expect(cluster.tasks[0].until_step(3), "no step:", cluster.tasks[0].err())
        os.truncate(scene.path("cut.npz"), 0)
        codes = cluster.finish(30)
        expect(set(codes.values()) == {1} and "cut.npz: it was cut off" in cluster.tasks[0].err(), codes, cluster.tasks[0].err())


def stopped(rank):
    """--on-preempt save: all save the same step and end; the same command then goes on to the bits of an undisturbed run."""

    def check(scene):
        one, more = undisturbed(scene), ["--checkpoint-dir", scene.path("ckpt"), "--save-every", "1000epochs", "--on-preempt", "save"]
        cluster = started(scene, *more)
        cluster.kill(rank, signal.SIGTERM)
        cluster.tasks[0].read_until(lambda: all(t.process.poll() is not None for t in cluster.tasks.values()))
        scene.all_end(cluster, 143, 20, "stopped on request")
        expect(not os.path.exists(scene.path("out.keras")), "there is an output already")
        args = [*EPOCHS, "--output", scene.path("out.keras"), "--history", scene.path("h.json"), *more]
        scene.all_end(scene.cluster(2, *args), 0, 60, "continuing from")
        check_result(scene, one)

    return check


def own_checkpoints(scene):
    """Each host has its own --checkpoint-dir: who is behind gets the state from who is ahead."""
    out, args = scene.path("out.keras"), ["--epochs", 9, "--batch-size", 16]
    callbacks = [{"class_name": "EarlyStopping", "config": {"monitor": "val_loss", "patience": 3, "restore_best_weights": True}}]
    with open(scene.path("c.json"), "w") as f:
        json.dump(callbacks, f)
    args += ["--callbacks", scene.path("c.json"), "--output", out, "--history", scene.path("h.json")]
    expect(artel(*scene.fit(*args)).rc == 0, "one process")
    one, history = digest(out), open(scene.path("h.json")).read()
    directory = lambda r: ["--checkpoint-dir", scene.path("ckpt%d" % r), "--save-every", "7steps", "--replicas", 1 + r % 2]
    for rank in (0, 2):  # the chief holds checkpoints, then a worker
        cluster = scene.cluster(3, *args, "--json", each=directory)
        expect(cluster.tasks[0].until_step(60), "no step:", cluster.tasks[0].err())
        for r in range(3):
            cluster.kill(r)
        cluster.finish(10)
        os.rename(scene.path("ckpt0"), scene.path("x"))
        os.rename(scene.path("x"), scene.path("ckpt%d" % rank))
        cluster = scene.cluster(3, *args, each=directory)
        scene.all_end(cluster, 0, 60, "continuing from")
        expect(digest(out) == one, "another digest")
        expect(open(scene.path("h.json")).read() == history, "another history")
        for r in range(3):
            shutil.rmtree(scene.path("ckpt%d" % r), ignore_errors=True)


def checkpoint_of_each_kind(scene):
    """One task has a checkpoint that was written on the way, the other one that was saved on request, a step before or the same."""
    out, args = scene.path("out.keras"), ["--epochs", 6, "--batch-size", 16, "--output", scene.path("out.keras")]
    expect(artel(*scene.fit(*args)).rc == 0, "one process")
    one = digest(out)
    directory = lambda name, every=1: ["--checkpoint-dir", scene.path(name), "--save-every", "%dsteps" % every, "--keep", 200]
    expect(artel(*scene.fit(*args, *directory("on-the-way"))).rc == 0, "one process with checkpoints")
    stopped = scene.cluster(1, *args, "--json", *directory("requested"))
    expect(stopped.tasks[0].until_step(30), "no step 30:", stopped.tasks[0].err())
    stopped.kill(0, signal.SIGTERM)
    scene.all_end(stopped, 143, 20, "stopped on request")
    step = max(int(n.rsplit("-", 1)[1]) for n in os.listdir(scene.path("requested")))
    for ahead in (0, 1):
        for name in ("ck0", "ck1"):
            shutil.rmtree(scene.path(name), ignore_errors=True)
        for kind, name, s in (("requested", "ck0", step), ("on-the-way", "ck1", step + ahead)):
            shutil.copytree(os.path.join(scene.path(kind), "ckpt-%d" % s), os.path.join(scene.path(name), "ckpt-%d" % s))
        cluster = scene.cluster(2, *args, each=lambda r: directory("ck%d" % r, 1000))
        scene.all_end(cluster, 0, 60, "continuing from")
        expect(digest(out) == one, "another digest, step %d and %d" % (step, step + ahead))


TABLE = [Row("digests-" + m, same_digests, m) for m in MODELS] + [
    Row("events", events),
    Row("torchrun", torchrun),
    Row("explain", explain),
    Row("alone", alone),
    Row("encrypted", encrypted),
    Row("other-model", refused("model", "other.keras")),
    Row("other-data", refused("data", "--data", "other.npz")),
    Row("other-rows", other_rows),
    Row("other-seed", refused("seed", "--seed", 5)),
    Row("other-epochs", refused("epochs", "--epochs", 7)),
    Row("other-weights", other_weights),
    Row("too-many", too_many),
    Row("duplicate", duplicate),
    Row("other-lists", other_lists),
    Row("missing", missing),
    Row("bad-data", bad_data_here),
    Row("fails-alone", fails_alone),
    Row("bad-output", bad_output),
    Row("said-once", said_once),
    Row("not-finite", not_finite),
    Row("options", options, "cnn"),
    Row("killed-2", lost(2)),
    Row("killed-0", lost(0)),
    Row("killed-1-replicas", lost(1, ["--replicas", 2, "--threads", 2])),
    Row("few-files-1", few_files(1)),
    Row("few-files-0", few_files(0)),
    Row("few-files-healed-1", few_files_for_a_moment(1)),
    Row("few-files-healed-0", few_files_for_a_moment(0)),
    Row("profile", profile),
    Row("lent", lent, "wide"),
    Row("killed-0-lent", lost(0), "wide"),
    Row("frozen-1-lent", frozen(1), "wide"),
    Row("frozen-1", frozen(1)),
    Row("frozen-0", frozen(0)),
    Row("left-0", left(0)),
    Row("left-2", left(2)),
    Row("rejoined", rejoined),
    Row("passes", passes),
    Row("passes-written", passes_written),
    Row("cut-off", cut_off),
    Row("stopped-1", stopped(1)),
    Row("stopped-0", stopped(0)),
    Row("own-checkpoints", own_checkpoints),
    Row("checkpoint-of-each-kind", checkpoint_of_each_kind),
]


def run(row, index, folder, keras_only):
    row.check(Scene(row, folder))
    return []


if __name__ == "__main__":
    table(TABLE, cleaning(run), [], at_once=2)
