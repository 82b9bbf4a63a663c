/* SPDX-License-Identifier: Apache-2.0 */
/* A name that is near, all names where none is, and no room for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/advice.h"

static void advice_on_names(void **state)
{
    (void)state;
    static const char *const names[] = {"auto", "direct", "ring", NULL};
    char advice[64], little[12];
    artel__advise_name("rings", names, advice, sizeof advice);
    assert_string_equal(advice, "did you mean ring?");
    artel__advise_name("something else", names, advice, sizeof advice);
    assert_string_equal(advice, "use auto, direct or ring");
    artel__advise_name("something else", names + 2, advice, sizeof advice);
    assert_string_equal(advice, "use ring");
    artel__advise_name("something else", names, little, sizeof little);
    assert_string_equal(little, "use auto, d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advice_on_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
