/* SPDX-License-Identifier: Apache-2.0 */
/* Recomputation: values of the forward pass that only the backward pass still needs are dropped, and the operations
 * that made them run a second time where they are needed, from the values that are kept.
 *
 * A pass over a whole training graph, before it is sealed. It adds copies of forward nodes (artel__node.again) in front
 * of their first reader in the backward pass and changes no other node, so every bit stays: a copy has the kernel,
 * operands and attributes of its original, the counter of its random numbers among them. Never repeated are folds,
 * collectives, what writes a variable, what outlives the step or is read while variables change: statistics of a batch
 * are made once.
 *
 * What is dropped is chosen by the sizes and costs of this graph: see recompute_choose.c. The choice is a function of
 * the graph and the options alone, hence the same in every process.
 */
#ifndef ARTEL_GRAPH_RECOMPUTE_H
#define ARTEL_GRAPH_RECOMPUTE_H

#include "graph/graph.h"

typedef struct artel__recompute_options {
    int64_t rows;      /* of a step: what a ROW value weighs */
    double extra_time; /* the most that may be added, as a share of the estimated time of a step */
} artel__recompute_options;

/* Why a buffer stays in memory, or that it does not. */
typedef enum artel__retention {
    ARTEL__RETENTION_DROPPED,
    ARTEL__RETENTION_CHECKPOINT,   /* kept by choice: the rest is computed from it, or it would cost too much */
    ARTEL__RETENTION_SMALL,        /* not worth the operations; not reported */
    ARTEL__RETENTION_RESULT,       /* outlives the step, or variables are changed with it */
    ARTEL__RETENTION_NOT_REPEATED, /* made by a collective, or written into piece by piece in the backward pass */
} artel__retention;

typedef struct artel__recompute_item {
    artel__value_id value; /* the first of those that share the memory */
    artel__retention retention;
    double bytes;
} artel__recompute_item;

/* What the pass did. Bytes are sums of values alive at once, as one replica with all rows holds them, parameters left
 * out. */
typedef struct artel__recompute_report {
    int nodes;                      /* forward nodes that run again */
    int forward_nodes;              /* all there are; views are counted in neither */
    double peak_before, peak_after; /* bytes */
    double extra_time;              /* estimated share of a step */
    const artel__recompute_item
        *items; /* what the backward pass needs of the forward pass, small values left out, in the order it is made */
    int count;
} artel__recompute_report;

/* Unused nodes are removed first. Leaves the graph as it is when nothing can be gained. */
artel_status artel__graph_recompute(artel__graph *graph, const artel__recompute_options *options,
                                    artel__recompute_report *report);

/* Stable text: what is repeated, what that saves, and the fate of each value. */
void artel__recompute_dump(const artel__graph *graph, const artel__recompute_report *report, artel__text *out);

#endif
