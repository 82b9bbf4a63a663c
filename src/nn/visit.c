/* SPDX-License-Identifier: Apache-2.0 */
/* Walking the variables of a model in Keras' order, with their paths in weights files.
 *
 * A model's layers lie under "layers/<snake_case class>[_k]", k counting the layers of one class from the second on;
 * a layer's own variables under "vars/N", trainable ones first; sublayers under the attribute that holds them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "nn/model.h"

void artel__snake_case(const char *class_name, char *out, size_t size)
{
    size_t n = 0;
    if (strcmp(class_name, "GroupQueryAttention") == 0)
        class_name = "GroupedQueryAttention"; /* its name inside Keras */
    for (size_t i = 0; class_name[i] && n + 2 < size; i++) {
        unsigned char c = (unsigned char)class_name[i], before = i ? (unsigned char)class_name[i - 1] : 0,
                      after = (unsigned char)class_name[i + 1];
        if (!isalnum(c) && c != '_') continue;
        bool starts_word = isupper(c) && i && (islower(after) || islower(before));
        if (starts_word && n && out[n - 1] != '_') out[n++] = '_';
        out[n++] = (char)tolower(c);
    }
    out[n] = 0;
}

typedef struct walk {
    artel__model_visit_fn *visit;
    void *user;
    bool files; /* what files of Keras hold: aliases, no adapters */
} walk;

static artel_status walk_layer(const walk *w, const artel__layer *layer, const char *path, bool trainable);

static artel_status walk_model(const walk *w, const artel__model *model, const char *path, bool trainable)
{
    for (int i = 0; i < model->layers; i++) {
        char snake[128], group[1024];
        int same = model->layer[i]->same_before;
        artel__snake_case(model->layer[i]->def->class_name, snake, sizeof snake);
        if (same)
            snprintf(group, sizeof group, "%s%slayers/%s_%d", path, *path ? "/" : "", snake, same);
        else
            snprintf(group, sizeof group, "%s%slayers/%s", path, *path ? "/" : "", snake);
        ARTEL_TRY(walk_layer(w, model->layer[i], group, trainable));
    }
    return ARTEL_OK;
}

/* One variable, at `position` of its layer in files; adapters lie beside, under their names. */
static artel_status visit_one(const walk *w, const artel__layer *layer, const char *path,
                              const artel__layer_variable *own, int position, bool trainable)
{
    char full[1200];
    if (w->files ? own->adapter : own->alias) return ARTEL_OK;
    if (own->adapter)
        snprintf(full, sizeof full, "%s/%s", path, own->name);
    else
        snprintf(full, sizeof full, "%s/vars/%d", path, position);
    artel__model_variable variable = {.path = full,
                                      .group = path,
                                      .position = own->adapter ? -1 : position,
                                      .layer = layer,
                                      .variable = own,
                                      .trainable = trainable && own->trainable && !own->frozen};
    return w->visit(w->user, &variable);
}

static artel_status walk_layer(const walk *w, const artel__layer *layer, const char *path, bool trainable)
{
    trainable = trainable && layer->trainable;
    int position = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < layer->variable_count; i++) {
            const artel__layer_variable *own = &layer->variable[i];
            if (own->trainable != (pass == 0)) continue;
            ARTEL_TRY(visit_one(w, layer, path, own, position, trainable));
            position += !own->adapter;
        }
    }
    for (int i = 0; i < layer->child_count; i++) {
        char group[1024];
        snprintf(group, sizeof group, "%s/%s", path, layer->child[i].path);
        ARTEL_TRY(walk_layer(w, layer->child[i].layer, group, trainable));
    }
    return layer->model ? walk_model(w, layer->model, path, trainable) : ARTEL_OK;
}

artel_status artel__model_visit(const artel__model *model, artel__model_visit_fn *visit, void *user)
{
    walk w = {.visit = visit, .user = user};
    return walk_model(&w, model, "", true);
}

artel_status artel__model_visit_filed(const artel__model *model, artel__model_visit_fn *visit, void *user)
{
    walk w = {.visit = visit, .user = user, .files = true};
    return walk_model(&w, model, "", true);
}
