/* SPDX-License-Identifier: Apache-2.0 */
/* Building models by calls: every call adds to a document of Keras' own form, which is then read like a file's. */
#include "keras/build.h"

#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "keras/model.h"
#include "keras/translate.h"

static const char WHERE[] = "the model being built";

enum {
    MOST_TENSORS = 65536 /* of a call, of a model's outputs */
};

artel_status artel__builder_fail(artel_builder *builder, artel_status status)
{
    if (builder->status == ARTEL_OK && status < 0) builder->status = status;
    return builder->status;
}

static artel_status out_of_memory(artel_builder *builder)
{
    return artel__builder_fail(builder, artel__fail_memory(builder->ctx, WHERE, 0));
}

static artel_status refuse(artel_builder *builder, const char *where, const char *advice, const char *what)
{
    if (builder->status < 0) return builder->status;
    return artel__builder_fail(builder, artel__fail(builder->ctx, ARTEL_ERROR_INVALID, where, advice, "%s", what));
}

artel_status artel__builder_enter(artel_builder *builder, const char *function)
{
    ARTEL_TRY(artel__need(builder ? builder->ctx : NULL, function, "builder", builder));
    return builder->status;
}

/* A pointer that is NULL is a failure of the builder, too: finish reports it. */
static artel_status need(artel_builder *builder, const char *function, const char *name, const void *pointer)
{
    return artel__builder_fail(builder, artel__need(builder->ctx, function, name, pointer));
}

static artel_status create(artel_context *ctx, const char *name, bool functional, artel_builder **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_builder), WHERE, &block));
    artel_builder *builder = block;
    builder->ctx = ctx;
    builder->functional = functional;
    artel__arena_init(&builder->arena, ctx);
    builder->name = artel__arena_strdup(&builder->arena, name ? name : functional ? "functional" : "sequential");
    builder->layers = json_array();
    builder->inputs = json_array();
    if (!builder->name || !builder->layers || !builder->inputs) {
        artel_builder_destroy(builder);
        return artel__fail_memory(ctx, WHERE, 0);
    }
    *out = builder;
    return ARTEL_OK;
}

void artel_builder_destroy(artel_builder *builder)
{
    if (!builder) return;
    artel_context *ctx = builder->ctx;
    json_decref(builder->layers);
    json_decref(builder->inputs);
    json_decref(builder->shape);
    artel__arena_fini(&builder->arena);
    artel__free(ctx, builder);
}

static bool has_layer(const artel_builder *builder, const char *name)
{
    size_t i;
    json_t *record;
    json_array_foreach(builder->layers, i, record)
    {
        const char *other = json_string_value(json_object_get(json_object_get(record, "config"), "name"));
        if (other && strcmp(other, name) == 0) return true;
    }
    return false;
}

/* "dense", "dense_1", ... as Keras counts. */
static artel_status give_name(artel_builder *builder, const char *class_name, json_t *config)
{
    char snake[128], name[160];
    const char *given = json_string_value(json_object_get(config, "name"));
    if (given)
        return has_layer(builder, given)
                   ? refuse(builder, given, "give every layer another name", "two layers have this name")
                   : ARTEL_OK;
    artel__snake_case(class_name, snake, sizeof snake);
    snprintf(name, sizeof name, "%s", snake);
    for (int k = 1; has_layer(builder, name); k++) snprintf(name, sizeof name, "%s_%d", snake, k);
    return json_object_set_new(config, "name", json_string(name)) == 0 ? ARTEL_OK : out_of_memory(builder);
}

artel_status artel__builder_add(artel_builder *builder, const char *class_name, json_t *config)
{
    if (!config && builder->status == ARTEL_OK) out_of_memory(builder);
    if (builder->status == ARTEL_OK) give_name(builder, class_name, config);
    if (builder->status < 0) {
        json_decref(config);
        return builder->status;
    }
    json_t *record = json_pack("{s:s, s:o}", "class_name", class_name, "config", config);
    if (!record) return out_of_memory(builder);
    bool called = !builder->functional || (json_object_set(record, "name", json_object_get(config, "name")) == 0 &&
                                           json_object_set_new(record, "inbound_nodes", json_array()) == 0);
    if (!called) {
        json_decref(record);
        return out_of_memory(builder);
    }
    return json_array_append_new(builder->layers, record) == 0 ? ARTEL_OK : out_of_memory(builder);
}

/* A config as text; an empty one for NULL. */
static artel_status read_config(artel_builder *builder, const char *class_name, const char *text, json_t **out)
{
    *out = NULL;
    if (!text) {
        *out = json_object();
        return *out ? ARTEL_OK : out_of_memory(builder);
    }
    artel_status status = artel__json_load(builder->ctx, class_name, text, strlen(text), out);
    if (status < 0) return artel__builder_fail(builder, status);
    if (json_is_object(*out)) return ARTEL_OK;
    json_decref(*out);
    *out = NULL;
    return refuse(builder, class_name, "write {\"key\": value, ...}", "the config is not a JSON object");
}

artel_status artel_layer_add(artel_builder *builder, const char *class_name, const char *config)
{
    json_t *json;
    ARTEL_TRY(artel__builder_enter(builder, __func__));
    ARTEL_TRY(need(builder, __func__, "class_name", class_name));
    if (builder->functional)
        return refuse(builder, class_name, "use artel_apply", "layers of a Functional model are applied to tensors");
    ARTEL_TRY(read_config(builder, class_name, config, &json));
    return artel__builder_add(builder, class_name, json);
}

/* The shape with its batch axis: [null, 28, 28]. */
static json_t *batch_shape(const artel_shape *shape)
{
    json_t *list = json_pack("[n]");
    for (int i = 0; i < shape->rank && i < ARTEL_MAX_RANK; i++) {
        if (json_array_append_new(list, shape->dim[i] < 0 ? json_null() : json_integer(shape->dim[i])) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

static artel_status add_input(artel_builder *builder, const char *name, artel_dtype dtype, const artel_shape *shape)
{
    bool possible = shape && shape->rank >= 0 && shape->rank <= ARTEL_MAX_RANK;
    if (artel_dtype_size(dtype) == 0 && dtype != ARTEL_DTYPE_STRING)
        return refuse(builder, name ? name : "input", "give one of artel_dtype", "there is no such element type");
    for (int i = 0; possible && i < shape->rank; i++) possible = shape->dim[i] >= -1;
    if (!possible)
        return refuse(builder, name ? name : "input", "give the shape of one row", "the input's shape is not possible");
    json_t *config = json_pack("{s:o, s:s}", "batch_shape", batch_shape(shape), "dtype", artel_dtype_name(dtype));
    if (config && name && json_object_set_new(config, "name", json_string(name)) < 0) {
        json_decref(config);
        return out_of_memory(builder);
    }
    return artel__builder_add(builder, "InputLayer", config);
}

artel_status artel_sequential_create(artel_context *context, const char *name, artel_dtype dtype,
                                     const artel_shape *shape, artel_builder **out)
{
    artel_builder *builder = NULL;
    ARTEL_TRY(artel__enter(context, __func__, "context shape out", context, shape, out));
    ARTEL_TRY(create(context, name, false, &builder));
    artel_status status = add_input(builder, NULL, dtype, shape);
    if (status == ARTEL_OK) builder->shape = batch_shape(shape);
    if (status == ARTEL_OK && !builder->shape) status = out_of_memory(builder);
    if (status < 0) {
        artel_builder_destroy(builder);
        return status;
    }
    *out = builder;
    return ARTEL_OK;
}

/* Reads the finished document; takes `record` and the builder. */
static artel_status finish(artel_builder *builder, json_t *record, artel_model **out)
{
    artel_status status = builder->status;
    if (status == ARTEL_OK && !record) status = out_of_memory(builder);
    if (status == ARTEL_OK) status = artel__keras_translate_model(builder->ctx, builder->name, NULL, record);
    if (status == ARTEL_OK) status = artel__keras_from_record(builder->ctx, builder->name, record, out);
    json_decref(record);
    artel_builder_destroy(builder);
    return status;
}

artel_status artel_sequential_finish(artel_builder *builder, artel_model **out)
{
    ARTEL_TRY(artel__need(builder ? builder->ctx : NULL, __func__, "builder", builder));
    need(builder, __func__, "out", out);
    if (builder->functional)
        refuse(builder, builder->name, "use artel_functional_finish", "this is a Functional model");
    json_t *record = json_pack("{s:s, s:{s:s, s:O, s:O?}, s:{s:O?}}", "class_name", "Sequential", "config", "name",
                               builder->name, "layers", builder->layers, "build_input_shape", builder->shape,
                               "build_config", "input_shape", builder->shape);
    return finish(builder, record, out);
}

/* -- Functional -- */

artel_status artel_functional_create(artel_context *context, const char *name, artel_builder **out)
{
    ARTEL_TRY(artel__enter(context, __func__, "context out", context, out));
    return create(context, name, true, out);
}

static artel_status add_call(artel_builder *builder, int layer, int node, artel_tensor *out)
{
    if (builder->calls == builder->capacity) {
        int capacity = builder->capacity ? builder->capacity * 2 : 32;
        struct artel__built_call *wider = artel__arena_alloc(&builder->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return artel__builder_fail(builder, ARTEL_ERROR_NO_MEMORY);
        if (builder->calls) memcpy(wider, builder->call, (size_t)builder->calls * sizeof *wider);
        builder->call = wider;
        builder->capacity = capacity;
    }
    builder->call[builder->calls] = (struct artel__built_call){layer, node};
    *out = (artel_tensor){builder->calls++, 0};
    return ARTEL_OK;
}

static const char *layer_name(const artel_builder *builder, int layer)
{
    return json_string_value(json_object_get(json_array_get(builder->layers, (size_t)layer), "name"));
}

artel_status artel_input(artel_builder *builder, const char *name, artel_dtype dtype, const artel_shape *shape,
                         artel_tensor *out)
{
    ARTEL_TRY(artel__builder_enter(builder, __func__));
    ARTEL_TRY(need(builder, __func__, "shape", shape));
    ARTEL_TRY(need(builder, __func__, "out", out));
    if (!builder->functional)
        return refuse(builder, "artel_input", "use artel_functional_create",
                      "a Sequential model has its input already");
    ARTEL_TRY(add_input(builder, name, dtype, shape));
    int layer = (int)json_array_size(builder->layers) - 1;
    if (json_array_append_new(builder->inputs, json_pack("[s, i, i]", layer_name(builder, layer), 0, 0)) < 0)
        return out_of_memory(builder);
    return add_call(builder, layer, 0, out);
}

static bool tensor_exists(const artel_builder *builder, artel_tensor tensor)
{
    return tensor.call >= 0 && tensor.call < builder->calls && tensor.output >= 0;
}

/* A tensor as Keras records it; NULL when it does not exist, or memory is out. Its shape is not read by anybody. */
static json_t *tensor_record(const artel_builder *builder, artel_tensor tensor)
{
    if (!tensor_exists(builder, tensor)) return NULL;
    const struct artel__built_call *call = &builder->call[tensor.call];
    return json_pack("{s:s, s:{s:[n], s:s, s:[s, i, i]}}", "class_name", "__keras_tensor__", "config", "shape", "dtype",
                     "float32", "keras_history", layer_name(builder, call->layer), call->node, tensor.output);
}

/* Layers whose call takes tensors one by one instead of in a list. */
static bool takes_arguments(const char *class_name)
{
    return strcmp(class_name, "MultiHeadAttention") == 0 || strcmp(class_name, "GroupQueryAttention") == 0;
}

/* Layers whose call takes a sequence, and behind it the states that it begins with. */
static bool takes_states(const char *class_name)
{
    static const char *const classes[] = {"LSTM",          "GRU",        "SimpleRNN",  "RNN",
                                          "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"};
    for (size_t i = 0; i < ARTEL__COUNT(classes); i++) {
        if (strcmp(class_name, classes[i]) == 0) return true;
    }
    return false;
}

/* The arguments of a call as Keras records them; takes the list of tensors. NULL: no memory. */
static json_t *call_record(const char *class_name, json_t *list)
{
    size_t count = json_array_size(list);
    if (count < 2 || takes_arguments(class_name)) return json_pack("{s:o, s:{}}", "args", list, "kwargs");
    if (!takes_states(class_name)) return json_pack("{s:[o], s:{}}", "args", list, "kwargs");
    json_t *first = json_incref(json_array_get(list, 0));
    json_array_remove(list, 0);
    return json_pack("{s:[o], s:{s:o}}", "args", first, "kwargs", "initial_state", list);
}

/* Adds a call of a layer that exists. */
static artel_status connect(artel_builder *builder, int layer, const artel_tensor *tensors, int count,
                            artel_tensor *out)
{
    json_t *record = json_array_get(builder->layers, (size_t)layer), *nodes = json_object_get(record, "inbound_nodes");
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    if (count < 1 || count > MOST_TENSORS)
        return refuse(builder, class_name, "pass at least one tensor, and not more than 65536",
                      count < 1 ? "the layer is applied to nothing" : "the layer is applied to too many tensors");
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        if (json_array_append_new(list, tensor_record(builder, tensors[i])) == 0) continue;
        json_decref(list);
        if (tensor_exists(builder, tensors[i])) return out_of_memory(builder);
        return refuse(builder, class_name, "pass tensors of the same builder",
                      "a tensor given to the layer does not exist");
    }
    if (json_array_append_new(nodes, call_record(class_name, list)) < 0) return out_of_memory(builder);
    return add_call(builder, layer, (int)json_array_size(nodes) - 1, out);
}

artel_status artel_apply(artel_builder *builder, const char *class_name, const char *config,
                         const artel_tensor *tensors, int count, artel_tensor *out)
{
    json_t *json;
    ARTEL_TRY(artel__builder_enter(builder, __func__));
    ARTEL_TRY(need(builder, __func__, "class_name", class_name));
    ARTEL_TRY(need(builder, __func__, "tensors", tensors));
    ARTEL_TRY(need(builder, __func__, "out", out));
    if (!builder->functional) return refuse(builder, class_name, "use artel_layer_add", "this is a Sequential model");
    ARTEL_TRY(read_config(builder, class_name, config, &json));
    ARTEL_TRY(artel__builder_add(builder, class_name, json));
    return connect(builder, (int)json_array_size(builder->layers) - 1, tensors, count, out);
}

artel_status artel__builder_operation(artel_builder *builder, const char *module, const char *class_name,
                                      const char *config, artel_tensor x, artel_tensor *out)
{
    ARTEL_TRY(artel_apply(builder, class_name, config, &x, 1, out));
    json_t *record = json_array_get(builder->layers, json_array_size(builder->layers) - 1);
    if (json_object_set_new(record, "module", json_string(module)) < 0 ||
        json_object_set_new(record, "registered_name", json_string(class_name)) < 0)
        return out_of_memory(builder);
    return ARTEL_OK;
}

artel_status artel_apply_again(artel_builder *builder, artel_tensor of, const artel_tensor *tensors, int count,
                               artel_tensor *out)
{
    ARTEL_TRY(artel__builder_enter(builder, __func__));
    ARTEL_TRY(need(builder, __func__, "tensors", tensors));
    ARTEL_TRY(need(builder, __func__, "out", out));
    if (of.call < 0 || of.call >= builder->calls)
        return refuse(builder, "artel_apply_again", "", "the tensor does not exist");
    return connect(builder, builder->call[of.call].layer, tensors, count, out);
}

/* Whether the class's call has a switch of this name; a tensor as a keyword cannot be said here. */
static bool has_switch(const char *class_name, const char *name)
{
    static const struct {
        const char *class_name, *name;
    } rows[] = {{"MultiHeadAttention", "use_causal_mask"},  {"MultiHeadAttention", "return_attention_scores"},
                {"GroupQueryAttention", "use_causal_mask"}, {"GroupQueryAttention", "return_attention_scores"},
                {"Attention", "use_causal_mask"},           {"Attention", "return_attention_scores"},
                {"AdditiveAttention", "use_causal_mask"},   {"AdditiveAttention", "return_attention_scores"},
                {"ReversibleEmbedding", "reverse"}};
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        if (strcmp(rows[i].class_name, class_name) == 0 && strcmp(rows[i].name, name) == 0) return true;
    }
    return false;
}

artel_status artel_apply_arguments(artel_builder *builder, artel_tensor of, const char *arguments)
{
    json_t *json;
    ARTEL_TRY(artel__builder_enter(builder, __func__));
    ARTEL_TRY(need(builder, __func__, "arguments", arguments));
    if (of.call < 0 || of.call >= builder->calls) return refuse(builder, __func__, "", "the tensor does not exist");
    const struct artel__built_call *call = &builder->call[of.call];
    json_t *record = json_array_get(builder->layers, (size_t)call->layer),
           *nodes = json_object_get(record, "inbound_nodes");
    json_t *kept = json_object_get(json_array_get(nodes, (size_t)call->node), "kwargs");
    ARTEL_TRY(read_config(builder, layer_name(builder, call->layer), arguments, &json));
    artel_status status = ARTEL_OK;
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        if (!json_is_boolean(value) || !has_switch(json_string_value(json_object_get(record, "class_name")), key))
            status = refuse(builder, layer_name(builder, call->layer), "see artel_apply_arguments",
                            "its call takes no argument of this name, or another kind of value");
        else if (json_object_get(kept, key))
            status = refuse(builder, layer_name(builder, call->layer), "give each argument once",
                            "the call has an argument of this name");
        else if (json_object_set(kept, key, value) < 0)
            status = out_of_memory(builder);
        if (status < 0) break;
    }
    json_decref(json);
    return status;
}

artel_tensor artel_output(artel_tensor of, int output)
{
    return (artel_tensor){of.call, output};
}

artel_status artel_functional_finish(artel_builder *builder, const artel_tensor *outputs, int count, artel_model **out)
{
    ARTEL_TRY(artel__need(builder ? builder->ctx : NULL, __func__, "builder", builder));
    need(builder, __func__, "outputs", outputs);
    need(builder, __func__, "out", out);
    if (count < 1 || count > MOST_TENSORS)
        refuse(builder, builder->name, "give the tensors that are the model's outputs",
               count < 1 ? "the model has no outputs" : "the model has too many outputs");
    json_t *ends = json_array();
    if (!builder->functional)
        refuse(builder, builder->name, "use artel_sequential_finish", "this is a Sequential model");
    for (int i = 0; i < count && builder->status == ARTEL_OK; i++) {
        bool exists = tensor_exists(builder, outputs[i]);
        const struct artel__built_call *call = exists ? &builder->call[outputs[i].call] : NULL;
        if (!exists)
            refuse(builder, builder->name, "", "an output is not a tensor of this model");
        else if (json_array_append_new(
                     ends, json_pack("[s, i, i]", layer_name(builder, call->layer), call->node, outputs[i].output)) < 0)
            out_of_memory(builder);
    }
    if (builder->status == ARTEL_OK) artel__builder_fail(builder, artel__builder_order(builder, outputs, count));
    json_t *record =
        json_pack("{s:s, s:{s:s, s:O, s:O, s:o}}", "class_name", "Functional", "config", "name", builder->name,
                  "layers", builder->layers, "input_layers", builder->inputs, "output_layers", ends);
    return finish(builder, record, out);
}
