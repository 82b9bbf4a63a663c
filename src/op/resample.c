/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: bands of weights along an axis, and images through an affine map of their own.
 *
 *   band  y[.., o, ..] = sum over k of weight[o][k] * x[.., first[o] + k, ..]; the gradient is the transposed band
 *   warp  y[i][j] = x at (m0 j + m1 i + m2, m3 j + m4 i + m5), by row, divided by m6 j + m7 i + 1 where maps have eight
 * numbers; the gradient scatters to the places read, the map has none Formulas and orders: kernel/resample.h.
 */
#include "kernel/resample.h"

#include <string.h>

#include "op/lower_shape_ops.h"
#include "op/lower_warp.h"
#include "op/node_attributes.h"
#include "op/ops.h"
#include "op/shape_ops.h"

/* -- bands -- */

typedef artel__band_attributes band_attributes;

static artel_status infer_band(artel__infer *infer)
{
    const band_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (infer->in[0]->dtype != ARTEL_DTYPE_FLOAT32 || a->axis < 0 || a->axis >= shape.rank ||
        shape.dim[a->axis] != a->band.extent)
        return artel__op_fail(infer, "expected float32 with %lld places along the axis", (long long)a->band.extent);
    shape.dim[a->axis] = a->band.outputs;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_band(const artel__run_args *args, void *params)
{
    const band_attributes *a = args->attributes;
    const artel_shape *in = &artel__args_in(args, 0)->shape;
    *(artel__band *)params =
        (artel__band){.outer = artel__args_rows(args, args->node->input[0]) * artel__shape_product(in, 0, a->axis),
                      .extent = a->band.extent,
                      .outputs = a->band.outputs,
                      .inner = artel__shape_product(in, a->axis + 1, in->rank),
                      .taps = a->band.taps,
                      .first = a->band.first,
                      .weight = a->band.weight,
                      .x = args->in[0],
                      .y = args->out[0]};
}

/* The outputs that read a place are neighbours, for `first` never falls. */
static artel_status transpose(artel__arena *arena, const artel__op_band *from, artel__op_band *out)
{
    int32_t *first = artel__arena_alloc(arena, (size_t)from->extent, sizeof *first);
    int32_t *last = artel__arena_alloc(arena, (size_t)from->extent, sizeof *last);
    if (!first || !last) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < from->extent; i++) first[i] = -1;
    for (int64_t o = 0; o < from->outputs; o++) {
        for (int64_t k = 0; k < from->taps; k++) {
            int64_t i = from->first[o] + k;
            if (first[i] < 0) first[i] = (int32_t)o;
            last[i] = (int32_t)o;
        }
    }
    int64_t taps = 1;
    for (int64_t i = 0; i < from->extent; i++) {
        if (first[i] < 0) first[i] = last[i] = 0;
        if (last[i] - first[i] + 1 > taps) taps = last[i] - first[i] + 1;
    }
    float *weight = artel__arena_alloc(arena, (size_t)(from->extent * taps), sizeof *weight);
    if (!weight) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < from->extent; i++) {
        if (first[i] > from->outputs - taps) first[i] = (int32_t)(from->outputs - taps);
        for (int64_t k = 0; k < taps; k++) {
            int64_t o = first[i] + k, at = i - from->first[o];
            weight[i * taps + k] = at >= 0 && at < from->taps ? from->weight[o * from->taps + at] : 0.0f;
        }
    }
    *out = (artel__op_band){
        .extent = from->outputs, .outputs = from->extent, .taps = taps, .first = first, .weight = weight};
    return ARTEL_OK;
}

static artel_status grad_band(artel__gradient *g)
{
    const band_attributes *a = g->attributes;
    artel__op_band turned;
    ARTEL_TRY(transpose(g->graph->arena, &a->band, &turned));
    g->in_gradient[0] = artel__op_band_along(g->graph, g->out_gradient[0], a->axis, &turned);
    return g->graph->status;
}

static void lower_band(artel__lower *lower)
{
    const band_attributes *a = lower->attributes;
    const artel__op_band *band = &a->band;
    artel__lower_map map = {a->axis, band->extent, band->outputs, NULL};
    artel__hlo *h = lower->hlo;
    void *block;
    if (h->status < 0) return;
    h->status = artel__calloc(h->ctx, (size_t)(band->extent * band->outputs) + 1, sizeof(float), "device", &block);
    if (h->status < 0) return;
    float *weight = block;
    for (int64_t o = 0; o < band->outputs; o++) {
        for (int64_t k = 0; k < band->taps; k++)
            weight[o * band->extent + band->first[o] + k] = band->weight[o * band->taps + k];
    }
    map.weights = weight;
    lower->out[0] = artel__lower_along(lower, lower->in[0], &map);
    artel__free(h->ctx, block);
}

const artel__op_def artel__op_band_def = {
    .name = "band",
    .doc = "Runs of weights along an axis.",
    .attribute_size = sizeof(band_attributes),
    .infer = infer_band,
    .grad = grad_band,
    .lower = lower_band,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__band_kernels,
            .params_size = sizeof(artel__band),
            .fill = fill_band,
        },
};

artel__value_id artel__op_band_along(artel__graph *graph, artel__value_id x, int axis, const artel__op_band *band)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    band_attributes attributes = {axis < 0 ? axis + graph->value[x].shape.rank : axis, *band};
    return artel__graph_add(graph, &artel__op_band_def, &attributes, &x, 1);
}

/* -- affine maps -- */

static artel_status infer_warp(artel__infer *infer)
{
    const artel__warp_settings *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (shape.rank != 3 || infer->in[0]->dtype != ARTEL_DTYPE_FLOAT32 || infer->in[0]->domain != ARTEL__DOMAIN_ROW ||
        infer->in[1]->domain != ARTEL__DOMAIN_ROW || (infer->in[1]->storage != 6 && infer->in[1]->storage != 8))
        return artel__op_fail(infer, "expected images [height][width][channels] and six or eight numbers for each");
    shape.dim[0] = a->height;
    shape.dim[1] = a->width;
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static artel__warp warp_of(const artel__run_args *args, const artel_shape *in, const artel_shape *out)
{
    const artel__warp_settings *a = args->attributes;
    return (artel__warp){.rows = artel__args_rows(args, args->node->input[0]),
                         .in_h = in->dim[0],
                         .in_w = in->dim[1],
                         .out_h = out->dim[0],
                         .out_w = out->dim[1],
                         .channels = in->dim[2],
                         .bilinear = a->bilinear,
                         .mode = a->mode,
                         .fill = a->fill,
                         .numbers = (int)artel__args_in(args, 1)->storage,
                         .map = args->in[1]};
}

static void fill_warp(const artel__run_args *args, void *params)
{
    artel__warp *p = params;
    *p = warp_of(args, &artel__args_in(args, 0)->shape, &artel__args_out(args, 0)->shape);
    p->x = args->in[0];
    p->y = args->out[0];
}

/* Of the gradient node, height and width are those of the images. */
static void fill_warp_gradient(const artel__run_args *args, void *params)
{
    artel__warp_gradient *p = params;
    p->as = warp_of(args, &artel__args_out(args, 0)->shape, &artel__args_in(args, 0)->shape);
    p->dy = args->in[0];
    p->dx = args->out[0];
}

/* Straight in dy, as the images are. What a fill stands for is no part of a slope. */
static artel_status grad_warp_gradient(artel__gradient *g)
{
    artel__warp_settings attributes = *(const artel__warp_settings *)g->attributes;
    const artel_shape *dy = &g->graph->value[g->in[0]].shape;
    artel__value_id operand[] = {g->out_gradient[0], g->in[1]};
    attributes.height = dy->dim[0];
    attributes.width = dy->dim[1];
    attributes.fill = 0;
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_warp_def, &attributes, operand, 2);
    return g->graph->status;
}

const artel__op_def artel__op_warp_gradient_def = {
    .name = "warp_gradient",
    .doc = "Gradient of images through an affine map.",
    .attribute_size = sizeof(artel__warp_settings),
    .infer = infer_warp,
    .grad = grad_warp_gradient,
    .lower = artel__lower_warp_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__warp_gradient_kernels,
            .params_size = sizeof(artel__warp_gradient),
            .fill = fill_warp_gradient,
        },
};

static artel_status grad_warp(artel__gradient *g)
{
    artel__warp_settings attributes = *(const artel__warp_settings *)g->attributes;
    const artel_shape *in = &g->graph->value[g->in[0]].shape;
    artel__value_id operand[] = {g->out_gradient[0], g->in[1]};
    attributes.height = in->dim[0];
    attributes.width = in->dim[1];
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_warp_gradient_def, &attributes, operand, 2);
    return ARTEL_OK;
}

const artel__op_def artel__op_warp_def = {
    .name = "warp",
    .doc = "Images through an affine map of their own.",
    .attribute_size = sizeof(artel__warp_settings),
    .infer = infer_warp,
    .grad = grad_warp,
    .lower = artel__lower_warp,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__warp_kernels,
            .params_size = sizeof(artel__warp),
            .fill = fill_warp,
        },
};

artel__value_id artel__op_warp(artel__graph *graph, artel__value_id x, artel__value_id map,
                               const artel__warp_settings *warp)
{
    artel__value_id operand[] = {x, map};
    return artel__graph_add(graph, &artel__op_warp_def, warp, operand, 2);
}
