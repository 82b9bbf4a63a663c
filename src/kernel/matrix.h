/* SPDX-License-Identifier: Apache-2.0 */
/* Small square matrices: solutions, inverses, determinants, Cholesky's factor.
 *
 * Elements are float32, all arithmetic is float64 in one written order and rounded once at the end, so that the result
 * hardly depends on the condition of a matrix; or (kernel/wide.h) both are float64. Elimination is Gauss' with partial
 * pivoting: of the largest magnitudes of a column the first.
 */
#ifndef ARTEL_KERNEL_MATRIX_H
#define ARTEL_KERNEL_MATRIX_H

#include "kernel/kernel.h"

typedef enum artel__matrix_function {
    ARTEL__MATRIX_SOLVE,      /* y [n][m]: a y = b; of a singular matrix infinities and NaN */
    ARTEL__MATRIX_INVERSE,    /* y [n][n] */
    ARTEL__MATRIX_CHOLESKY,   /* y [n][n] lower: y y^T = a, of which the lower triangle is read; NaN where a is not
                                 positive definite */
    ARTEL__MATRIX_DETERMINANT /* y: one number */
} artel__matrix_function;

/* a [outer][n][n], b [outer][n][m]; `shared_a`, `shared_b`: one for all; elements are what the
 * kernel's are. Tasks: outer. */
typedef struct artel__matrix {
    artel__matrix_function function;
    int64_t outer, n, m;
    bool shared_a, shared_b;
    const void *a, *b;
    void *y;
} artel__matrix;

extern const artel__kernel *const artel__matrix_kernels[];

#endif
