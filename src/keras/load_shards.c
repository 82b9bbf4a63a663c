/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in several files, as Keras' save_weights(..., max_shard_size=GB) writes them: NAME.weights.json says in its
 * weight_map which of the files beside it hold parts of each group, and every file is a weights tree with those parts
 * alone. They are joined into one tree.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "keras/load.h"

typedef struct shards {
    artel_context *ctx;
    const char *path; /* of the map */
    artel__arena arena;
    artel__h5_file *file;
    int count, room;
    artel__names seen; /* files */
    artel__h5_node *root;
} shards;

static artel_status damaged(const shards *s, const char *name, const char *what)
{
    return artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, s->path, "save the weights again", "%s%s%s", name,
                       *name ? ": " : "", what);
}

/* Hangs what `from` holds under `to`. Data are borrowed from the files. */
static artel_status join(shards *s, artel__h5_node *to, const artel__h5_node *from)
{
    for (const artel__h5_node *node = from->first; node; node = node->next) {
        artel__h5_node *there = (artel__h5_node *)(uintptr_t)artel__h5_child(to, node->name);
        if (there && (node->is_dataset || there->is_dataset)) return damaged(s, node->name, "two of the files hold it");
        if (node->is_dataset && !node->readable) continue;
        if (node->is_dataset && !artel__h5_dataset(&s->arena, to, node->name, node->dtype, &node->shape, node->data))
            return ARTEL_ERROR_NO_MEMORY;
        if (node->is_dataset) continue;
        if (!there) there = artel__h5_group(&s->arena, to, node->name);
        if (!there) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(join(s, there, node));
    }
    return ARTEL_OK;
}

/* A name of the map is of a file beside it, and of nothing else. */
static artel_status add_file(shards *s, json_t *item)
{
    char folder[4096];
    const char *name = json_string_value(item);
    if (!name || !*name || strchr(name, '/') || strcmp(name, "..") == 0)
        return damaged(s, name ? name : "", "this is no name of a file beside it");
    if (artel__names_find(&s->seen, name)) return ARTEL_OK;
    ARTEL_TRY(artel__names_set(&s->seen, name, s->count));
    if (s->count == s->room) return damaged(s, "", "its weight_map is damaged");
    const char *in = artel__folder_of(s->path, folder, sizeof folder);
    const char *full = in ? artel__arena_printf(&s->arena, "%s/%s", in, name) : NULL;
    if (!full) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__h5_read_file(&s->arena, full, &s->file[s->count]));
    return join(s, s->root, s->file[s->count++].root);
}

/* Of a group: one name or a list of them. */
static artel_status add_files(shards *s, json_t *names)
{
    size_t i;
    json_t *item;
    if (!json_is_array(names)) return add_file(s, names);
    json_array_foreach(names, i, item) ARTEL_TRY(add_file(s, item));
    return ARTEL_OK;
}

static artel_status add_all(shards *s, json_t *map)
{
    const char *key;
    json_t *value;
    json_object_foreach(map, key, value) s->room += json_is_array(value) ? (int)json_array_size(value) : 1;
    s->file = artel__arena_alloc(&s->arena, (size_t)s->room + 1, sizeof *s->file);
    s->root = artel__h5_root(&s->arena);
    ARTEL_TRY(artel__arena_status(&s->arena));
    json_object_foreach(map, key, value) ARTEL_TRY(add_files(s, value));
    return ARTEL_OK;
}

artel_status artel__keras_load_shards(artel_model *model, const char *path)
{
    json_t *json;
    shards s = {.ctx = model->ctx, .path = path};
    ARTEL_TRY(artel__json_load_file(model->ctx, path, &json));
    json_t *map = json_object_get(json, "weight_map");
    artel__arena_init(&s.arena, model->ctx);
    s.seen.arena = &s.arena;
    artel_status status = json_is_object(map) ? add_all(&s, map)
                                              : artel__fail(model->ctx, ARTEL_ERROR_INVALID, path,
                                                            "give a .weights.h5, .keras, .h5 or .safetensors file",
                                                            "the file holds an architecture, no weights");
    if (status == ARTEL_OK) status = artel__keras_load_tree_weights(model, path, s.root);
    for (int i = 0; i < s.count; i++) artel__h5_close(&s.file[i]);
    artel__arena_fini(&s.arena);
    json_decref(json);
    return status;
}
