/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord: records of tf.train.Example or SequenceExample in any number of files.
 *
 * `tfrecord:FILES[#features=FILE.json]`. Opening finds where each record begins (record_file.h) and reads none but the
 * first, and that only without a specification. A row is read when it is wanted: both checksums of its record, then the
 * feature. All files together are one run of rows, in the order of their names.
 */
#include <string.h>

#include "data/features.h"
#include "data/fingerprint.h"
#include "data/record_file.h"

#define LARGE_BYTES ((uint64_t)16 << 20) /* less is read as it lies, however little memory there is */

typedef struct records_state {
    artel__record_file *files;
    int64_t *first; /* row of each file, and behind the last */
    int file_count;
    artel__features features;
    artel__image_library images;
    artel__texts texts; /* strings of compressed files */
} records_state;

static artel_status add_file(artel__source *source, const char *path, artel__record_file *out)
{
    bool absent;
    const char *kept = artel__arena_strdup(&source->arena, path);
    if (kept == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__record_index_stand_in(source->ctx, kept, out, &absent));
    return absent ? ARTEL_OK : artel__record_file_map(source, path, out);
}

static artel_status add_files(artel__source *source, const artel__paths *paths)
{
    records_state *state = source->state;
    int64_t before = source->skips != NULL ? *source->skips : 0;
    state->files = artel__arena_alloc(&source->arena, paths->count, sizeof *state->files);
    state->first = artel__arena_alloc(&source->arena, paths->count + 1, sizeof *state->first);
    if (state->files == NULL || state->first == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < paths->count; i++) {
        if (artel__is_beside_records(source->target, paths->items[i])) continue;
        ARTEL_TRY(add_file(source, paths->items[i], &state->files[state->file_count]));
        state->file_count++;
        artel__record_file *file = &state->files[state->file_count - 1];
        if (!file->absent) ARTEL_TRY(artel__record_file_find(source->ctx, file, source->skips));
        state->first[state->file_count] = state->first[state->file_count - 1] + file->count;
    }
    if (source->skips != NULL && *source->skips < before)
        artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: %lld damaged records are left out", source->target,
                   (long long)(before - *source->skips));
    return ARTEL_OK;
}

/* The specification: the one named, that beside the files, or what the first record holds. */
static artel_status find_features(artel__source *source)
{
    records_state *state = source->state;
    char base[4096], path[4200];
    if (source->options.features != NULL)
        return artel__features_read(&source->arena, source->options.features, false, &state->features);
    if (state->file_count > 0 && artel__shards_base(state->files[0].path, base, sizeof base) != NULL) {
        snprintf(path, sizeof path, "%s.features.json", base);
        const char *kept = artel__arena_strdup(&source->arena, path);
        if (kept == NULL) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(artel__features_read(&source->arena, kept, true, &state->features));
        if (state->features.count > 0) return ARTEL_OK;
    }
    for (int i = 0; i < state->file_count; i++) {
        artel__unfold_room room = {NULL, 0};
        artel__proto record;
        if (state->files[i].count == 0 || state->files[i].absent) continue;
        artel_status status = artel__record_file_at(source->ctx, &state->files[i], 0, &room, &record);
        if (status == ARTEL_OK)
            status = artel__features_infer(&source->arena, state->files[i].path, record, &state->features);
        artel__unfold_room_fini(source->ctx, &room);
        return status;
    }
    return artel__fail(
        source->ctx, ARTEL_ERROR_INVALID, source->target, "say what the records hold with #features=FILE.json",
        state->file_count > 0 && state->files[0].absent ? "no file with records is here" : "there are no records");
}

/* Files that together are more than half of what memory holds are read in pieces, just those that are wanted. */
static artel_status read_in_pieces(const artel__source *source, artel__arena *arena)
{
    const records_state *state = source->state;
    uint64_t bytes = 0;
    for (int i = 0; i < state->file_count; i++)
        bytes += state->files[i].compressed || state->files[i].absent ? 0 : state->files[i].size;
    if (bytes < LARGE_BYTES || bytes < artel__memory_limit() / 2) return ARTEL_OK;
    for (int i = 0; i < state->file_count; i++) {
        artel__record_file *file = &state->files[i];
        if (file->compressed || file->absent || file->size == 0) continue;
        file->pages = artel__arena_alloc(arena, 1, sizeof *file->pages);
        if (file->pages == NULL) return ARTEL_ERROR_NO_MEMORY;
        artel__pages_init(file->pages, &file->blob->mapping);
    }
    return ARTEL_OK;
}

static artel_status tfrecord_open(artel__source *source)
{
    artel__paths paths;
    records_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->state = state;
    artel__texts_init(&state->texts, source->ctx, 0);
    ARTEL_TRY(artel__shards_find(source->ctx, source->target, &paths));
    artel_status status = add_files(source, &paths);
    artel__paths_fini(&paths);
    if (status < 0) return status;
    ARTEL_TRY(read_in_pieces(source, &source->arena));
    ARTEL_TRY(find_features(source));
    if (artel__features_have_images(&state->features))
        ARTEL_TRY(artel__image_library_open(source->ctx, &state->images));
    return artel__features_publish(source, &state->features, state->first[state->file_count]);
}

/* The file that a row lies in. */
static int file_of(const records_state *state, int64_t row)
{
    return artel__find_run(state->first, sizeof *state->first, state->file_count, row);
}

/* A record of all files, and the room it may lie in. */
typedef struct one_record {
    artel__record_file *file;
    int64_t local; /* in its file */
    artel__proto payload;
    artel__unfold_room room;
} one_record;

static artel_status read_record(const artel__source *source, int64_t row, one_record *out)
{
    const records_state *state = source->state;
    int f = file_of(state, row);
    *out = (one_record){.file = &state->files[f], .local = row - state->first[f]};
    return artel__record_file_at(source->ctx, out->file, out->local, &out->room, &out->payload);
}

static artel_status read_features(const artel__source *source, const one_record *record, const artel__row_want *wants,
                                  int count)
{
    records_state *state = source->state;
    artel__example_reader reader = {.ctx = source->ctx,
                                    .images = artel__image_how_of(state->images.part, &source->options),
                                    .path = record->file->path,
                                    .row = record->local,
                                    .offset = record->file->offsets[record->local],
                                    .texts = record->file->compressed ? &state->texts : NULL};
    return artel__example_rows(&reader, record->payload, &state->features, wants, count);
}

/* The checksums of a record are those of all its features, so that they are verified once for all that are wanted. */
static artel_status tfrecord_fetch_record(const artel__source *source, int64_t row, const artel__row_want *wants,
                                          int count)
{
    one_record record;
    artel_status status = read_record(source, row, &record);
    if (status == ARTEL_OK) status = read_features(source, &record, wants, count);
    artel__unfold_room_fini(source->ctx, &record.room);
    return status;
}

static artel_status tfrecord_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                   void *out)
{
    const artel__row_want want = {array, row_shape, out};
    return tfrecord_fetch_record(source, row, &want, 1);
}

/* Of the record as it lies in its file. */
static artel_status tfrecord_hash_row(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    one_record record;
    (void)array;
    artel_status status = read_record(source, row, &record);
    if (status == ARTEL_OK) *out = artel__hash64(record.payload.at, (size_t)(record.payload.end - record.payload.at));
    artel__unfold_room_fini(source->ctx, &record.room);
    return status;
}

/* The bytes of an image in a record. */
static artel_status find_image(const artel__source *source, const one_record *record, int array, artel__proto *out)
{
    const artel__feature *feature = &((const records_state *)source->state)->features.item[array];
    artel__example_list list;
    int64_t count = 0;
    if (artel__example_find(record->payload, feature->name, feature->length, &list) &&
        list.kind == ARTEL__FEATURE_BYTES && artel__example_bytes(list.values, out, 1, &count) && count == 1)
        return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, record->file->path, "correct the record",
                       "record %lld: feature '%s' is not one string of bytes", (long long)record->local, feature->name);
}

/* The record, or the bytes of an image in it. */
static artel_status tfrecord_encoded(const artel__source *source, int array, int64_t row, artel__text *out)
{
    one_record record;
    artel_status status = read_record(source, row, &record);
    artel__proto value = record.payload;
    if (status == ARTEL_OK && array >= 0) status = find_image(source, &record, array, &value);
    if (status == ARTEL_OK) artel__text_append_bytes(out, value.at, (size_t)(value.end - value.at));
    artel__unfold_room_fini(source->ctx, &record.room);
    return status;
}

/* Also when some rows are left out. */
static bool is_tfrecord(const artel__source *source)
{
    return source->format->open == tfrecord_open;
}

const artel__features *artel__tfrecord_features(const artel__source *source)
{
    return is_tfrecord(source) ? &((const records_state *)source->state)->features : NULL;
}

const artel__record_file *artel__tfrecord_files(const artel__source *source, int *count)
{
    const records_state *state = source->state;
    *count = is_tfrecord(source) ? state->file_count : 0;
    return *count > 0 ? state->files : NULL;
}

/* Sizes and ends of the files, and how each feature is read. */
static artel_status tfrecord_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    const records_state *state = source->state;
    artel__unfold_room room = {NULL, 0}; /* of a file that is not here: it stays empty */
    artel__proto record;
    for (int i = 0; i < state->file_count; i++) {
        if (source->apart) {
            uint64_t facts[3];
            ARTEL_TRY(artel__record_index_facts(source->ctx, &state->files[i], facts));
            for (int k = 0; k < 3; k++) artel__hash_integer(hash, facts[k]);
            artel__hash_integer(hash, (uint64_t)state->files[i].count);
            continue;
        }
        if (state->files[i].absent)
            return artel__record_file_at(source->ctx, &state->files[i], 0, &room, &record); /* says so */
        artel__hash_ends(hash, state->files[i].blob->mapping.bytes, state->files[i].blob->mapping.size);
        artel__hash_integer(hash, (uint64_t)state->files[i].count);
    }
    artel__features_hash(&state->features, hash);
    return ARTEL_OK;
}

static int tfrecord_parts(const artel__source *source)
{
    return ((const records_state *)source->state)->file_count;
}

static artel__data_piece tfrecord_part(const artel__source *source, int part)
{
    const records_state *state = source->state;
    const artel__record_file *file = &state->files[part];
    return (artel__data_piece){.name = file->path, .rows = file->count, .here = !file->absent};
}

static int tfrecord_part_of(const artel__source *source, int64_t row)
{
    return file_of(source->state, row);
}

static void tfrecord_close(artel__source *source)
{
    records_state *state = source->state;
    for (int i = 0; i < state->file_count; i++) artel__record_file_close(source->ctx, &state->files[i]);
    artel__image_library_close(&state->images);
    artel__texts_fini(&state->texts);
}

const artel__data_format artel__data_tfrecord = {
    .name = "tfrecord",
    .syntax = "tfrecord:FILES#features=FILE.json",
    .options = "features names scale shift size channels interpolation decode skip-errors",
    .open = tfrecord_open,
    .reads_ahead = true,
    .fetch_row = tfrecord_fetch,
    .fetch_record = tfrecord_fetch_record,
    .hash_row = tfrecord_hash_row,
    .encoded_row = tfrecord_encoded,
    .has_records = true,
    .fingerprint = tfrecord_fingerprint,
    .parts = tfrecord_parts,
    .part = tfrecord_part,
    .part_of = tfrecord_part_of,
    .close = tfrecord_close,
};
