/* SPDX-License-Identifier: Apache-2.0 */
/* Files of records, written through a buffer of a mebibyte, compressed on the way where that is wanted. */
#include "data/record_write.h"

#include <string.h>

#include "base/bytes.h"
#include "data/index_file.h"
#include "data/record_file.h"

#define BUFFER ((size_t)1 << 20)

artel_status artel__record_writer_open(artel_context *ctx, const char *path, artel__record_compression compression,
                                       artel__record_writer *out)
{
    memset(out, 0, sizeof *out);
    out->ctx = ctx;
    out->compression = compression;
    artel__sha256_init(&out->hash);
    artel__text_init(&out->pending, ctx);
    if (compression != ARTEL__RECORDS_PLAIN) {
        int bits = compression == ARTEL__RECORDS_GZIP ? 15 + 16 : 15;
        if (deflateInit2(&out->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            return artel__fail_memory(ctx, path, 256 << 10);
        out->begun = true;
    }
    return artel__output_open(ctx, path, &out->output);
}

static artel_status write_out(artel__record_writer *writer, const void *bytes, size_t size)
{
    if (size == 0) return ARTEL_OK;
    artel__sha256_update(&writer->hash, bytes, size);
    return artel__output_write(&writer->output, bytes, size);
}

static artel_status deflate_pending(artel__record_writer *writer, bool last)
{
    uint8_t chunk[16384];
    z_stream *stream = &writer->stream;
    stream->next_in = (z_const Bytef *)writer->pending.data;
    stream->avail_in = (uInt)writer->pending.length;
    do {
        stream->next_out = chunk;
        stream->avail_out = sizeof chunk;
        deflate(stream, last ? Z_FINISH : Z_NO_FLUSH); /* with room for output it cannot fail */
        ARTEL_TRY(write_out(writer, chunk, sizeof chunk - stream->avail_out));
    } while (stream->avail_out == 0);
    return ARTEL_OK;
}

static artel_status flush(artel__record_writer *writer, bool last)
{
    ARTEL_TRY(artel__text_status(&writer->pending));
    ARTEL_TRY(writer->begun ? deflate_pending(writer, last)
                            : write_out(writer, writer->pending.data, writer->pending.length));
    artel__text_clear(&writer->pending);
    return ARTEL_OK;
}

static artel_status note_offset(artel__record_writer *writer)
{
    if (writer->count == writer->room) {
        int64_t room = writer->room > 0 ? writer->room * 2 : 1024;
        ARTEL_TRY(artel__realloc(writer->ctx, (size_t)room * sizeof(uint64_t), writer->output.path, &writer->offsets));
        writer->room = room;
    }
    ((uint64_t *)writer->offsets)[writer->count++] = writer->at;
    return ARTEL_OK;
}

artel_status artel__record_writer_add(artel__record_writer *writer, const void *bytes, size_t size)
{
    uint8_t head[ARTEL__RECORD_HEAD], tail[4];
    if (writer->begun && size > UINT32_MAX - 2 * BUFFER) { /* zlib counts in 32 bits */
        return artel__fail(writer->ctx, ARTEL_ERROR_UNSUPPORTED, writer->output.path, "write it without compression",
                           "a record of %zu bytes cannot be compressed", size);
    }
    ARTEL_TRY(note_offset(writer));
    artel__bytes_put(head, size, 8);
    artel__bytes_put(head + 8, artel__crc32c_mask(artel__crc32c(0, head, 8)), 4);
    artel__bytes_put(tail, artel__crc32c_mask(artel__crc32c(0, bytes, size)), 4);
    artel__text_append_bytes(&writer->pending, head, sizeof head);
    artel__text_append_bytes(&writer->pending, bytes, size);
    artel__text_append_bytes(&writer->pending, tail, sizeof tail);
    writer->at += size + ARTEL__RECORD_FRAME;
    return writer->pending.length < BUFFER ? ARTEL_OK : flush(writer, false);
}

static artel_status write_index(artel__record_writer *writer, const char *path)
{
    artel__mapping mapping;
    ARTEL_TRY(artel__map_file(writer->ctx, path, &mapping));
    artel__record_file file = {
        .path = path, .bytes = mapping.bytes, .size = mapping.size, .offsets = writer->offsets, .count = writer->count};
    artel_status status = artel__record_index_write(writer->ctx, &file);
    artel__unmap_file(&mapping);
    return status;
}

/* An index that an earlier file of this name has left. */
static artel_status drop_index(artel__record_writer *writer, const char *path)
{
    char name[ARTEL__INDEX_NAME];
    return artel__index_find(path, name) ? artel__remove_tree(writer->ctx, name) : ARTEL_OK;
}

artel_status artel__record_writer_commit(artel__record_writer *writer, bool index, char digest[65])
{
    char *path;
    ARTEL_TRY(flush(writer, true));
    ARTEL_TRY(artel__strdup(writer->ctx, writer->output.path, &path));
    artel_status status = artel__output_commit(&writer->output);
    bool plain = writer->compression == ARTEL__RECORDS_PLAIN;
    if (status == ARTEL_OK) status = index && plain ? write_index(writer, path) : drop_index(writer, path);
    if (status == ARTEL_OK) artel__sha256_hex(&writer->hash, digest);
    artel__free(writer->ctx, path);
    return status;
}

void artel__record_writer_close(artel__record_writer *writer)
{
    if (writer->begun) deflateEnd(&writer->stream);
    artel__output_abandon(&writer->output);
    artel__text_fini(&writer->pending);
    artel__free(writer->ctx, writer->offsets);
    memset(writer, 0, sizeof *writer);
}
