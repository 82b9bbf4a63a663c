# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Sorting, quantiles, elements by index, places among constants, bits and divisors of integers: one form a branch (rows.py)."""

import numpy as np

from oracle import K
from rows import Family, Form, main


def holes(ops, x):
    """Some elements are no numbers; never all of them."""
    return ops.where(x > 0.8, float("nan"), x)


def order(ops, draw):
    for rank in (1, 2, 3):
        shape, axis = draw.shape(rank), draw.axis(rank)
        yield Form("sort %d %d" % (rank, axis), shape, lambda x, axis=axis: ops.sort(x, axis=axis))
        yield Form("argsort %d %d" % (rank, axis), shape, lambda x, axis=axis: ops.argsort(x, axis=axis), trains=False)
        k = draw.randint(1, shape[-1])
        yield Form("top_k %d" % k, shape, lambda x, k=k: ops.top_k(x, k)[0])
        yield Form("top_k's places %d" % k, shape, lambda x, k=k: ops.top_k(x, k)[1], trains=False)
        yield Form("argmin %d" % axis, shape, lambda x, axis=axis: ops.argmin(x, axis=axis), trains=False)
        yield Form("argmin of kept axes", shape, lambda x, axis=axis: ops.argmin(x, axis=axis, keepdims=True) + ops.argmax(x, axis=axis, keepdims=True), trains=False)
        yield Form("nanargmax %d" % axis, shape, lambda x, axis=axis: ops.nanargmax(holes(ops, x), axis=axis), trains=False)
        yield Form("nanargmin %d" % axis, shape, lambda x, axis=axis: ops.nanargmin(holes(ops, x), axis=axis, keepdims=True), trains=False)
    yield Form("sort of equals", (12,), lambda x: ops.argsort(ops.round(x), axis=-1), trains=False)
    yield Form("sort of integers", (9,), lambda k: ops.sort(k), whole=7)
    yield Form("sort of truth values", (5, 4), lambda x: ops.sort(x > 0, axis=1), trains=False)
    yield Form("top_k of integers", (9,), lambda k: ops.top_k(k, 3)[1], whole=5)
    yield Form("in_top_k", (7,), lambda x: ops.in_top_k(ops.argmax(ops.cos(5 * x), axis=-1), x, 3), trains=False)


def quantiles(ops, draw):
    for rank in (1, 2, 3):
        shape, axis, q = draw.shape(rank, 2, 6), draw.axis(rank), round(draw.random(), 3)
        for method in ("linear", "lower", "higher", "nearest", "midpoint"):
            yield Form("quantile %s %g" % (method, q), shape, lambda x, q=q, a=axis, m=method: ops.quantile(x, q, axis=a, method=m))
            yield Form("nanpercentile %s %g" % (method, q), shape, lambda x, q=q, a=axis, m=method: ops.nanpercentile(holes(ops, x), 100 * q, axis=a, method=m), trains=False)
        yield Form("median", shape, lambda x, a=axis: ops.median(x, axis=a, keepdims=True))
        yield Form("nanmedian", shape, lambda x, a=axis: ops.nanmedian(holes(ops, x), axis=a), trains=False)
        yield Form("percentile", shape, lambda x, a=axis, q=q: ops.percentile(x, 100 * q, axis=a, keepdims=True))
    yield Form("quantile of axes", (3, 4, 2), lambda x: ops.quantile(x, 0.4, axis=(1, -1)))
    yield Form("quantile's ends", (5,), lambda x: ops.quantile(x, 0.0, axis=1) + ops.quantile(x, 1.0, axis=1))
    yield Form("quantile with holes", (3, 4), lambda x: ops.quantile(holes(ops, x), 0.5, axis=-1), trains=False)


def index(ops, draw):
    for rank in (1, 2, 3):
        shape, axis = draw.shape(rank, 3, 6), draw.axis(rank)
        at = axis if axis > 0 else axis + rank + 1
        picks = [draw.randint(-shape[at - 1], shape[at - 1] - 1) for _ in range(5)]
        yield Form("take %s" % picks, shape, lambda x, p=picks, a=axis: ops.take(x, p, axis=a))
        yield Form("take of one", shape, lambda x, p=picks[0], a=axis: ops.take(x, p, axis=a))
        yield Form("take of a table", shape, lambda x, p=picks[:4], a=axis: ops.take(x, np.reshape(p, (2, 2)), axis=a))
        yield Form("take_along_axis", shape, lambda x, a=axis: ops.take_along_axis(x, ops.argsort(x, axis=a), axis=a))
        own = list(shape)
        own[at - 1] = 3
        limits = np.array([draw.randint(-shape[at - 1], shape[at - 1] - 1) for _ in range(int(np.prod(own)))]).reshape([1] + own)
        yield Form("take_along_axis of constants", shape, lambda x, i=limits, a=axis: ops.take_along_axis(x, i, axis=a))
        narrow = [1] + [1] * rank
        narrow[at] = 2
        spread = np.array([0, -1]).reshape(narrow)
        yield Form("take_along_axis spread", shape, lambda x, i=spread, a=axis: ops.take_along_axis(x, i, axis=a))
    table = draw.numbers(6, 4, 2)
    yield Form("take from a table", (3,), lambda k: ops.take(table, k - 2, axis=0), whole=6)
    yield Form("take of integers", (7,), lambda k: ops.take(k, [3, -1, 0], axis=1), whole=50000)
    yield Form("take_along_axis of integers", (7,), lambda k: ops.take_along_axis(k, ops.argsort(k, axis=-1), axis=-1), whole=900)
    bins = np.sort(draw.numbers(6))
    for side in ("left", "right"):
        yield Form("searchsorted " + side, (1,), lambda x, s=side: ops.searchsorted(bins, ops.squeeze(x, -1), side=s), trains=False)
        yield Form("searchsorted of equals " + side, (1,), lambda k, s=side: ops.searchsorted(np.array([1, 1, 3, 5], "i4"), ops.squeeze(k, -1), side=s), whole=7)
    yield Form("digitize", (4, 3), lambda x: ops.digitize(x, bins), trains=False)
    yield Form("digitize integers", (9,), lambda k: ops.digitize(k, np.array([1, 3, 4])), whole=7)
    yield Form("isin", (9,), lambda k: ops.isin(k, np.array([1, 4, 9])), whole=7)
    yield Form("isin turned", (3, 4), lambda k: ops.isin(k, np.array([[1, 4], [2, 2]]), invert=True), whole=7)
    yield Form("multi_hot", (4,), lambda k: ops.multi_hot(k, 7), whole=7)
    yield Form("multi_hot of lists", (4, 3), lambda k: ops.multi_hot(k, 5), whole=7)
    yield Form("one_hot", (4, 3), lambda k: ops.one_hot(k, 5), whole=7)
    for axis in (1, 2):
        yield Form("one_hot at %d" % axis, (4, 3), lambda k, a=axis: ops.one_hot(k, 5, axis=a), whole=7)
    for i in range(3):
        yield Form("unravel_index %d" % i, (4, 3), lambda k, i=i: ops.unravel_index(k, (3, 5, 4))[i], whole=60)


def integers(ops, draw):
    two = lambda name: lambda a, b: getattr(ops, name)(a - 30, b - 40)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield Form(name, (12,), two(name), whole=97, inputs=2)
        yield Form(name + " with a constant", (12,), lambda a, name=name: getattr(ops, name)(a - 30, np.array(0x155555, "int32")), whole=97)
    for name in ("gcd", "lcm"):
        yield Form(name, (12,), lambda a, b, name=name: getattr(ops, name)(a, b), whole=97, inputs=2)
        yield Form(name + " with a constant", (12,), lambda a, name=name: getattr(ops, name)(a, np.array(12, "int32")), whole=97)
    for name in ("bitwise_left_shift", "left_shift", "bitwise_right_shift", "right_shift"):
        yield Form(name, (12,), lambda a, b, name=name: getattr(ops, name)(a - 10, b), whole=18, inputs=2)
        yield Form(name + " by a constant", (3, 4), lambda a, name=name: getattr(ops, name)(a - 10, np.array(3, "int32")), whole=97)
    yield Form("bitwise_not", (12,), lambda a: ops.bitwise_not(a - 20) + ops.bitwise_invert(a), whole=97)


REFUSED = [
    Form("sort of the batch", (3,), lambda x: K.ops.sort(x, axis=0)),
    Form("argmin of the batch", (3,), lambda x: K.ops.expand_dims(K.ops.argmin(x, axis=0), 0)),
    Form("quantile of all", (3,), lambda x: K.ops.reshape(K.ops.quantile(x, 0.5), (1, 1))),
    Form("several quantiles", (3, 2), lambda x: K.ops.transpose(K.ops.quantile(x, [0.5, 0.2], axis=1), (1, 0, 2))),
    Form("take of the batch", (3,), lambda x: K.ops.take(x, [0], axis=0)),
    Form("take outside", (3,), lambda x: K.ops.take(x, [3], axis=1)),
    Form("take_along_axis of the batch", (3,), lambda x: K.ops.take_along_axis(x, np.zeros((1, 3), "i4"), axis=0)),
    Form("bits of truth values", (3,), lambda x: K.ops.bitwise_and(x > 0, x > 1)),
]

if __name__ == "__main__":
    main([Family("order", order), Family("quantiles", quantiles), Family("elements by index", index), Family("integers", integers, REFUSED)])
