/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the gradients of arithmetic on two operands, reductions, softmax and folds. g: what comes back to a
 * gradient node. */
#include "op/second.h"

#include "op/op.h"
#include "op/reduce_attributes.h"
#include "op/shape_ops.h"

artel_status artel__second_refuse(const artel__gradient *g, const char *what)
{
    return artel__fail(artel__graph_context(g->graph), ARTEL_ERROR_UNSUPPORTED, g->graph->scope,
                       "write it with other operations, or differentiate once", "the gradient of %s has no gradient",
                       what);
}

static artel__value_id both(artel__graph *graph, artel__binary function, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, function, a, b);
}

static artel__value_id scaled(artel__graph *graph, artel__value_id x, double scale)
{
    return artel__op_affine(graph, x, scale, 0);
}

/* -- two operands: the gradients are d (function of a and b); `product` is g d, what is given back is summed to the
 * operands -- */

typedef struct slopes {
    artel__value_id a, b; /* ARTEL__NO_VALUE: 0 */
} slopes;

/* d / b, and -d a / b^2 */
static slopes of_quotient(artel__graph *graph, artel__binary by, const artel__gradient *g, int wrt,
                          artel__value_id product)
{
    artel__value_id a = g->in[1], b = g->in[2];
    artel__value_id share = both(graph, by, both(graph, by, product, b), b); /* g d / b^2 */
    if (wrt == 0) return (slopes){ARTEL__NO_VALUE, scaled(graph, share, -1)};
    return (slopes){scaled(graph, share, -1),
                    scaled(graph, both(graph, ARTEL__BINARY_MUL, share, both(graph, by, a, b)), 2)};
}

/* log a where there is one, as TensorFlow takes it */
static artel__value_id safe_log(artel__graph *graph, artel__value_id a)
{
    artel__value_id positive = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, a, 0);
    artel__value_id inner = artel__op_where(graph, positive, a, artel__op_fill_like(graph, a, 1));
    return artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, inner);
}

/* d b a^(b - 1), and d a^b log a */
static slopes of_power(artel__graph *graph, const artel__gradient *g, int wrt, artel__value_id product)
{
    artel__value_id a = g->in[1], b = g->in[2], log = safe_log(graph, a);
    artel__value_id lower = both(graph, ARTEL__BINARY_POW, a, artel__op_affine(graph, b, 1, -1));
    artel__value_id mixed =
        both(graph, ARTEL__BINARY_MUL, lower, artel__op_affine(graph, both(graph, ARTEL__BINARY_MUL, b, log), 1, 1));
    artel__value_id across = both(graph, ARTEL__BINARY_MUL, product, mixed), straight;
    if (wrt == 0) {
        artel__value_id lowest = both(graph, ARTEL__BINARY_POW, a, artel__op_affine(graph, b, 1, -2));
        straight = both(graph, ARTEL__BINARY_MUL, both(graph, ARTEL__BINARY_MUL, b, artel__op_affine(graph, b, 1, -1)),
                        lowest);
        return (slopes){both(graph, ARTEL__BINARY_MUL, product, straight), across};
    }
    artel__value_id squared = artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, log);
    straight = both(graph, ARTEL__BINARY_MUL, both(graph, ARTEL__BINARY_POW, a, b), squared);
    return (slopes){across, both(graph, ARTEL__BINARY_MUL, product, straight)};
}

static slopes slopes_of(const artel__gradient *g, artel__binary function, int wrt, artel__value_id product)
{
    artel__graph *graph = g->graph;
    slopes s = {ARTEL__NO_VALUE, ARTEL__NO_VALUE};
    switch (function) {
    case ARTEL__BINARY_MUL: *(wrt == 0 ? &s.b : &s.a) = product; return s;
    case ARTEL__BINARY_DIV:
    case ARTEL__BINARY_DIV_NO_NAN: return of_quotient(graph, function, g, wrt, product);
    case ARTEL__BINARY_POW: return of_power(graph, g, wrt, product);
    case ARTEL__BINARY_SQUARED_DIFFERENCE:
        s.a = scaled(graph, product, wrt == 0 ? 2 : -2);
        s.b = scaled(graph, product, wrt == 0 ? -2 : 2);
        return s;
    default: return s; /* sums, maxima and remainders are straight */
    }
}

artel_status artel__second_binary(artel__gradient *g, artel__binary function, int wrt)
{
    artel__graph *graph = g->graph;
    artel__value_id back = g->out_gradient[0];
    if (g->needed[0]) {
        artel__value_id inputs[] = {back, g->in[1], g->in[2]};
        g->in_gradient[0] = artel__graph_add(graph, graph->node[g->node].op, g->attributes, inputs, 3);
    }
    if (!g->needed[1] && !g->needed[2]) return graph->status;
    slopes s = slopes_of(g, function, wrt, both(graph, ARTEL__BINARY_MUL, back, g->in[0]));
    if (g->needed[1]) g->in_gradient[1] = artel__op_sum_to(graph, s.a, g->in[1]);
    if (g->needed[2]) g->in_gradient[2] = artel__op_sum_to(graph, s.b, g->in[2]);
    return graph->status;
}

/* -- reductions -- */

/* The product along an axis as products of pairs, so that a factor of 0 has its slope. */
static artel__value_id multiply_along(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    for (int64_t n = graph->value[x].shape.dim[axis]; n > 1 && graph->status == ARTEL_OK; n = (n + 1) / 2) {
        artel__value_id left = artel__op_slice(graph, x, axis, 0, n / 2, 1),
                        right = artel__op_slice(graph, x, axis, n / 2, n / 2, 1);
        artel__value_id pairs = both(graph, ARTEL__BINARY_MUL, left, right);
        artel__value_id part[] = {pairs, n % 2 ? artel__op_slice(graph, x, axis, n - 1, 1, 1) : ARTEL__NO_VALUE};
        x = n % 2 ? artel__op_concat(graph, part, 2, axis) : pairs;
    }
    return x;
}

static artel_status second_product(artel__gradient *g)
{
    static const int input[] = {0, 2};
    const artel__reduce_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id x = artel__second_leaf(graph, g->in[0]), dy = artel__second_leaf(graph, g->in[2]), y = x;
    const artel__value_id leaf[] = {x, dy};
    for (int axis = 0; axis < graph->value[g->in[0]].shape.rank; axis++) {
        if (a->axes >> axis & 1u) y = multiply_along(graph, y, axis);
    }
    if (graph->status == ARTEL_OK && y >= 0) y = artel__op_reshape(graph, y, &graph->value[g->in[2]].shape);
    return artel__second_written(g, y, dy, leaf, input);
}

artel_status artel__second_reduce(artel__gradient *g)
{
    const artel__reduce_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    if (graph->value[g->in[0]].storage == 0) return ARTEL_OK; /* of nothing there is no gradient */
    if (a->function == ARTEL__REDUCE_PROD) return second_product(g);
    if (!g->needed[2]) return ARTEL_OK;
    artel__value_id back = g->out_gradient[0];
    if (a->function == ARTEL__REDUCE_MAX || a->function == ARTEL__REDUCE_MIN) { /* shares of those that are as great */
        artel__value_id inputs[] = {g->in[0], g->in[1], artel__op_fill_like(graph, g->in[2], 1)};
        artel__value_id share = artel__graph_add(graph, graph->node[g->node].op, a, inputs, 3);
        g->in_gradient[2] =
            artel__op_reduce(graph, ARTEL__REDUCE_SUM, both(graph, ARTEL__BINARY_MUL, back, share), a->axes, a->keep);
    } else {
        g->in_gradient[2] = artel__op_reduce(graph, (artel__reduction)a->function, back, a->axes, a->keep);
    }
    return graph->status;
}

/* softmax:      dx = y (dy - sum dy y)
 * log_softmax:  dx = dy - exp(y) sum dy */
artel_status artel__second_softmax(artel__gradient *g)
{
    const artel__axis_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id back = g->out_gradient[0], dy = g->in[0], y = g->in[1];
    uint32_t axis = 1u << a->axis;
    if (a->function == (int)ARTEL__SPARSEMAX) { /* straight in dy, and by x in pieces */
        artel__value_id inputs[] = {back, y, g->in[2]};
        if (g->needed[0]) g->in_gradient[0] = artel__graph_add(graph, graph->node[g->node].op, a, inputs, 3);
        return graph->status;
    }
    if (a->function == (int)ARTEL__SOFTMAX) {
        artel__value_id other = both(graph, ARTEL__BINARY_MUL, dy, y), mine = both(graph, ARTEL__BINARY_MUL, back, y);
        artel__value_id sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, other, axis, true);
        artel__value_id weight = artel__op_reduce(graph, ARTEL__REDUCE_SUM, mine, axis, true);
        artel__value_id inputs[] = {back, y, ARTEL__NO_VALUE};
        if (g->needed[0]) g->in_gradient[0] = artel__graph_add(graph, graph->node[g->node].op, a, inputs, 3);
        if (g->needed[1]) {
            artel__value_id taken = both(graph, ARTEL__BINARY_MUL, dy, weight),
                            apart = both(graph, ARTEL__BINARY_SUB, dy, sum);
            g->in_gradient[1] = both(graph, ARTEL__BINARY_SUB, both(graph, ARTEL__BINARY_MUL, back, apart), taken);
        }
        return graph->status;
    }
    artel__value_id weighted =
        both(graph, ARTEL__BINARY_MUL, back, artel__op_unary(graph, ARTEL__UNARY_EXPONENTIAL, NULL, y));
    artel__value_id total = artel__op_reduce(graph, ARTEL__REDUCE_SUM, weighted, axis, true);
    if (g->needed[0]) g->in_gradient[0] = both(graph, ARTEL__BINARY_SUB, back, total);
    if (g->needed[1]) {
        artel__value_id sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, dy, axis, true);
        g->in_gradient[1] = scaled(graph, both(graph, ARTEL__BINARY_MUL, weighted, sum), -1);
    }
    return graph->status;
}

/* -- folds -- */

artel_status artel__second_fold_sum(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    g->in_gradient[0] = artel__op_add(graph, artel__op_fill_like(graph, g->in[0], 0), g->out_gradient[0]);
    return graph->status;
}

artel_status artel__second_all_reduce(artel__gradient *g)
{
    g->in_gradient[0] = g->out_gradient[0];
    return ARTEL_OK;
}
