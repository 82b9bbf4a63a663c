/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in float64, where float32 has products with panels (product.c).
 *
 *   wide_product   y[lead][i][j] = sum over r of a[lead][i][r] b[lead][j][r];   one of the two may be GLOBAL beside
 * rows da = dy b and db = dy^T a are such products of transposes; that of a GLOBAL operand is summed over the rows by a
 * fold.
 */
#include "op/wide_product.h"

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

static artel_status grad_product(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    const int turned[3] = {0, 2, 1};
    artel__value_id dy = g->out_gradient[0];
    if (g->needed[0]) {
        artel__value_id da = artel__op_wide_product(graph, dy, artel__op_transpose(graph, g->in[1], turned));
        g->in_gradient[0] = artel__op_sum_to(graph, da, g->in[0]);
    }
    if (g->needed[1]) {
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
    .exec =
        &(const artel__op_exec){
            .kernels = artel__wide_product_kernels,
            .params_size = sizeof(artel__wide_product),
            .fill = fill_product,
        },
};

artel__value_id artel__op_wide_product(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__graph_add(graph, &artel__op_wide_product_def, NULL, (artel__value_id[]){a, b}, 2);
}
