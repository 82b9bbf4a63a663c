/* SPDX-License-Identifier: Apache-2.0 */
/* inflate over the members of a file, copies of its state, and a pass over the content without any. */
#include <string.h>

#include "base/zip.h"
#include "data/unfold_impl.h"

#define MOST_IN ((size_t)1 << 26)  /* zlib counts in unsigned int */
#define MOST_OUT ((size_t)1 << 20) /* of a pass, until it is looked whether it is cancelled */

uint64_t artel__unfold_limit(uint64_t packed)
{
    if (packed > UINT64_MAX / 2048) return UINT64_MAX / 2;
    uint64_t limit = packed * ARTEL__ZIP_MAX_RATIO, possible = packed * 1032 + 1024; /* no deflate stream gives more */
    if (limit < ARTEL__ZIP_FREE_SIZE) limit = ARTEL__ZIP_FREE_SIZE;
    return limit < possible ? limit : possible;
}

static voidpf take(voidpf ctx, uInt count, uInt size)
{
    void *out;
    return artel__calloc(ctx, count, size, "inflate", &out) == ARTEL_OK ? out : NULL;
}

static void give(voidpf ctx, voidpf block)
{
    artel__free(ctx, block);
}

artel_status artel__inflater_start(artel_context *ctx, const char *path, artel__inflater *out)
{
    *out = (artel__inflater){.stream = {.zalloc = take, .zfree = give, .opaque = ctx}};
    if (inflateInit2(&out->stream, 15 + 32) != Z_OK) return artel__fail_memory(ctx, path, STATE_BYTES);
    out->live = true;
    return ARTEL_OK;
}

artel_status artel__inflater_copy(artel_context *ctx, const char *path, const artel__inflater *from,
                                  artel__inflater *out)
{
    *out = (artel__inflater){.ended = from->ended, .in = from->in, .at = from->at};
    if (inflateCopy(&out->stream, (z_streamp)(uintptr_t)&from->stream) != Z_OK)
        return artel__fail_memory(ctx, path, STATE_BYTES);
    out->live = true;
    return ARTEL_OK;
}

void artel__inflater_end(artel__inflater *inflater)
{
    if (inflater->live) inflateEnd(&inflater->stream);
    inflater->live = false;
}

/* Whether another member follows. What is cut off within its header is none that is whole, and inflate says so. */
static bool is_member(const uint8_t *bytes, size_t size)
{
    return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

int artel__inflater_read(const artel__unfold *file, artel__inflater *f, uint8_t *out, size_t size, size_t *got)
{
    z_stream *stream = &f->stream;
    int code = Z_OK;
    *got = 0;
    while (*got < size && code == Z_OK) {
        size_t left = file->packed_size - f->in;
        uInt in = (uInt)(left < MOST_IN ? left : MOST_IN), room = (uInt)(size - *got);
        if (f->ended) return Z_STREAM_END;
        stream->next_in = (z_const Bytef *)(uintptr_t)(file->packed + f->in);
        stream->avail_in = in;
        stream->next_out = out + *got;
        stream->avail_out = room;
        code = inflate(stream, Z_NO_FLUSH);
        f->in += in - stream->avail_in;
        f->at += room - stream->avail_out;
        *got += room - stream->avail_out;
        if (code != Z_STREAM_END) continue;
        f->ended =
            !is_member(file->packed, file->packed_size) || !is_member(file->packed + f->in, file->packed_size - f->in);
        if (!f->ended) code = inflateReset(stream);
    }
    return code;
}

artel_status artel__unfold_damaged(artel_context *ctx, const artel__unfold *file)
{
    if (file->damage == Z_MEM_ERROR) return artel__fail_memory(ctx, file->path, STATE_BYTES);
    if (file->damage == Z_VERSION_ERROR)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, file->path,
                           "uncompress the file first if it is meant to be this large",
                           "%zu compressed bytes unfold to more than %llu bytes, at byte %zu", file->packed_size,
                           (unsigned long long)artel__unfold_limit(file->packed_size), file->damage_in);
    const char *why =
        file->damage == Z_BUF_ERROR ? "the compressed data ends too early" : "the compressed data is damaged";
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, file->path, "fetch the file again (gzip -t checks it)",
                       "%s at byte %zu, %llu bytes into the content", why, file->damage_in,
                       (unsigned long long)file->size);
}

/* ---- a pass ---- */

struct artel__unfold_pass {
    artel_context *ctx;
    artel__unfold file; /* of no pool */
    artel__inflater inflater;
};

artel_status artel__unfold_pass_create(artel_context *ctx, const char *path, const uint8_t *packed, size_t size,
                                       artel__unfold_pass **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__unfold_pass), path, &block));
    artel__unfold_pass *pass = block;
    pass->ctx = ctx;
    pass->file = (artel__unfold){.path = path, .packed = packed, .packed_size = size};
    artel_status status = artel__inflater_start(ctx, path, &pass->inflater);
    if (status < 0)
        artel__free(ctx, pass);
    else
        *out = pass;
    return status;
}

void artel__unfold_pass_destroy(artel__unfold_pass *pass)
{
    if (!pass) return;
    artel__inflater_end(&pass->inflater);
    artel__free(pass->ctx, pass);
}

artel_status artel__unfold_pass_read(artel__unfold_pass *pass, void *out, size_t size, size_t *got)
{
    artel__unfold *file = &pass->file;
    artel__inflater *f = &pass->inflater;
    *got = 0;
    while (*got < size && !f->ended) {
        size_t piece = size - *got < MOST_OUT ? size - *got : MOST_OUT, more;
        if (artel__cancelled(pass->ctx))
            return artel__fail(pass->ctx, ARTEL_ERROR_CANCELLED, file->path, "", "reading was cancelled");
        int code = artel__inflater_read(file, f, (uint8_t *)out + *got, piece, &more);
        *got += more;
        if (f->at > artel__unfold_limit(file->packed_size)) code = Z_VERSION_ERROR;
        if (code == Z_OK || code == Z_STREAM_END) continue;
        file->damage = code;
        file->damage_in = f->in;
        file->size = f->at;
        return artel__unfold_damaged(pass->ctx, file);
    }
    return ARTEL_OK;
}
