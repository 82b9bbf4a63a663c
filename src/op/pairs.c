/* SPDX-License-Identifier: Apache-2.0 */
/* A loss of pairs of rows; formula and numerics: kernel/pairs.h.
 *
 *   pairs           x and labels of all replicas (gathered), own x -> loss ROW [], sums ROW [2]
 *   pairs_gradient  the same gathered, with sums and upstream of all rows -> ROW [width]
 * A row's gradient comes from every loss it is in, so what these lost is gathered before the backward pass goes on.
 */
#include "op/pairs.h"

#include "kernel/pairs.h"
#include "kernel/wide.h"
#include "op/lower_batch.h"
#include "op/second.h"

static artel_status infer_pairs(artel__infer *infer)
{
    const artel__value *x = infer->in[0], *labels = infer->in[1];
    artel_shape none = {.rank = 0}, two = artel__shape(1, (int64_t)2);
    if (x->domain != ARTEL__DOMAIN_BATCH || (x->dtype != ARTEL_DTYPE_FLOAT32 && x->dtype != ARTEL_DTYPE_FLOAT64) ||
        x->shape.rank != 1)
        return artel__op_fail(infer, "it wants outputs of one axis");
    if (labels->domain != ARTEL__DOMAIN_BATCH || labels->dtype != ARTEL_DTYPE_INT32 || labels->storage != 1)
        return artel__op_fail(infer, "it wants one class number a row");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, x->dtype, &none);
    artel__infer_output(infer, 1, ARTEL__DOMAIN_ROW, x->dtype, &two);
    return ARTEL_OK;
}

static const artel__kernel *const *choose_pairs(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, true) ? artel__wide_pairs_forward_kernels : NULL;
}

static const artel__kernel *const *choose_gradient(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, true) ? artel__wide_pairs_gradient_kernels : NULL;
}

static void fill(const artel__run_args *args, artel__pairs *out)
{
    const artel__pairs_settings *a = args->attributes;
    const artel__fold_plan *fold = args->step->fold;
    *out = (artel__pairs){.batch = fold->batch,
                          .width = artel__args_in(args, 0)->storage,
                          .first = fold->row,
                          .rows = fold->rows,
                          .x = args->in[0],
                          .label = args->in[1],
                          .gamma = a->gamma,
                          .margin = a->margin,
                          .others = a->others};
}

static void fill_pairs(const artel__run_args *args, void *params)
{
    artel__pairs *p = params;
    fill(args, p);
    p->loss = args->out[0];
    p->sums = args->out[1];
}

static artel_status infer_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, infer->in[0]->dtype, &infer->in[0]->shape);
    return ARTEL_OK;
}

static void fill_gradient(const artel__run_args *args, void *params)
{
    artel__pairs *p = params;
    fill(args, p);
    p->all_sums = args->in[2];
    p->upstream = args->in[3];
    p->gradient = args->out[0];
}

static void lower_pairs(artel__lower *lower)
{
    artel__lower_pairs(lower, lower->attributes);
}

static void lower_gradient(artel__lower *lower)
{
    artel__lower_pairs_gradient(lower, lower->attributes);
}

static artel_status grad_gradient(artel__gradient *g)
{
    return artel__second_pairs(g, g->attributes);
}

const artel__op_def artel__op_pairs_gradient_def = {
    .name = "pairs_gradient",
    .doc = "Gradient of a loss of pairs of rows.",
    .attribute_size = sizeof(artel__pairs_settings),
    .infer = infer_gradient,
    .grad = grad_gradient,
    .lower = lower_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__pairs_gradient_kernels,
            .choose = choose_gradient,
            .params_size = sizeof(artel__pairs),
            .fill = fill_gradient,
        },
};

static artel_status grad_pairs(artel__gradient *g)
{
    if (!g->needed[2]) return ARTEL_OK;
    artel__value_id sums = artel__op_all_gather(g->graph, g->out[1]),
                    upstream = artel__op_all_gather(g->graph, g->out_gradient[0]);
    artel__value_id inputs[] = {g->in[0], g->in[1], sums, upstream};
    g->in_gradient[2] = artel__graph_add(g->graph, &artel__op_pairs_gradient_def, g->attributes, inputs, 4);
    return ARTEL_OK;
}

/* The own rows of x are an operand for the sake of their gradient alone. */
const artel__op_def artel__op_pairs_def = {
    .name = "pairs",
    .doc = "Loss of each row beside all rows of the batch (Circle).",
    .attribute_size = sizeof(artel__pairs_settings),
    .infer = infer_pairs,
    .grad = grad_pairs,
    .lower = lower_pairs,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__pairs_forward_kernels,
            .choose = choose_pairs,
            .params_size = sizeof(artel__pairs),
            .fill = fill_pairs,
        },
};

artel__value_id artel__op_pairs(artel__graph *graph, const artel__pairs_settings *settings, artel__value_id labels,
                                artel__value_id x)
{
    artel__value_id inputs[] = {artel__op_all_gather(graph, x), artel__op_all_gather(graph, labels), x};
    return artel__graph_add(graph, &artel__op_pairs_def, settings, inputs, 3);
}
