/* SPDX-License-Identifier: Apache-2.0 */
/* Activations as layers: Activation, ReLU, LeakyReLU, PReLU, ELU, Softmax. After keras/src/layers/activations. */
#include <math.h>

#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct shape_config {
    double max_value, negative_slope, threshold, alpha;
    artel__ints shared_axes;
    bool bounded;
} shape_config;

static artel_status begin(artel__layer *layer, artel__call *call, artel__value_id *x)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    *x = artel__as_float(call->graph, call->in[0].value);
    return ARTEL_OK;
}

/* -- Activation -- */

static const artel__option activation_options[] = {
    {"activation", "activation: a name or a record", ARTEL__OPTION_IGNORED, 0, NULL, 0, 0, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status configure_activation(artel__layer *layer)
{
    artel__activation_config *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    return own ? artel__layer_activation(layer, "activation", own) : ARTEL_ERROR_NO_MEMORY;
}

static bool is_linear(const artel__layer *layer, bool training)
{
    (void)training;
    return artel__activation_is_linear(layer->own);
}

static artel_status call_activation(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    artel__call_return(call, artel__activation_apply(call->graph, layer->own, x));
    return ARTEL_OK;
}

/* -- ReLU, LeakyReLU, ELU -- */

static const artel__option relu_options[] = {
    {"max_value", "upper limit, null: none", ARTEL__OPTION_IGNORED, 0, "null", 0, 0, NULL},
    {"negative_slope", "slope below the threshold", ARTEL__OPTION_FLOAT, offsetof(shape_config, negative_slope), "0", 0,
     1e30, NULL},
    {"threshold", "where the function begins to rise", ARTEL__OPTION_FLOAT, offsetof(shape_config, threshold), "0", 0,
     1e30, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status configure_relu(artel__layer *layer)
{
    shape_config *c = layer->config;
    json_t *limit = artel__layer_setting(layer, "max_value");
    c->bounded = limit != NULL;
    if (!limit || (artel__json_number(limit, &c->max_value) && c->max_value >= 0)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a number from 0 on, or null",
                             "the setting \"max_value\" is no such number");
}

static artel_status call_relu(artel__layer *layer, artel__call *call)
{
    const shape_config *c = layer->config;
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    double parameter[3] = {c->negative_slope, c->bounded ? c->max_value : (double)INFINITY, c->threshold};
    artel__call_return(call, artel__op_unary_exact(call->graph, ARTEL__UNARY_RELU, parameter, x));
    return ARTEL_OK;
}

static const artel__option leaky_options[] = {
    {"negative_slope", "slope below 0", ARTEL__OPTION_FLOAT, offsetof(shape_config, negative_slope), "0.3", 0, 1e30,
     NULL},
    {"alpha", "the same, older name", ARTEL__OPTION_FLOAT, offsetof(shape_config, alpha), "-1", -1, 1e30, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status call_leaky(artel__layer *layer, artel__call *call)
{
    const shape_config *c = layer->config;
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    double parameter[3] = {c->alpha >= 0 ? c->alpha : c->negative_slope, 0, 0};
    artel__call_return(call, artel__op_unary_exact(call->graph, ARTEL__UNARY_LEAKY_RELU, parameter, x));
    return ARTEL_OK;
}

static const artel__option elu_options[] = {
    {"alpha", "limit for very negative numbers", ARTEL__OPTION_FLOAT, offsetof(shape_config, alpha), "1", 0, 0, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status call_elu(artel__layer *layer, artel__call *call)
{
    const shape_config *c = layer->config;
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    artel__call_return(call, artel__op_unary_exact(call->graph, ARTEL__UNARY_ELU, (double[]){c->alpha, 0, 0}, x));
    return ARTEL_OK;
}

/* -- PReLU -- */

static const artel__option prelu_options[] = {
    {"shared_axes", "axes along which the slopes are shared", ARTEL__OPTION_INTS, offsetof(shape_config, shared_axes),
     "null", 1, 8, NULL},
    ARTEL__WEIGHT_PARTS("alpha"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_prelu(artel__layer *layer)
{
    artel__weight_parts *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    return own ? artel__layer_weight_parts(layer, "alpha", "zeros", own) : ARTEL_ERROR_NO_MEMORY;
}

static artel_status build_prelu(artel__layer *layer, const artel__call *call)
{
    const shape_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    artel_shape alpha = *artel__call_shape(call, 0);
    for (int i = 0; i < c->shared_axes.count; i++) {
        int axis = artel__row_axis(c->shared_axes.item[i], alpha.rank);
        if (axis < 0)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name axes of the input",
                                     "shared_axes names the axis %lld", (long long)c->shared_axes.item[i]);
        alpha.dim[axis] = 1;
    }
    return artel__layer_declare(layer, "alpha", &alpha, 0, true, layer->own);
}

/* relu(x) - alpha * relu(-x) */
static artel_status call_prelu(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    artel__graph *graph = call->graph;
    float relu[3] = {0, INFINITY, 0};
    artel__value_id below =
        artel__op_unary(graph, ARTEL__UNARY_RELU, relu, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, x));
    artel__value_id falling = artel__op_binary(graph, ARTEL__BINARY_MUL, below, artel__layer_weight(layer, graph, 0));
    artel__call_return(
        call, artel__op_binary(graph, ARTEL__BINARY_SUB, artel__op_unary(graph, ARTEL__UNARY_RELU, relu, x), falling));
    return ARTEL_OK;
}

/* -- Softmax -- */

static const artel__option softmax_options[] = {
    ARTEL__PART("axis", "axis or axes over which the result sums to 1"),
    ARTEL__OPTIONS_END,
};

/* Softmax over several axes: moved to the end and taken as one. */
static artel__value_id softmax_over(artel__graph *graph, artel__value_id x, uint32_t axes)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int permutation[ARTEL_MAX_RANK], several = artel__bit_count(axes);
    if (several == 1) {
        int axis = 0;
        while (!(axes >> axis & 1u)) axis++;
        return artel__op_softmax(graph, ARTEL__SOFTMAX, x, axis);
    }
    x = artel__axes_last(graph, x, axes, permutation);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape moved = graph->value[x].shape, joined = moved;
    joined.rank = moved.rank - several + 1;
    joined.dim[joined.rank - 1] = artel__shape_product(&moved, joined.rank - 1, moved.rank);
    artel__value_id y = artel__op_softmax(graph, ARTEL__SOFTMAX, artel__op_reshape(graph, x, &joined), joined.rank - 1);
    return artel__axes_back(graph, artel__op_reshape(graph, y, &moved), permutation);
}

/* Keras lays masks over the last axes, the batch counted: only one of as many axes lies where it should. */
static artel_status check_mask(const artel__layer *layer, const artel_shape *in, const artel_shape *mask)
{
    bool fits = mask->rank == in->rank;
    for (int i = 0; i < in->rank && fits; i++) fits = mask->dim[i] == 1 || mask->dim[i] == in->dim[i];
    if (fits) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give a mask with the axes of the input",
                             "its mask of %d axes does not fit its input of %d", mask->rank + 1, in->rank + 1);
}

/* Masked elements count as -1e9, and give 0. */
static artel_status call_softmax(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    const artel_shape *in = artel__call_shape(call, 0);
    artel__graph *graph = call->graph;
    artel__value_id mask = call->in[0].mask;
    uint32_t axes;
    ARTEL_TRY(artel__layer_axes(layer, artel__layer_setting(layer, "axis"), -1, in->rank, &axes));
    if (mask >= 0) {
        ARTEL_TRY(check_mask(layer, in, &graph->value[mask].shape));
        x = artel__op_where(graph, mask, x, artel__op_scalar(graph, -1e9));
    }
    if (axes) x = softmax_over(graph, x, axes);
    artel__call_return(call, mask >= 0 ? artel__op_where(graph, mask, x, ARTEL__NO_VALUE) : x);
    return ARTEL_OK;
}

#define ACTIVATION(symbol, name, kind, before, same, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = {     \
        .class_name = name,                                    \
        .doc = sentence,                                       \
        .config_size = sizeof(shape_config),                   \
        .options = kind##_options,                             \
        .mask = ARTEL__MASK_PASS,                              \
        .configure = before,                                   \
        .call = call_##kind,                                   \
        .returns_input = same,                                 \
    }

ACTIVATION(activation, "Activation", activation, configure_activation, is_linear,
           "An activation of docs/layers.md, by name.");
ACTIVATION(relu, "ReLU", relu, configure_relu, NULL, "max(x, 0), with an upper limit, a slope and a threshold.");
ACTIVATION(leaky_relu, "LeakyReLU", leaky, NULL, NULL, "x, with a slope below 0.");
ACTIVATION(elu, "ELU", elu, NULL, NULL, "x, exponential below 0.");
ACTIVATION(softmax, "Softmax", softmax, NULL, NULL, "Exponentials that sum to 1.");

const artel__layer_def artel__layer_prelu_def = {
    .class_name = "PReLU",
    .doc = "x, with slopes below 0 that are learned.",
    .config_size = sizeof(shape_config),
    .options = prelu_options,
    .mask = ARTEL__MASK_PASS,
    .configure = configure_prelu,
    .build = build_prelu,
    .call = call_prelu,
};
