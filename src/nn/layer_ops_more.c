/* SPDX-License-Identifier: Apache-2.0 */
/* More of Keras' raw operations, each put together from a few of ours: functions, running sums, moved and repeated
 * elements, images. See layer_ops.h. Running sums are bands of weights (op/resample.c), hence the limit to their
 * length.
 */
#include <math.h>
#include <string.h>

#include "nn/activation_float64.h"
#include "nn/filter.h"
#include "nn/layer_ops.h"
#include "op/formula.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/stand_in.h"

#define MOST_RUNNING 2048

/* -- functions -- */

/* f(x * before) * behind; an offset of +0 would take the sign of -0. */
static artel_status scaled(artel__layer *layer, artel__call *call, artel__unary function, double before, double behind)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    if (before != 1) x = artel__op_affine(call->graph, x, before, -0.0);
    x = unary(call->graph, function, x);
    artel__call_return(call, behind != 1 ? artel__op_affine(call->graph, x, behind, -0.0) : x);
    return ARTEL_OK;
}

artel_status artel__raw_log2(artel__layer *layer, artel__call *call)
{
    return scaled(layer, call, ARTEL__UNARY_LOG, 1, 1.44269504088896340736);
}

artel_status artel__raw_log10(artel__layer *layer, artel__call *call)
{
    return scaled(layer, call, ARTEL__UNARY_LOG, 1, 0.43429448190325182765);
}

artel_status artel__raw_deg2rad(artel__layer *layer, artel__call *call)
{
    return scaled(layer, call, ARTEL__UNARY_LINEAR, 3.14159265358979323846 / 180, 1);
}

artel_status artel__raw_rad2deg(artel__layer *layer, artel__call *call)
{
    return scaled(layer, call, ARTEL__UNARY_LINEAR, 180 / 3.14159265358979323846, 1);
}

artel_status artel__raw_tan(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__value_id cosine = unary(call->graph, ARTEL__UNARY_COS, x);
    artel__call_return(call, binary(call->graph, ARTEL__BINARY_DIV, unary(call->graph, ARTEL__UNARY_SIN, x), cosine));
    return ARTEL_OK;
}

artel_status artel__raw_ceil(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__call_return(
        call, unary(graph, ARTEL__UNARY_NEG, unary(graph, ARTEL__UNARY_FLOOR, unary(graph, ARTEL__UNARY_NEG, x))));
    return ARTEL_OK;
}

artel_status artel__raw_trunc(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__value_id up =
        unary(graph, ARTEL__UNARY_NEG, unary(graph, ARTEL__UNARY_FLOOR, unary(graph, ARTEL__UNARY_NEG, x)));
    artel__value_id below = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, x, 0);
    artel__call_return(call, artel__op_where(graph, below, up, unary(graph, ARTEL__UNARY_FLOOR, x)));
    return ARTEL_OK;
}

artel_status artel__raw_round(artel__layer *layer, artel__call *call)
{
    if (artel__raw_number(layer, call, "decimals", 0) != 0) return artel__raw_refuse(layer, "decimals");
    return scaled(layer, call, ARTEL__UNARY_ROUND, 1, 1);
}

static artel_status with_setting(artel__layer *layer, artel__call *call, artel__unary function, const char *key,
                                 double fallback)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    double constants[3] = {artel__raw_number(layer, call, key, fallback),
                           artel__raw_number(layer, call, "default_value", 0), 0};
    artel__call_return(call, artel__op_unary_exact(call->graph, function, constants, x));
    return ARTEL_OK;
}

artel_status artel__raw_soft_shrink(artel__layer *layer, artel__call *call)
{
    return with_setting(layer, call, ARTEL__UNARY_SOFT_SHRINK, "threshold", 0.5);
}

artel_status artel__raw_hard_shrink(artel__layer *layer, artel__call *call)
{
    return with_setting(layer, call, ARTEL__UNARY_HARD_SHRINK, "threshold", 0.5);
}

artel_status artel__raw_squareplus(artel__layer *layer, artel__call *call)
{
    return with_setting(layer, call, ARTEL__UNARY_SQUAREPLUS, "b", 4);
}

artel_status artel__raw_threshold(artel__layer *layer, artel__call *call)
{
    return with_setting(layer, call, ARTEL__UNARY_THRESHOLD, "threshold", 0);
}

/* -- along an axis -- */

artel_status artel__raw_ptp(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    uint32_t axes;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    bool keep = artel__raw_keeps_axes(layer, call);
    artel__value_id most = artel__op_reduce(call->graph, ARTEL__REDUCE_MAX, x, axes, keep);
    artel__call_return(call, binary(call->graph, ARTEL__BINARY_SUB, most,
                                    artel__op_reduce(call->graph, ARTEL__REDUCE_MIN, x, axes, keep)));
    return ARTEL_OK;
}

artel_status artel__raw_count_nonzero(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    uint32_t axes;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    artel__value_id some = artel__op_cast(
        call->graph, artel__op_compare_scalar(call->graph, ARTEL__COMPARE_NOT_EQUAL, x, 0), ARTEL_DTYPE_FLOAT32);
    artel__value_id count = artel__op_reduce(call->graph, ARTEL__REDUCE_SUM, some, axes, false);
    artel__call_return(call, artel__op_cast(call->graph, count, ARTEL_DTYPE_INT32));
    return ARTEL_OK;
}

/* The operand with one axis of the setting. */
static artel_status operand_and_axis(artel__layer *layer, artel__call *call, int64_t fallback, artel__value_id *x,
                                     int *axis)
{
    ARTEL_TRY(artel__raw_float(layer, call, x));
    ARTEL_TRY(call->graph->status);
    return artel__raw_axis(layer, call, "axis", fallback, call->graph->value[*x].shape.rank, axis);
}

static artel__value_id choose(artel__graph *graph, artel__value_id condition, double number)
{
    return artel__op_where(graph, condition, artel__op_scalar(graph, number), ARTEL__NO_VALUE);
}

/* Running sums as products with zeros and ones would be NaN before an infinity, as 0 * inf is; so infinities and NaN
 * (one of either sign) are counted beside the sum of the others, both signs in one number, and then added. The slope is
 * that of the sum, whatever the numbers. */
static artel__value_id running(artel__graph *graph, artel__value_id x, int axis, const artel__op_band *band)
{
    enum {
        SIGNS = 4096 /* above any count */
    };
    artel__value_id nan = artel__op_compare(graph, ARTEL__COMPARE_NOT_EQUAL, x, x);
    artel__value_id high = artel__op_logical_or(graph, nan, is(graph, x, INFINITY)), low = is(graph, x, -INFINITY);
    artel__value_id lows = choose(graph, artel__op_logical_or(graph, nan, low), SIGNS),
                    code = artel__op_add(graph, choose(graph, high, 1), lows);
    artel__value_id finite = artel__op_where(graph, artel__op_logical_or(graph, high, low), ARTEL__NO_VALUE, x);
    finite = artel__op_with_gradient(graph, finite, x);
    artel__value_id sum = artel__op_band_along(graph, finite, axis, band),
                    count = artel__op_band_along(graph, code, axis, band);
    artel__value_id highs = binary(graph, ARTEL__BINARY_MOD, count, artel__op_scalar(graph, SIGNS));
    artel__value_id up = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, highs, 0);
    artel__value_id down = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER_EQUAL, count, SIGNS);
    artel__value_id lowest = choose(graph, down, -INFINITY);
    return artel__op_add(graph, artel__op_add(graph, sum, choose(graph, up, INFINITY)), lowest);
}

artel_status artel__raw_cumsum(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int axis;
    ARTEL_TRY(operand_and_axis(layer, call, 0, &x, &axis));
    if (strstr(layer->def->class_name, "Nan")) x = artel__raw_finite(graph, x, 0);
    ARTEL_TRY(graph->status);
    int64_t n = graph->value[x].shape.dim[axis];
    if (graph->real == ARTEL_DTYPE_FLOAT64) {
        artel__call_return(call, artel__wide_running_sum(graph, x, axis));
        return graph->status;
    }
    if (n > MOST_RUNNING) return artel__raw_refuse(layer, "more than 2048 places");
    int32_t *first = artel__arena_alloc(graph->arena, (size_t)n + 1, sizeof *first);
    float *weight = artel__arena_alloc(graph->arena, (size_t)(n * n) + 1, sizeof *weight);
    if (!first || !weight) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < n * n; i++) weight[i] = i % n <= i / n ? 1 : 0;
    artel__op_band band = {.extent = n, .outputs = n, .taps = n, .first = first, .weight = weight};
    artel__call_return(call, running(graph, x, axis, &band));
    return ARTEL_OK;
}

artel_status artel__raw_diff(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int axis;
    double times = artel__raw_number(layer, call, "n", 1);
    ARTEL_TRY(operand_and_axis(layer, call, -1, &x, &axis));
    for (int i = 0; i < times && graph->status == ARTEL_OK; i++) {
        int64_t n = graph->value[x].shape.dim[axis];
        int64_t steps = n > 0 ? n - 1 : 0;
        artel__value_id before = artel__op_slice(graph, x, axis, 0, steps, 1);
        x = binary(graph, ARTEL__BINARY_SUB, artel__op_slice(graph, x, axis, n - steps, steps, 1), before);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

/* -- moved elements -- */

static artel__value_id roll_axis(artel__graph *graph, artel__value_id x, int axis, int64_t shift)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int64_t n = graph->value[x].shape.dim[axis], by = n ? (shift % n + n) % n : 0;
    if (!by) return x;
    artel__value_id part[2] = {artel__op_slice(graph, x, axis, n - by, by, 1),
                               artel__op_slice(graph, x, axis, 0, n - by, 1)};
    return artel__op_concat(graph, part, 2, axis);
}

/* One number, or the i-th of a list; a list of one stands for all. */
static bool one_of(json_t *given, size_t i, int64_t *out)
{
    size_t count = json_array_size(given);
    return artel__json_integer(json_is_array(given) ? json_array_get(given, count == 1 ? 0 : i) : given, out);
}

static size_t length_of(json_t *given)
{
    return json_is_array(given) ? json_array_size(given) : 1;
}

artel_status artel__raw_roll(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    json_t *axes = artel__raw_setting(layer, call, "axis", 0), *shifts = artel__raw_setting(layer, call, "shift", 1);
    size_t places = length_of(axes), count = length_of(shifts) > places ? length_of(shifts) : places;
    int64_t number, shift;
    if (!axes && !call->shared) return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    if (!one_of(shifts, 0, &shift) || (length_of(shifts) != count && length_of(shifts) != 1))
        return artel__raw_refuse(layer, "this shift");
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    ARTEL_TRY(graph->status);
    artel_shape in = graph->value[x].shape, flat = {.rank = 1, .dim = {artel_shape_count(&in)}};
    if (!axes) {
        x = roll_axis(graph, artel__op_reshape(graph, x, &flat), 0, shift);
        artel__call_return(call, artel__op_reshape(graph, x, &in));
        return graph->status;
    }
    for (size_t i = 0; i < count; i++) {
        int axis = (places == count || places == 1) && one_of(axes, i, &number) ? artel__row_axis(number, in.rank) : -1;
        if (axis < 0) return artel__raw_refuse(layer, "this axis");
        if (!one_of(shifts, i, &shift)) return artel__raw_refuse(layer, "this shift");
        x = roll_axis(graph, x, axis, shift);
    }
    artel__call_return(call, x);
    return graph->status;
}

artel_status artel__raw_tile(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, part[64];
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    ARTEL_TRY(graph->status);
    json_t *repeats = artel__raw_setting(layer, call, "repeats", 1);
    int rank = graph->value[x].shape.rank;
    if ((int)json_array_size(repeats) != rank + 1) return artel__raw_refuse(layer, "these repeats");
    for (int i = 0; i <= rank; i++) {
        int64_t times = 0;
        if (!artel__json_integer(json_array_get(repeats, (size_t)i), &times) || times < 1 || times > 64 ||
            (i == 0 && times > 1))
            return artel__raw_refuse(layer, "these repeats");
        for (int64_t k = 0; k < times; k++) part[k] = x;
        if (times > 1) x = artel__op_concat(graph, part, (int)times, i - 1);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

artel_status artel__raw_unstack(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int axis;
    ARTEL_TRY(operand_and_axis(layer, call, 0, &x, &axis));
    artel_shape in = graph->value[x].shape, out = {.rank = in.rank - 1};
    if (in.dim[axis] > ARTEL__LAYER_OUTPUTS) return artel__raw_refuse(layer, "so many parts");
    for (int i = 0; i < out.rank; i++) out.dim[i] = in.dim[i < axis ? i : i + 1];
    for (int64_t i = 0; i < in.dim[axis]; i++)
        call->out[i] =
            (artel__tensor){artel__op_reshape(graph, artel__op_slice(graph, x, axis, i, 1, 1), &out), ARTEL__NO_VALUE};
    call->outputs = (int)in.dim[axis];
    return ARTEL_OK;
}

artel_status artel__raw_moveaxis(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int order[ARTEL_MAX_RANK];
    uint32_t moved = 0, taken = 0;
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    ARTEL_TRY(graph->status);
    int rank = graph->value[x].shape.rank, next = 0;
    json_t *source = artel__raw_setting(layer, call, "source", 1),
           *target = artel__raw_setting(layer, call, "destination", 2);
    if (length_of(source) != length_of(target)) return artel__raw_refuse(layer, "these axes");
    for (size_t i = 0; i < length_of(source); i++) {
        int64_t number;
        int from = one_of(source, i, &number) ? artel__row_axis(number, rank) : -1;
        int to = one_of(target, i, &number) ? artel__row_axis(number, rank) : -1;
        if (from < 0 || to < 0 || moved >> from & 1u || taken >> to & 1u) return artel__raw_refuse(layer, "these axes");
        order[to] = from;
        moved |= 1u << from;
        taken |= 1u << to;
    }
    for (int i = 0; i < rank; i++) {
        if (taken >> i & 1u) continue;
        while (moved >> next & 1u) next++;
        order[i] = next++;
    }
    artel__call_return(call, artel__op_transpose(graph, x, order));
    return ARTEL_OK;
}

/* -- images -- */

artel_status artel__raw_resize(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int64_t size[2];
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    json_t *wanted = artel__raw_setting(layer, call, "size", 1);
    const char *name = json_string_value(artel__raw_setting(layer, call, "interpolation", 0));
    const char *order = json_string_value(artel__raw_setting(layer, call, "data_format", 0));
    int filter = 0;
    while (artel__filters[filter] && strcmp(artel__filters[filter], name ? name : "bilinear") != 0) filter++;
    bool fits = json_array_size(wanted) == 2 && artel__filters[filter];
    for (size_t i = 0; i < 2 && fits; i++)
        fits = artel__json_integer(json_array_get(wanted, i), &size[i]) && size[i] >= 1 && size[i] <= INT32_MAX;
    if (!fits || (graph->status == ARTEL_OK && graph->value[x].shape.rank != 3))
        return artel__raw_refuse(layer, "this size or interpolation");
    int first = order && strcmp(order, "channels_first") == 0;
    x = artel__channels_last(graph, x, first);
    if (json_is_true(artel__raw_setting(layer, call, "crop_to_aspect_ratio", 0)))
        x = artel__filter_cut(graph, x, size[0], size[1]);
    if (json_is_true(artel__raw_setting(layer, call, "pad_to_aspect_ratio", 0)))
        x = artel__filter_frame(graph, x, size[0], size[1], artel__raw_number(layer, call, "fill_value", 0));
    x = artel__filter_resize(graph, x, (artel__filter)filter,
                             json_is_true(artel__raw_setting(layer, call, "antialias", 0)), size[0], size[1]);
    artel__call_return(call, artel__channels_back(graph, x, first));
    return ARTEL_OK;
}
