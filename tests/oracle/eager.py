# SPDX-License-Identifier: Apache-2.0
"""Eager arrays and functions (artel/eager.h) through the C API, as the tests that compare them with Keras, NumPy and TensorFlow use them."""
import ctypes
import json

import numpy as np

from graphs import CONTEXT, Refused, S, Trace, check, faults, lib, shape_of

Shape, EAGER = S["artel_shape"], ctypes.c_void_p()
check(lib.artel_eager_create(CONTEXT, None, ctypes.byref(EAGER)))
NAMES = [lib.artel_dtype_name(i).decode() for i in range(14)]
NUMERIC = [name for name in NAMES if name in ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")]


def array(values):
    values, out = np.asarray(values), ctypes.c_void_p()  # also those that are not contiguous: ascontiguousarray would give scalars an axis
    values = values.copy(order="C")
    check(lib.artel_ndarray_create(EAGER, NAMES.index(values.dtype.name), ctypes.byref(shape_of(values.shape)), values.ctypes.data, ctypes.byref(out)))
    return out


def numpy_of(a):
    dtype, shape = ctypes.c_int(), Shape()
    check(lib.artel_ndarray_describe(a, ctypes.byref(dtype), ctypes.byref(shape), None))
    out = np.empty(shape.dim[: shape.rank], NAMES[dtype.value])
    check(lib.artel_ndarray_read(a, dtype.value, out.ctypes.data, out.size))
    return out


def call(name, *inputs, **attributes):
    """All results of an operation, as NumPy arrays."""
    made = [array(x) for x in inputs]
    out = (ctypes.c_void_p * 32)()
    text = json.dumps(attributes).encode() if attributes else None
    count = check(lib.artel_eager_op_all(EAGER, name.encode(), ctypes.cast((ctypes.c_void_p * len(made))(*made), ctypes.c_void_p), len(made), text, ctypes.cast(out, ctypes.c_void_p), 32))
    results = [numpy_of(ctypes.c_void_p(out[i])) for i in range(count)]
    for a in [*made, *(ctypes.c_void_p(out[i]) for i in range(count))]:
        lib.artel_ndarray_release(a)
    return results


def expect(what, got, wanted, exact=False):
    got, wanted = np.asarray(got), np.asarray(wanted)
    same = got.shape == wanted.shape and (got.dtype == wanted.dtype or not exact)
    if same and exact:
        same = np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")
    elif same:
        same = np.allclose(got.astype("float64"), wanted.astype("float64"), rtol=2e-5, atol=2e-6, equal_nan=True)
    if not same:
        faults.append(f"{what}: {got.dtype}{got.shape} {got.ravel()[:4]}, wanted {wanted.dtype}{wanted.shape} {wanted.ravel()[:4]}")


kept = []  # functions of Python's that the library may still call


def run(trace, inputs, outputs):
    """The results of a function that is traced, as NumPy arrays."""
    function, out = ctypes.c_void_p(), (ctypes.c_void_p * max(outputs, 1))()
    kept.append(Trace(trace))
    check(lib.artel_eager_function_create(EAGER, b"function", ctypes.cast(kept[-1], ctypes.c_void_p), None, outputs, ctypes.byref(function)))
    made = [array(x) for x in inputs]
    check(lib.artel_eager_call(function, ctypes.cast((ctypes.c_void_p * len(made))(*made), ctypes.c_void_p), len(made), ctypes.cast(out, ctypes.c_void_p), outputs))
    results = [numpy_of(ctypes.c_void_p(out[i])) for i in range(outputs)]
    for a in [*made, *(ctypes.c_void_p(out[i]) for i in range(outputs))]:
        lib.artel_ndarray_release(a)
    return results


class Traced:
    """A function of lists of values, `outputs` of them its results, that is traced once for some shapes and called with NumPy arrays as often as one likes."""

    def __init__(self, of, outputs):
        self.of, self.outputs, self.function = of, outputs, ctypes.c_void_p()
        kept.append(Trace(self.trace))
        check(lib.artel_eager_function_create(EAGER, b"function", ctypes.cast(kept[-1], ctypes.c_void_p), None, outputs, ctypes.byref(self.function)))

    def trace(self, _user, graph, given, out):
        for i, value in enumerate(self.of(graph, given[: self.inputs])):
            out[i] = value
        return lib.artel_graph_status(graph)

    def __call__(self, inputs):
        self.inputs = len(inputs)
        made, out = [array(x) for x in inputs], (ctypes.c_void_p * self.outputs)()
        check(lib.artel_eager_call(self.function, ctypes.cast((ctypes.c_void_p * len(made))(*made), ctypes.c_void_p), len(made), ctypes.cast(out, ctypes.c_void_p), self.outputs))
        results = [numpy_of(ctypes.c_void_p(at)) for at in out]
        for a in [*made, *map(ctypes.c_void_p, out)]:
            lib.artel_ndarray_release(a)
        return results


def call_in_function(name, outputs, *inputs, **attributes):
    """As `call`, by a function that has the operation alone."""
    text = json.dumps(attributes).encode() if attributes else None

    def trace(_user, graph, given, out):
        made = lib.artel_graph_op_all(graph, name.encode(), ctypes.cast(given, ctypes.c_void_p), len(inputs), text, ctypes.cast(out, ctypes.c_void_p), outputs)
        return min(made, 0)

    return run(trace, inputs, outputs)


def finish():
    """Gives up all; what the test exits with."""
    lib.artel_eager_destroy(EAGER)
    lib.artel_context_destroy(CONTEXT)
    return "\n".join(faults) or 0
