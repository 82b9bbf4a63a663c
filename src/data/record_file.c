/* SPDX-License-Identifier: Apache-2.0 */
/* Walking TFRecord files, finding their records, reading one.
 *
 * Where a file is plain, its records are used where they are mapped; of a compressed one they are copied. Walking reads
 * 12 bytes a record; the offsets found take eight. After a length whose checksum is wrong nothing is known of what
 * follows, so that the rest of the file is damage; resynchronising tries each byte until 12 of them check, which chance
 * does once in four billion.
 */
#include "data/record_file.h"

#include <string.h>

#include "base/bytes.h"
#include "base/foreign.h"
#include "data/index_file.h"

#define RESYNC_LOOK 65536 /* bytes from one look at cancellation to the next */
#define WINDOW 16384      /* of a compressed file, read together */

const char *artel__record_fault_text(artel__record_fault fault)
{
    switch (fault) {
    case ARTEL__RECORD_SHORT: return "the file is cut off within it";
    case ARTEL__RECORD_BAD_LENGTH: return "the checksum of its length is wrong";
    case ARTEL__RECORD_BAD_PAYLOAD: return "the checksum of its content is wrong";
    case ARTEL__RECORD_GOOD:
    case ARTEL__RECORD_FAILED:
    case ARTEL__RECORD_END: break;
    }
    return "whole";
}

/* Whether a length with the right checksum stands at `at`, of which 12 bytes are there. */
static bool is_head(const uint8_t *at)
{
    return artel__crc32c_mask(artel__crc32c(0, at, 8)) == (uint32_t)artel__bytes_get(at + 8, 4);
}

/* ---- compressed files ---- */

static artel__record_fault failed(artel__record_walk *walk, artel_status status)
{
    walk->status = status;
    return ARTEL__RECORD_FAILED;
}

/* The masked checksum of `length` bytes from `at` on; false where there are fewer. */
static artel_status sum_payload(const artel__record_walk *walk, uint64_t at, uint64_t length, uint32_t *out,
                                bool *whole)
{
    uint8_t piece[WINDOW];
    uint32_t sum = 0;
    size_t got;
    for (*whole = true; length > 0 && *whole; length -= got, at += got) {
        size_t size = length < sizeof piece ? (size_t)length : sizeof piece;
        ARTEL_TRY(artel__unfold_read(walk->unfold, at, piece, size, &got));
        *whole = got == size;
        sum = artel__crc32c(sum, piece, got);
    }
    *out = artel__crc32c_mask(sum);
    return ARTEL_OK;
}

/* Reads the length of a record, and so much of its end that it is known to be there. */
static artel__record_fault step_unfolded(artel__record_walk *walk, bool verify, artel__proto *payload)
{
    uint8_t head[ARTEL__RECORD_HEAD], foot[ARTEL__RECORD_FRAME - ARTEL__RECORD_HEAD];
    uint32_t sum = 0;
    size_t got;
    bool whole = true;
    artel_status status = artel__unfold_read(walk->unfold, walk->at, head, sizeof head, &got);
    if (status < 0) return failed(walk, status);
    if (got == 0) walk->size = walk->at;
    if (got < sizeof head) return got == 0 ? ARTEL__RECORD_END : ARTEL__RECORD_SHORT;
    if (!is_head(head)) return ARTEL__RECORD_BAD_LENGTH;
    uint64_t length = artel__bytes_get(head, 8), begin = walk->at + sizeof head;
    if (length > INT64_MAX || begin + length > artel__unfold_most(walk->unfold)) return ARTEL__RECORD_SHORT;
    if (verify) status = sum_payload(walk, begin, length, &sum, &whole);
    if (status < 0) return failed(walk, status);
    if (whole) status = artel__unfold_read(walk->unfold, begin + length, foot, sizeof foot, &got);
    if (status < 0) return failed(walk, status);
    if (!whole || got < sizeof foot) return ARTEL__RECORD_SHORT;
    *payload = artel__proto_of(NULL, 0);
    walk->at += (size_t)length + ARTEL__RECORD_FRAME;
    return !verify || sum == (uint32_t)artel__bytes_get(foot, 4) ? ARTEL__RECORD_GOOD : ARTEL__RECORD_BAD_PAYLOAD;
}

static bool resync_unfolded(artel__record_walk *walk)
{
    uint8_t window[WINDOW];
    uint64_t size;
    size_t got, tried;
    walk->status = artel__unfold_size(walk->unfold, &size);
    if (walk->status < 0) return false;
    walk->size = (size_t)size;
    for (uint64_t at = walk->at + 1; at <= size && size - at >= ARTEL__RECORD_FRAME && !artel__cancelled(walk->ctx);
         at += tried) {
        size_t there = size - at < sizeof window ? (size_t)(size - at) : sizeof window;
        walk->status = artel__unfold_read(walk->unfold, at, window, there, &got);
        if (walk->status < 0) return false;
        for (tried = 0; tried + ARTEL__RECORD_HEAD <= got; tried++) {
            if (size - at - tried < ARTEL__RECORD_FRAME) break;
            if (artel__bytes_get(window + tried, 8) > size - at - tried - ARTEL__RECORD_FRAME ||
                !is_head(window + tried))
                continue;
            walk->at = (size_t)at + tried;
            return true;
        }
    }
    walk->at = walk->size;
    return false;
}

/* ---- walking ---- */

artel__record_fault artel__record_step(artel__record_walk *walk, bool verify, artel__proto *payload)
{
    if (walk->unfold != NULL) return step_unfolded(walk, verify, payload);
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
    if (walk->unfold != NULL) return resync_unfolded(walk);
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
    out->path = out->blob->path;
    if (out->compressed) return artel__blob_unfold(source, out->blob, &out->unfold);
    out->bytes = out->blob->bytes;
    out->size = out->blob->size;
    return ARTEL_OK;
}

artel__record_walk artel__record_file_walk(const artel__record_file *file, const artel_context *ctx)
{
    return (artel__record_walk){.bytes = file->bytes, .size = file->size, .ctx = ctx, .unfold = file->unfold};
}

static artel_status damaged(artel_context *ctx, const artel__record_file *file, int64_t record, size_t at,
                            artel__record_fault fault)
{
    bool begins = at == 0 && file->bytes && fault != ARTEL__RECORD_BAD_PAYLOAD;
    if (begins) ARTEL_TRY(artel__check_foreign(ctx, file->path, file->bytes, file->size));
    return artel__fail(
        ctx, ARTEL_ERROR_CORRUPT, file->path,
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

/* A record that is to be left out: whether others may follow. */
static artel_status leave_out(artel_context *ctx, const artel__record_file *file, artel__record_walk *walk, size_t at,
                              artel__record_fault fault, bool *go_on)
{
    const char *what = fault == ARTEL__RECORD_FAILED ? artel_context_error(ctx)->what : artel__record_fault_text(fault);
    artel__log(ctx, ARTEL_LOG_NOTE, "%s: record %lld at byte %zu is left out: %s", file->path, (long long)file->count,
               at, what);
    if (fault == ARTEL__RECORD_FAILED) artel__operation_begin(ctx);
    *go_on = fault == ARTEL__RECORD_BAD_PAYLOAD || (fault != ARTEL__RECORD_FAILED && artel__record_resync(walk));
    return fault != ARTEL__RECORD_FAILED && walk->status < 0 ? walk->status : ARTEL_OK;
}

artel_status artel__record_file_find(artel_context *ctx, artel__record_file *file, int64_t *skip)
{
    artel__record_walk walk = artel__record_file_walk(file, ctx);
    artel__proto payload;
    size_t capacity = 0;
    if (skip == NULL && !file->compressed && artel__record_index_read(ctx, file)) return ARTEL_OK;
    for (bool go_on = true; go_on;) {
        size_t at = walk.at;
        ARTEL_TRY(artel__data_go_on(ctx, file->path));
        artel__record_fault fault = artel__record_step(&walk, skip != NULL, &payload);
        if (fault == ARTEL__RECORD_END) break;
        if (fault == ARTEL__RECORD_GOOD) {
            ARTEL_TRY(add_offset(ctx, file, &capacity, at));
            continue;
        }
        bool failed_read = fault == ARTEL__RECORD_FAILED;
        if (failed_read && (skip == NULL || *skip == 0 || walk.status != ARTEL_ERROR_CORRUPT)) return walk.status;
        if (skip == NULL || *skip == 0) return damaged(ctx, file, file->count, at, fault);
        ARTEL_TRY(leave_out(ctx, file, &walk, at, fault, &go_on));
        *skip -= 1;
    }
    uint64_t size = file->size;
    if (file->unfold) ARTEL_TRY(artel__unfold_size(file->unfold, &size));
    file->offsets = file->found;
    file->size = (size_t)size;
    return artel__data_go_on(ctx, file->path); /* resynchronising may have been broken off */
}

void artel__record_file_close(artel_context *ctx, artel__record_file *file)
{
    artel__free(ctx, file->found);
    if (file->index.bytes != NULL) artel__unmap_file(&file->index);
}

/* The record as a walk over what was read of it. */
static artel_status unfold_record(const artel__record_file *file, uint64_t at, artel__unfold_room *room,
                                  artel__record_walk *out)
{
    size_t got, size = ARTEL__RECORD_HEAD;
    ARTEL_TRY(artel__unfold_into(file->unfold, at, size, room, &got));
    uint64_t length = got == size && is_head(room->bytes) ? artel__bytes_get(room->bytes, 8) : 0;
    if (length <= file->size - at) size = (size_t)length + ARTEL__RECORD_FRAME;
    ARTEL_TRY(artel__unfold_into(file->unfold, at, size, room, &got));
    *out = (artel__record_walk){.bytes = room->bytes, .size = got};
    return ARTEL_OK;
}

artel_status artel__record_file_at(artel_context *ctx, const artel__record_file *file, int64_t row,
                                   artel__unfold_room *room, artel__proto *out)
{
    if (file->absent)
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, file->path, artel__index_advice,
                           "record %lld is wanted, and only the file's index is on this machine", (long long)row);
    uint64_t at = file->offsets[row];
    if (file->pages != NULL)
        artel__pages_want(file->pages, at, (row + 1 < file->count ? file->offsets[row + 1] : file->size) - at);
    artel__record_walk walk = {
        .bytes = file->bytes, .size = file->size, .at = at < file->size ? (size_t)at : file->size};
    if (file->unfold != NULL) ARTEL_TRY(unfold_record(file, at, room, &walk));
    artel__record_fault fault = artel__record_step(&walk, true, out);
    return fault == ARTEL__RECORD_GOOD
               ? ARTEL_OK
               : damaged(ctx, file, row, (size_t)at, fault == ARTEL__RECORD_END ? ARTEL__RECORD_SHORT : fault);
}
