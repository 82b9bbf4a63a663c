# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Gradients of float64 operations beside finite differences of the operations themselves, of the first and the second order, and beside TensorFlow's where it has
the same gradient. Every operation of nn/layer_ops_float64.c has a row here or is said to have no gradient, which is then refused by name."""
import ctypes
import json
import os
import re
import sys

import numpy as np

from eager import Refused, Traced, call, faults, finish, lib, shape_of
from oracle import keras_module

keras = keras_module()
ops = keras.ops
import tensorflow as tf  # noqa: E402  (after Keras has set it up)

random = np.random.default_rng(25)
WEIGHTS = ("conv", "depthwise_conv", "separable_conv", "conv_transpose")
BATCHED = (*WEIGHTS, "max_pool", "average_pool", "adaptive_max_pool", "adaptive_average_pool", "RGBToHSV", "HSVToRGB", "RGBToGrayscale", "depth_to_space", "space_to_depth", "unfold", "fold", "dot_product_attention")  # one row of a batch here
NEAR = {"rad2deg": 2e-5, "i0": 5e-6, "erfinv": 1e-4, "RGBToHSV": 2e-4}  # what is steep is tried nearer by
MOST = 1e-8  # of the largest number; what is measured is 1e-10 and better


def numbers(*shape):
    return random.normal(0, 1, shape)


def apart(*shape):
    """Numbers that differ by more than differences reach, so that an order stays one."""
    n = int(np.prod(shape))
    return ((random.permutation(n) - n / 2 + 0.3) * 0.11).reshape(shape)


def pointers(values):
    return ctypes.cast((ctypes.c_int32 * len(values))(*values), ctypes.c_void_p)


def binary(graph, name, a, b):
    return lib.artel_graph_binary(graph, name, a, b)


def symmetric(graph, x):
    return binary(graph, b"add", x, lib.artel_graph_op(graph, b"swapaxes", pointers([x]), 1, b'{"axis1": -1, "axis2": -2}'))


def positive(graph, x):
    product = binary(graph, b"matmul", x, lib.artel_graph_op(graph, b"swapaxes", pointers([x]), 1, b'{"axis1": -1, "axis2": -2}'))
    return binary(graph, b"add", product, lib.artel_graph_constant(graph, 1, ctypes.byref(EYE_SHAPE), EYE.ctypes.data))


class Totals:
    """f = the sum of weights y sin y over all results (which is the same for a vector of the other sign), its gradients g, and t = the sum of g cos x with its own."""

    def __init__(self, name, inputs, attributes, before):
        self.name, self.inputs, self.attributes, self.before = name, list(inputs), attributes, before
        self.by = [i for i, x in enumerate(inputs) if x.dtype == "float64"]
        rows = [inputs[0][None], *(x if name in WEIGHTS else x[None] for x in inputs[1:])]
        results = [y[0] for y in call(name, *rows, **attributes)] if name in BATCHED else call(name, *inputs, **attributes)
        self.kept = [i for i, y in enumerate(results) if y.dtype == "float64"]
        self.weights = [random.uniform(0.5, 1.5, results[i].shape) for i in self.kept]
        self.value = Traced(lambda g, given: [self.total(g, given)], 1)
        self.first = Traced(lambda g, given: self.slopes(g, given, 1), len(self.by))
        self.along = Traced(lambda g, given: [self.total_along(g, given)], 1)
        self.second = Traced(lambda g, given: self.slopes(g, given, 2), len(self.by))

    def results(self, graph, given):
        given = [self.before(graph, x) if self.before else x for x in given]
        out = (ctypes.c_int32 * 32)()
        text = json.dumps(self.attributes).encode() if self.attributes else None
        made = lib.artel_graph_op_all(graph, self.name.encode(), pointers(given), len(given), text, ctypes.cast(out, ctypes.c_void_p), 32)
        return list(out[: max(made, 0)])

    def total(self, graph, given):
        made, total = self.results(graph, given[: len(self.inputs)]), -1
        for weight, i in zip(given[len(self.inputs) :], self.kept):
            y = made[i]
            part = binary(graph, b"multiply", binary(graph, b"multiply", weight, y), lib.artel_graph_unary(graph, b"sin", y))
            part = lib.artel_graph_unary(graph, b"sum", part)
            total = part if total < 0 else binary(graph, b"add", total, part)
        return total

    def gradients(self, graph, given, target):
        made = (ctypes.c_int32 * len(self.by))()
        lib.artel_graph_gradients(graph, target, pointers([given[i] for i in self.by]), len(self.by), ctypes.cast(made, ctypes.c_void_p))
        return list(made)

    def total_along(self, graph, given):
        total = -1
        for i, slope in zip(self.by, self.gradients(graph, given, self.total(graph, given))):
            part = lib.artel_graph_unary(graph, b"sum", binary(graph, b"multiply", slope, lib.artel_graph_unary(graph, b"cos", given[i])))
            total = part if total < 0 else binary(graph, b"add", total, part)
        return total

    def slopes(self, graph, given, order):
        return self.gradients(graph, given, self.total(graph, given) if order == 1 else self.total_along(graph, given))

    def differences(self, function):
        """By four values: what is left is the fifth derivative times 3e-14, and what the values are rounded by, times 1000."""
        near, slopes, given = NEAR.get(self.name, 2e-4 if "crossentropy" in self.name else 1e-3), [], [x.copy() for x in self.inputs] + self.weights
        for i in self.by:
            slope = np.empty(given[i].size)
            for k in range(slope.size):
                kept, parts = given[i].flat[k], []
                for step in (near, -near, 2 * near, -2 * near):
                    given[i].flat[k] = kept + step
                    parts.append(function(given)[0])
                given[i].flat[k] = kept
                slope[k] = (8 * (parts[0] - parts[1]) - (parts[2] - parts[3])) / (12 * near)
            slopes.append(slope.reshape(given[i].shape))
        return slopes

    def theirs(self, function):
        given = [tf.constant(x) for x in self.inputs]
        variables = [given[i] for i in self.by]
        with tf.GradientTape() as tape:
            tape.watch(variables)
            made = function(*given)
            made = made if isinstance(made, (list, tuple)) else [made]
            total = tf.add_n([tf.reduce_sum(w * made[i] * tf.sin(made[i])) for w, i in zip(self.weights, self.kept)])
        return tape.gradient(total, variables)


measured = []


def expect(what, got, wanted, most):
    largest = max([np.abs(w).max(initial=0) for w in wanted] + [1e-3])
    for i, (g, w) in enumerate(zip(got, wanted)):
        off = np.abs(g - np.asarray(w)).max(initial=0) / largest
        measured.append((off, what))
        if g.shape != w.shape or not off <= most:
            faults.append(f"{what} by {i}: {off:.1e} apart: {g.ravel()[:4]}, wanted {np.asarray(w).ravel()[:4]}")


seen = set()


def check(name, inputs, attributes, before=None, function=None, most=MOST):
    seen.add(name.replace("_", "").lower())
    what = f"{name} {[x.shape for x in inputs]} {attributes}"
    try:
        totals = Totals(name, inputs, attributes, before)
        got = totals.first(totals.inputs + totals.weights)
    except Refused as error:
        faults.append(f"{what}: refused: {error}")
        return
    expect(f"gradient of {what}", got, totals.differences(totals.value), most)
    if function:
        expect(f"TensorFlow's gradient of {what}", got, totals.theirs(function), 1e-11)
    try:
        got = totals.second(totals.inputs + totals.weights)
    except Refused as error:
        faults.append(f"second gradient of {what}: refused: {error}")
        return
    expect(f"second gradient of {what}", got, totals.differences(totals.along), 10 * most)


# -- small matrices: what is symmetric is made so inside, for eigenvalues and Cholesky's factor read one triangle --

SQUARE, LONG, FLAT, RIGHT = 0.2 * numbers(2, 3, 3) + np.diag([1.0, -1.5, 2.0]), numbers(2, 4, 3), numbers(2, 3, 4), numbers(2, 3, 2)
LOWER = np.tril(SQUARE)
EYE = np.eye(3)
EYE_SHAPE = shape_of(EYE.shape)


def doubled(x):
    return x + tf.linalg.matrix_transpose(x)


def squared(x):
    return tf.matmul(x, x, transpose_b=True) + EYE


def svd(x, whole):
    s, u, v = tf.linalg.svd(x, full_matrices=whole)
    return u, s, tf.linalg.matrix_transpose(v)


for x in (SQUARE, LONG, FLAT):
    check("qr", (x,), {}, function=tf.linalg.qr)
    check("SVD", (x,), {"full_matrices": False}, function=lambda x: svd(x, False))
    check("SVD", (x,), {"compute_uv": False}, function=lambda x: svd(x, False)[1])
    check("SVD", (x,), {"full_matrices": True}, function=lambda x: svd(x, True))
    check("pinv", (x,), {})
    check("norm", (x,), {"ord": 2, "axis": [1, 2]})
    check("norm", (x,), {"ord": "nuc", "axis": [1, 2]})
check("qr", (FLAT,), {"mode": "complete"}, function=lambda x: tf.linalg.qr(x, full_matrices=True))
check("eigh", (SQUARE,), {}, symmetric, lambda x: tf.linalg.eigh(doubled(x)))
check("cholesky", (SQUARE,), {}, positive, lambda x: tf.linalg.cholesky(squared(x)))
check("cholesky", (SQUARE,), {"upper": True}, positive, lambda x: tf.linalg.matrix_transpose(tf.linalg.cholesky(squared(x))))
check("cholesky_inverse", (LOWER,), {})
for name in ("det", "slogdet", "inv"):
    check(name, (SQUARE,), {}, function={"det": tf.linalg.det, "slogdet": tf.linalg.slogdet, "inv": tf.linalg.inv}[name])
check("logdet", (SQUARE,), {}, positive, lambda x: tf.linalg.logdet(squared(x)))
check("solve", (SQUARE, RIGHT), {}, function=tf.linalg.solve)
check("solve", (SQUARE, RIGHT[..., 0].copy()), {}, function=lambda a, b: tf.linalg.solve(a, b[..., None])[..., 0])
check("solve_triangular", (LOWER, RIGHT), {"lower": True}, function=tf.linalg.triangular_solve)
check("solve_triangular", (np.swapaxes(LOWER, 1, 2).copy(), RIGHT), {}, function=lambda a, b: tf.linalg.triangular_solve(a, b, lower=False))

# -- frequencies, distances, normalisation, attention --

X, Y, LINE, CUBE, TALL = numbers(3, 4), np.where(random.random((3, 4)) > 0.5, 1, -1) * random.uniform(0.6, 2, (3, 4)), numbers(4), numbers(2, 3, 4), numbers(2, 4, 4, 2)
PLUS = np.abs(X) + 0.7
QUERY, KEY, VALUE, BIAS, MASK = numbers(3, 4, 4), numbers(4, 2, 4), numbers(4, 2, 3), numbers(4, 3, 4), random.random((1, 3, 4)) > 0.3  # of one row; Keras rounds the root of other features than 4


def parts(x):
    return tf.math.real(x), tf.math.imag(x)


def rfft(x, length):
    """TensorFlow's own has no gradient where the length is another."""
    x = tf.pad(x[:, :length], [(0, 0), (0, max(length - x.shape[1], 0))])
    return tf.signal.fft(tf.cast(x, tf.complex128))[:, : length // 2 + 1]


def distances(a, b):
    return tf.sqrt(tf.reduce_sum((a[..., :, None, :] - b[..., None, :, :]) ** 2, -1))


for length in (None, 7, 4):
    check("RFFT", (numbers(2, 6),), {"fft_length": length} if length else {}, function=lambda x: parts(rfft(x, length or 6)))
check("CDist", (X, numbers(2, 4)), {}, function=distances)
check("CDist", (CUBE, numbers(2, 2, 4)), {}, function=distances)
check("BatchNorm", (TALL, numbers(2), random.uniform(0.5, 2, 2)), {"axis": -1, "epsilon": 1e-3}, function=lambda x, mean, variance: (x - mean) / tf.sqrt(variance + 1e-3))
check("BatchNorm", (TALL, numbers(2), random.uniform(0.5, 2, 2), numbers(2), numbers(2)), {"axis": -1, "epsilon": 1e-3})
check("LayerNorm", (CUBE,), {"axis": [1, 2]})
check("LayerNorm", (CUBE, LINE, LINE + 0.3), {"axis": -1})
check("RMSNorm", (CUBE,), {"epsilon": 1e-3}, function=lambda x: ops.rms_normalization(x, epsilon=1e-3))
check("normalize", (CUBE,), {"axis": 1}, function=lambda x: ops.normalize(x, 1))
for more in ((), (BIAS,), (BIAS, MASK)):
    check("dot_product_attention", (QUERY, KEY, VALUE, *more), {}, function=lambda *x: ops.dot_product_attention(*(of[None] for of in x))[0])
check("dot_product_attention", (QUERY, QUERY[::-1].copy(), numbers(3, 4, 2)), {"is_causal": True, "scale": 0.375}, function=lambda *x: ops.dot_product_attention(*(of[None] for of in x), is_causal=True, scale=0.375)[0])

# -- all others: first and second order, by differences alone --

ORDER, FOUR, IMAGE, M = apart(3, 4), apart(2, 2, 3), numbers(5, 4, 2), numbers(4, 2)
WITHIN, ABOVE, LABELS = 0.8 * np.tanh(X), np.abs(X) + 1.2, (Y > 0).astype("float64")
SHARE, TRUTH = PLUS / PLUS.sum(-1, keepdims=True), np.abs(Y) / np.abs(Y).sum(-1, keepdims=True)
INDEX = np.array([2, 0, 1, 2], "int32")
SMOOTH = """abs absolute arcsinh arctan celu clip cos cosh deg2rad elu erf erfc exp exp2 expm1 fabs gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu log_sigmoid mish negative
nan_to_num relu relu6 selu sigmoid silu sin sinc sinh soft_shrink softplus softsign sparse_plus sparse_sigmoid square squareplus tan tanh tanh_shrink threshold
amax amin average cumprod cumsum diff log_softmax logsumexp max mean median min nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar norm prod ptp softmax std sum
trapezoid var sort array conj conjugate convert_to_tensor copy diagonal fliplr flip moveaxis real repeat roll rot90 split squeeze swapaxes tile trace transpose tril triu unstack"""
GIVEN = {"clip": {"x_min": -0.7, "x_max": 0.6}, "threshold": {"threshold": 0.3, "default_value": 0.1}, "moveaxis": {"source": 0, "destination": 1}, "repeat": {"repeats": 2, "axis": 1}, "roll": {"shift": 3},
         "split": {"indices_or_sections": 2, "axis": 1}, "swapaxes": {"axis1": 0, "axis2": 1}, "tile": {"repeats": [2, 1]}}
ROWS = [(name, (ORDER,), GIVEN.get(name, {})) for name in SMOOTH.split()]
ROWS += [(name, (PLUS,), {}) for name in "cbrt log log10 log1p log2 reciprocal rsqrt sqrt".split()] + [("rad2deg", (X,), {})] + [(name, (WITHIN,), {}) for name in "arccos arcsin arctanh".split()] + [("arccosh", (ABOVE,), {}), ("gelu", (X,), {"approximate": False})]
ROWS += [(name, (X, Y), {}) for name in "add arctan2 divide divide_no_nan fmax fmin hypot inner logaddexp logaddexp2 maximum minimum multiply subtract true_divide append concatenate dstack hstack stack".split()]
ROWS += [("power", (PLUS, Y), {}), ("fmod", (X, PLUS * 4), {}), ("mod", (X, PLUS * 4), {}), ("ldexp", (X, INDEX), {}), ("multiply", (X, LINE), {}), ("divide", (X, PLUS[:1]), {}), ("where", (X > 0, X, Y), {})]
ROWS += [(name, (FOUR,), {"axis": 1}) for name in "sum mean max min prod var std logsumexp softmax log_softmax sort cumsum cumprod flip diff ptp median norm".split()]
ROWS += [("quantile", (ORDER,), {"q": 0.3, "axis": 1}), ("percentile", (ORDER,), {"q": 30, "axis": 0}), ("nanquantile", (ORDER,), {"q": 0.3, "axis": 1}), ("nanpercentile", (ORDER,), {"q": 30, "axis": 0}), ("norm", (X,), {"axis": 1, "ord": 3})]
ROWS += [("moments", (CUBE,), {"axes": [0, 2]}), ("top_k", (ORDER,), {"k": 2}), ("take", (ORDER, INDEX), {"axis": 0}), ("take_along_axis", (ORDER, np.argsort(ORDER).astype("int32")), {"axis": 1})]
ROWS += [("matmul", (X, M), {}), ("matmul", (CUBE, numbers(2, 4, 2)), {}), ("dot", (X, M), {}), ("tensordot", (X, M), {"axes": 1}), ("einsum", (X, X, M), {"subscripts": "ij,ij,jk->k"}), ("kron", (X, M), {}), ("cross", (numbers(2, 3), numbers(2, 3)), {})]
ROWS += [("binary_crossentropy", (LABELS, SHARE / 2 + 0.2), {}), ("binary_crossentropy", (LABELS, X), {"from_logits": True}), ("categorical_crossentropy", (TRUTH, SHARE), {}), ("categorical_crossentropy", (TRUTH, X), {"from_logits": True})]
ROWS += [("sparse_categorical_crossentropy", (INDEX[:3], SHARE), {}), ("sparse_categorical_crossentropy", (INDEX[:3], X), {"from_logits": True})]
ROWS += [("reshape", (X,), {"newshape": [2, 6]}), ("expand_dims", (X,), {"axis": 1}), ("pad", (X,), {"pad_width": [[1, 0], [2, 1]]}), ("array_split", (X,), {"indices_or_sections": 3, "axis": 1}), ("hsplit", (X,), {"indices_or_sections": 2}), ("dsplit", (CUBE,), {"indices_or_sections": 2})]
ROWS += [("extract_sequences", (X,), {"sequence_length": 3, "sequence_stride": 1}), ("depth_to_space", (numbers(2, 2, 4),), {"block_size": 2}), ("space_to_depth", (numbers(4, 2, 2),), {"block_size": 2}), ("extract_patches", (numbers(4, 4, 2),), {"size": 2})]
ROWS += [("crop_images", (IMAGE,), {"top_cropping": 1, "left_cropping": 1, "target_height": 3, "target_width": 2}), ("pad_images", (IMAGE,), {"top_padding": 1, "left_padding": 2, "bottom_padding": 1, "right_padding": 0})]
ROWS += [("unfold", (numbers(2, 3, 4),), {"kernel_size": 2}), ("fold", (numbers(4, 6),), {"output_size": [3, 4], "kernel_size": 2})]
ROWS += [("glu", (X,), {}), ("sparsemax", (X,), {}), ("erfinv", (WITHIN,), {}), ("erfinv", (np.array([0.501, 0.499, -0.9, 0.97, 0.0]),), {}), ("i0", (X,), {}), ("i0", (np.array([7.9, 8.1, -8.2, 9.0]),), {})]
ROWS += [(name, (numbers(2, 6), numbers(2, 6)), {}) for name in ("FFT", "FFT2", "IFFT2", "IRFFT")] + [("STFT", (numbers(2, 12),), {"sequence_length": 4, "sequence_stride": 3, "fft_length": 5, "window": "hann"})]
ROWS += [("slice_update", (X, numbers(2, 2)), {"start_indices": [1, 2]}), ("select", (X > 1, X < 0, X, Y), {}), ("RGBToHSV", (0.3 + apart(2, 3, 3) / 3 + 0.5,), {}), ("HSVToRGB", (np.stack([(np.arange(6) + 0.4) / 6, random.random(6), random.random(6)], -1).reshape(2, 3, 3),), {}), ("RGBToGrayscale", (random.random((2, 3, 3)),), {})]
ROWS += [("adaptive_max_pool", (apart(5, 4, 2),), {"output_size": [2, 3]}), ("adaptive_average_pool", (numbers(5, 4, 2),), {"output_size": [2, 3]}), ("saturate_cast", (X,), {"dtype": "float64"})]
for padding in ("valid", "same"):
    ROWS += [("conv", (IMAGE, numbers(2, 3, 2, 2)), {"padding": padding, "strides": 2}), ("depthwise_conv", (IMAGE, numbers(3, 2, 2, 2)), {"padding": padding}), ("conv_transpose", (numbers(3, 2, 2), numbers(3, 2, 3, 2)), {"padding": padding, "strides": 2})]
    ROWS += [("separable_conv", (IMAGE, numbers(3, 2, 2, 1), numbers(1, 1, 2, 2)), {"padding": padding})] + [(name, (apart(5, 4, 2),), {"pool_size": 3, "strides": 2, "padding": padding}) for name in ("max_pool", "average_pool")]
for name, inputs, attributes in ROWS:
    check(name, inputs, attributes)

# -- where numbers end: infinities and NaN, of float32 and float64, beside TensorFlow's --

ENDS = [0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan, -0.0, 3.0, 100.0]
EACH = [part.ravel() for part in np.meshgrid(ENDS, ENDS)]
ENDED = np.array([[1, np.nan, 2, 3], [np.inf, 1, -np.inf, 2], [1, 2, 2, np.inf], [np.nan] * 4, [3, 1, 3, 0], [0, 0, -0.0, 2], [1, 0, np.inf, 2], [2, np.inf, 3, np.inf], [-1, -2, 3, -3]])
OF_ONE = """abs arccos arccosh arcsin arcsinh arctan arctanh cbrt celu clip cos cosh deg2rad elu erf erfc erfinv exp exp2 expm1 gelu hard_shrink hard_sigmoid hard_silu hard_tanh i0 leaky_relu log log10
log1p log2 log_sigmoid nan_to_num negative rad2deg reciprocal relu relu6 rsqrt selu sigmoid silu sin sinc sinh soft_shrink softplus softsign sparse_plus sparse_sigmoid sqrt square squareplus tan tanh
tanh_shrink threshold""".split()
OF_TWO = "add arctan2 divide divide_no_nan fmax fmin fmod hypot logaddexp logaddexp2 maximum minimum mod multiply power subtract true_divide".split()
ALONG = "average cumprod cumsum diff log_softmax logsumexp max mean median min nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar norm prod ptp softmax std sum var".split()
# Where what TensorFlow says comes of how it is written (docs/functions.md names these): 0 times infinity, branches that meet, a kernel that takes NaN for a positive number, a product divided by 0.
ODD = {"cbrt": lambda x: x == 0, "celu": lambda x: (x == 0) | np.isnan(x), "elu": np.isnan, "selu": np.isnan, "sparse_sigmoid": np.isnan, "hard_silu": np.isinf, "sinc": lambda x: x == 0, "sparse_plus": np.isinf,
       "arctan2": lambda y, x: np.isinf(y) | np.isinf(x) | (x == 0) & (y == 0)}
ODD["cumprod"] = ODD["nancumprod"] = lambda x: np.repeat(((x == 0) | ~np.isfinite(x)).any(1, keepdims=True), 4, 1)


def slope_at_ends(name, given, attributes, weight=1.0):
    def trace(graph, values):
        text = json.dumps(attributes).encode() if attributes else None
        total = lib.artel_graph_unary(graph, b"sum", lib.artel_graph_op(graph, name.encode(), pointers(values), len(values), text))
        if weight != 1:
            total = binary(graph, b"multiply", total, lib.artel_graph_number(graph, ctypes.c_double(weight)))
        made = (ctypes.c_int32 * len(values))()
        lib.artel_graph_gradients(graph, total, pointers(values), len(values), ctypes.cast(made, ctypes.c_void_p))
        return [binary(graph, b"multiply", x, lib.artel_graph_number(graph, ctypes.c_double(0))) if m < 0 else m for m, x in zip(made, values)]

    return Traced(trace, len(given))(given)


ENDING = [(name, [ENDS], GIVEN.get(name, {}), 1) for name in OF_ONE] + [(name, EACH, {}, 1) for name in OF_TWO] + [(name, [ENDED], {"axis": 1}, 1) for name in ALONG]
ENDING += [(name, [ENDS], GIVEN.get(name, {}), 0) for name in OF_ONE] + [(name, [np.ones((2, 3))], {"axis": 1}, 0) for name in ("std", "norm", "nanstd")]  # a gradient of 0 comes in
for name, given, attributes, weight in ENDING:
    for dtype in ("float32", "float64"):
        given = [np.array(x, dtype) for x in given]
        variables, odd = [tf.constant(x) for x in given], ODD[name](*given) if name in ODD else np.zeros(given[0].shape, bool)
        with tf.GradientTape() as tape:
            tape.watch(variables)
            total = weight * tf.reduce_sum(getattr(ops, name)(*variables, **attributes))
        for i, (mine, theirs) in enumerate(zip(slope_at_ends(name, given, attributes, weight), tape.gradient(total, variables, unconnected_gradients="zero"))):
            spared = (mine == 0) & np.isnan(theirs) if weight == 0 else False  # 0 times infinity
            for at in np.argwhere(~np.isclose(mine, theirs, rtol=1e-5, atol=1e-7, equal_nan=True) & ~odd & ~spared)[:1]:
                faults.append(f"gradient of {name} of {dtype}, {weight} times, by {i} at {[float(x[tuple(at)]) for x in given]}: {mine[tuple(at)]}, TensorFlow's {theirs[tuple(at)]}")
zeros = slope_at_ends("floor_divide", [np.zeros(2), np.array([0.0, 1.0])], {})  # a step: TensorFlow has none
if any(x.any() for x in zeros):  # NaN, too
    faults.append(f"gradient of floor_divide: {zeros}")

# -- matrices of slopes, beside TensorFlow's: of 40 elements, which are joined in two passes --

JACOBIAN = (numbers(5, 3), numbers(3, 8), numbers(3))


def jacobians(graph, values):
    y = lib.artel_graph_unary(graph, b"tanh", binary(graph, b"matmul", values[0], values[1]))
    length = lib.artel_graph_unary(graph, b"sum", lib.artel_graph_unary(graph, b"sin", binary(graph, b"multiply", values[2], lib.artel_graph_unary(graph, b"sum", y))))
    made, slope, bend = (ctypes.c_int32 * 3)(), (ctypes.c_int32 * 1)(), (ctypes.c_int32 * 2)()
    lib.artel_graph_jacobians(graph, y, pointers(values), 3, ctypes.cast(made, ctypes.c_void_p))
    lib.artel_graph_gradients(graph, length, pointers(values[2:]), 1, ctypes.cast(slope, ctypes.c_void_p))
    lib.artel_graph_jacobians(graph, slope[0], pointers([values[2], values[0]]), 2, ctypes.cast(bend, ctypes.c_void_p))
    if made[2] != -1:
        faults.append(f"a Jacobian by what the target does not depend on: {made[2]}")
    return [*made[:2], *bend]


variables = [tf.constant(x) for x in JACOBIAN]
with tf.GradientTape(persistent=True) as outer:
    outer.watch(variables)
    y = tf.tanh(variables[0] @ variables[1])
    with tf.GradientTape() as tape:
        tape.watch(variables[2])
        length = tf.reduce_sum(tf.sin(variables[2] * tf.reduce_sum(y)))
    slope = tape.gradient(length, variables[2])
wanted = [*outer.jacobian(y, variables[:2]), outer.jacobian(slope, variables[2]), outer.jacobian(slope, variables[0])]
expect("Jacobians", Traced(jacobians, 4)(list(JACOBIAN)), [w.numpy() for w in wanted], 1e-12)

# -- no gradient, or one that is zero: what gives whole numbers, and steps --

STEPS = """All Angle Any Argmax Argmin Argsort Cast Ceil CountNonzero Digitize EmptyLike Equal Floor FloorDivide FullLike GetItem Greater GreaterEqual Heaviside Imag Isclose IsIn Isfinite Isinf Isnan Isneginf Isposinf Isreal Less
LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor MatrixRank Nanargmax Nanargmin Nextafter NotEqual OnesLike Round SearchSorted Sign Signbit StopGradient Trunc ZerosLike""".split()
source = open(os.environ["ARTEL_SOURCE"] + "/src/nn/layer_ops_float64.c").read()
table = re.findall(r'"(\w+)"', source[source.index("names[] =") :])
faults += [f"{name} has float64 and no gradient here" for name in table if name.lower() not in seen and name not in STEPS]
faults += [f"{name} has no float64" for name in STEPS if name not in table]
print(len(measured), "gradients, the worst:", *("%.1e of the %s" % row for row in sorted(measured)[-3:]), sep="\n")
sys.exit(finish())
