# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""artel data-service: training on it has the bits, curves and checkpoints of training on the same data at home, while workers and the dispatcher are
killed and come back, in one job or several; certificates; who computes what; words for what does not fit.
"""
import csv
import json
import os
import shutil
import signal
import subprocess
import threading
from types import SimpleNamespace

import numpy as np
from cli import K, L, O, Row, expect, save
from cluster import Cluster, Patience, Task, free_ports
from oracle import ARTEL, artel, clean_environment, digest, table
from PIL import Image
from started import STARTED, cleaning
from test_audit import accounts

ROWS, EPOCHS = 300, 3
LONG_RUN = ["--epochs", 20]  # 380 steps: while something happens in its midst


def model():
    m = K.Sequential([K.Input((8, 8, 3)), L.Flatten(), L.Dense(16, activation="tanh"), L.Dropout(0.2), L.Dense(4, activation="softmax")])
    m.compile(O.SGD(0.05, momentum=0.5), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


class Process:
    """A dispatcher or a worker; what it says on both streams."""

    def __init__(self, *args):
        self.args = ["data-service", *map(str, args)]
        self.begin()

    def begin(self):
        self.said = []
        self.process = subprocess.Popen([ARTEL, *self.args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment({}))
        STARTED.append(self.process)
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stdout), daemon=True)
        self.reader.start()

    def text(self):
        return "".join(self.said)

    def until(self, word):
        expect(Patience(60).until(lambda: word in self.text()), self.args, "does not say", word, self.text())
        return self

    def address(self):
        self.until("listens at")
        return next(line.rsplit(" ", 1)[1].strip() for line in self.said if "listens at" in line)

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        return self.process.returncode


class Scene:
    def __init__(self, folder):
        self.folder, rng, self.alive = folder, np.random.default_rng(3), []
        y = rng.integers(0, 4, ROWS)
        x = (rng.integers(0, 40, (4, 12, 12, 3))[y] * 5 + rng.integers(0, 40, (ROWS, 12, 12, 3))).astype("u1")
        np.savez(self.path("d.npz"), x=x, y=y)
        crop = [{"stage": "random_crop", "column": "x", "height": 8, "width": 8}, {"stage": "random_flip", "column": "x"},
                {"stage": "concatenate_columns", "columns": ["x"]}]
        with open(self.path("p.json"), "w") as f:
            json.dump({"from": "npz:" + self.path("d.npz"), "stages": crop}, f)
        self.data = "pipeline:" + self.path("p.json")
        self.model = save(model, self.path("m.keras"))
        ran = self.fit(self.data, "--output", self.path("home.keras"))
        expect(ran.rc == 0, ran.err)
        self.home, self.curves = digest(self.path("home.keras")), curves(ran.out.splitlines())

    def path(self, name):
        return os.path.join(self.folder, name)

    def words(self, data, *more):
        return ["fit", self.model, "--data", data, "--batch-size", 16, "--epochs", EPOCHS, "--threads", 1, "--verbose", 0, "--audit-data", "--json", *more]

    def fit(self, data, *more):
        return artel(*self.words(data, *more))

    def long_home(self):
        """Digest and curves of LONG_RUN at home."""
        ran = self.fit(self.data, "--output", self.path("o.keras"), *LONG_RUN)
        expect(ran.rc == 0, ran.err)
        return digest(self.path("o.keras")), curves(ran.out.splitlines())

    def start(self, *args):
        self.alive.append(Process(*args))
        return self.alive[-1]

    def service(self, workers, *served, each=(), policy="dynamic", more=()):
        """A dispatcher and so many workers, and the dispatcher's address."""
        port = free_ports(1)[0]
        dispatcher = self.start("dispatcher", *served, "--port", port, "--policy", policy, *more)
        at = dispatcher.address()
        return at, dispatcher, [self.start("worker", at, *each).until("listens at") for _ in range(workers)]

    def same(self, name, ran):
        expect(ran.rc == 0, name, ran.err)
        expect(digest(self.path("o.keras")) == self.home and curves(ran.out.splitlines()) == self.curves, name, "other bits than at home")
        for a in accounts(ran.out.splitlines()).values():
            expect(a["each_once"] is True and a["elements"] == ROWS, name, a)

    def close(self):
        for p in self.alive:
            if p.process.poll() is None:
                p.end()
        self.alive = []


def curves(lines):
    return [[v for k, v in sorted(e.items()) if k not in ("event", "epoch", "task")] for e in map(json.loads, lines) if e["event"] == "epoch"]


def status(at, *more):
    ran = artel("data-service", "status", at, "--json", *more)
    expect(ran.rc == 0, ran.err)
    return json.loads(ran.out)


def bits(scene):
    """Random crops anew each epoch; several workers; several replicas; workers of a training; a checkpoint from home goes on at the service."""
    at, _, _ = scene.service(2, "train=" + scene.data)
    scene.same("one process", scene.fit("service:%s/train" % at, "--output", scene.path("o.keras")))
    scene.same("replicas", scene.fit("service:" + at, "--output", scene.path("o.keras"), "--strategy", "mirrored", "--replicas", 3))
    cluster = Cluster(2, lambda r: scene.words("service:" + at, "--strategy", "multi-worker", "--output", scene.path("o%d.keras" % r)))
    codes = cluster.finish(120)
    expect(set(codes.values()) == {0} and digest(scene.path("o0.keras")) == scene.home, codes, cluster.tasks[0].err())
    first = scene.fit(scene.data, "--checkpoint-dir", scene.path("ck"), "--epochs", 1)
    expect(first.rc == 0, first.err)
    ran = scene.fit("service:" + at, "--checkpoint-dir", scene.path("ck"), "--resume", "--output", scene.path("o.keras"))
    expect(ran.rc == 0 and digest(scene.path("o.keras")) == scene.home, "resumed", ran.err)


def kills(scene):
    """Workers die and others come, then the dispatcher; nothing is lost and nothing comes twice. The pipe of a task holds some fifty steps:
    the run is not over when the last one dies."""
    journal, want = scene.path("journal"), scene.long_home()
    at, dispatcher, workers = scene.service(2, "train=" + scene.data, more=["--journal", journal])
    task = Task(scene.words("service:" + at, "--output", scene.path("o.keras"), *LONG_RUN), {})
    task.until_step(3)
    workers[0].end()
    task.until_step(80)
    workers[1].end()
    scene.start("worker", at)
    task.until_step(160)
    dispatcher.end()
    task.until_step(240)
    dispatcher.begin()
    dispatcher.until("is ready")
    task.drain()
    expect(task.finish(120) == 0, task.err())
    expect((digest(scene.path("o.keras")), curves(task.lines)) == want, "other bits than at home")
    account = accounts(task.lines)
    expect(len(account) == 20, account)
    for a in account.values():
        expect(a["each_once"] is True and a["elements"] == ROWS, a)
    with open(journal) as f:
        expect(len(f.readlines()) == 1, "one dataset, one line")


def stopped(scene):
    """A worker that is stopped, not dead: what it owes is asked of the other."""
    want = scene.long_home()
    at, _, workers = scene.service(2, "train=" + scene.data)
    task = Task(scene.words("service:" + at, "--output", scene.path("o.keras"), *LONG_RUN), {})
    task.until_step(5)
    os.kill(workers[0].process.pid, signal.SIGSTOP)
    task.drain()
    expect(task.finish(120) == 0 and digest(scene.path("o.keras")) == want[0], task.err())


def two_jobs(scene):
    """Two trainings and a cache: the second finds what the first has had computed."""
    at, _, _ = scene.service(1, "train=" + scene.data, each=["--cache", "64M"])
    tasks = [Task(scene.words("service:" + at, "--output", scene.path("j%d.keras" % j)), {}) for j in range(2)]
    for t in tasks:
        t.drain()
    expect([t.finish(120) for t in tasks] == [0, 0], [t.err() for t in tasks])
    expect([digest(scene.path("j%d.keras" % j)) for j in range(2)] == [scene.home] * 2, "other bits than at home")
    done = {}

    def told():
        done.update(status(at)["workers"][0])
        return done["computed"] + done["found"] >= 2 * EPOCHS * ROWS

    expect(Patience(60).until(told, 0.2), done)
    expect(done["found"] >= ROWS, "the cache found", done)


def estimate(scene):
    """How many workers would do is known once a training and a worker have said how fast they go; nothing is, before. The training is ended then."""
    at, _, _ = scene.service(1, "train=" + scene.data)
    expect(status(at)["datasets"][0]["needed"] is None and "would keep" not in artel("data-service", "status", at).out, status(at))
    task = Task(scene.words("service:" + at, "--epochs", 10**6), {})
    task.drain()
    expect(Patience(60).until(lambda: status(at)["datasets"][0]["needed"] is not None, 0.2), "nothing is known", status(at), task.err())
    needed, said = status(at)["datasets"][0]["needed"], artel("data-service", "status", at).out
    task.process.kill()
    task.finish(20)
    expect(1 <= needed <= 4 and " would keep those who train from waiting" in said, needed, said)


def policies(scene):
    """Who computes what, told by counts; files that lie apart."""
    for policy in ("data", "off"):
        at, _, _ = scene.service(2, "train=" + scene.data, policy=policy)
        scene.same(policy, scene.fit("service:" + at, "--output", scene.path("o.keras")))
        found = []

        def told():
            found[:] = sorted(w["computed"] for w in status(at)["workers"])
            return sum(found) >= EPOCHS * ROWS

        expect(Patience(60).until(told, 0.2), policy, found)
        expect(found[0] == (EPOCHS * ROWS // 2 if policy == "data" else 0), policy, found)
        scene.close()
    os.makedirs(scene.path("all"))
    made = artel("data", "make", "npz:" + scene.path("d.npz"), "--output", scene.path("all/t"), "--shards", 5)
    expect(made.rc == 0, made.err)
    base = artel("data", "make", "tfrecord:%s@5" % scene.path("all/t"), "--output", scene.path("one"), "--shards", 1)
    expect(base.rc == 0, base.err)
    port = free_ports(1)[0]
    held = [{0, 1, 2}, {2, 3, 4}]
    for h, files in enumerate(held):
        os.makedirs(scene.path("h%d" % h))
        for name in os.listdir(scene.path("all")):
            k = int(name[2:7]) if name[2:7].isdigit() else -1
            if name.endswith((".index", ".json")) or k in files:
                shutil.copy2(scene.path("all/" + name), scene.path("h%d" % h))
    d = Process("dispatcher", "tfrecord:t@5", "--port", port, "--policy", "file")
    scene.alive.append(d)
    at = d.address()
    for h in range(2):
        here = os.getcwd()
        os.chdir(scene.path("h%d" % h))
        scene.start("worker", at)
        os.chdir(here)
    for w in scene.alive[-2:]:
        w.until("listens at")
    got = artel("data", "make", "service:" + at, "--output", scene.path("got"), "--shards", 1)
    expect(got.rc == 0, got.err)
    with open(scene.path("one"), "rb") as a, open(scene.path("got"), "rb") as b:
        expect(a.read() == b.read(), "other elements than those of the files")
    scene.alive[-1].end()
    got = artel("data", "make", "service:%s#wait=2" % at, "--output", scene.path("got"), "--shards", 1)
    expect(got.rc == 2 and "nobody computes elements" in got.err, got.rc, got.err)


def consumers(scene):
    """Rounds: each consumer its own element, all equally many; and stages on what is served."""
    at, _, _ = scene.service(2, "train=npz:" + scene.path("d.npz"))
    seen = []
    for c in range(7):
        with open(scene.path("c.json"), "w") as f:
            json.dump({"from": "service:%s#consumers=7&consumer=%d" % (at, c), "stages": [{"stage": "select", "columns": ["y"]}]}, f)
        ran = artel("data", "make", "pipeline:" + scene.path("c.json"), "--output", scene.path("c"), "--shards", 1)
        expect(ran.rc == 0 and "%d records" % (ROWS // 7) in ran.out, ran.out, ran.err)
        expect("6 elements are left over" in ran.err, ran.err)
        # Examples of one number: the label is the last byte of each record, before its checksum.
        with open(scene.path("c"), "rb") as f:
            records = f.read()
        size = len(records) // (ROWS // 7)
        seen.append([records[i + size - 5] for i in range(0, len(records), size)])
    y = np.load(scene.path("d.npz"))["y"]
    expect(np.array_equal(np.array(seen).T.ravel(), y[: ROWS // 7 * 7]), "rounds in the order of elements")


def stages_where_read(scene):
    """Stages and tools that read rows in an order of their own: asked for many at a time, from workers of which one dies meanwhile."""
    crop = [{"stage": "cache"}, {"stage": "shuffle", "seed": 3}, {"stage": "random_crop", "column": "x", "height": 8, "width": 8},
            {"stage": "concatenate_columns", "columns": ["x"]}]

    def written(source, name):
        halves = [{"from": source, "stages": [{"stage": part, "count": 101}]} for part in ("take", "skip")]
        with open(scene.path(name), "w") as f:
            json.dump({"from": {"concatenate": halves}, "stages": crop}, f)
        return "pipeline:" + scene.path(name)

    def made(spec, *more):
        ran = artel("data", "make", spec, "--output", scene.path("made"), "--shards", 1, *more)
        expect(ran.rc == 0, spec, ran.err)
        with open(scene.path("made"), "rb") as f:
            return f.read()

    raw = "npz:" + scene.path("d.npz")
    at, _, workers = scene.service(2, "raw=" + raw)
    for more in ([], ["--shuffle", "--seed", 5]):
        expect(made("service:%s/raw" % at, *more) == made(raw, *more), "other records than at home", more)
    home = written(raw, "home.json")
    away = written("service:%s/raw" % at, "away.json")
    expect(made(away) == made(home), "other elements than at home")
    ran = scene.fit(home, "--output", scene.path("o.keras"), *LONG_RUN)
    expect(ran.rc == 0, ran.err)
    want = digest(scene.path("o.keras")), curves(ran.out.splitlines())
    task = Task(scene.words(away, "--output", scene.path("o.keras"), *LONG_RUN), {})
    task.until_step(3)
    workers[0].end()
    task.drain()
    expect(task.finish(120) == 0, task.err())
    expect((digest(scene.path("o.keras")), curves(task.lines)) == want, "other bits than at home")


def reader():
    """Of texts and a number."""
    words, number = K.Input((2,), dtype="string", name="words"), K.Input((1,), name="number")
    known = L.StringLookup(vocabulary=["w%d" % i for i in range(40)], output_mode="multi_hot")(words)
    m = K.Model([words, number], L.Dense(3, activation="softmax")(L.Concatenate()([known, number])))
    m.compile(O.SGD(0.05), "sparse_categorical_crossentropy")
    return m


def texts(scene):
    """Strings of each source that has them, as stages, records and a training get them; none, some with marks and many that are alike."""
    rng = np.random.default_rng(8)
    words = np.array([["w%d" % n for n in pair] for pair in rng.integers(0, 60, (ROWS, 2))])
    words[:4] = [["", "a \"b\", c"], ["", ""], ["\u6570\u5b66", "\u00fc" * 500], ["line\nline", "w1"]]
    number, y = rng.integers(0, 9, ROWS), rng.integers(0, 3, ROWS)
    np.savez(scene.path("w.npz"), words=words, number=number, y=y)
    with open(scene.path("w.jsonl"), "w") as f:
        for row in zip(words.tolist(), number.tolist(), y.tolist()):
            f.write(json.dumps(dict(zip(("words", "number", "y"), row))) + "\n")
    with open(scene.path("w.csv"), "w", newline="") as f:
        table_of = csv.writer(f)
        table_of.writerow(["a", "b", "number", "y"])
        table_of.writerows([*pair, n, k] for pair, n, k in zip(words.tolist(), number, y))
    made = artel("data", "make", "npz:" + scene.path("w.npz"), "--output", scene.path("w.tfrecord"), "--compression", "gzip", "--shards", 1)
    expect(made.rc == 0, made.err)
    m = save(reader, scene.path("reader.keras"))

    def fit(data, name, *more):
        ran = artel("fit", m, "--data", data, "--epochs", 2, "--threads", 1, "--verbose", 0, "--output", scene.path(name), *more)
        expect(ran.rc == 0, data, ran.err)
        return digest(scene.path(name))

    home = fit("npz:" + scene.path("w.npz"), "t0.keras")
    served = {"npz": "npz:" + scene.path("w.npz"), "json": "jsonl:%s#label=y" % scene.path("w.jsonl"), "records": "tfrecord:" + scene.path("w.tfrecord"),
              "table": "csv:%s#label=y&stream=yes" % scene.path("w.csv")}
    at, _, workers = scene.service(2, *("%s=%s" % s for s in served.items()))
    for name, spec in served.items():
        for source, file in ((spec, "home"), ("service:%s/%s" % (at, name), "away")):
            with open(scene.path(file + ".json"), "w") as f:
                json.dump({"from": source, "stages": [{"stage": "shuffle", "seed": 4}]}, f)
            made = artel("data", "make", "pipeline:" + scene.path(file + ".json"), "--output", scene.path(file), "--shards", 1)
            expect(made.rc == 0 and "left out" not in made.err, name, made.err)
        with open(scene.path("home"), "rb") as a, open(scene.path("away"), "rb") as b:
            expect(a.read() == b.read(), "other records than at home:", name)
        if name != "table":  # whose columns stand apart
            expect(fit("service:%s/%s" % (at, name), "t1.keras") == home, "other bits than at home:", name)
    expect(fit("service:%s/npz" % at, "t1.keras", "--strategy", "mirrored", "--replicas", 2) == home, "other bits on two replicas")
    workers[0].end()
    expect(fit("service:%s/records" % at, "t1.keras") == home, "other bits with one worker")


def certificates(scene):
    certs = scene.path("certs")
    for args in (["init", certs], ["issue", certs, "dispatcher", "w1", "trainer"], ["init", certs + "2"], ["issue", certs + "2", "w1", "trainer"]):
        ran = artel("cert", *args)
        expect(ran.rc == 0, ran.err)
    at, dispatcher, _ = scene.service(0, "train=" + scene.data, more=["--cert-dir", certs + "/dispatcher", "--bind", "127.0.0.1"])
    scene.start("worker", at, "--cert-dir", certs + "/w1", "--bind", "127.0.0.1").until("listens at")
    scene.same("certificates", scene.fit("service:%s/train#cert-dir=%s/trainer" % (at, certs), "--output", scene.path("o.keras")))
    stranger = Process("worker", at, "--cert-dir", certs + "2/w1", "--bind", "127.0.0.1")
    expect(Patience(60).until(lambda: stranger.process.poll() is not None), stranger.text())
    stranger.reader.join()
    expect(stranger.process.returncode == 1 and "certificate" in stranger.text(), stranger.text())
    stranger.process.stdout.close()
    for data, words in (("service:%s#cert-dir=%s2/trainer&wait=5" % (at, certs), "certificate"), ("service:%s#wait=5" % at, "encrypt")):
        ran = scene.fit(data)
        expect(ran.rc in (1, 2) and words in ran.err, data, ran.rc, ran.err)


def refusals(scene):
    def says(ran, code, *words):
        expect(ran.rc == code and all(w in ran.err + ran.out for w in words), ran.rc, ran.err, ran.out, words)

    not_served(scene, says)
    damage(scene)
    at, dispatcher, workers = scene.service(1, "train=" + scene.data, "bad=tfrecord:" + scene.path("bad"), more=["--journal", scene.path("j2")])
    says(scene.fit("service:%s/nothing" % at), 1, "no such dataset is served: nothing", "train, bad")
    # A name that is quoted only in part, cut within a character: the dispatcher is there afterwards.
    says(scene.fit("service:%s/x%s" % (at, "\u00e9" * 100)), 1, "no such dataset is served: x\u00e9", "train, bad")
    says(scene.fit("service:127.0.0.1:%d#wait=1" % free_ports(1)[0]), 2, "unreachable")
    says(scene.fit("service:%s/train+service:%s/train" % (at, at)), 1, "not joined")
    says(scene.fit("service:%s/train" % at, "--auto-shard", "file"), 1, "for files of records")
    says(artel("data-service", "dispatch"), 1, "the nearest is dispatcher")
    says(artel("data-service", "status", at, "--port", 7), 1, "--port: status takes no such option")
    # Names that no JSON holds are refused where they are given, not called a lack of memory where they are said.
    for words in (["data-service", "dispatcher", b"p=npz:caf\xe9.npz", "--port", "0"], ["data", "bench", b"service:%s/caf\xe9" % at.encode()]):
        ran = subprocess.run([ARTEL, *words], capture_output=True, text=True, timeout=60, env=clean_environment({}))
        says(SimpleNamespace(rc=ran.returncode, out=ran.stdout, err=ran.stderr), 1, "is no UTF-8", "in UTF-8")
    # A record that is damaged: its file and place come from the worker.
    says(artel("data", "make", "service:%s/bad" % at, "--output", scene.path("copy"), "--shards", 1), 1, "bad", "record 7")
    # The data changes under a name: the new worker is refused, also by a dispatcher that was restarted.
    workers[0].end()
    dispatcher.end()
    x = np.load(scene.path("d.npz"))
    shutil.copy(scene.path("d.npz"), scene.path("kept.npz"))
    np.savez(scene.path("d.npz"), x=x["x"][::-1], y=x["y"])
    dispatcher.begin()
    dispatcher.until("listens at")
    other = Process("worker", at)
    expect(Patience(60).until(lambda: other.process.poll() is not None) and other.process.returncode == 1, other.text())
    other.reader.join()
    other.process.stdout.close()
    expect("other data than the others" in other.text() and "train" in other.text(), other.text())
    shutil.copy(scene.path("kept.npz"), scene.path("d.npz"))
    again = artel("data-service", "dispatcher", "train=npz:other.npz", "--port", 0, "--journal", scene.path("j2"))
    says(again, 1, "another process writes it")
    dispatcher.end()
    says(artel("data-service", "dispatcher", "train=npz:other.npz", "--port", 0, "--journal", scene.path("j2")), 1, "when this journal was written")
    with open(scene.path("j2"), "r+b") as f:
        f.seek(20)
        f.write(b"?")
    says(artel("data-service", "dispatcher", "train=" + scene.data, "--port", 0, "--journal", scene.path("j2")), 1, "line 1 is damaged")


def not_served(scene, says):
    """Workers that find what cannot be served say so and end."""
    with open(scene.path("t.csv"), "w") as f:
        f.write("a,y\n1,2\n3,4\n")
    os.makedirs(scene.path("photos/k"))
    Image.fromarray(np.zeros((4, 5, 3), "u1")).save(scene.path("photos/k/a.png"))
    for spec, *words in (("csv:%s#label=y" % scene.path("t.csv"), "a table that is read at once is not served"),
                         ("images:" + scene.path("photos"), "say how large images are")):
        at, dispatcher, _ = scene.service(0, spec)
        says(artel("data-service", "worker", at), 1, *words)
        dispatcher.end()


def damage(scene):
    """Records of which one is damaged in its middle, for `refusals`."""
    made = artel("data", "make", "npz:" + scene.path("d.npz"), "--output", scene.path("bad"), "--shards", 1)
    expect(made.rc == 0, made.err)
    with open(scene.path("bad"), "r+b") as f:
        size = os.path.getsize(scene.path("bad")) // ROWS
        f.seek(7 * size + size // 2)
        f.write(b"\x5a\xa5\x5a")


def case(row, index, folder, keras_only):
    scene = Scene(folder)
    try:
        row.check(scene)
    finally:
        scene.close()
    return []


if __name__ == "__main__":
    table([Row("DS1 bits", bits), Row("DS1 DS3 kills", kills), Row("stopped", stopped), Row("DS5 two jobs", two_jobs), Row("DS2 policies", policies),
           Row("DS4 consumers", consumers), Row("DS7 estimate", estimate), Row("stages where read", stages_where_read), Row("texts", texts), Row("certificates", certificates), Row("refusals", refusals)], cleaning(case), [], at_once=3)
