/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas with common variables: random graphs end in the bits of one replica, although each takes only a share of
 * every step, and sums that only the optimizer reads are not exchanged. */
#include "exec/help_ranks.h"

#include <string.h>

#include "exec/state_impl.h"

enum {
    STEPS = 3
};

static void open_ranks(graph_bench *b, artel__group *group, rank *of, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        ranks_open(b, group, &of[i], i, ranks);
        assert_int_equal(artel__run_create(b->plan, b->state, of[i].pool, of[i].comm, &of[i].run), ARTEL_OK);
    }
    for (int i = 0; i < ranks; i++) {
        assert_int_equal(artel__run_join(of[i].run, ranks), ARTEL_OK);
        for (int k = 0; k < ranks; k++) artel__run_meet(of[i].run, k, of[k].run);
    }
}

/* The plan of `b` anew for several replicas, and its variables after a few steps of theirs. */
static void run_common(graph_bench *b, int ranks)
{
    artel__plan_options options = {.batch_size = RANKS_ROWS,
                                   .shards = RANKS_SHARDS,
                                   .replicas = ranks,
                                   .isa = artel__context_isa(b->ctx),
                                   .common = true};
    rank of[RANKS_MOST] = {{.run = NULL}};
    artel__group *group;
    artel__run_destroy(b->run);
    b->run = NULL;
    artel__plan_destroy(b->plan);
    assert_int_equal(artel__plan_create(b->ctx, &b->graph, &options, &b->plan), ARTEL_OK);
    assert_int_equal(artel__group_create(b->ctx, ranks, RANKS_SHARDS, &group), ARTEL_OK);
    open_ranks(b, group, of, ranks);
    for (int step = 0; step < STEPS; step++) ranks_step(of, ranks);
    for (int i = 0; i < ranks; i++) artel__run_destroy(of[i].run);
    for (int i = 0; i < ranks; i++) artel__pool_destroy(of[i].pool);
    artel__group_destroy(group);
}

static void same_bits_as_one(void **state)
{
    (void)state;
    int divided = 0, lazy = 0, posted = 0;
    for (uint32_t seed = 1; seed <= 24; seed++) {
        graph_bench one, many;
        ranks_open_bench(&one, seed);
        ranks_open_bench(&many, seed);
        ranks_step_bench(&one, STEPS);
        run_common(&many, (int)(2 + seed % 7));
        assert_memory_equal(one.state->block, many.state->block, one.variables.bytes);
        divided += ranks_count_lines(many.ctx, many.plan, "shared out");
        lazy += ranks_count_lines(many.ctx, many.plan, "added up by its reader");
        posted += ranks_count_lines(many.ctx, many.plan, " post all-reduce");
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
