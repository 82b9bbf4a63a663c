# SPDX-License-Identifier: Apache-2.0
"""Operations of float64 beside TensorFlow or NumPy: results as arrays and in functions, and gradients of the first and second order."""
import ctypes
import json

import numpy as np

from eager import Refused, call, call_in_function, faults, lib, run
from oracle import keras_module

keras_module()
import tensorflow as tf  # noqa: E402  (after Keras has set it up)


FURTHER = set(  # what test_eager_float64_more.py has rows of
    """arccos arccosh arcsin arcsinh arctan arctanh cbrt cosh erfc exp2 signbit sinc sinh arctan2 ldexp median quantile percentile nanmedian nanquantile nanpercentile
    cholesky cholesky_inverse det eigh inv logdet matrix_rank pinv qr SVD slogdet solve solve_triangular
    nanargmax nanargmin nanmax nanmin trapezoid CDist conj conjugate real imag full_like crop_images pad_images depth_to_space space_to_depth extract_patches
    extract_sequences fold unfold BatchNorm LayerNorm RMSNorm normalize RFFT dot_product_attention
    average_pool conv conv_transpose depthwise_conv max_pool separable_conv
    binary_crossentropy categorical_crossentropy sparse_categorical_crossentropy""".split()
)


REST = set(  # what test_eager_float64_rest.py has rows of
    """erfinv i0 angle empty_like saturate_cast glu sparsemax FFT FFT2 IFFT2 IRFFT STFT digitize SearchSorted IsIn slice_update Select nextafter
    adaptive_max_pool adaptive_average_pool RGBToHSV HSVToRGB RGBToGrayscale""".split()
)


def expect(what, got, wanted, most=1e-14):
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or (wanted.dtype == "float64" and got.dtype != "float64"):
        faults.append(f"{what}: {got.dtype}{got.shape}, wanted {wanted.dtype}{wanted.shape}")
        return
    got, wanted = got.astype("float64"), wanted.astype("float64")
    real = np.isfinite(wanted)
    largest = max(np.abs(wanted[real]).max(initial=0), 1e-300)
    apart = np.abs(got[real] - wanted[real]).max(initial=0) / largest
    if not np.array_equal(got[~real], wanted[~real], equal_nan=True) or not apart <= most:
        faults.append(f"{what}: {apart:.1e} apart: {got.ravel()[:4]}, wanted {wanted.ravel()[:4]}")


def check_results(rows, function_of, most=1e-14, as_given=lambda name, results: results, ways=("array", "function")):
    """Rows of a name, inputs and attributes; `function_of` names the other side, `as_given` what of both is compared."""
    for name, inputs, attributes in rows:
        what = f"{name} {[x.shape for x in inputs]} {attributes}"
        wanted = function_of(name, attributes)(*inputs)
        wanted = [np.asarray(w) for w in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
        for way in ways:
            try:
                got = call(name, *inputs, **attributes) if way == "array" else call_in_function(name, len(wanted), *inputs, **attributes)
            except Refused as error:
                faults.append(f"{way} {what}: refused: {error}")
                continue
            for g, w in zip(as_given(name, got), as_given(name, wanted)):
                expect(f"{way} {what}", g, w, most)


def slope(name, inputs, attributes, order):
    """Traces the gradient of sum(y sin y) by the inputs of float64, or that of the sum of this times cos x."""
    text = json.dumps(attributes).encode() if attributes else None
    by = [i for i, x in enumerate(inputs) if x.dtype == "float64"]

    def trace(_user, graph, given, outputs):
        y = lib.artel_graph_op(graph, name.encode(), ctypes.cast(given, ctypes.c_void_p), len(inputs), text)
        y = lib.artel_graph_binary(graph, b"multiply", y, lib.artel_graph_unary(graph, b"sin", y))
        values, made = ctypes.cast((ctypes.c_int32 * len(by))(*(given[i] for i in by)), ctypes.c_void_p), (ctypes.c_int32 * len(by))()
        status = lib.artel_graph_gradients(graph, y, values, len(by), ctypes.cast(made if order == 2 else outputs, ctypes.c_void_p))
        if order == 1 or status < 0:
            return status
        total = -1
        for k, i in enumerate(by):
            part = lib.artel_graph_unary(graph, b"sum", lib.artel_graph_binary(graph, b"multiply", made[k], lib.artel_graph_unary(graph, b"cos", given[i])))
            total = part if total < 0 else lib.artel_graph_binary(graph, b"add", total, part)
        return lib.artel_graph_gradients(graph, total, values, len(by), ctypes.cast(outputs, ctypes.c_void_p))

    return trace


def check_gradients(rows, function_of, most=1e-14, orders=(1, 2)):
    for name, inputs, attributes in rows:
        function, given = function_of(name, attributes), [tf.constant(x) for x in inputs]
        variables = [x for x in given if x.dtype == tf.float64]
        with tf.GradientTape() as outer:
            outer.watch(variables)
            with tf.GradientTape() as inner:
                inner.watch(variables)
                y = function(*given)
                y = tf.reduce_sum(y * tf.sin(y))
            first = inner.gradient(y, variables)
            total = tf.add_n([tf.reduce_sum(slope * tf.cos(x)) for slope, x in zip(first, variables)]) if 2 in orders else None
        for order in orders:
            wanted = first if order == 1 else outer.gradient(total, variables)
            try:
                got = run(slope(name, inputs, attributes, order), inputs, len(variables))
            except Refused as error:
                faults.append(f"gradient {order} of {name}: refused: {error}")
                continue
            for i, (g, w, x) in enumerate(zip(got, wanted, variables)):
                expect(f"gradient {order} of {name} {attributes} by {i}", g, w if w is not None else np.zeros(x.shape), most)
