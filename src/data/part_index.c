/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a file of rows that is not here: what it says, who reads it, who writes it. See the header.
 *
 * Of files that are here the index is looked at only where data is bound apart: then it must fit the file's size, its
 * ends and the rows that were found in it.
 */
#include "data/part_index.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/fingerprint.h"
#include "data/record_file.h"
#include "data/remote.h"

#define MOST_ROWS 1040 /* in a byte: deflate makes no more than 1032 of one */

static const char kind[ARTEL__INDEX_KIND] = {'A', 'R', 'T', 'E', 'L', 'P', 'I', '1'};

/* ---- reading ---- */

/* Of what stands between the kind and the sum, and behind that. */
static uint64_t sum_of(const uint8_t *head, const void *beginning, size_t length)
{
    return artel__crc32c(artel__crc32c(0, head + sizeof kind, 24), beginning, length);
}

bool artel__part_has_index(const char *path)
{
    char name[ARTEL__INDEX_NAME];
    return artel__index_find(path, name);
}

/* Maps it; false: it is no index of this kind, or is damaged. */
static artel_status read_index(artel_context *ctx, const char *name, artel__part_index *out, bool *good)
{
    ARTEL_TRY(artel__map_file(ctx, name, &out->mapping));
    *good = artel__index_take(&out->mapping, kind, &out->head);
    if (*good) {
        out->beginning = (const char *)out->mapping.bytes + ARTEL__INDEX_HEAD;
        out->length = out->mapping.size - ARTEL__INDEX_HEAD;
        bool few = out->head.rows / MOST_ROWS <= out->head.size && out->head.rows <= (uint64_t)1 << 44;
        *good = few && sum_of(out->mapping.bytes, out->beginning, out->length) == out->head.sum;
    }
    if (!*good) artel__unmap_file(&out->mapping);
    return ARTEL_OK;
}

artel_status artel__part_stand_in(artel_context *ctx, const char *path, artel__part_index *out, bool *absent)
{
    char name[ARTEL__INDEX_NAME];
    bool good = false;
    *absent = false;
    if (artel__is_remote(path) || artel__file_exists(path) || !artel__index_find(path, name)) return ARTEL_OK;
    ARTEL_TRY(read_index(ctx, name, out, &good));
    if (!good)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, name, "copy it again from where the file is",
                           "it is no index of rows, or it is damaged, and the file is not here");
    *absent = true;
    return ARTEL_OK;
}

void artel__part_index_close(artel__part_index *index)
{
    artel__unmap_file(&index->mapping);
}

artel_status artel__part_missing(const artel__source *source, const char *path)
{
    return artel__fail(source->ctx, ARTEL_ERROR_NOT_FOUND, path, artel__index_advice,
                       "a row of it is wanted, and only the file's index is on this machine");
}

/* ---- identity ---- */

static artel_status hash_piece(const artel__source *source, const artel__data_piece *piece, artel__sha256 *hash)
{
    char name[ARTEL__INDEX_NAME];
    artel__part_index index;
    bool good = false;
    if (artel__index_find(piece->name, name)) ARTEL_TRY(read_index(source->ctx, name, &index, &good));
    if (!good)
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, piece->name,
                           "artel data index SPEC makes those of all files; every task needs them",
                           ".auto_shard file goes by the index beside each file, and this one has none");
    artel__unmap_file(&index.mapping);
    const artel__mapping *file = piece->blob != NULL ? &piece->blob->mapping : NULL;
    const artel__index_head *head = &index.head;
    if (head->rows != (uint64_t)piece->rows || (file != NULL && !artel__index_fits(head, file->bytes, file->size)))
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, piece->name, "artel data index SPEC makes it again",
                           "the index beside it is one of another file: it says %llu rows, here are %lld",
                           (unsigned long long)head->rows, (long long)piece->rows);
    artel__hash_integer(hash, head->size);
    artel__hash_integer(hash, head->rows);
    artel__hash_integer(hash, head->ends);
    artel__hash_integer(hash, head->sum);
    return ARTEL_OK;
}

artel_status artel__parts_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    for (int p = 0; p < source->format->parts(source); p++) {
        artel__data_piece piece = source->format->part(source, p);
        if (source->apart)
            ARTEL_TRY(hash_piece(source, &piece, hash));
        else if (piece.blob != NULL)
            artel__hash_ends(hash, piece.blob->mapping.bytes, piece.blob->mapping.size);
        else
            return artel__part_missing(source, piece.name);
    }
    return ARTEL_OK;
}

/* ---- writing ---- */

static artel_status write_index(artel_context *ctx, const char *path, const artel__data_piece *piece,
                                const artel__text *beginning)
{
    const artel__mapping *file = &piece->blob->mapping;
    artel__index_head head = {file->size, (uint64_t)piece->rows, artel__sum_ends(file->bytes, file->size), 0};
    uint8_t bytes[ARTEL__INDEX_HEAD];
    artel__output out;
    artel__index_put(bytes, kind, &head);
    head.sum = sum_of(bytes, beginning->data, beginning->length);
    artel__index_put(bytes, kind, &head);
    ARTEL_TRY(artel__output_open(ctx, path, &out));
    artel_status status = artel__output_write(&out, bytes, sizeof bytes);
    if (status == ARTEL_OK) status = artel__output_write(&out, beginning->data, beginning->length);
    if (status == ARTEL_OK) return artel__output_commit(&out);
    artel__output_abandon(&out);
    return status;
}

artel_status artel__part_index_write(const artel__source *source, int part)
{
    artel__data_piece piece = source->format->part(source, part);
    char path[ARTEL__INDEX_NAME];
    artel__text beginning;
    if (artel__is_remote(piece.name) || !artel__index_name(piece.name, path))
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, piece.name, "fetch the file, and give it a shorter name",
                           "an index is written beside a file on this machine");
    artel__text_init(&beginning, source->ctx);
    artel_status status = source->format->beginning ? source->format->beginning(source, part, &beginning) : ARTEL_OK;
    if (status == ARTEL_OK) status = artel__text_status(&beginning);
    if (status == ARTEL_OK) status = write_index(source->ctx, path, &piece, &beginning);
    artel__text_fini(&beginning);
    return status;
}

/* ---- finding ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* An index of what the pattern matches, too. */
static bool is_index(const char *pattern, const char *path)
{
    char file[4200];
    size_t length = strlen(path), ending = strlen(".index");
    if (!artel__ends_with(path, ".index") || length - ending >= sizeof file) return false;
    memcpy(file, path, length - ending);
    file[length - ending] = '\0';
    return fnmatch(pattern, file, FNM_PATHNAME | FNM_PERIOD) == 0;
}

/* Adds the files that a pattern matches, or, with an ending, those whose indexes it does: they may be here or not. */
static artel_status add_matches(artel_context *ctx, const char *pattern, const char *ending, artel__paths *all)
{
    char whole[4200];
    artel__paths some;
    void *items = all->items;
    snprintf(whole, sizeof whole, "%s%s", pattern, ending);
    artel_status status = artel__data_glob(ctx, whole, &some);
    if (status == ARTEL_ERROR_NOT_FOUND) {
        artel__operation_begin(ctx);
        return ARTEL_OK;
    }
    if (status < 0) return status;
    status = artel__realloc(ctx, (all->count + some.count + 1) * sizeof(char *), pattern, &items);
    if (status == ARTEL_OK) all->items = items;
    for (size_t i = 0; i < some.count && status == ARTEL_OK; i++) {
        if (is_index(pattern, some.items[i]) != (ending[0] != '\0')) continue;
        all->items[all->count++] = some.items[i];
        some.items[i][strlen(some.items[i]) - strlen(ending)] = '\0';
        some.items[i] = NULL;
    }
    artel__paths_fini(&some);
    return status;
}

/* A file and its index stand for one. */
static void sort_once(artel_context *ctx, artel__paths *all)
{
    size_t kept = 0;
    if (all->count > 0) qsort(all->items, all->count, sizeof *all->items, compare_names);
    for (size_t i = 0; i < all->count; i++) {
        if (kept > 0 && strcmp(all->items[kept - 1], all->items[i]) == 0)
            artel__free(ctx, all->items[i]);
        else
            all->items[kept++] = all->items[i];
    }
    all->count = kept;
}

artel_status artel__parts_find(artel_context *ctx, const char *target, artel__paths *out)
{
    artel__paths all = {.ctx = ctx};
    bool is_pattern = strpbrk(target, "*?[") != NULL && !artel__is_remote(target) && !artel__file_exists(target);
    const char *at = strrchr(target, '@');
    if (!is_pattern || (at != NULL && strcmp(at, "@*") == 0) || strlen(target) > 4100)
        return artel__shards_find(ctx, target, out);
    artel_status status = add_matches(ctx, target, "", &all);
    if (status == ARTEL_OK) status = add_matches(ctx, target, ".index", &all);
    if (status == ARTEL_OK && all.count == 0) status = artel__data_glob(ctx, target, out); /* says that there is none */
    if (status == ARTEL_OK && all.count > 0) {
        sort_once(ctx, &all);
        *out = all;
        return ARTEL_OK;
    }
    artel__paths_fini(&all);
    return status;
}
