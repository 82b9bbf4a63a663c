/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkpoint a path means, and its arrays into a model. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "keras/tf_checkpoint.h"

/* The file "checkpoint" is a message in text form; its first line names the newest: model_checkpoint_path: "ckpt-3". */
static artel_status newest_in(artel__arena *arena, const char *folder, const char **out)
{
    static const char field[] = "model_checkpoint_path: \"";
    char *text;
    const char *path = artel__arena_printf(arena, "%s/checkpoint", folder);
    if (!path) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__read_file(arena->ctx, path, 1 << 20, &text, NULL));
    const char *name = artel__starts_with(text, field) ? text + sizeof field - 1 : NULL,
               *end = name ? strchr(name, '"') : NULL;
    artel_status status =
        end ? ARTEL_OK
            : artel__fail(arena->ctx, ARTEL_ERROR_CORRUPT, path, "name the checkpoint itself: FOLDER/ckpt-3",
                          "it does not begin with model_checkpoint_path");
    if (status == ARTEL_OK) {
        *out = *name == '/' ? artel__arena_printf(arena, "%.*s", (int)(end - name), name)
                            : artel__arena_printf(arena, "%s/%.*s", folder, (int)(end - name), name);
        status = artel__arena_status(arena);
    }
    artel__free(arena->ctx, text);
    return status;
}

static bool has(artel__arena *arena, const char *path, const char *ending)
{
    const char *full = artel__arena_printf(arena, "%s%s", path, ending);
    return full && artel__file_exists(full);
}

artel_status artel__tf_checkpoint_find(artel__arena *arena, const char *path, const char **out)
{
    *out = NULL;
    if (artel__is_directory(path)) {
        if (has(arena, path, "/variables/variables.index"))
            *out = artel__arena_printf(arena, "%s/variables/variables", path);
        else if (has(arena, path, "/checkpoint"))
            return newest_in(arena, path, out);
    } else if (artel__ends_with(path, ".index") && artel__file_exists(path)) {
        *out = artel__arena_printf(arena, "%.*s", (int)(strlen(path) - strlen(".index")), path);
    } else if (!artel__file_exists(path) && has(arena, path, ".index")) {
        *out = artel__arena_strdup(arena, path);
    }
    return artel__arena_status(arena);
}

/* Whether one is the end of the other behind a slash, with a scope left in the shorter one. */
static bool ends_alike(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    const char *longer = n > m ? a : b, *shorter = n > m ? b : a;
    size_t more = n > m ? n - m : m - n;
    return more > 0 && longer[more - 1] == '/' && strchr(shorter, '/') && strcmp(longer + more, shorter) == 0;
}

/* Keras puts the name of a Sequential in front of its variables', and reads layers inside of wrappers (Bidirectional)
 * without the scope around them. So a name may lack scopes at its front, on either side, where just one name fits that
 * is no other variable's. */
static artel_status find_array(artel__tf_checkpoint *checkpoint, const artel__names *names, const char *name,
                               artel__keras_array *out)
{
    const char *fits = NULL;
    int count = 0;
    ARTEL_TRY(artel__tf_checkpoint_array(checkpoint, name, out));
    const artel__names *known = checkpoint->by_name.count ? &checkpoint->by_name : &checkpoint->by_key;
    for (int i = 0; !out->name && i < known->capacity; i++) {
        const char *other = known->entry[i].name;
        if (!other || !ends_alike(other, name) || artel__names_find(names, other)) continue;
        fits = other;
        count++;
    }
    return count == 1 ? artel__tf_checkpoint_array(checkpoint, fits, out) : ARTEL_OK;
}

static artel_status load_all(artel_model *model, artel__tf_checkpoint *checkpoint, const artel__names *names,
                             artel__state *state)
{
    artel__keras_variables list;
    ARTEL_TRY(artel__keras_variables_list(model->nn, &checkpoint->arena, &list));
    for (int i = 0; i < list.count; i++) {
        artel__keras_array array;
        const artel__keras_variable *variable = &list.item[i];
        const char *name = artel__keras_variable_of(model, variable)->name;
        ARTEL_TRY(find_array(checkpoint, names, name, &array));
        if (!array.name)
            return artel__fail(model->ctx, ARTEL_ERROR_INVALID, checkpoint->prefix,
                               "give layers the names that they had when it was saved, or check the architecture",
                               "it has no variable \"%s\" (%s of layer \"%s\")", name, variable->variable->name,
                               variable->layer->name);
        ARTEL_TRY(artel__keras_put(model, state, checkpoint->prefix, variable, &array));
    }
    return ARTEL_OK;
}

/* Two variables of one name would silently get the same numbers. */
static artel_status list_names(const artel_model *model, artel__tf_checkpoint *checkpoint, artel__names *names)
{
    for (int i = 0; i < model->nn->variables->count; i++) {
        const char *name = model->nn->variables->item[i].name;
        if (artel__names_find(names, name))
            return artel__fail(model->ctx, ARTEL_ERROR_INVALID, checkpoint->prefix,
                               "give the layers names of their own", "two variables of the model are called \"%s\"",
                               name);
        ARTEL_TRY(artel__names_set(names, name, i));
    }
    return ARTEL_OK;
}

artel_status artel__tf_checkpoint_load(artel_model *model, const char *path)
{
    artel__tf_checkpoint checkpoint = {.count = 0};
    artel__arena arena;
    const char *prefix;
    artel__names names = {.arena = &arena};
    artel__state *state = NULL;
    artel__arena_init(&arena, model->ctx);
    artel_status status = artel__tf_checkpoint_find(&arena, path, &prefix);
    if (status == ARTEL_OK) status = artel__tf_checkpoint_open(model->ctx, prefix, &checkpoint);
    if (status == ARTEL_OK) status = list_names(model, &checkpoint, &names);
    if (status == ARTEL_OK) status = artel__state_create(model->ctx, model->nn->variables, &state);
    if (status == ARTEL_OK) status = load_all(model, &checkpoint, &names, state);
    if (status == ARTEL_OK)
        status = artel__keras_adopt(model, state);
    else
        artel__state_destroy(state);
    artel__tf_checkpoint_close(&checkpoint);
    artel__arena_fini(&arena);
    return status;
}
