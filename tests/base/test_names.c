/* SPDX-License-Identifier: Apache-2.0 */
/* Names and their numbers, over every growth of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/names.h"

enum {
    MANY = 5000
};

static void every_name_has_its_number(void **state)
{
    (void)state;
    static char name[MANY][16];
    artel_context *ctx;
    artel__arena arena;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__arena_init(&arena, ctx);
    artel__names names = {.arena = &arena};
    assert_null(artel__names_find(&names, "0"));
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "%d", i * 7);
        assert_null(artel__names_find(&names, name[i]));
        assert_int_equal(artel__names_set(&names, name[i], i), ARTEL_OK);
        if (i % 97) continue;
        for (int k = 0; k <= i; k++) assert_int_equal(*artel__names_find(&names, name[k]), k);
    }
    assert_int_equal(names.count, MANY);
    assert_null(artel__names_find(&names, "1"));
    assert_null(artel__names_find(&names, ""));
    assert_int_equal(artel__names_set(&names, "14", -3), ARTEL_OK); /* again: another number, no other entry */
    assert_int_equal(*artel__names_find(&names, "14"), -3);
    assert_int_equal(names.count, MANY);
    artel__arena_fini(&arena);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_name_has_its_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
