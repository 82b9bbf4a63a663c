/* SPDX-License-Identifier: Apache-2.0 */
/* Losses by name and record: Keras' values by position, logits found behind a softmax, settings refused by name. */
#include "help_nn.h"

#include <math.h>
#include <string.h>

#include "nn/loss.h"
#include "op/elementwise.h"
#include "op/reduce.h"

enum {
    ROWS = 6,
    COLUMNS = 4
};
typedef enum kind {
    DATA_UNIT,
    DATA_REAL,
    DATA_BINARY,
    DATA_SIGN,
    DATA_CLASS,
    DATA_ONE_HOT
} kind;

typedef struct value_row {
    const char *json;
    kind prediction, target;
    double expected[ROWS];
} value_row;

static const value_row rows[] = {
#include "values/loss.list"
};

/* The same numbers as in keras_values.py. */
static float target_at(kind what, int i)
{
    float unit = nn_number(i, 0.7, 0, 1);
    switch (what) {
    case DATA_UNIT: return unit;
    case DATA_REAL: return nn_number(i, 0.7, -2, 2);
    case DATA_BINARY: return unit > 0.5f;
    case DATA_SIGN: return unit > 0.5f ? 1 : -1;
    default: return i % COLUMNS == i / COLUMNS * 3 % COLUMNS;
    }
}

static void check_values(const value_row *row)
{
    nn_bench bench;
    nn_init(&bench, ROWS);
    artel__loss_config loss;
    json_t *json = nn_json(row->json);
    assert_int_equal(artel__loss_read(&bench.arena, json, &loss), ARTEL_OK);
    json_decref(json);
    bool sparse = row->target == DATA_CLASS;
    assert_int_equal(loss.target == ARTEL__TARGET_INDEX, sparse);
    artel_shape shape = artel__shape(1, (int64_t)COLUMNS), none = {.rank = 0};
    artel__value_id y = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW,
                                           sparse ? ARTEL_DTYPE_INT32 : ARTEL_DTYPE_FLOAT32, sparse ? &none : &shape);
    artel__value_id p = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__graph_keep(&bench.graph, artel__loss_add(&bench.graph, &loss, y, p));
    nn_seal(&bench);
    float prediction[ROWS * COLUMNS], target[ROWS * COLUMNS];
    int32_t classes[ROWS];
    for (int i = 0; i < ROWS; i++) classes[i] = i * 3 % COLUMNS;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        prediction[i] = row->prediction == DATA_UNIT ? nn_number(i, 0.3, 0.02, 0.98) : nn_number(i, 0.3, -2, 2);
        target[i] = target_at(row->target, i);
    }
    nn_run(&bench, (const void *[]){sparse ? (void *)classes : (void *)target, prediction});
    const float *found = artel__run_kept(bench.run, 0);
    for (int i = 0; i < ROWS; i++) nn_assert_near(found[i], row->expected[i], 5e-6, row->json);
    nn_fini(&bench);
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) check_values(&rows[i]);
}

/* A saturated softmax: from probabilities the loss would stop at -log(1e-7) = 16.1. */
static void test_logits_behind(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 2);
    artel__loss_config loss;
    json_t *json = nn_json("'sparse_categorical_crossentropy'");
    assert_int_equal(artel__loss_read(&bench.arena, json, &loss), ARTEL_OK);
    json_decref(json);
    artel_shape shape = artel__shape(1, (int64_t)3), none = {.rank = 0};
    artel__value_id y = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_INT32, &none);
    artel__value_id x = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__value_id p = artel__op_softmax(&bench.graph, ARTEL__SOFTMAX, x, -1);
    artel__graph_keep(&bench.graph, artel__loss_add(&bench.graph, &loss, y, p));
    nn_seal(&bench);
    nn_run(&bench, (const void *[]){(int32_t[]){0, 2}, (float[]){-50, 0, 10, 3, 3, 3}});
    const float *found = artel__run_kept(bench.run, 0);
    nn_assert_near(found[0], 60.0, 1e-5, "saturated");
    nn_assert_near(found[1], log(3.0), 1e-6, "even");
    nn_fini(&bench);
}

/* Keras takes what stands in front of a sigmoid for logits of a softmax too. */
static void test_logits_of_sigmoid(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    artel__loss_config loss;
    json_t *json = nn_json("'categorical_crossentropy'");
    assert_int_equal(artel__loss_read(&bench.arena, json, &loss), ARTEL_OK);
    json_decref(json);
    artel_shape shape = artel__shape(1, (int64_t)3);
    artel__value_id y = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__value_id x = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__value_id p = artel__op_unary(&bench.graph, ARTEL__UNARY_SIGMOID, NULL, x);
    artel__graph_keep(&bench.graph, artel__loss_add(&bench.graph, &loss, y, p));
    nn_seal(&bench);
    nn_run(&bench, (const void *[]){(float[]){0, 1, 0}, (float[]){1, 2, 3}});
    nn_assert_near(*(const float *)artel__run_kept(bench.run, 0), log(exp(1) + exp(2) + exp(3)) - 2, 1e-6, "sigmoid");
    nn_fini(&bench);
}

static void read_one(nn_bench *bench, const char *text, artel_status expected, const char *part,
                     artel__loss_config *out)
{
    json_t *json = nn_json(text);
    artel_status status = artel__loss_read(&bench->arena, json, out);
    json_decref(json);
    if (part)
        nn_expect_failure(bench->ctx, status, expected, part);
    else
        assert_int_equal(status, expected);
}

static void test_reading(void **state)
{
    (void)state;
    nn_bench bench;
    artel__loss_config loss;
    nn_init(&bench, 2);
    read_one(&bench, "'mse'", ARTEL_OK, NULL, &loss);
    assert_string_equal(loss.name, "mse");
    assert_int_equal(loss.reduction, ARTEL__REDUCTION_MEAN_BATCH);
    read_one(&bench, "'MeanSquaredError'", ARTEL_OK, NULL, &loss);
    assert_string_equal(loss.name, "mean_squared_error");
    read_one(&bench, "{'class_name': 'Huber', 'config': {'name': 'huber_loss', 'reduction': 'sum'}}", ARTEL_OK, NULL,
             &loss);
    assert_string_equal(loss.name, "huber_loss");
    assert_int_equal(loss.reduction, ARTEL__REDUCTION_SUM);
    read_one(
        &bench,
        "{'class_name': 'MeanAbsoluteError', 'config': {'reduction': 'mean_with_sample_weight', 'dtype': 'float32'}}",
        ARTEL_OK, NULL, &loss);
    assert_int_equal(loss.reduction, ARTEL__REDUCTION_WEIGHTED_MEAN);
    read_one(&bench, "{'class_name': 'MeanAbsoluteError', 'config': {'reduction': null}}", ARTEL_OK, NULL, &loss);
    assert_int_equal(loss.reduction, ARTEL__REDUCTION_NONE);
    read_one(&bench,
             "{'module': 'builtins', 'class_name': 'function', 'config': 'log_cosh', 'registered_name': 'function'}",
             ARTEL_OK, NULL, &loss);
    assert_string_equal(loss.name, "log_cosh");
    read_one(&bench,
             "{'class_name': 'LossFunctionWrapper', 'config': {'fn': {'class_name': 'function', 'config': 'huber'}, "
             "'name': 'mine', "
             "'delta': 2.0}}",
             ARTEL_OK, NULL, &loss);
    assert_string_equal(loss.name, "mine");
    read_one(&bench, "{'class_name': 'SparseCategoricalCrossentropy', 'config': {'ignore_class': -1}}", ARTEL_OK, NULL,
             &loss);
    assert_true(loss.has_ignored);
    assert_int_equal(loss.ignored, -1);
    assert_int_equal(loss.target, ARTEL__TARGET_INDEX);
    read_one(&bench, "'mean_sqared_error'", ARTEL_ERROR_UNSUPPORTED, "did you mean mean_squared_error", &loss);
    read_one(&bench, "'Circlet'", ARTEL_ERROR_UNSUPPORTED, "Circlet", &loss);
    read_one(&bench, "'crossentropy'", ARTEL_ERROR_UNSUPPORTED, "binary_crossentropy", &loss);
    read_one(&bench, "{'class_name': 'MeanSquaredError', 'config': {'delta': 1.0}}", ARTEL_ERROR_UNSUPPORTED, "delta",
             &loss);
    read_one(&bench, "{'class_name': 'BinaryCrossentropy', 'config': {'label_smoothing': 2}}", ARTEL_ERROR_INVALID,
             "label_smoothing", &loss);
    read_one(&bench, "{'class_name': 'SparseCategoricalCrossentropy', 'config': {'ignore_class': 'x'}}",
             ARTEL_ERROR_INVALID, "ignore_class", &loss);
    read_one(&bench, "{'class_name': 'LossFunctionWrapper', 'config': {}}", ARTEL_ERROR_CORRUPT, "loss function",
             &loss);
    nn_fini(&bench);
}

static void test_by_shape(void **state)
{
    const artel_shape unknown = {.rank = -1}, scalar = {.rank = 0}, one = {1, {1}}, three = {1, {3}};
    const artel_shape positions = {2, {5, 1}}, any = {1, {-1}};
    const struct {
        const artel_shape *prediction, *target;
        const char *name; /* NULL: refused */
    } cases[] = {
        {&positions, &unknown, "binary_crossentropy"},
        {&positions, NULL, "binary_crossentropy"},
        {&three, &scalar, "sparse_categorical_crossentropy"},
        {&three, &one, "sparse_categorical_crossentropy"},
        {&three, &three, "categorical_crossentropy"},
        {&three, &unknown, NULL},
        {&three, NULL, NULL},
    };
    (void)state;
    nn_bench bench;
    nn_init(&bench, 2);
    json_t *json = nn_json("'crossentropy'");
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        artel__loss_config loss;
        artel_status status = artel__loss_read_for(&bench.arena, json, cases[i].prediction, cases[i].target, &loss);
        if (cases[i].name)
            assert_string_equal(loss.name, cases[i].name);
        else
            nn_expect_failure(bench.ctx, status, ARTEL_ERROR_UNSUPPORTED, "binary_crossentropy");
    }
    json_decref(json);
    nn_fini(&bench);
    assert_false(artel__loss_needs_target(&scalar) || artel__loss_needs_target(&one) ||
                 artel__loss_needs_target(&positions));
    assert_true(artel__loss_needs_target(&three) && artel__loss_needs_target(&any));
}

static void test_mask(void **state)
{
    (void)state;
    nn_bench bench;
    artel__loss_config loss;
    nn_init(&bench, 3);
    read_one(&bench, "{'class_name': 'SparseCategoricalCrossentropy', 'config': {'ignore_class': 1}}", ARTEL_OK, NULL,
             &loss);
    artel_shape none = {.rank = 0};
    artel__value_id y = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_INT32, &none);
    artel__graph_keep(&bench.graph, artel__loss_mask(&bench.graph, &loss, y, ARTEL__NO_VALUE));
    nn_seal(&bench);
    nn_run(&bench, (const void *[]){(int32_t[]){1, 0, 2}});
    assert_memory_equal(artel__run_kept(bench.run, 0), ((uint8_t[]){0, 1, 1}), 3);
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_logits_behind), cmocka_unit_test(test_logits_of_sigmoid),
        cmocka_unit_test(test_reading), cmocka_unit_test(test_by_shape),      cmocka_unit_test(test_mask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
