/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of float64 (kernel/wide/real.h) beside those of the C library in long double, and the kernels of
 * kernel/wide.h in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "kernel/wide/real.h"

#include "kernel/wide.h"

typedef struct pair {
    const char *name;
    double (*ours)(double x);
    long double (*theirs)(long double x);
    double from, to, least; /* below this size differences count as such */
} pair;

static double sigmoid(double x)
{
    return real_sigmoid(x);
}

static long double sigmoid_of(long double x)
{
    return 1 / (1 + expl(-x));
}

static double softplus(double x)
{
    return real_softplus(x);
}

static long double softplus_of(long double x)
{
    return log1pl(expl(-fabsl(x))) + (x > 0 ? x : 0);
}

static double normal(double x)
{
    double bell;
    return real_normal_cdf(x, &bell);
}

static long double normal_of(long double x)
{
    return 0.5L * erfcl(-x / sqrtl(2.0L));
}

static double bell_of(double x)
{
    double bell;
    real_normal_cdf(x, &bell);
    return bell;
}

static long double bell_of_long(long double x)
{
    return expl(-0.5L * x * x);
}

static const pair pairs[] = {{"exp", real_exp, expl, -700, 700, 0},
                             {"expm1", real_expm1, expm1l, -40, 40, 0},
                             {"log", real_log, logl, 1e-300, 1e3, 0},
                             {"log1p", real_log1p, log1pl, -0.9999, 3, 0},
                             {"tanh", real_tanh, tanhl, -25, 25, 0},
                             {"sigmoid", sigmoid, sigmoid_of, -700, 40, 0},
                             {"softplus", softplus, softplus_of, -700, 40, 0},
                             {"erf", real_erf, erfl, -7, 7, 0},
                             {"normal", normal, normal_of, -8, 8, 1},
                             {"bell", bell_of, bell_of_long, -8, 8, 1e-3},
                             {"sin", real_sin, sinl, -100, 100, 1},
                             {"cos", real_cos, cosl, -100, 100, 1},
                             {"sqrt", real_sqrt, sqrtl, 0, 100, 0}};

static void check(const pair *p, double x)
{
    long double wanted = p->theirs((long double)x), apart = fabsl((long double)p->ours(x) - wanted),
                size = fabsl(wanted);
    if (size < (long double)p->least) size = (long double)p->least;
    if (!(apart <= 3e-15L * size)) fail_msg("%s(%.17g) is %.17g, wanted %.17Lg", p->name, x, p->ours(x), wanted);
}

static void test_functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const pair *p = &pairs[i];
        for (int k = 0; k <= 4000; k++) check(p, p->from + (p->to - p->from) * k / 4000);
        for (double x = 1e-12; x < 1; x *= 1.7) {
            if (x <= p->to) check(p, x);
            if (-x >= p->from) check(p, -x);
        }
    }
}

static void test_edges(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    assert_true(real_exp(-inf) == 0 && real_exp(inf) == inf && real_exp(nan) != real_exp(nan));
    assert_true(real_expm1(-inf) == -1 && real_expm1(inf) == inf && real_log1p(inf) == inf && real_log1p(-1) == -inf);
    assert_true(real_log1p(-2) != real_log1p(-2) && real_log(0) == -inf && real_erf(inf) == 1 && real_erf(-inf) == -1);
    assert_true(real_tanh(inf) == 1 && real_tanh(-inf) == -1 && real_sigmoid(-inf) == 0 && real_sigmoid(inf) == 1);
    assert_true(real_softplus(-inf) == 0 && real_softplus(inf) == inf && normal(-inf) == 0 && normal(inf) == 1);
    assert_true(signbit(real_tanh(-0.0)) && signbit(real_erf(-0.0)) && signbit(real_sin(-0.0)) &&
                real_erf(nan) != real_erf(nan));
}

/* Every task alone gives what all of them give together. */
static void check_pieces(const artel__kernel *kernel, const void *params, void *result, size_t bytes)
{
    uint8_t whole[4096], scratch[4096];
    assert_true(bytes <= sizeof whole);
    int64_t tasks = kernel->tasks(params);
    kernel->run(params, 0, tasks, scratch);
    memcpy(whole, result, bytes);
    memset(result, 0, bytes);
    for (int64_t i = tasks - 1; i >= 0; i--) kernel->run(params, i, i + 1, scratch);
    assert_memory_equal(whole, result, bytes);
}

static void test_pieces(void **state)
{
    (void)state;
    double a[120], b[120], y[120];
    int32_t place[120];
    for (int i = 0; i < 120; i++) {
        a[i] = i * 37 % 101 / 7.0 - 5;
        b[i] = i * 53 % 97 / 9.0 - 4;
    }
    const artel__wide_product product = {.outer = 2,
                                         .lead = 2,
                                         .rows = 3,
                                         .columns = 4,
                                         .inner = 5,
                                         .a_stride = 30,
                                         .b_stride = 0,
                                         .a = a,
                                         .b = b,
                                         .y = y};
    check_pieces(artel__wide_product_kernels[0], &product, y, 48 * sizeof *y);
    assert_true(fabs(y[27] - (a[30] * b[15] + a[31] * b[16] + a[32] * b[17] + a[33] * b[18] + a[34] * b[19])) < 1e-13);
    const artel__wide_reduce reduce = {
        .op = ARTEL__REDUCE_SUM, .rank = 3, .dim = {4, 5, 6}, .reduced = {false, true, false}, .x = a, .y = y};
    check_pieces(artel__wide_reduce_kernels[0], &reduce, y, 24 * sizeof *y);
    const artel__wide_order order = {.outer = 6, .length = 20, .x = a, .y = place};
    check_pieces(artel__wide_order_kernels[0], &order, place, sizeof place);
    for (int i = 0; i < 120; i++)
        assert_true(i % 20 == 0 || a[i / 20 * 20 + place[i - 1]] <= a[i / 20 * 20 + place[i]]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions), cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
