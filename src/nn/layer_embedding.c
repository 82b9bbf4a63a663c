/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding and Masking: where masks begin. After keras/src/layers/core. */
#include <string.h>

#include "nn/adapters.h"
#include "op/elementwise.h"
#include "op/embed.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct embedding_config {
    int64_t input_dim, output_dim;
    bool mask_zero, tie_weights;
    double logit_soft_cap;
    const char *reverse_dtype;
} embedding_config;

static const artel__option embedding_options[] = {
    {"input_dim", "size of the vocabulary", ARTEL__OPTION_INT, offsetof(embedding_config, input_dim), NULL, 1,
     INT32_MAX - 1, NULL},
    {"output_dim", "length of a vector", ARTEL__OPTION_INT, offsetof(embedding_config, output_dim), NULL, 1, INT32_MAX,
     NULL},
    {"mask_zero", "whether index 0 is padding", ARTEL__OPTION_BOOL, offsetof(embedding_config, mask_zero), "false", 0,
     0, NULL},
    ARTEL__PART("input_length", "accepted; not needed"),
    ARTEL__WEIGHT_PARTS("embeddings"),
    ARTEL__ADAPTER_OPTIONS,
    ARTEL__OPTIONS_END,
};

static artel_status configure_embedding(artel__layer *layer)
{
    artel__weight_parts *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    return own ? artel__layer_weight_parts(layer, "embeddings", "uniform", own) : ARTEL_ERROR_NO_MEMORY;
}

static artel_status build_embedding(artel__layer *layer, const artel__call *call)
{
    const embedding_config *c = layer->config;
    (void)call;
    artel_shape shape = artel__shape(2, c->input_dim, c->output_dim);
    ARTEL_TRY(artel__layer_declare(layer, "embeddings", &shape, 0, true, layer->own));
    return artel__adapters_declare(layer,
                                   &(artel__adapters){.kernel = 0, .name = "lora_embeddings", .parts = layer->own});
}

/* Rows of the adapter a. In Keras the sum of the tables is looked up, so that all of a has a gradient in each step:
 * optimizers must not see rows of a table of its own, whose squares they would add up occurrence by occurrence. x +
 * -0.0f is x to the bit. */
static artel__value_id look_up_adapter(artel__layer *layer, artel__graph *graph, int a, artel__value_id index)
{
    artel__value_id whole = artel__op_affine(graph, artel__layer_weight(layer, graph, a), 1, -0.0f);
    return artel__op_embedding(graph, whole, index);
}

static artel_status call_embedding(artel__layer *layer, artel__call *call)
{
    const embedding_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK - 1));
    artel__value_id index = artel__op_cast(graph, call->in[0].value, ARTEL_DTYPE_INT32);
    artel__value_id y = artel__op_embedding(graph, artel__layer_weight(layer, graph, 0), index);
    int a = artel__adapters_of(layer, 0);
    if (a) y = artel__adapters_add(layer, graph, 0, y, look_up_adapter(layer, graph, a, index));
    artel__call_return(call, y);
    if (c->mask_zero) call->out[0].mask = artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, index, 0);
    return ARTEL_OK;
}

const artel__layer_def artel__layer_embedding_def = {
    .class_name = "Embedding",
    .doc = "A vector for each integer.",
    .config_size = sizeof(embedding_config),
    .options = embedding_options,
    .mask = ARTEL__MASK_OWN,
    .cast = ARTEL__CAST_RESULT,
    .configure = configure_embedding,
    .build = build_embedding,
    .call = call_embedding,
};

/* -- ReversibleEmbedding: vectors for integers, and with reverse=True a score for each integer from a vector -- */

static const artel__option reversible_options[] = {
    {"input_dim", "size of the vocabulary", ARTEL__OPTION_INT, offsetof(embedding_config, input_dim), NULL, 1,
     INT32_MAX - 1, NULL},
    {"output_dim", "length of a vector", ARTEL__OPTION_INT, offsetof(embedding_config, output_dim), NULL, 1, INT32_MAX,
     NULL},
    {"mask_zero", "whether index 0 is padding", ARTEL__OPTION_BOOL, offsetof(embedding_config, mask_zero), "false", 0,
     0, NULL},
    {"tie_weights", "whether scores come from the same table", ARTEL__OPTION_BOOL,
     offsetof(embedding_config, tie_weights), "true", 0, 0, NULL},
    {"logit_soft_cap", "scores s become cap tanh(s / cap); or null", ARTEL__OPTION_FLOAT,
     offsetof(embedding_config, logit_soft_cap), "null", 0, 1e30, NULL},
    {"reverse_dtype", "of scores: float32, or null", ARTEL__OPTION_STRING, offsetof(embedding_config, reverse_dtype),
     "null", 0, 0, NULL},
    ARTEL__WEIGHT_PARTS("embeddings"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_reversible(artel__layer *layer)
{
    const embedding_config *c = layer->config;
    if (c->reverse_dtype && strcmp(c->reverse_dtype, "float32") != 0)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "leave it null, or name float32",
                                 "reverse_dtype %s is not supported", c->reverse_dtype);
    return configure_embedding(layer);
}

static artel_status build_reversible(artel__layer *layer, const artel__call *call)
{
    const embedding_config *c = layer->config;
    const artel__weight_parts *own = layer->own;
    artel__weight_parts plain = {.initializer = own->initializer};
    artel_shape shape = artel__shape(2, c->output_dim, c->input_dim);
    ARTEL_TRY(build_embedding(layer, call));
    return c->tie_weights ? ARTEL_OK
                          : artel__layer_declare(layer, "reverse_embeddings", &shape, c->output_dim, true, &plain);
}

static artel_status call_reverse(artel__layer *layer, artel__call *call)
{
    const embedding_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    artel_shape columns = artel__shape(1, c->input_dim);
    artel__value_id w = artel__layer_weight(layer, graph, c->tie_weights ? 0 : 1);
    if (c->tie_weights) w = artel__op_transpose(graph, w, (int[]){1, 0});
    if (c->tie_weights && graph->real != ARTEL_DTYPE_FLOAT64) w = artel__op_panels(graph, w);
    artel__value_id y = artel__op_product(graph, artel__as_float(graph, call->in[0].value), w, ARTEL__NO_VALUE, 1,
                                          &columns, ARTEL__FUSED_NONE);
    if (c->logit_soft_cap > 0) {
        artel__value_id cap = artel__op_scalar(graph, c->logit_soft_cap);
        y = artel__op_unary(graph, ARTEL__UNARY_TANH, NULL, artel__op_binary(graph, ARTEL__BINARY_DIV, y, cap));
        y = artel__op_affine(graph, y, c->logit_soft_cap, 0);
    }
    artel__call_return(call, y);
    return graph->status;
}

static artel_status call_reversible(artel__layer *layer, artel__call *call)
{
    json_t *reverse = artel__call_argument(call, "reverse");
    if (!reverse) reverse = json_array_get(json_object_get(call->arguments, "args"), 1);
    return json_is_true(reverse) ? call_reverse(layer, call) : call_embedding(layer, call);
}

const artel__layer_def artel__layer_reversible_embedding_def = {
    .class_name = "ReversibleEmbedding",
    .doc = "A vector for each integer, and scores of all integers from a vector.",
    .config_size = sizeof(embedding_config),
    .options = reversible_options,
    .mask = ARTEL__MASK_OWN,
    .cast = ARTEL__CAST_RESULT,
    .configure = configure_reversible,
    .build = build_reversible,
    .call = call_reversible,
};

/* -- Masking: steps whose features all equal the value are masked, and become 0 -- */

typedef struct masking_config {
    double mask_value;
} masking_config;

static const artel__option masking_options[] = {
    {"mask_value", "what padding looks like", ARTEL__OPTION_FLOAT, offsetof(masking_config, mask_value), "0", 0, 0,
     NULL},
    ARTEL__OPTIONS_END,
};

static artel_status call_masking(artel__layer *layer, artel__call *call)
{
    const masking_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    artel__value_id x = artel__as_float(graph, call->in[0].value);
    artel_shape shape = *artel__call_shape(call, 0);
    artel__value_id differs =
        artel__as_float(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, x, c->mask_value));
    artel__value_id any = artel__op_reduce(graph, ARTEL__REDUCE_MAX, differs, 1u << (shape.rank - 1), true);
    artel__value_id valid = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, any, 0);
    artel__call_return(call, artel__op_where(graph, valid, x, ARTEL__NO_VALUE));
    shape.rank--;
    call->out[0].mask = artel__op_reshape(graph, valid, &shape);
    return ARTEL_OK;
}

const artel__layer_def artel__layer_masking_def = {
    .class_name = "Masking",
    .doc = "Masks steps that hold one value only.",
    .config_size = sizeof(masking_config),
    .options = masking_options,
    .mask = ARTEL__MASK_OWN,
    .call = call_masking,
};
