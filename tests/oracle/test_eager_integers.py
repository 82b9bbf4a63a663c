# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""int32, and in functions int64, in operations of keras.ops, as arrays and in functions: where Keras gives whole numbers they are those, to the last digit, beyond 2^24 too."""
import sys

import numpy as np

from eager import Refused, call, call_in_function, expect, faults, finish
from oracle import keras_module

keras = keras_module()
ops = keras.ops
random = np.random.default_rng(5)


def whole(*shape, most=2**30):
    return random.integers(-most, most, shape).astype("int32")


X, Y, LINE = whole(4, 5), whole(4, 5), whole(5)
CUBE, INDEX, MASK = whole(2, 3, 4, most=2**26), np.array([2, 0, 3], "int32"), random.integers(0, 2, (4, 5)).astype("bool")
SMALL, M = whole(4, 5, most=2**13), whole(5, 3, most=2**13)
PLUS = np.abs(SMALL) % 90 + 1
ROWS = [(name, (X,), {}) for name in "abs absolute negative sign max min amax amin ptp sort argsort argmax argmin flip transpose zeros_like ones_like copy stop_gradient count_nonzero relu relu6 round trunc nan_to_num nanmax nanmin tril triu fliplr rot90 diagonal squeeze".split() if hasattr(ops, name)]
ROWS += [(name, (CUBE,), {"axis": axis}) for name in ("sum", "max", "min", "cumsum", "sort", "argsort", "argmax", "flip", "diff") for axis in (0, 1, -1)]
ROWS += [(name, (CUBE,), {"axis": [0, 2], "keepdims": True}) for name in ("sum", "max", "min")]
ROWS += [(name, (X // 8, Y // 8), {}) for name in ("add", "subtract", "maximum", "minimum", "fmax", "fmin")] + [(name, (X // 8, LINE // 8), {}) for name in ("add", "maximum")]
ROWS += [(name, (SMALL, SMALL[::-1].copy()), {}) for name in ("multiply", "inner")]
ROWS += [(name, (X, PLUS), {}) for name in ("floor_divide", "mod", "fmod") if hasattr(ops, name)]
ROWS += [(name, (X, Y), {}) for name in ("equal", "less", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor")]
ROWS += [
    ("sum", (CUBE,), {}), ("square", (SMALL,), {}), ("prod", (PLUS % 5 + 1,), {"axis": 0}), ("cumprod", (PLUS % 5 + 1,), {"axis": 0}), ("power", (PLUS % 30, PLUS % 4), {}),
    ("clip", (X,), {"x_min": -(2**29) - 1, "x_max": 2**28 + 1}), ("clip", (X, Y // 2, LINE), {}), ("nanprod", (PLUS % 5 + 1,), {"axis": 0}), ("nansum", (SMALL,), {}), ("nancumsum", (SMALL,), {"axis": 1}), ("nancumprod", (PLUS % 5 + 1,), {"axis": 0}), ("where", (MASK, X, Y), {}), ("full_like", (X,), {"fill_value": 7}),
    ("matmul", (SMALL, M), {}), ("dot", (SMALL, M), {}), ("tensordot", (SMALL, M), {"axes": 1}), ("einsum", (SMALL, M), {"subscripts": "ij,jk->ki"}), ("kron", (SMALL, M), {}), ("trace", (CUBE,), {}),
    ("take", (X, INDEX), {"axis": 1}), ("take", (X, INDEX), {"axis": 0}), ("isin", (X, X[:1] + 1), {}), ("digitize", (SMALL,), {"bins": [-99.0, 0.0, 99.0]}), ("add", (X, MASK), {}), ("take_along_axis", (X, np.argsort(X).astype("int32")), {"axis": 1}), ("reshape", (X,), {"newshape": [2, 10]}), ("expand_dims", (X,), {"axis": 1}),
    ("swapaxes", (CUBE,), {"axis1": 0, "axis2": 2}), ("moveaxis", (CUBE,), {"source": 0, "destination": 2}), ("tile", (X,), {"repeats": [2, 3]}), ("repeat", (X,), {"repeats": 2, "axis": 1}),
    ("roll", (X,), {"shift": 2, "axis": 0}), ("pad", (X,), {"pad_width": [[1, 0], [2, 1]]}), ("split", (X,), {"indices_or_sections": 2}), ("unstack", (X,), {}), ("top_k", (X,), {"k": 2}),
    ("concatenate", (X, Y), {}), ("stack", (X, Y), {}), ("hstack", (X, Y), {}), ("append", (X, Y), {"axis": 0}), ("cast", (X,), {"dtype": "float64"}),
    ("divide", (SMALL, PLUS), {}), ("mean", (SMALL,), {}), ("sqrt", (PLUS,), {}), ("add", (SMALL, np.float32(0.5)), {}),
]
# What leaves int32's range wraps around here, in arrays and in functions alike, as in TensorFlow.
WIDE, OTHER = random.integers(-(2**31), 2**31, (2, 40, 5)).astype("int32")
WIDE.flat[:4], OTHER.flat[:4] = (2**31 - 1, -(2**31), -(2**31), 2**31 - 1), (1, -1, -(2**31), 2**31 - 1)
ROWS += [(name, pair, {}) for name in ("add", "subtract", "multiply") for pair in ((WIDE, OTHER), (WIDE, OTHER[:1]), (OTHER[0], WIDE), (WIDE, OTHER > 0), (WIDE[0, 0], OTHER))]
# int64, in functions: beyond 2^53, and wrapping around.
L, M64 = random.integers(-(2**63), 2**63, (2, 4, 5), dtype="int64")
L.flat[:4], M64.flat[:4] = (2**63 - 1, -(2**63), -(2**63), 2**53 + 1), (1, -1, 7, 2**53)
FEW = random.integers(-9, 60, (4, 5)).astype("int64")
LONG = [(name, (L, M64), {}) for name in ("add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor")]
LONG += [(name, (L, PLUS.astype("int64") * (1 - 2 * (M64 % 2))), {}) for name in ("floor_divide", "mod")] + [("gcd", (L // 2, M64 // 2), {}), ("lcm", (FEW, FEW[::-1].copy()), {})]
LONG += [(name, (L, np.abs(FEW)), {}) for name in ("left_shift", "right_shift")] + [("add", (L, X), {}), ("multiply", (L, MASK), {}), ("subtract", (X, L[0]), {})]
LONG += [(name, (L,), {}) for name in ("negative", "absolute", "square", "bitwise_invert", "copy", "stop_gradient", "transpose", "flip", "tril", "triu", "diagonal", "squeeze", "unstack", "trace")]
LONG += [(name, (L,), attributes) for name, attributes in (("sum", {}), ("sum", {"axis": 1, "keepdims": True}), ("cumsum", {"axis": 0}), ("reshape", {"newshape": [2, 10]}), ("expand_dims", {"axis": 1}), ("tile", {"repeats": [2, 3]}), ("repeat", {"repeats": 2, "axis": 1}), ("roll", {"shift": 2, "axis": 0}), ("moveaxis", {"source": 0, "destination": 1}), ("split", {"indices_or_sections": 2}), ("cast", {"dtype": "float64"}), ("cast", {"dtype": "float32"}), ("cast", {"dtype": "bool"}))]
LONG += [("where", (MASK, L, M64), {}), ("take", (L, INDEX.astype("int64")), {"axis": 1}), ("take", (L, INDEX), {"axis": 0}), ("take_along_axis", (L, np.argsort(L)), {"axis": 1}), ("concatenate", (L, M64), {}), ("stack", (L, M64), {}), ("hstack", (L, M64), {}), ("cast", (X,), {"dtype": "int64"}), ("logical_and", (L, FEW), {})]
LONG += [("add", (FEW, np.float32(0.5)), {}), ("multiply", (FEW, np.float64(0.1)), {}), ("take", (X, INDEX.astype("int64")), {"axis": 1})]
LONG += [("cast", (np.abs(FEW) + 3000000001,), {"dtype": "uint32"})]
LISTS = ("concatenate", "stack", "hstack")


PRODUCTS = {"matmul": np.matmul, "dot": np.dot, "inner": np.inner, "einsum": lambda a, b, subscripts: np.einsum(subscripts, a, b)}  # which Keras rounds to float32


def by_keras(name, inputs, attributes):
    given = {key: tuple(value) if isinstance(value, list) and key != "newshape" else value for key, value in attributes.items()}
    if name in PRODUCTS:
        return PRODUCTS[name](*inputs, **given)
    return getattr(ops, name)(list(inputs), **given) if name in LISTS else getattr(ops, name)(*inputs, **given)


for name, inputs, attributes in ROWS + LONG:
    wanted = by_keras(name, [np.asarray(x) for x in inputs], attributes)
    wanted = [np.asarray(x) for x in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
    ways = (("array", lambda: call(name, *inputs, **attributes)), ("function", lambda: call_in_function(name, len(wanted), *inputs, **attributes)))
    for where, results in ways[1:] if any(np.asarray(x).dtype == "int64" for x in inputs) or attributes.get("dtype") == "int64" else ways:
        try:
            for got, want in zip(results(), wanted, strict=True):
                expect(f"{where} {name} {attributes or ''}", got, want, exact=want.dtype.kind in "iub")
        except Exception as e:
            faults.append(f"{where} {name} {attributes or ''}: {e}")
for name in ("sqrt", "sort", "max", "softmax", "sign"):  # what would be rounded in silence
    try:
        call_in_function(name, 1, L)
        faults.append(f"int64 {name} is taken")
    except Refused as refusal:
        if "int64" not in str(refusal):
            faults.append(f"int64 {name}: {refusal}")
sys.exit(finish())
