/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives: round trips, golden bytes, and everything a hostile archive may try. What real Python zipfile writes is
 * read in tests/keras/test_h5_keras.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/zip.h"

typedef struct fixture {
    artel_context *ctx;
    char folder[64], path[96];
} fixture;

/* An archive put together by hand, so that it can lie. */
typedef struct maker {
    uint8_t bytes[8192];
    size_t size, directory[4], locals[4], count;
} maker;

typedef struct lie {
    uint16_t method, flags;
    uint64_t size; /* 0: the truth */
} lie;

static int start(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    snprintf(f->folder, sizeof f->folder, "/tmp/artel-zip-XXXXXX");
    if (!mkdtemp(f->folder)) return 1;
    snprintf(f->path, sizeof f->path, "%s/a.zip", f->folder);
    return artel_context_create(NULL, &f->ctx) < 0;
}

static int stop(void **state)
{
    fixture *f = *state;
    artel__remove_tree(f->ctx, f->folder);
    artel_context_destroy(f->ctx);
    free(f);
    return 0;
}

static void put(maker *m, uint64_t value, int bytes)
{
    assert_true(m->size + 8 < sizeof m->bytes);
    for (int i = 0; i < bytes; i++) m->bytes[m->size++] = (uint8_t)(value >> (8 * i));
}

static void put_bytes(maker *m, const void *bytes, size_t count)
{
    assert_true(m->size + count < sizeof m->bytes);
    memcpy(m->bytes + m->size, bytes, count);
    m->size += count;
}

static void put_header(maker *m, const char *name, uint32_t crc, size_t stored, uint64_t size, const lie *l)
{
    put(m, 20, 2);
    put(m, l->flags, 2);
    put(m, l->method, 2);
    put(m, 0x00210000, 4);
    put(m, crc, 4);
    put(m, stored, 4);
    put(m, size, 4);
    put(m, strlen(name), 2);
    put(m, 0, 2);
}

static void make_member(maker *m, maker *central, const char *name, const void *data, size_t length, lie l)
{
    uint32_t crc = (uint32_t)crc32(0, data, (uInt)length);
    size_t at = m->size;
    uint64_t size = l.size ? l.size : length;
    m->locals[m->count++] = at;
    put(m, 0x04034b50, 4);
    put_header(m, name, crc, length, size, &l);
    put_bytes(m, name, strlen(name));
    put_bytes(m, data, length);
    put(central, 0x02014b50, 4);
    put(central, 20, 2);
    put_header(central, name, crc, length, size, &l);
    for (int i = 0; i < 5; i++) put(central, 0, 2);
    put(central, at, 4);
    put_bytes(central, name, strlen(name));
}

static void finish(maker *m, const maker *central)
{
    size_t at = m->size, count = m->count;
    put_bytes(m, central->bytes, central->size);
    m->directory[0] = at;
    put(m, 0x06054b50, 4);
    put(m, 0, 4);
    put(m, count, 2);
    put(m, count, 2);
    put(m, central->size, 4);
    put(m, at, 4);
    put(m, 0, 2);
}

static void make_one(maker *m, const char *data, lie l)
{
    maker central = {.size = 0};
    memset(m, 0, sizeof *m);
    make_member(m, &central, "x", data, strlen(data), l);
    finish(m, &central);
}

/* Opens and extracts everything; the status of the first failure. */
static artel_status read_all(fixture *f, const void *bytes, size_t size)
{
    artel__zip zip;
    artel_context_clear(f->ctx);
    artel_status status = artel__zip_open_bytes(f->ctx, "test.zip", bytes, size, &zip);
    if (status < 0) return status;
    for (size_t i = 0; i < zip.count && status >= 0; i++) {
        artel__zip_content content;
        status = artel__zip_extract(&zip, &zip.members[i], 0, &content);
        if (status >= 0) artel__zip_release(&zip, &content);
    }
    artel__zip_close(&zip);
    return status;
}

static void assert_refused(fixture *f, const maker *m, artel_status expected, const char *part)
{
    assert_int_equal(read_all(f, m->bytes, m->size), expected);
    if (!strstr(artel_context_error(f->ctx)->what, part)) fail_msg("%s", artel_context_error(f->ctx)->what);
    assert_string_equal(artel_context_error(f->ctx)->where, "test.zip");
}

static void write_three(fixture *f)
{
    artel__zip_writer writer;
    assert_int_equal(artel__zip_create(f->ctx, f->path, &writer), ARTEL_OK);
    assert_int_equal(artel__zip_add(&writer, "metadata.json", "{}", 2), ARTEL_OK);
    assert_int_equal(artel__zip_add(&writer, "empty", NULL, 0), ARTEL_OK);
    assert_int_equal(artel__zip_add(&writer,
                                    "gr\xc3\xb6\xc3\x9f"
                                    "e",
                                    "abc", 3),
                     ARTEL_OK);
    assert_int_equal(artel__zip_commit(&writer), ARTEL_OK);
    artel__zip_abandon(&writer);
}

static void test_round_trip(void **state)
{
    fixture *f = *state;
    artel__zip zip;
    artel__zip_content content;
    write_three(f);
    assert_int_equal(artel__zip_open(f->ctx, f->path, &zip), ARTEL_OK);
    assert_int_equal(zip.count, 3);
    assert_string_equal(zip.members[0].name, "metadata.json");
    assert_null(artel__zip_find(&zip, "meta"));
    assert_int_equal(artel__zip_extract(&zip,
                                        artel__zip_find(&zip, "gr\xc3\xb6\xc3\x9f"
                                                              "e"),
                                        3, &content),
                     ARTEL_OK);
    assert_int_equal(content.size, 3);
    assert_memory_equal(content.bytes, "abc", 3);
    assert_null(content.heap);
    artel__zip_release(&zip, &content);
    assert_int_equal(artel__zip_extract(&zip, artel__zip_find(&zip, "empty"), 0, &content), ARTEL_OK);
    assert_int_equal(content.size, 0);
    artel__zip_release(&zip, &content);
    assert_int_equal(artel__zip_extract(&zip, artel__zip_find(&zip, "metadata.json"), 1, &content),
                     ARTEL_ERROR_CORRUPT);
    artel__zip_close(&zip);
    artel__zip_close(&zip);
}

/* The bytes Python 3.11 writes for zipfile.ZipFile(f, "w").open("a", "w") with date 1980-01-01 and content "hi". */
static void test_golden_bytes(void **state)
{
    static const uint8_t golden[] = {'P',  'K',  3, 4,  20, 0,    0, 0,    0, 0, 0, 0,    0x21, 0,    0xac, 0x2a, 0x93,
                                     0xd8, 2,    0, 0,  0,  2,    0, 0,    0, 1, 0, 0,    0,    'a',  'h',  'i',  'P',
                                     'K',  1,    2, 20, 3,  20,   0, 0,    0, 0, 0, 0,    0,    0x21, 0,    0xac, 0x2a,
                                     0x93, 0xd8, 2, 0,  0,  0,    2, 0,    0, 0, 1, 0,    0,    0,    0,    0,    0,
                                     0,    0,    0, 0,  0,  0x80, 1, 0,    0, 0, 0, 'a',  'P',  'K',  5,    6,    0,
                                     0,    0,    0, 1,  0,  1,    0, 0x2f, 0, 0, 0, 0x21, 0,    0,    0,    0,    0};
    fixture *f = *state;
    artel__zip_writer writer;
    char *bytes;
    size_t size;
    assert_int_equal(artel__zip_create(f->ctx, f->path, &writer), ARTEL_OK);
    assert_int_equal(artel__zip_add(&writer, "a", "hi", 2), ARTEL_OK);
    assert_int_equal(artel__zip_commit(&writer), ARTEL_OK);
    assert_int_equal(artel__read_file(f->ctx, f->path, 1000, &bytes, &size), ARTEL_OK);
    assert_int_equal(size, sizeof golden);
    assert_memory_equal(bytes, golden, sizeof golden);
    artel__free(f->ctx, bytes);
}

static void test_abandoned(void **state)
{
    fixture *f = *state;
    artel__zip_writer writer;
    artel__paths left;
    assert_int_equal(artel__zip_create(f->ctx, f->path, &writer), ARTEL_OK);
    assert_int_equal(artel__zip_add(&writer, "a", "hi", 2), ARTEL_OK);
    artel__zip_abandon(&writer);
    artel__zip_abandon(&writer);
    assert_int_equal(artel__list_directory(f->ctx, f->folder, &left), ARTEL_OK);
    assert_int_equal(left.count, 0);
    artel__paths_fini(&left);
}

static void test_directory(void **state)
{
    fixture *f = *state;
    artel__zip zip;
    artel__zip_content content;
    char path[128];
    snprintf(path, sizeof path, "%s/config.json", f->folder);
    assert_int_equal(artel__write_file(f->ctx, path, "[1]", 3), ARTEL_OK);
    assert_int_equal(artel__zip_open(f->ctx, f->folder, &zip), ARTEL_OK);
    const artel__zip_member *member = artel__zip_find(&zip, "config.json");
    assert_non_null(member);
    assert_int_equal(artel__zip_extract(&zip, member, 0, &content), ARTEL_OK);
    assert_int_equal(content.size, 3);
    assert_memory_equal(content.bytes, "[1]", 3);
    artel__zip_release(&zip, &content);
    assert_int_equal(artel__zip_extract(&zip, member, 2, &content), ARTEL_ERROR_CORRUPT);
    artel__zip_close(&zip);
}

static size_t deflate_zeros(uint8_t *out, size_t room, size_t zeros)
{
    z_stream z = {0};
    static uint8_t block[4096];
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, 0), Z_OK);
    z.next_out = out;
    z.avail_out = (uInt)room;
    for (size_t done = 0; done < zeros; done += sizeof block) {
        z.next_in = block;
        z.avail_in = sizeof block;
        assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
    }
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

/* A deflated member whose header says `declared` and whose CRC is that of `zeros` zeros. */
static void make_deflated(maker *m, size_t zeros, uint64_t declared)
{
    uint8_t packed[6000];
    size_t length = deflate_zeros(packed, sizeof packed, zeros);
    maker central = {.size = 0};
    memset(m, 0, sizeof *m);
    make_member(m, &central, "x", packed, length, (lie){.method = 8, .size = declared});
    uint8_t *plain = calloc(1, zeros);
    uint32_t crc = (uint32_t)crc32(0, plain, (uInt)zeros);
    free(plain);
    for (int i = 0; i < 4; i++) m->bytes[14 + i] = central.bytes[16 + i] = (uint8_t)(crc >> (8 * i));
    finish(m, &central);
}

static void test_deflated(void **state)
{
    maker m;
    make_deflated(&m, 1 << 20, 1 << 20);
    assert_int_equal(read_all(*state, m.bytes, m.size), ARTEL_OK);
    make_deflated(&m, 1 << 20, (1 << 20) - 1);
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "cannot be unpacked");
    make_deflated(&m, 1 << 20, (1 << 20) + 1);
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "cannot be unpacked");
    make_deflated(&m, 1 << 20, 0xfffffff0);
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "declares");
    make_deflated(&m, 4096, 4096);
    m.bytes[35] ^= 0x55;
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "damaged");
}

static void test_lies(void **state)
{
    maker m;
    make_one(&m, "hello", (lie){0});
    assert_int_equal(read_all(*state, m.bytes, m.size), ARTEL_OK);
    m.bytes[33] ^= 1;
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "CRC-32");
    make_one(&m, "hello", (lie){.size = 6});
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "declares 6 bytes");
    make_one(&m, "hello", (lie){.method = 12});
    assert_refused(*state, &m, ARTEL_ERROR_UNSUPPORTED, "method 12");
    make_one(&m, "hello", (lie){.flags = 1});
    assert_refused(*state, &m, ARTEL_ERROR_UNSUPPORTED, "encrypted");
    make_one(&m, "hello", (lie){0});
    m.bytes[30] = 'y';
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "disagree");
    make_one(&m, "hello", (lie){0});
    m.bytes[m.directory[0] + 42] = 200;
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "outside");
}

/* Two directory entries that lead to one local header. */
static void test_overlap(void **state)
{
    maker m = {.size = 0}, central = {.size = 0};
    make_member(&m, &central, "x", "hello", 5, (lie){0});
    maker twice = central;
    put_bytes(&twice, central.bytes, central.size);
    m.count = 2;
    finish(&m, &twice);
    assert_refused(*state, &m, ARTEL_ERROR_CORRUPT, "overlap");
}

/* Every prefix is refused, in memory that ends where the archive does. */
static void test_truncated(void **state)
{
    fixture *f = *state;
    maker m;
    make_one(&m, "hello", (lie){0});
    for (size_t size = 0; size < m.size; size++) {
        uint8_t *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, m.bytes, size);
        assert_int_equal(read_all(f, copy, size), ARTEL_ERROR_CORRUPT);
        free(copy);
    }
}

/* Any byte may be anything: an answer, never a crash. A prefix and a comment are allowed. */
static void test_garbled(void **state)
{
    fixture *f = *state;
    maker m;
    make_deflated(&m, 8192, 8192);
    uint32_t random = 1;
    for (size_t at = 0; at < m.size; at++) {
        for (int k = 0; k < 8; k++) {
            uint8_t *copy = malloc(m.size);
            memcpy(copy, m.bytes, m.size);
            random = random * 1664525u + 1013904223u;
            copy[at] = k == 0 ? 0xff : (uint8_t)(random >> 24);
            read_all(f, copy, m.size);
            free(copy);
        }
    }
    uint8_t *moved = calloc(1, m.size + 100);
    memcpy(moved + 60, m.bytes, m.size);
    assert_int_equal(read_all(f, moved, m.size + 60), ARTEL_OK);
    moved[60 + m.size - 2] = 40;
    assert_int_equal(read_all(f, moved, m.size + 100), ARTEL_OK);
    free(moved);
}

static void test_missing(void **state)
{
    fixture *f = *state;
    artel__zip zip;
    assert_int_equal(artel__zip_open(f->ctx, f->path, &zip), ARTEL_ERROR_NOT_FOUND);
    assert_string_equal(artel_context_error(f->ctx)->where, f->path);
}

static artel_status write_and_read(fixture *f)
{
    artel__zip_writer writer = {.count = 0};
    artel__zip zip = {.ctx = NULL};
    artel__zip_content content;
    artel_status status = artel__zip_create(f->ctx, f->path, &writer);
    if (status >= 0) status = artel__zip_add(&writer, "a", "hi", 2);
    if (status >= 0) status = artel__zip_commit(&writer);
    artel__zip_abandon(&writer);
    if (status >= 0) status = artel__zip_open(f->ctx, f->path, &zip);
    if (status >= 0) status = artel__zip_extract(&zip, &zip.members[0], 0, &content);
    if (status >= 0) artel__zip_release(&zip, &content);
    artel__zip_close(&zip);
    return status;
}

/* Each allocation fails once: an answer, no leak, and in the end success. */
static void test_no_memory(void **state)
{
    fixture *f = *state;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; status == ARTEL_ERROR_NO_MEMORY; n++) {
        artel_context_clear(f->ctx);
        artel__fail_allocation_after(f->ctx, n);
        status = write_and_read(f);
        artel__fail_allocation_after(f->ctx, 0);
        assert_true(n < 100);
    }
    assert_int_equal(status, ARTEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, start, stop),
        cmocka_unit_test_setup_teardown(test_golden_bytes, start, stop),
        cmocka_unit_test_setup_teardown(test_abandoned, start, stop),
        cmocka_unit_test_setup_teardown(test_directory, start, stop),
        cmocka_unit_test_setup_teardown(test_deflated, start, stop),
        cmocka_unit_test_setup_teardown(test_lies, start, stop),
        cmocka_unit_test_setup_teardown(test_overlap, start, stop),
        cmocka_unit_test_setup_teardown(test_truncated, start, stop),
        cmocka_unit_test_setup_teardown(test_garbled, start, stop),
        cmocka_unit_test_setup_teardown(test_missing, start, stop),
        cmocka_unit_test_setup_teardown(test_no_memory, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
