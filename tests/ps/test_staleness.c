/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of how old gradients were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ps/staleness.h"

static void staleness_is_counted(void **state)
{
    (void)state;
    artel__staleness s = {0};
    for (uint64_t i = 0; i < 100; i++) artel__staleness_add(&s, i % 5);
    assert_int_equal(artel__staleness_at(&s, 0.5), 2);
    assert_int_equal(artel__staleness_at(&s, 0.9), 4);
    for (uint64_t i = 0; i < 100; i++) artel__staleness_add(&s, 155 + i);
    assert_int_equal(artel__staleness_at(&s, 0.75), 204);
    artel__staleness_add(&s, 3000);
    assert_int_equal(s.count, 201);
    assert_int_equal(artel__staleness_at(&s, 0.99), 253);
    assert_int_equal(artel__staleness_at(&s, 1), 3000);
    artel__staleness_add(&s, UINT64_MAX);
    assert_true(artel__staleness_at(&s, 1) == UINT64_MAX && s.most == UINT64_MAX);
    assert_int_equal(artel__staleness_at(&(artel__staleness){0}, 0.5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(staleness_is_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
