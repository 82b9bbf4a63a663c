/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that can be lent: found by address, sealed, gone when it is freed, ordinary where it cannot be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/lend.h"

enum {
    BYTES = 100000
};

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void found_by_address(void **state)
{
    artel_context *ctx = *state;
    artel__lendable found, other;
    void *first, *second;
    assert_int_equal(artel__alloc_lendable(ctx, BYTES, "first", &first), ARTEL_OK);
    assert_int_equal(artel__alloc_lendable(ctx, BYTES, "second", &second), ARTEL_OK);
    for (size_t i = 0; i < BYTES; i++) assert_int_equal(((uint8_t *)first)[i], 0);
    assert_true(artel__find_lendable(ctx, first, BYTES, &found));
    assert_ptr_equal(found.memory, first);
    assert_int_equal(found.bytes, BYTES);
    assert_true(artel__find_lendable(ctx, (uint8_t *)second + BYTES - 1, 1, &other));
    assert_ptr_equal(other.memory, second);
    assert_int_not_equal(found.id, other.id);
    assert_false(artel__find_lendable(ctx, (uint8_t *)second + BYTES - 1, 2, &other));
    assert_false(artel__find_lendable(ctx, &found, 1, &other));
    assert_false(artel__find_lendable(ctx, (uint8_t *)first + 10, SIZE_MAX, &other));
    artel__free_lendable(ctx, first, BYTES);
    assert_false(artel__is_lendable(ctx, found.id));
    assert_true(artel__is_lendable(ctx, other.id));
    assert_false(artel__find_lendable(ctx, first, 1, &found));
    artel__free_lendable(ctx, second, BYTES);
    artel__free_lendable(ctx, NULL, BYTES);
}

/* Who has the descriptor reads what is written, even when the block is gone; he can neither write nor shorten it. */
static void sealed(void **state)
{
    artel_context *ctx = *state;
    artel__lendable block;
    void *memory;
    assert_int_equal(artel__alloc_lendable(ctx, BYTES, "block", &memory), ARTEL_OK);
    assert_true(artel__find_lendable(ctx, memory, BYTES, &block));
    int fd = dup(block.fd);
    const uint8_t *seen = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(seen != MAP_FAILED);
    strcpy((char *)memory + 5000, "written later");
    assert_string_equal(seen + 5000, "written later");
    assert_true(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    assert_int_equal(ftruncate(fd, 10), -1);
    assert_int_equal(write(fd, "x", 1), -1);
    artel__free_lendable(ctx, memory, BYTES);
    assert_string_equal(seen + 5000, "written later");
    munmap((void *)(uintptr_t)seen, BYTES);
    close(fd);
}

/* Without a descriptor there is no file: the memory is as good as any, and is not found. */
static void ordinary(void **state)
{
    artel_context *ctx = *state;
    artel__lendable block;
    struct rlimit was, none;
    void *memory;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){0, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    artel_status status = artel__alloc_lendable(ctx, BYTES, "block", &memory);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(status, ARTEL_OK);
    memset(memory, 7, BYTES);
    assert_false(artel__find_lendable(ctx, memory, 1, &block));
    artel__free_lendable(ctx, memory, BYTES);
}

static void no_memory(void **state)
{
    artel_context *ctx = *state;
    void *memory;
    artel__fail_allocation_after(ctx, 1);
    assert_int_equal(artel__alloc_lendable(ctx, BYTES, "block", &memory), ARTEL_ERROR_NO_MEMORY);
    assert_int_equal(artel__alloc_lendable(ctx, SIZE_MAX, "block", &memory), ARTEL_ERROR_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(found_by_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sealed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ordinary, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
