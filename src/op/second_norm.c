/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the gradients of batch and layer normalisation, by second_anew.c.
 *
 * With xhat = (x - mean) * inverse and y = xhat * gamma, mean and inverse written of x as kernel/norm.h has them: dx is
 * the gradient of y, and dgamma, dbeta are sums of dy * xhat and of dy. Statistics of a batch pass through folds over
 * all rows; those that were given (inference) are operands like any other. A joined activation is a mask, which the
 * result says and which is straight.
 */
#include "op/batch_rows.h"
#include "op/formula.h"
#include "op/norm.h"
#include "op/norm_attributes.h"
#include "op/ops.h"
#include "op/second.h"
#include "op/shape_ops.h"

/* 1 / sqrt(x + epsilon) */
static artel__value_id inverse_root(artel__graph *graph, artel__value_id x, float epsilon)
{
    return unary(graph, ARTEL__UNARY_RSQRT, artel__op_affine(graph, x, 1, (double)epsilon));
}

/* -- batch normalisation -- */

/* Sums over rows and inner axes: GLOBAL [c]. */
static artel__value_id channel_sums(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[x].shape.rank;
    if (rank > 1) x = artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, (1u << (rank - 1)) - 1u, false);
    return artel__op_batch_sums(graph, x);
}

/* The epsilon of the node that made an inverse from moments. */
static float epsilon_behind(const artel__graph *graph, artel__value_id inverse)
{
    return ((const artel__epsilon_attributes *)graph->node[graph->value[inverse].node].attributes)->epsilon;
}

/* What a batch normalisation is written of: x, mean and inverse, the last two of x itself in training. */
typedef struct channels {
    artel__value_id x, mean, inverse, xhat;
} channels;

static channels normalised(const artel__gradient *g, int x, int mean)
{
    const artel__norm_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    channels c = {.x = artel__second_leaf(graph, g->in[x])};
    if (a->training && graph->status == ARTEL_OK) {
        int last = graph->value[c.x].shape.rank - 1;
        artel__value_id one = artel__op_fill_like(graph, artel__op_slice(graph, c.x, last, 0, 1, 1), 1);
        artel__value_id count = channel_sums(graph, one);
        c.mean = binary(graph, ARTEL__BINARY_DIV, channel_sums(graph, c.x), count);
        artel__value_id sum = channel_sums(graph, square(graph, difference(graph, c.x, c.mean)));
        artel__value_id variance = binary(graph, ARTEL__BINARY_DIV, sum, count);
        c.inverse = inverse_root(graph, variance, epsilon_behind(graph, g->in[mean + 1]));
    } else {
        c.mean = artel__second_leaf(graph, g->in[mean]);
        c.inverse = artel__second_leaf(graph, g->in[mean + 1]);
    }
    c.xhat = product(graph, difference(graph, c.x, c.mean), c.inverse);
    return c;
}

/* dy where a joined activation passed. */
static artel__value_id masked(const artel__gradient *g, artel__value_id y, artel__value_id dy)
{
    const artel__norm_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    if (a->activation == ARTEL__NORM_LINEAR || dy < 0) return dy;
    artel__value_id passed = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, y, 0);
    dy = artel__op_where(graph, passed, dy, ARTEL__NO_VALUE);
    if (a->activation == ARTEL__NORM_RELU) return dy;
    passed = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, y, 6);
    return artel__op_where(graph, passed, dy, ARTEL__NO_VALUE);
}

artel_status artel__second_normalise(artel__gradient *g)
{
    enum {
        DY,
        X,
        Y,
        MEAN,
        INVERSE,
        GAMMA
    };
    static const int input[] = {DY, X, GAMMA, MEAN, INVERSE};
    const artel__norm_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id dy = artel__second_leaf(graph, g->in[DY]), gamma = artel__second_leaf(graph, g->in[GAMMA]), dx;
    artel__value_id passed = masked(g, g->in[Y], dy);
    channels c = normalised(g, X, MEAN);
    artel__value_id y = gamma < 0 ? c.xhat : product(graph, c.xhat, gamma);
    artel__slopes first = {{y}, {passed}, 1, &c.x, 1};
    ARTEL_TRY(graph->status);
    ARTEL_TRY(artel__second_slopes(graph, &first, &dx));
    const artel__value_id leaf[] = {dy, c.x, gamma, c.mean, c.inverse};
    artel__slopes slopes = {
        {dx, passed}, {g->out_gradient[0], a->residual ? g->out_gradient[1] : ARTEL__NO_VALUE}, 2, leaf, 0};
    slopes.leaves = a->training ? 3 : 5;
    return artel__second_finish(g, &slopes, input);
}

/* What comes back is the same for each row: b[0] to the sums of dy, b[1] to those of dy * xhat. */
artel_status artel__second_normalise_rows(artel__gradient *g)
{
    enum {
        X,
        Y,
        DY,
        MEAN,
        INVERSE
    };
    static const int input[] = {X, DY, MEAN, INVERSE};
    const artel__norm_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel_shape line = {.rank = graph->value[g->in[X]].shape.rank};
    for (int d = 0; d < line.rank; d++) line.dim[d] = d < line.rank - 1 ? 1 : graph->value[g->in[X]].shape.dim[d];
    artel__value_id dy = artel__second_leaf(graph, g->in[DY]), b[2];
    for (int k = 0; k < 2; k++) {
        artel__value_id back = artel__op_slice(graph, g->out_gradient[0], 0, k, 1, 1);
        b[k] = artel__op_cast(graph, artel__op_reshape(graph, back, &line), ARTEL_DTYPE_FLOAT32);
    }
    channels c = normalised(g, X, MEAN);
    artel__value_id passed = masked(g, g->in[Y], dy), both = artel__op_add(graph, b[0], product(graph, c.xhat, b[1]));
    artel__value_id sum = product(graph, passed, both);
    const artel__value_id leaf[] = {c.x, dy, c.mean, c.inverse};
    artel__slopes slopes = {{sum}, {artel__op_fill_like(graph, sum, 1)}, 1, leaf, a->training ? 2 : 4};
    ARTEL_TRY(graph->status);
    return artel__second_finish(g, &slopes, input);
}

/* -- layer normalisation -- */

/* The xhat of x, which gamma multiplies. */
static artel__value_id layer_xhat(artel__graph *graph, const artel__layer_norm_attributes *a, artel__value_id x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[x].shape.rank;
    uint32_t axes = ((1u << a->axes) - 1u) << (rank - a->axes);
    bool centred = a->mode == ARTEL__LAYER_NORM_LAYER || a->mode == ARTEL__LAYER_NORM_RMS_SCALED;
    artel__value_id apart = x, inverse;
    if (centred) apart = difference(graph, x, artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, axes, true));
    if (a->mode == ARTEL__LAYER_NORM_UNIT) {
        artel__value_id sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, square(graph, x), axes, true);
        inverse = artel__op_unary(graph, ARTEL__UNARY_CLIP, (float[]){0, 1.0f / a->epsilon, 0},
                                  unary(graph, ARTEL__UNARY_RSQRT, sum));
    } else
        inverse = inverse_root(graph, artel__op_reduce(graph, ARTEL__REDUCE_MEAN, square(graph, apart), axes, true),
                               a->epsilon);
    return product(graph, a->mode == ARTEL__LAYER_NORM_LAYER ? apart : x, inverse);
}

/* A parameter of the last axes of x, whatever its own shape. */
static artel__value_id as_last_axes(artel__graph *graph, artel__value_id parameter, artel__value_id x, int axes)
{
    if (graph->status < 0 || parameter < 0) return ARTEL__NO_VALUE;
    const artel_shape *shape = &graph->value[x].shape;
    artel_shape own = {.rank = axes};
    for (int d = 0; d < axes; d++) own.dim[d] = shape->dim[shape->rank - axes + d];
    return artel__op_reshape(graph, parameter, &own);
}

artel_status artel__second_layer_norm(artel__gradient *g)
{
    static const int input[] = {0, 1, 4};
    const artel__layer_norm_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id dx, dy = artel__second_leaf(graph, g->in[0]), x = artel__second_leaf(graph, g->in[1]),
                        gamma = as_last_axes(graph, g->in[4], g->in[1], a->axes);
    artel__value_id y = layer_xhat(graph, a, x);
    if (gamma >= 0) y = product(graph, y, gamma);
    artel__slopes first = {{y}, {dy}, 1, &x, 1};
    ARTEL_TRY(graph->status);
    ARTEL_TRY(artel__second_slopes(graph, &first, &dx));
    const artel__value_id leaf[] = {dy, x, gamma};
    artel__slopes slopes = {{dx}, {g->out_gradient[0]}, 1, leaf, 3};
    return artel__second_finish(g, &slopes, input);
}

artel_status artel__second_layer_norm_parameters(artel__gradient *g)
{
    static const int input[] = {0, 1};
    const artel__layer_norm_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id dy = artel__second_leaf(graph, g->in[0]), x = artel__second_leaf(graph, g->in[1]);
    artel__value_id by_gamma = as_last_axes(graph, g->out_gradient[0], g->in[1], a->axes),
                    by_beta = as_last_axes(graph, g->out_gradient[1], g->in[1], a->axes);
    const artel__value_id leaf[] = {dy, x};
    artel__slopes slopes = {{ARTEL__NO_VALUE, ARTEL__NO_VALUE}, {ARTEL__NO_VALUE, ARTEL__NO_VALUE}, 2, leaf, 2};
    if (by_gamma >= 0) slopes.target[0] = product(graph, product(graph, dy, layer_xhat(graph, a, x)), by_gamma);
    if (by_beta >= 0) slopes.target[1] = product(graph, dy, by_beta);
    for (int k = 0; k < 2; k++) {
        if (slopes.target[k] >= 0) slopes.seed[k] = artel__op_fill_like(graph, slopes.target[k], 1);
    }
    ARTEL_TRY(graph->status);
    return artel__second_finish(g, &slopes, input);
}
