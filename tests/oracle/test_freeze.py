# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""`--freeze`, `--weights` and callbacks in one line: what real Keras does with `layer.trainable = False`, `load_weights` and the same callbacks."""

import dataclasses
import json
import os

import keras
import numpy as np
from keras import layers as L

from oracle import Failure, artel, digest, table


@dataclasses.dataclass
class Row:
    name: str
    frozen: tuple = ()  # paths of layers
    args: tuple = ()
    callbacks: object = None
    weights: bool = False
    refused: str = ""


STOP = ("--callbacks", "EarlyStopping:monitor=loss,patience=0,baseline=0.5", "--callbacks", "TerminateOnNaN,ReduceLROnPlateau:monitor=loss,patience=1,factor=0.5")
CALLBACKS = lambda: [keras.callbacks.EarlyStopping(monitor="loss", patience=0, baseline=0.5), keras.callbacks.TerminateOnNaN(),
                     keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1, factor=0.5)]
ROWS = [Row("a-model-inside", ("base",), ("--freeze", "base")), Row("by-pattern", ("base",), ("--freeze", "b*")),
        Row("layers-inside", ("base/norm", "base/first"), ("--freeze", "norm,first")), Row("one-letter", ("head",), ("--freeze", "h?ad")),
        Row("wrapped", ("steps",), ("--freeze", "ste[p]s")), Row("weights", args=("--weights", "other.weights.h5"), weights=True),
        Row("callbacks-in-words", args=STOP, callbacks=CALLBACKS),
        Row("nothing-of-that-name", args=("--freeze", "nothing"), refused="nothing"),
        Row("no-weights", args=("--weights", "none.weights.h5"), refused="none.weights.h5"),
        Row("no-such-callback", args=("--callbacks", "EarlyStoping:patience=1"), refused="EarlyStopping"),
        Row("no-such-file", args=("--callbacks", "none.json"), refused="none.json")]


def made():
    keras.utils.set_random_seed(3)
    base = keras.Sequential([L.Input((4, 6)), L.TimeDistributed(L.Dense(5, activation="tanh"), name="steps"), L.Flatten(),
                             L.Dense(8, activation="tanh", name="first"), L.BatchNormalization(name="norm"), L.Dense(5, name="second")], name="base")
    x = keras.Input((4, 6))
    model = keras.Model(x, L.Dense(3, activation="softmax", name="head")(base(x)))
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    return model


def layer_at(model, path):
    for name in path.split("/"):
        model = model.get_layer(name)
    return model


def run(row, index, folder, keras_only):
    del keras_only
    model, rng = made(), np.random.default_rng(index)
    x, y = rng.normal(size=(48, 4, 6)).astype("float32"), rng.integers(0, 3, 48)
    model.fit(x, y, batch_size=16, epochs=1, verbose=0, shuffle=False)  # the file has the optimizer's state
    model.save(os.path.join(folder, "m.keras"))
    np.savez(os.path.join(folder, "d.npz"), x=x, y=y)
    if row.weights:
        keras.utils.set_random_seed(8)
        other = [rng.normal(size=w.shape, scale=0.1) ** 2 for w in model.weights]
        model.set_weights(other)
        model.save_weights(os.path.join(folder, "other.weights.h5"))
    inside = model.get_layer("base")
    for path in row.frozen:
        layer_at(model if path in ("base", "head") else inside, path.split("/")[-1]).trainable = False
    if row.frozen:
        model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    ways = [(), ("--strategy", "mirrored", "--replicas", 3)]
    digests = set()
    for way, strategy in enumerate(ways[:1] if row.refused else ways):
        out, history = os.path.join(folder, "o%d.keras" % way), os.path.join(folder, "h.json")
        args = [os.path.join(folder, a) if a.endswith(".weights.h5") else a for a in row.args]
        ran = artel("fit", os.path.join(folder, "m.keras"), "--data", "npz:" + os.path.join(folder, "d.npz"), "--batch-size", 16, "--epochs", 3, "--no-shuffle",
                    "--verbose", 0, "--output", out, "--history", history, *args, *strategy)
        if row.refused:
            if ran.rc == 0 or row.refused not in ran.err or os.path.exists(out):
                raise Failure("exit %d (%s)" % (ran.rc, ran.first))
            return ["", "", ""]
        if ran.rc != 0:
            raise Failure("exit %d (%s)" % (ran.rc, ran.first))
        digests.add(digest(out))
    if len(digests) != 1:
        raise Failure("other bits on three replicas")
    want = model.fit(x, y, batch_size=16, epochs=3, verbose=0, shuffle=False, callbacks=row.callbacks and row.callbacks()).history["loss"]
    with open(history) as f:
        got = json.load(f)["loss"]
    if len(got) != len(want) or not np.allclose(got, want, rtol=2e-4):
        raise Failure("history %s, expected %s" % (got, want))
    saved = keras.models.load_model(out)
    apart = max(np.abs(a.numpy() - b.numpy()).max() for a, b in zip(saved.weights, model.weights))
    if apart > 1e-3:
        raise Failure("weights are %g apart" % apart)
    if len(saved.trainable_weights) != len(model.trainable_weights):
        raise Failure("%d weights are trained in the file, expected %d" % (len(saved.trainable_weights), len(model.trainable_weights)))
    return ["%.1e" % np.abs(np.subtract(got, want)).max(), "%.1e" % apart, len(saved.trainable_weights)]


if __name__ == "__main__":
    table(ROWS, run, ["history", "weights", "trained"])
