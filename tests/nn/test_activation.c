/* SPDX-License-Identifier: Apache-2.0 */
/* Activations by name and record give Keras' values; unknown names are offered the nearest. */
#include "help_nn.h"

#include <stdio.h>
#include <string.h>

#include "nn/parts.h"

typedef struct value_row {
    const char *json;
    double expected[8];
} value_row;

static const value_row rows[] = {
#include "values/activation.list"
};

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        nn_bench bench;
        nn_init(&bench, 2);
        artel_shape shape = artel__shape(1, (int64_t)4);
        artel__activation_config config;
        json_t *json = nn_json(rows[i].json);
        assert_int_equal(artel__activation_read(&bench.arena, "layer", json, &config), ARTEL_OK);
        json_decref(json);
        artel__value_id x = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
        artel__value_id y = artel__activation_apply(&bench.graph, &config, x);
        assert_int_equal(artel__activation_is_linear(&config), y == x);
        artel__graph_keep(&bench.graph, y);
        nn_seal(&bench);
        float data[8];
        for (int k = 0; k < 8; k++) data[k] = nn_number(k, 0.1, -3, 3);
        nn_run(&bench, (const void *[]){data});
        const float *found = y == x ? data : artel__run_kept(bench.run, 0);
        int count = strcmp(artel__activation_name(&config), "glu") == 0 ? 4 : 8;
        for (int k = 0; k < count; k++) nn_assert_near(found[k], rows[i].expected[k], 2e-6, rows[i].json);
        nn_fini(&bench);
    }
}

static void read_one(nn_bench *bench, const char *text, artel_status expected, const char *part,
                     artel__activation_config *out)
{
    json_t *json = nn_json(text);
    artel_status status = artel__activation_read(&bench->arena, "dense_1", json, out);
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
    artel__activation_config config;
    nn_init(&bench, 2);
    assert_int_equal(artel__activation_read(&bench.arena, "x", NULL, &config), ARTEL_OK);
    assert_true(artel__activation_is_linear(&config));
    read_one(&bench, "null", ARTEL_OK, NULL, &config);
    assert_true(artel__activation_is_linear(&config));
    assert_string_equal(artel__activation_name(&config), "linear");
    read_one(&bench, "'relu'", ARTEL_OK, NULL, &config);
    assert_true(artel__activation_is_relu(&config));
    read_one(
        &bench,
        "{'class_name': 'ReLU', 'config': {'name': 'r', 'dtype': 'float32', 'trainable': true, 'max_value': null}}",
        ARTEL_OK, NULL, &config);
    assert_true(artel__activation_is_relu(&config));
    read_one(&bench, "{'class_name': 'ReLU', 'config': {'max_value': 6.0}}", ARTEL_OK, NULL, &config);
    assert_false(artel__activation_is_relu(&config));
    read_one(&bench, "'relux'", ARTEL_ERROR_UNSUPPORTED, "did you mean relu", &config);
    read_one(&bench, "'relux'", ARTEL_ERROR_UNSUPPORTED, "dense_1", &config);
    read_one(&bench, "'threshold'", ARTEL_ERROR_UNSUPPORTED, "threshold", &config);
    read_one(&bench, "17", ARTEL_ERROR_CORRUPT, "neither", &config);
    read_one(&bench, "{'class_name': 'ReLU', 'config': {'slope': 1}}", ARTEL_ERROR_UNSUPPORTED, "slope", &config);
    read_one(&bench, "{'class_name': 'ReLU', 'config': {'max_value': 'much'}}", ARTEL_ERROR_INVALID, "max_value",
             &config);
    read_one(&bench, "{'class_name': 'Mine', 'registered_name': 'p>Mine', 'config': {}}", ARTEL_ERROR_UNSUPPORTED,
             "Mine", &config);
    read_one(&bench, "{'class_name': '__lambda__', 'config': {'value': 'x'}}", ARTEL_ERROR_UNSUPPORTED, "Python",
             &config);
    nn_fini(&bench);
}

/* An axis that the row does not have is a failure of the graph, not of the process. */
static void test_axis(void **state)
{
    (void)state;
    nn_bench bench;
    artel__activation_config config;
    nn_init(&bench, 2);
    read_one(&bench, "{'class_name': 'Softmax', 'config': {'axis': 3}}", ARTEL_OK, NULL, &config);
    artel_shape shape = artel__shape(1, (int64_t)4);
    artel__value_id x = artel__graph_input(&bench.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    assert_int_equal(artel__activation_apply(&bench.graph, &config, x), ARTEL__NO_VALUE);
    nn_expect_failure(bench.ctx, bench.graph.status, ARTEL_ERROR_INVALID, "axis 3");
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_reading),
                                       cmocka_unit_test(test_axis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
