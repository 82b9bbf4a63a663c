# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""--recompute: the same bits with less memory, for every kind of model, on any number of replicas.

Each model trains a few steps without it and with it; digests with the optimizer's state, losses and the plan are compared.
"""

import dataclasses
import json
import os
import re

import numpy as np
from cli import K, L, O, save
from oracle import Failure, artel, digest, table

ROWS_OF_DATA, BATCH = 76, 32  # the last batch is short


@dataclasses.dataclass
class Row:
    name: str
    build: object
    saves: float = 0.0  # the least part of the activations of a step that must be gone
    flags: tuple = ()
    replicas: tuple = ()


def compiled(model, loss="mse", optimizer=None):
    model.compile(optimizer or O.SGD(0.01, momentum=0.9), loss)
    return model


def cnn():
    layers = [K.Input((16, 16, 3))]
    for filters in (12, 16, 16, 24):
        layers += [L.Conv2D(filters, 3, padding="same", use_bias=False), L.BatchNormalization(), L.ReLU(), L.Dropout(0.2)]
    return compiled(K.Sequential(layers + [L.GlobalAveragePooling2D(), L.Dense(3)]))


def residual(blocks=8, norm=L.BatchNormalization):
    i = K.Input((12, 12, 3))
    t = L.ReLU()(norm()(L.Conv2D(16, 3, padding="same")(i)))
    for _ in range(blocks):
        u = L.ReLU()(norm()(L.Conv2D(8, 1)(t)))
        u = L.ReLU()(norm()(L.Conv2D(8, 3, padding="same")(u)))
        t = L.ReLU()(L.Add()([t, norm()(L.Conv2D(16, 1)(u))]))
    return compiled(K.Model(i, L.Dense(3)(L.GlobalAveragePooling2D()(t))))


def branches():
    i = K.Input((14, 14, 3))
    t = i
    for _ in range(4):
        a = L.ReLU()(L.BatchNormalization()(L.Conv2D(6, 1)(t)))
        b = L.ReLU()(L.BatchNormalization()(L.Conv2D(6, 3, padding="same")(L.Conv2D(4, 1, activation="relu")(t))))
        c = L.AveragePooling2D(3, 1, padding="same")(t)
        d = L.MaxPooling2D(3, 1, padding="same")(L.Conv2D(4, 1, activation="swish")(t))
        t = L.Concatenate()([a, b, c, d])
    return compiled(K.Model(i, L.Dense(3)(L.GlobalMaxPooling2D()(t))), optimizer=O.Adam(0.003, global_clipnorm=1.0))


def recurrent():
    layers = [K.Input((20,), dtype="int32"), L.Embedding(40, 24, mask_zero=True)]
    layers += [L.Bidirectional(L.LSTM(16, return_sequences=True, dropout=0.1, recurrent_dropout=0.2)), L.GRU(24, return_sequences=True, dropout=0.3)]
    layers += [L.LSTM(24, return_sequences=True), L.SimpleRNN(16), L.Dropout(0.4), L.Dense(3)]
    return compiled(K.Sequential(layers), optimizer=O.RMSprop(0.003))


def stateful():
    layers = [K.Input((10, 4), batch_size=BATCH), L.LSTM(12, return_sequences=True, stateful=True), L.Dense(16, activation="gelu"),
              L.LayerNormalization(), L.GRU(8, stateful=True, return_sequences=True), L.Dense(12, activation="tanh"), L.Flatten(), L.Dense(3)]
    return compiled(K.Sequential(layers))


def transformer():
    i = K.Input((24,), dtype="int32")
    t = L.Embedding(50, 32)(i)
    for _ in range(6):
        n = L.LayerNormalization()(t)
        t = L.Add()([t, L.Dropout(0.1)(L.MultiHeadAttention(4, 8, dropout=0.2)(n, n, use_causal_mask=True))])
        n = L.LayerNormalization()(t)
        t = L.Add()([t, L.Dropout(0.1)(L.Dense(32)(L.Dense(128, activation="gelu")(n)))])
    return compiled(K.Model(i, L.Dense(3)(L.GlobalAveragePooling1D()(t))), optimizer=O.AdamW(0.002))


def nested():
    inner = K.Sequential([K.Input((10, 10, 8)), L.Conv2D(8, 3, padding="same", activation="relu"), L.BatchNormalization(), L.Dropout(0.2)])
    body = K.Model(inner.inputs, L.Add()([inner.inputs[0], inner(inner.inputs[0])]))
    i = K.Input((10, 10, 8))
    t = i
    for _ in range(3):
        t = body(L.Conv2D(8, 1, activation="elu")(t))  # one set of weights, used three times
    return compiled(K.Model(i, L.Dense(3)(L.Flatten()(t))))


def many():
    a, b = K.Input((12, 12, 3), name="a"), K.Input((9,), name="b")
    t = a
    for _ in range(4):
        t = L.LayerNormalization()(L.Conv2D(8, 3, padding="same", activation="relu", kernel_regularizer="l2")(t))
    u = L.Dense(16, activation="selu")(L.AlphaDropout(0.1)(b))
    both = L.Concatenate()([L.Flatten()(t), u, L.GaussianNoise(0.1)(u)])
    first, second = L.Dense(3, name="first")(both), L.Dense(1, activation="sigmoid", name="second")(L.Dense(8, activation="tanh")(both))
    m = K.Model([a, b], [first, second])
    m.compile(O.Nadam(0.002, use_ema=True, ema_momentum=0.9), {"first": "mse", "second": "binary_crossentropy"}, loss_weights={"first": 0.5, "second": 2.0})
    return m


def scaled():
    m = K.Sequential([K.Input((12, 12, 3)), L.Rescaling(0.5), L.ZeroPadding2D(2), L.SeparableConv2D(8, 3), L.UnitNormalization(),
                      L.PReLU(), L.Conv2D(6, 3, strides=2), L.SpatialDropout2D(0.2), L.GroupNormalization(3), L.Activation("softplus"),
                      L.UpSampling2D(), L.DepthwiseConv2D(3, activation="relu6"), L.Cropping2D(1), L.AveragePooling2D(2), L.Flatten(), L.Dense(3)])
    return compiled(m)


def arrays(model):
    rng = np.random.default_rng(5)
    out = {}
    for i in model.inputs:
        shape = (ROWS_OF_DATA if i.shape[0] is None else 2 * BATCH, *i.shape[1:])
        integers = str(i.dtype).startswith("int")
        out["x" if len(model.inputs) == 1 else i.name] = rng.integers(0, 40, shape).astype("i4") if integers else rng.standard_normal(shape).astype("f4")
    rows = len(next(iter(out.values())))
    for name, o in zip(getattr(model, "output_names", ["y"]), model.outputs):
        y = rng.standard_normal((rows, *o.shape[1:])).astype("f4")
        out["y" if len(model.outputs) == 1 else name] = (y > 0).astype("f4") if name == "second" else y
    return out


def fit(folder, name, *flags):
    out, history = os.path.join(folder, name + ".keras"), os.path.join(folder, name + ".json")
    ran = artel("fit", os.path.join(folder, "m.keras"), "--data", "npz:" + os.path.join(folder, "d.npz"), "--batch-size", BATCH, "--shards", 8, "--epochs", 2,
                "--seed", 3, "--output", out, "--history", history, "--explain", "--verbose", 0, *flags)
    if ran.rc:
        raise Failure("%s: exit %d (%s)" % (name, ran.rc, ran.err[-300:]))
    with open(history) as file:
        losses = json.load(file)
    return digest(out, kind="all"), losses, ran.out


def activations(plan):
    return int(re.search(r"# training plan\nrows \d+, nodes \d+, activations (\d+) bytes", plan).group(1))


def run(row, index, folder, keras_only):
    del index
    path = save(row.build, os.path.join(folder, "m.keras"))
    from oracle import keras_module

    model = keras_module().models.load_model(path)
    if keras_only:
        return ["", ""]
    np.savez(os.path.join(folder, "d.npz"), **arrays(model))
    bits, losses, plan = fit(folder, "plain", *row.flags)
    if "again" in plan or "recomputation" in plan:
        raise Failure("something is computed again without being asked for")
    before = activations(plan)
    worst = 1.0
    for percent in ("--recompute", "--recompute=100"):
        other, others, plan = fit(folder, "again", percent, *row.flags)
        if other != bits or others != losses:
            raise Failure("%s: another %s" % (percent, "digest" if other != bits else "history"))
        said = re.search(r"(\d+) of \d+ forward operations run again, about (\d+) % more time", plan)
        if not said or int(said.group(2)) > (25 if percent == "--recompute" else 100):
            raise Failure("%s: explained as %s" % (percent, said and said.group(0)))
        copies = len(re.findall(r", again$", plan.split("# training plan")[0], re.M))
        if (copies > 0) != (int(said.group(1)) > 0) or activations(plan) > before:
            raise Failure("%s: %d copies, %d bytes instead of %d" % (percent, copies, activations(plan), before))
        worst = min(worst, activations(plan) / before)
    if worst > 1 - row.saves:
        raise Failure("only %.0f %% of the activations are gone" % (100 - 100 * worst))
    for replicas in row.replicas:
        other, others, _ = fit(folder, "replicas", "--recompute", "--strategy", "mirrored", "--replicas", replicas, *row.flags)
        if other != bits or others != losses:
            raise Failure("%d replicas: another %s" % (replicas, "digest" if other != bits else "history"))
    return ["%d" % before, "%.0f %%" % (100 - 100 * worst)]


TABLE = [
    Row("cnn", cnn, 0.3, replicas=(2, 8)),
    Row("cnn-groups", cnn, 0.3, ("--batch-norm", "groups:4"), (3,)),
    Row("residual", residual, 0.5, replicas=(3,)),
    Row("residual-validation", residual, 0.5, ("--validation-split", "0.2")),
    Row("residual-layer-norm", lambda: residual(6, L.LayerNormalization), 0.5),
    Row("branches", branches, 0.3, replicas=(2,)),
    Row("recurrent", recurrent, 0.1, replicas=(2,)),
    Row("stateful", stateful),
    Row("transformer", transformer, 0.5, replicas=(2,)),
    Row("nested", nested, 0.1),
    Row("many", many, 0.1, replicas=(5,)),
    Row("other-layers", scaled, 0.1),
]

if __name__ == "__main__":
    table(TABLE, run, ["bytes", "gone"])
