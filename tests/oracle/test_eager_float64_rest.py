# SPDX-License-Identifier: Apache-2.0
"""float64 in arrays and functions, the rest: inverse of erf, Bessel's function, next numbers, units with gates, adaptive pooling, transforms, colours, places among limits,
parts that are written, beside NumPy and TensorFlow. The same operations of float32, whose tensors go into lists or behind settings, which functions must know."""
import colorsys
import itertools
import os
import re
import sys

import numpy as np

from eager import Refused, call, call_in_function, expect, faults, finish
from float64 import REST, check_results
from oracle import keras_module

keras = keras_module()
ops = keras.ops
import tensorflow as tf  # noqa: E402  (after Keras has set it up)

random = np.random.default_rng(13)


def numbers(*shape):
    return random.normal(0, 1, shape)


X, Y, CUBE, LINE, IMAGE, VOLUME = numbers(4, 6), numbers(4, 6), numbers(2, 3, 4), numbers(2, 9, 4), numbers(2, 7, 6, 3), numbers(2, 5, 4, 6, 2)
LIMITS = np.sort(numbers(7))
COLOURS = np.concatenate([random.random((1, 4, 5, 3)), np.zeros((1, 4, 5, 3)), np.full((1, 4, 5, 3), 0.3)])
SHARES = np.concatenate([np.linspace(-1, 1, 401), 1 - 2.0 ** -np.arange(20, 53), [0.0, -0.0, 1e-300, np.nan, 1.5], np.array([0.5, -0.5]) * (1 + 1e-15)])
LARGE = np.concatenate([np.linspace(-30, 30, 61), [0.0, 1e-8, 8.0, 7.999999, 8.000001, 300.0, -700.0, np.inf]])
STEPS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.1, 1e300, 5e-324, 2.2250738585072014e-308, 4.4501477170144028e-308, 1e-290, 1.3e-276, 9.1e-277, 1.7976931348623157e308, np.inf, -np.inf, np.nan, 3.0])
FROM, TO = (np.array(side) for side in zip(*itertools.product(np.concatenate([STEPS, -STEPS[2:14], STEPS[7:13] * 1.3]), STEPS)))
PAIR = (numbers(3, 6), numbers(3, 6))

ROWS = [("erfinv", (SHARES,), {}), ("i0", (LARGE[:-2],), {}), ("i0", (LARGE[-2:],), {}), ("angle", (X,), {}), ("empty_like", (X,), {}), ("saturate_cast", (X,), {"dtype": "float64"})]
ROWS += [(name, (x,), {"axis": axis}) for name, x in (("glu", X), ("sparsemax", X * 2), ("sparsemax", CUBE)) for axis in (-1, 0)]
ROWS += [("FFT", PAIR, {}), ("FFT2", PAIR, {}), ("IFFT2", PAIR, {}), ("IRFFT", PAIR, {}), ("IRFFT", PAIR, {"fft_length": 7}), ("STFT", (numbers(3, 40),), {"sequence_length": 8, "sequence_stride": 3, "fft_length": 12, "window": "hann"})]
ROWS += [("STFT", (numbers(3, 40),), {"sequence_length": 7, "sequence_stride": 4, "fft_length": 8, "window": [0.1, 0.2, 0.3, 1.0, 0.7, 0.3, 0.1], "center": False})]
ROWS += [("digitize", (X,), {"bins": list(LIMITS)}), ("digitize", (X, LIMITS), {}), ("SearchSorted", (LIMITS, X), {}), ("SearchSorted", (X,), {"sorted_sequence": list(LIMITS), "side": "right"}), ("IsIn", (np.round(X), np.array([1.0, -1.0])), {}), ("IsIn", (np.array([0.1, 0.3]),), {"args": [[0.1, 0.2]]})]
ROWS += [("slice_update", (X, Y[:2, :3].copy()), {"start_indices": [1, 2]}), ("slice_update", (X, Y[:, :3].copy()), {"start_indices": [0, 3]}), ("Select", (X > 1, X < 0, Y, X, np.full((4, 6), 0.1)), {}), ("Select", (X > 1, X < 0, Y, X), {})]
POOLS = [(name, (x,), {"output_size": size}) for name in ("adaptive_max_pool", "adaptive_average_pool") for x in (LINE, IMAGE, VOLUME) for size in (2, 3)] + [("adaptive_average_pool", (IMAGE,), {"output_size": [3, 6]})]
PICTURES = [("RGBToHSV", (COLOURS,), {}), ("HSVToRGB", (COLOURS,), {}), ("RGBToGrayscale", (COLOURS,), {})]
EXACT = [("nextafter", (FROM, TO), {})]


def adaptive(name, x, output_size):
    sizes = output_size if isinstance(output_size, (list, tuple)) else [output_size] * (x.ndim - 2)
    for axis, outputs in enumerate(sizes, 1):
        n, of = x.shape[axis], np.max if "max" in name else np.mean
        x = np.stack([of(np.take(x, range(o * n // outputs, -(-(o + 1) * n // outputs)), axis), axis) for o in range(outputs)], axis)
    return x


def written(x, part, start_indices):
    y = x.copy()
    y[tuple(slice(at, at + n) for at, n in zip(start_indices, part.shape))] = part
    return y


def pair(x):
    return [x.real, x.imag]


def stft(x, window, **settings):
    if isinstance(window, str):
        return ops.stft(x, window=window, **settings)
    wide = np.pad(window, (0, settings["fft_length"] - len(window)))
    frames = [x[:, at : at + settings["fft_length"]] for at in range(0, x.shape[1] - settings["fft_length"] + 1, settings["sequence_stride"])]
    return pair(np.fft.rfft(np.stack(frames, 1) * wide))


OWN = {
    "erfinv": tf.math.erfinv, "i0": np.i0, "nextafter": np.nextafter, "empty_like": np.zeros_like, "saturate_cast": lambda x, dtype: x, "slice_update": written,
    "FFT": lambda a, b: pair(np.fft.fft(a + 1j * b)), "FFT2": lambda a, b: pair(np.fft.fft2(a + 1j * b)), "IFFT2": lambda a, b: pair(np.fft.ifft2(a + 1j * b)),
    "IRFFT": lambda a, b, fft_length=None: np.fft.irfft(a + 1j * b, fft_length), "STFT": stft, "digitize": lambda x, bins: np.digitize(x, bins).astype("int32"),
    "SearchSorted": lambda *x, side="left", sorted_sequence=None: np.searchsorted(*(x if sorted_sequence is None else (sorted_sequence, *x)), side).astype("int32"),
    "IsIn": lambda x, of=None, args=None: np.isin(x, of if args is None else args[0]),
    "RGBToGrayscale": lambda x: (x * [0.2989, 0.5870, 0.1140]).sum(-1, keepdims=True), "Select": lambda *x: np.select(x[:2], x[2:4], *x[4:]),
}


def function_of(name, attributes):
    if name in ("RGBToHSV", "HSVToRGB"):  # TensorFlow's constants are float32
        return lambda x: np.stack(np.vectorize(getattr(colorsys, name.lower().replace("to", "_to_")))(x[..., 0], x[..., 1], x[..., 2]), -1)
    if "adaptive" in name:
        return lambda x: adaptive(name, x, **attributes)
    return lambda *x: (OWN.get(name) or getattr(ops, name))(*x, **attributes)


with np.errstate(all="ignore"):
    check_results(ROWS, function_of)
    check_results(POOLS + PICTURES, function_of, ways=("array",))
    check_results(EXACT, function_of, 0)
    for name, inputs, attributes in ROWS + POOLS + PICTURES:  # the same in float32
        if name in ("erfinv", "i0"):
            inputs = (np.linspace(-0.9, 0.9, 19),)
        if attributes.get("dtype") or (name == "IsIn" and attributes):
            continue
        given = tuple(x.astype("float32") if x.dtype == "float64" else x for x in inputs)
        wanted = function_of(name, attributes)(*(x.astype("float64") if x.dtype == "float32" else x for x in given))
        for got, result in zip(call(name, *given, **attributes), wanted if isinstance(wanted, (list, tuple)) else [wanted]):
            expect(f"float32 {name} {attributes}", got, result)

seen = {row[0] for row in ROWS + POOLS + PICTURES + EXACT}
faults += [f"{name}: a row is missing, or it is not in float64.REST" for name in seen ^ REST]

# -- each class by its own name and by that of its function --

ROWS = [("svd", "SVD", (X,)), ("cdist", "CDist", (X, Y)), ("fft", "FFT", PAIR), ("isin", "IsIn", (X, X[0])), ("searchsorted", "search_sorted", (LIMITS, X)), ("rgb_to_hsv", "RGBToHSV", (COLOURS,)), ("swish", "Silu", (X,))]
ROWS += [("layer_normalization", "LayerNorm", (X,)), ("rms_normalization", "RMSNorm", (X,)), ("batch_normalization", "BatchNorm", (X, X[0], X[1] ** 2))]
for function, name, inputs in ROWS:
    settings = {"axis": -1} if name == "BatchNorm" else {}
    if not np.array_equal(call(function, *inputs, **settings)[0], call(name, *inputs, **settings)[0], equal_nan=True):
        faults.append(f"{function} is not {name}")

# -- what has none: the page says why --

page = open(os.environ["ARTEL_SOURCE"] + "/docs/eager.md").read()
lists = "".join(open(os.environ["ARTEL_SOURCE"] + "/src/nn/" + name).read() for name in ("layer_ops.list",))
table = open(os.environ["ARTEL_SOURCE"] + "/src/nn/layer_ops_float64.c").read()
none = [name for name in re.findall(r'^\w+\(\w+, "(\w+)"', lists, re.M) if f'"{name}"' not in table]
faults += [f"docs/eager.md does not say why {name} has no float64" for name in none if f"`{name}`" not in page[page.index("No float64") :]]
for name in none:
    for way in (call, lambda name, *inputs: call_in_function(name, 1, *inputs)):
        try:
            way(name, X, Y)
            faults.append(f"{name}: float64 is not refused")
        except Refused as error:
            if "float64" not in str(error):
                faults.append(f"{name}: {error}")

sys.exit(finish())
