/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas on processors that exchange as devices do: random graphs end in the bits of one replica, also where sums lie
 * in panels and cross in their plain form, steady steps take no memory, and a run whose memory is not to be had is an
 * error that leaves nothing behind. */
#include "exec/help_ranks.h"

#include <string.h>

#include "exec/state_impl.h"

enum {
    STEPS = 4
};

/* A run with the variables that the bench has before its first step, failing every allocation of it once: as many
 * failures as a run that is let make them has made. */
static void open_rank(graph_bench *b, const artel__plan *plan, artel__group *group, rank *r, int index, int ranks)
{
    uint64_t failed = 0;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    ranks_open(b, group, r, index, ranks);
    assert_int_equal(artel__state_create(b->ctx, &b->variables, &r->state), ARTEL_OK);
    memcpy(r->state->block, b->state->block, b->variables.bytes);
    while (status == ARTEL_ERROR_NO_MEMORY && failed < 100) {
        uint64_t before = artel__heap_calls(b->ctx);
        artel__fail_allocation_after(b->ctx, failed + 1);
        status = artel__run_create(plan, r->state, r->pool, r->comm, &r->run);
        if (status == ARTEL_ERROR_NO_MEMORY)
            failed++;
        else
            assert_int_equal(artel__heap_calls(b->ctx) - before, failed);
    }
    artel__fail_allocation_after(b->ctx, 0);
    artel__operation_begin(b->ctx);
    assert_int_equal(status, ARTEL_OK);
    assert_true(failed > 1);
}

/* Steps of one replica and of several beside it; whether what lies in panels was exchanged. */
static bool compare(uint32_t seed, int ranks)
{
    graph_bench b;
    rank of[RANKS_MOST] = {{.run = NULL}};
    artel__plan *plan;
    artel__group *group;
    uint64_t before = 0;
    ranks_open_bench(&b, seed);
    artel__plan_options options = {.batch_size = RANKS_ROWS,
                                   .shards = RANKS_SHARDS,
                                   .replicas = ranks,
                                   .isa = artel__context_isa(b.ctx),
                                   .staged = true};
    assert_int_equal(artel__plan_create(b.ctx, &b.graph, &options, &plan), ARTEL_OK);
    assert_int_equal(artel__group_create(b.ctx, ranks, RANKS_SHARDS, &group), ARTEL_OK);
    for (int i = 0; i < ranks; i++) open_rank(&b, plan, group, &of[i], i, ranks);
    for (int step = 0; step < STEPS; step++) {
        if (step == 1) before = artel__heap_calls(b.ctx);
        ranks_step(of, ranks);
    }
    assert_int_equal(artel__heap_calls(b.ctx), before);
    ranks_step_bench(&b, STEPS);
    for (int i = 0; i < ranks; i++) {
        assert_memory_equal(b.state->block, of[i].state->block, b.variables.bytes);
        artel__run_destroy(of[i].run);
        artel__state_destroy(of[i].state);
        artel__pool_destroy(of[i].pool);
    }
    bool panels = ranks_count_lines(b.ctx, plan, "sums in plain form") > 0;
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
