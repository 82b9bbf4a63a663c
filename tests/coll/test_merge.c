/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Sums and maxima: each dtype, every length around a vector, unaligned, in place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "coll/merge.h"

enum {
    MOST = 41
};

static void float32(void **state)
{
    (void)state;
    float left[MOST + 1], right[MOST + 1], out[MOST + 1];
    for (int n = 0; n < MOST; n++) {
        for (int i = 0; i <= n; i++)
            left[i] = (float)(i * 7 % 5) + 0.1f, right[i] = (float)(i * 3 % 7) - 0.3f, out[i] = 99;
        artel__coll_sum(ARTEL_DTYPE_FLOAT32)(out, left, right, n);
        for (int i = 0; i < n; i++) assert_true(out[i] == left[i] + right[i]);
        assert_true(out[n] == 99);
        artel__coll_max(ARTEL_DTYPE_FLOAT32)(left, left, right, n);
        for (int i = 0; i < n; i++)
            assert_true(left[i] == (right[i] > (float)(i * 7 % 5) + 0.1f ? right[i] : (float)(i * 7 % 5) + 0.1f));
    }
}

static void float64_from_odd_places(void **state)
{
    (void)state;
    double left[MOST + 1], right[MOST + 1], out[MOST + 1];
    for (int i = 0; i <= MOST; i++) left[i] = i * 0.7, right[i] = 20 - i * 1.1, out[i] = 99;
    artel__coll_sum(ARTEL_DTYPE_FLOAT64)(out + 1, left + 1, right, MOST - 1);
    for (int i = 0; i < MOST - 1; i++) assert_true(out[i + 1] == left[i + 1] + right[i]);
    artel__coll_max(ARTEL_DTYPE_FLOAT64)(out, left, right, MOST);
    for (int i = 0; i < MOST; i++) assert_true(out[i] == (right[i] > left[i] ? right[i] : left[i]));
}

static void integers(void **state)
{
    (void)state;
    int32_t a[MOST], b[MOST];
    int64_t c[MOST], d[MOST];
    for (int i = 0; i < MOST; i++) a[i] = INT32_MAX - i, b[i] = i * 3 - 5, c[i] = INT64_MAX - i, d[i] = i * 3 - 5;
    artel__coll_sum(ARTEL_DTYPE_INT32)(a, a, b, MOST);
    artel__coll_sum(ARTEL_DTYPE_INT64)(c, c, d, MOST);
    for (int i = 0; i < MOST; i++) {
        assert_true((uint32_t)a[i] == (uint32_t)(INT32_MAX - i) + (uint32_t)(i * 3 - 5));
        assert_true((uint64_t)c[i] == (uint64_t)(INT64_MAX - i) + (uint64_t)(int64_t)(i * 3 - 5));
    }
    artel__coll_max(ARTEL_DTYPE_INT32)(b, b, a, MOST);
    artel__coll_max(ARTEL_DTYPE_INT64)(d, d, c, MOST);
    for (int i = 0; i < MOST; i++) assert_true(b[i] >= a[i] && d[i] >= c[i]);
}

/* Of equal values (-0 and +0) the left one stays. */
static void ties(void **state)
{
    (void)state;
    float left = -0.0f, right = 0.0f, out;
    artel__coll_max(ARTEL_DTYPE_FLOAT32)(&out, &left, &right, 1);
    assert_memory_equal(&out, &left, sizeof out);
}

static void others_are_refused(void **state)
{
    (void)state;
    assert_null(artel__coll_sum(ARTEL_DTYPE_UINT8));
    assert_null(artel__coll_max(ARTEL_DTYPE_FLOAT16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32), cmocka_unit_test(float64_from_odd_places), cmocka_unit_test(integers),
        cmocka_unit_test(ties),    cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
