/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in float64, where float32 has products with panels (product.c).
 *
 *   wide_product   y[lead][i][j] = sum over r of a[lead][i][r] b[lead][j][r];   one of the two may be GLOBAL beside
 * rows da = dy b and db = dy^T a are such products of transposes. That of a GLOBAL operand is summed over the rows by a
 * fold; where it is b, as weights are, by
 *   wide_weight_gradient   NODES [lead][j][r] = fold of sum over i of dy[lead][i][j] a[lead][i][r]
 * in the same order, so that no row's matrix is in memory.
 */
#include "op/wide_product.h"

#include <math.h>

#include "graph/lower.h"
#include "kernel/wide.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"

static artel_status infer_product(artel__infer *infer)
{
    const artel__value *a = infer->in[0], *b = infer->in[1];
    bool fits = a->dtype == ARTEL_DTYPE_FLOAT64 && b->dtype == ARTEL_DTYPE_FLOAT64 && a->shape.rank == 3 &&
                b->shape.rank == 3 && a->shape.dim[0] == b->shape.dim[0] && a->shape.dim[2] == b->shape.dim[2];
    if (!fits) return artel__op_fail(infer, "the operands are no matrices of float64 that fit one another");
    artel_shape shape = artel__shape(3, a->shape.dim[0], a->shape.dim[1], b->shape.dim[1]);
    bool rows = a->domain == ARTEL__DOMAIN_ROW || b->domain == ARTEL__DOMAIN_ROW;
    artel__infer_output(infer, 0, rows ? ARTEL__DOMAIN_ROW : ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

static void fill_product(const artel__run_args *args, void *params)
{
    const artel__value *a = artel__args_in(args, 0), *b = artel__args_in(args, 1);
    int64_t rows = artel__args_rows(args, args->node->output[0]), lead = a->shape.dim[0];
    *(artel__wide_product *)params = (artel__wide_product){.outer = rows,
                                                           .lead = lead,
                                                           .rows = a->shape.dim[1],
                                                           .columns = b->shape.dim[1],
                                                           .inner = a->shape.dim[2],
                                                           .a_stride = a->domain == ARTEL__DOMAIN_ROW ? a->storage : 0,
                                                           .b_stride = b->domain == ARTEL__DOMAIN_ROW ? b->storage : 0,
                                                           .a = args->in[0],
                                                           .b = args->in[1],
                                                           .y = args->out[0]};
}

/* Without rows the matrices of both sides are paired by `lead` alone; those of one side then meet all rows of the
 * other, and the rows go to the front behind the product. */
static void lower_product(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), a = artel__lower_in_type(lower, 0),
                    b = artel__lower_in_type(lower, 1);
    artel__hlo_value left = artel__hlo_reshape(h, lower->in[0], &a), right = artel__hlo_reshape(h, lower->in[1], &b);
    int by_row_a = a.rank - 3, by_row_b = b.rank - 3;
    artel__hlo_dims dims = {.batch = 1,
                            .contracted = 1,
                            .batch_a = {by_row_a},
                            .batch_b = {by_row_b},
                            .contracted_a = {by_row_a + 2},
                            .contracted_b = {by_row_b + 2}};
    if (by_row_a && by_row_b) {
        dims.batch = 2;
        dims.batch_a[0] = dims.batch_b[0] = 0;
        dims.batch_a[1] = dims.batch_b[1] = 1;
    }
    artel__hlo_value y = artel__hlo_dot_general(h, left, right, &dims);
    if (by_row_a && !by_row_b)
        y = artel__hlo_transpose(h, y, (const int[]){1, 0, 2, 3});
    else if (by_row_b && !by_row_a)
        y = artel__hlo_transpose(h, y, (const int[]){2, 0, 1, 3});
    lower->out[0] = artel__hlo_reshape(h, y, &out);
}

static void lower_weight_gradient(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), dy = artel__lower_in_type(lower, 0),
                    x = artel__lower_in_type(lower, 1);
    artel__hlo_dims dims = {
        .batch = 1, .contracted = 2, .batch_a = {1}, .batch_b = {1}, .contracted_a = {0, 2}, .contracted_b = {0, 2}};
    artel__hlo_value dw = artel__hlo_dot_general(h, artel__hlo_reshape(h, lower->in[0], &dy),
                                                 artel__hlo_reshape(h, lower->in[1], &x), &dims);
    lower->out[0] = artel__hlo_reshape(h, dw, &out);
}

/* -- the gradient of weights; inputs: dy, a -- */

static artel_status infer_weight_gradient(artel__infer *infer)
{
    const artel_shape *dy = &infer->in[0]->shape, *a = &infer->in[1]->shape;
    artel_shape shape = artel__shape(3, dy->dim[0], dy->dim[2], a->dim[2]);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

static void fill_weight_gradient(const artel__run_args *args, void *params)
{
    const artel_shape *dy = &artel__args_in(args, 0)->shape;
    *(artel__wide_weight_gradient *)params =
        (artel__wide_weight_gradient){.fold = args->step->fold,
                                      .lead = dy->dim[0],
                                      .rows = dy->dim[1],
                                      .columns = dy->dim[2],
                                      .inner = artel__args_in(args, 1)->shape.dim[2],
                                      .dy = args->in[0],
                                      .x = args->in[1],
                                      .dw = args->out[0]};
}

/* dw = fold of dy^T x, with G what comes back: d dy = x G^T, dx = dy G. */
static artel_status grad_weight_gradient(artel__gradient *g)
{
    const int turned[3] = {0, 2, 1};
    artel__graph *graph = g->graph;
    artel__value_id back = g->out_gradient[0];
    if (g->needed[0]) g->in_gradient[0] = artel__op_wide_product(graph, g->in[1], back);
    if (g->needed[1])
        g->in_gradient[1] = artel__op_wide_product(graph, g->in[0], artel__op_transpose(graph, back, turned));
    return graph->status;
}

static int64_t cost_weight_gradient(const artel__graph *graph, const artel__node *node)
{
    return 2 * artel_shape_count(&graph->value[node->input[0]].shape) * graph->value[node->input[1]].shape.dim[2];
}

const artel__op_def artel__op_wide_weight_gradient_def = {
    .name = "wide_weight_gradient",
    .doc = "Gradient of a product's weights in float64, folded over shards.",
    .infer = infer_weight_gradient,
    .grad = grad_weight_gradient,
    .cost = cost_weight_gradient,
    .lower = lower_weight_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__wide_weight_gradient_kernels,
            .params_size = sizeof(artel__wide_weight_gradient),
            .fill = fill_weight_gradient,
        },
};

static artel_status grad_product(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    const int turned[3] = {0, 2, 1};
    artel__value_id dy = g->out_gradient[0];
    if (g->needed[0]) {
        artel__value_id da = artel__op_wide_product(graph, dy, artel__op_transpose(graph, g->in[1], turned));
        g->in_gradient[0] = artel__op_sum_to(graph, da, g->in[0]);
    }
    if (g->needed[1] && graph->status == ARTEL_OK && graph->value[dy].domain == ARTEL__DOMAIN_ROW &&
        graph->value[g->in[0]].domain == ARTEL__DOMAIN_ROW && graph->value[g->in[1]].domain == ARTEL__DOMAIN_GLOBAL) {
        artel__value_id operands[] = {dy, g->in[0]};
        g->in_gradient[1] = artel__op_all_reduce(
            graph, artel__graph_add(graph, &artel__op_wide_weight_gradient_def, NULL, operands, 2));
    } else if (g->needed[1]) {
        artel__value_id left = artel__op_transpose(graph, dy, turned),
                        right = artel__op_transpose(graph, g->in[0], turned);
        g->in_gradient[1] = artel__op_sum_to(graph, artel__op_wide_product(graph, left, right), g->in[1]);
    }
    return graph->status;
}

static int64_t cost_product(const artel__graph *graph, const artel__node *node)
{
    const artel_shape *out = &graph->value[node->output[0]].shape;
    return 2 * artel_shape_count(out) * graph->value[node->input[0]].shape.dim[2];
}

const artel__op_def artel__op_wide_product_def = {
    .name = "wide_product",
    .doc = "Products of matrices in float64.",
    .infer = infer_product,
    .grad = grad_product,
    .cost = cost_product,
    .lower = lower_product,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__wide_product_kernels,
            .params_size = sizeof(artel__wide_product),
            .fill = fill_product,
        },
};

/* Elements of [..][k] as [1][rows][k]. */
static artel__value_id as_matrix(artel__graph *graph, artel__value_id x, int64_t k)
{
    artel_shape matrix = artel__shape(3, 1, k ? artel_shape_count(&graph->value[x].shape) / k : 0, k);
    return artel__op_reshape(graph, x, &matrix);
}

artel__value_id artel__op_wide_weights(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                       const artel__wide_weights *how)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape, weights = artel__shape(3, 1, 0, 0);
    int64_t k = artel__shape_product(&shape, shape.rank - how->contracted, shape.rank),
            n = artel_shape_count(&how->columns);
    weights.dim[1] = k;
    weights.dim[2] = n;
    artel__value_id turned = artel__op_transpose(graph, artel__op_reshape(graph, w, &weights), (int[]){0, 2, 1}),
                    y = artel__op_wide_product(graph, as_matrix(graph, x, k), turned);
    shape.rank -= how->contracted;
    for (int i = 0; i < how->columns.rank && shape.rank < ARTEL_MAX_RANK; i++)
        shape.dim[shape.rank++] = how->columns.dim[i];
    y = artel__op_reshape(graph, y, &shape);
    if (bias >= 0) y = artel__op_add(graph, y, artel__op_reshape(graph, bias, &how->columns));
    return how->relu ? artel__op_unary_exact(graph, ARTEL__UNARY_RELU, (double[]){0, (double)INFINITY, 0}, y) : y;
}

artel__value_id artel__op_wide_product(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__graph_add(graph, &artel__op_wide_product_def, NULL, (artel__value_id[]){a, b}, 2);
}
