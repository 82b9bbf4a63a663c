/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows below the progress bar say of tasks that compute, wait, join, are silent or gone; and whom they leave
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/health.h"

static artel_cluster_task task(const char *name)
{
    return (artel_cluster_task){.name = name, .phase = "compute", .busy = 0.25, .replicas = 1, .connected = true};
}

static void test_states(void **state)
{
    (void)state;
    artel_cluster_task tasks[] = {task("worker 0 (a:1)"), task("worker 1 (b:1)"), task("worker 2 (c:1)"),
                                  task("worker 3 (d:1)"), task("worker 4 (e:1)"), task("worker 10 (f:1)")};
    tasks[1].silence = 1.26;
    tasks[2].silence = 2;
    tasks[2].phase = "";
    tasks[3].connected = false;
    tasks[4].replicas = 0;
    tasks[5].busy = -1;
    tasks[5].silence = 0.9;
    artel_context *ctx;
    artel__text text;
    assert_int_equal(ARTEL_OK, artel_context_create(NULL, &ctx));
    artel__text_init(&text, ctx);
    artel__health_rows(tasks, 6, 0.02, &text);
    assert_string_equal(text.data, "  worker 0 (a:1)   compute  works  25%, 5 ms of a step\n"
                                   "  worker 1 (b:1)   silent for 1.3 s, last in compute\n"
                                   "  worker 2 (c:1)   silent for 2.0 s, last in no phase\n"
                                   "  worker 3 (d:1)   not connected\n"
                                   "  worker 4 (e:1)   joins\n"
                                   "  worker 10 (f:1)  compute \n");
    artel__text_fini(&text);
    artel_context_destroy(ctx);
}

/* Of ten tasks, eight: the lost, the silent and the joining before those that work, and of these the busiest. */
static void test_many(void **state)
{
    (void)state;
    char name[10][8];
    artel_cluster_task tasks[10];
    for (int i = 0; i < 10; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        tasks[i] = task(name[i]);
        tasks[i].busy = 0.1 * i;
    }
    tasks[0].connected = false;
    tasks[1].silence = 5;
    tasks[2].replicas = 0;
    artel_context *ctx;
    artel__text text;
    assert_int_equal(ARTEL_OK, artel_context_create(NULL, &ctx));
    artel__text_init(&text, ctx);
    artel__health_rows(tasks, 10, 0, &text);
    static const char *const ORDER[] = {"t0", "t1", "t2", "t9", "t8", "t7", "t6", "t5"};
    const char *line = text.data;
    for (int i = 0; i < ARTEL__HEALTH_ROWS; i++) {
        assert_memory_equal(line + 2, ORDER[i], 2);
        line = strchr(line, '\n') + 1;
    }
    assert_string_equal(line, "  and 2 more\n");
    assert_null(strstr(text.data, "of a step")); /* how long a step takes is not known */
    artel__text_fini(&text);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_states), cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
