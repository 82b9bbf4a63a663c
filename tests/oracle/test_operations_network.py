# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Pooling, convolutions, normalisation and attention as operations: one form a branch (rows.py)."""

import numpy as np

from oracle import K, keras_module
from rows import Family, Form, main


def pools(ops, draw):
    for rank in (1, 2, 3):
        for name in ("max_pool", "average_pool"):
            size = [draw.randint(1, 3) for _ in range(rank)]
            stride = [draw.randint(1, 2) for _ in range(rank)]
            shape = (*draw.shape(rank, 4, 7), 3)
            pad = "same" if all(s >= t for s, t in zip(stride, size)) else "valid"  # a quirk of TensorFlow's: docs/coverage.md
            yield Form("%s %s %s" % (name, size, stride), shape, lambda x, f=getattr(ops, name), s=size, t=stride, p=pad: f(x, s, t, p))
            yield Form("%s same" % name, shape, lambda x, f=getattr(ops, name): f(x, 2, padding="same"))
            first = (2, *shape[:-1])
            yield Form("%s channels_first" % name, first, lambda x, f=getattr(ops, name): f(x, 2, data_format="channels_first"))
        for name in ("adaptive_average_pool", "adaptive_max_pool"):
            out = tuple(draw.randint(1, 4) for _ in range(rank))
            yield Form("%s %s" % (name, out), (*draw.shape(rank, 4, 6), 2), lambda x, f=getattr(ops, name), o=out: f(x, o))


def mend(ops):
    """Keras' ConvTranspose hands padding and output_padding on in the wrong order, and so cannot run."""
    nn = keras_module().src.ops.nn
    nn.ConvTranspose.call = lambda self, x, w: keras_module().src.backend.nn.conv_transpose(
        x, w, self.strides, self.padding, self.output_padding, self.data_format, self.dilation_rate)


def convolutions(ops, draw):
    mend(ops)
    c = draw.numbers
    for rank in (1, 2, 3):
        window, channels, filters = draw.shape(rank, 1, 3), draw.randint(1, 3), draw.randint(1, 4)
        shape = (*draw.shape(rank, 5, 7), channels)
        w = c(*window, channels, filters)
        yield Form("conv %s" % (window,), shape, lambda x, w=w: ops.conv(x, w))
        yield Form("conv same", shape, lambda x, w=w: ops.conv(x, w, strides=2, padding="same"))
        yield Form("conv dilated", shape, lambda x, w=w: ops.conv(x, w, dilation_rate=2), trains=rank < 3)
        if rank == 3:
            continue
        d = c(*window, channels, 2)
        yield Form("depthwise_conv", shape, lambda x, d=d: ops.depthwise_conv(x, d))
        yield Form("depthwise_conv same", shape, lambda x, d=d: ops.depthwise_conv(x, d, strides=2, padding="same"))
        p = c(*[1] * rank, 2 * channels, filters)
        yield Form("separable_conv", shape, lambda x, d=d, p=p: ops.separable_conv(x, d, p, padding="same"))
        back = c(*window, filters, channels)
        for padding in ("valid", "same"):
            for stride in (1, 2):
                yield Form("conv_transpose %s %d" % (padding, stride), shape, lambda x, w=back, s=stride, p=padding: ops.conv_transpose(x, w, strides=s, padding=p))
    yield Form("conv_transpose padded", (4, 5, 2), lambda x, w=c(3, 3, 4, 2): ops.conv_transpose(x, w, strides=2, output_padding=1))


def normalisation(ops, draw):
    n, m, f = draw.shape(3, 4, 6)
    c = lambda *s: 1 + 0.3 * draw.numbers(*s)
    yield Form("layer_normalization", (n, m, f), lambda x: ops.layer_normalization(x))
    yield Form("layer_normalization with both", (n, f), lambda x, g=c(f), b=c(f): ops.layer_normalization(x, g, b, epsilon=1e-3))
    yield Form("layer_normalization of an axis", (n, m, f), lambda x, g=c(m), b=c(m): ops.layer_normalization(x, g, b, axis=2))
    yield Form("layer_normalization of axes", (n, m, f), lambda x: ops.layer_normalization(x, axis=(-2, -1)), tolerance=3e-4)
    yield Form("rms_normalization", (n, m, f), lambda x, s=c(f): ops.rms_normalization(x, s))
    yield Form("rms_normalization of an axis", (n, m, f), lambda x: ops.rms_normalization(x, axis=1, epsilon=1e-2))
    yield Form("batch_normalization", (n, m, f), lambda x, a=c(f), v=c(f), o=c(f), s=c(f): ops.batch_normalization(x, a, v, -1, o, s))
    yield Form("batch_normalization of an axis", (n, m, f), lambda x, a=c(n), v=c(n): ops.batch_normalization(x, a, v, axis=1, epsilon=0.1))
    yield Form("normalize", (n, m, f), lambda x: ops.normalize(x, axis=1) + ops.normalize(x, axis=-1))


def attention(ops, draw):
    t, s, h, d = draw.randint(2, 5), draw.randint(2, 5), draw.randint(1, 3), draw.randint(2, 4)
    f = ops.dot_product_attention
    rest = lambda x: x[:, ::-1]
    yield Form("attention", (t, h, d), lambda x, y: f(x, y, rest(y)), inputs=2)
    yield Form("attention scaled", (t, h, d), lambda x, y: f(x, y, y, scale=0.3), inputs=2)
    yield Form("attention causal", (t, h, d), lambda x, y: f(x, y, rest(y), is_causal=True), inputs=2)
    yield Form("attention masked", (t, h, d), lambda x, y: f(x, y, y, mask=ops.einsum("bthd,bshd->bhts", x, y) > -0.5), inputs=2)
    few = np.tril(np.ones((1, 1, t, t), bool))
    yield Form("attention with a constant mask", (t, h, d), lambda x, y: f(x, y, y, mask=few), inputs=2)
    yield Form("attention with a bias", (t, h, d), lambda x, y: f(x, y, rest(y), bias=ops.einsum("bthd,bshd->bhts", y, x)), inputs=2)
    bias = draw.numbers(1, h, t, t)
    yield Form("attention with a constant bias", (t, h, d), lambda x, y: f(x, y, y, bias=bias, is_causal=True), inputs=2)
    yield Form("attention of groups", (t, 4, d), lambda x, y: f(x, y[:, :, :2], y[:, :, 2:]), inputs=2)
    yield Form("attention of groups with a bias", (t, 4, d), lambda x, y: f(x, y[:, :, :2], y[:, :, 2:], bias=draw.numbers(1, 1, 1, t)), inputs=2)


REFUSED = [
    Form("layer_normalization of the batch", (4, 2), lambda x: K.ops.layer_normalization(x, axis=0)),
    Form("moments of the batch", (4, 2), lambda x: K.ops.expand_dims(K.ops.moments(x, axes=[0])[0], 0)),
]

if __name__ == "__main__":
    main([Family("pools", pools), Family("convolutions", convolutions), Family("normalisation", normalisation), Family("attention", attention, REFUSED)])
