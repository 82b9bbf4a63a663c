/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed graph cut at its collectives into programs, for devices that are handed whole programs.
 *
 * Stage s holds what depends on s collectives, one after another; between two stages stand the collectives that the
 * later one needs. A stage has two programs: what is the same on all replicas, once for a device, and behind it what
 * rows need, once for each shard. Everything of the APPLY phase is one program behind the last stage, when all agree
 * that the step counts, but for what is kept and reads nothing that it writes: that is known before. So a stage is as
 * long as can be, whatever the order in which nodes were added; within a program they keep that order.
 *
 * What costs nothing to wait for, nodes without operands and activations that are computed again, goes into the stage
 * that first reads it.
 */
#ifndef ARTEL_GRAPH_CUT_H
#define ARTEL_GRAPH_CUT_H

#include "graph/op_def.h"

/* Nodes in order, the values that come from outside (fed, variables, other programs, collectives), and those that
 * somebody outside needs: other programs, collectives, whoever reads kept values. Both ascend. */
typedef struct artel__cut_program {
    int32_t *node;
    artel__value_id *in, *out;
    int nodes, ins, outs;
} artel__cut_program;

typedef struct artel__cut_stage {
    artel__cut_program common, rows; /* in this order */
    int32_t *collective;             /* behind them */
    int collectives;
} artel__cut_stage;

typedef struct artel__cut {
    artel__cut_stage *stage;
    int stages;
    artel__cut_program apply;
    artel__cut_program step; /* of a graph that is joined and has an APPLY phase: all of it, that phase last */
} artel__cut;

/* Everything lies in the arena. Errors: NO_MEMORY. */
artel_status artel__graph_cut(const artel__graph *graph, artel__arena *arena, artel__cut *out);
/* Not cut: for one shard that is the whole batch, of which a collective hands on what it is given. One stage, and all
 * of it is the program of rows; APPLY is apart, and then there is a program of both. */
artel_status artel__graph_join(const artel__graph *graph, artel__arena *arena, artel__cut *out);
/* Stable text: a line a program with its nodes and values, a line a collective. */
void artel__cut_dump(const artel__graph *graph, const artel__cut *cut, artel__text *out);

#endif
