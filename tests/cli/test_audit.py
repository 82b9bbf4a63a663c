# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 3600
"""--audit-data: the elements of each epoch over 7 files of uneven length, held against sums made here: in one process, over replicas, over workers
that are killed and come back, over runs that are killed and go on with other replicas; and that an account with a hole says so.
"""
import glob
import json
import os
import random
import shutil
import signal
import tempfile

import numpy as np
from cli import MODELS, Row, expect, save
from cluster import Cluster, Task
from oracle import LONG, artel, table
from started import cleaning

LENGTHS = [13, 0, 41, 1, 97, 29, 7]
ROWS, BATCH, EPOCHS = sum(LENGTHS), 4, 4
STEPS = -(-ROWS // BATCH)
TURNS = 33 if LONG else 2  # of workers, two of whom at least are lost in each
ALONE = 300 - 2 * TURNS if LONG else 8  # crashes of a run of one process: the long form has 300 and more
MASK = (1 << 52) - 1


def mix(n):
    z = (n + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


DIGEST = "%013x" % (sum(map(mix, range(ROWS))) & MASK)
IN_ORDER = "%013x" % (sum(mix((mix(i) + i) % 2**64) for i in range(ROWS)) & MASK)


class Scene:
    def __init__(self, row, folder):
        self.folder, self.row = folder, row
        self.model = save(MODELS["mlp"], self.path("m.keras"))
        rng, names = np.random.default_rng(5), []
        for k, n in enumerate(LENGTHS):
            np.savez(self.path("a.npz"), x=rng.standard_normal((max(n, 1), 20)).astype("f4"), y=rng.integers(0, 10, max(n, 1)))
            names.append(self.path("p-%d.tfrecord" % k))
            made = artel("data", "make", "npz:" + self.path("a.npz"), "--output", names[-1], "--shards", 1)
            expect(made.rc == 0, made.err)
            if n == 0:
                open(names[-1], "w").close()
                os.unlink(names[-1] + ".index")
        self.data = "tfrecord:" + ",".join(names)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fit(self, *more):
        return ["fit", self.model, "--data", self.data, "--batch-size", BATCH, "--epochs", EPOCHS, "--threads", 1, "--verbose", 0, "--audit-data",
                "--json", *more]

    def one(self, *more):
        ran = artel(*self.fit(*more))
        expect(ran.rc == 0, "exit code", ran.rc, ran.err[-400:])
        return accounts(ran.out.splitlines()), ran.err


def accounts(lines):
    """The last account of each epoch."""
    found = {}
    for line in lines:
        event = json.loads(line)
        if event["event"] == "audit":
            found[event.pop("epoch")] = event
    return found


def whole(found, orders=None, epochs=EPOCHS):
    expect(sorted(found) == list(range(epochs)), "epochs:", sorted(found))
    for epoch, a in found.items():
        expect(a["elements"] == a["of"] == a["pass_elements"] == ROWS and a["each_once"] is True, "epoch", epoch, a)
        expect(a["digest"] == DIGEST, "digest", a["digest"], "and not", DIGEST)
        expect(orders is None or a["order"] == orders[epoch], "order of epoch", epoch, a["order"], orders)
    return {e: a["order"] for e, a in found.items()}


def plain(scene):
    found, err = scene.one("--no-shuffle")
    orders = whole(found)
    expect(set(orders.values()) == {IN_ORDER}, orders, IN_ORDER)
    expect("audit: epoch 1: %d elements, each of %d once, digest %s, order %s" % (ROWS, ROWS, DIGEST, IN_ORDER) in err, err)
    orders = whole(scene.one()[0])
    expect(len(set(orders.values())) == EPOCHS, "epochs in one order", orders)
    for more in (["--replicas", 3, "--strategy", "mirrored"], ["--threads", 2], ["--shards", 32], ["--check-data", "reading", "--checkpoint-dir", scene.path("c")]):
        whole(scene.one(*more)[0], orders)
    expect(set(whole(scene.one("--seed", 9)[0]).values()).isdisjoint(orders.values()), "another seed, the same order")
    short, _ = scene.one("--steps-per-epoch", 20)
    expect([a["elements"] for a in short.values()] == [80, 80, ROWS - 160, 80] and [a["each_once"] for a in short.values()] == [None, None, True, None], short)
    shutil.rmtree(scene.path("c"))
    return orders


def holes(scene):
    """An account that begins in the midst of an epoch counts what it has seen, and gives no verdict on the rest."""
    args = [a for a in scene.fit("--checkpoint-dir", scene.path("h"), "--save-every", "3steps") if a != "--audit-data"]
    task = Task(args, {})
    task.until_step(9)
    task.process.kill()
    task.drain()
    task.finish(20)
    step = max(int(p.rsplit("-", 1)[1]) for p in glob.glob(scene.path("h/ckpt-*")))
    found, err = scene.one("--checkpoint-dir", scene.path("h"), "--save-every", "3steps")
    first = found[step // STEPS]
    expect(first["elements"] == ROWS - BATCH * (step % STEPS) and (first["each_once"] is None or step % STEPS == 0), step, first)
    expect(step % STEPS == 0 or "since this run was continued" in err, err)
    ran = artel(*scene.fit("--strategy", "parameter-server"))
    expect(ran.rc == 1 and "parameter" in ran.err, ran.err)
    shutil.rmtree(scene.path("h"))


def resumed(scene, orders):
    """Killed at any step, and gone on with another number of replicas; a run of many lives."""
    rng, kills = random.Random(3), 0
    while kills < ALONE:
        folder, lines = scene.path("r"), []
        for life in range(60):
            replicas = rng.choice([1, 2, 3])
            task = Task(scene.fit("--checkpoint-dir", folder, "--save-every", "%dsteps" % rng.choice([2, 5]), "--replicas", replicas, "--strategy",
                                  "mirrored" if replicas > 1 else "one-device"), {})
            if life < 4:
                task.until_step(rng.randrange(1 + 25 * life, 25 * life + 40))
                task.process.send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            task.drain()
            code = task.finish(60)
            kills += code != 0
            lines += task.lines
            if code == 0:
                break
            expect(code in (-9, 143), "exit code", code, task.err()[-300:])
        whole(accounts([line for line in lines if line.endswith("}\n")]), orders)
        shutil.rmtree(folder)


class Endless:
    """A job of workers that goes on until the test stops it, and a run of one process that takes it to the end of its epoch."""

    def __init__(self, scene, replicas):
        self.scene, self.folder = scene, tempfile.mkdtemp(dir=scene.folder)
        more = ["--checkpoint-dir", self.folder, "--save-every", "1000000epochs"]
        self.cluster = Cluster(len(replicas), lambda r: scene.fit("--strategy", "multi-worker", "--epochs", 10**6, "--replicas", replicas[r], *more))
        self.more = more

    def stops(self, lines):
        """All are told to leave; `lines`: what those had printed that are gone. Each epoch is accounted for, in the order of one process."""
        for rank, task in self.cluster.tasks.items():
            if task.process.poll() is None:
                self.cluster.kill(rank, signal.SIGTERM)
        codes = self.cluster.finish(90)
        expect(codes.pop(0) in (143, -9) and set(codes.values()) == {143}, "exit codes", codes, [t.err()[-300:] for t in self.cluster.tasks.values()])
        lines = lines + [line for t in self.cluster.tasks.values() for line in t.lines]
        found = accounts(line for line in lines if line.endswith("}\n"))
        epochs = max(found) + 2
        rest, err = self.scene.one(*self.more, "--epochs", epochs)
        expect("continuing from" in err and min(rest) == epochs - 1, "the last epoch", rest, err[-300:])
        whole({**found, **rest}, whole(self.scene.one("--epochs", epochs)[0], epochs=epochs), epochs)


def workers(scene, _):
    """Workers are killed, leave and come back; whoever of them writes in the end has the whole account."""
    rng = random.Random(4)
    for turn in range(TURNS):
        job = Endless(scene, [1 + (r + turn) % 2 for r in range(3)])
        shows, lines, step = job.cluster.tasks[0], [], 0
        for _ in range(2):
            shows.until_step(step + rng.randrange(1, 50))
            lines += job.cluster.lose(0, rng.choice([1, 2]), rng.choice([signal.SIGKILL, signal.SIGTERM]), again=True)
            step = shows.last_step()
        shows.until_step(step + rng.randrange(1, 60))
        if rng.random() < 0.7 or not LONG:
            heir = job.cluster.tasks[1]
            job.cluster.kill(0, rng.choice([signal.SIGKILL, signal.SIGTERM]))
            shows.drain()
            expect(heir.read_until(lambda: any('"audit"' in line for line in heir.lines)), "nobody goes on:", heir.err()[-400:])
        job.stops(lines)


def alone_meanwhile(scene, _):
    """One task with several replicas is alone for some passes, and joined in the midst of one: what it had read is known to who comes."""
    job = Endless(scene, [2, 1])
    shows = job.cluster.tasks[0]
    shows.until_step(10)
    lines = job.cluster.lose(0, 1)
    shows.until_step(shows.last_step() + 3 * STEPS)
    job.cluster.restart(1)
    expect(shows.read_until(lambda: " 1 joined" in shows.err()), "it does not come back:", shows.err()[-400:])
    shows.until_step(shows.last_step() + 3 * STEPS)
    job.stops(lines)


def case(row, index, folder, keras_only):
    scene = Scene(row, folder)
    orders = plain(scene) if row.check is not holes else None
    if row.check is holes:
        holes(scene)
    elif row.check is not plain:
        row.check(scene, orders)
    return []


if __name__ == "__main__":
    table([Row("one process", plain), Row("begun in the midst", holes), Row("resumed", resumed), Row("workers", workers),
           Row("alone meanwhile", alone_meanwhile)], cleaning(case), [])
