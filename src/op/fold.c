/* SPDX-License-Identifier: Apache-2.0 */
/* Folds over rows: what crosses the rows of a batch, along the fixed tree over virtual shards.
 *
 *   fold_sum        ROW [..] -> NODES [..], float32: the sum over the rows of each node
 *   fold_columns    ROW [.., k] -> NODES float64 [k]
 *   fold_weighted   ROW values and weights -> NODES float64 [2]: sum of value * weight, sum of weight
 * A leaf adds its rows in order; kernel/reduce.h says how. None of them differentiates: they stand behind losses and
 * metrics, or inside the gradients of other operations.
 */
#include "op/reduce.h"

static artel_status infer_fold_sum(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    if (x->domain != ARTEL__DOMAIN_ROW) return artel__op_fail(infer, "the operand has no rows");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, x->dtype, &x->shape);
    return ARTEL_OK;
}

static void fill_fold_sum(const artel__run_args *args, void *params)
{
    const artel__value *x = artel__args_in(args, 0), *y = artel__args_out(args, 0);
    *(artel__fold_columns *)params = (artel__fold_columns){.fold = args->step->fold,
                                                           .from = x->dtype,
                                                           .to = y->dtype,
                                                           .inner = y->storage ? x->storage / y->storage : 0,
                                                           .columns = y->storage,
                                                           .x = args->in[0],
                                                           .y = args->out[0],
                                                           .y_stride = y->storage};
}

const artel__op_def artel__op_fold_sum_def = {
    .name = "fold_sum",
    .doc = "Sums over the rows of each fold node.",
    .infer = infer_fold_sum,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fold_columns_kernels,
            .params_size = sizeof(artel__fold_columns),
            .fill = fill_fold_sum,
        },
};

artel__value_id artel__op_fold_sum(artel__graph *graph, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_fold_sum_def, NULL, &x, 1);
}

static artel_status infer_fold_columns(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    if (x->domain != ARTEL__DOMAIN_ROW || x->shape.rank < 1) return artel__op_fail(infer, "the operand has no rows or no columns");
    artel_shape shape = artel__shape(1, x->shape.dim[x->shape.rank - 1]);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

const artel__op_def artel__op_fold_columns_def = {
    .name = "fold_columns",
    .doc = "Sums of columns over rows and inner axes, in float64.",
    .infer = infer_fold_columns,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fold_columns_kernels,
            .params_size = sizeof(artel__fold_columns),
            .fill = fill_fold_sum,
        },
};

artel__value_id artel__op_fold_columns64(artel__graph *graph, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_fold_columns_def, NULL, &x, 1);
}

static artel_status infer_fold_weighted(artel__infer *infer)
{
    const artel__value *x = infer->in[0], *w = infer->inputs > 1 ? infer->in[1] : NULL;
    artel_shape two = artel__shape(1, (int64_t)2);
    if (x->domain != ARTEL__DOMAIN_ROW || x->dtype != ARTEL_DTYPE_FLOAT32)
        return artel__op_fail(infer, "the operand is not float32 by row");
    if (w && (w->domain != ARTEL__DOMAIN_ROW || (w->storage != 1 && w->storage != x->storage)))
        return artel__op_fail(infer, "the weights have neither one element a row nor the shape of the values");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT64, &two);
    return ARTEL_OK;
}

static void fill_fold_weighted(const artel__run_args *args, void *params)
{
    bool weighted = args->node->inputs > 1;
    *(artel__fold_weighted *)params = (artel__fold_weighted){.fold = args->step->fold,
                                                             .inner = artel__args_in(args, 0)->storage,
                                                             .weight_inner = weighted ? artel__args_in(args, 1)->storage : 1,
                                                             .value = args->in[0],
                                                             .weight = weighted ? args->in[1] : NULL,
                                                             .y = args->out[0]};
}

const artel__op_def artel__op_fold_weighted_def = {
    .name = "fold_weighted",
    .doc = "Weighted sum and sum of weights over all elements, in float64.",
    .infer = infer_fold_weighted,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fold_weighted_kernels,
            .params_size = sizeof(artel__fold_weighted),
            .fill = fill_fold_weighted,
        },
};

artel__value_id artel__op_fold_weighted(artel__graph *graph, artel__value_id value, artel__value_id weight)
{
    return artel__graph_add(graph, &artel__op_fold_weighted_def, NULL, (artel__value_id[]){value, weight}, weight >= 0 ? 2 : 1);
}
