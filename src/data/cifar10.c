/* SPDX-License-Identifier: Apache-2.0 */
/* cifar10: the binary batches of CIFAR-10; `cifar10:GLOB` (`cifar10:data_batch_*.bin`).
 *
 * Format (A. Krizhevsky, "The CIFAR-10 dataset", binary version): records of one label byte and 3,072 bytes of pixels,
 * the red plane first, then green and blue, each 32 rows of 32. Rows are delivered channels-last, as Keras'
 * load_data does; labels as one class number. CIFAR-100's records have one byte more and are told by the file size.
 */
#include <string.h>

#include "data/part_index.h"
#include "data/source.h"

enum {
    SIDE = 32,
    CHANNELS = 3,
    PLANE = SIDE * SIDE,
    PIXELS = PLANE * CHANNELS,
    RECORD = PIXELS + 1
};

/* One file; `first` is its first record among those of all files. */
typedef struct batch {
    const char *path;
    artel__blob *blob; /* NULL: only its index is here */
    int64_t first, count;
} batch;

typedef struct state {
    batch *batches;
    size_t count;
} state;

static artel_status open_batch(artel__source *source, const char *path, int64_t first, batch *out)
{
    artel__part_index index;
    bool absent;
    *out = (batch){.path = artel__arena_strdup(&source->arena, path), .first = first};
    if (out->path == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__part_stand_in(source->ctx, path, &index, &absent));
    if (absent) {
        out->count = (int64_t)index.head.rows;
        artel__part_index_close(&index);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__blob_open(source, path, &out->blob));
    ARTEL_TRY(artel__blob_inflate(source, out->blob, 0));
    if (out->blob->size == 0 || out->blob->size % RECORD != 0) {
        const char *advice = out->blob->size % (RECORD + 1) == 0 && out->blob->size > 0
                                 ? "this looks like CIFAR-100; convert it to npz"
                                 : "fetch the file again";
        return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, path, advice,
                           "%zu bytes (expected a multiple of %d, the size of a record)", out->blob->size, RECORD);
    }
    out->count = (int64_t)(out->blob->size / RECORD);
    return ARTEL_OK;
}

static artel_status open_batches(artel__source *source, const artel__paths *paths, state *s)
{
    int64_t total = 0;
    s->batches = artel__arena_alloc(&source->arena, paths->count, sizeof *s->batches);
    if (s->batches == NULL) return ARTEL_ERROR_NO_MEMORY;
    s->count = paths->count;
    for (size_t i = 0; i < paths->count; i++) {
        ARTEL_TRY(open_batch(source, paths->items[i], total, &s->batches[i]));
        total += s->batches[i].count;
    }
    ARTEL_TRY(artel__source_add_arrays(source, 2));
    source->arrays[0] = (artel__source_array){.name = "x",
                                              .role = ARTEL_DATA_ROLE_INPUT,
                                              .dtype = ARTEL_DTYPE_UINT8,
                                              .row = {3, {SIDE, SIDE, CHANNELS}},
                                              .count = total,
                                              .pixels = true};
    source->arrays[1] = (artel__source_array){
        .name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_UINT8, .row = {1, {1}}, .count = total};
    return ARTEL_OK;
}

static artel_status cifar10_open(artel__source *source)
{
    artel__paths paths;
    state *s = artel__arena_alloc(&source->arena, 1, sizeof *s);
    if (s == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->state = s;
    ARTEL_TRY(artel__parts_find(source->ctx, source->target, &paths));
    artel_status status = open_batches(source, &paths, s);
    artel__paths_fini(&paths);
    return status;
}

static int batch_of(const artel__source *source, int64_t row)
{
    const state *s = source->state;
    return artel__find_run(&s->batches[0].first, sizeof *s->batches, (int)s->count, row);
}

static artel_status cifar10_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                  void *out)
{
    const state *s = source->state;
    const batch *b = &s->batches[batch_of(source, row)];
    uint8_t *to = out;
    (void)row_shape;
    if (b->blob == NULL) return artel__part_missing(source, b->path);
    const uint8_t *record = b->blob->bytes + (size_t)(row - b->first) * RECORD;
    if (array == 1) {
        *to = record[0];
        return ARTEL_OK;
    }
    for (int i = 0; i < PLANE; i++) {
        for (int c = 0; c < CHANNELS; c++) to[i * CHANNELS + c] = record[1 + c * PLANE + i];
    }
    return ARTEL_OK;
}

static int cifar10_parts(const artel__source *source)
{
    return (int)((const state *)source->state)->count;
}

static artel__data_piece cifar10_part(const artel__source *source, int part)
{
    const batch *b = &((const state *)source->state)->batches[part];
    return (artel__data_piece){b->path, b->count, b->blob != NULL, b->blob};
}

const artel__data_format artel__data_cifar10 = {
    .name = "cifar10",
    .syntax = "cifar10:GLOB",
    .options = "scale shift",
    .open = cifar10_open,
    .fetch_row = cifar10_fetch,
    .fingerprint = artel__parts_fingerprint,
    .parts = cifar10_parts,
    .part = cifar10_part,
    .part_of = batch_of,
};
