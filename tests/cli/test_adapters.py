# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Adapters of low rank (`lora_rank`): they and the biases train, kernels rest, files hold the sum.

A model of two Dense layers beside the same in NumPy, from the adapters that a checkpoint holds; of every layer that takes adapters the file
must give the loss that training ended with. Keras itself trains no adapters that it has read from a file: it sets both to 0.
"""

import dataclasses
import glob
import json
import os
import struct

import numpy as np
from oracle import Failure, artel, digest, rng_of, table, weights


@dataclasses.dataclass
class Row:
    name: str
    shape: tuple
    layer: str
    config: dict
    by_hand: bool = False


ROWS = [
    Row("dense-by-hand", (5,), "Dense", {"units": 6, "activation": "relu", "lora_rank": 2, "lora_alpha": 6}, True),
    Row("dense-of-sequences", (3, 5), "Dense", {"units": 40, "use_bias": False, "lora_rank": 3}),
    Row("einsum", (4, 5), "EinsumDense", {"equation": "abc,cd->abd", "output_shape": [4, 6], "bias_axes": "d", "activation": "relu", "lora_rank": 2, "lora_alpha": 6}),
    Row("einsum-turned", (5, 2), "EinsumDense", {"equation": "abc,bd->adc", "output_shape": [3, 2], "bias_axes": "d", "lora_rank": 2}),
    Row("conv", (6, 5, 3), "Conv2D", {"filters": 4, "kernel_size": [3, 3], "activation": "relu", "lora_rank": 2, "lora_alpha": 3}),
    Row("conv-first", (3, 6, 5), "Conv2D", {"filters": 4, "kernel_size": [3, 3], "strides": [2, 1], "padding": "same", "data_format": "channels_first",
                                            "activation": "softmax", "lora_rank": 2}),
    Row("conv-causal", (7, 3), "Conv1D", {"filters": 4, "kernel_size": [3], "padding": "causal", "dilation_rate": [2], "lora_rank": 2}),
    Row("embedding", (5,), "Embedding", {"input_dim": 9, "output_dim": 4, "lora_rank": 2, "lora_alpha": 5}),
]


def record(row, rate):
    layer = lambda kind, **config: {"module": "keras.layers", "class_name": kind, "config": config}
    layers = [layer("InputLayer", name="i", batch_shape=[None, *row.shape], dtype="float32"), layer(row.layer, name="d", **row.config),
              layer("Flatten", name="f"), layer("Dense", name="e", units=1)]
    optimizer = {"module": "keras.optimizers", "class_name": "SGD", "config": {"name": "sgd", "learning_rate": rate}}
    return {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": layers}, "compile_config": {"optimizer": optimizer, "loss": "mse"}}


def tensors_of(folder):
    """The variables of the newest checkpoint, without those of the optimizer."""
    path = max(glob.glob(os.path.join(folder, "ckpt-*", "state.safetensors")), key=lambda p: int(p.split("ckpt-")[-1].split(os.sep)[0]))
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    return {k.removeprefix("layers."): np.frombuffer(data[slice(*v["data_offsets"])], "f4").reshape(v["shape"]).astype("f8")
            for k, v in head.items() if k.startswith("layers.")}


def fit(folder, row, rate, epochs, *more):
    with open(os.path.join(folder, "m.json"), "w") as f:
        json.dump(record(row, rate), f)
    ran = artel("fit", os.path.join(folder, "m.json"), "--data", "npz:" + os.path.join(folder, "d.npz"), "--no-shuffle", "--batch-size", 8, "--epochs", epochs,
                "--verbose", 0, "--history", os.path.join(folder, "h.json"), *more)
    if ran.rc:
        raise Failure("fit: %s" % ran.first)
    with open(os.path.join(folder, "h.json")) as f:
        return json.load(f)


def train_by_hand(v, x, y, scale):
    """Two epochs of gradient descent; the variables are changed in place."""
    losses = []
    for _ in range(2):
        total = 0
        for i in range(0, len(x), 8):
            a, b, out = v["dense.lora_kernel_a"], v["dense.lora_kernel_b"], v["dense_1.vars.0"]
            z = x[i:i + 8] @ (v["dense.vars.0"] + scale * a @ b) + v["dense.vars.1"]
            error = np.maximum(z, 0) @ out + v["dense_1.vars.1"] - y[i:i + 8]
            total += (error**2).mean()
            g = 2 * error / 8
            gz = (g @ out.T) * (z > 0)
            kernel = x[i:i + 8].T @ gz
            steps = {"dense_1.vars.0": np.maximum(z, 0).T @ g, "dense_1.vars.1": g.sum(0), "dense.vars.1": gz.sum(0),
                     "dense.lora_kernel_a": scale * kernel @ b.T, "dense.lora_kernel_b": scale * a.T @ kernel}
            for name, step in steps.items():
                v[name] = v[name] - 0.1 * step
        losses.append(total / (len(x) // 8))
    return losses


def check_by_hand(row, folder, x, y):
    path = lambda name: os.path.join(folder, name)
    fit(folder, row, 0.0, 1, "--checkpoint-dir", path("still"))
    v = tensors_of(path("still"))
    if not np.abs(v["dense.lora_kernel_a"]).max() > 0 or np.abs(v["dense.lora_kernel_b"]).max() != 0:
        raise Failure("a begins with zeros, or b does not")
    history = fit(folder, row, 0.1, 2, "--checkpoint-dir", path("run"), "--output", path("mine.keras"))
    losses, mine = train_by_hand(v, x.astype("f8"), y.astype("f8"), 3.0), tensors_of(path("run"))
    worst = max(max(np.abs(mine[k] - v[k]).max() for k in v), max(abs(a - b) for a, b in zip(history["loss"], losses)))
    if set(mine) != set(v) or not worst < 1e-5:
        raise Failure("differs by %.2g from what NumPy computes" % worst)
    saved = weights(path("mine.keras"))
    merged = v["dense.vars.0"] + 3.0 * v["dense.lora_kernel_a"] @ v["dense.lora_kernel_b"]
    if sum(k.startswith("layers/dense/") for k in saved) != 2 or np.abs(saved["layers/dense/vars/0"] - merged).max() > 1e-5:
        raise Failure("the file does not hold the sum alone")
    return worst


def run(row, index, folder, keras_only):
    del index, keras_only
    path = lambda name: os.path.join(folder, name)
    rng = rng_of(row.name)
    x = (rng.integers(0, 9, (80, *row.shape)) if row.layer == "Embedding" else rng.standard_normal((80, *row.shape))).astype("f4")
    y = rng.standard_normal((80, 1)).astype("f4")
    np.savez(path("d.npz"), x=x, y=y)
    worst = check_by_hand(row, folder, x, y) if row.by_hand else 0.0
    history = fit(folder, row, 0.02, 4, "--validation", "npz:" + path("d.npz"), "--output", path("one.keras"))
    said = artel("evaluate", path("one.keras"), "--data", "npz:" + path("d.npz"), "--batch-size", 8)
    loss = float(said.out.split()[-1]) if said.rc == 0 else float("nan")
    if not abs(loss - history["val_loss"][-1]) < 1e-5 or not history["loss"][-1] < history["loss"][0]:
        raise Failure("the file's loss is %s, training ended with %s (%s)" % (loss, history["val_loss"][-1], said.first))
    for epochs in (2, 4):
        fit(folder, row, 0.02, epochs, "--validation", "npz:" + path("d.npz"), "--checkpoint-dir", path("again"), "--output", path("again.keras"))
    fit(folder, row, 0.02, 4, "--strategy", "mirrored", "--replicas", 3, "--output", path("three.keras"))
    if len({digest(path(name)) for name in ("one.keras", "again.keras", "three.keras")}) != 1:
        raise Failure("a continued run, or three replicas, give other bits")
    return ["%.1e" % worst, "%.1e" % abs(loss - history["val_loss"][-1])]


if __name__ == "__main__":
    table(ROWS, run, ["by hand", "of file"])
