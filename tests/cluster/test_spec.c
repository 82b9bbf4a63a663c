/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and task names taken apart; clusters built by hand: order, ranks, the chief rule, each violation's message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cluster/cluster.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void test_addresses(void **state)
{
    static const struct {
        const char *text, *host;
        int port; /* 0: refused */
    } cases[] = {
        {"a:1", "a", 1},
        {"node-1.example.com:65535", "node-1.example.com", 65535},
        {"tf-worker-0.default.svc:2222", "tf-worker-0.default.svc", 2222},
        {"10.0.0.1:2222", "10.0.0.1", 2222},
        {"under_score:7", "under_score", 7},
        {"[::1]:2222", "::1", 2222},
        {"[fe80::1%eth0]:1", "fe80::1%eth0", 1},
        {"[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1},
        {"[0:0:0:0:0:0:0:1]:2222", "::1", 2222},
        {"[FE80::00:1%eth0]:1", "fe80::1%eth0", 1},
        {"grpc://a:1", "a", 1},
        {"", "", 0},
        {"a", "", 0},
        {"a:", "", 0},
        {":1", "", 0},
        {"a:0", "", 0},
        {"a:65536", "", 0},
        {"a:-1", "", 0},
        {"a:+1", "", 0},
        {"a: 1", "", 0},
        {"a:1x", "", 0},
        {"a:99999999999999999999", "", 0},
        {"::1:2222", "", 0},
        {"[::1]", "", 0},
        {"[::1]2222", "", 0},
        {"[a]:1", "", 0},
        {"[:::::]:1", "", 0},
        {"[1.2.3.4:5]:1", "", 0},
        {"[]:1", "", 0},
        {"[::1%]:1", "", 0},
        {"a b:1", "", 0},
        {"-a:1", "", 0},
        {"a/b:1", "", 0},
        {"http://a:1", "", 0},
        {"a\n:1", "", 0},
        {"\xc3\xa4:1", "", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        artel__host_port address;
        const char *wrong = artel__host_port_parse(cases[i].text, &address);
        if ((wrong == NULL) != (cases[i].port != 0)) fail_msg("\"%s\": %s", cases[i].text, wrong ? wrong : "accepted");
        if (wrong) continue;
        assert_string_equal(address.host, cases[i].host);
        assert_int_equal(address.port, cases[i].port);
    }
    char longest[400];
    artel__host_port address;
    memset(longest, 'a', sizeof longest);
    strcpy(longest + ARTEL__HOST_MAX, ":1");
    assert_null(artel__host_port_parse(longest, &address));
    memset(longest, 'a', sizeof longest);
    strcpy(longest + ARTEL__HOST_MAX + 1, ":1");
    assert_non_null(artel__host_port_parse(longest, &address));
}

static void test_task_names(void **state)
{
    artel__task task;
    (void)state;
    assert_true(artel__task_parse("worker:12", &task));
    assert_int_equal(task.type, ARTEL__TASK_WORKER);
    assert_int_equal(task.index, 12);
    assert_true(artel__task_parse("ps-0", &task));
    assert_int_equal(task.type, ARTEL__TASK_PS);
    assert_true(artel__task_parse("chief", &task));
    assert_true(artel__task_parse("master/0", &task));
    assert_int_equal(task.type, ARTEL__TASK_CHIEF);
    assert_true(artel__task_parse("evaluator", &task));
    static const char *const wrong[] = {"",
                                        "worker",
                                        "worker:",
                                        "worker:-1",
                                        "worker:1x",
                                        "worker 1",
                                        "Worker:1",
                                        "gpu:1",
                                        "worker:99999999999",
                                        "worker:18446744073709551617",
                                        "worker: 1",
                                        "ps",
                                        "workerworkerworkerworker:1"};
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++)
        if (artel__task_parse(wrong[i], &task)) fail_msg("\"%s\" is accepted", wrong[i]);
}

/* A cluster as "type index address" rows, and this task. */
typedef struct row {
    artel__task_type type;
    int64_t index;
    const char *address;
} row;

typedef struct example {
    row rows[8];
    artel__task self;
    bool sparse;
    int rank, trainers;
    bool chief, single;
    const char *wrong; /* part of the message; NULL: accepted */
} example;

#define C ARTEL__TASK_CHIEF
#define W ARTEL__TASK_WORKER
#define P ARTEL__TASK_PS
#define E ARTEL__TASK_EVALUATOR

static artel_status build(artel_context *ctx, const example *e, artel__cluster *cluster)
{
    ARTEL_TRY(artel__cluster_init(ctx, cluster, "test", "TEST"));
    cluster->sparse = e->sparse;
    for (const row *r = e->rows; r->address; r++)
        ARTEL_TRY(artel__cluster_add(cluster, r->type, r->index, *r->address ? r->address : NULL));
    artel__cluster_set_self(cluster, e->self.type, e->self.index);
    return artel__cluster_seal(cluster);
}

static const example examples[] = {
    {{{W, 0, "a:1"}}, {W, 0, NULL}, false, 0, 1, true, true, NULL},
    {{{C, 0, "a:1"}}, {C, 0, NULL}, false, 0, 1, true, true, NULL},
    {{{W, 1, "b:1"}, {W, 0, "a:1"}}, {W, 1, NULL}, false, 1, 2, false, false, NULL},
    {{{W, 0, "b:1"}, {C, 0, "a:1"}}, {W, 0, NULL}, false, 1, 2, false, false, NULL},
    {{{W, 0, "b:1"}, {C, 0, "a:1"}}, {C, 0, NULL}, false, 0, 2, true, false, NULL},
    {{{W, 0, "a:1"}, {P, 0, "b:1"}}, {W, 0, NULL}, false, 0, 1, true, false, NULL},
    {{{W, 0, "a:1"}, {P, 0, "b:1"}}, {P, 0, NULL}, false, -1, 1, false, false, NULL},
    {{{W, 0, "a:1"}, {E, 0, "b:1"}}, {W, 0, NULL}, false, 0, 1, true, true, NULL},
    {{{W, 0, "a:1"}, {W, 1, "b:1"}}, {E, 0, NULL}, false, -1, 2, true, false, NULL},
    {{{E, 0, "a:1"}}, {E, 0, NULL}, false, -1, 0, true, false, NULL},
    {{{W, 0, ""}, {W, 1, ""}, {W, 2, ""}}, {W, 2, NULL}, false, 2, 3, false, false, NULL},
    {{{W, 3, "a:1"}}, {W, 3, NULL}, true, 3, 1, false, false, NULL},
    {{{W, 0, "a:1"}, {W, 1, "a:2"}, {W, 2, "[::1]:2"}}, {W, 0, NULL}, false, 0, 3, true, false, NULL},
    {{{C, 0, "a:1"}, {C, 1, "b:1"}}, {C, 0, NULL}, false, 0, 0, false, false, "2 chiefs"},
    {{{W, 0, "a:1"}, {E, 0, "b:1"}, {E, 1, "c:1"}}, {W, 0, NULL}, false, 0, 0, false, false, "2 evaluators"},
    {{{W, 0, "a:1"}, {W, 0, "b:1"}}, {W, 0, NULL}, true, 0, 0, false, false, "worker 0 is there twice"},
    {{{W, 0, "a:1"}, {W, 2, "b:1"}}, {W, 0, NULL}, false, 0, 0, false, false, "worker 1 is missing"},
    {{{W, 1, "a:1"}}, {W, 1, NULL}, false, 0, 0, false, false, "worker 0 is missing"},
    {{{W, 0, "a:1"}, {P, 0, "a:1"}}, {W, 0, NULL}, false, 0, 0, false, false, "same address, a:1"},
    {{{W, 0, "a:1"}, {P, 0, "grpc://a:01"}}, {W, 0, NULL}, false, 0, 0, false, false, "same address"},
    {{{W, 0, "a:1"}, {P, 0, "A:1"}}, {W, 0, NULL}, false, 0, 0, false, false, "same address"},
    {{{W, 0, "[::1]:1"}, {P, 0, "[0::0:1]:1"}}, {W, 0, NULL}, false, 0, 0, false, false, "same address, [::1]:1"},
    {{{P, 0, "a:1"}}, {P, 0, NULL}, false, 0, 0, false, false, "nobody trains"},
    {{{W, 0, "a:1"}}, {C, 0, NULL}, false, 0, 0, false, false, "the cluster has no chief"},
    {{{W, 0, "a:1"}}, {W, 1, NULL}, false, 0, 0, false, false, "this task is worker 1, which is not in the cluster"},
    {{{W, 0, "a:1"}, {E, 0, "b:1"}}, {E, 1, NULL}, false, 0, 0, false, false, "this task is evaluator 1"},
    {{{W, 0, "a"}}, {W, 0, NULL}, false, 0, 0, false, false, "the port is missing"},
    {{{W, -1, "a:1"}}, {W, 0, NULL}, false, 0, 0, false, false, "impossible index"},
    {{{W, 0x7fffffff, "a:1"}}, {W, 0, NULL}, true, 0, 0, false, false, "impossible index"},
    {{{W, INT64_MAX, "a:1"}}, {W, 0, NULL}, true, 0, 0, false, false, "impossible index"},
};

static void test_rules(void **state)
{
    artel_context *ctx = *state;
    for (size_t i = 0; i < ARTEL__COUNT(examples); i++) {
        const example *e = &examples[i];
        artel__cluster cluster;
        artel__operation_begin(ctx);
        artel_status status = build(ctx, e, &cluster);
        const artel_error *error = artel_context_error(ctx);
        if ((status < 0) != (e->wrong != NULL)) fail_msg("example %zu: %s", i, status < 0 ? error->what : "accepted");
        if (e->wrong) {
            if (!strstr(error->what, e->wrong)) fail_msg("example %zu: %s", i, error->what);
            assert_int_equal(status, ARTEL_ERROR_INVALID);
            assert_string_equal(error->where, "TEST");
            assert_true(error->advice[0] != '\0');
        } else {
            if (cluster.rank != e->rank || cluster.trainers != e->trainers || cluster.is_chief != e->chief ||
                cluster.single != e->single)
                fail_msg("example %zu: rank %d of %d, chief %d, single %d", i, cluster.rank, cluster.trainers,
                         cluster.is_chief, cluster.single);
            for (int k = 1; k < cluster.tasks; k++)
                assert_true(cluster.task[k - 1].type < cluster.task[k].type ||
                            (cluster.task[k - 1].type == cluster.task[k].type &&
                             cluster.task[k - 1].index < cluster.task[k].index));
        }
        artel__cluster_fini(&cluster);
    }
}

static void test_limit(void **state)
{
    artel__cluster cluster;
    char address[32];
    assert_int_equal(artel__cluster_init(*state, &cluster, "test", "TEST"), ARTEL_OK);
    for (int i = 0; i < ARTEL__CLUSTER_MAX_TASKS; i++) {
        snprintf(address, sizeof address, "n%d:1", i);
        if (artel__cluster_add(&cluster, ARTEL__TASK_WORKER, i, address) != ARTEL_OK) fail();
    }
    assert_int_equal(artel__cluster_add(&cluster, ARTEL__TASK_WORKER, ARTEL__CLUSTER_MAX_TASKS, "x:1"),
                     ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(*state)->what, "more than 131072 tasks"));
    artel__operation_begin(*state);
    artel__cluster_set_self(&cluster, ARTEL__TASK_WORKER, 99999);
    assert_int_equal(artel__cluster_seal(&cluster), ARTEL_OK);
    assert_int_equal(cluster.rank, 99999);
    assert_string_equal(cluster.self.address, "n99999:1");
    artel__cluster_fini(&cluster);
}

static void test_memory(void **state)
{
    artel__cluster cluster;
    for (uint64_t n = 1;; n++) { /* each allocation fails once */
        artel__operation_begin(*state);
        artel__fail_allocation_after(*state, n);
        artel_status status = build(*state, &examples[3], &cluster);
        artel__fail_allocation_after(*state, 0);
        artel__cluster_fini(&cluster);
        if (status == ARTEL_OK) break;
        assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
        assert_true(n < 100);
    }
}

static void test_showing(void **state)
{
    static const example e = {
        {{W, 0, "b:1"}, {C, 0, "a:1"}, {P, 0, "[::1]:5"}}, {W, 0, NULL}, false, 1, 2, false, false, NULL};
    artel__cluster cluster;
    artel__text text;
    assert_int_equal(build(*state, &e, &cluster), ARTEL_OK);
    artel__text_init(&text, *state);
    artel__cluster_describe(&cluster, &text);
    assert_string_equal(text.data, "cluster: from TEST (resolver test), 3 tasks\n"
                                   "this task: worker:0, rank 1 of 2\n"
                                   "  chief:0        a:1\n"
                                   "  worker:0       b:1  (this one)\n"
                                   "  ps:0           [::1]:5\n");
    artel__text_clear(&text);
    assert_int_equal(artel__cluster_tf_config(&cluster, &cluster.task[2], &text), ARTEL_OK);
    assert_string_equal(text.data,
                        "{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\"], \"ps\": [\"[::1]:5\"]}, "
                        "\"task\": {\"type\": \"ps\", \"index\": 0}}");
    artel__text_clear(&text);
    assert_int_equal(artel__cluster_to_json(&cluster, &text), ARTEL_OK);
    assert_string_equal(
        text.data,
        "{\"resolver\": \"test\", \"where\": \"TEST\", \"task\": {\"type\": \"worker\", \"index\": 0}, \"rank\": 1, "
        "\"trainers\": 2, \"chief\": false, \"single\": false, \"sparse\": false, \"rendezvous\": null, "
        "\"environment\": null, \"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\"], \"ps\": [\"[::1]:5\"]}}");
    artel__text_fini(&text);
    artel__cluster_fini(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_task_names),
        cmocka_unit_test_setup_teardown(test_rules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_showing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
