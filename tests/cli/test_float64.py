# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Models of float64 on the command line: the same bits on any number of replicas, threads and workers, and behind a checkpoint in the middle of an
epoch; what the files and the C API hold; what is refused. What is computed: tests/oracle/test_models_float64.py."""

import dataclasses
import json
import os
import shutil

import numpy as np
from cli import K, L, O, expect, keras_module, save
from oracle import Failure, artel, digest, table


@dataclasses.dataclass
class Row:
    name: str
    run: object
    build: object = None


def dense():
    m = K.Sequential([K.Input((5,)), L.Dense(9, use_bias=False), L.BatchNormalization(), L.Dropout(0.3), L.ReLU(), L.Dense(3, kernel_regularizer="l2")])
    m.compile(O.Adam(0.01, global_clipnorm=0.5), "mse", metrics=["mae"])
    return m


def images():
    m = K.Sequential([K.Input((7, 7, 2)), L.Conv2D(4, 3, activation="tanh"), L.MaxPooling2D(), L.Flatten(), L.LayerNormalization(), L.Dense(3)])
    m.compile(O.SGD(0.1, momentum=0.9, use_ema=True), "mse")
    return m


def words():
    m = K.Sequential([K.Input((6,), dtype="int32"), L.Embedding(11, 4, mask_zero=True), L.LSTM(5, recurrent_dropout=0.2), L.Dense(3)])
    m.compile("rmsprop", "mae")
    return m


def attended():
    """Masks, dropout of scores, noise, several heads for one key."""
    i = K.Input((6,), dtype="int32")
    x = L.GaussianNoise(0.1)(L.Embedding(11, 4, mask_zero=True)(i))
    x = L.GroupQueryAttention(4, 4, 2, dropout=0.2, seed=1)(x, x, use_causal_mask=True)
    x = L.Add()([L.Attention(score_mode="concat", dropout=0.1)([x, x]), L.AlphaDropout(0.1)(x)])
    m = K.Model(i, L.Dense(3)(L.GlobalAveragePooling1D()(x)))
    m.compile(O.Nadam(0.01, global_clipnorm=1.0), "mse")
    return m


def volumes():
    m = K.Sequential([K.Input((2, 5, 4, 3, 2)), L.TimeDistributed(L.Conv3D(3, 2, activation="tanh")), L.ConvLSTM3D(2, 2, dropout=0.2),
                      L.UpSampling3D(2), L.GaussianDropout(0.1), L.Flatten(), L.Dense(3)])
    m.compile(O.Muon(0.01), "mse")
    return m


model_shapes = {dense: (5,), images: (7, 7, 2), words: (6,), attended: (6,), volumes: (2, 5, 4, 3, 2)}


def start(row, folder):
    """The model, and 90 rows of doubles: batches of 16 leave a short last one."""
    keras = keras_module()

    def built():
        keras.config.set_floatx("float64")
        return row.build()

    try:
        model = save(built, os.path.join(folder, "start.keras"))
    finally:
        keras.config.set_floatx("float32")
    rng = np.random.default_rng(5)
    shape = model_shapes[row.build]
    x = rng.integers(0, 11, (90, *shape)) if shape == (6,) else rng.standard_normal((90, *shape))
    data = os.path.join(folder, "d.npz")
    np.savez(data, x=x, y=rng.standard_normal((90, 3)), sample_weight=rng.random(90))
    return model, "npz:" + data


def fit(folder, model, data, *more, name="out.keras", before=(), rc=0):
    out = os.path.join(folder, name)
    ran = artel(*before, "fit", model, "--data", data, "--batch-size", 16, "--epochs", 2, "--output", out, "--verbose", 0, *more)
    if ran.rc != rc:
        raise Failure("fit %s: exit %d (%s)" % (" ".join(map(str, more)), ran.rc, ran.first))
    return digest(out, kind="all") if rc == 0 else ran


def same_bits(row, folder):
    model, data = start(row, folder)
    first = fit(folder, model, data, "--strategy", "one-device", "--threads", 1, name="first.keras")
    for way in (("--threads", 3), ("--strategy", "mirrored", "--replicas", 2), ("--strategy", "mirrored", "--replicas", 3, "--threads", 2),
                ("--recompute",)):
        expect(fit(folder, model, data, *way) == first, "other bits with", *way)
    pair = fit(folder, model, data, "--strategy", "multi-worker", before=("launch", "-n", 2))
    expect(pair == first, "other bits with two workers")
    return ""


def resumes(row, folder):
    """From the checkpoint behind step 7 of 12, the second of the second epoch."""
    model, data = start(row, folder)
    kept = os.path.join(folder, "kept")
    whole = fit(folder, model, data, "--checkpoint-dir", kept, "--save-every", "1steps", "--keep", 100, name="whole.keras")
    part = os.path.join(folder, "part")
    os.mkdir(part)
    found = [name for name in os.listdir(kept) if name.split("-")[-1] == "7"]
    expect(len(found) == 1, "checkpoints:", os.listdir(kept))
    shutil.copytree(os.path.join(kept, found[0]), os.path.join(part, found[0]))
    with open(os.path.join(part, found[0], "state.safetensors"), "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    expect({v["dtype"] for v in header.values() if isinstance(v, dict) and "dtype" in v} == {"F64"}, "the checkpoint holds", header)
    ran = fit(folder, model, data, "--checkpoint-dir", part, "--replicas", 2)
    expect(ran == whole, "other bits behind the checkpoint")
    return ""


def files(row, folder):
    """Weights alone go through each kind of file without a changed bit; a digest sees the last bit of a number."""
    model, data = start(row, folder)
    fit(folder, model, data, name="trained.keras")
    trained = os.path.join(folder, "trained.keras")
    bits = digest(trained)
    for ending in (".weights.h5", ".safetensors", ".h5"):
        other = os.path.join(folder, "w" + ending)
        ran = artel("convert", trained, other)
        expect(ran.rc == 0, "convert to", ending, ran.first)
        expect(digest(other) == bits, "other bits in", ending)
    loaded = keras_module().models.load_model(trained)
    kernel = loaded.weights[0]
    value = np.array(kernel)
    value.flat[0] = np.nextafter(value.flat[0], 9)
    kernel.assign(value)
    loaded.save(os.path.join(folder, "near.keras"))
    expect(digest(os.path.join(folder, "near.keras")) != bits, "the digest does not see the last bit")
    return ""


def table_of_numbers(row, folder):
    """CSV holds each double to the bit."""
    model, data = start(row, folder)
    made = {}
    for ending in (".npy", ".csv"):
        out = os.path.join(folder, "p" + ending)
        ran = artel("predict", model, "--data", data, "--output", out)
        expect(ran.rc == 0, "predict: exit", ran.rc, ran.first)
        made[ending] = np.load(out) if ending == ".npy" else np.loadtxt(out, delimiter=",", skiprows=1)
    expect(made[".npy"].dtype == np.float64 and np.array_equal(made[".npy"], made[".csv"]), "the table has other numbers")
    return ""


def refused(row, folder):
    model, data = start(row, folder)
    plain = os.path.join(folder, "m.json")
    for layer, word in (("Hashing", "num_bins"), ("CategoryEncoding", "num_tokens")):
        with open(plain, "w") as f:
            json.dump({"module": "keras", "class_name": "Sequential", "config": {"name": "m", "layers": [
                {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 4, 4, 4, 2], "dtype": "float64", "name": "i"}},
                {"module": "keras.layers", "class_name": layer, "config": {"name": "odd", "dtype": "float64", word: 2, "kernel_size": 2}}]}}, f)
        ran = artel("summary", plain)
        expect(ran.rc == 1 and '"odd"' in ran.err and "float64" in ran.err, layer, ran.rc, ran.first)
    ran = fit(folder, model, data, "--strategy", "parameter-server", before=("launch", "-n", 2, "--ps", 1), rc=1)
    expect("float64" in ran.err, "parameter servers:", ran.err[-300:])
    ran = artel("convert", model, os.path.join(folder, "m.onnx"))
    expect(ran.rc == 1 and "float64" in ran.err, "an ONNX file:", ran.rc, ran.first)
    return ""


def best(row, folder):
    """Metrics of the k best, which TensorFlow does not have in float64, beside NumPy on the same predictions. Ties, and scores that are not finite, too."""
    model, _ = start(row, folder)
    rng = np.random.default_rng(8)
    x, out = rng.normal(size=(90, 5)), os.path.join(folder, "p.npy")
    x[7], x[8] = np.nan, 0
    y = rng.integers(0, 3, 90)
    np.savez(os.path.join(folder, "k.npz"), x=x, y=y)
    np.save(os.path.join(folder, "x.npy"), x)
    expect(artel("predict", model, "--data", "npy:" + os.path.join(folder, "x.npy"), "--output", out, "--format", "native").rc == 0, "predict")
    p = np.load(out)
    expect(p.dtype == np.float64, p.dtype)
    own = p[np.arange(90), y]
    for k in (1, 2, 3):
        ran = artel("evaluate", model, "--data", "npz:" + os.path.join(folder, "k.npz"), "--loss", "SparseCategoricalCrossentropy:from_logits=true", "--metrics",
                    "SparseTopKCategoricalAccuracy:k=%d" % k, "--json")
        got = [value for name, value in json.loads(ran.out.splitlines()[-1])["metrics"].items() if "top_k" in name]
        wanted = np.mean(((p > own[:, None]).sum(1) < k) & np.isfinite(p).all(1))
        expect(len(got) == 1 and abs(got[0] - wanted) < 1e-12, k, got, wanted, ran.err[-300:])
    return ""


ROWS = [
    Row("best", best, dense),
    Row("bits-dense", same_bits, dense),
    Row("bits-images", same_bits, images),
    Row("bits-words", same_bits, words),
    Row("bits-attended", same_bits, attended),
    Row("bits-volumes", same_bits, volumes),
    Row("resume-dense", resumes, dense),
    Row("resume-attended", resumes, attended),
    Row("resume-images", resumes, images),
    Row("files", files, dense),
    Row("table", table_of_numbers, dense),
    Row("refused", refused, dense),
]

if __name__ == "__main__":
    table(ROWS, lambda row, index, folder, keras_only: [row.run(row, folder)], [""])
