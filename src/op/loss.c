/* SPDX-License-Identifier: Apache-2.0 */
/* Losses by position, and the seed of the backward pass.
 *
 *   loss       value[p] of kernel/loss.h for every position of every row;  dprediction = upstream[p] * d value / d
 * prediction loss_seed  the gradient of the reduced loss with respect to each value: weight / denominator. A shard's
 * backward pass so starts from gradients that are divided already, and gradient folds are plain sums.
 */
#include "op/loss.h"

#include "kernel/wide.h"
#include "op/lower_loss.h"
#include "op/second.h"

static artel_status infer_loss(artel__infer *infer)
{
    const artel__loss_input *a = infer->attributes;
    const artel__value *target = infer->in[0], *prediction = infer->in[1];
    artel_shape shape = prediction->shape;
    char found[128], wanted[128];
    if (shape.rank < 1 || prediction->dtype != ARTEL_DTYPE_FLOAT32)
        return artel__op_fail(infer, "predictions must have a last axis of float32");
    shape.rank--;
    int64_t expected = artel_shape_count(artel__loss_is_sparse(a->op) ? &shape : &prediction->shape);
    if (target->storage != expected || (target->dtype != ARTEL_DTYPE_FLOAT32 && target->dtype != ARTEL_DTYPE_INT32))
        return artel__op_fail(infer, "targets %s of %s do not fit predictions %s",
                              artel__shape_text(&target->shape, true, found, sizeof found),
                              artel_dtype_name(target->dtype),
                              artel__shape_text(&prediction->shape, true, wanted, sizeof wanted));
    artel__infer_output(infer, 0, prediction->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

/* Completes the settings with what this step brings; target and prediction are inputs `first` and `first + 1`. */
static artel__loss_input complete(const artel__run_args *args, int first)
{
    artel__loss_input in = *(const artel__loss_input *)args->attributes;
    const artel__value *prediction = artel__args_in(args, first + 1);
    in.length = prediction->shape.dim[prediction->shape.rank - 1];
    in.per_row = in.length ? prediction->storage / in.length : 0;
    in.positions = artel__args_rows(args, args->node->input[first + 1]) * in.per_row;
    in.target_dtype = artel__args_in(args, first)->dtype;
    in.target = args->in[first];
    in.prediction = args->in[first + 1];
    in.fault = artel__args_fault_slot(args);
    return in;
}

static void fill_loss(const artel__run_args *args, void *params)
{
    *(artel__loss_forward *)params = (artel__loss_forward){.in = complete(args, 0), .value = args->out[0]};
}

/* Inputs: upstream, target, prediction. */
static artel_status infer_loss_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[2]->domain, ARTEL_DTYPE_FLOAT32, &infer->in[2]->shape);
    return ARTEL_OK;
}

static void fill_loss_gradient(const artel__run_args *args, void *params)
{
    *(artel__loss_gradient *)params =
        (artel__loss_gradient){.in = complete(args, 1), .upstream = args->in[0], .gradient = args->out[0]};
}

const artel__op_def artel__op_loss_gradient_def = {
    .name = "loss_gradient",
    .doc = "Gradient of a loss with respect to the prediction.",
    .attribute_size = sizeof(artel__loss_input),
    .infer = infer_loss_gradient,
    .grad = artel__second_loss,
    .lower = artel__lower_loss_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__loss_gradient_kernels,
            .params_size = sizeof(artel__loss_gradient),
            .fill = fill_loss_gradient,
        },
};

static artel_status grad_loss(artel__gradient *g)
{
    if (!g->needed[1]) return ARTEL_OK;
    artel__value_id inputs[] = {g->out_gradient[0], g->in[0], g->in[1]};
    g->in_gradient[1] = artel__graph_add(g->graph, &artel__op_loss_gradient_def, g->attributes, inputs, 3);
    return ARTEL_OK;
}

const artel__op_def artel__op_loss_def = {
    .name = "loss",
    .doc = "Loss of each position.",
    .attribute_size = sizeof(artel__loss_input),
    .infer = infer_loss,
    .grad = grad_loss,
    .lower = artel__lower_loss,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__loss_forward_kernels,
            .params_size = sizeof(artel__loss_forward),
            .fill = fill_loss,
        },
};

artel__value_id artel__op_loss(artel__graph *graph, const artel__loss_input *settings, artel__value_id target,
                               artel__value_id prediction)
{
    return artel__graph_add(graph, &artel__op_loss_def, settings, (artel__value_id[]){target, prediction}, 2);
}

/* -- the seed: out = weight * factor; inputs: like, weights, denominator -- */

typedef struct seed_attributes {
    double scale;
    bool sum;
} seed_attributes;

static artel_status infer_seed(artel__infer *infer)
{
    const artel__value *like = infer->in[0], *weights = infer->in[1];
    if (weights && weights->storage != 1 && weights->storage != like->storage)
        return artel__op_fail(infer, "the weights have neither one element a row nor the shape of the loss");
    if (weights && weights->dtype != like->dtype) return artel__op_fail(infer, "the weights are of another type");
    artel__infer_output(infer, 0, like->domain, like->dtype, &like->shape);
    return ARTEL_OK;
}

static const artel__kernel *const *choose_seed(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_seed_kernels : NULL;
}

static void fill_seed_wide(const artel__run_args *args, void *params)
{
    const seed_attributes *a = args->attributes;
    const artel__value *like = artel__args_in(args, 0);
    *(artel__wide_seed *)params =
        (artel__wide_seed){.rows = artel__args_rows(args, args->node->input[0]),
                           .inner = like->storage,
                           .weight_inner = args->node->input[1] >= 0 ? artel__args_in(args, 1)->storage : 0,
                           .weight = args->in[1],
                           .denominator = args->in[2],
                           .count = a->sum ? 1.0 : (double)args->step->fold->batch * (double)like->storage,
                           .scale = a->scale,
                           .out = args->out[0]};
}

static void fill_seed(const artel__run_args *args, void *params)
{
    if (artel__args_wide(args)) {
        fill_seed_wide(args, params);
        return;
    }
    const seed_attributes *a = args->attributes;
    const artel__value *like = artel__args_in(args, 0);
    artel__loss_seed_kernel *p = params;
    p->rows = artel__args_rows(args, args->node->input[0]);
    p->inner = like->storage;
    p->weight_inner = args->node->input[1] >= 0 ? artel__args_in(args, 1)->storage : 0;
    p->weight = args->in[1];
    p->denominator = args->in[2];
    double elements = (double)args->step->fold->batch * (double)like->storage;
    p->count = a->sum ? 1.0 : elements;
    p->scale = a->scale;
    p->out = args->out[0];
}

static uint32_t unread_by_seed(const artel__node *node)
{
    (void)node;
    return 1;
}

/* Without weights it is a number of the step alone. */
static artel_status grad_seed(artel__gradient *g)
{
    return g->needed[1] || g->needed[2] ? artel__second_refuse(g, "a weighted loss") : ARTEL_OK;
}

/* The factor is a number of the step: float64, rounded at most once. */
static void lower_seed(artel__lower *lower)
{
    const seed_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), scalar = {.dtype = ARTEL_DTYPE_FLOAT64};
    artel__hlo_value zero = artel__hlo_splat(h, 0, &scalar), divisor;
    size_t count =
        out.dtype == ARTEL_DTYPE_FLOAT64 ? offsetof(artel__wide_seed, count) : offsetof(artel__loss_seed_kernel, count);
    if (lower->in[2] >= 0)
        divisor = artel__hlo_reshape(h, lower->in[2], &scalar);
    else
        divisor = artel__lower_scalar_of(lower, count, ARTEL_DTYPE_FLOAT64);
    artel__hlo_value share = artel__hlo_binary(h, "divide", artel__hlo_splat(h, a->scale, &scalar), divisor);
    artel__hlo_value factor = artel__hlo_select(h, artel__hlo_compare(h, "EQ", divisor, zero), zero, share);
    artel__hlo_value all = artel__hlo_broadcast(h, artel__hlo_convert(h, factor, out.dtype), &out, NULL);
    if (lower->in[1] < 0) {
        lower->out[0] = all;
        return;
    }
    artel__hlo_type weight = *artel__hlo_type_of(h, lower->in[1]);
    int rows[ARTEL__HLO_RANK] = {0};
    if (artel__hlo_count(&weight) == artel__hlo_count(&out)) {
        weight = out;
    } else { /* one a row */
        weight.rank = 1;
    }
    artel__hlo_value by = artel__hlo_reshape(h, lower->in[1], &weight);
    if (weight.rank != out.rank) by = artel__hlo_broadcast(h, by, &out, rows);
    lower->out[0] = artel__hlo_binary(h, "multiply", all, by);
}

const artel__op_def artel__op_loss_seed_def = {
    .name = "loss_seed",
    .doc = "Gradient of a reduced loss with respect to the loss of each position.",
    .attribute_size = sizeof(seed_attributes),
    .infer = infer_seed,
    .grad = grad_seed,
    .lower = lower_seed,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__loss_seed_kernels,
            .choose = choose_seed,
            .params_size = ARTEL__EITHER_SIZE(artel__loss_seed_kernel, artel__wide_seed),
            .fill = fill_seed,
            .unread = unread_by_seed,
        },
};

artel__value_id artel__op_loss_seed(artel__graph *graph, const artel__loss_seed *seed)
{
    seed_attributes attributes = {seed->scale, seed->sum};
    artel__value_id inputs[] = {seed->like, seed->weights, seed->denominator};
    return artel__graph_add(graph, &artel__op_loss_seed_def, &attributes, inputs, 3);
}
