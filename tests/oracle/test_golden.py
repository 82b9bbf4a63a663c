# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""The curve of the tf.distribute guide, alike on every strategy."""

import dataclasses
import json
import os

import numpy as np
from oracle import K, L, O, Failure, Lazy, artel, digest, keras_module, table, weights

R = Lazy("regularizers")
FIRST, EVALUATION, SECOND = [0.4621, 0.2042], 0.12685, [0.0903, 0.0399]


@dataclasses.dataclass
class Row:
    name: str
    strategy: tuple = None  # None: Keras itself
    l2: bool = True


ROWS = [Row("keras"), Row("keras-without-l2", l2=False), Row("default", ()), Row("one-device", ("--strategy", "one-device")),
        Row("auto", ("--strategy", "auto"))]
ROWS += [Row("mirrored-%d" % n, ("--strategy", "mirrored", "--replicas", n)) for n in (1, 2, 3, 5)]
ROWS += [Row("without-l2-" + n, s, False) for n, s in (("one-device", ("--strategy", "one-device")),
                                                        ("mirrored-3", ("--strategy", "mirrored", "--replicas", 3)))]
DIGESTS = {}


def start(folder, l2):
    K.backend.clear_session()
    model = K.Sequential([K.Input((1,)), L.Dense(1, kernel_regularizer=R.L2(1e-4) if l2 else None)])
    model.set_weights([np.array([[0.1943]], "f4"), np.array([0.0], "f4")])
    model.compile(O.SGD(0.01), "mse")
    path = os.path.join(folder, "start.keras")
    model.save(path)
    np.savez(os.path.join(folder, "d.npz"), x=np.ones((100, 1), "f4"), y=np.ones((100, 1), "f4"))
    return model, path


def near(what, got, wanted, tolerance):
    if len(got) != len(wanted) or any(not abs(a - b) <= tolerance for a, b in zip(got, wanted)):
        raise Failure("%s: %s, the guide has %s" % (what, got, wanted))


def by_keras(model):
    x = np.ones((100, 1), "f4")
    fit = lambda: model.fit(x, x, batch_size=10, epochs=2, verbose=0).history["loss"]
    return fit(), model.evaluate(x, x, batch_size=10, verbose=0), fit()


def fit(row, folder, model, out, *more):
    history = os.path.join(folder, "h.json")
    ran = artel("fit", model, "--data", "npz:" + os.path.join(folder, "d.npz"), "--output", out, "--history", history, "--verbose", 0,
                *row.strategy, *more)
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    with open(history) as f:
        return json.load(f)["loss"]


def by_artel(row, folder, path):
    a, b = os.path.join(folder, "a.keras"), os.path.join(folder, "b.keras")
    first = fit(row, folder, path, a, "--batch-size", 10, "--epochs", 2)
    ran = artel("evaluate", a, "--data", "npz:" + os.path.join(folder, "d.npz"), "--batch-size", 10, *row.strategy)
    if ran.rc != 0 or not ran.out.startswith("loss "):
        raise Failure("evaluate: exit %d, %r (%s)" % (ran.rc, ran.out, ran.first))
    second = fit(row, folder, a, b, "--batch-size", 10, "--epochs", 2)
    if DIGESTS.setdefault(row.l2, digest(b)) != digest(b):
        raise Failure("another digest than the first strategy's")
    return first, float(ran.out.split()[1]), second


def run(row, index, folder, keras_only):
    model, path = start(folder, row.l2)
    if row.strategy is not None and keras_only:
        return ["-"] * 5
    if not row.l2:  # one step an epoch
        x = np.ones((100, 1), "f4")
        steps = (model.fit(x, x, batch_size=100, epochs=6, verbose=0).history["loss"] if row.strategy is None else
                 fit(row, folder, path, os.path.join(folder, "c.keras"), "--batch-size", 100, "--epochs", 6))
        near("ratio of losses", [b / a for a, b in zip(steps, steps[1:])], [0.9216] * 5, 2e-5)
        return ["%.5f" % (steps[1] / steps[0])] + [""] * 4
    first, evaluation, second = by_keras(model) if row.strategy is None else by_artel(row, folder, path)
    near("first two epochs", first, FIRST, 1e-4)
    near("evaluation", [evaluation], [EVALUATION], 1e-4)
    near("last two epochs", second, SECOND, 3e-4)
    return ["%.5f" % v for v in (*first, evaluation, *second)]


if __name__ == "__main__":
    table(ROWS, run, ["epoch 1", "epoch 2", "evaluate", "epoch 3", "epoch 4"])
