/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs whose middle is float64. */
#include "support/op_cases.h"

#include "nn/window_float64.h"
#include "op/batch_rows.h"
#include "op/decompose.h"
#include "op/elementwise.h"
#include "op/gather.h"
#include "op/matrix.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/wide_embed.h"
#include "op/wide_product.h"

static artel__value_id wide(op_graph *g, artel__value_id x)
{
    return artel__op_cast(&g->graph, x, ARTEL_DTYPE_FLOAT64);
}

static artel__value_id narrow(op_graph *g, artel__value_id x)
{
    return artel__op_cast(&g->graph, x, ARTEL_DTYPE_FLOAT32);
}

/* 0: both by row; 1, 2: one of them is shared by all rows; 3: the gradient of a gradient; 4: of that of a shared one */
static artel__value_id product(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel_shape left = SHAPE(2, 3, 4), right = SHAPE(2, 5, 4);
    artel__value_id a = wide(g, g->parameter == 2 ? op_weight(g, OP_SIGNED, 0, left) : op_row(g, OP_SIGNED, left));
    artel__value_id b = wide(g, g->parameter == 1 || g->parameter == 4 ? op_weight(g, OP_SIGNED, 0, right)
                                                                       : op_row(g, OP_SIGNED, right));
    artel__value_id y = artel__op_wide_product(graph, a, b);
    if (g->parameter < 3) return narrow(g, y);
    artel__value_id square = artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, y),
                    one = artel__op_fill_like(graph, square, 1), slope;
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &square,
                                    .seeds = &one,
                                    .target_count = 1,
                                    .wanted = g->parameter == 3 ? &a : &b,
                                    .wanted_count = 1};
    artel__graph_differentiate(graph, &request, &slope);
    return narrow(g, slope);
}

/* 0: rows of a table, some of them twice; 1: weights and a bias */
static artel__value_id weights(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id table = wide(g, op_weight(g, OP_SIGNED, 0, SHAPE(11, 3)));
    if (g->parameter == 0) return narrow(g, artel__op_wide_lookup(graph, table, op_indices(g, 11, SHAPE(3, 2))));
    artel__value_id x = wide(g, op_row(g, OP_SIGNED, SHAPE(2, 11))),
                    bias = wide(g, op_weight(g, OP_SIGNED, 0, SHAPE(3)));
    return narrow(g, artel__op_wide_weights(graph, x, table, bias, &(artel__wide_weights){1, SHAPE(3), false}));
}

static artel__value_id unary(op_graph *g)
{
    static const artel__unary functions[] = {ARTEL__UNARY_EXPONENTIAL, ARTEL__UNARY_LOG,   ARTEL__UNARY_TANH,
                                             ARTEL__UNARY_ERF,         ARTEL__UNARY_GELU,  ARTEL__UNARY_SIN,
                                             ARTEL__UNARY_COS,         ARTEL__UNARY_SQRT,  ARTEL__UNARY_SIGMOID,
                                             ARTEL__UNARY_SILU,        ARTEL__UNARY_POWER, ARTEL__UNARY_SOFTPLUS};
    artel__value_id x = wide(g, op_row(g, OP_POSITIVE, SHAPE(5)));
    return narrow(g, artel__op_unary_exact(&g->graph, functions[g->parameter], (double[]){1.7, 0, 0}, x));
}

/* With an operand that is shared by all rows, and one of fewer axes. */
static artel__value_id binary(op_graph *g)
{
    artel__value_id a = wide(g, op_row(g, OP_POSITIVE, SHAPE(3, 4))),
                    b = wide(g, op_weight(g, OP_POSITIVE, 0, SHAPE(4)));
    return narrow(g, artel__op_binary(&g->graph, (artel__binary)g->parameter, a, b));
}

static artel__value_id reduce(op_graph *g)
{
    artel__value_id x = wide(g, op_row(g, OP_APART, SHAPE(3, 5, 2)));
    return narrow(g, artel__op_reduce(&g->graph, (artel__reduction)g->parameter, x, 2u, false));
}

/* 0: one of two; 1: sorted; 2: a softmax; 3: moved about */
static artel__value_id select_elements(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = wide(g, op_row(g, OP_APART, SHAPE(3, 5))), y = wide(g, op_row(g, OP_APART, SHAPE(3, 5)));
    if (g->parameter == 0) return narrow(g, artel__op_where(graph, op_row(g, OP_BITS, SHAPE(3, 5)), x, y));
    if (g->parameter == 1)
        return narrow(g, artel__op_add(graph, artel__op_take(graph, x, artel__op_order(graph, x), 1), y));
    if (g->parameter == 2)
        return narrow(g, artel__op_add(graph, artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, x, 1), y));
    artel__value_id part[2] = {artel__op_pad(graph, x, (int64_t[]){0, 1}, (int64_t[]){0, 2}, 0.1),
                               artel__op_slice(graph, y, 1, 4, 3, -2)};
    return narrow(g, artel__op_concat(graph, part, 2, 1));
}

/* 0: a sum over rows; 1: their greatest */
static artel__value_id rows(op_graph *g)
{
    artel__value_id x = wide(g, op_row(g, OP_SIGNED, SHAPE(3)));
    if (g->parameter == 1) return narrow(g, artel__op_batch_max(&g->graph, x));
    return narrow(g,
                  artel__op_batch_sum(&g->graph, artel__op_all_reduce(&g->graph, artel__op_fold_sum(&g->graph, x)), x));
}

/* x with more on its diagonal than beside it, and symmetric, so that its eigenvalues are positive and apart. */
static artel__value_id matrices(op_graph *g, artel__value_id x)
{
    static const double more[16] = {3, 0, 0, 0, 0, 4, 0, 0, 0, 0, 5, 0, 0, 0, 0, 6.5};
    artel_shape shape = SHAPE(4, 4);
    artel__value_id both = artel__op_add(&g->graph, x, artel__op_transpose(&g->graph, x, (const int[]){1, 0}));
    return artel__op_add(&g->graph, artel__op_affine(&g->graph, both, 0.2, 0),
                         artel__op_constant(&g->graph, ARTEL_DTYPE_FLOAT64, &shape, more));
}

/* 0: solve; 1: inverse; 2: Cholesky; 3: determinant; 4, 5: one of the two sides is the same for all rows; 6: Q R; 7:
 * eigenvalues; 8: singular values */
static artel__value_id matrix(op_graph *g)
{
    artel__graph *graph = &g->graph;
    int n = g->parameter;
    artel__value_id a =
        matrices(g, wide(g, n == 4 ? op_weight(g, OP_SIGNED, 0, SHAPE(4, 4)) : op_row(g, OP_SIGNED, SHAPE(4, 4))));
    if (n == 0 || n == 4 || n == 5) {
        artel__value_id b =
            wide(g, n == 5 ? op_weight(g, OP_SIGNED, 0, SHAPE(4, 3)) : op_row(g, OP_SIGNED, SHAPE(4, 3)));
        return narrow(g, artel__op_matrix(graph, ARTEL__MATRIX_SOLVE, a, b));
    }
    if (n < 4) return narrow(g, artel__op_matrix(graph, (artel__matrix_function)n, a, ARTEL__NO_VALUE));
    artel__value_id y = artel__op_decompose(graph, (artel__decomposition)(n - 6), false, a);
    return narrow(g, n == 8 ? artel__graph_output(graph, y, 1) : y);
}

/* Windows of two dimensions: 0, 1: convolutions with strides, and with groups and dilation; 2: the way back; 3, 4:
 * pooling */
static artel__value_id window(op_graph *g)
{
    int n = g->parameter;
    artel__conv_any w = {.rank = 2, .groups = n == 1 ? 2 : 1};
    for (int i = 0; i < 2; i++) {
        w.axis[i] = (artel__conv_axis){.kernel = 3 - i, .stride = n == 1 ? 1 : 2, .dilation = n == 1 ? 2 : 1, .in = 5};
        artel__conv_any_lay(&w.axis[i], n != 1);
    }
    artel_shape x = n == 2 ? SHAPE(w.axis[0].out, w.axis[1].out, 3) : SHAPE(5, 5, 4),
                kernel = n == 1 ? SHAPE(3, 2, 2, 6) : SHAPE(3, 2, 4, 3);
    artel__value_id y = wide(g, op_row(g, OP_APART, x));
    if (n > 2) return narrow(g, artel__pool_float64(&g->graph, &w, n == 3, y));
    artel__value_id weights = wide(g, op_weight(g, OP_SIGNED, 0, kernel));
    return narrow(g, n == 2 ? artel__conv_back_float64(&g->graph, &w, y, weights)
                            : artel__conv_float64(&g->graph, &w, y, weights));
}

const op_family op_cases_wide[] = {
    {{.name = "wide product", .build = product}, 5},
    {{.name = "wide weights", .build = weights}, 2},
    {{.name = "wide unary", .build = unary}, 12},
    {{.name = "wide binary", .build = binary, .kinks = true}, ARTEL__BINARY_COUNT},
    {{.name = "wide reduce", .build = reduce}, 5},
    {{.name = "wide select", .build = select_elements}, 4},
    {{.name = "wide matrix", .build = matrix, .tolerance = 0.01}, 9},
    {{.name = "wide window", .build = window}, 5},
    {{.name = "wide rows", .build = rows}, 2},
    {.count = 0},
};
