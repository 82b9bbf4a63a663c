/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: names, defaults, how threads are divided, notes, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/threads.h"
#include "strategy/plan.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static artel__strategy_plan plan(artel_context *ctx, const char *name, int replicas, int threads, int32_t shards,
                                 int64_t batch)
{
    artel__strategy_request request = {replicas, threads, shards, batch, NULL, false};
    artel__strategy_plan out;
    assert_int_equal(artel__strategy_make_plan(ctx, name, &request, &out), ARTEL_OK);
    int sum = 0;
    for (int r = 0; r < out.replicas; r++) {
        assert_true(out.threads_of[r] >= 1);
        sum += out.threads_of[r];
    }
    assert_int_equal(sum, out.threads);
    return out;
}

static void refused(artel_context *ctx, const char *name, artel__strategy_request request, artel_status status,
                    const char *where, const char *advice)
{
    artel__strategy_plan out;
    artel__operation_begin(ctx);
    assert_int_equal(artel__strategy_make_plan(ctx, name, &request, &out), status);
    const artel_error *error = artel_context_error(ctx);
    assert_string_equal(error->where, where);
    if (!strstr(error->advice, advice)) fail_msg("\"%s\" does not say \"%s\"", error->advice, advice);
}

static void one_device(void **state)
{
    static const char *const names[] = {"one-device", "default"};
    for (size_t i = 0; i < 2; i++) {
        artel__strategy_plan p = plan(*state, names[i], 0, 0, 8, 32);
        assert_string_equal(p.name, "one-device");
        assert_int_equal(p.replicas, 1);
        assert_int_equal(p.threads, artel__usable_cores());
        assert_string_equal(p.note, "");
        assert_int_equal(plan(*state, names[i], 1, 7, 8, 32).threads_of[0], 7);
    }
    refused(*state, "one-device", (artel__strategy_request){2, 0, 8, 32, NULL, false}, ARTEL_ERROR_INVALID, ".replicas",
            "mirrored");
}

static void mirrored(void **state)
{
    artel__strategy_plan p = plan(*state, "mirrored", 3, 8, 8, 96);
    assert_string_equal(p.name, "mirrored");
    assert_int_equal(p.replicas, 3);
    assert_int_equal(p.threads_of[0], 3);
    assert_int_equal(p.threads_of[1], 3);
    assert_int_equal(p.threads_of[2], 2);
    p = plan(*state, "mirrored", 8, 2, 8, 96);
    assert_int_equal(p.threads, 8);
    p = plan(*state, "mirrored", 256, 0, 256, 8192);
    assert_int_equal(p.replicas, 256);
    p = plan(*state, "mirrored", 0, 0, 8, 32);
    int nodes = artel__numa_nodes(), cores = artel__usable_cores();
    int expected = nodes < cores ? nodes : cores;
    assert_int_equal(p.replicas, expected < 8 ? expected : 8);
    assert_int_equal(plan(*state, "mirrored", 0, 4, 1, 32).replicas, 1);
}

/* Threads and replicas are mirrored's; the variables are common whatever the machine has of nodes. */
static void central_storage(void **state)
{
    for (int replicas = 0; replicas <= 8; replicas++) {
        artel__strategy_plan p = plan(*state, "central-storage", replicas, 5, 8, 96),
                             m = plan(*state, "mirrored", replicas, 5, 8, 96);
        assert_string_equal(p.name, "central-storage");
        assert_true(p.common && !p.cluster);
        assert_int_equal(p.replicas, m.replicas);
        assert_memory_equal(p.threads_of, m.threads_of, sizeof p.threads_of);
    }
    refused(*state, "central-storage", (artel__strategy_request){9, 0, 8, 32, NULL, false}, ARTEL_ERROR_INVALID,
            ".shards", ".shards 16");
}

static void automatic(void **state)
{
    artel__strategy_plan p = plan(*state, "auto", 0, 0, 8, 32);
    assert_string_equal(p.name, artel__numa_nodes() > 1 ? "mirrored" : "one-device");
    assert_string_equal(plan(*state, "auto", 1, 0, 8, 32).name, "one-device");
    p = plan(*state, "auto", 4, 2, 8, 32);
    assert_string_equal(p.name, "mirrored");
    assert_int_equal(p.replicas, 4);
}

static void notes(void **state)
{
    assert_string_equal(plan(*state, "mirrored", 2, 2, 8, 32).note, "");
    assert_string_equal(plan(*state, "mirrored", 7, 7, 256, 8192).note, "");
    assert_non_null(strstr(plan(*state, "mirrored", 5, 5, 8, 32).note, ".replicas 4"));
    assert_non_null(strstr(plan(*state, "mirrored", 5, 5, 8, 32).note, ".shards 64"));
    assert_non_null(strstr(plan(*state, "mirrored", 5, 5, 8, 32).note, "20 %"));
    assert_non_null(strstr(plan(*state, "mirrored", 8, 8, 8, 3).note, "5 of 8 replicas get no row"));
    assert_non_null(strstr(plan(*state, "mirrored", 8, 8, 8, 3).note, ".replicas 3"));
    assert_non_null(strstr(plan(*state, "mirrored", 8, 2, 8, 32).note, ".threads is 2"));
}

static void refusals(void **state)
{
    refused(*state, "mirrored", (artel__strategy_request){9, 0, 8, 32, NULL, false}, ARTEL_ERROR_INVALID, ".shards",
            ".shards 16");
    refused(*state, "mirrored", (artel__strategy_request){-1, 0, 8, 32, NULL, false}, ARTEL_ERROR_INVALID, ".replicas",
            "256");
    refused(*state, "mirrored", (artel__strategy_request){257, 0, 4096, 32, NULL, false}, ARTEL_ERROR_INVALID,
            ".replicas", "256");
    refused(*state, "one-device", (artel__strategy_request){0, -1, 8, 32, NULL, false}, ARTEL_ERROR_INVALID, ".threads",
            "from 1");
    refused(*state, "one-device", (artel__strategy_request){0, 1025, 8, 32, NULL, false}, ARTEL_ERROR_INVALID,
            ".threads", "1024");
    refused(*state, "mirored", (artel__strategy_request){0, 0, 8, 32, NULL, false}, ARTEL_ERROR_INVALID, ".strategy",
            "did you mean mirrored?");
    refused(*state, "one_device", (artel__strategy_request){0, 0, 8, 32, NULL, false}, ARTEL_ERROR_INVALID, ".strategy",
            "did you mean one-device?");
    refused(*state, "quux-and-more", (artel__strategy_request){0, 0, 8, 32, NULL, false}, ARTEL_ERROR_INVALID,
            ".strategy", "auto");
}

/* Its own replicas are planned as mirrored's; the others' are learnt when the cluster forms. */
static void multi_worker_plans_one_process(void **state)
{
    static const char *const names[] = {"multi-worker", "tpu"};
    artel__strategy_request request = {3, 7, 8, 96, NULL, false};
    artel__strategy_plan mirrored, multi;
    assert_int_equal(artel__strategy_make_plan(*state, "mirrored", &request, &mirrored), ARTEL_OK);
    for (size_t i = 0; i < ARTEL__COUNT(names); i++) {
        assert_int_equal(artel__strategy_make_plan(*state, names[i], &request, &multi), ARTEL_OK);
        assert_string_equal(multi.name, names[i]);
        assert_true(multi.cluster && !mirrored.cluster);
        assert_int_equal(multi.replicas, mirrored.replicas);
        assert_memory_equal(multi.threads_of, mirrored.threads_of, sizeof multi.threads_of);
    }
}

/* What a strategy is for stands in its definition. */
static void the_name_decides(void **state)
{
    const artel__strategy_def *def;
    for (int together = 0; together < 2; together++) {
        const char *wanted = together ? "multi-worker" : "auto";
        assert_int_equal(artel__strategy_by_name(*state, NULL, together, &def), ARTEL_OK);
        assert_string_equal(def->name, wanted);
        assert_int_equal(artel__strategy_by_name(*state, "auto", together, &def), ARTEL_OK);
        assert_string_equal(def->name, wanted);
        assert_int_equal(artel__strategy_by_name(*state, "default", together, &def), ARTEL_OK);
        assert_true(def->single);
    }
    assert_int_equal(artel__strategy_check_device(*state, def, "cuda", "gpu:0"), ARTEL_OK);
    assert_int_equal(artel__strategy_by_name(*state, "tpu", false, &def), ARTEL_OK);
    assert_false(def->single);
    assert_int_equal(artel__strategy_check_device(*state, def, "tpu", "tpu"), ARTEL_OK);
    assert_int_equal(artel__strategy_check_device(*state, def, "cuda", "gpu:0"), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(*state)->what, "tpu computes on TPUs, and the device is gpu:0");
    artel__operation_begin(*state);
    assert_int_equal(artel__strategy_check_device(*state, def, NULL, "none"), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(*state)->advice, "use mirrored, or .device tpu");
}

static void not_every_strategy_works_in_a_cluster(void **state)
{
    artel__strategy_request request = {1, 2, 8, 96, NULL, true};
    artel__strategy_plan out;
    assert_int_equal(artel__strategy_make_plan(*state, "parameter-server", &request, &out), ARTEL_OK);
    assert_int_equal(artel__strategy_make_plan(*state, "auto", &request, &out), ARTEL_OK);
    assert_string_equal(out.name, "multi-worker");
    refused(*state, "mirrored", request, ARTEL_ERROR_INVALID, ".strategy", "multi-worker");
    refused(*state, "one-device", request, ARTEL_ERROR_INVALID, ".strategy", "multi-worker");
}

static void the_table_is_whole(void **state)
{
    (void)state;
    int count = 0;
    for (; artel__strategies[count]; count++) {
        assert_non_null(artel__strategies[count]->plan);
        assert_true(strlen(artel__strategies[count]->doc) > 10);
    }
    assert_int_equal(count, 8);
}

static void write_node(const char *root, const char *name, const char *list)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
    if (!list) return;
    strcat(path, "/cpulist");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(list, file);
    fclose(file);
}

static void remove_node(const char *root, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/cpulist", root, name);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(rmdir(path), 0);
}

static void numa_nodes(void **state)
{
    (void)state;
    char root[] = "/tmp/artel-numa-XXXXXX";
    assert_non_null(mkdtemp(root));
    write_node(root, "node0", "0-3,8\n");
    write_node(root, "node1", "4-7,9-10\n");
    write_node(root, "node2", "\n");
    write_node(root, "node3", NULL);
    write_node(root, "power", "0-10\n");
    static const int all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, first[] = {2, 8}, second[] = {10}, elsewhere[] = {99};
    assert_int_equal(artel__numa_nodes_in(root, all, 11), 2);
    assert_int_equal(artel__numa_nodes_in(root, first, 2), 1);
    assert_int_equal(artel__numa_nodes_in(root, second, 1), 1);
    assert_int_equal(artel__numa_nodes_in(root, elsewhere, 1), 1);
    static const char *const names[] = {"node0", "node1", "node2", "node3", "power"};
    for (size_t i = 0; i < 5; i++) remove_node(root, names[i]);
    assert_int_equal(rmdir(root), 0);
    assert_int_equal(artel__numa_nodes_in(root, all, 11), 1);
    assert_true(artel__numa_nodes() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mirrored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(central_storage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(automatic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(multi_worker_plans_one_process, set_up, tear_down),
        cmocka_unit_test(the_name_decides),
        cmocka_unit_test(not_every_strategy_works_in_a_cluster),
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(numa_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
