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


def factors(ops, draw):
    """Squares, and products of two vectors, are the same whichever sign a vector has."""
    c, m = draw.randint(1, 3), draw.randint(3, 5)
    n = m - draw.randint(1, 2)
    spread = lambda x: 0.4 * x + np.eye(x.shape[-2], x.shape[-1], dtype="f4") * np.arange(1, x.shape[-1] + 1, dtype="f4")
    mirrored = lambda x: spread(x) + ops.swapaxes(spread(x), -1, -2)
    for label, shape in (("square", (n, n)), ("tall", (m, n)), ("wide", (c, n, m))):
        for i, part in enumerate("qr"):
            yield Form("qr %s %s" % (label, part), shape, lambda x, i=i: ops.qr(spread(x))[i])
            yield Form("qr complete %s %s" % (label, part), shape, lambda x, i=i: ops.qr(spread(x), mode="complete")[i], trains=label != "tall")
        yield Form("svd %s" % label, shape, lambda x: ops.svd(spread(x), full_matrices=False)[1])
        yield Form("svd values alone %s" % label, shape, lambda x: ops.svd(spread(x), compute_uv=False))
        yield Form("svd %s u" % label, shape, lambda x: ops.square(ops.svd(spread(x), full_matrices=False)[0]))
        yield Form("svd %s v" % label, shape, lambda x: ops.square(ops.svd(spread(x), full_matrices=False)[2]))
        yield Form("svd %s u and v" % label, shape, lambda x: (lambda u, s, v: ops.matmul(u * ops.expand_dims(ops.log(s), -2), v))(*ops.svd(spread(x), full_matrices=False)))
        yield Form("pinv %s" % label, shape, lambda x: ops.pinv(spread(x)))
        yield Form("pinv %s cut" % label, shape, lambda x: ops.pinv(spread(x), rcond=0.5), tolerance=3e-4)
        yield Form("matrix_rank %s" % label, shape, lambda x: ops.matrix_rank(x[..., :1] * x[..., -1:, :]), trains=False)
        yield Form("matrix_rank %s above" % label, shape, lambda x: ops.matrix_rank(spread(x), tol=1.5), trains=False)
    for rows, columns in ((n, n), (n + 1, n), (n, n + 1)):
        label = "%dx%d" % (rows, columns)
        yield Form("svd whole u " + label, (rows, columns), lambda x: ops.square(ops.svd(spread(x))[0]))
        yield Form("svd whole v " + label, (rows, columns), lambda x: ops.square(ops.svd(spread(x))[2]))
    yield Form("svd whole", (m + 1, 2), lambda x: (lambda u: ops.matmul(u[..., 2:], ops.swapaxes(u[..., 2:], -1, -2)))(ops.svd(x)[0]), trains=False)
    yield Form("eigh", (c, m, m), lambda x: ops.eigh(mirrored(x))[0])
    yield Form("eigh of a triangle", (m, m), lambda x: ops.eigh(spread(x))[0])
    yield Form("eigh's vectors", (m, m), lambda x: ops.square(ops.eigh(mirrored(x))[1]))
    yield Form("eigh's logarithm", (n, n), lambda x: (lambda e, v: ops.matmul(v * ops.expand_dims(ops.tanh(e), -2), ops.swapaxes(v, -1, -2)))(*ops.eigh(mirrored(x))))


def norms(ops, draw):
    for rank in (1, 2, 3):
        shape, axis = draw.shape(rank, 2, 5), draw.axis(rank)
        for p in (1, 2, 3.5, float("inf"), float("-inf"), None):
            yield Form("norm %s" % p, shape, lambda x, p=p, a=axis: ops.norm(x, ord=p, axis=a, keepdims=p == 1))
        yield Form("norm 0", shape, lambda x, a=axis: ops.norm(ops.relu(x), ord=0, axis=a), trains=False)
    for p in (1, -1, float("inf"), float("-inf"), "fro", None):
        yield Form("matrix norm %s" % p, (3, 4, 2), lambda x, p=p: ops.norm(x, ord=p, axis=(1, -1)))
        yield Form("matrix norm %s kept" % p, (3, 4, 2), lambda x, p=p: ops.norm(x, ord=p, axis=(3, 2), keepdims=True))
    for p in (2, -2, "nuc"):
        yield Form("matrix norm %s" % p, (3, 4, 2), lambda x, p=p: ops.norm(x, ord=p, axis=(1, -1)))
        yield Form("matrix norm %s kept" % p, (3, 4, 2), lambda x, p=p: ops.norm(x, ord=p, axis=(1, 2), keepdims=True))


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
]
REFUSED_FACTORS = [
    Form("eig", (3, 3), lambda x: K.ops.eig(x)[0]),
    Form("lu_factor", (3, 3), lambda x: K.ops.lu_factor(x)[0]),
    Form("matrix_rank by line", (3, 3), lambda x: K.ops.matrix_rank(x, tol=[0.1])),
]

if __name__ == "__main__":
    main([Family("matrices", matrices), Family("factors", factors, REFUSED_FACTORS), Family("norms", norms), Family("frequencies", frequencies, REFUSED)])
