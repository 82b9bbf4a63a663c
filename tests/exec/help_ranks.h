/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of one graph in threads of one process: a bench that holds a random graph, a rank for each replica's run,
 * and steps that all take together. */
#ifndef TESTS_EXEC_HELP_RANKS_H
#define TESTS_EXEC_HELP_RANKS_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comm/group.h"
#include "exec/cpu/plan.h"
#include "support/graph_bench.h"

enum {
    RANKS_ROWS = 21,
    RANKS_SHARDS = 8,
    RANKS_MOST = 8
};

typedef struct rank {
    artel__run *run;
    artel__state *state; /* NULL: the bench's, which all have in common */
    artel__pool *pool;
    const artel__comm *comm;
    artel__fold_plan fold;
    int64_t start[RANKS_SHARDS + 1];
    artel__step step;
    const void *input;
    artel_status status;
    pthread_t thread;
} rank;

/* The random graph of that seed, sealed and planned for one replica. */
void ranks_open_bench(graph_bench *b, uint32_t seed);
/* Its steps, of one replica. */
void ranks_step_bench(graph_bench *b, int steps);
/* What a rank computes, and a pool for it, of one or two threads in turn; its run is the caller's to make. */
void ranks_open(const graph_bench *b, artel__group *group, rank *r, int index, int ranks);
/* Of all ranks, each in a thread of its own. */
void ranks_step(rank *of, int ranks);
/* How often the text of a plan has these words. */
int ranks_count_lines(artel_context *ctx, const artel__plan *plan, const char *with);

#endif
