/* SPDX-License-Identifier: Apache-2.0 */
/* inflate over the members of a file, and copies of its state. */
#include <string.h>

#include "data/unfold_impl.h"

#define MOST_IN ((size_t)1 << 26) /* zlib counts in unsigned int */

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
