/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of updates as bits (ps/applied.h) beside a list of them: what is below the base counts as applied, and costs
 * nothing, whatever the number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ps/applied.h"

enum {
    NUMBERS = 3000
};

static int open_context(void **state)
{
    return artel_context_create(NULL, (artel_context **)state) == ARTEL_OK ? 0 : 1;
}

static int close_context(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

/* Any order, numbers that are given up on the way, and copies, from which it goes on. */
static void it_is_a_list_of_numbers(void **state)
{
    artel_context *ctx = *state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t first = seed * 1000003, random = seed;
        bool list[NUMBERS] = {false};
        artel__applied a = {.base = first}, copy = {.base = 0};
        for (int step = 0; step < 800; step++) {
            uint64_t number = first + draw(&random, NUMBERS);
            assert_int_equal(artel__applied_has(&a, number), number < a.base || list[number - first]);
            if (number >= a.base) assert_int_equal(artel__applied_add(ctx, &a, number), ARTEL_OK);
            list[number - first] = true;
            uint64_t floor = first + draw(&random, NUMBERS), before = a.base;
            if (step % 50 == 7) artel__applied_forget(&a, floor, 256);
            assert_true(a.base == before || (a.base > before && a.base <= floor));
            if (step % 90 != 11) continue;
            assert_int_equal(artel__applied_take(ctx, &copy, a.bits, a.bytes), ARTEL_OK);
            copy.base = a.base;
            artel__applied_fini(ctx, &a);
            a = copy;
            copy = (artel__applied){.base = 0};
        }
        for (uint64_t n = 0; n < NUMBERS; n++)
            assert_int_equal(artel__applied_has(&a, first + n), first + n < a.base || list[n]);
        artel__applied_fini(ctx, &a);
        assert_true(a.base == 0 && a.bits == NULL && a.bytes == 0);
    }
}

/* All below the base, what was never there, too: whoever asks about it was answered before, or is nobody. */
static void what_is_below_the_base_counts(void **state)
{
    artel_context *ctx = *state;
    artel__applied a = {.base = 1000};
    assert_true(artel__applied_has(&a, 0) && artel__applied_has(&a, 999));
    assert_false(artel__applied_has(&a, 1000));
    assert_int_equal(artel__applied_add(ctx, &a, 1003), ARTEL_OK);
    artel__applied_forget(&a, 1000 + 4096, 8);
    assert_int_equal(a.base, 1000 + 4096);
    assert_true(artel__applied_has(&a, 1003) && artel__applied_has(&a, 1004));
    assert_false(artel__applied_has(&a, 1000 + 4096));
    artel__applied_forget(&a, 5, 0); /* never back */
    assert_int_equal(a.base, 1000 + 4096);
    artel__applied_fini(ctx, &a);
}

/* To look takes no memory, however far away; to forget any number of them neither. */
static void far_numbers_cost_nothing(void **state)
{
    artel_context *ctx = *state;
    static const uint64_t far[] = {(uint64_t)1 << 26, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX};
    artel__applied a = {.base = 0};
    assert_int_equal(artel__applied_add(ctx, &a, 1), ARTEL_OK);
    uint64_t calls = artel__heap_calls(ctx);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) assert_false(artel__applied_has(&a, far[i]));
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        artel__applied_forget(&a, far[i], 64);
        assert_true(a.base <= far[i] && far[i] - a.base < 64);
        assert_true(artel__applied_has(&a, far[i] - 64) && !artel__applied_has(&a, far[i]));
    }
    assert_int_equal(artel__heap_calls(ctx), calls);
    artel__applied_fini(ctx, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_a_list_of_numbers, open_context, close_context),
        cmocka_unit_test_setup_teardown(what_is_below_the_base_counts, open_context, close_context),
        cmocka_unit_test_setup_teardown(far_numbers_cost_nothing, open_context, close_context),
    };
    return cmocka_run_group_tests_name("applied", tests, NULL, NULL);
}
