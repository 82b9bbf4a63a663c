/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation and its relatives, over the last axes of each position.
 *
 *   forward   y = (x - mean) * inverse * gamma + beta; mean and inverse of each position are kept for the gradient
 *   backward  dx by position; dgamma and dbeta are folds over all positions of all rows
 * Modes, formulas and orders of summation: kernel/norm.h.
 */
#include "op/norm.h"

#include "op/elementwise.h"
#include "op/lower_norm.h"
#include "op/norm_attributes.h"
#include "op/reduce.h"
#include "op/second.h"

typedef struct split_shape {
    int64_t positions, length; /* in one row */
} split_shape;

static split_shape split(const artel__value *x, int axes)
{
    return (split_shape){artel__shape_product(&x->shape, 0, x->shape.rank - axes),
                         artel__shape_product(&x->shape, x->shape.rank - axes, x->shape.rank)};
}

static artel_status infer_layer_norm(artel__infer *infer)
{
    const artel__layer_norm_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    if (x->dtype != ARTEL_DTYPE_FLOAT32 || a->axes < 1 || a->axes > x->shape.rank)
        return artel__op_fail(infer, "the axes do not fit the input");
    split_shape s = split(x, a->axes);
    for (int k = 1; k < 3; k++) {
        if (infer->in[k] && infer->in[k]->storage != s.length)
            return artel__op_fail(infer, "the parameters do not fit the input");
    }
    artel_shape positions = artel__shape(1, s.positions);
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &x->shape);
    artel__infer_output(infer, 1, x->domain, ARTEL_DTYPE_FLOAT32, &positions);
    artel__infer_output(infer, 2, x->domain, ARTEL_DTYPE_FLOAT32, &positions);
    return ARTEL_OK;
}

static void fill_layer_norm(const artel__run_args *args, void *params)
{
    const artel__layer_norm_attributes *a = args->attributes;
    split_shape s = split(artel__args_in(args, 0), a->axes);
    *(artel__layer_norm_forward *)params =
        (artel__layer_norm_forward){.mode = a->mode,
                                    .positions = artel__args_rows(args, args->node->input[0]) * s.positions,
                                    .length = s.length,
                                    .epsilon = a->epsilon,
                                    .x = args->in[0],
                                    .gamma = args->in[1],
                                    .beta = args->in[2],
                                    .y = args->out[0],
                                    .x_half = artel__args_half_in(args, 0),
                                    .y_half = artel__args_half_out(args, 0),
                                    .mean = args->out[1],
                                    .inverse = args->out[2]};
}

/* Inputs: dy, x, mean, inverse, gamma. */
static artel_status infer_layer_norm_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[1]->domain, ARTEL_DTYPE_FLOAT32, &infer->in[1]->shape);
    return ARTEL_OK;
}

static void fill_layer_norm_gradient(const artel__run_args *args, void *params)
{
    const artel__layer_norm_attributes *a = args->attributes;
    split_shape s = split(artel__args_in(args, 1), a->axes);
    *(artel__layer_norm_gradient *)params =
        (artel__layer_norm_gradient){.mode = a->mode,
                                     .positions = artel__args_rows(args, args->node->input[1]) * s.positions,
                                     .length = s.length,
                                     .epsilon = a->epsilon,
                                     .dy = args->in[0],
                                     .x = args->in[1],
                                     .mean = args->in[2],
                                     .inverse = args->in[3],
                                     .gamma = args->in[4],
                                     .dy_half = artel__args_half_in(args, 0),
                                     .x_half = artel__args_half_in(args, 1),
                                     .dx_half = artel__args_half_out(args, 0),
                                     .dx = args->out[0]};
}

const artel__op_def artel__op_layer_norm_gradient_def = {
    .name = "layer_norm_gradient",
    .doc = "Gradient of a layer normalisation's input.",
    .attribute_size = sizeof(artel__layer_norm_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_layer_norm_gradient,
    .grad = artel__second_layer_norm,
    .lower = artel__lower_layer_norm_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__layer_norm_gradient_kernels,
            .params_size = sizeof(artel__layer_norm_gradient),
            .fill = fill_layer_norm_gradient,
            .half_in = 3u,
            .half_out = 1u,
        },
};

/* Inputs: dy, x, mean, inverse. Outputs: dgamma, dbeta as NODES [length]. */
static artel_status infer_parameters(artel__infer *infer)
{
    const artel__layer_norm_attributes *a = infer->attributes;
    artel_shape shape = artel__shape(1, split(infer->in[1], a->axes).length);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &shape);
    artel__infer_output(infer, 1, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_parameters(const artel__run_args *args, void *params)
{
    const artel__layer_norm_attributes *a = args->attributes;
    split_shape s = split(artel__args_in(args, 1), a->axes);
    *(artel__layer_norm_parameters *)params = (artel__layer_norm_parameters){.mode = a->mode,
                                                                             .fold = args->step->fold,
                                                                             .inner = s.positions,
                                                                             .length = s.length,
                                                                             .dy = args->in[0],
                                                                             .x = args->in[1],
                                                                             .mean = args->in[2],
                                                                             .inverse = args->in[3],
                                                                             .dgamma = a->gamma ? args->out[0] : NULL,
                                                                             .dbeta = a->beta ? args->out[1] : NULL,
                                                                             .dy_half = artel__args_half_in(args, 0),
                                                                             .x_half = artel__args_half_in(args, 1),
                                                                             .stride = s.length};
}

const artel__op_def artel__op_layer_norm_parameters_def = {
    .name = "layer_norm_parameters",
    .doc = "Gradients of a layer normalisation's gamma and beta.",
    .attribute_size = sizeof(artel__layer_norm_attributes),
    .infer = infer_parameters,
    .grad = artel__second_layer_norm_parameters,
    .lower = artel__lower_layer_norm_parameters,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__layer_norm_parameters_kernels,
            .params_size = sizeof(artel__layer_norm_parameters),
            .fill = fill_parameters,
            .half_in = 3u,
        },
};

static artel__value_id like_parameter(artel__graph *graph, artel__value_id gradient, artel__value_id parameter)
{
    return artel__op_reshape(graph, artel__op_all_reduce(graph, gradient), &graph->value[parameter].shape);
}

static artel_status grad_layer_norm(artel__gradient *g)
{
    artel__layer_norm_attributes a = *(const artel__layer_norm_attributes *)g->attributes;
    artel__value_id dy = g->out_gradient[0];
    a.gamma = g->needed[1];
    a.beta = g->needed[2];
    if (a.gamma || a.beta) {
        artel__value_id inputs[] = {dy, g->in[0], g->out[1], g->out[2]};
        artel__value_id nodes = artel__graph_add(g->graph, &artel__op_layer_norm_parameters_def, &a, inputs, 4);
        if (a.gamma) g->in_gradient[1] = like_parameter(g->graph, nodes, g->in[1]);
        if (a.beta) g->in_gradient[2] = like_parameter(g->graph, artel__graph_output(g->graph, nodes, 1), g->in[2]);
    }
    if (g->needed[0]) {
        artel__value_id inputs[] = {dy, g->in[0], g->out[1], g->out[2], g->in[1]};
        g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_layer_norm_gradient_def, &a, inputs, 5);
    }
    return ARTEL_OK;
}

const artel__op_def artel__op_layer_norm_def = {
    .name = "layer_norm",
    .doc = "Layer normalisation over the last axes.",
    .attribute_size = sizeof(artel__layer_norm_attributes),
    .infer = infer_layer_norm,
    .grad = grad_layer_norm,
    .lower = artel__lower_layer_norm,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__layer_norm_forward_kernels,
            .params_size = sizeof(artel__layer_norm_forward),
            .fill = fill_layer_norm,
            .half_in = 1u,
            .half_out = 1u,
        },
};

static artel__value_id mean_square(artel__graph *graph, artel__value_id x, uint32_t axes)
{
    return artel__op_reduce(graph, ARTEL__REDUCE_MEAN, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x), axes,
                            true);
}

/* Of float64, from operations that have it, in the order of keras/src/ops/nn.py; affine: gamma, beta. */
static artel__value_id layer_norm_wide(artel__graph *graph, artel__layer_norm_mode mode, artel__value_id x,
                                       const artel__value_id affine[2], int count, double epsilon)
{
    int rank = graph->value[x].shape.rank;
    uint32_t axes = ((1u << count) - 1u) << (rank - count);
    bool centred = mode == ARTEL__LAYER_NORM_LAYER || mode == ARTEL__LAYER_NORM_RMS_SCALED;
    artel__value_id apart = x, inverse;
    if (centred)
        apart =
            artel__op_binary(graph, ARTEL__BINARY_SUB, x, artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, axes, true));
    if (mode == ARTEL__LAYER_NORM_UNIT) {
        artel__value_id squares = artel__op_reduce(graph, ARTEL__REDUCE_SUM,
                                                   artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x), axes, true);
        inverse = artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL, squares);
        inverse = artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, (double[]){0, 1 / epsilon, 0}, inverse);
    } else
        inverse = artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL,
                                  artel__op_affine(graph, mean_square(graph, apart, axes), 1, epsilon));
    if (affine[0] >= 0) inverse = artel__op_binary(graph, ARTEL__BINARY_MUL, inverse, affine[0]);
    artel__value_id y =
        artel__op_binary(graph, ARTEL__BINARY_MUL, mode == ARTEL__LAYER_NORM_LAYER ? apart : x, inverse);
    return affine[1] >= 0 ? artel__op_add(graph, y, affine[1]) : y;
}

artel__value_id artel__op_layer_norm(artel__graph *graph, artel__layer_norm_mode mode, artel__value_id x,
                                     artel__value_id gamma, artel__value_id beta, int axes, double epsilon)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64)
        return layer_norm_wide(graph, mode, x, (artel__value_id[]){gamma, beta}, axes, epsilon);
    artel__layer_norm_attributes attributes = {.mode = mode, .axes = axes, .epsilon = (float)epsilon};
    return artel__graph_add(graph, &artel__op_layer_norm_def, &attributes, (artel__value_id[]){x, gamma, beta}, 3);
}
