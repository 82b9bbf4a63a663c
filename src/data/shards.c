/* SPDX-License-Identifier: Apache-2.0 */
/* Names of sharded files: NAME-00000-of-00016 up to NAME-00015-of-00016, as TensorFlow's tools write and name them.
 *
 * A set that is named as a whole (NAME@16, NAME@*, or NAME alone) must be whole: a shard that is missing is an error
 * that names it. A pattern means just what it matches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/index_file.h"
#include "data/record_file.h"
#include "data/remote.h"

#define SUFFIX 15 /* "-00003-of-00016" */

static bool is_digits(const char *text, int count)
{
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
    }
    return true;
}

/* The suffix of a shard's name, with its number and that of all; NULL for other names. */
static const char *find_suffix(const char *path, int64_t *number, int64_t *all)
{
    size_t length = strlen(path);
    const char *at = path + length - SUFFIX;
    if (length <= SUFFIX || at[0] != '-' || !is_digits(at + 1, 5) || memcmp(at + 6, "-of-", 4) != 0 ||
        !is_digits(at + 10, 5))
        return NULL;
    *number = strtol(at + 1, NULL, 10);
    *all = strtol(at + 10, NULL, 10);
    return at;
}

const char *artel__shards_base(const char *path, char *buffer, size_t size)
{
    int64_t number = -1, all = 0;
    const char *end = find_suffix(path, &number, &all);
    size_t length = end != NULL ? (size_t)(end - path) : strlen(path);
    if (length >= size) return NULL;
    memcpy(buffer, path, length);
    buffer[length] = '\0';
    return buffer;
}

bool artel__is_beside_records(const char *target, const char *path)
{
    bool beside = artel__ends_with(path, ".index") || artel__ends_with(path, ".features.json") ||
                  artel__ends_with(path, ".sha256");
    return beside && strcmp(target, path) != 0;
}

/* Drops what lies beside shards, and leaves the index of a shard that is not here as the shard's name. */
static void keep_shards(artel__paths *paths)
{
    int64_t number, all;
    size_t kept = 0;
    for (size_t i = 0; i < paths->count; i++) {
        char *item = paths->items[i];
        if (artel__ends_with(item, ".index")) item[strlen(item) - 6] = '\0';
        bool repeated = kept > 0 && strcmp(paths->items[kept - 1], item) ==
                                        0; /* sorted, so that a shard stands in front of its index */
        if (!repeated && find_suffix(item, &number, &all) != NULL)
            paths->items[kept++] = item;
        else
            artel__free(paths->ctx, item);
    }
    paths->count = kept;
}

/* All shards of `base`, of which there are `wanted` (0: as many as the first one's name says). */
static artel_status find_set(artel_context *ctx, const char *base, int64_t wanted, artel__paths *out)
{
    char pattern[4200];
    char count[8] = "*";
    int64_t number = -1, all = 0;
    if (wanted > 0) snprintf(count, sizeof count, "%05d", (int)wanted);
    if (snprintf(pattern, sizeof pattern, "%s-[0-9]*-of-%s%s", base, count, wanted > 0 ? "*" : "") >=
        (int)sizeof pattern) {
        return artel__fail(ctx, ARTEL_ERROR_INVALID, base, "use a shorter path", "the name is too long");
    }
    ARTEL_TRY(artel__data_glob(ctx, pattern, out));
    keep_shards(out);
    if (out->count == 0) {
        artel__paths_fini(out);
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, base, "check the path", "no shards %s-00000-of-... of this set",
                           base);
    }
    for (size_t i = 0; i < out->count; i++) {
        if (find_suffix(out->items[i], &number, &all) != NULL && number == (int64_t)i &&
            (wanted == 0 || all == wanted)) {
            wanted = all;
            if (i + 1 < out->count || all == (int64_t)i + 1) continue;
        }
        artel__paths_fini(out);
        return artel__fail(
            ctx, ARTEL_ERROR_NOT_FOUND, base, "fetch the missing shard, or name the files with a pattern",
            "the set of shards is not whole: %s-%05d-of-%05d is missing", base,
            (int)(number == (int64_t)i && wanted == all ? number + 1 : (int64_t)i), (int)(wanted > 0 ? wanted : all));
    }
    return ARTEL_OK;
}

/* The names of a set whose folder cannot be listed. */
static artel_status name_set(artel_context *ctx, const char *base, int64_t count, artel__paths *out)
{
    artel__paths all = {.ctx = ctx};
    void *items;
    char name[4200];
    ARTEL_TRY(artel__alloc(ctx, (size_t)count * sizeof(char *), base, &items));
    all.items = items;
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < count && status == ARTEL_OK; i++) {
        snprintf(name, sizeof name, "%s-%05d-of-%05d", base, (int)i, (int)count);
        status = artel__strdup(ctx, name, &all.items[i]);
        all.count += status == ARTEL_OK;
    }
    if (status == ARTEL_OK)
        *out = all;
    else
        artel__paths_fini(&all);
    return status;
}

/* A file of which only the index is here. */
static artel_status name_absent(artel_context *ctx, const char *path, artel__paths *out)
{
    artel__paths one = {.ctx = ctx};
    void *items;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(char *), path, &items));
    one.items = items;
    artel_status status = artel__strdup(ctx, path, &one.items[0]);
    one.count = status == ARTEL_OK;
    if (status == ARTEL_OK)
        *out = one;
    else
        artel__paths_fini(&one);
    return status;
}

/* The files of a list, one after another. */
static artel_status find_list(artel_context *ctx, const char *target, artel__paths *out)
{
    artel__arena arena;
    artel__paths all = {.ctx = ctx};
    char **names;
    int count;
    artel__arena_init(&arena, ctx);
    artel_status status = artel__data_files_parse(&arena, target, &names, &count);
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        artel__paths some;
        void *items = all.items;
        status = artel__shards_find(ctx, names[i], &some);
        if (status < 0) break;
        status = artel__realloc(ctx, (all.count + some.count + 1) * sizeof(char *), target, &items);
        if (status == ARTEL_OK) {
            all.items = items;
            memcpy(all.items + all.count, some.items, some.count * sizeof(char *));
            all.count += some.count;
            some.count = 0; /* the strings have moved */
        }
        artel__paths_fini(&some);
    }
    artel__arena_fini(&arena);
    if (status == ARTEL_OK)
        *out = all;
    else
        artel__paths_fini(&all);
    return status;
}

artel_status artel__shards_find(artel_context *ctx, const char *target, artel__paths *out)
{
    char base[4096], first[ARTEL__INDEX_NAME];
    const char *at = strrchr(target, '@');
    if (artel__file_exists(target)) return artel__data_glob(ctx, target, out);
    if (artel__index_find(target, first)) return name_absent(ctx, target, out);
    int64_t wanted = 0;
    if (at != NULL &&
        (strcmp(at, "@*") == 0 || (artel__parse_int64(at + 1, &wanted) && wanted > 0 && wanted < 100000)) &&
        (size_t)(at - target) < sizeof base) {
        snprintf(base, sizeof base, "%.*s", (int)(at - target), target);
        if (wanted > 0 && artel__starts_with(base, "http")) return name_set(ctx, base, wanted, out);
        return find_set(ctx, base, wanted, out);
    }
    if (artel__is_remote(target) && strchr(target, ',') == NULL) return artel__data_glob(ctx, target, out);
    bool pattern = strpbrk(target, "*?[") != NULL;
    if (!pattern && strchr(target, ',') != NULL) return find_list(ctx, target, out);
    if (pattern || snprintf(first, sizeof first, "%s-[0-9]*-of-*", target) >= (int)sizeof first)
        return artel__data_glob(ctx, target, out);
    if (artel__data_glob(ctx, first, out) == ARTEL_OK) {
        keep_shards(out);
        bool any = out->count > 0;
        artel__paths_fini(out);
        if (any) return find_set(ctx, target, 0, out);
    }
    artel__operation_begin(ctx);
    return artel__data_glob(ctx, target, out);
}
