/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: reductions, folds and what is shared by the rows of a batch. See op_cases.h. */
#include "support/op_cases.h"
#include "op/batch_rows.h"
#include "op/elementwise.h"
#include "op/optimize.h"
#include "op/reduce.h"

static artel__value_id reduce(op_graph *g)
{
    artel__reduction f = (artel__reduction)(g->parameter / 4);
    bool picks = f == ARTEL__REDUCE_MAX || f == ARTEL__REDUCE_MIN;
    static const uint32_t axes[] = {1, 4, 6, 7};
    return artel__op_reduce(&g->graph, f, op_row(g, picks ? OP_APART : OP_SIGNED, SHAPE(3, 2, 4)),
                            axes[g->parameter % 4], g->parameter % 2);
}

static artel__value_id softmax(op_graph *g)
{
    artel__softmax_op f = (artel__softmax_op)(g->parameter / 3);
    op_numbers numbers =
        f == ARTEL__SPARSEMAX ? OP_FAR_APART : OP_SIGNED; /* Keras' sparsemax jumps where its support changes */
    return artel__op_softmax(&g->graph, f, op_row(g, numbers, SHAPE(3, 4, 5)), g->parameter % 3);
}

static artel__value_id glu(op_graph *g)
{
    return artel__op_glu(&g->graph, op_row(g, OP_SIGNED, SHAPE(4, 6)), g->parameter);
}

static artel__value_id ranks(op_graph *g)
{
    artel__value_id x = op_row(g, OP_APART, SHAPE(3, 9)), target = op_indices(g, 9, SHAPE(3));
    artel__value_id first = artel__op_cast(&g->graph, artel__op_argmax(&g->graph, x), ARTEL_DTYPE_FLOAT32);
    return artel__op_add(&g->graph, first, artel__op_in_top_k(&g->graph, x, target, 3));
}

static artel__value_id folds(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 5)), w = op_row(g, OP_POSITIVE, SCALAR);
    if (g->parameter == 0) return artel__op_all_reduce(&g->graph, artel__op_fold_sum(&g->graph, x));
    if (g->parameter == 1) return artel__op_all_reduce(&g->graph, artel__op_fold_weighted(&g->graph, x, w));
    return artel__op_all_reduce(&g->graph, artel__op_fold_columns64(&g->graph, x));
}

/* Rows that begin with what those of the batch before have left, which is put back behind the step. */
static artel__value_id row_state(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3)), kept = op_weight(g, OP_SIGNED, 0, SHAPE(g->rows, 3));
    artel__value_id y = artel__op_binary(graph, ARTEL__BINARY_MUL, x, artel__op_take_rows(graph, kept));
    artel__value_id all = artel__op_all_reduce(graph, artel__op_place_rows(graph, y, g->rows));
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, kept, all);
    graph->phase = ARTEL__PHASE_FORWARD;
    return y;
}

/* x times the sum of x over the rows of its group of two shards. */
static artel__value_id batch_groups(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(4, 1)), member = artel__op_batch_groups(graph, 4);
    artel__value_id apart = artel__op_binary(graph, ARTEL__BINARY_MUL, x, member);
    artel__value_id sums =
        artel__op_batch_sum(graph, artel__op_all_reduce(graph, artel__op_fold_sum(graph, apart)), apart);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, x, artel__op_binary(graph, ARTEL__BINARY_MUL, sums, member));
}

/* x times the mean of x over all rows. */
static artel__value_id batch_mean(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(4)), sum = artel__op_all_reduce(graph, artel__op_fold_sum(graph, x));
    artel__value_id mean = artel__op_batch_mean(graph, artel__op_affine(graph, sum, 1.0f / (float)g->rows, 0), x);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, x, mean);
}

/* x times the greatest of x over all rows. */
static artel__value_id batch_max(op_graph *g)
{
    artel__value_id x = op_row(g, OP_APART, SHAPE(300));
    return artel__op_binary(&g->graph, ARTEL__BINARY_MUL, x, artel__op_batch_max(&g->graph, x));
}

const op_family op_cases_reduce[] = {
    {{.name = "reduce", .build = reduce}, 20},
    {{.name = "softmax", .build = softmax}, 9},
    {{.name = "glu", .build = glu}, 2},
    {{.name = "ranks", .build = ranks, .bits_only = true}, 1},
    {{.name = "folds", .build = folds, .bits_only = true}, 3},
    {{.name = "row state", .build = row_state}, 1},
    {{.name = "batch groups", .build = batch_groups}, 1},
    {{.name = "batch mean", .build = batch_mean}, 1},
    {{.name = "batch max", .build = batch_max}, 1},
    {.count = 0},
};
