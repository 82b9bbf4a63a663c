# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Records as Keras 2 wrote them: nodes counted from a model's own, operators between layers, settings that meant nothing.

The models are written here by hand, with weights that make what they predict plain arithmetic; no Keras is needed.
"""

import dataclasses
import io
import json
import math
import os
import zipfile

import numpy as np
from oracle import Failure, artel, table

X = np.random.default_rng(2).standard_normal((5, 6)).astype("f4")
Z = np.random.default_rng(3).standard_normal((5, 6)).astype("f4")
S = np.random.default_rng(4).standard_normal((5, 4, 3)).astype("f4")
P = np.random.default_rng(5).standard_normal((5, 6, 6, 2)).astype("f4")


def constant(value):
    return {"class_name": "Constant", "config": {"value": value}}


def layer(class_name, name, nodes, **config):
    return {"class_name": class_name, "name": name, "inbound_nodes": nodes, "config": {"name": name, "trainable": True, "dtype": "float32", **config}}


def source(name, *shape):
    return layer("InputLayer", name, [], batch_input_shape=[None, *shape], sparse=False, ragged=False)


def on(*names, **kwargs):
    """A call on the first tensors of layers, given as "layer" or "layer:node"."""
    return [[n.split(":")[0], int((n + ":0").split(":")[1]), 0, kwargs] for n in names]


def op(name, function, node, class_name="TFOpLambda"):
    return layer(class_name, name, [node], function=function)


def dense(name, node, units=2, kernel=0.5, bias=0.25, **more):
    return layer("Dense", name, node, units=units, activation="linear", use_bias=True, kernel_initializer=constant(kernel),
                 bias_initializer=constant(bias), **more)


def model(name, layers, inputs, outputs, **more):
    return {"class_name": "Functional", "config": {"name": name, "trainable": True, "layers": layers, "input_layers": [[n, 0, 0] for n in inputs],
                                                   "output_layers": [[n.split(":")[0], int((n + ":0").split(":")[1]), 0] for n in outputs]}, **more}


def inner(class_name="Functional", nodes=(), name="inner"):
    config = {"name": name, "layers": [source("i", 6), dense("d", [on("i")])], "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}
    return {"class_name": class_name, "name": name, "inbound_nodes": list(nodes), "config": config}


def said(x):
    """What the inner model says."""
    return np.repeat(0.5 * x.sum(-1, keepdims=True) + 0.25, 2, -1)


def sequence(*ops, x=S, last="o"):
    return model("m", [source("x", *x.shape[1:]), *ops], ["x"], [last])


SLICE = {"start": None, "stop": None, "step": None}
ATTENTION = dict(num_heads=2, key_dim=3, value_dim=3, dropout=0.0, use_bias=True, output_shape=None, attention_axes=[1], kernel_initializer=constant(0.1),
                 bias_initializer=constant(0.5), query_shape=[None, 4, 3], key_shape=[None, 4, 3], value_shape=[None, 4, 3], softmax_robust_masking=False)


def attended():
    v = 0.1 * S.sum(-1, keepdims=True) + 0.5  # of every head and channel
    e = np.exp((v * v.transpose(0, 2, 1) * 3 / np.sqrt(3)).astype("f8"))
    w = e / e.sum(-1, keepdims=True)
    return np.repeat(0.1 * 6 * (w @ v) + 0.5, 3, -1)


def by_hand():
    e = np.exp((S @ S.transpose(0, 2, 1)).astype("f8"))
    return e / e.sum(-1, keepdims=True) @ S


@dataclasses.dataclass
class Row:
    name: str
    model: dict
    data: dict
    want: object = None
    says: tuple = ()
    change: object = None  # of the tree of weights of the .keras file
    metrics: dict = None  # what evaluate says
    saved: tuple = ()  # the ending of a file that artel saves, and the version of Keras that is then written into it


def under_scores(h5):
    group = h5["layers/multi_head_attention"]
    for name in [n for n in group if n.endswith("_dense")]:
        group.move(name, "_" + name)


def wrapped(*functions):
    """Compile settings with metrics as Keras 2 saved functions."""
    return {"compile_config": {"optimizer": "sgd", "loss": "mse", "metrics": [{"class_name": "MeanMetricWrapper", "config": {"name": f, "dtype": "float32", "fn": f}} for f in functions]}}


def divergence(t, p):
    t, p = np.clip(t, 1e-7, 1), np.clip(p, 1e-7, 1)
    return float((t * np.log(t / p)).sum(-1).mean())


def separable(class_name, **more):
    return layer(class_name, "o", [on("x")], kernel_size=[3, 3], strides=[1, 1], padding="valid", dilation_rate=[1, 1], depth_multiplier=1,
                 activation="linear", use_bias=False, depthwise_initializer=constant(1.0), groups=1, kernel_initializer=constant(7.0),
                 kernel_regularizer=None, kernel_constraint=None, data_format="channels_last", **more)


def windows(x):
    return sum(x[:, i:i + 4, j:j + 4] for i in range(3) for j in range(3))


HARD = {"class_name": "Sequential", "keras_version": "3.5.0", "config": [{"class_name": "InputLayer", "config": {"batch_shape": [None, 4, 3], "name": "x"}},
                                                                    {"class_name": "Activation", "config": {"activation": "hard_sigmoid"}}]}
OLD = ("hard_sigmoid of Keras 2",)
FUNCTION = {"module": "builtins", "class_name": "function", "config": "hard_sigmoid", "registered_name": "function"}

ROWS = [
    Row("inner-called-twice", model("m", [source("a", 6), source("b", 6), inner(nodes=[on("a"), on("b")]), layer("Subtract", "s", [on("inner:1", "inner:2")])],
                                    ["a", "b"], ["s"]), {"a": X, "b": Z}, said(X) - said(Z)),
    Row("inner-sequential-last", model("m", [source("a", 6), inner("Sequential", [on("a")])], ["a"], ["inner:1"]), {"a": X}, said(X)),
    Row("inner-last", model("m", [source("a", 6), inner(nodes=[on("a")])], ["a"], ["inner:1"]), {"a": X}, said(X)),
    Row("inner-in-inner", model("m", [source("a", 6), {**model("outer", [source("j", 6), inner(nodes=[on("j")])], ["j"], ["inner:1"]), "name": "outer",
                                                       "inbound_nodes": [on("a")]}, dense("o", [on("outer:1")], kernel=2.0, bias=0.0)], ["a"], ["o"]),
        {"a": X}, said(X).sum(-1, keepdims=True).repeat(2, -1) * 2),
    Row("relu-plus-twice", sequence(dense("d", [on("x")]), op("r", "nn.relu", ["d", 0, 0, {"name": None}]), op("t", "math.multiply", ["d", 0, 0, {"y": 2.0, "name": None}]),
                                    op("o", "__operators__.add", ["r", 0, 0, {"y": ["t", 0, 0], "name": None}]), x=X), {"x": X}, np.maximum(said(X), 0) + 2 * said(X)),
    Row("constant-first", sequence(op("o", "math.subtract", ["_CONSTANT_VALUE", -1, 1.0, {"y": ["x", 0, 0], "name": None}]), x=X), {"x": X}, 1 - X),
    Row("preprocess", sequence(op("d", "math.truediv", ["x", 0, 0, {"y": 127.5, "name": None}]), op("o", "math.subtract", ["d", 0, 0, {"y": 1.0}]), x=P), {"x": P}, P / 127.5 - 1),
    Row("last-step", sequence(op("o", "__operators__.getitem", ["x", 0, 0, {"slice_spec": [SLICE, -1, SLICE]}], "SlicingOpLambda")), {"x": S}, S[:, -1, :]),
    Row("slice-with-step", sequence(op("o", "__operators__.getitem", ["x", 0, 0, {"slice_spec": [SLICE, {"start": 1, "stop": None, "step": 2}]}], "SlicingOpLambda")), {"x": S},
        S[:, 1::2]),
    Row("mean-of-axis", sequence(op("o", "math.reduce_mean", ["x", 0, 0, {"axis": 1, "keepdims": True, "name": None}])), {"x": S}, S.mean(1, keepdims=True)),
    Row("concat", sequence(op("o", "concat", [["x", 0, 0, {"axis": -1}], ["x", 0, 0, {"axis": -1}]])), {"x": S}, np.concatenate([S, S], -1)),
    Row("clip-and-reshape", sequence(op("c", "clip_by_value", ["x", 0, 0, {"clip_value_min": -0.5, "clip_value_max": 1.0}]), op("o", "reshape", ["c", 0, 0, {"shape": [-1, 12]}])), {"x": S},
        S.clip(-0.5, 1).reshape(5, 12)),
    Row("leaky", sequence(op("o", "nn.leaky_relu", ["x", 0, 0, {"alpha": 0.125, "name": None}])), {"x": S}, np.where(S > 0, S, 0.125 * S)),
    Row("where", sequence(op("c", "math.greater", ["x", 0, 0, {"y": 0, "name": None}]), op("o", "where", ["c", 0, 0, {"x": ["x", 0, 0], "y": 0.5, "name": None}])),
        {"x": S}, np.where(S > 0, S, 0.5)),
    Row("cast", sequence(op("c", "math.greater", ["x", 0, 0, {"y": 0, "name": None}]), op("o", "cast", ["c", 0, 0, {"dtype": "float32"}])), {"x": S}, (S > 0) * 1.0),
    Row("attention-by-hand", sequence(op("s", "linalg.matmul", ["x", 0, 0, {"b": ["x", 0, 0], "transpose_b": True}]), op("p", "nn.softmax", ["s", 0, 0, {"axis": -1}]),
                                      op("o", "linalg.matmul", ["p", 0, 0, {"b": ["x", 0, 0]}])), {"x": S}, by_hand()),
    Row("gram", sequence(op("o", "linalg.matmul", ["x", 0, 0, {"b": ["x", 0, 0], "transpose_a": True, "transpose_b": False}])), {"x": S}, S.transpose(0, 2, 1) @ S),
    Row("both-transposed", sequence(op("g", "linalg.matmul", ["x", 0, 0, {"b": ["x", 0, 0], "transpose_a": True}]),
                                    op("o", "linalg.matmul", ["g", 0, 0, {"b": ["x", 0, 0], "transpose_a": True, "transpose_b": True}])), {"x": S},
        (S.transpose(0, 2, 1) @ S).transpose(0, 2, 1) @ S.transpose(0, 2, 1)),
    Row("l2-normalize", sequence(op("o", "math.l2_normalize", ["x", 0, 0, {"axis": -1}])), {"x": S}, S / np.sqrt((S * S).sum(-1, keepdims=True))),
    Row("l2-normalize-nothing", sequence(op("z", "math.multiply", ["x", 0, 0, {"y": 1e-9, "name": None}]), op("o", "math.l2_normalize", ["z", 0, 0, {"axis": -1, "epsilon": 1e-12}])),
        {"x": S}, S * 1e-3),
    Row("l2-normalize-other", sequence(op("o", "math.l2_normalize", ["x", 0, 0, {"axis": -1, "epsilon": 0.5}])), {"x": S}, says=("TFOpLambda",)),
    Row("transpose", sequence(op("o", "compat.v1.transpose", ["x", 0, 0, {"perm": [0, 2, 1], "name": "transpose", "conjugate": False}])), {"x": S}, S.transpose(0, 2, 1)),
    Row("squeeze", sequence(op("e", "expand_dims", ["x", 0, 0, {"axis": 1}]), op("o", "compat.v1.squeeze", ["e", 0, 0, {"axis": 1, "squeeze_dims": None}])), {"x": S}, S),
    Row("split-sizes", sequence(op("p", "split", ["x", 0, 0, {"num_or_size_splits": [1, 2], "axis": -1}]), op("o", "math.reduce_sum", ["p", 0, 1, {"axis": 2}])), {"x": S}, S[..., 1:].sum(-1)),
    Row("split-rest", sequence(op("p", "split", ["x", 0, 0, {"num_or_size_splits": [1, -1], "axis": -1}]), op("o", "math.abs", ["p", 0, 1, {}])), {"x": S}, says=("TFOpLambda",)),
    Row("split-even", sequence(op("p", "split", ["x", 0, 0, {"num_or_size_splits": 2, "axis": 1}]), op("o", "math.abs", ["p", 0, 1, {}])), {"x": S}, abs(S[:, 2:])),
    Row("unstack", sequence(op("p", "unstack", ["x", 0, 0, {"axis": 1}]), op("o", "math.erf", ["p", 0, 2, {"name": None}])), {"x": S}, np.vectorize(math.erf)(S[:, 2])),
    Row("pad", sequence(op("o", "compat.v1.pad", ["x", 0, 0, {"paddings": [[0, 0], [1, 2], [0, 0]], "mode": "CONSTANT", "name": None, "constant_values": 0}])), {"x": S},
        np.pad(S, [(0, 0), (1, 2), (0, 0)])),
    Row("pad-with-ones", sequence(op("o", "compat.v1.pad", ["x", 0, 0, {"paddings": [[0, 0], [1, 2], [0, 0]], "mode": "CONSTANT", "constant_values": 1}])), {"x": S},
        says=("TFOpLambda",)),
    Row("tile", sequence(op("o", "tile", ["x", 0, 0, {"multiples": [1, 2, 1], "name": None}])), {"x": S}, np.tile(S, [1, 2, 1])),
    Row("repeat", sequence(op("o", "repeat", ["x", 0, 0, {"repeats": 2, "axis": 1}])), {"x": S}, S.repeat(2, 1)),
    Row("reverse", sequence(op("o", "reverse", ["x", 0, 0, {"axis": [1], "name": None}])), {"x": S}, S[:, ::-1]),
    Row("gather", sequence(op("o", "compat.v1.gather", ["x", 0, 0, {"indices": [2, 0], "validate_indices": None, "axis": 1, "batch_dims": 0}])), {"x": S}, S[:, [2, 0]]),
    Row("one-hot-of-largest", sequence(op("a", "math.argmax", ["x", 0, 0, {"axis": -1}]), op("o", "one_hot", ["a", 0, 0, {"depth": 3}])), {"x": S}, np.eye(3)[S.argmax(-1)]),
    Row("cumsum", sequence(op("o", "math.cumsum", ["x", 0, 0, {"axis": 1}])), {"x": S}, S.cumsum(1)),
    Row("cumsum-backwards", sequence(op("o", "math.cumsum", ["x", 0, 0, {"axis": 1, "reverse": True}])), {"x": S}, says=("TFOpLambda",)),
    Row("norm", sequence(op("o", "compat.v1.norm", ["x", 0, 0, {"ord": "euclidean", "axis": -1, "keepdims": None, "name": None}])), {"x": S}, np.sqrt((S * S).sum(-1))),
    Row("logsumexp", sequence(op("o", "math.reduce_logsumexp", ["x", 0, 0, {"axis": -1}])), {"x": S}, np.log(np.exp(S.astype("f8")).sum(-1))),
    Row("both-signs", sequence(op("p", "math.greater", ["x", 0, 0, {"y": -1, "name": None}]), op("q", "math.less", ["x", 0, 0, {"y": 1, "name": None}]),
                               op("b", "math.logical_and", ["p", 0, 0, {"y": ["q", 0, 0], "name": None}]), op("n", "math.logical_not", ["b", 0, 0, {"name": None}]),
                               op("a", "math.reduce_any", ["n", 0, 0, {"axis": 1}]), op("o", "cast", ["a", 0, 0, {"dtype": "float32"}])), {"x": S}, (abs(S) >= 1).any(1) * 1.0),
    Row("depth-to-space", sequence(op("d", "nn.space_to_depth", ["x", 0, 0, {"block_size": 3}]), op("o", "nn.depth_to_space", ["d", 0, 0, {"block_size": 3, "data_format": "NHWC"}]), x=P),
        {"x": P}, P),
    Row("resize", sequence(op("o", "image.resize", ["x", 0, 0, {"size": [3, 3], "method": "nearest"}]), x=P), {"x": P}, P[:, 1::2, 1::2]),
    Row("thresholded", sequence(layer("ThresholdedReLU", "o", [on("x")], theta=0.5)), {"x": S}, S * (S > 0.5)),
    Row("sort", sequence(op("o", "sort", ["x", 0, 0, {"axis": -1, "direction": "ASCENDING"}])), {"x": S}, np.sort(S, -1)),
    Row("sort-downwards", sequence(op("o", "sort", ["x", 0, 0, {"axis": -1, "direction": "DESCENDING"}])), {"x": S}, says=("the function tf.sort",)),
    *[Row("pad-" + mode, sequence(op("o", "compat.v1.pad", ["x", 0, 0, {"paddings": [[0, 0], [1, 2], [0, 0]], "mode": mode.upper(), "constant_values": 0}])), {"x": S},
          np.pad(S, [(0, 0), (1, 2), (0, 0)], mode)) for mode in ("reflect", "symmetric")],
    Row("random-flip", sequence(layer("RandomFlip", "o", [on("x")], mode="horizontal", seed=None, rng_type="stateful"), x=P), {"x": P}, P),
    Row("hard-sigmoid", sequence(layer("Activation", "o", [on("x")], activation="hard_sigmoid")), {"x": S}, says=('"o"', "hard_sigmoid of Keras 2", "docs/activations.md")),
    Row("hard-sigmoid-in-a-model", model("m", [source("a", 6), {**inner("Sequential", [on("a")]), "config": {"name": "inner", "layers": [
        source("i", 6), layer("Dense", "d", [], units=2, activation="hard_sigmoid")]}}], ["a"], ["inner:1"]), {"a": X}, says=("hard_sigmoid of Keras 2",)),
    Row("hard-sigmoid-of-keras-3", HARD, {"x": S}, (S / 6 + 0.5).clip(0, 1)),
    Row("hard-sigmoid-of-no-shape", {**HARD, "keras_version": "2.10.0"}, {"x": S}, says=OLD),
    Row("hard-sigmoid-of-keras-1", {**HARD, "keras_version": "1.2.2"}, {"x": S}, says=OLD),
    Row("hard-sigmoid-shape-from-data", {"class_name": "Sequential", "keras_version": "2.10.0", "config": {"name": "s", "build_input_shape": [None, 6], "layers": [
        layer("Dense", "d", [], units=2, activation="hard_sigmoid")]}}, {"x": X}, says=OLD),
    *[Row(f"hard-sigmoid-{kind}-{version or 'none'}", HARD, {"x": S}, want, OLD, saved=("." + kind, version))
      for kind, version, want in (("keras", "2.13.1", None), ("keras", "3.5.0", (S / 6 + 0.5).clip(0, 1)), ("keras", "", (S / 6 + 0.5).clip(0, 1)),
                                  ("h5", "2.2.4-tf", None), ("h5", "3.5.0", (S / 6 + 0.5).clip(0, 1)))],
    Row("hard-sigmoid-as-a-record", sequence(layer("Activation", "o", [on("x")], activation=FUNCTION)), {"x": S}, says=OLD),
    Row("hard-sigmoid-lstm-as-a-record", sequence(layer("LSTM", "o", [on("x")], units=2, recurrent_activation=FUNCTION)), {"x": S}, says=OLD),
    Row("hard-sigmoid-lstm", sequence(layer("LSTM", "o", [on("x")], units=2, recurrent_activation="hard_sigmoid")), {"x": S}, says=OLD),
    Row("hard-sigmoid-conv-lstm", sequence(layer("ConvLSTM2D", "o", [on("x")], filters=2, kernel_size=[2, 2], recurrent_activation="hard_sigmoid"), x=P[:, None]), {"x": P[:, None]},
        says=OLD),
    Row("hard-sigmoid-bidirectional", sequence(layer("Bidirectional", "o", [on("x")], merge_mode="concat", layer=layer("LSTM", "l", [], units=2, recurrent_activation="hard_sigmoid"))),
        {"x": S}, says=OLD),
    Row("locally-connected", sequence(layer("LocallyConnected1D", "o", [on("x")], filters=2, kernel_size=[2])), {"x": S}, says=("LocallyConnected1D",)),
    Row("random-crop", sequence(layer("RandomCrop", "o", [on("x")], height=4, width=4, seed=None, rng_type="stateful"), x=P), {"x": P}, says=("RandomCrop of Keras 2",)),
    Row("time-first", sequence(layer("GRU", "o", [on("x")], units=2, time_major=True)), {"x": S}, says=('"o"', "time_major")),
    Row("few-at-a-time", sequence(layer("BatchNormalization", "o", [on("x")], virtual_batch_size=2)), {"x": S}, says=('"o"', "virtual_batch_size")),
    Row("unknown-function", sequence(op("o", "math.bessel_i0", ["x", 0, 0, {}])), {"x": S}, says=('"o"', "tf.math.bessel_i0", "TFOpLambda")),
    Row("unknown-form", sequence(op("o", "linalg.matmul", ["x", 0, 0, {"b": ["x", 0, 0], "adjoint_b": True}])), {"x": S}, says=('"o"', "TFOpLambda")),
    Row("depthwise", sequence(separable("DepthwiseConv2D"), x=P), {"x": P}, windows(P)),
    Row("separable", sequence(separable("SeparableConv2D", filters=3, pointwise_initializer=constant(0.5)), x=P), {"x": P}, windows(P).sum(-1, keepdims=True).repeat(3, -1) * 0.5),
    Row("groups-of-two", sequence({**separable("DepthwiseConv2D"), "config": {**separable("DepthwiseConv2D")["config"], "groups": 2}}, x=P), {"x": P}, says=("groups",)),
    Row("functions-as-metrics", {**model("m", [source("x", 6), layer("ReLU", "o", [on("x")])], ["x"], ["o"]), **wrapped("kl_divergence", "log_cosh", "mean_absolute_error")},
        {"x": X, "y": abs(Z)}, metrics={"kl_divergence": divergence(abs(Z), np.maximum(X, 0)), "log_cosh": float(np.log(np.cosh((np.maximum(X, 0) - abs(Z)).astype("f8"))).mean()),
                                        "mean_absolute_error": float(abs(np.maximum(X, 0) - abs(Z)).mean())}),
    Row("attention", sequence(layer("MultiHeadAttention", "o", [on("x", value=["x", 0, 0])], **ATTENTION)), {"x": S}, attended()),
    Row("attention-weights", sequence(layer("MultiHeadAttention", "a", [on("x", value=["x", 0, 0])], **ATTENTION), last="a"), {"x": S}, attended(), change=under_scores),
]


def stored(folder, path, change):
    """The model as a .keras file whose tree of weights went through `change`."""
    import h5py

    kept = os.path.join(folder, "kept.keras")
    ran = artel("convert", path, kept)
    if ran.rc:
        raise Failure("convert: " + ran.first)
    with zipfile.ZipFile(kept) as z:
        parts = {n: z.read(n) for n in z.namelist()}
    buffer = io.BytesIO(parts["model.weights.h5"])
    with h5py.File(buffer, "r+") as h5:
        change(h5)
    parts["model.weights.h5"] = buffer.getvalue()
    with zipfile.ZipFile(kept, "w") as z:
        for name, content in parts.items():
            z.writestr(name, content)
    return kept


def of_version(folder, path, ending, version):
    """The model as a file that says to be of this version of Keras."""
    import h5py

    kept = os.path.join(folder, "of-version" + ending)
    ran = artel("convert", path, kept)
    if ran.rc:
        raise Failure("convert: " + ran.first)
    if ending == ".h5":
        with h5py.File(kept, "r+") as h5:
            h5.attrs["keras_version"] = version
        return kept
    with zipfile.ZipFile(kept) as z:
        parts = {n: z.read(n) for n in z.namelist()}
    parts["metadata.json"] = json.dumps({"keras_version": version}) if version else "no JSON"
    with zipfile.ZipFile(kept, "w") as z:
        for name, content in parts.items():
            z.writestr(name, content)
    return kept


def run(row, index, folder, keras_only):
    path, data, out = (os.path.join(folder, n) for n in ("m.json", "d.npz", "p.npy"))
    with open(path, "w") as f:
        json.dump({"keras_version": "2.15.0", "backend": "tensorflow", **row.model}, f)
    np.savez(data, **row.data)
    if row.saved:
        path = of_version(folder, path, *row.saved)
    if row.change:
        path = stored(folder, path, row.change)
    if row.metrics:
        ran = artel("evaluate", path, "--data", "npz:" + data, "--json")
        said = ran.events("evaluate")[0] if ran.rc == 0 else {}
        if any(abs(said.get(k, 1e9) - v) > 1e-5 * max(1, abs(v)) for k, v in row.metrics.items()):
            raise Failure("exit %d: %s instead of %s %s" % (ran.rc, said, row.metrics, ran.err[-200:]))
        return ["evaluated"]
    ran = artel("predict", path, "--data", "npz:" + data, "--output", out)
    if row.want is None:
        if ran.rc != 1 or any(part not in ran.err for part in row.says):
            raise Failure("exit %d: %s" % (ran.rc, ran.err[-300:]))
        return ["refused"]
    if ran.rc:
        raise Failure("exit %d: %s" % (ran.rc, ran.first))
    got = np.load(out)
    if got.shape != row.want.shape:
        raise Failure("shape %s instead of %s" % (got.shape, row.want.shape))
    error = float(np.abs(got - row.want).max())
    if error > 1e-5 * max(1.0, float(np.abs(row.want).max())):
        raise Failure("differs by %g" % error)
    return ["%.1e" % error]


if __name__ == "__main__":
    table(ROWS, run, ["error"])
