# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""float64 in arrays and functions: every operation of nn/layer_ops_float64.c within 1e-14 of the largest number of TensorFlow's or NumPy's result, as arrays and
in functions, with gradients of the first and second order; the page lists them all."""
import ctypes
import os
import re
import sys

import numpy as np

from eager import faults, finish, lib, run
from float64 import FURTHER, REST, check_gradients, check_results, expect
from oracle import keras_module

keras = keras_module()
ops = keras.ops
import tensorflow as tf  # noqa: E402  (after Keras has set it up)

random = np.random.default_rng(11)


def numbers(*shape):
    return random.normal(0, 1, shape)


X, Y, LINE = numbers(4, 5), numbers(4, 5), numbers(5)
CUBE, FOUR, M = numbers(2, 3, 4), numbers(2, 3, 4, 2), numbers(5, 3)
PLUS, SQUARE = np.abs(X) + 0.2, numbers(3, 3)
HOLES = np.where(X > 1, np.nan, X)
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, -3.5, 2.5, 0.5, 1e10, 0.1])
INDEX = np.array([2, 0, 3], "int32")

UNARY = """abs absolute celu ceil cos deg2rad elu erf exp expm1 fabs floor gelu hard_shrink hard_sigmoid hard_silu hard_tanh isfinite isinf isnan isneginf isposinf isreal leaky_relu
log_sigmoid mish negative rad2deg reciprocal relu relu6 round selu sigmoid sign silu sin soft_shrink softplus softsign sparse_plus sparse_sigmoid square
squareplus tan tanh tanh_shrink threshold trunc softmax log_softmax sum mean max min amax amin prod ptp var std any all argmax argmin average count_nonzero
cumsum cumprod diff logsumexp norm flip sort argsort copy stop_gradient transpose tril triu trace diagonal ones_like zeros_like squeeze rot90 fliplr nan_to_num""".split()
BINARY = """add subtract multiply divide divide_no_nan true_divide maximum minimum equal not_equal less less_equal greater greater_equal fmax fmin hypot heaviside mod floor_divide logaddexp logaddexp2
logical_and logical_or logical_xor inner isclose fmod""".split()
ROWS = [(name, (X * 3,), {"threshold": 0.3, "default_value": 0.1} if name == "threshold" else {}) for name in UNARY]
ROWS += [(name, (EDGES,), {}) for name in "abs ceil floor trunc round sign isnan isinf isfinite exp tanh relu negative square sigmoid nan_to_num".split()]
ROWS += [(name, (PLUS,), {}) for name in "log log1p sqrt rsqrt log2 log10".split()]
ROWS += [(name, (X, Y), {}) for name in BINARY] + [(name, (X, LINE), {}) for name in ("add", "multiply", "maximum", "mod", "divide")]
ROWS += [(name, (CUBE,), {"axis": axis}) for name in ("sum", "mean", "max", "min", "prod", "var", "logsumexp", "softmax", "log_softmax", "sort", "argsort", "argmax", "cumsum", "cumprod", "flip", "diff") for axis in (0, 1, -1)]
ROWS += [(name, (FOUR,), {"axis": [0, 2], "keepdims": True}) for name in ("sum", "mean", "max", "std", "prod", "any")]
ROWS += [(name, (HOLES,), {"axis": 1}) for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nancumsum", "nancumprod")]
ROWS += [
    ("roll", (X,), {"shift": 3}), ("gelu", (X,), {"approximate": False}), ("leaky_relu", (X,), {"negative_slope": 0.1}), ("elu", (X,), {"alpha": 0.3}), ("celu", (X,), {"alpha": 0.7}), ("clip", (X,), {"x_min": -0.3, "x_max": 0.7}),
    ("power", (PLUS, Y), {}), ("logical_not", (X > 0,), {}), ("where", (X > 0, X, Y), {}), ("cast", (X,), {"dtype": "float32"}), ("cast", (X * 9,), {"dtype": "int32"}), ("cast", (INDEX,), {"dtype": "float64"}),
    ("norm", (X,), {"axis": 1}), ("norm", (X,), {"axis": 1, "ord": 3}), ("moments", (CUBE,), {"axes": [0, 2]}), ("top_k", (X,), {"k": 2}),
    ("matmul", (X, M), {}), ("matmul", (CUBE, np.swapaxes(CUBE, 1, 2).copy()), {}), ("matmul", (X[0], M), {}), ("matmul", (X, M[:, 0].copy()), {}), ("dot", (X, M), {}), ("tensordot", (X, M), {"axes": 1}),
    ("einsum", (X, M), {"subscripts": "ij,jk->ki"}), ("einsum", (CUBE, CUBE), {"subscripts": "bij,bij->b"}), ("einsum", (X, X, M), {"subscripts": "ij,ij,jk->k"}), ("kron", (X, SQUARE), {}), ("cross", (SQUARE, SQUARE.T.copy()), {}),
    ("take", (CUBE, INDEX % 2), {"axis": 0}), ("take", (X, INDEX), {"axis": 1}), ("take_along_axis", (X, np.argsort(X).astype("int32")), {"axis": 1}),
    ("reshape", (X,), {"newshape": [2, 10]}), ("expand_dims", (X,), {"axis": 1}), ("swapaxes", (CUBE,), {"axis1": 0, "axis2": 2}), ("moveaxis", (CUBE,), {"source": 0, "destination": 2}),
    ("tile", (X,), {"repeats": [2, 3]}), ("repeat", (X,), {"repeats": 2, "axis": 1}), ("pad", (X,), {"pad_width": [[1, 0], [2, 1]]}), ("split", (X,), {"indices_or_sections": 2}), ("unstack", (X,), {}),
    ("array_split", (X,), {"indices_or_sections": 3, "axis": 1}), ("hsplit", (FOUR,), {"indices_or_sections": 3}), ("dsplit", (FOUR,), {"indices_or_sections": 2}), ("append", (X, Y), {"axis": 0}),
]
LISTS = ("concatenate", "stack", "hstack", "dstack")
ROWS += [(name, (X, Y), {}) for name in LISTS]
OTHERS = {"array": None, "convert_to_tensor": None, "get_item": None}  # the same functions as copy, slices and where


# Where TensorFlow takes constants of float32 (gelu, leaky_relu, logaddexp2), or differentiates its own once (selu, softsign), or Keras has no function (mish).
ROOT = np.sqrt(2 / np.pi)
OWN = {
    "gelu": lambda x, approximate=True: 0.5 * x * (1 + tf.tanh(ROOT * (x + 0.044715 * x * x * x))) if approximate else 0.5 * x * tf.math.erfc(-x / np.sqrt(2.0)), "leaky_relu": lambda x, negative_slope=0.2: tf.where(x > 0, x, negative_slope * x),
    "logaddexp2": np.logaddexp2, "mish": lambda x: x * tf.tanh(tf.math.log1p(tf.exp(x))), "softsign": lambda x: x / (1 + tf.abs(x)),
    "selu": lambda x: 1.0507009873554805 * tf.where(x > 0, x, 1.6732632423543772 * (tf.exp(x) - 1)),
}


def keras_function(name, attributes):
    given = {key: tuple(value) if key in ("axis", "axes", "repeats", "pad_width") and isinstance(value, list) else value for key, value in attributes.items()}
    if name == "einsum":
        return lambda *x: ops.einsum(given["subscripts"], *x)
    function = OWN.get(name) or getattr(np if name in ("hsplit", "dsplit") else ops, name)
    return (lambda *x: function(list(x), **given)) if name in LISTS else lambda *x: function(*x, **given)


seen = {name for name, _, _ in ROWS}
check_results(ROWS, keras_function)

# -- gradients: of sum(y sin y), and of sum(d / dx cos x) --

SLOPES = [(name, (X,), {}) for name in """celu elu exp expm1 erf gelu hard_silu leaky_relu log_sigmoid mish reciprocal relu selu sigmoid silu sin cos softplus softsign
sparse_plus square squareplus tanh tanh_shrink softmax log_softmax sum mean max min var logsumexp cumsum transpose""".split() ]
SLOPES += [(name, (PLUS,), {}) for name in ("log", "log1p", "sqrt", "rsqrt", "std", "norm")] + [("gelu", (X,), {"approximate": False}), ("sum", (CUBE,), {"axis": 1}), ("max", (CUBE,), {"axis": -1})]
SLOPES += [(name, (X, Y), {}) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "logaddexp")] + [("power", (PLUS, Y), {}), ("divide", (X, PLUS[:1]), {}), ("multiply", (X, LINE), {})]
SLOPES += [("matmul", (X, M), {}), ("matmul", (CUBE, np.swapaxes(CUBE, 1, 2).copy()), {}), ("einsum", (X, X, M), {"subscripts": "ij,ij,jk->k"}), ("concatenate", (X, Y), {}), ("pad", (X,), {"pad_width": [[1, 0], [2, 1]]}), ("sort", (X,), {}), ("flip", (X,), {})]
check_gradients(SLOPES, keras_function)

# -- constants that float32 does not hold --


def third(_user, graph, inputs, outputs):
    outputs[0] = lib.artel_graph_binary(graph, b"multiply", inputs[0], lib.artel_graph_number(graph, ctypes.c_double(0.1)))
    return 0


expect("0.1", run(third, (X,), 1)[0], X * 0.1)
expect("0.1 of float32", run(third, (X.astype("float32"),), 1)[0], X.astype("float32") * np.float32(0.1))

# -- the table and the page, and what is refused --

source = open(os.environ["ARTEL_SOURCE"] + "/src/nn/layer_ops_float64.c").read()
table = re.findall(r'"(\w+)"', source[source.index("names[] ="):])
written = {name.replace("_", "").lower() for name in seen | set(OTHERS) | FURTHER | REST}
faults += [f"{name} has float64 and no row here" for name in table if name.lower() not in written]
page = open(os.environ["ARTEL_SOURCE"] + "/docs/eager.md").read()
faults += [f"docs/eager.md does not list {name}" for name in table if f"`{name}`" not in page]

sys.exit(finish())
