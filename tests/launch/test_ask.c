/* SPDX-License-Identifier: Apache-2.0 */
/* What a launcher concludes from its tasks' answers, and that whoever cannot be asked leaves it in doubt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launch/ask.h"

static void test_what_answers_mean(void **state)
{
    static const struct {
        const char *answer;
        artel__launch_answer expected;
    } cases[] = {
        {"{\"state\": \"loading\", \"generation\": 0}", ARTEL__LAUNCH_LOADS},
        {"{\"state\": \"joining\", \"generation\": 0}", ARTEL__LAUNCH_WAITS},
        {"{\"state\": \"running\", \"generation\": 1}", ARTEL__LAUNCH_BEGUN},
        {"{\"state\": \"loading\", \"generation\": 3}", ARTEL__LAUNCH_BEGUN}, /* between two loops */
        {"{\"state\": \"joining\", \"generation\": 3}", ARTEL__LAUNCH_LOST},
        {"{\"state\": \"forming\", \"generation\": 0}", ARTEL__LAUNCH_UNKNOWN},
        {"{\"state\": \"copying\", \"generation\": 0}", ARTEL__LAUNCH_UNKNOWN},
        {"{\"state\": \"failed\", \"generation\": 0}", ARTEL__LAUNCH_UNKNOWN}, /* and will end */
        {"{\"error\": \"another version\"}", ARTEL__LAUNCH_UNKNOWN},
        {"[]", ARTEL__LAUNCH_UNKNOWN},
        {"joining", ARTEL__LAUNCH_UNKNOWN},
        {"", ARTEL__LAUNCH_UNKNOWN},
    };
    artel_context *ctx;
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        artel__launch_answer answer = artel__launch_answer_of(ctx, cases[k].answer, strlen(cases[k].answer));
        if (answer != cases[k].expected) fail_msg("%s: %d, expected %d", cases[k].answer, answer, cases[k].expected);
    }
    artel_context_destroy(ctx);
}

static void test_nobody_answers(void **state)
{
    const artel__status_request request[] = {{.address = "127.0.0.1:1", .question = "status", .timeout = 1}};
    artel__launch_inquiry inquiry = {0};
    unsigned answer = ARTEL__LAUNCH_WAITS;
    (void)state;
    assert_true(artel__launch_ask_look(&inquiry, &answer)); /* none was asked for */
    assert_int_equal(answer, ARTEL__LAUNCH_UNKNOWN);
    artel__launch_ask_start(&inquiry, request, 1);
    while (!artel__launch_ask_look(&inquiry, &answer)) continue;
    assert_int_equal(answer, ARTEL__LAUNCH_UNKNOWN);
    artel__launch_ask_start(&inquiry, request, 1);
    artel__launch_ask_fini(&inquiry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_answers_mean),
        cmocka_unit_test(test_nobody_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
