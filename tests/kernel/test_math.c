/* SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions against libm in float64, at the error bounds that kernel/math.h promises. */
#include "help_check.h"

#include <float.h>

#include "kernel/math.h"

typedef struct math_row {
    const char *name;
    float (*function)(float x);
    double (*truth)(double x);
    float low, high; /* where the bound holds */
    double bound;    /* units in the last place */
} math_row;

static double true_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double true_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double true_normal(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

static double true_bell(double x)
{
    return exp(-0.5 * x * x);
}

static float normal(float x)
{
    float bell;
    return artel__normal_cdf(x, &bell);
}

static float bell(float x)
{
    float y;
    artel__normal_cdf(x, &y);
    return y;
}

static const math_row rows[] = {
    {"exp", artel__expf, exp, -87.3f, 88.7f, 1.0},
    {"expm1", artel__expm1f, expm1, -3e38f, 88.7f, 2.0},
    {"log", artel__logf, log, 1.2e-38f, 3.4e38f, 1.0},
    {"log1p", artel__log1pf, log1p, -0.99999994f, 3.4e38f, 1.5},
    {"tanh", artel__tanhf, tanh, -3e38f, 3e38f, 2.5},
    {"sigmoid", artel__sigmoidf, true_sigmoid, -87.0f, 3e38f, 2.5},
    {"softplus", artel__softplusf, true_softplus, -87.0f, 3e38f, 2.0},
    {"erf", artel__erff, erf, -3e38f, 3e38f, 1.5},
    {"normal_cdf", normal, true_normal, -12.0f, 3e38f, 8.0},
    {"its bell", bell, true_bell, -12.0f, 12.0f, 1.5},
    {"sin", artel__sinf, sin, -FLT_MAX, FLT_MAX, 0.51},
    {"cos", artel__cosf, cos, -FLT_MAX, FLT_MAX, 0.51},
    {"sin of near", artel__sin_of_near, sin, -ARTEL__SIN_NEAR, ARTEL__SIN_NEAR, 0.51},
    {"cos of near", artel__cos_of_near, cos, -ARTEL__SIN_NEAR, ARTEL__SIN_NEAR, 0.51},
};

static double units(float got, double want)
{
    double magnitude = fabs(want) < 0x1p-126 ? 0x1p-126 : fabs(want);
    return fabs((double)got - want) / ldexp(1.0, ilogb(magnitude) - 23);
}

static void test_accuracy(void **state)
{
    (void)state;
    for (size_t r = 0; r < ARTEL__COUNT(rows); r++) {
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
            float x = artel__from_bits((uint32_t)bits);
            if (!(x >= rows[r].low && x <= rows[r].high) || fabsf(x) < 0x1p-120f) continue;
            double error = units(rows[r].function(x), rows[r].truth((double)x));
            if (!(error <= rows[r].bound))
                fail_msg("%s(%a): %g units, promised %g", rows[r].name, (double)x, error, rows[r].bound);
        }
    }
}

static void test_pow(void **state)
{
    check_random random = {11};
    (void)state;
    for (int i = 0; i < 200000; i++) {
        float x = check_uniform(&random, 0, 20), y = check_uniform(&random, -25, 25);
        if (i & 1) x = -x, y = (float)(int)y;
        if (x == 0 || fabs(pow(x, y)) < 0x1p-120 || fabs(pow(x, y)) > 0x1p127) continue;
        assert_true(units(artel__powf(x, y), pow(x, y)) <= 0.51);
    }
    assert_true(artel__powf(0, 0) == 1 && artel__powf(0, 2) == 0 && artel__powf(0, -1) == INFINITY &&
                isnan(artel__powf(-2, 0.5f)));
    assert_true(artel__powf(0.9f, 1) == 0.9f && artel__powf(-3, 3) == -27 && artel__powf(INFINITY, -1) == 0);
}

/* All special cases of annex F, and what lies beside them. */
static void test_pow_table(void **state)
{
    static const float values[] = {0.0f,  1.0f,      0.5f,      2.0f,     3.0f,     2.5f,        1e30f,
                                   3e38f, 0x1p-100f, 16777215., 8388609., INFINITY, 0.99999994f, 1.0000001f};
    int count = 2 * (int)ARTEL__COUNT(values) + 1;
    (void)state;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            float x = i == count - 1 ? NAN : i & 1 ? -values[i / 2] : values[i / 2];
            float y = j == count - 1 ? NAN : j & 1 ? -values[j / 2] : values[j / 2];
            float got = artel__powf(x, y), want = (float)pow((double)x, (double)y);
            bool same = isnan(want) ? isnan(got) : artel__bits(got) == artel__bits(want);
            if (!same) fail_msg("pow(%a, %a): %a, expected %a", (double)x, (double)y, (double)got, (double)want);
        }
    }
}

/* The argument that lies nearest to a multiple of pi / 2, and others that need all of it. */
static void test_far_sines(void **state)
{
    static const float values[] = {
        0x1.f37742p+95f, 0x1.fffffep+127f, 0x1.000002p+23f, 0x1p+24f, 0x1p+127f, 1e9f, 1e22f};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(values); i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            float x = (float)sign * values[i];
            assert_true(units(artel__sinf(x), sin(x)) <= 0.51 && units(artel__cosf(x), cos(x)) <= 0.51);
        }
    }
    for (uint32_t i = 0; i < 1u << 20; i++) { /* both forms where they meet */
        float x = artel__from_bits(artel__bits(ARTEL__SIN_NEAR) - i);
        assert_true(artel__sin_far(x, 0) == artel__sinf(x) && artel__sin_far(-x, 1) == artel__cosf(x));
    }
}

static void test_limits(void **state)
{
    float nan = NAN;
    (void)state;
    for (size_t r = 0; r < ARTEL__COUNT(rows); r++) assert_true(isnan(rows[r].function(nan)));
    assert_true(artel__expf(INFINITY) == INFINITY && artel__expf(-INFINITY) == 0 && artel__expf(0) == 1 &&
                artel__expf(89) == INFINITY);
    assert_true(artel__expm1f(-INFINITY) == -1 && artel__expm1f(INFINITY) == INFINITY && artel__expm1f(0) == 0);
    assert_true(artel__logf(0) == -INFINITY && artel__logf(INFINITY) == INFINITY && isnan(artel__logf(-1)) &&
                artel__logf(1) == 0);
    assert_true(artel__log1pf(-1) == -INFINITY && artel__log1pf(INFINITY) == INFINITY && isnan(artel__log1pf(-2)));
    assert_true(artel__tanhf(INFINITY) == 1 && artel__tanhf(-INFINITY) == -1 && artel__tanhf(0) == 0);
    assert_true(artel__sigmoidf(INFINITY) == 1 && artel__sigmoidf(-INFINITY) == 0 && artel__sigmoidf(0) == 0.5f);
    assert_true(artel__softplusf(INFINITY) == INFINITY && artel__softplusf(-INFINITY) == 0);
    assert_true(normal(INFINITY) == 1 && normal(-INFINITY) == 0 && normal(0) == 0.5f && bell(0) == 1 &&
                bell(-INFINITY) == 0);
    assert_true(artel__erff(INFINITY) == 1 && artel__erff(-INFINITY) == -1);
    assert_true(isnan(artel__sinf(INFINITY)) && isnan(artel__cosf(-INFINITY)) && artel__cosf(0) == 1);
    assert_true(artel__bits(artel__sinf(-0.0f)) == 0x80000000u && artel__sinf(0x1p-126f) == 0x1p-126f);
}

static void test_double(void **state)
{
    check_random random = {5};
    (void)state;
    for (int i = 0; i < 100000; i++) {
        double x = (double)check_uniform(&random, -700, 700), y = exp(x);
        assert_true(fabs(artel__expd(x) / y - 1) <= 2 * 0x1p-52);
        if (x != 0) assert_true(fabs(artel__logd(y) / log(y) - 1) <= 2 * 0x1p-52);
    }
    assert_true(artel__expd(0) == 1 && artel__logd(1) == 0 && artel__expd(1000) == INFINITY && artel__expd(-1000) == 0);
    assert_true(artel__powd(0.5, 10) == 0x1p-10 && artel__powd(-2, 3) < -7.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),  cmocka_unit_test(test_pow),    cmocka_unit_test(test_pow_table),
        cmocka_unit_test(test_far_sines), cmocka_unit_test(test_limits), cmocka_unit_test(test_double),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
