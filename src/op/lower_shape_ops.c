/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements as programs of devices. The rows in front, where a value has them, stay. */
#include "op/lower_shape_ops.h"

#include "op/shape_attributes.h"

/* Axes in front of those of a row. */
static int ahead(const artel__lower *lower, int k)
{
    artel__hlo_type type = artel__lower_in_type(lower, k);
    return type.rank - lower->graph->value[lower->node->input[k]].shape.rank;
}

static artel__hlo_value operand(const artel__lower *lower, int k)
{
    artel__hlo_type type = artel__lower_in_type(lower, k);
    return artel__hlo_reshape(lower->hlo, lower->in[k], &type);
}

void artel__lower_transpose(artel__lower *lower)
{
    const artel__transpose_attributes *a = lower->attributes;
    artel__hlo_value x = operand(lower, 0);
    int axes[ARTEL__HLO_RANK] = {0}, first = ahead(lower, 0), rank = artel__hlo_type_of(lower->hlo, x)->rank;
    for (int i = first; i < rank; i++) axes[i] = a->permutation[i - first] + first;
    lower->out[0] = artel__hlo_transpose(lower->hlo, x, axes);
}

void artel__lower_pad(artel__lower *lower)
{
    const artel__pad_attributes *a = lower->attributes;
    artel__hlo_value x = operand(lower, 0);
    artel__hlo_type type = *artel__hlo_type_of(lower->hlo, x), scalar = {.dtype = type.dtype};
    int64_t low[ARTEL__HLO_RANK] = {0}, high[ARTEL__HLO_RANK] = {0}, inside[ARTEL__HLO_RANK] = {0};
    int first = ahead(lower, 0);
    double number = (double)(int32_t)a->number; /* integers take it without its fraction */
    if (type.dtype == ARTEL_DTYPE_FLOAT32) number = (double)a->number;
    if (type.dtype == ARTEL_DTYPE_FLOAT64) number = a->exact;
    for (int i = first; i < type.rank; i++) {
        low[i] = a->before[i - first];
        high[i] = a->after[i - first];
    }
    lower->out[0] = artel__hlo_pad(lower->hlo, x, artel__hlo_splat(lower->hlo, number, &scalar), low, high, inside);
}

void artel__lower_slice(artel__lower *lower)
{
    const artel__slice_attributes *a = lower->attributes;
    artel__hlo_value x = operand(lower, 0);
    artel__hlo_type type = *artel__hlo_type_of(lower->hlo, x);
    int64_t first[ARTEL__HLO_RANK] = {0}, end[ARTEL__HLO_RANK], step[ARTEL__HLO_RANK];
    int axis = ahead(lower, 0) + a->axis;
    for (int i = 0; i < type.rank; i++) {
        end[i] = type.dim[i];
        step[i] = 1;
    }
    int64_t last = a->begin + (a->length - 1) * a->step;
    first[axis] = end[axis] = 0;
    if (a->length > 0) {
        first[axis] = a->step < 0 ? last : a->begin;
        end[axis] = (a->step < 0 ? a->begin : last) + 1;
        step[axis] = a->step < 0 ? -a->step : a->step > 0 ? a->step : 1;
    }
    x = artel__hlo_slice(lower->hlo, x, first, end, step);
    lower->out[0] = a->step < 0 && a->length > 1 ? artel__hlo_reverse(lower->hlo, x, axis) : x;
}

/* The gradient of a slice: input 0 is 0 everywhere. */
void artel__lower_insert(artel__lower *lower)
{
    const artel__slice_attributes *a = lower->attributes;
    artel__hlo_type out = artel__lower_out_type(lower, 0), scalar = {.dtype = out.dtype};
    artel__hlo_value part = operand(lower, 1);
    int64_t low[ARTEL__HLO_RANK] = {0}, high[ARTEL__HLO_RANK] = {0}, inside[ARTEL__HLO_RANK] = {0};
    int axis = ahead(lower, 1) + a->axis;
    int64_t last = a->begin + (a->length - 1) * a->step;
    if (a->length < 1) {
        lower->out[0] = artel__hlo_splat(lower->hlo, 0, &out);
        return;
    }
    if (a->step < 0 && a->length > 1) part = artel__hlo_reverse(lower->hlo, part, axis);
    low[axis] = a->step < 0 ? last : a->begin;
    high[axis] = out.dim[axis] - 1 - (a->step < 0 ? a->begin : last);
    inside[axis] = a->length > 1 ? (a->step < 0 ? -a->step : a->step) - 1 : 0;
    lower->out[0] = artel__hlo_pad(lower->hlo, part, artel__hlo_splat(lower->hlo, 0, &scalar), low, high, inside);
}

void artel__lower_blank(artel__lower *lower)
{
    artel__hlo_type type = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_splat(lower->hlo, 0, &type);
}

void artel__lower_concat_insert(artel__lower *lower)
{
    const artel__slice_attributes *a = lower->attributes;
    artel__hlo_value room = operand(lower, 0), first[ARTEL__HLO_RANK];
    artel__hlo_type type = *artel__hlo_type_of(lower->hlo, room), index = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_value zero = artel__hlo_splat(lower->hlo, 0, &index),
                     begin = artel__hlo_splat(lower->hlo, (double)a->begin, &index);
    for (int i = 0; i < type.rank; i++) first[i] = zero;
    first[ahead(lower, 0) + a->axis] = begin;
    lower->out[0] = artel__hlo_dynamic_update(lower->hlo, room, operand(lower, 1), first);
}

/* From the parts where the program has them all: what inserts have made is then dropped. */
void artel__lower_concat(artel__lower *lower)
{
    const artel__concat_attributes *a = lower->attributes;
    artel__hlo_value part[ARTEL__MAX_OPERANDS];
    int parts = lower->node->inputs - 1, front = ahead(lower, 0);
    bool all = parts > 0;
    for (int k = 0; k < parts; k++) all = all && lower->in[k + 1] >= 0 && ahead(lower, k + 1) == front;
    for (int k = 0; k < parts && all; k++) part[k] = operand(lower, k + 1);
    lower->out[0] = all ? artel__hlo_concatenate(lower->hlo, part, parts, front + a->axis) : operand(lower, 0);
}

void artel__lower_repeat(artel__lower *lower)
{
    const artel__repeat_attributes *a = lower->attributes;
    artel__hlo_value x = operand(lower, 0);
    artel__hlo_type type = *artel__hlo_type_of(lower->hlo, x), wide = {.dtype = type.dtype},
                    out = artel__lower_out_type(lower, 0);
    int axes[ARTEL__HLO_RANK], axis = ahead(lower, 0) + a->axis;
    for (int i = 0; i < type.rank; i++) {
        axes[i] = wide.rank;
        wide.dim[wide.rank++] = type.dim[i];
        if (i == axis) wide.dim[wide.rank++] = a->times;
    }
    lower->out[0] = artel__hlo_reshape(lower->hlo, artel__hlo_broadcast(lower->hlo, x, &wide, axes), &out);
}

/* The outputs come last and go to their place. Weights of images are no operands that --device-precision bfloat16 would
 * round. */
artel__hlo_value artel__lower_along(artel__lower *lower, artel__hlo_value x, const artel__lower_map *map)
{
    artel__hlo_type table = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {map->outputs, map->extent}};
    int axis = ahead(lower, 0) + map->axis, axes[ARTEL__HLO_RANK] = {0};
    bool narrow = lower->hlo->narrow;
    lower->hlo->narrow = false;
    artel__hlo_value y = artel__hlo_dot(lower->hlo, x, artel__hlo_table(lower->hlo, map->weights, &table), axis, 1);
    lower->hlo->narrow = narrow;
    int rank = artel__hlo_type_of(lower->hlo, y)->rank;
    for (int i = 0; i < rank; i++) axes[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
    return artel__hlo_transpose(lower->hlo, y, axes);
}
