/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations about the order of elements, and elements by index. See layer_ops.h and op/gather.h.
 *
 * What is sorted is taken by its order, so that gradients go to where each element was. Quantiles are one or two
 * elements of what is sorted, in the float64 arithmetic of keras/src/backend/tensorflow/numpy.py.
 */
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- sorting -- */

/* x sorted along its last axis; the order, if wanted. `down`: from the largest on. */
static artel__value_id sorted(artel__graph *graph, artel__value_id x, bool down, artel__value_id *order)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__value_id place = artel__op_order(graph, down ? negative(graph, x) : x);
    if (order) *order = place;
    return artel__op_take(graph, x, place, graph->value[x].shape.rank - 1);
}

artel_status artel__raw_sort(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, given;
    int axis;
    ARTEL_TRY(artel__raw_tensor(layer, call, &given));
    if (!artel__raw_setting(layer, call, "axis", 0))
        return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    ARTEL_TRY(artel__raw_along(layer, call, -1, &x, &axis));
    x = artel__op_axis_back(graph, sorted(graph, artel__op_axis_last(graph, x, axis), false, NULL), axis);
    ARTEL_TRY(graph->status);
    artel__call_return(call, artel__op_cast(graph, x, graph->value[given].dtype));
    return graph->status;
}

artel_status artel__raw_argsort(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int axis;
    if (!artel__raw_setting(layer, call, "axis", 0))
        return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    ARTEL_TRY(artel__raw_along(layer, call, -1, &x, &axis));
    x = artel__op_order(graph, artel__op_axis_last(graph, x, axis));
    artel__call_return(call, artel__op_axis_back(graph, x, axis));
    return graph->status;
}

artel_status artel__raw_top_k(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, order;
    artel_shape shape;
    int64_t k;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &shape));
    if (shape.rank < 1) return artel__raw_refuse(layer, "the batch as its axis");
    int last = shape.rank - 1;
    if (!artel__raw_integer(layer, call, "k", 0, 0, &k) || k < 1 || k > shape.dim[last])
        return artel__raw_refuse(layer, "this k");
    artel_dtype dtype = graph->value[x].dtype;
    x = sorted(graph, artel__as_float(graph, x), true, &order);
    x = artel__op_cast(graph, artel__op_slice(graph, x, last, 0, k, 1), dtype);
    call->out[0] = (artel__tensor){x, ARTEL__NO_VALUE};
    call->out[1] = (artel__tensor){artel__op_slice(graph, order, last, 0, k, 1), ARTEL__NO_VALUE};
    call->outputs = 2;
    return graph->status;
}

artel_status artel__raw_in_top_k(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id target, x;
    int64_t k;
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), &target));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 1), &x));
    ARTEL_TRY(graph->status);
    const artel__value *t = &graph->value[target], *v = &graph->value[x];
    if (t->domain != ARTEL__DOMAIN_ROW || v->domain != ARTEL__DOMAIN_ROW || t->shape.rank != 0 || v->shape.rank != 1)
        return artel__raw_refuse(layer, "anything but a class and a vector by row");
    if (!artel__raw_integer(layer, call, "k", 0, 0, &k) || k < 1 || k > INT32_MAX)
        return artel__raw_refuse(layer, "this k");
    artel__value_id class_of_row = artel__op_cast(graph, target, ARTEL_DTYPE_INT32);
    x = artel__op_in_top_k(graph, artel__as_float(graph, x), class_of_row, (int)k);
    artel__call_return(call, artel__op_cast(graph, x, ARTEL_DTYPE_BOOL));
    return graph->status;
}

/* -- quantiles -- */

typedef struct quantile {
    double q; /* 0 .. 1 */
    uint32_t axes;
    bool keep;
    const char *method;
} quantile;

/* A Quantile in a model forgets its method (keras/src/ops/numpy.py, `call`), and is linear. */
static artel_status read_quantile(const artel__layer *layer, const artel__call *call, bool percent, quantile *out)
{
    double number;
    *out = (quantile){.keep = artel__raw_keeps_axes(layer, call),
                      .method = artel__raw_name(layer, call, "method", "linear")};
    json_t *given = artel__raw_setting(layer, call, "q", 1);
    static const char *const methods[] = {"linear", "lower", "higher", "midpoint", "nearest", NULL};
    int known = 0;
    while (methods[known] && strcmp(methods[known], out->method) != 0) known++;
    if (!methods[known]) return artel__raw_refuse(layer, "this method");
    if (strcmp(layer->def->class_name, "ops.Quantile") == 0) out->method = methods[0];
    const float *numbers;
    artel_shape shape;
    bool one = artel__json_number(given, &number);
    if (!one && artel__raw_constant(call, given, &shape, &numbers) && shape.rank == 0) {
        one = true;
        number = (double)numbers[0];
    }
    if (!one) return artel__raw_refuse(layer, "several quantiles, which Keras puts in front of the batch");
    if (call->graph->real == ARTEL_DTYPE_FLOAT64)
        out->q = percent ? number / 100 : number;
    else
        out->q = (double)(percent ? (float)number / 100.0f : (float)number);
    return out->q >= 0 && out->q <= 1 ? ARTEL_OK : artel__raw_refuse(layer, "this quantile");
}

/* Element `at` of the last axis, which goes. */
static artel__value_id element(artel__graph *graph, artel__value_id x, int64_t at)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    shape.rank--;
    x = artel__op_slice(graph, x, shape.rank, at, 1, 1);
    return artel__op_reshape(graph, x, &shape);
}

static artel__value_id mixed(artel__graph *graph, artel__value_id a, artel__value_id b, double share_of_b)
{
    artel__value_id of_b = times(graph, b, share_of_b);
    return artel__op_add(graph, times(graph, a, 1 - share_of_b), of_b);
}

/* Of n sorted elements. */
static artel__value_id pick(artel__graph *graph, artel__value_id x, int64_t n, const quantile *q)
{
    double at = (double)(n - 1) * q->q;
    int64_t low = (int64_t)floor(at), high = (int64_t)ceil(at);
    if (strcmp(q->method, "lower") == 0) return element(graph, x, low);
    if (strcmp(q->method, "higher") == 0) return element(graph, x, high);
    if (strcmp(q->method, "nearest") == 0) return element(graph, x, (int64_t)nearbyint(at));
    if (strcmp(q->method, "midpoint") == 0) {
        artel__value_id upper = element(graph, x, high);
        return mixed(graph, element(graph, x, low), upper, 0.5);
    }
    int64_t smaller = high > 0 ? high - 1 : 0, larger = smaller + 1 < n ? smaller + 1 : n - 1;
    artel__value_id below = element(graph, x, smaller);
    double share = (double)larger - at;
    if (graph->real != ARTEL_DTYPE_FLOAT64) share = (double)(float)share; /* as Keras rounds it */
    return mixed(graph, element(graph, x, larger), below, share);
}

/* The axes of `axes` as one, the last. */
static artel__value_id flattened(artel__graph *graph, artel__value_id x, uint32_t axes)
{
    int permutation[ARTEL_MAX_RANK];
    x = artel__axes_last(graph, x, axes, permutation);
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = {.rank = in.rank - artel__bit_count(axes)};
    for (int i = 0; i < out.rank; i++) out.dim[i] = in.dim[i];
    out.dim[out.rank] = artel__shape_product(&in, out.rank, in.rank);
    out.rank++;
    return artel__op_reshape(graph, x, &out);
}

static artel__value_id with_axes(artel__graph *graph, artel__value_id x, const artel_shape *in, uint32_t axes)
{
    artel_shape out = *in;
    for (int i = 0; i < out.rank; i++) {
        if (axes >> i & 1u) out.dim[i] = 1;
    }
    return artel__op_reshape(graph, x, &out);
}

static artel__value_id is_nan(artel__graph *graph, artel__value_id x)
{
    return artel__op_compare(graph, ARTEL__COMPARE_NOT_EQUAL, x, x);
}

/* How many of the last axis are numbers, [..][1]. */
static artel__value_id count_numbers(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__value_id good = artel__as_float(graph, artel__op_logical_not(graph, is_nan(graph, x)));
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, good, 1u << (graph->value[x].shape.rank - 1), true);
}

/* As `pick`, of the first `count` [..][1] of the sorted elements, which are the numbers among them: places are computed
 * by row. */
static artel__value_id pick_counted(artel__graph *graph, artel__value_id x, artel__value_id count, const quantile *q)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    int last = shape.rank - 1;
    artel__value_id most = clip(graph, artel__op_affine(graph, count, 1, -1), 0, INFINITY),
                    at = times(graph, most, q->q);
    artel__value_id low = unary(graph, ARTEL__UNARY_FLOOR, at);
    artel__value_id high = negative(graph, unary(graph, ARTEL__UNARY_FLOOR, negative(graph, at)));
    artel__value_id first = low, second = high, share = ARTEL__NO_VALUE;
    if (strcmp(q->method, "higher") == 0) first = high;
    if (strcmp(q->method, "nearest") == 0) first = unary(graph, ARTEL__UNARY_ROUND, at);
    if (strcmp(q->method, "midpoint") == 0) share = number(graph, 0.5);
    if (strcmp(q->method, "linear") == 0) share = binary(graph, ARTEL__BINARY_SUB, at, low);
    artel__value_id y = artel__op_take(graph, x, artel__op_cast(graph, first, ARTEL_DTYPE_INT32), last);
    if (share >= 0) {
        artel__value_id z = artel__op_take(graph, x, artel__op_cast(graph, second, ARTEL_DTYPE_INT32), last);
        artel__value_id rest = artel__op_affine(graph, share, -1, 1);
        artel__value_id upper = binary(graph, ARTEL__BINARY_MUL, z, share);
        y = artel__op_add(graph, binary(graph, ARTEL__BINARY_MUL, y, rest), upper);
    }
    shape.rank--;
    return artel__op_reshape(graph, y, &shape);
}

static artel_status return_quantile(artel__layer *layer, artel__call *call, const quantile *given, bool numbers_only)
{
    artel__graph *graph = call->graph;
    quantile q = *given;
    artel__value_id x;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &q.axes));
    artel_shape in = graph->value[x].shape;
    artel__value_id flat = flattened(graph, x, q.axes), line = sorted(graph, flat, false, NULL);
    ARTEL_TRY(graph->status);
    artel_shape flat_shape = graph->value[flat].shape;
    int64_t n = flat_shape.dim[flat_shape.rank - 1];
    if (n < 1) return artel__raw_refuse(layer, "an axis without elements");
    artel__value_id y;
    if (numbers_only) {
        y = pick_counted(graph, line, count_numbers(graph, flat), &q);
    } else {
        artel__value_id bad = artel__as_float(graph, is_nan(graph, flat));
        bad = artel__op_reduce(graph, ARTEL__REDUCE_MAX, bad, 1u << (flat_shape.rank - 1), false);
        y = where(graph, above(graph, bad, 0), number(graph, NAN), pick(graph, line, n, &q));
    }
    artel__call_return(call, q.keep ? with_axes(graph, y, &in, q.axes) : y);
    return graph->status;
}

/* "NanPercentile" and its kin. */
artel_status artel__raw_quantile(artel__layer *layer, artel__call *call)
{
    quantile q;
    const char *name = layer->def->class_name;
    ARTEL_TRY(read_quantile(layer, call, strstr(name, "ercentile"), &q));
    return return_quantile(layer, call, &q, strstr(name, "Nan"));
}

artel_status artel__raw_median(artel__layer *layer, artel__call *call)
{
    quantile q = {.q = 0.5, .keep = artel__raw_keeps_axes(layer, call), .method = "linear"};
    return return_quantile(layer, call, &q, strstr(layer->def->class_name, "Nan"));
}
