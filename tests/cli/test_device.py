# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1200
"""Training by programs of a PJRT plug-in (XLA's for the CPU): near artel's own processors, equal bits for 1, 2, 4 replicas, for two
tasks, after a kill and a resumption; parameter servers whose workers compute so; where a NaN and a wrong index come from, as on processors; what belongs to a run; refusals and their words. Skipped without the plug-in."""

import glob
import json
import os
import signal
import sys
import tempfile
import time
import types

import numpy as np
from cli import K, L, O, expect, run_checks, save
from cluster import Cluster, Task, certificates, free_ports
from oracle import LONG, artel, digest, skip_without_xla
from oracle import weights as weights_of
from servers import jobs

FOLDER = tempfile.TemporaryDirectory()
ROWS = 256  # two batches of as many rows: others have programs of their own, and XLA compiles long
ALLOWED = "--allow-mixed-arithmetic"
BATCH = 128
FEW = 85  # rows of a batch, where the last one has a single row


def path(name):
    return os.path.join(FOLDER.name, name)


def convolutional():
    m = K.Sequential(
        [
            K.Input((12, 12, 2)),
            L.Conv2D(6, 3, padding="same", use_bias=False),
            L.BatchNormalization(),
            L.ReLU(),
            L.MaxPooling2D(),
            L.Conv2D(8, 3, strides=2, activation="relu"),
            L.Flatten(),
            L.Dropout(0.3),
            L.Dense(5, activation="softmax"),
        ]
    )
    m.compile(O.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def perceptron():
    m = K.Sequential([K.Input((20,)), L.Dense(32, activation="relu"), L.Dropout(0.25), L.Dense(5)])
    m.compile(O.SGD(0.1, momentum=0.9), K.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return m


def gathering():
    """Statistics of groups of shards, and the rows of the whole batch in a metric."""
    m = K.Sequential([K.Input((20,)), L.Dense(16), L.BatchNormalization(), L.ReLU(), L.GaussianNoise(0.1), L.Dense(5, activation="softmax")])
    m.compile(O.Adam(0.01, clipnorm=1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def averaging():
    """Much state beside the weights."""
    m = K.Sequential([K.Input((20,)), L.Dense(16, kernel_regularizer="l2"), L.BatchNormalization(), L.ReLU(), L.Dense(16, trainable=False), L.Dense(5, activation="softmax")])
    m.compile(O.Adam(0.01, amsgrad=True, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=3, gradient_accumulation_steps=2, global_clipnorm=1.0),
              "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def meeting():
    """A loss of each row beside all rows of the batch."""
    m = K.Sequential([K.Input((20,)), L.Dense(4), L.UnitNormalization()])
    m.compile(O.SGD(0.01), K.losses.Circle(gamma=4.0))
    return m


def lookup():
    m = K.Sequential([K.Input((8,), dtype="int32"), L.Embedding(30, 8), L.Dense(30)])
    m.compile(O.SGD(0.1), K.losses.SparseCategoricalCrossentropy(from_logits=True))
    return m


def data(name, shape):
    random = np.random.default_rng(3)
    y = random.integers(0, 5, ROWS).astype("int32")
    x = random.normal(size=(ROWS, *shape)).astype("float32")
    x.reshape(ROWS, -1)[:, :5] += 2 * np.eye(5, dtype="float32")[y]
    np.savez(path(name), x=x, y=y)
    return "npz:" + path(name)


CASES = {"cnn": (save(convolutional, path("cnn.keras")), data("images.npz", (12, 12, 2))), "mlp": (save(perceptron, path("mlp.keras")), data("rows.npz", (20,)))}


def words(case, out, *more):
    model, source = CASES[case]
    return ["fit", model, "--data", source, "--batch-size", BATCH, "--epochs", "3", "--seed", "4", "--verbose", "0", "--output", path(out), *more]


def fit(case, out, *more, **options):
    answer = artel(*words(case, out, *more), **options)
    expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    return digest(path(out))


KNOWN = {}


def known(case, *more):
    """The file of such a run, and its bits: one for all checks that compare with it."""
    key = (case, *map(str, more))
    if key not in KNOWN:
        file = "known-%d.keras" % len(KNOWN)
        KNOWN[key] = file, fit(case, file, *more)
    return KNOWN[key]


def weights(name):
    """By path in the file."""
    return [w for _, w in sorted(weights_of(path(name)).items())]


def expect_near(a, b, *what):
    for one, other in zip(weights(a), weights(b), strict=True):
        expect(np.allclose(one, other, rtol=2e-3, atol=2e-4), *what, "differs by", np.abs(one - other).max())


def cores(case, shards=4):
    return known(case, "--shards", shards)[0]


def device(case):
    return known(case, "--device", "cpu:xla")[1]


def near():
    """The plug-in's arithmetic is another one; the model is the same."""
    for case in CASES:
        expect_near(cores(case), known(case, "--device", "cpu:xla")[0], case)


def replicas():
    for case in CASES:
        one = device(case)
        for n in (2, 4) if LONG or case == "cnn" else (4,):
            bits = fit(case, "many.keras", "--device", "cpu:xla", "--strategy", "mirrored", "--replicas", n)
            expect(bits == one, case, "on", n, "devices other bits than on one")
    wide = ("--dtype", "float64", "--device", "cpu:xla", "--epochs", 1)
    case = "cnn" if LONG else "mlp"
    expect(fit(case, "many.keras", *wide, "--strategy", "mirrored", "--replicas", 2) == fit(case, "one.keras", *wide), "float64 has other bits on two devices")
    one = fit("mlp", "one.keras", "--device", "cpu:xla", "--shards", 8)
    eight = ",".join("cpu:xla:%d" % i for i in (3, 0, 7, 1, 2, 6, 5, 4))
    expect(fit("mlp", "many.keras", "--device", eight, "--shards", 8) == one, "on eight devices other bits than on one")


def central():
    """The variables stay in this machine's memory, and each step sends what it reads: the bits of devices that have their own, in evaluation too, and where
    weights are averaged, put back, or set by callbacks; checkpoints go from one to the other."""
    CASES["deep"] = (save(averaging, path("deep.keras")), CASES["mlp"][1])
    for case, n, more in (("cnn", 2, ()), ("deep", 2, ("--validation", CASES["mlp"][1], "--callbacks", "ReduceLROnPlateau:patience=0,min_delta=10", "--batch-size", FEW))):
        mirrored = fit(case, "own.keras", "--device", "cpu:xla", "--strategy", "mirrored", "--replicas", n, *more) if more else device(case)
        bits = fit(case, "central.keras", "--device", "cpu:xla", "--strategy", "central-storage", "--replicas", n, *more)
        expect(bits == mirrored, case, "with variables here: other bits than with some on each device")
    folder = path("central")
    cut = ["1" if w == "3" else w for w in words("cnn", "part.keras", "--device", "cpu:xla", "--checkpoint-dir", folder)]
    part = artel(*cut, "--strategy", "central-storage", "--replicas", 2)
    expect(part.rc == 0, "exit code", part.rc, part.err)
    bits = fit("cnn", "rest.keras", "--device", "cpu:xla", "--checkpoint-dir", folder, "--strategy", "mirrored", "--replicas", 4)
    expect(bits == device("cnn"), "cut under central-storage, continued under mirrored: other bits")
    need = []
    for strategy in ("mirrored", "central-storage"):
        said = artel(*words("cnn", "told.keras", "--device", "cpu:xla", "--explain", "--strategy", strategy, "--replicas", 2, "--epochs", 1))
        expect(said.rc == 0 and "# " in said.out, "exit code", said.rc, said.err)
        need.append([int(line.split("variables ")[1].split(",")[0]) for line in said.out.splitlines() if "a step needs" in line])
    expect(need[0] and max(need[0]) > max(need[1]) > 0, "variables on a device, own and sent:", need)
    del CASES["deep"]


def mixed():
    """Processors and a device in one run: refused unless it is allowed, then a run of its own class, which has its bits again, goes on from its checkpoint, and
    is near to either kind, whoever is first and however many are named."""
    answer = artel(*words("cnn", "x.keras", "--device", "cpu,cpu:xla:0"))
    expect(answer.rc == 1 and "do not compute together" in answer.err and "--allow-mixed-arithmetic" in answer.err, "not allowed:", answer.rc, answer.err)
    both = ("--device", "cpu,cpu:xla:0", "--allow-mixed-arithmetic", "--shards", 4)
    for case in CASES:
        first = artel(*words(case, "mixed.keras", *both, "--explain"))
        expect(first.rc == 0, "exit code", first.rc, first.err)
        expect("# arithmetic: mixed: pjrt cpu" in first.out and "replicas cpu cpu:xla:0" in first.out and "on processors" in first.out, case, "explains", first.out[:600])
        bits = digest(path("mixed.keras"))
        expect_near(cores(case), "mixed.keras", case)
        if case == "cnn" and not LONG:
            continue
        folder = ("--checkpoint-dir", path("mixed-" + case))
        cut = ["1" if w == "3" else w for w in words(case, "part.keras", *both, *folder)]
        expect(artel(*cut).rc == 0, "one epoch")
        for other in (("--device", "cpu:xla:0", "--shards", 4), ("--device", "cpu:xla:0,cpu", "--allow-mixed-arithmetic", "--shards", 4), ("--shards", 4)):
            answer = artel(*words(case, "x.keras", *other, *folder))
            expect(answer.rc == 1 and "mixed: pjrt cpu" in answer.err, "continued by", other, answer.rc, answer.err)
        expect(fit(case, "rest.keras", *both, *folder) == bits, case, "continued, with other bits")
    for names in ("cpu:xla:0,cpu", "cpu,cpu:xla:0,cpu:xla:1,cpu"):
        more = ("--device", names, "--allow-mixed-arithmetic", "--shards", 4)
        bits = fit("mlp", "mixed.keras", *more)
        expect(fit("mlp", "again.keras", *more) == bits, names, "again, with other bits")
        expect_near(cores("mlp"), "mixed.keras", names)
    answer = artel("fit", CASES["mlp"][0], "--data", CASES["mlp"][1], "--device", "cpu,cpu:xla:0", "--allow-mixed-arithmetic")
    expect(answer.rc == 0, "as docs/devices.md has it:", answer.rc, answer.err)
    for more, told in ((("--strategy", "central-storage"), "central-storage"), (("--device-reduce", "fast"), "no fast class"),
                       (("--replicas", 1), "2 processors and devices are named, a replica each, and replicas there are 1"), (("--replicas", 4), "replicas there are 4"),
                       (("--strategy", "one-device"), "replicas there are 1"), (("--strategy", "default"), "replicas there are 1"),
                       (("--device-precision", "tf32"), "of float32 to tf32"), (("--device-precision", "bfloat16"), "of float32 to bfloat16")):
        answer = artel(*words("mlp", "x.keras", *both, *more))
        expect(answer.rc == 1 and told in answer.err, more, answer.rc, answer.err)


def shares():
    """Parts of the shards by name: a class of its own, which says them, near processors; repeated and resumed with the same bits, and not with others."""
    for names, told in (("cpu,cpu:xla:0*7", "replicas cpu cpu:xla:0*7"), ("cpu:xla:1*3,cpu*2,cpu:xla:0*3", "replicas cpu:xla:1*3 cpu*2 cpu:xla:0*3")):
        more = ("--device", names, ALLOWED, "--shards", 8)
        answer = artel(*words("mlp", "shares.keras", *more, "--explain"))
        expect(answer.rc == 0 and told in answer.out, names, answer.rc, answer.err, answer.out[:500])
        bits = digest(path("shares.keras"))
        expect_near(cores("mlp", 8), "shares.keras", names)
        folder = ("--checkpoint-dir", path("shares%d" % len(names)))
        fit("mlp", "part.keras", *more, *folder, "--epochs", 1)
        expect(fit("mlp", "rest.keras", *more, *folder) == bits, names, "continued, with other bits")
        for other in (names.replace("*7", "*3").replace("*2", ""), "cpu,cpu:xla:0"):
            answer = artel(*words("mlp", "y.keras", "--device", other, ALLOWED, "--shards", 8, "--epochs", 4, *folder))
            expect(answer.rc == 1 and "these differ: device" in answer.err and told in answer.err, other, "continues", names, answer.rc, answer.err)
    model, source = CASES["mlp"]
    told = artel("evaluate", path("shares.keras"), "--data", source, "--batch-size", 100, "--device", "cpu*3,cpu:xla:0", ALLOWED)
    expect(told.rc == 0, told.err)
    for device, text in (("cpu,cpu:xla:0*0", "names no device"), ("cpu,cpu:xla:0*x", "names no device"), ("cpu:xla:0*2,cpu:xla:1", "for processors beside devices"),
                         ("cpu,cpu:xla:0*900", "of 8 shards one of the processors and devices gets none")):
        answer = artel(*words("mlp", "y.keras", "--device", device, ALLOWED, "--shards", 8))
        expect(answer.rc == 1 and text in answer.err, device, answer.rc, answer.err)


def job(case, out, devices, *more):
    """The tasks of a job, each with devices of its own; the first one tells events."""
    addresses = ["127.0.0.1:%d" % port for port in free_ports(len(devices))]
    line = [str(w) for w in words(case, out, "--strategy", "multi-worker", "--shards", 4, "--post-mortem", "none", *more)]
    return [Task([*line, "--device", device, *(["--json"] if i == 0 else [])], {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}})})
            for i, device in enumerate(devices)]


def end(tasks, *wanted):
    for task in tasks:
        task.drain()
    codes = [task.finish(120) for task in tasks]
    expect(codes == list(wanted or [0] * len(tasks)), "exit codes", codes, [task.err()[-500:] for task in tasks])
    return tasks


def mixed_tasks():
    """Tasks on processors and on devices: a run of its own class if all allow it, which says who computes what, has its bits again, and after a resumption,
    and is near to either kind, whoever is first."""
    for devices in (("cpu", "cpu:xla"), ("cpu:xla:0,cpu", "cpu", "cpu:xla")):
        end(job("cnn", "mixed.keras", devices, ALLOWED))
        bits = digest(path("mixed.keras"))
        expect_near(cores("cnn"), "mixed.keras", devices)
        if len(devices) > 2 and not LONG:
            continue
        folder = ("--checkpoint-dir", path("mixed-tasks-%d" % len(devices)))
        first = end(job("cnn", "part.keras", devices, ALLOWED, "--epochs", 1, *folder))[0]
        start = next(event for event in map(json.loads, first.lines) if event["event"] == "start")
        told = start["arithmetic"]
        expect(told.startswith("mixed among tasks: worker 0 (") and "artel-1 float32" in told and "pjrt cpu " in told and "worker 1 (" in told, "the start says", told)
        end(job("cnn", "rest.keras", devices, ALLOWED, *folder))
        expect(digest(path("rest.keras")) == bits, devices, "continued, with other bits")
    manifest = json.load(open(sorted(glob.glob(path("mixed-tasks-2") + "/ckpt-*/manifest.json"))[-1]))
    expect(manifest["identity"]["device"] == "mixed among tasks" and "pjrt cpu " in manifest["arithmetic"], "the checkpoint says", manifest["arithmetic"])
    folder = ("--checkpoint-dir", path("mixed-tasks-2"))
    for turn, devices in enumerate((("cpu", "cpu:xla"), ("cpu:xla", "cpu"))):
        task = end(job("cnn", "other.keras", devices, ALLOWED, "--epochs", 4 + turn, *folder))[0]
        expect(("the checkpoint was made by others" in task.err()) == (turn == 1), devices, "says", task.err()[-800:])
    for other in (("--device", "cpu:xla"), ("--device", "cpu")):
        answer = artel(*words("cnn", "x.keras", "--shards", 4, "--checkpoint-dir", path("mixed-tasks-2"), *other))
        expect(answer.rc == 1 and "there mixed among tasks" in answer.err, "continued by", other, answer.rc, answer.err)
    one, other = job("mlp", "x.keras", ("cpu", "cpu:xla"), ALLOWED, "--device-precision", "tf32"), job("mlp", "x.keras", ("cpu", "cpu:xla"), ALLOWED, "--device-reduce", "fast")
    for tasks, text in ((one, "of float32 to tf32"), (other, "no fast class")):
        for task in end(tasks, 1, 1):
            expect(text in task.err(), "it says", task.err()[-500:])


def mixed_killed():
    """Whoever is killed of them, the one that makes the variables or another, the others go on with the same variables."""
    for index in (0, 1):
        tasks = job("mlp", "left.keras", ("cpu", "cpu:xla", "cpu:xla"), ALLOWED, "--epochs", 90)
        expect(tasks[0].until_step(4), "no steps:", tasks[0].err())
        tasks[index].process.send_signal(signal.SIGKILL)
        codes = [0, 0, 0]
        codes[index] = -signal.SIGKILL
        end(tasks, *codes)
        expect("1 left" in tasks[2].err(), "nobody left", tasks[2].err()[-500:])
        expect(all(np.isfinite(w).all() for w in weights("left.keras")), "weights")


def mixed_pass():
    """evaluate and predict on processors and a device at once, in one process and in two tasks."""
    model, source = CASES["cnn"]
    said = {}
    for devices in ("cpu", "cpu,cpu:xla:0", ("cpu:xla", "cpu")):
        alone = isinstance(devices, str)
        for command, more in (("evaluate", ["--json"]), ("predict", ["--output", path("p.npy")])):
            line = [command, model, "--data", source, "--shards", "4", *more, ALLOWED]
            if alone:
                answer = artel(*line, "--device", devices)
                expect(answer.rc == 0, "exit code", devices, answer.rc, answer.err)
                out = answer.out
            else:
                addresses = ["127.0.0.1:%d" % port for port in free_ports(2)]
                out = end([Task(line + ["--strategy", "multi-worker", "--device", device], {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}})})
                           for i, device in enumerate(devices)])[0].out()
            said[command, devices] = json.loads(out)["loss"] if command == "evaluate" else np.load(path("p.npy"))
        for command in ("evaluate", "predict"):
            expect(np.allclose(said[command, devices], said[command, "cpu"], rtol=1e-4, atol=1e-5), command, devices, "differs")


def launches():
    """All shards of a replica in one launch, or one by one: the same bits, also of uneven shards, last batches with fewer rows than shards, and
    rows that are gathered, or meet those of other shards."""
    gather = save(gathering, path("gather.keras"))
    CASES["gather"] = (gather, CASES["mlp"][1])
    CASES["meet"] = (save(meeting, path("meet.keras")), CASES["mlp"][1])
    for case, more in (("cnn", ()), ("mlp", ("--shards", 4, "--batch-size", FEW)), ("gather", ("--batch-norm", "groups:2")), ("meet", ("--batch-size", FEW, "--shards", 2))):
        one = fit(case, "one.keras", "--device", "cpu:xla", "--device-launches", "shard", *more)
        if case == "cnn":
            expect(device(case) == one, case, "in one launch: other bits")
        for n in (1, 3 if case == "mlp" else 2) if LONG else () if case == "cnn" else (3,) if case == "mlp" else (2,):
            strategy = ("--strategy", "mirrored", "--replicas", n) if n > 1 else ()
            bits = fit(case, "group.keras", "--device", "cpu:xla", "--device-launches", "replica", *strategy, *more)
            expect(bits == one, case, "on", n, "devices: other bits in one launch")
    del CASES["gather"], CASES["meet"]


def feeds():
    """Batches go to the device while the one before is computed, whoever has them: arrays in memory, class weights that are written into them, records that
    threads read ahead. The bits are those of the same numbers from one file of arrays."""
    random = np.random.default_rng(8)
    x, y = np.round(random.normal(size=(ROWS, 20)) * 8).astype("float32") / 8, random.integers(0, 5, ROWS).astype("int32")
    weight = np.asarray([1, 0.5, 2, 1, 0.25], "float32")
    np.savez(path("plain.npz"), x=x, y=y)
    np.savez(path("weighted.npz"), x=x, y=y, sample_weight=weight[y])
    with open(path("rows.jsonl"), "w") as out:
        out.writelines(json.dumps({"x": row.tolist(), "y": int(label)}) + "\n" for row, label in zip(x, y))
    records = "jsonl:%s#label=y" % path("rows.jsonl")
    CASES.update(plain=(CASES["mlp"][0], "npz:" + path("plain.npz")), weighted=(CASES["mlp"][0], "npz:" + path("weighted.npz")), records=(CASES["mlp"][0], records))
    classes = ("--class-weight", json.dumps({str(i): float(w) for i, w in enumerate(weight)}))
    for more in (("--device-reduce", "fast", "--epochs", 1), ("--strategy", "mirrored", "--replicas", 2, "--epochs", 1)):
        plain, weighted = (fit(case, "feeds.keras", "--device", "cpu:xla", *more) for case in ("plain", "weighted"))
        for case, words, bits in (("plain", classes, weighted), ("records", (), plain), ("records", classes, weighted)):
            expect(fit(case, "feeds.keras", "--device", "cpu:xla", *words, *more) == bits, case, words, more, "give other bits")
    del CASES["plain"], CASES["weighted"], CASES["records"]


def resumption():
    """Cut after an epoch, continued; and it is another run on processors."""
    folder = path("checkpoints")
    whole = device("cnn")
    part = artel(*[w if w != "3" else "1" for w in words("cnn", "part.keras")], "--device", "cpu:xla", "--checkpoint-dir", folder)
    expect(part.rc == 0, "exit code", part.rc, part.err)
    bits = fit("cnn", "rest.keras", "--device", "cpu:xla", "--checkpoint-dir", folder)
    expect(bits == whole, "a resumed run has other bits")
    other = artel(*words("cnn", "other.keras", "--checkpoint-dir", folder, "--shards", "4"))
    expect(other.rc == 1 and "device" in other.err, "processors continue a device's run", other.rc, other.err)


def evaluation():
    model, source = path(known("cnn", "--device", "cpu:xla")[0]), CASES["cnn"][1]
    loss = {}
    for device in ("cpu", "cpu:xla"):
        answer = artel("evaluate", model, "--data", source, "--device", device)
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
        loss[device] = answer.out
        answer = artel("predict", model, "--data", source, "--device", device, "--output", path("p-%s.npy" % device.replace(":", "-")))
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    expect(np.allclose(np.load(path("p-cpu.npy")), np.load(path("p-cpu-xla.npy")), rtol=1e-4, atol=1e-5), "predictions differ")


def factors():
    """QR, eigenvalues and singular values of odd matrices: none, of one line, of rank 1, with equal values, far apart ones, and what is not finite."""
    x = K.Input((7, 5))
    y = K.ops.matmul(K.ops.transpose(x, (0, 2, 1)), x)
    found = [*K.ops.qr(x, mode="complete"), *K.ops.eigh(y), *K.ops.svd(x, full_matrices=True), *K.ops.svd(K.ops.transpose(x, (0, 2, 1)), full_matrices=False), y]
    model = save(lambda: K.Model(x, found), path("factors.keras"))
    random = np.random.default_rng(2)
    a = random.normal(size=(9, 7, 5)).astype("float32")
    a[1], a[2], a[3] = 0, np.eye(7, 5), random.normal(size=(7, 1)) * random.normal(size=(1, 5))
    a[4] *= np.float32(10) ** np.arange(-4, 1)
    a[5, 1:], a[6, 3, 3], a[7, 0, 0] = 0, np.nan, np.inf
    np.savez(path("factors.npz"), x=a)
    answer = artel("predict", model, "--data", "npz:" + path("factors.npz"), "--device", "cpu:xla", "--output", path("factors-of.npz"))
    expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    q, r, e, v, u, s, w, u2, s2, w2, y = np.load(path("factors-of.npz")).values()
    lost = [6, 7]
    for one in (q, r, e, v, u, s, w, u2, s2, w2):
        expect(np.isnan(one[lost]).all() and np.isfinite(np.delete(one, lost, 0)).all(), "what is not finite", one)
    a, q, r, e, v, u, s, w, u2, s2, w2, y = (np.delete(one, lost, 0) for one in (a, q, r, e, v, u, s, w, u2, s2, w2, y))
    back = lambda x: x.transpose(0, 2, 1)
    for name, made, wanted in (("QR", q @ r, a), ("eigenvalues", v * e[:, None] @ back(v), y), ("singular values", u[:, :, :5] * s[:, None] @ w, a), ("of the other side", u2 * s2[:, None] @ w2, back(a)),
                               ("sizes", s, s2), ("squares", np.sort(s * s), np.maximum(e, 0))):
        expect(np.allclose(made, wanted, atol=2e-5), name, np.abs(made - wanted).max())
    for name, one in (("q", q), ("v", v), ("u", u), ("w", back(w)), ("u2", u2), ("w2", back(w2))):
        expect(np.allclose(back(one) @ one, np.eye(one.shape[2]), atol=2e-6), "columns of", name)
    expect((np.diff(e) >= 0).all() and (np.diff(s) <= 0).all(), "their order")


def tasks():
    """Two tasks by their own clients give the bits of one, also of two devices each; a task on processors is no member of such a job."""
    one = device("cnn")
    for more in ((), ("--replicas", 2)) if LONG else (("--replicas", 2),):
        answer = artel("launch", "-n", 2, *words("cnn", "two.keras", "--device", "cpu:xla", "--strategy", "multi-worker", *more))
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
        expect(digest(path("two.keras")) == one, "two tasks give other bits than one", more)
    addresses = ["127.0.0.1:%d" % port for port in free_ports(2)]
    line = [str(w) for w in words("mlp", "mixed.keras", "--strategy", "multi-worker", "--shards", 4, "--post-mortem", "none")]
    pair = [Task(line + ["--device", device], {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}})})
            for i, device in enumerate(("cpu:xla", "cpu"))]
    for task in pair:
        task.drain()
    for task, mine, other in zip(pair, ("pjrt cpu ", "artel-1 float32"), ("artel-1 float32", "pjrt cpu ")):
        expect(task.finish(120) == 1, "a mixed job goes on", task.err()[-500:])
        expect("differs in arithmetic (there " + other in task.err() and "here " + mine in task.err() and ALLOWED in task.err(), "it says", task.err()[-500:])


def killed():
    """One of two tasks is killed; the other one goes on to the bits of one alone."""
    many = ("--epochs", "60")  # more steps than a task can be ahead of what is read of it: the job is not over when one is killed
    one = fit("cnn", "alone.keras", "--device", "cpu:xla", *many)
    addresses = ["127.0.0.1:%d" % port for port in free_ports(2)]
    line = [str(w) for w in words("cnn", "left.keras", "--device", "cpu:xla", "--strategy", "multi-worker", "--post-mortem", "none", *many)]
    start = [(line + (["--json"] if i == 0 else []), {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}})}) for i in range(2)]
    pair = [Task(*one_start) for one_start in start]
    expect(pair[0].until_step(4), "no steps:", pair[0].err())
    pair[1].process.send_signal(signal.SIGKILL)
    for task in pair:
        task.drain()
    codes = [task.finish(120) for task in pair]
    expect(codes == [0, -signal.SIGKILL], "exit codes", codes, pair[0].err()[-500:])
    expect("1 left" in pair[0].err(), "nobody left", pair[0].err()[-500:])
    expect(digest(path("left.keras")) == one, "a killed task changes bits")


def joined():
    """Over TLS: a task of a job on devices that was killed is started again, gets the state, and the bits are those of one; so is the first of a job of two
    kinds, who made the variables, and what it has then is finite and the same for all."""
    many = ("--epochs", "600")
    one = fit("mlp", "alone.keras", "--device", "cpu:xla", *many)
    certs = certificates(types.SimpleNamespace(path=path))
    for devices, lost, reader, more in ((("cpu:xla", "cpu:xla"), 1, 0, ()), (("cpu", "cpu:xla"), 0, 1, (ALLOWED,))):
        line = words("mlp", "joined.keras", "--strategy", "multi-worker", "--shards", 4, "--post-mortem", "none", "--cert-dir", certs, *many, *more)
        cluster = Cluster(2, lambda r: [*line, "--json", "--device", devices[r]])  # noqa: B023
        expect(cluster.tasks[0].until_step(4), "no steps:", cluster.tasks[0].err())
        cluster.lose(reader, lost)
        cluster.restart(lost)
        if lost == 0:
            cluster.tasks[0].drain()  # it tells the steps again, once it is there
        back = "with the state of another task"
        while back not in cluster.tasks[lost].err() and cluster.tasks[reader].until_step(0):
            time.sleep(0.05)  # so slowly that the run is not over before
        expect(back in cluster.tasks[lost].err(), "it does not come back:", cluster.tasks[reader].err()[-400:], cluster.tasks[lost].err()[-400:])
        codes = cluster.finish(120)
        expect(set(codes.values()) == {0}, "exit codes", codes, [task.err()[-500:] for task in cluster.tasks.values()])
        expect("1 left" in cluster.tasks[reader].err() and "1 joined" in cluster.tasks[reader].err(), "nobody left and came", cluster.tasks[reader].err()[-500:])
        if more:
            expect(all(np.isfinite(w).all() for w in weights("joined.keras")), "weights")
        else:
            expect(digest(path("joined.keras")) == one, "who joins changes bits")


def served(case, out, workers, servers, *more):
    """Workers on a device over servers. Nobody is taken for lost because the machine is busy."""
    line = words(case, out, "--strategy", "parameter-server", "--device", "cpu:xla", "--post-mortem", "none", "--suspect-after", "30s", *more)
    answer = artel("launch", "-n", workers, "--ps", servers, "--insecure-network", *line)
    expect(answer.rc == 0, "exit code", workers, servers, more, answer.rc, answer.err[-800:])
    return answer


def tabled():
    """Of the table a batch reads few rows, which travel alone."""
    m = K.Sequential([K.Input((3,), dtype="int32"), L.Embedding(2000, 8, name="big"), L.Flatten(), L.Dense(16, activation="relu"), L.Dense(5, activation="softmax")])
    m.compile(O.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def servers_of(case, jobs, *more):
    """In sync the same bits, and the same history, for any workers and servers, near those of one process on the device."""
    fit(case, "alone.keras", "--device", "cpu:xla", *more)
    found = set()
    for workers, servers, cut in jobs:
        served(case, "served.keras", workers, servers, "--consistency", "sync", "--partitioner", cut, "--history", path("served.json"), *more)
        found.add((digest(path("served.keras")), open(path("served.json")).read()))
    expect(len(found) == 1, case, "has other bits, or another history, with other workers and servers:", found)
    for a, b in zip(weights("alone.keras"), weights("served.keras")):
        expect(np.allclose(a, b, rtol=2e-3, atol=2e-4), case, "differs by", np.abs(a - b).max())
    return found.pop()[0]


def servers():
    """Parameter servers: gradients of a device, steps on processors."""
    random = np.random.default_rng(6)
    np.savez(path("tokens-of.npz"), x=random.integers(0, 2000, (ROWS, 3)).astype("int32"), y=random.integers(0, 5, ROWS).astype("int32"))
    CASES["table"] = (save(tabled, path("tabled.keras")), "npz:" + path("tokens-of.npz"))
    servers_of("cnn", ((1, 1, "none"), (3, 2, "fixed:2")), "--validation", CASES["cnn"][1])
    bits = servers_of("mlp", ((1, 1, "none"), (2, 2, "max:1K")))
    served("mlp", "apart.keras", 1, 2, "--consistency", "bounded:0")
    expect(digest(path("apart.keras")) == bits, "one worker in rounds has other bits")
    told = served("mlp", "apart.keras", 2, 1, "--json")
    starts = {event["task"]: event["arithmetic"] for event in map(json.loads, told.out.splitlines()) if event["event"] == "start"}
    expect(starts["chief:0"].startswith("workers on pjrt cpu ") and starts["worker:0"].startswith("pjrt cpu, "), "the start says", starts)
    expect("staleness of %d updates" % (ROWS // BATCH) in told.err, "staleness is not said", told.err[-400:])
    some = set()
    for workers in (1, 2):
        served("mlp", "some.keras", workers, 1, "--consistency", "sync:2")
        some.add(digest(path("some.keras")))
    expect(len(some) == 1, "sync:2 has other bits with another number of workers")
    servers_of("table", ((1, 1, "none"), (2, 2, "fixed:3")), "--validation", CASES["table"][1])
    told = served("table", "table.keras", 1, 1, "--consistency", "bounded:0", "--explain")
    expect("(rows travel alone)" in told.out + told.err and "# arithmetic: workers on pjrt cpu" in told.out + told.err, "--explain says", (told.out + told.err)[-800:])
    del CASES["table"]


def servers_lost():
    """A worker, or a server, is killed in sync: the bits are those of a run that loses nobody. Another arithmetic does not go on from its checkpoint."""
    many, folder = ("--epochs", "40", "--consistency", "sync"), path("servers")
    served("mlp", "whole.keras", 1, 1, *many)
    line = [str(w) for w in words("mlp", "lost.keras", "--strategy", "parameter-server", "--post-mortem", "none", "--suspect-after", "30s", *many)]
    for lost in (("worker", 1), ("ps", 0)):
        keep = ["--checkpoint-dir", folder] if lost[0] == "ps" else []
        tasks = {who: Task([*line, *keep, "--device", "cpu:xla", *(["--json"] if who[0] == "chief" else [])], env) for who, env in jobs(2, 2).items()}
        expect(tasks["chief", 0].until_step(4), "no steps:", tasks["chief", 0].err())
        tasks[lost].process.send_signal(signal.SIGKILL)
        for task in tasks.values():
            task.drain()
        codes = {who: task.finish(120) for who, task in tasks.items()}
        expect(codes == {who: -signal.SIGKILL if who == lost else 0 for who in tasks}, "exit codes", codes, tasks["chief", 0].err()[-500:])
        expect("1 left" in tasks["chief", 0].err(), "nobody left", tasks["chief", 0].err()[-500:])
        expect(digest(path("lost.keras")) == digest(path("whole.keras")), lost, "is lost, and bits change")
    manifest = json.load(open(sorted(glob.glob(folder + "/ckpt-*/manifest.json"))[-1]))
    expect(manifest["identity"]["device"] == "workers on devices" and manifest["arithmetic"].startswith("workers on pjrt cpu "), "the checkpoint says", manifest["arithmetic"])
    manifest["arithmetic"] = "workers on pjrt cuda 0123456789abcdef"
    for file in glob.glob(folder + "/ckpt-*/manifest.json"):
        json.dump(manifest, open(file, "w"))
    for device, text in (("cpu:xla", "another arithmetic than the checkpoint's: there workers on pjrt cuda 0123"), ("cpu", "these differ: shards, device (there workers on devices, here processors)")):
        answer = artel("launch", "-n", 1, "--ps", 1, "--insecure-network", *line, "--epochs", "41", "--checkpoint-dir", folder, "--device", device)
        expect(answer.rc == 1 and text in answer.err, device, "goes on:", answer.rc, answer.err[-800:])


def servers_mixed():
    """Workers of several kinds, and what is refused by name."""
    def start(devices, *more):
        line = [str(w) for w in words("mlp", "kinds.keras", "--strategy", "parameter-server", "--post-mortem", "none", "--suspect-after", "30s", *more)]
        return {who: Task([*line, "--device", devices.get(who, "cpu:xla"), *(["--json"] if who[0] == "chief" else [])], env) for who, env in jobs(2, 1).items()}

    kinds = {("worker", 1): "cpu"}
    tasks = start(kinds, ALLOWED)
    end(tasks.values())
    told = next(event for event in tasks["chief", 0].events() if event["event"] == "start")["arithmetic"]
    expect(told.startswith("mixed among workers: worker 0 pjrt cpu ") and told.endswith("worker 1 artel-1 float32"), "the start says", told)
    expect(all(np.isfinite(w).all() for w in weights("kinds.keras")), "weights")
    for devices, more, texts in ((kinds, (), ("differs in arithmetic (", "artel-1 float32", "pjrt")), (kinds, (ALLOWED, "--consistency", "sync"), ("in sync workers make each step together",)),
                                 ({}, ("--device-reduce", "fast"), ("compute in the exact class",))):
        for task in end(list(start(devices, *more).values()), 1, 1, 1, 1):
            for text in texts:
                expect(text in task.err(), more, "does not say", text, task.err()[-500:])
    answer = artel("launch", "-n", 1, "--ps", 1, "--insecure-network", *words("mlp", "x.keras", "--device", "cpu:xla:0,cpu:xla:1", "--strategy", "parameter-server"))
    expect(answer.rc == 1 and "is one replica, on one device" in answer.err, "two devices:", answer.rc, answer.err[-400:])


def origins():
    """The line that names where a NaN came from, and the one that names an index outside of a table."""
    x = np.random.default_rng(5).normal(size=(ROWS, 20)).astype("float32")
    x[37, 3] = np.nan
    np.savez(path("nan.npz"), x=x, y=np.zeros(ROWS, "int32"))
    tokens = np.zeros((ROWS, 8), "int32")
    tokens[70, 2] = 99
    np.savez(path("tokens.npz"), x=tokens, y=np.zeros((ROWS, 8), "int32"))
    table = save(lookup, path("table.keras"))
    for model, source, texts in ((CASES["mlp"][0], "nan.npz", ("not finite", "samples 37 to 37")), (table, "tokens.npz", ("99",))):
        said = []
        for device in ("cpu", "cpu:xla"):
            answer = artel("fit", model, "--data", "npz:" + path(source), "--batch-size", BATCH, "--no-shuffle", "--shards", 4, "--device", device, "--stop-on-nan")
            expect(answer.rc != 0, "a faulty batch passes on", device)
            said.append(answer.first)
        expect(said[0] == said[1], "processors say %r, a device %r" % tuple(said))
        for text in texts:
            expect(text in answer.err, "%r is not in %r" % (text, answer.err))


def checks():
    """artel check compiles and counts; what a device has not enough memory for is told before training, by both."""
    model, source = CASES["cnn"]
    said = artel("check", model, "--data", source, "--batch-size", BATCH, "--device", "cpu:xla")
    expect(said.rc == 0 and "device: pjrt cpu" in said.out and "a step needs " in said.out, "check says", said.out, said.err)
    need = int(said.out.split("a step needs ")[1].split()[0])
    batch = BATCH * 12 * 12 * 2 * 4  # of float32 alone
    expect(batch < need < 100 * batch, "a step needs", need)
    little = {"ARTEL_DEVICE_MEMORY_MB": str(need >> 20)}
    for answer in (artel(*words("cnn", "x.keras", "--device", "cpu:xla"), env=little),
                   artel("check", model, "--data", source, "--batch-size", BATCH, "--device", "cpu:xla", env=little)):
        text = answer.out + answer.err
        expect(answer.rc in (1, 2) and "a step needs" in text and "--recompute" in text, "without memory", answer.rc, text)
    enough = {"ARTEL_DEVICE_MEMORY_MB": str((need >> 20) + 1)}
    expect(artel("check", model, "--data", source, "--batch-size", BATCH, "--device", "cpu:xla", env=enough).rc == 0, "with enough memory")
    expect("--device cpu" in artel("version").out, "version names no plug-in")
    listed = artel("devices").out
    expect("cpu:xla:7 " in listed and "cpu:xla:8 " not in listed, "devices lists others than those that a run has", listed)
    none = {"ARTEL_PJRT_PLUGIN": path("no-plugin.so")}
    for command in (words("mlp", "cores.keras"), ["evaluate", *CASES["mlp"][:1], "--data", CASES["mlp"][1]], ["predict", *CASES["mlp"][:1], "--data", CASES["mlp"][1], "--output", path("p.npy")]):
        answer = artel(*command, env=none)
        expect(answer.rc == 0 and not answer.err, "without a device a plug-in is looked for:", answer.rc, answer.err)
    answer = artel(*words("mlp", "x.keras", "--device", "cpu:xla"), env=none)
    expect(answer.rc == 1 and "no-plugin.so" in answer.err, "another plug-in than the one named", answer.rc, answer.err)


def tpus():
    """The strategy for TPUs, on a plug-in that is taken for one: the devices, and what the environment says of the others."""
    plugin = [w for w in artel("version").out.split() if w.rstrip(",").endswith(".so")][0].rstrip(",")
    env = {"TPU_LIBRARY_PATH": plugin, "TPU_ACCELERATOR_TYPE": "v5litepod-4", "TPU_TOPOLOGY": "2x2", "TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "localhost"}
    answer = artel(*words("mlp", "tpu.keras", "--strategy", "tpu", "--json"), env=env)
    expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    expect("tpu: v5litepod-4, topology 2x2, host 0 of 1 (localhost); " in answer.err, "the topology is not told:", answer.err)
    expect("strategy" in answer.out and '"tpu"' in answer.out, answer.out[:300])
    answer = artel(*words("mlp", "x.keras", "--strategy", "tpu"), env={**env, "TPU_WORKER_ID": "3"})
    expect(answer.rc == 1 and "TPU_WORKER_ID" in answer.err, "host 3 of 1", answer.rc, answer.err)
    answer = artel(*words("mlp", "x.keras", "--strategy", "tpu", "--device", "cpu:xla"))
    expect(answer.rc == 1 and "tpu computes on TPUs" in answer.err, "a processor as a TPU", answer.rc, answer.err)
    answer = artel(*words("mlp", "x.keras", "--strategy", "tpu"))
    expect(answer.rc == 1 and "libtpu" in answer.err, "no TPU", answer.rc, answer.err)


def refuses():
    def says(answer, *texts):
        expect(answer.rc in (1, 2), "exit code", answer.rc, answer.err)
        for text in texts:
            expect(text in answer.err, "%r is not in %r" % (text, answer.err))

    says(artel(*words("mlp", "x.keras", "--device", "gpus")), "gpus", "names no device")
    says(artel(*words("mlp", "x.keras", "--device", "cuda:0,tpu:1")), "cuda and tpu in one list; name devices of one kind")
    says(artel(*words("mlp", "x.keras", "--device", "/cpu:0,/cpu:1")), "a list of processors alone", "give --replicas")
    says(artel(*words("mlp", "x.keras", "--device", "rocm")), "no PJRT plug-in was found", "jax-rocm7-pjrt")
    says(artel(*words("mlp", "x.keras", "--device", "cpu:xla"), env={"ARTEL_DEVICE_MEMORY_MB": "4 GB"}), "ARTEL_DEVICE_MEMORY_MB", "is no number from 1")
    says(artel("check", CASES["mlp"][0], "--device-target", "h100"), "--device-target: give --device, too")
    answer = artel("check", CASES["mlp"][0], "--device", "tpu")
    expect(answer.rc == 1 and "missing: device: tpu: no PJRT plug-in was found" in answer.out, "a device that is not here, without data", answer.rc, answer.out)
    says(artel(*words("mlp", "x.keras", "--device", "cpu,gpu:0")), "do not compute together")
    says(artel(*words("mlp", "x.keras", "--device", "gpu,gpu:1")), "do not compute together")
    says(artel(*words("mlp", "x.keras", "--device", "gpu:2,gpu:0,gpu:2")), "gpu:2 is named twice")
    says(artel(*words("mlp", "x.keras", "--device", "gpu:2,gpu:0")), "no PJRT plug-in was found")
    says(artel(*words("mlp", "x.keras", "--device", "tpu")), "no PJRT plug-in was found")
    says(artel(*words("mlp", "x.keras", "--device", "/job:worker/task:1/device:TPU:0")), "tpu: no PJRT plug-in was found")
    says(artel(*words("mlp", "x.keras", "--device", "gpu", "--plugin", path("none.so"))), "none.so")
    says(artel(*words("mlp", "x.keras", "--device", "cpu:xla", "--device-precision", "float8")), "float8")
    says(artel(*words("mlp", "x.keras", "--device", "cpu:xla", "--device-kernels", "best")), "best")
    says(artel(*words("mlp", "x.keras", "--device", "cpu:xla", "--device-launches", "all")), "all")
    says(artel(*words("mlp", "x.keras", "--devices", "gpu:0,gpu:1")), "the word for it is --device")
    target = artel("check", CASES["mlp"][0], "--data", CASES["mlp"][1], "--device", "cpu:xla", "--device-target", "h100")
    expect(target.rc == 1 and "is no target of a plug-in for cpu" in target.out, "a target of another kind", target.rc, target.out, target.err)
    expect(not os.path.exists(path("x.keras")), "a refused run leaves a model")


if __name__ == "__main__":
    skip_without_xla()
    sys.exit(run_checks(near, replicas, central, mixed, shares, mixed_tasks, mixed_killed, mixed_pass, launches, feeds, resumption, evaluation, factors, tasks, killed, joined, servers, servers_lost, servers_mixed, origins, checks, tpus, refuses))
