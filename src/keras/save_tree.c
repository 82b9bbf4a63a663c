/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of `model.weights.h5`, as saving_lib.py writes it: a group `vars` with the attribute `name` for the model,
 * for every layer and sublayer, weightless ones too, and for the optimizer; in it the variables by number. */
#include <stdio.h>
#include <string.h>

#include "keras/save.h"
#include "nn/optimizer.h"

typedef struct tree {
    const artel_model *model;
    artel__arena *arena;
    artel__h5_node *root;
    const artel__keras_variables *list;
    int next; /* in the list, which has the order of the walk */
} tree;

static artel_status add_model_layers(tree *t, const artel__model *model, artel__h5_node *group);

static artel__h5_node *add_vars(tree *t, artel__h5_node *group, const char *name)
{
    artel__h5_node *vars = artel__h5_group(t->arena, group, "vars");
    return vars && artel__h5_set_text(t->arena, vars, "name", name) ? vars : NULL;
}

static artel_status add_constant(tree *t, const artel__layer_constant *constant, artel__h5_node *group,
                                 artel__h5_node *vars)
{
    artel_shape shape = artel__shape(1, constant->count);
    artel__h5_node *child = constant->child ? artel__h5_groups(t->arena, group, constant->child) : NULL;
    artel__h5_node *inner = child ? add_vars(t, child, constant->child) : NULL;
    if (constant->child && !inner) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < 1 + (inner != NULL); k++) {
        artel__h5_node *to = k == 0 ? vars : inner;
        if (!artel__h5_dataset(t->arena, to, constant->name, ARTEL_DTYPE_FLOAT32, &shape, constant->data))
            return ARTEL_ERROR_NO_MEMORY;
    }
    return ARTEL_OK;
}

static artel_status add_layer(tree *t, const artel__layer *layer, artel__h5_node *group)
{
    artel__h5_node *vars = add_vars(t, group, layer->name);
    if (!vars) return ARTEL_ERROR_NO_MEMORY;
    for (; t->next < t->list->count && t->list->item[t->next].layer == layer; t->next++) {
        const artel__keras_variable *variable = &t->list->item[t->next];
        const artel__variable *shape = artel__keras_variable_of(t->model, variable);
        char name[16];
        snprintf(name, sizeof name, "%d", variable->position);
        void *data = artel__keras_fetch(t->model, t->arena, variable);
        if (!data || !artel__h5_dataset(t->arena, vars, name, shape->dtype, &shape->shape, data))
            return ARTEL_ERROR_NO_MEMORY;
    }
    if (layer->constant) ARTEL_TRY(add_constant(t, layer->constant, group, vars));
    for (int i = 0; i < layer->child_count; i++) {
        artel__h5_node *child = artel__h5_groups(t->arena, group, layer->child[i].path);
        if (!child) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(add_layer(t, layer->child[i].layer, child));
    }
    return layer->model ? add_model_layers(t, layer->model, group) : ARTEL_OK;
}

static artel_status add_model_layers(tree *t, const artel__model *model, artel__h5_node *group)
{
    for (int i = 0; i < model->layers; i++) {
        char path[160];
        if (artel__keras_is_hidden(model, i)) continue;
        artel__keras_layer_group(model, i, path, sizeof path);
        artel__h5_node *own = artel__h5_groups(t->arena, group, path);
        if (!own) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(add_layer(t, model->layer[i], own));
    }
    return ARTEL_OK;
}

/* The optimizer's arrays from `first` on, numbered from 0. */
static artel_status add_state(tree *t, artel__h5_node *vars, int first)
{
    const artel__saved_optimizer *optimizer = &t->model->optimizer;
    for (int i = first; i < optimizer->count; i++) {
        const artel__saved_array *array = &optimizer->array[i];
        char name[16];
        snprintf(name, sizeof name, "%d", i - first);
        if (!artel__h5_dataset(t->arena, vars, name, array->dtype, &array->shape, array->data))
            return ARTEL_ERROR_NO_MEMORY;
    }
    return ARTEL_OK;
}

static artel_status add_optimizer(tree *t)
{
    const artel__saved_optimizer *optimizer = &t->model->optimizer;
    if (optimizer->count == 0) return ARTEL_OK;
    artel__h5_node *group = artel__h5_group(t->arena, t->root, "optimizer");
    json_t *inner = artel__optimizer_inner(json_object_get(t->model->compile_config, "optimizer"));
    const char *name = json_string_value(json_object_get(json_object_get(inner, "config"), "name"));
    ARTEL_TRY(add_state(t, add_vars(t, group, artel__keras_optimizer_name(t->model)), 0));
    if (!inner) return ARTEL_OK;
    /* Keras writes what is inside a second time, as a part of its own. */
    return add_state(t, add_vars(t, artel__h5_group(t->arena, group, "inner_optimizer"), name ? name : "optimizer"),
                     ARTEL__KERAS_INNER_STATE);
}

artel_status artel__keras_build_tree(const artel_model *model, artel__arena *arena, artel__h5_node **out)
{
    artel__keras_variables list;
    tree t = {.model = model, .arena = arena, .root = artel__h5_root(arena), .list = &list};
    ARTEL_TRY(artel__keras_tree_list(model->nn, arena, &list));
    if (!add_vars(&t, t.root, model->nn->name)) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(add_model_layers(&t, model->nn, t.root));
    ARTEL_TRY(add_optimizer(&t));
    *out = t.root;
    return ARTEL_OK;
}
