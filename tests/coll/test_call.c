/* SPDX-License-Identifier: Apache-2.0 */
/* All collectives of a team against their naive definitions: every kind, type, reduction, way, number of members and
 * subset; teams that share ranks at once; over inproc. Wrong and differing calls, missing memory and cancellation end
 * on every member. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_calls.h"

static void random_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        artel_context *ctx;
        artel__fabric *fabric;
        help_scene *s = malloc(sizeof *s);
        int ranks = 1 + (int)(seed % HELP_RANKS);
        assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
        assert_int_equal(artel__fabric_create(ctx, ranks, seed % 7 == 0, &fabric), ARTEL_OK);
        help_scene_make(s, ctx, ranks, seed);
        for (int r = 0; r < ranks; r++) s->endpoint[r] = artel__fabric_endpoint(fabric, r);
        help_scene_run(s);
        if (atomic_load(&s->wrong_status) || atomic_load(&s->wrong_bits)) print_message("seed %d\n", (int)seed);
        assert_int_equal(atomic_load(&s->wrong_status), 0);
        assert_int_equal(atomic_load(&s->wrong_bits), 0);
        artel__fabric_destroy(fabric);
        artel_context_destroy(ctx);
        free(s);
    }
}

/* -- one team of all ranks, each with a context of its own -- */

enum {
    MEMBERS = 5
};

typedef struct bench {
    artel_context *ctx[MEMBERS], *own;
    artel__fabric *fabric;
    int32_t rank[MEMBERS];
    artel__team team[MEMBERS];
    artel__call call[MEMBERS];
    float in[MEMBERS][64 * MEMBERS], out[MEMBERS][64 * MEMBERS];
    artel_status status[MEMBERS];
    int odd; /* this member does something else */
    void (*change)(artel__call *call);
    int calls;
} bench;

static void make_bench(bench *b)
{
    memset(b, 0, sizeof *b);
    b->odd = -1;
    b->calls = 1;
    assert_int_equal(artel_context_create(NULL, &b->own), ARTEL_OK);
    assert_int_equal(artel__fabric_create(b->own, MEMBERS, false, &b->fabric), ARTEL_OK);
    for (int r = 0; r < MEMBERS; r++) {
        b->rank[r] = r;
        assert_int_equal(artel_context_create(NULL, &b->ctx[r]), ARTEL_OK);
        b->team[r] = (artel__team){.ctx = b->ctx[r], .members = MEMBERS, .position = r, .rank = b->rank, .id = 3};
        b->team[r].endpoint = artel__fabric_endpoint(b->fabric, r);
        b->team[r].endpoint->ctx = b->ctx[r];
        artel__call_init(&b->call[r], &b->team[r]);
    }
}

static void free_bench(bench *b)
{
    for (int r = 0; r < MEMBERS; r++) {
        artel__call_fini(&b->call[r]);
        artel_context_destroy(b->ctx[r]);
    }
    artel__fabric_destroy(b->fabric);
    artel_context_destroy(b->own);
    free(b);
}

static void run_member(void *user, int r)
{
    bench *b = user;
    artel__call *call = &b->call[r];
    for (int i = 0; i < b->calls && b->status[r] == ARTEL_OK; i++) {
        call->kind = ARTEL__COLL_ALL_REDUCE;
        call->what = (artel_collective){.count = 50, .in = b->in[r], .out = b->out[r]};
        if (r == b->odd) b->change(call);
        b->status[r] = artel__call_run(call);
    }
}

static void other_count(artel__call *call)
{
    call->what.count = 30;
}
static void other_type(artel__call *call)
{
    call->what.dtype = ARTEL_DTYPE_INT32;
}
static void other_reduction(artel__call *call)
{
    call->what.reduction = ARTEL_REDUCTION_MAX;
}
static void other_kind(artel__call *call)
{
    call->kind = ARTEL__COLL_BROADCAST;
}
static void no_such_type(artel__call *call)
{
    call->what.dtype = ARTEL_DTYPE_BOOL;
}
static void no_memory(artel__call *call)
{
    call->what.in = NULL;
}
static void negative(artel__call *call)
{
    call->what.count = -4;
}

/* Whoever is odd: everyone gets a failure that names both, and nobody waits for ever. */
static void members_that_differ(void **state)
{
    (void)state;
    static void (*const changes[])(artel__call *) = {other_count, other_type,   other_reduction, other_kind,
                                                     no_memory,   no_such_type, negative};
    for (size_t i = 0; i < ARTEL__COUNT(changes); i++) {
        for (int odd = 0; odd < MEMBERS; odd++) {
            bench *b = malloc(sizeof *b);
            make_bench(b);
            b->odd = odd;
            b->change = changes[i];
            help_run_ranks(MEMBERS, run_member, b);
            char name[32];
            snprintf(name, sizeof name, "member %d", odd);
            for (int r = 0; r < MEMBERS; r++) {
                const artel_error *error = artel_context_error(b->ctx[r]);
                assert_true(b->status[r] == ARTEL_ERROR_INVALID ||
                            (r == odd && b->status[r] == ARTEL_ERROR_UNSUPPORTED));
                if (r == odd && i >= 4) continue;
                assert_non_null(strstr(error->what, odd == 0 ? "member 1" : name));
                assert_non_null(strstr(error->what, "member 0 called "));
            }
            free_bench(b);
        }
    }
}

static void steady_calls_take_no_memory(void **state)
{
    (void)state;
    bench *b = malloc(sizeof *b);
    uint64_t before = 0, after = 0;
    make_bench(b);
    help_run_ranks(MEMBERS, run_member, b);
    for (int r = 0; r < MEMBERS; r++) before += artel__heap_calls(b->ctx[r]);
    b->calls = 30;
    help_run_ranks(MEMBERS, run_member, b);
    for (int r = 0; r < MEMBERS; r++) after += artel__heap_calls(b->ctx[r]);
    for (int r = 0; r < MEMBERS; r++) assert_int_equal(b->status[r], ARTEL_OK);
    assert_int_equal(before, after);
    free_bench(b);
}

/* Each allocation of each member fails once: that member says so, the others name it. */
static void failing_allocations(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        bench *b = malloc(sizeof *b);
        make_bench(b);
        artel__fail_allocation_after(b->ctx[2], n);
        help_run_ranks(MEMBERS, run_member, b);
        failed = b->status[2] != ARTEL_OK;
        for (int r = 0; r < MEMBERS; r++) {
            assert_int_equal(b->status[r], !failed ? ARTEL_OK : r == 2 ? ARTEL_ERROR_NO_MEMORY : ARTEL_ERROR_RUN);
            if (failed && r != 2) assert_non_null(strstr(artel_context_error(b->ctx[r])->what, "member 2"));
        }
        free_bench(b);
    }
}

static void run_but_one(void *user, int r)
{
    bench *b = user;
    if (r == b->odd)
        artel__net_cancel(b->team[r].endpoint);
    else
        run_member(user, r);
}

/* A member that never comes: cancel ends every kind of call on all others. */
static void cancellation(void **state)
{
    (void)state;
    for (int odd = 0; odd < MEMBERS; odd++) {
        bench *b = malloc(sizeof *b);
        make_bench(b);
        b->odd = odd;
        help_run_ranks(MEMBERS, run_but_one, b);
        for (int r = 0; r < MEMBERS; r++) assert_int_equal(b->status[r], r == odd ? ARTEL_OK : ARTEL_ERROR_CANCELLED);
        free_bench(b);
    }
}

/* The ends of one pair disagree about its count: nobody hangs, and who notices says it. */
static void uneven_pairs(void *user, int r)
{
    bench *b = user;
    int64_t counts[MEMBERS] = {1, 2, 3, 4, 5}, receive[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) receive[i] = r + 1;
    if (r == 3) receive[1] = 9;
    b->call[r].kind = ARTEL__COLL_ALL_TO_ALL;
    b->call[r].what = (artel_collective){.counts = counts, .receive_counts = receive, .in = b->in[r], .out = b->out[r]};
    b->status[r] = artel__call_run(&b->call[r]);
}

static void pairs_that_differ(void **state)
{
    (void)state;
    bench *b = malloc(sizeof *b);
    make_bench(b);
    help_run_ranks(MEMBERS, uneven_pairs, b);
    assert_int_equal(b->status[3], ARTEL_ERROR_RUN);
    assert_non_null(strstr(artel_context_error(b->ctx[3])->what, "member 1 sent"));
    free_bench(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls),
        cmocka_unit_test(members_that_differ),
        cmocka_unit_test(steady_calls_take_no_memory),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(cancellation),
        cmocka_unit_test(pairs_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
