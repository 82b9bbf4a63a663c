/* SPDX-License-Identifier: Apache-2.0 */
/* Data through the C API: arrays in memory and a callback, with conversions, splits and failures. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/help_data.h"

typedef struct supply {
    int calls, inside;
    uint64_t fails_at;
    const char *says;
} supply;

static artel_status deliver(void *user, const uint64_t *rows, int64_t count, void *const *buffers, char *message)
{
    supply *s = user;
    double *x = buffers[0];
    int16_t *y = buffers[1];
    float *extra = buffers[2];
    s->calls++;
    if (s->inside++ != 0) abort(); /* one call at a time was promised */
    for (int64_t i = 0; i < count; i++) {
        x[2 * i] = (double)rows[i];
        x[2 * i + 1] = 0.5;
        y[i] = (int16_t)(rows[i] % 10);
        extra[i] = 1;
        if (rows[i] != s->fails_at) continue;
        if (s->says != NULL) snprintf(message, 512, "%s", s->says);
        s->inside--;
        return ARTEL_ERROR_IO;
    }
    s->inside--;
    return ARTEL_OK;
}

static artel_data *called(bench *b, supply *s)
{
    static const artel_data_array arrays[3] = {
        {.role = ARTEL_DATA_ROLE_INPUT, .dtype = ARTEL_DTYPE_FLOAT64, .shape = {2, {0, 2}}},
        {.role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT16, .shape = {1, {0}}},
        {.name = "unused", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {1, {0}}}};
    const artel_data_callback callback = {arrays, 3, 100, deliver, s};
    artel_data *data = NULL;
    assert_int_equal(artel_data_from_callback(b->ctx, &callback, &data), ARTEL_OK);
    assert_int_equal(artel_data_count(data), 100);
    return data;
}

static void callback_rows(void **state)
{
    bench *b = *state;
    supply s = {.fails_at = UINT64_MAX};
    artel_data *data = called(b, &s);
    simple_wants w;
    float x[20];
    int32_t y[10];
    void *buffers[2] = {x, y};
    wants_init(&w, 1, (int64_t)2);
    artel__feed *feed = bench_bind(b, data, &w.wants), *train, *validation;
    bench_fetch(b, feed, 40, 10, buffers);
    for (int i = 0; i < 10; i++) assert_true(x[2 * i] == (float)(40 + i) && x[2 * i + 1] == 0.5f && y[i] == i);
    assert_int_equal(artel__feed_split(feed, 0.2, &train, &validation), ARTEL_OK);
    bench_fetch(b, validation, 0, 1, buffers);
    assert_true(x[0] == 80);
    buffers[0] = NULL;
    bench_fetch(b, validation, 5, 1, buffers);
    assert_int_equal(y[0], 5);
    assert_int_equal(s.calls, 3);
    artel__feed_destroy(train);
    artel__feed_destroy(validation);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void *fetch_many(void *user)
{
    const artel__feed *feed = user;
    float x[2];
    int32_t y;
    void *buffers[2] = {x, &y};
    for (uint64_t i = 0; i < 100; i++) {
        if (artel__feed_fetch(feed, NULL, &i, 1, buffers) != ARTEL_OK || x[0] != (float)i) return user;
    }
    return NULL;
}

static void callback_threads(void **state)
{
    bench *b = *state;
    supply s = {.fails_at = UINT64_MAX};
    artel_data *data = called(b, &s);
    simple_wants w;
    wants_init(&w, 1, (int64_t)2);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, fetch_many, feed), 0);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(s.calls, 300);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void callback_fails(void **state)
{
    bench *b = *state;
    supply s = {.fails_at = 3, .says = "the tape is torn"};
    artel_data *data = called(b, &s);
    simple_wants w;
    float x[20];
    int32_t y[10];
    void *buffers[2] = {x, y};
    uint64_t rows[2] = {2, 3};
    wants_init(&w, 1, (int64_t)2);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_fetch(feed, NULL, rows, 2, buffers), ARTEL_ERROR_IO);
    bench_failed(b, ARTEL_ERROR_IO, "the tape is torn");
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void refused(void **state)
{
    static const float values[4] = {0};
    static const struct {
        const char *bytes;
        size_t length;
    } texts[4] = {{"fine", 4}, {NULL, 0}, {NULL, 3}, {"", 0}};
    static const struct {
        artel_data_array array;
        const char *part;
    } rows[] = {
        {{NULL, ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_FLOAT32, {1, {4}}, values}, "a name or a role"},
        {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_STRING, {1, {4}}, texts}, "string 2 is NULL"},
        {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {.rank = 0}, values}, "1 to 8 axes"},
        {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {4, -1}}, values}, "1 to 8 axes"},
        {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {(int64_t)1 << 61, 3}}, values}, "too many values"},
        {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {1, {(int64_t)1 << 62}}, values}, "too many values"},
        {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {(int64_t)1 << 62, 4}}, values}, "too many values"},
        {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {1, {4}}, NULL}, "no values"},
        {{"x", (artel_data_role)7, ARTEL_DTYPE_FLOAT32, {1, {4}}, values}, "unknown role"},
    };
    bench *b = *state;
    artel_data *data = NULL;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        assert_true(artel_data_from_memory(b->ctx, &rows[i].array, 1, &data) < 0);
        bench_failed(b, artel_context_error(b->ctx)->status, rows[i].part);
    }
    assert_int_equal(artel_data_from_memory(b->ctx, &rows[0].array, 0, &data), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "0 arrays");
    const artel_data_callback strings = {&rows[1].array, 1, 4, deliver, NULL},
                              none = {&rows[1].array, 1, 0, deliver, NULL};
    assert_int_equal(artel_data_from_callback(b->ctx, &strings, &data), ARTEL_ERROR_UNSUPPORTED);
    bench_failed(b, ARTEL_ERROR_UNSUPPORTED, "by a function");
    assert_int_equal(artel_data_from_callback(b->ctx, &none, &data), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "no samples");
    assert_null(data);
    artel_data_destroy(NULL);
}

static void described(void **state)
{
    static const uint8_t bytes[24] = {0};
    const artel_data_array array = {"pixels", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_UINT8, {3, {2, 3, 4}}, bytes};
    bench *b = *state;
    artel_data *data = NULL;
    artel_data_array found;
    assert_int_equal(artel_data_from_memory(b->ctx, &array, 1, &data), ARTEL_OK);
    assert_int_equal(artel_data_array_count(data), 1);
    assert_int_equal(artel_data_array_describe(data, 0, &found), ARTEL_OK);
    assert_string_equal(found.name, "pixels");
    assert_int_equal(found.dtype, ARTEL_DTYPE_UINT8);
    assert_true(found.shape.rank == 3 && found.shape.dim[0] == 2 && found.shape.dim[2] == 4);
    assert_int_equal(artel_data_array_describe(data, 1, &found), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "no array 1");
    artel_data_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(callback_rows, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(callback_threads, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(callback_fails, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(described, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
