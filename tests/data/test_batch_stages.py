# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 900
"""The stages batch, unbatch and pad against tf.data's batch, unbatch and padded_batch with the same elements; what they refuse; training
behind them gives the same bits on any number of replicas and workers and from the midst of an epoch on.
"""
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
    refused("batches by length", chain(a, ("bucket_by_sequence_length", {})), "no stage 'bucket_by_sequence_length'", "longest")


def training():
    for k, length in enumerate((5, 8, 3)):
        np.savez("t%d.npz" % k, x=RNG.standard_normal((40, 2, length)).astype("f4"), y=RNG.integers(0, 3, (40, 2)))
    parts = [chain("npz:t%d.npz" % k, ("pad", dict(column="x", shape=[2, 8]))) for k in range(3)]
    save(chain({"concatenate": parts}, ("shuffle", dict(seed=1)), ("unbatch", {}), ("batch", dict(size=2)), ("unbatch", {})))
    m = keras.Sequential([keras.Input((8,)), keras.layers.Dense(5, "tanh"), keras.layers.Dense(3, "softmax")])
    m.compile("adam", "sparse_categorical_crossentropy")
    m.save("m.keras")
    digests, orders = {}, {}

    def fit(name, *more, launch=()):
        rc, out, err = run(ARTEL, *launch, "fit", "m.keras", "--data", "pipeline:p.json", "--epochs", 2, "--batch-size", 16, "--output", name + ".keras",
                           "--verbose", 0, "--audit-data", *more)
        check("fit " + name, rc == 0, err)
        said = [line[line.index("audit: epoch 2:"):] for line in (out + err).splitlines() if "audit: epoch 2:" in line]
        check("each element once, " + name, bool(said) and all("240 elements, each of 240 once" in line for line in said), out + err)
        digests[name], orders[name] = run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1:], set(said)

    fit("one")
    fit("mirrored", "--strategy", "mirrored", "--replicas", 3)
    fit("workers", "--strategy", "multi-worker", launch=("launch", "-n", "2"))
    fit("middle", "--checkpoint-dir", "ck", "--save-every", "2steps", "--keep", 99)
    steps = sorted(int(name[5:]) for name in os.listdir("ck") if name.startswith("ckpt-"))
    check("checkpoints within epochs", 18 in steps and steps[-1] > 18, steps)
    for step in steps:
        if step > 18:
            shutil.rmtree("ck/ckpt-%d" % step)  # what is left ends in the midst of the second epoch: 15 steps each
    fit("middle", "--checkpoint-dir", "ck", "--save-every", "2steps", "--replicas", 2, "--strategy", "mirrored")
    for name in ("mirrored", "workers", "middle"):
        check("bits of " + name, len("".join(digests["one"])) == 64 and digests[name] == digests["one"], digests)
        check("elements of " + name, orders[name] == orders["one"], orders)


for part in (batches, padded, errors, training):
    part()
sys.exit(report())
