/* SPDX-License-Identifier: Apache-2.0 */
/* npy: every dtype and both orders from hand-written bytes; damaged headers are refused by name, never by signal. */
#include <stdio.h>
#include <stdlib.h>

#include "data/help_data.h"

static void write_npy(bench *b, const char *name, const char *header, const void *values, size_t size)
{
    uint8_t file[4096];
    bench_write(b, name, file, make_npy(file, header, values, size));
}

/* Feeds x as float32 rows of `width` and returns the first `count` values. */
static void read_floats(bench *b, const char *spec_name, int64_t width, int64_t rows, float *out)
{
    simple_wants w;
    void *buffers[1] = {out};
    artel_data *data = bench_open(b, "npy:%s", bench_path(b, spec_name));
    wants_init(&w, 1, width);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    artel__feed *feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_count(feed), rows);
    bench_fetch(b, feed, 0, rows, buffers);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void every_dtype(void **state)
{
    static const int8_t i1[4] = {-1, 2, 100, 0};
    static const int16_t i2[4] = {-1, 2, 300, 0};
    static const int32_t i4[4] = {-1, 2, 70000, 0};
    static const int64_t i8[4] = {-1, 2, 1 << 24, 0};
    static const uint8_t u1[4] = {255, 2, 100, 0};
    static const uint16_t u2[4] = {65535, 2, 100, 0};
    static const uint32_t u4[4] = {4294967295u, 2, 100, 0};
    static const uint64_t u8[4] = {1ull << 40, 2, 100, 0};
    static const float f4[4] = {-1.5f, 2, 1e-3f, 0};
    static const double f8[4] = {-1.5, 2, 0.1, 0};
    static const uint16_t f2[4] = {0xbe00, 0x4000, 0x3c00, 0}; /* -1.5, 2, 1, 0 */
    static const uint8_t b1[4] = {1, 0, 1, 0};
    static const struct {
        const char *descr;
        const void *values;
        size_t size;
        float expected[4];
    } rows[] = {
        {"|i1", i1, sizeof i1, {-1, 2, 100, 0}},
        {"<i2", i2, sizeof i2, {-1, 2, 300, 0}},
        {"<i4", i4, sizeof i4, {-1, 2, 70000, 0}},
        {"<i8", i8, sizeof i8, {-1, 2, 16777216, 0}},
        {"|u1", u1, sizeof u1, {255, 2, 100, 0}},
        {"<u2", u2, sizeof u2, {65535, 2, 100, 0}},
        {"<u4", u4, sizeof u4, {4294967296.0f, 2, 100, 0}},
        {"<u8", u8, sizeof u8, {1099511627776.0f, 2, 100, 0}},
        {"<f4", f4, sizeof f4, {-1.5f, 2, 1e-3f, 0}},
        {"<f8", f8, sizeof f8, {-1.5f, 2, 0.1f, 0}},
        {"<f2", f2, sizeof f2, {-1.5f, 2, 1, 0}},
        {"|b1", b1, sizeof b1, {1, 0, 1, 0}},
    };
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        char header[128];
        float found[4];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 2), }", rows[i].descr);
        write_npy(b, "x.npy", header, rows[i].values, rows[i].size);
        read_floats(b, "x.npy", 2, 2, found);
        if (memcmp(found, rows[i].expected, sizeof found) != 0)
            fail_msg("%s: %g %g %g %g", rows[i].descr, found[0], found[1], found[2], found[3]);
    }
}

static void big_endian(void **state)
{
    static const uint8_t values[8] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}; /* 1, -2 */
    float found[2];
    write_npy(*state, "x.npy", "{'descr': '>f4', 'fortran_order': False, 'shape': (1, 2), }", values, sizeof values);
    read_floats(*state, "x.npy", 2, 1, found);
    assert_true(found[0] == 1.0f && found[1] == -2.0f);
}

static void fortran_order(void **state)
{
    static const int16_t values[6] = {1, 4, 2, 5, 3, 6}; /* rows 1 2 3, 4 5 6 */
    static const int16_t swapped[6] = {0x0100, 0x0400, 0x0200, 0x0500, 0x0300, 0x0600};
    float found[6];
    write_npy(*state, "x.npy", "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", values, sizeof values);
    read_floats(*state, "x.npy", 3, 2, found);
    for (int i = 0; i < 6; i++) assert_true(found[i] == (float)(i + 1));
    write_npy(*state, "y.npy", "{'shape': (2, 3), 'fortran_order': True, 'descr': '>i2'}", swapped, sizeof swapped);
    read_floats(*state, "y.npy", 3, 2, found);
    for (int i = 0; i < 6; i++) assert_true(found[i] == (float)(i + 1));
}

/* scale=1/255 is the division, not the multiplication by a rounded reciprocal. */
static void scaling(void **state)
{
    bench *b = *state;
    uint8_t pixels[256];
    float found[256];
    void *buffers[1] = {found};
    simple_wants w;
    for (int i = 0; i < 256; i++) pixels[i] = (uint8_t)i;
    write_npy(b, "x.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 256), }", pixels, sizeof pixels);
    wants_init(&w, 1, (int64_t)256);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    artel_data *data = bench_open(b, "npy:%s#scale=1/255", bench_path(b, "x.npy"));
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 1, buffers);
    int differs = 0;
    for (int i = 0; i < 256; i++) {
        assert_true(found[i] == (float)i / 255.0f);
        differs += found[i] != (float)i * (1.0f / 255.0f);
    }
    assert_true(differs > 0); /* or this test would not tell the two apart */
    artel__feed_destroy(feed);
    artel_data_destroy(data);
    data = bench_open(b, "npy:%s#scale=1/127.5,shift=-1", bench_path(b, "x.npy"));
    feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 1, buffers);
    for (int i = 0; i < 256; i++) assert_true(found[i] == (float)i / 127.5f + -1.0f);
    artel__feed_destroy(feed);
    w.input.dtype = ARTEL_DTYPE_INT32;
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "cannot be scaled");
    artel_data_destroy(data);
}

static void refused(void **state)
{
    static const struct {
        const char *header;
        artel_status status;
        const char *part;
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", ARTEL_ERROR_CORRUPT,
         "expected 152 for float32 (3, 2)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 20), }", ARTEL_ERROR_CORRUPT,
         "overflows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2), }", ARTEL_ERROR_CORRUPT,
         "dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,4), }", ARTEL_ERROR_CORRUPT, "8 axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 2), }", ARTEL_ERROR_CORRUPT, "dictionary"},
        {"{'descr': '<q9', 'fortran_order': False, 'shape': (2, 2), }", ARTEL_ERROR_CORRUPT, "'<q9'"},
        {"{'descr': __import__('os').system('touch x'), 'shape': (1,)}", ARTEL_ERROR_CORRUPT, "dictionary"},
        {"{'descr': '<f4', 'fortran_order': False}", ARTEL_ERROR_CORRUPT, "dictionary"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", ARTEL_ERROR_CORRUPT,
         "dictionary"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 2)}", ARTEL_ERROR_CORRUPT, "dictionary"},
        {"", ARTEL_ERROR_CORRUPT, "dictionary"},
    };
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        const float values[4] = {1, 2, 3, 4};
        write_npy(b, "x.npy", rows[i].header, values, sizeof values);
        bench_open_fails(b, rows[i].status, rows[i].part, "npy:%s", bench_path(b, "x.npy"));
    }
    bench_text(b, "t.npy", "abc");
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "t.npy", "npy:%s", bench_path(b, "t.npy"));
    bench_text(b, "t.npy", "");
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "t.npy", "npy:%s", bench_path(b, "t.npy"));
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "no.npy", "npy:%s", bench_path(b, "no.npy"));
    bench_open_fails(b, ARTEL_ERROR_INVALID, "directory", "npy:%s", b->folder);
}

/* Strings, pickles and the like open (other arrays may be meant) and are refused when a model wants them. */
static void unfeedable(void **state)
{
    static const char *const rows[][2] = {
        {"|O", "pickle"}, {"<U1", "strings"}, {"|S4", "strings"}, {"<c8", "complex"}, {"<M8[ns]", "dates"}};
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        char header[128];
        simple_wants w;
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", rows[i][0]);
        write_npy(b, "x.npy", header, "abcdefgh", 8);
        artel_data *data = bench_open(b, "npy:%s", bench_path(b, "x.npy"));
        wants_init(&w, 0);
        w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
        bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_UNSUPPORTED, rows[i][1]);
        artel_data_destroy(data);
    }
    write_npy(b, "r.npy", "{'descr': [('a', '<f4'), ('b', '<i4', (2,))], 'fortran_order': False, 'shape': (2,), }",
              "abcdefgh", 8);
    artel_data *data = bench_open(b, "npy:%s", bench_path(b, "r.npy"));
    simple_wants w;
    wants_init(&w, 0);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_UNSUPPORTED, "record");
    artel_data_destroy(data);
}

/* Changed bytes of a header, thousands of them: an answer every time, and values only when the header still fits. */
static void mutants(void **state)
{
    bench *b = *state;
    const float values[4] = {1, 2, 3, 4};
    uint8_t file[512], changed[512];
    size_t size = make_npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", values, sizeof values);
    uint32_t random = 12345;
    int refusals = 0;
    for (int i = 0; i < 3000; i++) {
        memcpy(changed, file, size);
        for (int k = 0; k < 1 + i % 3; k++) {
            random = random * 1664525u + 1013904223u;
            changed[(random >> 8) % 80] = (uint8_t)(random >> 24);
        }
        bench_write(b, "m.npy", changed, i % 7 == 0 ? (random >> 4) % size : size);
        artel_data *data = NULL;
        char spec[600];
        snprintf(spec, sizeof spec, "npy:%s", bench_path(b, "m.npy"));
        artel_status status = artel_data_open(b->ctx, spec, &data);
        if (status < 0) {
            assert_true(artel_context_error(b->ctx)->what[0] != '\0');
            artel_context_clear(b->ctx);
            refusals++;
            continue;
        }
        artel_data_destroy(data);
    }
    assert_true(refusals > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_dtype, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(big_endian, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(fortran_order, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(scaling, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(unfeedable, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(mutants, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
