/* SPDX-License-Identifier: Apache-2.0 */
/* Reading zip archives; see zip.h for what is promised.
 *
 * The central directory is the authority, as for Python's zipfile; the local headers must not contradict it. The whole
 * structure is checked when the archive is opened, so that extracting a member only has to check its content.
 * zlib inflates; everything else is here, because an archive library costs more at start than these lines.
 */
#include "base/zip.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/foreign.h"
#include "base/text.h"

#define END_SIZE 22u
#define END64_SIZE 56u
#define LOCATOR_SIZE 20u
#define CENTRAL_SIZE 46u
#define LOCAL_SIZE 30u
#define MEMBERS_MAX 1000000u
#define NAME_MAX_BYTES 4096u

#define DAMAGED "the file is damaged or incomplete; copy or download it again, or save it again"

typedef struct directory {
    uint64_t offset, size, count;
    uint64_t prefix; /* bytes in front of the archive, which its offsets do not count */
} directory;

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
    return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

static bool fits(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

static artel_status damaged(const artel__zip *zip, const char *what)
{
    return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED, "%s", what);
}

/* The end record lies in the last 64 KiB, before a comment that fills the rest. */
static bool find_end(const artel__zip *zip, uint64_t *out)
{
    if (zip->size < END_SIZE) return false;
    uint64_t lowest = zip->size > END_SIZE + 0xffff ? zip->size - END_SIZE - 0xffff : 0;
    for (uint64_t at = zip->size - END_SIZE + 1; at-- > lowest;) {
        const uint8_t *p = zip->bytes + at;
        if (get32(p) == 0x06054b50 && get16(p + 20) <= zip->size - at - END_SIZE) {
            *out = at;
            return true;
        }
    }
    return false;
}

/* Replaces the fields of the end record by those of the zip64 end record in front of it, when there is one. */
static artel_status read_end64(const artel__zip *zip, uint64_t end, directory *dir, uint64_t *directory_end)
{
    if (end < LOCATOR_SIZE || get32(zip->bytes + end - LOCATOR_SIZE) != 0x07064b50) return ARTEL_OK;
    if (end < LOCATOR_SIZE + END64_SIZE) return damaged(zip, "the zip64 end record lies outside the file");
    uint64_t at = end - LOCATOR_SIZE - END64_SIZE;
    const uint8_t *p = zip->bytes + at;
    if (get32(p) != 0x06064b50) return damaged(zip, "the zip64 end record is missing");
    if (get32(p + 16) != 0 || get32(p + 20) != 0 || get64(p + 24) != get64(p + 32))
        return artel__fail(zip->ctx, ARTEL_ERROR_UNSUPPORTED, zip->where, "join the parts first",
                           "the archive is split over several files");
    *dir = (directory){.count = get64(p + 32), .size = get64(p + 40), .offset = get64(p + 48)};
    *directory_end = at;
    return ARTEL_OK;
}

static artel_status read_end(const artel__zip *zip, directory *dir)
{
    uint64_t end;
    bool found = find_end(zip, &end), begins = zip->size >= 2 && memcmp(zip->bytes, "PK", 2) == 0;
    if (!found && !begins) ARTEL_TRY(artel__check_foreign(zip->ctx, zip->where, zip->bytes, (size_t)zip->size));
    if (zip->size == 0) return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED, "the file is empty");
    if (!found)
        return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED,
                           "not a zip archive, or cut short: no end record in %llu bytes",
                           (unsigned long long)zip->size);
    const uint8_t *p = zip->bytes + end;
    *dir = (directory){.count = get16(p + 10), .size = get32(p + 12), .offset = get32(p + 16)};
    uint64_t directory_end = end;
    if (get16(p + 4) != 0xffff && (get16(p + 4) != 0 || get16(p + 6) != 0))
        return artel__fail(zip->ctx, ARTEL_ERROR_UNSUPPORTED, zip->where, "join the parts first",
                           "the archive is split over several files");
    ARTEL_TRY(read_end64(zip, end, dir, &directory_end));
    if (dir->size > directory_end || dir->offset > directory_end - dir->size)
        return damaged(zip, "the zip directory lies outside the file");
    dir->prefix = directory_end - dir->size - dir->offset;
    if (dir->count > MEMBERS_MAX || dir->count > dir->size / CENTRAL_SIZE)
        return damaged(zip, "the zip directory declares more members than it can hold");
    return ARTEL_OK;
}

/* Sizes and offset that did not fit 32 bits follow in extra field 1, in this order, only those that overflowed. */
static bool read_extra64(const uint8_t *extra, size_t length, artel__zip_member *m)
{
    for (size_t at = 0; length - at >= 4;) {
        size_t field = get16(extra + at + 2);
        if (field > length - at - 4) return false;
        if (get16(extra + at) == 1) {
            const uint8_t *p = extra + at + 4, *end = p + field;
            uint64_t *targets[] = {&m->size, &m->stored_size, &m->header_offset};
            for (size_t i = 0; i < ARTEL__COUNT(targets); i++) {
                if (*targets[i] != 0xffffffff) continue;
                if (end - p < 8) return false;
                *targets[i] = get64(p);
                p += 8;
            }
            return true;
        }
        at += 4 + field;
    }
    return true;
}

static artel_status check_local(artel__zip *zip, const directory *dir, artel__zip_member *m, size_t name_length)
{
    uint64_t limit = dir->offset + dir->prefix;
    if (m->header_offset > limit) return damaged(zip, "a member of the zip archive lies outside the file");
    m->header_offset += dir->prefix;
    if (!fits(m->header_offset, LOCAL_SIZE, limit))
        return damaged(zip, "a member of the zip archive lies outside the file");
    const uint8_t *p = zip->bytes + m->header_offset;
    uint64_t head = (uint64_t)LOCAL_SIZE + get16(p + 26) + get16(p + 28);
    if (get32(p) != 0x04034b50 || get16(p + 26) != name_length || !fits(m->header_offset, head, limit) ||
        memcmp(p + LOCAL_SIZE, m->name, name_length) != 0 || get16(p + 8) != m->method)
        return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED,
                           "the two headers of the zip member %s disagree", m->name);
    bool described_later = get16(p + 6) & 8;
    bool wide = get32(p + 18) == 0xffffffff || get32(p + 22) == 0xffffffff;
    if (!described_later &&
        (get32(p + 14) != m->crc || (!wide && (get32(p + 18) != m->stored_size || get32(p + 22) != m->size))))
        return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED,
                           "the two headers of the zip member %s disagree", m->name);
    m->data_offset = m->header_offset + head;
    if (!fits(m->data_offset, m->stored_size, limit))
        return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED,
                           "the zip member %s lies outside the file", m->name);
    return ARTEL_OK;
}

/* Reads the entry at *at and moves on. */
static artel_status read_member(artel__zip *zip, const directory *dir, uint64_t *at, artel__zip_member *m)
{
    uint64_t end = dir->offset + dir->prefix + dir->size;
    const uint8_t *p = zip->bytes + *at;
    if (!fits(*at, CENTRAL_SIZE, end) || get32(p) != 0x02014b50) return damaged(zip, "the zip directory is damaged");
    size_t name_length = get16(p + 28), extra_length = get16(p + 30);
    uint64_t length = (uint64_t)CENTRAL_SIZE + name_length + extra_length + get16(p + 32);
    if (!fits(*at, length, end)) return damaged(zip, "the zip directory is damaged");
    const uint8_t *name = p + CENTRAL_SIZE;
    if (name_length == 0 || name_length > NAME_MAX_BYTES || memchr(name, 0, name_length))
        return damaged(zip, "the zip directory holds a name that cannot be");
    char *copy = artel__arena_alloc(&zip->arena, 1, name_length + 1);
    if (!copy) return artel__arena_status(&zip->arena);
    memcpy(copy, name, name_length);
    *m = (artel__zip_member){.name = copy,
                             .method = get16(p + 10),
                             .crc = get32(p + 16),
                             .stored_size = get32(p + 20),
                             .size = get32(p + 24),
                             .header_offset = get32(p + 42)};
    if (get16(p + 8) & 1)
        return artel__fail(zip->ctx, ARTEL_ERROR_UNSUPPORTED, zip->where, "save it without a password",
                           "the zip member %s is encrypted", m->name);
    if (!read_extra64(name + name_length, extra_length, m)) return damaged(zip, "the zip directory is damaged");
    *at += length;
    return check_local(zip, dir, m, name_length);
}

typedef struct span {
    uint64_t start, end;
    const char *name;
} span;

static int by_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Overlapping members are how a small file pretends to hold a huge one. */
static artel_status check_overlap(artel__zip *zip)
{
    span *spans = artel__arena_alloc(&zip->arena, zip->count + 1, sizeof(span));
    if (!spans) return artel__arena_status(&zip->arena);
    for (size_t i = 0; i < zip->count; i++) {
        const artel__zip_member *m = &zip->members[i];
        spans[i] = (span){.start = m->header_offset, .end = m->data_offset + m->stored_size, .name = m->name};
    }
    qsort(spans, zip->count, sizeof(span), by_start);
    for (size_t i = 1; i < zip->count; i++) {
        if (spans[i].start < spans[i - 1].end)
            return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED, "the zip members %s and %s overlap",
                               spans[i - 1].name, spans[i].name);
    }
    return ARTEL_OK;
}

static artel_status read_directory(artel__zip *zip)
{
    directory dir = {0};
    ARTEL_TRY(read_end(zip, &dir));
    zip->members = artel__arena_alloc(&zip->arena, (size_t)dir.count + 1, sizeof *zip->members);
    if (!zip->members) return artel__arena_status(&zip->arena);
    uint64_t at = dir.offset + dir.prefix;
    for (; zip->count < dir.count; zip->count++) ARTEL_TRY(read_member(zip, &dir, &at, &zip->members[zip->count]));
    return check_overlap(zip);
}

static void init(artel_context *ctx, const char *where, artel__zip *zip)
{
    *zip = (artel__zip){.ctx = ctx};
    artel__arena_init(&zip->arena, ctx);
    zip->where = artel__arena_strdup(&zip->arena, where);
}

artel_status artel__zip_open_bytes(artel_context *ctx, const char *where, const void *bytes, size_t size,
                                   artel__zip *out)
{
    artel__zip zip;
    init(ctx, where, &zip);
    zip.bytes = bytes;
    zip.size = size;
    artel_status status = zip.where ? read_directory(&zip) : ARTEL_ERROR_NO_MEMORY;
    if (status < 0)
        artel__zip_close(&zip);
    else
        *out = zip;
    return status;
}

/* A directory's files become members without stored bytes; names with a '/' are found on demand. */
static artel_status open_directory(artel_context *ctx, const char *path, artel__zip *out)
{
    artel__paths entries;
    ARTEL_TRY(artel__list_directory(ctx, path, &entries));
    artel__zip zip;
    init(ctx, path, &zip);
    zip.is_directory = true;
    zip.members = artel__arena_alloc(&zip.arena, entries.count + 1, sizeof *zip.members);
    for (size_t i = 0; zip.members && i < entries.count; i++)
        zip.members[zip.count++] = (artel__zip_member){.name = artel__arena_strdup(&zip.arena, entries.items[i])};
    artel__paths_fini(&entries);
    artel_status status = artel__arena_status(&zip.arena);
    if (status < 0)
        artel__zip_close(&zip);
    else
        *out = zip;
    return status;
}

artel_status artel__zip_open(artel_context *ctx, const char *path, artel__zip *out)
{
    if (artel__is_directory(path)) return open_directory(ctx, path, out);
    artel__mapping mapping;
    ARTEL_TRY(artel__map_file(ctx, path, &mapping));
    artel_status status = artel__zip_open_bytes(ctx, path, mapping.bytes, mapping.size, out);
    if (status < 0)
        artel__unmap_file(&mapping);
    else
        out->mapping = mapping;
    return status;
}

void artel__zip_close(artel__zip *zip)
{
    if (!zip->ctx) return;
    if (zip->mapping.bytes) artel__unmap_file(&zip->mapping);
    artel__arena_fini(&zip->arena);
    *zip = (artel__zip){0};
}

const artel__zip_member *artel__zip_find(const artel__zip *zip, const char *name)
{
    for (size_t i = zip->count; i-- > 0;)
        if (strcmp(zip->members[i].name, name) == 0) return &zip->members[i];
    return NULL;
}

/* Deflate gains at most a factor of 1,032, so that a size beyond it is a lie whatever the limit. */
static artel_status check_size(const artel__zip *zip, const artel__zip_member *m, uint64_t limit)
{
    uint64_t total = zip->extracted + m->size;
    bool bomb = m->size > ARTEL__ZIP_FREE_SIZE && m->size / ARTEL__ZIP_MAX_RATIO > m->stored_size;
    bool bombs = total > ARTEL__ZIP_FREE_SIZE && total / ARTEL__ZIP_MAX_RATIO > zip->size;
    bool lie = m->method == 0 ? m->size != m->stored_size : m->size / 1032 > m->stored_size;
    if (bomb || bombs || lie || m->size > SIZE_MAX / 2)
        return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where,
                           "do not trust this file; save the model or the arrays again",
                           "the zip member %s declares %llu bytes, but only %llu are stored", m->name,
                           (unsigned long long)m->size, (unsigned long long)m->stored_size);
    if (limit > 0 && m->size > limit)
        return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, "",
                           "the zip member %s has %llu bytes; at most %llu are expected", m->name,
                           (unsigned long long)m->size, (unsigned long long)limit);
    return ARTEL_OK;
}

/* zlib counts in 32 bits, hence the pieces. True when exactly m->size bytes came out. */
static bool inflate_all(const artel__zip *zip, const artel__zip_member *m, uint8_t *target)
{
    z_stream z = {0};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
    const uint64_t piece = (uint64_t)1 << 30;
    uint64_t in_left = m->stored_size, out_left = m->size;
    uint8_t spare;
    z.next_in = (Bytef *)(zip->bytes + m->data_offset);
    z.next_out = target;
    int result = Z_OK;
    while (result == Z_OK) {
        uInt in = (uInt)(in_left < piece ? in_left : piece), out = (uInt)(out_left < piece ? out_left : piece);
        z.avail_in = in;
        z.avail_out = out;
        if (out == 0) { /* everything is there: only the end of the stream may follow */
            z.next_out = &spare;
            z.avail_out = 1;
        }
        result = inflate(&z, Z_NO_FLUSH);
        in_left -= in - z.avail_in;
        if (out == 0 && z.avail_out == 0) result = Z_DATA_ERROR;
        if (out > 0) out_left -= out - z.avail_out;
    }
    inflateEnd(&z);
    return result == Z_STREAM_END && out_left == 0 && in_left == 0;
}

static artel_status extract_file(artel__zip *zip, const artel__zip_member *m, uint64_t limit,
                                 artel__zip_content *content)
{
    char *path = artel__arena_printf(&zip->arena, "%s/%s", zip->where, m->name);
    if (!path) return artel__arena_status(&zip->arena);
    ARTEL_TRY(artel__map_file(zip->ctx, path, &content->mapping));
    content->bytes = content->mapping.bytes;
    content->size = content->mapping.size;
    if (limit == 0 || content->size <= limit) return ARTEL_OK;
    artel__unmap_file(&content->mapping);
    return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, path, "", "the file has %llu bytes; at most %llu are expected",
                       (unsigned long long)content->size, (unsigned long long)limit);
}

artel_status artel__zip_extract(artel__zip *zip, const artel__zip_member *member, uint64_t limit,
                                artel__zip_content *out)
{
    artel__zip_content content = {0};
    if (zip->is_directory) {
        ARTEL_TRY(extract_file(zip, member, limit, &content));
        *out = content;
        return ARTEL_OK;
    }
    if (member->method != 0 && member->method != 8)
        return artel__fail(zip->ctx, ARTEL_ERROR_UNSUPPORTED, zip->where,
                           "pack it again with `zip` or Python's zipfile",
                           "the zip member %s uses compression method %d; stored (0) and deflated (8) can be read",
                           member->name, member->method);
    ARTEL_TRY(check_size(zip, member, limit));
    content.size = (size_t)member->size;
    content.bytes = zip->bytes + member->data_offset;
    bool good = true;
    if (member->method == 8) {
        ARTEL_TRY(artel__alloc(zip->ctx, content.size + 1, zip->where, &content.heap));
        content.bytes = content.heap;
        good = inflate_all(zip, member, content.heap);
    }
    if (!good || crc32_z(0, content.bytes, content.size) != member->crc) {
        artel__free(zip->ctx, content.heap);
        return artel__fail(zip->ctx, ARTEL_ERROR_CORRUPT, zip->where, DAMAGED, "the zip member %s is damaged (%s)",
                           member->name, good ? "its CRC-32 does not match" : "it cannot be unpacked");
    }
    zip->extracted += member->size;
    *out = content;
    return ARTEL_OK;
}

void artel__zip_release(artel__zip *zip, artel__zip_content *content)
{
    artel__free(zip->ctx, content->heap);
    if (content->mapping.bytes) artel__unmap_file(&content->mapping);
    *content = (artel__zip_content){0};
}
