/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and depthwise convolution over NHWC images.
 *
 *   out[n][oh][ow][oc] = activation(sum_{kh,kw,ic} x[n][oh*sh - top + kh*dh][...][ic] w[kh][kw][ic][oc] + b[oc])
 * The data gradient is a convolution with the transposed weights, the weight gradient a product over all output pixels
 * of a shard, folded over shards inside the kernel. A transposed convolution is the data gradient as a forward pass;
 * its own data gradient is then the convolution, its weight gradient that of the convolution with data and gradient
 * exchanged. Order of operations: kernel/conv.h and kernel/depthwise.h. One dimension is an image of height 1. With a
 * fused ReLU, dy is masked by out > 0 first. A row of the batch may be several images: its value has an axis of them in
 * front.
 */
#include "kernel/depthwise.h"
#include "op/conv_attributes.h"
#include "op/elementwise.h"
#include "op/lower_conv.h"
#include "op/op.h"
#include "op/second.h"

static artel_shape image_shape(const artel__conv2d_shape *s, int64_t h, int64_t w, int64_t c)
{
    return s->images > 0 ? artel__shape(4, s->images, h, w, c) : artel__shape(3, h, w, c);
}

static int64_t images_a_row(const artel__conv2d_shape *s)
{
    return s->images > 0 ? s->images : 1;
}

static int64_t filter_rows(const artel__conv2d_shape *s)
{
    return s->kh * s->kw * (s->ic / s->groups);
}

static artel_status infer_forward(artel__infer *infer)
{
    const artel__conv_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    const artel__conv2d_shape *s = &a->shape;
    artel_shape expected = image_shape(s, s->ih, s->iw, s->ic), out = image_shape(s, s->oh, s->ow, s->oc);
    char found[128], wanted[128];
    if (x->dtype != ARTEL_DTYPE_FLOAT32)
        return artel__op_fail(infer, "inputs are %s, expected float32", artel_dtype_name(x->dtype));
    if (!artel__shape_equal(&x->shape, &expected))
        return artel__op_fail(infer, "the input is %s, expected %s",
                              artel__shape_text(&x->shape, true, found, sizeof found),
                              artel__shape_text(&expected, true, wanted, sizeof wanted));
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &out);
    return ARTEL_OK;
}

static artel__conv2d_shape shape_now(const artel__run_args *args)
{
    artel__conv2d_shape shape = ((const artel__conv_attributes *)args->attributes)->shape;
    shape.images = images_a_row(&shape) * artel__args_rows(args, args->node->input[0]);
    return shape;
}

static void describe_conv(const artel__node *node, artel__text *out)
{
    const artel__conv_attributes *a = node->attributes;
    const artel__conv2d_shape *s = &a->shape;
    artel__text_printf(out, "%lldx%lld/%lld,%lld %lldx%lldx%lld -> %lldx%lldx%lld groups=%lld%s", (long long)s->kh,
                       (long long)s->kw, (long long)s->sh, (long long)s->sw, (long long)s->ih, (long long)s->iw,
                       (long long)s->ic, (long long)s->oh, (long long)s->ow, (long long)s->oc, (long long)s->groups,
                       a->activation ? " relu" : "");
    if (s->dh > 1 || s->dw > 1) artel__text_printf(out, " dilation=%lld,%lld", (long long)s->dh, (long long)s->dw);
    if (s->images > 0) artel__text_printf(out, " images=%lld", (long long)s->images);
}

/* Pairs of an output and a tap, along one axis, that meet inside the input. */
static int64_t meetings(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t before)
{
    int64_t count = 0;
    for (int64_t tap = 0; tap < kernel; tap++) {
        int64_t at = tap * dilation - before, first = at < 0 ? (-at + stride - 1) / stride : 0;
        int64_t last = at < in ? (in - 1 - at) / stride + 1 : 0;
        if (last > out) last = out;
        if (last > first) count += last - first;
    }
    return count;
}

/* Of taps inside the image: kernels leave the others out, or could. */
static int64_t cost_conv(const artel__graph *graph, const artel__node *node)
{
    const artel__conv2d_shape *s = &((const artel__conv_attributes *)node->attributes)->shape;
    (void)graph;
    return 2 * images_a_row(s) * meetings(s->ih, s->oh, s->kh, s->sh, s->dh, s->top) *
           meetings(s->iw, s->ow, s->kw, s->sw, s->dw, s->left) * (s->ic / s->groups) * s->oc;
}

/* Depthwise ones too: their kernels take the same parameters. */
static void fill_conv(const artel__run_args *args, void *params)
{
    artel_dtype held = artel__args_held(args, 0, 1);
    const artel__conv_attributes *a = args->attributes;
    *(artel__conv2d_forward *)params = (artel__conv2d_forward){.shape = shape_now(args),
                                                               .x = args->in[0],
                                                               .w = args->in[1],
                                                               .bias = a->bias ? args->in[2] : NULL,
                                                               .activation = a->activation,
                                                               .out = args->out[0],
                                                               .held = held,
                                                               .arithmetic = artel__args_arithmetic(args, held),
                                                               .x_half = artel__args_half_in(args, 0),
                                                               .out_half = artel__args_half_out(args, 0),
                                                               .w_raw = artel__args_raw_in(args, 1)};
}

/* -- gradients: attributes are those of the forward node -- */

static artel_status infer_data_gradient(artel__infer *infer)
{
    const artel__conv_attributes *a = infer->attributes;
    artel_shape out = image_shape(&a->shape, a->shape.ih, a->shape.iw, a->shape.ic);
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &out);
    return ARTEL_OK;
}

static void fill_conv_data(const artel__run_args *args, void *params)
{
    artel_dtype held = artel__args_held(args, 0, 1);
    *(artel__conv2d_data_gradient *)params =
        (artel__conv2d_data_gradient){.shape = shape_now(args),
                                      .dy = args->in[0],
                                      .wt = args->in[1],
                                      .dx = args->out[0],
                                      .held = held,
                                      .arithmetic = artel__args_arithmetic(args, held),
                                      .dy_half = artel__args_half_in(args, 0),
                                      .dx_half = artel__args_half_out(args, 0),
                                      .wt_raw = artel__args_raw_in(args, 1)};
}

static void fill_depthwise_data(const artel__run_args *args, void *params)
{
    *(artel__depthwise_data_gradient *)params = (artel__depthwise_data_gradient){
        .shape = shape_now(args), .dy = args->in[0], .w = args->in[1], .dx = args->out[0]};
}

static void infer_bias(artel__infer *infer, const artel__conv_attributes *a)
{
    artel_shape shape = artel__shape(1, a->shape.oc);
    if (a->bias) artel__infer_output(infer, 1, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &shape);
}

static artel_status infer_conv_weights(artel__infer *infer)
{
    const artel__conv_attributes *a = infer->attributes;
    artel_shape shape = artel__shape(2, filter_rows(&a->shape), a->shape.oc);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &shape);
    infer->out[0].storage = artel__panels_floats(shape.dim[0], shape.dim[1]);
    infer->out[0].layout = ARTEL__LAYOUT_PANELS;
    infer_bias(infer, a);
    return ARTEL_OK;
}

static artel_status infer_depthwise_weights(artel__infer *infer)
{
    const artel__conv_attributes *a = infer->attributes;
    artel_shape shape = artel__shape(4, a->shape.kh, a->shape.kw, a->shape.ic, a->shape.oc / a->shape.ic);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &shape);
    infer_bias(infer, a);
    return ARTEL_OK;
}

static void fill_conv_weights(const artel__run_args *args, void *params)
{
    artel_dtype held = artel__args_held(args, 0, 1);
    const artel__conv_attributes *a = args->attributes;
    *(artel__conv2d_weight_gradient *)params =
        (artel__conv2d_weight_gradient){.shape = shape_now(args),
                                        .fold = args->step->fold,
                                        .x = args->in[0],
                                        .dy = args->in[1],
                                        .dw = args->out[0],
                                        .dw_stride = artel__args_out(args, 0)->storage,
                                        .dbias = a->bias ? args->out[1] : NULL,
                                        .dbias_stride = a->shape.oc,
                                        .held = held,
                                        .arithmetic = artel__args_arithmetic(args, held),
                                        .x_half = artel__args_half_in(args, 0),
                                        .dy_half = artel__args_half_in(args, 1)};
}

const artel__op_def artel__op_conv2d_data_gradient_def = {
    .name = "conv2d_data_gradient",
    .doc = "Gradient of a convolution's input.",
    .attribute_size = sizeof(artel__conv_attributes),
    .infer = infer_data_gradient,
    .grad = artel__second_conv_data,
    .cost = cost_conv,
    .describe = describe_conv,
    .lower = artel__lower_conv_data,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__conv2d_data_gradient_kernels,
            .params_size = sizeof(artel__conv2d_data_gradient),
            .fill = fill_conv_data,
            .half_in = 1u << 0,
            .half_out = 1u << 0,
            .raw_in = 1u << 1,
            .narrow = offsetof(artel__conv2d_data_gradient, narrow),
        },
};

const artel__op_def artel__op_conv2d_weight_gradient_def = {
    .name = "conv2d_weight_gradient",
    .doc = "Gradient of a convolution's weights and bias, folded over shards in the tile.",
    .attribute_size = sizeof(artel__conv_attributes),
    .infer = infer_conv_weights,
    .grad = artel__second_conv_weights,
    .cost = cost_conv,
    .describe = describe_conv,
    .lower = artel__lower_conv_weights,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__conv2d_weight_gradient_kernels,
            .params_size = sizeof(artel__conv2d_weight_gradient),
            .fill = fill_conv_weights,
            .half_in = 3u,
            .follow = offsetof(artel__conv2d_weight_gradient, follow),
        },
};

const artel__op_def artel__op_depthwise_data_gradient_def = {
    .name = "depthwise_data_gradient",
    .doc = "Gradient of a depthwise convolution's input.",
    .attribute_size = sizeof(artel__conv_attributes),
    .infer = infer_data_gradient,
    .grad = artel__second_depthwise_data,
    .cost = cost_conv,
    .describe = describe_conv,
    .lower = artel__lower_depthwise_data,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__depthwise_data_gradient_kernels,
            .params_size = sizeof(artel__depthwise_data_gradient),
            .fill = fill_depthwise_data,
        },
};

const artel__op_def artel__op_depthwise_weight_gradient_def = {
    .name = "depthwise_weight_gradient",
    .doc = "Gradient of a depthwise convolution's weights and bias, folded over shards.",
    .attribute_size = sizeof(artel__conv_attributes),
    .infer = infer_depthwise_weights,
    .grad = artel__second_conv_weights,
    .cost = cost_conv,
    .describe = describe_conv,
    .lower = artel__lower_depthwise_weights,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__depthwise_weight_gradient_kernels,
            .params_size = sizeof(artel__depthwise_weight_gradient),
            .fill = fill_conv_weights,
            .half_in = 3u,
        },
};

static void grad_weights(artel__gradient *g, const artel__op_def *op, artel__conv_attributes attributes,
                         artel__value_id dy)
{
    if (!g->needed[1] && !g->needed[2]) return;
    attributes.bias = g->needed[2];
    artel__value_id nodes = artel__graph_add(g->graph, op, &attributes, (artel__value_id[]){g->in[0], dy}, 2);
    if (g->needed[1]) g->in_gradient[1] = artel__op_all_reduce(g->graph, nodes);
    if (g->needed[2]) g->in_gradient[2] = artel__op_all_reduce(g->graph, artel__graph_output(g->graph, nodes, 1));
}

static artel__value_id masked(artel__gradient *g)
{
    const artel__conv_attributes *a = g->attributes;
    if (a->activation != ARTEL__FUSED_RELU) return g->out_gradient[0];
    return artel__op_relu_mask(g->graph, g->out_gradient[0], g->out[0]);
}

static artel_status grad_conv(artel__gradient *g)
{
    const artel__conv_attributes *a = g->attributes;
    const artel__conv2d_shape *s = &a->shape;
    artel__value_id dy = masked(g);
    if (g->needed[0]) {
        artel__value_id wt =
            artel__op_transpose_weights(g->graph, g->in[1], s->kh * s->kw, s->ic / s->groups, s->oc, s->groups);
        g->in_gradient[0] =
            artel__graph_add(g->graph, &artel__op_conv2d_data_gradient_def, a, (artel__value_id[]){dy, wt}, 2);
    }
    grad_weights(g, &artel__op_conv2d_weight_gradient_def, *a, dy);
    return ARTEL_OK;
}

static artel_status grad_depthwise(artel__gradient *g)
{
    artel__value_id dy = masked(g);
    if (g->needed[0])
        g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_depthwise_data_gradient_def, g->attributes,
                                             (artel__value_id[]){dy, g->in[1]}, 2);
    grad_weights(g, &artel__op_depthwise_weight_gradient_def, *(const artel__conv_attributes *)g->attributes, dy);
    return ARTEL_OK;
}

/* -- transposed; inputs: x, the weights transposed, the weights (of which only gradients know), bias -- */

static artel_status infer_transpose(artel__infer *infer)
{
    const artel__conv_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    artel_shape expected = image_shape(&a->shape, a->shape.oh, a->shape.ow, a->shape.oc);
    if (x->dtype != ARTEL_DTYPE_FLOAT32 || !artel__shape_equal(&x->shape, &expected))
        return artel__op_fail(infer, "the input does not have the form of what a convolution gives");
    return infer_data_gradient(infer);
}

static void fill_transpose(const artel__run_args *args, void *params)
{
    artel_dtype held = artel__args_held(args, 0, 1);
    const artel__conv_attributes *a = args->attributes;
    *(artel__conv2d_data_gradient *)params =
        (artel__conv2d_data_gradient){.shape = shape_now(args),
                                      .dy = args->in[0],
                                      .wt = args->in[1],
                                      .bias = a->bias ? args->in[3] : NULL,
                                      .activation = a->activation,
                                      .dx = args->out[0],
                                      .held = held,
                                      .arithmetic = artel__args_arithmetic(args, held),
                                      .dy_half = artel__args_half_in(args, 0),
                                      .dx_half = artel__args_half_out(args, 0),
                                      .wt_raw = artel__args_raw_in(args, 1)};
}

static artel_status grad_transpose(artel__gradient *g)
{
    artel__conv_attributes a = *(const artel__conv_attributes *)g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id dy = masked(g), like = g->in[3];
    a.bias = false;
    a.activation = ARTEL__FUSED_NONE;
    if (g->needed[0])
        g->in_gradient[0] = artel__op_conv2d(graph, dy, g->in[2], ARTEL__NO_VALUE, &a.shape, ARTEL__FUSED_NONE);
    if (g->needed[2])
        g->in_gradient[2] = artel__op_all_reduce(graph, artel__graph_add(graph, &artel__op_conv2d_weight_gradient_def,
                                                                         &a, (artel__value_id[]){dy, g->in[0]}, 2));
    if (g->needed[3]) g->in_gradient[3] = artel__op_sum_to(graph, dy, like);
    return graph->status;
}

const artel__op_def artel__op_conv2d_transpose_def = {
    .name = "conv2d_transpose",
    .doc = "Transposed convolution of NHWC images with bias and ReLU fused.",
    .attribute_size = sizeof(artel__conv_attributes),
    .infer = infer_transpose,
    .grad = grad_transpose,
    .cost = cost_conv,
    .describe = describe_conv,
    .lower = artel__lower_conv_transpose,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__conv2d_data_gradient_kernels,
            .params_size = sizeof(artel__conv2d_data_gradient),
            .fill = fill_transpose,
            .half_in = 1u << 0,
            .half_out = 1u << 0,
            .raw_in = 1u << 1,
            .narrow = offsetof(artel__conv2d_data_gradient, narrow),
        },
};

artel__value_id artel__op_conv2d_transpose(artel__graph *graph, artel__value_id x, artel__value_id w,
                                           artel__value_id bias, const artel__conv2d_shape *shape,
                                           artel__fused activation)
{
    artel__conv_attributes attributes = {*shape, activation, bias >= 0};
    artel__value_id wt = artel__op_transpose_weights(graph, w, shape->kh * shape->kw, shape->ic, shape->oc, 1);
    return artel__graph_add(graph, &artel__op_conv2d_transpose_def, &attributes, (artel__value_id[]){x, wt, w, bias},
                            bias >= 0 ? 4 : 3);
}

const artel__op_def artel__op_conv2d_def = {
    .name = "conv2d",
    .doc = "Convolution of NHWC images with bias and ReLU fused.",
    .attribute_size = sizeof(artel__conv_attributes),
    .infer = infer_forward,
    .grad = grad_conv,
    .cost = cost_conv,
    .describe = describe_conv,
    .lower = artel__lower_conv,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__conv2d_forward_kernels,
            .params_size = sizeof(artel__conv2d_forward),
            .fill = fill_conv,
            .half_in = 1u << 0,
            .half_out = 1u << 0,
            .raw_in = 1u << 1,
            .narrow = offsetof(artel__conv2d_forward, narrow),
        },
};

const artel__op_def artel__op_depthwise_def = {
    .name = "depthwise",
    .doc = "Depthwise convolution of NHWC images with bias and ReLU fused.",
    .attribute_size = sizeof(artel__conv_attributes),
    .infer = infer_forward,
    .grad = grad_depthwise,
    .cost = cost_conv,
    .describe = describe_conv,
    .lower = artel__lower_depthwise,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__depthwise_forward_kernels,
            .params_size = sizeof(artel__depthwise_forward),
            .fill = fill_conv,
            .half_in = 1u,
            .half_out = 1u,
        },
};

static artel__value_id add_conv(artel__graph *graph, const artel__op_def *op, const artel__conv_attributes *attributes,
                                artel__value_id x, artel__value_id w, artel__value_id bias)
{
    return artel__graph_add(graph, op, attributes, (artel__value_id[]){x, w, bias}, bias >= 0 ? 3 : 2);
}

artel__value_id artel__op_conv2d(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                 const artel__conv2d_shape *shape, artel__fused activation)
{
    artel__conv_attributes attributes = {*shape, activation, bias >= 0};
    return add_conv(graph, &artel__op_conv2d_def, &attributes, x, w, bias);
}

artel__value_id artel__op_depthwise(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                    const artel__conv2d_shape *shape, artel__fused activation)
{
    artel__conv_attributes attributes = {*shape, activation, bias >= 0};
    return add_conv(graph, &artel__op_depthwise_def, &attributes, x, w, bias);
}
