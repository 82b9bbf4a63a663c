# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Variables of 16 bits: models under the policies bfloat16 and float16 beside real Keras.

Every variable, the optimizer's too, is written in the dtype and the marks that Keras gives it, and Keras reads it back. Figures: TensorFlow
rounds each instruction of a step, artel what an instruction of the update leaves in a variable, so History is compared to two hundredths, and
weights by the way they have gone: |mine - Keras'| as a part of |Keras' - start|, over all of them.
"""

import dataclasses
import io
import json
import os
import zipfile

import numpy as np
from oracle import K, L, O, Failure, artel, keras_module, predict_error, read_predictions, rng_of, table

UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
HISTORY, WAY = 2e-2, 0.25


def dense():
    return K.Sequential([K.Input((6,)), L.Dense(8, activation="relu"), L.BatchNormalization(), L.Dense(1)])


def cnn():
    return K.Sequential([K.Input((10, 10, 2)), L.Conv2D(8, 3, activation="relu"), L.MaxPooling2D(), L.DepthwiseConv2D(3), L.LayerNormalization(),
                         L.GlobalAveragePooling2D(), L.Dense(3, activation="softmax", dtype="float32")])


def lstm():
    """TensorFlow has no orthogonal matrices of bfloat16."""
    same = {"recurrent_initializer": "glorot_uniform"}
    return K.Sequential([K.Input((7,), dtype="int32"), L.Embedding(9, 8), L.LSTM(12, return_sequences=True, **same),
                         L.Bidirectional(L.GRU(6, **same)), L.Dense(3, activation="softmax", dtype="float32")])


def attention():
    """Three policies in one model, by layer; one that Keras scales no loss for."""
    own = "mixed_bfloat16" if K.config.dtype_policy().name == "bfloat16" else "float32"
    a = K.Input((6, 8))
    x = L.Add()([a, L.MultiHeadAttention(2, 4)(a, a)])
    x = L.Dense(16, activation="gelu", dtype=own)(L.RMSNormalization()(x))
    return K.Model(a, L.Dense(3, activation="softmax", dtype="float32")(L.GlobalAveragePooling1D()(L.PReLU()(x))))


@dataclasses.dataclass
class Row:
    name: str
    policy: str
    build: object = dense
    opt: object = None
    still: bool = False  # Keras' own training moves nothing, and artel says so


ADAM = {"bfloat16": dict(beta_2=0.99), "float16": {}}
ROWS = []
for word in UNIT:
    for build in (cnn, lstm, attention):
        ROWS.append(Row("%s-%s" % (word, build.__name__), word, build, lambda: O.SGD(0.5)))
    ROWS.append(Row(word + "-momentum", word, opt=lambda: O.SGD(0.05, momentum=0.9, nesterov=True)))
    ROWS.append(Row(word + "-adam", word, opt=lambda w=word: O.Adam(0.01, **ADAM[w])))
    ROWS.append(Row(word + "-rmsprop", word, opt=lambda: O.RMSprop(0.01)))
ROWS += [
    Row("bfloat16-nadam", "bfloat16", opt=lambda: O.Nadam(0.01, beta_2=0.98)),
    Row("bfloat16-adamw", "bfloat16", opt=lambda: O.AdamW(0.01, beta_2=0.98, clipnorm=1.0)),
    Row("bfloat16-average", "bfloat16", opt=lambda: O.SGD(0.05, use_ema=True, ema_momentum=0.9)),
    Row("bfloat16-accumulation", "bfloat16", opt=lambda: O.Adam(0.01, beta_2=0.98, gradient_accumulation_steps=2)),
    Row("bfloat16-adam-still", "bfloat16", opt=lambda: O.Adam(0.01), still=True),
]


def tree(path):
    """Path -> (dtype in the file, Keras' mark, shape, values as float64)."""
    import h5py

    found = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset):
            value = item[()]
            numbers = (value.view("<u2").astype("u4") << 16).view("f4") if item.dtype.kind == "V" else value
            found[name] = (item.dtype.str, item.attrs.get("dtype"), item.shape, np.asarray(numbers, "f8"))

    with zipfile.ZipFile(path) as z, h5py.File(io.BytesIO(z.read("model.weights.h5")), "r") as f:
        f.visititems(take)
    return {k: v for k, v in found.items() if "seed_generator" not in k}


def data(row, model, folder):
    rng = rng_of(row.name)
    shape = (64,) + model.input_shape[1:]
    x = rng.integers(0, 9, shape).astype("i4") if row.build is lstm else rng.standard_normal(shape).astype("f4")
    y = (x @ rng.standard_normal((6, 1))).astype("f4") if row.build is dense else rng.integers(0, 3, 64)
    np.savez(os.path.join(folder, "data.npz"), x=x, y=y)
    return x, y


def keras_side(row, folder):
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    keras.config.set_dtype_policy(row.policy)
    model = row.build()
    keras.config.set_dtype_policy("float32")
    model.compile(row.opt(), "mse" if row.build is dense else "sparse_categorical_crossentropy", jit_compile=False)
    model.save(os.path.join(folder, "start.keras"))
    x, y = data(row, model, folder)
    said = {"predict": model.predict(x, verbose=0)}
    said["history"] = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0).history
    model.save(os.path.join(folder, "keras.keras"))
    return said, x


def check_forms(mine, theirs):
    if set(mine) != set(theirs):
        raise Failure("missing %s, too many %s" % (sorted(set(theirs) - set(mine)), sorted(set(mine) - set(theirs))))
    for path, b in theirs.items():
        if mine[path][:3] != b[:3]:
            raise Failure("%s: %s, Keras has %s" % (path, mine[path][:3], b[:3]))


def way_of(mine, theirs, start):
    paths = [p for p in start if not p.startswith("optimizer") and theirs[p][3].size]
    off = sum(np.sum((mine[p][3] - theirs[p][3]) ** 2) for p in paths) ** 0.5
    return off / max(sum(np.sum((theirs[p][3] - start[p][3]) ** 2) for p in paths) ** 0.5, 1e-6)


def run(row, index, folder, keras_only):
    said, x = keras_side(row, folder)
    if keras_only:
        return ["", "", "", ""]
    start, other, trained, given, out, history = (os.path.join(folder, n) for n in ("start.keras", "keras.keras", "mine.keras", "data.npz", "p.npy",
                                                                                    "h.json"))
    ran = artel("predict", start, "--data", "npz:" + given, "--output", out)
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    p = predict_error(read_predictions(out, ["only"]), [said["predict"].astype("f4")]) / UNIT[row.policy]
    ran = artel("fit", start, "--data", "npz:" + given, "--no-shuffle", "--batch-size", 16, "--epochs", 3, "--output", trained, "--history", history,
                "--verbose", 0)
    if ran.rc != 0 or ("do not train" in ran.err) != row.still:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    with open(history) as f:
        got = json.load(f)
    h = max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(got["loss"], said["history"]["loss"]))
    mine, theirs, before = tree(trained), tree(other), tree(start)
    check_forms(mine, theirs)
    w = 0.0 if row.still else way_of(mine, theirs, before)
    again = predict_error([keras_module().models.load_model(trained).predict(x, verbose=0).astype("f4")], after(trained, given, out)) / UNIT[row.policy]
    if not (p <= 4 and h <= HISTORY and w <= WAY and again <= 4):
        raise Failure("predict %.2g units, history %.2g, way %.2g, read by Keras %.2g units" % (p, h, w, again))
    if row.still and any(np.any(mine[k][3] != before[k][3]) for k in before if "optimizer" not in k and "batch_norm" not in k):
        raise Failure("a weight has moved")
    return ["%.2f" % p, "%.4f" % h, "%.4f" % w, "%.2f" % again]


def after(trained, given, out):
    ran = artel("predict", trained, "--data", "npz:" + given, "--output", out)
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    return read_predictions(out, ["only"])


if __name__ == "__main__":
    table(ROWS, run, ["predict", "history", "way", "again"])
