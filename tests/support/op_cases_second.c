/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: results that are gradients themselves, of operations whose gradients have gradients. See
 * op_cases.h. */
#include "support/op_cases.h"
#include "op/elementwise.h"
#include "op/gather.h"
#include "op/loss.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* The gradient with respect to `of` where that of y is a function of y. */
static artel__value_id slope(op_graph *g, artel__value_id y, artel__value_id of)
{
    artel__value_id seed = artel__op_affine(&g->graph, y, 0.5f, 0.3f), found = ARTEL__NO_VALUE;
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &y,
                                    .seeds = &seed,
                                    .target_count = 1,
                                    .wanted = &of,
                                    .wanted_count = 1};
    artel__graph_differentiate(&g->graph, &request, &found);
    return found;
}

static const artel__unary bent[] = {
    ARTEL__UNARY_ELU,         ARTEL__UNARY_SELU,        ARTEL__UNARY_CELU,        ARTEL__UNARY_GELU,
    ARTEL__UNARY_GELU_TANH,   ARTEL__UNARY_SIGMOID,     ARTEL__UNARY_SILU,        ARTEL__UNARY_HARD_SILU,
    ARTEL__UNARY_TANH,        ARTEL__UNARY_TANH_SHRINK, ARTEL__UNARY_SOFTPLUS,    ARTEL__UNARY_SOFTSIGN,
    ARTEL__UNARY_MISH,        ARTEL__UNARY_EXPONENTIAL, ARTEL__UNARY_LOG_SIGMOID, ARTEL__UNARY_SQUAREPLUS,
    ARTEL__UNARY_SPARSE_PLUS, ARTEL__UNARY_EXPM1,       ARTEL__UNARY_SQUARE,      ARTEL__UNARY_SIN,
    ARTEL__UNARY_COS,         ARTEL__UNARY_ERF,         ARTEL__UNARY_RELU,        ARTEL__UNARY_NEG,
    ARTEL__UNARY_LOG,         ARTEL__UNARY_LOG1P,       ARTEL__UNARY_SQRT,        ARTEL__UNARY_RSQRT,
    ARTEL__UNARY_RECIPROCAL,  ARTEL__UNARY_POWER};

static artel__value_id unary(op_graph *g)
{
    artel__unary function = bent[g->parameter];
    bool positive = function == ARTEL__UNARY_LOG || function == ARTEL__UNARY_SQRT || function == ARTEL__UNARY_RSQRT ||
                    function == ARTEL__UNARY_RECIPROCAL || function == ARTEL__UNARY_POWER;
    const float constants[3] = {function == ARTEL__UNARY_RELU ? 0.0f : 1.7f,
                                function == ARTEL__UNARY_RELU ? 6.0f : 0.0f, 0};
    artel__value_id x = op_row(g, positive ? OP_POSITIVE : OP_SIGNED, SHAPE(3, 5));
    return slope(g, artel__op_unary(&g->graph, function, constants, x), x);
}

/* Near -1, where differences of the third derivative say nothing. */
static bool is_log1p(int parameter)
{
    return bent[parameter] == ARTEL__UNARY_LOG1P;
}

static artel__value_id binary(op_graph *g)
{
    static const artel__binary functions[] = {ARTEL__BINARY_MUL, ARTEL__BINARY_DIV, ARTEL__BINARY_SQUARED_DIFFERENCE,
                                              ARTEL__BINARY_POW, ARTEL__BINARY_MIN, ARTEL__BINARY_DIV_NO_NAN,
                                              ARTEL__BINARY_SUB};
    artel__binary function = functions[g->parameter / 2];
    artel__value_id a = op_row(g, function == ARTEL__BINARY_MIN ? OP_SIGNED : OP_POSITIVE, SHAPE(3, 5));
    artel__value_id b = op_weight(g, OP_POSITIVE, 0, SHAPE(5));
    if (function == ARTEL__BINARY_MIN) b = artel__op_affine(&g->graph, b, 0.1f, 0); /* on one side of each a */
    artel__value_id y = artel__op_binary(&g->graph, function, a, b);
    return slope(g, y, g->parameter % 2 ? b : a);
}

static artel__value_id reduce(op_graph *g)
{
    static const artel__reduction functions[] = {ARTEL__REDUCE_SUM, ARTEL__REDUCE_MEAN, ARTEL__REDUCE_MAX,
                                                 ARTEL__REDUCE_MIN};
    artel__value_id x = op_row(g, OP_APART, SHAPE(3, 4, 2));
    return slope(g, artel__op_reduce(&g->graph, functions[g->parameter / 2], x, 5u, g->parameter % 2), x);
}

static artel__value_id softmax(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 5));
    return slope(g, artel__op_softmax(&g->graph, g->parameter ? ARTEL__LOG_SOFTMAX : ARTEL__SOFTMAX, x, g->parameter),
                 x);
}

static artel__value_id parts(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(6, 4));
    if (g->parameter == 0) return slope(g, artel__op_slice(&g->graph, x, 0, 1, 2, 3), x);
    artel__value_id index =
        artel__op_constant(&g->graph, ARTEL_DTYPE_INT32, &SHAPE(5), (const int32_t[]){3, 0, 3, 5, 1});
    return slope(g, artel__op_take(&g->graph, x, index, 0), x);
}

/* By x, and by the weights. */
static artel__value_id product(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 7)), w = op_weight(g, OP_SIGNED, 7, SHAPE(7, 5));
    artel_shape columns = SHAPE(5);
    artel__value_id y = artel__op_product(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_LINEAR, NULL, x), w,
                                          op_weight(g, OP_SIGNED, 0, SHAPE(5)), 1, &columns, ARTEL__FUSED_NONE);
    return artel__op_plain(&g->graph, slope(g, y, g->parameter ? w : x), 7);
}

static artel__value_id convolution(op_graph *g)
{
    const artel__conv2d_shape *s = &op_conv_shapes[g->parameter / 2];
    int64_t k = s->ic / s->groups, rows = s->kh * s->kw * k;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(s->ih, s->iw, s->ic)),
                    w = op_weight(g, OP_SIGNED, rows, SHAPE(s->kh, s->kw, k, s->oc));
    artel__value_id y =
        artel__op_conv2d(&g->graph, x, w, op_weight(g, OP_SIGNED, 0, SHAPE(s->oc)), s, ARTEL__FUSED_NONE);
    return artel__op_plain(&g->graph, slope(g, y, g->parameter % 2 ? w : x), rows);
}

static artel__value_id depthwise(op_graph *g)
{
    artel__conv2d_shape s = {.ih = 5,
                             .iw = 6,
                             .ic = 3,
                             .oh = 5,
                             .ow = 6,
                             .oc = 6,
                             .kh = 3,
                             .kw = 3,
                             .sh = 1,
                             .sw = 1,
                             .dh = 1,
                             .dw = 1,
                             .top = 1,
                             .left = 1,
                             .groups = 3};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5, 6, 3)), w = op_weight(g, OP_SIGNED, 0, SHAPE(3, 3, 3, 2));
    artel__value_id y =
        artel__op_depthwise(&g->graph, x, w, op_weight(g, OP_SIGNED, 0, SHAPE(6)), &s, ARTEL__FUSED_NONE);
    return slope(g, y, g->parameter ? w : x);
}

static artel__value_id loss(op_graph *g)
{
    static const artel__loss losses[] = {ARTEL__LOSS_MEAN_SQUARED_ERROR,
                                         ARTEL__LOSS_LOG_COSH,
                                         ARTEL__LOSS_HUBER,
                                         ARTEL__LOSS_MEAN_ABSOLUTE_ERROR,
                                         ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS,
                                         ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS,
                                         ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS};
    artel__loss_input s = {.op = losses[g->parameter], .a = losses[g->parameter] == ARTEL__LOSS_HUBER ? 5.0f : 0.1f};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 5)), target;
    if (artel__loss_is_sparse(s.op)) {
        target = op_indices(g, 5, SHAPE(3));
    } else {
        target = op_row(g, OP_SIMPLEX, SHAPE(3, 5));
        g->fed[g->feds - 1].wanted = false;
        if (s.op == ARTEL__LOSS_MEAN_ABSOLUTE_ERROR || s.op == ARTEL__LOSS_HUBER)
            target = artel__op_affine(&g->graph, target, 1.0f, 2.0f);
    }
    return slope(g, artel__op_loss(&g->graph, &s, target, x), x);
}

/* A seed without weights does not depend on anything. */
static artel__value_id seed(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3));
    artel__loss_seed s = {
        .like = x, .weights = ARTEL__NO_VALUE, .denominator = ARTEL__NO_VALUE, .scale = 1.5, .sum = true};
    return artel__op_binary(&g->graph, ARTEL__BINARY_MUL, artel__op_loss_seed(&g->graph, &s), x);
}

const op_family op_cases_second[] = {
    {{.name = "second unary", .build = unary, .jumps = is_log1p}, sizeof bent / sizeof *bent},
    {{.name = "second binary", .build = binary}, 14},
    {{.name = "second reduce", .build = reduce}, 8},
    {{.name = "second softmax", .build = softmax}, 2},
    {{.name = "second parts", .build = parts}, 2},
    {{.name = "second product", .build = product}, 2},
    {{.name = "second conv2d", .build = convolution}, 2 * OP_CONV_SHAPES},
    {{.name = "second depthwise", .build = depthwise}, 2},
    {{.name = "second loss", .build = loss}, 7},
    {{.name = "second seed", .build = seed}, 1},
    {.count = 0},
};
