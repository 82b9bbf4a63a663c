/* SPDX-License-Identifier: Apache-2.0 */
/* fixed:GLOB#layout=y:uint8,x:float32:28x28: records of one size, as tf.data.FixedLengthRecordDataset reads them.
 *
 * The layout lists what a record holds, one field after another: name, dtype, extents (left out: one value); fields
 * named `_` are passed over. Values are little-endian and lie at any address. `file-header=N` and `file-footer=N` are
 * bytes before the first and behind the last record of each file.
 */
#include <string.h>

#include "data/part_index.h"
#include "data/source.h"

typedef struct field {
    size_t offset, bytes; /* in a record */
} field;

typedef struct fixed_file {
    const char *path;
    const artel__blob *blob; /* NULL: only its index is here */
    int64_t first;
} fixed_file;

typedef struct fixed_state {
    fixed_file *files;
    int file_count;
    size_t record;
    int64_t rows;
    field *fields; /* by array */
} fixed_state;

static artel_status bad_layout(artel__source *source, const char *text, const char *what)
{
    return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "layout", "write layout=y:uint8,x:float32:28x28", "'%s': %s",
                       text, what);
}

/* "28x28" */
static bool parse_extents(char *text, artel_shape *out)
{
    while (text != NULL) {
        char *cross = strchr(text, 'x');
        if (cross != NULL) *cross++ = '\0';
        if (out->rank == ARTEL_MAX_RANK || !artel__parse_int64(text, &out->dim[out->rank]) || out->dim[out->rank] < 1)
            return false;
        out->rank++;
        text = cross;
    }
    return true;
}

/* "x:float32:28x28" as the next field of the record. */
static artel_status parse_field(artel__source *source, char *text, artel__source_array *array, field *out)
{
    fixed_state *state = source->state;
    char *dtype = strchr(text, ':'), *extents = dtype != NULL ? strchr(dtype + 1, ':') : NULL;
    if (dtype == NULL) return bad_layout(source, text, "a field is NAME:DTYPE or NAME:DTYPE:EXTENTS");
    *dtype++ = '\0';
    if (extents != NULL) *extents++ = '\0';
    memset(array, 0, sizeof *array);
    array->name = text;
    if (artel_dtype_parse(dtype, &array->dtype) < 0 || artel_dtype_size(array->dtype) == 0)
        return bad_layout(source, dtype, "no dtype of numbers");
    if (!parse_extents(extents, &array->row))
        return bad_layout(source, text, "its extents are not 1 or more, separated by x");
    int64_t elements = artel_shape_count(&array->row);
    if (elements < 0 || elements > (int64_t)1 << 40) return bad_layout(source, text, "the record is too large");
    *out = (field){state->record, (size_t)elements * artel_dtype_size(array->dtype)};
    state->record += out->bytes;
    if (state->record > (size_t)1 << 40) return bad_layout(source, text, "the record is too large");
    array->pixels = array->dtype == ARTEL_DTYPE_UINT8 && array->row.rank >= 2;
    return ARTEL_OK;
}

static artel_status parse_layout(artel__source *source)
{
    fixed_state *state = source->state;
    char **texts;
    int count, kept = 0;
    if (source->options.layout == NULL) return bad_layout(source, "", "it is not given");
    ARTEL_TRY(artel__data_list_parse(&source->arena, source->options.layout, &texts, &count));
    ARTEL_TRY(artel__source_add_arrays(source, count));
    state->fields = artel__arena_alloc(&source->arena, (size_t)count, sizeof *state->fields);
    if (state->fields == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        ARTEL_TRY(parse_field(source, texts[i], &source->arrays[kept], &state->fields[kept]));
        kept += strcmp(source->arrays[kept].name, "_") != 0;
    }
    source->array_count = kept;
    return kept > 0 ? ARTEL_OK : bad_layout(source, source->options.layout, "it names nothing");
}

static artel_status open_file(artel__source *source, const char *path)
{
    fixed_state *state = source->state;
    artel__part_index index;
    artel__blob *blob;
    bool absent;
    fixed_file *file = &state->files[state->file_count++];
    *file = (fixed_file){.path = artel__arena_strdup(&source->arena, path), .first = state->rows};
    if (file->path == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__part_stand_in(source->ctx, path, &index, &absent));
    if (absent) {
        state->rows += (int64_t)index.head.rows;
        artel__part_index_close(&index);
        return ARTEL_OK;
    }
    size_t around = (size_t)source->options.file_header + (size_t)source->options.file_footer;
    ARTEL_TRY(artel__blob_open(source, path, &blob));
    ARTEL_TRY(artel__blob_inflate(source, blob, 0));
    if (blob->size < around || (blob->size - around) % state->record != 0) {
        return artel__fail(
            source->ctx, ARTEL_ERROR_CORRUPT, path, "correct the layout, header or footer, or fetch the file again",
            "%zu bytes are no records of %zu (the last would end at byte %zu)", blob->size, state->record,
            blob->size < around ? around
                                : (blob->size - around + state->record - 1) / state->record * state->record +
                                      (size_t)source->options.file_header);
    }
    file->blob = blob;
    state->rows += (int64_t)((blob->size - around) / state->record);
    return ARTEL_OK;
}

static artel_status fixed_open(artel__source *source)
{
    artel__paths paths;
    fixed_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->state = state;
    ARTEL_TRY(parse_layout(source));
    ARTEL_TRY(artel__parts_find(source->ctx, source->target, &paths));
    state->files = artel__arena_alloc(&source->arena, paths.count, sizeof *state->files);
    artel_status status = state->files != NULL ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < paths.count && status == ARTEL_OK; i++) status = open_file(source, paths.items[i]);
    artel__paths_fini(&paths);
    for (int i = 0; i < source->array_count; i++) source->arrays[i].count = state->rows;
    return status;
}

static int file_of(const artel__source *source, int64_t row)
{
    const fixed_state *state = source->state;
    return artel__find_run(&state->files[0].first, sizeof *state->files, state->file_count, row);
}

static artel_status find_value(const artel__source *source, int array, int64_t row, const uint8_t **out)
{
    const fixed_state *state = source->state;
    const fixed_file *file = &state->files[file_of(source, row)];
    if (file->blob == NULL) return artel__part_missing(source, file->path);
    *out = file->blob->bytes + source->options.file_header + (size_t)(row - file->first) * state->record +
           state->fields[array].offset;
    return ARTEL_OK;
}

static artel_status fixed_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                void *out)
{
    const uint8_t *value;
    (void)row_shape;
    ARTEL_TRY(find_value(source, array, row, &value));
    memcpy(out, value, ((const fixed_state *)source->state)->fields[array].bytes);
    return ARTEL_OK;
}

static artel_status fixed_hash_row(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    const uint8_t *value;
    ARTEL_TRY(find_value(source, array, row, &value));
    *out = artel__hash64(value, ((const fixed_state *)source->state)->fields[array].bytes);
    return ARTEL_OK;
}

/* ---- pieces ---- */

static int fixed_parts(const artel__source *source)
{
    return ((const fixed_state *)source->state)->file_count;
}

static artel__data_piece fixed_part(const artel__source *source, int part)
{
    const fixed_state *state = source->state;
    const fixed_file *file = &state->files[part];
    int64_t end = part + 1 < state->file_count ? file[1].first : state->rows;
    return (artel__data_piece){file->path, end - file->first, file->blob != NULL, file->blob};
}

const artel__data_format artel__data_fixed = {
    .name = "fixed",
    .syntax = "fixed:GLOB#layout=y:uint8,x:float32:28x28",
    .options = "layout file-header file-footer names scale shift",
    .open = fixed_open,
    .fetch_row = fixed_fetch,
    .hash_row = fixed_hash_row,
    .fingerprint = artel__parts_fingerprint,
    .parts = fixed_parts,
    .part = fixed_part,
    .part_of = file_of,
};
