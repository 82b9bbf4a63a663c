/* SPDX-License-Identifier: Apache-2.0 */
/* See help_data.h. Files are made from the formats' descriptions, not by the code under test. */
#include "data/help_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static void keep_log(void *user, artel_log_level level, const char *message)
{
    bench *b = user;
    size_t used = strlen(b->log);
    (void)level;
    snprintf(b->log + used, sizeof b->log - used, "%s\n", message);
}

int bench_setup(void **state)
{
    bench *b = calloc(1, sizeof *b);
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    const char *tmp = getenv("TMPDIR");
    options.log = keep_log;
    options.log_user = b;
    assert_int_equal(artel_context_create(&options, &b->ctx), ARTEL_OK);
    snprintf(b->folder, sizeof b->folder, "%s/artel-data-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(b->folder));
    *state = b;
    return 0;
}

int bench_teardown(void **state)
{
    bench *b = *state;
    assert_int_equal(artel__remove_tree(b->ctx, b->folder), ARTEL_OK);
    artel_context_destroy(b->ctx);
    free(b);
    return 0;
}

const char *bench_path(bench *b, const char *name)
{
    char *path = b->path[b->next_path++ % 8];
    snprintf(path, sizeof b->path[0], "%s/%s", b->folder, name);
    return path;
}

const char *bench_write(bench *b, const char *name, const void *bytes, size_t size)
{
    const char *path = bench_path(b, name);
    char folder[512];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(artel__make_directory(b->ctx, folder), ARTEL_OK);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return path;
}

const char *bench_text(bench *b, const char *name, const char *text)
{
    return bench_write(b, name, text, strlen(text));
}

artel_data *bench_open(bench *b, const char *format, ...)
{
    char spec[2048];
    va_list args;
    artel_data *data = NULL;
    va_start(args, format);
    vsnprintf(spec, sizeof spec, format, args);
    va_end(args);
    artel_status status = artel_data_open(b->ctx, spec, &data);
    if (status < 0)
        fail_msg("%s: %s (%s)", spec, artel_context_error(b->ctx)->what, artel_context_error(b->ctx)->where);
    return data;
}

void bench_failed(bench *b, artel_status status, const char *part)
{
    const artel_error *error = artel_context_error(b->ctx);
    char all[2048];
    snprintf(all, sizeof all, "%s: %s; %s", error->where, error->what, error->advice);
    if (error->status != status)
        fail_msg("status %s instead of %s: %s", artel_status_name(error->status), artel_status_name(status), all);
    if (strstr(all, part) == NULL) fail_msg("'%s' is not in: %s", part, all);
    artel_context_clear(b->ctx);
}

void bench_open_fails(bench *b, artel_status status, const char *part, const char *format, ...)
{
    char spec[2048];
    va_list args;
    artel_data *data = NULL;
    va_start(args, format);
    vsnprintf(spec, sizeof spec, format, args);
    va_end(args);
    artel_status found = artel_data_open(b->ctx, spec, &data);
    if (found >= 0) fail_msg("%s was opened", spec);
    assert_null(data);
    assert_int_equal(found, status);
    bench_failed(b, status, part);
}

void wants_init(simple_wants *w, int rank, ...)
{
    va_list args;
    memset(w, 0, sizeof *w);
    w->input = (artel__data_want_input){.name = "in", .dtype = ARTEL_DTYPE_FLOAT32, .row = {.rank = rank}};
    va_start(args, rank);
    for (int i = 0; i < rank; i++) w->input.row.dim[i] = va_arg(args, int64_t);
    va_end(args);
    w->target = (artel__data_want_target){
        .name = "out", .dtype = ARTEL_DTYPE_INT32, .kind = ARTEL__DATA_TARGET_INDICES, .classes = 10};
    w->wants = (artel__data_wants){.inputs = &w->input, .input_count = 1, .targets = &w->target, .target_count = 1};
}

artel__feed *bench_bind(bench *b, artel_data *data, const artel__data_wants *wants)
{
    artel__feed *feed = NULL;
    artel_status status = artel__data_bind(data, wants, &feed);
    if (status < 0) fail_msg("%s (%s)", artel_context_error(b->ctx)->what, artel_context_error(b->ctx)->where);
    return feed;
}

void bench_bind_fails(bench *b, artel_data *data, const artel__data_wants *wants, artel_status status, const char *part)
{
    artel__feed *feed = NULL;
    assert_true(artel__data_bind(data, wants, &feed) < 0);
    assert_null(feed);
    bench_failed(b, status, part);
}

void bench_fetch(bench *b, const artel__feed *feed, uint64_t first, int64_t count, void *const *buffers)
{
    uint64_t rows[4096];
    assert_true(count <= 4096);
    for (int64_t i = 0; i < count; i++) rows[i] = first + (uint64_t)i;
    artel_status status = artel__feed_fetch(feed, NULL, rows, count, buffers);
    if (status < 0) fail_msg("%s (%s)", artel_context_error(b->ctx)->what, artel_context_error(b->ctx)->where);
}

size_t make_npy(uint8_t *out, const char *header, const void *values, size_t size)
{
    size_t length = strlen(header), padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (uint8_t)padded;
    out[9] = (uint8_t)(padded >> 8);
    memset(out + 10, ' ', padded);
    memcpy(out + 10, header, length);
    out[10 + padded - 1] = '\n';
    memcpy(out + 10 + padded, values, size);
    return 10 + padded + size;
}

static size_t put16(uint8_t *out, unsigned value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    return 2;
}

static size_t put32(uint8_t *out, uint32_t value)
{
    put16(out, value & 0xffff);
    put16(out + 2, value >> 16);
    return 4;
}

static size_t deflate_raw(uint8_t *out, size_t capacity, const void *bytes, size_t size, int window)
{
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (z_const Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = out;
    stream.avail_out = (uInt)capacity;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t used = stream.total_out;
    deflateEnd(&stream);
    return used;
}

size_t make_gzip(uint8_t *out, size_t capacity, const void *bytes, size_t size)
{
    return deflate_raw(out, capacity, bytes, size, 15 + 16);
}

size_t make_zip(uint8_t *out, const zip_part *parts, int count, bool deflated)
{
    uint8_t directory[4096];
    size_t at = 0, entry = 0;
    for (int i = 0; i < count; i++) {
        size_t offset = at, name = strlen(parts[i].name), head = 30 + name;
        size_t stored = parts[i].size;
        if (deflated)
            stored = deflate_raw(out + offset + head, 2 * parts[i].size + 64, parts[i].bytes, parts[i].size, -15);
        else
            memcpy(out + offset + head, parts[i].bytes, stored);
        uint8_t common[26];
        size_t c = put16(common, 20);
        c += put16(common + c, 0);
        c += put16(common + c, deflated ? 8 : 0);
        c += put32(common + c, 0x00210000); /* 1980-01-01 */
        c += put32(common + c, (uint32_t)crc32(0, parts[i].bytes, (uInt)parts[i].size));
        c += put32(common + c, (uint32_t)stored);
        c += put32(common + c, (uint32_t)parts[i].size);
        c += put16(common + c, (unsigned)name);
        c += put16(common + c, 0);
        put32(out + offset, 0x04034b50);
        memcpy(out + offset + 4, common, c);
        memcpy(out + offset + 30, parts[i].name, name);
        at = offset + head + stored;
        entry += put32(directory + entry, 0x02014b50);
        entry += put16(directory + entry, 20);
        memcpy(directory + entry, common, c);
        entry += c;
        memset(directory + entry, 0, 10);
        entry += 10;
        entry += put32(directory + entry, (uint32_t)offset);
        memcpy(directory + entry, parts[i].name, name);
        entry += name;
    }
    memcpy(out + at, directory, entry);
    uint8_t *end = out + at + entry;
    size_t e = put32(end, 0x06054b50);
    e += put32(end + e, 0);
    e += put16(end + e, (unsigned)count);
    e += put16(end + e, (unsigned)count);
    e += put32(end + e, (uint32_t)entry);
    e += put32(end + e, (uint32_t)at);
    e += put16(end + e, 0);
    return at + entry + e;
}

static size_t put_chunk(uint8_t *out, const char *type, const void *bytes, size_t size)
{
    uint8_t big[4] = {(uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size};
    memcpy(out, big, 4);
    memcpy(out + 4, type, 4);
    if (size > 0) memcpy(out + 8, bytes, size);
    uLong crc = crc32(0, out + 4, (uInt)size + 4);
    for (int i = 0; i < 4; i++) out[8 + size + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    return 12 + size;
}

size_t make_png(uint8_t *out, size_t capacity, const uint8_t *pixels, int height, int width, int channels)
{
    size_t row = (size_t)width * (size_t)channels, raw_size = (size_t)height * (row + 1), at = 8;
    uint8_t *raw = malloc(raw_size), *packed = malloc(raw_size * 2 + 64);
    uint8_t head[13] = {0};
    for (int i = 0; i < 4; i++) {
        head[i] = (uint8_t)((unsigned)width >> (24 - 8 * i));
        head[4 + i] = (uint8_t)((unsigned)height >> (24 - 8 * i));
    }
    head[8] = 8;
    head[9] = channels == 1 ? 0 : channels == 3 ? 2 : 6;
    for (int y = 0; y < height; y++) {
        raw[(size_t)y * (row + 1)] = 0;
        memcpy(raw + (size_t)y * (row + 1) + 1, pixels + (size_t)y * row, row);
    }
    size_t size = deflate_raw(packed, raw_size * 2 + 64, raw, raw_size, 15);
    assert_true(size + 128 < capacity);
    memcpy(out, "\x89PNG\r\n\x1a\n", 8);
    at += put_chunk(out + at, "IHDR", head, sizeof head);
    at += put_chunk(out + at, "IDAT", packed, size);
    at += put_chunk(out + at, "IEND", NULL, 0);
    free(raw);
    free(packed);
    return at;
}
