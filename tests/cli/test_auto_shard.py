# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long form: 1800
"""--auto-shard file: tasks that each have only some files of the data train as one process does on all of them: the same rows in each batch (the
same curves but for rounding, each element once an epoch), whatever lies where, over kills and copies; the same bits where all have all; words for
what is missing. Long form: hosts that hold more than they have memory for.
"""
import gzip
import json
import os
import random
import shutil
import signal

import confined
import numpy as np
from cli import K, L, O, Row, expect, save
from cluster import Cluster
from oracle import LONG, artel, digest, table
from started import cleaning
from test_audit import accounts, mix

LENGTHS = [60, 3, 0, 110, 1, 45, 81]
ROWS, BATCH, EPOCHS = sum(LENGTHS), 10, 3
STEPS = ROWS // BATCH
DIGEST = "%013x" % (sum(map(mix, range(ROWS))) & (1 << 52) - 1)


def model():
    m = K.Sequential([K.Input((12,)), L.Dense(24, activation="tanh"), L.Dense(4, activation="softmax")])
    m.compile(O.SGD(0.05, momentum=0.5), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


class Scene:
    def __init__(self, folder):
        self.folder, rng = folder, np.random.default_rng(7)
        self.model = save(model, self.path("m.keras"))
        os.mkdir(self.path("all"))
        self.arrays = []  # of each file; of an empty one a row
        means = rng.standard_normal((4, 12))
        for k, n in enumerate(LENGTHS):
            y = rng.integers(0, 4, max(n, 1))
            x = (means[y] + rng.standard_normal((max(n, 1), 12))).astype("f4")
            self.arrays.append((x, y))
            np.savez(self.path("a.npz"), x=x, y=y)
            name = self.path("all/t-%05d-of-%05d" % (k, len(LENGTHS)))
            expect(artel("data", "make", "npz:" + self.path("a.npz"), "--output", name, "--shards", 1).rc == 0, "make")
            if n == 0:
                open(name, "w").close()
                expect(artel("data", "index", name).rc == 0, "index")
            os.replace(name + ".features.json", self.path("all/t.features.json"))
        self.one = self.alone()

    def path(self, name):
        return os.path.join(self.folder, name)

    def fit(self, host, *more):
        return ["fit", self.model, "--data", "tfrecord:%s/t@%d" % (self.path(host), len(LENGTHS)), "--batch-size", BATCH, "--epochs", EPOCHS, "--threads", 1,
                "--verbose", 0, "--audit-data", "--json", *more]

    def alone(self, *more):
        """Histories and orders of one process that has all."""
        ran = artel(*self.fit("all", "--output", self.path("one.keras"), *more))
        expect(ran.rc == 0, ran.err)
        return curves(ran.out.splitlines()), {e: a["order"] for e, a in accounts(ran.out.splitlines()).items()}, digest(self.path("one.keras"))

    def hosts(self, held):
        """A folder a task: every index, and the files it holds."""
        for h, files in enumerate(held):
            folder = self.path("h%d" % h)
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            for name in os.listdir(self.path("all")):
                k = int(name[2:7]) if name[2:7].isdigit() else -1
                if name.endswith((".index", ".features.json")) or k in files:
                    shutil.copy2(self.path("all/" + name), folder)

    def cluster(self, count, *more, each=None):
        """A killed one is missed at once; one that is slow is not lost, with files that nobody else has."""
        return Cluster(count, lambda r: self.fit("h%d" % r, "--strategy", "multi-worker", "--auto-shard", "file", "--suspect-after", 60,
                                                 *more, *(each(r) if each else [])))

    def train(self, held, *more, each=None):
        """What the tasks have said, all of which must end well."""
        self.hosts(held)
        cluster = self.cluster(len(held), *more, each=each)
        codes = cluster.finish(60)
        expect(all(c == 0 for c in codes.values()), "exit codes", codes, [t.err()[-500:] for t in cluster.tasks.values()])
        return cluster.tasks[0].lines, cluster.tasks[0].err()


def curves(lines):
    return [[v for k, v in sorted(e.items()) if k not in ("event", "epoch", "task")] for e in map(json.loads, lines) if e["event"] == "epoch"]


def near(lines, one):
    found = curves(lines)
    expect(np.shape(found) == np.shape(one) and np.allclose(found, one, rtol=2e-5, atol=2e-6), "other curves:", found, one)


def whole(lines, epochs=EPOCHS):
    found = accounts(lines)
    expect(sorted(found) == list(range(epochs)), "epochs", sorted(found))
    for a in found.values():
        expect(a["each_once"] is True and a["digest"] == DIGEST and a["elements"] == ROWS, a)
    return {e: a["order"] for e, a in found.items()}


ALL = set(range(7))


def apart(scene):
    cases = [([{0, 1}, {2, 3, 6}, {4, 5}], None), ([{0, 1, 2, 3, 4, 5}, {6}], None), ([{6}, ALL - {6}], lambda r: ["--replicas", 1 + 2 * r]),
             ([ALL, {3}], None), ([set(), {0, 1, 3, 5}, {2, 4, 6}], lambda r: ["--replicas", 2 - r % 2])]
    for held, each in cases if LONG else cases[:3] + cases[4:]:
        lines, err = scene.train(held, each=each)
        near(lines, scene.one[0])
        orders = whole(lines)
        expect(set(orders.values()).isdisjoint(scene.one[1].values()), "rows stayed where one process has them")
        expect("training: 7 files with %d records, each seen once an epoch; " % ROWS in err and "has %d files" % len(held[0]) in err, err)
    again, _ = scene.train(held, each=each)
    expect([e for e in map(json.loads, again) if e["event"] == "step"] == [e for e in map(json.loads, lines) if e["event"] == "step"], "not the same twice")


def everywhere(scene):
    lines, err = scene.train([ALL, ALL, ALL], "--output", scene.path("o.keras"))
    expect(digest(scene.path("o.keras")) == scene.one[2] and whole(lines) == scene.one[1], "other bits than one process")
    expect("every task has all of them" in err, err)


def validation(scene):
    for more in (["--validation-split", 0.3], ["--validation", "tfrecord:%s/t@7" % scene.path("h%d"), "--validation-batch-size", 32]):
        args = lambda host: [a % host if isinstance(a, str) and "%d" in a else a for a in more]
        scene.hosts([ALL])
        ran = artel(*scene.fit("all", *args(0)))
        expect(ran.rc == 0, ran.err)
        one = curves(ran.out.splitlines())
        scene.hosts([{0, 1, 3}, {2, 4, 5, 6}])
        cluster = scene.cluster(2, each=args)
        codes = cluster.finish(60)
        expect(set(codes.values()) == {0}, codes, [t.err()[-400:] for t in cluster.tasks.values()])
        near(cluster.tasks[0].lines, one)


def kills(scene):
    """Each file lies on two of three hosts: one may be killed and come back at any time. The run goes on until all that has been seen."""
    rng = random.Random(2)
    scene.hosts([ALL - {0, 1, 2}, ALL - {3, 4}, ALL - {5, 6}])
    for _ in range(40 if LONG else 2):
        cluster = scene.cluster(3, "--epochs", 10**6)
        shows, lines = cluster.tasks[0], []
        for again in (True, False):
            shows.until_step(shows.last_step() + rng.randrange(1, 30))
            lines += cluster.lose(0, rng.choice([1, 2]), rng.choice([signal.SIGKILL, signal.SIGTERM]), again)
        shows.until_step(shows.last_step() + 2 * STEPS)
        for task in cluster.tasks.values():
            task.process.kill()
        cluster.finish(60)
        expect("every file lies with two tasks or more" in shows.err(), shows.err())
        lines = [line for line in lines + [line for t in cluster.tasks.values() for line in t.lines] if line.endswith("}\n")]
        epochs = {e["epoch"]: json.dumps(e) for e in map(json.loads, lines) if e["event"] == "epoch"}
        found = {e["epoch"] for e in map(json.loads, lines) if e["event"] == "audit"}
        lines = [line for line in lines if json.loads(line).get("epoch") in found]
        whole(lines, len(found))
        near([epochs[e] for e in sorted(found)], scene.alone("--epochs", len(found))[0])


def alone_with_it(scene):
    """Who alone had a file is lost: the others say which, and the run goes on from its checkpoint when it is back."""
    scene.hosts([{0, 1, 2, 3}, {4, 5, 6}])
    save = ["--checkpoint-dir", scene.path("ck"), "--save-every", "7steps"]
    cluster = scene.cluster(2, *save)
    cluster.tasks[0].until_step(20)  # of 90, and no more than 60 beyond
    lines = cluster.tasks[0].lines
    cluster.kill(1)
    cluster.tasks[1].drain()
    cluster.tasks[1].finish(30)
    codes = cluster.finish(60)
    expect(codes[0] == 1 and "no task that takes part holds this file (3 of 7" in cluster.tasks[0].err() and "t-00004-of-00007" in cluster.tasks[0].err(),
           codes, cluster.tasks[0].err())
    cluster = scene.cluster(2, *save)
    codes = cluster.finish(60)
    expect(set(codes.values()) == {0}, codes, [t.err()[-400:] for t in cluster.tasks.values()])
    lines += cluster.tasks[0].lines
    whole(lines)
    last = {e["epoch"]: e for e in map(json.loads, lines) if e["event"] == "epoch"}
    near([json.dumps(last[e]) for e in sorted(last)], scene.one[0])
    shutil.rmtree(scene.path("ck"))


def mapped(task):
    """Files of records that a process has mapped or open: folder and number of each."""
    found = set()
    pid = task.process.pid
    names = [line.split()[-1] for line in open("/proc/%d/maps" % pid)]
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            names.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        except FileNotFoundError:
            pass
    for name in names:
        folder, base = os.path.split(name)
        if base.startswith("t-0") and base[2:7].isdigit() and base.endswith("of-%05d" % len(LENGTHS)):
            found.add((os.path.basename(folder), int(base[2:7])))
    return found


def opened(scene):
    """In the midst of a run each task has its own files open and no other's."""
    held = [{0, 1}, {3, 6}, {2, 4, 5}]  # file 2 is empty: nothing to map
    scene.hosts(held)
    cluster = scene.cluster(3, "--epochs", 9)  # not over when they are looked at
    cluster.tasks[0].until_step(STEPS // 2)
    for r, task in cluster.tasks.items():
        expect(mapped(task) == {("h%d" % r, k) for k in held[r] if LENGTHS[k]}, "task", r, mapped(task))
    codes = cluster.finish(60)
    expect(set(codes.values()) == {0}, codes, [t.err()[-400:] for t in cluster.tasks.values()])


TIMES = int(os.environ.get("ARTEL_SHARD_TIMES", "1"))  # 67: 20 GB on three hosts of 1 GB
MEMORY, WIDTH, LARGE = max(60, min(60 * TIMES, 1024)) << 20, 2048, [TIMES * n for n in (9000, 1, 12000, 4000, 0, 7000, 5000)]  # records of 8 KB: 300 MB


def wide():
    m = K.Sequential([K.Input((WIDTH,)), L.Dense(4, activation="softmax")])
    m.compile(O.SGD(0.01), "sparse_categorical_crossentropy")
    return m


def larger_than_memory(scene):
    """Three hosts of 60 MB hold 100 MB each: they train as one process without a limit, and each opens its own files alone. With
    ARTEL_SHARD_TIMES=N all of it is N times as large, memory up to 1 GB."""
    rng, held = np.random.default_rng(3), [{0, 5}, {2}, {1, 3, 4, 6}]
    model, folders = save(wide, scene.path("w.keras")), [scene.path("m%d" % h) for h in range(4)]
    for folder in folders:
        os.mkdir(folder)
    for k, n in enumerate(LARGE):
        rows = max(n // TIMES, 1)
        np.savez(scene.path("l.npz"), x=rng.standard_normal((rows, WIDTH)).astype("f4"), y=rng.integers(0, 4, rows))
        with open(scene.path("l.json"), "w") as f:
            json.dump({"from": "npz:" + scene.path("l.npz"), "stages": [{"stage": "repeat", "count": TIMES if n else 1}]}, f)
        name = os.path.join(folders[3], "t-%05d-of-%05d" % (k, len(LARGE)))
        made = artel("data", "make", "pipeline:" + scene.path("l.json"), "--output", name, "--shards", 1, timeout=120 * TIMES)
        expect(made.rc == 0, made.err)
        os.replace(name + ".features.json", os.path.join(folders[3], "t.features.json"))
        if n == 0:
            open(name, "w").close()
            expect(artel("data", "index", name).rc == 0, "index")
        for h in range(3):
            shutil.copy2(name + ".index", folders[h])
            if k in held[h]:
                os.link(name, os.path.join(folders[h], os.path.basename(name)))
    for folder in folders[:3]:
        shutil.copy2(os.path.join(folders[3], "t.features.json"), folder)

    def fit(folder):
        return ["fit", model, "--data", "tfrecord:%s/t@%d" % (folder, len(LARGE)), "--batch-size", 256, "--epochs", 2, "--threads", 1, "--verbose", 0,
                "--audit-data", "--json"]

    ran = artel(*fit(folders[3]), timeout=120 * TIMES)
    expect(ran.rc == 0, ran.err)
    for folder in folders:
        for name in os.listdir(folder):
            confined.forget(os.path.join(folder, name))
    hosts = confined.Hosts(3, MEMORY)
    try:
        cluster = Cluster(3, lambda r: [*fit(folders[r]), "--strategy", "multi-worker", "--auto-shard", "file"], prefix=hosts.words)
        cluster.tasks[0].until_step(sum(LARGE) // 256 // 2)
        for r, task in cluster.tasks.items():
            expect(mapped(task) == {("m%d" % r, k) for k in held[r] if LARGE[k]}, "task", r, mapped(task))
        codes = cluster.finish(600 * (1 + TIMES // 20))
        expect(set(codes.values()) == {0}, codes, [t.err()[-400:] for t in cluster.tasks.values()])
        for h in range(3):
            hosts.within(h)
    finally:
        hosts.close()
    found = accounts(cluster.tasks[0].lines)
    expect(sorted(found) == [0, 1] and all(a["each_once"] and a["elements"] == sum(LARGE) for a in found.values()), found)
    near(cluster.tasks[0].lines, curves(ran.out.splitlines()))


def number(values):
    return ",".join(repr(float(v)) for v in values)


FORMS = {  # what follows the folder, and how the rows of a file are written
    "lines": ("jsonl:%s/p-*#label=y", lambda x, y: "".join(json.dumps({"x": [float(v) for v in a], "y": int(b)}) + "\n" for a, b in zip(x, y)).encode()),
    "table": ("csv:%s/p-*#label=y&stream=yes", lambda x, y: (",".join("c%d" % i for i in range(12)) + ",y\n" + "".join(
        "%s,%d\n" % (number(a), b) for a, b in zip(x, y))).encode()),
    "fixed": ("fixed:%s/p-*#layout=y:uint8,x:float32:12", lambda x, y: b"".join(bytes([b]) + a.tobytes() for a, b in zip(x, y))),
}
FORMS["compressed lines"] = (FORMS["lines"][0], lambda x, y: gzip.compress(FORMS["lines"][1](x, y), mtime=0))
FORMS["compressed table"] = (FORMS["table"][0], lambda x, y: gzip.compress(FORMS["table"][1](x, y), mtime=0))


def other_files(scene):
    """Lines, tables and records of one size with the rows of the records of this scene: the first file, and with it what says what the columns are, lies
    on one task alone."""
    held = [{1, 2, 3}, {0, 4}, {3, 5, 6}]
    for form, (spec, write) in FORMS.items():
        hosts = [scene.path("%s%d" % (form.replace(" ", "-"), h)) for h in range(4)]
        fit = lambda h, *more: ["fit", scene.model, "--data", spec % hosts[h], *scene.fit("all")[4:], *more]  # noqa: B023
        for folder in hosts:
            os.mkdir(folder)
        for k, n in enumerate(LENGTHS):
            x, y = scene.arrays[k]
            with open(hosts[3] + "/p-%d" % k, "wb") as f:
                f.write(write(x[:n], y[:n]))
        made = artel("data", "index", spec % hosts[3])
        expect(made.rc == 0 and made.out.count(" rows") == 7 and "p-3.index: 110 rows" in made.out, form, made.out, made.err)
        for k in range(7):
            for h in range(3):
                shutil.copy2(hosts[3] + "/p-%d.index" % k, hosts[h])
                if k in held[h]:
                    shutil.copy2(hosts[3] + "/p-%d" % k, hosts[h])
        cluster = Cluster(3, lambda r: fit(r, "--strategy", "multi-worker", "--auto-shard", "file", "--suspect-after", 60))  # noqa: B023
        codes = cluster.finish(60)
        expect(set(codes.values()) == {0}, form, codes, [t.err()[-500:] for t in cluster.tasks.values()])
        near(cluster.tasks[0].lines, scene.one[0])
        whole(cluster.tasks[0].lines)
        expect("has 2 files (61 records)" in cluster.tasks[0].err(), form, cluster.tasks[0].err())
        seen = artel("data", "inspect", spec % hosts[0])
        expect(seen.rc == 0 and "p-6: 81 rows, not here" in seen.out and "x: %d rows" % ROWS in seen.out, form, seen.out, seen.err)
        says(fit(0), "p-0", "only the index is here", "--auto-shard file")
        says(fit(0, "--auto-shard", "file"), "p-0", "no task that takes part")
        says(["data", "stats", spec % hosts[0]], "p-0", "only the file's index")
        os.replace(hosts[0] + "/p-1.index", hosts[0] + "/p-6.index")
        says(fit(0, "--auto-shard", "file"), "p-1", "artel data index")
        shutil.copy2(hosts[3] + "/p-2.index", hosts[0] + "/p-1.index")
        says(fit(0, "--auto-shard", "file"), "p-1", "one of another file")
        index = open(hosts[3] + "/p-0.index", "rb").read()
        for damaged in (b"ARTELPI2" + index[8:], index[:17] + b"\1" + index[18:], index[:39], *([index[:-1]] if len(index) > 40 else [])):
            with open(hosts[0] + "/p-0.index", "wb") as f:
                f.write(damaged)
            says(fit(0, "--auto-shard", "file"), "p-0.index: it is no index of rows, or it is damaged")
    ran = artel(*fit(3, "--auto-shard", "file", "--output", scene.path("f.keras")))  # all of it here: the same bits as ever
    expect(ran.rc == 0 and digest(scene.path("f.keras")) == scene.one[2], "other bits than of records", ran.err)
    says(["data", "index", "csv:%s/p-0#label=y" % hosts[3]], "stream=yes")
    says(["data", "index", "npz:" + scene.path("a.npz")], "an index is for files")


def words_model():
    text = K.Input((1,), dtype="string", name="text")
    x = L.TextVectorization(vocabulary=["good", "bad", "film", "plot"], output_sequence_length=4)(text)
    m = K.Model(text, L.Dense(3, activation="softmax")(L.GlobalAveragePooling1D()(L.Embedding(6, 8)(x))))
    m.compile(O.SGD(0.1), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def text_and_more(scene):
    """Text of lines that lie apart; batches of CIFAR-10 by their index; validation data of lines that nobody has indexed, which is everywhere."""
    rng, hosts, model = np.random.default_rng(1), [scene.path("w%d" % h) for h in range(3)], save(words_model, scene.path("w.keras"))
    words = ["good", "bad", "film", "plot", "other"]
    for folder in hosts:
        os.mkdir(folder)
    for k, n in enumerate((20, 5, 30, 17)):
        with open(hosts[2] + "/p-%d" % k, "w") as f:
            f.writelines(json.dumps({"text": " ".join(rng.choice(words, rng.integers(1, 6))), "y": int(rng.integers(0, 3))}) + "\n" for _ in range(n))
    expect(artel("data", "index", "jsonl:%s/p-*#label=y" % hosts[2]).rc == 0, "index")
    for k in range(4):
        for h in range(2):
            shutil.copy2(hosts[2] + "/p-%d.index" % k, hosts[h])
        shutil.copy2(hosts[2] + "/p-%d" % k, hosts[k % 2])
    says(["data", "make", "jsonl:%s/p-*#text" % hosts[0], "--output", scene.path("texts")], "p-1", "only the file's index")
    fit = lambda h, *more: ["fit", model, "--data", "jsonl:%s/p-*#label=y" % hosts[h], "--batch-size", 8, "--epochs", 2, "--threads", 1, "--verbose", 0, "--json", *more]
    one = artel(*fit(2))
    expect(one.rc == 0, one.err)
    cluster = Cluster(2, lambda r: fit(r, "--strategy", "multi-worker", "--auto-shard", "file", "--suspect-after", 60))
    codes = cluster.finish(60)
    expect(set(codes.values()) == {0}, codes, [t.err()[-400:] for t in cluster.tasks.values()])
    near(cluster.tasks[0].lines, curves(one.out.splitlines()))
    x, y = scene.arrays[0]
    with open(scene.path("plain.jsonl"), "wb") as f:
        f.write(FORMS["lines"][1](x, y))
    ran = artel(*scene.fit("all", "--auto-shard", "file", "--epochs", 1, "--validation", "jsonl:%s#label=y" % scene.path("plain.jsonl")))
    expect(ran.rc == 0 and "val_loss" in ran.out, ran.err)
    for k in range(2):
        with open(scene.path("c%d.bin" % k), "wb") as f:
            f.write(bytes(3073 * (k + 2)))
    expect(artel("data", "index", "cifar10:" + scene.path("c?.bin")).rc == 0, "index of CIFAR-10")
    os.unlink(scene.path("c0.bin"))
    seen = artel("data", "inspect", "cifar10:" + scene.path("c?.bin"))
    expect(seen.rc == 0 and "x: 5 rows" in seen.out and "c0.bin: 2 rows, not here" in seen.out, seen.out, seen.err)
    says(["data", "stats", "cifar10:" + scene.path("c?.bin")], "c0.bin", "only the file's index", "--auto-shard file of fit")
    for k in range(2):
        with open(scene.path("t%d" % k), "w") as f:
            f.write("x,y\n%d,0\n" % k)
    for table in ("csv:" + scene.path("t?*") + "#label=y" + stream for stream in (",stream=yes", "")):  # an index is none of the files
        expect(artel("data", "index", "csv:" + scene.path("t?") + "#label=y,stream=yes").rc == 0, "index of a table")
        seen = artel("data", "inspect", table)
        expect(seen.rc == 0 and "2 rows" in seen.out, table, seen.out, seen.err)


def says(args, *words):
    ran = artel(*args)
    expect(ran.rc != 0 and all(w in ran.err for w in words), args, ran.rc, ran.err)


def refusals(scene):
    scene.hosts([ALL - {3}, ALL - {3, 6}])

    says(scene.fit("h0"), "t-00003-of-00007", "only the index is here", "--auto-shard file")
    says(scene.fit("h0", "--auto-shard", "file"), "t-00003-of-00007", "no task that takes part")
    says(scene.fit("h0", "--auto-shard", "some"), "auto, file, data, hint or off")
    says(["evaluate", scene.model, "--data", "tfrecord:%s/t@7" % scene.path("h0")], "only the index is here")
    says(["data", "stats", "tfrecord:%s/t@7" % scene.path("h0")], "t-00003-of-00007", "only the file's index")
    says(scene.fit("all", "--auto-shard", "file", "--skip-errors", 3), "without skip-errors")
    says(["fit", scene.model, "--data", "npz:" + scene.path("a.npz"), "--auto-shard", "file"], "for files of records")
    seen = artel("data", "inspect", "tfrecord:%s/t@7" % scene.path("h0"))
    expect(seen.rc == 0 and "not here" in seen.out and "x: %d rows" % ROWS in seen.out, seen.out, seen.err)
    index = scene.path("h0/t-00003-of-00007.index")
    whole_index = open(index, "rb").read()
    for damage in (whole_index[:-3], whole_index[:50] + bytes([whole_index[50] ^ 1]) + whole_index[51:], b"ARTELRI2" + whole_index[8:], b""):
        open(index, "wb").write(damage)
        says(scene.fit("h0", "--auto-shard", "file"), "t-00003-of-00007.index")
    os.unlink(index)
    says(scene.fit("h0", "--auto-shard", "file"), "t-00003-of-00007 is missing")
    os.unlink(scene.path("h1/t-00000-of-00007.index"))
    says(scene.fit("h1", "--auto-shard", "file"), "t-00000-of-00007", "artel data index")
    cluster = Cluster(2, lambda r: scene.fit("all", "--strategy", "multi-worker", *(["--auto-shard", "file"] if r else [])))
    codes = cluster.finish(40)
    expect(set(codes.values()) == {1} and "data" in cluster.tasks[0].err(), codes, cluster.tasks[0].err())


def case(row, index, folder, keras_only):
    row.check(Scene(folder))
    return []


if __name__ == "__main__":
    table([Row("IN4 apart", apart), Row("everywhere", everywhere), Row("validation", validation), Row("kills", kills), Row("alone with it", alone_with_it),
           Row("opened", opened), Row("IN4 other files", other_files), Row("IN9 text and more", text_and_more),
           Row("IN5 refusals", refusals), *([Row("larger than memory", larger_than_memory)] if LONG else [])], cleaning(case), [])
