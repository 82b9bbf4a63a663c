/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's lists against what `scontrol show hostnames` of Slurm 22.05 printed for them (text after a list and lists in
 * lists apart, which it refuses), and lists that must be refused before memory is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cluster/resolver.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static const char *const expansions[][2] = {
    {"a", "a"},
    {"a,b", "a,b"},
    {"n[1-3]", "n1,n2,n3"},
    {"n[1-2],m5,o[3-4,6,7-9]", "n1,n2,m5,o3,o4,o6,o7,o8,o9"},
    {"n[08-11]", "n08,n09,n10,n11"},
    {"n[8-11]", "n8,n9,n10,n11"},
    {"n[098-101]", "n098,n099,n100,n101"},
    {"n[5]", "n5"},
    {"n[3,1,2]", "n3,n1,n2"},
    {"n[1,1]", "n1,n1"},
    {"n[1-2]-ib", "n1-ib,n2-ib"},
    {"r[0-1]n[0-1]", "r0n0,r0n1,r1n0,r1n1"},
    {"r[0-1]n[08-09]x[1,3]", "r0n08x1,r0n08x3,r1n08x1,r1n08x3,r0n09x1,r0n09x3,r1n09x1,r1n09x3"},
    {"a[0-1]b[0-1]c[0-1]d[0-1]", "a0b0c0d0,a0b0c0d1,a1b0c0d0,a1b0c0d1,a0b1c0d0,a0b1c0d1,a1b1c0d0,a1b1c0d1,a0b0c1d0,"
                                 "a0b0c1d1,a1b0c1d0,a1b0c1d1,a0b1c1d0,a0b1c1d1,"
                                 "a1b1c1d0,a1b1c1d1"},
    {"a[0-1]b[0-1]-x", "a0b0-x,a0b1-x,a1b0-x,a1b1-x"},
    {"[1-2]", "1,2"},
    {"[1-2][3-4]", "13,14,23,24"},
    {"n[1,[3-4],[[6]]]", "n1,n3,n4,n6"},
    {"a-b.c_d[001-002].example.com", "a-b.c_d001.example.com,a-b.c_d002.example.com"},
    {"n[999999999999]", "n999999999999"},
};

static void test_expansion(void **state)
{
    for (size_t i = 0; i < ARTEL__COUNT(expansions); i++) {
        artel__arena arena;
        artel__hostlist hosts;
        artel__text text;
        artel__arena_init(&arena, *state);
        artel__text_init(&text, *state);
        assert_int_equal(artel__hostlist_expand(&arena, "LIST", expansions[i][0], &hosts), ARTEL_OK);
        for (int k = 0; k < hosts.count; k++) artel__text_printf(&text, "%s%s", k ? "," : "", hosts.host[k]);
        assert_string_equal(text.data, expansions[i][1]);
        artel__text_fini(&text);
        artel__arena_fini(&arena);
    }
}

static const char *const refused[][2] = {
    {"", "missing"},
    {",", "missing"},
    {"a,", "missing"},
    {",a", "missing"},
    {"a,,b", "missing"},
    {"n[", "expected"},
    {"n[]", "expected"},
    {"n[1", "closing bracket is missing"},
    {"n[1-", "expected"},
    {"n[1-]", "expected"},
    {"n[-1]", "expected"},
    {"n[1,]", "expected"},
    {"n[3-1]", "backwards"},
    {"n[1-2-3]", "comma"},
    {"n[a]", "expected"},
    {"n[1 ]", "comma"},
    {"n]", "no opening"},
    {"n[1]]", "no opening"},
    {"n[0x1]", "comma"},
    {"n[1-131073]", "more than 131072"},
    {"n[1-131072],m", "more than 131072"},
    {"n[0-999][0-999]", "more than 131072"},
    {"n[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]", "more than 131072"},
    {"n[0-999999999999]", "more than 131072"},
    {"n[0-9999999999999]", "12 digits"},
    {"n[[[[[[[[[1]]]]]]]]]", "too deeply"},
    {"n[1]a[1]a[1]a[1]a[1]a[1]a[1]a[1]a[1]", "too many brackets"},
};

static void refuse(artel_context *ctx, const char *list, const char *reason)
{
    artel__arena arena;
    artel__hostlist hosts;
    artel__operation_begin(ctx);
    artel__arena_init(&arena, ctx);
    artel_status status = artel__hostlist_expand(&arena, "LIST", list, &hosts);
    const artel_error *error = artel_context_error(ctx);
    if (status != ARTEL_ERROR_INVALID || !strstr(error->what, reason)) fail_msg("%.80s: %s", list, error->what);
    assert_string_equal(error->where, "LIST");
    artel__arena_fini(&arena);
}

static void test_refused(void **state)
{
    for (size_t i = 0; i < ARTEL__COUNT(refused); i++) refuse(*state, refused[i][0], refused[i][1]);
    char name[600];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refuse(*state, name, "longer than 255");
    memcpy(name + 250, "[1-100]", 8);
    name[250 + 7] = '\0';
    artel__arena arena;
    artel__hostlist hosts;
    artel__arena_init(&arena, *state);
    artel__operation_begin(*state);
    assert_int_equal(artel__hostlist_expand(&arena, "LIST", name, &hosts), ARTEL_OK);
    assert_int_equal(strlen(hosts.host[99]), 253);
    artel__arena_fini(&arena);
    memset(name, '[', sizeof name - 1);
    refuse(*state, name, "too deeply");
}

/* 100,000 separate numbers: the cost stays linear. */
static void test_long(void **state)
{
    artel__arena arena;
    artel__hostlist hosts;
    artel__text text;
    artel__arena_init(&arena, *state);
    artel__text_init(&text, *state);
    artel__text_append(&text, "n[");
    for (int i = 0; i < 100000; i++) artel__text_printf(&text, "%s%d", i ? "," : "", 2 * i);
    artel__text_append(&text, "]");
    assert_int_equal(artel__hostlist_expand(&arena, "LIST", text.data, &hosts), ARTEL_OK);
    assert_int_equal(hosts.count, 100000);
    assert_string_equal(hosts.host[0], "n0");
    assert_string_equal(hosts.host[54321], "n108642");
    assert_string_equal(hosts.host[99999], "n199998");
    artel__text_clear(&text);
    for (int i = 0; i < 100000; i++) artel__text_printf(&text, "%shost-%d", i ? "," : "", i);
    assert_int_equal(artel__hostlist_expand(&arena, "LIST", text.data, &hosts), ARTEL_OK);
    assert_string_equal(hosts.host[99999], "host-99999");
    artel__text_fini(&text);
    artel__arena_fini(&arena);
}

static void test_counts(void **state)
{
    artel__arena arena;
    artel__counts counts;
    artel__arena_init(&arena, *state);
    assert_int_equal(artel__counts_expand(&arena, "LIST", "3(x2),2,1", &counts), ARTEL_OK);
    assert_int_equal(counts.count, 4);
    assert_int_equal(counts.total, 9);
    const int32_t expected[] = {3, 3, 2, 1};
    assert_memory_equal(counts.item, expected, sizeof expected);
    static const char *const wrong[] = {"",      ",", "1,", "x",  "1(x)",   "1(x2",   "1(2)",
                                        "1(x0)", "0", "1 ", "-1", "1(x2)3", "131073", "2(x65537)"};
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++) {
        artel__operation_begin(*state);
        if (artel__counts_expand(&arena, "LIST", wrong[i], &counts) == ARTEL_OK)
            fail_msg("\"%s\" is accepted", wrong[i]);
    }
    artel__arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_expansion, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
