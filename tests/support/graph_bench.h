/* SPDX-License-Identifier: Apache-2.0 */
/* A training graph and what runs it: one replica of eight shards, variables and inputs with values. */
#ifndef ARTEL_TESTS_SUPPORT_GRAPH_BENCH_H
#define ARTEL_TESTS_SUPPORT_GRAPH_BENCH_H

#include "exec/cpu/plan.h"
#include "support/random_graph.h"

enum {
    GRAPH_BENCH_ROWS = 60 /* at most */
};

typedef struct graph_bench {
    artel_context *ctx;
    artel__arena arena;
    artel__variables variables;
    artel__graph graph;
    artel__plan *plan;
    artel__state *state;
    artel__pool *pool;
    artel__run *run;
    artel__fold_plan fold;
    int64_t rows, start[9];
    artel__step step;
    float x[GRAPH_BENCH_ROWS * RANDOM_GRAPH_WIDTH];
    const void *inputs[1];
} graph_bench;

/* An empty graph, for the test to fill and seal. */
void graph_bench_begin(graph_bench *b, int64_t rows);
/* The plan, and then, in the plan as the test may have changed it, state and run. */
void graph_bench_plan(graph_bench *b);
void graph_bench_finish(graph_bench *b, int threads);
void graph_bench_close(graph_bench *b);

#endif
