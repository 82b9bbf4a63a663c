# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""float64 in arrays and functions, continued: inverse functions, quantiles, losses, small matrices, convolutions, normalisation, attention, beside TensorFlow and NumPy, with gradients."""
import ctypes
import json
import sys

import numpy as np
from eager import Refused, faults, finish, lib, run
from float64 import FURTHER, check_gradients, check_results, expect
from oracle import keras_module

keras = keras_module()
ops = keras.ops
import tensorflow as tf  # noqa: E402  (after Keras has set it up)

random = np.random.default_rng(12)


def numbers(*shape):
    return random.normal(0, 1, shape)


X, Y, CUBE = numbers(4, 5), numbers(4, 5), numbers(2, 3, 4)
WITHIN, ABOVE = np.tanh(X), np.abs(X) + 1.1
WIDE = np.concatenate([X * 30, [[0.0, -0.0, 1e-9, 1e12, -1e12]]])
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, -3.5, 1.0, -1.0])
HOLES = np.where(CUBE > 1, np.nan, CUBE)
SQUARE, LONG, FLAT, RIGHT = numbers(2, 4, 4), numbers(2, 6, 3), numbers(2, 3, 5), numbers(2, 4, 3)
POSITIVE = SQUARE @ np.swapaxes(SQUARE, 1, 2) + np.eye(4)
SYMMETRIC = SQUARE + np.swapaxes(SQUARE, 1, 2)
LOWER, UPPER = np.tril(POSITIVE), np.triu(POSITIVE)
FACTOR = np.linalg.cholesky(POSITIVE)
SHARE, TRUTH, CLASSES = np.abs(X) / np.abs(X).sum(-1, keepdims=True), np.abs(Y) / np.abs(Y).sum(-1, keepdims=True), np.array([0, 4, 2, 1], "int32")
LABELS = (Y > 0).astype("float64")
SURE = np.array([[0.0, 1.0, 1e-12], [0.5, 0.25, 0.25], [1 - 1e-12, 0.0, 1e-12]])

CURVES = [(name, (WITHIN,), {}) for name in ("arcsin", "arccos", "arctanh")] + [("arccosh", (ABOVE,), {})]
CURVES += [(name, (WIDE,), {}) for name in ("arctan", "arcsinh", "erfc")] + [(name, (X * 4,), {}) for name in ("sinh", "cosh", "exp2", "sinc")] + [("cbrt", (X,), {})]
CURVES += [("arctan2", (X, Y), {}), ("arctan2", (EDGES, EDGES[::-1].copy()), {}), ("ldexp", (X, np.round(Y * 3)), {}), ("signbit", (EDGES,), {})]
CURVES += [(name, (EDGES,), {}) for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sinh", "cosh", "erfc")] + [("arccosh", (np.array([1.0, 1 + 1e-12, 1e12, 3e200]),), {})]
QUANTILES = [(name, (CUBE,), {"q": q, "axis": axis}) for name, factor in (("quantile", 1), ("percentile", 100)) for axis in (0, 2, [0, 1]) for q in (0.3 * factor, factor, 0.0)]
QUANTILES += [("quantile", (X,), {"q": 0.37, "axis": 1, "keepdims": True}), ("quantile", (HOLES,), {"q": 0.4, "axis": 1}), ("median", (X,), {"axis": 0}), ("median", (CUBE,), {}), ("median", (HOLES,), {"axis": 2})]
QUANTILES += [("nanmedian", (HOLES,), {"axis": 2}), ("nanquantile", (HOLES,), {"q": 0.3, "axis": 1}), ("nanpercentile", (HOLES,), {"q": 72.5, "axis": 2})]
MATRICES = [("det", (SQUARE,), {}), ("inv", (SQUARE,), {}), ("slogdet", (SQUARE,), {}), ("logdet", (POSITIVE,), {}), ("cholesky", (POSITIVE,), {}), ("cholesky", (POSITIVE,), {"upper": True}), ("cholesky_inverse", (FACTOR,), {})]
MATRICES += [("solve", (SQUARE, RIGHT), {}), ("solve", (SQUARE, RIGHT[..., 0].copy()), {}), ("solve_triangular", (LOWER, RIGHT), {"lower": True}), ("solve_triangular", (UPPER, RIGHT), {})]
MATRICES += [("inv", (SQUARE[0],), {}), ("det", (numbers(9, 9),), {}), ("inv", (numbers(20, 20) + 9 * np.eye(20),), {})]
FACTORS = [("qr", (x,), {"mode": mode}) for x in (SQUARE, LONG, FLAT) for mode in ("reduced", "complete")] + [("eigh", (x,), {}) for x in (SYMMETRIC, POSITIVE)]
FACTORS += [("SVD", (x,), {"full_matrices": False}) for x in (SQUARE, LONG, FLAT)] + [("SVD", (LONG,), {"compute_uv": False}), ("pinv", (LONG,), {}), ("pinv", (FLAT,), {}), ("matrix_rank", (np.stack([np.ones((3, 4)), numbers(3, 4)]),), {})]
CROSS = [("binary_crossentropy", (LABELS, SHARE), {}), ("binary_crossentropy", (LABELS, X * 40), {"from_logits": True}), ("binary_crossentropy", (np.round(SURE), SURE), {})]
CROSS += [("categorical_crossentropy", (TRUTH, SHARE), {}), ("categorical_crossentropy", (TRUTH, X * 5), {"from_logits": True}), ("categorical_crossentropy", (np.eye(3), SURE), {})]
CROSS += [("sparse_categorical_crossentropy", (CLASSES, SHARE), {}), ("sparse_categorical_crossentropy", (CLASSES, X * 40), {"from_logits": True}), ("sparse_categorical_crossentropy", (CLASSES[:3] % 3, SURE), {})]

LINE, IMAGE, VOLUME = numbers(2, 9, 4), numbers(2, 7, 6, 4), numbers(2, 5, 4, 6, 2)
WINDOWS = [("conv", (x, numbers(*([3] * (x.ndim - 2)), x.shape[-1] // groups, 6)), {"padding": padding, **more}) for x in (LINE, IMAGE, VOLUME) for padding in ("valid", "same") for groups, more in ((1, {"strides": 2}), (2, {}), (1, {"dilation_rate": 2} if padding == "same" else {}))]
WINDOWS += [("conv", (np.moveaxis(IMAGE, -1, 1).copy(), numbers(2, 3, 4, 5)), {"data_format": "channels_first"}), ("conv", (IMAGE, numbers(1, 1, 4, 3)), {}), ("conv", (IMAGE, numbers(2, 4, 4, 3)), {"padding": "same"})]
WINDOWS += [("depthwise_conv", (x, numbers(*([3] * (x.ndim - 2)), 4, 2)), {"padding": padding}) for x in (LINE, IMAGE) for padding in ("valid", "same")] + [("depthwise_conv", (IMAGE, numbers(3, 2, 4, 1)), {"strides": 2})]
WINDOWS += [("separable_conv", (x, numbers(*([3] * (x.ndim - 2)), 4, 2), numbers(*([1] * (x.ndim - 2)), 8, 5)), {"padding": "same"}) for x in (LINE, IMAGE)]
WINDOWS += [("conv_transpose", (x, numbers(*([3] * (x.ndim - 2)), 5, 4)), {"padding": padding, "strides": strides}) for x in (LINE, IMAGE) for padding in ("valid", "same") for strides in (1, 2, 3)] + [("conv_transpose", (IMAGE, numbers(2, 4, 3, 4)), {"strides": 2, "output_padding": 1, "padding": "same"})]
WINDOWS += [(name, (x,), {"pool_size": 3, "strides": strides, "padding": padding}) for name in ("max_pool", "average_pool") for x in (LINE, IMAGE, VOLUME) for padding in ("valid", "same") for strides in (1, 2)] + [("max_pool", (IMAGE,), {"pool_size": [2, 3]}), ("average_pool", (IMAGE,), {"pool_size": 2})]

GAPS = np.where(np.arange(12).reshape(3, 4) % 5 == 1, np.nan, CUBE)
SIGNAL, TALL = numbers(2, 4, 6), numbers(2, 6, 4, 4)
QUERY, KEY, VALUE, BIAS, MASK = numbers(2, 5, 4, 4), numbers(2, 6, 2, 4), numbers(2, 6, 2, 4), numbers(2, 4, 5, 6), random.random((2, 1, 5, 6)) > 0.3
OTHERS = [("RMSNorm", (CUBE,), {"axis": -1, "epsilon": 1e-3}), ("LayerNorm", (X,), {}), ("LayerNorm", (CUBE,), {"axis": [1, 2]}), ("normalize", (X,), {"axis": -1}), ("normalize", (CUBE,), {"axis": 1})]
OTHERS += [("RFFT", (X,), {}), ("RFFT", (SIGNAL,), {"fft_length": 9}), ("CDist", (X, numbers(3, 5)), {}), ("trapezoid", (X,), {"dx": 0.1}), ("trapezoid", (X,), {"x": [0.1, 0.3, 0.35, 1.7, 2.0]}), ("trapezoid", (CUBE,), {"axis": 0})]
OTHERS += [(name, (GAPS,), {"axis": axis}) for name in ("nanmax", "nanmin", "nanargmax", "nanargmin") for axis in (1, 2)] + [(name, (X,), {}) for name in ("conj", "conjugate", "real", "imag")] + [("full_like", (X,), {"fill_value": 0.1})]
BATCHES = [("BatchNorm", (TALL, numbers(4), np.abs(numbers(4))), {"axis": -1, "epsilon": 1e-3}), ("depth_to_space", (TALL,), {"block_size": 2}), ("space_to_depth", (TALL,), {"block_size": 2}), ("extract_sequences", (X,), {"sequence_length": 3, "sequence_stride": 1})]
BATCHES += [("crop_images", (TALL,), {"top_cropping": 1, "left_cropping": 1, "target_height": 3, "target_width": 2}), ("pad_images", (TALL,), {"top_padding": 1, "left_padding": 2, "bottom_padding": 1, "right_padding": 0}), ("extract_patches", (TALL,), {"size": 2})]
BATCHES += [("unfold", (np.moveaxis(TALL, -1, 1).copy(),), {"kernel_size": 2}), ("fold", (numbers(2, 16, 15),), {"output_size": [6, 4], "kernel_size": 2}), ("dot_product_attention", (QUERY, KEY, VALUE), {}), ("dot_product_attention", (QUERY, QUERY, QUERY[::-1].copy()), {"is_causal": True, "scale": 0.375})]
BATCHES += [("dot_product_attention", (QUERY, KEY, VALUE, BIAS), {}), ("dot_product_attention", (QUERY, KEY, VALUE, BIAS, MASK), {})]

OWN = {
    "erfc": tf.math.erfc, "cbrt": lambda x: tf.sign(x) * tf.abs(x) ** tf.constant(1 / 3, tf.float64), "ldexp": np.ldexp, "sinc": np.sinc, "signbit": np.signbit, "cholesky_inverse": lambda x: np.linalg.inv(x @ np.swapaxes(x, 1, 2)),
    "LogCosh": lambda t, x: tf.reduce_mean((x - t) + tf.nn.softplus(-2 * (x - t)) - np.log(2), -1),  # there of a float32 log(2)
    "RMSNorm": ops.rms_normalization, "BatchNorm": ops.batch_normalization, "RFFT": lambda x, fft_length=None: [np.fft.rfft(x, fft_length).real, np.fft.rfft(x, fft_length).imag],
    "CDist": lambda a, b: np.sqrt(((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1)), "trapezoid": lambda y, x=None, dx=1.0, axis=-1: np.trapezoid(y, x, dx, axis), "full_like": np.full_like,
    "depth_to_space": tf.nn.depth_to_space, "space_to_depth": tf.nn.space_to_depth, "crop_images": ops.image.crop_images, "pad_images": ops.image.pad_images, "extract_patches": ops.image.extract_patches,
    "arcsinh": tf.asinh, "arccosh": tf.acosh, "logdet": lambda x: tf.linalg.logdet(x), "pinv": np.linalg.pinv, "matrix_rank": np.linalg.matrix_rank, "SVD": ops.svd,
    # Of TensorFlow's the second derivative by targets lacks a term.
    "categorical_crossentropy": lambda t, x, from_logits=False: -tf.reduce_sum(t * tf.nn.log_softmax(x), -1) if from_logits else ops.categorical_crossentropy(t, x),
    **{name: getattr(np, name) for name in ("quantile", "percentile", "median", "nanmedian", "nanquantile", "nanpercentile", "nanmax", "nanmin", "nanargmax", "nanargmin")},
}


def pooled(name, x, pool_size, strides, padding):
    """Of three dimensions, which TensorFlow does not have in float64."""
    missing = [max((-(-n // strides) - 1) * strides + pool_size - n, 0) if padding == "same" else 0 for n in x.shape[1:-1]]
    wider = np.pad(x, [(0, 0), *((n // 2, n - n // 2) for n in missing), (0, 0)], constant_values=np.nan)
    seen = np.lib.stride_tricks.sliding_window_view(wider, (pool_size,) * len(missing), tuple(range(1, x.ndim - 1)))
    return (np.nanmax if name == "max_pool" else np.nanmean)(seen[:, ::strides, ::strides, ::strides], (-3, -2, -1))


def layer_norm(x, axis):
    """As written: TensorFlow's moments hold the mean constant, so that it has no second derivative."""
    apart = x - tf.reduce_mean(x, axis, keepdims=True)
    return apart * tf.math.rsqrt(tf.reduce_mean(apart * apart, axis, keepdims=True) + 1e-7)


def function_of(name, attributes):
    given = {key: tuple(value) if isinstance(value, list) and key != "x" else value for key, value in attributes.items()}
    if name == "LayerNorm":
        return lambda x: layer_norm(x, given.get("axis", -1))
    if name == "ldexp":
        return lambda x, power: np.ldexp(x, power.astype(int))
    if name in ("solve", "solve_triangular"):
        own = np.linalg.solve if name == "solve" else lambda a, b: tf.linalg.triangular_solve(a, b, lower=given.get("lower", False))
        return lambda a, b: own(a, b[..., None])[..., 0] if len(b.shape) < len(a.shape) else own(a, b)
    if name.endswith("_pool"):
        return lambda x: pooled(name, x, **given) if len(x.shape) == 5 else getattr(ops, name)(tf.convert_to_tensor(x), **given)
    if given.pop("data_format", None):  # TensorFlow has no such convolution on processors
        return lambda x, kernel: np.moveaxis(ops.conv(np.moveaxis(x, 1, -1), kernel, **given), -1, 1)
    function = OWN.get(name) or getattr(ops, name)
    return lambda *x: function(*x, **given)


def without_signs(name, results):
    """Vectors with another sign are the same: the magnitudes, and what the factors make together."""
    if len(results) == 1:
        return results
    if name == "SVD":
        u, s, v = results
        return [np.abs(u), s, np.abs(v), (u[..., : s.shape[-1]] * s[..., None, :]) @ v[..., : s.shape[-1], :]]
    first, second = results
    return [np.abs(first), np.abs(second), first @ second] if name == "qr" else [first, np.abs(second), (second * first[..., None, :]) @ np.swapaxes(second, -1, -2)] if name == "eigh" else results


check_results(CURVES + QUANTILES + CROSS + OTHERS, function_of)
check_results(MATRICES, function_of, 1e-13)
check_results(FACTORS, function_of, 1e-13, without_signs)
check_results(WINDOWS + BATCHES, function_of, ways=("array",))  # of functions they are below

# -- gradients --

SLOPES = [(name, (WITHIN,), {}) for name in ("arcsin", "arccos", "arctanh")] + [("arccosh", (ABOVE,), {}), ("arctan2", (X, Y), {})] + [(name, (X,), {}) for name in ("arctan", "arcsinh", "erfc", "sinh", "cosh")]
SLOPES += [("RMSNorm", (CUBE,), {"epsilon": 1e-3}), ("LayerNorm", (CUBE,), {"axis": [1, 2]}), ("normalize", (X,), {"axis": -1})]
SLOPES += [row for row in CROSS if row[1][1] is not SURE]
check_gradients(SLOPES, function_of)
# Of one image, which has no batch here.
check_gradients([(name, (inputs[0][0].copy(), *inputs[1:]), attributes) for name, inputs, attributes in WINDOWS if inputs[0].ndim == 4 and "data_format" not in attributes], lambda name, attributes: lambda x, *rest: function_of(name, attributes)(x[None], *rest)[0])
check_gradients([("max_pool", (np.round(IMAGE[0]), ), {"pool_size": 2, "strides": 1})], lambda name, attributes: lambda x: function_of(name, attributes)(x[None])[0])
check_gradients([("inv", (SQUARE,), {}), ("det", (SQUARE,), {}), ("logdet", (POSITIVE,), {})], function_of, 1e-13)

# -- losses by sample, with their gradients by the prediction --

LOSSES = [(name, TRUTH, X, {}) for name in ("MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "LogCosh", "CategoricalHinge", "CosineSimilarity", "Huber")]
LOSSES += [("Huber", TRUTH, X, {"delta": 0.3}), ("MeanSquaredLogarithmicError", TRUTH, X, {}), ("KLDivergence", TRUTH, SHARE, {}), ("Poisson", TRUTH, SHARE, {}), ("CosineSimilarity", np.zeros_like(X), X, {})]
LOSSES += [("BinaryCrossentropy", LABELS, SHARE, {}), ("BinaryCrossentropy", LABELS, X, {"from_logits": True, "label_smoothing": 0.1}), ("CategoricalCrossentropy", TRUTH, SHARE, {"label_smoothing": 0.1}), ("CategoricalCrossentropy", TRUTH, X, {"from_logits": True})]
LOSSES += [("SparseCategoricalCrossentropy", CLASSES, SHARE, {}), ("SparseCategoricalCrossentropy", CLASSES, X, {"from_logits": True, "ignore_class": 2})]
LOSSES += [("SparseCategoricalCrossentropy", np.array([[0, 3, -1], [1, 1, 2]], "int32"), CUBE, {"from_logits": True, "ignore_class": -1}), ("CategoricalGeneralizedCrossEntropy", CLASSES, SHARE, {"q": 0.3}), ("Dice", LABELS, SHARE, {"axis": [-1]})]
LOSSES += [("Tversky", LABELS, SHARE, {"axis": [-1], "alpha": 0.3, "beta": 0.7}), ("BinaryFocalCrossentropy", LABELS, SHARE, {"apply_class_balancing": True, "alpha": 0.3}), ("BinaryFocalCrossentropy", LABELS, X, {"from_logits": True, "gamma": 1.5})]
LOSSES += [("CategoricalFocalCrossentropy", TRUTH, SHARE, {"label_smoothing": 0.2}), ("CategoricalFocalCrossentropy", TRUTH, X, {"from_logits": True, "alpha": 0.4})]


def loss_and_slope(name, settings):
    text = json.dumps({"class_name": name, "config": settings}).encode()

    def trace(_user, graph, inputs, outputs):
        outputs[0] = lib.artel_graph_loss(graph, text, inputs[0], inputs[1])
        wanted = (ctypes.c_int32 * 1)(inputs[1])
        out = ctypes.cast(ctypes.byref(outputs.contents, 4), ctypes.c_void_p)
        return lib.artel_graph_gradients(graph, outputs[0], ctypes.cast(wanted, ctypes.c_void_p), 1, out)

    return trace


for name, target, prediction, settings in LOSSES:
    what = f"loss {name} {settings}"
    theirs = OWN.get(name) or getattr(keras.losses, name)(reduction="none", dtype="float64", **{key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()})
    p = tf.constant(prediction)
    with tf.GradientTape() as tape:
        tape.watch(p)
        value = theirs(target, p)
        total = tf.reduce_sum(value)
    try:
        got = run(loss_and_slope(name, settings), (target, prediction), 2)
    except Refused as error:
        faults.append(f"{what}: refused: {error}")
        continue
    expect(what, got[0], value)
    expect(f"gradient of {what}", got[1], tape.gradient(total, p), 1e-13)
# Of two axes each; Circle wants the rows of a batch, which arrays do not have.
for name, target, says in (("CTC", CLASSES, "lists of class numbers"), ("Circle", CLASSES, "no rows"), ("MeanSquaredError", CUBE, "do not fit")):
    try:
        run(loss_and_slope(name, {}), (target, X), 2)
        faults.append(f"{name} is not refused")
    except Refused as error:
        if says not in str(error):
            faults.append(f"{name}: {error}")

seen = {row[0] for row in CURVES + QUANTILES + CROSS + MATRICES + FACTORS + WINDOWS + OTHERS + BATCHES}
faults += [f"{name}: a row is missing, or it is not in float64.FURTHER" for name in seen ^ FURTHER]
sys.exit(finish())
