/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas with common variables: random graphs end in the bits of one replica, although each takes only a share of
 * every step, and sums that only the optimizer reads are not exchanged. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/cpu/plan.h"
#include "exec/state_impl.h"
#include "comm/group.h"
#include "support/graph_bench.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    ROWS = 21,
    STEPS = 3,
    MOST = 8
};

typedef struct rank {
    artel__run *run;
    artel__pool *pool;
    const artel__comm *comm;
    artel__fold_plan fold;
    int64_t start[9];
    artel__step step;
    const void *input;
    artel_status status;
    pthread_t thread;
} rank;

static void *step_main(void *user)
{
    rank *r = user;
    r->status = artel__run_compute(r->run, &r->step, &r->input);
    if (r->status == ARTEL_OK) r->status = r->comm->ops->barrier(r->comm->self, true);
    if (r->status == ARTEL_OK) artel__run_apply(r->run, &r->step);
    return NULL;
}

static void open_ranks(graph_bench *b, artel__group *group, rank *of, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        rank *r = &of[i];
        int32_t first = artel__replica_first_shard(8, ranks, i), end = artel__replica_first_shard(8, ranks, i + 1);
        r->comm = artel__group_comm(group, i);
        artel__fold_plan_make(&r->fold, 8, first, end - first, ROWS, r->start);
        r->input = b->x + r->fold.row * WIDTH;
        r->step = (artel__step){.fold = &r->fold, .seed = 5, .learning_rate = 0.01, .training = true};
        assert_int_equal(artel__pool_create(b->ctx, 1 + i % 2, &r->pool), ARTEL_OK);
        assert_int_equal(artel__run_create(b->plan, b->state, r->pool, r->comm, &r->run), ARTEL_OK);
    }
    for (int i = 0; i < ranks; i++) {
        assert_int_equal(artel__run_join(of[i].run, ranks), ARTEL_OK);
        for (int k = 0; k < ranks; k++) artel__run_meet(of[i].run, k, of[k].run);
    }
}

static void take_steps(rank *of, int ranks)
{
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < ranks; i++) assert_int_equal(pthread_create(&of[i].thread, NULL, step_main, &of[i]), 0);
        for (int i = 0; i < ranks; i++) {
            pthread_join(of[i].thread, NULL);
            assert_int_equal(of[i].status, ARTEL_OK);
            of[i].step.iteration++;
            of[i].step.batch++;
        }
    }
}

/* The plan of `b` anew for several replicas, and its variables after a few steps of theirs. */
static void run_common(graph_bench *b, int ranks)
{
    artel__plan_options options = {
        .batch_size = ROWS, .shards = 8, .replicas = ranks, .isa = artel__context_isa(b->ctx), .common = true};
    rank of[MOST] = {{.run = NULL}};
    artel__group *group;
    artel__run_destroy(b->run);
    b->run = NULL;
    artel__plan_destroy(b->plan);
    assert_int_equal(artel__plan_create(b->ctx, &b->graph, &options, &b->plan), ARTEL_OK);
    assert_int_equal(artel__group_create(b->ctx, ranks, 8, &group), ARTEL_OK);
    open_ranks(b, group, of, ranks);
    take_steps(of, ranks);
    for (int i = 0; i < ranks; i++) artel__run_destroy(of[i].run);
    for (int i = 0; i < ranks; i++) artel__pool_destroy(of[i].pool);
    artel__group_destroy(group);
}

static void open_bench(graph_bench *b, uint32_t seed)
{
    graph_bench_begin(b, ROWS);
    random_graph_build(&b->graph, &b->variables, seed);
    assert_int_equal(artel__graph_seal(&b->graph), ARTEL_OK);
    graph_bench_plan(b);
    graph_bench_finish(b, 1);
}

static int count_lines(artel_context *ctx, const artel__plan *plan, const char *with)
{
    artel__text text;
    int count = 0;
    artel__text_init(&text, ctx);
    artel__plan_dump(plan, &text);
    for (const char *at = text.data; at && (at = strstr(at, with)); at++) count++;
    artel__text_fini(&text);
    return count;
}

static void same_bits_as_one(void **state)
{
    (void)state;
    int divided = 0, lazy = 0, posted = 0;
    for (uint32_t seed = 1; seed <= 24; seed++) {
        graph_bench one, many;
        open_bench(&one, seed);
        open_bench(&many, seed);
        for (int step = 0; step < STEPS; step++) {
            assert_int_equal(artel__run_compute(one.run, &one.step, one.inputs), ARTEL_OK);
            artel__run_apply(one.run, &one.step);
            one.step.iteration++;
            one.step.batch++;
        }
        run_common(&many, (int)(2 + seed % 7));
        assert_memory_equal(one.state->block, many.state->block, one.variables.bytes);
        divided += count_lines(many.ctx, many.plan, "shared out");
        lazy += count_lines(many.ctx, many.plan, "added up by its reader");
        posted += count_lines(many.ctx, many.plan, " post all-reduce");
        graph_bench_close(&one);
        graph_bench_close(&many);
    }
    if (divided < 40 || lazy < 4)
        fail_msg("only %d steps are shared out, only %d sums are not exchanged", divided, lazy);
    if (posted < 8) fail_msg("only %d exchanges go on behind a node", posted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits_as_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
