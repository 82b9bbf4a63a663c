# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Arrays and operations at once (artel/eager.h) through the C API: element types, conversions, broadcasting and arithmetic as NumPy's to the bit;
operations of keras.ops by name on whole arrays as Keras'; gradients of functions as TensorFlow's."""
import ctypes
import itertools
import json
import sys

import numpy as np

from eager import EAGER, NUMERIC, NAMES, Refused, Trace, array, call, check, expect, faults, finish, lib, numpy_of
from oracle import keras_module

keras = keras_module()
ops = keras.ops
random = np.random.default_rng(3)


def numbers(dtype, shape):
    if dtype == "bool":
        return random.integers(0, 2, shape).astype("bool")
    if dtype.startswith("float"):
        return random.normal(0, 3, shape).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


# -- arithmetic of all element types --

with np.errstate(all="ignore"):
    for dtype in NUMERIC:
        if dtype in ("float32", "float16", "bool"):
            continue
        names = ["add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
        for name in names + (["divide"] if dtype == "float64" else []):
            for one, two in [((300,), (300,)), ((3, 1, 4), (5, 1)), ((), (2,)), ((0, 3), (1, 3))]:
                a, b = numbers(dtype, one), numbers(dtype, two)
                a.flat[: min(1, a.size)] = b.flat[: min(1, b.size)] if a.size else a.flat[:0]
                expect(f"{name} {dtype} {one} {two}", call(name, a, b)[0], getattr(np, name)(a, b), exact=True)
    a, b = numbers("float16", (40,)), numbers("float16", (40,))
    for name in ("add", "multiply", "divide"):
        expect(f"{name} float16", call(name, a, b)[0], getattr(np, name)(a, b), exact=True)

# -- conversions --

for one, two in itertools.product(NUMERIC, NUMERIC):
    a = random.integers(0, 100, (5, 7)).astype(one)
    if two == "bool" or one == "bool":
        a = random.integers(0, 2, (5, 7)).astype(one)
    x, out = array(a), ctypes.c_void_p()
    view = ctypes.c_void_p()
    check(lib.artel_ndarray_transpose(x, None, ctypes.byref(view)))
    check(lib.artel_ndarray_cast(view, NAMES.index(two), ctypes.byref(out)))
    expect(f"cast {one} {two}", numpy_of(out), a.T.astype(two), exact=True)

# -- slices --

a = numbers("int32", (6, 5))
edges = [0, 1, 4, 6, 9, -1, -3, -6, -9]
for begin, end, step in itertools.product(edges, edges, (1, 2, 7, -1, -3)):
    out, x = ctypes.c_void_p(), array(a)
    check(lib.artel_ndarray_slice(x, 0, begin, end, step, ctypes.byref(out)))
    expect(f"[{begin}:{end}:{step}]", numpy_of(out), a[begin:end:step], exact=True)
    lib.artel_ndarray_release(out)
    lib.artel_ndarray_release(x)

# -- operations of Keras --

X, Y = random.normal(0, 1, (4, 5)).astype("float32"), random.normal(0, 1, (4, 5)).astype("float32")
CUBE, M = random.normal(0, 1, (2, 3, 4)).astype("float32"), random.normal(0, 1, (5, 3)).astype("float32")
IMAGE, KERNEL = random.normal(0, 1, (2, 6, 6, 3)).astype("float32"), random.normal(0, 1, (3, 3, 3, 2)).astype("float32")
CORNERS = np.array([[0, 0], [5, 0], [0, 5], [5, 5]], "float32")
SQUARE = (np.eye(3) * 4 + random.normal(0, 0.3, (3, 3))).astype("float32")
INT, INDEX = random.integers(-9, 9, (4, 5)).astype("int32"), np.array([2, 0, 3], "int32")
SPD = (SQUARE @ SQUARE.T).astype("float32")

UNARY = """relu relu6 sigmoid tanh softplus softsign silu selu hard_sigmoid hard_silu hard_tanh tanh_shrink log_sigmoid sparse_plus sparse_sigmoid mish exp
expm1 square abs negative reciprocal sin cos erf sign floor gelu leaky_relu elu celu softmax log_softmax sum mean max min prod amax amin var std logsumexp
ones_like zeros_like transpose deg2rad rad2deg tan ceil trunc round soft_shrink hard_shrink squareplus ptp count_nonzero arctan arcsinh sinh cosh erfc exp2
cbrt sinc isnan isinf isfinite signbit sort argsort median any all argmax argmin flip cumsum nan_to_num stop_gradient""".split()
BINARY = """add subtract multiply divide divide_no_nan maximum minimum equal not_equal less less_equal greater greater_equal arctan2 hypot heaviside fmax fmin
logaddexp inner""".split()

CASES = [(name, getattr(ops, name), (X,), {}) for name in UNARY if hasattr(ops, name)]
CASES += [(name, getattr(ops, name), (np.abs(X) + 0.1,), {}) for name in ("log", "log1p", "sqrt", "rsqrt", "log2", "log10")]
CASES += [(name, getattr(ops, name), (X, Y), {}) for name in BINARY]
CASES += [(name, getattr(ops, name), (X, Y[:1]), {}) for name in ("add", "multiply", "maximum")]
CASES += [(name, getattr(ops, name), (CUBE,), {"axis": axis}) for name in ("sum", "mean", "max", "var", "argmax", "softmax", "sort", "cumsum", "flip", "logsumexp", "any", "median") for axis in (0, 1, -1)]
CASES += [(name, getattr(ops, name), (CUBE,), {"axis": [0, 2], "keepdims": True}) for name in ("sum", "mean", "max", "std", "prod")]
CASES += [
    ("matmul", ops.matmul, (X, M), {}), ("matmul", ops.matmul, (CUBE, np.swapaxes(CUBE, 1, 2)), {}), ("matmul", ops.matmul, (X, M[:, 0]), {}),
    ("matmul", ops.matmul, (CUBE, random.normal(0, 1, (4, 2)).astype("float32")), {}), ("matmul", ops.matmul, (X[0], M), {}),
    ("dot", ops.dot, (X, M), {}), ("dot", ops.dot, (X[0], M), {}),
    ("inner", ops.inner, (X, Y), {}), ("tensordot", ops.tensordot, (X, M), {"axes": 1}),
    ("einsum", lambda a, b: ops.einsum("ij,jk->ki", a, b), (X, M), {"subscripts": "ij,jk->ki"}),
    ("einsum", lambda a, b: ops.einsum("bij,bij->b", a, b), (CUBE, CUBE), {"subscripts": "bij,bij->b"}),
    ("reshape", lambda x: ops.reshape(x, (2, 10)), (X,), {"newshape": [2, 10]}), ("reshape", lambda x: ops.reshape(x, (-1,)), (X,), {"newshape": [-1]}),
    ("transpose", lambda x: ops.transpose(x, (2, 0, 1)), (CUBE,), {"axes": [2, 0, 1]}),
    ("swapaxes", lambda x: ops.swapaxes(x, 0, 2), (CUBE,), {"axis1": 0, "axis2": 2}), ("moveaxis", lambda x: ops.moveaxis(x, 0, 2), (CUBE,), {"source": 0, "destination": 2}),
    ("expand_dims", lambda x: ops.expand_dims(x, 0), (X,), {"axis": 0}), ("expand_dims", lambda x: ops.expand_dims(x, -1), (X,), {"axis": -1}),
    ("squeeze", lambda x: ops.squeeze(x, 0), (X[:1],), {"axis": 0}),
    ("concatenate", lambda *x: ops.concatenate(x, 0), (X, Y[:2]), {"axis": 0}), ("concatenate", lambda *x: ops.concatenate(x, -1), (X, Y), {"axis": -1}),
    ("stack", lambda *x: ops.stack(x, 0), (X, Y), {"axis": 0}), ("stack", lambda *x: ops.stack(x, -1), (X, Y), {"axis": -1}),
    ("split", lambda x: ops.split(x, 2, 0), (X,), {"indices_or_sections": 2, "axis": 0}), ("unstack", lambda x: ops.unstack(x, axis=1), (X,), {"axis": 1}),
    ("take", lambda t, i: ops.take(t, i, axis=0), (X, INDEX), {"axis": 0}), ("tile", lambda x: ops.tile(x, (2, 3)), (X,), {"repeats": [2, 3]}),
    ("repeat", lambda x: ops.repeat(x, 2, axis=0), (X,), {"repeats": 2, "axis": 0}), ("roll", lambda x: ops.roll(x, 2, axis=0), (X,), {"shift": 2, "axis": 0}),
    ("pad", lambda x: ops.pad(x, ((1, 0), (2, 1))), (X,), {"pad_width": [[1, 0], [2, 1]]}), ("diff", lambda x: ops.diff(x, axis=0), (X,), {"axis": 0}),
    ("clip", lambda x: ops.clip(x, -0.5, 0.5), (X,), {"x_min": -0.5, "x_max": 0.5}), ("cast", lambda x: ops.cast(x, "int32"), (X,), {"dtype": "int32"}),
    ("one_hot", lambda x: ops.one_hot(x, 4), (INDEX,), {"num_classes": 4}), ("where", ops.where, (X > 0, X, Y), {}),
    ("top_k", lambda x: list(ops.top_k(x, 2)), (X,), {"k": 2}), ("norm", lambda x: ops.norm(x, axis=1), (X,), {"axis": 1}),
    ("normalize", lambda x: ops.normalize(x, axis=-1), (X,), {"axis": -1}), ("add", ops.add, (INT, INT), {}), ("floor_divide", ops.floor_divide, (INT, np.abs(INT) + 1), {}),
    ("mod", ops.mod, (INT, np.abs(INT) + 1), {}), ("bitwise_and", ops.bitwise_and, (INT, INT[:1]), {}), ("logical_and", ops.logical_and, (X > 0, Y > 0), {}),
    ("logical_not", ops.logical_not, (X > 0,), {}), ("conv", ops.conv, (IMAGE, KERNEL), {}), ("max_pool", lambda x: ops.max_pool(x, 2), (IMAGE,), {"pool_size": 2}),
    ("average_pool", lambda x: ops.average_pool(x, 2), (IMAGE,), {"pool_size": 2}), ("inv", ops.linalg.inv, (SQUARE,), {}), ("det", ops.linalg.det, (SQUARE,), {}),
    ("cholesky", ops.linalg.cholesky, (SPD,), {}), ("solve", ops.linalg.solve, (SQUARE, M[:3]), {}),
    ("take_along_axis", lambda x, i: ops.take_along_axis(x, i, axis=1), (X, np.abs(INT) % 5), {"axis": 1}),
    ("affine_transform", ops.image.affine_transform, (IMAGE, np.array([1.1, 0.1, -0.3, 0.05, 0.9, 0.2, 0.01, 0], "f4")), {}),
    ("perspective_transform", ops.image.perspective_transform, (IMAGE, CORNERS, CORNERS + np.array([[0.3, 0.2], [-0.4, 0.1], [0.2, -0.3], [-0.1, -0.6]], "f4")), {}),
]
for ARRAY in (CUBE, INT[:, :4].reshape(2, 2, 4), CUBE > 0):
    PLACE = {"start_indices": [0, 1, 2], "shape": [2, 1, 2]}
    CASES += [
        ("slice", lambda x: ops.slice(x, (0, 1, 2), (2, 1, 2)), (ARRAY,), PLACE), ("ravel", ops.ravel, (ARRAY,), {}), ("flipud", ops.flipud, (ARRAY,), {}),
        ("vstack", lambda *x: ops.vstack(x), (ARRAY, ARRAY[:1]), {}), ("vstack", lambda *x: np.vstack(x), (ARRAY[0, 0], ARRAY[0, 1]), {}),
        ("broadcast_to", lambda x: ops.broadcast_to(x, (3, 2, 5, 4)), (ARRAY[:, :1],), {"shape": [3, 2, 5, 4]}), ("broadcast_to", lambda x: ops.broadcast_to(x, (2,)), (ARRAY[0, 0, 0],), {"shape": [2]}),
        ("broadcast_to", lambda x: ops.broadcast_to(x, (0, 4)), (ARRAY[0, :1],), {"shape": [0, 4]}), ("slice", lambda x: ops.slice(x, (0, 1, 2), (0, 1, 2)), (ARRAY,), {**PLACE, "shape": [0, 1, 2]}),
    ]

for name in ("sum", "mean", "max", "amin", "prod"):
    CASES.append((name, getattr(ops, name), (X[0, 0],), {"keepdims": True}))
for offset in (-4, 5, -9):  # outside
    CASES += [("diagonal", lambda x, k=offset: np.diagonal(x, k), (X,), {"offset": offset}), ("trace", lambda x, k=offset: np.trace(x, k), (X,), {"offset": offset})]
for short in (X[:, :1], X[:, :0]):
    CASES += [("diff", lambda x: np.diff(x, axis=1), (short,), {"axis": 1}), ("diff", lambda x: np.diff(x, 3, axis=1), (short,), {"axis": 1, "n": 3}), ("trapezoid", lambda x: np.trapezoid(x, axis=1), (short,), {"axis": 1})]

refused = {}
for name, function, inputs, attributes in CASES:
    what = f"{name} {[x.shape for x in inputs]} {attributes}"
    try:
        got = call(name, *inputs, **attributes)
    except Refused as error:
        refused[what] = str(error)
        continue
    wanted = function(*inputs) if len(attributes) == 0 or "lambda" in repr(function) else function(*inputs, **{k: tuple(v) if isinstance(v, list) else v for k, v in attributes.items()})
    wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    if len(got) != len(wanted):
        faults.append(f"{what}: {len(got)} results, wanted {len(wanted)}")
    for g, w in zip(got, wanted):
        expect(what, g, keras.ops.convert_to_numpy(w))
faults += [f"{what}: refused: {why}" for what, why in refused.items()]

# -- gradients of functions, as TensorFlow's --

@Trace
def trace(_user, graph, inputs, outputs):
    product = lib.artel_graph_binary(graph, b"matmul", inputs[0], inputs[1])
    target = lib.artel_graph_unary(graph, b"sum", lib.artel_graph_binary(graph, b"multiply", lib.artel_graph_unary(graph, b"tanh", product), product))
    return lib.artel_graph_gradients(graph, target, ctypes.cast(inputs, ctypes.c_void_p), 2, ctypes.cast(outputs, ctypes.c_void_p))


import tensorflow as tf  # noqa: E402  (after Keras has set it up)

function, out = ctypes.c_void_p(), (ctypes.c_void_p * 2)()
check(lib.artel_eager_function_create(EAGER, b"slope", ctypes.cast(trace, ctypes.c_void_p), None, 2, ctypes.byref(function)))
EMPTY = [(np.zeros(a, "f4"), np.zeros(b, "f4")) for a, b in (((2, 0), (0, 3)), ((0, 2), (2, 3)), ((0,), (0,)), ((2, 0, 3), (3, 2)), ((2, 3, 0), (2, 0, 4)))]
for left, right in ((X, M), (X[0], M), (CUBE, X[:4, :2].copy()), (CUBE, np.swapaxes(CUBE, 1, 2).copy()), *EMPTY):
    made = (ctypes.c_void_p * 2)(array(left), array(right))
    try:
        check(lib.artel_eager_call(function, ctypes.cast(made, ctypes.c_void_p), 2, ctypes.cast(out, ctypes.c_void_p), 2))
    except Refused as error:
        faults.append(f"slope {left.shape} {right.shape}: {error}")
        continue
    with tf.GradientTape() as tape:
        a, b = tf.constant(left), tf.constant(right)
        tape.watch([a, b])
        p = ops.matmul(a, b)
        y = tf.reduce_sum(tf.tanh(p) * p)
    for i, slope in enumerate(tape.gradient(y, [a, b])):
        expect(f"slope {i} of {left.shape} {right.shape}", numpy_of(ctypes.c_void_p(out[i])), slope.numpy())
# -- gradients of gradients: of sum(w . d f / d x_i), as TensorFlow's of Keras' own functions --

NAMED = """tanh sigmoid exp relu softplus silu selu elu celu gelu leaky_relu log_sigmoid tanh_shrink softsign sparse_plus square sin
cos erf expm1 squareplus hard_silu hard_sigmoid abs negative relu6 hard_tanh soft_shrink hard_shrink sparse_sigmoid softmax log_softmax mean max cumsum arctan sinh transpose""".split()
OWN = {"softsign": lambda x: x / (1 + tf.abs(x)), "selu": lambda x: 1.05070098 * tf.where(x > 0, x, 1.67326324 * tf.exp(x) - 1.67326324)}  # TensorFlow differentiates its own once
ONE = [("prod", ops.prod, X[:, :0])] + [(name, OWN.get(name) or getattr(ops, name), X) for name in NAMED] + [(name, getattr(ops, name), np.abs(X) + 0.2) for name in ("log", "log1p", "sqrt", "rsqrt", "reciprocal")]
TWO = [(name, getattr(ops, name), a, b) for name, a, b in (
    ("multiply", X, Y), ("divide", X, np.abs(Y[:1]) + 0.3), ("maximum", X, Y[0]), ("power", np.abs(X) + 0.2, Y), ("subtract", X, Y), ("matmul", X, M), ("matmul", CUBE, np.swapaxes(CUBE, 1, 2).copy()),
    ("logaddexp", X, Y), ("arctan2", X, Y))]


def second(name, count, attributes):
    @Trace
    def trace(_user, graph, inputs, outputs):
        values = ctypes.cast(inputs, ctypes.c_void_p)
        text = json.dumps(attributes).encode() if attributes else None
        y = lib.artel_graph_op(graph, name.encode(), values, count, text)
        y = lib.artel_graph_binary(graph, b"multiply", y, lib.artel_graph_unary(graph, b"sin", y))
        slope = (ctypes.c_int32 * 2)()
        lib.artel_graph_gradients(graph, y, values, count, ctypes.cast(slope, ctypes.c_void_p))
        total = -1
        for i in range(count):
            part = lib.artel_graph_unary(graph, b"sum", lib.artel_graph_binary(graph, b"multiply", slope[i], lib.artel_graph_unary(graph, b"cos", inputs[i])))
            total = part if total < 0 else lib.artel_graph_binary(graph, b"add", total, part)
        return lib.artel_graph_gradients(graph, total, values, count, ctypes.cast(outputs, ctypes.c_void_p))
    return trace


kept = []
for name, keras_function, *inputs in ONE + TWO:
    attributes = {"axis": 1} if name in ("cumsum", "max") else {}
    function, out = ctypes.c_void_p(), (ctypes.c_void_p * 2)()
    kept.append(second(name, len(inputs), attributes))
    check(lib.artel_eager_function_create(EAGER, b"second", ctypes.cast(kept[-1], ctypes.c_void_p), None, len(inputs), ctypes.byref(function)))
    made = (ctypes.c_void_p * 2)(*(array(x) for x in inputs))
    try:
        check(lib.artel_eager_call(function, ctypes.cast(made, ctypes.c_void_p), len(inputs), ctypes.cast(out, ctypes.c_void_p), len(inputs)))
    except Refused as error:
        faults.append(f"second {name}: {error}")
        continue
    variables = [tf.constant(x) for x in inputs]
    with tf.GradientTape() as outer:
        outer.watch(variables)
        with tf.GradientTape() as inner:
            inner.watch(variables)
            y = keras_function(*variables, **attributes)
            y = tf.reduce_sum(y * tf.sin(y))
        total = tf.add_n([tf.reduce_sum(slope * tf.cos(x)) for slope, x in zip(inner.gradient(y, variables), variables)])
    for i, wanted in enumerate(outer.gradient(total, variables)):
        got, wanted = numpy_of(ctypes.c_void_p(out[i])), wanted.numpy()
        if not np.allclose(got, wanted, rtol=2e-4, atol=2e-4):
            faults.append(f"second {name} {i}: {got.ravel()[:4]}, wanted {wanted.ravel()[:4]}, {np.abs(got - wanted).max()} apart")

sys.exit(finish())
