/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. After keras/src/losses/losses.py.
 *
 * An overlap over the whole batch is one number L = 1 - A / D of two sums over all rows. Its rows carry L, and the
 * gradient of row r is that of  B (b_r A / D^2 - a_r / D): the factors are folds, finished before the backward pass and
 * held constant in it, so that the mean over B rows has exactly the gradient of L.
 */
#include "nn/loss_overlap.h"

#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define EPSILON 1e-7

static artel__value_id times(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, ARTEL__BINARY_MUL, a, b);
}

static artel__value_id sum(artel__graph *graph, artel__value_id x, uint32_t axes)
{
    return axes ? artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, axes, false) : x;
}

/* The sum of a over all rows, or (`rows`) how many there are: GLOBAL [] of the type of a. */
static artel__value_id fold(artel__graph *graph, artel__value_id a, bool rows)
{
    if (graph->status < 0 || a < 0) return ARTEL__NO_VALUE;
    if (graph->value[a].dtype == ARTEL_DTYPE_FLOAT64) {
        artel__value_id all = artel__op_fold_sum(graph, rows ? artel__op_fill_like(graph, a, 1) : a);
        return artel__op_stop_gradient(graph, artel__op_all_reduce(graph, all));
    }
    artel_shape scalar = {.rank = 0};
    artel__value_id pair = artel__op_all_reduce(graph, artel__op_fold_weighted(graph, a, ARTEL__NO_VALUE));
    artel__value_id one = artel__op_slice(graph, artel__op_cast(graph, pair, ARTEL_DTYPE_FLOAT32), 0, rows, 1, 1);
    return artel__op_stop_gradient(graph, artel__op_reshape(graph, one, &scalar));
}

static artel__value_id whole_batch(artel__graph *graph, artel__value_id above, artel__value_id below)
{
    artel__value_id a = fold(graph, above, false), d = artel__op_affine(graph, fold(graph, below, false), 1, EPSILON);
    artel__value_id share = artel__op_binary(graph, ARTEL__BINARY_DIV, a, d), rows = fold(graph, above, true);
    artel__value_id loss = artel__op_affine(graph, share, -1, 1);
    artel__value_id pull = artel__op_binary(graph, ARTEL__BINARY_DIV, rows, d); /* B / D */
    artel__value_id pulled = times(graph, above, pull),
                    own = artel__op_binary(graph, ARTEL__BINARY_SUB, times(graph, times(graph, below, share), pull),
                                           pulled);
    artel__value_id nothing = artel__op_binary(graph, ARTEL__BINARY_SUB, own, artel__op_stop_gradient(graph, own));
    return artel__op_add(graph, nothing, loss);
}

artel__value_id artel__loss_overlap(artel__graph *graph, const artel__overlap *overlap, artel__value_id target,
                                    artel__value_id prediction)
{
    if (graph->status < 0 || target < 0 || prediction < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[prediction].shape;
    uint32_t axes = overlap->whole ? (1u << shape.rank) - 1u : overlap->axes;
    artel__value_id y = artel__op_reshape(graph, artel__op_cast(graph, target, graph->value[prediction].dtype), &shape),
                    p = prediction;
    artel__value_id both = sum(graph, times(graph, y, p), axes), above = both, below;
    if (overlap->tversky) {
        artel__value_id missed = sum(graph, times(graph, artel__op_affine(graph, p, -1, 1), y), axes);
        artel__value_id added = sum(graph, times(graph, p, artel__op_affine(graph, y, -1, 1)), axes);
        below = artel__op_add(graph, both, artel__op_affine(graph, missed, overlap->alpha, 0));
        below = artel__op_add(graph, below, artel__op_affine(graph, added, overlap->beta, 0));
    } else {
        above = artel__op_affine(graph, both, 2, 0);
        artel__value_id said = sum(graph, p, axes);
        below = artel__op_add(graph, sum(graph, y, axes), said);
    }
    if (overlap->whole) return whole_batch(graph, above, below);
    below = artel__op_affine(graph, below, 1, EPSILON);
    return artel__op_affine(graph, artel__op_binary(graph, ARTEL__BINARY_DIV, above, below), -1, 1);
}

artel__value_id artel__loss_generalised(artel__graph *graph, double q, artel__value_id target,
                                        artel__value_id prediction)
{
    if (graph->status < 0 || target < 0 || prediction < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[prediction].shape, places = shape;
    places.rank--;
    artel__value_id classes = artel__op_reshape(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), &places);
    artel__value_id chosen = artel__op_one_hot(graph, classes, shape.dim[shape.rank - 1]);
    chosen = artel__op_cast(graph, chosen, graph->value[prediction].dtype);
    artel__value_id p = sum(graph, times(graph, prediction, chosen), 1u << places.rank);
    artel__value_id raised = artel__op_unary_exact(graph, ARTEL__UNARY_POWER, (double[]){q, 0, 0}, p);
    return artel__op_affine(graph, artel__op_affine(graph, raised, -1, 1), 1 / q, 0);
}

artel__value_id artel__loss_even_weight(artel__graph *graph, artel__value_id loss, artel__value_id weight)
{
    if (graph->status < 0 || loss < 0 || weight < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[weight].shape.rank;
    artel_shape scalar = {.rank = 0};
    weight = artel__op_cast(graph, weight, graph->value[loss].dtype);
    if (rank > 0) weight = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, weight, (1u << rank) - 1u, false);
    artel__value_id mean =
        artel__op_binary(graph, ARTEL__BINARY_DIV, fold(graph, weight, false), fold(graph, weight, true));
    return times(graph, artel__op_fill_like(graph, loss, 1), artel__op_reshape(graph, mean, &scalar));
}
