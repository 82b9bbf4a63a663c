/* SPDX-License-Identifier: Apache-2.0 */
/* CPU quotas and limits of memory read from a made-up cgroup tree, version 1 and 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pages.h"
#include "base/threads.h"

typedef struct tree {
    artel_context *ctx;
    char root[64];
    char membership[96];
} tree;

static int set_up(void **state)
{
    tree *made = calloc(1, sizeof(*made));
    if (!made || artel_context_create(NULL, &made->ctx) < 0) return -1;
    snprintf(made->root, sizeof(made->root), "/tmp/artel-cores-XXXXXX");
    if (!mkdtemp(made->root)) return -1;
    snprintf(made->membership, sizeof(made->membership), "%s/membership", made->root);
    *state = made;
    return 0;
}

static int tear_down(void **state)
{
    tree *made = *state;
    artel__remove_tree(made->ctx, made->root);
    artel_context_destroy(made->ctx);
    free(made);
    return 0;
}

/* Writes a file below the root, with its directories. */
static void put(tree *made, const char *directory, const char *name, const char *text)
{
    char path[512];
    size_t length = 0;
    while (text[length]) length++;
    snprintf(path, sizeof(path), "%s/%s", made->root, directory);
    assert_int_equal(artel__make_directory(made->ctx, path), ARTEL_OK);
    snprintf(path, sizeof(path), "%s/%s/%s", made->root, directory, name);
    assert_int_equal(artel__write_file(made->ctx, path, text, length), ARTEL_OK);
}

static void test_unified(void **state)
{
    tree *made = *state;
    put(made, "", "membership", "0::/pods/one\n");
    put(made, "pods/one", "cpu.max", "max 100000\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 0);
    put(made, "pods", "cpu.max", "350000 100000\n"); /* three and a half cores, one level up */
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 4);
    put(made, "pods/one", "cpu.max", "200000 100000\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 2);
    put(made, "", "cpu.max", "50000 100000\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 1);
}

static void test_version_one(void **state)
{
    tree *made = *state;
    put(made, "", "membership", "5:memory:/x\n4:cpuset:/x\n3:cpu,cpuacct:/a/b\n0::/\n");
    put(made, "cpuset/x", "cpu.cfs_quota_us", "100000\n"); /* another controller: not read */
    put(made, "cpuset/x", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 0);
    put(made, "cpu,cpuacct/a/b", "cpu.cfs_quota_us", "-1\n");
    put(made, "cpu,cpuacct/a/b", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 0);
    put(made, "cpu,cpuacct/a", "cpu.cfs_quota_us", "600000\n");
    put(made, "cpu,cpuacct/a", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 6);
}

static void test_nothing_there(void **state)
{
    tree *made = *state;
    assert_int_equal(artel__cgroup_cores("/nonexistent/cgroup", made->root), 0);
    put(made, "", "membership", "garbage\n0:\n:::\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 0);
    put(made, "pods", "cpu.max", "what ever\n");
    put(made, "", "membership", "0::/pods\n");
    assert_int_equal(artel__cgroup_cores(made->membership, made->root), 0);
}

/* Limits of memory stand in the same tree. */
static void test_memory(void **state)
{
    tree *made = *state;
    put(made, "", "membership", "5:memory:/x/y\n3:cpu,cpuacct:/a/b\n0::/pods/one\n");
    assert_true(artel__cgroup_memory(made->membership, made->root) == UINT64_MAX);
    put(made, "memory", "memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    assert_true(artel__cgroup_memory(made->membership, made->root) == 9223372036854771712u);
    put(made, "memory/x", "memory.limit_in_bytes", "62914560\n");
    assert_true(artel__cgroup_memory(made->membership, made->root) == 62914560);
    put(made, "pods/one", "memory.max", "max\n");
    assert_true(artel__cgroup_memory(made->membership, made->root) == 62914560);
    put(made, "pods", "memory.max", "1048576\n");
    assert_true(artel__cgroup_memory(made->membership, made->root) == 1048576);
    assert_true(artel__cgroup_memory("/nonexistent/cgroup", made->root) == UINT64_MAX);
    assert_true(artel__memory_limit() > 1 << 20);
}

static void test_this_process(void **state)
{
    (void)state;
    int cores = artel__usable_cores();
    assert_true(cores >= 1);
    assert_true(cores <= sysconf(_SC_NPROCESSORS_CONF));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unified, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_version_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test(test_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
