/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: products and convolutions. See op_cases.h. */
#include "support/op_cases.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"

/* Behind positive inputs and weights, so far from 0 that a ReLU joined to them is on or off whatever these are. */
static artel__value_id far_bias(op_graph *g, artel_shape shape)
{
    return artel__op_affine(&g->graph, op_weight(g, OP_SIGNED, 0, shape), 80, 0);
}

static artel__value_id product_relu(op_graph *g)
{
    artel_shape columns = SHAPE(5);
    artel__value_id x = op_row(g, OP_POSITIVE, SHAPE(3, 7)), w = op_weight(g, OP_POSITIVE, 7, SHAPE(7, 5));
    return artel__op_product(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_LINEAR, NULL, x), w,
                             far_bias(g, columns), 1, &columns, ARTEL__FUSED_RELU);
}

static artel__value_id product(op_graph *g)
{
    bool relu = g->parameter & 1, bias = g->parameter & 2;
    int64_t n = g->parameter & 4 ? 37 : 5;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 7)), w = op_weight(g, OP_SIGNED, 7, SHAPE(7, n));
    artel_shape columns = SHAPE(n);
    artel__value_id y = artel__op_product(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_LINEAR, NULL, x), w,
                                          bias ? op_weight(g, OP_SIGNED, 0, SHAPE(n)) : ARTEL__NO_VALUE, 1, &columns,
                                          relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE);
    return y;
}

/* Of operands that a 16-bit type holds; bfloat16 in blocks, too, whose gradients it holds as well. */
static artel__value_id product_of_narrow(op_graph *g)
{
    artel_dtype to = g->parameter & 1 ? ARTEL_DTYPE_FLOAT16 : ARTEL_DTYPE_BFLOAT16;
    artel_shape columns = SHAPE(37);
    artel__value_id x = artel__op_narrow(&g->graph, op_row(g, OP_SIGNED, SHAPE(3, 7)), to);
    artel__value_id w = artel__op_narrow(&g->graph, op_weight(g, OP_SIGNED, 7, SHAPE(7, 37)), to);
    artel__value_id bias = g->parameter & 2 ? op_weight(g, OP_SIGNED, 0, columns) : ARTEL__NO_VALUE;
    if (g->parameter & 4) {
        g->graph.arithmetic = ARTEL__ARITHMETIC_TILES;
        g->graph.precision = to;
    }
    artel__value_id y = artel__op_product(&g->graph, x, w, bias, 1, &columns, ARTEL__FUSED_NONE);
    g->graph.precision = ARTEL_DTYPE_FLOAT32;
    return y;
}

static artel__value_id product_of_two_axes(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 2, 4)), w = op_weight(g, OP_SIGNED, 8, SHAPE(2, 4, 6));
    artel_shape columns = SHAPE(2, 3);
    return artel__op_product(&g->graph, x, w, op_weight(g, OP_SIGNED, 0, SHAPE(2, 3)), 2, &columns, ARTEL__FUSED_NONE);
}

/* So many that the data gradient turns them itself. */
static artel__value_id product_of_many_weights(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(600)), w = op_weight(g, OP_SIGNED, 600, SHAPE(600, 440));
    artel_shape columns = SHAPE(440);
    artel__value_id y = artel__op_unary(&g->graph, ARTEL__UNARY_LINEAR, NULL, x);
    return artel__op_product(&g->graph, y, w, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
}

/* Weights that are turned before they are panels. */
static artel__value_id product_of_panels(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5)), w = op_weight(g, OP_SIGNED, 0, SHAPE(35, 5));
    artel_shape columns = SHAPE(35);
    w = artel__op_panels(&g->graph, artel__op_transpose(&g->graph, w, (int[]){1, 0}));
    return artel__op_product(&g->graph, x, w, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
}

/* Input, output, window, stride, dilation, what is in front, groups. */
#define CONV(ih_, iw_, ic_, oh_, ow_, oc_, kh_, kw_, stride, dilation, top_, left_, groups_)                  \
    {                                                                                                         \
        .ih = ih_, .iw = iw_, .ic = ic_, .oh = oh_, .ow = ow_, .oc = oc_, .kh = kh_, .kw = kw_, .sh = stride, \
        .sw = stride, .dh = dilation, .dw = dilation, .top = top_, .left = left_, .groups = groups_           \
    }

const artel__conv2d_shape op_conv_shapes[] = {
    CONV(5, 6, 3, 5, 6, 5, 3, 3, 1, 1, 1, 1, 1), CONV(6, 5, 2, 3, 2, 4, 2, 3, 2, 1, 0, 0, 1),
    CONV(6, 6, 4, 4, 4, 6, 2, 2, 1, 2, 0, 0, 2), CONV(3, 3, 8, 3, 3, 4, 1, 1, 1, 1, 0, 0, 1),
    CONV(7, 6, 3, 4, 3, 4, 3, 2, 2, 2, 2, 0, 1)};

static artel__value_id build_conv(op_graph *g, artel__fused activation)
{
    const artel__conv2d_shape *s = &op_conv_shapes[g->parameter];
    int64_t k = s->ic / s->groups;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(s->ih, s->iw, s->ic)),
                    w = op_weight(g, OP_SIGNED, s->kh * s->kw * k, SHAPE(s->kh, s->kw, k, s->oc));
    return artel__op_conv2d(&g->graph, x, w, op_weight(g, OP_SIGNED, 0, SHAPE(s->oc)), s, activation);
}

artel__value_id op_build_conv(op_graph *g)
{
    return build_conv(g, ARTEL__FUSED_NONE);
}

static artel__value_id conv_relu_apart(op_graph *g)
{
    const artel__conv2d_shape *s = &op_conv_shapes[g->parameter];
    artel__value_id x = op_row(g, OP_POSITIVE, SHAPE(s->ih, s->iw, s->ic)),
                    w = op_weight(g, OP_POSITIVE, s->kh * s->kw * s->ic, SHAPE(s->kh, s->kw, s->ic, s->oc));
    return artel__op_conv2d(&g->graph, x, w, far_bias(g, SHAPE(s->oc)), s, ARTEL__FUSED_RELU);
}

static artel__value_id conv_relu(op_graph *g)
{
    return build_conv(g, ARTEL__FUSED_RELU);
}

static artel__value_id build_transposed(op_graph *g, artel__fused activation)
{
    const artel__conv2d_shape *s =
        &op_conv_shapes[g->parameter < 2 ? g->parameter : g->parameter + 1]; /* those without groups */
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(s->oh, s->ow, s->oc)),
                    w = op_weight(g, OP_SIGNED, s->kh * s->kw * s->ic, SHAPE(s->kh, s->kw, s->ic, s->oc));
    return artel__op_conv2d_transpose(&g->graph, x, w, op_weight(g, OP_SIGNED, 0, SHAPE(s->ic)), s, activation);
}

static artel__value_id conv_transpose_relu_apart(op_graph *g)
{
    const artel__conv2d_shape *s = &op_conv_shapes[g->parameter];
    artel__value_id x = op_row(g, OP_POSITIVE, SHAPE(s->oh, s->ow, s->oc)),
                    w = op_weight(g, OP_POSITIVE, s->kh * s->kw * s->ic, SHAPE(s->kh, s->kw, s->ic, s->oc));
    return artel__op_conv2d_transpose(&g->graph, x, w, far_bias(g, SHAPE(s->ic)), s, ARTEL__FUSED_RELU);
}

static artel__value_id conv_transpose(op_graph *g)
{
    return build_transposed(g, ARTEL__FUSED_NONE);
}

static artel__value_id conv_transpose_relu(op_graph *g)
{
    return build_transposed(g, ARTEL__FUSED_RELU);
}

static artel__value_id build_depthwise(op_graph *g, artel__fused activation)
{
    int64_t m = g->parameter;
    artel__conv2d_shape s = CONV(5, 4, 3, 5, 4, 3 * m, 3, 3, 1, 1, 1, 1, 3);
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5, 4, 3)), w = op_weight(g, OP_SIGNED, 0, SHAPE(3, 3, 3, m));
    artel__value_id bias = op_weight(g, OP_SIGNED, 0, SHAPE(3 * m));
    return artel__op_depthwise(&g->graph, x, w, bias, &s, activation);
}

static artel__value_id depthwise_relu_apart(op_graph *g)
{
    int64_t m = g->parameter;
    artel__conv2d_shape s = CONV(5, 4, 3, 5, 4, 3 * m, 3, 3, 1, 1, 1, 1, 3);
    artel__value_id x = op_row(g, OP_POSITIVE, SHAPE(5, 4, 3)), w = op_weight(g, OP_POSITIVE, 0, SHAPE(3, 3, 3, m));
    return artel__op_depthwise(&g->graph, x, w, far_bias(g, SHAPE(3 * m)), &s, ARTEL__FUSED_RELU);
}

static artel__value_id depthwise(op_graph *g)
{
    return build_depthwise(g, ARTEL__FUSED_NONE);
}

static artel__value_id depthwise_relu(op_graph *g)
{
    return build_depthwise(g, ARTEL__FUSED_RELU);
}

/* A ReLU is joined. */
static bool is_odd(int parameter)
{
    return parameter & 1;
}

const op_family op_cases_product[] = {
    {{.name = "product", .build = product, .tolerance = 0.02, .jumps = is_odd}, 8},
    {{.name = "product of two axes", .build = product_of_two_axes}, 1},
    {{.name = "product of narrow", .build = product_of_narrow, .tolerance = 0.25}, 8},
    {{.name = "product of many weights", .build = product_of_many_weights, .tolerance = 0.02}, 1},
    {{.name = "product of panels", .build = product_of_panels, .tolerance = 0.02}, 1},
    {{.name = "conv2d", .build = op_build_conv}, 5},
    {{.name = "product relu apart", .build = product_relu, .tolerance = 0.02}, 1},
    {{.name = "conv2d relu apart", .build = conv_relu_apart, .parameter = 1, .tolerance = 0.02}, 1},
    {{.name = "conv2d transposed relu apart", .build = conv_transpose_relu_apart, .parameter = 3, .tolerance = 0.02},
     1},
    {{.name = "depthwise relu apart", .build = depthwise_relu_apart, .parameter = 1, .tolerance = 0.02}, 2},
    {{.name = "conv2d relu", .build = conv_relu, .kinks = true}, 5},
    {{.name = "conv2d transposed", .build = conv_transpose}, 4},
    {{.name = "conv2d transposed relu", .build = conv_transpose_relu, .kinks = true}, 4},
    {{.name = "depthwise", .build = depthwise, .parameter = 1}, 2},
    {{.name = "depthwise relu", .build = depthwise_relu, .parameter = 1, .kinks = true}, 2},
    {.count = 0},
};
