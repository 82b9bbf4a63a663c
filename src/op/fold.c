/* SPDX-License-Identifier: Apache-2.0 */
/* Folds over rows: what crosses the rows of a batch, along the fixed tree over virtual shards.
 *
 *   fold_sum        ROW [..] -> NODES [..], float32: the sum over the rows of each node
 *   fold_columns    ROW [.., k] -> NODES float64 [k]
 *   fold_weighted   ROW values and weights -> NODES float64 [2]: sum of value * weight, sum of weight
 * A leaf adds its rows in order; kernel/reduce.h says how. Of them fold_sum differentiates, which stands in gradients;
 * the others stand behind losses and metrics.
 */
#include "graph/lower.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/second.h"
#include "op/shape_ops.h"

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

/* Over all axes in front of those of the result, in the result's type. */
static void lower_fold(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), in = *artel__hlo_type_of(h, lower->in[0]);
    uint32_t ahead = (1u << (in.rank - out.rank)) - 1;
    lower->out[0] = artel__hlo_reduce(h, "add", 0, artel__hlo_convert(h, lower->in[0], out.dtype), ahead);
}

const artel__op_def artel__op_fold_sum_def = {
    .name = "fold_sum",
    .doc = "Sums over the rows of each fold node.",
    .infer = infer_fold_sum,
    .grad = artel__second_fold_sum,
    .lower = lower_fold,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fold_columns_kernels,
            .params_size = sizeof(artel__fold_columns),
            .fill = fill_fold_sum,
        },
};

static artel_status infer_fold_columns(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    if (x->domain != ARTEL__DOMAIN_ROW || x->shape.rank < 1)
        return artel__op_fail(infer, "the operand has no rows or no columns");
    artel_shape shape = artel__shape(1, x->shape.dim[x->shape.rank - 1]);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

const artel__op_def artel__op_fold_columns_def = {
    .name = "fold_columns",
    .doc = "Sums of columns over rows and inner axes, in float64.",
    .infer = infer_fold_columns,
    .lower = lower_fold,
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
    *(artel__fold_weighted *)params =
        (artel__fold_weighted){.fold = args->step->fold,
                               .inner = artel__args_in(args, 0)->storage,
                               .weight_inner = weighted ? artel__args_in(args, 1)->storage : 1,
                               .value = args->in[0],
                               .weight = weighted ? args->in[1] : NULL,
                               .y = args->out[0]};
}

static artel__hlo_value total(artel__hlo *h, artel__hlo_value a)
{
    artel__hlo_type one = {.dtype = ARTEL_DTYPE_FLOAT64, .rank = 1, .dim = {1}};
    uint32_t all = (1u << artel__hlo_type_of(h, a)->rank) - 1;
    return artel__hlo_reshape(h, artel__hlo_reduce(h, "add", 0, a, all), &one);
}

static void lower_fold_weighted(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value value = artel__hlo_convert(h, lower->in[0], ARTEL_DTYPE_FLOAT64),
                     weight = artel__hlo_number(h, 1, value);
    artel__hlo_type type = *artel__hlo_type_of(h, value), rows = {.rank = 1, .dim = {lower->rows}};
    if (lower->node->inputs > 1) {
        artel__hlo_value given = artel__hlo_convert(h, lower->in[1], ARTEL_DTYPE_FLOAT64);
        if (artel__hlo_count(artel__hlo_type_of(h, given)) == artel__hlo_count(&type))
            weight = artel__hlo_reshape(h, given, &type);
        else
            weight = artel__hlo_broadcast(h, artel__hlo_reshape(h, given, &rows), &type, (int[]){0});
    }
    artel__hlo_value part[] = {total(h, artel__hlo_binary(h, "multiply", value, weight)), total(h, weight)};
    lower->out[0] = artel__hlo_concatenate(h, part, 2, 0);
}

const artel__op_def artel__op_fold_weighted_def = {
    .name = "fold_weighted",
    .doc = "Weighted sum and sum of weights over all elements, in float64.",
    .infer = infer_fold_weighted,
    .lower = lower_fold_weighted,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fold_weighted_kernels,
            .params_size = sizeof(artel__fold_weighted),
            .fill = fill_fold_weighted,
        },
};

/* Sums over the elements of each row, and a fold of the two. */
static artel__value_id fold_weighted_wide(artel__graph *graph, artel__value_id value, artel__value_id weight)
{
    artel_shape flat = artel__shape(1, graph->value[value].storage), one = artel__shape(1, (int64_t)1);
    value = artel__op_reshape(graph, artel__op_cast(graph, value, ARTEL_DTYPE_FLOAT64), &flat);
    artel__value_id counts = artel__op_fill_like(graph, value, 1);
    if (weight >= 0 && graph->status == ARTEL_OK) {
        bool by_row = graph->value[weight].storage == 1;
        weight = artel__op_cast(graph, weight, ARTEL_DTYPE_FLOAT64);
        weight = artel__op_reshape(graph, weight, by_row ? &one : &flat);
        counts = artel__op_binary(graph, ARTEL__BINARY_MUL, counts, weight);
        value = artel__op_binary(graph, ARTEL__BINARY_MUL, value, weight);
    }
    artel__value_id part[] = {artel__op_reduce(graph, ARTEL__REDUCE_SUM, value, 1u, true),
                              artel__op_reduce(graph, ARTEL__REDUCE_SUM, counts, 1u, true)};
    return artel__op_fold_sum(graph, artel__op_concat(graph, part, 2, 0));
}

artel__value_id artel__op_fold_weighted(artel__graph *graph, artel__value_id value, artel__value_id weight)
{
    if (graph->status < 0 || value < 0) return ARTEL__NO_VALUE;
    if (graph->value[value].dtype == ARTEL_DTYPE_FLOAT64 ||
        (weight >= 0 && graph->value[weight].dtype == ARTEL_DTYPE_FLOAT64))
        return fold_weighted_wide(graph, value, weight);
    return artel__graph_add(graph, &artel__op_fold_weighted_def, NULL, (artel__value_id[]){value, weight},
                            weight >= 0 ? 2 : 1);
}
