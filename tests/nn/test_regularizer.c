/* SPDX-License-Identifier: Apache-2.0 */
/* Regularisers and constraints: reading, and what a constraint makes of a variable. */
#include "help_nn.h"

#include <math.h>
#include <string.h>

#include "nn/parts.h"

static artel_status read_regularizer(nn_bench *bench, const char *text, artel__regularizer *out)
{
    json_t *json = nn_json(text);
    artel_status status = artel__regularizer_read(&bench->arena, "dense", json, out);
    json_decref(json);
    return status;
}

static void expect(nn_bench *bench, const char *text, double l1, double l2)
{
    artel__regularizer r;
    assert_int_equal(read_regularizer(bench, text, &r), ARTEL_OK);
    assert_true(r.l1 == l1 && r.l2 == l2);
}

static void test_regularizers(void **state)
{
    (void)state;
    nn_bench bench;
    artel__regularizer r;
    nn_init(&bench, 1);
    assert_int_equal(artel__regularizer_read(&bench.arena, "dense", NULL, &r), ARTEL_OK);
    assert_true(r.l1 == 0 && r.l2 == 0);
    expect(&bench, "null", 0, 0);
    expect(&bench, "'l1'", 0.01, 0);
    expect(&bench, "'l2'", 0, 0.01);
    expect(&bench, "'L2'", 0, 0.01);
    expect(&bench, "'l1_l2'", 0, 0);
    expect(&bench,
           "{'module': 'keras.regularizers', 'class_name': 'L1', 'config': {'l1': 0.009999999776482582}, "
           "'registered_name': null}",
           0.009999999776482582, 0);
    expect(&bench, "{'class_name': 'L1L2', 'config': {'l1': 0.5, 'l2': 2}}", 0.5, 2);
    assert_int_equal(
        read_regularizer(&bench,
                         "{'class_name': 'OrthogonalRegularizer', 'config': {'factor': 0.5, 'mode': 'columns'}}", &r),
        ARTEL_OK);
    assert_true(r.orthogonal == 0.5 && r.columns && r.l1 == 0 && r.l2 == 0);
    nn_expect_failure(bench.ctx, read_regularizer(&bench, "'orthogonal'", &r), ARTEL_ERROR_UNSUPPORTED, "orthogonal");
    nn_expect_failure(bench.ctx, read_regularizer(&bench, "'l3'", &r), ARTEL_ERROR_UNSUPPORTED, "dense");
    nn_expect_failure(bench.ctx, read_regularizer(&bench, "{'class_name': 'L2', 'config': {'l2': -1}}", &r),
                      ARTEL_ERROR_INVALID, "l2");
    nn_expect_failure(bench.ctx, read_regularizer(&bench, "{'class_name': 'L2', 'config': {'l1': 1}}", &r),
                      ARTEL_ERROR_UNSUPPORTED, "l1");
    nn_fini(&bench);
}

/* Applies a constraint to a variable of shape [3, 2, 2] that holds 1 .. 12 (or their negatives). */
static void constrain(const char *text, float sign, float out[12])
{
    nn_bench bench;
    artel__constraint_config config;
    nn_init(&bench, 1);
    json_t *json = nn_json(text);
    assert_int_equal(artel__constraint_read(&bench.arena, "dense", json, &config), ARTEL_OK);
    json_decref(json);
    artel_shape shape = artel__shape(3, (int64_t)3, (int64_t)2, (int64_t)2);
    int w = artel__variables_add(&bench.variables, "w", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &shape, 0);
    artel__constraint_apply(&bench.graph, &config, artel__graph_variable(&bench.graph, w));
    nn_seal(&bench);
    float *data = artel__state_data(bench.state, w);
    for (int i = 0; i < 12; i++) data[i] = sign * (float)(i + 1);
    nn_run(&bench, NULL);
    memcpy(out, data, 12 * sizeof *out);
    nn_fini(&bench);
}

/* The norm of elements i that belong with element k: every `stride` apart within `block`. */
static double norm_of(int k, int block, int stride)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        if (i / block == k / block && i % stride == k % stride) sum += (i + 1.0) * (i + 1.0);
    }
    return sqrt(sum);
}

static void test_constraints(void **state)
{
    (void)state;
    float w[12];
    constrain("'non_neg'", -1, w);
    for (int i = 0; i < 12; i++) assert_true(w[i] == 0);
    constrain("{'class_name': 'UnitNorm', 'config': {'axis': 0}}", 1, w);
    for (int i = 0; i < 12; i++) nn_assert_near(w[i], (i + 1) / (1e-7 + norm_of(i, 12, 4)), 1e-6, "unit norm");
    constrain("{'class_name': 'UnitNorm', 'config': {'axis': -1}}", 1, w);
    for (int i = 0; i < 12; i++) nn_assert_near(w[i], (i + 1) / (1e-7 + norm_of(i, 2, 1)), 1e-6, "last axis");
    constrain("{'class_name': 'MaxNorm', 'config': {'max_value': 15, 'axis': [0, 1]}}", 1, w);
    for (int i = 0; i < 12; i++) {
        double norm = norm_of(i, 12, 2);
        nn_assert_near(w[i], (i + 1) * (fmin(norm, 15) / (1e-7 + norm)), 1e-6, "greatest norm");
    }
    constrain("{'class_name': 'MinMaxNorm', 'config': {'min_value': 11.0, 'max_value': 14.0, 'rate': 0.5, 'axis': 0}}",
              1, w);
    for (int i = 0; i < 12; i++) {
        double norm = norm_of(i, 12, 4), wanted = 0.5 * fmin(fmax(norm, 11), 14) + 0.5 * norm;
        nn_assert_near(w[i], (i + 1) * (wanted / (1e-7 + norm)), 1e-6, "both");
    }
}

static void test_constraints_refused(void **state)
{
    (void)state;
    nn_bench bench;
    artel__constraint_config config;
    nn_init(&bench, 1);
    assert_int_equal(artel__constraint_read(&bench.arena, "dense", NULL, &config), ARTEL_OK);
    assert_null(config.def);
    artel__constraint_apply(&bench.graph, &config, 0); /* nothing to add */
    assert_int_equal(bench.graph.nodes, 0);
    json_t *json = nn_json("'max_nrm'");
    nn_expect_failure(bench.ctx, artel__constraint_read(&bench.arena, "dense", json, &config), ARTEL_ERROR_UNSUPPORTED,
                      "max_norm");
    json_decref(json);
    json = nn_json("{'class_name': 'MaxNorm', 'config': {'axis': [0, 3]}}");
    assert_int_equal(artel__constraint_read(&bench.arena, "dense", json, &config), ARTEL_OK);
    json_decref(json);
    artel_shape shape = artel__shape(3, (int64_t)3, (int64_t)2, (int64_t)2);
    int w = artel__variables_add(&bench.variables, "w", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &shape, 0);
    artel__constraint_apply(&bench.graph, &config, artel__graph_variable(&bench.graph, w));
    nn_expect_failure(bench.ctx, bench.graph.status, ARTEL_ERROR_INVALID, "MaxNorm");
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_regularizers), cmocka_unit_test(test_constraints),
                                       cmocka_unit_test(test_constraints_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
