/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations on factors of small matrices: QR, eigenvalues of symmetric matrices, singular values, and what
 * is put together from these. See layer_ops.h and op/decompose.h. Refused by name: what is complex (Eig), mixes rows
 * (Lstsq), or what Keras on TensorFlow cannot compute of more than one matrix (LuFactor).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/decompose.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* Matrices in the last two axes of the first argument. */
static artel_status read_matrix(const artel__layer *layer, const artel__call *call, bool square, artel__value_id *x)
{
    ARTEL_TRY(artel__raw_float(layer, call, x));
    ARTEL_TRY(call->graph->status);
    const artel_shape *shape = &call->graph->value[*x].shape;
    if (shape->rank < 2) return artel__raw_refuse(layer, "anything but matrices behind the batch");
    if (square && shape->dim[shape->rank - 1] != shape->dim[shape->rank - 2])
        return artel__raw_refuse(layer, "anything but square matrices behind the batch");
    return ARTEL_OK;
}

static artel_status give(artel__call *call, artel__value_id first, int results)
{
    for (int i = 0; i < results && call->graph->status >= 0; i++)
        call->out[i] = (artel__tensor){i ? artel__graph_output(call->graph, first, i) : first, ARTEL__NO_VALUE};
    call->outputs = results;
    return call->graph->status;
}

artel_status artel__raw_qr(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    const char *mode = artel__raw_name(layer, call, "mode", "reduced");
    bool whole = mode && strcmp(mode, "complete") == 0;
    ARTEL_TRY(read_matrix(layer, call, false, &x));
    if (!whole && (!mode || strcmp(mode, "reduced") != 0))
        return artel__raw_refuse(layer, "a mode but reduced and complete");
    return give(call, artel__op_decompose(call->graph, ARTEL__DECOMPOSITION_QR, whole, x), 2);
}

artel_status artel__raw_eigh(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(read_matrix(layer, call, true, &x));
    return give(call, artel__op_decompose(call->graph, ARTEL__DECOMPOSITION_SYMMETRIC, false, x), 2);
}

artel__value_id artel__raw_singular_values(artel__graph *graph, artel__value_id x)
{
    return artel__graph_output(graph, artel__op_decompose(graph, ARTEL__DECOMPOSITION_SINGULAR, false, x), 1);
}

static bool is_false(const artel__layer *layer, const artel__call *call, const char *key)
{
    return json_is_false(artel__raw_setting(layer, call, key, 0));
}

artel_status artel__raw_svd(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(read_matrix(layer, call, false, &x));
    if (is_false(layer, call, "compute_uv")) return give(call, artel__raw_singular_values(graph, x), 1);
    return give(
        call, artel__op_decompose(graph, ARTEL__DECOMPOSITION_SINGULAR, !is_false(layer, call, "full_matrices"), x), 3);
}

/* The largest singular value, kept as an axis. */
static artel__value_id largest(artel__graph *graph, artel__value_id s)
{
    if (graph->status < 0 || s < 0) return ARTEL__NO_VALUE;
    return artel__op_reduce(graph, ARTEL__REDUCE_MAX, s, 1u << (graph->value[s].shape.rank - 1), true);
}

/* A number, or the fallback where there is none or null; false for anything else. */
static bool read_number(const artel__layer *layer, const artel__call *call, const char *key, double fallback,
                        double *out)
{
    json_t *given = artel__raw_setting(layer, call, key, 1);
    *out = fallback;
    return !given || artel__json_number(given, out);
}

/* That of the type that is computed in. */
static double epsilon_of(const artel__graph *graph)
{
    return graph->real == ARTEL_DTYPE_FLOAT64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

static double longer_side(const artel__graph *graph, artel__value_id x)
{
    const artel_shape *shape = &graph->value[x].shape;
    return (double)(shape->dim[shape->rank - 1] > shape->dim[shape->rank - 2] ? shape->dim[shape->rank - 1]
                                                                              : shape->dim[shape->rank - 2]);
}

/* How many singular values lie above `tol`, without which TensorFlow takes epsilon times the longer side times the
 * largest. */
artel_status artel__raw_matrix_rank(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    double least;
    ARTEL_TRY(read_matrix(layer, call, false, &x));
    if (!read_number(layer, call, "tol", NAN, &least)) return artel__raw_refuse(layer, "a tol that is no number");
    artel__value_id s = artel__raw_singular_values(graph, x), above_it;
    if (isnan(least)) {
        artel__value_id most = largest(graph, s), part = times(graph, most, epsilon_of(graph) * longer_side(graph, x));
        above_it = artel__op_compare(graph, ARTEL__COMPARE_GREATER, s, part);
    } else {
        above_it = above(graph, s, least);
    }
    ARTEL_TRY(graph->status);
    above_it = artel__as_float(graph, above_it);
    artel__value_id count =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, above_it, 1u << (graph->value[s].shape.rank - 1), false);
    artel__call_return(call, artel__op_cast(graph, count, ARTEL_DTYPE_INT32));
    return graph->status;
}

/* v diag(1 / s) u^T, where singular values up to rcond times the largest count as infinite. */
artel_status artel__raw_pinv(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    double part;
    ARTEL_TRY(read_matrix(layer, call, false, &x));
    if (!read_number(layer, call, "rcond", 10 * longer_side(graph, x) * epsilon_of(graph), &part))
        return artel__raw_refuse(layer, "an rcond that is no number");
    artel__value_id u = artel__op_decompose(graph, ARTEL__DECOMPOSITION_SINGULAR, false, x);
    ARTEL_TRY(graph->status);
    artel__value_id s = artel__graph_output(graph, u, 1), v = artel__graph_output(graph, u, 2);
    artel__value_id least = times(graph, largest(graph, s), part),
                    counts = artel__op_compare(graph, ARTEL__COMPARE_GREATER, s, least);
    artel__value_id infinite = number(graph, INFINITY);
    s = where(graph, counts, s, infinite);
    ARTEL_TRY(graph->status);
    int axes[ARTEL_MAX_RANK], rank = graph->value[v].shape.rank;
    for (int i = 0; i < rank; i++) axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    artel_shape beside = graph->value[s].shape;
    beside.dim[beside.rank] = beside.dim[beside.rank - 1];
    beside.dim[beside.rank - 1] = 1;
    beside.rank++;
    v = artel__op_transpose(graph, v, axes);
    s = artel__op_reshape(graph, s, &beside);
    v = binary(graph, ARTEL__BINARY_DIV, v, s);
    artel__call_return(call, artel__row_products(graph, v, u));
    return graph->status;
}

/* -- what no model can have -- */

artel_status artel__raw_eig(artel__layer *layer, artel__call *call)
{
    (void)call;
    return artel__raw_refuse(layer, "its complex results; eigh is there for symmetric matrices");
}

artel_status artel__raw_lstsq(artel__layer *layer, artel__call *call)
{
    (void)call;
    return artel__raw_refuse(layer, "the batch as an axis of its matrices: it mixes rows; pinv keeps them apart");
}

artel_status artel__raw_lu_factor(artel__layer *layer, artel__call *call)
{
    (void)call;
    return artel__raw_refuse(layer, "a batch: Keras on TensorFlow cannot compute it of more than one matrix either");
}
