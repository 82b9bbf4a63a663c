/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the gradients of losses.
 *
 * A gradient node is dp = u l'(p), u the gradient of each position's loss. With g what comes back to it: du = sum over
 * the last axis of g l'(p), and d p = u H g, H being the second derivatives of the loss: a diagonal where it is a mean
 * of terms, and diag(s) - s s' for crossentropy of logits, s their softmax. A loss whose
 * second derivative is not written down is written anew (second_anew.c).
 */
#include "op/loss.h"

#include "kernel/loss_formula.h"
#include "op/formula.h"
#include "op/loss_float64.h"
#include "op/op.h"
#include "op/second.h"
#include "op/shape_ops.h"

/* What the second derivative of a term is made of: error is p - t. */
typedef struct curve {
    artel__graph *graph;
    const artel__loss_input *loss;
    artel__value_id p, error;
} curve;

/* curve_of_<name>: times the number of terms: (p - t)^2 -> 2, ... ; ARTEL__NO_VALUE: 0. */
#define LOSS_CURVE
#include "kernel/losses.list"
#undef LOSS_CURVE

typedef artel__value_id curve_fn(const curve *c);

/* NULL: not written down. */
static curve_fn *curve_of(artel__loss op)
{
    switch (op) {
#define CURVED_LOSS(NAME, name) \
    case ARTEL__LOSS_##NAME:    \
        return curve_of_##name;
#include "kernel/losses.list"
#undef CURVED_LOSS
    default: return NULL;
    }
}

static artel__value_id bend(curve_fn *write, artel__graph *graph, const artel__loss_input *l, artel__value_id target,
                            artel__value_id p)
{
    artel__value_id t = artel__op_cast(graph, target, ARTEL_DTYPE_FLOAT32);
    const curve c = {graph, l, p, difference(graph, p, t)};
    return write(&c);
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
    artel__value_id mean = artel__op_reduce(graph, ARTEL__REDUCE_SUM, product(graph, back, s), 1u << last, true);
    return product(graph, s, difference(graph, back, mean));
}

/* Written anew in float64, of operations. */
static artel_status second_anew(artel__gradient *g)
{
    static const int input[] = {2, 0};
    const artel__loss_input *l = g->attributes;
    artel__graph *graph = g->graph;
    artel__loss_float64 wide = {.op = l->op,
                                .name = "loss",
                                .a = (double)l->a,
                                .b = (double)l->b,
                                .c = (double)l->c,
                                .smooths = loss_form_of(l->op).smoothing && l->a != 0,
                                .balanced = l->b >= 0,
                                .has_ignored = l->has_ignored_class,
                                .ignored = l->ignored_class};
    artel__value_id upstream = artel__second_leaf(graph, g->in[0]), p = artel__second_leaf(graph, g->in[2]);
    artel_dtype target_dtype = artel__loss_is_sparse(l->op) ? ARTEL_DTYPE_INT32 : ARTEL_DTYPE_FLOAT64;
    artel__value_id target = artel__op_cast(graph, artel__op_stop_gradient(graph, g->in[1]), target_dtype);
    artel__value_id value = artel__loss_in_float64(graph, &wide, target, artel__op_cast(graph, p, ARTEL_DTYPE_FLOAT64));
    ARTEL_TRY(graph->status);
    value = artel__op_reshape(graph, value, &graph->value[upstream].shape);
    return artel__second_written(g, value, artel__op_cast(graph, upstream, ARTEL_DTYPE_FLOAT64),
                                 (const artel__value_id[]){p, upstream}, input);
}

artel_status artel__second_loss(artel__gradient *g)
{
    const artel__loss_input *l = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id back = g->out_gradient[0], upstream = g->in[0], prediction = g->in[2], bent;
    bool softmax = loss_form_of(l->op).softmax && !l->has_ignored_class;
    curve_fn *write = curve_of(l->op);
    if (!softmax && !write) return second_anew(g);
    int last = graph->value[prediction].shape.rank - 1;
    int64_t terms = graph->value[prediction].shape.dim[last];
    if (g->needed[0]) {
        artel__value_id inputs[] = {artel__op_fill_like(graph, upstream, 1), g->in[1], prediction};
        artel__value_id slope = artel__graph_add(graph, graph->node[g->node].op, l, inputs, 3);
        g->in_gradient[0] = artel__op_reduce(graph, ARTEL__REDUCE_SUM, product(graph, back, slope), 1u << last, false);
    }
    if (!g->needed[2] || graph->status < 0) return graph->status;
    if (softmax) {
        bent = across(graph, prediction, back);
    } else {
        bent = bend(write, graph, l, g->in[1], prediction);
        if (bent < 0) return graph->status;
        bent = artel__op_affine(graph, product(graph, back, bent), 1 / (float)terms, 0);
    }
    g->in_gradient[2] = product(graph, bent, spread(graph, upstream, prediction));
    return graph->status;
}
