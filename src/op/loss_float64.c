/* SPDX-License-Identifier: Apache-2.0 */
/* The losses of kernel/loss.h in float64, where operations take the place of its kernels: the same formulas
 * (LOSS_OPERATIONS of losses.list), after keras/src/losses/losses.py. A class outside the axis is a fault of the step,
 * as it is there.
 */
#include "op/loss_float64.h"

#include "kernel/loss_formula.h"
#include "op/formula.h"
#include "op/gather.h"
#include "op/reduce.h"

#define EPSILON 1e-7 /* of keras.config */

/* What a loss is made of: both operands have the same shape, but for classes by number. */
typedef struct operands {
    artel__graph *graph;
    const artel__loss_float64 *loss;
    artel__value_id t, p;
    int last; /* the axis that goes */
    double classes;
} operands;

static artel__value_id logarithm(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_LOG, x);
}

static artel__value_id magnitude(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_ABS, x);
}

/* 1 - x */
static artel__value_id rest_of(artel__graph *graph, artel__value_id x)
{
    return artel__op_affine(graph, x, -1, 1);
}

static artel__value_id at_least(artel__graph *graph, artel__value_id x, double least)
{
    return binary(graph, ARTEL__BINARY_MAX, x, number(graph, least));
}

static artel__value_id probability(artel__graph *graph, artel__value_id x)
{
    return clip(graph, x, EPSILON, 1 - EPSILON);
}

static artel__value_id power_of(artel__graph *graph, artel__value_id x, double power)
{
    return artel__op_unary_exact(graph, ARTEL__UNARY_POWER, (double[]){power, 0, 0}, x);
}

static artel__value_id sum(const operands *o, artel__value_id x, bool keep)
{
    return artel__op_reduce(o->graph, ARTEL__REDUCE_SUM, x, 1u << o->last, keep);
}

/* `share`: what a class gets of what smoothing takes away. */
static artel__value_id smoothed(const operands *o, double share)
{
    double taken = o->loss->smooths ? o->loss->a : 0;
    return taken > 0 ? artel__op_affine(o->graph, o->t, 1 - taken, taken * share) : o->t;
}

static artel__value_id two_classes(artel__graph *graph, artel__value_id t, artel__value_id p)
{
    artel__value_id c = probability(graph, p), hit = product(graph, t, logarithm(graph, c));
    artel__value_id unsure = logarithm(graph, rest_of(graph, c)), miss = product(graph, rest_of(graph, t), unsure);
    return negative(graph, artel__op_add(graph, hit, miss));
}

static artel__value_id margin(const operands *o)
{
    return at_least(o->graph, rest_of(o->graph, product(o->graph, o->t, o->p)), 0);
}

/* Of probabilities: divided by their sum, and clipped. */
static artel__value_id share_of(const operands *o)
{
    return probability(o->graph, binary(o->graph, ARTEL__BINARY_DIV, o->p, sum(o, o->p, true)));
}

#define LOSS_OPERATIONS
#include "kernel/losses.list"
#undef LOSS_OPERATIONS

/* The mean or the sum of the terms of elements. */
static artel__value_id joined(const operands *o, artel__value_id terms)
{
    bool sums = loss_form_of(o->loss->op).sums;
    return artel__op_reduce(o->graph, sums ? ARTEL__REDUCE_SUM : ARTEL__REDUCE_MEAN, terms, 1u << o->last, false);
}

static artel__value_id value_of(const operands *o)
{
    artel__value_id value = ARTEL__NO_VALUE;
    switch (o->loss->op) {
#define ELEMENT_LOSS(NAME, name, ...)         \
    case ARTEL__LOSS_##NAME:                  \
        value = joined(o, float64_##name(o)); \
        break;
#define ROW_LOSS(NAME, name, ...)  \
    case ARTEL__LOSS_##NAME:       \
        value = float64_##name(o); \
        break;
#include "kernel/losses.list"
#undef ELEMENT_LOSS
#undef ROW_LOSS
    case ARTEL__LOSS_COUNT: break;
    }
    return value;
}

artel__value_id artel__loss_in_float64(artel__graph *graph, const artel__loss_float64 *loss, artel__value_id target,
                                       artel__value_id prediction)
{
    if (graph->status < 0 || target < 0 || prediction < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[prediction].shape, given = graph->value[target].shape;
    operands o = {.graph = graph,
                  .loss = loss,
                  .last = shape.rank - 1,
                  .classes = (double)shape.dim[shape.rank - 1],
                  .p = prediction};
    char a[128], b[128];
    if (artel__loss_is_sparse(loss->op)) shape.dim[o.last] = 1;
    if (artel_shape_count(&shape) != artel_shape_count(&given)) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, loss->name,
                                    "give a target for each prediction", "targets %s do not fit predictions %s",
                                    artel__shape_text(&given, true, a, sizeof a),
                                    artel__shape_text(&graph->value[prediction].shape, true, b, sizeof b));
        return ARTEL__NO_VALUE;
    }
    artel_dtype real = graph->real;
    graph->real = ARTEL_DTYPE_FLOAT64;
    o.t = artel__op_reshape(graph, target, &shape);
    artel__value_id value = value_of(&o);
    graph->real = real;
    return value;
}
