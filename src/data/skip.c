/* SPDX-License-Identifier: Apache-2.0 */
/* skip-errors=N: rows that cannot be read are left out, up to N of them in all joined parts.
 *
 * Everything is read once when the data is opened, so that the rows that remain are known, are numbered anew, and are the same for all
 * tasks and for a run that is continued. The source keeps its format, with the functions that take rows replaced by ones that look
 * the row up first. Formats that can leave out more than rows (records behind damaged ones, lines) have done so when this begins.
 */
#include <string.h>

#include "data/fingerprint.h"
#include "data/source.h"

#define OPEN_SIDE 64 /* of images whose size the model decides */

static int64_t kept_row(const artel__source *source, int64_t row)
{
    return (int64_t)source->kept[row];
}

static artel_status kept_fetch(const artel__source *source, int array, const artel_shape *shape, int64_t row, void *out)
{
    return source->inner->fetch_row(source, array, shape, kept_row(source, row), out);
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
    if (format->hash_row != NULL) format->hash_row = kept_hash;
    if (format->encoded_row != NULL) format->encoded_row = kept_encoded;
    source->inner = source->format;
    source->format = format;
    for (int i = 0; i < source->array_count; i++) source->arrays[i].count = count;
    return ARTEL_OK;
}

/* The shape to read an array in, and its bytes. */
static artel_shape probe_shape(const artel__source *source, int array, size_t *bytes)
{
    artel_shape shape = source->arrays[array].row;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dim[i] < 0) shape.dim[i] = i < 2 ? OPEN_SIDE : source->options.channels > 0 ? source->options.channels : 3;
    }
    *bytes = (size_t)artel_shape_count(&shape) * artel_dtype_size(source->arrays[array].dtype);
    return shape;
}

/* The first failure of a row; ARTEL_OK when all of it can be read. */
static artel_status read_row(const artel__source *source, int64_t row, void *room)
{
    for (int i = 0; i < source->array_count; i++) {
        size_t bytes;
        artel_shape shape = probe_shape(source, i, &bytes);
        if (source->arrays[i].refusal == NULL) ARTEL_TRY(source->format->fetch_row(source, i, &shape, row, room));
    }
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

static artel_status choose_rows(artel__source *source, void *room)
{
    int64_t rows = source->arrays[0].count, count = 0;
    void *kept;
    ARTEL_TRY(artel__source_alloc(source, (size_t)rows * sizeof(uint64_t), &kept));
    source->kept = kept;
    for (int64_t row = 0; row < rows; row++) {
        ARTEL_TRY(artel__data_go_on(source->ctx, source->target));
        artel_status status = read_row(source, row, room);
        if (status == ARTEL_OK) source->kept[count++] = (uint64_t)row;
        if (status < 0 && (!artel__is_damage(status) || *source->skips == 0)) return status;
        if (status == ARTEL_OK) continue;
        const artel_error *error = artel_context_error(source->ctx);
        artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: row %lld is left out: %s", error->where, (long long)row, error->what);
        artel__operation_begin(source->ctx);
        --*source->skips;
    }
    return count < rows ? use_kept(source, count) : ARTEL_OK;
}

artel_status artel__source_skip_errors(artel__source *source)
{
    size_t most = 1;
    void *room;
    if (source->format->fetch_row == NULL) return ARTEL_OK;
    for (int i = 0; i < source->array_count; i++) {
        size_t bytes;
        probe_shape(source, i, &bytes);
        if (bytes > most) most = bytes;
    }
    ARTEL_TRY(artel__alloc(source->ctx, most, source->target, &room));
    int64_t before = *source->skips;
    artel_status status = choose_rows(source, room);
    artel__free(source->ctx, room);
    if (*source->skips < before && status == ARTEL_OK)
        artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: %lld rows that cannot be read are left out", source->target,
                   (long long)(before - *source->skips));
    return status;
}
