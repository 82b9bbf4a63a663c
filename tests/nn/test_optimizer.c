/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: five steps as real Keras, slots in the order of Keras' files, records as Keras writes them. */
#include "help_nn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/optimizer.h"

typedef struct value_row {
    const char *json, *slots; /* the ends of Keras' paths, in file order */
    double expected[4];       /* elements 0 and 3 of both variables after five steps */
    double absolutes;         /* sum of |x| over all slots */
} value_row;

static const value_row rows[] = {
#include "values/optimizer.list"
};

typedef struct model {
    nn_bench bench;
    artel__optimizer optimizer;
    artel__optimizer_slots slots;
    int trainable[2];
} model;

static void read_optimizer(model *m, const char *text)
{
    json_t *json = nn_json(text);
    artel_status status = artel__optimizer_read(&m->bench.arena, json, 3, 64, &m->optimizer);
    json_decref(json);
    if (status < 0) fail_msg("%s: %s", text, artel_context_error(m->bench.ctx)->what);
}

/* Variables "a" [3, 4] and "b" [5]; fed gradients. */
static void build(model *m, const char *text, bool second)
{
    nn_init(&m->bench, 8);
    read_optimizer(m, text);
    artel__variables *variables = &m->bench.variables;
    artel_shape a = artel__shape(2, (int64_t)3, (int64_t)4), b = artel__shape(1, (int64_t)5);
    m->trainable[0] = artel__variables_add(variables, "a", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &a, 0);
    m->trainable[1] = artel__variables_add(variables, "b", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &b, 0);
    assert_int_equal(artel__optimizer_declare(&m->optimizer, variables, m->trainable, 2, &m->slots), ARTEL_OK);
    artel__graph *graph = &m->bench.graph;
    artel__value_id gradient[2] = {artel__graph_input(graph, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT32, &a),
                                   artel__graph_input(graph, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT32, &b)};
    if (!second) gradient[1] = ARTEL__NO_VALUE;
    artel__value_id scale = artel__optimizer_scale(&m->optimizer, graph, &m->slots);
    assert_int_equal(artel__optimizer_add(&m->optimizer, graph, &m->slots, gradient, scale), ARTEL_OK);
    nn_seal(&m->bench);
    artel__state *state = m->bench.state;
    for (int i = 0; i < m->slots.file_count; i++) {
        int slot = m->slots.file_order[i];
        float *data = artel__state_data(state, slot);
        for (int64_t k = 0; k < variables->item[slot].count; k++)
            data[k] = artel__optimizer_slot_start(&m->optimizer, &m->slots, slot);
    }
    for (int i = 0; i < 12; i++) ((float *)artel__state_data(state, m->trainable[0]))[i] = nn_number(i, 0.2, -1, 1);
    for (int i = 0; i < 5; i++) ((float *)artel__state_data(state, m->trainable[1]))[i] = nn_number(i, 0.6, -1, 1);
}

static void fini(model *m)
{
    json_decref(m->optimizer.record);
    nn_fini(&m->bench);
}

static void steps(model *m, int count)
{
    for (int s = 0; s < count; s++) {
        float a[12], b[5];
        for (int i = 0; i < 12; i++) a[i] = nn_number(i, 0.1 * s, -1, 1);
        for (int i = 0; i < 5; i++) b[i] = nn_number(i, 0.05 + 0.1 * s, -1, 1);
        m->bench.step.iteration = s;
        m->bench.step.learning_rate = artel__schedule_rate(&m->optimizer.schedule, s);
        nn_run(&m->bench, (const void *[]){a, b});
    }
}

static void check_slots(const model *m, const value_row *row)
{
    char names[512] = "";
    double absolutes = 0;
    for (int i = 0; i < m->slots.file_count; i++) {
        const artel__variable *slot = &m->bench.variables.item[m->slots.file_order[i]];
        const char *end = strchr(slot->name, '/') + 1;
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", i ? " " : "", strcmp(end, "u_product") ? end : "variable");
        const float *data = artel__state_data(m->bench.state, m->slots.file_order[i]);
        for (int64_t k = 0; k < slot->count; k++) absolutes += fabs((double)data[k]);
    }
    assert_string_equal(names, row->slots);
    nn_assert_near(absolutes, row->absolutes, 1e-5, row->json);
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        model m;
        build(&m, rows[i].json, true);
        steps(&m, 5);
        const float *a = artel__state_data(m.bench.state, m.trainable[0]),
                    *b = artel__state_data(m.bench.state, m.trainable[1]);
        const double found[] = {a[0], a[3], b[0], b[3]};
        for (int k = 0; k < 4; k++) nn_assert_near(found[k], rows[i].expected[k], 2e-6, rows[i].json);
        check_slots(&m, &rows[i]);
        fini(&m);
    }
}

/* A variable without a gradient stays as it is, decay and all; its average is kept nevertheless. */
static void test_no_gradient(void **state)
{
    (void)state;
    model m;
    build(&m, "{'class_name': 'Adam', 'config': {'weight_decay': 0.1, 'global_clipnorm': 0.5, 'use_ema': true}}",
          false);
    steps(&m, 2);
    const float *b = artel__state_data(m.bench.state, m.trainable[1]),
                *average = artel__state_data(m.bench.state, m.slots.average[1]);
    for (int i = 0; i < 5; i++) {
        assert_true(b[i] == nn_number(i, 0.6, -1, 1));
        nn_assert_near(average[i], b[i], 1e-6, "average");
    }
    fini(&m);
}

/* The plan says what waits for the last step of a period, and nothing waits without one. */
static void test_period_is_told(void **state)
{
    (void)state;
    static const char *const json[] = {"{'class_name': 'SGD', 'config': {'gradient_accumulation_steps': 3}}", "'SGD'"};
    for (int i = 0; i < 2; i++) {
        model m;
        artel__text text;
        build(&m, json[i], true);
        artel__text_init(&text, m.bench.ctx);
        artel__plan_dump(m.bench.plan, &text);
        assert_true((strstr(text.data, "optimize") != NULL) &&
                    (strstr(text.data, " every 3 steps") != NULL) == (i == 0));
        assert_true((strstr(text.data, "clear") != NULL) == (i == 0));
        artel__text_fini(&text);
        fini(&m);
    }
}

static void check_record(const char *text, const char *expected)
{
    model m;
    char *found;
    nn_init(&m.bench, 1);
    read_optimizer(&m, text);
    json_t *wanted = nn_json(expected);
    assert_int_equal(artel__json_dump_string(m.bench.ctx, m.optimizer.record, ARTEL__JSON_PYTHON, &found), ARTEL_OK);
    if (!json_equal(wanted, m.optimizer.record)) fail_msg("%s", found);
    json_decref(wanted);
    artel__free(m.bench.ctx, found);
    fini(&m);
}

#define BASE                                                                                                 \
    "'weight_decay': null, 'clipnorm': null, 'global_clipnorm': null, 'clipvalue': null, 'use_ema': false, " \
    "'ema_momentum': 0.99, "                                                                                 \
    "'ema_overwrite_frequency': null, 'loss_scale_factor': null, 'gradient_accumulation_steps': null, "

/* As Keras 3.15 serialises the same optimizer. */
static void test_records(void **state)
{
    (void)state;
    check_record("'adam'",
                 "{'module': 'keras.optimizers', 'class_name': 'Adam', 'config': {'name': 'adam', 'learning_rate': "
                 "0.0010000000474974513, " BASE
                 "'beta_1': 0.9, 'beta_2': 0.999, 'epsilon': 1e-07, 'amsgrad': false}, 'registered_name': null}");
    check_record(
        "{'class_name': 'SGD', 'config': {'learning_rate': 1, 'momentum': 0.5, 'name': 'mine', 'decay': 0.1}}",
        "{'module': 'keras.optimizers', 'class_name': 'SGD', 'config': {'name': 'mine', 'learning_rate': 1.0, " BASE
        "'momentum': 0.5, 'nesterov': false}, 'registered_name': null}");
    check_record(
        "{'class_name': 'RMSprop', 'config': {'learning_rate': {'class_name': 'CosineDecay', 'config': "
        "{'initial_learning_rate': 0.1, "
        "'decay_steps': 15}}}}",
        "{'module': 'keras.optimizers', 'class_name': 'RMSprop', 'config': {'name': 'rm_sprop', 'learning_rate': "
        "{'module': 'keras.optimizers.schedules', 'class_name': 'CosineDecay', 'config': {'initial_learning_rate': "
        "0.1, 'decay_steps': 15, "
        "'alpha': 0.0, 'name': 'CosineDecay', 'warmup_target': null, 'warmup_steps': 0}, 'registered_name': "
        "null}, " BASE "'rho': 0.9, 'momentum': 0.0, 'epsilon': 1e-07, 'centered': false}, 'registered_name': null}");
    check_record("{'class_name': 'adagrad', 'config': {'learning_rate': {'class_name': 'ByReplicas', 'config': "
                 "{'table': {'2': 0.25, '5': 0.5}}}}}",
                 "{'module': 'keras.optimizers', 'class_name': 'Adagrad', 'config': {'name': 'adagrad', "
                 "'learning_rate': 0.25, " BASE
                 "'initial_accumulator_value': 0.1, 'epsilon': 1e-07}, 'registered_name': null}");
}

static void test_rate(void **state)
{
    (void)state;
    model m;
    nn_init(&m.bench, 1);
    read_optimizer(&m, "'sgd'");
    assert_int_equal(artel__optimizer_set_rate(&m.optimizer, 0.1), ARTEL_OK);
    assert_true(artel__schedule_rate(&m.optimizer.schedule, 7) == (double)0.1f);
    assert_true(json_real_value(json_object_get(json_object_get(m.optimizer.record, "config"), "learning_rate")) ==
                (double)0.1f);
    nn_expect_failure(m.bench.ctx, artel__optimizer_set_rate(&m.optimizer, NAN), ARTEL_ERROR_INVALID, "learning_rate");
    fini(&m);
}

static void refuse(nn_bench *bench, const char *text, artel_status expected, const char *part)
{
    artel__optimizer optimizer;
    json_t *json = nn_json(text);
    artel_status status = artel__optimizer_read(&bench->arena, json, 1, 32, &optimizer);
    json_decref(json);
    assert_null(status < 0 ? optimizer.record : NULL);
    nn_expect_failure(bench->ctx, status, expected, part);
}

static void test_refused(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    refuse(&bench, "'adm'", ARTEL_ERROR_UNSUPPORTED, "did you mean Adam");
    refuse(&bench, "'MultiOptimizer'", ARTEL_ERROR_UNSUPPORTED, "MultiOptimizer");
    refuse(&bench, "{'class_name': 'Muon', 'config': {'exclude_layers': ['den.*']}}", ARTEL_ERROR_UNSUPPORTED,
           "exclude_layers");
    refuse(&bench, "{'class_name': 'LossScaleOptimizer', 'config': {}}", ARTEL_ERROR_INVALID, "inner_optimizer");
    refuse(&bench, "{'class_name': 'LossScaleOptimizer', 'config': {'inner_optimizer': 'adam', 'clipnorm': 1}}",
           ARTEL_ERROR_UNSUPPORTED, "clipnorm");
    refuse(&bench, "{'class_name': 'Adam', 'config': {'beta1': 0.9}}", ARTEL_ERROR_UNSUPPORTED, "beta1");
    refuse(&bench, "{'class_name': 'Adam', 'config': {'beta_1': 1.5}}", ARTEL_ERROR_INVALID, "beta_1");
    refuse(&bench, "{'class_name': 'Adam', 'config': {'learning_rate': -1}}", ARTEL_ERROR_INVALID, "rate");
    refuse(&bench, "{'class_name': 'Adam', 'config': {'learning_rate': 1e39}}", ARTEL_ERROR_INVALID, "rate");
    refuse(&bench, "{'class_name': 'SGD', 'config': {'clipnorm': 1.0, 'clipvalue': 1.0}}", ARTEL_ERROR_INVALID,
           "more than one");
    refuse(&bench, "{'class_name': 'SGD', 'config': {'gradient_accumulation_steps': 0}}", ARTEL_ERROR_INVALID,
           "gradient_accumulation_steps");
    refuse(&bench, "{'class_name': 'SGD', 'config': {'loss_scale_factor': 0.0}}", ARTEL_ERROR_INVALID, "scaled by 0");
    refuse(&bench,
           "{'class_name': 'LossScaleOptimizer', 'config': {'inner_optimizer': {'class_name': 'SGD', 'config': "
           "{'loss_scale_factor': 2}}}}",
           ARTEL_ERROR_UNSUPPORTED, "loss_scale_factor");
    refuse(&bench, "{'class_name': 'Mine', 'registered_name': 'p>Mine', 'config': {}}", ARTEL_ERROR_UNSUPPORTED,
           "Mine");
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),         cmocka_unit_test(test_no_gradient),
                                       cmocka_unit_test(test_period_is_told), cmocka_unit_test(test_records),
                                       cmocka_unit_test(test_rate),           cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
