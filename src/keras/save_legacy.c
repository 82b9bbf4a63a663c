/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a legacy whole-model `.h5`, as legacy_h5_format.py of Keras 3 writes it.
 *
 * Groups carry the names of layers, datasets the paths of variables. Readers go by order, so a path only has to be
 * unique in its layer; where two would meet, the second gets a number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keras/save.h"

/* What an attribute may hold in all. */
#define HEADER_LIMIT 64512

typedef struct writer {
    const artel_model *model;
    artel__arena *arena;
    artel__keras_variables list;
} writer;

/* An array of strings; as NumPy counts it (count times the longest), split when it is too large. */
static artel_status set_names(writer *w, artel__h5_node *node, const char *name, const char *const *names, size_t count)
{
    size_t longest = 1, chunks = 1;
    for (size_t i = 0; i < count; i++) longest = strlen(names[i]) > longest ? strlen(names[i]) : longest;
    while ((count + chunks - 1) / chunks * longest > HEADER_LIMIT && chunks < count) chunks++;
    if (chunks == 1)
        return artel__h5_set_strings(w->arena, node, name, names, count) ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0, at = 0; i < chunks; i++) {
        size_t here = count / chunks + (i < count % chunks);
        const char *chunk = artel__arena_printf(w->arena, "%s%zu", name, i);
        if (!chunk || !artel__h5_set_strings(w->arena, node, chunk, names + at, here)) return ARTEL_ERROR_NO_MEMORY;
        at += here;
    }
    return ARTEL_OK;
}

static bool taken(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        size_t a = strlen(names[i]), b = strlen(name), shorter = a < b ? a : b;
        if (strncmp(names[i], name, shorter) == 0 && (a == b || names[i][shorter] == '/' || name[shorter] == '/'))
            return true;
    }
    return false;
}

/* "sequential/dense/kernel": variables of a Sequential carry its name in front. */
static const char *weight_name(writer *w, const artel__keras_variable *variable, const char *const *names, int count)
{
    const artel__model *nn = w->model->nn;
    const char *name = artel__keras_variable_of(w->model, variable)->name;
    const char *full = artel__keras_is_sequential(nn) ? artel__arena_printf(w->arena, "%s/%s", nn->name, name) : name;
    for (int k = 1; full && taken(names, count, full); k++) full = artel__arena_printf(w->arena, "%s_%d", name, k);
    return full;
}

static artel_status add_datasets(writer *w, artel__h5_node *group, const artel__keras_variable *const *variables,
                                 int count)
{
    const char **names = artel__arena_alloc(w->arena, (size_t)count + 1, sizeof *names);
    if (!names) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        names[i] = weight_name(w, variables[i], names, i);
        if (!names[i]) return ARTEL_ERROR_NO_MEMORY;
        const artel__variable *shape = artel__keras_variable_of(w->model, variables[i]);
        const char *slash = strrchr(names[i], '/');
        char *folder = artel__arena_strdup(w->arena, slash ? names[i] : "");
        if (!folder) return ARTEL_ERROR_NO_MEMORY;
        if (slash) folder[slash - names[i]] = 0;
        artel__h5_node *parent = *folder ? artel__h5_groups(w->arena, group, folder) : group;
        void *data = artel__keras_fetch(w->model, w->arena, variables[i]);
        if (!data ||
            !artel__h5_dataset(w->arena, parent, slash ? slash + 1 : names[i], shape->dtype, &shape->shape, data))
            return ARTEL_ERROR_NO_MEMORY;
    }
    return set_names(w, group, "weight_names", names, (size_t)count);
}

static artel_status add_layer(writer *w, artel__h5_node *parent, int layer)
{
    const artel__keras_variable **ordered = artel__arena_alloc(w->arena, (size_t)w->list.count + 1, sizeof *ordered);
    artel__h5_node *group = artel__h5_group(w->arena, parent, w->model->nn->layer[layer]->name);
    int count = 0;
    if (!ordered || !group) return ARTEL_ERROR_NO_MEMORY;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < w->list.count; i++) {
            const artel__keras_variable *variable = &w->list.item[i];
            if (variable->top == layer && variable->trainable == (pass == 0)) ordered[count++] = variable;
        }
    }
    return add_datasets(w, group, ordered, count);
}

static int by_layer_name(const void *a, const void *b)
{
    return strcmp((*(const artel__layer *const *)a)->name, (*(const artel__layer *const *)b)->name);
}

static artel_status add_weights(writer *w, artel__h5_node *root)
{
    const artel__model *nn = w->model->nn;
    const char **names = artel__arena_alloc(w->arena, (size_t)nn->layers + 1, sizeof *names);
    const artel__layer **sorted = artel__arena_alloc(w->arena, (size_t)nn->layers + 1, sizeof *sorted);
    artel__h5_node *group = artel__h5_group(w->arena, root, "model_weights");
    size_t count = 0;
    if (!names || !sorted || !group) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < nn->layers; i++) {
        if (artel__keras_is_hidden(nn, i)) continue;
        sorted[count] = nn->layer[i];
        names[count++] = nn->layer[i]->name;
    }
    ARTEL_TRY(set_names(w, group, "layer_names", names, count));
    if (!artel__h5_set_text(w->arena, group, "backend", "tensorflow") ||
        !artel__h5_set_text(w->arena, group, "keras_version", ARTEL__KERAS_VERSION))
        return ARTEL_ERROR_NO_MEMORY;
    qsort(sorted, count, sizeof *sorted, by_layer_name);
    for (size_t k = 0; k < count; k++) {
        int layer = 0;
        while (nn->layer[layer] != sorted[k]) layer++;
        ARTEL_TRY(add_layer(w, group, layer));
    }
    artel__h5_node *top = artel__h5_group(w->arena, group, "top_level_model_weights");
    return top ? set_names(w, top, "weight_names", NULL, 0) : ARTEL_ERROR_NO_MEMORY;
}

/* "adam/iteration", "adam/learning_rate", "adam/2", ...: readers go by order. */
static artel_status add_optimizer(writer *w, artel__h5_node *root)
{
    const artel__saved_optimizer *optimizer = &w->model->optimizer;
    if (optimizer->count == 0) return ARTEL_OK;
    const char *name = artel__keras_optimizer_name(w->model);
    artel__h5_node *group = artel__h5_group(w->arena, root, "optimizer_weights");
    artel__h5_node *own = artel__h5_group(w->arena, group, name);
    const char **names = artel__arena_alloc(w->arena, (size_t)optimizer->count, sizeof *names);
    if (!names || !own) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < optimizer->count; i++) {
        const artel__saved_array *array = &optimizer->array[i];
        bool rate = i == 1 && array->shape.rank == 0 &&
                    (array->dtype == ARTEL_DTYPE_FLOAT32 || array->dtype == ARTEL_DTYPE_FLOAT64);
        const char *leaf = i == 0 ? "iteration" : rate ? "learning_rate" : artel__arena_printf(w->arena, "%d", i);
        names[i] = leaf ? artel__arena_printf(w->arena, "%s/%s", name, leaf) : NULL;
        if (!names[i] || !artel__h5_dataset(w->arena, own, leaf, array->dtype, &array->shape, array->data))
            return ARTEL_ERROR_NO_MEMORY;
    }
    return set_names(w, group, "weight_names", names, (size_t)optimizer->count);
}

static artel_status set_json(writer *w, artel__h5_node *node, const char *name, const json_t *value)
{
    char *text;
    ARTEL_TRY(artel__json_dump_string(w->model->ctx, value, ARTEL__JSON_PYTHON, &text));
    bool set = artel__h5_set_text(w->arena, node, name, text);
    artel__free(w->model->ctx, text);
    return set ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

/* {"class_name", "config"} of the model. The records inside keep their modules, which Keras 3 reads in this place too.
 */
static artel_status set_model_config(writer *w, artel__h5_node *root)
{
    json_t *record = w->model->nn->record;
    json_t *config = json_pack("{s:O, s:O}", "class_name", json_object_get(record, "class_name"), "config",
                               json_object_get(record, "config"));
    artel_status status = config ? set_json(w, root, "model_config", config) : ARTEL_ERROR_NO_MEMORY;
    json_decref(config);
    return status;
}

static artel_status set_training_config(writer *w, artel__h5_node *root)
{
    json_t *training = artel__keras_compile_record(w->model);
    if (!training) return ARTEL_OK;
    json_t *optimizer = json_incref(json_object_get(training, "optimizer"));
    if (!optimizer || json_is_null(optimizer)) { /* they want one, and this is what the settings mean */
        json_decref(optimizer);
        optimizer = json_string("rmsprop");
    }
    if (json_is_string(optimizer)) { /* legacy readers want a record here */
        json_t *record = artel__keras_optimizer_record(w->model->ctx, optimizer);
        if (!record) record = json_pack("{s:O, s:{}}", "class_name", optimizer, "config");
        json_decref(optimizer);
        optimizer = record;
    }
    json_object_del(training, "optimizer");
    artel_status status = ARTEL_OK;
    if (optimizer && json_object_set(training, "optimizer_config", optimizer) < 0) status = ARTEL_ERROR_NO_MEMORY;
    if (status == ARTEL_OK) status = set_json(w, root, "training_config", training);
    json_decref(optimizer);
    json_decref(training);
    return status;
}

artel_status artel__keras_build_legacy(const artel_model *model, artel__arena *arena, artel__h5_node **out)
{
    writer w = {.model = model, .arena = arena};
    artel__h5_node *root = artel__h5_root(arena);
    ARTEL_TRY(artel__keras_variables_list(model->nn, arena, &w.list));
    if (!artel__h5_set_text(arena, root, "keras_version", ARTEL__KERAS_VERSION) ||
        !artel__h5_set_text(arena, root, "backend", "tensorflow"))
        return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(set_model_config(&w, root));
    ARTEL_TRY(set_training_config(&w, root));
    ARTEL_TRY(add_weights(&w, root));
    ARTEL_TRY(add_optimizer(&w, root));
    *out = root;
    return ARTEL_OK;
}
