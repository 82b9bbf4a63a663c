# SPDX-License-Identifier: Apache-2.0
# timeout: 180
"""An optimizer of the user's own, compiled into a model that Keras has saved, trains with the same class in C
(examples/extension/my_layers.c): Keras' weights and slots, by itself and with what Keras makes around every optimizer; equal bits on
replicas and tasks, and after a stop; Keras goes on from the file."""

import os
import sys
import tempfile

import numpy as np
from oracle import Failure, artel, keras_module, slots, weights

EXTENSION = os.path.join(os.environ["ARTEL_BUILD"], "examples", "my_layers.so")
FOLDER = tempfile.TemporaryDirectory()
AROUND = [{}, {"gradient_accumulation_steps": 2, "use_ema": True, "ema_momentum": 0.9}, {"weight_decay": 0.02, "clipnorm": 0.3}]


def path(name):
    return os.path.join(FOLDER.name, name)


def expect(condition, what, *more):
    if not condition:
        raise Failure("%s %s" % (what, " ".join(str(m) for m in more)))


def bounded(keras):
    ops = keras.ops

    @keras.saving.register_keras_serializable("mine")
    class Bounded(keras.optimizers.Optimizer):
        def __init__(self, learning_rate=0.01, beta=0.9, softness=0.01, name="bounded", **settings):
            super().__init__(learning_rate=learning_rate, name=name, **settings)
            self.beta, self.softness = beta, softness

        def build(self, variables):
            if not self.built:
                super().build(variables)
                self.momentum = self.add_optimizer_variables(variables, "momentum")

        def update_step(self, gradient, variable, learning_rate):
            rate, count = ops.cast(learning_rate, "float32"), ops.cast(self.iterations + 1, "float32")
            momentum = self.momentum[self._get_variable_index(variable)]
            self.assign(momentum, ops.add(ops.multiply(momentum, self.beta), ops.multiply(gradient, 1 - self.beta)))  # a table's gradient is sparse
            mean = momentum / (1 - ops.power(self.beta, count))
            self.assign_sub(variable, mean / (ops.absolute(mean) + self.softness) * rate)

        def get_config(self):
            return {**super().get_config(), "beta": self.beta, "softness": self.softness}
    return Bounded


def model_of(keras, optimizer):
    x = keras.Input((6,), dtype="int32")
    h = keras.layers.Conv1D(5, 3, activation="tanh")(keras.layers.Embedding(11, 4)(x))
    model = keras.Model(x, keras.layers.Dense(2)(keras.layers.GlobalAveragePooling1D()(h)))
    model.compile(optimizer=optimizer, loss="mse")
    return model


def fit(start, output, *more):
    return artel("fit", path(start), "--extensions", EXTENSION, "--data", "npz:" + path("data.npz"), "--batch-size", 16, "--no-shuffle",
                 "--output", path(output), *more)


def digest_of(name):
    said = artel("inspect", path(name), "--extensions", EXTENSION, "--digest")
    expect(said.rc == 0, "inspect:", said.err)
    return said.out.split()[-1]


def compare(ours, theirs, what):
    expect(sorted(ours) == sorted(theirs), what, sorted(ours), sorted(theirs))
    for name, value in theirs.items():
        expect(np.allclose(ours[name], value, rtol=1e-3, atol=3e-5), what, name, ours[name], value)


def against_keras(keras, kind, around, data):
    """Two epochs each; then Keras reads what we wrote, with the slots, and goes on as its own model does."""
    keras.utils.set_random_seed(5)
    model = model_of(keras, kind(0.02, beta=0.8, **around))
    model.save(path("start.keras"))
    model.fit(data["x"], data["y"], batch_size=16, epochs=2, shuffle=False, verbose=0)
    model.save(path("keras.keras"))
    ran = fit("start.keras", "one.keras", "--epochs", 2, "--strategy", "one-device")
    expect(ran.rc == 0, "fit:", ran.err)
    compare(weights(path("one.keras")), weights(path("keras.keras")), "weights")
    compare(slots(path("one.keras")), slots(path("keras.keras")), "slots")
    again = keras.models.load_model(path("one.keras"))
    expect(type(again.optimizer) is kind and again.optimizer.get_config() == model.optimizer.get_config(), again.optimizer.get_config())
    for each in again, model:
        each.fit(data["x"], data["y"], batch_size=16, epochs=1, shuffle=False, verbose=0)
    for ours, theirs in zip(again.get_weights(), model.get_weights()):
        expect(np.allclose(ours, theirs, rtol=1e-3, atol=5e-5), "Keras goes on elsewhere")


def same_bits():
    one = digest_of("one.keras")
    expect(fit("start.keras", "three.keras", "--epochs", 2, "--strategy", "mirrored", "--replicas", 3).rc == 0, "three replicas")
    expect(digest_of("three.keras") == one, "three replicas differ")
    tasks = artel("launch", "-n", 2, "fit", path("start.keras"), "--extensions", EXTENSION, "--data", "npz:" + path("data.npz"), "--batch-size", 16,
                  "--epochs", 2, "--no-shuffle", "--output", path("two.keras"), "--strategy", "multi-worker")
    expect(tasks.rc == 0, "two tasks:", tasks.err)
    expect(digest_of("two.keras") == one, "two tasks differ")
    for epochs in 1, 2:
        ran = fit("start.keras", "later.keras", "--epochs", epochs, "--checkpoint-dir", path("checkpoints"))
        expect(ran.rc == 0, "in two runs:", ran.err)
    expect(digest_of("later.keras") == one, "two runs differ")


def refusals():
    for words, reason in ((("--optimizer", "Bounded:betta=1"), "betta"), (("--optimizer", "Bounded:beta=yes"), "another kind"),
                          (("--optimizer", "mine>Bound"), "Bound")):
        refused = fit("start.keras", "none.keras", "--epochs", 1, *words)
        expect(refused.rc == 1 and reason in refused.err, "no word of", reason, "in", refused.rc, refused.err)
    refused = artel("fit", path("start.keras"), "--data", "npz:" + path("data.npz"))
    expect(refused.rc == 1 and "Bounded" in refused.err, "without the class:", refused.rc, refused.err)
    named = fit("start.keras", "named.keras", "--epochs", 2, "--optimizer", "mine>Bounded:learning_rate=0.02,beta=0.8")
    expect(named.rc == 0, "by name:", named.err)


def main():
    if not os.path.exists(EXTENSION):
        print("the examples are not built here")
        sys.exit(77)
    keras = keras_module()
    kind, rng = bounded(keras), np.random.default_rng(0)
    data = {"x": rng.integers(0, 11, (70, 6)).astype("int32"), "y": rng.normal(size=(70, 2)).astype("float32")}
    np.savez(path("data.npz"), **data)
    for around in AROUND:
        against_keras(keras, kind, around, data)
    same_bits()
    refusals()
    print("as Keras, alone and with what Keras makes around it; equal bits on replicas, tasks and after a stop")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit("FAILED: %s" % failure)
