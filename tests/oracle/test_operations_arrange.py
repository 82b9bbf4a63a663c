# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Diagonals, turns, blocks, joins, running products, means and moments: one form a branch (rows.py)."""

import numpy as np

from oracle import K
from rows import Family, Form, main


def holes(ops, x):
    return ops.where(x > 0.8, float("nan"), x)


def arrange(ops, draw):
    n, m, c = draw.shape(3, 2, 5)
    for name in ("copy", "convert_to_tensor", "real", "conj", "conjugate", "array"):
        yield Form(name, (n, m), lambda x, f=getattr(ops, name): f(x))
    yield Form("imag", (n, m), lambda x: x + ops.imag(x))
    yield Form("angle", (n, m), lambda x: ops.angle(x), trains=False)
    yield Form("full_like", (n, m), lambda x: x + ops.full_like(x, 2.5) + ops.empty_like(x))
    yield Form("saturate_cast", (n,), lambda x: ops.saturate_cast(300 * x, "uint8"), trains=False)
    for offset in (-1, 0, 1):
        yield Form("diagonal %d" % offset, (3, 4, 3), lambda x, k=offset: ops.diagonal(x, offset=k, axis1=1, axis2=-2))
        yield Form("trace %d" % offset, (n + 1, m + 1), lambda x, k=offset: ops.trace(x, offset=k, axis1=2, axis2=1))
        yield Form("tril %d" % offset, (c, n, m), lambda x, k=offset: ops.tril(x, k=k))
        yield Form("triu %d" % offset, (n, m), lambda x, k=offset: ops.triu(x, k=k))
    yield Form("fliplr", (n, m), lambda x: ops.fliplr(x))
    for k in range(-1, 4):
        yield Form("rot90 %d" % k, (n, m if k % 2 else c, c), lambda x, k=k: ops.rot90(x, k=k, axes=(1, 2) if k % 2 else (-1, 2)))
    w, v = draw.numbers(2, 3), draw.numbers(3)
    yield Form("kron", (n, m), lambda x: ops.kron(x, w))
    yield Form("kron of a row", (n, m), lambda x: ops.kron(w[None], x))
    yield Form("cross", (n, 3), lambda x, y: ops.cross(x, y), inputs=2)
    yield Form("cross of an axis", (3, m), lambda x, y: ops.cross(x, y, axis=1), inputs=2)
    yield Form("cross of two", (n, 2), lambda x, y: ops.cross(x, y), inputs=2)
    yield Form("cross with a constant", (n, 2), lambda x: ops.cross(x, v))
    yield Form("depth_to_space", (n, m, 8), lambda x: ops.depth_to_space(x, 2))
    yield Form("space_to_depth", (4, 6, c), lambda x: ops.space_to_depth(x, 2))
    yield Form("roll of axes", (n, m, c), lambda x: ops.roll(x, (1, -2), axis=(1, -1)))
    yield Form("roll of an axis twice", (n, m), lambda x: ops.roll(x, [2, -1], axis=[1, 1]))
    yield Form("roll of integers", (n, m), lambda k: ops.roll(k, 1, axis=2), whole=7)
    yield Form("moveaxis of two", (n, m, c), lambda x: ops.moveaxis(x, (1, -1), (3, 1)))
    yield Form("moveaxis of three", (n, m, c), lambda x: ops.moveaxis(x, [3, 1, 2], [1, 2, -1]))
    yield Form("expand_dims of two", (n, m), lambda x: ops.expand_dims(x, (1, -1)))
    yield Form("expand_dims of a list", (n,), lambda x: ops.expand_dims(x, [2]))
    yield Form("repeat each", (5, m), lambda x: ops.repeat(x, [2, 0, 1, 1, 3], axis=1))
    yield Form("repeat alike", (m, 3), lambda x: ops.repeat(x, [2, 2, 2], axis=-1))
    yield Form("pad reflect", (n + 2, m + 2), lambda x: ops.pad(x, ((0, 0), (2, 1), (0, 2)), mode="reflect"))
    yield Form("pad symmetric", (n + 1, m, c), lambda x: ops.pad(x, ((0, 0), (n, 1), (0, 0), (2, 2)), mode="symmetric"))
    yield Form("extract_sequences", (c, 11), lambda x: ops.extract_sequences(x, 4, draw.randint(1, 5)))


def joins(ops, draw):
    n, m, c = draw.shape(3, 2, 5)
    axis = draw.axis(3)
    yield Form("append", (n, m, c), lambda x: ops.append(x, 2 * x, axis=axis))
    yield Form("hstack", (n, m), lambda x: ops.hstack([x, x[:, :1], -x]))
    yield Form("dstack", (n, m), lambda x: ops.dstack([x, -x]))
    yield Form("dstack of vectors", (n,), lambda x: ops.dstack([x, -x]))
    for i in range(3):
        yield Form("array_split %d" % i, (m, 7), lambda x, i=i: ops.array_split(x, 3, axis=-1)[i])
    yield Form("hsplit", (6, m), lambda x: ops.hsplit(x, 3)[1])
    yield Form("dsplit", (m, 6), lambda x: ops.dsplit(x, [1, 4])[1])
    yield Form("slice_update", (n + 1, m + 2), lambda x: ops.slice_update(x, (0, 1, 2), 3 * x[:, :n, :m]), trains=False)  # TensorFlow has no gradient
    yield Form("select", (n, m), lambda x: ops.select([x > 0.5, x > 0], [x * x, 3 * x], default=0.25))
    yield Form("select of a tensor", (n, m), lambda x: ops.select([x > 0.5], [2.0 * x], default=-x))


def statistics(ops, draw):
    for rank in (1, 2, 3):
        shape, axis = draw.shape(rank, 2, 6), draw.axis(rank)
        axes = tuple(range(1, rank + 1)) if rank > 1 else 1
        yield Form("cumprod", shape, lambda x, a=axis: ops.cumprod(x, axis=a))
        yield Form("nancumprod", shape, lambda x, a=axis: ops.nancumprod(holes(ops, x), axis=a))
        yield Form("nancumsum", shape, lambda x, a=axis: ops.nancumsum(holes(ops, x), axis=a))
        for name in ("nansum", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nanprod"):
            yield Form(name, shape, lambda x, a=axis, f=getattr(ops, name): f(holes(ops, x), axis=a), trains=False)
        yield Form("nansum trains", shape, lambda x, a=axes: ops.nansum(x, axis=a, keepdims=True))
        yield Form("nanmax trains", shape, lambda x, a=axis: ops.nanmax(x, axis=a) + ops.nanmin(x, axis=a))
        yield Form("nanvar trains", shape, lambda x, a=axes: ops.nanvar(x, axis=a))
        yield Form("average", shape, lambda x, a=axis: ops.average(x, axis=a))
        at = axis if axis > 0 else axis + rank + 1
        w = np.abs(draw.numbers(shape[at - 1])) + 0.5
        yield Form("average with weights", shape, lambda x, a=at, w=w: ops.average(x, axis=a, weights=w))
        yield Form("average with weights by row", shape, lambda x, y, a=axis: ops.average(x, axis=a, weights=1.5 + ops.tanh(y)), inputs=2)
        yield Form("mean of moments", shape, lambda x, a=axes: ops.moments(x, axes=a)[0])
        yield Form("variance of moments", shape, lambda x, a=axis: ops.moments(x, axes=[a], keepdims=True)[1])
        yield Form("trapezoid", shape, lambda x: ops.trapezoid(x, dx=0.5))


REFUSED = [
    Form("expand_dims before the batch", (3,), lambda x: K.ops.squeeze(K.ops.expand_dims(x, (0, 2)), 0)),
    Form("pad reflect too far", (3,), lambda x: K.ops.pad(x, ((0, 0), (3, 0)), mode="reflect")),
    Form("diagonal with the batch", (3,), lambda x: K.ops.expand_dims(K.ops.diagonal(K.ops.reshape(x, (-1, 3)), axis1=0, axis2=1), 0)),
    Form("rot90 of the batch", (3, 3), lambda x: K.ops.rot90(x, k=2)),
    Form("slice_update of a row", (4, 6), lambda x: K.ops.slice_update(x, (0, 0, 0), np.ones((1, 2, 2), "f4"))),
    Form("cumprod of all", (3,), lambda x: K.ops.expand_dims(K.ops.cumprod(x), 0)),
    Form("nansum of the batch", (3,), lambda x: K.ops.expand_dims(K.ops.nansum(x, axis=0), 0)),
    Form("kron of two batches", (2, 3), lambda x: K.ops.kron(x, x)),
]

if __name__ == "__main__":
    main([Family("arrange", arrange), Family("joins", joins), Family("statistics", statistics, REFUSED)])
