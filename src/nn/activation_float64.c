/* SPDX-License-Identifier: Apache-2.0 */
/* Gated linear units and sparsemax in float64. Formulas: kernel/softmax.h, keras/src/activations. */
#include "nn/activation_float64.h"

#include "op/elementwise.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* Each place adds that 1, 2, 4 ... before it. */
artel__value_id artel__wide_running_sum(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int64_t n = graph->value[x].shape.dim[axis], before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0};
    for (int64_t by = 1; by < n; by *= 2) {
        before[axis] = by;
        after[axis] = -by;
        x = artel__op_add(graph, x, artel__op_pad(graph, x, before, after, 0));
    }
    return x;
}

artel__value_id artel__wide_glu(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int64_t half = graph->value[x].shape.dim[axis] / 2;
    artel__value_id gate =
        artel__op_unary(graph, ARTEL__UNARY_SIGMOID, NULL, artel__op_slice(graph, x, axis, half, half, 1));
    return artel__op_binary(graph, ARTEL__BINARY_MUL, artel__op_slice(graph, x, axis, 0, half, 1), gate);
}

static artel__value_id positive(artel__graph *graph, artel__value_id x)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, x, 0);
}

static artel__value_id where_or_zero(artel__graph *graph, artel__value_id condition, artel__value_id x)
{
    return artel__op_where(graph, condition, x, ARTEL__NO_VALUE);
}

/* max(x - t, 0) as Keras has it: t is the sum of all running sums of the K largest, less 1, by K. */
artel__value_id artel__wide_sparsemax(artel__graph *graph, artel__value_id x, int axis)
{
    x = artel__op_axis_last(graph, x, axis);
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    const artel_shape *shape = &graph->value[x].shape;
    int last = shape->rank - 1;
    int64_t n = shape->dim[last];
    double *count = artel__arena_alloc(graph->arena, (size_t)n + 1, sizeof *count);
    if (!count) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < n; i++) count[i] = (double)(i + 1);
    artel_shape line = artel__shape(1, n);
    artel__value_id places = artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &line, count);
    artel__value_id order = artel__op_order(graph, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, x)),
                    down = artel__op_take(graph, x, order, last), sums = artel__wide_running_sum(graph, down, last);
    artel__value_id least = artel__op_binary(graph, ARTEL__BINARY_DIV, artel__op_affine(graph, sums, 1, -1), places),
                    support = positive(graph, artel__op_binary(graph, ARTEL__BINARY_SUB, down, least));
    artel__value_id one = where_or_zero(graph, support, artel__op_fill_like(graph, sums, 1)),
                    k = artel__op_reduce(graph, ARTEL__REDUCE_SUM, one, 1u << last, true),
                    sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, where_or_zero(graph, support, sums), 1u << last,
                                           true);
    artel__value_id limit = artel__op_binary(graph, ARTEL__BINARY_DIV, artel__op_affine(graph, sum, 1, -1), k);
    x = artel__op_binary(graph, ARTEL__BINARY_SUB, x, limit);
    return artel__op_axis_back(graph, where_or_zero(graph, positive(graph, x), x), axis);
}
