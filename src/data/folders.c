/* SPDX-License-Identifier: Apache-2.0 */
/* Listing of folders of classes; no file is opened. */
#include "data/folders.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/fingerprint.h"

#define DEEPEST 16
#define HASHED_FILES 64 /* whose content counts in a fingerprint, at either end of the list */

static bool has_ending(const char *name, const char *const *endings)
{
    const char *dot = strrchr(name, '.');
    for (; dot != NULL && *endings != NULL; endings++) {
        if (strcasecmp(dot, *endings) == 0) return true;
    }
    return false;
}

static artel_status add_file(artel__source *source, artel__folders *folders, const char *path, int32_t label)
{
    artel__folder_file *item = artel__arena_alloc(&source->arena, 1, sizeof *item);
    if (item == NULL) return ARTEL_ERROR_NO_MEMORY;
    item->path = artel__arena_strdup(&source->arena, path);
    if (item->path == NULL) return ARTEL_ERROR_NO_MEMORY;
    item->name_at = folders->folder_length;
    item->label = label;
    *folders->last = item;
    folders->last = &item->next;
    folders->count++;
    return ARTEL_OK;
}

/* Where a listing is. */
typedef struct place {
    int32_t label;
    int depth; /* -1: folders are not entered */
} place;

static artel_status add_folder(artel__source *source, artel__folders *folders, const char *path, place at);

/* The files of a folder first, then its folders, as os.walk gives them. */
static artel_status add_entries(artel__source *source, artel__folders *folders, const char *path,
                                const artel__paths *entries, place at)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < entries->count; i++) {
            char *below = artel__arena_printf(&source->arena, "%s/%s", path, entries->items[i]);
            if (below == NULL) return ARTEL_ERROR_NO_MEMORY;
            bool is_folder = artel__is_directory(below);
            if (is_folder != (pass == 1)) continue;
            if (is_folder && at.depth >= 0)
                ARTEL_TRY(add_folder(source, folders, below, (place){at.label, at.depth + 1}));
            if (!is_folder && has_ending(below, folders->endings))
                ARTEL_TRY(add_file(source, folders, below, at.label));
        }
    }
    return ARTEL_OK;
}

static artel_status add_folder(artel__source *source, artel__folders *folders, const char *path, place at)
{
    artel__paths entries;
    if (at.depth > DEEPEST) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, path, "look for a link that leads back up",
                           "folders are nested more than %d deep", DEEPEST);
    }
    ARTEL_TRY(artel__list_directory(source->ctx, path, &entries));
    artel_status status = add_entries(source, folders, path, &entries, at);
    artel__paths_fini(&entries);
    return status;
}

/* Each folder is a class; -1 for files that have none, when there are no folders. */
static artel_status add_classes(artel__source *source, artel__folders *folders, const artel__paths *entries)
{
    const char **names = artel__arena_alloc(&source->arena, entries->count + 1, sizeof *names);
    if (names == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < entries->count; i++) {
        char *path = artel__arena_printf(&source->arena, "%s/%s", source->target, entries->items[i]);
        if (path == NULL) return ARTEL_ERROR_NO_MEMORY;
        if (!artel__is_directory(path)) continue;
        names[folders->classes] = path + folders->folder_length + 1;
        ARTEL_TRY(add_folder(source, folders, path, (place){folders->classes++, 0}));
    }
    if (folders->classes > 0) source->classes = names;
    if (folders->classes > 0) return ARTEL_OK;
    return add_entries(source, folders, source->target, entries, (place){-1, -1});
}

static artel_status nothing_found(const artel__source *source, const artel__folders *folders)
{
    char list[96] = "";
    for (int i = 0; folders->endings[i] != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0                            ? ""
                 : folders->endings[i + 1] == NULL ? " or "
                                                   : ", ",
                 folders->endings[i]);
    }
    char advice[96];
    snprintf(advice, sizeof advice, "put the %s of each class into a folder of its own", folders->noun);
    return artel__fail(source->ctx, ARTEL_ERROR_NOT_FOUND, source->target, advice, "no %s files in %d folders", list,
                       folders->classes);
}

static artel_status publish(artel__source *source, artel__folders *folders, const artel__source_array *array)
{
    int64_t at = 0;
    if (folders->count == 0) return nothing_found(source, folders);
    folders->items = artel__arena_alloc(&source->arena, (size_t)folders->count, sizeof *folders->items);
    if (folders->items == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (artel__folder_file *item = folders->first; item != NULL; item = item->next) folders->items[at++] = item;
    ARTEL_TRY(artel__source_add_arrays(source, folders->classes > 0 ? 2 : 1));
    source->arrays[0] = *array;
    source->arrays[0].count = folders->count;
    if (folders->classes == 0) return ARTEL_OK;
    source->arrays[1] = (artel__source_array){
        .name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT32, .count = folders->count};
    source->sorted_by_class = true;
    return ARTEL_OK;
}

artel_status artel__folders_open(artel__source *source, artel__folders *folders, const artel__source_array *array)
{
    artel__paths entries;
    folders->last = &folders->first;
    folders->folder_length = strlen(source->target);
    if (!artel__is_directory(source->target)) {
        bool exists = artel__file_exists(source->target);
        return artel__fail(source->ctx, exists ? ARTEL_ERROR_INVALID : ARTEL_ERROR_NOT_FOUND, source->target,
                           "name a folder that holds a folder for each class",
                           exists ? "not a folder" : "no such folder");
    }
    ARTEL_TRY(artel__list_directory(source->ctx, source->target, &entries));
    artel_status status = add_classes(source, folders, &entries);
    artel__paths_fini(&entries);
    return status < 0 ? status : publish(source, folders, array);
}

artel_status artel__folders_hash_row(const artel__source *source, const artel__folders *folders, int array, int64_t row,
                                     uint64_t *out)
{
    const artel__folder_file *item = folders->items[row];
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

artel_status artel__folders_fingerprint(const artel__source *source, const artel__folders *folders, artel__sha256 *hash)
{
    for (int64_t i = 0; i < folders->count; i++) {
        const artel__folder_file *item = folders->items[i];
        struct stat info;
        if (stat(item->path, &info) != 0) return artel__fail_errno(source->ctx, item->path, "read the size");
        artel__hash_text(hash, item->path + item->name_at);
        artel__hash_integer(hash, (uint64_t)info.st_size);
        artel__hash_integer(hash, (uint64_t)item->label);
        if (i >= HASHED_FILES && i < folders->count - HASHED_FILES) continue;
        artel__mapping mapping;
        ARTEL_TRY(artel__map_file(source->ctx, item->path, &mapping));
        artel__hash_ends(hash, mapping.bytes, mapping.size);
        artel__unmap_file(&mapping);
    }
    return ARTEL_OK;
}
