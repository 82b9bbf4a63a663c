# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 900
"""The stages batch, unbatch, pad and bucket_by_sequence_length against tf.data's batch, unbatch, padded_batch and the last's namesake with
the same elements; what they refuse; training behind them gives the same bits on any number of replicas and workers and from the midst of
an epoch on, and on batches of like length what Keras gives on tf.data's.
"""
import json
import os
import shutil
import sys

import numpy as np
from data import ARTEL, check, report, run, same
import pipelines
from pipelines import chain, column, refused, save

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import tensorflow as tf

RNG = np.random.default_rng(29)
LONG = os.environ.get("ARTEL_LONG") == "1"


def rows(value, dtype="int64"):
    return pipelines.rows(value, dtype)


def values(dataset):
    return np.array([v.numpy() for v in dataset])


def values_of_all(x, size):
    """Batches with the last as it is."""
    return [v.numpy() for v in tf.data.Dataset.from_tensor_slices(x).batch(size)]


def batches():
    """Batches of every size, of elements of any rank, with a remainder or none; and taken apart again."""
    for turn in range(60 if LONG else 8):
        n, size, rank = int(RNG.integers(1, 40)), int(RNG.integers(1, 7)), int(RNG.integers(0, 4))
        x = RNG.integers(0, 1000, (n, *RNG.integers(1, 4, rank)))
        a, truth = column("a.npz", x), tf.data.Dataset.from_tensor_slices(x).batch(size, drop_remainder=True)
        what = " of %s by %d" % (x.shape, size)
        if n >= size:
            same("batch" + what, rows(chain(a, ("batch", dict(size=size)))), values(truth))
            both = chain(a, ("batch", dict(size=size)), ("shuffle", dict(seed=turn)), ("unbatch", {}))
            order = rows(chain(column("i.npz", np.arange(n // size)), ("skip", dict(count=0)), ("shuffle", dict(seed=turn))))  # at the same place: its order
            picked = tf.data.Dataset.from_tensor_slices(order).map(lambda k: tf.constant(x)[k * size:(k + 1) * size])
            same("unbatch" + what, rows(both), values(picked.unbatch()))
        else:
            refused("no batch" + what, chain(a, ("batch", dict(size=size))), "empty")
        kept, fill = values_of_all(x, size), int(RNG.integers(-9, 9))
        if n % size == 0:
            same("nothing to drop" + what, rows(chain(a, ("batch", dict(size=size, drop_remainder=False)))), np.stack(kept))
        else:
            refused("a remainder" + what, chain(a, ("batch", dict(size=size, drop_remainder=False))), "would have %d elements of %d" % (n % size, size))
        kept[-1] = np.concatenate([kept[-1], np.full((size - len(kept[-1]), *x.shape[1:]), fill)])  # as a last batch is made of one shape for XLA
        same("filled" + what, rows(chain(a, ("batch", dict(size=size, fill=fill)))), np.stack(kept))
        same("filled and taken apart" + what, rows(chain(a, ("batch", dict(size=size, fill=fill)), ("unbatch", {}), ("take", dict(count=n)))), x)
    x = RNG.integers(0, 9, (5, 4, 3, 2))
    truth = tf.data.Dataset.from_tensor_slices(x).unbatch().unbatch()
    same("unbatch twice", rows(chain(column("u.npz", x), ("unbatch", {}), ("unbatch", {}))), values(truth))
    same("unbatch without end", rows(chain(column("u.npz", x), ("repeat", {}), ("unbatch", {}), ("skip", dict(count=17)), ("take", dict(count=9)))),
         values(tf.data.Dataset.from_tensor_slices(x).repeat().unbatch().skip(17).take(9)))
    np.savez("two.npz", x=x, y=x * 10)
    other = chain("npz:two.npz", ("unbatch", {}), ("select", dict(columns=["y"])), ("rename", dict(column="y", to="x")))
    same("unbatch of two columns", rows(other), (x * 10).reshape(20, 3, 2))


def padded():
    """Sources of several lengths, filled up to one shape and put into batches, as padded_batch does."""
    kinds = [("int64", np.int64), ("float32", np.float32), ("uint8", np.uint8), ("float64", np.float64), ("int16", np.int16)]
    for turn in range(60 if LONG else 10):
        dtype, kind = kinds[turn % len(kinds)]
        rank, size, value = int(RNG.integers(1, 4)), int(RNG.integers(1, 5)), int(RNG.integers(0, 99))
        parts = [RNG.integers(0, 200, (int(RNG.integers(1, 7)), *RNG.integers(0 if turn % 3 == 0 else 1, 6, rank))).astype(kind) for _ in range(3)]
        longest = [max(p.shape[1 + i] for p in parts) + int(RNG.integers(0, 3)) for i in range(rank)]
        sources = [chain(column("p%d.npz" % k, p), ("pad", dict(column="x", shape=longest, value=value))) for k, p in enumerate(parts)]
        truth = tf.data.Dataset.from_generator(lambda parts=parts: (r for p in parts for r in p), output_signature=tf.TensorSpec([None] * rank, kind))
        truth = truth.padded_batch(size, padded_shapes=longest, padding_values=tf.constant(value, kind), drop_remainder=True)
        wanted = values(truth)
        if len(wanted):
            same("pad %s to %s by %d" % ([p.shape for p in parts], longest, size), rows(chain({"concatenate": sources}, ("batch", dict(size=size))), dtype), wanted)
    x = RNG.integers(0, 9, (5, 4, 3))
    stay = tf.data.Dataset.from_tensor_slices(x).padded_batch(5, padded_shapes=[None, 6], padding_values=tf.constant(-1, tf.int64))
    same("an axis that stays", rows(chain(column("s.npz", x), ("pad", dict(column="x", shape=[-1, 6], value=-1)))), values(stay)[0])
    same("single values", rows(chain(column("v.npz", np.arange(4)), ("pad", dict(column="x", shape=[])))), np.arange(4))


def errors():
    a = column("e.npz", np.zeros((4, 3, 2), "u1"))
    refused("no size", chain(a, ("batch", {})), "stage 2 (batch)", "size")
    refused("a filling that is none", chain(a, ("batch", dict(size=3, fill="a"))), "no number")
    refused("a filling of no column", chain(a, ("batch", dict(size=3, fill=dict(z=1)))), "'z'")
    refused("a filling that does not fit", chain(a, ("batch", dict(size=3, fill=dict(x=-1)))), "uint8 holds no -1")
    np.savez("both.npz", x=np.arange(5), y=np.array(["a", "b", "c", "d", "e"]))
    same("filled by column", rows(chain("npz:both.npz", ("batch", dict(size=3, fill=dict(x=7))), ("select", dict(columns=["x"])))), [[0, 1, 2], [3, 4, 7]])
    refused("text filled with a number", chain("npz:both.npz", ("batch", dict(size=3, fill=7))), "empty strings")
    refused("a size of 0", chain(a, ("batch", dict(size=0))), "stage 2 (batch)", "size")
    refused("single values", chain(column("v.npz", np.arange(4)), ("unbatch", {})), "stage 2 (unbatch)", "single values")
    np.savez("uneven.npz", x=np.zeros((4, 3)), y=np.zeros((4, 2)))
    refused("uneven columns", chain("npz:uneven.npz", ("unbatch", {})), "rows of 'x' have 3 parts, of 'y' 2")
    refused("too many elements", chain(a, ("repeat", dict(count=2 * 10**18)), ("unbatch", {})), "the count overflows")
    refused("too many axes", chain(column("r.npz", np.zeros((4, 1))), *[("batch", dict(size=1))] * 12), "too many axes")
    refused("another rank", chain(a, ("pad", dict(column="x", shape=[5]))), "rows have 2 axes, the shape 1")
    refused("too short", chain(a, ("pad", dict(column="x", shape=[2, 2]))), "rows have 3 in axis 0, the shape 2")
    refused("an extent below", chain(a, ("pad", dict(column="x", shape=[3, -2]))), "in axis 1")
    refused("too large", chain(a, ("pad", dict(column="x", shape=[2**31, 2**31]))), "overflows")
    for value in (-1, 256, 0.5, 1e300):
        refused("no byte %g" % value, chain(a, ("pad", dict(column="x", shape=[3, 3], value=value))), "stage 2 (pad)", "uint8 holds no")
    refused("padded batches", chain(a, ("padded_batch", dict(batch_size=3))), "no stage 'padded_batch'", "stage pad")
    bucket_errors()


def bucket_errors():
    x = np.array([[1, 2, 0, 0], [1, 0, 0, 0], [1, 2, 3, 0]])
    np.savez("b.npz", x=x, n=[2, 1, 3], m=[2, -1, 3], f=[1., 2., 3.], v=[0, 1, 0])

    def by(what, *words, after=(), source="npz:b.npz", **settings):
        settings.setdefault("column", "x")
        settings.setdefault("bucket_boundaries", [3, 5])
        refused(what, chain(source, ("bucket_by_sequence_length", settings), *after), *words)

    by("buckets, and nobody who makes batches of them", "are for fit, evaluate and predict")
    for boundaries in ([], [0, 3], [3, 3], [5, 3], [2.5], ["3"], 3, [1, 3], list(range(2, 70))):
        by("boundaries %s" % boundaries, "stage 2 (bucket_by_sequence_length)", "bound", bucket_boundaries=boundaries)
    refused("no boundaries", chain("npz:b.npz", ("bucket_by_sequence_length", dict(column="x"))), '"bucket_boundaries" is missing')
    by("batch sizes", "4 batch sizes for 2 boundaries", bucket_batch_sizes=[1, 2, 3, 4])
    by("a batch of none", "bucket_batch_sizes is no list", bucket_batch_sizes=[1, 0])
    by("too long", "element 2 has the length 3, and the last boundary is 3", bucket_boundaries=[2, 3])
    by("beyond the rows", "rows of 'x' have 4 positions, and the last bucket 6", bucket_boundaries=[3, 7])
    by("single values", "column 'v' holds single values", column="v")
    by("cut single values", "column 'v' holds single values", columns=["x", "v"])
    by("a column that is not there", "no column 'z'", columns=["z"])
    by("a length that is not there", "no column 'z'", length="z")
    by("a length of a fraction", "column 'f' does not hold one length", length="f")
    by("many lengths", "column 'x' does not hold one length", length="x")
    by("a negative length", "element 1 has the length -1", length="m")
    by("padding", "int64 holds no 0.5", padding=0.5)
    by("a stage behind it", "stage 3 (take)", "it stands on bucket_by_sequence_length", after=[("take", dict(count=1))])
    by("no end", "has no lengths as a whole", source=chain("npz:b.npz", ("repeat", {})))
    by("joined inside", "it stands on", source=chain("npz:b.npz", ("bucket_by_sequence_length", dict(column="x", bucket_boundaries=[5]))))


BOUNDARIES, SIZES = [4, 7, 13], [12, 8, 5]


def sequences(count=90):
    """Lists of tokens, most of them short, in lines; and tf.data's batches of like length of the same lists."""
    lists = [RNG.integers(1, 20, min(int(n), 12)).tolist() for n in RNG.geometric(0.25, count)]
    lists[7], lists[40] = [1] * 12, []
    with open("l.jsonl", "w") as f:
        for k, row in enumerate(lists):
            f.write(json.dumps({"x": row, "y": k % 3, "z": [(3 * t + k) % 5 for t in row], "w": [t / 8 for t in row], "n": len(row)}) + "\n")
    ragged = dict(shape=[12], ragged=True)
    with open("l.json", "w") as f:
        json.dump({"x": dict(ragged, dtype="int64"), "y": {"dtype": "int64"}, "z": dict(ragged, dtype="int64"), "w": dict(ragged, dtype="float32"), "n": {"dtype": "int64"}}, f)
    return lists


def pipe(name, target, **settings):
    """A pipeline of the lines, with the columns of the input and one target."""
    stages = [("rename", dict(column=target, role="y")), ("rename", dict(column="w", role="weight"))] if target == "z" else []
    settings = dict(dict(column="x", bucket_boundaries=BOUNDARIES, bucket_batch_sizes=SIZES), **settings)
    if "length" not in settings:
        stages = [("select", dict(columns=settings.get("columns", ["x", target])))] + [s for s in stages if s[1]["column"] in settings.get("columns", [])]
    with open(name, "w") as f:
        json.dump(chain("jsonl:l.jsonl#features=l.json", *stages, ("bucket_by_sequence_length", settings)), f)
    return "pipeline:" + name


def truth(lists, of, kind=(), weighted=False):
    """tf.data's own, of the lists as they are. Of a dataset that does not know how many batches it has Keras counts a step more in each epoch, for
    one that finds no batch, and optimizers go by that."""
    signature = (tf.TensorSpec((None,), tf.int32), tf.TensorSpec(kind, tf.int32), tf.TensorSpec((None,), tf.float32))[:2 + weighted]
    made = tf.data.Dataset.from_generator(lambda: ((row, of(k, row), [t / 8 for t in row])[:2 + weighted] for k, row in enumerate(lists)), output_signature=signature)
    made = made.bucket_by_sequence_length(lambda x, *y: tf.shape(x)[0], BOUNDARIES, SIZES + [1], pad_to_bucket_boundary=True)
    return made.apply(tf.data.experimental.assert_cardinality(steps_of(lists)))


def steps_of(lists):
    return sum(-(-sum(first <= len(row) < end for row in lists) // size) for first, end, size in zip([0] + BOUNDARIES, BOUNDARIES, SIZES))


def lengths():
    """Batches one by one: the loss of each depends on its rows and on what they are filled up to. Then whole trainings."""
    lists = sequences()
    batches_of = truth(lists, lambda k, row: k % 3)
    i = keras.Input((None,), dtype="int32")
    m = keras.Model(i, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(20, 4, embeddings_initializer="normal")(i))))
    m.compile(keras.optimizers.SGD(0.0), "mse")
    m.save("mean.keras")
    wanted = [float(m.test_on_batch(x, y)) for x, y in batches_of]
    for what, settings in (("counted", {}), ("given", dict(length="n"))):
        spec = pipe("one.json", "y", **settings) + ("#x,y" if settings else "")
        rc, out, err = run(ARTEL, "fit", "mean.keras", "--data", spec, "--no-shuffle", "--json")
        found = [json.loads(line)["loss"] for line in out.splitlines() if '"event": "step"' in line]
        check("batches with lengths " + what, rc == 0 and len(found) == len(wanted) and np.allclose(found, wanted, 1e-5, 1e-6), err, found, wanted)

    h = keras.layers.LSTM(6)(keras.layers.Embedding(20, 5, mask_zero=True)(i))
    against_keras("classes", keras.Model(i, keras.layers.Dense(3, "softmax")(h)), "sparse_categorical_crossentropy", ["accuracy"], pipe("two.json", "y"), batches_of)
    predictions(lists)
    h = keras.layers.GRU(6, return_sequences=True)(keras.layers.Embedding(20, 5, mask_zero=True)(i))
    tag = lambda k, row: [(3 * t + k) % 5 for t in row]
    spec, tags = pipe("tags.json", "z", columns=["x", "z"]), truth(lists, tag, (None,))
    against_keras("tags", keras.Model(i, keras.layers.Dense(5, "softmax")(h)), "sparse_categorical_crossentropy", ["accuracy"], spec, tags)
    h = keras.layers.Conv1D(4, 3, padding="same", activation="tanh")(keras.layers.Embedding(20, 5)(i))
    numbers = keras.Model(i, keras.layers.Dense(1)(h))
    against_keras("numbers", numbers, "mse", ["mae", keras.metrics.RootMeanSquaredError()], spec, tags)
    spec, tags = pipe("weights.json", "z", columns=["x", "z", "w"]), truth(lists, tag, (None,), True)
    weighed = keras.Model(i, keras.layers.Dense(5, "softmax")(h))
    against_keras("weighted tags", weighed, "sparse_categorical_crossentropy", ["accuracy"], spec, tags, weighted_metrics=["sparse_categorical_crossentropy"])


def against_keras(what, m, loss, metrics, spec, dataset, **more):
    m.compile(keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.2, 5, 0.8), momentum=0.5), loss, metrics=metrics, **more)
    m.save("m.keras")
    rc, _, err = run(ARTEL, "fit", "m.keras", "--data", spec, "--validation", spec, "--no-shuffle", "--batch-size", 2, "--epochs", 2, "--history", "h.json", "--output", what + ".keras", "--verbose", 0)
    check("fit " + what, rc == 0, err)
    truth_of, found = m.fit(dataset, epochs=2, shuffle=False, verbose=0, validation_data=dataset).history, json.load(open("h.json"))
    check("history of " + what, found.keys() == truth_of.keys() and all(np.allclose(found[k], truth_of[k], 0, 2e-5) for k in truth_of), found, truth_of)
    far = max(float(np.abs(a - b).max()) for a, b in zip(m.get_weights(), keras.saving.load_model(what + ".keras").get_weights()))
    check("weights of " + what, far < 1e-5, far)
    rc, out, err = run(ARTEL, "evaluate", what + ".keras", "--data", spec, "--replicas", 2)
    values = [float(line.split()[1]) for line in sorted(out.splitlines())]
    check("evaluate " + what, rc == 0 and np.allclose(values, [found["val_" + k][-1] for k in sorted(k[4:] for k in found if k.startswith("val_"))], 0, 1e-6), out, err, found)
    rc, _, err = run(ARTEL, "predict", what + ".keras", "--data", spec, "--output", what + ".npy", "--strategy", "mirrored", "--replicas", 2)
    if loss == "sparse_categorical_crossentropy" and len(m.output_shape) == 2:
        check("predict " + what, rc == 0, err)
    else:
        check("predict " + what, rc == 1 and "the output is as long as the rows of a batch" in err, err)


def predictions(lists):
    """Of the classes, in the order of the data."""
    m, found = keras.saving.load_model("classes.keras"), np.load("classes.npy")
    for first, boundary in zip([0] + BOUNDARIES, BOUNDARIES):
        some = [k for k, row in enumerate(lists) if first <= len(row) < boundary]
        wanted = m.predict_on_batch(np.array([lists[k] + [0] * (boundary - 1 - len(lists[k])) for k in some], "i4"))
        check("predictions below %d" % boundary, np.allclose(found[some], wanted, 0, 1e-5), found[some], wanted)


def training():
    for k, length in enumerate((5, 8, 3)):
        np.savez("t%d.npz" % k, x=RNG.standard_normal((40, 2, length)).astype("f4"), y=RNG.integers(0, 3, (40, 2)))
    parts = [chain("npz:t%d.npz" % k, ("pad", dict(column="x", shape=[2, 8]))) for k in range(3)]
    save(chain({"concatenate": parts}, ("shuffle", dict(seed=1)), ("unbatch", {}), ("batch", dict(size=2)), ("unbatch", {})))
    m = keras.Sequential([keras.Input((8,)), keras.layers.Dense(5, "tanh"), keras.layers.Dense(3, "softmax")])
    same_bits(m, "pipeline:p.json", 240, 15)


def training_by_length():
    """The same of batches of like length."""
    lists = sequences(120)
    m = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(20, 5, mask_zero=True), keras.layers.LSTM(6), keras.layers.Dense(3, "softmax")])
    spec = pipe("bits.json", "y")
    same_bits(m, spec, 120, steps_of(lists), "--validation", spec, "--check-data", "reading")
    m = keras.Sequential([keras.Input((12,), dtype="int32"), keras.layers.Embedding(20, 5), keras.layers.Flatten(), keras.layers.Dense(3, "softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    m.save("fixed.keras")
    for what, model, words, found in (
            ("a model of one length", "fixed.keras", [], "the input takes rows of 12"),
            ("pipelines of workers", "m.keras", ["--auto-shard", "off:2"], "are made of all rows, not of each worker's"),
            ("skipped rows", "m.keras", ["--skip-errors", 1], "not with skip-errors"),
            ("joined pipelines", "m.keras", ["--data", spec + "+" + spec], "not of several that are joined")):
        rc, _, err = run(ARTEL, "fit", model, "--data", spec, *words)
        check(what, rc == 1 and found in err, err)
    rc, _, err = run(ARTEL, "launch", "-n", 2, "fit", "m.keras", "--data", spec, "--strategy", "multi-worker", "--allow-mixed-arithmetic", "--insecure-network")
    check("tasks of several kinds", rc != 0 and "--allow-mixed-arithmetic" in err and "leave it out, or name a pipeline without that stage" in err, err)
    rc, _, err = run(ARTEL, "predict", "m.keras", "--data", spec, "--steps", 1, "--output", "p.npy")
    check("some predictions", rc == 1 and "are not the first rows" in err, err)


def devices_by_length():
    """Programs for each length: losses and predictions as on processors, equal bits on one device and on two."""
    if "cpu:" not in run(ARTEL, "devices")[1].replace("cpu  ", ""):  # no plug-in
        return
    sequences(60)
    m = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(20, 5), keras.layers.GlobalMaxPooling1D(), keras.layers.Dense(3, "softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    m.save("d.keras")
    spec, losses, digests = pipe("device.json", "y", bucket_boundaries=[6, 13], bucket_batch_sizes=[12, 6]), {}, {}
    for name, words in (("cores", []), ("device", ["--device", "cpu:xla"]), ("two devices", ["--device", "cpu:xla", "--strategy", "mirrored", "--replicas", 2])):
        rc, _, err = run(ARTEL, "fit", "d.keras", "--data", spec, "--epochs", 2, "--shards", 2, "--verbose", 0, "--history", "h.json", "--output", name + ".keras", *words)
        check("fit of lengths on " + name, rc == 0, err)
        losses[name], digests[name] = json.load(open("h.json"))["loss"], run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1]
    check("losses of lengths on a device", np.allclose(losses["device"], losses["cores"], 1e-5, 0), losses)
    check("bits of lengths on devices", digests["device"] == digests["two devices"], digests)
    for name, words in (("cores", []), ("device", ["--device", "cpu:xla"])):
        rc, _, err = run(ARTEL, "predict", "device.keras", "--data", spec, "--output", name + ".npy", *words)
        check("predictions of lengths on " + name, rc == 0, err)
    check("equal predictions of lengths", np.allclose(np.load("cores.npy"), np.load("device.npy"), 0, 1e-6))


def same_bits(m, spec, rows, steps_of_epoch, *words):
    m.compile("adam", "sparse_categorical_crossentropy")
    m.save("m.keras")
    digests, orders = {}, {}

    def fit(name, *more, launch=()):
        rc, out, err = run(ARTEL, *launch, "fit", "m.keras", "--data", spec, "--epochs", 2, "--batch-size", 16, "--output", name + ".keras",
                           "--verbose", 0, "--audit-data", *words, *more)
        check("fit " + name, rc == 0, err)
        said = [line[line.index("audit: epoch 2:"):] for line in (out + err).splitlines() if "audit: epoch 2:" in line]
        check("each element once, " + name, bool(said) and all("%d elements, each of %d once" % (rows, rows) in line for line in said), out + err)
        digests[name], orders[name] = run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1:], set(said)

    fit("one")
    fit("mirrored", "--strategy", "mirrored", "--replicas", 3)
    fit("workers", "--strategy", "multi-worker", launch=("launch", "-n", "2"))
    shutil.rmtree("ck", ignore_errors=True)
    fit("middle", "--checkpoint-dir", "ck", "--save-every", "2steps", "--keep", 99)
    steps, last = sorted(int(name[5:]) for name in os.listdir("ck") if name.startswith("ckpt-")), steps_of_epoch + 3
    check("checkpoints within epochs", last // 2 * 2 in steps and steps[-1] > last, steps)
    for step in steps:
        if step > last:
            shutil.rmtree("ck/ckpt-%d" % step)  # what is left ends in the midst of the second epoch
    fit("middle", "--checkpoint-dir", "ck", "--save-every", "2steps", "--replicas", 2, "--strategy", "mirrored")
    for name in ("mirrored", "workers", "middle"):
        check("bits of " + name, len("".join(digests["one"])) == 64 and digests[name] == digests["one"], digests)
        check("elements of " + name, orders[name] == orders["one"], orders)


for part in (batches, padded, errors, lengths, training, training_by_length, devices_by_length):
    part()
sys.exit(report())
