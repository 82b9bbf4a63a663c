/* SPDX-License-Identifier: Apache-2.0 */
/* skip-errors=N: rows that cannot be read are left out, up to N of them in all joined parts.
 *
 * Everything is read once when the data is opened, so that the rows that remain are known, are numbered anew, and are
 * the same for all tasks and for a run that is continued. The source keeps its format, with the functions that take
 * rows replaced by ones that look the row up first. Formats that can leave out more than rows (records behind damaged
 * ones, lines) have done so when this begins.
 */
#include <string.h>

#include "data/fingerprint.h"
#include "data/source.h"
#include "data/texts.h"

#define OPEN_SIDE 64                 /* of images whose size the model decides */
#define TEXT_BYTES ((size_t)1 << 20) /* of rows that have been read */

static int64_t kept_row(const artel__source *source, int64_t row)
{
    return (int64_t)source->kept[row];
}

static artel_status kept_fetch(const artel__source *source, int array, const artel_shape *shape, int64_t row, void *out)
{
    return source->inner->fetch_row(source, array, shape, kept_row(source, row), out);
}

static artel_status kept_fetch_record(const artel__source *source, int64_t row, const artel__row_want *wants, int count)
{
    return source->inner->fetch_record(source, kept_row(source, row), wants, count);
}

static artel_status kept_hash(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    return source->inner->hash_row(source, array, kept_row(source, row), out);
}

static artel_status kept_encoded(const artel__source *source, int array, int64_t row, artel__text *out)
{
    return source->inner->encoded_row(source, array, kept_row(source, row), out);
}

static artel_status use_kept(artel__source *source, int64_t count)
{
    artel__data_format *format = artel__arena_alloc(&source->arena, 1, sizeof *format);
    if (format == NULL) return ARTEL_ERROR_NO_MEMORY;
    *format = *source->format;
    format->fetch_row = kept_fetch;
    if (format->fetch_record != NULL) format->fetch_record = kept_fetch_record;
    format->expect = NULL; /* by their own numbers */
    if (format->hash_row != NULL) format->hash_row = kept_hash;
    if (format->encoded_row != NULL) format->encoded_row = kept_encoded;
    source->inner = source->format;
    source->format = format;
    for (int i = 0; i < source->array_count; i++) source->arrays[i].count = count;
    return ARTEL_OK;
}

/* The shape to read an array in. */
static artel_shape probe_shape(const artel__source *source, int array)
{
    artel_shape shape = source->arrays[array].row;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dim[i] < 0)
            shape.dim[i] = i < 2 ? OPEN_SIDE : source->options.channels > 0 ? source->options.channels : 3;
    }
    return shape;
}

/* What is read of each row: all that could be fed. */
typedef struct probe {
    artel__row_want *wants;
    int count;
    void *room;
} probe;

static artel_status probe_init(artel__source *source, probe *out)
{
    size_t arrays = (size_t)source->array_count, bytes = 0;
    artel_shape *shapes = artel__arena_alloc(&source->arena, arrays + 1, sizeof *shapes);
    size_t *places = artel__arena_alloc(&source->arena, arrays + 1, sizeof *places);
    *out = (probe){.wants = artel__arena_alloc(&source->arena, arrays + 1, sizeof *out->wants)};
    ARTEL_TRY(artel__arena_status(&source->arena));
    for (int i = 0; i < source->array_count; i++) {
        if (source->arrays[i].refusal != NULL) continue;
        shapes[out->count] = probe_shape(source, i);
        out->wants[out->count] = (artel__row_want){.array = i, .shape = &shapes[out->count]};
        places[out->count] = bytes;
        bytes += ((size_t)artel_shape_count(&shapes[out->count++]) * artel_dtype_size(source->arrays[i].dtype) + 15) /
                 16 * 16;
    }
    ARTEL_TRY(artel__alloc(source->ctx, bytes + 1, source->target, &out->room));
    for (int i = 0; i < out->count; i++) out->wants[i].out = (uint8_t *)out->room + places[i];
    return ARTEL_OK;
}

bool artel__is_damage(artel_status status)
{
    switch (status) {
    case ARTEL_ERROR_CORRUPT:
    case ARTEL_ERROR_NOT_FOUND: /* a file that a row names */
    case ARTEL_ERROR_INVALID: /* a value that no stage takes: class 12 of 10 */ return true;
    default: return false;
    }
}

/* Reads the row; what it holds is for nobody. */
static artel_status try_row(artel__source *source, int64_t row, const probe *all, artel__texts *texts)
{
    artel__texts_clear(texts, TEXT_BYTES);
    artel__texts *before = artel__texts_set_keeper(texts);
    artel_status status = artel__source_fetch(source, row, all->wants, all->count);
    artel__texts_set_keeper(before);
    return status;
}

static artel_status choose_rows(artel__source *source, const probe *all, artel__texts *texts)
{
    int64_t rows = source->arrays[0].count, count = 0;
    void *kept;
    ARTEL_TRY(artel__source_alloc(source, (size_t)rows * sizeof(uint64_t), &kept));
    source->kept = kept;
    for (int64_t row = 0; row < rows; row++) {
        ARTEL_TRY(artel__data_go_on(source->ctx, source->target));
        artel_status status = try_row(source, row, all, texts);
        if (status == ARTEL_OK) source->kept[count++] = (uint64_t)row;
        if (status < 0 && (!artel__is_damage(status) || *source->skips == 0)) return status;
        if (status == ARTEL_OK) continue;
        const artel_error *error = artel_context_error(source->ctx);
        artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: row %lld is left out: %s", error->where, (long long)row,
                   error->what);
        artel__operation_begin(source->ctx);
        --*source->skips;
    }
    return count < rows ? use_kept(source, count) : ARTEL_OK;
}

artel_status artel__source_skip_errors(artel__source *source)
{
    artel__texts texts;
    probe all;
    if (source->format->fetch_row == NULL) return ARTEL_OK;
    ARTEL_TRY(probe_init(source, &all));
    int64_t before = *source->skips;
    artel__texts_init(&texts, source->ctx, 0);
    artel_status status = choose_rows(source, &all, &texts);
    artel__texts_fini(&texts);
    artel__free(source->ctx, all.room);
    long long left = (long long)(before - *source->skips);
    if (left > 0 && status == ARTEL_OK)
        artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: %lld row%s that cannot be read %s left out", source->target, left,
                   left == 1 ? "" : "s", left == 1 ? "is" : "are");
    return status;
}
