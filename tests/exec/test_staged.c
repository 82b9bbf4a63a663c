/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas on processors that exchange as devices do: random graphs end in the bits of one replica, also where sums lie
 * in panels and cross in their plain form, steady steps take no memory, and a run whose memory is not to be had is an
 * error that leaves nothing behind. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "comm/group.h"
#include "exec/cpu/plan.h"
#include "exec/state_impl.h"
#include "support/graph_bench.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    ROWS = 21,
    STEPS = 4,
    MOST = 8
};

typedef struct rank {
    artel__run *run;
    artel__state *state;
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

static void open_bench(graph_bench *b, uint32_t seed)
{
    graph_bench_begin(b, ROWS);
    random_graph_build(&b->graph, &b->variables, seed);
    assert_int_equal(artel__graph_seal(&b->graph), ARTEL_OK);
    graph_bench_plan(b);
    graph_bench_finish(b, 1);
}

/* A run with the variables that the bench has before its first step, failing every allocation of it once. */
static void open_rank(graph_bench *b, const artel__plan *plan, artel__group *group, rank *r, int index, int ranks)
{
    int32_t first = artel__replica_first_shard(8, ranks, index), end = artel__replica_first_shard(8, ranks, index + 1);
    r->comm = artel__group_comm(group, index);
    artel__fold_plan_make(&r->fold, 8, first, end - first, ROWS, r->start);
    r->input = b->x + r->fold.row * WIDTH;
    r->step = (artel__step){.fold = &r->fold, .seed = 5, .learning_rate = 0.01, .training = true};
    assert_int_equal(artel__state_create(b->ctx, &b->variables, &r->state), ARTEL_OK);
    memcpy(r->state->block, b->state->block, b->variables.bytes);
    assert_int_equal(artel__pool_create(b->ctx, 1 + index % 2, &r->pool), ARTEL_OK);
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; n < 100 && status == ARTEL_ERROR_NO_MEMORY; n++) {
        artel__fail_allocation_after(b->ctx, n);
        status = artel__run_create(plan, r->state, r->pool, r->comm, &r->run);
    }
    artel__fail_allocation_after(b->ctx, 0);
    artel__operation_begin(b->ctx);
    assert_int_equal(status, ARTEL_OK);
}

static void take_step(rank *of, int ranks)
{
    for (int i = 0; i < ranks; i++) assert_int_equal(pthread_create(&of[i].thread, NULL, step_main, &of[i]), 0);
    for (int i = 0; i < ranks; i++) {
        pthread_join(of[i].thread, NULL);
        assert_int_equal(of[i].status, ARTEL_OK);
        of[i].step.iteration++;
        of[i].step.batch++;
    }
}

static bool has_panels(artel_context *ctx, const artel__plan *plan)
{
    artel__text text;
    artel__text_init(&text, ctx);
    artel__plan_dump(plan, &text);
    bool has = text.data && strstr(text.data, "sums in plain form");
    artel__text_fini(&text);
    return has;
}

/* Steps of one replica and of several beside it; whether what lies in panels was exchanged. */
static bool compare(uint32_t seed, int ranks)
{
    graph_bench b;
    rank of[MOST] = {{.run = NULL}};
    artel__plan *plan;
    artel__group *group;
    uint64_t before = 0;
    open_bench(&b, seed);
    artel__plan_options options = {
        .batch_size = ROWS, .shards = 8, .replicas = ranks, .isa = artel__context_isa(b.ctx), .staged = true};
    assert_int_equal(artel__plan_create(b.ctx, &b.graph, &options, &plan), ARTEL_OK);
    assert_int_equal(artel__group_create(b.ctx, ranks, 8, &group), ARTEL_OK);
    for (int i = 0; i < ranks; i++) open_rank(&b, plan, group, &of[i], i, ranks);
    for (int step = 0; step < STEPS; step++) {
        if (step == 1) before = artel__heap_calls(b.ctx);
        take_step(of, ranks);
    }
    assert_int_equal(artel__heap_calls(b.ctx), before);
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(artel__run_compute(b.run, &b.step, b.inputs), ARTEL_OK);
        artel__run_apply(b.run, &b.step);
        b.step.iteration++;
        b.step.batch++;
    }
    for (int i = 0; i < ranks; i++) {
        assert_memory_equal(b.state->block, of[i].state->block, b.variables.bytes);
        artel__run_destroy(of[i].run);
        artel__state_destroy(of[i].state);
        artel__pool_destroy(of[i].pool);
    }
    bool panels = has_panels(b.ctx, plan);
    artel__group_destroy(group);
    artel__plan_destroy(plan);
    graph_bench_close(&b);
    return panels;
}

static void same_bits_and_no_memory(void **state)
{
    (void)state;
    int panels = 0, others = 0;
    for (uint32_t seed = 1; seed <= 24; seed++) {
        bool some = compare(seed, (int)(2 + seed % 7));
        panels += some;
        others += !some;
    }
    if (panels < 4) fail_msg("panels are exchanged in %d graphs only, in %d none", panels, others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits_and_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
