/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of elements by index, orders, integers and small matrices. */
#include "support/op_cases.h"

#include "op/elementwise.h"
#include "op/gather.h"
#include "op/matrix.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

static artel__value_id as_float(op_graph *g, artel__value_id x)
{
    return artel__op_cast(&g->graph, x, ARTEL_DTYPE_FLOAT32);
}

static artel__value_id fixed(op_graph *g, const int32_t *index, int64_t count)
{
    artel_shape shape = SHAPE(count);
    return artel__op_constant(&g->graph, ARTEL_DTYPE_INT32, &shape, index);
}

static artel__value_id order(op_graph *g)
{
    artel__value_id x = op_row(g, g->parameter == 1 ? OP_SIGNED : OP_APART, g->parameter == 2 ? SHAPE(1) : SHAPE(3, 7));
    if (g->parameter == 1) x = artel__op_unary(&g->graph, ARTEL__UNARY_ROUND, NULL, x); /* equals */
    return as_float(g, artel__op_order(&g->graph, x));
}

/* 0: what is sorted; 1: by row and line, with inner axes; 2: the same indices for all; 3: of no inner axis; 4: the
 * first axis */
static artel__value_id take(op_graph *g)
{
    static const int32_t index[] = {2, 0, 2, 3, 3};
    artel__graph *graph = &g->graph;
    if (g->parameter == 0) {
        artel__value_id x = op_row(g, OP_APART, SHAPE(3, 5));
        return artel__op_take(graph, x, artel__op_order(graph, x), 1);
    }
    if (g->parameter == 1)
        return artel__op_take(graph, op_row(g, OP_SIGNED, SHAPE(2, 4, 3)), op_indices(g, 4, SHAPE(2, 5)), 1);
    if (g->parameter == 2) return artel__op_take(graph, op_row(g, OP_SIGNED, SHAPE(2, 4, 3)), fixed(g, index, 5), 1);
    if (g->parameter == 3) return artel__op_take(graph, op_row(g, OP_SIGNED, SHAPE(2, 4)), fixed(g, index, 4), 1);
    return artel__op_take(graph, op_row(g, OP_SIGNED, SHAPE(4, 3)), op_indices(g, 4, SHAPE(6)), 0);
}

static artel__value_id integer(op_graph *g)
{
    artel__graph *graph = &g->graph;
    static const int32_t other[] = {-7, 0, 3, 12, 40, 1};
    artel__value_id x = op_indices(g, 97, SHAPE(4, 6)), less = fixed(g, (const int32_t[]){48}, 1);
    /* both signs: x - 48, as remainders of 96 */
    artel__value_id high = artel__op_compare(graph, ARTEL__COMPARE_GREATER, x, less);
    artel__value_id signed_x =
        artel__op_where(graph, high, as_float(g, x), artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, as_float(g, x)));
    x = artel__op_cast(graph, signed_x, ARTEL_DTYPE_INT32);
    return as_float(g, artel__op_integer(graph, (artel__integer_op)g->parameter, x, fixed(g, other, 6)));
}

/* The same of int64, and comparisons of them; what does not fit is shown as the nearest int32. */
static artel__value_id long_integer(op_graph *g)
{
    artel__graph *graph = &g->graph;
    static const int64_t other[] = {-7, 0, 3, 12, (INT64_C(1) << 40) + 1, 1}, large[] = {INT64_C(123456789012), -48};
    const artel_shape line = SHAPE(6), one = {.rank = 0};
    artel__value_id x = artel__op_cast(graph, op_indices(g, 97, SHAPE(4, 6)), ARTEL_DTYPE_INT64);
    artel__value_id by = artel__op_constant(graph, ARTEL_DTYPE_INT64, &line, other), number[2];
    for (int i = 0; i < 2; i++) number[i] = artel__op_constant(graph, ARTEL_DTYPE_INT64, &one, &large[i]);
    x = artel__op_integer(graph, ARTEL__INTEGER_ADD, x, number[1]); /* both signs */
    x = artel__op_integer(graph, ARTEL__INTEGER_MULTIPLY, x, number[0]);
    if (g->parameter >= ARTEL__INTEGER_COUNT) {
        artel__comparison how = (artel__comparison)(g->parameter - ARTEL__INTEGER_COUNT);
        return as_float(g, artel__op_compare(graph, how, x, artel__op_integer(graph, ARTEL__INTEGER_MOD, x, by)));
    }
    x = artel__op_integer(graph, (artel__integer_op)g->parameter, x, by);
    return as_float(g, artel__op_cast(graph, x, ARTEL_DTYPE_INT32));
}

/* Far from singular: 2 on the diagonal. */
static artel__value_id matrices(op_graph *g, artel__value_id x, int64_t n)
{
    float diagonal[64] = {0};
    artel_shape shape = SHAPE(n, n);
    for (int64_t i = 0; i < n; i++) diagonal[i * n + i] = 2.0f;
    return artel__op_add(&g->graph, artel__op_affine(&g->graph, x, 0.4f, 0),
                         artel__op_constant(&g->graph, ARTEL_DTYPE_FLOAT32, &shape, diagonal));
}

/* x and its mirror image: symmetric. */
static artel__value_id symmetric(op_graph *g, artel__value_id x)
{
    return artel__op_add(&g->graph, x, artel__op_transpose(&g->graph, x, (const int[]){0, 2, 1}));
}

/* 0: solve; 1: inverse; 2: Cholesky; 3: determinant; 4: lines exchanged; 5, 6: one of the two sides is the same for
 * all; 7: one by one */
static artel__value_id matrix(op_graph *g)
{
    static const float side[] = {1, -2, 0.5f, 0.25f, 3, 1, 1, -1};
    artel__graph *graph = &g->graph;
    artel_shape tall = SHAPE(4, 2), square = SHAPE(4, 4);
    float turned[16] = {0.1f, 2, 0, 0, 1, 0.2f, 0, 0.5f, 0, 0, 0.1f, 3, 0, 0.25f, 2, 0};
    if (g->parameter == 5)
        return artel__op_matrix(graph, ARTEL__MATRIX_SOLVE,
                                artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &square, turned),
                                op_row(g, OP_SIGNED, SHAPE(2, 4, 3)));
    if (g->parameter == 7)
        return artel__op_matrix(graph, ARTEL__MATRIX_INVERSE, op_row(g, OP_POSITIVE, SHAPE(3, 1, 1)), ARTEL__NO_VALUE);
    artel__value_id a = matrices(g, op_row(g, OP_SIGNED, SHAPE(2, 4, 4)), 4);
    if (g->parameter == 6)
        return artel__op_matrix(graph, ARTEL__MATRIX_SOLVE, a,
                                artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &tall, side));
    if (g->parameter == 4) a = artel__op_slice(graph, a, 1, 3, 4, -1);
    if (g->parameter == 2) a = symmetric(g, a);
    if (g->parameter == 0 || g->parameter == 4)
        return artel__op_matrix(graph, ARTEL__MATRIX_SOLVE, a, op_row(g, OP_SIGNED, SHAPE(2, 4, 3)));
    return artel__op_matrix(graph, (artel__matrix_function)g->parameter, a, ARTEL__NO_VALUE);
}

/* A number by row and a few for all: the result must not lie over the first, though both fill one line of 64 bytes. */
static artel__value_id small_spread(op_graph *g)
{
    static const float few[] = {1, -2};
    artel_shape shape = SHAPE(2);
    artel__value_id sum = artel__op_reduce(&g->graph, ARTEL__REDUCE_SUM, op_row(g, OP_SIGNED, SHAPE(4)), 1u, false);
    artel__value_id x = artel__op_binary(&g->graph, ARTEL__BINARY_MUL, sum,
                                         artel__op_constant(&g->graph, ARTEL_DTYPE_FLOAT32, &shape, few));
    return artel__op_affine(&g->graph, x, 1, 1);
}

const op_family op_cases_gather[] = {
    {{.name = "small spread", .build = small_spread}, 1},
    {{.name = "order", .build = order, .bits_only = true}, 3},
    {{.name = "take", .build = take}, 5},
    {{.name = "integer", .build = integer, .bits_only = true}, ARTEL__INTEGER_COUNT},
    {{.name = "int64", .build = long_integer, .bits_only = true},
     ARTEL__INTEGER_COUNT + ARTEL__COMPARE_GREATER_EQUAL + 1},
    {{.name = "matrix", .build = matrix, .tolerance = 0.01}, 8},
    {.count = 0},
};
