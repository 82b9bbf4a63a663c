/* SPDX-License-Identifier: Apache-2.0 */
/* Who is head and who has copies, by what servers have; numbers of updates that a part has. Calls between head and
 * copies are tested by storms of whole jobs (tests/train/help_servers.h) and by real processes
 * (tests/api/test_coordinator.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "artel/context.h"
#include "ps/applied.h"
#include "ps/chain.h"

static void test_head(void **state)
{
    (void)state;
    const artel__holding nobody[3] = {{false, 9}, {false, 8}, {false, 7}}, one[3] = {{false, 9}, {true, 2}, {false, 7}},
                         most[3] = {{true, 5}, {true, 6}, {true, 4}}, equal[3] = {{true, 6}, {true, 6}, {true, 6}};
    assert_int_equal(artel__holding_head(nobody, 3, 0), -1);
    assert_int_equal(artel__holding_head(one, 3, 0), 1);
    assert_int_equal(artel__holding_head(most, 3, 0), 1); /* more than the head of before */
    assert_int_equal(artel__holding_head(equal, 3, 2), 2);
    assert_int_equal(artel__holding_head(equal, 3, -1), 0);
}

static void test_copies(void **state)
{
    (void)state;
    const artel__holding at[4] = {{true, 6}, {false, 0}, {true, 5}, {false, 0}};
    const uint64_t load[4] = {0, 30, 90, 20};
    int chosen[4] = {0};
    assert_int_equal(chosen[1] = artel__holding_copy(at, load, 4, chosen, 1), 2); /* a holder, whatever its load */
    assert_int_equal(chosen[2] = artel__holding_copy(at, load, 4, chosen, 2), 3);
    assert_int_equal(chosen[3] = artel__holding_copy(at, load, 4, chosen, 3), 1);
    assert_int_equal(artel__holding_copy(at, load, 4, chosen, 4), -1);
}

static void test_applied(void **state)
{
    artel_context *ctx = *state;
    artel__applied a = {.base = 5}, copy = {.base = 5};
    for (uint64_t i = 5; i < 3000; i += 3) assert_int_equal(artel__applied_add(ctx, &a, i), ARTEL_OK);
    assert_int_equal(a.bytes % 8, 0);
    assert_int_equal(artel__applied_take(ctx, &copy, a.bits, a.bytes), ARTEL_OK);
    for (uint64_t i = 0; i < 4000; i++) {
        bool has = i < 5 || (i < 3000 && i % 3 == 2);
        assert_int_equal(artel__applied_has(&a, i), has);
        assert_int_equal(artel__applied_has(&copy, i), has);
    }
    artel__applied_forget(&a, 500, 1000); /* not worth it yet */
    assert_int_equal(a.base, 5);
    artel__applied_forget(&a, 2000, 1000);
    assert_true(a.base > 1900 && a.base <= 2000);
    for (uint64_t i = 2000; i < 4000; i++) assert_int_equal(artel__applied_has(&a, i), i < 3000 && i % 3 == 2);
    artel__applied_forget(&a, 900000, 1000); /* beyond all that there is */
    assert_true(artel__applied_has(&a, 899990) && !artel__applied_has(&a, 900000));
    artel__applied_fini(ctx, &a);
    artel__applied_fini(ctx, &copy);
}

static int open_context(void **state)
{
    artel_context *ctx = NULL;
    if (artel_context_create(NULL, &ctx) < 0) return -1;
    *state = ctx;
    return 0;
}

static int close_context(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_head), cmocka_unit_test(test_copies),
                                       cmocka_unit_test(test_applied)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
