# SPDX-License-Identifier: Apache-2.0
# timeout: 180
"""Conversions between all pairs of element types, of numbers that do not fit too: in arrays (artel_ndarray_cast), and for the types of functions in functions
(the cast operation, and what an argument is made of), the same. Floats to whole numbers as XLA defines them: truncated, saturated, NaN is 0. Whole numbers to
narrower ones saturate (NumPy wraps around). What fits is NumPy's astype."""
import ctypes
import itertools
import sys

import numpy as np

from eager import NAMES, NUMERIC, array, call_in_function, check, expect, finish, lib, numpy_of
from oracle import keras_module

keras_module()
import tensorflow as tf  # noqa: E402

REAL = [0.0, -0.0, 0.5, -0.5, 0.99, -0.99, 1.0, -1.5, 2.5, 126.7, 127.9, 128, -128.9, -129, 255.5, 256, 32767.5, -32769, 65504, 65535.9, 2.0**24 + 1, 2.0**31 - 1,
        2.0**31, -(2.0**31), -(2.0**31) - 1, 2.0**32 - 1, 2.0**32, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, 1e300, np.inf, -np.inf, np.nan]


def samples(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if dtype.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array(REAL).astype(dtype)
    info = np.iinfo(dtype)
    edges = {info.min, info.max, 0, 1, 42} | {edge for name in NUMERIC if name[0] in "iu" for edge in (np.iinfo(name).min, np.iinfo(name).max, np.iinfo(name).max + 1, np.iinfo(name).min - 1)}
    return np.array(sorted(edge for edge in edges if info.min <= edge <= info.max), dtype)


def wanted(values, to):
    """By Python's own numbers."""
    if to == "bool" or to.startswith("float") or values.dtype == bool:
        with np.errstate(all="ignore"):
            return values.astype(to)
    info = np.iinfo(to)
    out = []
    for value in values.tolist():
        if value != value:
            out.append(0)
        elif value in (float("inf"), float("-inf")):
            out.append(info.max if value > 0 else info.min)
        else:
            out.append(min(max(int(value), info.min), info.max))
    return np.array(out, to)


def cast(values, to):
    made, out = array(values), ctypes.c_void_p()
    check(lib.artel_ndarray_cast(made, NAMES.index(to), ctypes.byref(out)))
    result = numpy_of(out)
    lib.artel_ndarray_release(made)
    lib.artel_ndarray_release(out)
    return result


for one, two in itertools.product(NUMERIC, NUMERIC):
    values = samples(one)
    expect(f"{one} to {two}", cast(values, two), wanted(values, two), exact=True)
    if one.startswith("float") and two[0] in "iu" and one != "float16":
        by_xla = tf.function(lambda x: tf.cast(x, two), jit_compile=True)(tf.constant(values)).numpy()
        expect(f"{one} to {two} beside XLA", cast(values, two), by_xla, exact=True)
for one, two in itertools.product(("float32", "float64", "int32", "bool"), repeat=2):
    values = samples(one)
    expect(f"{one} to {two} in a function", call_in_function("cast", 1, values, dtype=two)[0], wanted(values, two), exact=True)
sys.exit(finish())
