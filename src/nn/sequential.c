/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a Sequential model's config: a chain of layers behind one input.
 *
 * The input is an InputLayer at the front, or build_input_shape, or the batch_input_shape that Keras 2 wrote into the
 * first layer. A Sequential that was never built has none of these and cannot be used.
 */
#include <string.h>

#include "nn/model.h"

/* A shape with its batch axis from JSON; false when it is none. */
static bool read_batch_shape(json_t *json, artel_shape *out)
{
    if (!json_is_array(json) || json_array_size(json) < 1 || json_array_size(json) > ARTEL_MAX_RANK) return false;
    *out = (artel_shape){.rank = 0};
    for (size_t i = 1; i < json_array_size(json); i++) {
        json_t *item = json_array_get(json, i);
        if (!json_is_null(item) && (!json_is_integer(item) || json_integer_value(item) < 0)) return false;
        out->dim[out->rank++] = json_is_null(item) ? -1 : json_integer_value(item);
    }
    return true;
}

static artel_status find_input(artel__model *model, json_t *config, json_t *first)
{
    json_t *first_config = json_object_get(first, "config");
    artel__model_input *input = artel__arena_alloc(model->arena, 1, sizeof *input);
    if (!input) return ARTEL_ERROR_NO_MEMORY;
    model->input = input;
    model->inputs = 1;
    if (model->layers && strcmp(model->layer[0]->def->class_name, "InputLayer") == 0) {
        *input = *(const artel__model_input *)model->layer[0]->own;
        input->name = model->layer[0]->name;
        return ARTEL_OK;
    }
    input->name = "input_layer";
    input->dtype = strcmp(json_string_value(json_object_get(first, "class_name")), "Embedding") == 0
                       ? ARTEL_DTYPE_INT32
                       : ARTEL_DTYPE_FLOAT32;
    if (read_batch_shape(json_object_get(first_config, "batch_input_shape"), &input->shape)) return ARTEL_OK;
    if (read_batch_shape(json_object_get(first_config, "batch_shape"), &input->shape)) return ARTEL_OK;
    if (read_batch_shape(json_object_get(config, "build_input_shape"), &input->shape)) return ARTEL_OK;
    if (read_batch_shape(json_object_get(json_object_get(model->record, "build_config"), "input_shape"), &input->shape))
        return ARTEL_OK;
    return artel__model_fail(model, ARTEL_ERROR_INVALID, "give it an Input, or call it once before saving",
                             "the Sequential model was never built: its input shape is not known");
}

static artel_status add_chain(artel__model *model)
{
    artel__model_call_site *site = artel__model_add_site(model);
    if (!site) return ARTEL_ERROR_NO_MEMORY;
    *site = (artel__model_call_site){.input = 0};
    for (int i = 0; i < model->layers; i++) {
        if (strcmp(model->layer[i]->def->class_name, "InputLayer") == 0) continue;
        artel__model_tensor *in = artel__arena_alloc(model->arena, 1, sizeof *in);
        site = artel__model_add_site(model);
        if (!site || !in) return ARTEL_ERROR_NO_MEMORY;
        *in = (artel__model_tensor){model->sites - 2, 0};
        *site = (artel__model_call_site){.layer = model->layer[i], .input = -1, .in = in, .inputs = 1};
    }
    model->output = artel__arena_alloc(model->arena, 1, sizeof *model->output);
    model->result = artel__arena_alloc(model->arena, 1, sizeof *model->result);
    ARTEL_TRY(artel__arena_status(model->arena));
    model->outputs = 1;
    model->result[0] = (artel__model_tensor){model->sites - 1, 0};
    model->output[0].loss_name = model->output[0].name =
        model->layers ? model->layer[model->layers - 1]->name : model->name;
    return ARTEL_OK;
}

artel_status artel__model_parse_sequential(artel__model *model, json_t *config)
{
    json_t *layers = json_object_get(config, "layers");
    if (!json_is_array(layers) || json_array_size(layers) == 0)
        return artel__model_fail(model, ARTEL_ERROR_INVALID, "add layers to it", "the Sequential model has no layers");
    size_t i;
    json_t *record;
    json_array_foreach(layers, i, record)
    {
        artel__layer *layer;
        ARTEL_TRY(artel__model_add_layer(model, record, &layer));
    }
    ARTEL_TRY(find_input(model, config, json_array_get(layers, 0)));
    ARTEL_TRY(add_chain(model));
    return artel__model_order_masks(model);
}
