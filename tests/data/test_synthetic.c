/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic: a pure function of (seed, array, row, index), within the model's limits, kept or computed alike. */
#include <stdlib.h>

#include "base/rng.h"
#include "data/help_data.h"
#include "data/source.h"

static artel_data *synthetic(bench *b, int64_t count)
{
    return bench_open(b, "synthetic:%lld", (long long)count);
}

static void values_and_classes(void **state)
{
    bench *b = *state;
    static float values[512 * 12];
    int32_t classes[512];
    int seen[10] = {0};
    void *buffers[2] = {values, classes};
    simple_wants w;
    wants_init(&w, 3, (int64_t)2, (int64_t)3, (int64_t)2);
    w.wants.seed = 7;
    artel_data *data = synthetic(b, 512);
    assert_int_equal(artel_data_count(data), 512);
    assert_int_equal(artel_data_array_count(data), 0);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 512, buffers);
    double sum = 0;
    for (int i = 0; i < 512 * 12; i++) {
        assert_true(values[i] >= 0 && values[i] < 1);
        sum += (double)values[i];
    }
    assert_float_equal(sum / (512 * 12), 0.5, 0.02);
    for (int i = 0; i < 512; i++) seen[classes[i]]++;
    for (int i = 0; i < 10; i++) assert_in_range(seen[i], 20, 90);

    /* golden: straight from the generator */
    uint32_t words[4];
    artel__rng_block(artel__rng_make_key(7, ARTEL__STREAM_SYNTHETIC), 0, 0, 3, 1, words);
    assert_true(values[3 * 12 + 6] == artel__rng_uniform(words[2]));
    artel__rng_block(artel__rng_make_key(7, ARTEL__STREAM_SYNTHETIC), 0, 1, 3, 0, words);
    assert_int_equal(classes[3], (int32_t)(((uint64_t)words[0] * 10) >> 32));
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

/* More than 64 MiB is computed row by row; the values are the same. */
static void kept_or_computed(void **state)
{
    bench *b = *state;
    static float few[100], many[100];
    void *few_buffers[1] = {few}, *many_buffers[1] = {many};
    simple_wants w;
    wants_init(&w, 1, (int64_t)10);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    artel_data *small = synthetic(b, 10), *large = synthetic(b, 1 << 30);
    artel__feed *small_feed = bench_bind(b, small, &w.wants), *large_feed = bench_bind(b, large, &w.wants);
    uint64_t before = artel__heap_calls(b->ctx);
    bench_fetch(b, small_feed, 0, 10, few_buffers);
    bench_fetch(b, large_feed, 0, 10, many_buffers);
    assert_int_equal(artel__heap_calls(b->ctx), before);
    assert_memory_equal(few, many, sizeof few);
    bench_fetch(b, large_feed, (1 << 30) - 10, 10, many_buffers);
    assert_memory_not_equal(few, many, sizeof few);
    artel__feed_destroy(small_feed);
    artel__feed_destroy(large_feed);
    artel_data_destroy(small);
    artel_data_destroy(large);
}

static void integers_and_one_hot(void **state)
{
    bench *b = *state;
    static int32_t tokens[100 * 20];
    static float hot[100 * 6];
    void *buffers[2] = {tokens, hot};
    simple_wants w;
    int32_t largest = 0;
    wants_init(&w, 1, (int64_t)20);
    w.input.dtype = ARTEL_DTYPE_INT32;
    w.input.limit = 1000;
    w.target = (artel__data_want_target){.name = "out",
                                         .dtype = ARTEL_DTYPE_FLOAT32,
                                         .kind = ARTEL__DATA_TARGET_ONE_HOT,
                                         .row = {2, {2, 3}},
                                         .classes = 3};
    artel_data *data = synthetic(b, 100);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 100, buffers);
    for (int i = 0; i < 2000; i++) {
        assert_in_range(tokens[i], 0, 999);
        largest = tokens[i] > largest ? tokens[i] : largest;
    }
    assert_true(largest > 900);
    for (int i = 0; i < 200; i++) assert_true(hot[3 * i] + hot[3 * i + 1] + hot[3 * i + 2] == 1.0f);
    artel__feed_destroy(feed);
    w.input.dtype = ARTEL_DTYPE_FLOAT32; /* an Embedding fed from a float input */
    feed = bench_bind(b, data, &w.wants);
    static float float_tokens[100 * 20];
    buffers[0] = float_tokens;
    bench_fetch(b, feed, 0, 100, buffers);
    for (int i = 0; i < 2000; i++) assert_true(float_tokens[i] == (float)tokens[i]);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void refused(void **state)
{
    static const char *const specs[] = {"synthetic:0", "synthetic:-5", "synthetic:x", "synthetic:99999999999999"};
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(specs); i++)
        bench_open_fails(b, ARTEL_ERROR_INVALID, "synthetic:COUNT", "%s", specs[i]);
    simple_wants w;
    wants_init(&w, 1, (int64_t)-1);
    artel_data *data = synthetic(b, 5);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "leaves an extent open");
    artel_data_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_and_classes, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(kept_or_computed, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(integers_and_one_hot, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
