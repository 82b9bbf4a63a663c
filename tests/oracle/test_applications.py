# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long form: 3600
"""Networks of keras.applications: load, predict, two steps of SGD.

Untrained, these networks are chaotic: in 2 consecutive steps of ResNet50 Keras itself (eager against graph, float32
against float64) departs by 70 % of the update's length, at any learning rate that float32 weights can hold. So the
second step starts from the file that Keras wrote after the first; step by step Keras' own error is 1 to 3 %, and the
bar of 10 % means something. What the two steps in one run give is shown beside it ("in one"), and not judged.
"""

import dataclasses
import os

import numpy as np
from oracle import LONG, K, L, O, Q, Failure, artel, digest, keras_module, predict_error, rng_of, table, weights


@dataclasses.dataclass
class Row:
    name: str
    rate: float = 1e-4


ROWS = [Row("ResNet50"), Row("InceptionV3"), Row("MobileNetV2"), Row("EfficientNetB0")]
ROWS += [Row("ConvNeXtTiny"), Row("InceptionResNetV2")] if LONG else []  # with layer classes of their own
BATCH = 16


def build(row, folder):
    """Untrained, ten classes, logits; dropout off, for its masks are not Keras'."""
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(5)
    model = getattr(keras.applications, row.name)(weights=None, input_shape=(96, 96, 3), classes=10, classifier_activation=None)
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    model.compile(O.SGD(row.rate), Q.SparseCategoricalCrossentropy(from_logits=True))
    path = os.path.join(folder, "start.keras")
    model.save(path)
    rng = rng_of(row.name)
    coarse = np.kron(rng.uniform(-1, 1, (2 * BATCH, 6, 6, 3)), np.ones((1, 16, 16, 1)))  # images that differ as a whole
    x = (coarse + 0.2 * rng.standard_normal(coarse.shape)).astype("f4")
    y = rng.integers(0, 10, 2 * BATCH).astype("i4")
    np.savez(os.path.join(folder, "both.npz"), x=x, y=y)
    for i in range(2):
        np.savez(os.path.join(folder, "%d.npz" % i), x=x[i * BATCH:(i + 1) * BATCH], y=y[i * BATCH:(i + 1) * BATCH])
    return model, path, x, y


def step(before, after):
    """The update as one vector of trainable variables; moving statistics apart."""
    a, b = weights(before), weights(after)
    if set(a) != set(b):
        raise Failure("other variables than the start")
    group = lambda k: k.rsplit("/", 1)
    last = {g: max(int(group(k)[1]) for k in a if group(k)[0] == g) for g in {group(k)[0] for k in a}}
    moving = {k for k in a if "batch_normalization" in k and int(group(k)[1]) >= last[group(k)[0]] - 1}
    vector = lambda keys: np.concatenate([np.zeros(0)] + [(b[k].astype("f8") - a[k]).ravel() for k in sorted(keys)])
    return vector(set(a) - moving), vector(moving)


def apart(mine, theirs):
    return np.linalg.norm(mine - theirs) / max(np.linalg.norm(theirs), 1e-30)


def must(*args):
    ran = artel(*args, timeout=300)
    if ran.rc != 0:
        raise Failure("%s: exit %d (%s)" % (args[0], ran.rc, ran.first))


def run(row, index, folder, keras_only):
    model, start, x, y = build(row, folder)
    file = lambda name: os.path.join(folder, name)
    theirs = model.predict(x, batch_size=BATCH, verbose=0)
    model.run_eagerly, model.jit_compile = True, False
    files = [start, file("1.keras"), file("2.keras")]
    for i in range(2):
        model.fit(x[i * BATCH:(i + 1) * BATCH], y[i * BATCH:(i + 1) * BATCH], batch_size=BATCH, shuffle=False, verbose=0)
        model.save(files[i + 1])
    if keras_only:
        return [""] * 5 + ["%d" % sum(a.size for a in step(*files[:2]))]
    must("predict", start, "--data", "npz:" + file("both.npz"), "--batch-size", BATCH, "--output", file("p.npy"))
    p = predict_error([np.load(file("p.npy"))], [theirs])
    if p > 1e-4:
        raise Failure("predict differs by %.2g of the largest value" % p)
    shown = []
    for i in range(2):
        must("fit", files[i], "--data", "npz:" + file("%d.npz" % i), "--batch-size", BATCH, "--no-shuffle", "--verbose", 0, "--output",
             file("mine.keras"))
        mine, his = step(files[i], file("mine.keras")), step(files[i], files[i + 1])
        u, m = apart(mine[0], his[0]), apart(mine[1], his[1])
        if not u <= 0.1 or not m <= 0.01:
            raise Failure("step %d: update differs by %.3g of its length, moving statistics by %.3g" % (i + 1, u, m))
        shown += ["%.1e" % u]
    must("fit", start, "--data", "npz:" + file("both.npz"), "--batch-size", BATCH, "--no-shuffle", "--verbose", 0, "--output", file("mine.keras"))
    one = apart(step(start, file("mine.keras"))[0], step(start, files[2])[0])
    return ["%.1e" % p, *shown, "%.1e" % m, "%.1e" % one, "%d" % (mine[0].size + mine[1].size)]


if __name__ == "__main__":
    table(ROWS, run, ["predict", "step 1", "step 2", "moving", "in one", "variables"], every=3)
