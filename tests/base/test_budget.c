/* SPDX-License-Identifier: Apache-2.0 */
/* The account of the memory that data may take: amounts as they are written, and what is granted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/budget.h"

static void amounts(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } rows[] = {{"1", 1},
                {"512", 512},
                {"2K", 2048},
                {"3M", (uint64_t)3 << 20},
                {"4G", (uint64_t)4 << 30},
                {"1T", (uint64_t)1 << 40},
                {"8388607T", (uint64_t)8388607 << 40},
                {"", 0},
                {"0", 0},
                {"0M", 0},
                {"-1", 0},
                {"M", 0},
                {"1.5G", 0},
                {"2MB", 0},
                {"2m", 0},
                {" 2", 0},
                {"2 M", 0},
                {"8388608T", 0},
                {"99999999999999999999999", 0},
                {"AUTO", 0}};
    uint64_t bytes = 7;
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        bytes = 0;
        if (artel__budget_parse(rows[i].text, &bytes) != (rows[i].bytes > 0) || bytes != rows[i].bytes)
            fail_msg("'%s'", rows[i].text);
    }
    bytes = 7;
    assert_true(artel__budget_parse("auto", &bytes));
    assert_int_equal(bytes, 0);
}

static void account(void **state)
{
    artel_context *ctx;
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_false(artel__budget_is_set(ctx));
    assert_true(artel__budget_limit(ctx) > 1 << 20); /* of whatever machine this is */
    artel__budget_set(ctx, 1000);
    assert_true(artel__budget_is_set(ctx));
    assert_true(artel__budget_take(ctx, 600, 60));
    assert_false(artel__budget_take(ctx, 1, 60));
    assert_true(artel__budget_take(ctx, 400, 100));
    assert_false(artel__budget_take(ctx, 1, 100));
    artel__budget_force(ctx, 500);
    assert_int_equal(artel__budget_used(ctx), 1500);
    artel__budget_give(ctx, 1400);
    assert_true(artel__budget_take(ctx, 900, 100));
    assert_false(artel__budget_take(ctx, UINT64_MAX, 100));
    artel__budget_give(ctx, 1000);
    assert_int_equal(artel__budget_used(ctx), 0);
    artel__budget_set(ctx, 1);
    assert_false(artel__budget_take(ctx, 1, 60));
    artel__budget_set(ctx, 0);
    assert_false(artel__budget_is_set(ctx));
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(amounts), cmocka_unit_test(account)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
