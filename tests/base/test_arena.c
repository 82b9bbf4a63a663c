/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: alignment, clearing, growth, failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void test_blocks_keep_their_contents(void **state)
{
    enum {
        BLOCKS = 3000
    };
    artel__arena arena;
    uint8_t *block[BLOCKS];
    artel__arena_init(&arena, *state);
    for (size_t i = 0; i < BLOCKS; i++) { /* sizes 0..4999, some larger than a chunk's rest */
        size_t size = i * 37 % 5000;
        block[i] = artel__arena_alloc(&arena, size, 1);
        assert_non_null(block[i]);
        assert_int_equal((uintptr_t)block[i] % 16, 0);
        for (size_t at = 0; at < size; at++) assert_int_equal(block[i][at], 0);
        memset(block[i], (int)(i % 251), size);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t at = 0; at < i * 37 % 5000; at++) assert_int_equal(block[i][at], i % 251);
    assert_int_equal(artel__arena_status(&arena), ARTEL_OK);
    artel__arena_fini(&arena);
}

static void test_large_blocks_do_not_waste_chunks(void **state)
{
    artel__arena arena;
    artel__arena_init(&arena, *state);
    char *small = artel__arena_alloc(&arena, 1, 16);
    uint64_t calls = artel__heap_calls(*state);
    memset(artel__arena_alloc(&arena, 3, 1 << 20), 1, (size_t)3 << 20);
    assert_int_equal(artel__heap_calls(*state) - calls, 1);
    assert_ptr_equal(artel__arena_alloc(&arena, 1, 16), small + 16);
    artel__arena_fini(&arena);
    artel__arena_init(&arena, *state);
    memset(artel__arena_alloc(&arena, 1, 100000), 1, 100000); /* large first */
    memset(artel__arena_alloc(&arena, 1, 10), 1, 10);
    artel__arena_fini(&arena);
}

static void test_text(void **state)
{
    artel__arena arena;
    artel__arena_init(&arena, *state);
    assert_string_equal(artel__arena_strdup(&arena, "dense_1"), "dense_1");
    assert_string_equal(artel__arena_printf(&arena, "%s/%d", "dense", 42), "dense/42");
    assert_string_equal(artel__arena_printf(&arena, "%s", ""), "");
    artel__arena_fini(&arena);
}

static void test_failure_is_remembered(void **state)
{
    artel__arena arena;
    artel__arena_init(&arena, *state);
    artel__fail_allocation_after(*state, 1);
    assert_null(artel__arena_alloc(&arena, 1, 8));
    assert_null(artel__arena_strdup(&arena, "x"));
    assert_null(artel__arena_printf(&arena, "x"));
    assert_int_equal(artel__arena_status(&arena), ARTEL_ERROR_NO_MEMORY);
    assert_int_equal(artel_context_error(*state)->status, ARTEL_ERROR_NO_MEMORY);
    artel__arena_fini(&arena);
    assert_int_equal(artel__arena_status(&arena), ARTEL_OK);
    assert_null(artel__arena_alloc(&arena, SIZE_MAX / 2, 3));
    assert_int_equal(artel__arena_status(&arena), ARTEL_ERROR_NO_MEMORY);
    artel__arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blocks_keep_their_contents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_blocks_do_not_waste_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failure_is_remembered, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
