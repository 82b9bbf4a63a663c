/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and shapes: names, counts that overflow, Python's text, broadcasting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tensor/shape.h"

#define N(x) ((int64_t)(x))

static void test_dtypes(void **state)
{
    artel_dtype dtype = ARTEL_DTYPE_FLOAT32;
    (void)state;
    for (int i = 0; i <= ARTEL_DTYPE_STRING; i++) {
        assert_int_equal(artel_dtype_parse(artel_dtype_name((artel_dtype)i), &dtype), ARTEL_OK);
        assert_int_equal(dtype, i);
    }
    assert_int_equal(artel_dtype_size(ARTEL_DTYPE_BFLOAT16), 2);
    assert_int_equal(artel_dtype_size(ARTEL_DTYPE_UINT64), 8);
    assert_int_equal(artel_dtype_size(ARTEL_DTYPE_STRING), 0);
    assert_int_equal(artel_dtype_size((artel_dtype)99), 0);
    assert_string_equal(artel_dtype_name((artel_dtype)99), "?");
    assert_string_equal(artel_dtype_name((artel_dtype)-1), "?");
    assert_int_equal(artel_dtype_parse("complex64", &dtype), ARTEL_ERROR_NOT_FOUND);
    assert_int_equal(artel_dtype_parse(NULL, &dtype), ARTEL_ERROR_INVALID);
}

static void test_count(void **state)
{
    (void)state;
    artel_shape shape = artel__shape(0);
    assert_int_equal(artel_shape_count(&shape), 1);
    shape = artel__shape(3, N(2), N(3), N(4));
    assert_int_equal(artel_shape_count(&shape), 24);
    assert_int_equal(artel__shape_product(&shape, 1, 3), 12);
    assert_int_equal(artel__shape_product(&shape, 1, 1), 1);
    shape.dim[1] = -1;
    assert_int_equal(artel_shape_count(&shape), -1);
    shape = artel__shape(3, INT64_MAX, N(2), N(2));
    assert_int_equal(artel_shape_count(&shape), -1);
    shape = artel__shape(3, N(0), INT64_MAX, INT64_MAX);
    assert_int_equal(artel_shape_count(&shape), -1); /* a lie even beside a zero */
    shape = artel__shape(2, N(0), INT64_MAX);
    assert_int_equal(artel_shape_count(&shape), 0);
    shape.rank = 9;
    assert_int_equal(artel_shape_count(&shape), -1);
}

static void test_text(void **state)
{
    char buffer[64], small[6];
    (void)state;
    artel_shape shape = artel__shape(2, N(3), N(4));
    assert_string_equal(artel__shape_text(&shape, false, buffer, sizeof(buffer)), "(3, 4)");
    assert_string_equal(artel__shape_text(&shape, true, buffer, sizeof(buffer)), "(None, 3, 4)");
    shape = artel__shape(1, N(5));
    assert_string_equal(artel__shape_text(&shape, false, buffer, sizeof(buffer)), "(5,)");
    shape = artel__shape(0);
    assert_string_equal(artel__shape_text(&shape, false, buffer, sizeof(buffer)), "()");
    assert_string_equal(artel__shape_text(&shape, true, buffer, sizeof(buffer)), "(None,)");
    shape = artel__shape(2, N(-1), N(123456789));
    assert_string_equal(artel__shape_text(&shape, false, buffer, sizeof(buffer)), "(None, 123456789)");
    assert_string_equal(artel__shape_text(&shape, false, small, sizeof(small)), "(None");
}

static void test_broadcast(void **state)
{
    (void)state;
    artel_shape a = artel__shape(3, N(2), N(1), N(4)), b = artel__shape(2, N(3), N(1)), out,
                wanted = artel__shape(3, N(2), N(3), N(4));
    assert_true(artel__shape_broadcast(&a, &b, &out));
    assert_true(artel__shape_equal(&out, &wanted));
    assert_true(artel__shape_broadcast(&b, &a, &out));
    assert_true(artel__shape_equal(&out, &wanted));
    a = artel__shape(1, N(0));
    b = artel__shape(1, N(1));
    assert_true(artel__shape_broadcast(&a, &b, &out));
    assert_int_equal(out.dim[0], 0);
    b = artel__shape(1, N(2));
    assert_false(artel__shape_broadcast(&a, &b, &out));
    assert_false(artel__shape_equal(&a, &wanted));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_broadcast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
