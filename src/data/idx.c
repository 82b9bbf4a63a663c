/* SPDX-License-Identifier: Apache-2.0 */
/* idx: the files of MNIST, Fashion-MNIST and their kin; `idx:IMAGES[,LABELS]`, gzipped or not.
 *
 * Format (Y. LeCun, "The MNIST database"): two zero bytes, a type (08 uint8, 09 int8, 0B int16, 0C int32, 0D float32,
 * 0E float64), the number of axes, one big-endian 32-bit extent for each axis, then the values, big-endian, row-major.
 * Uncompressed bytes are used where they are mapped; gzipped files are inflated when a model is bound; values wider
 * than a byte are copied into native order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"
#include "data/source.h"

typedef struct header {
    artel_dtype dtype;
    artel_shape shape;
    size_t offset, bytes;
} header;

typedef struct idx_file {
    artel__blob *blob;
    header header;
} idx_file;

static bool idx_dtype(uint8_t code, artel_dtype *out)
{
    static const struct {
        uint8_t code;
        artel_dtype dtype;
    } table[] = {{0x08, ARTEL_DTYPE_UINT8}, {0x09, ARTEL_DTYPE_INT8},    {0x0B, ARTEL_DTYPE_INT16},
                 {0x0C, ARTEL_DTYPE_INT32}, {0x0D, ARTEL_DTYPE_FLOAT32}, {0x0E, ARTEL_DTYPE_FLOAT64}};
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (table[i].code != code) continue;
        *out = table[i].dtype;
        return true;
    }
    return false;
}

static artel_status parse_header(artel_context *ctx, const char *path, const uint8_t *bytes, size_t size, header *out)
{
    if (size < 4 || bytes[0] != 0 || bytes[1] != 0 || !idx_dtype(bytes[2], &out->dtype)) {
        ARTEL_TRY(artel__check_foreign(ctx, path, bytes, size));
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path, "give an IDX file such as train-images-idx3-ubyte.gz",
                           "not an IDX file: it does not begin with 00 00 and a type 08, 09, 0B, 0C, 0D or 0E");
    }
    int rank = bytes[3];
    if (rank < 1 || rank > ARTEL_MAX_RANK) {
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path, "", "%d axes (expected 1 to %d)", rank, ARTEL_MAX_RANK);
    }
    if (size < 4 + 4 * (size_t)rank) {
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path, "fetch the file again",
                           "the header has %zu bytes (expected %d)", size, 4 + 4 * rank);
    }
    out->shape.rank = rank;
    for (int i = 0; i < rank; i++) {
        const uint8_t *b = bytes + 4 + 4 * i;
        out->shape.dim[i] = (int64_t)((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]);
    }
    int64_t count = artel_shape_count(&out->shape);
    if (count < 0 || count > INT64_MAX / 16)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path, "", "the extents overflow");
    out->offset = 4 + 4 * (size_t)rank;
    out->bytes = (size_t)count * artel_dtype_size(out->dtype);
    return ARTEL_OK;
}

static artel_status open_file(artel__source *source, const char *path, idx_file *file, artel__source_array *array)
{
    uint8_t head[4 + 4 * ARTEL_MAX_RANK];
    size_t got;
    char text[128];
    ARTEL_TRY(artel__blob_open(source, path, &file->blob));
    ARTEL_TRY(artel__blob_peek(source, file->blob, head, sizeof head, &got));
    ARTEL_TRY(parse_header(source->ctx, path, head, got, &file->header));
    size_t expected = file->header.offset + file->header.bytes;
    if (!file->blob->gzip && file->blob->size != expected) {
        return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, path, "fetch the file again",
                           "%zu bytes (expected %zu for shape %s)", file->blob->size, expected,
                           artel__shape_text(&file->header.shape, false, text, sizeof text));
    }
    array->dtype = file->header.dtype;
    array->count = file->header.shape.dim[0];
    array->row.rank = file->header.shape.rank - 1;
    memcpy(array->row.dim, file->header.shape.dim + 1, (size_t)array->row.rank * sizeof(int64_t));
    array->pixels = array->dtype == ARTEL_DTYPE_UINT8 && array->row.rank >= 2;
    return ARTEL_OK;
}

static artel_status idx_open(artel__source *source)
{
    char **paths;
    int count;
    ARTEL_TRY(artel__data_files_parse(&source->arena, source->target, &paths, &count));
    if (count < 1 || count > 2) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "write idx:IMAGES,LABELS",
                           "idx takes one or two files, not %d", count);
    }
    idx_file *files = artel__arena_alloc(&source->arena, (size_t)count, sizeof *files);
    if (files == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->state = files;
    ARTEL_TRY(artel__source_add_arrays(source, count));
    for (int i = 0; i < count; i++) {
        artel__source_array *array = &source->arrays[i];
        array->name = i == 0 ? "x" : "y";
        array->role = i == 0 ? ARTEL_DATA_ROLE_INPUT : ARTEL_DATA_ROLE_TARGET;
        ARTEL_TRY(open_file(source, paths[i], &files[i], array));
    }
    return ARTEL_OK;
}

static artel_status idx_load(artel__source *source, int index)
{
    idx_file *file = &((idx_file *)source->state)[index];
    artel__source_array *array = &source->arrays[index];
    if (array->base != NULL) return ARTEL_OK;
    ARTEL_TRY(artel__blob_inflate(source, file->blob, file->header.offset + file->header.bytes));
    artel__npy_header plain = {.dtype = array->dtype,
                               .swapped = true,
                               .shape = file->header.shape,
                               .data_offset = file->header.offset,
                               .data_bytes = file->header.bytes};
    return artel__npy_place(source, &plain, file->blob->bytes + file->header.offset, array);
}

const artel__data_format artel__data_idx = {
    .name = "idx",
    .syntax = "idx:IMAGES,LABELS",
    .options = "scale shift",
    .open = idx_open,
    .load = idx_load,
};
