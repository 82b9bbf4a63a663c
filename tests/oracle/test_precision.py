# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1800
"""Mixed precision beside real Keras: both policies, overrides by layer, loss scaling and what it leaves in the file.

The two round at different places (artel once an operation, TensorFlow once an instruction), so figures are compared in
units of the 16-bit type, and weights by the way they have gone: |mine - Keras'| as a part of |Keras' - start|. What is
exact in both, the loss scale, its counter and the steps taken, must be equal. Products of bfloat16 are added in both orders
(--arithmetic); the figures are the worse ones.
"""

import json
import os

import numpy as np
from oracle import K, L, O, Case, Failure, artel, keras_module, predict_error, read_predictions, reference, slots, table, weights

UNIT = {"mixed_bfloat16": 2.0**-8, "mixed_float16": 2.0**-11, "float32": 2.0**-11}
WAY = {"mixed_bfloat16": 0.10, "mixed_float16": 0.03}  # of the way gone, by variable


def policy(name, build):
    """The policy is global while Keras builds, loads and trains."""

    def built():
        keras_module().config.set_dtype_policy(name)
        return build()

    return built


def dense():
    return K.Sequential([K.Input((12,)), L.Dense(24, activation="relu"), L.Dense(16, activation="tanh"), L.Dense(4)])


def cnn():
    return K.Sequential([K.Input((10, 10, 2)), L.Conv2D(8, 3, activation="relu"), L.BatchNormalization(), L.Activation("relu"),
                         L.MaxPooling2D(), L.Conv2D(12, 3, padding="same"), L.LayerNormalization(), L.GlobalAveragePooling2D(),
                         L.Dense(3, activation="softmax", dtype="float32")])


def half_softmax():
    return K.Sequential([K.Input((8,)), L.Dense(20, activation="gelu"), L.Dense(3, activation="softmax")])


def overrides():
    a = K.Input((9,))
    x = L.Dense(16, activation="relu", dtype="float32")(a)
    y = L.Dense(16, activation="sigmoid")(x)
    z = L.Add()([L.Dense(16)(x), y])
    z = L.Concatenate()([z, L.Multiply(dtype="float32")([x, y])])
    return K.Model(a, L.Dense(2, dtype="float32")(z + 0.5))


def shared():
    a, b = K.Input((6,), name="a"), K.Input((6,), name="b")
    one = L.Dense(10, activation="tanh", kernel_regularizer="l2")
    inner = K.Sequential([K.Input((10,)), L.Dense(8, activation="tanh"), L.Dropout(0.0)])
    return K.Model([a, b], L.Dense(2, dtype="float32")(L.Subtract()([inner(one(a)), inner(one(b))])))


def lstm():
    return K.Sequential([K.Input((7,), dtype="int32"), L.Embedding(9, 8), L.LSTM(12, return_sequences=True), L.Bidirectional(L.GRU(6)),
                         L.Dense(3, activation="softmax", dtype="float32")])


def attention():
    a = K.Input((6, 8))
    x = L.LayerNormalization()(a)
    x = L.Add()([a, L.MultiHeadAttention(2, 4)(x, x)])
    x = L.GlobalAveragePooling1D()(L.Dense(16, activation="gelu")(L.RMSNormalization()(x)))
    return K.Model(a, L.Dense(3, activation="softmax", dtype="float32")(x))


def transposed():
    """Few pixels behind it: TensorFlow adds up the gradient of a bias in bfloat16, 0.1 off with 80 of them also without this layer."""
    return K.Sequential([K.Input((5, 4, 3)), L.Conv2DTranspose(6, 3, strides=2, padding="same", activation="relu"), L.Conv2D(4, 3, strides=3),
                         L.GlobalAveragePooling2D(), L.Dense(3, activation="softmax", dtype="float32")])


MODELS = {  # build, loss, targets, variables without a true gradient
    "dense": (dense, "mse", "real", ()),
    "cnn": (cnn, "sparse_categorical_crossentropy", "class", ("conv2d/vars/1",)),
    "transposed": (transposed, "sparse_categorical_crossentropy", "class", ()),
    "half-softmax": (half_softmax, "sparse_categorical_crossentropy", "class", ()),
    "overrides": (overrides, "mse", "real", ()),
    "shared": (shared, "mse", "real", ()),
    "lstm": (lstm, "sparse_categorical_crossentropy", "class", ()),
    "attention": (attention, "sparse_categorical_crossentropy", "class", ("key_dense/vars/1",)),
}


def scaled(**options):
    return lambda: O.LossScaleOptimizer(O.SGD(0.05, momentum=0.5), **options)


POLICY, CASES = {}, []


def add(name, policy_name, model, opt=None, **more):
    build, loss, y, zero = MODELS[model]
    POLICY[name] = policy_name
    CASES.append(Case(name, policy(policy_name, build), loss=loss, y=y, zero=zero, opt=opt or (lambda: O.SGD(0.05)), **more))


for word in ("bfloat16", "float16"):
    for model_name in MODELS:
        add("%s-%s-1-step" % (word, model_name), "mixed_" + word, model_name, rows=8, epochs=1)
        add("%s-%s" % (word, model_name), "mixed_" + word, model_name)
    add(word + "-adam", "mixed_" + word, "dense", lambda: O.Adam(0.003))
add("float16-adam-clipnorm", "mixed_float16", "dense", lambda: O.Adam(0.003, clipnorm=0.5))
add("float16-sgd-clipvalue", "mixed_float16", "dense", lambda: O.SGD(0.05, clipvalue=0.05))
add("float16-ema-global-clip", "mixed_float16", "dense", lambda: O.SGD(0.05, global_clipnorm=0.3, use_ema=True, ema_momentum=0.9))
add("float16-accumulation", "mixed_float16", "dense", lambda: O.Adam(0.003, gradient_accumulation_steps=3))
add("float16-nadam", "mixed_float16", "dense", lambda: O.Nadam(0.003))
add("float16-schedule", "mixed_float16", "dense", lambda: O.SGD(O.schedules.ExponentialDecay(0.05, 5, 0.5)))
add("scale-growth", "mixed_float16", "dense", scaled(dynamic_growth_steps=6))
add("scale-overflow", "mixed_float16", "dense", scaled(initial_scale=2.0**26, dynamic_growth_steps=3))
add("scale-odd", "mixed_float16", "dense", scaled(initial_scale=1000.0))
add("scale-overflow-adam", "mixed_float16", "cnn", lambda: O.LossScaleOptimizer(O.Adam(0.01), initial_scale=2.0**30, dynamic_growth_steps=2))
add("scale-bfloat16", "mixed_bfloat16", "dense", scaled(dynamic_growth_steps=6))


def compare_state(mine, theirs):
    """Counters and the loss scale are equal; slots have Keras' names, shapes and dtypes. Returns the scale."""
    if set(mine) != set(theirs):
        raise Failure("optimizer: missing %s, too many %s" % (sorted(set(theirs) - set(mine)), sorted(set(mine) - set(theirs))))
    wrapped = any(path.startswith("optimizer/inner_optimizer") for path in theirs)
    for path, b in theirs.items():
        a = mine[path]
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Failure("%s: %s %s, Keras has %s %s" % (path, a.dtype, a.shape, b.dtype, b.shape))
        if b.shape == () and (b.dtype.kind == "i" or (wrapped and path == "optimizer/vars/3")) and a != b:
            raise Failure("%s is %s, Keras has %s" % (path, a, b))
    return "%g" % theirs["optimizer/vars/3"] if wrapped else ""


def way_error(mine, theirs, start, zero):
    worst, where = 0.0, ""
    for path, b in theirs.items():
        a, from_ = mine[path], start[path]
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Failure("%s: %s %s, Keras has %s %s" % (path, a.dtype, a.shape, b.dtype, b.shape))
        if any(part in path for part in zero):
            continue
        way, off = np.linalg.norm(b.astype("f8") - from_), np.linalg.norm(a.astype("f8") - b)
        part = off / max(way, 1e-6)
        if not part <= worst:
            worst, where = part, path
    return worst, where


def compare(case, folder, said, arithmetic):
    unit, way = UNIT[POLICY[case.name]], WAY[POLICY[case.name]]
    start, data = os.path.join(folder, "start.keras"), "npz:" + os.path.join(folder, "data.npz")
    out, trained, history = (os.path.join(folder, name) for name in ("p.npy", "mine.keras", "h.json"))
    ran = artel("predict", start, "--data", data, "--batch-size", case.batch, "--output", out, "--arithmetic", arithmetic)
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    p = predict_error(read_predictions(out, said["outputs"]), said["predict"]) / unit
    if p > 4:
        raise Failure("predict differs by %.2g units of the 16-bit type" % p)
    ran = artel("fit", start, "--data", data, "--no-shuffle", "--batch-size", case.batch, "--epochs", case.epochs, "--output", trained,
                "--history", history, "--verbose", 0, "--arithmetic", arithmetic)
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    with open(history) as f:
        mine = json.load(f)
    h = max(abs(a - b) / max(1.0, abs(b)) for key in said["history"] for a, b in zip(mine[key], said["history"][key])) / unit
    if list(mine) != list(said["history"]) or h > 4:
        raise Failure("history differs by %.2g units: %s, Keras has %s" % (h, mine, said["history"]))
    w, where = way_error(weights(trained), said["weights"], said["before"], case.zero)
    if not w <= way:
        raise Failure("weights differ by %.2g of the way: %s" % (w, where))
    return p, h, w, compare_state(slots(trained), said["slots"])


def run(case, index, folder, keras_only):
    said = reference(case, index, folder)
    if keras_only:
        return ["", "", "", ""]
    arithmetics = ("chain", "tiles") if POLICY[case.name] == "mixed_bfloat16" else ("auto",)
    p, h, w, scale = map(max, zip(*(compare(case, folder, said, a) for a in arithmetics)))
    return ["%.2f" % p, "%.2f" % h, "%.4f" % w, scale]


if __name__ == "__main__":
    table(CASES, run, ["predict", "history", "way", "scale"], every=3)
