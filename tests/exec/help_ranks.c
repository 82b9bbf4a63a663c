/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/help_ranks.h"

#include <string.h>

void ranks_open_bench(graph_bench *b, uint32_t seed)
{
    graph_bench_begin(b, RANKS_ROWS);
    random_graph_build(&b->graph, &b->variables, seed);
    assert_int_equal(artel__graph_seal(&b->graph), ARTEL_OK);
    graph_bench_plan(b);
    graph_bench_finish(b, 1);
}

void ranks_step_bench(graph_bench *b, int steps)
{
    for (int step = 0; step < steps; step++) {
        assert_int_equal(artel__run_compute(b->run, &b->step, b->inputs), ARTEL_OK);
        artel__run_apply(b->run, &b->step);
        b->step.iteration++;
        b->step.batch++;
    }
}

void ranks_open(const graph_bench *b, artel__group *group, rank *r, int index, int ranks)
{
    int32_t first = artel__replica_first_shard(RANKS_SHARDS, ranks, index),
            end = artel__replica_first_shard(RANKS_SHARDS, ranks, index + 1);
    r->comm = artel__group_comm(group, index);
    artel__fold_plan_make(&r->fold, RANKS_SHARDS, first, end - first, RANKS_ROWS, r->start);
    r->input = b->x + r->fold.row * RANDOM_GRAPH_WIDTH;
    r->step = (artel__step){.fold = &r->fold, .seed = 5, .learning_rate = 0.01, .training = true};
    assert_int_equal(artel__pool_create(b->ctx, 1 + index % 2, &r->pool), ARTEL_OK);
}

static void *step_main(void *user)
{
    rank *r = user;
    r->status = artel__run_compute(r->run, &r->step, &r->input);
    if (r->status == ARTEL_OK) r->status = r->comm->ops->barrier(r->comm->self, true);
    if (r->status == ARTEL_OK) artel__run_apply(r->run, &r->step);
    return NULL;
}

void ranks_step(rank *of, int ranks)
{
    for (int i = 0; i < ranks; i++) assert_int_equal(pthread_create(&of[i].thread, NULL, step_main, &of[i]), 0);
    for (int i = 0; i < ranks; i++) {
        pthread_join(of[i].thread, NULL);
        assert_int_equal(of[i].status, ARTEL_OK);
        of[i].step.iteration++;
        of[i].step.batch++;
    }
}

int ranks_count_lines(artel_context *ctx, const artel__plan *plan, const char *with)
{
    artel__text text;
    int count = 0;
    artel__text_init(&text, ctx);
    artel__plan_dump(plan, &text);
    for (const char *at = text.data; at && (at = strstr(at, with)); at++) count++;
    artel__text_fini(&text);
    return count;
}
