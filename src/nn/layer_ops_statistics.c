/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that sum up an axis: running products, means with weights, moments, areas, and all that pass
 * over NaN. See layer_ops.h. Running products are made in log2(n) passes, in each of which every place takes what lies
 * 2^k before it.
 */
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

static artel__value_id is_nan(artel__graph *graph, artel__value_id x)
{
    return artel__op_compare(graph, ARTEL__COMPARE_NOT_EQUAL, x, x);
}

/* -- running products -- */

static artel__value_id running_product(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int64_t n = graph->value[x].shape.dim[axis], before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0};
    for (int64_t by = 1; by < n; by *= 2) {
        before[axis] = by;
        after[axis] = -by;
        x = binary(graph, ARTEL__BINARY_MUL, x, artel__op_pad(graph, x, before, after, 1));
    }
    return x;
}

artel_status artel__raw_cumprod(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    int axis;
    if (!artel__raw_setting(layer, call, "axis", 0))
        return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    ARTEL_TRY(artel__raw_along(layer, call, 0, &x, &axis));
    if (strstr(layer->def->class_name, "Nan")) x = artel__raw_finite(call->graph, x, 1);
    artel__call_return(call, running_product(call->graph, x, axis));
    return call->graph->status;
}

/* -- reductions that pass over NaN -- */

typedef struct numbers {
    artel__value_id x, bad; /* where it is NaN */
    uint32_t axes;
    bool keep;
} numbers;

static artel_status read_numbers(const artel__layer *layer, const artel__call *call, numbers *out)
{
    ARTEL_TRY(artel__raw_reduction(layer, call, &out->x, &out->axes));
    out->bad = is_nan(call->graph, out->x);
    out->keep = artel__raw_keeps_axes(layer, call);
    return call->graph->status;
}

static artel__value_id instead(artel__graph *graph, const numbers *n, double value)
{
    return where(graph, n->bad, number(graph, value), n->x);
}

static artel__value_id count_of(artel__graph *graph, const numbers *n, bool keep)
{
    artel__value_id good = artel__as_float(graph, artel__op_logical_not(graph, n->bad));
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, good, n->axes, keep);
}

static artel__value_id mean_of(artel__graph *graph, const numbers *n, bool keep)
{
    artel__value_id sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, instead(graph, n, 0), n->axes, keep);
    return binary(graph, ARTEL__BINARY_DIV, sum, count_of(graph, n, keep));
}

artel_status artel__raw_nansum(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    numbers n;
    bool product = strstr(layer->def->class_name, "prod");
    ARTEL_TRY(read_numbers(layer, call, &n));
    artel__value_id x = instead(graph, &n, product ? 1 : 0);
    artel__call_return(call,
                       artel__op_reduce(graph, product ? ARTEL__REDUCE_PROD : ARTEL__REDUCE_SUM, x, n.axes, n.keep));
    return graph->status;
}

artel_status artel__raw_nanmean(artel__layer *layer, artel__call *call)
{
    numbers n;
    ARTEL_TRY(read_numbers(layer, call, &n));
    artel__call_return(call, mean_of(call->graph, &n, n.keep));
    return call->graph->status;
}

artel_status artel__raw_nanvar(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    numbers n;
    ARTEL_TRY(read_numbers(layer, call, &n));
    artel__value_id mean = mean_of(graph, &n, true),
                    apart = binary(graph, ARTEL__BINARY_SUB, instead(graph, &n, 0), mean);
    apart = where(graph, n.bad, number(graph, 0), unary(graph, ARTEL__UNARY_SQUARE, apart));
    artel__value_id y = artel__op_reduce(graph, ARTEL__REDUCE_SUM, apart, n.axes, n.keep);
    y = binary(graph, ARTEL__BINARY_DIV, y, count_of(graph, &n, n.keep));
    artel__call_return(call, strstr(layer->def->class_name, "std") ? unary(graph, ARTEL__UNARY_SQRT, y) : y);
    return graph->status;
}

artel_status artel__raw_nanmax(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    numbers n;
    bool most = strstr(layer->def->class_name, "max");
    ARTEL_TRY(read_numbers(layer, call, &n));
    artel__value_id x = instead(graph, &n, most ? -INFINITY : INFINITY);
    x = artel__op_reduce(graph, most ? ARTEL__REDUCE_MAX : ARTEL__REDUCE_MIN, x, n.axes, n.keep);
    artel__value_id none = is(graph, count_of(graph, &n, n.keep), 0);
    artel__call_return(call, where(graph, none, number(graph, NAN), x));
    return graph->status;
}

/* -- the place of the largest or smallest -- */

/* Keras puts -0 below 0 here. */
static artel__value_id with_order_of_zeros(artel__graph *graph, artel__value_id x)
{
    artel__value_id minus = is(graph, unary(graph, ARTEL__UNARY_RECIPROCAL, x), -INFINITY);
    return where(graph, minus, number(graph, -0x1p-126), x);
}

/* "Argmax", "Nanargmin" and their kin: of all-NaN ones -1. */
/* Along the last axis; of float64 the first in the order of what is negated. */
static artel__value_id place_of_largest(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || graph->real != ARTEL_DTYPE_FLOAT64) return artel__op_argmax(graph, x);
    artel_shape shape = graph->value[x].shape;
    artel__value_id order = artel__op_slice(graph, artel__op_order(graph, negative(graph, x)), shape.rank - 1, 0, 1, 1);
    shape.rank--;
    return artel__op_reshape(graph, order, &shape);
}

artel_status artel__raw_argmax(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int axis;
    bool least = strstr(layer->def->class_name, "min"), numbers_only = strstr(layer->def->class_name, "Nan");
    if (!artel__raw_setting(layer, call, "axis", 0))
        return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    ARTEL_TRY(artel__raw_along(layer, call, -1, &x, &axis));
    artel_shape shape = graph->value[x].shape;
    if (shape.dim[axis] == 0) return artel__raw_refuse(layer, "an axis without elements");
    artel__value_id bad = is_nan(graph, x);
    if (numbers_only) x = where(graph, bad, number(graph, least ? INFINITY : -INFINITY), x);
    x = with_order_of_zeros(graph, x);
    if (least) x = negative(graph, x);
    artel__value_id y = place_of_largest(graph, artel__op_axis_last(graph, x, axis));
    if (numbers_only) {
        artel__value_id none =
            artel__op_reduce(graph, ARTEL__REDUCE_MIN, artel__as_float(graph, bad), 1u << axis, false);
        artel__value_id place = where(graph, above(graph, none, 0), number(graph, -1), artel__as_float(graph, y));
        y = artel__op_cast(graph, place, ARTEL_DTYPE_INT32);
    }
    shape.dim[axis] = 1;
    artel__call_return(call, artel__raw_keeps_axes(layer, call) ? artel__op_reshape(graph, y, &shape) : y);
    return graph->status;
}

/* -- means -- */

artel_status artel__raw_average(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, weight;
    uint32_t axes;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    json_t *given = artel__raw_setting(layer, call, "weights", 1);
    if (!given) {
        artel__call_return(call, artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, axes, false));
        return graph->status;
    }
    ARTEL_TRY(artel__raw_operand(layer, call, given, &weight));
    weight = artel__as_float(graph, weight);
    ARTEL_TRY(graph->status);
    int rank = graph->value[x].shape.rank;
    artel_shape shape = graph->value[weight].shape;
    bool rows = graph->value[weight].domain == ARTEL__DOMAIN_ROW;
    if (shape.rank == 1 && !rows && artel__bit_count(axes) == 1) { /* along the axis; else with the shape of x */
        artel_shape line = {.rank = rank};
        int axis = 0;
        while (!(axes >> axis & 1u)) axis++;
        for (int i = 0; i < rank; i++) line.dim[i] = i == axis ? shape.dim[0] : 1;
        if (shape.dim[0] != graph->value[x].shape.dim[axis]) return artel__raw_refuse(layer, "weights of this shape");
        weight = artel__op_reshape(graph, weight, &line);
    } else if (!rows || shape.rank != rank || !artel__shape_equal(&shape, &graph->value[x].shape)) {
        return artel__raw_refuse(layer, "weights of this shape");
    }
    artel__value_id sum =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, binary(graph, ARTEL__BINARY_MUL, x, weight), axes, false);
    artel__value_id all = artel__op_reduce(graph, ARTEL__REDUCE_SUM, weight, axes, false);
    artel__call_return(call, binary(graph, ARTEL__BINARY_DIV, sum, all));
    return graph->status;
}

artel_status artel__raw_moments(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape shape;
    uint32_t axes = 0;
    json_t *given = artel__raw_setting(layer, call, "axes", 1);
    ARTEL_TRY(artel__raw_row(layer, call, &x, &shape));
    if (!given) return artel__raw_refuse(layer, "these axes");
    for (size_t i = 0; i < (json_is_array(given) ? json_array_size(given) : 1); i++) {
        int64_t number = 0;
        json_t *item = json_is_array(given) ? json_array_get(given, i) : given;
        int axis = artel__json_integer(item, &number) ? artel__row_axis(number, shape.rank) : -1;
        if (axis < 0)
            return artel__raw_refuse(layer, call->shared ? "this axis" : "this axis; the batch cannot be reduced");
        if (axes >> axis & 1u) return artel__raw_refuse(layer, "an axis that is given twice");
        axes |= 1u << axis;
    }
    bool keep = artel__raw_keeps_axes(layer, call);
    x = artel__as_float(graph, x);
    artel__value_id mean = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, axes, true);
    artel__value_id apart = unary(graph, ARTEL__UNARY_SQUARE, binary(graph, ARTEL__BINARY_SUB, x, mean));
    call->out[0] =
        (artel__tensor){keep ? mean : artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, axes, false), ARTEL__NO_VALUE};
    call->out[1] = (artel__tensor){artel__op_reduce(graph, ARTEL__REDUCE_MEAN, apart, axes, keep), ARTEL__NO_VALUE};
    call->outputs = 2;
    return graph->status;
}

/* Of float64: the differences between neighbours of n places, [n - 1] along the axis. */
static artel_status widths_float64(const artel__layer *layer, artel__graph *graph, json_t *places, int64_t n,
                                   const artel_shape *line, artel__value_id *out)
{
    artel__value_id at = artel__constant_json(graph, places);
    ARTEL_TRY(graph->status);
    if (at < 0 || graph->value[at].shape.rank != 1 || graph->value[at].shape.dim[0] != n)
        return artel__raw_refuse(layer, "these places");
    artel__value_id before = artel__op_slice(graph, at, 0, 0, n - 1, 1);
    *out = binary(graph, ARTEL__BINARY_SUB, artel__op_slice(graph, at, 0, 1, n - 1, 1), before);
    *out = artel__op_reshape(graph, *out, line);
    return graph->status;
}

artel_status artel__raw_trapezoid(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id y;
    int axis;
    ARTEL_TRY(artel__raw_along(layer, call, -1, &y, &axis));
    artel_shape shape = graph->value[y].shape, given;
    const float *at;
    json_t *places = artel__raw_setting(layer, call, "x", 0);
    double step = artel__raw_number(layer, call, "dx", 1);
    int64_t n = shape.dim[axis];
    if (n < 2) { /* no line between two places */
        y = artel__op_slice(graph, y, axis, 0, 0, 1);
        artel__call_return(call, artel__op_reduce(graph, ARTEL__REDUCE_SUM, y, 1u << axis, false));
        return graph->status;
    }
    artel__value_id before = artel__op_slice(graph, y, axis, 0, n - 1, 1),
                    sum = artel__op_add(graph, artel__op_slice(graph, y, axis, 1, n - 1, 1), before);
    sum = times(graph, sum, 0.5);
    artel_shape line = {.rank = shape.rank};
    for (int i = 0; i < shape.rank; i++) line.dim[i] = i == axis ? n - 1 : 1;
    if (places && graph->real == ARTEL_DTYPE_FLOAT64) {
        artel__value_id widths = ARTEL__NO_VALUE;
        ARTEL_TRY(widths_float64(layer, graph, places, n, &line, &widths));
        sum = binary(graph, ARTEL__BINARY_MUL, sum, widths);
    } else if (places) {
        if (!artel__raw_constant(call, places, &given, &at) || given.rank != 1 || given.dim[0] != n)
            return artel__raw_refuse(layer, "these places");
        float *width = artel__arena_alloc(graph->arena, (size_t)n, sizeof *width);
        if (!width) return ARTEL_ERROR_NO_MEMORY;
        for (int64_t i = 0; i + 1 < n; i++) width[i] = at[i + 1] - at[i];
        sum = binary(graph, ARTEL__BINARY_MUL, sum, artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &line, width));
    } else if (step != 1) {
        sum = times(graph, sum, step);
    }
    artel__call_return(call, artel__op_reduce(graph, ARTEL__REDUCE_SUM, sum, 1u << axis, false));
    return graph->status;
}
