/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices: multiplied they are the matrix again, their columns are orthonormal, whatever its rank;
 * order and signs. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/decompose.h"

enum {
    MOST = 20 * 20,
    KINDS = 5
};

typedef struct factored {
    float a[MOST], y[ARTEL__DECOMPOSITION_RESULTS][MOST];
    int64_t m, n;
    double most; /* the largest magnitude */
} factored;

/* 0: of full rank; 1: the last column is the sum of the others; 2: zeros; 3: equal values; 4: columns of very different
 * size. */
static void make(factored *f, int kind, check_random *random)
{
    f->most = 1e-30;
    for (int64_t i = 0; i < f->m * f->n; i++) {
        int64_t column = i % f->n;
        float x = (float)((int)(check_next(random) % 2001) - 1000) / 500.0f;
        if (kind == 1 && column == f->n - 1) {
            x = 0;
            for (int64_t k = 1; k < f->n; k++) x += f->a[i - k];
        }
        if (kind == 2) x = 0;
        if (kind == 3) x = column == i / f->n ? 2.0f : 0.0f;
        if (kind == 4) x = ldexpf(x, -8 * (int)(column % 5));
        f->a[i] = x;
        f->most = fmax(f->most, fabs((double)x));
    }
}

static void factor(factored *f, artel__decomposition function, bool whole)
{
    artel__decompose p = {.function = function, .whole = whole, .outer = 1, .m = f->m, .n = f->n, .a = f->a};
    check_buffer buffers[ARTEL__DECOMPOSITION_RESULTS];
    int count = function == ARTEL__DECOMPOSITION_SINGULAR ? 3 : 2;
    for (int i = 0; i < count; i++) {
        p.y[i] = f->y[i];
        buffers[i] = (check_buffer){f->y[i], (size_t)artel__decompose_size(&p, i) * sizeof(float)};
    }
    check_kernels(artel__decompose_kernels, &p, buffers, count);
}

/* Columns of x [rows][columns]; of its transpose. */
static void assert_orthonormal(const float *x, int64_t rows, int64_t columns, bool turned)
{
    for (int64_t i = 0; i < columns; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = i == j ? -1 : 0;
            for (int64_t k = 0; k < rows; k++)
                sum += turned ? (double)x[i * rows + k] * (double)x[j * rows + k]
                              : (double)x[k * columns + i] * (double)x[k * columns + j];
            assert_true(fabs(sum) < 2e-6);
        }
    }
}

/* a = x diag(scale) y, x of `width` columns. */
static void assert_product(const factored *f, const float *x, const float *scale, const float *y, int64_t width)
{
    int64_t k = f->m < f->n ? f->m : f->n;
    for (int64_t i = 0; i < f->m * f->n; i++) {
        double sum = -(double)f->a[i];
        for (int64_t j = 0; j < (scale ? k : width); j++)
            sum += (double)x[i / f->n * width + j] * (scale ? (double)scale[j] : 1) * (double)y[j * f->n + i % f->n];
        assert_true(fabs(sum) < 4e-6 * f->most * (double)f->n);
    }
}

static void check_qr(factored *f, bool whole)
{
    int64_t k = f->m < f->n ? f->m : f->n, width = whole ? f->m : k;
    factor(f, ARTEL__DECOMPOSITION_QR, whole);
    assert_orthonormal(f->y[0], f->m, width, false);
    assert_product(f, f->y[0], NULL, f->y[1], width);
    for (int64_t i = 0; i < width * f->n; i++) assert_true(i / f->n <= i % f->n || f->y[1][i] == 0);
}

static void check_svd(factored *f, bool whole)
{
    int64_t k = f->m < f->n ? f->m : f->n, left = whole ? f->m : k, right = whole ? f->n : k;
    factor(f, ARTEL__DECOMPOSITION_SINGULAR, whole);
    assert_orthonormal(f->y[0], f->m, left, false);
    assert_orthonormal(f->y[2], f->n, right, true);
    assert_product(f, f->y[0], f->y[1], f->y[2], left);
    for (int64_t i = 0; i < k; i++) assert_true(f->y[1][i] >= 0 && (i == 0 || f->y[1][i] <= f->y[1][i - 1]));
}

static void check_eigh(factored *f)
{
    int64_t n = f->n;
    factor(f, ARTEL__DECOMPOSITION_SYMMETRIC, false);
    for (int64_t i = 0; i < n * n; i++)
        f->a[i] = i % n > i / n ? f->a[i % n * n + i / n] : f->a[i]; /* what lies above was not read */
    assert_orthonormal(f->y[1], n, n, false);
    for (int64_t i = 0; i < n; i++) {
        assert_true(i == 0 || f->y[0][i] >= f->y[0][i - 1]);
        double largest = 0;
        for (int64_t j = 0; j < n; j++) {
            double sum = -(double)f->y[0][i] * (double)f->y[1][j * n + i], part = (double)f->y[1][j * n + i];
            for (int64_t k = 0; k < n; k++) sum += (double)f->a[j * n + k] * (double)f->y[1][k * n + i];
            assert_true(fabs(sum) < 4e-6 * f->most * (double)n);
            if (fabs(part) > fabs(largest) * (1 + 1e-5)) largest = part;
        }
        assert_true(largest > 0);
    }
}

static void test_factors(void **state)
{
    static const int64_t sizes[][2] = {{1, 1}, {1, 4}, {4, 1},   {2, 2},   {3, 3},  {5, 3},
                                       {3, 5}, {6, 6}, {20, 17}, {17, 20}, {20, 20}};
    static factored f;
    check_random random = {11};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int kind = 0; kind < KINDS; kind++) {
            f.m = sizes[s][0], f.n = sizes[s][1];
            make(&f, kind, &random);
            for (int whole = 0; whole < 2; whole++) {
                check_qr(&f, whole);
                check_svd(&f, whole);
            }
            if (f.m == f.n) check_eigh(&f);
        }
    }
}

/* By hand. */
static void test_signs(void **state)
{
    static factored f = {.a = {3, 1, 4, 2}, .m = 2, .n = 2};
    (void)state;
    factor(&f, ARTEL__DECOMPOSITION_QR,
           false); /* the first reflection turns its column round, the last line is left as it is */
    const float q[] = {-0.6f, -0.8f, -0.8f, 0.6f}, r[] = {-5, -2.2f, 0, 0.4f};
    for (int i = 0; i < 4; i++) assert_true(fabsf(f.y[0][i] - q[i]) < 1e-6f && fabsf(f.y[1][i] - r[i]) < 1e-6f);
    memcpy(f.a, (const float[]){0, 2, 2, 0}, sizeof(float) * 4);
    factor(&f, ARTEL__DECOMPOSITION_SYMMETRIC, false); /* of equal components the first is positive */
    for (int i = 0; i < 4; i++) assert_true(fabsf(f.y[1][i] - (i == 2 ? -1.0f : 1.0f) * 0.70710678f) < 1e-6f);
    assert_true(fabsf(f.y[0][0] + 2) < 1e-6f && fabsf(f.y[0][1] - 2) < 1e-6f);
}

/* Ends, and says that there is nothing. */
static void test_not_finite(void **state)
{
    static const artel__decomposition all[] = {ARTEL__DECOMPOSITION_QR, ARTEL__DECOMPOSITION_SYMMETRIC,
                                               ARTEL__DECOMPOSITION_SINGULAR};
    static factored f = {.m = 3, .n = 3};
    check_random random = {2};
    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            make(&f, 0, &random);
            f.a[4] = k ? NAN : INFINITY;
            factor(&f, all[i], false);
            for (int j = 0; j < 3; j++) assert_true(isnan(f.y[0][j]) && isnan(f.y[1][j]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors), cmocka_unit_test(test_signs),
                                       cmocka_unit_test(test_not_finite)};
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
