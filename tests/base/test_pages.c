/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a mapping that are asked for: in order, at random, beyond its end; what is read is what lies there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"

enum {
    BYTES = (9 << 20) + 77,
    STEP = 99991
};

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 2654435761u >> 13);
}

static void check(const artel__mapping *mapping, uint64_t offset, uint64_t size)
{
    const uint8_t *bytes = mapping->bytes;
    for (uint64_t i = offset; i < offset + size && i < BYTES; i++) assert_int_equal(bytes[i], byte_at(i));
}

static void test_pieces(void **state)
{
    (void)state;
    artel_context *ctx;
    artel__mapping mapping;
    artel__pages pages;
    char path[] = "/tmp/artel-pages-XXXXXX";
    uint8_t *bytes = malloc(BYTES);
    assert_non_null(bytes);
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (size_t i = 0; i < BYTES; i++) bytes[i] = byte_at(i);
    close(mkstemp(path));
    assert_int_equal(artel__write_file(ctx, path, bytes, BYTES), ARTEL_OK);
    assert_int_equal(artel__map_file(ctx, path, &mapping), ARTEL_OK);
    artel__pages_init(&pages, &mapping);
    for (uint64_t at = 0; at < BYTES; at += STEP) { /* one after another, to the end and over it */
        artel__pages_want(&pages, at, STEP);
        check(&mapping, at, STEP);
    }
    for (uint64_t i = 0; i < 50; i++) {
        uint64_t at = i * 7919 * 1013 % BYTES;
        artel__pages_want(&pages, at, 5000);
        check(&mapping, at, 5000);
    }
    artel__pages_want(&pages, UINT64_MAX - 5, 100); /* of a damaged index */
    artel__pages_want(&pages, BYTES + 10, UINT64_MAX);
    artel__pages_want(&pages, 3, 0);
    check(&mapping, 0, 5000);
    artel__unmap_file(&mapping);
    unlink(path);
    free(bytes);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
