/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of legacy `.h5` files: in the order of the layers that have some, not by name.
 *
 * After keras/src/legacy/saving/legacy_h5_format.py: the layers of the file and of the model that hold weights are
 * paired in order; within a layer (a nested model is one) come the trainable variables, then the others.
 */
#include <stdio.h>
#include <string.h>

#include "keras/load.h"

bool artel__keras_is_legacy(const artel__h5_node *root)
{
    return artel__h5_attribute_find(root, "model_config") || artel__h5_attribute_find(root, "layer_names") ||
           artel__h5_attribute_find(root, "layer_names0") || artel__h5_child(root, "model_weights");
}

const char *const *artel__keras_names(artel__arena *arena, const artel__h5_node *node, const char *name, size_t *count)
{
    size_t total = 0, chunks = 0;
    char split[64];
    const artel__h5_attribute *whole = artel__h5_attribute_find(node, name), *chunk;
    if (whole) total = whole->kind == ARTEL__H5_STRINGS ? whole->count : 0;
    while (!whole && snprintf(split, sizeof split, "%s%zu", name, chunks) > 0 &&
           (chunk = artel__h5_attribute_find(node, split))) {
        total += chunk->kind == ARTEL__H5_STRINGS ? chunk->count : 0;
        chunks++;
    }
    const char **names = artel__arena_alloc(arena, total + 1, sizeof *names);
    if (!names) return NULL;
    *count = total;
    if (whole && total) memcpy(names, whole->strings, total * sizeof *names);
    for (size_t i = 0, at = 0; !whole && i < chunks; i++) {
        snprintf(split, sizeof split, "%s%zu", name, i);
        chunk = artel__h5_attribute_find(node, split);
        if (chunk->kind != ARTEL__H5_STRINGS || !chunk->count) continue;
        memcpy(names + at, chunk->strings, chunk->count * sizeof *names);
        at += chunk->count;
    }
    return names;
}

typedef struct legacy_layer {
    const char *name;
    const artel__h5_node *group;
    const char *const *weights;
    size_t count;
} legacy_layer;

static artel_status broken(artel_model *model, const char *where, const char *what, const char *name)
{
    return artel__fail(model->ctx, ARTEL_ERROR_CORRUPT, where, "save the model again with Keras",
                       "%s \"%s\" is missing", what, name);
}

/* The layers of the file that hold weights. */
static artel_status list_layers(artel_model *model, artel__arena *arena, const char *where, const artel__h5_node *group,
                                legacy_layer **out, size_t *out_count)
{
    size_t names_count, count = 0;
    const char *const *names = artel__keras_names(arena, group, "layer_names", &names_count);
    legacy_layer *layers = artel__arena_alloc(arena, names ? names_count + 1 : 1, sizeof *layers);
    if (!names || !layers) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < names_count; i++) {
        legacy_layer layer = {.name = names[i], .group = artel__h5_find(group, names[i])};
        if (!layer.group || layer.group->is_dataset) return broken(model, where, "the group of layer", names[i]);
        layer.weights = artel__keras_names(arena, layer.group, "weight_names", &layer.count);
        if (!layer.weights) return ARTEL_ERROR_NO_MEMORY;
        if (layer.count) layers[count++] = layer;
    }
    *out = layers;
    *out_count = count;
    return ARTEL_OK;
}

/* The variables [first, end) of the list belong to one layer: the trainable ones first. */
static void order_variables(const artel__keras_variables *list, int first, int end, const artel__keras_variable **out)
{
    int count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = first; i < end; i++) {
            if (list->item[i].trainable == (pass == 0)) out[count++] = &list->item[i];
        }
    }
}

static artel_status load_layer(artel_model *model, const char *where, const legacy_layer *layer,
                               const artel__keras_variable **variables, size_t count, artel__state *state)
{
    if (layer->count != count)
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, where,
                           "these weights belong to another model: check the architecture",
                           "layer \"%s\" of the file has %zu weights, layer \"%s\" of the model %zu", layer->name,
                           layer->count, model->nn->layer[variables[0]->top]->name, count);
    for (size_t i = 0; i < count; i++) {
        char path[1024];
        const artel__h5_node *node = artel__h5_find(layer->group, layer->weights[i]);
        if (!node) return broken(model, where, "the weight", layer->weights[i]);
        snprintf(path, sizeof path, "%s/%s", layer->name, layer->weights[i]);
        ARTEL_TRY(artel__keras_put_node(model, state, where, variables[i], node, path));
    }
    return ARTEL_OK;
}

static int count_tops(const artel__keras_variables *list)
{
    int tops = 0;
    for (int i = 0; i < list->count; i++) tops += i == 0 || list->item[i].top != list->item[i - 1].top;
    return tops;
}

static artel_status load_layers(artel_model *model, artel__arena *arena, const char *where, const artel__h5_node *group,
                                artel__state *state)
{
    legacy_layer *layers = NULL;
    size_t count = 0;
    artel__keras_variables list;
    ARTEL_TRY(artel__keras_variables_list(model->nn, arena, &list));
    ARTEL_TRY(list_layers(model, arena, where, group, &layers, &count));
    const artel__keras_variable **ordered = artel__arena_alloc(arena, (size_t)list.count + 1, sizeof *ordered);
    if (!ordered) return ARTEL_ERROR_NO_MEMORY;
    if ((size_t)count_tops(&list) != count)
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, where,
                           "these weights belong to another model: check the architecture",
                           "the file has %zu layers with weights, the model %d", count, count_tops(&list));
    for (int first = 0, layer = 0; first < list.count; layer++) {
        int end = first + 1;
        while (end < list.count && list.item[end].top == list.item[first].top) end++;
        order_variables(&list, first, end, ordered);
        ARTEL_TRY(load_layer(model, where, &layers[layer], ordered, (size_t)(end - first), state));
        first = end;
    }
    return ARTEL_OK;
}

artel_status artel__keras_load_layers(artel_model *model, const char *where, const artel__h5_node *group)
{
    artel__arena arena;
    artel__state *state = NULL;
    artel__arena_init(&arena, model->ctx);
    artel_status status = artel__state_create(model->ctx, model->nn->variables, &state);
    if (status == ARTEL_OK) status = load_layers(model, &arena, where, group, state);
    if (status == ARTEL_OK)
        status = artel__keras_adopt(model, state);
    else
        artel__state_destroy(state);
    artel__arena_fini(&arena);
    return status;
}
