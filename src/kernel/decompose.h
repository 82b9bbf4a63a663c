/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices: QR, eigenvalues of symmetric matrices, singular values.
 *
 * Elements are float32, all arithmetic is float64 in one written order and rounded once at the end; or (kernel/wide.h)
 * both are float64. Algorithms of a fixed order, no pivoting by chance: Householder's reflections (Golub & Van Loan,
 * Matrix Computations, 5.2), as LAPACK and Eigen choose their signs; Jacobi's rotations, by lines (8.5), and from one
 * side for singular values (8.6.3). Vectors are determined but for their sign: the first component within a millionth
 * of the largest magnitude is positive, of singular vectors that of the shorter side of the matrix, of the left ones of
 * a square one.
 */
#ifndef ARTEL_KERNEL_DECOMPOSE_H
#define ARTEL_KERNEL_DECOMPOSE_H

#include "kernel/kernel.h"

/* With k the smaller of m and n. */
typedef enum artel__decomposition {
    ARTEL__DECOMPOSITION_QR, /* y0 [m][k] of orthonormal columns, y1 [k][n] upper: a = y0 y1; whole: [m][m], [m][n] */
    ARTEL__DECOMPOSITION_SYMMETRIC, /* m = n: y0 [n] ascending eigenvalues, y1 [n][n] in columns their vectors; the
                                       lower triangle is read */
    ARTEL__DECOMPOSITION_SINGULAR   /* y0 [m][k], y1 [k] descending, y2 [k][n]: a = y0 diag(y1) y2; whole: y0 [m][m], y2
                                       [n][n] */
} artel__decomposition;

enum {
    ARTEL__DECOMPOSITION_RESULTS = 3
};

/* a [outer][m][n]; elements are what the kernel's are. Tasks: outer. Of matrices with NaN or infinity NaN. */
typedef struct artel__decompose {
    artel__decomposition function;
    bool whole;
    int64_t outer, m, n;
    const void *a;
    void *y[ARTEL__DECOMPOSITION_RESULTS];
} artel__decompose;

/* The gradient of a from those of the results, dy, NULL where a result has none; after
 * tensorflow/python/ops/linalg_grad.py: reciprocals of differences d of eigenvalues, or squared singular values, are d
 * / (d^2 + 1e-20). QR, whole: m <= n. SINGULAR, whole: |m - n| <= 1. */
typedef struct artel__decompose_gradient {
    artel__decompose of;
    const void *dy[ARTEL__DECOMPOSITION_RESULTS];
    void *da;
} artel__decompose_gradient;

/* Elements of result i of one matrix. */
static inline int64_t artel__decompose_size(const artel__decompose *p, int i)
{
    int64_t k = p->m < p->n ? p->m : p->n;
    switch (p->function) {
    case ARTEL__DECOMPOSITION_QR:
        return i == 0 ? p->m * (p->whole ? p->m : k) : i == 1 ? (p->whole ? p->m : k) * p->n : 0;
    case ARTEL__DECOMPOSITION_SYMMETRIC: return i == 0 ? p->n : i == 1 ? p->n * p->n : 0;
    case ARTEL__DECOMPOSITION_SINGULAR:
        return i == 0 ? p->m * (p->whole ? p->m : k) : i == 1 ? k : (p->whole ? p->n : k) * p->n;
    }
    return 0;
}

extern const artel__kernel *const artel__decompose_kernels[], *const artel__decompose_gradient_kernels[];

#endif
