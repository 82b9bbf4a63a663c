/* SPDX-License-Identifier: Apache-2.0 */
/* Heap memory through the context: alignment, clearing, counting, failing on request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/context.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void test_every_call_is_counted(void **state)
{
    artel_context *ctx = *state;
    void *block = NULL;
    char *copy = NULL;
    uint64_t before = artel__heap_calls(ctx);
    assert_int_equal(artel__alloc(ctx, 10, "a", &block), ARTEL_OK);
    assert_int_equal(artel__realloc(ctx, 100000, "a", &block), ARTEL_OK);
    artel__free(ctx, block);
    assert_int_equal(artel__strdup(ctx, "text", &copy), ARTEL_OK);
    assert_string_equal(copy, "text");
    artel__free(ctx, copy);
    artel__free(ctx, NULL);
    assert_int_equal(artel__heap_calls(ctx) - before, 3);
}

static void test_failing_the_nth(void **state)
{
    artel_context *ctx = *state;
    void *block = NULL, *other = NULL;
    artel__fail_allocation_after(ctx, 2);
    assert_int_equal(artel__alloc(ctx, 8, "first", &block), ARTEL_OK);
    memcpy(block, "kept", 5);
    other = block;
    assert_int_equal(artel__realloc(ctx, 1000, "second", &other), ARTEL_ERROR_NO_MEMORY);
    assert_ptr_equal(other, block);
    assert_string_equal(block, "kept");
    assert_string_equal(artel_context_error(ctx)->where, "second");
    assert_int_equal(artel__realloc(ctx, 1000, "third", &block), ARTEL_OK);
    artel__free(ctx, block);
}

static void test_overflow(void **state)
{
    artel_context *ctx = *state;
    void *block = NULL;
    assert_int_equal(artel__calloc(ctx, SIZE_MAX / 2, 3, "huge", &block), ARTEL_ERROR_NO_MEMORY);
    assert_int_equal(artel__alloc(ctx, SIZE_MAX, "huge", &block), ARTEL_ERROR_NO_MEMORY);
    assert_int_equal(artel__alloc_aligned(ctx, SIZE_MAX - 100, "huge", &block), ARTEL_ERROR_NO_MEMORY);
    assert_null(block);
    assert_int_equal(artel__calloc(ctx, 0, 8, "none", &block), ARTEL_OK);
    assert_non_null(block);
    artel__free(ctx, block);
}

static void test_aligned_blocks_are_clear(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1048576, 1048577, 2097151, 2097152, 2097153, 7000001};
    artel_context *ctx = *state;
    for (size_t i = 0; i < ARTEL__COUNT(sizes); i++) {
        uint8_t *block = NULL;
        assert_int_equal(artel__alloc_aligned(ctx, sizes[i], "buffer", (void **)&block), ARTEL_OK);
        assert_int_equal((uintptr_t)block % (sizes[i] > 1048576 ? 2097152 : 64), 0);
        for (size_t at = 0; at < sizes[i]; at += 61) assert_int_equal(block[at], 0);
        if (sizes[i]) {
            assert_int_equal(block[sizes[i] - 1], 0);
            memset(block, 1, sizes[i]);
        }
        artel__free_aligned(ctx, block, sizes[i]);
    }
    artel__free_aligned(ctx, NULL, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_call_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failing_the_nth, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_aligned_blocks_are_clear, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
