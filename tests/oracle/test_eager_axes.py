# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Axes of operations on whole arrays and in functions: counted as keras.ops and NumPy count them, whether the call names them, leaves them out, or
the operation has axes of its own (hstack, fliplr, ...). Arrays of one to four axes."""
import sys

import numpy as np

from eager import Refused, call, call_in_function, expect, faults, finish
from oracle import keras_module

ops = keras_module().ops
random = np.random.default_rng(5)


def numbers(*shape):
    return random.normal(0, 1, shape).astype("float32")


LINE, MATRIX, CUBE, FOUR = numbers(6), numbers(4, 6), numbers(2, 4, 6), numbers(4, 4, 4, 6)
SQUARE, PAIRS = numbers(3, 3), numbers(2, 4, 3)
ALL = (LINE, MATRIX, CUBE, FOUR)
INDEX, TABLE = np.array([2, 0, 1], "int32"), np.array([[1, 0], [3, 2]], "int32")

# name, arrays (those of a list of tensors as they are), attributes
ROWS = [(name, (x, x[::-1].copy()), {}) for name in ("hstack", "dstack") for x in ALL]
ROWS += [("hsplit", (x,), {"indices_or_sections": 2}) for x in ALL]
ROWS += [("hsplit", (MATRIX,), {"indices_or_sections": [1, 4]}), ("hsplit", (LINE,), {"indices_or_sections": [2, 3]})]
ROWS += [("dsplit", (x,), {"indices_or_sections": 2}) for x in (CUBE, FOUR)]
ROWS += [("array_split", (x,), {"indices_or_sections": 2}) for x in ALL] + [("array_split", (CUBE,), {"indices_or_sections": 4, "axis": axis}) for axis in (1, 2, -1, -2)]
ROWS += [("fliplr", (x,), {}) for x in ALL[1:]] + [("flip", (x,), {}) for x in ALL] + [("flip", (FOUR,), {"axis": axis}) for axis in (0, 2, -1, [0, 3])]
ROWS += [("rot90", (x,), {"k": k}) for x in ALL[1:] for k in (1, 2, -1)] + [("rot90", (FOUR,), {"axes": axes}) for axes in ([0, 1], [1, 3], [-1, 0])]
ROWS += [(name, (x,), {}) for name in ("diagonal", "trace") for x in ALL[1:]]
ROWS += [(name, (FOUR,), {"axis1": a, "axis2": b, "offset": o}) for name in ("diagonal", "trace") for a, b, o in ((0, 1, 0), (1, 3, 1), (-1, 0, -1), (2, 3, 2))]
ROWS += [("concatenate", (x, x[::-1].copy()), attributes) for x in ALL for attributes in ({}, {"axis": 0}, {"axis": -1})]
ROWS += [("append", (x, x[:1].copy()), {}) for x in ALL] + [("append", (CUBE, CUBE), {"axis": axis}) for axis in (0, 1, -1)]
ROWS += [("stack", (x, x[::-1].copy()), attributes) for x in ALL for attributes in ({}, {"axis": 1}, {"axis": -1}, {"axis": -2})]
ROWS += [("split", (x,), {"indices_or_sections": 2}) for x in ALL] + [("split", (FOUR,), {"indices_or_sections": [1, 2], "axis": axis}) for axis in (1, 2, -1)]
ROWS += [("unstack", (x,), {}) for x in ALL] + [("unstack", (FOUR,), {"axis": axis}) for axis in (1, -1, -2)]
ROWS += [("repeat", (x,), {"repeats": 3}) for x in ALL] + [("repeat", (CUBE,), {"repeats": 2, "axis": axis}) for axis in (0, 1, -1)]
ROWS += [("roll", (x,), {"shift": shift}) for x in ALL for shift in (2, -3)] + [("roll", (CUBE,), {"shift": 1, "axis": axis}) for axis in (0, 1, -1)]
ROWS += [("moments", (FOUR,), {"axes": axes, "keepdims": keep}) for axes in ([0], [0, 1], [1, -1], [0, 1, 2, 3]) for keep in (False, True)] + [("moments", (LINE,), {"axes": [0]})]
ROWS += [("take", (x, index), {}) for x in ALL for index in (INDEX, TABLE)]
ROWS += [("take", (FOUR, index), {"axis": axis}) for axis in (0, 1, 2, -1, -2) for index in (INDEX, TABLE)]
ROWS += [("take_along_axis", (LINE, INDEX), {"axis": 0}), ("take_along_axis", (MATRIX, np.abs(MATRIX * 3).astype("int32") % 4), {"axis": 0})]
ROWS += [("cross", (PAIRS, PAIRS[::-1].copy()), {}), ("cross", (SQUARE, SQUARE.T.copy()), {"axis": 0}), ("cross", (SQUARE, SQUARE.T.copy()), {"axisa": 0, "axisb": 1, "axisc": 0})]
ROWS += [("tensordot", (MATRIX, MATRIX), {"axes": [[0], [0]]}), ("tensordot", (CUBE, FOUR), {"axes": [[1, 2], [2, 3]]}), ("tensordot", (CUBE, numbers(6, 5)), {"axes": 1}), ("tensordot", (CUBE, numbers(4, 6)), {"axes": 2})]
ROWS += [("kron", (MATRIX, SQUARE), {}), ("kron", (CUBE, SQUARE), {}), ("kron", (LINE, MATRIX), {})]
ROWS += [(name, (FOUR,), {"axis": axis}) for name in ("argmax", "cumsum", "sort", "argsort", "diff", "median", "softmax", "average", "expand_dims") for axis in (0, 1, -1, -3)]
ROWS += [(name, (x,), {}) for name in ("argmin", "sum", "mean", "var", "logsumexp", "any", "median", "diff", "transpose", "tril", "triu", "squeeze") for x in (MATRIX, FOUR)]
LISTS = ("hstack", "dstack", "concatenate", "stack")
OTHER = ("mean", "var", "median", "average")  # which NumPy computes in float64


def wanted_of(name, inputs, attributes):
    """NumPy's results, or those of Keras of what NumPy has not."""
    place = np if hasattr(np, name) and name not in OTHER else ops
    given = {key: tuple(value) if key in ("axis", "axes") and isinstance(value, list) else value for key, value in attributes.items()}
    wanted = getattr(place, name)(list(inputs), **given) if name in LISTS else getattr(place, name)(*inputs, **given)
    return [np.asarray(w) for w in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]


for name, inputs, attributes in ROWS:
    what = f"{name} {[x.shape for x in inputs]} {attributes}"
    wanted = wanted_of(name, inputs, attributes)
    for way in ("array", "function"):
        try:
            got = call(name, *inputs, **attributes) if way == "array" else call_in_function(name, len(wanted), *inputs, **attributes)
        except Refused as error:
            faults.append(f"{way} {what}: refused: {error}")
            continue
        if len(got) != len(wanted):
            faults.append(f"{way} {what}: {len(got)} results, wanted {len(wanted)}")
        for g, w in zip(got, wanted):
            expect(f"{way} {what}", g, w)

# -- what is refused there is refused here: an axis twice, extremes of nothing; operands that mean nothing, which Python's calls do not take --

NOTHING, TWICE = np.zeros((0, 3), "float32"), [1, -1]
WRONG = [(name, (MATRIX,), {"axis": TWICE}) for name in ("sum", "mean", "max", "any", "std", "logsumexp", "median", "nansum", "count_nonzero", "flip", "norm", "layer_normalization")]
WRONG += [("expand_dims", (MATRIX,), {"axis": [-1, -1]}), ("moments", (MATRIX,), {"axes": TWICE}), ("rot90", (MATRIX,), {"axes": TWICE}), ("quantile", (MATRIX,), {"q": 0.5, "axis": TWICE})]
WRONG += [(name, (NOTHING,), {"axis": 0}) for name in ("max", "min", "argmax", "argmin", "amax")]
for name, inputs, attributes in WRONG:
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in attributes.items()}
    for who, refused in (("Keras", lambda: getattr(ops, name)(*inputs, **given)), ("artel", lambda: call(name, *inputs, **attributes))):
        try:
            refused()
            faults.append(f"{who} takes {name} {[x.shape for x in inputs]} {attributes}")
        except Exception:  # Keras has many kinds
            pass
for name, count in (("exp", 2), ("add", 3), ("sum", 2), ("clip", 4), ("where", 4), ("matmul", 3), ("sort", 2), ("floor_divide", 3), ("transpose", 2), ("equal", 3), ("relu", 2)):
    try:
        call(name, *[SQUARE] * count)
        faults.append(f"{name} takes {count} arrays")
    except Refused:
        pass
expect("squeeze, an axis twice", call("squeeze", MATRIX[:, :1], axis=TWICE)[0], ops.squeeze(MATRIX[:, :1], (1, -1)))

# -- clip: limits that are NaN, crossed, or arrays --

NUMBERS = np.array([-2, -0.0, 0.5, 3, np.nan, np.inf, -np.inf], "float32")
for low, high in ((np.nan, 1.0), (0.0, np.nan), (1.0, -1.0), (-1.0, 1.0)):
    expect(f"clip {low} {high}", call("clip", NUMBERS, x_min=low, x_max=high)[0], ops.clip(NUMBERS, low, high))
    expect(f"clip {low} {high} of arrays", call("clip", NUMBERS, np.float32(low), np.full(7, high, "float32"))[0], ops.clip(NUMBERS, np.float32(low), np.full(7, high, "float32")))

sys.exit(finish())
