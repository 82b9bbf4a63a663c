/* SPDX-License-Identifier: Apache-2.0 */
/* Large blocks in files: cleared, kept when they grow or shrink to memory, given back; small ones and paused contexts
 * have memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spill.h"

#define LARGE (ARTEL__SPILL_LEAST + 4096)

typedef struct bench {
    artel_context *ctx;
    char dir[64];
} bench;

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    if (!b || artel_context_create(NULL, &b->ctx) != ARTEL_OK) return -1;
    strcpy(b->dir, "/tmp/artel-spill-test-XXXXXX");
    if (!mkdtemp(b->dir) || artel__spill_open(b->ctx, b->dir) != 0) return -1;
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    int left = rmdir(b->dir); /* files have no names */
    artel_context_destroy(b->ctx);
    free(b);
    return left;
}

static void test_kinds(void **state)
{
    bench *b = *state;
    void *plain, *cleared, *aligned, *small;
    assert_int_equal(artel__alloc(b->ctx, LARGE, "test", &plain), ARTEL_OK);
    assert_int_equal(artel__calloc(b->ctx, LARGE, 1, "test", &cleared), ARTEL_OK);
    assert_int_equal(artel__alloc_aligned(b->ctx, LARGE, "test", &aligned), ARTEL_OK);
    assert_int_equal(artel__alloc(b->ctx, 100, "test", &small), ARTEL_OK);
    assert_int_equal(artel__spill_bytes(b->ctx, plain), LARGE);
    assert_int_equal(artel__spill_bytes(b->ctx, cleared), LARGE);
    assert_int_equal(artel__spill_bytes(b->ctx, aligned), LARGE);
    assert_int_equal(artel__spill_bytes(b->ctx, small), 0);
    assert_int_equal((uintptr_t)aligned % 4096, 0);
    for (size_t i = 0; i < LARGE; i += 4095) assert_int_equal(((uint8_t *)cleared)[i] | ((uint8_t *)aligned)[i], 0);
    artel__free(b->ctx, plain);
    artel__free(b->ctx, cleared);
    artel__free_aligned(b->ctx, aligned, LARGE);
    artel__free(b->ctx, small);
    assert_int_equal(artel__spill_bytes(b->ctx, cleared), 0);
}

static void test_growing(void **state)
{
    static const size_t sizes[] = {100, LARGE, 2 * LARGE, LARGE, 300};
    bench *b = *state;
    void *block = NULL;
    size_t had = 0;
    for (size_t i = 0; i < ARTEL__COUNT(sizes); i++) {
        assert_int_equal(artel__realloc(b->ctx, sizes[i], "test", &block), ARTEL_OK);
        assert_int_equal(artel__spill_bytes(b->ctx, block), sizes[i] < ARTEL__SPILL_LEAST ? 0 : sizes[i]);
        size_t kept = had < sizes[i] ? had : sizes[i];
        for (size_t k = 0; k < kept; k += 97) assert_int_equal(((uint8_t *)block)[k], (uint8_t)(k / 97));
        for (size_t k = 0; k < sizes[i]; k += 97) ((uint8_t *)block)[k] = (uint8_t)(k / 97);
        had = sizes[i];
    }
    artel__free(b->ctx, block);
}

static void test_pause(void **state)
{
    bench *b = *state;
    void *block;
    artel__spill_pause(b->ctx);
    assert_int_equal(artel__alloc_aligned(b->ctx, LARGE, "test", &block), ARTEL_OK);
    artel__spill_resume(b->ctx);
    assert_int_equal(artel__spill_bytes(b->ctx, block), 0);
    artel__free_aligned(b->ctx, block, LARGE);
}

/* One that vanishes gives no more files; its blocks stay. */
static void test_folder(void **state)
{
    bench *b = *state;
    artel_context *other;
    void *block, *none = NULL;
    assert_int_equal(artel_context_create(NULL, &other), ARTEL_OK);
    assert_int_equal(artel__spill_open(other, "/no/such/folder"), ENOENT);
    assert_false(artel__spill_is_open(other));
    artel_context_destroy(other);
    assert_int_equal(artel__calloc(b->ctx, LARGE, 1, "test", &block), ARTEL_OK);
    assert_int_equal(rmdir(b->dir), 0);
    assert_int_equal(artel__alloc(b->ctx, LARGE, "test", &none), ARTEL_ERROR_NO_MEMORY);
    ((uint8_t *)block)[LARGE - 1] = 1;
    artel__free(b->ctx, block);
    assert_non_null(mkdtemp(memcpy(b->dir, "/tmp/artel-spill-test-XXXXXX", 29)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_growing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
