/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear resizing of images, and one-hot codes.
 *
 *   resize   half-pixel centres, no antialiasing; the gradient scatters back to the four corners (kernel/shape_ops.h)
 *   one_hot  y[.., d] = index == d ? 1 : 0; no gradient
 */
#include "kernel/resize_formula.h"
#include "kernel/shape_ops.h"
#include "op/lower_shape_ops.h"
#include "op/ops.h"
#include "op/shape_ops.h"

typedef struct resize_attributes {
    int64_t height, width;
} resize_attributes;

static artel_status infer_resize(artel__infer *infer)
{
    const resize_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (shape.rank != 3) return artel__op_fail(infer, "expected images [height][width][channels]");
    shape.dim[0] = a->height;
    shape.dim[1] = a->width;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_resize(const artel__run_args *args, void *params)
{
    const artel_shape *in = &artel__args_in(args, 0)->shape, *out = &artel__args_out(args, 0)->shape;
    *(artel__resize_forward *)params = (artel__resize_forward){.method = ARTEL__RESIZE_BILINEAR,
                                                               .rows = artel__args_rows(args, args->node->output[0]),
                                                               .in_h = in->dim[0],
                                                               .in_w = in->dim[1],
                                                               .out_h = out->dim[0],
                                                               .out_w = out->dim[1],
                                                               .channels = in->dim[2],
                                                               .x = args->in[0],
                                                               .y = args->out[0]};
}

static void fill_resize_gradient(const artel__run_args *args, void *params)
{
    const artel_shape *dy = &artel__args_in(args, 0)->shape, *dx = &artel__args_out(args, 0)->shape;
    *(artel__resize_gradient *)params = (artel__resize_gradient){.method = ARTEL__RESIZE_BILINEAR,
                                                                 .rows = artel__args_rows(args, args->node->output[0]),
                                                                 .in_h = dx->dim[0],
                                                                 .in_w = dx->dim[1],
                                                                 .out_h = dy->dim[0],
                                                                 .out_w = dy->dim[1],
                                                                 .channels = dx->dim[2],
                                                                 .dy = args->in[0],
                                                                 .dx = args->out[0]};
}

/* Of a program of a device: lines and columns each go through a matrix of the shares. `turned`: the other way, which is
 * the gradient. */
static artel__hlo_value lower_axis(artel__lower *lower, artel__hlo_value x, int axis, bool turned)
{
    artel__hlo *h = lower->hlo;
    artel__lower_map map = {axis, artel__lower_in_type(lower, 0).dim[axis + 1],
                            artel__lower_out_type(lower, 0).dim[axis + 1], NULL};
    int64_t in = turned ? map.outputs : map.extent, out = turned ? map.extent : map.outputs;
    void *block;
    if (h->status < 0) return -1;
    h->status = artel__calloc(h->ctx, (size_t)(in * out) + 1, sizeof(float), "device", &block);
    if (h->status < 0) return -1;
    float *weight = block;
    for (int64_t o = 0; o < out && in > 0; o++) {
        resize_tap tap = resize_tap_of(o, in, out);
        weight[turned ? tap.lower * out + o : o * in + tap.lower] += 1.0f - tap.share;
        weight[turned ? tap.upper * out + o : o * in + tap.upper] += tap.share;
    }
    map.weights = weight;
    artel__hlo_value y = artel__lower_along(lower, x, &map);
    artel__free(h->ctx, block);
    return y;
}

static void lower_resize(artel__lower *lower)
{
    lower->out[0] = lower_axis(lower, lower_axis(lower, lower->in[0], 1, false), 0, false);
}

static void lower_resize_gradient(artel__lower *lower)
{
    lower->out[0] = lower_axis(lower, lower_axis(lower, lower->in[0], 0, true), 1, true);
}

/* Both are straight: each is the gradient of the other. */
static artel_status grad_resize_gradient(artel__gradient *g)
{
    const artel_shape *dy = &g->graph->value[g->in[0]].shape;
    resize_attributes attributes = {dy->dim[0], dy->dim[1]};
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_resize_def, &attributes, &g->out_gradient[0], 1);
    return g->graph->status;
}

const artel__op_def artel__op_resize_gradient_def = {
    .name = "resize_gradient",
    .doc = "Gradient of bilinear resizing.",
    .attribute_size = sizeof(resize_attributes),
    .infer = infer_resize,
    .grad = grad_resize_gradient,
    .lower = lower_resize_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__resize_gradient_kernels,
            .params_size = sizeof(artel__resize_gradient),
            .fill = fill_resize_gradient,
        },
};

static artel_status grad_resize(artel__gradient *g)
{
    const artel_shape *in = &g->graph->value[g->in[0]].shape;
    resize_attributes attributes = {in->dim[0], in->dim[1]};
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_resize_gradient_def, &attributes, &g->out_gradient[0], 1);
    return ARTEL_OK;
}

const artel__op_def artel__op_resize_def = {
    .name = "resize",
    .doc = "Bilinear resizing of images.",
    .attribute_size = sizeof(resize_attributes),
    .infer = infer_resize,
    .grad = grad_resize,
    .lower = lower_resize,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__resize_forward_kernels,
            .params_size = sizeof(artel__resize_forward),
            .fill = fill_resize,
        },
};

artel__value_id artel__op_resize_bilinear(artel__graph *graph, artel__value_id x, int64_t height, int64_t width)
{
    resize_attributes attributes = {height, width};
    return artel__graph_add(graph, &artel__op_resize_def, &attributes, &x, 1);
}

typedef struct one_hot_attributes {
    int64_t classes;
} one_hot_attributes;

static artel_status infer_one_hot(artel__infer *infer)
{
    const one_hot_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (infer->in[0]->dtype != ARTEL_DTYPE_INT32 || shape.rank >= ARTEL_MAX_RANK)
        return artel__op_fail(infer, "expected int32 classes");
    shape.dim[shape.rank++] = a->classes;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_one_hot(const artel__run_args *args, void *params)
{
    const one_hot_attributes *a = args->attributes;
    *(artel__one_hot *)params =
        (artel__one_hot){.positions = artel__args_rows(args, args->node->input[0]) * artel__args_in(args, 0)->storage,
                         .depth = a->classes,
                         .on = 1,
                         .off = 0,
                         .index = args->in[0],
                         .y = args->out[0]};
}

static void lower_one_hot(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), whole = out;
    int axes[ARTEL__HLO_RANK];
    whole.dtype = ARTEL_DTYPE_INT32;
    for (int i = 0; i < out.rank; i++) axes[i] = i;
    artel__hlo_value classes = artel__hlo_iota(h, &whole, out.rank - 1);
    artel__hlo_value met = artel__hlo_compare(h, "EQ", classes, artel__hlo_broadcast(h, lower->in[0], &whole, axes));
    lower->out[0] = artel__hlo_convert(h, met, ARTEL_DTYPE_FLOAT32);
}

const artel__op_def artel__op_one_hot_def = {
    .name = "one_hot",
    .doc = "Indicator vectors of classes.",
    .attribute_size = sizeof(one_hot_attributes),
    .infer = infer_one_hot,
    .lower = lower_one_hot,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__one_hot_kernels,
            .params_size = sizeof(artel__one_hot),
            .fill = fill_one_hot,
        },
};

artel__value_id artel__op_one_hot(artel__graph *graph, artel__value_id indices, int64_t classes)
{
    one_hot_attributes attributes = {classes};
    return artel__graph_add(graph, &artel__op_one_hot_def, &attributes, &indices, 1);
}
