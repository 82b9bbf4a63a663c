/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: Keras' rates at many steps, artel's own tables and scaling rule, what the command line writes. */
#include "help_nn.h"

#include <math.h>
#include <string.h>

#include "nn/optimizer.h"

static const int64_t at[] = {0, 1, 3, 4, 5, 11, 12, 13, 20, 28, 1000};

typedef struct value_row {
    const char *json;
    double expected[ARTEL__COUNT(at)];
} value_row;

static const value_row rows[] = {
#include "values/schedule.list"
};

static artel__schedule read_schedule(nn_bench *bench, json_t *json, int replicas, int64_t batch)
{
    artel__schedule schedule;
    artel_status status = artel__schedule_read(&bench->arena, json, replicas, batch, &schedule);
    if (status < 0) fail_msg("%s", artel_context_error(bench->ctx)->what);
    return schedule;
}

static void test_keras(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        json_t *json = nn_json(rows[i].json);
        artel__schedule schedule = read_schedule(&bench, json, 1, 32);
        for (size_t k = 0; k < ARTEL__COUNT(at); k++) {
            double found = artel__schedule_rate(&schedule, at[k]), expected = rows[i].expected[k];
            if (fabs(found - expected) > 1e-6 * expected + 4e-9)
                fail_msg("%s step %lld: %.9g, expected %.9g", rows[i].json, (long long)at[k], found, expected);
            assert_true(found == (double)(float)found);
        }
        json_decref(json);
    }
    nn_fini(&bench);
}

static double rate_of(nn_bench *bench, const char *text, int replicas, int64_t batch, int64_t step)
{
    json_t *json = nn_json(text);
    artel__schedule schedule = read_schedule(bench, json, replicas, batch);
    double rate = artel__schedule_rate(&schedule, step);
    json_decref(json);
    return rate;
}

static void test_tables(void **state)
{
    (void)state;
    static const char *const by_replicas =
        "{'class_name': 'ByReplicas', 'config': {'table': {'5': 0.1, '10': 0.15, '20': 0.175}}}";
    static const char *const nested = "{'class_name': 'ByBatchSize', 'config': {'table': {'1': 0.5, '64': "
                                      "{'class_name': 'InverseTimeDecay', 'config': "
                                      "{'initial_learning_rate': 0.5, 'decay_steps': 1, 'decay_rate': 1.0}}}}}";
    nn_bench bench;
    nn_init(&bench, 1);
    assert_true(rate_of(&bench, by_replicas, 5, 1, 9) == (double)0.1f);
    assert_true(rate_of(&bench, by_replicas, 9, 1, 9) == (double)0.1f);
    assert_true(rate_of(&bench, by_replicas, 10, 1, 9) == (double)0.15f);
    assert_true(rate_of(&bench, by_replicas, 1000, 1, 9) == (double)0.175f);
    assert_true(rate_of(&bench, nested, 1, 63, 4) == 0.5);
    assert_true(rate_of(&bench, nested, 1, 64, 4) == (double)0.1f);
    assert_true(rate_of(&bench, "0.3", 1, 64, 4) == (double)0.3f);
    nn_fini(&bench);
}

static void test_scaling(void **state)
{
    (void)state;
    static const char *const plain =
        "{'class_name': 'LinearScaling', 'config': {'base_rate': 0.1, 'base_batch': 256, 'warmup_steps': 10}}";
    static const char *const after =
        "{'class_name': 'LinearScaling', 'config': {'base_rate': 0.1, 'warmup_steps': 4, 'after': {'class_name': "
        "'ExponentialDecay', 'config': {'initial_learning_rate': 0.1, 'decay_steps': 2, 'decay_rate': 0.25}}}}";
    nn_bench bench;
    nn_init(&bench, 1);
    nn_assert_near(rate_of(&bench, plain, 1, 1024, 0), 0.1, 1e-7, "start");
    nn_assert_near(rate_of(&bench, plain, 1, 1024, 5), 0.25, 1e-7, "half way");
    nn_assert_near(rate_of(&bench, plain, 1, 1024, 10), 0.4, 1e-7, "end of the warm-up");
    nn_assert_near(rate_of(&bench, plain, 1, 1024, 100), 0.4, 1e-7, "later");
    nn_assert_near(rate_of(&bench, plain, 1, 64, 10), 0.025, 1e-7, "smaller batch");
    nn_assert_near(rate_of(&bench, after, 1, 512, 2), 0.15, 1e-7, "warm-up");
    nn_assert_near(rate_of(&bench, after, 1, 512, 4), 0.2, 1e-7, "decay begins");
    nn_assert_near(rate_of(&bench, after, 1, 512, 6), 0.05, 1e-7, "decay");
    nn_fini(&bench);
}

static void test_complete(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    json_t *call = nn_json("{'class_name': 'cosine_decay', 'config': {'initial': 0.1, 'steps': 1000, 'warmup': 3}}"),
           *full, *wanted;
    assert_int_equal(artel__schedule_spell_out(bench.ctx, call), ARTEL_OK);
    assert_int_equal(artel__schedule_complete(bench.ctx, call, &full), ARTEL_OK);
    wanted = nn_json(
        "{'module': 'keras.optimizers.schedules', 'class_name': 'CosineDecay', 'config': {'initial_learning_rate': "
        "0.1, "
        "'decay_steps': 1000, "
        "'alpha': 0.0, 'name': 'CosineDecay', 'warmup_target': null, 'warmup_steps': 3}, 'registered_name': null}");
    assert_true(json_equal(full, wanted));
    json_decref(call);
    json_decref(full);
    json_decref(wanted);
    nn_fini(&bench);
}

static void refuse(nn_bench *bench, const char *text, artel_status expected, const char *part)
{
    artel__schedule schedule;
    json_t *json = nn_json(text);
    artel_status status = artel__schedule_read(&bench->arena, json, 2, 32, &schedule);
    json_decref(json);
    nn_expect_failure(bench->ctx, status, expected, part);
}

static void test_refused(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    refuse(&bench, "{'class_name': 'CosineDcay', 'config': {}}", ARTEL_ERROR_UNSUPPORTED, "CosineDecay");
    refuse(&bench, "{'class_name': 'CosineDecay', 'config': {'decay_steps': 3}}", ARTEL_ERROR_INVALID,
           "initial_learning_rate");
    refuse(
        &bench,
        "{'class_name': 'ExponentialDecay', 'config': {'initial_learning_rate': 1, 'decay_steps': 0, 'decay_rate': 1}}",
        ARTEL_ERROR_INVALID, "decay_steps");
    refuse(&bench, "{'class_name': 'PiecewiseConstantDecay', 'config': {'boundaries': [1, 2], 'values': [1, 2]}}",
           ARTEL_ERROR_INVALID, "boundaries");
    refuse(&bench, "{'class_name': 'PiecewiseConstantDecay', 'config': {'boundaries': [3, 2], 'values': [1, 2, 3]}}",
           ARTEL_ERROR_INVALID, "rise");
    refuse(&bench, "{'class_name': 'ByReplicas', 'config': {'table': {'5': 0.1}}}", ARTEL_ERROR_INVALID, "2 or less");
    refuse(&bench, "{'class_name': 'ByReplicas', 'config': {'table': {'x': 0.1}}}", ARTEL_ERROR_INVALID, "key");
    refuse(&bench,
           "{'class_name': 'ByReplicas', 'config': {'table': {'1': {'class_name': 'ByReplicas', 'config': {'table': "
           "{'1': true}}}}}}",
           ARTEL_ERROR_CORRUPT, "neither");
    refuse(&bench, "[0.1]", ARTEL_ERROR_CORRUPT, "neither");
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keras), cmocka_unit_test(test_tables),
                                       cmocka_unit_test(test_scaling), cmocka_unit_test(test_complete),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
