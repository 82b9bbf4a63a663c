# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""--auto-shard hint and off: which rows each batch has, against tf.data's sharding and division of batches; training on them against Keras; the same
bits on any number of tasks, one of which is killed; words for what does not go.
"""
import json
import os

import numpy as np
from cli import K, L, O, Row, expect, save
from cluster import Cluster
from oracle import artel, digest, table
from started import cleaning
from test_audit import accounts, mix

ROWS, BATCH, EPOCHS = 83, 10, 4
MASK = (1 << 52) - 1


def model():
    m = K.Sequential([K.Input((3,)), L.Dense(8, activation="tanh"), L.Dense(1)])
    m.compile(O.SGD(0.05), "mse")
    return m


class Scene:
    def __init__(self, folder):
        self.folder, rng = folder, np.random.default_rng(11)
        self.x = rng.standard_normal((ROWS, 3)).astype("f4")
        self.y = (self.x.sum(1) > 0).astype("f4") + np.arange(ROWS, dtype="f4") * 0.01
        np.savez(self.path("d.npz"), x=self.x, y=self.y)
        self.model = save(model, self.path("m.keras"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def pipeline(self, *stages):
        with open(self.path("p.json"), "w") as f:
            json.dump({"from": "npz:" + self.path("d.npz"), "stages": list(stages)}, f)
        return "pipeline:" + self.path("p.json")

    def words(self, data, policy, *more):
        return ["fit", self.model, "--data", data, "--auto-shard", policy, "--batch-size", BATCH, "--epochs", EPOCHS, "--threads", 1, "--verbose", 0,
                "--audit-data", "--json", *more]

    def fit(self, *args):
        ran = artel(*self.words(*args))
        expect(ran.rc == 0, ran.err)
        return ran


def losses(out):
    return [e["loss"] for e in map(json.loads, out.splitlines()) if e["event"] == "epoch"]


def batches_of(lengths, batch=BATCH):
    """Row numbers of each batch without shuffling: TensorFlow's sizes, the rows of ended pipelines taken from the others in order."""
    from tensorflow.python.data.experimental.ops.distribute import batch_sizes_for_worker
    n = len(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    left = [list(range(starts[i], starts[i + 1])) for i in range(n)]
    out, step = [], 0
    while any(left):
        size = min(batch, sum(map(len, left)))
        rows = []
        for i in range(n):
            share = int(np.array(batch_sizes_for_worker(size, n, 1, i))[step % n])
            rows += left[i][:share]
            left[i] = left[i][share:]
        for i in range(n):
            more = size - len(rows)
            rows += left[i][:more]
            left[i] = left[i][more:]
        out.append(rows)
        step += 1
    return out


def order_of(rows):
    return "%013x" % (sum(mix(mix(r) + i & (1 << 64) - 1) for i, r in enumerate(rows)) & MASK)


def division(scene):
    """Orders by audit: even and uneven pipelines, more of them than rows in a batch."""
    for workers, stages in ((1, ()), (3, ()), (4, ({"stage": "take", "count": 80},)), (13, ()), (3, ({"stage": "take", "count": 2},))):
        data = scene.pipeline(*stages, {"stage": "shard", "hint": True})
        rows = next((s["count"] for s in stages), ROWS)
        lengths = [len(range(i, rows, workers)) for i in range(workers)]
        ran = scene.fit(data, "hint:%d" % workers, "--no-shuffle", "--epochs", 1)
        want = [r for b in batches_of(lengths) for r in b]
        account = accounts(ran.out.splitlines())[0]
        expect(account["order"] == order_of(want) and account["each_once"] is True and account["elements"] == rows, workers, account, order_of(want))
        expect("%d workers have pipelines of their own, of %d to %d rows" % (workers, min(lengths), max(lengths)) in ran.err, ran.err)
    # Filters make them uneven: worker 0 keeps few.
    data = scene.pipeline({"stage": "shard", "hint": True}, {"stage": "filter", "column": "y", "is": "<", "value": 0.9})
    lengths = [int((scene.y[i::3] < 0.9).sum()) for i in range(3)]
    account = accounts(scene.fit(data, "hint:3", "--no-shuffle", "--epochs", 1).out.splitlines())[0]
    expect(account["order"] == order_of([r for b in batches_of(lengths) for r in b]), lengths, account)


def values(scene):
    """Windows behind the hint are of a worker's own rows; what is learnt is what Keras learns from those batches."""
    def net():
        m = K.Sequential([K.Input((3, 3)), L.Flatten(), L.Dense(8, activation="tanh"), L.Dense(1)])
        m.compile(O.SGD(0.05), "mse")
        return m

    lengths = [len(scene.y[i::3]) - 2 for i in range(3)]
    x = np.concatenate([np.stack([scene.x[i::3][k:k + 3] for k in range(n)]) for i, n in enumerate(lengths)])
    y = np.concatenate([scene.y[i::3][2:] for i in range(3)])
    data = scene.pipeline({"stage": "shard", "hint": True}, {"stage": "window", "size": 3, "shift": 1, "columns": ["x"]})
    plain, scene.model = scene.model, save(net, scene.path("w.keras"))
    found = losses(scene.fit(data, "hint:3", "--no-shuffle").out)
    scene.model = plain
    m, want = K.saving.load_model(scene.path("w.keras")), []
    for _ in range(EPOCHS):
        total = 0.0
        for rows in batches_of(lengths):
            total += len(rows) * float(np.mean((np.asarray(m(x[rows]))[:, 0] - y[rows]) ** 2))
            m.train_on_batch(x[rows], y[rows])
        want.append(total / sum(lengths))
    expect(np.allclose(found, want, rtol=1e-4), found, want)


def tasks(scene):
    """The bits of `hint:3` and `off:3` in one process, by three workers, with one that is killed, and continued by two."""
    data = scene.pipeline({"stage": "shard", "hint": True})
    for policy in ("hint", "off"):
        one = scene.fit(data, policy + ":3", "--output", scene.path("one.keras"), "--epochs", 12)
        want = digest(scene.path("one.keras"))
        cluster = Cluster(3, lambda r: scene.words(data, policy, "--strategy", "multi-worker", "--suspect-after", 60, "--epochs", 12,
                                                   "--output", scene.path("o.keras")))
        cluster.tasks[0].until_step(20)
        cluster.kill(2)
        codes = cluster.finish(120)
        expect(codes[0] == codes[1] == 0 and digest(scene.path("o.keras")) == want, policy, codes, cluster.tasks[0].err())
        expect([a["order"] for a in accounts(cluster.tasks[0].lines).values()] == [a["order"] for a in accounts(one.out.splitlines()).values()],
               "other orders than in one process")
        ck = scene.path("ck-" + policy)
        scene.fit(data, policy + ":3", "--checkpoint-dir", ck, "--epochs", 5)
        cluster = Cluster(2, lambda r: scene.words(data, policy + ":3", "--strategy", "multi-worker", "--epochs", 12, "--checkpoint-dir", ck, "--resume",
                                                   "--output", scene.path("o.keras")))
        codes = cluster.finish(120)
        expect(set(codes.values()) == {0} and digest(scene.path("o.keras")) == want, policy, "continued", codes, cluster.tasks[0].err())
        again = artel(*scene.words(data, policy + ":2", "--epochs", 12, "--checkpoint-dir", ck, "--resume"))
        expect(again.rc == 1 and "auto-shard" in again.err, again.err)


def off(scene):
    ran = scene.fit("npz:" + scene.path("d.npz"), "off:3")
    expect("each of 3 workers goes through all %d rows" % ROWS in ran.err and "each of %d 3 times" % ROWS in ran.err, ran.err)
    found = accounts(ran.out.splitlines())
    expect(len({a["order"] for a in found.values()}) == EPOCHS and all(a["elements"] == 3 * ROWS and a["each_once"] is True for a in found.values()), found)
    plain = scene.fit("npz:" + scene.path("d.npz"), "off:3", "--no-shuffle", "--epochs", 1)
    want = [r % ROWS for b in batches_of([ROWS] * 3) for r in b]
    expect(accounts(plain.out.splitlines())[0]["order"] == order_of(want), "order of off")


def refusals(scene):
    def says(policy, data, *words, more=()):
        ran = artel(*scene.words(data, policy, *more))
        expect(ran.rc == 1 and all(w in ran.err for w in words), policy, ran.rc, ran.err, words)

    plain = scene.pipeline({"stage": "take", "count": 50})
    says("hint", plain, "no stage of the pipeline says which part", '"hint": true')
    says("hint", "npz:" + scene.path("d.npz"), "is for one pipeline")
    says("hint:0", plain, "no number of workers")
    says("of", plain, "auto, file, data, hint or off")
    says("off:2", "npz:" + scene.path("d.npz"), "no more rows than the data has", more=["--batch-size", 84])
    says("off", "npz:" + scene.path("d.npz"), "--validation-split does not part", more=["--validation-split", 0.2])
    for wrong in ({}, {"hint": True, "count": 2}):
        says("hint", scene.pipeline({"stage": "shard", **wrong}), "stage 2 (shard)", "one of the two")
    # Without the policy a hint is all of the data.
    a = scene.fit(scene.pipeline({"stage": "shard", "hint": True}), "auto")
    b = scene.fit("npz:" + scene.path("d.npz"), "data")
    expect(losses(a.out) == losses(b.out), "a hint changes what one process sees")


def case(row, index, folder, keras_only):
    row.check(Scene(folder))
    return []


if __name__ == "__main__":
    table([Row("IN3 division", division), Row("values", values), Row("IN2 tasks", tasks), Row("IN4 off", off), Row("refusals", refusals)], cleaning(case), [])
