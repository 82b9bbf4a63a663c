/* SPDX-License-Identifier: Apache-2.0 */
/* Small square matrices of one type of number (kernel/real.h): the reference of float32, and all there is of float64.
 * Who includes it says what it is called (MATRIX_KIND). See kernel/matrix.h.
 */
#include <math.h>

#include "kernel/matrix.h"
#include "kernel/real.h"

static int64_t matrix_tasks(const void *params)
{
    return ((const artel__matrix *)params)->outer;
}

/* The columns of the right side. */
static int64_t columns(const artel__matrix *p)
{
    return p->function == ARTEL__MATRIX_SOLVE ? p->m : p->function == ARTEL__MATRIX_INVERSE ? p->n : 0;
}

static size_t matrix_scratch(const void *params)
{
    const artel__matrix *p = params;
    return (size_t)(p->n * (p->n + columns(p))) * sizeof(double) + 8;
}

static double size_of(double x)
{
    return x < 0 ? -x : x;
}

static int64_t pivot_of(const double *t, int64_t n, int64_t width, int64_t k)
{
    int64_t best = k;
    for (int64_t i = k + 1; i < n; i++) {
        if (size_of(t[i * width + k]) > size_of(t[best * width + k])) best = i;
    }
    return best;
}

/* Makes the left part of t [n][width] upper triangular; returns the sign of the exchanges. */
static double eliminate(double *t, int64_t n, int64_t width)
{
    double sign = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = pivot_of(t, n, width, k);
        for (int64_t j = k; j < width && best != k; j++) {
            double kept = t[k * width + j];
            t[k * width + j] = t[best * width + j];
            t[best * width + j] = kept;
        }
        if (best != k) sign = -sign;
        for (int64_t i = k + 1; i < n; i++) {
            double factor = t[i * width + k] == 0 ? 0 : t[i * width + k] / t[k * width + k];
            for (int64_t j = k + 1; j < width && factor != 0; j++)
                t[i * width + j] = t[i * width + j] - factor * t[k * width + j];
        }
    }
    return sign;
}

static void substitute(double *t, int64_t n, int64_t width)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = n; j < width; j++) {
            double sum = t[i * width + j];
            for (int64_t k = i + 1; k < n; k++) sum = sum - t[i * width + k] * t[k * width + j];
            t[i * width + j] = sum / t[i * width + i];
        }
    }
}

static void solve(const artel__matrix *p, const artel__real *a, const artel__real *b, double *t, artel__real *y)
{
    int64_t n = p->n, m = columns(p), width = n + m;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) t[i * width + j] = (double)a[i * n + j];
        for (int64_t j = 0; j < m; j++) t[i * width + n + j] = b ? (double)b[i * m + j] : i == j ? 1 : 0;
    }
    double det = eliminate(t, n, width);
    if (p->function == ARTEL__MATRIX_DETERMINANT) {
        for (int64_t i = 0; i < n; i++) det = det * t[i * width + i];
        *y = (artel__real)det;
        return;
    }
    substitute(t, n, width);
    for (int64_t i = 0; i < n * m; i++) y[i] = (artel__real)t[i / m * width + n + i % m];
}

static void cholesky(int64_t n, const artel__real *a, double *t, artel__real *y)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = (double)a[i * n + j];
            for (int64_t k = 0; k < j; k++) sum = sum - t[i * n + k] * t[j * n + k];
            t[i * n + j] = i == j ? sqrt(sum) : sum / t[j * n + j];
        }
        for (int64_t j = 0; j < n; j++) y[i * n + j] = j <= i ? (artel__real)t[i * n + j] : 0;
    }
}

static void matrix_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__matrix *p = params;
    int64_t n = p->n, m = columns(p), results = p->function == ARTEL__MATRIX_DETERMINANT ? 1 : n * (m ? m : n);
    for (int64_t i = begin; i < end; i++) {
        const artel__real *a = (const artel__real *)p->a + (p->shared_a ? 0 : i * n * n),
                          *b = p->function == ARTEL__MATRIX_SOLVE
                                   ? (const artel__real *)p->b + (p->shared_b ? 0 : i * n * m)
                                   : NULL;
        artel__real *y = (artel__real *)p->y + i * results;
        if (p->function == ARTEL__MATRIX_CHOLESKY)
            cholesky(n, a, scratch, y);
        else
            solve(p, a, b, scratch, y);
    }
}

static const artel__kernel matrix = {
    .name = MATRIX_KIND " matrix", .tasks = matrix_tasks, .scratch_bytes = matrix_scratch, .run = matrix_run};
