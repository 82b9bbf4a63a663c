/* SPDX-License-Identifier: Apache-2.0 */
/* The losses of kernel/loss.h in float64, where operations take the place of its kernels: the same formulas, after
 * keras/src/losses/losses.py. A class outside the axis is a fault of the step, as it is there.
 */
#include "nn/loss_float64.h"

#include "nn/layer_ops_formula.h"
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

static artel__value_id square(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_SQUARE, x);
}

static artel__value_id logarithm(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_LOG, x);
}

static artel__value_id magnitude(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_ABS, x);
}

static artel__value_id product(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_MUL, a, b);
}

static artel__value_id difference(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_SUB, a, b);
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
    double taken = o->loss->smoothing;
    return taken > 0 ? artel__op_affine(o->graph, o->t, 1 - taken, taken * share) : o->t;
}

/* -- terms of elements, whose mean or sum is the loss -- */

static artel__value_id logarithmic(const operands *o, artel__value_id x)
{
    return logarithm(o->graph, artel__op_affine(o->graph, at_least(o->graph, x, EPSILON), 1, 1));
}

static artel__value_id huber(const operands *o, artel__value_id error)
{
    artel__graph *graph = o->graph;
    double delta = o->loss->delta;
    artel__value_id size = magnitude(graph, error), half = times(graph, square(graph, error), 0.5);
    artel__value_id far = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, size, delta);
    return where(graph, far, artel__op_affine(graph, size, delta, -0.5 * delta * delta), half);
}

/* e + log(1 + exp(-2 e)) - log 2 */
static artel__value_id log_cosh(artel__graph *graph, artel__value_id error)
{
    artel__value_id tail = unary(graph, ARTEL__UNARY_SOFTPLUS, times(graph, error, -2));
    return artel__op_affine(graph, artel__op_add(graph, error, tail), 1, -LOG_2);
}

static artel__value_id two_classes(artel__graph *graph, artel__value_id t, artel__value_id p)
{
    artel__value_id c = probability(graph, p), hit = product(graph, t, logarithm(graph, c));
    artel__value_id unsure = logarithm(graph, rest_of(graph, c)), miss = product(graph, rest_of(graph, t), unsure);
    return negative(graph, artel__op_add(graph, hit, miss));
}

/* max(x, 0) - x t + log(1 + exp(-|x|)), where the first two cancel exactly. */
static artel__value_id two_classes_of_logits(artel__graph *graph, artel__value_id t, artel__value_id x)
{
    artel__value_id left = below(graph, x, 0), apart = where(graph, left, x, negative(graph, x));
    artel__value_id tail = unary(graph, ARTEL__UNARY_LOG1P, unary(graph, ARTEL__UNARY_EXPONENTIAL, apart));
    artel__value_id over = where(graph, left, ARTEL__NO_VALUE, x);
    return artel__op_add(graph, difference(graph, over, product(graph, x, t)), tail);
}

static artel__value_id focal(const operands *o, artel__value_id t)
{
    artel__graph *graph = o->graph;
    double alpha = o->loss->alpha;
    artel__value_id other = rest_of(graph, o->p), against = product(graph, rest_of(graph, t), other);
    artel__value_id right = artel__op_add(graph, product(graph, t, o->p), against),
                    far = power_of(graph, rest_of(graph, right), o->loss->gamma);
    artel__value_id cost = product(graph, far, two_classes(graph, t, o->p));
    if (!o->loss->balanced) return cost;
    return product(graph, artel__op_affine(graph, t, 2 * alpha - 1, 1 - alpha), cost);
}

/* The other way round: t - p by the size of t. */
static artel__value_id percentage(const operands *o, artel__value_id error)
{
    artel__value_id size = at_least(o->graph, magnitude(o->graph, o->t), EPSILON);
    return times(o->graph, magnitude(o->graph, binary(o->graph, ARTEL__BINARY_DIV, error, size)), 100);
}

static artel__value_id hinge(const operands *o)
{
    return at_least(o->graph, rest_of(o->graph, product(o->graph, o->t, o->p)), 0);
}

static artel__value_id term(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id error = difference(graph, o->p, o->t);
    switch (o->loss->op) {
    case ARTEL__LOSS_MEAN_SQUARED_ERROR: return square(graph, error);
    case ARTEL__LOSS_MEAN_ABSOLUTE_ERROR: return magnitude(graph, error);
    case ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR: return percentage(o, error);
    case ARTEL__LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR: {
        artel__value_id of_truth = logarithmic(o, o->t);
        return square(graph, difference(graph, logarithmic(o, o->p), of_truth));
    }
    case ARTEL__LOSS_HUBER: return huber(o, error);
    case ARTEL__LOSS_LOG_COSH: return log_cosh(graph, error);
    case ARTEL__LOSS_BINARY_CROSSENTROPY: return two_classes(graph, smoothed(o, 0.5), o->p);
    case ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS: return two_classes_of_logits(graph, smoothed(o, 0.5), o->p);
    case ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY: return focal(o, smoothed(o, 0.5));
    case ARTEL__LOSS_HINGE: return hinge(o);
    case ARTEL__LOSS_SQUARED_HINGE: return square(graph, hinge(o));
    case ARTEL__LOSS_POISSON: {
        artel__value_id expected = logarithm(graph, artel__op_affine(graph, o->p, 1, EPSILON));
        return difference(graph, o->p, product(graph, o->t, expected));
    }
    default: return ARTEL__NO_VALUE;
    }
}

/* -- losses of whole rows -- */

static artel__value_id divergence(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = clip(graph, o->t, EPSILON, 1), p = clip(graph, o->p, EPSILON, 1);
    return sum(o, product(graph, t, logarithm(graph, binary(graph, ARTEL__BINARY_DIV, t, p))), false);
}

static artel__value_id categorical(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = smoothed(o, 1 / o->classes);
    if (o->loss->op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS) {
        artel__value_id cost = negative(graph, artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, o->p, o->last));
        return sum(o, product(graph, t, cost), false);
    }
    artel__value_id share = probability(graph, binary(graph, ARTEL__BINARY_DIV, o->p, sum(o, o->p, true)));
    artel__value_id cost = negative(graph, product(graph, t, logarithm(graph, share)));
    if (o->loss->op == ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY) {
        artel__value_id far = power_of(graph, rest_of(graph, share), o->loss->gamma);
        cost = product(graph, times(graph, far, o->loss->alpha), cost);
    }
    return sum(o, cost, false);
}

static artel__value_id categorical_hinge(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id right = sum(o, product(graph, o->t, o->p), false),
                    wrong = product(graph, rest_of(graph, o->t), o->p);
    wrong = artel__op_reduce(graph, ARTEL__REDUCE_MAX, wrong, 1u << o->last, false);
    return at_least(graph, artel__op_affine(graph, difference(graph, wrong, right), 1, 1), 0);
}

static artel__value_id of_length_one(const operands *o, artel__value_id x)
{
    artel__graph *graph = o->graph;
    artel__value_id inverse = unary(graph, ARTEL__UNARY_RSQRT, sum(o, square(graph, x), true));
    return product(graph, x, binary(graph, ARTEL__BINARY_MIN, inverse, number(graph, 1 / EPSILON)));
}

static artel__value_id cosine(const operands *o)
{
    artel__value_id t = of_length_one(o, o->t);
    return negative(o->graph, sum(o, product(o->graph, t, of_length_one(o, o->p)), false));
}

/* t: int32. What does not count has class 0 on the way, and the loss 0. */
static artel__value_id sparse(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id x = o->p, valid = ARTEL__NO_VALUE, index = o->t;
    artel_shape shape = graph->value[o->p].shape;
    if (o->loss->op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY) x = logarithm(graph, probability(graph, x));
    if (o->loss->has_ignored) {
        artel__value_id given = artel__op_cast(graph, index, ARTEL_DTYPE_FLOAT64);
        valid = artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, given, (double)o->loss->ignored);
        index = artel__op_cast(graph, where(graph, valid, given, ARTEL__NO_VALUE), ARTEL_DTYPE_INT32);
    }
    artel__value_id cost = negative(graph, artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, x, o->last));
    cost = artel__op_take(graph, cost, index, o->last);
    if (valid >= 0) cost = where(graph, valid, cost, ARTEL__NO_VALUE);
    shape.rank--;
    return artel__op_reshape(graph, cost, &shape);
}

static artel__value_id value_of(const operands *o)
{
    switch (o->loss->op) {
    case ARTEL__LOSS_KL_DIVERGENCE: return divergence(o);
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY:
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS:
    case ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY: return categorical(o);
    case ARTEL__LOSS_CATEGORICAL_HINGE: return categorical_hinge(o);
    case ARTEL__LOSS_COSINE_SIMILARITY: return cosine(o);
    case ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY:
    case ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS: return sparse(o);
    default: return artel__op_reduce(o->graph, ARTEL__REDUCE_MEAN, term(o), 1u << o->last, false);
    }
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
