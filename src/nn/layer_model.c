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

static artel_status order_inputs(artel__layer *layer, artel__call *call, artel__tensor *in)
{
    const artel__model *model = layer->model;
    int *place = artel__arena_alloc(call->graph->arena, (size_t)model->inputs + 1, sizeof *place);
    if (!place) return ARTEL_ERROR_NO_MEMORY;
    int count = artel__model_places(model, call->arguments, call->inputs, place);
    if (count != model->inputs)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "call the model with its inputs in a list",
                                 "it has %d inputs and is called with %d", model->inputs, count);
    for (int i = 0; i < count; i++) {
        if (place[i] < 0 || place[i] >= call->inputs)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "call the model with its inputs by name",
                                     "its input \"%s\" is not given", model->input[i].name);
        in[i] = call->in[place[i]];
    }
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
