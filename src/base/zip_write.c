/* SPDX-License-Identifier: Apache-2.0 */
/* Writing zip archives the way Python's zipfile writes `.keras` files: members stored, versions 2.0 (4.5 where zip64
 * is needed), mode 0600, no data descriptors, no extra fields that are not needed.
 *
 * Sizes are known before a member is written, so that nothing has to be patched afterwards and the file can be written
 * front to back through artel__output. The same calls give the same bytes.
 */
#include <string.h>

#include <zlib.h>

#include "base/zip.h"

#define LIMIT32 0xffffffffu

struct artel__zip_entry {
    struct artel__zip_entry *next;
    const char *name;
    uint64_t size, offset;
    uint32_t crc;
};

typedef struct artel__zip_entry entry;

typedef struct record {
    uint8_t bytes[128];
    size_t length;
} record;

static void put(record *r, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) r->bytes[r->length++] = (uint8_t)(value >> (8 * i));
}

static uint64_t capped(uint64_t value)
{
    return value < LIMIT32 ? value : LIMIT32;
}

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text > 0x7f) return false;
    return true;
}

/* The fields that local and central header share, from "version needed" to "length of the name". */
static void put_common(record *r, const artel__zip_writer *writer, const entry *e, bool wide)
{
    put(r, wide ? 45 : 20, 2);
    put(r, is_ascii(e->name) ? 0 : 0x800, 2);
    put(r, 0, 2);
    put(r, writer->time, 2);
    put(r, writer->date, 2);
    put(r, e->crc, 4);
    put(r, capped(e->size), 4);
    put(r, capped(e->size), 4);
    put(r, strlen(e->name), 2);
}

static artel_status write_local(artel__zip_writer *writer, const entry *e)
{
    record r = {.length = 0};
    bool wide = e->size >= LIMIT32;
    put(&r, 0x04034b50, 4);
    put_common(&r, writer, e, wide);
    put(&r, wide ? 20 : 0, 2);
    ARTEL_TRY(artel__output_write(&writer->output, r.bytes, r.length));
    ARTEL_TRY(artel__output_write(&writer->output, e->name, strlen(e->name)));
    if (!wide) return ARTEL_OK;
    record extra = {.length = 0};
    put(&extra, 1, 2);
    put(&extra, 16, 2);
    put(&extra, e->size, 8);
    put(&extra, e->size, 8);
    return artel__output_write(&writer->output, extra.bytes, extra.length);
}

static artel_status write_central(artel__zip_writer *writer, const entry *e)
{
    record r = {.length = 0}, extra = {.length = 0};
    if (e->size >= LIMIT32) {
        put(&extra, e->size, 8);
        put(&extra, e->size, 8);
    }
    if (e->offset >= LIMIT32) put(&extra, e->offset, 8);
    bool wide = extra.length > 0;
    put(&r, 0x02014b50, 4);
    put(&r, wide ? 45 : 20, 1);
    put(&r, 3, 1); /* made on Unix */
    put_common(&r, writer, e, wide);
    put(&r, wide ? extra.length + 4 : 0, 2);
    put(&r, 0, 2);
    put(&r, 0, 2);
    put(&r, 0, 2);
    put(&r, (uint64_t)0600 << 16, 4);
    put(&r, capped(e->offset), 4);
    ARTEL_TRY(artel__output_write(&writer->output, r.bytes, r.length));
    ARTEL_TRY(artel__output_write(&writer->output, e->name, strlen(e->name)));
    if (!wide) return ARTEL_OK;
    record head = {.length = 0};
    put(&head, 1, 2);
    put(&head, extra.length, 2);
    ARTEL_TRY(artel__output_write(&writer->output, head.bytes, head.length));
    return artel__output_write(&writer->output, extra.bytes, extra.length);
}

static void put_end64(record *r, const artel__zip_writer *writer, uint64_t start, uint64_t size)
{
    put(r, 0x06064b50, 4);
    put(r, 44, 8);
    put(r, 45, 2);
    put(r, 45, 2);
    put(r, 0, 8);
    put(r, writer->count, 8);
    put(r, writer->count, 8);
    put(r, size, 8);
    put(r, start, 8);
    put(r, 0x07064b50, 4);
    put(r, 0, 4);
    put(r, start + size, 8);
    put(r, 1, 4);
}

static artel_status write_end(artel__zip_writer *writer, uint64_t start)
{
    record r = {.length = 0};
    uint64_t size = writer->output.written - start;
    if (start >= LIMIT32 || size >= LIMIT32 || writer->count >= 0xffff) put_end64(&r, writer, start, size);
    uint64_t count = writer->count < 0xffff ? writer->count : 0xffff;
    put(&r, 0x06054b50, 4);
    put(&r, 0, 4);
    put(&r, count, 2);
    put(&r, count, 2);
    put(&r, capped(size), 4);
    put(&r, capped(start), 4);
    put(&r, 0, 2);
    return artel__output_write(&writer->output, r.bytes, r.length);
}

artel_status artel__zip_create(artel_context *ctx, const char *path, artel__zip_writer *out)
{
    artel__zip_writer writer = {.date = 0x21};
    ARTEL_TRY(artel__output_open(ctx, path, &writer.output));
    artel__arena_init(&writer.arena, ctx);
    *out = writer;
    return ARTEL_OK;
}

artel_status artel__zip_add(artel__zip_writer *writer, const char *name, const void *bytes, size_t size)
{
    entry *e = artel__arena_alloc(&writer->arena, 1, sizeof *e);
    char *copy = artel__arena_strdup(&writer->arena, name);
    if (!e || !copy) return artel__arena_status(&writer->arena);
    if (strlen(name) > 0xffff)
        return artel__fail(writer->arena.ctx, ARTEL_ERROR_INVALID, writer->output.path, "",
                           "a zip member's name has %zu bytes; 65,535 fit", strlen(name));
    e->name = copy;
    e->size = size;
    e->offset = writer->output.written;
    e->crc = (uint32_t)crc32_z(0, size > 0 ? bytes : (const void *)"", size);
    ARTEL_TRY(write_local(writer, e));
    ARTEL_TRY(artel__output_write(&writer->output, bytes, size));
    if (writer->last)
        writer->last->next = e;
    else
        writer->first = e;
    writer->last = e;
    writer->count++;
    return ARTEL_OK;
}

artel_status artel__zip_commit(artel__zip_writer *writer)
{
    uint64_t start = writer->output.written;
    artel_status status = ARTEL_OK;
    for (const entry *e = writer->first; e && status >= 0; e = e->next) status = write_central(writer, e);
    if (status >= 0) status = write_end(writer, start);
    if (status >= 0)
        status = artel__output_commit(&writer->output);
    else
        artel__output_abandon(&writer->output);
    artel__arena_fini(&writer->arena);
    *writer = (artel__zip_writer){0};
    return status;
}

void artel__zip_abandon(artel__zip_writer *writer)
{
    if (!writer->arena.ctx) return;
    artel__output_abandon(&writer->output);
    artel__arena_fini(&writer->arena);
    *writer = (artel__zip_writer){0};
}
