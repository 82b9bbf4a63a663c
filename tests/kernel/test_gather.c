/* SPDX-License-Identifier: Apache-2.0 */
/* Order, elements by index, integers and small matrices against plain forms of their definitions. */
#include "help_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/gather.h"
#include "kernel/matrix.h"

enum {
    MOST = 400
};

/* Numbers of few values, so that many are equal, with NaN, infinities and zeros of both signs. */
static float number(check_random *random)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    uint32_t word = (uint32_t)check_next(random);
    return word % 9 == 0 ? odd[word / 9 % 5] : (float)((int)(word / 64 % 17) - 8) * 0.5f;
}

static bool before(float a, float b)
{
    return isnan(b) ? !isnan(a) : a < b;
}

static void test_order(void **state)
{
    static float x[MOST];
    static int32_t y[MOST];
    check_random random = {3};
    (void)state;
    for (int64_t n = 1; n < 40; n++) {
        artel__order p = {.outer = 7, .length = n, .x = x, .y = y};
        for (int64_t i = 0; i < 7 * n; i++) x[i] = number(&random);
        check_kernels(artel__order_kernels, &p, &(check_buffer){y, (size_t)(7 * n) * sizeof *y}, 1);
        for (int64_t a = 0; a < 7; a++) {
            const float *line = x + a * n;
            for (int64_t i = 0; i < n; i++) { /* its place is the number of those before it, of equals those in front */
                int64_t rank = 0;
                for (int64_t k = 0; k < n; k++)
                    rank += before(line[k], line[i]) || (!before(line[i], line[k]) && k < i);
                assert_int_equal(y[a * n + rank], i);
            }
        }
    }
}

static void test_take(void **state)
{
    static float x[MOST], y[MOST], dx[MOST], expected[MOST];
    static int32_t index[MOST];
    check_random random = {4};
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        _Atomic int64_t row = INT64_MAX, value = 0;
        artel__take p = {.outer = 1 + turn % 4,
                         .extent = 1 + turn % 6,
                         .picks = 1 + turn % 5,
                         .inner = 1 + turn % 3,
                         .per_row = 1,
                         .shared = turn % 2,
                         .index = index,
                         .x = x,
                         .y = y,
                         .fault = {&row, &value, 10}};
        int64_t first = INT64_MAX;
        for (int64_t i = 0; i < p.outer * p.extent * p.inner; i++) x[i] = number(&random);
        for (int64_t i = 0; i < (p.shared ? 1 : p.outer) * p.picks; i++)
            index[i] = (int32_t)(check_next(&random) % (uint64_t)(p.extent + 1)) - (turn % 3 == 0);
        check_kernels(artel__take_kernels, &p, &(check_buffer){y, (size_t)(p.outer * p.picks * p.inner) * sizeof *y},
                      1);
        memset(expected, 0, sizeof expected);
        for (int64_t t = 0; t < p.outer * p.picks; t++) {
            int64_t a = t / p.picks, at = index[p.shared ? t % p.picks : t];
            bool inside = at >= 0 && at < p.extent;
            if (!inside && a + 10 < first) first = a + 10;
            for (int64_t b = 0; b < p.inner; b++) {
                float wanted = inside ? x[(a * p.extent + at) * p.inner + b] : 0.0f;
                assert_memory_equal(&y[t * p.inner + b], &wanted, sizeof wanted);
                if (inside) expected[(a * p.extent + at) * p.inner + b] += (float)(t % 3);
            }
        }
        assert_int_equal(row, first);
        artel__take_gradient g = {.as = p, .dy = y, .dx = dx};
        for (int64_t i = 0; i < p.outer * p.picks * p.inner; i++) y[i] = (float)(i / p.inner % 3);
        check_kernels(artel__take_gradient_kernels, &g,
                      &(check_buffer){dx, (size_t)(p.outer * p.extent * p.inner) * sizeof *dx}, 1);
        assert_memory_equal(dx, expected, (size_t)(p.outer * p.extent * p.inner) * sizeof *dx);
    }
}

static int64_t floored(int64_t a, int64_t b)
{
    return (int64_t)floor((double)a / (double)b);
}

static void check_long(artel__integer_op op, int64_t a, int64_t b, int64_t y)
{
    uint64_t u = (uint64_t)a, v = (uint64_t)b, got = (uint64_t)y;
    switch (op) {
    case ARTEL__INTEGER_AND: assert_true(got == (u & v)); break;
    case ARTEL__INTEGER_OR: assert_true(got == (u | v)); break;
    case ARTEL__INTEGER_XOR: assert_true(got == (u ^ v)); break;
    case ARTEL__INTEGER_ADD: assert_true(got == u + v); break;
    case ARTEL__INTEGER_SUBTRACT: assert_true(got == u - v); break;
    case ARTEL__INTEGER_MULTIPLY: assert_true(got == u * v); break;
    case ARTEL__INTEGER_SHIFT_LEFT:
        if (b >= 0 && b < 64) assert_true(got == u << b);
        break;
    case ARTEL__INTEGER_SHIFT_RIGHT:
        if (b >= 0 && b < 62 && a > -(INT64_C(1) << 52) && a < INT64_C(1) << 52)
            assert_true(y == floored(a, INT64_C(1) << b));
        break;
    case ARTEL__INTEGER_MOD:
        assert_true(b ? (uint64_t)llabs(y) < (b < 0 ? 0 - v : v) && (y == 0 || (y < 0) == (b < 0)) : y == 0);
        break;
    case ARTEL__INTEGER_GCD:
        if (y > 0) assert_true(a % y == 0 && b % y == 0);
        break;
    default: break;
    }
}

static void test_long_integers(void **state)
{
    static const int64_t values[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     -3,
                                     7,
                                     12,
                                     -18,
                                     63,
                                     64,
                                     -100,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     1 << 20,
                                     INT64_C(1) << 53,
                                     (INT64_C(1) << 53) + 1};
    const int64_t n = (int64_t)ARTEL__COUNT(values);
    int64_t out[ARTEL__COUNT(values) * ARTEL__COUNT(values)], divided[ARTEL__COUNT(out)];
    artel__integer p = {.a = values, .b = values, .out = out, .is_long = true};
    artel_shape column = {.rank = 2, .dim = {n, 1}}, row = {.rank = 1, .dim = {n}}, all = {.rank = 2, .dim = {n, n}};
    (void)state;
    artel__loop_broadcast(&p.loop, -1, &all, 2, (const artel_shape *const[]){&column, &row},
                          (const bool[]){false, false});
    for (int op = 0; op < ARTEL__INTEGER_COUNT; op++) {
        p.op = (artel__integer_op)op;
        check_kernels(artel__integer_kernels, &p, &(check_buffer){out, sizeof out}, 1);
        for (int64_t i = 0; i < n * n; i++) check_long(p.op, values[i / n], values[i % n], out[i]);
        for (int64_t i = 0; i < n * n && op == ARTEL__INTEGER_MOD; i++) /* a = (a / b) b + a mod b */
            assert_true(values[i % n] == 0 ||
                        (uint64_t)divided[i] * (uint64_t)values[i % n] + (uint64_t)out[i] == (uint64_t)values[i / n]);
        if (op == ARTEL__INTEGER_DIV) memcpy(divided, out, sizeof out);
    }
}

static void test_integers(void **state)
{
    static const int32_t values[] = {0, 1, -1, 2, 3, -3, 7, 12, -18, 31, 32, 100, -100, 65535, INT32_MAX, INT32_MIN};
    const int64_t n = (int64_t)ARTEL__COUNT(values);
    int32_t out[ARTEL__COUNT(values) * ARTEL__COUNT(values)];
    artel__integer p = {.a = values, .b = values, .out = out};
    artel_shape column = {.rank = 2, .dim = {n, 1}}, row = {.rank = 1, .dim = {n}}, all = {.rank = 2, .dim = {n, n}};
    (void)state;
    artel__loop_broadcast(&p.loop, -1, &all, 2, (const artel_shape *const[]){&column, &row},
                          (const bool[]){false, false});
    for (int op = 0; op < ARTEL__INTEGER_COUNT; op++) {
        p.op = (artel__integer_op)op;
        check_kernels(artel__integer_kernels, &p, &(check_buffer){out, sizeof out}, 1);
        for (int64_t i = 0; i < n * n; i++) {
            int64_t a = values[i / n], b = values[i % n], y = out[i];
            if (op == ARTEL__INTEGER_AND) assert_int_equal(y, (int32_t)a & (int32_t)b);
            if (op == ARTEL__INTEGER_OR) assert_int_equal(y, (int32_t)a | (int32_t)b);
            if (op == ARTEL__INTEGER_XOR) assert_int_equal(y, (int32_t)a ^ (int32_t)b);
            if (op == ARTEL__INTEGER_SHIFT_RIGHT && b >= 0 && b < 32) assert_int_equal(y, floored(a, (int64_t)1 << b));
            if (op == ARTEL__INTEGER_SHIFT_LEFT && b >= 0 && b < 32)
                assert_true((uint32_t)y == (uint32_t)a * ((uint32_t)1 << b));
            if (op == ARTEL__INTEGER_DIV) assert_true(b == 0 ? y == 0 : (int32_t)(uint32_t)floored(a, b) == y);
            if (op == ARTEL__INTEGER_ADD) assert_true((uint32_t)y == (uint32_t)a + (uint32_t)b);
            if (op == ARTEL__INTEGER_SUBTRACT) assert_true((uint32_t)y == (uint32_t)a - (uint32_t)b);
            if (op == ARTEL__INTEGER_MULTIPLY) assert_true((uint32_t)y == (uint32_t)a * (uint32_t)b);
            if (op == ARTEL__INTEGER_MOD) assert_int_equal(y, b ? a - floored(a, b) * b : 0);
            if (op == ARTEL__INTEGER_GCD && y > 0) assert_true(a % y == 0 && b % y == 0);
            if (op == ARTEL__INTEGER_LCM && llabs(a * b) < INT32_MAX)
                assert_true(a && b ? y > 0 && y % a == 0 && y % b == 0 : y == 0);
        }
    }
}

/* a y = b and y y^T = a again; the determinant of a product is the product of determinants. */
static void test_matrices(void **state)
{
    enum {
        N = 5,
        M = 3
    };
    float a[N * N], b[N * M], y[N * N], square[N * N], det[3];
    check_random random = {5};
    (void)state;
    for (int turn = 0; turn < 50; turn++) {
        for (int i = 0; i < N * N; i++)
            a[i] = (float)(check_next(&random) % 1000) / 500.0f - 1.0f + (i % (N + 1) == 0 && turn % 2 ? 2.0f : 0.0f);
        for (int i = 0; i < N * M; i++) b[i] = (float)(check_next(&random) % 1000) / 500.0f - 1.0f;
        artel__matrix p = {.function = ARTEL__MATRIX_SOLVE, .outer = 1, .n = N, .m = M, .a = a, .b = b, .y = y};
        check_kernels(artel__matrix_kernels, &p, &(check_buffer){y, sizeof b}, 1);
        double most = 1e-3;
        for (int i = 0; i < N * M; i++) most = fmax(most, (double)fabsf(y[i]));
        for (int i = 0; i < N * M; i++) {
            double sum = 0;
            for (int k = 0; k < N; k++) sum += (double)a[i / M * N + k] * (double)y[k * M + i % M];
            assert_true(fabs(sum - (double)b[i]) <= 1e-6 * most * N);
        }
        for (int i = 0; i < N * N; i++) {
            double sum = i % (N + 1) == 0 ? 0.5 : 0;
            for (int k = 0; k < N; k++) sum += (double)a[i / N * N + k] * (double)a[i % N * N + k];
            square[i] = (float)sum;
        }
        p = (artel__matrix){.function = ARTEL__MATRIX_CHOLESKY, .outer = 1, .n = N, .a = square, .y = y};
        check_kernels(artel__matrix_kernels, &p, &(check_buffer){y, sizeof y}, 1);
        for (int i = 0; i < N * N; i++) {
            double sum = 0;
            for (int k = 0; k < N; k++) sum += (double)y[i / N * N + k] * (double)y[i % N * N + k];
            assert_true(fabs(sum - (double)square[i]) <= 1e-5 * N && (i % N <= i / N || y[i] == 0));
        }
        const float *of[] = {square, y};
        for (int k = 0; k < 2; k++) {
            p = (artel__matrix){.function = ARTEL__MATRIX_DETERMINANT, .outer = 1, .n = N, .a = of[k], .y = &det[k]};
            check_kernels(artel__matrix_kernels, &p, &(check_buffer){&det[k], sizeof det[k]}, 1);
        }
        assert_true(fabs((double)det[0] - (double)det[1] * (double)det[1]) <= 1e-4 * fabs((double)det[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_take),
                                       cmocka_unit_test(test_integers), cmocka_unit_test(test_long_integers),
                                       cmocka_unit_test(test_matrices)};
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
