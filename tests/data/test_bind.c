/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: shapes as Keras adapts them, labels as the loss wants them, several inputs and outputs, messages. */
#include <stdio.h>
#include <stdlib.h>

#include "data/help_data.h"

static const float floats[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const int32_t numbers[4] = {0, 2, 1, 2};

static artel_data *from_arrays(bench *b, const artel_data_array *arrays, int count)
{
    artel_data *data = NULL;
    assert_int_equal(artel_data_from_memory(b->ctx, arrays, count, &data), ARTEL_OK);
    return data;
}

static artel_data *pair(bench *b, artel_shape x, artel_dtype y_type, artel_shape y, const void *y_values)
{
    const artel_data_array arrays[2] = {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, x, floats},
                                        {"y", ARTEL_DATA_ROLE_TARGET, y_type, y, y_values}};
    return from_arrays(b, arrays, 2);
}

#define SHAPE(...) ((artel_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), {__VA_ARGS__}})

static void IN10_input_shapes(void **state)
{
    static const struct {
        artel_shape data, wanted;
        bool fits;
        int rank;
    } rows[] = {
        {{2, {4, 3}}, {1, {3}}, true, 1},        {{2, {4, 3}}, {1, {-1}}, true, 1},
        {{2, {4, 3}}, {1, {4}}, false, 0},       {{2, {4, 3}}, {2, {3, 1}}, true, 2},
        {{3, {4, 3, 1}}, {1, {3}}, true, 1},     {{2, {4, 3}}, {2, {1, 3}}, false, 0},
        {{2, {4, 3}}, {3, {3, 1, 1}}, false, 0}, {{2, {4, 3}}, {.rank = -1}, true, 1},
        {{1, {12}}, {1, {1}}, true, 1},          {{2, {12, 1}}, {.rank = 0}, true, 0},
        {{3, {2, 3, 2}}, {2, {-1, 2}}, true, 2}, {{3, {2, 3, 2}}, {2, {3, -1}}, true, 2},
    };
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        const artel_data_array array = {"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, rows[i].data, floats};
        artel_data *data = from_arrays(b, &array, 1);
        simple_wants w;
        wants_init(&w, 0);
        w.input.row = rows[i].wanted;
        w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
        if (!rows[i].fits) {
            bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "the input 'in' takes (None");
        } else {
            artel__feed *feed = bench_bind(b, data, &w.wants);
            int count;
            const artel__feed_array *bound = artel__feed_arrays(feed, &count);
            assert_int_equal(bound[0].row.rank, rows[i].rank);
            assert_int_equal(artel__feed_count(feed), rows[i].data.dim[0]);
            float values[12];
            void *buffers[1] = {values};
            bench_fetch(b, feed, 0, artel__feed_count(feed), buffers);
            assert_memory_equal(values, floats, sizeof values);
            artel__feed_destroy(feed);
        }
        artel_data_destroy(data);
    }
}

/* Binds, fetches the four targets into `out`; NULL: binding must fail with `part`. */
static void targets(bench *b, artel_data *data, const artel__data_want_target *want, void *out, const char *part)
{
    simple_wants w;
    void *buffers[2] = {NULL, out};
    wants_init(&w, 1, (int64_t)3);
    w.target = *want;
    w.target.name = "out";
    if (out == NULL) {
        bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, part);
    } else {
        artel__feed *feed = bench_bind(b, data, &w.wants);
        bench_fetch(b, feed, 0, 4, buffers);
        artel__feed_destroy(feed);
    }
    artel_data_destroy(data);
}

static void class_numbers(void **state)
{
    static const double doubles[4] = {0, 2, 1, 2};
    bench *b = *state;
    const artel__data_want_target indices = {
        .dtype = ARTEL_DTYPE_INT64, .kind = ARTEL__DATA_TARGET_INDICES, .classes = 3};
    int64_t out[4];
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT32, SHAPE(4), numbers), &indices, out, NULL);
    assert_true(out[0] == 0 && out[1] == 2 && out[2] == 1 && out[3] == 2);
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT32, SHAPE(4, 1), numbers), &indices, out, NULL);
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_FLOAT64, SHAPE(4), doubles), &indices, out, NULL);
    assert_true(out[1] == 2 && out[2] == 1);
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_FLOAT32, SHAPE(4, 3), floats), &indices, NULL,
            "categorical_crossentropy");
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_FLOAT32, SHAPE(4, 2), floats), &indices, NULL,
            "one class number for each");
}

static void one_hot(void **state)
{
    bench *b = *state;
    const artel__data_want_target want = {
        .dtype = ARTEL_DTYPE_FLOAT32, .kind = ARTEL__DATA_TARGET_ONE_HOT, .row = {1, {3}}, .classes = 3};
    static const float expected[12] = {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1};
    float out[12];
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT32, SHAPE(4), numbers), &want, out, NULL);
    assert_memory_equal(out, expected, sizeof out);
    memset(out, 0, sizeof out);
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT32, SHAPE(4, 1), numbers), &want, out, NULL);
    assert_memory_equal(out, expected, sizeof out);
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_FLOAT32, SHAPE(4, 3), floats), &want, out, NULL);
    assert_memory_equal(out, floats, sizeof out); /* ready rows, soft labels too */
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_FLOAT32, SHAPE(4, 2), floats), &want, NULL, "(None, 2)");
}

static void float_values(void **state)
{
    bench *b = *state;
    const artel__data_want_target want = {
        .dtype = ARTEL_DTYPE_FLOAT32, .kind = ARTEL__DATA_TARGET_VALUES, .row = {1, {1}}};
    float out[4];
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT32, SHAPE(4), numbers), &want, out, NULL);
    assert_true(out[1] == 2.0f && out[2] == 1.0f);
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT32, SHAPE(4, 1), numbers), &want, out, NULL);
    targets(b, pair(b, SHAPE(4, 3), ARTEL_DTYPE_FLOAT32, SHAPE(4, 3), floats), &want, NULL, "sparse loss");
}

static void label_range(void **state)
{
    static const int16_t labels[4] = {0, 5, -1, 2};
    bench *b = *state;
    simple_wants w;
    int32_t out[4];
    void *buffers[2] = {NULL, out};
    artel_data *data = pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT16, SHAPE(4), labels);
    wants_init(&w, 1, (int64_t)3);
    w.target.classes = 5;
    artel__feed *feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_fetch(feed, NULL, (const uint64_t[]){1}, 1, buffers), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "record 1 (counted from 0): the label 5");
    assert_int_equal(artel__feed_fetch(feed, NULL, (const uint64_t[]){2}, 1, buffers), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "classes 0 to 4");
    artel__feed_destroy(feed);
    w.target.has_ignored = true;
    w.target.ignored = -1;
    feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_fetch(feed, NULL, (const uint64_t[]){2}, 1, buffers), ARTEL_OK);
    assert_int_equal(out[0], -1);
    assert_int_equal(artel__feed_fetch(feed, NULL, (const uint64_t[]){4}, 1, buffers), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "no row 4");
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void several(void **state)
{
    bench *b = *state;
    const artel_data_array arrays[] = {
        {"right", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_FLOAT32, SHAPE(4, 3), floats},
        {"sample_weight", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_FLOAT32, SHAPE(4, 1), floats},
        {"left", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_INT32, SHAPE(4), numbers},
        {"top", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_INT32, SHAPE(4), numbers},
        {"low", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_FLOAT32, SHAPE(4, 2), floats},
    };
    const artel__data_want_input inputs[2] = {{.name = "left", .dtype = ARTEL_DTYPE_INT32},
                                              {.name = "right", .row = {1, {3}}}};
    artel__data_want_target outputs[2] = {{.name = "low", .row = {1, {2}}}, {.name = "top", .row = {1, {1}}}};
    artel__data_wants wants = {.inputs = inputs, .input_count = 2, .targets = outputs, .target_count = 2};
    artel_data *data = from_arrays(b, arrays, 5);
    artel__feed *feed = bench_bind(b, data, &wants);
    int count, position;
    const artel__feed_array *bound = artel__feed_arrays(feed, &count);
    assert_int_equal(count, 5);
    assert_string_equal(bound[0].name, "left");
    assert_string_equal(bound[1].name, "right");
    assert_string_equal(bound[2].name, "low");
    assert_string_equal(bound[3].name, "top");
    assert_int_equal(bound[4].role, ARTEL_DATA_ROLE_WEIGHT);
    assert_int_equal(bound[4].row.rank, 0);
    assert_non_null(artel__feed_find(feed, ARTEL_DATA_ROLE_TARGET, 1, &position));
    assert_int_equal(position, 3);
    assert_null(artel__feed_find(feed, ARTEL_DATA_ROLE_TARGET, 2, &position));
    artel__feed_destroy(feed);
    outputs[0].name = "lowest";
    bench_bind_fails(b, data, &wants, ARTEL_ERROR_INVALID,
                     "outputs lowest, top (found: right, sample_weight, left, top, low)");
    artel_data_destroy(data);
}

static void lengths_and_counts(void **state)
{
    bench *b = *state;
    simple_wants w;
    wants_init(&w, 1, (int64_t)3);
    artel_data *data = pair(b, SHAPE(4, 3), ARTEL_DTYPE_INT32, SHAPE(3), numbers);
    assert_int_equal(artel_data_count(data), -1);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "'y' has 3 rows (array 'x' has 4)");
    artel_data_destroy(data);
    data = pair(b, SHAPE(0, 3), ARTEL_DTYPE_INT32, SHAPE(0), numbers);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "empty");
    artel_data_destroy(data);
    const artel_data_array two[2] = {{"p", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, SHAPE(4, 3), floats},
                                     {"q", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, SHAPE(4, 3), floats}};
    data = from_arrays(b, two, 2);
    w.wants.purpose = ARTEL__DATA_PURPOSE_PREDICT;
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "2 arrays for 1 inputs");
    artel_data_destroy(data);
}

/* Bytes for a model that does not scale them: said once, when training. */
static void note_about_bytes(void **state)
{
    static const uint8_t pixels[8] = {0, 255};
    bench *b = *state;
    const artel_data_array arrays[2] = {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_UINT8, SHAPE(2, 2, 2), pixels},
                                        {"y", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_INT32, SHAPE(2), numbers}};
    artel_data *data = from_arrays(b, arrays, 2);
    simple_wants w;
    wants_init(&w, 2, (int64_t)2, (int64_t)2);
    w.wants.scales_itself = true;
    artel__feed_destroy(bench_bind(b, data, &w.wants));
    assert_string_equal(b->log, "");
    w.wants.scales_itself = false;
    artel__feed_destroy(bench_bind(b, data, &w.wants));
    assert_non_null(strstr(b->log, "Rescaling"));
    artel_data_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(IN10_input_shapes, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(class_numbers, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(one_hot, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(float_values, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(label_range, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(several, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(lengths_and_counts, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(note_about_bytes, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
