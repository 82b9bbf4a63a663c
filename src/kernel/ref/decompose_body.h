/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices of one type of number (kernel/real.h): the reference of float32, and all there is of
 * float64. Who includes it says what it is called (DECOMPOSE_KIND). See kernel/decompose.h. Matrices in scratch lie by
 * columns: a column is one run of numbers.
 */
#include <math.h>

#include "kernel/decompose.h"
#include "kernel/real.h"

#define MOST_SWEEPS 60
#define NEGLIGIBLE 1e-15
#define EQUAL 1e-6
#define NOTHING 1e-13 /* of the largest singular value: what rounding leaves of 0 */

static int64_t tasks(const void *params)
{
    return ((const artel__decompose *)params)->outer;
}

static size_t scratch_bytes(const void *params)
{
    const artel__decompose *p = params;
    int64_t longer = p->m > p->n ? p->m : p->n;
    return (size_t)(4 * longer * longer + 2 * longer) * sizeof(double) + 8;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum = sum + x[i] * y[i];
    return sum;
}

static void identity(double *t, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++) t[i] = i % n == i / n ? 1 : 0;
}

/* x, y := c x - s y, s x + c y */
static void rotate(double *x, double *y, int64_t n, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        double kept = x[i];
        x[i] = c * kept - s * y[i];
        y[i] = s * kept + c * y[i];
    }
}

/* The smaller rotation that makes [a b; b d] diagonal. */
static void rotation_of(double a, double b, double d, double *c, double *s)
{
    double zeta = (d - a) / (2 * b), t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    *c = 1 / sqrt(1 + t * t);
    *s = *c * t;
}

/* -- QR -- */

/* x - 2 v v^T x / v^T v, where v = (1, below) */
static void reflect(double *x, const double *below, int64_t n, double tau)
{
    double sum = x[0];
    for (int64_t i = 1; i < n; i++) sum = sum + below[i] * x[i];
    sum = tau * sum;
    x[0] = x[0] - sum;
    for (int64_t i = 1; i < n; i++) x[i] = x[i] - sum * below[i];
}

/* The reflection that makes x (first, 0 ...): its vector below x[0], which is the number that remains; returns tau. */
static double householder(double *x, int64_t n)
{
    double tail = dot(x + 1, x + 1, n - 1), first = x[0];
    if (n < 2 || tail == 0) return 0;
    double size = sqrt(first * first + tail), left = first >= 0 ? -size : size;
    for (int64_t i = 1; i < n; i++) x[i] = x[i] / (first - left);
    x[0] = left;
    return (left - first) / left;
}

static void factors(const artel__decompose *p, const artel__real *a, double *scratch, artel__real *q, artel__real *r)
{
    int64_t m = p->m, n = p->n, k = m < n ? m : n, width = p->whole ? m : k;
    double *t = scratch, *columns = t + m * n, *tau = columns + m * m;
    for (int64_t i = 0; i < m * n; i++) t[i] = (double)a[i % m * n + i / m];
    for (int64_t j = 0; j < k; j++) {
        tau[j] = householder(t + j * m + j, m - j);
        for (int64_t i = j + 1; i < n; i++) reflect(t + i * m + j, t + j * m + j, m - j, tau[j]);
    }
    identity(columns, m);
    for (int64_t j = k - 1; j >= 0; j--) {
        for (int64_t i = j; i < width; i++) reflect(columns + i * m + j, t + j * m + j, m - j, tau[j]);
    }
    for (int64_t i = 0; i < m * width; i++) q[i] = (artel__real)columns[i % width * m + i / width];
    for (int64_t i = 0; i < width * n; i++) r[i] = i / n <= i % n && i / n < k ? (artel__real)t[i % n * m + i / n] : 0;
}

/* -- eigenvalues -- */

/* The number that decides on the sign: -1 where the vector is to be turned. */
static double sign_of(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    for (int64_t i = 0; i < n; i++) {
        if (fabs(x[i]) >= most * (1 - EQUAL)) return x[i] < 0 ? -1 : 1;
    }
    return 1;
}

/* The place in the order of value i, equals as they come. */
static int64_t place_of(const double *value, int64_t n, int64_t i, bool descending)
{
    int64_t place = 0;
    for (int64_t j = 0; j < n; j++) {
        bool before = descending ? value[j] > value[i] : value[j] < value[i];
        if (before || (value[j] == value[i] && j < i)) place++;
    }
    return place;
}

static bool all_finite(const artel__real *a, int64_t count)
{
    bool finite = true;
    for (int64_t i = 0; i < count; i++) finite = finite && isfinite(a[i]);
    return finite;
}

static void symmetric(int64_t n, const artel__real *a, double *t, artel__real *values, artel__real *vectors)
{
    double *v = t + n * n, *value = v + n * n;
    for (int64_t i = 0; i < n * n; i++) t[i] = (double)(i / n > i % n ? a[i] : a[i % n * n + i / n]);
    identity(v, n);
    bool turned = true;
    for (int sweep = 0; sweep < MOST_SWEEPS && turned; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                double b = t[p * n + q], c, s, size = sqrt(fabs(t[p * n + p])) * sqrt(fabs(t[q * n + q]));
                if (b == 0 || fabs(b) <= NEGLIGIBLE * NEGLIGIBLE * size) continue;
                turned = true;
                rotation_of(t[p * n + p], b, t[q * n + q], &c, &s);
                rotate(t + p * n, t + q * n, n, c, s);
                for (int64_t i = 0; i < n; i++) rotate(t + i * n + p, t + i * n + q, 1, c, s);
                t[p * n + q] = t[q * n + p] = 0;
                rotate(v + p * n, v + q * n, n, c, s);
            }
        }
    }
    for (int64_t i = 0; i < n; i++) value[i] = t[i * n + i];
    for (int64_t i = 0; i < n; i++) {
        int64_t place = place_of(value, n, i, false);
        double sign = sign_of(v + i * n, n);
        values[place] = (artel__real)value[i];
        for (int64_t j = 0; j < n; j++) vectors[j * n + place] = (artel__real)(sign * v[i * n + j]);
    }
}

/* -- singular values -- */

/* Makes the columns of w [n][m] orthogonal, m >= n; what was done to them is done to v [n][n]. */
static void orthogonalise(double *w, double *v, int64_t m, int64_t n)
{
    bool turned = true;
    for (int sweep = 0; sweep < MOST_SWEEPS && turned; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                double *x = w + p * m, *y = w + q * m, c, s;
                double a = dot(x, x, m), b = dot(x, y, m), d = dot(y, y, m);
                if (b == 0 || fabs(b) <= NEGLIGIBLE * sqrt(a) * sqrt(d)) continue;
                turned = true;
                rotation_of(a, b, d, &c, &s);
                rotate(x, y, m, c, s);
                rotate(v + p * n, v + q * n, n, c, s);
            }
        }
    }
}

/* Column `at` of unit columns t [..][m] becomes one orthogonal to those before it: the best of what is left of the
 * axes. */
static void complete(double *t, int64_t m, int64_t at)
{
    double *x = t + at * m, most = -1;
    int64_t best = 0;
    for (int64_t i = 0; i < m; i++) {
        double left = 1;
        for (int64_t j = 0; j < at; j++) left = left - t[j * m + i] * t[j * m + i];
        if (left > most + EQUAL) most = left, best = i;
    }
    for (int64_t i = 0; i < m; i++) x[i] = i == best ? 1 : 0;
    for (int turn = 0; turn < 2; turn++) { /* twice is enough (Parlett, The Symmetric Eigenvalue Problem, 6.9) */
        for (int64_t j = 0; j < at; j++) {
            double share = dot(t + j * m, x, m);
            for (int64_t i = 0; i < m; i++) x[i] = x[i] - share * t[j * m + i];
        }
    }
    double size = sqrt(dot(x, x, m)), sign = sign_of(x, m);
    for (int64_t i = 0; i < m; i++) x[i] = sign * x[i] / size;
}

/* Of w = t diag(value) v^T with columns in order: t [width][m] and v [n][n]. */
static void order(const double *w, const double *v, double *t, double *ordered, double *value, int64_t m, int64_t n,
                  bool left_sign)
{
    double *size = value + n;
    for (int64_t i = 0; i < n; i++) size[i] = sqrt(dot(w + i * m, w + i * m, m));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = place_of(size, n, i, true);
        double sign = left_sign && size[i] > 0 ? sign_of(w + i * m, m) : sign_of(v + i * n, n);
        value[at] = size[i];
        for (int64_t j = 0; j < m; j++) t[at * m + j] = size[i] > 0 ? sign * w[i * m + j] / size[i] : 0;
        for (int64_t j = 0; j < n; j++) ordered[at * n + j] = sign * v[i * n + j];
    }
}

static void singular(const artel__decompose *p, const artel__real *a, double *scratch, artel__real *const y[])
{
    bool wide = p->m < p->n;
    int64_t m = wide ? p->n : p->m, n = wide ? p->m : p->n, width = p->whole ? m : n;
    double *w = scratch, *v = w + m * n, *ordered = v + n * n, *value = ordered + n * n, *t = value + 2 * n;
    for (int64_t i = 0; i < m * n; i++) w[i] = (double)(wide ? a[i] : a[i % m * n + i / m]);
    identity(v, n);
    orthogonalise(w, v, m, n);
    order(w, v, t, ordered, value, m, n, m == n);
    for (int64_t i = 0; i < width; i++) {
        if (i >= n || !(value[i] > NOTHING * value[0])) complete(t, m, i);
    }
    for (int64_t i = 0; i < n; i++) y[1][i] = (artel__real)value[i];
    for (int64_t i = 0; i < m * width; i++) {
        if (wide)
            y[2][i] = (artel__real)t[i];
        else
            y[0][i] = (artel__real)t[i % width * m + i / width];
    }
    for (int64_t i = 0; i < n * n; i++) {
        if (wide)
            y[0][i] = (artel__real)ordered[i % n * n + i / n];
        else
            y[2][i] = (artel__real)ordered[i];
    }
}

static void run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__decompose *p = params;
    for (int64_t i = begin; i < end; i++) {
        const artel__real *a = (const artel__real *)p->a + i * p->m * p->n;
        artel__real *y[ARTEL__DECOMPOSITION_RESULTS];
        bool finite = all_finite(a, p->m * p->n);
        for (int k = 0; k < ARTEL__DECOMPOSITION_RESULTS; k++) {
            int64_t size = artel__decompose_size(p, k);
            y[k] = size ? (artel__real *)p->y[k] + i * size : NULL;
            for (int64_t j = 0; j < size && !finite; j++) y[k][j] = (artel__real)NAN;
        }
        if (!finite) continue;
        switch (p->function) {
        case ARTEL__DECOMPOSITION_QR: factors(p, a, scratch, y[0], y[1]); break;
        case ARTEL__DECOMPOSITION_SYMMETRIC: symmetric(p->n, a, scratch, y[0], y[1]); break;
        case ARTEL__DECOMPOSITION_SINGULAR: singular(p, a, scratch, y); break;
        }
    }
}

static const artel__kernel decompose = {
    .name = DECOMPOSE_KIND " decompose", .tasks = tasks, .scratch_bytes = scratch_bytes, .run = run};
