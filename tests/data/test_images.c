/* SPDX-License-Identifier: Apache-2.0 */
/* images: folders are classes, PNG pixels arrive unchanged, sizes and splits, damaged files. JPEG and resizing are held
 * against TensorFlow in test_numpy.py. Skipped where libartel-image.so was not built. */
#include <stdio.h>
#include <stdlib.h>

#include "data/help_data.h"
#include "data/image_part.h"
#include "data/source.h"

enum {
    SIDE = 4,
    PIXELS = SIDE * SIDE * 3
};

static bool has_part(bench *b)
{
    artel__image_library library;
    artel_status status = artel__image_library_open(b->ctx, &library);
    if (status == ARTEL_OK) artel__image_library_close(&library);
    artel_context_clear(b->ctx);
    return status == ARTEL_OK;
}

static void write_png(bench *b, const char *name, int value, int channels)
{
    uint8_t pixels[SIDE * SIDE * 4], file[2048];
    for (int i = 0; i < SIDE * SIDE * channels; i++) pixels[i] = (uint8_t)(value + i);
    bench_write(b, name, file, make_png(file, sizeof file, pixels, SIDE, SIDE, channels));
}

static void write_classes(bench *b)
{
    write_png(b, "pets/dog/b.png", 20, 3);
    write_png(b, "pets/cat/z.PNG", 10, 3);
    write_png(b, "pets/cat/a.png", 0, 3);
    write_png(b, "pets/cat/more/c.png", 15, 3);
    write_png(b, "pets/dog/c.png", 30, 1); /* grey becomes three equal channels */
    bench_text(b, "pets/cat/notes.txt", "not an image");
    bench_text(b, "pets/list.txt", "not a class");
}

static void classes_in_order(void **state)
{
    bench *b = *state;
    static float x[5 * PIXELS];
    int32_t y[5];
    void *buffers[2] = {x, y};
    simple_wants w;
    if (!has_part(b)) skip();
    write_classes(b);
    artel_data *data = bench_open(b, "images:%s", bench_path(b, "pets"));
    assert_int_equal(artel_data_count(data), 5);
    wants_init(&w, 3, (int64_t)SIDE, (int64_t)SIDE, (int64_t)3);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 5, buffers);
    static const int values[5] = {0, 10, 15, 20, 30}, classes[5] = {0, 0, 0, 1, 1};
    for (int r = 0; r < 5; r++) {
        assert_int_equal(y[r], classes[r]);
        for (int i = 0; i < PIXELS; i++) assert_true(x[r * PIXELS + i] == (float)(values[r] + (r == 4 ? i / 3 : i)));
    }
    artel__feed_destroy(feed);
    w.target.classes = 1;
    feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_fetch(feed, NULL, (const uint64_t[]){3}, 1, buffers), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "record 3");
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void sizes_and_options(void **state)
{
    bench *b = *state;
    float x[2 * 2];
    void *buffers[2] = {x, NULL};
    simple_wants w;
    if (!has_part(b)) skip();
    write_classes(b);
    wants_init(&w, 3, (int64_t)-1, (int64_t)-1, (int64_t)-1);
    artel_data *data = bench_open(b, "images:%s", bench_path(b, "pets"));
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "#size=HxW");
    artel_data_destroy(data);
    data = bench_open(b, "images:%s#size=2x2&channels=1&interpolation=nearest&scale=1/2", bench_path(b, "pets"));
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 4, 1, buffers);
    assert_true(x[0] == 35.0f / 2 && x[1] == 37.0f / 2 && x[2] == 43.0f / 2 &&
                x[3] == 45.0f / 2); /* pixels (1,1) (1,3) (3,1) (3,3) */
    artel__feed_destroy(feed);
    wants_init(&w, 3, (int64_t)3, (int64_t)2, (int64_t)1);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "(None, 2, 2, 1)");
    artel_data_destroy(data);
}

/* Sorted by class, so a split is a random subset: the same for a seed, every row once. */
static void random_split(void **state)
{
    bench *b = *state;
    simple_wants w;
    int32_t y[100], again[100];
    int64_t ones = 0;
    void *buffers[2] = {NULL, y};
    if (!has_part(b)) skip();
    for (int i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, "set/%d/%02d.png", i / 50, i % 50);
        write_png(b, name, i, 3);
    }
    artel_data *data = bench_open(b, "images:%s", bench_path(b, "set"));
    wants_init(&w, 3, (int64_t)SIDE, (int64_t)SIDE, (int64_t)3);
    artel__feed *feed = bench_bind(b, data, &w.wants), *train, *validation;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(artel__feed_split(feed, 0.4, &train, &validation), ARTEL_OK);
        assert_int_equal(artel__feed_count(train), 60);
        assert_int_equal(artel__feed_count(validation), 40);
        buffers[1] = round == 0 ? y : again;
        bench_fetch(b, train, 0, 60, buffers);
        buffers[1] = (round == 0 ? y : again) + 60;
        bench_fetch(b, validation, 0, 40, buffers);
        artel__feed_destroy(train);
        artel__feed_destroy(validation);
    }
    assert_memory_equal(y, again, sizeof y);
    for (int i = 0; i < 100; i++) ones += y[i];
    assert_int_equal(ones, 50);
    for (int i = 60; i < 100; i++) ones -= y[i];
    assert_in_range(ones, 20, 40); /* both classes on both sides */
    assert_non_null(strstr(b->log, "random 40 of 100 rows validate"));
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void without_classes(void **state)
{
    bench *b = *state;
    simple_wants w;
    float x[PIXELS];
    void *buffers[1] = {x};
    if (!has_part(b)) skip();
    write_png(b, "flat/a.png", 5, 3);
    artel_data *data = bench_open(b, "images:%s", bench_path(b, "flat"));
    wants_init(&w, 3, (int64_t)SIDE, (int64_t)SIDE, (int64_t)3);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "output out");
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 1, buffers);
    assert_true(x[0] == 5 && x[1] == 6);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static artel_status fetch_one(bench *b, const char *folder)
{
    simple_wants w;
    float x[PIXELS];
    void *buffers[2] = {x, NULL};
    artel_data *data = bench_open(b, "images:%s", folder);
    wants_init(&w, 3, (int64_t)SIDE, (int64_t)SIDE, (int64_t)3);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    artel_status status = artel__feed_fetch(feed, NULL, (const uint64_t[]){0}, 1, buffers);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
    return status;
}

static void damaged(void **state)
{
    bench *b = *state;
    uint8_t pixels[PIXELS] = {1, 2, 3}, file[2048], changed[2048];
    if (!has_part(b)) skip();
    size_t size = make_png(file, sizeof file, pixels, SIDE, SIDE, 3);
    int refusals = 0;
    for (size_t cut = 0; cut < size - 12; cut += 3) { /* the last chunk says only that it is the last */
        bench_write(b, "bad/k/a.png", file, cut);
        assert_int_equal(fetch_one(b, bench_path(b, "bad")), ARTEL_ERROR_CORRUPT);
        bench_failed(b, ARTEL_ERROR_CORRUPT, "a.png");
    }
    for (size_t at = 8; at < size; at++) {
        memcpy(changed, file, size);
        changed[at] ^= (uint8_t)(1u << (at % 8));
        bench_write(b, "bad/k/a.png", changed, size);
        refusals += fetch_one(b, bench_path(b, "bad")) < 0;
        artel_context_clear(b->ctx);
    }
    assert_true(refusals > 30);
    memcpy(changed, file, size);
    changed[16] = 0x7f; /* two thousand million pixels wide */
    bench_write(b, "bad/k/a.png", changed, size);
    assert_int_equal(fetch_one(b, bench_path(b, "bad")), ARTEL_ERROR_CORRUPT);
    artel_context_clear(b->ctx);
    bench_text(b, "bad/k/a.png", "GIF89a....");
    assert_int_equal(fetch_one(b, bench_path(b, "bad")), ARTEL_ERROR_CORRUPT);
    bench_failed(b, ARTEL_ERROR_CORRUPT, "GIF: the image is cut off");
    bench_write(b, "bad/k/a.png", "\xff\xd8\xff\xe0 not a jpeg", 14);
    assert_int_equal(fetch_one(b, bench_path(b, "bad")), ARTEL_ERROR_CORRUPT);
    artel_context_clear(b->ctx);
    write_png(b, "bad/k/a.png", 0, 3);
    write_png(b, "bad/k/a.gif", 0, 3); /* the content counts, not the name */
    assert_int_equal(fetch_one(b, bench_path(b, "bad")), ARTEL_OK);
}

static void refused(void **state)
{
    bench *b = *state;
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "no such folder", "images:%s", bench_path(b, "nowhere"));
    bench_open_fails(b, ARTEL_ERROR_INVALID, "not a folder", "images:%s", bench_text(b, "file", "x"));
    bench_text(b, "empty/k/readme.txt", "x");
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "no .jpg, .jpeg, .png, .gif or .bmp", "images:%s",
                     bench_path(b, "empty"));
}

/* Known answers of tf.image.resize: 2x2 to 4x4 and to 3x3, half-pixel centres. */
static void resizing(void **state)
{
    static const uint8_t pixels[4] = {0, 100, 200, 40};
    static const float four[4] = {0, 25, 75, 100};
    float out[16];
    (void)state;
    artel__image_resize resize = {pixels, NULL, 2, 2, 1, 4, 4, ARTEL__DATA_BILINEAR};
    artel__image_resize_run(&resize, out);
    for (int i = 0; i < 4; i++) assert_true(out[i] == four[i]);
    assert_true(out[12] == 200 && out[15] == 40 && out[4] == 50); /* rows mix like columns */
    resize.out_height = resize.out_width = 1;
    artel__image_resize_run(&resize, out);
    assert_true(out[0] == 85);
    resize.interpolation = ARTEL__DATA_NEAREST;
    artel__image_resize_run(&resize, out);
    assert_true(out[0] == 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(classes_in_order, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(sizes_and_options, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(random_split, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(without_classes, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(damaged, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(resizing, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
