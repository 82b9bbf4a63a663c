/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the gradients of losses.
 *
 * A gradient node is dp = u l'(p), u the gradient of each position's loss. With g what comes back to it: du = sum over
 * the last axis of g l'(p), and d p = u H g, H being the second derivatives of the loss: a diagonal where it is a mean
 * of terms, and diag(s) - s s' for crossentropy of logits, s their softmax.
 */
#include "op/loss.h"
#include "op/op.h"
#include "op/second.h"
#include "op/shape_ops.h"

static artel__value_id mul(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, ARTEL__BINARY_MUL, a, b);
}

/* Times the number of terms: (p - t)^2 -> 2, ... ; ARTEL__NO_VALUE: 0. */
static bool curve_of(artel__graph *graph, const artel__loss_input *l, artel__value_id target, artel__value_id p,
                     artel__value_id *out)
{
    artel__value_id t = artel__op_cast(graph, target, ARTEL_DTYPE_FLOAT32),
                    error = artel__op_binary(graph, ARTEL__BINARY_SUB, p, t);
    *out = ARTEL__NO_VALUE;
    switch (l->op) {
    case ARTEL__LOSS_MEAN_ABSOLUTE_ERROR: return true;
    case ARTEL__LOSS_MEAN_SQUARED_ERROR: *out = artel__op_fill_like(graph, p, 2); return true;
    case ARTEL__LOSS_HUBER: {
        artel__value_id near = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS_EQUAL,
                                                        artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, error), l->a);
        *out = artel__op_where(graph, near, artel__op_fill_like(graph, p, 1), ARTEL__NO_VALUE);
        return true;
    }
    case ARTEL__LOSS_LOG_COSH: {
        artel__value_id slope = artel__op_unary(graph, ARTEL__UNARY_TANH, NULL, error);
        *out = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, slope), -1, 1);
        return true;
    }
    case ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS: {
        artel__value_id s = artel__op_unary(graph, ARTEL__UNARY_SIGMOID, NULL, p);
        *out = mul(graph, s, artel__op_affine(graph, s, -1, 1));
        return true;
    }
    default: return false;
    }
}

/* A position's number for each of its elements. */
static artel__value_id spread(artel__graph *graph, artel__value_id position, artel__value_id like)
{
    artel_shape shape = graph->value[like].shape;
    shape.dim[shape.rank - 1] = 1;
    return artel__op_reshape(graph, position, &shape);
}

static artel__value_id across(artel__graph *graph, artel__value_id prediction, artel__value_id back)
{
    int last = graph->value[prediction].shape.rank - 1;
    artel__value_id s = artel__op_softmax(graph, ARTEL__SOFTMAX, prediction, last);
    artel__value_id mean = artel__op_reduce(graph, ARTEL__REDUCE_SUM, mul(graph, back, s), 1u << last, true);
    return mul(graph, s, artel__op_binary(graph, ARTEL__BINARY_SUB, back, mean));
}

artel_status artel__second_loss(artel__gradient *g)
{
    const artel__loss_input *l = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id back = g->out_gradient[0], upstream = g->in[0], prediction = g->in[2], bent;
    int last = graph->value[prediction].shape.rank - 1;
    int64_t terms = graph->value[prediction].shape.dim[last];
    if (g->needed[0]) {
        artel__value_id inputs[] = {artel__op_fill_like(graph, upstream, 1), g->in[1], prediction};
        artel__value_id slope = artel__graph_add(graph, graph->node[g->node].op, l, inputs, 3);
        g->in_gradient[0] = artel__op_reduce(graph, ARTEL__REDUCE_SUM, mul(graph, back, slope), 1u << last, false);
    }
    if (!g->needed[2] || graph->status < 0) return graph->status;
    if (l->op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS ||
        (l->op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS && !l->has_ignored_class)) {
        bent = across(graph, prediction, back);
    } else {
        if (!curve_of(graph, l, g->in[1], prediction, &bent)) return artel__second_refuse(g, "this loss");
        if (bent < 0) return graph->status;
        bent = artel__op_affine(graph, mul(graph, back, bent), 1 / (float)terms, 0);
    }
    g->in_gradient[2] = mul(graph, bent, spread(graph, upstream, prediction));
    return graph->status;
}
