# SPDX-License-Identifier: Apache-2.0
# timeout: 180
"""A model with classes of the user's own, saved by Keras with their registered names, trains with the same classes in C
(examples/extension/my_layers.c): Keras' history, weights and predictions; equal bits on replicas and tasks; refusals."""

import json
import os
import sys
import tempfile

import numpy as np
from oracle import Failure, artel, keras_module, weights

EXTENSION = os.path.join(os.environ["ARTEL_BUILD"], "examples", "my_layers.so")
FOLDER = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(FOLDER.name, name)


def expect(condition, what, *more):
    if not condition:
        raise Failure("%s %s" % (what, " ".join(str(m) for m in more)))


def keras_side():
    """Saves start.keras and data.npz, trains; History, predictions of the trained model, its weights by name."""
    keras = keras_module()
    ops, register = keras.ops, keras.saving.register_keras_serializable("mine")

    @register
    class Gate(keras.layers.Layer):
        def __init__(self, scale=1.0, **settings):
            super().__init__(**settings)
            self.scale = scale

        def build(self, shape):
            self.kernel = self.add_weight(name="kernel", shape=(shape[-1], shape[-1]))
            self.bias = self.add_weight(name="bias", shape=(shape[-1],), initializer="zeros")

        def call(self, x):
            return x * ops.sigmoid(ops.matmul(x, self.kernel) + self.bias) * self.scale

        def get_config(self):
            return {**super().get_config(), "scale": self.scale}

    @register
    class Mish2(keras.layers.Layer):
        def call(self, x):
            return x * ops.tanh(ops.log1p(ops.exp(x)))

    @register
    def log_cosh2(y, p):
        return ops.mean(ops.log(ops.cosh(2 * (p - y))), axis=-1)

    @register
    def within_half(y, p):
        return ops.mean(ops.cast(ops.abs(p - y) < 0.5, "float32"), axis=-1)

    keras.utils.set_random_seed(3)
    x = keras.Input((5, 4))
    h = Gate(0.75)(keras.layers.Dense(6)(x))
    h = keras.layers.Flatten()(Mish2()(h))
    model = keras.Model(x, keras.layers.Dense(2)(Gate()(h)))
    model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.5), loss=log_cosh2, metrics=[within_half])
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=(70, 5, 4)).astype("float32"), "y": rng.normal(size=(70, 2)).astype("float32")}
    np.savez(path("data.npz"), **data)
    model.save(path("start.keras"))
    history = model.fit(data["x"], data["y"], batch_size=16, epochs=3, shuffle=False, verbose=0).history
    model.save(path("keras.keras"))
    return history, model.predict(data["x"], verbose=0)


def fit(output, *more):
    return artel("fit", path("start.keras"), "--extensions", EXTENSION, "--data", "npz:" + path("data.npz"), "--batch-size", 16, "--epochs", 3,
                 "--no-shuffle", "--output", path(output), "--history", path("history.json"), *more)


def digest_of(name):
    said = artel("inspect", path(name), "--extensions", EXTENSION, "--digest")
    expect(said.rc == 0, "inspect:", said.err)
    return said.out.split()[-1]


def main():
    if not os.path.exists(EXTENSION):
        print("the examples are not built here")
        sys.exit(77)
    truth, predictions = keras_side()
    ran = fit("one.keras", "--strategy", "one-device")
    expect(ran.rc == 0, "fit:", ran.err)
    with open(path("history.json")) as file:
        history = json.load(file)
    expect(sorted(history) == sorted(truth), "names in the history:", sorted(history), sorted(truth))
    for name, values in truth.items():
        expect(np.allclose(history[name], values, rtol=2e-4, atol=2e-4), name, history[name], values)
    ours, theirs = weights(path("one.keras")), weights(path("keras.keras"))
    expect(sorted(ours) == sorted(theirs), "weights:", sorted(ours), sorted(theirs))
    for name, value in theirs.items():
        expect(np.allclose(ours[name], value, rtol=1e-3, atol=2e-5), "weight", name)

    # Another program reads what was saved, with the same classes.
    said = artel("predict", path("one.keras"), "--extensions", EXTENSION, "--data", "npz:" + path("data.npz"), "--output", path("p.npy"))
    expect(said.rc == 0, "predict:", said.err)
    largest = np.abs(predictions).max()
    expect(np.abs(np.load(path("p.npy")) - predictions).max() < 2e-4 * largest, "predictions differ")

    one = digest_of("one.keras")
    expect(fit("three.keras", "--strategy", "mirrored", "--replicas", 3).rc == 0, "three replicas")
    expect(digest_of("three.keras") == one, "three replicas differ")
    tasks = artel("launch", "-n", 2, "fit", path("start.keras"), "--extensions", EXTENSION, "--data", "npz:" + path("data.npz"), "--batch-size", 16,
                  "--epochs", 3, "--no-shuffle", "--output", path("two.keras"), "--strategy", "multi-worker")
    expect(tasks.rc == 0, "two tasks:", tasks.err)
    expect(digest_of("two.keras") == one, "two tasks differ")

    # Without the classes, without a file, with one that is no extension.
    for words, reason in (((), "Gate"), (("--extensions", path("absent.so")), "absent.so"),
                          (("--extensions", os.path.join(os.environ["ARTEL_BUILD"], "libartel.so")), "artel_extension"),
                          (("--extensions", EXTENSION + "," + EXTENSION), "there is a layer of this name")):
        for command in "summary", "check":
            refused = artel(command, path("start.keras"), *words)
            expect(refused.rc == 1 and reason in refused.err + refused.out, "no word of", reason, "in", refused.rc, refused.err)
    print("as Keras, on one and three replicas and two tasks; four refusals")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit("FAILED: %s" % failure)
