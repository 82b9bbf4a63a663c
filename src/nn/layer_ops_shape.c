/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that move elements: slicing, reshaping, joining. See layer_ops.h. */
#include <string.h>

#include "nn/layer_ops.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"

static artel_status begin(const artel__layer *layer, const artel__call *call, artel__value_id *x, artel_shape *shape)
{
    ARTEL_TRY(artel__raw_tensor(layer, call, x));
    *shape = call->graph->value[*x].shape;
    return ARTEL_OK;
}

/* -- x[key] -- */

typedef struct cutter {
    artel__layer *layer;
    artel__graph *graph;
    artel__value_id x;
    int axis; /* next row axis */
    bool past_batch;
} cutter;

static bool is_record(json_t *part, const char *class_name)
{
    const char *name = json_string_value(json_object_get(part, "class_name"));
    return name && strcmp(name, class_name) == 0;
}

/* Where a slice begins, how many elements it has and its step, by Python's rules. */
static bool slice_range(json_t *config, int64_t length, int64_t *begin_, int64_t *count, int64_t *step)
{
    json_t *start = json_object_get(config, "start"), *stop = json_object_get(config, "stop"),
           *by = json_object_get(config, "step");
    *step = 1;
    if (by && !json_is_null(by) && !artel__json_integer(by, step)) return false;
    if (*step == 0 || *step > INT32_MAX || *step < -INT32_MAX) return false;
    int64_t low = *step > 0 ? 0 : -1, high = *step > 0 ? length : length - 1, from = *step > 0 ? low : high,
            to = *step > 0 ? high : low;
    json_t *given[] = {start, stop};
    int64_t *end[] = {&from, &to};
    for (int i = 0; i < 2; i++) {
        if (!given[i] || json_is_null(given[i])) continue;
        if (!artel__json_integer(given[i], end[i])) return false;
        if (*end[i] < 0) *end[i] += length;
        *end[i] = *end[i] < low ? low : *end[i] > high ? high : *end[i];
    }
    int64_t span = *step > 0 ? to - from : from - to, size = *step > 0 ? *step : -*step;
    *begin_ = from;
    *count = span > 0 ? (span + size - 1) / size : 0;
    return *count > 0;
}

static artel_status cut_slice(cutter *c, json_t *part)
{
    json_t *config = json_object_get(part, "config");
    int64_t from, count, step;
    if (!c->past_batch) {
        static const char *const keys[] = {"start", "stop", "step"};
        for (int i = 0; i < 3; i++) {
            json_t *value = json_object_get(config, keys[i]);
            if (value && !json_is_null(value)) return artel__raw_refuse(c->layer, "a slice of the batch");
        }
        c->past_batch = true;
        return ARTEL_OK;
    }
    if (c->axis >= c->graph->value[c->x].shape.rank) return artel__raw_refuse(c->layer, "more indices than axes");
    int64_t length = c->graph->value[c->x].shape.dim[c->axis];
    if (!slice_range(config, length, &from, &count, &step)) return artel__raw_refuse(c->layer, "an empty slice");
    if (count != length || step != 1) c->x = artel__op_slice(c->graph, c->x, c->axis, from, count, step);
    c->axis++;
    return c->graph->status;
}

static artel_status cut_index(cutter *c, int64_t index)
{
    artel_shape shape = c->graph->value[c->x].shape;
    if (!c->past_batch) return artel__raw_refuse(c->layer, "an index into the batch");
    if (c->axis >= shape.rank) return artel__raw_refuse(c->layer, "more indices than axes");
    if (index < 0) index += shape.dim[c->axis];
    c->x = artel__op_slice(c->graph, c->x, c->axis, index, 1, 1);
    for (int i = c->axis; i + 1 < shape.rank; i++) shape.dim[i] = shape.dim[i + 1];
    shape.rank--;
    c->x = artel__op_reshape(c->graph, c->x, &shape);
    return c->graph->status;
}

static artel_status open_axis(cutter *c, int axis)
{
    artel_shape shape = c->graph->value[c->x].shape;
    if (shape.rank >= ARTEL_MAX_RANK) return artel__raw_refuse(c->layer, "so many axes");
    for (int i = shape.rank++; i > axis; i--) shape.dim[i] = shape.dim[i - 1];
    shape.dim[axis] = 1;
    c->x = artel__op_reshape(c->graph, c->x, &shape);
    return c->graph->status;
}

/* Passes over the axes that an ellipsis stands for. */
static void pass_ellipsis(cutter *c, json_t *key, size_t at)
{
    int later = 0;
    for (size_t i = at + 1; i < json_array_size(key); i++) later += !json_is_null(json_array_get(key, i));
    c->past_batch = true;
    int stop = c->graph->value[c->x].shape.rank - later;
    if (stop > c->axis) c->axis = stop;
}

static artel_status cut(cutter *c, json_t *key, size_t at)
{
    json_t *part = json_array_get(key, at);
    int64_t index;
    if (is_record(part, "__slice__")) return cut_slice(c, part);
    if (is_record(part, "__ellipsis__")) {
        pass_ellipsis(c, key, at);
        return ARTEL_OK;
    }
    if (json_is_null(part)) {
        if (!c->past_batch) return artel__raw_refuse(c->layer, "a new axis before the batch");
        return open_axis(c, c->axis++);
    }
    if (artel__json_integer(part, &index)) return cut_index(c, index);
    return artel__raw_refuse(c->layer, "an index that is not an integer or a slice");
}

artel_status artel__raw_get_item(artel__layer *layer, artel__call *call)
{
    cutter c = {.layer = layer, .graph = call->graph};
    artel_shape shape;
    ARTEL_TRY(begin(layer, call, &c.x, &shape));
    json_t *key = artel__raw_argument(call, 1), *list = json_is_array(key) ? json_incref(key) : json_pack("[O]", key);
    artel_status status = list ? ARTEL_OK : artel__raw_refuse(layer, "this index");
    for (size_t i = 0; i < json_array_size(list) && status == ARTEL_OK; i++) status = cut(&c, list, i);
    json_decref(list);
    if (status == ARTEL_OK) artel__call_return(call, c.x);
    return status;
}

/* -- shapes -- */

artel_status artel__raw_reshape(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in, out = {.rank = 0};
    ARTEL_TRY(begin(layer, call, &x, &in));
    json_t *list = artel__raw_setting(layer, call, "newshape", 1);
    int64_t count = artel_shape_count(&in), known = 1, first = -1, extent;
    int open = -1;
    json_t *batch = json_array_get(list, 0);
    if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > ARTEL_MAX_RANK + 1 ||
        (!json_is_null(batch) && !artel__json_integer(batch, &first)))
        return artel__raw_refuse(layer, "this shape");
    for (size_t i = 1; i < json_array_size(list); i++) {
        if (!artel__json_integer(json_array_get(list, i), &extent) || extent < -1 || extent > INT32_MAX)
            return artel__raw_refuse(layer, "this shape");
        if (extent == -1) {
            if (open >= 0) return artel__raw_refuse(layer, "this shape");
            open = out.rank;
        } else if (extent && known > INT64_MAX / 2 / extent)
            return artel__raw_refuse(layer, "this shape");
        else
            known *= extent;
        out.dim[out.rank++] = extent;
    }
    if (open >= 0) {
        if (known < 1 || count % known) return artel__raw_refuse(layer, "this shape");
        out.dim[open] = count / known;
    } else if (known != count)
        return artel__raw_refuse(layer, "a shape that moves elements between rows");
    artel__call_return(call, artel__op_reshape(call->graph, x, &out));
    return ARTEL_OK;
}

artel_status artel__raw_transpose(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in;
    int permutation[ARTEL_MAX_RANK];
    ARTEL_TRY(begin(layer, call, &x, &in));
    json_t *axes = artel__raw_setting(layer, call, "axes", 1);
    if ((int)json_array_size(axes) != in.rank + 1) return artel__raw_refuse(layer, "these axes");
    uint32_t seen = 0;
    for (int i = 0; i <= in.rank; i++) {
        int64_t axis;
        if (!artel__json_integer(json_array_get(axes, (size_t)i), &axis)) return artel__raw_refuse(layer, "these axes");
        if (axis < 0) axis += in.rank + 1;
        if (axis < 0 || axis > in.rank || (i == 0) != (axis == 0) || (seen >> axis & 1u))
            return artel__raw_refuse(layer, "axes that move the batch");
        seen |= 1u << axis;
        if (i) permutation[i - 1] = (int)axis - 1;
    }
    artel__call_return(call, artel__op_transpose(call->graph, x, permutation));
    return ARTEL_OK;
}

artel_status artel__raw_swapaxes(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in;
    int permutation[ARTEL_MAX_RANK], a, b;
    ARTEL_TRY(begin(layer, call, &x, &in));
    ARTEL_TRY(artel__raw_axis(layer, call, "axis1", 0, in.rank, &a));
    ARTEL_TRY(artel__raw_axis(layer, call, "axis2", 0, in.rank, &b));
    for (int i = 0; i < in.rank; i++) permutation[i] = i == a ? b : i == b ? a : i;
    artel__call_return(call, artel__op_transpose(call->graph, x, permutation));
    return ARTEL_OK;
}

artel_status artel__raw_expand_dims(artel__layer *layer, artel__call *call)
{
    cutter c = {.layer = layer, .graph = call->graph};
    artel_shape in;
    uint32_t axes;
    ARTEL_TRY(begin(layer, call, &c.x, &in));
    json_t *given = artel__raw_setting(layer, call, "axis", 0);
    int count = json_is_array(given) ? (int)json_array_size(given) : 1;
    if (in.rank + count > ARTEL_MAX_RANK) return artel__raw_refuse(layer, "so many axes");
    ARTEL_TRY(artel__raw_axes(layer, call, in.rank + count, &axes));
    for (int i = 0; i < in.rank + count; i++) {
        if (axes >> i & 1u) ARTEL_TRY(open_axis(&c, i));
    }
    artel__call_return(call, c.x);
    return ARTEL_OK;
}

artel_status artel__raw_squeeze(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in, out = {.rank = 0};
    uint32_t axes = 0;
    ARTEL_TRY(begin(layer, call, &x, &in));
    if (artel__raw_setting(layer, call, "axis", 0))
        ARTEL_TRY(artel__raw_axes_repeated(layer, call, in.rank, &axes));
    else {
        for (int i = 0; i < in.rank; i++) axes |= in.dim[i] == 1 ? 1u << i : 0;
    }
    for (int i = 0; i < in.rank; i++) {
        if (!(axes >> i & 1u))
            out.dim[out.rank++] = in.dim[i];
        else if (in.dim[i] != 1)
            return artel__raw_refuse(layer, "an axis of more than one element");
    }
    artel__call_return(call, artel__op_reshape(call->graph, x, &out));
    return ARTEL_OK;
}

/* -- joining and splitting -- */

/* Collects the tensors of the first argument, all float32 unless all have one dtype. */
static artel_status collect(artel__layer *layer, artel__call *call, artel__value_id **out, int *count)
{
    json_t *list = artel__raw_argument(call, 0);
    artel__graph *graph = call->graph;
    *count = (int)json_array_size(list);
    *out = artel__arena_alloc(graph->arena, (size_t)*count + 1, sizeof **out);
    if (!*out) return ARTEL_ERROR_NO_MEMORY;
    bool same = true;
    for (int i = 0; i < *count; i++) {
        (*out)[i] = artel__call_tensor(call, json_array_get(list, (size_t)i)).value;
        if ((*out)[i] < 0) return artel__raw_refuse(layer, "a constant in the list");
        same = same && graph->value[(*out)[i]].dtype == graph->value[(*out)[0]].dtype;
    }
    for (int i = 0; i < *count && !same; i++) (*out)[i] = artel__as_float(graph, (*out)[i]);
    return *count ? graph->status : artel__raw_refuse(layer, "an empty list");
}

artel_status artel__raw_concatenate(artel__layer *layer, artel__call *call)
{
    artel__value_id *part;
    int count, axis;
    ARTEL_TRY(collect(layer, call, &part, &count));
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, call->graph->value[part[0]].shape.rank, &axis));
    artel__call_return(call, count == 1 ? part[0] : artel__op_concat(call->graph, part, count, axis));
    return ARTEL_OK;
}

artel_status artel__raw_stack(artel__layer *layer, artel__call *call)
{
    artel__value_id *part;
    int count, axis;
    ARTEL_TRY(collect(layer, call, &part, &count));
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, call->graph->value[part[0]].shape.rank + 1, &axis));
    for (int i = 0; i < count; i++) {
        cutter c = {.layer = layer, .graph = call->graph, .x = part[i]};
        if (axis > call->graph->value[part[i]].shape.rank)
            return artel__raw_refuse(layer, "tensors of different ranks");
        ARTEL_TRY(open_axis(&c, axis));
        part[i] = c.x;
    }
    artel__call_return(call, count == 1 ? part[0] : artel__op_concat(call->graph, part, count, axis));
    return ARTEL_OK;
}

artel_status artel__raw_split(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in;
    int axis;
    ARTEL_TRY(begin(layer, call, &x, &in));
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, in.rank, &axis));
    json_t *where = artel__raw_setting(layer, call, "indices_or_sections", 1);
    int64_t sections = 0, at = 0, end;
    bool even = artel__json_integer(where, &sections);
    if (!even) sections = (int64_t)json_array_size(where) + 1;
    if (sections < 1 || sections > ARTEL__LAYER_OUTPUTS || (even && in.dim[axis] % sections))
        return artel__raw_refuse(layer, "this number of parts");
    for (int i = 0; i < sections; i++) {
        end = in.dim[axis];
        if (even)
            end = (i + 1) * (in.dim[axis] / sections);
        else if (i + 1 < sections && !artel__json_integer(json_array_get(where, (size_t)i), &end))
            return artel__raw_refuse(layer, "these indices");
        if (end <= at || end > in.dim[axis]) return artel__raw_refuse(layer, "empty parts");
        call->out[i] = (artel__tensor){artel__op_slice(call->graph, x, axis, at, end - at, 1), ARTEL__NO_VALUE};
        at = end;
    }
    call->outputs = (int)sections;
    return ARTEL_OK;
}

artel_status artel__raw_flip(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in;
    uint32_t axes;
    ARTEL_TRY(begin(layer, call, &x, &in));
    ARTEL_TRY(artel__raw_axes(layer, call, in.rank, &axes));
    for (int i = 0; i < in.rank; i++) {
        if (axes >> i & 1u) x = artel__op_slice(call->graph, x, i, in.dim[i] - 1, in.dim[i], -1);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

/* Elements of an axis, each as often as the list says; those in a row that are repeated alike are one part. */
static artel_status repeat_each(artel__layer *layer, artel__call *call, artel__value_id x, int axis, json_t *list)
{
    artel__graph *graph = call->graph;
    int64_t length = graph->value[x].shape.dim[axis], begin_ = 0, times = 0, next;
    int parts = 0;
    artel__value_id *part = artel__arena_alloc(graph->arena, (size_t)length + 1, sizeof *part);
    if (!part) return ARTEL_ERROR_NO_MEMORY;
    if ((int64_t)json_array_size(list) != length) return artel__raw_refuse(layer, "this number of repeats");
    for (int64_t i = 0; i <= length; i++) {
        next = -1;
        bool whole = i == length || artel__json_integer(json_array_get(list, (size_t)i), &next);
        if (!whole || (i < length && (next < 0 || next > INT32_MAX)))
            return artel__raw_refuse(layer, "this number of repeats");
        if (i == 0) times = next;
        if (next == times) continue;
        artel__value_id same = artel__op_slice(graph, x, axis, begin_, i - begin_, 1);
        if (times) part[parts++] = times > 1 ? artel__op_repeat(graph, same, axis, times) : same;
        begin_ = i;
        times = next;
    }
    if (!parts) return artel__raw_refuse(layer, "no element left");
    artel__call_return(call, parts == 1 ? part[0] : artel__op_concat(graph, part, parts, axis));
    return graph->status;
}

artel_status artel__raw_repeat(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in;
    int axis;
    int64_t times = 0;
    ARTEL_TRY(begin(layer, call, &x, &in));
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, in.rank, &axis));
    json_t *given = artel__raw_setting(layer, call, "repeats", 1);
    if (json_array_size(given) == 1) given = json_array_get(given, 0);
    if (json_is_array(given)) return repeat_each(layer, call, x, axis, given);
    if (!artel__json_integer(given, &times) || times < 1 || times > INT32_MAX)
        return artel__raw_refuse(layer, "this number of repeats");
    artel__call_return(call, artel__op_repeat(call->graph, x, axis, times));
    return ARTEL_OK;
}

typedef enum border_kind {
    BORDER_CONSTANT,
    BORDER_REFLECT,  /* the edge itself is not repeated */
    BORDER_SYMMETRIC /* it is */
} border_kind;

static const char *const border_names[] = {"constant", "reflect", "symmetric"};

/* What lies inside an axis, mirrored at its ends. */
static artel_status mirror(artel__layer *layer, artel__graph *graph, artel__value_id *x, int axis, border_kind kind,
                           const int64_t width[2])
{
    if (graph->status < 0) return graph->status;
    int64_t n = graph->value[*x].shape.dim[axis], skip = kind == BORDER_REFLECT;
    artel__value_id part[3];
    int parts = 0;
    if (width[0] > n - skip || width[1] > n - skip)
        return artel__raw_refuse(layer, "a border wider than what it mirrors");
    if (width[0]) part[parts++] = artel__op_slice(graph, *x, axis, width[0] - 1 + skip, width[0], -1);
    part[parts++] = *x;
    if (width[1]) part[parts++] = artel__op_slice(graph, *x, axis, n - 1 - skip, width[1], -1);
    if (parts > 1) *x = artel__op_concat(graph, part, parts, axis);
    return graph->status;
}

artel_status artel__raw_pad(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape in;
    int64_t border[ARTEL_MAX_RANK + 1][2] = {{0, 0}}, before[ARTEL_MAX_RANK], after[ARTEL_MAX_RANK];
    ARTEL_TRY(begin(layer, call, &x, &in));
    json_t *width = artel__raw_setting(layer, call, "pad_width", 1);
    const char *mode = artel__raw_name(layer, call, "mode", "constant");
    size_t kind = 0;
    while (kind < ARTEL__COUNT(border_names) && strcmp(mode, border_names[kind]) != 0) kind++;
    if (kind == ARTEL__COUNT(border_names) || (int)json_array_size(width) != in.rank + 1)
        return artel__raw_refuse(layer, "this kind of border");
    for (int i = 0; i <= in.rank; i++) {
        for (int k = 0; k < 2; k++) {
            json_t *amount = json_array_get(json_array_get(width, (size_t)i), (size_t)k);
            if (!artel__json_integer(amount, &border[i][k]) || border[i][k] < 0 || border[i][k] > INT32_MAX ||
                (i == 0 && border[i][k]))
                return artel__raw_refuse(layer, "this border");
        }
        if (i) before[i - 1] = border[i][0];
        if (i) after[i - 1] = border[i][1];
    }
    for (int i = 0; i < in.rank && kind != BORDER_CONSTANT; i++)
        ARTEL_TRY(mirror(layer, call->graph, &x, i, (border_kind)kind, border[i + 1]));
    if (kind == BORDER_CONSTANT)
        x = artel__op_pad(call->graph, x, before, after, artel__raw_number(layer, call, "constant_values", 0));
    artel__call_return(call, x);
    return ARTEL_OK;
}
