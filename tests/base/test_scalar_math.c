/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions against libm: accuracy, exact values, edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/context.h"
#include "base/rng.h"
#include "base/scalar_math.h"

/* A uniform double in [low, high) from counter i. */
static double draw(uint64_t i, double low, double high)
{
    uint32_t word[4];
    artel__rng_block(artel__rng_make_key(3, ARTEL__STREAM_INIT), 0, 0, 0, i, word);
    return low + (high - low) * ((double)word[0] + (double)word[1] * 0x1p-32) * 0x1p-32;
}

/* |got - wanted| in units of `scale`. */
static double error_of(double got, double wanted, double scale)
{
    return fabs(got - wanted) / scale;
}

static void test_exp_log(void **state)
{
    double worst_exp = 0, worst_log = 0;
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        double x = draw(i, -708, 709), y = draw(i, -3, 3);
        worst_exp = fmax(worst_exp, error_of(artel__exp64(x), exp(x), exp(x)));
        worst_exp = fmax(worst_exp, error_of(artel__exp64(y), exp(y), exp(y)));
        worst_log = fmax(worst_log, error_of(artel__log64(exp(x)), log(exp(x)), fabs(log(exp(x))) + 1e-300));
        worst_log = fmax(worst_log, error_of(artel__log64(exp(y)), log(exp(y)), fabs(log(exp(y))) + 1e-300));
    }
    assert_true(worst_exp < 4e-16);
    assert_true(worst_log < 4e-16);
    assert_true(artel__exp64(0) == 1 && artel__log64(1) == 0);
    assert_true(error_of(artel__log64(1 + 0x1p-52), 0x1p-52, 0x1p-52) < 1e-15);
    assert_true(artel__exp64(-1000) == 0 && artel__exp64(710) == INFINITY && isnan(artel__exp64(NAN)));
    assert_true(artel__exp64(INFINITY) == INFINITY && artel__exp64(-INFINITY) == 0);
    assert_true(error_of(artel__exp64(709.7), exp(709.7), exp(709.7)) < 4e-16);
    assert_true(artel__log64(0) == -INFINITY && artel__log64(INFINITY) == INFINITY && isnan(artel__log64(-1)));
}

static void test_sin_cos(void **state)
{
    double worst = 0, s = 0, c = 0;
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        double u = draw(i, -2, 2), x = draw(i, -1000, 1000), big = draw(i, -1048576, 1048576);
        artel__sincos_turns64(u, &s, &c);
        worst = fmax(worst, (double)fabsl(s - sinl(6.283185307179586476925286766559L * u)));
        worst = fmax(worst, (double)fabsl(c - cosl(6.283185307179586476925286766559L * u)));
        worst = fmax(worst, fmax(fabs(artel__cos64(x) - cos(x)), fabs(artel__sin64(x) - sin(x))));
        worst = fmax(worst, fabs(artel__cos64(big) - cos(big)));
    }
    assert_true(worst < 4e-16);
    static const double exact[][3] = {{0, 0, 1}, {0.25, 1, 0}, {0.5, 0, -1}, {0.75, -1, 0}, {1, 0, 1}, {-0.25, -1, 0}};
    for (size_t i = 0; i < ARTEL__COUNT(exact); i++) {
        artel__sincos_turns64(exact[i][0], &s, &c);
        assert_true(s == exact[i][1] && c == exact[i][2]);
    }
    assert_true(isnan(artel__cos64(INFINITY)) && isnan(artel__cos64(1e12)));
}

static void test_pow(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        double x = exp(draw(i, -5, 5)), y = draw(i + 1000000, -100, 100), wanted = pow(x, y);
        assert_true(error_of(artel__pow64(x, y), wanted, wanted) < (2 + fabs(y * log(x))) * 4e-16);
    }
    assert_true(artel__pow64(0.9, 1) == 0.9 && artel__pow64(0.999, 2) == 0.999 * 0.999 && artel__pow64(7, 0) == 1);
    assert_true(artel__pow64(2, 0.5) == sqrt(2) && artel__pow64(-2, 3) == -8 && artel__pow64(4, -1) == 0.25);
    assert_true(isnan(artel__pow64(-2, 0.3)) && artel__pow64(0, 2.5) == 0 && artel__pow64(0, -1) == INFINITY);
    assert_true(fabs(artel__pow64(-2, 9) + 512) < 1e-9 && fabs(artel__pow64(-2, 10) - 1024) < 1e-9);
    assert_true(artel__pow64(0.999, 1e6) == 0 && artel__pow64(-1, 1e300) == 1); /* below the normal numbers: zero */
    assert_true(artel__sqrt64(2) == sqrt(2));
}

static void test_tanh(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 50000; i++) {
        double x = draw(i, -5, 5), y = draw(i, -0.02, 0.02);
        assert_true(error_of(artel__tanh64(x), tanh(x), fabs(tanh(x))) < 2e-14);
        assert_true(error_of(artel__tanh64(y), tanh(y), fabs(tanh(y))) < 2e-14);
    }
    assert_true(artel__tanh64(0) == 0 && artel__tanh64(1000) == 1 && artel__tanh64(-1000) == -1);
}

/* The bits themselves, so that another compiler, level or library is found out. */
static void test_golden_bits(void **state)
{
    double s = 0, c = 0;
    (void)state;
    artel__sincos_turns64(0.1, &s, &c);
    assert_true(artel__exp64(1) == 0x1.5bf0a8b14576ap+1);
    assert_true(artel__exp64(-0.1) == 0x1.cf46d99d52b3ap-1);
    assert_true(artel__log64(10) == 0x1.26bb1bbb55516p+1);
    assert_true(artel__log64(0.3) == -0x1.34378fcbda721p+0);
    assert_true(artel__pow64(0.999, 1000) == 0x1.788526411ed72p-2);
    assert_true(s == 0x1.2cf2304755a5ep-1 && c == 0x1.9e3779b97f4a8p-1);
    assert_true(artel__cos64(2.5) == -0x1.9a2f7ef858b7dp-1);
    assert_true(artel__tanh64(0.7) == 0x1.356fb17af2e91p-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_log), cmocka_unit_test(test_sin_cos),     cmocka_unit_test(test_pow),
        cmocka_unit_test(test_tanh),    cmocka_unit_test(test_golden_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
