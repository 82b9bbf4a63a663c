/* SPDX-License-Identifier: Apache-2.0 */
/* Ways for sums to travel, chosen by name or added by the program: the bits of one are those of any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "help_members.h"

/* The bits of every choice are those of the choice by size, for every type and reduction; a star that the program adds,
 * too. */
static artel_status list_star(void *user, const artel_all_reduce_group *group, artel_all_reduce_route *route)
{
    int root = *(int *)user;
    for (int m = 0; m < group->members; m++) {
        if (m != root) artel_all_reduce_send(route, m, root, 0, m, 1);
    }
    for (int m = 0; m < group->members; m++) {
        if (m != root) artel_all_reduce_send(route, root, m, 0, 0, group->members);
    }
    return ARTEL_OK;
}

static int one_slice(void *user, const artel_all_reduce_group *group)
{
    (void)user;
    return group->members > 1 ? 1 : group->members;
}

/* The last member hears of nothing. */
static artel_status list_too_little(void *user, const artel_all_reduce_group *group, artel_all_reduce_route *route)
{
    (void)user;
    for (int m = 0; m + 2 < group->members; m++) artel_all_reduce_send(route, m, m + 1, 0, 0, m + 1);
    return ARTEL_OK;
}

static artel_status list_what_is_not_there(void *user, const artel_all_reduce_group *group,
                                           artel_all_reduce_route *route)
{
    (void)user;
    return artel_all_reduce_send(route, 0, 1, 0, 1, group->members - 1);
}

enum {
    ROUTED = 1037
};

static void fill_values(artel_dtype dtype, void *to, uint64_t seed)
{
    for (int i = 0; i < ROUTED; i++) {
        uint64_t bits = help_mix(seed, (uint64_t)i);
        float value = ((float)(bits & 0xffff) - 32768.0f) * 0.37f;
        if (dtype == ARTEL_DTYPE_FLOAT32)
            ((float *)to)[i] = value;
        else if (dtype == ARTEL_DTYPE_FLOAT64)
            ((double *)to)[i] = (double)value * 1.1;
        else if (dtype == ARTEL_DTYPE_FLOAT16 || dtype == ARTEL_DTYPE_BFLOAT16)
            ((uint16_t *)to)[i] = (uint16_t)(bits & 0xbfff & ~(dtype == ARTEL_DTYPE_FLOAT16 ? 0x4000u : 0u));
        else if (dtype == ARTEL_DTYPE_INT32)
            ((int32_t *)to)[i] = (int32_t)bits;
        else
            ((int64_t *)to)[i] = (int64_t)bits;
    }
}

static void choose_each(void *user, int r)
{
    help_members *s = user;
    static int root = 3;
    static const artel_dtype types[] = {ARTEL_DTYPE_FLOAT32,  ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_FLOAT16,
                                        ARTEL_DTYPE_BFLOAT16, ARTEL_DTYPE_INT32,   ARTEL_DTYPE_INT64};
    static const char *const names[] = {"direct", "redundant", "NCCL", "hierarchical", "star", "AUTO"};
    artel_all_reduce_definition star = {sizeof star, "star", one_slice, list_star, &root};
    EXPECT(artel_context_add_all_reduce(s->ctx[r], &star) == ARTEL_OK);
    int64_t in[ROUTED], wanted[ROUTED], out[ROUTED];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        size_t bytes = ROUTED * artel_dtype_size(types[t]);
        fill_values(types[t], in, (uint64_t)(r + 10) * (t + 1));
        for (int reduction = 0; reduction < 5; reduction++) {
            artel_collective call = {
                .dtype = types[t], .reduction = (artel_reduction)reduction, .count = ROUTED, .in = in, .out = wanted};
            EXPECT(artel_communicator_set_all_reduce(s->c[r], NULL) == ARTEL_OK);
            EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK);
            for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
                memcpy(out, in, bytes);
                call.in = call.out = out;
                EXPECT(artel_communicator_set_all_reduce(s->c[r], names[n]) == ARTEL_OK);
                EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK);
                EXPECT(memcmp(out, wanted, bytes) == 0);
            }
        }
    }
}

static void no_choice_changes_a_bit(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, choose_each, &s);
    assert_int_equal(s.wrong, 0);
    help_close_members(&s);
}

static void choose_differently(void *user, int r)
{
    help_members *s = user;
    float x = (float)r, sum = 0;
    artel_collective call = {.dtype = ARTEL_DTYPE_FLOAT32, .count = 1, .in = &x, .out = &sum};
    EXPECT(artel_communicator_set_all_reduce(s->c[r], r == 2 ? "ring" : "hierarchical") == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_ERROR_INVALID);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_set_all_reduce(s->c[r], "ring") == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK && sum == 10.0f);
}

static void members_that_choose_differently_are_told(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, choose_differently, &s);
    assert_int_equal(s.wrong, 0);
    help_close_members(&s);
}

static void routes_without_a_result_are_refused(void **state)
{
    (void)state;
    help_members s;
    artel_context *ctx;
    help_open_members(&s);
    ctx = s.ctx[0];
    artel_all_reduce_definition little = {sizeof little, "little", one_slice, list_too_little, NULL};
    artel_all_reduce_definition missing = {sizeof missing, "missing", one_slice, list_what_is_not_there, NULL};
    assert_int_equal(artel_context_add_all_reduce(ctx, &little), ARTEL_OK);
    assert_int_equal(artel_context_add_all_reduce(ctx, &missing), ARTEL_OK);
    assert_int_equal(artel_context_add_all_reduce(ctx, &missing), ARTEL_ERROR_INVALID);
    missing.name = "NCCL";
    assert_int_equal(artel_context_add_all_reduce(ctx, &missing), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_communicator_set_all_reduce(s.c[0], "little"), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(ctx)->what, "ends without the result"));
    assert_int_equal(artel_communicator_set_all_reduce(s.c[0], "missing"), ARTEL_ERROR_INVALID);
    assert_non_null(
        strstr(artel_context_error(ctx)->what, "member 0 cannot send slice 0, of 4 members from 1 on, to member 1"));
    assert_int_equal(artel_communicator_set_all_reduce(s.c[0], "rings"), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(ctx)->advice, "did you mean ring?");
    help_close_members(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_choice_changes_a_bit),
        cmocka_unit_test(members_that_choose_differently_are_told),
        cmocka_unit_test(routes_without_a_result_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
