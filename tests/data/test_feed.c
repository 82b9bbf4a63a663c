/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds: splits, fingerprints, lifetimes, no heap in a steady fetch, any number of threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/failures.h"
#include "data/help_data.h"
#include "data/rows.h"

enum {
    ROWS = 1000,
    WIDTH = 5
};

static float floats[ROWS * WIDTH];
static uint8_t labels[ROWS];

static artel_data *numbered(bench *b)
{
    for (int i = 0; i < ROWS * WIDTH; i++) floats[i] = (float)i;
    for (int i = 0; i < ROWS; i++) labels[i] = (uint8_t)(i % 10);
    const artel_data_array arrays[2] = {{NULL, ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {ROWS, WIDTH}}, floats},
                                        {NULL, ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_UINT8, {1, {ROWS}}, labels}};
    artel_data *data = NULL;
    assert_int_equal(artel_data_from_memory(b->ctx, arrays, 2, &data), ARTEL_OK);
    return data;
}

static artel__feed *bound(bench *b, artel_data *data)
{
    simple_wants w;
    wants_init(&w, 1, (int64_t)WIDTH);
    return bench_bind(b, data, &w.wants);
}

/* Keras: split_at = floor(n * (1 - fraction)); the last rows validate. */
static void split(void **state)
{
    static const double fractions[] = {0.1, 0.25, 1.0 / 3, 0.999, 0.0005};
    static const int64_t expected[] = {900, 750, 666, 1, 999};
    bench *b = *state;
    artel_data *data = numbered(b);
    artel__feed *feed = bound(b, data), *train, *validation, *first, *second;
    for (size_t i = 0; i < ARTEL__COUNT(fractions); i++) {
        float row[WIDTH];
        void *buffers[2] = {row, NULL};
        assert_int_equal(artel__feed_split(feed, fractions[i], &train, &validation), ARTEL_OK);
        assert_int_equal(artel__feed_count(train), expected[i]);
        assert_int_equal(artel__feed_count(validation), ROWS - expected[i]);
        bench_fetch(b, validation, 0, 1, buffers);
        assert_true(row[0] == (float)(expected[i] * WIDTH));
        artel__feed_destroy(train);
        artel__feed_destroy(validation);
    }
    assert_int_equal(artel__feed_split(feed, 0.5, &train, &validation), ARTEL_OK);
    assert_int_equal(artel__feed_split(validation, 0.5, &first, &second), ARTEL_OK); /* a part of a part */
    float row[WIDTH];
    void *buffers[2] = {row, NULL};
    bench_fetch(b, second, 0, 1, buffers);
    assert_true(row[0] == 750 * WIDTH);
    artel__feed_destroy(feed); /* any order */
    artel_data_destroy(data);
    artel__feed_destroy(first);
    artel__feed_destroy(train);
    bench_fetch(b, second, 249, 1, buffers);
    assert_true(row[0] == 999 * WIDTH);
    artel__feed_destroy(second);
    artel__feed_destroy(validation);
}

static void split_refused(void **state)
{
    static const double fractions[] = {0, 1, -0.5, 2, 0.9999, 1e-300 / 1e300};
    bench *b = *state;
    artel_data *data = numbered(b);
    artel__feed *feed = bound(b, data), *train = NULL, *validation = NULL;
    for (size_t i = 0; i < ARTEL__COUNT(fractions); i++) {
        assert_int_equal(artel__feed_split(feed, fractions[i], &train, &validation), ARTEL_ERROR_INVALID);
        bench_failed(b, ARTEL_ERROR_INVALID, "validation split");
    }
    assert_null(train);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void steady_heap(void **state)
{
    bench *b = *state;
    artel_data *data = numbered(b);
    artel__feed *feed = bound(b, data);
    float rows[32 * WIDTH];
    int32_t classes[32];
    void *buffers[2] = {rows, classes};
    uint64_t before = artel__heap_calls(b->ctx);
    for (uint64_t step = 0; step < 30; step++) bench_fetch(b, feed, step * 32, 32, buffers);
    assert_int_equal(artel__heap_calls(b->ctx), before);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

typedef struct fetcher {
    const artel__feed *feed;
    uint64_t start;
    int wrong;
} fetcher;

static void *fetch_all(void *user)
{
    fetcher *f = user;
    float row[WIDTH];
    int32_t class;
    void *buffers[2] = {row, &class};
    for (uint64_t i = 0; i < ROWS; i++) {
        uint64_t at = (f->start + i * 7) % ROWS;
        if (artel__feed_fetch(f->feed, NULL, &at, 1, buffers) != ARTEL_OK) f->wrong++;
        f->wrong += row[0] != (float)(at * WIDTH) || class != (int32_t)(at % 10);
    }
    return NULL;
}

static void many_threads(void **state)
{
    bench *b = *state;
    artel_data *data = numbered(b);
    artel__feed *feed = bound(b, data);
    pthread_t threads[4];
    fetcher fetchers[4];
    for (int i = 0; i < 4; i++) {
        fetchers[i] = (fetcher){feed, (uint64_t)i * 100, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, fetch_all, &fetchers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(fetchers[i].wrong, 0);
    }
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

/* A fetch that the threads of a pool share delivers what one thread does, and a bad row in any piece fails it. */
static void pool_shares(void **state)
{
    enum {
        MANY = 7 * ROWS
    };
    static uint64_t order[MANY];
    static float rows[MANY * WIDTH];
    static int32_t classes[MANY];
    void *buffers[2] = {rows, classes};
    bench *b = *state;
    artel_data *data = numbered(b);
    artel__feed *feed = bound(b, data);
    artel__pool *pool = NULL;
    assert_int_equal(artel__pool_create(b->ctx, 3, &pool), ARTEL_OK);
    for (uint64_t i = 0; i < MANY; i++) order[i] = i * 13 % ROWS;
    assert_int_equal(artel__feed_fetch(feed, pool, order, MANY, buffers), ARTEL_OK);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < WIDTH; k++) assert_true(rows[i * WIDTH + k] == (float)(order[i] * WIDTH + (uint64_t)k));
        assert_int_equal(classes[i], order[i] % 10);
    }
    labels[777] = 10;
    bool before = artel__failures_forget(true); /* as what is fetched ahead, and perhaps never asked for */
    assert_int_equal(artel__feed_fetch(feed, pool, order, MANY, buffers), ARTEL_ERROR_INVALID);
    artel__failures_forget(before);
    assert_int_equal(artel_context_error(b->ctx)->status, ARTEL_OK);
    assert_int_equal(artel__feed_fetch(feed, pool, order, MANY, buffers), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "record 777 (counted from 0): the label 10");
    artel__pool_destroy(pool);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void feed_print(const artel__feed *feed, uint8_t out[32])
{
    assert_int_equal(artel__feed_fingerprint(feed, out), ARTEL_OK);
}

static void fingerprints(void **state)
{
    bench *b = *state;
    uint8_t file[512], one[32], two[32];
    const float values[4] = {1, 2, 3, 4}, others[4] = {1, 2, 3, 5};
    const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
    simple_wants w;
    const char *a = bench_write(b, "a.npy", file, make_npy(file, header, values, sizeof values));
    const char *same = bench_write(b, "same.npy", file, make_npy(file, header, values, sizeof values));
    const char *other = bench_write(b, "other.npy", file, make_npy(file, header, others, sizeof others));
    struct {
        char spec[1100];
        bool equal;
    } rows[5] = {{.equal = true}, {.equal = true}, {.equal = false}, {.equal = false}, {.equal = false}};
    snprintf(rows[0].spec, sizeof rows[0].spec, "npy:%s", a);
    snprintf(rows[1].spec, sizeof rows[1].spec, "npy:%s", same); /* content counts, paths do not */
    snprintf(rows[2].spec, sizeof rows[2].spec, "npy:%s", other);
    snprintf(rows[3].spec, sizeof rows[3].spec, "npy:%s#scale=1/2", a);
    snprintf(rows[4].spec, sizeof rows[4].spec, "npy:%s+npy:%s", a, same);
    wants_init(&w, 1, (int64_t)2);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    for (int i = 0; i < 5; i++) {
        artel_data *data = bench_open(b, "%s", rows[i].spec);
        artel__feed *feed = bench_bind(b, data, &w.wants);
        feed_print(feed, i == 0 ? one : two);
        if (i > 0) assert_int_equal(memcmp(one, two, 32) == 0, rows[i].equal);
        if (i == 4) {
            artel__feed *train, *validation;
            assert_int_equal(artel__feed_split(feed, 0.5, &train, &validation), ARTEL_OK);
            feed_print(train, one);
            assert_memory_not_equal(one, two, 32);
            feed_print(validation, two);
            assert_memory_not_equal(one, two, 32);
            artel__feed_destroy(train);
            artel__feed_destroy(validation);
        }
        artel__feed_destroy(feed);
        artel_data_destroy(data);
    }
}

/* Every allocation of opening, binding and splitting fails once: an error each time, nothing lost (the leak check
 * sees). */
static void failing_memory(void **state)
{
    bench *b = *state;
    uint8_t file[512];
    const float values[4] = {1, 2, 3, 4};
    char spec[600];
    snprintf(spec, sizeof spec, "csv:%s#label=y", bench_text(b, "t.csv", "a,y\n1,2\n3,4\n5,6\n"));
    for (int format = 0; format < 2; format++) {
        int failures = 0;
        for (uint64_t n = 1; n < 200; n++) {
            artel_data *data = NULL;
            artel__feed *feed = NULL, *train = NULL, *validation = NULL;
            simple_wants w;
            wants_init(&w, 1, format == 0 ? (int64_t)1 : (int64_t)2);
            if (format == 1) w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
            artel__fail_allocation_after(b->ctx, n);
            artel_status status = artel_data_open(b->ctx, spec, &data);
            if (status == ARTEL_OK) status = artel__data_bind(data, &w.wants, &feed);
            if (status == ARTEL_OK) status = artel__feed_split(feed, 0.5, &train, &validation);
            artel__fail_allocation_after(b->ctx, 0);
            artel__feed_destroy(train);
            artel__feed_destroy(validation);
            artel__feed_destroy(feed);
            artel_data_destroy(data);
            if (status == ARTEL_OK) break;
            assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
            artel_context_clear(b->ctx);
            failures++;
        }
        assert_in_range(failures, 4, 150);
        bench_write(
            b, "x.npy", file,
            make_npy(file, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }", values, sizeof values));
        snprintf(spec, sizeof spec, "npy:%s", bench_path(b, "x.npy"));
    }
}

static void descriptions(void **state)
{
    bench *b = *state;
    artel_data *data = numbered(b);
    artel__feed *feed = bound(b, data);
    artel__text text;
    artel__text_init(&text, b->ctx);
    artel__data_describe(data, &text);
    assert_non_null(strstr(text.data, "x: 1000 rows of float32 (5,), input"));
    artel__text_clear(&text);
    artel__feed_describe(feed, &text);
    assert_non_null(strstr(text.data, "y uint8 (None,) -> out int32 (None,) (class numbers)"));
    artel__text_fini(&text);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static int whole_reads;

/* Rows of three int64 arrays: 100 * array + row. */
static artel_status whole_record(const artel__source *source, int64_t row, const artel__row_want *wants, int count)
{
    (void)source;
    whole_reads++;
    for (int i = 0; i < count; i++) *(int64_t *)wants[i].out = 100 * wants[i].array + row;
    return ARTEL_OK;
}

static artel_status whole_row(const artel__source *source, int array, const artel_shape *shape, int64_t row, void *out)
{
    const artel__row_want want = {array, shape, out};
    return whole_record(source, row, &want, 1);
}

static artel_status whole_open(artel__source *source)
{
    static const char *const names[] = {"a", "b", "out"};
    ARTEL_TRY(artel__source_add_arrays(source, 3));
    for (int i = 0; i < 3; i++)
        source->arrays[i] = (artel__source_array){.name = names[i],
                                                  .role = i < 2 ? ARTEL_DATA_ROLE_INPUT : ARTEL_DATA_ROLE_TARGET,
                                                  .dtype = ARTEL_DTYPE_INT64,
                                                  .count = 50};
    return ARTEL_OK;
}

/* What is read as a whole is read once a row, whatever is wanted of it. */
static void whole_rows(void **state)
{
    static const artel__data_format format = {
        .name = "whole", .options = "", .open = whole_open, .fetch_row = whole_row, .fetch_record = whole_record};
    bench *b = *state;
    artel_data *data;
    simple_wants w;
    int64_t integers[50], row[6];
    float converted[50], target[50];
    void *buffers[3] = {converted, integers, target};
    artel__arena arena;
    artel__rows rows;
    wants_init(&w, 0);
    artel__data_want_input inputs[2] = {w.input, w.input};
    inputs[0].name = "a";
    inputs[1] = (artel__data_want_input){.name = "b", .dtype = ARTEL_DTYPE_INT64};
    w.wants.inputs = inputs;
    w.wants.input_count = 2;
    w.target =
        (artel__data_want_target){.name = "out", .dtype = ARTEL_DTYPE_FLOAT32, .kind = ARTEL__DATA_TARGET_VALUES};
    assert_int_equal(artel__data_create_single(b->ctx, &format, &data), ARTEL_OK);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    whole_reads = 0;
    bench_fetch(b, feed, 0, 50, buffers);
    assert_int_equal(whole_reads, 50);
    for (int i = 0; i < 50; i++)
        assert_true(converted[i] == (float)i && integers[i] == 100 + i && target[i] == (float)(200 + i));
    buffers[0] = buffers[2] = NULL;
    bench_fetch(b, feed, 0, 50, buffers);
    assert_int_equal(whole_reads, 100);
    artel__arena_init(&arena, b->ctx);
    assert_int_equal(artel__rows_open(data, &arena, false, &rows), ARTEL_OK);
    assert_true(rows.row_bytes <= sizeof row);
    assert_int_equal(artel__rows_fetch_all(&rows, 7, row), ARTEL_OK);
    assert_int_equal(whole_reads, 101);
    for (int c = 0; c < 3; c++) assert_int_equal(row[rows.columns[c].at / 8], 100 * c + 7);
    artel__arena_fini(&arena);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(split, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(split_refused, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(steady_heap, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(many_threads, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(pool_shares, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(fingerprints, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(whole_rows, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(failing_memory, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(descriptions, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
