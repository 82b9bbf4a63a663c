/* SPDX-License-Identifier: Apache-2.0 */
/* images:DIR: a folder for each class, as keras.utils.image_dataset_from_directory reads it.
 *
 * Classes are the folders, sorted by the bytes of their names, with labels 0, 1, ...; files are those with the endings
 * that Keras takes, folders below a class included, sorted likewise. A folder without subfolders holds images without
 * labels. Images are decoded when their row is fetched, by libartel-image.so, and resized to the size the options or the
 * model give; values are float32 in 0..255. Opening lists names and opens no image.
 */
#include <strings.h>
#include <sys/stat.h>
#include <string.h>

#include "data/fingerprint.h"
#include "data/image_decode.h"
#include "data/source.h"

#define DEEPEST 16
#define HASHED_FILES 64 /* whose content counts in a fingerprint, at either end of the list */

typedef struct image {
    const char *path;
    size_t name_at; /* where the path below the folder begins */
    int32_t label;
    struct image *next;
} image;

typedef struct images_state {
    artel__image_library library;
    image *first, **last;
    image **items; /* by row */
    int64_t count;
    int classes;
    size_t folder_length;
} images_state;

static bool has_ending(const char *name, const char *const *endings)
{
    const char *dot = strrchr(name, '.');
    for (; dot != NULL && *endings != NULL; endings++) {
        if (strcasecmp(dot, *endings) == 0) return true;
    }
    return false;
}

static artel_status add_file(artel__source *source, const char *path, int32_t label)
{
    static const char *const later[] = {".gif", ".bmp", NULL};
    images_state *state = source->state;
    if (has_ending(path, later)) {
        return artel__fail(source->ctx, ARTEL_ERROR_UNSUPPORTED, path, "convert it to PNG, or move it out of the folder",
                           "GIF and BMP images are not supported yet");
    }
    image *item = artel__arena_alloc(&source->arena, 1, sizeof *item);
    if (item == NULL) return ARTEL_ERROR_NO_MEMORY;
    item->path = artel__arena_strdup(&source->arena, path);
    if (item->path == NULL) return ARTEL_ERROR_NO_MEMORY;
    item->name_at = state->folder_length;
    item->label = label;
    *state->last = item;
    state->last = &item->next;
    state->count++;
    return ARTEL_OK;
}

static artel_status add_folder(artel__source *source, const char *path, int32_t label, int depth);

/* The files of a folder first, then its folders, as os.walk gives them. */
static artel_status add_entries(artel__source *source, const char *path, const artel__paths *entries, int32_t label, int depth)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".gif", ".bmp", NULL};
    for (int folders = 0; folders < 2; folders++) {
        for (size_t i = 0; i < entries->count; i++) {
            char *below = artel__arena_printf(&source->arena, "%s/%s", path, entries->items[i]);
            if (below == NULL) return ARTEL_ERROR_NO_MEMORY;
            bool is_folder = artel__is_directory(below);
            if (is_folder != (folders == 1)) continue;
            if (is_folder && depth >= 0) ARTEL_TRY(add_folder(source, below, label, depth + 1));
            if (!is_folder && has_ending(below, endings)) ARTEL_TRY(add_file(source, below, label));
        }
    }
    return ARTEL_OK;
}

static artel_status add_folder(artel__source *source, const char *path, int32_t label, int depth)
{
    artel__paths entries;
    if (depth > DEEPEST) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, path, "look for a link that leads back up",
                           "folders are nested more than %d deep", DEEPEST);
    }
    ARTEL_TRY(artel__list_directory(source->ctx, path, &entries));
    artel_status status = add_entries(source, path, &entries, label, depth);
    artel__paths_fini(&entries);
    return status;
}

/* Each folder is a class; -1 for files that have none, when there are no folders. */
static artel_status add_classes(artel__source *source, const artel__paths *entries)
{
    images_state *state = source->state;
    for (size_t i = 0; i < entries->count; i++) {
        char *path = artel__arena_printf(&source->arena, "%s/%s", source->target, entries->items[i]);
        if (path == NULL) return ARTEL_ERROR_NO_MEMORY;
        if (artel__is_directory(path)) ARTEL_TRY(add_folder(source, path, state->classes++, 0));
    }
    if (state->classes > 0) return ARTEL_OK;
    return add_entries(source, source->target, entries, -1, -1);
}

static artel_status index_images(artel__source *source)
{
    images_state *state = source->state;
    int64_t at = 0;
    if (state->count == 0) {
        return artel__fail(source->ctx, ARTEL_ERROR_NOT_FOUND, source->target, "put the images of each class into a folder of its own",
                           "no .jpg, .jpeg or .png files in %d folders", state->classes);
    }
    state->items = artel__arena_alloc(&source->arena, (size_t)state->count, sizeof(image *));
    if (state->items == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (image *item = state->first; item != NULL; item = item->next) state->items[at++] = item;
    ARTEL_TRY(artel__source_add_arrays(source, state->classes > 0 ? 2 : 1));
    source->arrays[0] = (artel__source_array){.name = "x",
                                              .role = ARTEL_DATA_ROLE_INPUT,
                                              .dtype = ARTEL_DTYPE_FLOAT32,
                                              .row = {3, {-1, -1, -1}},
                                              .count = state->count,
                                              .pixels = true};
    if (state->classes == 0) return ARTEL_OK;
    source->arrays[1] =
        (artel__source_array){.name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT32, .count = state->count};
    source->sorted_by_class = true;
    return ARTEL_OK;
}

static artel_status images_open(artel__source *source)
{
    artel__paths entries;
    images_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    state->last = &state->first;
    state->folder_length = strlen(source->target);
    source->state = state;
    if (!artel__is_directory(source->target)) {
        bool exists = artel__file_exists(source->target);
        return artel__fail(source->ctx, exists ? ARTEL_ERROR_INVALID : ARTEL_ERROR_NOT_FOUND, source->target,
                           "name a folder that holds a folder for each class", exists ? "not a folder" : "no such folder");
    }
    ARTEL_TRY(artel__list_directory(source->ctx, source->target, &entries));
    artel_status status = add_classes(source, &entries);
    artel__paths_fini(&entries);
    if (status < 0) return status;
    ARTEL_TRY(index_images(source));
    return artel__image_library_open(source->ctx, &state->library);
}

static artel_status undecodable(const artel__source *source, const char *path, const artel__image_why *why)
{
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, path, "replace the image or move it out of the folder", "%s", why->text);
}

static artel_status images_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row, void *out)
{
    const images_state *state = source->state;
    const image *item = state->items[row];
    artel__mapping mapping;
    if (array == 1) {
        memcpy(out, &item->label, sizeof item->label);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__map_file(source->ctx, item->path, &mapping));
    artel__image_input input = {mapping.bytes, mapping.size, (int)row_shape->dim[2]};
    artel__image_why why = {""};
    artel_status status =
        artel__image_decode(source->ctx, state->library.part, &input, row_shape, source->options.interpolation, out, &why);
    if (status == ARTEL_ERROR_CORRUPT) status = undecodable(source, item->path, &why);
    artel__unmap_file(&mapping);
    return status;
}

/* Of the file as it is: nothing is decoded. */
static artel_status images_hash_row(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    const images_state *state = source->state;
    const image *item = state->items[row];
    artel__mapping mapping;
    if (array == 1) {
        *out = artel__hash64(&item->label, sizeof item->label);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__map_file(source->ctx, item->path, &mapping));
    *out = artel__hash64(mapping.bytes, mapping.size);
    artel__unmap_file(&mapping);
    return ARTEL_OK;
}

static artel_status images_encoded(const artel__source *source, int array, int64_t row, artel__text *out)
{
    artel__mapping mapping;
    (void)array;
    ARTEL_TRY(artel__map_file(source->ctx, ((const images_state *)source->state)->items[row]->path, &mapping));
    artel__text_append_bytes(out, mapping.bytes, mapping.size);
    artel__unmap_file(&mapping);
    return ARTEL_OK;
}

/* Names and sizes of all files, and the ends of the first and last few: opening every one of a large set takes minutes. */
static artel_status images_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    const images_state *state = source->state;
    for (int64_t i = 0; i < state->count; i++) {
        const image *item = state->items[i];
        struct stat info;
        if (stat(item->path, &info) != 0) return artel__fail_errno(source->ctx, item->path, "read the size");
        artel__hash_text(hash, item->path + item->name_at);
        artel__hash_integer(hash, (uint64_t)info.st_size);
        artel__hash_integer(hash, (uint64_t)item->label);
        if (i >= HASHED_FILES && i < state->count - HASHED_FILES) continue;
        artel__mapping mapping;
        ARTEL_TRY(artel__map_file(source->ctx, item->path, &mapping));
        artel__hash_ends(hash, mapping.bytes, mapping.size);
        artel__unmap_file(&mapping);
    }
    return ARTEL_OK;
}

static void images_close(artel__source *source)
{
    artel__image_library_close(&((images_state *)source->state)->library);
}

const artel__data_format artel__data_images = {
    .name = "images",
    .syntax = "images:DIR",
    .options = "scale shift size channels interpolation",
    .reads_ahead = true,
    .open = images_open,
    .fetch_row = images_fetch,
    .hash_row = images_hash_row,
    .encoded_row = images_encoded,
    .fingerprint = images_fingerprint,
    .close = images_close,
};
