# SPDX-License-Identifier: Apache-2.0
"""Jobs with parameter servers, for tests: by `artel launch --ps`, or task by task with TF_CONFIG so that one may be killed."""

import json
import os
import re
import signal
import tempfile
import time

from cli import expect
from cluster import Patience, Task, await_listening, free_ports
from oracle import artel, digest, slots

FOLDER = tempfile.mkdtemp()
STEPS = 13  # batches of an epoch: 400 rows of 500, 32 a batch


def path(name):
    return os.path.join(FOLDER, name)


def words(model, data, *more):
    return ["fit", model, "--data", data, "--validation-split", "0.2", "--epochs", "2", "--threads", "1", "--verbose", "0", *more]


def launch(workers, servers, model, data, *more, limit=600, secure=False):
    """Nobody is taken for lost because the machine is busy. Without certificates: a handshake of each pair of tasks is most of the time of a run as short as these."""
    args = ["launch", "-n", workers, "--ps", servers, *([] if secure else ["--insecure-network"]), *words(model, data, "--strategy", "parameter-server", "--post-mortem", "none", "--suspect-after", "30s", *more)]
    return artel(*args, timeout=limit)


def plan(ran):
    """What --explain has said, without the names of tasks before its lines."""
    return "".join(line.split("] ", 1)[-1] + "\n" for line in (ran.out + ran.err).splitlines())


def history(file):
    with open(file) as f:
        return json.load(f)


def updates(file):
    return int(slots(file)["optimizer/vars/0"])


def trains(workers, servers, model, data, *more, falls=True, secure=False):
    """A run ends well; its epochs are whole."""
    out, file = path("o.keras"), path("h.json")
    ran = launch(workers, servers, model, data, "--output", out, "--history", file, *more, secure=secure)
    expect(ran.rc == 0, "exit code", ran.rc, ran.err[-600:])
    h = history(file)
    expect({"accuracy", "loss", "val_accuracy", "val_loss"} <= set(h) and all(len(v) == 2 for v in h.values()), "history", h)
    expect(h["loss"][1] < h["loss"][0] or not falls, "the loss does not fall", h)
    expect(updates(out) == 2 * STEPS, "each batch counts once: updates", updates(out))
    return h, ran


def one_process(model, data, *more):
    ran = artel(*words(model, data, "--output", path("one.keras"), "--history", path("one.json"), *more))
    expect(ran.rc == 0, "one process:", ran.err)
    return digest(path("one.keras")), history(path("one.json"))


def jobs(workers, servers):
    ports = free_ports(1 + workers + servers)
    address = ["127.0.0.1:%d" % p for p in ports]
    cluster = {"chief": address[:1], "worker": address[1 : 1 + workers], "ps": address[1 + workers :]}
    return {(k, i): {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": k, "index": i}})} for k, v in cluster.items() for i in range(len(v))}


# Who dies is missed at once, and nobody for being slow on a busy machine.
BY_HAND = ("--strategy", "parameter-server", "--post-mortem", "none", "--suspect-after", "30s")


def loses(kind, index, model, data, *more, epochs=20, step=STEPS + 3):
    """By TF_CONFIG; a task is killed after this step. The run ends, and each batch counts once."""
    out = path("lost.keras")
    args = [str(a) for a in words(model, data, *BY_HAND, "--output", out, "--epochs", epochs, *more)]
    tasks = {who: Task([*args, *(["--json"] if who[0] == "chief" else [])], env) for who, env in jobs(2, 2).items()}
    chief = tasks["chief", 0]
    expect(chief.until_step(step), "no steps:", chief.err())
    tasks[kind, index].process.send_signal(signal.SIGKILL)
    for task in tasks.values():
        task.drain()
    patience = Patience(60)
    codes = {who: task.finish(patience) for who, task in tasks.items()}
    for who, code in codes.items():
        expect(code == (-signal.SIGKILL if who == (kind, index) else 0), who, "exit code", code, tasks[who].err()[-500:])
    expect(updates(out) == epochs * STEPS, "updates", updates(out))
    return chief.err()


def is_stopped(task):
    with open("/proc/%d/stat" % task.process.pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


class Job:
    """A job task by task; whoever is killed may be started again. `epochs` None: it goes on until the test stops it. `heed`: what Task is given of
    each task that is started, by who it is. `each`: more words for one task; such a task begins when the others can be connected to."""

    def __init__(self, workers, servers, model, data, *more, epochs=20, save_every="1000000epochs", environments=None, heed=None, each=None):
        self.out = path("job.keras")
        if epochs is None:
            self.folder = tempfile.mkdtemp(dir=FOLDER)
            epochs, more = 10**6, ("--on-preempt", "save", "--checkpoint-dir", self.folder, "--save-every", save_every, *more)
        args = [str(a) for a in words(model, data, *BY_HAND, "--output", self.out, "--epochs", epochs, *more)]
        environments = environments or jobs(workers, servers)
        own = {who: each(who) if each else [] for who in environments}
        self.start = {who: ([*args, *(["--json"] if who[0] == "chief" else []), *own[who]], env) for who, env in environments.items()}
        self.heed = heed
        self.tasks = {who: self.begin(who) for who in self.start if not own[who]}
        if len(self.tasks) < len(self.start):
            listens = lambda who: json.loads(environments[who]["TF_CONFIG"])["cluster"][who[0]][who[1]]
            await_listening([(task.process, listens(who)) for who, task in self.tasks.items()])
        self.tasks.update({who: self.begin(who) for who in self.start if own[who]})
        self.chief, self.epochs, self.killed = self.tasks["chief", 0], epochs, []

    def begin(self, who):
        return Task(*self.start[who], **({"heed": self.heed(who)} if self.heed else {}))

    def joined(self):
        """How many tasks have joined, as the chief says it; on a busy machine several may at once."""
        return sum(map(int, re.findall(r"(\d+) joined", self.chief.err())))

    def left(self, who):
        """Whether the others have gone on without that one, as the chief says it; who else is slow may be left out, too."""
        return re.search(r"[1-9]\d* left \(.*\b%s %d \(" % who, self.chief.err()) is not None

    def kill(self, *who):
        """Several die at once: the chief, which would make new copies of what the first one had, looks when all are dead."""
        chief = self.tasks["chief", 0]
        watches = len(who) > 1 and ("chief", 0) not in who and chief.process.poll() is None
        if watches:
            chief.process.send_signal(signal.SIGSTOP)
            expect(Patience(60).until(lambda: is_stopped(chief)), "the chief does not stop")
        for one in who:
            self.tasks[one].process.send_signal(signal.SIGKILL)
            self.killed.append(self.tasks[one])
        if watches:
            chief.process.send_signal(signal.SIGCONT)

    def restart(self, who):
        self.tasks[who].drain()
        self.tasks[who].finish(10)
        self.tasks[who] = self.begin(who)

    def drain(self):
        for task in self.tasks.values():
            if not hasattr(task, "drainer"):
                task.drain()

    def end_with(self, code, limit):
        self.drain()
        patience = Patience(limit)
        codes = {who: task.finish(patience) for who, task in self.tasks.items()}
        for who, ended in codes.items():
            expect(ended == (-signal.SIGKILL if self.tasks[who] in self.killed else code), who, "exit code", ended, self.tasks[who].err()[-500:], self.chief.err()[-500:])

    def ends(self, limit=60):
        self.end_with(0, limit)
        expect(updates(self.out) == self.epochs * STEPS, "updates", updates(self.out), self.chief.err()[-800:])
        return self.chief.err()

    def stops(self, limit=60):
        """By SIGTERM to the chief; what is saved has each batch once."""
        self.drain()
        self.chief.process.send_signal(signal.SIGTERM)
        return self.saves(limit)

    def saves(self, limit=60):
        """Once that has been sent."""
        self.end_with(143, limit)
        step = max(int(name.split("-")[1]) for name in os.listdir(self.folder) if name.startswith("ckpt-"))
        kept = history(os.path.join(self.folder, "ckpt-%d" % step, "manifest.json"))["iteration"]
        expect(kept == step > 0, "updates", kept, "at step", step, self.chief.err()[-800:])  # few, where they were made again
        self.step = step
        return self.chief.err()


def rests(job):
    """Waits until no step has come for a second; false when steps come all the time."""
    patience, before = Patience(20), -1
    while not patience.over():
        now = job.chief.last_step()
        if now == before:
            return True
        before = now
        time.sleep(1)
    return False
