/* SPDX-License-Identifier: Apache-2.0 */
/* Walking TFRecord files, finding their records, reading one.
 *
 * Where a file is plain, its records are used where they are mapped. Walking reads 12 bytes a record; the offsets found take eight.
 * After a length whose checksum is wrong nothing is known of what follows, so that the rest of the file is damage; resynchronising
 * tries each byte until 12 of them check, which chance does once in four billion.
 */
#include "data/record_file.h"

#include <string.h>

#include "base/bytes.h"

#define RESYNC_LOOK 65536 /* bytes from one look at cancellation to the next */

const char *artel__record_fault_text(artel__record_fault fault)
{
    switch (fault) {
    case ARTEL__RECORD_SHORT: return "the file is cut off within it";
    case ARTEL__RECORD_BAD_LENGTH: return "the checksum of its length is wrong";
    case ARTEL__RECORD_BAD_PAYLOAD: return "the checksum of its content is wrong";
    case ARTEL__RECORD_GOOD:
    case ARTEL__RECORD_END: break;
    }
    return "whole";
}

/* Whether a length with the right checksum stands at `at`, of which 12 bytes are there. */
static bool is_head(const uint8_t *at)
{
    return artel__crc32c_mask(artel__crc32c(0, at, 8)) == (uint32_t)artel__bytes_get(at + 8, 4);
}

artel__record_fault artel__record_step(artel__record_walk *walk, bool verify, artel__proto *payload)
{
    size_t left = walk->size - walk->at;
    if (left == 0) return ARTEL__RECORD_END; /* an empty file has no bytes to point to */
    const uint8_t *at = walk->bytes + walk->at;
    if (left < ARTEL__RECORD_HEAD) return ARTEL__RECORD_SHORT;
    if (!is_head(at)) return ARTEL__RECORD_BAD_LENGTH;
    uint64_t length = artel__bytes_get(at, 8);
    if (left < ARTEL__RECORD_FRAME || length > left - ARTEL__RECORD_FRAME) return ARTEL__RECORD_SHORT;
    *payload = artel__proto_of(at + ARTEL__RECORD_HEAD, (size_t)length);
    walk->at += (size_t)length + ARTEL__RECORD_FRAME;
    if (!verify) return ARTEL__RECORD_GOOD;
    uint32_t sum = artel__crc32c_mask(artel__crc32c(0, payload->at, (size_t)length));
    return sum == (uint32_t)artel__bytes_get(payload->end, 4) ? ARTEL__RECORD_GOOD : ARTEL__RECORD_BAD_PAYLOAD;
}

bool artel__record_resync(artel__record_walk *walk)
{
    for (size_t at = walk->at + 1; at <= walk->size && walk->size - at >= ARTEL__RECORD_FRAME; at++) {
        if (at % RESYNC_LOOK == 0 && artel__cancelled(walk->ctx)) break;
        const uint8_t *head = walk->bytes + at;
        if (artel__bytes_get(head, 8) > walk->size - at - ARTEL__RECORD_FRAME || !is_head(head)) continue;
        walk->at = at;
        return true;
    }
    walk->at = walk->size;
    return false;
}

/* By the first bytes; a length of records may look like the beginning of a stream, but then its checksum is right. */
static bool is_compressed(const uint8_t *bytes, size_t size)
{
    if (size < 2 || (size >= ARTEL__RECORD_FRAME && is_head(bytes))) return false;
    bool gzip = bytes[0] == 0x1f && bytes[1] == 0x8b;
    bool zlib = (bytes[0] & 15) == 8 && bytes[0] >> 4 <= 7 && (bytes[0] * 256 + bytes[1]) % 31 == 0 && !(bytes[1] & 32);
    return gzip || zlib;
}

artel_status artel__record_file_map(artel__source *source, const char *path, artel__record_file *out)
{
    memset(out, 0, sizeof *out);
    ARTEL_TRY(artel__blob_open(source, path, &out->blob));
    out->compressed = is_compressed(out->blob->bytes, out->blob->size);
    out->blob->gzip = out->compressed;
    ARTEL_TRY(artel__blob_inflate(source, out->blob, 0));
    out->path = out->blob->path;
    out->bytes = out->blob->bytes;
    out->size = out->blob->size;
    return ARTEL_OK;
}

static artel_status damaged(artel_context *ctx, const artel__record_file *file, int64_t record, size_t at, artel__record_fault fault)
{
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, file->path,
                       "fetch or make the file again; #skip-errors=N leaves out up to N damaged records; artel data verify lists them",
                       "record %lld (counted from 0) at byte %zu%s: %s", (long long)record, at,
                       file->compressed ? " of what it unfolds to" : "", artel__record_fault_text(fault));
}

static artel_status add_offset(artel_context *ctx, artel__record_file *file, size_t *capacity, uint64_t offset)
{
    if ((size_t)file->count == *capacity) {
        size_t wanted = *capacity > 0 ? *capacity * 2 : 512;
        ARTEL_TRY(artel__realloc(ctx, wanted * sizeof(uint64_t), file->path, &file->found));
        *capacity = wanted;
    }
    ((uint64_t *)file->found)[file->count++] = offset;
    return ARTEL_OK;
}

artel_status artel__record_file_find(artel_context *ctx, artel__record_file *file, int64_t *skip)
{
    artel__record_walk walk = {file->bytes, file->size, 0, ctx};
    artel__proto payload;
    size_t capacity = 0;
    if (skip == NULL && !file->compressed && artel__record_index_read(ctx, file)) return ARTEL_OK;
    for (;;) {
        size_t at = walk.at;
        ARTEL_TRY(artel__data_go_on(ctx, file->path));
        artel__record_fault fault = artel__record_step(&walk, skip != NULL, &payload);
        if (fault == ARTEL__RECORD_END) break;
        if (fault == ARTEL__RECORD_GOOD) {
            ARTEL_TRY(add_offset(ctx, file, &capacity, at));
            continue;
        }
        if (skip == NULL || *skip == 0) return damaged(ctx, file, file->count, at, fault);
        artel__log(ctx, ARTEL_LOG_NOTE, "%s: record %lld at byte %zu is left out: %s", file->path, (long long)file->count, at,
                   artel__record_fault_text(fault));
        *skip -= 1;
        if (fault != ARTEL__RECORD_BAD_PAYLOAD && !artel__record_resync(&walk)) break;
    }
    file->offsets = file->found;
    return artel__data_go_on(ctx, file->path); /* resynchronising may have been broken off */
}

void artel__record_file_close(artel_context *ctx, artel__record_file *file)
{
    artel__free(ctx, file->found);
    if (file->index.bytes != NULL) artel__unmap_file(&file->index);
}

artel_status artel__record_file_at(artel_context *ctx, const artel__record_file *file, int64_t row, artel__proto *out)
{
    if (file->absent)
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, file->path, "fetch it, or train where it is: fit --auto-shard file",
                           "record %lld is wanted, and only the file's index is on this machine", (long long)row);
    uint64_t at = file->offsets[row];
    if (file->pages != NULL) artel__pages_want(file->pages, at, (row + 1 < file->count ? file->offsets[row + 1] : file->size) - at);
    artel__record_walk walk = {file->bytes, file->size, at < file->size ? (size_t)at : file->size, NULL};
    artel__record_fault fault = artel__record_step(&walk, true, out);
    return fault == ARTEL__RECORD_GOOD ? ARTEL_OK
                                       : damaged(ctx, file, row, (size_t)at, fault == ARTEL__RECORD_END ? ARTEL__RECORD_SHORT : fault);
}
