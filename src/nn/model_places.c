/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensor of a call, and which mask, each input of a model inside another one takes. */
#include <string.h>

#include "nn/model.h"
#include "op/elementwise.h"

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

static int flatten_behind(json_t *value, int *number, int room, int count)
{
    return artel__flatten_tensors(value, room > count ? number + count : NULL, room > count ? room - count : 0);
}

int artel__flatten_tensors(json_t *value, int *number, int room)
{
    int count = 0;
    size_t i;
    json_t *item;
    if (is_tensor(value)) {
        if (room > 0) number[0] = (int)json_integer_value(json_object_get(value, "tensor"));
        return 1;
    }
    json_array_foreach(value, i, item) count += flatten_behind(item, number, room, count);
    for (const char *key = key_behind(value, NULL); key; key = key_behind(value, key))
        count += flatten_behind(json_object_get(value, key), number, room, count);
    return count;
}

/* A model whose inputs are a dictionary, or lists in a list, is called with the same: what lies in one place belongs
 * together, whatever the input layers are called. One with a list of inputs may be called with their names. */
static bool is_called_by_name(const artel__model *model, json_t *given)
{
    json_t *ends = json_object_get(json_object_get(model->record, "config"), "input_layers");
    return json_is_object(given) && !is_tensor(given) && !json_is_object(ends);
}

int artel__model_places(const artel__model *model, json_t *arguments, int inputs, int *place)
{
    json_t *args = json_object_get(arguments, "args"), *given = json_array_get(args, 0);
    if (!given) given = json_object_get(json_object_get(arguments, "kwargs"), "inputs");
    for (int i = 0; i < model->inputs; i++) place[i] = -1;
    if (is_called_by_name(model, given)) {
        for (int i = 0; i < model->inputs; i++)
            artel__flatten_tensors(json_object_get(given, model->input[i].name), &place[i], 1);
        return model->inputs;
    }
    if (given && json_array_size(args) < 2) return artel__flatten_tensors(given, place, model->inputs);
    for (int i = 0; i < model->inputs && i < inputs; i++) place[i] = i;
    return inputs;
}

/* The tensor or null at place *left of what Keras flattens; NULL, and *left less by what there is, behind its end. */
static json_t *leaf_at(json_t *value, int *left)
{
    size_t i;
    json_t *item, *found = NULL;
    if (is_tensor(value) || json_is_null(value)) return (*left)-- == 0 ? value : NULL;
    json_array_foreach(value, i, item)
    {
        if ((found = leaf_at(item, left))) return found;
    }
    for (const char *key = key_behind(value, NULL); key && !found; key = key_behind(value, key))
        found = leaf_at(json_object_get(value, key), left);
    return found;
}

artel_status artel__model_take_masks(const artel__layer *layer, const artel__call *call, json_t *masks,
                                     artel__tensor *in)
{
    const artel__model *model = layer->model;
    int *place = artel__arena_alloc(call->graph->arena, (size_t)model->inputs + 1, sizeof *place);
    if (!place) return ARTEL_ERROR_NO_MEMORY;
    artel__model_places(model, call->arguments, call->inputs, place);
    for (int i = 0; i < model->inputs; i++) {
        int left = i;
        artel__value_id mask = artel__call_tensor(call, leaf_at(masks, &left)).value;
        if (mask < 0 || place[i] < 0 || place[i] >= call->inputs) continue;
        in[place[i]].mask = artel__op_cast(call->graph, mask, ARTEL_DTYPE_BOOL);
    }
    return call->graph->status;
}
