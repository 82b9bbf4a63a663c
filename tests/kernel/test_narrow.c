/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to 16-bit types: fast against reference, every 16-bit value, both neighbours of every tie, and what is said
 * of extremes. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/narrow.h"

enum {
    HALVES = 65536,
    AROUND = 7 /* float32 values looked at around each 16-bit value and each tie */
};

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void run(artel_dtype to, const float *x, float *y, int64_t count)
{
    artel__narrow p = {.to = to, .count = count, .x = x, .y = y};
    check_kernels(artel__narrow_kernels, &p, &(check_buffer){y, (size_t)count * sizeof *y}, 1);
}

/* Around every value of the type and around every tie between two of them. */
static void test_every_value(void **state)
{
    static const artel_dtype types[] = {ARTEL_DTYPE_FLOAT16, ARTEL_DTYPE_BFLOAT16};
    int64_t count = (int64_t)HALVES * AROUND * 2;
    float *x = check_alloc((size_t)count * sizeof *x), *y = check_alloc((size_t)count * sizeof *y);
    (void)state;
    for (int t = 0; t < 2; t++) {
        uint32_t tie = types[t] == ARTEL_DTYPE_FLOAT16 ? 0x1000 : 0x8000;
        for (uint32_t h = 0; h < HALVES; h++) {
            uint16_t half = (uint16_t)h;
            float wide;
            artel__convert(types[t], &half, ARTEL_DTYPE_FLOAT32, &wide, 1);
            for (uint32_t k = 0; k < AROUND; k++) {
                x[(h * AROUND + k) * 2] = float_of(bits_of(wide) + k - AROUND / 2);
                x[(h * AROUND + k) * 2 + 1] = float_of(bits_of(wide) + tie + k - AROUND / 2);
            }
        }
        run(types[t], x, y, count);
        for (uint32_t h = 0; h < HALVES;
             h++) { /* the values themselves stay as they are, bfloat16's denormals excepted */
            float value = x[(h * AROUND + AROUND / 2) * 2], made = y[(h * AROUND + AROUND / 2) * 2];
            if (isnan(value))
                assert_true(isnan(made));
            else if (types[t] == ARTEL_DTYPE_BFLOAT16 && (bits_of(value) & 0x7f800000u) == 0)
                assert_int_equal(bits_of(made), bits_of(value) & 0x80000000u);
            else
                assert_int_equal(bits_of(made), bits_of(value));
        }
    }
    check_free(x), check_free(y);
}

static void test_extremes(void **state)
{
    float x[] = {65519.0f, 65520.0f, -65520.0f,  0x1p-25f, 0x1.8p-25f, -0x1p-26f,
                 INFINITY, -0.0f,    1.0009765f, 2049.0f,  2051.0f},
          y[11];
    static const float half[] = {65504.0f, INFINITY, -INFINITY,  0.0f,    0x1p-24f, -0.0f,
                                 INFINITY, -0.0f,    1.0009766f, 2048.0f, 2052.0f};
    float v[] = {257.0f, 259.0f, 3.4e38f, -3.4e38f, 0x1p-127f}, w[5];
    static const float brain[] = {256.0f, 260.0f, INFINITY, -INFINITY, 0.0f};
    (void)state;
    run(ARTEL_DTYPE_FLOAT16, x, y, 11);
    assert_memory_equal(y, half, sizeof y);
    run(ARTEL_DTYPE_BFLOAT16, v, w, 5);
    assert_memory_equal(w, brain, sizeof w);
    assert_true(artel__narrow_one(ARTEL_DTYPE_FLOAT32, 0.1f) == 0.1f);
}

/* In place, and lengths that are no multiple of anything. */
static void test_lengths(void **state)
{
    check_random random = {5};
    (void)state;
    for (int64_t n = 0; n < 9000; n = n * 3 + 1) {
        float *x = check_alloc((size_t)(n + 1) * sizeof *x);
        for (int64_t i = 0; i < n; i++) x[i] = float_of((uint32_t)check_next(&random));
        run(ARTEL_DTYPE_FLOAT16, x, x, n);
        run(ARTEL_DTYPE_BFLOAT16, x, x, n);
        check_free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_lengths),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
