/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of resizing filters, as the kernels behind tf.image.resize compute them (tensorflow/core/kernels/image).
 *
 * An output place o lies at (o + 1/2) in / out - 1/2 of the input. Nearest takes the place whose area it falls into.
 * Bilinear without antialiasing and bicubic without it have kernels of their own there: the shares of bicubic come from
 * a table of 1,024 steps, and places outside lose their weight to the others. All else is ScaleAndTranslate: the
 * filter, widened by in / out when it antialiases and the image becomes smaller, cut at the borders, its sum brought
 * to 1. Area weighs each place by the part of it that is covered.
 */
#include "nn/filter.h"

#include <math.h>

#include "base/scalar_math.h"
#include "op/elementwise.h"
#include "op/gather.h"
#include "op/reduce.h"

#define MOST_WEIGHTS ((int64_t)1 << 26)

const char *const artel__filters[] = {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "area", NULL};

typedef struct table {
    artel__op_band band;
    int32_t *first;
    float *weight;
} table;

static artel_status allocate(artel__arena *arena, int64_t extent, int64_t outputs, int64_t taps, table *out)
{
    if (taps > extent) taps = extent;
    if (taps < 1 || outputs > MOST_WEIGHTS / taps)
        return artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, "a resized axis", "choose a smaller size",
                           "%lld places from %lld are not supported", (long long)outputs, (long long)extent);
    out->first = artel__arena_alloc(arena, (size_t)outputs + 1, sizeof *out->first);
    out->weight = artel__arena_alloc(arena, (size_t)(outputs * taps) + 1, sizeof *out->weight);
    out->band = (artel__op_band){
        .extent = extent, .outputs = outputs, .taps = taps, .first = out->first, .weight = out->weight};
    return artel__arena_status(arena);
}

/* Weights for places start .. start + count - 1 of output o, none of them outside. */
static void put(table *t, int64_t o, int64_t start, int64_t count, const float *weight)
{
    int64_t first = start + t->band.taps > t->band.extent ? t->band.extent - t->band.taps : start;
    t->first[o] = (int32_t)first;
    for (int64_t k = 0; k < count && start + k - first < t->band.taps; k++)
        t->weight[o * t->band.taps + start + k - first] = weight[k];
}

/* -- filters -- */

static float triangle(float x)
{
    x = fabsf(x);
    return x < 1.0f ? 1.0f - x : 0.0f;
}

/* Keys' cubic. */
static float cubic(float x)
{
    x = fabsf(x);
    if (x >= 2.0f) return 0.0f;
    return x >= 1.0f ? ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f : ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

static float lanczos(float x, float radius)
{
    x = fabsf(x);
    if (x > radius) return 0.0f;
    if (x <= 1e-3f) return 1.0f;
    double pi = 3.14159265358979323846, at = pi * (double)x;
    return (float)((double)radius * artel__sin64(at) * artel__sin64(at / (double)radius) / (at * at));
}

static float radius_of(artel__filter filter)
{
    return filter == ARTEL__FILTER_LANCZOS3   ? 3.0f
           : filter == ARTEL__FILTER_LANCZOS5 ? 5.0f
           : filter == ARTEL__FILTER_BICUBIC  ? 2.0f
                                              : 1.0f;
}

static float filter_at(artel__filter filter, float x)
{
    if (filter == ARTEL__FILTER_BICUBIC) return cubic(x);
    return filter == ARTEL__FILTER_BILINEAR ? triangle(x) : lanczos(x, radius_of(filter));
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* -- tables -- */

static void fill_nearest(table *t)
{
    float scale = (float)t->band.extent / (float)t->band.outputs, one = 1.0f;
    for (int64_t o = 0; o < t->band.outputs; o++)
        put(t, o, clamp((int64_t)floorf(((float)o + 0.5f) * scale), 0, t->band.extent - 1), 1, &one);
}

static void fill_bicubic(table *t)
{
    float scale = (float)t->band.extent / (float)t->band.outputs;
    for (int64_t o = 0; o < t->band.outputs; o++) {
        float at = ((float)o + 0.5f) * scale - 0.5f, floor = floorf(at), sum = 0, weight[4];
        float share = (float)lrintf((at - floor) * 1024.0f) / 1024.0f;
        int64_t low = (int64_t)floor - 1, start = clamp(low, 0, t->band.extent - 1),
                end = clamp(low + 3, 0, t->band.extent - 1);
        for (int64_t i = start; i <= end; i++) sum += weight[i - start] = cubic(share - (float)(i - low - 1));
        for (int64_t i = start; i <= end; i++) weight[i - start] /= sum;
        put(t, o, start, end - start + 1, weight);
    }
}

static void fill_scaled(table *t, artel__filter filter, float widen, float *room)
{
    float inverse = (float)t->band.extent / (float)t->band.outputs, reach = radius_of(filter) * widen;
    for (int64_t o = 0; o < t->band.outputs; o++) {
        float at = ((float)o + 0.5f) * inverse, sum = 0;
        int64_t start = clamp((int64_t)ceilf(at - reach - 0.5f), 0, t->band.extent - 1);
        int64_t end = clamp((int64_t)floorf(at + reach - 0.5f), 0, t->band.extent - 1);
        for (int64_t i = start; i <= end; i++)
            sum += room[i - start] = filter_at(filter, (at - ((float)i + 0.5f)) / widen);
        for (int64_t i = start; i <= end && fabsf(sum) >= 1000.0f * 1.17549435e-38f; i++) room[i - start] /= sum;
        put(t, o, start, end - start + 1, room);
    }
}

static void fill_area(table *t, float *room)
{
    float scale = (float)t->band.extent / (float)t->band.outputs;
    for (int64_t o = 0; o < t->band.outputs; o++) {
        float low = (float)o * scale, high = (float)(o + 1) * scale;
        int64_t start = clamp((int64_t)floorf(low), 0, t->band.extent - 1),
                end = clamp((int64_t)ceilf(high) - 1, start, t->band.extent - 1);
        for (int64_t i = start; i <= end; i++) {
            float from = (float)i > low ? (float)i : low, to = (float)(i + 1) < high ? (float)(i + 1) : high;
            room[i - start] = (to - from) / scale;
        }
        put(t, o, start, end - start + 1, room);
    }
}

static artel__value_id resize_axis(artel__graph *graph, artel__value_id x, int axis, artel__filter filter,
                                   bool antialias, int64_t outputs)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int64_t extent = graph->value[x].shape.dim[axis];
    float scale = (float)extent / (float)outputs, widen = antialias && scale > 1.0f ? scale : 1.0f;
    int64_t taps = filter == ARTEL__FILTER_NEAREST ? 1
                   : filter == ARTEL__FILTER_AREA  ? (int64_t)ceilf(scale) + 2
                                                   : 2 * (int64_t)ceilf(radius_of(filter) * widen) + 1;
    table t;
    float *room = artel__arena_alloc(graph->arena, (size_t)(extent < taps ? extent : taps) + 4, sizeof *room);
    graph->status = room ? allocate(graph->arena, extent, outputs, taps, &t) : ARTEL_ERROR_NO_MEMORY;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (filter == ARTEL__FILTER_NEAREST)
        fill_nearest(&t);
    else if (filter == ARTEL__FILTER_AREA)
        fill_area(&t, room);
    else if (filter == ARTEL__FILTER_BICUBIC && !antialias)
        fill_bicubic(&t);
    else
        fill_scaled(&t, filter, widen, room);
    return artel__op_band_along(graph, x, axis, &t.band);
}

/* Nothing is computed, so any type keeps its digits. */
static artel__value_id pick_nearest(artel__graph *graph, artel__value_id x, int axis, int64_t outputs)
{
    table t;
    artel_shape shape = artel__shape(1, outputs);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    graph->status = allocate(graph->arena, graph->value[x].shape.dim[axis], outputs, 1, &t);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    fill_nearest(&t);
    return artel__op_take(graph, x, artel__op_constant(graph, ARTEL_DTYPE_INT32, &shape, t.first), axis);
}

/* Of float64: the filters behind tf.image.resize compute and give float32, whatever they get. */
static artel__value_id resize_wide(artel__graph *graph, artel__value_id x, artel__filter filter, bool antialias,
                                   int64_t height, int64_t width)
{
    int rank = graph->value[x].shape.rank;
    if (filter == ARTEL__FILTER_NEAREST)
        return pick_nearest(graph, pick_nearest(graph, x, rank - 3, height), rank - 2, width);
    x = artel__filter_resize(graph, artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT32), filter, antialias, height, width);
    return artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT64);
}

artel__value_id artel__filter_resize(artel__graph *graph, artel__value_id x, artel__filter filter, bool antialias,
                                     int64_t height, int64_t width)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64) return resize_wide(graph, x, filter, antialias, height, width);
    int rank = graph->value[x].shape.rank;
    if (filter == ARTEL__FILTER_BILINEAR && !antialias && rank == 3)
        return artel__op_resize_bilinear(graph, x, height, width);
    x = resize_axis(graph, x, rank - 3, filter, antialias, height);
    return resize_axis(graph, x, rank - 2, filter, antialias, width);
}

/* Window by window. */
static artel__value_id reduce_windows(artel__graph *graph, artel__value_id x, artel__reduction op, int axis,
                                      int64_t outputs)
{
    artel__value_id *window = artel__arena_alloc(graph->arena, (size_t)outputs, sizeof *window);
    if (!window || graph->status < 0) return ARTEL__NO_VALUE;
    int64_t extent = graph->value[x].shape.dim[axis];
    for (int64_t o = 0; o < outputs; o++) {
        int64_t start = o * extent / outputs, end = ((o + 1) * extent + outputs - 1) / outputs;
        window[o] = artel__op_slice(graph, x, axis, start, end - start, 1);
        window[o] = artel__op_reduce(graph, op, window[o], 1u << axis, true);
    }
    return outputs > 1 ? artel__op_concat(graph, window, (int)outputs, axis) : window[0];
}

artel__value_id artel__filter_maxima(artel__graph *graph, artel__value_id x, int axis, int64_t outputs)
{
    return reduce_windows(graph, x, ARTEL__REDUCE_MAX, axis, outputs);
}

artel__value_id artel__filter_means(artel__graph *graph, artel__value_id x, int axis, int64_t outputs)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->real == ARTEL_DTYPE_FLOAT64) return reduce_windows(graph, x, ARTEL__REDUCE_MEAN, axis, outputs);
    int64_t extent = graph->value[x].shape.dim[axis], taps = extent / outputs + 2;
    table t;
    float *room = artel__arena_alloc(graph->arena, (size_t)taps + 1, sizeof *room);
    graph->status = room ? allocate(graph->arena, extent, outputs, taps, &t) : ARTEL_ERROR_NO_MEMORY;
    for (int64_t o = 0; o < outputs && graph->status == ARTEL_OK; o++) {
        int64_t start = o * extent / outputs, end = ((o + 1) * extent + outputs - 1) / outputs;
        for (int64_t i = start; i < end; i++) room[i - start] = 1.0f / (float)(end - start);
        put(&t, o, start, end - start, room);
    }
    return artel__op_band_along(graph, x, axis, &t.band);
}

artel__value_id artel__filter_cut(artel__graph *graph, artel__value_id x, int64_t height, int64_t width)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape;
    int64_t crop[2] = {(int64_t)((float)(in.dim[1] * height) / (float)width),
                       (int64_t)((float)(in.dim[0] * width) / (float)height)};
    for (int i = 0; i < 2; i++) {
        int64_t length = crop[i] < in.dim[i] ? crop[i] : in.dim[i];
        if (length < 1) length = 1;
        x = artel__op_slice(graph, x, i, (in.dim[i] - length) / 2, length, 1);
    }
    return x;
}

artel__value_id artel__filter_frame(artel__graph *graph, artel__value_id x, int64_t height, int64_t width, double fill)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape;
    int64_t high = (int64_t)((float)(in.dim[1] * height) / (float)width),
            wide = (int64_t)((float)(in.dim[0] * width) / (float)height);
    int64_t border[3] = {high > in.dim[0] ? (high - in.dim[0]) / 2 : 0, wide > in.dim[1] ? (wide - in.dim[1]) / 2 : 0,
                         0};
    return artel__op_pad(graph, x, border, border, fill);
}
