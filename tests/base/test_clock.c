/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks and memory figures are plausible and move the right way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static void test_time_goes_on(void **state)
{
    (void)state;
    int64_t start = artel__now_ns(), last = start;
    double age = artel__process_age();
    assert_true(age < 600);
    while (artel__now_ns() - start < 20000000) { /* two ticks of /proc */
        int64_t now = artel__now_ns();
        assert_true(now >= last);
        last = now;
    }
    assert_true(artel__process_age() > age);
    assert_true(artel__wall_seconds() > 1.7e9);
}

/* Never more than half a tick of 10 ms above the truth, wherever in the tick a process began. */
static void test_age_of_a_new_process(void **state)
{
    (void)state;
    for (int i = 0; i < 24; i++) {
        int64_t start = artel__now_ns();
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            double age = artel__process_age();
            _exit(age <= (double)(artel__now_ns() - start) * 1e-9 + 0.0051 ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void test_peak_memory(void **state)
{
    (void)state;
    int64_t before = artel__peak_rss_bytes();
    size_t size = (size_t)64 << 20;
    char *block = malloc(size);
    assert_true(before > 100000);
    assert_non_null(block);
    memset(block, 1, size);
    int64_t after = artel__peak_rss_bytes();
    free(block);
    assert_true(after > (int64_t)size);
    assert_true(artel__peak_rss_bytes() >=
                after - (1 << 20)); /* a peak does not fall; the kernel's counters are coarse */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_goes_on),
        cmocka_unit_test(test_age_of_a_new_process),
        cmocka_unit_test(test_peak_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
