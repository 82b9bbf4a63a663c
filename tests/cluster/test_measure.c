/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring the network between tasks: the rounds of the tournament; tasks as threads, plain and encrypted; somebody
 * missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/measure.h"
#include "support/ports.h"

/* Everybody meets everybody once, and is with one partner at a time. */
static void the_rounds_are_a_tournament(void **state)
{
    (void)state;
    for (int n = 1; n <= 33; n++) {
        int met[33][33] = {{0}};
        for (int k = 0; k < n + n % 2 - 1; k++) {
            for (int i = 0; i < n; i++) {
                int p = artel__measure_partner(n, k, i);
                if (p < 0) continue;
                assert_true(p < n && p != i);
                assert_int_equal(artel__measure_partner(n, k, p), i);
                met[i][p]++;
            }
        }
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) assert_int_equal(met[i][j], i != j);
        }
    }
}

/* -- tasks as threads -- */

typedef struct task {
    artel_context *ctx;
    artel__cluster cluster;
    artel__measure_options options;
    artel__measured found[5];
    artel_status status;
    pthread_t thread;
} task;

static void *run(void *user)
{
    task *t = user;
    t->status = artel__measure(t->ctx, &t->cluster, &t->options, t->found);
    return NULL;
}

static void hold_ports(int count, int *out, int *out_socket)
{
    for (int i = 0; i < count; i++) out[i] = support_port_hold(&out_socket[i]);
}

static void open_task(task *t, int rank, int count, const int *port)
{
    memset(t, 0, sizeof *t);
    t->options.wait = 20;
    assert_int_equal(artel_context_create(NULL, &t->ctx), ARTEL_OK);
    assert_int_equal(artel__cluster_init(t->ctx, &t->cluster, "test", "test"), ARTEL_OK);
    for (int i = 0; i < count; i++) {
        char address[32];
        snprintf(address, sizeof address, "127.0.0.1:%d", port[i]);
        assert_int_equal(artel__cluster_add(&t->cluster, ARTEL__TASK_WORKER, i, address), ARTEL_OK);
    }
    artel__cluster_set_self(&t->cluster, ARTEL__TASK_WORKER, rank);
    assert_int_equal(artel__cluster_seal(&t->cluster), ARTEL_OK);
}

static void close_task(task *t, int held)
{
    close(held);
    artel__cluster_fini(&t->cluster);
    artel_context_destroy(t->ctx);
}

static void every_pair_is_measured(void **state)
{
    (void)state;
    for (int count = 2; count <= 5; count++) {
        task tasks[5];
        int port[5], held[5];
        hold_ports(count, port, held);
        for (int r = 0; r < count; r++) open_task(&tasks[r], r, count, port);
        for (int r = 0; r < count; r++) assert_int_equal(pthread_create(&tasks[r].thread, NULL, run, &tasks[r]), 0);
        for (int r = 0; r < count; r++) pthread_join(tasks[r].thread, NULL);
        for (int r = 0; r < count; r++) {
            assert_int_equal(tasks[r].status, ARTEL_OK);
            for (int s = 0; s < count; s++) {
                const artel__measured *a = &tasks[r].found[s], *b = &tasks[s].found[r];
                if (s == r) continue;
                if (!a->reached) fail_msg("%d of %d does not reach %d: %s", r, count, s, a->why);
                assert_true(a->shared && b->shared); /* one host */
                assert_true(a->latency > 0 && a->latency < 1 && a->out > 1e4 && a->in > 1e4);
                assert_memory_equal(&a->latency, &b->latency, sizeof a->latency); /* both ends say the same */
                assert_memory_equal(&a->out, &b->in, sizeof a->out);
            }
        }
        for (int r = 0; r < count; r++) close_task(&tasks[r], held[r]);
    }
}

/* One of three is not there: the others are measured, and it is named. */
static void who_is_missing_is_named(void **state)
{
    task tasks[3];
    int port[3], held[3];
    (void)state;
    hold_ports(3, port, held);
    for (int r = 0; r < 3; r++) open_task(&tasks[r], r, 3, port);
    for (int r = 1; r < 3; r++) {
        tasks[r].options.wait = 2;
        assert_int_equal(pthread_create(&tasks[r].thread, NULL, run, &tasks[r]), 0);
    }
    for (int r = 1; r < 3; r++) pthread_join(tasks[r].thread, NULL);
    for (int r = 1; r < 3; r++) {
        assert_int_equal(tasks[r].status, ARTEL_OK);
        assert_true(tasks[r].found[3 - r].reached);
        assert_false(tasks[r].found[0].reached);
        assert_non_null(strstr(tasks[r].found[0].why, "refused"));
    }
    for (int r = 0; r < 3; r++) close_task(&tasks[r], held[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rounds_are_a_tournament),
        cmocka_unit_test(every_pair_is_measured),
        cmocka_unit_test(who_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
