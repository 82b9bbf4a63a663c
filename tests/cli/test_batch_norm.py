# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Statistics of batch normalisation by group of shards (--batch-norm groups:G) against Keras' layers called once a group.

With one weight update at learning rate 0.1 the weights that artel saves are compared with a gradient tape over
the concatenated outputs of each group; moving statistics with the mean over the groups. Then digests: replicas do not
matter, groups do, one group is the default.
"""

import dataclasses
import os

import numpy as np
from cli import K, L, O, Q, save
from oracle import Failure, artel, digest, keras_module, table, weights

ROWS_A_BATCH, SHARDS = 32, 8


@dataclasses.dataclass
class Row:
    name: str
    build: object
    groups: int
    axis: int = -1


def images(axis):
    def build():
        m = K.Sequential([K.Input((6, 5, 4)), L.Conv2D(6, 3, use_bias=False), L.BatchNormalization(axis=axis, momentum=0.8), L.ReLU(),
                          L.Conv2D(4, 2), L.BatchNormalization(epsilon=1e-2), L.Flatten(), L.Dense(3)])
        m.compile(O.SGD(0.1), Q.SparseCategoricalCrossentropy(from_logits=True))
        return m

    return build


def vectors():
    m = K.Sequential([K.Input((7,)), L.Dense(9), L.BatchNormalization(scale=False), L.ReLU(), L.BatchNormalization(center=False), L.Dense(3)])
    m.compile(O.SGD(0.1), Q.SparseCategoricalCrossentropy(from_logits=True))
    return m


def data_of(model):
    rng = np.random.default_rng(3)
    shape = tuple(model.input_shape[1:])
    x = rng.standard_normal((ROWS_A_BATCH, *shape)).astype("f4") * 2 + rng.standard_normal((ROWS_A_BATCH,) + (1,) * len(shape)).astype("f4")
    return x, rng.integers(0, 3, ROWS_A_BATCH).astype("i4")


def keras_step(path, groups):
    """One step with each group's own statistics, in the order of rows."""
    import tensorflow as tf

    keras = keras_module()
    model = keras.models.load_model(path)
    x, y = data_of(model)
    norms = [layer for layer in model.layers if "moving_mean" in [v.name for v in layer.non_trainable_variables]]
    before = [[np.array(v) for v in (n.moving_mean, n.moving_variance)] for n in norms]
    after = [[np.zeros_like(v) for v in pair] for pair in before]
    with tf.GradientTape() as tape:
        out = []
        for part in np.split(x, groups):
            for n, pair in zip(norms, before):
                n.moving_mean.assign(pair[0])
                n.moving_variance.assign(pair[1])
            out.append(model(part, training=True))
            for n, pair in zip(norms, after):
                pair[0] += np.array(n.moving_mean) / groups
                pair[1] += np.array(n.moving_variance) / groups
        loss = model.compiled_loss(y, tf.concat(out, 0)) if hasattr(model, "compiled_loss") else model.loss(y, tf.concat(out, 0))
    for v, g in zip(model.trainable_variables, tape.gradient(loss, [v.value for v in model.trainable_variables])):
        v.assign(v - 0.1 * g)
    for n, pair in zip(norms, after):
        n.moving_mean.assign(pair[0])
        n.moving_variance.assign(pair[1])
    return x, y, model


def fit(folder, model, *more):
    out = os.path.join(folder, "out.keras")
    ran = artel("fit", model, "--data", "npz:" + os.path.join(folder, "d.npz"), "--batch-size", ROWS_A_BATCH, "--shards", SHARDS, "--no-shuffle",
                "--output", out, *more)
    if ran.rc:
        raise Failure(ran.err[-300:])
    return out


def run(row, index, folder, keras_only):
    path = save(row.build, os.path.join(folder, "m.keras"))
    x, y, model = keras_step(path, row.groups)
    expected = os.path.join(folder, "expected.keras")
    model.save(expected)
    if keras_only:
        return [""]
    np.savez(os.path.join(folder, "d.npz"), x=x, y=y)
    name = "groups:%d" % row.groups
    mine, theirs = weights(fit(folder, path, "--batch-norm", name)), weights(expected)
    worst = 0.0
    for key in theirs:
        worst = max(worst, float(np.max(np.abs(mine[key] - theirs[key]) / (1e-3 + np.abs(theirs[key])))))
    if not worst < 2e-3:
        raise Failure("weights differ by %.3g" % worst)
    first = digest(fit(folder, path, "--batch-norm", name))
    for replicas in (2, 3, 8):
        other = digest(fit(folder, path, "--batch-norm", name, "--strategy", "mirrored", "--replicas", replicas))
        if other != first:
            raise Failure("%d replicas: another digest" % replicas)
    plain = digest(fit(folder, path))
    if (plain == first) != (row.groups == 1):
        raise Failure("groups and the default have %s digest" % ("one" if plain == first else "another"))
    return ["%.1e" % worst]


TABLE = [Row("images-%d" % g, images(-1), g) for g in (1, 2, 8)] + [Row("first-axis-4", images(1), 4), Row("vectors-2", vectors, 2), Row("vectors-4", vectors, 4)]

if __name__ == "__main__":
    table(TABLE, run, ["weights"])
