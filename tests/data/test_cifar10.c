/* SPDX-License-Identifier: Apache-2.0 */
/* cifar10: planes become channels, files of a pattern follow one another, sizes are checked. */
#include "data/help_data.h"

#define RECORD 3073

/* Pixel p of plane c of record r. */
static uint8_t pixel(int r, int c, int p)
{
    return (uint8_t)(r * 50 + c * 7 + p);
}

static void write_batch(bench *b, const char *name, int first, int count)
{
    static uint8_t bytes[4 * RECORD];
    for (int r = 0; r < count; r++) {
        bytes[r * RECORD] = (uint8_t)(first + r);
        for (int c = 0; c < 3; c++) {
            for (int p = 0; p < 1024; p++) bytes[r * RECORD + 1 + c * 1024 + p] = pixel(first + r, c, p);
        }
    }
    bench_write(b, name, bytes, (size_t)count * RECORD);
}

static void batches(void **state)
{
    bench *b = *state;
    static float values[5 * 3072];
    int32_t classes[5];
    void *buffers[2] = {values, classes};
    simple_wants w;
    write_batch(b, "data_batch_2.bin", 3, 2);
    write_batch(b, "data_batch_1.bin", 0, 3);
    artel_data *data = bench_open(b, "cifar10:%s#scale=1/255", bench_path(b, "data_batch_*.bin"));
    wants_init(&w, 3, (int64_t)32, (int64_t)32, (int64_t)3);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_count(feed), 5);
    bench_fetch(b, feed, 0, 5, buffers);
    for (int r = 0; r < 5; r++) {
        assert_int_equal(classes[r], r);
        for (int i = 0; i < 3072; i++) assert_true(values[r * 3072 + i] == (float)pixel(r, i % 3, i / 3) / 255.0f);
    }
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void refused(void **state)
{
    bench *b = *state;
    static uint8_t bytes[2 * 3074];
    bench_write(b, "short.bin", bytes, RECORD - 1);
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "multiple of 3073", "cifar10:%s", bench_path(b, "short.bin"));
    bench_write(b, "empty.bin", bytes, 0);
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "0 bytes", "cifar10:%s", bench_path(b, "empty.bin"));
    bench_write(b, "hundred.bin", bytes, sizeof bytes);
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "CIFAR-100", "cifar10:%s", bench_path(b, "hundred.bin"));
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "none-*.bin", "cifar10:%s", bench_path(b, "none-*.bin"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
