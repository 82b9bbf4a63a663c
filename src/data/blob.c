/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a source: mapped, and inflated once when they are gzipped.
 *
 * A gzipped file may consist of several members, one after another, as gzip -c >> writes them. Sizes are known before
 * memory is taken: from the header of the format where there is one, else the copy grows and is held against the ratio
 * that base/zip.h allows, so that a bomb of a few kilobytes cannot fill the machine. The mapping stays open beside
 * the inflated copy (it costs address space only) because the fingerprint looks at the file, not at its content.
 */
#include <string.h>
#include <zlib.h>

#include "data/remote.h"
#include "data/source.h"

static bool is_gzip(const uint8_t *bytes, size_t size)
{
    return size >= 18 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

/* Of a file here, or of the copy of one elsewhere. */
static artel_status map_content(artel_context *ctx, const char *path, artel__mapping *out)
{
    char *copy;
    if (!artel__is_remote(path)) return artel__map_file(ctx, path, out);
    ARTEL_TRY(artel__remote_fetch(ctx, path, &copy));
    artel_status status = artel__map_file(ctx, copy, out);
    artel__free(ctx, copy);
    return status;
}

artel_status artel__blob_open(artel__source *source, const char *path, artel__blob **out)
{
    artel__blob *blob = artel__arena_alloc(&source->arena, 1, sizeof *blob);
    if (blob == NULL) return ARTEL_ERROR_NO_MEMORY;
    blob->path = artel__arena_strdup(&source->arena, path);
    if (blob->path == NULL) return ARTEL_ERROR_NO_MEMORY;
    if (artel__is_directory(path)) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, path, "name a file", "this is a directory; %s reads files",
                           source->format->name);
    }
    ARTEL_TRY(map_content(source->ctx, path, &blob->mapping));
    blob->bytes = blob->mapping.bytes;
    blob->size = blob->mapping.size;
    blob->gzip = is_gzip(blob->bytes, blob->size);

    artel__blob **end = &source->blobs;
    while (*end != NULL) end = &(*end)->next;
    *end = blob;
    *out = blob;
    return ARTEL_OK;
}

/* A stream and what is left of its input. */
typedef struct unpacking {
    z_stream stream;
    const uint8_t *input;
    size_t left;
    const artel_context *ctx; /* unpacking ends with Z_BUF_ERROR when it is cancelled; may be NULL */
} unpacking;

/* Inflates into out[0..size) until it is full or the data ends. Returns Z_OK when it is full, Z_STREAM_END at a clean
 * end, another code of zlib for damage; *out_size counts what came out. */
static int inflate_some(unpacking *u, uint8_t *out, size_t size, size_t *out_size)
{
    z_stream *stream = &u->stream;
    const size_t most = (size_t)1 << 26; /* zlib counts in unsigned int; and then cancelling is looked for */
    int code = Z_OK;
    *out_size = 0;
    while (*out_size < size) {
        if (artel__cancelled(u->ctx)) return Z_BUF_ERROR;
        uInt give = (uInt)(u->left < most ? u->left : most);
        uInt room = (uInt)(size - *out_size < most ? size - *out_size : most);
        stream->next_in = (z_const Bytef *)(uintptr_t)u->input;
        stream->avail_in = give;
        stream->next_out = out + *out_size;
        stream->avail_out = room;
        code = inflate(stream, Z_NO_FLUSH);
        u->input += give - stream->avail_in;
        u->left -= give - stream->avail_in;
        *out_size += room - stream->avail_out;
        if (code == Z_STREAM_END) {
            if (!is_gzip(u->input, u->left)) return Z_STREAM_END;
            if (inflateReset(stream) != Z_OK) return Z_DATA_ERROR;
        } else if (code != Z_OK) {
            return code;
        }
    }
    return Z_OK;
}

static artel_status start(artel__source *source, const artel__blob *blob, unpacking *u)
{
    memset(u, 0, sizeof *u);
    u->ctx = source->ctx;
    u->input = blob->mapping.bytes;
    u->left = blob->mapping.size;
    if (inflateInit2(&u->stream, 15 + 32) == Z_OK) return ARTEL_OK;
    return artel__fail_memory(source->ctx, blob->path, 64u << 10);
}

static artel_status damaged(artel__source *source, const artel__blob *blob, const unpacking *u, int code,
                            size_t reached)
{
    ARTEL_TRY(artel__data_go_on(source->ctx, blob->path));
    const char *why =
        code == Z_BUF_ERROR || code == Z_OK ? "the compressed data ends too early" : "the compressed data is damaged";
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, blob->path, "fetch the file again (gzip -t checks it)",
                       "%s at byte %zu, %zu bytes into the content", why, (size_t)(u->input - blob->mapping.bytes),
                       reached);
}

artel_status artel__blob_peek(artel__source *source, const artel__blob *blob, void *out, size_t size, size_t *out_size)
{
    if (!blob->gzip) {
        *out_size = size < blob->size ? size : blob->size;
        if (*out_size > 0) memcpy(out, blob->bytes, *out_size);
        return ARTEL_OK;
    }
    unpacking u;
    ARTEL_TRY(start(source, blob, &u));
    int code = inflate_some(&u, out, size, out_size);
    inflateEnd(&u.stream);
    return code == Z_OK || code == Z_STREAM_END ? ARTEL_OK : damaged(source, blob, &u, code, *out_size);
}

size_t artel__inflate_prefix(const uint8_t *packed, size_t packed_size, void *out, size_t size)
{
    unpacking u = {.input = packed, .left = packed_size};
    if (inflateInit2(&u.stream, -15) != Z_OK) return 0;
    size_t got = 0;
    inflate_some(&u, out, size, &got);
    inflateEnd(&u.stream);
    return got;
}

/* The largest content this file may unfold to. */
static size_t content_limit(const artel__blob *blob)
{
    uint64_t limit = artel__unfold_limit(blob->mapping.size);
    return limit < SIZE_MAX / 2 ? (size_t)limit : SIZE_MAX / 2;
}

/* Room for the content grows with what has come of it, whatever a header promises: `most` bytes of it in the end. */
static artel_status inflate_most(artel__source *source, artel__blob *blob, unpacking *u, size_t most, size_t *out_size,
                                 int *code)
{
    size_t capacity = 0, got;
    *out_size = 0;
    for (*code = Z_OK; *code == Z_OK && *out_size < most; *out_size += got) {
        capacity = capacity == 0 ? blob->mapping.size * 4 + 4096 : capacity * 2;
        if (capacity > most) capacity = most;
        ARTEL_TRY(artel__realloc(source->ctx, capacity, blob->path, &blob->inflated));
        *code = inflate_some(u, (uint8_t *)blob->inflated + *out_size, capacity - *out_size, &got);
    }
    return *code == Z_OK || *code == Z_STREAM_END ? ARTEL_OK : damaged(source, blob, u, *code, *out_size);
}

static artel_status inflate_known(artel__source *source, artel__blob *blob, unpacking *u, size_t size)
{
    size_t got, more = 0;
    uint8_t spare;
    int code;
    ARTEL_TRY(inflate_most(source, blob, u, size, &got, &code));
    if (code == Z_OK) code = inflate_some(u, &spare, 1, &more);
    if (code != Z_STREAM_END && code != Z_OK) return damaged(source, blob, u, code, got);
    if (got == size && more == 0) return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, blob->path, "fetch the file again",
                       "the content has %s%zu bytes (expected %zu)", more > 0 ? "more than " : "", got, size);
}

static artel_status inflate_unknown(artel__source *source, artel__blob *blob, unpacking *u, size_t *out_size)
{
    size_t limit = content_limit(blob);
    int code;
    ARTEL_TRY(inflate_most(source, blob, u, limit + 1, out_size, &code));
    if (code == Z_STREAM_END && *out_size <= limit) return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, blob->path,
                       "uncompress the file first if it is meant to be this large",
                       "%zu compressed bytes unfold to more than %zu bytes, at byte %zu", blob->mapping.size, limit,
                       (size_t)(u->input - blob->mapping.bytes));
}

artel_status artel__blob_inflate(artel__source *source, artel__blob *blob, size_t size)
{
    if (!blob->gzip) return ARTEL_OK;
    if (size > content_limit(blob)) {
        return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, blob->path,
                           "fetch the file again; uncompress it if it is meant to be this large",
                           "the header promises %zu bytes, more than %zu compressed bytes may hold", size,
                           blob->mapping.size);
    }
    unpacking u;
    ARTEL_TRY(start(source, blob, &u));
    artel_status status = size > 0 ? inflate_known(source, blob, &u, size) : inflate_unknown(source, blob, &u, &size);
    inflateEnd(&u.stream);
    if (status < 0) {
        artel__free(source->ctx, blob->inflated);
        blob->inflated = NULL;
        return status;
    }
    blob->bytes = blob->inflated;
    blob->size = size;
    blob->gzip = false;
    return ARTEL_OK;
}

artel_status artel__blob_unfold(artel__source *source, const artel__blob *blob, artel__unfold **out)
{
    if (source->unfold == NULL) ARTEL_TRY(artel__unfold_pool_create(source->ctx, &source->unfold));
    return artel__unfold_add(source->unfold, blob->path, blob->mapping.bytes, blob->mapping.size, out);
}
