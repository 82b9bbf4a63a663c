/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: element-wise functions, selections and random numbers. See op_cases.h. */
#include <math.h>

#include "support/op_cases.h"
#include "op/elementwise.h"
#include "op/norm.h"
#include "op/shape_ops.h"

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
    bool positive = f == ARTEL__UNARY_LOG || f == ARTEL__UNARY_SQRT || f == ARTEL__UNARY_RSQRT ||
                    f == ARTEL__UNARY_POWER || f == ARTEL__UNARY_RECIPROCAL || f == ARTEL__UNARY_LOG1P;
    return artel__op_unary(&g->graph, f, constants[f], op_row(g, positive ? OP_POSITIVE : OP_SIGNED, SHAPE(3, 7)));
}

static artel__value_id unary_wide(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(19));
    return artel__op_unary(&g->graph, (artel__unary)g->parameter, NULL, artel__op_affine(&g->graph, x, 8.3f, 0.21f));
}

/* `x` where it is a number, 7 where not, and behind it what shows its zeros' signs: a quotient (not of equals, of which
 * either is taken). */
static artel__value_id shown(op_graph *g, artel__value_id x, bool equals)
{
    artel__value_id seven =
        artel__op_affine(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_ZERO_TEST, NULL, x), 0, 7);
    x = artel__op_where(&g->graph, artel__op_compare(&g->graph, ARTEL__COMPARE_EQUAL, x, x), x, seven);
    if (equals) return x;
    artel__value_id both[] = {x, artel__op_unary(&g->graph, ARTEL__UNARY_RECIPROCAL, NULL, x)};
    return artel__op_concat(&g->graph, both, 2, 0);
}

/* Zeros, numbers, infinities of both signs and NaN, by thirds of the axis. */
static artel__value_id edges(op_graph *g, artel__value_id x)
{
    artel__value_id zero = artel__op_affine(&g->graph, x, 0, 0), far = artel__op_affine(&g->graph, x, INFINITY, 0);
    artel__value_id part[] = {
        artel__op_binary(&g->graph, ARTEL__BINARY_MUL, x, artel__op_unary(&g->graph, ARTEL__UNARY_ABS, NULL, zero)), x,
        far, artel__op_binary(&g->graph, ARTEL__BINARY_SUB, far, far)};
    return artel__op_concat(&g->graph, part, 4, 0);
}

static artel__value_id unary_edges(op_graph *g)
{
    artel__value_id x = edges(g, op_row(g, OP_SIGNED, SHAPE(8)));
    float constants[3] = {g->parameter == ARTEL__UNARY_RELU ? 0.0f : 1.0f,
                          g->parameter == ARTEL__UNARY_RELU ? INFINITY : 2.0f, 0.0f};
    return shown(g, artel__op_unary(&g->graph, (artel__unary)g->parameter, constants, x), false);
}

/* Each with each. */
static artel__value_id binary_edges(op_graph *g)
{
    artel__value_id a = edges(g, op_row(g, OP_SIGNED, SHAPE(3))), b = edges(g, op_row(g, OP_SIGNED, SHAPE(3)));
    artel_shape column = SHAPE(12, 1), all = SHAPE(144);
    artel__value_id y =
        artel__op_binary(&g->graph, (artel__binary)g->parameter, artel__op_reshape(&g->graph, b, &column), a);
    return shown(g, artel__op_reshape(&g->graph, y, &all),
                 g->parameter == ARTEL__BINARY_MAX || g->parameter == ARTEL__BINARY_MIN);
}

/* Quotients of quotients, whose divisors' product would overflow. */
static artel__value_id quotients(op_graph *g)
{
    artel__value_id a = op_row(g, OP_POSITIVE, SHAPE(6)),
                    b = artel__op_affine(&g->graph, op_row(g, OP_POSITIVE, SHAPE(6)), 3e38f, 0);
    artel__value_id large = artel__op_affine(&g->graph, a, 1e20f, 1e20f),
                    y = artel__op_binary(&g->graph, ARTEL__BINARY_DIV, large, b);
    return artel__op_affine(
        &g->graph, artel__op_binary(&g->graph, ARTEL__BINARY_DIV, y, artel__op_affine(&g->graph, a, 1, 9)), 1e20f, 0);
}

/* The tail of the normal distribution has digits of its own. */
static artel__value_id gelu_tail(op_graph *g)
{
    artel__value_id v = artel__op_affine(&g->graph, op_row(g, OP_POSITIVE, SHAPE(7)), -9, 0);
    artel__value_id tail =
        artel__op_binary(&g->graph, ARTEL__BINARY_DIV, artel__op_unary(&g->graph, ARTEL__UNARY_GELU, NULL, v), v);
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
    return artel__op_binary(&g->graph, divide, artel__op_affine(&g->graph, a, 1e-25f, 0),
                            artel__op_affine(&g->graph, b, 1e-25f, 0));
}

static op_numbers binary_numbers(int f)
{
    bool picks = f == ARTEL__BINARY_MAX || f == ARTEL__BINARY_MIN;
    bool divides = f == ARTEL__BINARY_DIV || f == ARTEL__BINARY_DIV_NO_NAN || f == ARTEL__BINARY_MOD;
    return picks ? OP_APART : f == ARTEL__BINARY_POW || divides ? OP_POSITIVE : OP_SIGNED;
}

/* APART of both would tie: the second is moved by a quarter of the distance. Remainders jump at whole quotients: theirs
 * lie in -1 .. 0. */
static artel__value_id shifted(op_graph *g, artel__value_id x)
{
    if (g->parameter == ARTEL__BINARY_MOD) return artel__op_affine(&g->graph, x, 0.5f, -1.6f);
    return binary_numbers(g->parameter) == OP_APART ? artel__op_affine(&g->graph, x, 1.0f, 0.025f) : x;
}

static artel__value_id binary(op_graph *g)
{
    artel__value_id a = op_row(g, binary_numbers(g->parameter), SHAPE(3, 5)),
                    b = op_row(g, binary_numbers(g->parameter), SHAPE(3, 5));
    return artel__op_binary(&g->graph, (artel__binary)g->parameter, a, shifted(g, b));
}

static artel__value_id binary_broadcast(op_graph *g)
{
    artel__value_id a = op_row(g, binary_numbers(g->parameter), SHAPE(3, 1, 5)),
                    b = op_row(g, binary_numbers(g->parameter), SHAPE(4, 1));
    return artel__op_binary(&g->graph, (artel__binary)g->parameter, a, shifted(g, b));
}

static artel__value_id binary_global(op_graph *g)
{
    artel__value_id a = op_row(g, binary_numbers(g->parameter), SHAPE(3, 5)),
                    b = op_weight(g, binary_numbers(g->parameter), 0, SHAPE(5));
    if (g->parameter == ARTEL__BINARY_MOD) return artel__op_binary(&g->graph, ARTEL__BINARY_MOD, a, shifted(g, b));
    return artel__op_binary(&g->graph, (artel__binary)g->parameter, shifted(g, b), a);
}

static artel__value_id select_where(op_graph *g)
{
    artel__value_id a = op_row(g, OP_SIGNED, SHAPE(4, 6)), b = op_row(g, OP_SIGNED, SHAPE(6));
    artel__value_id near = artel__op_compare_scalar(&g->graph, ARTEL__COMPARE_LESS, a, 0);
    artel__value_id both =
        artel__op_logical_or(&g->graph, near, artel__op_logical_not(&g->graph, op_row(g, OP_BITS, SHAPE(6))));
    return artel__op_where(&g->graph, artel__op_logical_and(&g->graph, both, near), a, b);
}

static artel__value_id compare(op_graph *g)
{
    artel__value_id a = op_row(g, OP_SIGNED, SHAPE(4, 6)), b = op_row(g, OP_SIGNED, SHAPE(6));
    return artel__op_cast(&g->graph, artel__op_compare(&g->graph, (artel__comparison)g->parameter, a, b),
                          ARTEL_DTYPE_FLOAT32);
}

static artel__value_id casts(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(4, 6));
    artel__value_id wide =
        artel__op_cast(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_TANH, NULL, x), ARTEL_DTYPE_FLOAT64);
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

/* Gradients that are 0 by definition, where a difference shows jumps or nothing. */
static bool flat(int f)
{
    return f == ARTEL__UNARY_SIGN || f == ARTEL__UNARY_ROUND || f == ARTEL__UNARY_FLOOR || f == ARTEL__UNARY_ZERO_TEST;
}

const op_family op_cases_elementwise[] = {
    {{.name = "unary", .build = unary, .flat = flat}, ARTEL__UNARY_COUNT},
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
    {.count = 0},
};
