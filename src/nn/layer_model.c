/* SPDX-License-Identifier: Apache-2.0 */
/* A model used as a layer: Sequential and Functional inside another model.
 *
 * Variables of the inner model take the names of the layers around it as a prefix; the path in weights files follows
 * from the tree.
 */
#include <string.h>

#include "nn/layer_support.h"
#include "nn/model.h"

static const artel__option model_options[] = {
    ARTEL__PART("layers", "records of the layers"),
    ARTEL__PART("input_layers", "which layers are inputs"),
    ARTEL__PART("output_layers", "which tensors are outputs"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_model(artel__layer *layer)
{
    ARTEL_TRY(artel__model_make(layer->arena, layer->variables, layer->record, &layer->model));
    for (int i = 0; i < layer->model->layers; i++)
        ARTEL_TRY(artel__layer_prefix_scope(layer->model->layer[i], layer->name));
    return ARTEL_OK;
}

/* Inputs given by name. */
static artel_status order_by_name(artel__layer *layer, artel__call *call, json_t *names, artel__tensor *in)
{
    const artel__model *model = layer->model;
    for (int i = 0; i < model->inputs; i++) {
        in[i] = artel__call_tensor(call, json_object_get(names, model->input[i].name));
        if (in[i].value < 0)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "call the model with its inputs by name",
                                     "its input \"%s\" is not given", model->input[i].name);
    }
    return ARTEL_OK;
}

static bool is_tensor(json_t *value)
{
    return json_is_integer(json_object_get(value, "tensor"));
}

/* The key behind `last` (NULL: the first) in sorted order, in which Keras flattens; NULL: there is none. */
static const char *key_behind(json_t *object, const char *last)
{
    const char *key, *best = NULL;
    json_t *item;
    json_object_foreach(object, key, item)
    {
        if ((!last || strcmp(key, last) > 0) && (!best || strcmp(key, best) < 0)) best = key;
    }
    return best;
}

/* The tensors of lists and dictionaries within one another; returns how many there are, of which `room` are kept. */
static int flatten(const artel__call *call, json_t *value, artel__tensor *in, int room)
{
    int count = 0;
    size_t i;
    json_t *item;
    if (is_tensor(value)) {
        if (room > 0) in[0] = artel__call_tensor(call, value);
        return 1;
    }
    json_array_foreach(value, i, item) count += flatten(call, item, in + count, room > count ? room - count : 0);
    for (const char *key = key_behind(value, NULL); key; key = key_behind(value, key))
        count += flatten(call, json_object_get(value, key), in + count, room > count ? room - count : 0);
    return count;
}

/* A model whose inputs are a dictionary, or lists in a list, is called with the same: what lies in one place belongs
 * together, whatever the input layers are called. One with a list of inputs may be called with their names. */
static artel_status order_inputs(artel__layer *layer, artel__call *call, artel__tensor *in)
{
    const artel__model *model = layer->model;
    json_t *first = json_array_get(json_object_get(call->arguments, "args"), 0);
    json_t *ends = json_object_get(json_object_get(model->record, "config"), "input_layers");
    if (json_is_object(first) && !is_tensor(first) && !json_is_object(ends))
        return order_by_name(layer, call, first, in);
    bool listed = json_is_array(first) || (json_is_object(first) && !is_tensor(first));
    int count = listed ? flatten(call, first, in, model->inputs) : call->inputs;
    if (count != model->inputs)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "call the model with its inputs in a list",
                                 "it has %d inputs and is called with %d", model->inputs, count);
    if (!listed) memcpy(in, call->in, (size_t)count * sizeof *in);
    return ARTEL_OK;
}

static artel_status call_model(artel__layer *layer, artel__call *call)
{
    artel__model *model = layer->model;
    artel__graph *graph = call->graph;
    if (model->outputs > 16)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give the inner model at most 16 outputs",
                                 "it has %d outputs", model->outputs);
    artel__tensor *in = artel__arena_alloc(graph->arena, (size_t)model->inputs + 1, sizeof *in);
    if (!in) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(order_inputs(layer, call, in));
    ARTEL_TRY(artel__model_call(model, graph, in, call->out));
    call->outputs = model->outputs;
    return ARTEL_OK;
}

#define MODEL(symbol, name, sentence)                      \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .options = model_options,                          \
        .mask = ARTEL__MASK_OWN,                           \
        .configure = configure_model,                      \
        .call = call_model,                                \
    }

MODEL(sequential, "Sequential", "A chain of layers as a layer.");
MODEL(functional, "Functional", "A graph of layers as a layer.");
MODEL(model, "Model", "The older name of Functional.");
