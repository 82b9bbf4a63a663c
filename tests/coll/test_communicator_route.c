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

static void no_choice_changes_a_bit_CD2_CD3_CD12(void **state)
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

static void routes_without_a_result_are_refused_CD5(void **state)
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
    missing.name = "auto"; /* what chooses one */
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

/* The program's own way serves whatever sums: one, several at once of any types; what only moves values is as it was.
 */
static void serve_all(void *user, int r)
{
    help_members *s = user;
    static int root = 1;
    artel_all_reduce_definition star = {sizeof star, "star", one_slice, list_star, &root};
    int64_t in[3][ROUTED], wanted[3][ROUTED], out[3][ROUTED], all[MEMBERS * ROUTED];
    static const artel_dtype types[] = {ARTEL_DTYPE_FLOAT32, ARTEL_DTYPE_INT64, ARTEL_DTYPE_BFLOAT16};
    artel_collective call[3];
    EXPECT(artel_context_add_all_reduce(s->ctx[r], &star) == ARTEL_OK);
    for (int i = 0; i < 3; i++) {
        fill_values(types[i], in[i], (uint64_t)(r + 3) * (uint64_t)(i + 2));
        call[i] = (artel_collective){
            .dtype = types[i], .reduction = ARTEL_REDUCTION_MEAN, .count = ROUTED, .in = in[i], .out = wanted[i]};
        EXPECT(artel_communicator_all_reduce(s->c[r], &call[i]) == ARTEL_OK);
    }
    EXPECT(artel_communicator_set_all_reduce(s->c[r], "star") == ARTEL_OK);
    for (int i = 0; i < 3; i++) call[i].out = out[i];
    EXPECT(artel_communicator_all_reduce_many(s->c[r], call, 3) == ARTEL_OK);
    for (int i = 0; i < 3; i++) EXPECT(memcmp(out[i], wanted[i], ROUTED * artel_dtype_size(types[i])) == 0);
    call[0].out = all;
    EXPECT(artel_communicator_all_gather(s->c[r], &call[0]) == ARTEL_OK);
    EXPECT(memcmp((float *)(void *)all + r * ROUTED, in[0], ROUTED * sizeof(float)) == 0);
    EXPECT(artel_communicator_reduce(s->c[r], &call[0]) == ARTEL_OK);
    EXPECT(r != 0 || memcmp(all, wanted[0], ROUTED * sizeof(float)) == 0);
    call[0].in = all;
    call[0].out = out[0];
    EXPECT(artel_communicator_broadcast(s->c[r], &call[0]) == ARTEL_OK);
    EXPECT(memcmp(r == 0 ? (void *)all : (void *)out[0], wanted[0], ROUTED * sizeof(float)) == 0);
}

static void a_way_of_the_program_serves_all_CD5(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, serve_all, &s);
    assert_int_equal(s.wrong, 0);
    help_close_members(&s);
}

/* Two groups of the same ranks, each with threads of its own, call whenever they like: nothing of one gets into the
 * other, and nobody waits for somebody of the other one. In lists the order is free: the last first gives the bits of
 * the first first. */
static void call_at_will(void *user, int thread)
{
    help_members *group = user, *s = &group[thread / MEMBERS];
    int r = thread % MEMBERS, which = thread / MEMBERS;
    for (int step = 0; step < 60; step++) {
        int64_t count = 1 + (int64_t)(help_mix((uint64_t)step, (uint64_t)which) % 400);
        float in[2][400], out[2][400], turned[2][400];
        artel_collective call[2], back[2];
        for (int i = 0; i < 400; i++) {
            in[0][i] = (float)(which * 1000 + step * 10 + r + i);
            in[1][i] = (float)help_mix((uint64_t)(i + r), (uint64_t)step) * 1e-19f;
        }
        for (int k = 0; k < 2; k++) {
            call[k] = (artel_collective){.dtype = ARTEL_DTYPE_FLOAT32, .count = count, .in = in[k], .out = out[k]};
            back[1 - k] = call[k];
            back[1 - k].out = turned[k];
        }
        EXPECT(artel_communicator_all_reduce_many(s->c[r], call, 2) == ARTEL_OK);
        EXPECT(artel_communicator_all_reduce_many(s->c[r], back, 2) == ARTEL_OK);
        for (int k = 0; k < 2; k++) EXPECT(memcmp(out[k], turned[k], (size_t)count * sizeof(float)) == 0);
        for (int64_t i = 0; i < count; i++)
            EXPECT(out[0][i] == (float)(MEMBERS * (which * 1000 + step * 10 + i) + MEMBERS * (MEMBERS - 1) / 2));
    }
}

static void groups_on_threads_do_not_interleave_CD4(void **state)
{
    (void)state;
    help_members group[2];
    artel_communicator *none[2];
    for (int i = 0; i < 2; i++) help_open_members(&group[i]);
    help_run_ranks(2 * MEMBERS, call_at_will, group);
    for (int i = 0; i < 2; i++) assert_int_equal(group[i].wrong, 0);
    artel_context *twice[2] = {group[0].ctx[0], group[0].ctx[0]}; /* no group has a member twice */
    assert_int_equal(artel_communicator_create(twice, 2, none), ARTEL_ERROR_INVALID);
    for (int i = 0; i < 2; i++) help_close_members(&group[i]);
}

/* What is said of one communicator is of that one: it goes before what its parent was told, and NULL is the default
 * again. */
static void choose_for_one(void *user, int r)
{
    help_members *s = user;
    static const int everybody[MEMBERS] = {0, 1, 2, 3, 4};
    artel_communicator *own;
    float x = (float)r, sum = 0;
    artel_collective call = {.dtype = ARTEL_DTYPE_FLOAT32, .count = 1, .in = &x, .out = &sum};
    EXPECT(artel_communicator_set_all_reduce(s->c[r], r == 2 ? "ring" : "direct") == ARTEL_OK);
    EXPECT(artel_communicator_subset(s->c[r], everybody, MEMBERS, &own) == ARTEL_OK);
    EXPECT(artel_communicator_set_all_reduce(own, "hierarchical") == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce(own, &call) == ARTEL_OK && sum == 10.0f);
    EXPECT(artel_communicator_set_all_reduce(own, NULL) == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce(own, &call) == ARTEL_OK && sum == 10.0f);
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_ERROR_INVALID); /* where members differ */
    artel_communicator_destroy(own);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_set_all_reduce(s->c[r], NULL) == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK && sum == 10.0f);
}

static void the_nearest_choice_counts_CD13(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, choose_for_one, &s);
    assert_int_equal(s.wrong, 0);
    help_close_members(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_choice_changes_a_bit_CD2_CD3_CD12),
        cmocka_unit_test(members_that_choose_differently_are_told),
        cmocka_unit_test(routes_without_a_result_are_refused_CD5),
        cmocka_unit_test(a_way_of_the_program_serves_all_CD5),
        cmocka_unit_test(groups_on_threads_do_not_interleave_CD4),
        cmocka_unit_test(the_nearest_choice_counts_CD13),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
