# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Products and sums along named axes, one form a branch (rows.py)."""

import numpy as np

from oracle import K
from rows import Family, Form, main


def einsum(ops, draw):
    b, t, s, h, d = draw.shape(5)
    c = draw.numbers
    yield Form("einsum scores", (t, d), lambda x, y: ops.einsum("btd,bsd->bts", x, y), inputs=2)
    yield Form("einsum heads", (t, h, d), lambda x, y: ops.einsum("bthd,bshd->bhts", x, y), inputs=2)
    w = c(d, s)
    yield Form("einsum weights", (t, d), lambda x: ops.einsum("btd,ds->bts", x, w))
    v = c(s, d, h)
    yield Form("einsum weights turned", (t, d), lambda x: ops.einsum("sdh,btd->bhst", v, x))
    yield Form("einsum outer", (d,), lambda x, y: ops.einsum("bi,bj->bij", x, y), inputs=2)
    yield Form("einsum dot", (d,), lambda x, y: ops.einsum("bi,bi->b", x, y), inputs=2)
    yield Form("einsum transpose", (t, d), lambda x: ops.einsum("btd->bdt", x))
    yield Form("einsum sum", (t, d, h), lambda x: ops.einsum("btdh->bd", x))
    yield Form("einsum diagonal", (d, d), lambda x: ops.einsum("bii->bi", x))
    yield Form("einsum trace", (t, d, d), lambda x: ops.einsum("btdd->bt", x))
    yield Form("einsum ellipsis", (h, t, d), lambda x: ops.einsum("...d,ds->...s", x, w))
    yield Form("einsum two ellipses", (h, t, d), lambda x, y: ops.einsum("...td,...sd->...ts", x, y), inputs=2)
    yield Form("einsum three", (t, d), lambda x, y: ops.einsum("btd,ds,bus->btu", x, w, ops.einsum("bud,ds->bus", y, w)), inputs=2)
    yield Form("einsum by letter", (t, d), lambda x: ops.einsum("btd,d->btd", x, c(d)))


def products(ops, draw):
    m, k, n, h = draw.shape(4)
    c = draw.numbers
    a, v, w = c(k, n), c(k), c(h, k, n)
    yield Form("matmul of vectors", (k,), lambda x: ops.matmul(x, a))
    yield Form("matmul to a number", (k,), lambda x: ops.matmul(x, v))
    yield Form("matmul by a matrix", (m, k), lambda x: ops.matmul(x, a))
    yield Form("matmul by a vector", (h, m, k), lambda x: ops.matmul(x, v))
    yield Form("matmul of both", (h, m, m), lambda x, y: ops.matmul(x, y), inputs=2)
    yield Form("matmul by many", (h, m, k), lambda x: ops.matmul(x, w))
    yield Form("matmul by one row", (h, m, k), lambda x: ops.matmul(x, w[None]))
    yield Form("matmul from the left", (k, m), lambda x: ops.matmul(c(n, k), x))
    yield Form("matmul spread", (h, m, k), lambda x, y: ops.matmul(x, ops.transpose(y[:, :1], (0, 1, 3, 2))), inputs=2)
    yield Form("dot", (m, k), lambda x: ops.dot(x, a))
    yield Form("dot of vectors", (k,), lambda x: ops.dot(x, v))
    yield Form("dot of many", (m, k), lambda x: ops.dot(x, w))
    yield Form("dot from the left", (k, m), lambda x: ops.dot(v, x))
    yield Form("inner", (m, k), lambda x: ops.inner(x, c(n, k)), trains=False)  # Keras cannot trace it
    yield Form("inner of vectors", (m, k), lambda x: ops.inner(x, v), trains=False)
    yield Form("tensordot", (m, k), lambda x: ops.tensordot(x, a, axes=1))
    yield Form("tensordot of two", (m, h, k), lambda x: ops.tensordot(x, w, axes=2))
    yield Form("tensordot of none", (m,), lambda x: ops.tensordot(x, v, axes=0))
    yield Form("tensordot of axes", (m, k, h), lambda x: ops.tensordot(x, w, axes=[[3, 2], [0, 1]]))
    yield Form("tensordot of an axis", (k, m), lambda x: ops.tensordot(x, a, axes=[[1], [-2]]))


REFUSED = [
    Form("einsum over the batch", (3,), lambda x, y: K.ops.einsum("bi,bj->ij", x, y), inputs=2),
    Form("einsum with the batch last", (3, 4), lambda x: K.ops.transpose(K.ops.einsum("bij->ijb", x), (2, 0, 1))),
    Form("einsum without its result", (3, 4), lambda x: K.ops.einsum("...td,ds", x, np.ones((4, 2), "f4"))),
    Form("matmul of batches", (3,), lambda x: K.ops.matmul(np.ones((2, 6), "f4"), x)),
]

if __name__ == "__main__":
    main([Family("einsum", einsum), Family("products", products, REFUSED)])
