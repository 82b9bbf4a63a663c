/* SPDX-License-Identifier: Apache-2.0 */
/* Weights from the tree of a `.weights.h5` file.
 *
 * Keras' rules: extra groups are passed over; a layer with variables must find exactly as many as it has, each of its
 * shape; layers without variables need no group. Files of TensorFlow 2.12 and 2.13 say "_layer_checkpoint_dependencies"
 * for "layers", and Keras 2 names the parts of attention with an underscore in front.
 */
#include <stdio.h>
#include <string.h>

#include "keras/load.h"

#define OLD_LAYERS "_layer_checkpoint_dependencies"

/* A group under today's name or an older one. */
static const artel__h5_node *find_part(const artel__h5_node *node, const char *name)
{
    char old[264];
    const artel__h5_node *found = artel__h5_child(node, name);
    if (found) return found;
    snprintf(old, sizeof old, "_%s", name);
    found = artel__h5_child(node, old);
    return found || strcmp(name, "layers") != 0 ? found : artel__h5_child(node, OLD_LAYERS);
}

/* The group of a variable's layer. */
static const artel__h5_node *find_group(const artel__h5_node *root, const char *group)
{
    const artel__h5_node *node = root;
    while (node && *group) {
        char name[256];
        size_t length = strcspn(group, "/");
        if (length >= sizeof name) return NULL;
        memcpy(name, group, length);
        name[length] = '\0';
        node = find_part(node, name);
        group += length + (group[length] == '/');
    }
    return node;
}

static artel_status check_group(artel_model *model, const char *where, const artel__keras_variable *variable,
                                const artel__h5_node *vars)
{
    size_t found = vars ? vars->child_count : 0;
    if (found == (size_t)variable->siblings) return ARTEL_OK;
    return artel__fail(model->ctx, ARTEL_ERROR_INVALID, where,
                       "these weights belong to another model: check the architecture",
                       "%s/vars of layer \"%s\" (%s) holds %zu variables, expected %d", variable->group,
                       variable->layer->name, variable->layer->def->class_name, found, variable->siblings);
}

static artel_status load_variables(artel_model *model, const char *where, const artel__h5_node *root,
                                   const artel__keras_variables *list, artel__state *state)
{
    const artel__h5_node *vars = NULL;
    for (int i = 0; i < list->count; i++) {
        const artel__keras_variable *variable = &list->item[i];
        char name[16];
        if (variable->position == 0) {
            vars = artel__h5_child(find_group(root, variable->group), "vars");
            ARTEL_TRY(check_group(model, where, variable, vars));
        }
        snprintf(name, sizeof name, "%d", variable->position);
        const artel__h5_node *node = artel__h5_child(vars, name);
        if (!node)
            return artel__fail(
                model->ctx, ARTEL_ERROR_INVALID, where, "these weights belong to another model: check the architecture",
                "%s (%s of layer \"%s\") is missing", variable->path, variable->variable->name, variable->layer->name);
        ARTEL_TRY(artel__keras_put_node(model, state, where, variable, node, variable->path));
    }
    return ARTEL_OK;
}

/* /optimizer/vars/0, 1, ... until one is missing. A group in another order or with other names has no state to give. */
static artel_status load_optimizer(artel_context *ctx, const char *where, const artel__h5_node *root,
                                   artel__saved_optimizer *out)
{
    const artel__h5_node *vars = artel__h5_find(root, "optimizer/vars");
    for (size_t i = 0; vars && i < vars->child_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        const artel__h5_node *node = artel__h5_child(vars, name);
        if (!node) return ARTEL_OK;
        ARTEL_TRY(artel__keras_add_saved(ctx, out, where, node));
    }
    return ARTEL_OK;
}

artel_status artel__keras_load_tree(artel_model *model, const char *where, const artel__h5_node *root,
                                    artel__saved_optimizer *optimizer)
{
    artel_context *ctx = model->ctx;
    artel__arena arena;
    artel__keras_variables list;
    artel__state *state = NULL;
    artel__saved_optimizer saved = {.count = 0};
    artel__arena_init(&arena, ctx);
    artel_status status = artel__keras_tree_list(model->nn, &arena, &list);
    if (status == ARTEL_OK) status = artel__state_create(ctx, model->nn->variables, &state);
    if (status == ARTEL_OK) status = load_variables(model, where, root, &list, state);
    if (status == ARTEL_OK && optimizer) status = load_optimizer(ctx, where, root, &saved);
    if (status == ARTEL_OK) {
        status = artel__keras_adopt(model, state);
        state = NULL;
        if (optimizer) {
            artel__saved_optimizer_fini(ctx, optimizer);
            *optimizer = saved;
            saved.array = NULL;
            saved.count = 0;
        }
    }
    artel__saved_optimizer_fini(ctx, &saved);
    artel__state_destroy(state);
    artel__arena_fini(&arena);
    return status;
}
