/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints: what the identity of a run knows of its data.
 *
 * Content counts, paths do not: the same files in another folder are the same data. Of each file the size and the
 * first and last 64 KiB are hashed, so that a fingerprint of a large set costs milliseconds; a change in the middle
 * of a file of the same size is for content.c. Integers are hashed as 8 little-endian bytes, texts with their length in
 * front.
 */
#include "data/fingerprint.h"

#include <string.h>

#define END_BYTES ((size_t)64 << 10)

void artel__hash_integer(artel__sha256 *hash, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> (8 * i));
    artel__sha256_update(hash, bytes, sizeof bytes);
}

void artel__hash_text(artel__sha256 *hash, const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    artel__hash_integer(hash, text != NULL ? length : UINT64_MAX);
    artel__sha256_update(hash, text != NULL ? text : "", length);
}

void artel__hash_shape(artel__sha256 *hash, const artel_shape *shape)
{
    artel__hash_integer(hash, (uint64_t)shape->rank);
    for (int i = 0; i < shape->rank; i++) artel__hash_integer(hash, (uint64_t)shape->dim[i]);
}

void artel__hash_ends(artel__sha256 *hash, const void *bytes, size_t size)
{
    size_t head = size < END_BYTES ? size : END_BYTES;
    size_t tail = size - head < END_BYTES ? size - head : END_BYTES;
    artel__hash_integer(hash, size);
    if (head > 0) artel__sha256_update(hash, bytes, head);
    if (tail > 0) artel__sha256_update(hash, (const uint8_t *)bytes + size - tail, tail);
}

static void hash_options(artel__sha256 *hash, const artel__data_options *options)
{
    artel__hash_text(hash, options->scale_text);
    artel__hash_text(hash, options->shift_text);
    artel__hash_text(hash, options->size_text);
    artel__hash_text(hash, options->label);
    artel__hash_text(hash, options->columns);
    artel__hash_text(hash, options->delimiter);
    artel__hash_text(hash, options->missing);
    artel__hash_text(hash, options->names);
    artel__hash_integer(hash, (uint64_t)options->channels);
    artel__hash_integer(hash, (uint64_t)options->interpolation);
    artel__hash_integer(hash, (uint64_t)options->header);
    if (options->decode != ARTEL__DATA_EXACT) artel__hash_text(hash, "scaled");
    if (options->stream) {
        artel__hash_text(hash, options->types);
        artel__hash_text(hash, options->defaults);
    }
    if (options->layout != NULL) {
        artel__hash_text(hash, options->layout);
        artel__hash_integer(hash, (uint64_t)options->file_header);
        artel__hash_integer(hash, (uint64_t)options->file_footer);
    }
    if (options->length > 0)
        artel__hash_integer(hash,
                            (uint64_t)options->length << 32 ^ (uint64_t)options->step << 1 ^ (uint64_t)options->tokens);
}

static artel_status hash_source(const artel__source *source, artel__sha256 *hash)
{
    artel__hash_text(hash, source->format->name);
    hash_options(hash, &source->options);
    for (int i = 0; i < source->array_count; i++) {
        const artel__source_array *array = &source->arrays[i];
        artel__hash_text(hash, array->name);
        artel__hash_integer(hash, (uint64_t)array->dtype);
        artel__hash_integer(hash, (uint64_t)array->count);
        artel__hash_shape(hash, &array->row);
    }
    for (int64_t i = 0; source->inner != NULL && i < source->arrays[0].count; i++)
        artel__hash_integer(hash, source->kept[i]);
    if (source->format->fingerprint != NULL) return source->format->fingerprint(source, hash);
    for (const artel__blob *blob = source->blobs; blob != NULL; blob = blob->next) {
        artel__hash_ends(hash, blob->mapping.bytes, blob->mapping.size);
    }
    return ARTEL_OK;
}

artel_status artel__data_fingerprint(const artel_data *data, uint8_t out[32])
{
    artel__sha256 hash;
    const artel__source *first = &data->sources[0];
    if (data->source_count == 1 && first->format->whole_print != NULL && first->format->whole_print(first, out))
        return ARTEL_OK;
    artel__sha256_init(&hash);
    for (int s = 0; s < data->source_count; s++) ARTEL_TRY(hash_source(&data->sources[s], &hash));
    artel__sha256_final(&hash, out);
    return ARTEL_OK;
}
