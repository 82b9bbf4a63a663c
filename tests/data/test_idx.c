/* SPDX-License-Identifier: Apache-2.0 */
/* idx: hand-written files, gzipped ones, damaged ones; Fashion-MNIST where Debian has put it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/help_data.h"

#define FASHION "/usr/share/datasets/fashion-mnist/"

static const uint8_t images[4 + 12 + 8] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 255};
static const uint8_t labels[4 + 4 + 2] = {0, 0, 8, 1, 0, 0, 0, 2, 9, 3};

static void check_pair(bench *b, artel_data *data)
{
    simple_wants w;
    float values[8];
    int32_t classes[2];
    void *buffers[2] = {values, classes};
    wants_init(&w, 3, (int64_t)2, (int64_t)2, (int64_t)1); /* the axis of channels is added */
    artel__feed *feed = bench_bind(b, data, &w.wants);
    int count;
    const artel__feed_array *arrays = artel__feed_arrays(feed, &count);
    assert_int_equal(count, 2);
    assert_int_equal(arrays[0].row.rank, 3);
    assert_int_equal(arrays[0].row_bytes, 16);
    assert_int_equal(arrays[1].row_bytes, 4);
    bench_fetch(b, feed, 0, 2, buffers);
    assert_true(values[0] == 1 && values[6] == 7 && values[7] == 255);
    assert_int_equal(classes[0], 9);
    assert_int_equal(classes[1], 3);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void plain(void **state)
{
    bench *b = *state;
    const char *x = bench_write(b, "images", images, sizeof images),
               *y = bench_write(b, "labels", labels, sizeof labels);
    check_pair(b, bench_open(b, "idx:%s,%s", x, y));
}

static void gzipped(void **state)
{
    bench *b = *state;
    uint8_t packed[256];
    size_t size = make_gzip(packed, sizeof packed, images, 10);
    size +=
        make_gzip(packed + size, sizeof packed - size, images + 10, sizeof images - 10); /* two members, one content */
    const char *x = bench_write(b, "images.gz", packed, size);
    const char *y = bench_write(b, "labels.gz", packed, make_gzip(packed, sizeof packed, labels, sizeof labels));
    check_pair(b, bench_open(b, "idx:%s,%s", x, y));
}

static void joined(void **state)
{
    bench *b = *state;
    simple_wants w;
    int32_t classes[4];
    void *buffers[2] = {NULL, classes};
    const char *x = bench_write(b, "images", images, sizeof images),
               *y = bench_write(b, "labels", labels, sizeof labels);
    artel_data *data = bench_open(b, "idx:%s,%s + idx:%s,%s#scale=1/255", x, y, x, y);
    wants_init(&w, 2, (int64_t)2, (int64_t)2);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_count(feed), 4);
    bench_fetch(b, feed, 0, 4, buffers);
    assert_true(classes[0] == 9 && classes[1] == 3 && classes[2] == 9 && classes[3] == 3);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void wide_values(void **state)
{
    static const uint8_t floats[4 + 8 + 8] = {0, 0, 0x0D, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    bench *b = *state;
    simple_wants w;
    float values[2];
    void *buffers[1] = {values};
    artel_data *data = bench_open(b, "idx:%s", bench_write(b, "f", floats, sizeof floats));
    wants_init(&w, 1, (int64_t)2);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 1, buffers);
    assert_true(values[0] == 1.0f && values[1] == -2.0f);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void refused(void **state)
{
    bench *b = *state;
    uint8_t changed[64], packed[256];
    simple_wants w;
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "not an IDX file", "idx:%s", bench_text(b, "t", "hello, world"));
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "expected 24 for shape (2, 2, 2)", "idx:%s",
                     bench_write(b, "s", images, sizeof images - 1));
    memcpy(changed, images, sizeof images);
    memset(changed + 4, 0xff, 12);
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "overflow", "idx:%s", bench_write(b, "o", changed, sizeof images));
    changed[3] = 9;
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "9 axes", "idx:%s", bench_write(b, "r", changed, sizeof images));
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "header", "idx:%s", bench_write(b, "h", images, 9));
    bench_open_fails(b, ARTEL_ERROR_INVALID, "not 3", "idx:a,b,c");
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "nowhere", "idx:%s", bench_path(b, "nowhere"));

    /* gzipped: the header promises more than the file can hold, less than it holds, more than it holds */
    wants_init(&w, 2, (int64_t)2, (int64_t)2);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    for (int i = 0; i < 3; i++) {
        memcpy(changed, images, sizeof images);
        changed[i == 0 ? 5 : 7] = i == 0 ? 255 : i == 1 ? 1 : 3;
        artel_data *data = bench_open(
            b, "idx:%s", bench_write(b, "g", packed, make_gzip(packed, sizeof packed, changed, sizeof images)));
        bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_CORRUPT, i == 0 ? "promises" : "expected");
        artel_data_destroy(data);
    }
    size_t size = make_gzip(packed, sizeof packed, images, sizeof images);
    packed[size - 12] ^= 0x55;
    artel_data *data = NULL;
    char spec[600];
    snprintf(spec, sizeof spec, "idx:%s", bench_write(b, "c", packed, size));
    artel_status status = artel_data_open(b->ctx, spec, &data);
    artel__feed *feed = NULL;
    if (status == ARTEL_OK) status = artel__data_bind(data, &w.wants, &feed);
    assert_int_equal(status, ARTEL_ERROR_CORRUPT);
    bench_failed(b, ARTEL_ERROR_CORRUPT, "gzip -t");
    artel_data_destroy(data);
}

static void fashion_mnist(void **state)
{
    bench *b = *state;
    if (access(FASHION "t10k-images-idx3-ubyte.gz", R_OK) != 0) skip();
    artel_data *data = bench_open(b, "idx:%s,%s#scale=1/255", FASHION "t10k-images-idx3-ubyte.gz",
                                  FASHION "t10k-labels-idx1-ubyte.gz");
    assert_int_equal(artel_data_count(data), 10000);
    simple_wants w;
    static float values[1000 * 784];
    static int32_t classes[1000];
    void *buffers[2] = {values, classes};
    int64_t seen[10] = {0};
    double sum = 0;
    wants_init(&w, 3, (int64_t)28, (int64_t)28, (int64_t)1);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    for (int part = 0; part < 10; part++) {
        bench_fetch(b, feed, (uint64_t)part * 1000, 1000, buffers);
        for (int i = 0; i < 1000; i++) seen[classes[i]]++;
        for (int i = 0; i < 1000 * 784; i++) sum += (double)values[i];
    }
    for (int i = 0; i < 10; i++) assert_int_equal(seen[i], 1000);
    assert_float_equal(sum / 7840000, 0.2868, 0.001); /* the mean everybody quotes */
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(gzipped, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(joined, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(wide_values, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(fashion_mnist, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
