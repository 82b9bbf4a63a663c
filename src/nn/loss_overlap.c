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
    artel__value_id pulled = artel__overlap_times(graph, above, pull),
                    own = artel__op_binary(graph, ARTEL__BINARY_SUB,
                                           artel__overlap_times(graph, artel__overlap_times(graph, below, share), pull),
                                           pulled);
    artel__value_id nothing = artel__op_binary(graph, ARTEL__BINARY_SUB, own, artel__op_stop_gradient(graph, own));
    return artel__op_add(graph, nothing, loss);
}

bool artel__overlap_begin(artel__graph *graph, const artel__loss_config *loss, const artel__ints *axes,
                          artel__value_id target, artel__value_id prediction, artel__overlap *out)
{
    if (graph->status < 0 || target < 0 || prediction < 0) return false;
    artel_shape shape = graph->value[prediction].shape;
    *out = (artel__overlap){.prediction = prediction, .whole = !axes->count};
    for (int i = 0; i < axes->count; i++) {
        int axis = artel__row_axis(axes->item[i], shape.rank);
        if (axis < 0) {
            graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, loss->name,
                                        "leave axis null, or name axes of the output, the batch (0) excepted",
                                        "the axis %lld is not supported", (long long)axes->item[i]);
            return false;
        }
        out->axes |= 1u << axis;
    }
    if (out->whole) out->axes = (1u << shape.rank) - 1u;
    out->target = artel__op_reshape(graph, artel__op_cast(graph, target, graph->value[prediction].dtype), &shape);
    return graph->status >= 0;
}

artel__value_id artel__overlap_sum(artel__graph *graph, const artel__overlap *overlap, artel__value_id x)
{
    return overlap->axes ? artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, overlap->axes, false) : x;
}

artel__value_id artel__overlap_end(artel__graph *graph, const artel__overlap *overlap, artel__value_id above,
                                   artel__value_id below)
{
    if (overlap->whole) return whole_batch(graph, above, below);
    below = artel__op_affine(graph, below, 1, EPSILON);
    return artel__op_affine(graph, artel__op_binary(graph, ARTEL__BINARY_DIV, above, below), -1, 1);
}

artel__value_id artel__loss_even_weight(artel__graph *graph, artel__value_id loss, artel__value_id weight)
{
    if (graph->status < 0 || loss < 0 || weight < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[weight].shape.rank;
    artel_shape scalar = {.rank = 0};
    weight = artel__op_cast(graph, weight, graph->value[loss].dtype);
    if (rank > 0) weight = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, weight, (1u << rank) - 1u, false);
    artel__value_id sum = fold(graph, weight, false), rows = fold(graph, weight, true);
    artel__value_id mean = artel__op_binary(graph, ARTEL__BINARY_DIV, sum, rows);
    artel__value_id ones = artel__op_fill_like(graph, loss, 1);
    return artel__overlap_times(graph, ones, artel__op_reshape(graph, mean, &scalar));
}
