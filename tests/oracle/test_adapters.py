# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Adapters of low rank (`lora_rank`) trained beside real Keras: history, the sum in the file, and both adapters after 20 steps.

Keras sets the adapters of a file to 0, so it is given the a that artel begins with, from a checkpoint of a run whose rate is 0.
"""

import dataclasses
import glob
import json
import os
import struct

import numpy as np
from oracle import K, L, O, Failure, artel, history_error, keras_module, rng_of, table, weight_error, weights

TOKENS = 60  # more than a batch has: optimizers may change the rows of a table alone

# Of 16-bit variables, as in test_variables16.py: TensorFlow rounds each instruction.
NARROW, HISTORY, WAY = ("bfloat16", "float16"), 2e-2, 0.25


@dataclasses.dataclass
class Row:
    name: str
    shape: tuple
    layer: object
    optimizer: object
    policy: str = "float32"


def embedding():
    return L.Embedding(TOKENS, 4, lora_rank=2, lora_alpha=5)


ROWS = [
    Row("dense", (6,), lambda: L.Dense(7, activation="relu", lora_rank=2, lora_alpha=6), lambda: O.SGD(0.05, momentum=0.9)),
    Row("einsum-dense", (4, 5), lambda: L.EinsumDense("abc,cd->abd", (4, 6), bias_axes="d", activation="tanh", lora_rank=2), lambda: O.Adam(0.01)),
    # kernels that are no matrix as they stand: the last axis contracted, shared, new; nothing new at all
    Row("einsum-turned", (4, 5), lambda: L.EinsumDense("abc,dc->abd", (4, 6), bias_axes="d", activation="relu", lora_rank=2, lora_alpha=3), lambda: O.Adam(0.01)),
    Row("einsum-shared", (4, 5), lambda: L.EinsumDense("abc,bc->abc", (4, 5), lora_rank=1), lambda: O.SGD(0.05)),
    Row("einsum-heads", (4, 5), lambda: L.EinsumDense("btd,ndh->btnh", (4, 2, 3), bias_axes="nh", lora_rank=2, kernel_regularizer="l2"), lambda: O.RMSprop(0.003)),
    Row("einsum-experts", (3, 5), lambda: L.EinsumDense("bec,ecd->bed", (3, 4), bias_axes="ed", lora_rank=2), lambda: O.Adam(0.01)),
    Row("einsum-contracted", (4, 5), lambda: L.EinsumDense("abc,c->ab", 4, lora_rank=2, lora_alpha=1), lambda: O.SGD(0.05)),
    Row("einsum-all-contracted", (4, 5), lambda: L.EinsumDense("abc,dbc->ad", 6, bias_axes="d", lora_rank=3), lambda: O.Adam(0.01)),
    Row("conv1d", (7, 3), lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2, lora_rank=2, kernel_regularizer="l2"), lambda: O.AdamW(0.01)),
    Row("conv2d", (6, 5, 3), lambda: L.Conv2D(4, 3, activation="tanh", lora_rank=2, lora_alpha=3), lambda: O.RMSprop(0.003)),
    Row("embedding-sgd", (4,), embedding, lambda: O.SGD(0.2)),
    Row("embedding-adagrad", (4,), embedding, lambda: O.Adagrad(0.1)),
    Row("embedding-rmsprop", (4,), embedding, lambda: O.RMSprop(0.01)),
    Row("embedding-adam-clipped", (4,), embedding, lambda: O.Adam(0.02, clipvalue=0.05)),
    Row("dense-float64", (6,), lambda: L.Dense(7, activation="relu", lora_rank=2, lora_alpha=5), lambda: O.SGD(0.05, momentum=0.9), "float64"),
    Row("einsum-float64", (4, 5), lambda: L.EinsumDense("abc,cd->abd", (4, 6), bias_axes="d", lora_rank=2), lambda: O.Adam(0.01, use_ema=True), "float64"),
    Row("conv2d-float64", (6, 5, 3), lambda: L.Conv2D(4, 3, activation="tanh", lora_rank=2, kernel_regularizer="l1"), lambda: O.RMSprop(0.003), "float64"),
    Row("einsum-turned-float64", (4, 5), lambda: L.EinsumDense("abc,dc->abd", (4, 6), bias_axes="d", lora_rank=2), lambda: O.Adam(0.01), "float64"),
    Row("dense-bfloat16", (6,), lambda: L.Dense(7, activation="relu", lora_rank=2, lora_alpha=5), lambda: O.SGD(0.1, momentum=0.9), "bfloat16"),
    Row("einsum-bfloat16", (4, 5), lambda: L.EinsumDense("abc,dc->abd", (4, 6), bias_axes="d", lora_rank=2), lambda: O.Adam(0.01, beta_2=0.99), "bfloat16"),
    Row("conv2d-float16", (6, 5, 3), lambda: L.Conv2D(4, 3, activation="tanh", lora_rank=2, lora_alpha=3), lambda: O.SGD(0.1), "float16"),
    Row("embedding-bfloat16", (4,), embedding, lambda: O.SGD(0.3), "bfloat16"),
    Row("embedding-float64", (4,), embedding, lambda: O.Adam(0.02, clipnorm=0.5), "float64"),
]


def adapters_of(folder):
    """The adapters in the newest checkpoint, by the last part of their name: {"a": array, "b": array}."""
    path = max(glob.glob(os.path.join(folder, "ckpt-*", "state.safetensors")), key=lambda p: int(p.split("ckpt-")[-1].split(os.sep)[0]))
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    return {k[-1]: np.frombuffer(data[slice(*v["data_offsets"])], "f4").reshape(v["shape"])
            for k, v in head.items() if k.startswith("layers.") and k[:-1].endswith(("lora_kernel_", "lora_embeddings_"))}


def fit(folder, checkpoints, *more):
    path = lambda name: os.path.join(folder, name)
    ran = artel("fit", path("start.keras"), "--data", "npz:" + path("d.npz"), "--no-shuffle", "--batch-size", 8, "--verbose", 0, "--checkpoint-dir", path(checkpoints),
                *more)
    if ran.rc:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    return adapters_of(path(checkpoints))


def keras_adapters(layer):
    return {v.name[-1]: v for v in layer.trainable_variables if v.name.startswith("lora_")}


def way(mine, theirs, begin):
    """|mine - Keras'| as a part of |Keras' - start|, over all arrays."""
    far = np.sqrt(sum(np.square(theirs[k] - begin[k]).sum() for k in theirs))
    return np.sqrt(sum(np.square(mine[k] - theirs[k]).sum() for k in theirs)) / far


def ways(path, begin, mine, theirs):
    """Of the adapters, and of what Keras reads from the files: sums and biases of 16 bits."""
    read = lambda name: {i: np.asarray(w, "f8") for i, w in enumerate(keras_module().models.load_model(path(name), compile=False).get_weights())}
    said = [way(mine, theirs, begin), way(read("mine.keras"), read("theirs.keras"), read("start.keras"))]
    if not max(said) <= WAY:
        raise Failure("adapters differ by %.2g of the way they have gone, files by %.2g" % tuple(said))
    return ["%.2f" % v for v in said]


def run(row, index, folder, keras_only):
    keras_module().config.set_dtype_policy(row.policy)
    try:
        return both(row, index, folder, keras_only)
    finally:
        keras_module().config.set_dtype_policy("float32")


def both(row, index, folder, keras_only):
    path = lambda name: os.path.join(folder, name)
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(31 + index)
    rng = rng_of(row.name)
    layer = row.layer()
    tokens = isinstance(layer, keras.layers.Embedding)
    model = K.Sequential([K.Input(row.shape, dtype="int32" if tokens else "float32"), layer, L.Flatten(), L.Dense(2)])
    model.compile(row.optimizer(), "mse")
    model.save(path("start.keras"))
    x = rng.integers(0, TOKENS, (80, *row.shape)).astype("i4") if tokens else rng.standard_normal((80, *row.shape)).astype("f4")
    y = rng.standard_normal((80, 2)).astype("f4")
    np.savez(path("d.npz"), x=x, y=y)
    theirs = keras_adapters(layer)
    begin = {k: np.asarray(v) for k, v in theirs.items()}
    if not keras_only:
        begin = fit(folder, "still", "--epochs", 1, "--optimizer", "sgd:learning_rate=0")
        if set(begin) != {"a", "b"} or not np.abs(begin["a"]).max() > 0 or np.abs(begin["b"]).max() != 0:
            raise Failure("a begins with zeros, or b does not")
        theirs["a"].assign(begin["a"])
    model.jit_compile = False
    history = {k: [float(v) for v in values] for k, values in model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history.items()}
    theirs = {k: np.asarray(v) for k, v in theirs.items()}
    if not all(np.abs(theirs[k] - begin[k]).max() > 1e-3 for k in theirs):
        raise Failure("Keras' own training moves an adapter by nothing: mend the row")
    model.save(path("theirs.keras"))
    if keras_only:
        return ["-", "-", "-"]
    mine = fit(folder, "run", "--epochs", 2, "--history", path("h.json"), "--output", path("mine.keras"))
    with open(path("h.json")) as f:
        h, where = history_error(json.load(f), history)
    if not h <= (HISTORY if row.policy in NARROW else 2e-4):
        raise Failure("history differs by %.2g: %s" % (h, where))
    if row.policy in NARROW:
        return ["%.1e" % h, *ways(path, begin, mine, theirs)]
    a, which, _ = weight_error(mine, theirs)
    if not a <= 1:
        raise Failure("the adapter %s differs by %.3g tolerances" % (which, a))
    w, which, _ = weight_error(weights(path("mine.keras")), weights(path("theirs.keras")))
    if not w <= 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, which))
    return ["%.1e" % h, "%.2f" % a, "%.2f" % w]


if __name__ == "__main__":
    table(ROWS, run, ["history", "adapters", "weights"])
