# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Small matrices, norms, distances, Fourier transforms: one form a branch (rows.py)."""

import numpy as np

from oracle import K
from rows import Family, Form, main


def matrices(ops, draw):
    n, c, m = draw.randint(2, 5), draw.randint(1, 3), draw.randint(1, 4)
    eye = np.eye(n, dtype="f4")
    good = lambda x: 0.5 * x + 2 * eye
    pair = lambda x: ops.matmul(x, ops.transpose(x, (0, 2, 1))) + eye
    yield Form("inv", (c, n, n), lambda x: ops.inv(good(x)))
    yield Form("inv with exchanges", (n, n), lambda x: ops.inv(good(x)[:, ::-1]))
    yield Form("det", (c, n, n), lambda x: ops.det(good(x)))
    yield Form("det of one", (n, n), lambda x: ops.det(x), tolerance=3e-4)
    yield Form("logdet", (n, n), lambda x: ops.logdet(pair(x)))
    yield Form("slogdet", (c, n, n), lambda x: ops.slogdet(good(x))[1])
    yield Form("slogdet's sign", (c, n, n), lambda x: ops.slogdet(x)[0], trains=False)
    yield Form("cholesky", (n, n), lambda x: ops.cholesky(pair(x)))
    yield Form("cholesky upper", (n, n), lambda x: ops.cholesky(pair(x), upper=True))
    yield Form("cholesky_inverse", (n, n), lambda x: ops.cholesky_inverse(ops.tril(good(x))), trains=False)
    yield Form("solve", (c, n, n), lambda x, y: ops.solve(good(x), y[..., :2]), inputs=2)
    yield Form("solve of vectors", (n, n), lambda x, y: ops.solve(good(x), y[:, 0]), inputs=2)
    yield Form("solve_triangular lower", (n, n), lambda x, y: ops.solve_triangular(good(x), y, lower=True), inputs=2)
    yield Form("solve_triangular upper", (n, n), lambda x, y: ops.solve_triangular(good(x), y[:, 0]), inputs=2)
    yield Form("cdist", (m, n), lambda x, y: ops.cdist(x, y), inputs=2)


def norms(ops, draw):
    for rank in (1, 2, 3):
        shape, axis = draw.shape(rank, 2, 5), draw.axis(rank)
        for p in (1, 2, 3.5, float("inf"), float("-inf"), None):
            yield Form("norm %s" % p, shape, lambda x, p=p, a=axis: ops.norm(x, ord=p, axis=a, keepdims=p == 1))
        yield Form("norm 0", shape, lambda x, a=axis: ops.norm(ops.relu(x), ord=0, axis=a), trains=False)
    for p in (1, -1, float("inf"), float("-inf"), "fro", None):
        yield Form("matrix norm %s" % p, (3, 4, 2), lambda x, p=p: ops.norm(x, ord=p, axis=(1, -1)))
        yield Form("matrix norm %s kept" % p, (3, 4, 2), lambda x, p=p: ops.norm(x, ord=p, axis=(3, 2), keepdims=True))


def frequencies(ops, draw):
    n, m, c = draw.randint(3, 9), draw.randint(3, 8), draw.randint(1, 3)
    for i, part in enumerate(("real", "imaginary")):
        yield Form("fft " + part, (c, n), lambda x, y, i=i: ops.fft((x, y))[i], inputs=2)
        yield Form("fft2 " + part, (m, n), lambda x, y, i=i: ops.fft2((x, y))[i], inputs=2)
        yield Form("ifft2 " + part, (m, n), lambda x, y, i=i: ops.ifft2((x, y))[i], inputs=2)
        yield Form("rfft " + part, (c, n), lambda x, i=i: ops.rfft(x)[i])
        yield Form("rfft of a length " + part, (c, n), lambda x, i=i: ops.rfft(x, fft_length=n + 3)[i])
        yield Form("rfft cut " + part, (n,), lambda x, i=i: ops.rfft(x, fft_length=n - 1)[i], trains=False)  # TensorFlow's gradient has another shape
        for window in ("hann", "hamming", None):
            yield Form("stft %s %s" % (window, part), (20,), lambda x, i=i, w=window: ops.stft(x, 5, 3, 8, window=w)[i])
        yield Form("stft uncentred " + part, (c, 20), lambda x, i=i: ops.stft(x, 6, 2, 6, center=False)[i])
    yield Form("irfft", (c, n), lambda x, y: ops.irfft((x, y)), inputs=2)
    yield Form("irfft of an odd length", (c, n), lambda x, y: ops.irfft((x, y), fft_length=2 * n - 1), inputs=2)


REFUSED = [
    Form("norm of all", (3,), lambda x: K.ops.reshape(K.ops.norm(x), (1, 1))),
    Form("norm by singular values", (3, 3), lambda x: K.ops.norm(x, ord="nuc", axis=(1, 2))),
    Form("svd", (3, 3), lambda x: K.ops.svd(x)[1]),
]

if __name__ == "__main__":
    main([Family("matrices", matrices), Family("norms", norms), Family("frequencies", frequencies, REFUSED)])
