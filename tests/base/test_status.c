/* SPDX-License-Identifier: Apache-2.0 */
/* Names and exit codes of statuses, as COMMANDS.md promises them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "artel/status.h"

static void test_exit_codes(void **state)
{
    (void)state;
    assert_int_equal(artel_status_exit_code(ARTEL_OK), 0);
    assert_int_equal(artel_status_exit_code(ARTEL_AGAIN), 0);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_INVALID), 1);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_NOT_FOUND), 1);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_CORRUPT), 1);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_UNSUPPORTED), 1);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_IO), 2);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_RUN), 2);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_CANCELLED), 130);
    assert_int_equal(artel_status_exit_code(ARTEL_ERROR_PREEMPTED), 143);
    assert_int_equal(artel_status_exit_code((artel_status)-1000), 2);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(artel_status_name(ARTEL_OK), "ok");
    assert_string_equal(artel_status_name(ARTEL_ERROR_INVALID), "invalid");
    assert_string_equal(artel_status_name((artel_status)77), "unknown");
    for (int i = ARTEL_ERROR_INTERNAL; i <= ARTEL_AGAIN; i++) /* every one has a name */
        assert_string_not_equal(artel_status_name((artel_status)i), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
