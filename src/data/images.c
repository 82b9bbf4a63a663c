/* SPDX-License-Identifier: Apache-2.0 */
/* images:DIR: a folder for each class, as keras.utils.image_dataset_from_directory reads it (folders.h).
 *
 * Images are decoded when their row is fetched, by libartel-image.so, and resized to the size the options or the
 * model give; values are float32 in 0..255. Opening lists names and opens no image.
 */
#include <string.h>

#include "data/folders.h"
#include "data/image_decode.h"

const char *const artel__image_endings[] = {".jpg", ".jpeg", ".png", ".gif", ".bmp", NULL};

typedef struct images_state {
    artel__image_library library;
    artel__folders folders;
} images_state;

static artel_status images_open(artel__source *source)
{
    static const artel__source_array pixels = {.name = "x",
                                               .role = ARTEL_DATA_ROLE_INPUT,
                                               .dtype = ARTEL_DTYPE_FLOAT32,
                                               .row = {3, {-1, -1, -1}},
                                               .pixels = true};
    images_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    state->folders.endings = artel__image_endings;
    state->folders.noun = "images";
    source->state = state;
    ARTEL_TRY(artel__folders_open(source, &state->folders, &pixels));
    return artel__image_library_open(source->ctx, &state->library);
}

static artel_status undecodable(const artel__source *source, const char *path, const artel__image_why *why)
{
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, path, "replace the image or move it out of the folder", "%s",
                       why->text);
}

static artel_status images_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                 void *out)
{
    const images_state *state = source->state;
    const artel__folder_file *item = state->folders.items[row];
    artel__mapping mapping;
    if (array == 1) {
        memcpy(out, &item->label, sizeof item->label);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__map_file(source->ctx, item->path, &mapping));
    const artel__image_how how = artel__image_how_of(state->library.part, &source->options);
    artel__proto encoded = artel__proto_of(mapping.bytes, mapping.size);
    artel__image_why why = {""};
    artel_status status = artel__image_decode(source->ctx, &how, encoded, row_shape, out, &why);
    if (status == ARTEL_ERROR_CORRUPT) status = undecodable(source, item->path, &why);
    artel__unmap_file(&mapping);
    return status;
}

static artel_status images_hash_row(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    return artel__folders_hash_row(source, &((const images_state *)source->state)->folders, array, row, out);
}

static artel_status images_encoded(const artel__source *source, int array, int64_t row, artel__text *out)
{
    artel__mapping mapping;
    (void)array;
    ARTEL_TRY(artel__map_file(source->ctx, ((const images_state *)source->state)->folders.items[row]->path, &mapping));
    artel__text_append_bytes(out, mapping.bytes, mapping.size);
    artel__unmap_file(&mapping);
    return ARTEL_OK;
}

static artel_status images_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    return artel__folders_fingerprint(source, &((const images_state *)source->state)->folders, hash);
}

static void images_close(artel__source *source)
{
    artel__image_library_close(&((images_state *)source->state)->library);
}

const artel__data_format artel__data_images = {
    .name = "images",
    .syntax = "images:DIR",
    .options = "scale shift size channels interpolation decode skip-errors",
    .reads_ahead = true,
    .open = images_open,
    .fetch_row = images_fetch,
    .hash_row = images_hash_row,
    .encoded_row = images_encoded,
    .fingerprint = images_fingerprint,
    .close = images_close,
};
