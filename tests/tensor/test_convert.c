/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions: all halves, ties to even, saturation, single rounding, every pair of types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "tensor/shape.h"

static float float_of(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The value of half bits by its definition. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

static void test_all_halves(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t bits = (uint16_t)i;
        float value = artel__half_to_float(bits), wide = artel__bfloat16_to_float(bits);
        if ((bits & 0x7FFF) > 0x7C00)
            assert_true(isnan(value) && isnan(artel__half_to_float(artel__float_to_half(value))));
        else if ((bits & 0x7FFF) == 0x7C00)
            assert_true(isinf(value) && artel__float_to_half(value) == bits);
        else
            assert_true((double)value == half_value(bits) && artel__float_to_half(value) == bits);
        if (isnan(wide))
            assert_true(isnan(artel__bfloat16_to_float(artel__float_to_bfloat16(wide))));
        else
            assert_int_equal(artel__float_to_bfloat16(wide), bits);
    }
}

/* Between two neighbours: the nearer one, the even one in the middle. */
static void test_rounding_of_halves(void **state)
{
    (void)state;
    for (uint16_t bits = 0; bits < 0x7BFF; bits++) {
        double low = half_value(bits), high = half_value((uint16_t)(bits + 1)), middle = (low + high) / 2;
        assert_int_equal(artel__float_to_half((float)middle), bits & 1 ? bits + 1 : bits);
        assert_int_equal(artel__float_to_half(nextafterf((float)middle, 0)), bits);
        assert_int_equal(artel__float_to_half(nextafterf((float)middle, INFINITY)), bits + 1);
    }
    assert_int_equal(artel__float_to_half(65519.0f), 0x7BFF);
    assert_int_equal(artel__float_to_half(65520.0f), 0x7C00);
    assert_int_equal(artel__float_to_half(-1e38f), 0xFC00);
    assert_int_equal(artel__float_to_half(float_of(1)), 0);
    assert_int_equal(artel__float_to_bfloat16(float_of(0x3F808000)), 0x3F80); /* a tie to even */
    assert_int_equal(artel__float_to_bfloat16(float_of(0x3F818000)), 0x3F82);
    assert_int_equal(artel__float_to_bfloat16(float_of(0x7F7FFFFF)), 0x7F80);
    assert_int_equal(artel__float_to_bfloat16(float_of(0x7F800001)), 0x7FC0);
}

static void test_saturation(void **state)
{
    static const double values[] = {1e30, -1e30, NAN, 2.9, -2.9, 255.5, 4294967295.0, 9223372036854775808.0, -0.5};
    int8_t i8[9];
    uint8_t u8[9], truth[9];
    int64_t i64[9];
    uint64_t u64[9];
    (void)state;
    artel__convert(ARTEL_DTYPE_FLOAT64, values, ARTEL_DTYPE_INT8, i8, 9);
    static const int8_t e8[] = {127, -128, 0, 2, -2, 127, 127, 127, 0};
    assert_memory_equal(i8, e8, sizeof(e8));
    artel__convert(ARTEL_DTYPE_FLOAT64, values, ARTEL_DTYPE_UINT8, u8, 9);
    static const uint8_t eu8[] = {255, 0, 0, 2, 0, 255, 255, 255, 0};
    assert_memory_equal(u8, eu8, sizeof(eu8));
    artel__convert(ARTEL_DTYPE_FLOAT64, values, ARTEL_DTYPE_INT64, i64, 9);
    static const int64_t e64[] = {INT64_MAX, INT64_MIN, 0, 2, -2, 255, 4294967295, INT64_MAX, 0};
    assert_memory_equal(i64, e64, sizeof(e64));
    artel__convert(ARTEL_DTYPE_FLOAT64, values, ARTEL_DTYPE_UINT64, u64, 9);
    static const uint64_t eu64[] = {UINT64_MAX, 0, 0, 2, 0, 255, 4294967295u, (uint64_t)1 << 63, 0};
    assert_memory_equal(u64, eu64, sizeof(eu64));
    artel__convert(ARTEL_DTYPE_FLOAT64, values, ARTEL_DTYPE_BOOL, truth, 9);
    for (int i = 0; i < 9; i++) assert_int_equal(truth[i], 1);
    static const int64_t wide[] = {-1, 300, INT64_MIN};
    artel__convert(ARTEL_DTYPE_INT64, wide, ARTEL_DTYPE_UINT8, u8, 3);
    assert_true(u8[0] == 0 && u8[1] == 255 && u8[2] == 0);
    static const uint64_t large[] = {UINT64_MAX, 5};
    artel__convert(ARTEL_DTYPE_UINT64, large, ARTEL_DTYPE_INT64, i64, 2);
    assert_true(i64[0] == INT64_MAX && i64[1] == 5);
}

static void test_one_rounding(void **state)
{
    static const double d[] = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-8 + 0x1p-50};
    static const int64_t i[] = {((int64_t)1 << 60) + ((int64_t)1 << 36) + 1, 16777217,
                                ((int64_t)1 << 60) + ((int64_t)1 << 52) + 1};
    uint16_t half[3];
    float single[3];
    (void)state;
    artel__convert(ARTEL_DTYPE_FLOAT64, d, ARTEL_DTYPE_FLOAT16, half,
                   1); /* by way of float32 it would be a tie, and 1 */
    assert_int_equal(half[0], 0x3C01);
    artel__convert(ARTEL_DTYPE_FLOAT64, d + 1, ARTEL_DTYPE_BFLOAT16, half, 1);
    assert_int_equal(half[0], 0x3F81);
    artel__convert(ARTEL_DTYPE_INT64, i, ARTEL_DTYPE_FLOAT32, single, 3);
    assert_true(single[0] == 0x1p60f + 0x1p37f && single[1] == 16777216.0f);
    artel__convert(ARTEL_DTYPE_INT64, i, ARTEL_DTYPE_BFLOAT16, half, 3);
    assert_int_equal(half[2], 0x5D81); /* above the tie by one in 2^60 */
}

static const artel_dtype numeric[] = {ARTEL_DTYPE_FLOAT32,  ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_FLOAT16,
                                      ARTEL_DTYPE_BFLOAT16, ARTEL_DTYPE_INT8,    ARTEL_DTYPE_INT16,
                                      ARTEL_DTYPE_INT32,    ARTEL_DTYPE_INT64,   ARTEL_DTYPE_UINT8,
                                      ARTEL_DTYPE_UINT16,   ARTEL_DTYPE_UINT32,  ARTEL_DTYPE_UINT64};

/* Small integers go from any type to any other and back; more of them than one piece holds, and nothing beyond. */
static void test_every_pair(void **state)
{
    enum {
        COUNT = 1301
    };
    static double plain[COUNT], back[COUNT];
    static uint8_t first[COUNT * 8 + 8], second[COUNT * 8 + 8];
    (void)state;
    for (int i = 0; i < COUNT; i++) plain[i] = i % 127;
    for (size_t a = 0; a < ARTEL__COUNT(numeric); a++) {
        for (size_t b = 0; b < ARTEL__COUNT(numeric); b++) {
            size_t end = COUNT * artel_dtype_size(numeric[b]);
            memset(second, 0xEE, sizeof(second));
            artel__convert(ARTEL_DTYPE_FLOAT64, plain, numeric[a], first, COUNT);
            artel__convert(numeric[a], first, numeric[b], second, COUNT);
            for (size_t i = 0; i < 8; i++) assert_int_equal(second[end + i], 0xEE);
            artel__convert(numeric[b], second, ARTEL_DTYPE_FLOAT64, back, COUNT);
            assert_memory_equal(plain, back, sizeof(plain));
        }
    }
    artel__convert(ARTEL_DTYPE_STRING, NULL, ARTEL_DTYPE_FLOAT32, first, 5);
    artel__convert(ARTEL_DTYPE_FLOAT32, NULL, ARTEL_DTYPE_FLOAT32, NULL, 0);
}

static void test_bools(void **state)
{
    static const uint8_t odd[] = {0, 1, 255};
    static const float zeros[] = {0.0f, -0.0f, 1e-45f};
    float out[3];
    uint8_t truth[3];
    (void)state;
    artel__convert(ARTEL_DTYPE_BOOL, odd, ARTEL_DTYPE_FLOAT32, out, 3);
    assert_true(out[0] == 0 && out[1] == 1 && out[2] == 1);
    uint32_t mode = artel__fp_enter(); /* a denormal is not zero, whatever the mode */
    artel__convert(ARTEL_DTYPE_FLOAT32, zeros, ARTEL_DTYPE_BOOL, truth, 3);
    artel__fp_leave(mode);
    assert_true(truth[0] == 0 && truth[1] == 0 && truth[2] == 1);
    assert_int_equal(bits_of(zeros[2]), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_halves), cmocka_unit_test(test_rounding_of_halves),
        cmocka_unit_test(test_saturation), cmocka_unit_test(test_one_rounding),
        cmocka_unit_test(test_every_pair), cmocka_unit_test(test_bools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
