# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1200
"""--device-reduce fast on XLA's plug-in for the CPU: near artel's own processors, in losses and weights; the same bits again, also where nothing is
launched ahead (--profile), across a resumption, with rates that callbacks change and a validation between epochs; what a fault and a NaN say; 16-bit
products; several replicas, beside Keras; what belongs to a run; lists of devices. Skipped without the plug-in."""

import json
import os
import sys
import tempfile

import numpy as np
from cli import K, L, O, expect, run_checks, save
from oracle import HISTORY_TOL, LONG, artel, digest, history_error, skip_without_xla, weight_error
from oracle import weights as weights_of

FOLDER = tempfile.TemporaryDirectory()
ROWS = 256  # two batches of as many rows: others have programs of their own, and XLA compiles long
BATCH = 128
FAST = ("--device", "cpu:xla", "--device-reduce", "fast")
CASES = {}
FIRST = {}


def path(name):
    return os.path.join(FOLDER.name, name)


def convolutional():
    m = K.Sequential([K.Input((12, 12, 2)), L.Conv2D(6, 3, padding="same", use_bias=False), L.BatchNormalization(), L.ReLU(), L.MaxPooling2D(),
                      L.Conv2D(8, 3, strides=2, activation="relu"), L.Flatten(), L.Dropout(0.3), L.Dense(5, activation="softmax")])
    m.compile(O.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def perceptron():
    m = K.Sequential([K.Input((20,)), L.Dense(32, activation="relu"), L.Dropout(0.25), L.Dense(5)])
    m.compile(O.SGD(0.1, momentum=0.9, clipnorm=1.0), K.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return m


def sixteen():
    policy = K.mixed_precision.Policy("mixed_bfloat16")
    m = K.Sequential([K.Input((12, 12, 2)), L.Conv2D(8, 3, dtype=policy, activation="relu"), L.BatchNormalization(dtype=policy), L.Flatten(dtype=policy),
                      L.Dense(5, dtype="float32", activation="softmax")])
    m.compile(O.SGD(0.05), "sparse_categorical_crossentropy")
    return m


def averaging():
    """Much state beside the weights."""
    m = K.Sequential([K.Input((20,)), L.Dense(16, kernel_regularizer="l2"), L.BatchNormalization(), L.ReLU(), L.Dense(16, trainable=False), L.Dense(5, activation="softmax")])
    m.compile(O.Adam(0.01, amsgrad=True, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=3, gradient_accumulation_steps=2, global_clipnorm=1.0),
              "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def scaled():
    m = K.Sequential([K.Input((20,)), L.Dense(16, activation="relu", dtype="mixed_float16"), L.Dense(5, dtype="float32", activation="softmax")])
    m.compile(O.LossScaleOptimizer(O.SGD(0.1, momentum=0.9), initial_scale=2.0**24, dynamic_growth_steps=3), "sparse_categorical_crossentropy")
    return m


def meeting():
    """A loss of each row beside all rows of the batch."""
    m = K.Sequential([K.Input((20,)), L.Dense(4), L.UnitNormalization()])
    m.compile(O.SGD(0.01), K.losses.Circle(gamma=4.0))
    return m


def normalized():
    m = K.Sequential([K.Input((20,)), L.Dense(24, activation="relu"), L.BatchNormalization(), L.Dense(5, activation="softmax")])
    m.compile(O.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
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


def make():
    images, rows = data("images.npz", (12, 12, 2)), data("rows.npz", (20,))
    for name, build, source in (("cnn", convolutional, images), ("mlp", perceptron, rows), ("16", sixteen, images)):
        CASES[name] = save(build, path(name + ".keras")), source


def fit(case, out, *more, epochs=3):
    model, source = CASES[case]
    answer = artel("fit", model, "--data", source, "--batch-size", BATCH, "--epochs", epochs, "--seed", 4, "--json", "--output", path(out), *more)
    expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    return digest(path(out)), [{k: v for k, v in e.items() if k not in ("event", "seconds")} for e in answer.events("epoch")], answer


def first(case):
    """The run that others are compared with: bits, epochs; the model is in fast-CASE.keras."""
    if case not in FIRST:
        FIRST[case] = fit(case, "fast-%s.keras" % case, *FAST)[:2]
    return FIRST[case]


def far(a, b):
    """The largest difference of two models, against the largest weight."""
    one, other = weights_of(path(a)), weights_of(path(b))
    expect(set(one) == set(other), "other variables", set(one) ^ set(other))
    return max(float(np.abs(one[k] - other[k]).max()) for k in one) / max(float(np.abs(w).max()) for w in one.values())


def losses(epochs):
    return [e["loss"] for e in epochs]


def near():
    for case in ("cnn", "mlp"):
        _, cores, _ = fit(case, "cores.keras", "--shards", 1)
        _, device = first(case)
        distance = far("cores.keras", "fast-%s.keras" % case)
        expect(np.allclose(losses(cores), losses(device), rtol=1e-3), case, "loses", losses(device), "instead of", losses(cores))
        expect(distance < 5e-3, case, "differs by", distance)


def again():
    """The second time programs are found; where each launch is timed, none goes ahead. Neither changes a bit, nor what an epoch tells."""
    for case in ("cnn", "mlp"):
        bits, epochs = first(case)
        if LONG or case == "cnn":
            more, told, answer = fit(case, "two.keras", *FAST)
            expect((more, told) == (bits, epochs), case, "again:", told, "after", epochs)
            expect(answer.events("end")[0]["programs_compiled"] == 0, case, "is compiled again")
        more, told, _ = fit(case, "slow.keras", *FAST, "--profile", path("profile.json"))
        expect((more, told) == (bits, epochs), case, "with nothing ahead:", told, "after", epochs)


def between():
    """What changes between steps: rates, weights that come back, a validation on the same device."""
    records = [{"class_name": "ReduceLROnPlateau", "config": {"monitor": "val_loss", "factor": 0.1, "patience": 1, "min_delta": 10}},
               {"class_name": "EarlyStopping", "config": {"monitor": "val_loss", "patience": 2, "min_delta": 10, "restore_best_weights": True}}]
    with open(path("callbacks.json"), "w") as out:
        json.dump(records, out)
    more = ("--validation-split", 0.2, "--callbacks", path("callbacks.json"))
    bits, epochs, _ = fit("cnn", "one.keras", *FAST, *more, epochs=4)
    same, told, _ = fit("cnn", "two.keras", *FAST, *more, "--profile", path("profile.json"), epochs=4)
    expect((same, told) == (bits, epochs), "with callbacks:", told, "after", epochs)
    expect(len(epochs) < 4, "the run was not stopped early:", epochs)
    rates = {round(e["learning_rate"], 9) for e in epochs if "learning_rate" in e}
    expect(len(rates) > 1, "the rate was not reduced:", epochs)


def resumption():
    whole, _ = first("cnn")
    fit("cnn", "part.keras", *FAST, "--checkpoint-dir", path("checkpoints"), epochs=1)
    bits, _, answer = fit("cnn", "rest.keras", *FAST, "--checkpoint-dir", path("checkpoints"))
    expect(bits == whole, "a resumed run has other bits")
    model, source = CASES["cnn"]
    other = artel("fit", model, "--data", source, "--batch-size", BATCH, "--epochs", 4, "--seed", 4, "--shards", 1, "--device", "cpu:xla", "--checkpoint-dir",
                  path("checkpoints"))
    expect(other.rc == 1 and "these differ: device" in other.err, "the exact class continues a run of the fast one", other.rc, other.err)


def replicas():
    """A shard each; two tasks have the bits of two replicas, near one."""
    bits, _, _ = fit("cnn", "pair.keras", *FAST, "--strategy", "mirrored", "--replicas", 2)
    model, source = CASES["cnn"]
    answer = artel("launch", "-n", 2, "fit", model, "--data", source, "--batch-size", BATCH, "--epochs", 3, "--seed", 4, "--output", path("tasks.keras"), *FAST,
                   "--strategy", "multi-worker")
    expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    expect(digest(path("tasks.keras")) == bits, "two tasks have other bits than two replicas")
    first("cnn")
    distance = far("fast-cnn.keras", "pair.keras")
    expect(distance < 5e-3, "two replicas differ by", distance)


def sums():
    """Four replicas whose sums the plug-in makes: the bits again, and after a resumption; others than those of artel's own sums,
    near those of one replica, and with factors of 16 bits."""
    four = ("--strategy", "mirrored", "--replicas", 4)
    for case in ("cnn", "mlp"):
        bits, epochs, answer = fit(case, "four.keras", *FAST, *four)
        expect(answer.events("start")[0]["arithmetic"].endswith("fast, sums of 4 replicas by the plug-in"), answer.events("start"))
        still = fit(case, "again.keras", *FAST, *four, "--profile", path("profile.json"))
        expect(still[:2] == (bits, epochs), case, "has other bits when it is repeated, with nothing ahead")
        if case == "cnn" and not LONG:
            continue
        own, _, answer = fit(case, "own.keras", *FAST, *four, "--all-reduce", "direct")
        expect(own != bits and "by the plug-in" not in answer.events("start")[0]["arithmetic"], case, "artel's own sums", own, bits)
        first(case)
        for other in ("own.keras", "fast-%s.keras" % case):
            expect(far(other, "four.keras") < 2e-5, case, "differs from", other, "by", far(other, "four.keras"))
    folder = ("--checkpoint-dir", path("sums"))
    fit("mlp", "part.keras", *FAST, *four, *folder, epochs=1)
    expect(fit("mlp", "rest.keras", *FAST, *four, *folder)[0] == bits, "a resumed run has other bits")
    model, source = CASES["mlp"]
    for more, text in ((("--all-reduce", "direct"), "there pjrt"), (("--device", "cpu:xla:0,cpu:xla:1"), "sums of 2 replicas by the plug-in")):
        line = ("fit", model, "--data", source, "--batch-size", BATCH, "--epochs", 4, "--seed", 4, "--shards", 4, *folder, *FAST, *four)
        answer = artel(*(line[:-2] if more[0] == "--device" else line), *more)
        expect(answer.rc == 1 and "these differ" in answer.err and text in answer.err, more, "continues it:", answer.rc, answer.err)
    for precision in ("bfloat16", "tf32") if LONG else ("bfloat16",):
        few = ("--device-precision", precision)
        _, one, _ = fit("cnn", "one.keras", *FAST, *few)
        _, eight, _ = fit("cnn", "eight.keras", *FAST, *few, "--strategy", "mirrored", "--replicas", 8)
        expect(np.allclose(losses(one), losses(eight), rtol=1e-2), precision, losses(eight), "instead of", losses(one))
    answer = artel("fit", model, "--data", source, "--epochs", 1, "--device", "cpu:xla:1,cpu:xla:6", *FAST[2:], *four)
    expect(answer.rc == 0 and "sums of replicas are artel's and not the plug-in's: 4 replicas share 2 devices" in answer.err, "shared", answer.rc, answer.err)


def parts():
    """One launch for a step of all replicas, or, where variables stay in this machine's memory, part after part: the same bits, with much state beside the
    weights, losses that are scaled, and rows that all replicas see."""
    source = CASES["mlp"][1]
    CASES.update({name: (save(build, path(name + ".keras")), source) for name, build in (("deep", averaging), ("scaled", scaled), ("meet", meeting))})
    for case in ("mlp", "deep", "scaled", "meet") if LONG else ("deep", "scaled", "meet"):
        one, central = (fit(case, "%s.keras" % s, *FAST, "--strategy", s, "--replicas", 4, epochs=2)[:2] for s in ("mirrored", "central-storage"))
        expect(one == central, case, "in one launch and in parts:", one, central)
    fit("deep", "one.keras", *FAST, epochs=2)
    fit("deep", "mirrored.keras", *FAST, "--strategy", "mirrored", "--replicas", 4, epochs=2)
    ratio, where, _ = weight_error(weights_of(path("mirrored.keras")), weights_of(path("one.keras")), ("layers/dense/vars/1",))  # behind it a mean is taken away
    expect(ratio <= 1, "four replicas have other weights than one", where, ratio)


def divided():
    """Replicas have as many rows, or one more, however many they are: the losses and weights are Keras', also with a last batch that has fewer rows."""
    random = np.random.default_rng(11)
    x, y = random.normal(size=(309, 20)).astype("float32"), random.integers(0, 5, 309).astype("int32")
    np.savez(path("divided.npz"), x=x, y=y)
    CASES["divided"] = (save(normalized, path("divided.keras")), "npz:" + path("divided.npz"))
    m = K.models.load_model(path("divided.keras"))
    history = m.fit(x, y, batch_size=102, epochs=2, shuffle=False, verbose=0).history
    m.save(path("keras.keras"))
    for n in (1, 2, 3, 5, 8):
        _, epochs, answer = fit("divided", "mine.keras", *FAST, "--strategy", "mirrored", "--replicas", n, "--batch-size", 102, "--no-shuffle", epochs=2)
        expect(answer.events("start")[0]["shards"] == n, n, "replicas share", answer.events("start")[0]["shards"])
        error, where = history_error({k: [e[k] for e in epochs] for k in history}, history)
        expect(error <= HISTORY_TOL, n, "replicas tell", where)
        ratio, where, _ = weight_error(weights_of(path("mine.keras")), weights_of(path("keras.keras")))
        expect(ratio <= 1, n, "replicas have other weights", where, ratio)
    own = (*FAST, "--strategy", "mirrored", "--batch-size", 102, "--no-shuffle", "--all-reduce", "direct")
    whole, *_ = fit("divided", "whole.keras", *own, "--replicas", 3, epochs=2)
    own = (*own, "--checkpoint-dir", path("thirds"))
    fit("divided", "part.keras", *own, "--replicas", 3, epochs=1)
    bits, *_ = fit("divided", "rest.keras", *own, "--replicas", 2, "--shards", 3, epochs=2)
    expect(bits == whole, "two replicas that go on with the shards of three have other bits")
    answer = artel("fit", *CASES["divided"][:1], "--data", CASES["divided"][1], "--device", "cpu:xla", "--shards", 3)
    expect(answer.rc == 1 and "not a power of two" in answer.err, "the exact class takes three shards", answer.rc, answer.err)


def tasks():
    """Two tasks of two replicas: the plug-in sums in each, artel between them. The same bits each time, also of batches whose tasks have unlike rows."""
    model, source = CASES["cnn"]
    found = []
    for out in ("tasks.keras", "more.keras"):
        answer = artel("launch", "-n", 2, "fit", model, "--data", source, "--batch-size", 101, "--epochs", 3, "--seed", 4, "--output", path(out), *FAST,
                       "--strategy", "multi-worker", "--replicas", 2, "--json")
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
        expect("sums within a process by the plug-in, 2 replicas each" in answer.out, answer.out[:500])
        found.append(digest(path(out)))
    expect(found[0] == found[1], "two runs of two tasks differ", found)
    fit("cnn", "one.keras", *FAST, "--batch-size", 101)
    expect(far("one.keras", "tasks.keras") < 2e-5, "tasks differ by", far("one.keras", "tasks.keras"))


def sixteen_bits():
    """Products that are rounded are near those that are not, and others; a mixed model is near itself on processors."""
    bits, _ = first("cnn")
    other, _, _ = fit("cnn", "half.keras", *FAST, "--device-precision", "bfloat16")
    distance = far("fast-cnn.keras", "half.keras")
    expect(other != bits and 1e-5 < distance < 0.1, "bfloat16 products differ by", distance)
    _, cores, _ = fit("16", "cores.keras", "--shards", 1)
    _, device, _ = fit("16", "fast.keras", *FAST)
    expect(np.allclose(losses(cores), losses(device), rtol=2e-2), "a mixed model loses", losses(device), "instead of", losses(cores))


def origins():
    """A NaN and a wrong index behind a batch that was in order: the line is that of processors, and nothing was taken."""
    x = np.random.default_rng(5).normal(size=(ROWS, 20)).astype("float32")
    x[BATCH + 37, 3] = np.nan
    np.savez(path("nan.npz"), x=x, y=np.zeros(ROWS, "int32"))
    tokens = np.zeros((ROWS, 8), "int32")
    tokens[BATCH + 70, 2] = 99
    np.savez(path("tokens.npz"), x=tokens, y=np.zeros((ROWS, 8), "int32"))
    table = save(lookup, path("table.keras"))
    for model, source, text in ((CASES["mlp"][0], "nan.npz", "not finite"), (table, "tokens.npz", "99")):
        said = []
        for device in (("--shards", 1), FAST, (*FAST, "--strategy", "mirrored", "--replicas", 4)):
            answer = artel("fit", model, "--data", "npz:" + path(source), "--batch-size", BATCH, "--no-shuffle", "--stop-on-nan", *device)
            expect(answer.rc != 0 and text in answer.err, "a faulty batch passes", device, answer.err)
            said.append(answer.first)
        expect(said[0] == said[1] == said[2], "processors say %r, a device %r, four %r" % tuple(said))


def passes():
    """evaluate and predict, a batch ahead too."""
    first("cnn")
    found = {}
    for name, device in (("cores", ()), ("fast", FAST)):
        answer = artel("evaluate", path("fast-cnn.keras"), "--data", CASES["cnn"][1], "--batch-size", 64, *device)
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
        answer = artel("predict", path("fast-cnn.keras"), "--data", CASES["cnn"][1], "--batch-size", 64, "--output", path(name + ".npy"), *device)
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
        found[name] = np.load(path(name + ".npy"))
    expect(np.allclose(found["cores"], found["fast"], rtol=1e-4, atol=1e-5), "predictions differ")


def lists():
    """Devices by number, in any order, a replica each: the bits of one."""
    one, _, _ = fit("mlp", "one.keras", "--device", "cpu:xla", "--shards", 4)
    two, _, answer = fit("mlp", "two.keras", "--device", "cpu:xla:5,cpu:xla:2", "--shards", 4)
    expect(two == one, "two devices by number have other bits than one")
    expect(answer.events("start")[0]["replicas"] == 2, answer.events("start"))
    model, source = CASES["mlp"]
    for device, text in (("cpu:xla:1,cpu:xla:1", "cpu:xla:1 is named twice"), ("cpu:xla:0,cpu:xla:8", "cpu:xla:8 is not here: cpu:xla has 8 devices"),
                         ("cpu:xla:x", "names no device"), ("cpu:xla:1,", "names no device"), ("cpu:xla,cpu:xla:1", "do not compute together")):
        answer = artel("fit", model, "--data", source, "--device", device)
        expect(answer.rc == 1 and text in answer.err, device, "is answered", answer.rc, answer.err)


def automatic():
    """What is in /dev and has a plug-in; here a folder stands for it, and the plug-in for a TPU's."""
    os.makedirs(path("dev/vfio"))
    model, source = CASES["mlp"]
    plugin = [w for w in artel("version").out.split() if w.rstrip(",").endswith(".so")][0].rstrip(",")
    line = ("fit", model, "--data", source, "--epochs", 1, "--device", "auto", "--json")
    for files, env, kind, note in ((None, {}, "artel-1", False), ("nvidia0", {}, "artel-1", True), ("accel0", {"TPU_LIBRARY_PATH": plugin}, "pjrt cpu", False)):
        if files:
            open(path("dev/" + files), "w").close()
        answer = artel(*line, env={"ARTEL_DEVICE_FILES": path("dev"), **env})
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
        expect(answer.events("start")[0]["arithmetic"].startswith(kind), "with", files, answer.events("start"))
        expect(("nvidia0 is here, and no plug-in for it" in answer.err) == note, "with", files, answer.err)


def words():
    model, source = CASES["mlp"]
    for more, text in ((("--device-kernels", "fixed"), "no matter how fast"), (("--device-reduce", "slow"), "no way to sum")):
        answer = artel("fit", model, "--data", source, *FAST, *more)
        expect(answer.rc == 1 and text in answer.err, more, "is answered", answer.rc, answer.err)
    plain = ("--batch-size", BATCH, "--epochs", 1, "--explain", "--device", "cpu:xla")
    for more, text in (((), "the same on any number of devices of this kind, also"), (("--device-kernels", "measured"), "of this kind, with these programs"),
                       (("--device-reduce", "fast"), "this number of replicas, and these programs")):
        answer = artel("fit", model, "--data", source, *plain, *more)
        expect(answer.rc == 0 and text in answer.out, more, "is explained", answer.rc, answer.out[:500], answer.err)
    fast = answer.out[answer.out.index("# training plan") :]
    expect(fast[: fast.index("a step needs")].count("\nprogram ") == 1, "programs of a step:", fast[-1500:])
    answer = artel("fit", model, "--data", source, *plain, "--device-reduce", "fastest")
    expect(answer.rc == 0 and ", fastest" in answer.out and "# bits: none" in answer.out, "fastest", answer.rc, answer.out[:500], answer.err)
    answer = artel("fit", model, "--data", source, *plain, "--device-reduce", "fastest", "--strategy", "mirrored", "--replicas", 2)
    expect(answer.rc == 1 and "replicas have to stay equal" in answer.err, "two replicas of fastest", answer.rc, answer.err)


def main():
    make()
    return run_checks(near, again, between, resumption, replicas, sums, parts, divided, tasks, sixteen_bits, origins, passes, lists, automatic, words)


if __name__ == "__main__":
    skip_without_xla()
    sys.exit(main())
