/* SPDX-License-Identifier: Apache-2.0 */
/* Listing a model's variables, and copying them from and to arrays of files. */
#include "keras/variables.h"

#include <stdio.h>
#include <string.h>

typedef struct lister {
    artel__arena *arena;
    artel__keras_variables *list;
    int capacity;
    bool aliases;
} lister;

static artel_status list_one(void *user, const artel__model_variable *variable)
{
    lister *l = user;
    artel__keras_variables *list = l->list;
    if (variable->variable->alias && !l->aliases) return ARTEL_OK;
    if (list->count == l->capacity) {
        int capacity = l->capacity ? l->capacity * 2 : 64;
        artel__keras_variable *wider = artel__arena_alloc(l->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (list->count) memcpy(wider, list->item, (size_t)list->count * sizeof *wider);
        list->item = wider;
        l->capacity = capacity;
    }
    list->item[list->count++] = (artel__keras_variable){.path = artel__arena_strdup(l->arena, variable->path),
                                                        .group = artel__arena_strdup(l->arena, variable->group),
                                                        .position = variable->position,
                                                        .index = variable->variable->index,
                                                        .trainable = variable->trainable,
                                                        .layer = variable->layer,
                                                        .variable = variable->variable};
    return artel__arena_status(l->arena);
}

void artel__keras_layer_group(const artel__model *model, int layer, char *out, size_t size)
{
    const char *class_name = model->layer[layer]->def->class_name;
    char snake[128];
    int same = 0;
    artel__snake_case(class_name, snake, sizeof snake);
    for (int k = 0; k < layer; k++) same += strcmp(model->layer[k]->def->class_name, class_name) == 0;
    if (same)
        snprintf(out, size, "layers/%s_%d", snake, same);
    else
        snprintf(out, size, "layers/%s", snake);
}

bool artel__keras_is_sequential(const artel__model *model)
{
    bool ends = json_object_get(json_object_get(model->record, "config"), "input_layers") != NULL;
    return strcmp(model->class_name, "Sequential") == 0 || (!ends && artel__model_is_custom(model));
}

bool artel__keras_is_hidden(const artel__model *model, int layer)
{
    const char *module = json_string_value(json_object_get(model->layer[layer]->record, "module"));
    if (module && (artel__starts_with(module, "keras.src.ops.") || artel__starts_with(module, "keras.ops")))
        return true;
    return artel__keras_is_sequential(model) && strcmp(model->layer[layer]->def->class_name, "InputLayer") == 0;
}

/* Whether `path` is `group` or lies in it. */
static bool lies_in(const char *path, const char *group)
{
    size_t length = strlen(group);
    return strncmp(path, group, length) == 0 && (path[length] == 0 || path[length] == '/');
}

/* Top-level layers come in the order of the list, so one walk over both suffices. */
static void find_tops(const artel__model *model, artel__keras_variables *list)
{
    int k = 0;
    for (int layer = 0; layer < model->layers; layer++) {
        char group[160];
        artel__keras_layer_group(model, layer, group, sizeof group);
        while (k < list->count && lies_in(list->item[k].group, group)) list->item[k++].top = layer;
    }
}

static artel_status list_all(const artel__model *model, artel__arena *arena, bool aliases, artel__keras_variables *out)
{
    *out = (artel__keras_variables){.count = 0};
    lister l = {.arena = arena, .list = out, .aliases = aliases};
    ARTEL_TRY(artel__model_visit_filed(model, list_one, &l));
    for (int first = 0; first < out->count;) {
        int end = first + 1;
        while (end < out->count && strcmp(out->item[end].group, out->item[first].group) == 0) end++;
        for (int k = first; k < end; k++) out->item[k].siblings = end - first;
        first = end;
    }
    find_tops(model, out);
    return ARTEL_OK;
}

artel_status artel__keras_variables_list(const artel__model *model, artel__arena *arena, artel__keras_variables *out)
{
    return list_all(model, arena, false, out);
}

artel_status artel__keras_tree_list(const artel__model *model, artel__arena *arena, artel__keras_variables *out)
{
    return list_all(model, arena, true, out);
}

artel_status artel__keras_put(artel_model *model, artel__state *state, const char *where,
                              const artel__keras_variable *variable, const artel__keras_array *array)
{
    artel_context *ctx = model->ctx;
    const artel__variable *target = artel__keras_variable_of(model, variable);
    char found[160], expected[160];
    if (!artel__shape_equal(&array->shape, &target->shape))
        return artel__fail(
            ctx, ARTEL_ERROR_INVALID, where, "these weights belong to another model: check the architecture",
            "%s of layer \"%s\" (%s) has shape %s, expected %s", variable->variable->name, variable->layer->name,
            array->name, artel__shape_text(&array->shape, false, found, sizeof found),
            artel__shape_text(&target->shape, false, expected, sizeof expected));
    int64_t count = artel_shape_count(&target->shape);
    size_t from = artel_dtype_size(array->dtype), to = artel_dtype_size(target->dtype);
    if (array->dtype == target->dtype) {
        artel__state_store(state, variable->index, array->data);
        return ARTEL_OK;
    }
    void *block;
    size_t room = (size_t)count * to;
    ARTEL_TRY(artel__alloc(ctx, room + (size_t)count * from + 16, where, &block));
    uint8_t *copy = (uint8_t *)block + (room + 15) / 16 * 16;
    if (count) memcpy(copy, array->data, (size_t)count * from);
    artel__convert(array->dtype, copy, target->dtype, block, count);
    artel__state_store(state, variable->index, block);
    artel__free(ctx, block);
    return ARTEL_OK;
}

artel_status artel__keras_put_node(artel_model *model, artel__state *state, const char *where,
                                   const artel__keras_variable *variable, const artel__h5_node *node, const char *path)
{
    if (!node->is_dataset || !node->readable || node->dtype == ARTEL_DTYPE_STRING)
        return artel__fail(model->ctx, ARTEL_ERROR_CORRUPT, where, "save the weights again with Keras",
                           "%s is not an array of numbers", path);
    artel__keras_array array = {.name = path, .dtype = node->dtype, .shape = node->shape, .data = node->data};
    return artel__keras_put(model, state, where, variable, &array);
}

void *artel__keras_fetch(const artel_model *model, artel__arena *arena, const artel__keras_variable *variable)
{
    const artel__variable *source = artel__keras_variable_of(model, variable);
    int64_t count = artel_shape_count(&source->shape);
    void *plain = artel__arena_alloc(arena, (size_t)count + 1, artel_dtype_size(source->dtype));
    if (!plain) return NULL;
    artel__state_fetch(model->weights, variable->index, plain);
    if (!artel__variable_narrow(source) || !variable->variable->adapters)
        return artel__keras_merge(model, arena, variable->layer, variable->variable, plain) < 0 ? NULL : plain;
    float *sum = artel__arena_alloc(arena, (size_t)count + 1, sizeof *sum);
    if (!sum) return NULL;
    artel__convert(source->dtype, plain, ARTEL_DTYPE_FLOAT32, sum, count);
    if (artel__keras_merge(model, arena, variable->layer, variable->variable, sum) < 0) return NULL;
    artel__convert(ARTEL_DTYPE_FLOAT32, sum, source->dtype, plain, count);
    return plain;
}

/* kernel [rows][columns] += scale a [rows][rank] b [rank][columns] */
static void add_product_wide(double *kernel, const float *a, const float *b, int64_t rows, int64_t rank,
                             int64_t columns, double scale)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < rank; k++) sum += (double)a[i * rank + k] * (double)b[k * columns + j];
            kernel[i * columns + j] += scale * sum;
        }
    }
}

/* The same in float32. */
static void add_product(float *kernel, const float *a, const float *b, int64_t rows, int64_t rank, int64_t columns,
                        float scale)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            float sum = 0;
            for (int64_t k = 0; k < rank; k++) sum += a[i * rank + k] * b[k * columns + j];
            kernel[i * columns + j] += scale * sum;
        }
    }
}

artel_status artel__keras_merge(const artel_model *model, artel__arena *arena, const artel__layer *layer,
                                const artel__layer_variable *variable, void *plain)
{
    if (!variable->adapters) return ARTEL_OK;
    int index[] = {layer->variable[variable->adapters].index, layer->variable[variable->adapters + 1].index};
    float *part[2];
    for (int k = 0; k < 2; k++) {
        part[k] = artel__arena_alloc(arena, (size_t)artel_shape_count(&model->nn->variables->item[index[k]].shape) + 1,
                                     sizeof(float));
        if (!part[k]) return ARTEL_ERROR_NO_MEMORY;
        artel__state_fetch(model->weights, index[k], part[k]);
    }
    const artel_shape *b = &model->nn->variables->item[index[1]].shape;
    int64_t rows = artel_shape_count(&model->nn->variables->item[variable->index].shape) / b->dim[1];
    if (model->nn->variables->item[variable->index].dtype == ARTEL_DTYPE_FLOAT64)
        add_product_wide(plain, part[0], part[1], rows, b->dim[0], b->dim[1], variable->adapter_scale);
    else
        add_product(plain, part[0], part[1], rows, b->dim[0], b->dim[1], (float)variable->adapter_scale);
    return ARTEL_OK;
}

artel_status artel__keras_adopt(artel_model *model, artel__state *state)
{
    artel__state_destroy(model->weights);
    model->weights = state;
    model->initialised = true;
    return artel__keras_start_adapters(model);
}

artel_status artel__keras_add_saved(artel_context *ctx, artel__saved_optimizer *optimizer, const char *where,
                                    const artel__h5_node *node)
{
    if (!node->is_dataset || !node->readable || node->dtype == ARTEL_DTYPE_STRING)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "save the model again with Keras",
                           "the optimizer's variable %s is not an array of numbers", node->name);
    void *grown = optimizer->array, *data;
    ARTEL_TRY(artel__realloc(ctx, (size_t)(optimizer->count + 1) * sizeof *optimizer->array, where, &grown));
    optimizer->array = grown;
    ARTEL_TRY(artel__alloc(ctx, node->bytes ? node->bytes : 1, where, &data));
    if (node->bytes) memcpy(data, node->data, node->bytes);
    optimizer->array[optimizer->count++] =
        (artel__saved_array){.dtype = node->dtype, .shape = node->shape, .data = data};
    return ARTEL_OK;
}
