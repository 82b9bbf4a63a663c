/* SPDX-License-Identifier: Apache-2.0 */
/* The layers that keras.applications defines for itself: ConvNeXt's LayerScale and StochasticDepth, Inception-ResNet's
 * CustomScaleLayer. Models saved with them name these classes. After keras/src/applications.
 */
#include "nn/layer_support.h"
#include "op/elementwise.h"

typedef struct applications_config {
    double init_values, drop_path_rate, scale;
    int64_t projection_dim;
} applications_config;

static const artel__option layer_scale_options[] = {
    {"init_values", "initial value of the factors", ARTEL__OPTION_FLOAT, offsetof(applications_config, init_values),
     NULL, -1e30, 1e30, NULL},
    {"projection_dim", "extent of the last axis", ARTEL__OPTION_INT, offsetof(applications_config, projection_dim),
     NULL, 1, INT32_MAX, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status build_layer_scale(artel__layer *layer, const artel__call *call)
{
    const applications_config *c = layer->config;
    artel_shape shape = {.rank = 1, .dim = {c->projection_dim}};
    artel__weight_parts parts;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    ARTEL_TRY(artel__layer_weight_parts(layer, "variable", "zeros", &parts));
    json_t *constant = json_pack("{s:s,s:{s:f}}", "class_name", "Constant", "config", "value", c->init_values);
    artel_status status = constant ? artel__initializer_read(layer->arena, layer->name, constant, &parts.initializer)
                                   : artel__layer_fail(layer, ARTEL_ERROR_NO_MEMORY, "free some memory",
                                                       "no memory for the initial value");
    json_decref(constant);
    return status < 0 ? status : artel__layer_declare(layer, "variable", &shape, 0, true, &parts);
}

static artel_status call_layer_scale(artel__layer *layer, artel__call *call)
{
    artel__value_id x = artel__as_float(call->graph, call->in[0].value);
    artel__call_return(call,
                       artel__op_binary(call->graph, ARTEL__BINARY_MUL, x, artel__layer_weight(layer, call->graph, 0)));
    return ARTEL_OK;
}

const artel__layer_def artel__layer_layer_scale_def = {
    .class_name = "LayerScale",
    .doc = "x times a trained factor for each channel (keras.applications' ConvNeXt).",
    .config_size = sizeof(applications_config),
    .options = layer_scale_options,
    .mask = ARTEL__MASK_PASS,
    .build = build_layer_scale,
    .call = call_layer_scale,
};

static const artel__option stochastic_depth_options[] = {
    {"drop_path_rate", "share of rows set to zero", ARTEL__OPTION_FLOAT, offsetof(applications_config, drop_path_rate),
     NULL, 0, 0.999999, NULL},
    ARTEL__OPTIONS_END,
};

/* floor(keep + uniform) is 1 with probability keep: dropout with one draw for each row. */
static artel_status call_stochastic_depth(artel__layer *layer, artel__call *call)
{
    const applications_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    artel__value_id x = artel__as_float(call->graph, call->in[0].value);
    artel_shape noise = *artel__call_shape(call, 0);
    for (int i = 0; i < noise.rank; i++) noise.dim[i] = 1;
    bool active = call->graph->training && c->drop_path_rate > 0;
    artel__call_return(call, active ? artel__op_dropout(call->graph, x, c->drop_path_rate, &noise) : x);
    return ARTEL_OK;
}

const artel__layer_def artel__layer_stochastic_depth_def = {
    .class_name = "StochasticDepth",
    .doc = "Drops whole rows while training (keras.applications' ConvNeXt).",
    .config_size = sizeof(applications_config),
    .options = stochastic_depth_options,
    .mask = ARTEL__MASK_PASS,
    .call = call_stochastic_depth,
};

static const artel__option custom_scale_options[] = {
    {"scale", "factor of the second input", ARTEL__OPTION_FLOAT, offsetof(applications_config, scale), NULL, -1e30,
     1e30, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status call_custom_scale(artel__layer *layer, artel__call *call)
{
    const applications_config *c = layer->config;
    if (call->inputs != 2)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "call the layer with a list of two tensors",
                                 "it has %d inputs", call->inputs);
    artel__graph *graph = call->graph;
    artel__value_id scaled = artel__op_affine(graph, artel__as_float(graph, call->in[1].value), c->scale, 0);
    artel__call_return(call, artel__op_add(graph, artel__as_float(graph, call->in[0].value), scaled));
    return ARTEL_OK;
}

const artel__layer_def artel__layer_custom_scale_def = {
    .class_name = "CustomScaleLayer",
    .doc = "First input plus scale times the second (keras.applications' InceptionResNetV2).",
    .config_size = sizeof(applications_config),
    .options = custom_scale_options,
    .mask = ARTEL__MASK_PASS,
    .call = call_custom_scale,
};
