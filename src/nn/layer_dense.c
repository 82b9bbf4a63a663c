/* SPDX-License-Identifier: Apache-2.0 */
/* Dense: activation(x kernel + bias) over the last axis.
 *
 * The kernel [features][units] is kept as panels. A plain ReLU is fused into the product; every other activation is a
 * node of its own. After keras/src/layers/core/dense.py.
 */
#include "nn/adapters.h"
#include "op/elementwise.h"
#include "op/op.h"

typedef struct dense_config {
    int64_t units;
    bool use_bias;
} dense_config;

typedef struct dense_parts {
    artel__activation_config activation;
    artel__weight_parts kernel, bias;
} dense_parts;

static const artel__option dense_options[] = {
    {"units", "number of outputs", ARTEL__OPTION_INT, offsetof(dense_config, units), NULL, 1, INT32_MAX, NULL},
    {"use_bias", "whether a bias is added", ARTEL__OPTION_BOOL, offsetof(dense_config, use_bias), "true", 0, 0, NULL},
    ARTEL__PART("activation", "activation: a name or a record"),
    ARTEL__WEIGHT_PARTS("kernel"),
    ARTEL__WEIGHT_PARTS("bias"),
    ARTEL__ADAPTER_OPTIONS,
    ARTEL__OPTIONS_END,
};

static artel_status configure_dense(artel__layer *layer)
{
    dense_parts *parts = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__layer_activation(layer, "activation", &parts->activation));
    ARTEL_TRY(artel__layer_weight_parts(layer, "kernel", "glorot_uniform", &parts->kernel));
    return artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias);
}

static artel_status build_dense(artel__layer *layer, const artel__call *call)
{
    const dense_config *c = layer->config;
    const dense_parts *parts = layer->own;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    const artel_shape *in = artel__call_shape(call, 0);
    artel_shape kernel = artel__shape(2, in->dim[in->rank - 1], c->units), bias = artel__shape(1, c->units);
    ARTEL_TRY(artel__layer_declare(layer, "kernel", &kernel, kernel.dim[0], true, &parts->kernel));
    if (c->use_bias) ARTEL_TRY(artel__layer_declare(layer, "bias", &bias, 0, true, &parts->bias));
    return artel__adapters_declare(
        layer, &(artel__adapters){.kernel = 0, .name = "lora_kernel", .rows = kernel.dim[0], .parts = &parts->kernel});
}

/* x kernel + scale x a b + bias. */
static artel__value_id adapted(const artel__layer *layer, artel__graph *graph, artel__value_id x,
                               const artel_shape *columns, artel__value_id bias)
{
    artel__value_id a = artel__layer_weight(layer, graph, artel__adapters_of(layer, 0));
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape rank = artel__shape(1, graph->value[a].shape.dim[1]);
    artel__value_id y =
        artel__op_product(graph, x, artel__layer_weight(layer, graph, 0), bias, 1, columns, ARTEL__FUSED_NONE);
    return artel__adapters_add(layer, graph, 0, y,
                               artel__op_product(graph, x, a, ARTEL__NO_VALUE, 1, &rank, ARTEL__FUSED_NONE));
}

static artel_status call_dense(artel__layer *layer, artel__call *call)
{
    const dense_config *c = layer->config;
    const dense_parts *parts = layer->own;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    artel__graph *graph = call->graph;
    artel_shape columns = artel__shape(1, c->units);
    bool relu = artel__activation_is_relu(&parts->activation);
    artel__value_id bias = c->use_bias ? artel__layer_weight(layer, graph, 1) : ARTEL__NO_VALUE;
    artel__value_id x = artel__as_float(graph, call->in[0].value);
    if (artel__adapters_of(layer, 0)) {
        artel__call_return(
            call, artel__activation_apply(graph, &parts->activation, adapted(layer, graph, x, &columns, bias)));
        return graph->status;
    }
    artel__value_id y = artel__op_product(graph, x, artel__layer_weight(layer, graph, 0), bias, 1, &columns,
                                          relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE);
    artel__call_return(call, relu ? y : artel__activation_apply(graph, &parts->activation, y));
    return ARTEL_OK;
}

const artel__layer_def artel__layer_dense_def = {
    .class_name = "Dense",
    .doc = "A product of the last axis with a matrix, a bias, an activation.",
    .config_size = sizeof(dense_config),
    .options = dense_options,
    .mask = ARTEL__MASK_PASS,
    .configure = configure_dense,
    .build = build_dense,
    .call = call_dense,
};
