/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation with the statistics of the whole global batch.
 *
 * Forward, training: row sums -> fold of (count, mean, M2) -> all-reduce after Chan -> mean, variance, 1/sqrt(var +
 * eps) -> y = activation((x - mean) * (inverse * gamma) + beta + residual).   Inference takes the moving statistics
 * instead. Backward: row sums of dy' and dy' * xhat -> fold -> all-reduce (these are dbeta and dgamma) -> dx. The
 * gradient passes through the statistics, so dx needs the second all-reduce; kernel/norm.h has formulas and orders. The
 * moving statistics change in APPLY: moving = moving * momentum + batch * (1 - momentum), biased variance, as Keras.
 */
#include "op/norm.h"

#include "op/elementwise.h"
#include "op/lower_norm.h"
#include "op/norm_attributes.h"
#include "op/reduce.h"
#include "op/second.h"
#include "op/shape_ops.h"

static int64_t channels_of(const artel__value *x)
{
    return x->shape.dim[x->shape.rank - 1];
}

static int64_t inner_of(const artel__value *x)
{
    return artel__shape_product(&x->shape, 0, x->shape.rank - 1);
}

/* -- row sums: ROW float64 [2][c] -- */

static artel_status infer_rows(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    if (x->shape.rank < 1 || x->dtype != ARTEL_DTYPE_FLOAT32 || x->domain != ARTEL__DOMAIN_ROW)
        return artel__op_fail(infer, "the operand is not float32 by row");
    artel_shape shape = artel__shape(2, (int64_t)2, channels_of(x));
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

static void fill_moments_rows(const artel__run_args *args, void *params)
{
    const artel__value *x = artel__args_in(args, 0);
    *(artel__batch_moments_rows *)params = (artel__batch_moments_rows){.rows = args->step->fold->rows,
                                                                       .inner = inner_of(x),
                                                                       .channels = channels_of(x),
                                                                       .x = args->in[0],
                                                                       .x_half = artel__args_half_in(args, 0),
                                                                       .part = args->out[0]};
}

const artel__op_def artel__op_moments_rows_def = {
    .name = "moments_rows",
    .doc = "Sums of x and x * x of each row, by channel.",
    .infer = infer_rows,
    .lower = artel__lower_moments_rows,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_moments_rows_kernels,
            .params_size = sizeof(artel__batch_moments_rows),
            .fill = fill_moments_rows,
            .half_in = 1u,
        },
};

/* -- their fold: NODES float64 [3][c]; attribute: positions in a row -- */

static artel_status infer_moments_fold(artel__infer *infer)
{
    artel_shape shape = artel__shape(2, (int64_t)3, infer->in[0]->shape.dim[1]);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

static void fill_moments_fold(const artel__run_args *args, void *params)
{
    const artel__moments_attributes *a = args->attributes;
    *(artel__batch_moments_fold *)params =
        (artel__batch_moments_fold){.fold = args->step->fold,
                                    .inner = a->inner,
                                    .channels = artel__args_in(args, 0)->shape.dim[1],
                                    .part = args->in[0],
                                    .nodes = args->out[0]};
}

const artel__op_def artel__op_moments_fold_def = {
    .name = "moments_fold",
    .doc = "Count, mean and second moment of the rows of each fold node.",
    .attribute_size = sizeof(artel__moments_attributes),
    .infer = infer_moments_fold,
    .lower = artel__lower_moments_fold,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_moments_fold_kernels,
            .params_size = sizeof(artel__batch_moments_fold),
            .fill = fill_moments_fold,
        },
};

/* -- statistics: GLOBAL mean, variance, inverse -- */

static artel_status infer_finalize(artel__infer *infer)
{
    artel_shape shape = artel__shape(1, infer->in[0]->shape.dim[1]);
    for (int k = 0; k < 3; k++) artel__infer_output(infer, k, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_finalize(const artel__run_args *args, void *params)
{
    const artel__epsilon_attributes *a = args->attributes;
    *(artel__batch_norm_finalize *)params =
        (artel__batch_norm_finalize){.channels = artel__args_in(args, 0)->shape.dim[1],
                                     .epsilon = a->epsilon,
                                     .root = args->in[0],
                                     .mean = args->out[0],
                                     .variance = args->out[1],
                                     .inverse = args->out[2]};
}

const artel__op_def artel__op_moments_finalize_def = {
    .name = "moments_finalize",
    .doc = "Mean, biased variance and inverse deviation from merged moments.",
    .attribute_size = sizeof(artel__epsilon_attributes),
    .infer = infer_finalize,
    .lower = artel__lower_moments_finalize,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_norm_finalize_kernels,
            .params_size = sizeof(artel__batch_norm_finalize),
            .fill = fill_finalize,
        },
};

static artel_status infer_inverse(artel__infer *infer)
{
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT32, &infer->in[0]->shape);
    return ARTEL_OK;
}

static void fill_inverse(const artel__run_args *args, void *params)
{
    const artel__epsilon_attributes *a = args->attributes;
    *(artel__batch_norm_inverse *)params = (artel__batch_norm_inverse){.channels = artel__args_in(args, 0)->storage,
                                                                       .epsilon = a->epsilon,
                                                                       .variance = args->in[0],
                                                                       .inverse = args->out[0]};
}

/* d inverse / d variance = -inverse^3 / 2 */
static artel_status grad_inverse(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    artel__value_id square = artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, g->out[0]);
    artel__value_id cube = artel__op_binary(graph, ARTEL__BINARY_MUL, square, g->out[0]);
    artel__value_id slope = artel__op_affine(graph, cube, -0.5, 0);
    g->in_gradient[0] = artel__op_binary(graph, ARTEL__BINARY_MUL, g->out_gradient[0], slope);
    return graph->status;
}

const artel__op_def artel__op_norm_inverse_def = {
    .name = "norm_inverse",
    .doc = "1 / sqrt(variance + epsilon).",
    .attribute_size = sizeof(artel__epsilon_attributes),
    .infer = infer_inverse,
    .grad = grad_inverse,
    .lower = artel__lower_norm_inverse,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_norm_inverse_kernels,
            .params_size = sizeof(artel__batch_norm_inverse),
            .fill = fill_inverse,
        },
};

/* -- moving statistics; inputs: moving mean, moving variance (both written), mean, variance -- */

static artel_status infer_moving(artel__infer *infer)
{
    infer->outputs = 0;
    return ARTEL_OK;
}

static void fill_moving(const artel__run_args *args, void *params)
{
    const artel__moving_attributes *a = args->attributes;
    *(artel__batch_norm_moving *)params = (artel__batch_norm_moving){.channels = artel__args_in(args, 0)->storage,
                                                                     .momentum = a->momentum,
                                                                     .mean = args->in[2],
                                                                     .variance = args->in[3],
                                                                     .moving_mean = args->in[0],
                                                                     .moving_variance = args->in[1]};
}

const artel__op_def artel__op_moving_statistics_def = {
    .name = "moving_statistics",
    .doc = "Moving mean and variance of a batch normalisation.",
    .attribute_size = sizeof(artel__moving_attributes),
    .infer = infer_moving,
    .writes = true,
    .written = 2,
    .lower = artel__lower_moving_statistics,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_norm_moving_kernels,
            .params_size = sizeof(artel__batch_norm_moving),
            .fill = fill_moving,
        },
};

/* -- the normalisation; inputs: x, mean, inverse, gamma, beta, residual -- */

static artel_status infer_normalise(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    for (int k = 1; k < 5; k++) {
        if (infer->in[k] && infer->in[k]->storage != channels_of(x))
            return artel__op_fail(infer, "%lld channels, but parameters for %lld", (long long)channels_of(x),
                                  (long long)infer->in[k]->storage);
    }
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &x->shape);
    return ARTEL_OK;
}

static void fill_normalise(const artel__run_args *args, void *params)
{
    const artel__norm_attributes *a = args->attributes;
    const artel__value *x = artel__args_in(args, 0);
    *(artel__batch_norm_forward *)params =
        (artel__batch_norm_forward){.positions = artel__args_rows(args, args->node->input[0]) * inner_of(x),
                                    .channels = channels_of(x),
                                    .x = args->in[0],
                                    .mean = args->in[1],
                                    .inverse = args->in[2],
                                    .gamma = args->in[3],
                                    .beta = args->in[4],
                                    .residual = args->in[5],
                                    .activation = a->activation,
                                    .x_half = artel__args_half_in(args, 0),
                                    .residual_half = artel__args_half_in(args, 5),
                                    .y_half = artel__args_half_out(args, 0),
                                    .y = args->out[0]};
}

static void describe_normalise(const artel__node *node, artel__text *out)
{
    static const char *const names[] = {"linear", "relu", "relu6"};
    const artel__norm_attributes *a = node->attributes;
    artel__text_printf(out, "%s%s%s", a->training ? "training " : "", names[a->activation],
                       node->input[5] >= 0 ? " residual" : "");
}

/* -- gradient row sums; inputs: x, y, dy, mean, inverse -- */

static void fill_gradient_rows(const artel__run_args *args, void *params)
{
    const artel__norm_attributes *a = args->attributes;
    const artel__value *x = artel__args_in(args, 0);
    *(artel__batch_norm_gradient_rows *)params =
        (artel__batch_norm_gradient_rows){.rows = args->step->fold->rows,
                                          .inner = inner_of(x),
                                          .channels = channels_of(x),
                                          .x = args->in[0],
                                          .y = args->in[1],
                                          .dy = args->in[2],
                                          .mean = args->in[3],
                                          .inverse = args->in[4],
                                          .activation = a->activation,
                                          .x_half = artel__args_half_in(args, 0),
                                          .y_half = artel__args_half_in(args, 1),
                                          .dy_half = artel__args_half_in(args, 2),
                                          .part = args->out[0]};
}

/* Without an activation the gradient is not masked by y. */
static bool masks(const artel__node *node)
{
    return ((const artel__norm_attributes *)node->attributes)->activation != ARTEL__NORM_LINEAR;
}

static uint32_t unread_by_gradient_rows(const artel__node *node)
{
    return masks(node) ? 0 : 1u << 1;
}

const artel__op_def artel__op_normalise_rows_def = {
    .name = "normalise_gradient_rows",
    .doc = "Sums of dy and dy * xhat of each row, by channel.",
    .attribute_size = sizeof(artel__norm_attributes),
    .infer = infer_rows,
    .grad = artel__second_normalise_rows,
    .lower = artel__lower_normalise_rows,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_norm_gradient_rows_kernels,
            .params_size = sizeof(artel__batch_norm_gradient_rows),
            .fill = fill_gradient_rows,
            .half_in = 7u,
            .unread = unread_by_gradient_rows,
        },
};

/* -- dx and the residual's gradient; inputs: dy, x, y, mean, inverse, gamma, sums -- */

static artel_status infer_normalise_gradient(artel__infer *infer)
{
    const artel__norm_attributes *a = infer->attributes;
    artel__infer_output(infer, 0, infer->in[1]->domain, ARTEL_DTYPE_FLOAT32, &infer->in[1]->shape);
    if (a->residual) artel__infer_output(infer, 1, infer->in[1]->domain, ARTEL_DTYPE_FLOAT32, &infer->in[1]->shape);
    return ARTEL_OK;
}

static void fill_normalise_gradient(const artel__run_args *args, void *params)
{
    const artel__norm_attributes *a = args->attributes;
    const artel__value *x = artel__args_in(args, 1);
    *(artel__batch_norm_gradient *)params =
        (artel__batch_norm_gradient){.positions = args->step->fold->rows * inner_of(x),
                                     .channels = channels_of(x),
                                     .count = (double)args->step->fold->batch * (double)inner_of(x),
                                     .dy = args->in[0],
                                     .x = args->in[1],
                                     .y = args->in[2],
                                     .mean = args->in[3],
                                     .inverse = args->in[4],
                                     .gamma = args->in[5],
                                     .sums = args->in[6],
                                     .activation = a->activation,
                                     .dy_half = artel__args_half_in(args, 0),
                                     .x_half = artel__args_half_in(args, 1),
                                     .y_half = artel__args_half_in(args, 2),
                                     .dx_half = artel__args_half_out(args, 0),
                                     .dresidual_half = artel__args_half_out(args, 1),
                                     .dx = args->out[0],
                                     .dresidual = a->residual ? args->out[1] : NULL};
}

static uint32_t unread_by_gradient(const artel__node *node)
{
    return masks(node) ? 0 : 1u << 2;
}

const artel__op_def artel__op_normalise_gradient_def = {
    .name = "normalise_gradient",
    .doc = "Gradient of a batch normalisation's input and residual.",
    .attribute_size = sizeof(artel__norm_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_normalise_gradient,
    .grad = artel__second_normalise,
    .lower = artel__lower_normalise_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_norm_gradient_kernels,
            .params_size = sizeof(artel__batch_norm_gradient),
            .fill = fill_normalise_gradient,
            .half_in = 7u,
            .half_out = 3u,
            .unread = unread_by_gradient,
        },
};

/* sums [2][c] GLOBAL float64 of the gradient: dbeta, dgamma. */
static artel__value_id gradient_sums(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    artel__value_id inputs[] = {g->in[0], g->out[0], g->out_gradient[0], g->in[1], g->in[2]};
    artel__value_id rows = artel__graph_add(graph, &artel__op_normalise_rows_def, g->attributes, inputs, 5);
    return artel__op_all_reduce(graph, artel__op_fold_sum(graph, rows));
}

static artel__value_id parameter_gradient(artel__graph *graph, artel__value_id sums, int which, int64_t channels)
{
    artel_shape shape = artel__shape(1, channels);
    artel__value_id part = artel__op_reshape(graph, artel__op_slice(graph, sums, 0, which, 1, 1), &shape);
    return artel__op_cast(graph, part, ARTEL_DTYPE_FLOAT32);
}

/* Of statistics that were given: y = (x - mean) * inverse * gamma + beta. */
static void given_gradients(artel__gradient *g, artel__value_id sums, int64_t channels)
{
    artel__graph *graph = g->graph;
    artel__value_id scale = g->in[2];
    if (g->in[3] >= 0) scale = artel__op_binary(graph, ARTEL__BINARY_MUL, scale, g->in[3]);
    if (g->needed[1]) {
        artel__value_id sum = parameter_gradient(graph, sums, 0, channels);
        g->in_gradient[1] = artel__op_affine(graph, artel__op_binary(graph, ARTEL__BINARY_MUL, sum, scale), -1, 0);
    }
    if (!g->needed[2]) return;
    artel__value_id by_gamma = parameter_gradient(graph, sums, 1, channels);
    if (g->in[3] >= 0) by_gamma = artel__op_binary(graph, ARTEL__BINARY_MUL, by_gamma, g->in[3]);
    g->in_gradient[2] = artel__op_binary(graph, ARTEL__BINARY_DIV, by_gamma, g->in[2]);
}

static artel_status grad_normalise(artel__gradient *g)
{
    const artel__norm_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    int64_t channels = channels_of(&graph->value[g->in[0]]);
    bool given = !a->training && (g->needed[1] || g->needed[2]);
    bool need_sums = a->training || g->needed[3] || g->needed[4] || given;
    artel__value_id sums = need_sums ? gradient_sums(g) : ARTEL__NO_VALUE;
    if (g->needed[3]) g->in_gradient[3] = parameter_gradient(graph, sums, 1, channels);
    if (g->needed[4]) g->in_gradient[4] = parameter_gradient(graph, sums, 0, channels);
    if (given) given_gradients(g, sums, channels);
    if (!g->needed[0] && !g->needed[5]) return ARTEL_OK;
    artel__norm_attributes attributes = *a;
    attributes.residual = g->needed[5];
    artel__value_id inputs[] = {
        g->out_gradient[0], g->in[0], g->out[0], g->in[1], g->in[2], g->in[3], a->training ? sums : ARTEL__NO_VALUE};
    g->in_gradient[0] = artel__graph_add(graph, &artel__op_normalise_gradient_def, &attributes, inputs, 7);
    if (g->needed[5]) g->in_gradient[5] = artel__graph_output(graph, g->in_gradient[0], 1);
    return ARTEL_OK;
}

static int64_t cost_normalise(const artel__graph *graph, const artel__node *node)
{
    return 4 * graph->value[node->output[0]].storage;
}

const artel__op_def artel__op_normalise_def = {
    .name = "normalise",
    .doc = "Normalisation by channel, with activation and residual fused.",
    .attribute_size = sizeof(artel__norm_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_normalise,
    .grad = grad_normalise,
    .cost = cost_normalise,
    .describe = describe_normalise,
    .lower = artel__lower_normalise,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__batch_norm_forward_kernels,
            .params_size = sizeof(artel__batch_norm_forward),
            .fill = fill_normalise,
            .half_in = 1u << 0 | 1u << 5,
            .half_out = 1u,
        },
};

static artel__value_id normalise(artel__graph *graph, const artel__batch_norm *norm, artel__value_id mean,
                                 artel__value_id inverse, bool training)
{
    artel__norm_attributes attributes = {.training = training};
    artel__value_id inputs[] = {norm->x, mean, inverse, norm->gamma, norm->beta, ARTEL__NO_VALUE};
    return artel__graph_add(graph, &artel__op_normalise_def, &attributes, inputs, 6);
}

artel__value_id artel__op_batch_norm_training(artel__graph *graph, const artel__batch_norm *norm)
{
    if (graph->status < 0 || norm->x < 0) return ARTEL__NO_VALUE;
    artel__moments_attributes moments = {inner_of(&graph->value[norm->x])};
    artel__epsilon_attributes epsilon = {(float)norm->epsilon};
    artel__value_id rows = artel__graph_add(graph, &artel__op_moments_rows_def, NULL, &norm->x, 1);
    artel__value_id fold = artel__graph_add(graph, &artel__op_moments_fold_def, &moments, &rows, 1);
    artel__value_id root = artel__op_all_reduce_moments(graph, fold);
    artel__value_id mean = artel__graph_add(graph, &artel__op_moments_finalize_def, &epsilon, &root, 1);
    if (norm->update) {
        artel__moving_attributes moving = {norm->momentum};
        artel__phase phase = graph->phase;
        graph->phase = ARTEL__PHASE_APPLY;
        artel__value_id inputs[] = {norm->mean, norm->variance, mean, artel__graph_output(graph, mean, 1)};
        artel__graph_add(graph, &artel__op_moving_statistics_def, &moving, inputs, 4);
        graph->phase = phase;
    }
    return normalise(graph, norm, mean, artel__graph_output(graph, mean, 2), true);
}

/* Of float64, in the order of tf.nn.batch_normalization. */
static artel__value_id inference_wide(artel__graph *graph, const artel__batch_norm *norm)
{
    artel__value_id inverse =
        artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL, artel__op_affine(graph, norm->variance, 1, norm->epsilon));
    if (norm->gamma >= 0) inverse = artel__op_binary(graph, ARTEL__BINARY_MUL, inverse, norm->gamma);
    artel__value_id rest =
        artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, artel__op_binary(graph, ARTEL__BINARY_MUL, norm->mean, inverse));
    if (norm->beta >= 0) rest = artel__op_add(graph, norm->beta, rest);
    return artel__op_add(graph, artel__op_binary(graph, ARTEL__BINARY_MUL, norm->x, inverse), rest);
}

artel__value_id artel__op_batch_norm_inference(artel__graph *graph, const artel__batch_norm *norm)
{
    if (graph->status < 0 || norm->x < 0) return ARTEL__NO_VALUE;
    if (graph->value[norm->x].dtype == ARTEL_DTYPE_FLOAT64) return inference_wide(graph, norm);
    artel__epsilon_attributes epsilon = {(float)norm->epsilon};
    artel__value_id inverse = artel__graph_add(graph, &artel__op_norm_inverse_def, &epsilon, &norm->variance, 1);
    return normalise(graph, norm, norm->mean, inverse, false);
}
