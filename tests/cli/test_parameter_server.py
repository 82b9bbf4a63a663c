# SPDX-License-Identifier: Apache-2.0
# timeout: 240
"""Parameter servers with real processes: what is trained, which bits are promised, who may die, what is refused."""

import json
import os
import re
import signal
import sys

import numpy as np
from cli import K, L, MODELS, O, expect, run_checks, save, save_arrays
from cluster import Patience, Task, free_ports
from oracle import artel, digest, slots
from servers import STEPS, Job, history, jobs, launch, loses, one_process, path, trains, updates, words

def plain():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu", kernel_regularizer="l2"), L.Dropout(0.3), L.Dense(33, activation="relu", kernel_constraint="max_norm"),
                      L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003, clipnorm=0.5, use_ema=True), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def wide():
    m = K.Sequential([K.Input((20,)), L.Dense(1500, activation="relu"), L.Dense(1200, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.001), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


WIDE = save(wide, path("wide.keras"))
MODEL, DATA = save(plain, path("m.keras")), save_arrays("mlp", path("d.npz"), 500)
TEXT, WORDS = save(MODELS["lstm"], path("text.keras")), save_arrays("lstm", path("words.npz"), 500)
CNN, IMAGES = save(MODELS["cnn"], path("cnn.keras")), save_arrays("cnn", path("images.npz"), 500)


def PS1_asynchronous():
    _, ran = trains(2, 2, CNN, IMAGES, "--json=epochs", secure=True)
    expect("staleness of 13 updates" in ran.err, "staleness is not said", ran.err[-600:])
    events = [json.loads(line) for line in ran.out.splitlines()]
    told = [e for e in events if e["event"] == "staleness"]
    expect([e["updates"] for e in told] == [STEPS, STEPS] and all(e["p50"] <= e["p90"] <= e["max"] for e in told), "events of staleness", told)
    roles = sorted(e["task"] for e in events if e["event"] == "start")
    expect(roles == ["chief:0", "ps:0", "ps:1", "worker:0", "worker:1"], "events of the start", roles)
    trains(3, 1, MODEL, DATA, "--consistency", "bounded:1")


def one_worker():
    """One worker in rounds does what one process does, however variables are cut."""
    bits, kept = one_process(MODEL, DATA)
    for servers, cut in ((1, "none"), (2, "fixed:3"), (3, "max:1K")):
        h, _ = trains(1, servers, MODEL, DATA, "--consistency", "bounded:0", "--partitioner", cut)
        expect(digest(path("o.keras")) == bits, "other bits with", servers, cut)
        expect(h == kept, "another history", h, kept)


def PS3_replicas_of_a_worker():
    """A worker is one replica, whose threads compute a batch together: what is summed over its rows has the same bits with any number of them, so they are
    one process's; several replicas in a worker are refused by name, in the cluster's every task."""
    same = one_process(MODEL, DATA)
    for threads in (2, 3):
        h, _ = trains(1, 2, MODEL, DATA, "--consistency", "bounded:0", "--threads", threads)
        expect((digest(path("o.keras")), h) == same, "other bits with", threads, "threads")
    args = [str(a) for a in words(MODEL, DATA, "--strategy", "parameter-server", "--replicas", 2)]  # a launch ends the others with the first that fails
    for who, env in jobs(1, 1).items():
        ran = artel(*args, env=env)
        expect(ran.rc == 1 and "a worker of parameter servers is one replica, which uses all its threads" in ran.err, who, "replicas:", ran.rc, ran.err[-600:])


def KE5_arrays_and_steps():
    """Keras' DatasetCreator is for nothing here: arrays serve, with and without steps an epoch, and each batch is an event of its own."""
    out, five = path("five.keras"), ("--steps-per-epoch", 5)
    bits, _ = one_process(MODEL, DATA, *five)
    ran = launch(2, 2, MODEL, DATA, "--consistency", "sync", "--json", "--output", out, *five)
    steps = [e["step"] for e in map(json.loads, ran.out.splitlines()) if e["event"] == "step" and e["task"] == "chief:0"]
    expect(ran.rc == 0 and digest(out) == bits and steps == list(range(1, 11)), "five steps an epoch:", ran.rc, steps, ran.err[-400:])


def PS8_other_counts():
    """Variables cut in four over four servers are saved as one, and loaded by two, which have halves."""
    folder, out = path("cut"), path("two.keras")
    bits, _ = one_process(CNN, IMAGES)
    keep = ("--consistency", "sync", "--checkpoint-dir", folder, "--save-every", "1epoch")
    four = launch(1, 4, CNN, IMAGES, "--partitioner", "fixed:4", "--epochs", 1, *keep)
    two = launch(1, 2, CNN, IMAGES, "--partitioner", "fixed:2", "--output", out, *keep)
    expect(four.rc == 0 and two.rc == 0 and "continuing from" in two.err, "4 servers, then 2:", four.rc, two.rc, two.err[-600:])
    expect(digest(out) == bits and updates(out) == 2 * STEPS, "other bits, or updates", updates(out))


def optimizers():
    """Rules, slots, norms, averages and rates are those of one process, on pieces of variables, too."""
    for optimizer in ("rmsprop:centered=true", "nadam", "ftrl", "lamb", "adam:global_clipnorm=0.1",
                      "adagrad:clipvalue=0.001", "sgd:learning_rate=cosine_decay(initial=0.1,steps=15)", "adafactor", "muon", "adam:gradient_accumulation_steps=3,clipnorm=0.01"):
        bits, kept = one_process(TEXT, WORDS, "--optimizer", optimizer)
        h, _ = trains(1, 2, TEXT, WORDS, "--consistency", "bounded:0", "--partitioner", "fixed:3", "--optimizer", optimizer, falls=False)
        expect(digest(path("o.keras")) == bits and h == kept, "other bits with", optimizer)


def scales():
    """A LossScaleOptimizer that begins with a scale at which gradients are not finite: updates that are no steps, then those of the sums of several gradients,
    clipped by the norm of all, are those of one process, and so are scale, counters and rates by the number of steps."""
    inner = {"class_name": "Nadam", "config": {"gradient_accumulation_steps": 2, "global_clipnorm": 0.05, "use_ema": True}}
    scaled = 'LossScaleOptimizer:initial_scale=1e38,dynamic_growth_steps=4,inner_optimizer=%s' % json.dumps(inner)
    bits, kept = one_process(MODEL, DATA, "--optimizer", scaled)
    for workers, servers, mode in ((2, 2, "sync"), (1, 3, "sync"), (1, 3, "bounded:0")):
        ran = launch(workers, servers, MODEL, DATA, "--consistency", mode, "--partitioner", "fixed:3", "--optimizer", scaled, "--output", path("o.keras"), "--history", path("h.json"))
        expect(ran.rc == 0 and digest(path("o.keras")) == bits and history(path("h.json")) == kept, "other bits in", mode, ran.rc, ran.err[-600:])
        ours, theirs = slots(path("o.keras")), slots(path("one.keras"))
        expect({k: v.tobytes() for k, v in ours.items()} == {k: v.tobytes() for k, v in theirs.items()}, "another state of the optimizer in", mode)


def synchronous():
    for workers, servers, model, data in ((2, 1, MODEL, DATA), (3, 2, CNN, IMAGES)):
        bits, kept = one_process(model, data)
        h, _ = trains(workers, servers, model, data, "--consistency", "sync")
        expect(digest(path("o.keras")) == bits and h == kept, "other bits with", workers, servers)


def restarting():
    """The chief is killed and started again; the others wait for it, and it goes on from its checkpoint."""
    out = path("again.keras")
    args = [str(a) for a in words(MODEL, DATA, "--strategy", "parameter-server", "--post-mortem", "none", "--output", out, "--epochs", "20",
                                  "--checkpoint-dir", path("checkpoints"), "--save-every", "5steps")]
    start = {who: ([*args, *(["--json"] if who[0] == "chief" else [])], env) for who, env in jobs(2, 1).items()}
    tasks = {who: Task(*words_and_environment) for who, words_and_environment in start.items()}
    killed = tasks["chief", 0]
    expect(killed.until_step(STEPS + 3), "no steps:", killed.err())
    killed.process.send_signal(signal.SIGKILL)
    killed.drain()
    killed.finish(10)
    expect(tasks["ps", 0].until_said("waiting for the chief"), "the server does not say for whom it waits", tasks["ps", 0].err())
    tasks["chief", 0] = Task(*start["chief", 0])
    for task in tasks.values():
        task.drain()
    codes = {who: task.finish(60) for who, task in tasks.items()}
    expect(set(codes.values()) == {0}, "exit codes", codes, tasks["chief", 0].err()[-500:])
    expect("continuing from" in tasks["chief", 0].err() and updates(out) == 20 * STEPS, "it begins anew", tasks["chief", 0].err()[:300], updates(out))


def leaving():
    """Told to leave while the others go on, the chief saves the last whole state before, so that the next one goes on from there; without a place for it that
    is said. A worker leaves at the same time."""
    job = Job(2, 2, MODEL, DATA, "--on-preempt", "leave", epochs=None)
    expect(job.chief.until_step(3 * STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    for who in (("chief", 0), ("worker", 0)):
        job.tasks[who].process.send_signal(signal.SIGTERM)
    patience, old = Patience(60), job.chief
    for who in (("chief", 0), ("worker", 0)):
        expect(job.tasks[who].finish(patience) == 143, who, "exit code", job.tasks[who].process.returncode, job.tasks[who].err()[-500:])
    said = re.search(r"leaves after saving: started again, it goes on from step (\d+)", old.err())
    expect(said and int(said[1]) >= 3 * STEPS, "what it saves", old.err()[-500:])
    job.restart(("chief", 0))
    job.chief = job.tasks["chief", 0]
    job.drain()
    expect(Patience(60).until(lambda: job.chief.last_step() > int(said[1]) + STEPS), "the next one does not go on", job.chief.err()[-500:])
    first = next(e for e in job.chief.events() if e["event"] == "step")
    expect("continuing from" in job.chief.err() and first["step"] == int(said[1]) + 1, "it begins elsewhere", first, said[1], job.chief.err()[:400])
    job.kill(*job.tasks)
    alone = Job(1, 1, MODEL, DATA, epochs=10**6)
    expect(alone.chief.until_step(3), "no steps:", alone.chief.err())
    alone.drain()
    alone.chief.process.send_signal(signal.SIGTERM)
    expect(alone.chief.finish(60) == 143 and "nothing is saved without --checkpoint-dir" in alone.chief.err(), "without a directory", alone.chief.err()[-500:])
    alone.kill(("worker", 0), ("ps", 0))


def wholeness():
    """A server is lost while parts are fetched, step after step: no newer part is mixed with an older one."""
    bits, _ = one_process(WIDE, DATA, "--epochs", "6")
    for i in range(2):
        loses("ps", i, WIDE, DATA, "--consistency", "sync", "--checkpoint-dir", path("whole%d" % i), "--save-every", "1steps", "--keep", "1", "--ps-copies", 1 + i, epochs=6, step=5 + i)
        expect(digest(path("lost.keras")) == bits, "a lost server changes bits in sync")


def returning():
    """A server that comes back has no part of the state, and is told the end like the others."""
    job = Job(1, 2, MODEL, DATA, "--ps-copies", 1, epochs=None)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.chief.drain()
    job.kill(("ps", 1))
    job.restart(("ps", 1))
    expect(Patience(60).until(job.joined), "it does not come back", job.chief.err())
    expect(job.chief.until_said("are made again", 60), "the cost is not said", job.chief.err())
    job.stops()


def files(folder, *args):
    """Digests of what a ModelCheckpoint every five batches and one every epoch have written."""
    ran = artel(*args, "--callbacks", "ModelCheckpoint:filepath=%s/{epoch}-{batch:02d}.keras,save_freq=5" % folder, "--callbacks", "ModelCheckpoint:filepath=%s/{epoch}.keras" % folder)
    expect(ran.rc == 0, "exit code", ran.rc, ran.err[-600:])
    return {name: digest(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def within_epochs():
    """What callbacks do behind a batch is what they do in one process: files have the variables of their step, in every mode with one worker; in sync
    TerminateOnNaN ends behind the batch that Keras names, and its history has no later one. --stop-on-nan names the step, and every task says why."""
    args, ps = words(MODEL, DATA), ("--strategy", "parameter-server", "--post-mortem", "none", "--suspect-after", "30s")
    wanted = files(path("alone"), *args)
    expect(len(wanted) == 7 and len(set(wanted.values())) == 7, "files:", wanted)
    for workers, mode in ((2, "sync"), (1, "async"), (1, "bounded:0")):
        found = files(path("by-" + mode), "launch", "-n", workers, "--ps", 2, "--insecure-network", *args, *ps, "--consistency", mode)
        expect(found == wanted, "other files in", mode, found, wanted)
    with np.load(path("d.npz")) as arrays:
        x, y = arrays["x"].copy(), arrays["y"]
    x[200, 3] = np.nan  # of the seventh batch
    np.savez(path("nan.npz"), x=x, y=y)
    bad = "npz:" + path("nan.npz")
    _, kept = one_process(MODEL, bad, "--no-shuffle", "--callbacks", "TerminateOnNaN")
    ran = launch(2, 2, MODEL, bad, "--no-shuffle", "--callbacks", "TerminateOnNaN", "--consistency", "sync", "--history", path("h.json"))
    expect(ran.rc == 0 and "Batch 6: Invalid loss" in ran.err and repr(history(path("h.json"))) == repr(kept), "TerminateOnNaN:", ran.rc, history(path("h.json")), kept, ran.err[-400:])
    ran = launch(2, 2, MODEL, bad, "--no-shuffle", "--stop-on-nan", "--consistency", "sync")
    expect(ran.rc == 2 and "--stop-on-nan: step 7: the first value that is not finite (nan)" in ran.err, "--stop-on-nan:", ran.rc, ran.err[-600:])
    expect(not re.search(r"artel: $|failed: (;|$)", ran.err, re.M), "nothing is said:", ran.err)


def losing():
    loses("worker", 1, MODEL, DATA)
    bits, _ = one_process(MODEL, DATA, "--epochs", "20")
    loses("worker", 0, MODEL, DATA, "--consistency", "sync")
    expect(digest(path("lost.keras")) == bits, "a lost worker changes bits in sync")
    said = loses("ps", 0, MODEL, DATA)
    expect("no update is lost" in said and "are made again" not in said, "two servers are no copies of one another:", said)
    said = loses("ps", 0, MODEL, DATA, "--ps-copies", 1)
    expect("a parameter server is gone" in said and "are made again" in said, "the cost is not said:", said)


def refuses():
    def says(ran, *texts):
        expect(ran.rc == 1, "exit code", ran.rc, ran.err[-400:])
        for text in texts:
            expect(text in ran.err, "does not say", text, ran.err[-400:])

    alone = words(MODEL, DATA, "--strategy", "parameter-server")
    says(artel(*alone), "parameter-server needs a", "artel launch")
    ports = ["127.0.0.1:%d" % p for p in free_ports(3)]
    for cluster, task, lack in (({"worker": ports[:1], "ps": ports[1:2]}, "worker", "chief"), ({"chief": ports[:1], "ps": ports[1:2]}, "chief", "worker"),
                                ({"chief": ports[:1], "worker": ports[1:2]}, "chief", "ps task")):
        env = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": task, "index": 0}})}
        says(artel(*alone, env=env), "needs a " + lack)
    says(launch(1, 1, MODEL, DATA, "--partitioner", "thirds"), "--partitioner", "not a partitioner")
    says(launch(1, 1, MODEL, DATA, "--consistency", "sometimes"), "--consistency", "sometimes")
    for odd in ("sync:0", "sync:two", "bounded:-1"):
        says(launch(1, 1, MODEL, DATA, "--consistency", odd), "--consistency", odd)

    def stateful():
        m = K.Sequential([K.Input(batch_shape=(32, 5, 4)), L.LSTM(8, stateful=True), L.Dense(1)])
        m.compile("sgd", "mse")
        return m

    np.savez(path("steps.npz"), x=np.zeros((64, 5, 4), "float32"), y=np.zeros((64, 1), "float32"))
    state = artel("launch", "-n", 1, "--ps", 1, "--insecure-network", "fit", save(stateful, path("stateful.keras")), "--data", "npz:" + path("steps.npz"), "--verbose", 0, "--strategy",
                  "parameter-server", "--post-mortem", "none", "--no-shuffle")
    says(state, "goes from batch to batch")
    many = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"], "ps": ["127.0.0.1:%d" % (3 + i) for i in range(65)]}
    says(artel(*alone, env={"TF_CONFIG": json.dumps({"cluster": many, "task": {"type": "chief", "index": 0}})}), "65 ps tasks")


sys.exit(run_checks(PS1_asynchronous, one_worker, PS3_replicas_of_a_worker, KE5_arrays_and_steps, PS8_other_counts, optimizers, scales, synchronous, within_epochs, losing, wholeness, returning, restarting, leaving, refuses))
