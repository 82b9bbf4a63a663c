/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation in small graphs. See the header. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/op_cases.h"
#include "op/batch_rows.h"
#include "op/elementwise.h"
#include "op/loss.h"
#include "op/embed.h"
#include "op/fuse.h"
#include "op/norm.h"
#include "op/optimize.h"
#include "op/recurrent.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- element-wise -- */

static artel__value_id unary(op_graph *g)
{
    static const float constants[ARTEL__UNARY_COUNT][3] = {[ARTEL__UNARY_RELU] = {0.1f, INFINITY, 0.0f},
                                                           [ARTEL__UNARY_LEAKY_RELU] = {0.2f},
                                                           [ARTEL__UNARY_ELU] = {1.3f},
                                                           [ARTEL__UNARY_CELU] = {1.2f},
                                                           [ARTEL__UNARY_SOFT_SHRINK] = {0.1f},
                                                           [ARTEL__UNARY_HARD_SHRINK] = {0.1f},
                                                           [ARTEL__UNARY_SQUAREPLUS] = {4.0f},
                                                           [ARTEL__UNARY_THRESHOLD] = {0.1f, 0.5f},
                                                           [ARTEL__UNARY_SCALE_SHIFT] = {1.5f, -0.25f},
                                                           [ARTEL__UNARY_CLIP] = {-0.1f, 1.5f},
                                                           [ARTEL__UNARY_POWER] = {1.7f}};
    artel__unary f = (artel__unary)g->parameter;
    bool positive = f == ARTEL__UNARY_LOG || f == ARTEL__UNARY_SQRT || f == ARTEL__UNARY_RSQRT || f == ARTEL__UNARY_POWER ||
                    f == ARTEL__UNARY_RECIPROCAL || f == ARTEL__UNARY_LOG1P;
    return artel__op_unary(&g->graph, f, constants[f], op_row(g, positive ? OP_POSITIVE : OP_SIGNED, SHAPE(3, 7)));
}

static artel__value_id unary_wide(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(19));
    return artel__op_unary(&g->graph, (artel__unary)g->parameter, NULL, artel__op_affine(&g->graph, x, 8.3f, 0.21f));
}

/* `x` where it is a number, 7 where not, and behind it what shows its zeros' signs: a quotient (not of equals, of which either is taken). */
static artel__value_id shown(op_graph *g, artel__value_id x, bool equals)
{
    artel__value_id seven = artel__op_affine(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_ZERO_TEST, NULL, x), 0, 7);
    x = artel__op_where(&g->graph, artel__op_compare(&g->graph, ARTEL__COMPARE_EQUAL, x, x), x, seven);
    if (equals) return x;
    artel__value_id both[] = {x, artel__op_unary(&g->graph, ARTEL__UNARY_RECIPROCAL, NULL, x)};
    return artel__op_concat(&g->graph, both, 2, 0);
}

/* Zeros, numbers, infinities of both signs and NaN, by thirds of the axis. */
static artel__value_id edges(op_graph *g, artel__value_id x)
{
    artel__value_id zero = artel__op_affine(&g->graph, x, 0, 0), far = artel__op_affine(&g->graph, x, INFINITY, 0);
    artel__value_id part[] = {artel__op_binary(&g->graph, ARTEL__BINARY_MUL, x, artel__op_unary(&g->graph, ARTEL__UNARY_ABS, NULL, zero)),
                              x, far, artel__op_binary(&g->graph, ARTEL__BINARY_SUB, far, far)};
    return artel__op_concat(&g->graph, part, 4, 0);
}

static artel__value_id unary_edges(op_graph *g)
{
    artel__value_id x = edges(g, op_row(g, OP_SIGNED, SHAPE(8)));
    float constants[3] = {g->parameter == ARTEL__UNARY_RELU ? 0.0f : 1.0f, g->parameter == ARTEL__UNARY_RELU ? INFINITY : 2.0f, 0.0f};
    return shown(g, artel__op_unary(&g->graph, (artel__unary)g->parameter, constants, x), false);
}

/* Each with each. */
static artel__value_id binary_edges(op_graph *g)
{
    artel__value_id a = edges(g, op_row(g, OP_SIGNED, SHAPE(3))), b = edges(g, op_row(g, OP_SIGNED, SHAPE(3)));
    artel_shape column = SHAPE(12, 1), all = SHAPE(144);
    artel__value_id y = artel__op_binary(&g->graph, (artel__binary)g->parameter, artel__op_reshape(&g->graph, b, &column), a);
    return shown(g, artel__op_reshape(&g->graph, y, &all), g->parameter == ARTEL__BINARY_MAX || g->parameter == ARTEL__BINARY_MIN);
}

/* Quotients of quotients, whose divisors' product would overflow. */
static artel__value_id quotients(op_graph *g)
{
    artel__value_id a = op_row(g, OP_POSITIVE, SHAPE(6)), b = artel__op_affine(&g->graph, op_row(g, OP_POSITIVE, SHAPE(6)), 3e38f, 0);
    artel__value_id large = artel__op_affine(&g->graph, a, 1e20f, 1e20f), y = artel__op_binary(&g->graph, ARTEL__BINARY_DIV, large, b);
    return artel__op_affine(&g->graph, artel__op_binary(&g->graph, ARTEL__BINARY_DIV, y, artel__op_affine(&g->graph, a, 1, 9)), 1e20f, 0);
}

/* The tail of the normal distribution has digits of its own. */
static artel__value_id gelu_tail(op_graph *g)
{
    artel__value_id v = artel__op_affine(&g->graph, op_row(g, OP_POSITIVE, SHAPE(7)), -9, 0);
    artel__value_id tail = artel__op_binary(&g->graph, ARTEL__BINARY_DIV, artel__op_unary(&g->graph, ARTEL__UNARY_GELU, NULL, v), v);
    return artel__op_unary(&g->graph, ARTEL__UNARY_LOG, NULL, tail);
}

/* Positions of zeros, of numbers, of infinities, of NaN; 1: positions of one each. */
static artel__value_id unit_norm_edges(op_graph *g)
{
    artel_shape positions = SHAPE(4, 3), flat = SHAPE(12);
    artel__value_id x = artel__op_reshape(&g->graph, edges(g, op_row(g, OP_SIGNED, SHAPE(3))), &positions);
    if (g->parameter) x = artel__op_transpose(&g->graph, x, (int[]){1, 0});
    x = artel__op_layer_norm(&g->graph, ARTEL__LAYER_NORM_UNIT, x, ARTEL__NO_VALUE, ARTEL__NO_VALUE, 1, 1e-7f);
    return shown(g, artel__op_reshape(&g->graph, x, &flat), false);
}

/* Gradients whose divisors' square would be 0. */
static artel__value_id small_divisors(op_graph *g)
{
    artel__binary divide = g->parameter ? ARTEL__BINARY_DIV_NO_NAN : ARTEL__BINARY_DIV;
    artel__value_id a = op_row(g, OP_POSITIVE, SHAPE(6)), b = op_row(g, OP_POSITIVE, SHAPE(6));
    return artel__op_binary(&g->graph, divide, artel__op_affine(&g->graph, a, 1e-25f, 0), artel__op_affine(&g->graph, b, 1e-25f, 0));
}

static op_numbers binary_numbers(int f)
{
    bool picks = f == ARTEL__BINARY_MAX || f == ARTEL__BINARY_MIN;
    bool divides = f == ARTEL__BINARY_DIV || f == ARTEL__BINARY_DIV_NO_NAN || f == ARTEL__BINARY_MOD;
    return picks ? OP_APART : f == ARTEL__BINARY_POW || divides ? OP_POSITIVE : OP_SIGNED;
}

/* APART of both would tie: the second is moved by a quarter of the distance. Remainders jump at whole quotients: theirs lie in -1 .. 0. */
static artel__value_id shifted(op_graph *g, artel__value_id x)
{
    if (g->parameter == ARTEL__BINARY_MOD) return artel__op_affine(&g->graph, x, 0.5f, -1.6f);
    return binary_numbers(g->parameter) == OP_APART ? artel__op_affine(&g->graph, x, 1.0f, 0.025f) : x;
}

static artel__value_id binary(op_graph *g)
{
    artel__value_id a = op_row(g, binary_numbers(g->parameter), SHAPE(3, 5)), b = op_row(g, binary_numbers(g->parameter), SHAPE(3, 5));
    return artel__op_binary(&g->graph, (artel__binary)g->parameter, a, shifted(g, b));
}

static artel__value_id binary_broadcast(op_graph *g)
{
    artel__value_id a = op_row(g, binary_numbers(g->parameter), SHAPE(3, 1, 5)), b = op_row(g, binary_numbers(g->parameter), SHAPE(4, 1));
    return artel__op_binary(&g->graph, (artel__binary)g->parameter, a, shifted(g, b));
}

static artel__value_id binary_global(op_graph *g)
{
    artel__value_id a = op_row(g, binary_numbers(g->parameter), SHAPE(3, 5)), b = op_weight(g, binary_numbers(g->parameter), 0, SHAPE(5));
    if (g->parameter == ARTEL__BINARY_MOD) return artel__op_binary(&g->graph, ARTEL__BINARY_MOD, a, shifted(g, b));
    return artel__op_binary(&g->graph, (artel__binary)g->parameter, shifted(g, b), a);
}

static artel__value_id select_where(op_graph *g)
{
    artel__value_id a = op_row(g, OP_SIGNED, SHAPE(4, 6)), b = op_row(g, OP_SIGNED, SHAPE(6));
    artel__value_id near = artel__op_compare_scalar(&g->graph, ARTEL__COMPARE_LESS, a, 0);
    artel__value_id both = artel__op_logical_or(&g->graph, near, artel__op_logical_not(&g->graph, op_row(g, OP_BITS, SHAPE(6))));
    return artel__op_where(&g->graph, artel__op_logical_and(&g->graph, both, near), a, b);
}

static artel__value_id compare(op_graph *g)
{
    artel__value_id a = op_row(g, OP_SIGNED, SHAPE(4, 6)), b = op_row(g, OP_SIGNED, SHAPE(6));
    return artel__op_cast(&g->graph, artel__op_compare(&g->graph, (artel__comparison)g->parameter, a, b), ARTEL_DTYPE_FLOAT32);
}

static artel__value_id casts(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(4, 6));
    artel__value_id wide = artel__op_cast(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_TANH, NULL, x), ARTEL_DTYPE_FLOAT64);
    return artel__op_cast(&g->graph, wide, ARTEL_DTYPE_FLOAT32);
}

static artel__value_id dropout(op_graph *g)
{
    artel_shape noise = SHAPE(5, 1);
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5, 6));
    return artel__op_dropout(&g->graph, artel__op_dropout(&g->graph, x, 0.4, &SCALAR), 0.3, &noise);
}

static artel__value_id gaussian(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5, 6));
    return artel__op_gaussian_noise(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_SQUARE, NULL, x), 0.3);
}

/* A value used several times, and a GLOBAL one. */
static artel__value_id several_uses(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(6)), w = op_weight(g, OP_SIGNED, 0, SHAPE(6));
    artel__value_id a = artel__op_binary(&g->graph, ARTEL__BINARY_MUL, x, w);
    artel__value_id b = artel__op_unary(&g->graph, ARTEL__UNARY_TANH, NULL, artel__op_add(&g->graph, a, x));
    return artel__op_add(&g->graph, artel__op_binary(&g->graph, ARTEL__BINARY_MUL, b, w),
                         artel__op_binary(&g->graph, ARTEL__BINARY_MUL, a, b));
}

/* -- products and convolutions -- */

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

/* Of operands that a 16-bit type holds. */
static artel__value_id product_of_narrow(op_graph *g)
{
    artel_dtype to = g->parameter ? ARTEL_DTYPE_FLOAT16 : ARTEL_DTYPE_BFLOAT16;
    artel__value_id x = artel__op_narrow(&g->graph, op_row(g, OP_SIGNED, SHAPE(3, 7)), to);
    artel__value_id w = artel__op_narrow(&g->graph, op_weight(g, OP_SIGNED, 7, SHAPE(7, 37)), to);
    artel_shape columns = SHAPE(37);
    return artel__op_product(&g->graph, x, w, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
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
#define CONV(ih_, iw_, ic_, oh_, ow_, oc_, kh_, kw_, stride, dilation, top_, left_, groups_)                                \
    {                                                                                                                       \
        .ih = ih_, .iw = iw_, .ic = ic_, .oh = oh_, .ow = ow_, .oc = oc_, .kh = kh_, .kw = kw_, .sh = stride, .sw = stride, \
        .dh = dilation, .dw = dilation, .top = top_, .left = left_, .groups = groups_                                       \
    }

const artel__conv2d_shape op_conv_shapes[] = {CONV(5, 6, 3, 5, 6, 5, 3, 3, 1, 1, 1, 1, 1), CONV(6, 5, 2, 3, 2, 4, 2, 3, 2, 1, 0, 0, 1),
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

static artel__value_id conv_relu(op_graph *g)
{
    return build_conv(g, ARTEL__FUSED_RELU);
}

static artel__value_id build_transposed(op_graph *g, artel__fused activation)
{
    const artel__conv2d_shape *s = &op_conv_shapes[g->parameter < 2 ? g->parameter : g->parameter + 1]; /* those without groups */
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(s->oh, s->ow, s->oc)),
                    w = op_weight(g, OP_SIGNED, s->kh * s->kw * s->ic, SHAPE(s->kh, s->kw, s->ic, s->oc));
    return artel__op_conv2d_transpose(&g->graph, x, w, op_weight(g, OP_SIGNED, 0, SHAPE(s->ic)), s, activation);
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

static artel__value_id depthwise(op_graph *g)
{
    return build_depthwise(g, ARTEL__FUSED_NONE);
}

static artel__value_id depthwise_relu(op_graph *g)
{
    return build_depthwise(g, ARTEL__FUSED_RELU);
}

/* -- movement -- */

static artel__value_id movement(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(4, 3, 5)), y = op_row(g, OP_SIGNED, SHAPE(4, 3, 2));
    artel_shape flat = SHAPE(60), wide = SHAPE(2, 4, 3, 5);
    switch (g->parameter) {
    case 0: return artel__op_transpose(graph, x, (int[]){2, 0, 1});
    case 1: return artel__op_pad(graph, x, (int64_t[]){1, 0, 2}, (int64_t[]){0, 2, 1}, 0.5);
    case 2: return artel__op_pad(graph, x, (int64_t[]){-1, 0, 1}, (int64_t[]){0, -1, -2}, 0);
    case 3: return artel__op_slice(graph, x, 2, 1, 2, 2);
    case 4: return artel__op_slice(graph, x, 0, 3, 4, -1);
    case 5: return artel__op_concat(graph, (artel__value_id[]){x, y, x}, 3, -1);
    case 6: return artel__op_repeat(graph, x, 1, 3);
    case 7: return artel__op_resize_bilinear(graph, x, 7, 6);
    case 8: return artel__op_reshape(graph, x, &flat);
    default: return artel__op_broadcast_to(graph, x, &wide);
    }
}

/* More parts than a node has operands are chained: the parts go into one buffer. */
static artel__value_id many_parts(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3)), part[70];
    for (int i = 0; i < 70; i++) part[i] = artel__op_affine(&g->graph, x, 0.1f * (float)i, 0.5f);
    return artel__op_concat(&g->graph, part, 70, 0);
}

/* Outputs that read one place, several, none of the last. */
static artel__value_id band(op_graph *g)
{
    static const int32_t first[] = {0, 0, 1, 3};
    static const float weight[] = {0.5f, 0.25f, 0, 1.5f, -0.5f, 0.125f, 0.5f, 0.25f, 0.25f, 0, -1, 0.75f};
    artel__op_band runs = {.extent = 6, .outputs = 4, .taps = 3, .first = first, .weight = weight};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(6, 6, 6));
    return artel__op_band_along(&g->graph, x, g->parameter, &runs);
}

/* A map near the identity, another for each row. */
static artel__value_id warp(op_graph *g)
{
    artel_shape six = SHAPE(6), unit = SHAPE(6);
    static const float identity[] = {1, 0, 0, 0, 1, 0};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5, 4, 3));
    artel__value_id map = artel__op_add(&g->graph, artel__op_uniform(&g->graph, x, -0.7, 0.9, &six, g->parameter == 3),
                                        artel__op_constant(&g->graph, ARTEL_DTYPE_FLOAT32, &unit, identity));
    artel__warp_settings settings = {
        .height = 4, .width = 6, .bilinear = g->parameter % 2 == 0, .mode = (artel__warp_fill)(g->parameter / 2), .fill = 0.5f};
    return artel__op_warp(&g->graph, x, map, &settings);
}

static artel__value_id one_hot(op_graph *g)
{
    return artel__op_one_hot(&g->graph, op_indices(g, 6, SHAPE(3)), 6);
}

/* -- reductions -- */

static artel__value_id reduce(op_graph *g)
{
    artel__reduction f = (artel__reduction)(g->parameter / 4);
    bool picks = f == ARTEL__REDUCE_MAX || f == ARTEL__REDUCE_MIN;
    static const uint32_t axes[] = {1, 4, 6, 7};
    return artel__op_reduce(&g->graph, f, op_row(g, picks ? OP_APART : OP_SIGNED, SHAPE(3, 2, 4)), axes[g->parameter % 4],
                            g->parameter % 2);
}

static artel__value_id softmax(op_graph *g)
{
    artel__softmax_op f = (artel__softmax_op)(g->parameter / 3);
    op_numbers numbers = f == ARTEL__SPARSEMAX ? OP_FAR_APART : OP_SIGNED; /* Keras' sparsemax jumps where its support changes */
    return artel__op_softmax(&g->graph, f, op_row(g, numbers, SHAPE(3, 4, 5)), g->parameter % 3);
}

static artel__value_id glu(op_graph *g)
{
    return artel__op_glu(&g->graph, op_row(g, OP_SIGNED, SHAPE(4, 6)), g->parameter);
}

static artel__value_id ranks(op_graph *g)
{
    artel__value_id x = op_row(g, OP_APART, SHAPE(3, 9)), target = op_indices(g, 9, SHAPE(3));
    artel__value_id first = artel__op_cast(&g->graph, artel__op_argmax(&g->graph, x), ARTEL_DTYPE_FLOAT32);
    return artel__op_add(&g->graph, first, artel__op_in_top_k(&g->graph, x, target, 3));
}

static artel__value_id folds(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 5)), w = op_row(g, OP_POSITIVE, SCALAR);
    if (g->parameter == 0) return artel__op_all_reduce(&g->graph, artel__op_fold_sum(&g->graph, x));
    if (g->parameter == 1) return artel__op_all_reduce(&g->graph, artel__op_fold_weighted(&g->graph, x, w));
    return artel__op_all_reduce(&g->graph, artel__op_fold_columns64(&g->graph, x));
}

/* Rows that begin with what those of the batch before have left, which is put back behind the step. */
static artel__value_id row_state(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3)), kept = op_weight(g, OP_SIGNED, 0, SHAPE(g->rows, 3));
    artel__value_id y = artel__op_binary(graph, ARTEL__BINARY_MUL, x, artel__op_take_rows(graph, kept));
    artel__value_id all = artel__op_all_reduce(graph, artel__op_place_rows(graph, y, g->rows));
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, kept, all);
    graph->phase = ARTEL__PHASE_FORWARD;
    return y;
}

/* x times the sum of x over the rows of its group of two shards. */
static artel__value_id batch_groups(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(4, 1)), member = artel__op_batch_groups(graph, 4);
    artel__value_id apart = artel__op_binary(graph, ARTEL__BINARY_MUL, x, member);
    artel__value_id sums = artel__op_batch_sum(graph, artel__op_all_reduce(graph, artel__op_fold_sum(graph, apart)), apart);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, x, artel__op_binary(graph, ARTEL__BINARY_MUL, sums, member));
}

/* -- normalisation, pooling, embedding -- */

static artel__value_id batch_norm(op_graph *g)
{
    artel__batch_norm norm = {.epsilon = 1e-2f, .momentum = 0.9, .update = g->parameter != 2};
    norm.x = op_row(g, OP_SIGNED, SHAPE(3, 2, 5));
    if (g->parameter != 1)
        norm.gamma = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    else
        norm.gamma = ARTEL__NO_VALUE;
    norm.beta = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.mean = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.variance = op_weight(g, OP_POSITIVE, 0, SHAPE(5));
    return g->parameter == 2 ? artel__op_batch_norm_inference(&g->graph, &norm) : artel__op_batch_norm_training(&g->graph, &norm);
}

/* A residual and ReLU or ReLU6 join the normalisation. */
static artel__value_id batch_norm_fused(op_graph *g)
{
    artel__batch_norm norm = {.epsilon = 1e-2f, .momentum = 0.9, .update = true};
    artel__value_id other = op_row(g, OP_SIGNED, SHAPE(3, 2, 5));
    norm.x = op_row(g, OP_SIGNED, SHAPE(3, 2, 5));
    norm.gamma = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.beta = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.mean = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.variance = op_weight(g, OP_POSITIVE, 0, SHAPE(5));
    artel__value_id y = artel__op_batch_norm_training(&g->graph, &norm), *kept = &y;
    if (g->parameter & 1) y = artel__op_add(&g->graph, y, other);
    y = artel__op_unary(&g->graph, ARTEL__UNARY_RELU6, NULL, g->parameter & 2 ? artel__op_affine(&g->graph, y, 8, 0) : y);
    assert_int_equal(artel__op_fuse(&g->graph, &kept, 1), ARTEL_OK);
    return y;
}

static artel__value_id layer_norm(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 2, 6)), gamma = op_weight(g, OP_SIGNED, 0, SHAPE(6));
    bool shifts = g->parameter == ARTEL__LAYER_NORM_LAYER;
    return artel__op_layer_norm(&g->graph, (artel__layer_norm_mode)g->parameter, x,
                                g->parameter == ARTEL__LAYER_NORM_UNIT ? ARTEL__NO_VALUE : gamma,
                                shifts ? op_weight(g, OP_SIGNED, 0, SHAPE(6)) : ARTEL__NO_VALUE, 1, 1e-2f);
}

static artel__value_id pool(op_graph *g)
{
    artel__pool_shape shape = {.channels = 3};
    artel__pool_axis(&shape, 0, 1, 1, 1, false);
    artel__pool_axis(&shape, 1, 6, 3, 2, g->parameter & 2);
    artel__pool_axis(&shape, 2, 5, 2, 1, g->parameter & 2);
    return artel__op_pool(&g->graph, (artel__pool_op)(g->parameter & 1), op_row(g, OP_APART, SHAPE(6, 5, 3)), &shape);
}

/* What the pool reads is needed by nobody else: gradients are written over it. */
static artel__value_id pool_apart(op_graph *g)
{
    artel__pool_shape shape = {.channels = 3};
    artel__pool_axis(&shape, 0, 1, 1, 1, false);
    artel__pool_axis(&shape, 1, 6, 2, 2 + (g->parameter >> 1), false);
    artel__pool_axis(&shape, 2, 5, 2, 2, g->parameter & 1);
    return artel__op_pool(&g->graph, ARTEL__POOL_MAX, artel__op_affine(&g->graph, op_row(g, OP_APART, SHAPE(6, 5, 3)), 1.5f, 0.1f), &shape);
}

/* The gradient of the pool is that of the ReLU too. */
static artel__value_id pool_behind_relu(op_graph *g)
{
    static const float plain[] = {0, INFINITY, 0};
    artel__pool_shape shape = {.channels = 3};
    artel__pool_axis(&shape, 0, 1, 1, 1, false);
    artel__pool_axis(&shape, 1, 6, 2 + g->parameter, 2, true);
    artel__pool_axis(&shape, 2, 5, 2 + g->parameter, 2, true);
    artel__value_id x = artel__op_affine(&g->graph, op_row(g, OP_SIGNED, SHAPE(6, 5, 3)), 1.5f, 0.1f);
    return artel__op_pool(&g->graph, ARTEL__POOL_MAX, artel__op_unary(&g->graph, ARTEL__UNARY_RELU, plain, x), &shape);
}

static artel__value_id embedding(op_graph *g)
{
    artel__value_id table = op_weight(g, OP_SIGNED, 0, SHAPE(11, 4));
    artel__value_id one = artel__op_embedding(&g->graph, table, op_indices(g, 11, SHAPE(3, 2)));
    return g->parameter ? artel__op_unary(&g->graph, ARTEL__UNARY_TANH, NULL, one) : one;
}

/* A table and a step on the rows of its gradient. */
static artel__value_id embedding_rows(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id table = op_weight(g, OP_SIGNED, 0, SHAPE(1100, 4)), index = op_indices(g, 1100, SHAPE(3, 2));
    artel__value_id result = artel__op_embedding(graph, table, index), gradient;
    artel__differentiate d = {.add = &artel__op_binary_def, .targets = &result, .seeds = &result, .target_count = 1};
    d.wanted = &table;
    d.wanted_count = 1;
    graph->batch_size = 64;
    assert_int_equal(artel__graph_differentiate(graph, &d, &gradient), ARTEL_OK);
    artel__optimize o = {.options = {.rule = ARTEL__RULE_ADAGRAD, .epsilon = 1e-7}, .squared_norm = ARTEL__NO_VALUE, .rows = true};
    artel__embedding_rows rows;
    assert_null(artel__op_embedding_rows(graph, gradient, true, &rows));
    o.u_product = o.scale = ARTEL__NO_VALUE;
    o.variable = table;
    o.slot[0] = op_weight(g, OP_POSITIVE, 0, SHAPE(1100, 4));
    o.slots = 1;
    o.gradient = rows.rows, o.squares = rows.squares, o.token = rows.token, o.count = rows.count;
    o.others = g->parameter == 1;
    artel__op_optimize(graph, &o);
    graph->batch_size = 200; /* 1200 indices */
    assert_non_null(artel__op_embedding_rows(graph, gradient, true, &rows));
    assert_non_null(artel__op_embedding_rows(graph, result, true, &rows));
    return result;
}

/* -- recurrent, attention -- */

static artel__value_id recurrent(op_graph *g)
{
    artel__cell cell = (artel__cell)(g->parameter % 12 / 4);
    int64_t u = 5, gates = artel__cell_gates(cell), t = 4;
    bool odd = g->parameter & 1, second = g->parameter & 2;
    artel__recurrent r = {.settings = {.cell = cell,
                                       .units = u,
                                       .activation = {ARTEL__UNARY_TANH, {0}},
                                       .recurrent = {ARTEL__UNARY_SIGMOID, {0}},
                                       .reset_after = second,
                                       .go_backwards = odd,
                                       .zero_output_for_mask = second && odd,
                                       .sequences = !odd || second}};
    artel_shape columns = SHAPE(gates * u);
    r.projected = artel__op_product(&g->graph, op_row(g, OP_SIGNED, SHAPE(t, 3)), op_weight(g, OP_SIGNED, 3, SHAPE(3, gates * u)),
                                    ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    r.weights = op_weight(g, OP_SIGNED, u, SHAPE(u, gates * u));
    r.bias = cell == ARTEL__CELL_GRU && second ? op_weight(g, OP_SIGNED, 0, SHAPE(gates * u)) : ARTEL__NO_VALUE;
    r.mask = odd ? op_row(g, OP_BITS, SHAPE(t)) : ARTEL__NO_VALUE;
    r.h0 = second ? op_row(g, OP_SIGNED, SHAPE(u)) : ARTEL__NO_VALUE;
    r.c0 = second && cell == ARTEL__CELL_LSTM ? op_row(g, OP_SIGNED, SHAPE(u)) : ARTEL__NO_VALUE;
    r.keep = g->parameter < 12 ? ARTEL__NO_VALUE : op_row(g, OP_POSITIVE, SHAPE(gates, u));
    if (r.keep >= 0) g->fed[g->feds - 1].wanted = false;
    artel__value_id out = artel__op_recurrent(&g->graph, &r);
    if (!second) return out;
    artel__value_id last = artel__graph_output(&g->graph, out, cell == ARTEL__CELL_LSTM ? 2 : 1);
    return artel__op_add(&g->graph, out, last);
}

static artel__value_id attention(op_graph *g)
{
    artel__attention a = {.scale = 0.7f, .causal = g->parameter & 1, .rate = g->parameter & 4 ? 0.3 : 0, .mask = ARTEL__NO_VALUE};
    a.query = op_row(g, OP_SIGNED, SHAPE(3, 4, 5));
    a.key = op_row(g, OP_SIGNED, SHAPE(4, 2, 5));
    a.value = op_row(g, OP_SIGNED, SHAPE(4, 2, 3));
    if (g->parameter & 2) a.mask = op_row(g, OP_BITS, SHAPE(1, 3, 4));
    return artel__op_attention(&g->graph, &a);
}

/* Axes in front, and a mask of each row or one that all share. */
static artel__value_id attention_of_axes(op_graph *g)
{
    static const uint8_t seen[] = {1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1};
    artel_shape shape = SHAPE(3, 4);
    artel__attention a = {.scale = 0.7f, .causal = !g->parameter, .rate = 0.3};
    a.query = op_row(g, OP_SIGNED, SHAPE(2, 3, 4, 5));
    a.key = op_row(g, OP_SIGNED, SHAPE(2, 4, 2, 5));
    a.value = op_row(g, OP_SIGNED, SHAPE(2, 4, 2, 3));
    a.mask = g->parameter ? artel__op_constant(&g->graph, ARTEL_DTYPE_BOOL, &shape, seen) : op_row(g, OP_BITS, SHAPE(4, 1, 4));
    return artel__op_attention(&g->graph, &a);
}

/* An activation whose gradient reads its argument. */
static artel__value_id recurrent_by_argument(op_graph *g)
{
    artel__cell cell = (artel__cell)(g->parameter / 2);
    int64_t u = 5, gates = artel__cell_gates(cell), t = 4;
    artel__recurrent r = {.settings = {.cell = cell,
                                       .units = u,
                                       .activation = {ARTEL__UNARY_SILU, {0}},
                                       .recurrent = {ARTEL__UNARY_SIGMOID, {0}},
                                       .reset_after = g->parameter & 1}};
    artel_shape columns = SHAPE(gates * u);
    r.projected = artel__op_product(&g->graph, op_row(g, OP_SIGNED, SHAPE(t, 3)), op_weight(g, OP_SIGNED, 3, SHAPE(3, gates * u)),
                                    ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    r.weights = op_weight(g, OP_SIGNED, u, SHAPE(u, gates * u));
    r.mask = op_row(g, OP_BITS, SHAPE(t));
    r.bias = r.h0 = r.c0 = r.keep = ARTEL__NO_VALUE;
    return artel__op_recurrent(&g->graph, &r);
}

/* -- losses -- */

static artel__value_id loss(op_graph *g)
{
    artel__loss_input s = {.op = (artel__loss)g->parameter, .a = g->parameter == ARTEL__LOSS_HUBER ? 0.5f : 0.1f, .b = 0.25f, .c = 2.0f};
    bool hinge = s.op == ARTEL__LOSS_HINGE || s.op == ARTEL__LOSS_SQUARED_HINGE;
    artel__value_id x = op_row(g, OP_SIMPLEX, SHAPE(3, 5));
    if (artel__loss_is_sparse(s.op)) {
        s.has_ignored_class = true;
        s.ignored_class = 2;
        return artel__op_loss(&g->graph, &s, op_indices(g, 5, SHAPE(3)), x);
    }
    /* TensorFlow's gradient of the crossentropy of logits takes it that targets add up to 1. */
    op_numbers numbers = hinge ? OP_SIGNED : s.op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS ? OP_SIMPLEX : OP_POSITIVE;
    artel__value_id target = op_row(g, numbers, SHAPE(3, 5));
    g->fed[g->feds - 1].wanted = false;
    if (s.op <= ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR) target = artel__op_affine(&g->graph, target, 1.0f, 2.0f);
    return artel__op_loss(&g->graph, &s, target, x);
}

static artel__value_id loss_seed(op_graph *g)
{
    artel__value_id like = op_row(g, OP_SIGNED, SHAPE(3)), weights = op_row(g, OP_POSITIVE, SHAPE(3));
    artel__loss_seed seed = {.like = like, .weights = weights, .denominator = ARTEL__NO_VALUE, .scale = 1.5, .sum = g->parameter};
    return artel__op_loss_seed(&g->graph, &seed);
}

/* -- apply -- */

static artel__value_id optimize(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__rule rule = (artel__rule)g->parameter;
    artel__optimize o = {.options = {.rule = rule,
                                     .momentum = 0.9,
                                     .rho = 0.9,
                                     .beta_1 = 0.9,
                                     .beta_2 = 0.99,
                                     .epsilon = 1e-7,
                                     .nesterov = true,
                                     .amsgrad = true,
                                     .centered = true,
                                     .learning_rate_power = -0.5,
                                     .l1 = 0.01,
                                     .weight_decay = 0.01},
                         .clip = ARTEL__CLIP_NORM,
                         .limit = 1.0,
                         .u_product = ARTEL__NO_VALUE,
                         .squares = ARTEL__NO_VALUE,
                         .slots = 3};
    artel_shape shape = SHAPE(7, 37);
    o.variable = op_weight(g, OP_SIGNED, 7, shape);
    o.gradient = op_weight(g, OP_SIGNED, 7, shape);
    for (int i = 0; i < o.slots; i++) o.slot[i] = op_weight(g, OP_POSITIVE, 7, shape);
    o.squared_norm = artel__op_squared_norm(graph, o.gradient);
    artel__value_id penalty[] = {o.squared_norm, artel__op_absolute_norm(graph, o.variable),
                                 artel__op_penalty(graph, o.variable, 0.1, 0.2)};
    artel__value_id result = artel__op_sum_scalars(graph, penalty, 3);
    o.gradient = artel__op_regularise(graph, o.gradient, o.variable, 0.01, 0.02);
    graph->phase = ARTEL__PHASE_APPLY;
    if (rule == ARTEL__RULE_NADAM) {
        o.u_product = op_weight(g, OP_POSITIVE, 0, SCALAR);
        artel__op_nadam_product(graph, o.u_product, 0.9);
    }
    artel__op_optimize(graph, &o);
    if (rule == ARTEL__RULE_LAMB)
        artel__op_lamb_step(graph, o.variable, o.slot[2], artel__op_squared_norm(graph, o.variable),
                            artel__op_squared_norm(graph, o.slot[2]));
    artel__op_moving_average(graph, op_weight(g, OP_SIGNED, 7, shape), o.variable, 0.9f);
    artel__op_ema(graph, op_weight(g, OP_SIGNED, 7, shape), o.variable, 0.99, 2, 1 + rule % 2);
    artel__op_assign(graph, op_weight(g, OP_SIGNED, 7, shape), o.variable);
    artel__op_accumulate(graph, op_weight(g, OP_SIGNED, 7, shape), o.gradient, 1 + rule % 2);
    artel__op_clear(graph, op_weight(g, OP_SIGNED, 7, shape));
    artel__constrain_config config = {.op = (artel__constraint)(rule % 4), .a = 0.5f, .b = 1.0f, .c = 0.5f, .from = 0, .to = 1};
    artel__op_constrain(graph, &config, o.variable);
    return result;
}

static artel__value_id narrow(op_graph *g)
{
    artel__value_id x = artel__op_narrow(&g->graph, op_row(g, OP_SIGNED, SHAPE(3, 7)), ARTEL_DTYPE_FLOAT16);
    if (!g->parameter) return x;
    return artel__op_narrow(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_TANH, NULL, x), ARTEL_DTYPE_BFLOAT16);
}

/* A step of dynamic loss scaling: with a finite norm and growth at each step, the scale doubles. */
static artel__value_id loss_scale(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel_shape scalar = SCALAR;
    artel__value_id scale = op_weight(g, OP_POSITIVE, 0, scalar);
    int index = artel__variables_add(&g->variables, "count", ARTEL__VARIABLE_SLOT, ARTEL_DTYPE_INT64, &scalar, 0);
    artel__value_id result = artel__op_unscale(graph, op_weight(g, OP_SIGNED, 7, SHAPE(7, 37)), scale);
    artel__value_id norm = artel__op_squared_norm(graph, result);
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_loss_scale(graph, scale, artel__graph_variable(graph, index), norm, g->parameter ? 2000 : 1);
    return result;
}

/* -- the table -- */

#define MANY 64

typedef struct family {
    op_case c;
    int count; /* parameters 0 .. count - 1 behind c.parameter */
} family;

static const family families[] = {
    {{.name = "unary", .build = unary}, ARTEL__UNARY_COUNT},
    {{.name = "unary far from 0", .build = unary_wide, .parameter = ARTEL__UNARY_SIGMOID}, 1},
    {{.name = "gelu far from 0", .build = unary_wide, .parameter = ARTEL__UNARY_GELU, .tolerance = 5e-3}, 2},
    {{.name = "gelu's tail", .build = gelu_tail, .tolerance = 0.01}, 1},
    {{.name = "softplus far from 0", .build = unary_wide, .parameter = ARTEL__UNARY_SOFTPLUS}, 3},
    {{.name = "unary edges", .build = unary_edges, .bits_only = true}, ARTEL__UNARY_COUNT},
    {{.name = "binary", .build = binary}, ARTEL__BINARY_COUNT},
    {{.name = "binary edges", .build = binary_edges, .bits_only = true}, ARTEL__BINARY_COUNT},
    {{.name = "quotients", .build = quotients, .bits_only = true}, 1},
    {{.name = "unit norm edges", .build = unit_norm_edges, .bits_only = true}, 2},
    {{.name = "small divisors", .build = small_divisors, .kinks = true}, 2},
    {{.name = "binary broadcast", .build = binary_broadcast}, ARTEL__BINARY_COUNT},
    {{.name = "binary global", .build = binary_global}, ARTEL__BINARY_COUNT},
    {{.name = "where", .build = select_where}, 1},
    {{.name = "compare", .build = compare, .bits_only = true}, 6},
    {{.name = "casts", .build = casts}, 1},
    {{.name = "dropout", .build = dropout, .training = true}, 1},
    {{.name = "gaussian noise", .build = gaussian, .training = true}, 1},
    {{.name = "several uses", .build = several_uses}, 1},
    {{.name = "product", .build = product, .tolerance = 0.02}, 8},
    {{.name = "product of two axes", .build = product_of_two_axes}, 1},
    {{.name = "product of narrow", .build = product_of_narrow, .tolerance = 0.25}, 2},
    {{.name = "product of many weights", .build = product_of_many_weights, .tolerance = 0.02}, 1},
    {{.name = "product of panels", .build = product_of_panels, .tolerance = 0.02}, 1},
    {{.name = "conv2d", .build = op_build_conv}, 5},
    {{.name = "conv2d relu", .build = conv_relu, .kinks = true}, 5},
    {{.name = "conv2d transposed", .build = conv_transpose}, 4},
    {{.name = "conv2d transposed relu", .build = conv_transpose_relu, .kinks = true}, 4},
    {{.name = "depthwise", .build = depthwise, .parameter = 1}, 2},
    {{.name = "depthwise relu", .build = depthwise_relu, .parameter = 1, .kinks = true}, 2},
    {{.name = "movement", .build = movement}, 10},
    {{.name = "many parts", .build = many_parts}, 1},
    {{.name = "band", .build = band}, 3},
    {{.name = "warp", .build = warp, .training = true}, 8},
    {{.name = "one-hot", .build = one_hot, .bits_only = true}, 1},
    {{.name = "reduce", .build = reduce}, 20},
    {{.name = "softmax", .build = softmax}, 9},
    {{.name = "glu", .build = glu}, 2},
    {{.name = "ranks", .build = ranks, .bits_only = true}, 1},
    {{.name = "folds", .build = folds, .bits_only = true}, 3},
    {{.name = "batch norm", .build = batch_norm, .training = true, .tolerance = 0.01}, 2},
    {{.name = "batch norm inference", .build = batch_norm, .parameter = 2}, 1},
    {{.name = "batch norm fused", .build = batch_norm_fused, .kinks = true, .training = true}, 4},
    {{.name = "layer norm", .build = layer_norm, .tolerance = 5e-3}, 4},
    {{.name = "pool", .build = pool}, 4},
    {{.name = "row state", .build = row_state}, 1},
    {{.name = "batch groups", .build = batch_groups}, 1},
    {{.name = "pool apart", .build = pool_apart}, 4},
    {{.name = "pool behind relu", .build = pool_behind_relu, .kinks = true}, 2},
    {{.name = "embedding", .build = embedding}, 2},
    {{.name = "embedding rows", .build = embedding_rows, .bits_only = true}, 2},
    {{.name = "recurrent", .build = recurrent}, 24},
    {{.name = "attention", .build = attention, .training = true}, 8},
    {{.name = "attention of axes", .build = attention_of_axes, .training = true}, 2},
    {{.name = "recurrent by argument", .build = recurrent_by_argument}, 6},
    {{.name = "loss", .build = loss, .tolerance = 0.01}, ARTEL__LOSS_COUNT},
    {{.name = "loss seed", .build = loss_seed, .bits_only = true}, 2},
    {{.name = "narrow", .build = narrow, .tolerance = 0.25}, 1},
    {{.name = "narrow twice", .build = narrow, .parameter = 1, .bits_only = true}, 1},
    {{.name = "loss scale", .build = loss_scale, .bits_only = true}, 2},
    {{.name = "optimize", .build = optimize, .bits_only = true}, ARTEL__RULE_LAMB + 1},
};

/* Gradients that are 0 by definition, where a difference shows jumps or nothing. */
static bool flat_function(const family *f, int k)
{
    int p = f->c.parameter + k;
    if (f->c.build != unary) return false;
    return p == ARTEL__UNARY_SIGN || p == ARTEL__UNARY_ROUND || p == ARTEL__UNARY_FLOOR || p == ARTEL__UNARY_ZERO_TEST;
}

void op_each(void (*check)(const op_case *c), bool gradients)
{
    for (size_t i = 0; i < ARTEL__COUNT(families); i++) {
        for (int k = 0; k < families[i].count; k++) {
            op_case c = families[i].c;
            char name[MANY];
            snprintf(name, sizeof name, "%s %d", c.name, c.parameter + k);
            c.name = name;
            c.parameter += k;
            if (gradients && (c.bits_only || c.kinks || flat_function(&families[i], k))) continue;
            check(&c);
        }
    }
}
