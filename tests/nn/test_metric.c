/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics over two batches, with and without weights: Keras' names and values; shapes choose what "accuracy" means. */
#include "help_nn.h"

#include <stdlib.h>
#include <string.h>

#include "nn/loss.h"
#include "op/op.h"

typedef enum kind {
    DATA_UNIT,
    DATA_REAL,
    DATA_BINARY,
    DATA_SIGN,
    DATA_SIGN2,
    DATA_CLASS,
    DATA_ONE_HOT,
    DATA_ONE
} kind;
enum {
    MOST = 13,
    COLUMNS = 4
};

typedef struct value_row {
    const char *json;
    kind prediction, target;
    const char *name;
    double plain, weighted;
} value_row;

static const value_row rows[] = {
#include "values/metric.list"
};

/* Batch k has 9 + 4 k rows; the same numbers as in keras_values.py. */
static float prediction_at(kind what, int i, int k)
{
    double shift = 0.13 * k;
    switch (what) {
    case DATA_ONE: return nn_number(i, 0.75 + shift, 0, 1);
    case DATA_UNIT: return nn_number(i, 0.55 + shift, 0, 1);
    case DATA_SIGN: return nn_number(i, 0.7 + shift, 0, 1) > 0.5f ? 1 : -1;
    default: return nn_number(i, 0.55 + shift, -2, 2);
    }
}

static float target_at(kind what, int i, int k)
{
    double shift = 0.13 * k;
    float unit = nn_number(i, 0.7 + shift, 0, 1);
    switch (what) {
    case DATA_ONE: return nn_number(i, 0.9 + shift, 0, 1) > 0.4f;
    case DATA_UNIT: return unit;
    case DATA_REAL: return nn_number(i, 0.7 + shift, -2, 2);
    case DATA_BINARY: return unit > 0.5f;
    case DATA_SIGN: return unit > 0.5f ? 1 : -1;
    case DATA_SIGN2: return nn_number(i, 0.9 + shift, 0, 1) > 0.5f ? 1 : -1;
    default: return i % COLUMNS == (i / COLUMNS * 3 + k) % COLUMNS;
    }
}

typedef struct setup {
    artel__metric metric;
    artel_shape shape;
    bool sparse, weighted;
} setup;

static void add_batch(const value_row *row, setup *s, int k, double *sums)
{
    nn_bench bench;
    int count = 9 + 4 * k, width = row->prediction == DATA_ONE ? 1 : COLUMNS;
    nn_init(&bench, count);
    artel_shape none = {.rank = 0};
    artel__value_id y =
        artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, s->sparse ? ARTEL_DTYPE_INT32 : ARTEL_DTYPE_FLOAT32,
                           s->sparse ? &none : &s->shape);
    artel__value_id p = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &s->shape),
                    w = ARTEL__NO_VALUE;
    if (s->weighted) w = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &none);
    artel__graph_keep(&bench.graph,
                      artel__op_all_reduce(&bench.graph, artel__metric_add(&bench.graph, &s->metric, y, p, w)));
    nn_seal(&bench);
    float prediction[MOST * COLUMNS], target[MOST * COLUMNS], weight[MOST];
    int32_t classes[MOST];
    for (int i = 0; i < count * width; i++) {
        prediction[i] = prediction_at(row->prediction, i, k);
        target[i] = target_at(row->target, i, k);
    }
    for (int i = 0; i < count; i++) {
        classes[i] = (i * 3 + k) % COLUMNS;
        weight[i] = nn_number(i, 0.5 + 0.13 * k, 0, 2);
    }
    nn_run(&bench, (const void *[]){s->sparse ? (void *)classes : (void *)target, prediction, weight});
    const double *found = artel__run_kept(bench.run, 0);
    for (int i = 0; i < s->metric.sums; i++) sums[i] += found[i];
    nn_fini(&bench);
}

static void check_row(const value_row *row)
{
    nn_bench bench; /* only for its arena */
    nn_init(&bench, 1);
    artel__loss_config loss;
    json_t *sparse = nn_json("'sparse_categorical_crossentropy'"), *json = nn_json(row->json);
    assert_int_equal(artel__loss_read(&bench.arena, sparse, &loss), ARTEL_OK);
    setup s = {.shape = artel__shape(1, (int64_t)(row->prediction == DATA_ONE ? 1 : COLUMNS)),
               .sparse = row->target == DATA_CLASS};
    artel_status status = artel__metric_read(&bench.arena, json, &s.shape, s.sparse ? &loss : NULL, &s.metric);
    if (status < 0) fail_msg("%s: %s", row->json, artel_context_error(bench.ctx)->what);
    assert_string_equal(s.metric.name, row->name);
    assert_int_equal(s.metric.target == ARTEL__TARGET_INDEX, s.sparse);
    for (int weighted = 0; weighted < 2; weighted++) {
        double *sums = calloc((size_t)s.metric.sums, sizeof *sums);
        assert_non_null(sums);
        s.weighted = weighted;
        add_batch(row, &s, 0, sums);
        add_batch(row, &s, 1, sums);
        nn_assert_near(artel__metric_result(&s.metric, sums, 0), weighted ? row->weighted : row->plain, 2e-5,
                       row->json);
        free(sums);
    }
    json_decref(sparse);
    json_decref(json);
    nn_fini(&bench);
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) check_row(&rows[i]);
}

/* Positions inside a row, weighted by row and by position, and empty sums. */
static void test_positions(void **state)
{
    (void)state;
    nn_bench bench;
    artel__metric metric;
    nn_init(&bench, 2);
    artel_shape shape = artel__shape(2, (int64_t)2, (int64_t)3), places = artel__shape(1, (int64_t)2);
    json_t *json = nn_json("'sparse_categorical_accuracy'");
    assert_int_equal(artel__metric_read(&bench.arena, json, &shape, NULL, &metric), ARTEL_OK);
    json_decref(json);
    artel__value_id y = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_INT32, &places);
    artel__value_id p = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__value_id w = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &places);
    artel__graph_keep(&bench.graph,
                      artel__op_all_reduce(&bench.graph, artel__metric_add(&bench.graph, &metric, y, p, w)));
    nn_seal(&bench);
    float prediction[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0};
    nn_run(&bench, (const void *[]){(int32_t[]){0, 2, 2, 0}, prediction, (float[]){1, 2, 0, 5}});
    const double *sums = artel__run_kept(bench.run, 0);
    assert_true(sums[0] == 1.0 && sums[1] == 8.0);
    assert_true(artel__metric_result(&metric, sums, 0) == 0.125);
    assert_true(artel__metric_result(&metric, (double[]){0, 0}, 0) == 0);
    nn_fini(&bench);
}

/* Predictions that are classes, the best first: the target is looked for among the first two. */
static void test_sorted_classes(void **state)
{
    (void)state;
    nn_bench bench;
    artel__metric metric;
    nn_init(&bench, 3);
    artel_shape shape = artel__shape(1, (int64_t)3), none = {.rank = 0};
    json_t *json =
        nn_json("{'class_name': 'SparseTopKCategoricalAccuracy', 'config': {'from_sorted_ids': true, 'k': 2}}");
    assert_int_equal(artel__metric_read(&bench.arena, json, &shape, NULL, &metric), ARTEL_OK);
    json_decref(json);
    artel__value_id y = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_INT32, &none);
    artel__value_id p = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__value_id w = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &none);
    artel__graph_keep(&bench.graph,
                      artel__op_all_reduce(&bench.graph, artel__metric_add(&bench.graph, &metric, y, p, w)));
    nn_seal(&bench);
    float prediction[] = {7, 2, 5, 1, 2, 9, 4, 4, 4};
    nn_run(&bench, (const void *[]){(int32_t[]){2, 9, 4}, prediction, (float[]){1, 2, 4}});
    const double *sums = artel__run_kept(bench.run, 0);
    assert_true(sums[0] == 5.0 && sums[1] == 7.0); /* found; beyond the second; there twice */
    nn_fini(&bench);
}

static void read_one(nn_bench *bench, const char *text, artel_status expected, const char *part)
{
    artel__metric metric;
    artel_shape shape = artel__shape(1, (int64_t)4);
    json_t *json = nn_json(text);
    artel_status status = artel__metric_read(&bench->arena, json, &shape, NULL, &metric);
    json_decref(json);
    nn_expect_failure(bench->ctx, status, expected, part);
}

/* A list has a value for each threshold as it was written, or for each class. */
static void test_lists(void **state)
{
    (void)state;
    nn_bench bench;
    artel__metric metric;
    artel_shape shape = artel__shape(1, (int64_t)3);
    nn_init(&bench, 1);
    json_t *precision = nn_json("{'class_name': 'Precision', 'config': {'thresholds': [0.5, 0.2]}}"),
           *score = nn_json("'F1Score'");
    assert_int_equal(artel__metric_read(&bench.arena, precision, &shape, NULL, &metric), ARTEL_OK);
    assert_int_equal(metric.values, 2);
    /* negatives and positives below 0.2, below 0.5, above */
    const double bins[] = {7, 1, 2, 5, 3, 2};
    assert_true(artel__metric_result(&metric, bins, 0) == 0.5 && artel__metric_result(&metric, bins, 1) == 0.625);
    assert_int_equal(artel__metric_read(&bench.arena, score, &shape, NULL, &metric), ARTEL_OK);
    assert_int_equal(metric.values, 3);
    const double sums[] = {1, 2, 0, 1, 4, 0, 1, 2, 3}; /* true positives, chosen, positives */
    const double wanted[] = {1, 2.0 / 3, 0};
    for (int i = 0; i < 3; i++) assert_float_equal(artel__metric_result(&metric, sums, i), wanted[i], 1e-6);
    json_decref(precision);
    json_decref(score);
    nn_fini(&bench);
}

static void test_refused(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    read_one(&bench, "'acuracy'", ARTEL_ERROR_UNSUPPORTED, "accuracy");
    read_one(&bench, "'MeanIoV'", ARTEL_ERROR_UNSUPPORTED, "MeanIoV");
    read_one(&bench, "{'class_name': 'Precision', 'config': {'class_id': 4}}", ARTEL_ERROR_INVALID, "class_id");
    read_one(&bench, "{'class_name': 'Precision', 'config': {'thresholds': 1.5}}", ARTEL_ERROR_INVALID, "thresholds");
    read_one(&bench, "{'class_name': 'AUC', 'config': {'curve': 'ROCK'}}", ARTEL_ERROR_INVALID, "curve");
    read_one(&bench, "{'class_name': 'AUC', 'config': {'num_thresholds': 900000}}", ARTEL_ERROR_UNSUPPORTED,
             "fewer thresholds");
    read_one(&bench, "{'class_name': 'AUC', 'config': {'multi_label': true, 'num_labels': 3}}", ARTEL_ERROR_UNSUPPORTED,
             "num_labels");
    read_one(&bench, "{'class_name': 'SensitivityAtSpecificity', 'config': {}}", ARTEL_ERROR_INVALID, "specificity");
    read_one(&bench, "{'class_name': 'function', 'config': 'my_metric'}", ARTEL_ERROR_UNSUPPORTED, "my_metric");
    read_one(&bench, "{'class_name': 'M', 'registered_name': 'p>M', 'config': {}}", ARTEL_ERROR_UNSUPPORTED, "Python");
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_positions),
                                       cmocka_unit_test(test_lists), cmocka_unit_test(test_sorted_classes),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
