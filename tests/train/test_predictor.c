/* SPDX-License-Identifier: Apache-2.0 */
/* Predictors give the bits of predict and evaluate, take no memory in a steady call, run beside one another, and refuse
 * what does not fit. */
#include "help_train.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/predictor.h"
#include "base/context.h"

enum {
    ROWS = 37,
    WIDTH = 5,
    CLASSES = 4,
    THREADS = 4
};

static artel_predictor *make(train_bench *b, int64_t most, bool loss)
{
    artel_predictor_options o = ARTEL_PREDICTOR_OPTIONS_INIT;
    artel_predictor *p = NULL;
    o.most_rows = most;
    o.loss = loss;
    train_expect(b, artel_predictor_create(b->model, &o, &p), ARTEL_OK);
    return p;
}

/* What predict says of all rows. */
static void predict_all(train_bench *b, float out[ROWS][CLASSES])
{
    artel_predictions *all;
    const float *values;
    train_expect(b, artel_model_predict(b->model, b->data, NULL, &all), ARTEL_OK);
    train_expect(b, artel_predictions_get(all, 0, NULL, NULL, &values), ARTEL_OK);
    memcpy(out, values, sizeof(float) * ROWS * CLASSES);
    artel_predictions_destroy(all);
}

static void bits_of_predict(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, ROWS);
    artel_fit_options fit = train_options(&b, 1);
    train_expect(&b, artel_model_fit(b.model, b.data, &fit, NULL), ARTEL_OK);
    float all[ROWS][CLASSES], out[ROWS][CLASSES];
    predict_all(&b, all);
    for (int64_t most = 1; most <= ROWS; most += 6) {
        artel_predictor *p = make(&b, most, false);
        for (int64_t row = 0; row < ROWS;) {
            int64_t count = 1 + row % most;
            if (count > ROWS - row) count = ROWS - row;
            train_expect(&b, artel_predictor_run(p, (const void *[]){b.x + row * WIDTH}, count, (float *[]){out[row]}),
                         ARTEL_OK);
            row += count;
        }
        assert_memory_equal(out, all, sizeof out);
        artel_predictor_destroy(p);
    }
    train_close(&b);
}

/* A predictor has the weights of its moment. */
static void outlives_training(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, ROWS);
    train_expect(&b, artel_model_initialise(b.model, 3), ARTEL_OK);
    float before[ROWS][CLASSES], after[ROWS][CLASSES], out[CLASSES];
    predict_all(&b, before);
    artel_predictor *p = make(&b, 1, false);
    artel_fit_options fit = train_options(&b, 1);
    train_expect(&b, artel_model_fit(b.model, b.data, &fit, NULL), ARTEL_OK);
    predict_all(&b, after);
    train_expect(&b, artel_predictor_run(p, (const void *[]){b.x}, 1, (float *[]){out}), ARTEL_OK);
    assert_memory_equal(out, before[0], sizeof out);
    assert_memory_not_equal(out, after[0], sizeof out);
    artel_predictor_destroy(p);
    train_close(&b);
}

static void steady_calls_take_no_memory(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, ROWS);
    artel_predictor *p = make(&b, 8, true);
    float out[8][CLASSES];
    double loss;
    for (int i = 0; i < 3; i++) {
        uint64_t before = artel__heap_calls(b.ctx);
        for (int k = 0; k < 50; k++) {
            train_expect(&b, artel_predictor_run(p, (const void *[]){b.x}, 1 + k % 8, (float *[]){out[0]}), ARTEL_OK);
            train_expect(&b,
                         artel_predictor_loss(p, (const void *[]){b.x}, (const void *[]){b.y}, 1 + k % 8, &loss, NULL),
                         ARTEL_OK);
        }
        if (i > 0) assert_int_equal(artel__heap_calls(b.ctx), before);
    }
    artel_predictor_destroy(p);
    train_close(&b);
}

/* The loss of a batch is that of evaluating it alone. */
static void loss_of_evaluate(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, ROWS);
    artel_predictor *p = make(&b, ROWS, true);
    for (int64_t rows = 1; rows <= ROWS; rows += 9) {
        const artel_data_array arrays[2] = {{"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, b.x},
                                            {"y", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_INT32, {1, {rows}}, b.y}};
        artel_evaluate_options o = ARTEL_EVALUATE_OPTIONS_INIT;
        artel_data *data;
        artel_history *history;
        double loss, losses[1];
        o.batch_size = rows;
        o.shards = 1;
        train_expect(&b, artel_data_from_memory(b.ctx, arrays, 2, &data), ARTEL_OK);
        train_expect(&b, artel_model_evaluate(b.model, data, &o, &history), ARTEL_OK);
        train_expect(&b, artel_predictor_loss(p, (const void *[]){b.x}, (const void *[]){b.y}, rows, &loss, losses),
                     ARTEL_OK);
        assert_true((float)loss == (float)artel_history_values(history, "loss", NULL)[0]);
        assert_true(losses[0] == loss);
        artel_history_destroy(history);
        artel_data_destroy(data);
    }
    artel_predictor_destroy(p);
    train_close(&b);
}

typedef struct worker {
    pthread_t thread;
    artel_predictor *predictor;
    const train_bench *bench;
    float out[ROWS][CLASSES];
    bool failed;
} worker;

static void *work(void *user)
{
    worker *w = user;
    for (int i = 0; i < 20; i++) {
        for (int64_t row = 0; row < ROWS; row++)
            w->failed = w->failed || artel_predictor_run(w->predictor, (const void *[]){w->bench->x + row * WIDTH}, 1,
                                                         (float *[]){w->out[row]}) != ARTEL_OK;
    }
    return NULL;
}

static void several_at_the_same_time(void **state)
{
    (void)state;
    train_bench b;
    static worker w[THREADS];
    train_open(&b, ROWS);
    float all[ROWS][CLASSES];
    predict_all(&b, all);
    for (int i = 0; i < THREADS; i++) w[i] = (worker){.predictor = make(&b, 1, false), .bench = &b};
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        assert_false(w[i].failed);
        assert_memory_equal(w[i].out, all, sizeof all);
        artel_predictor_destroy(w[i].predictor);
    }
    train_close(&b);
}

static void refusals(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, ROWS);
    artel_predictor *p = make(&b, 2, false);
    float out[2 * CLASSES];
    double loss;
    artel_dtype dtype;
    artel_shape row;
    const void *none[] = {NULL};
    train_expect(&b, artel_predictor_run(p, (const void *[]){b.x}, 3, (float *[]){out}), ARTEL_ERROR_INVALID);
    train_expect(&b, artel_predictor_run(p, (const void *[]){b.x}, 0, (float *[]){out}), ARTEL_ERROR_INVALID);
    train_expect(&b, artel_predictor_run(p, none, 1, (float *[]){out}), ARTEL_ERROR_INVALID);
    train_expect(&b, artel_predictor_run(p, (const void *[]){b.x}, 1, (float *[]){NULL}),
                 ARTEL_OK); /* nothing is wanted */
    train_expect(&b, artel_predictor_loss(p, (const void *[]){b.x}, (const void *[]){b.y}, 1, &loss, NULL),
                 ARTEL_ERROR_INVALID);
    train_expect(&b, artel_predictor_input(p, 0, &dtype, &row), ARTEL_OK);
    assert_true(dtype == ARTEL_DTYPE_FLOAT32 && row.rank == 1 && row.dim[0] == WIDTH);
    train_expect(&b, artel_predictor_output(p, 0, &row), ARTEL_OK);
    assert_true(row.rank == 1 && row.dim[0] == CLASSES);
    train_expect(&b, artel_predictor_input(p, 1, &dtype, &row), ARTEL_ERROR_INVALID);
    train_expect(&b, artel_predictor_output(p, -1, &row), ARTEL_ERROR_INVALID);
    train_expect(&b, artel_predictor_target(p, 0, &dtype, &row), ARTEL_ERROR_INVALID);
    artel_predictor_destroy(p);
    p = make(&b, 1, true);
    train_expect(&b, artel_predictor_target(p, 0, &dtype, &row), ARTEL_OK);
    assert_true(dtype == ARTEL_DTYPE_INT32);
    artel_predictor_destroy(p);
    train_close(&b);
}

/* Loads a model of one layer behind an input, and a Dense layer on that. */
static artel_model *load_categories(train_bench *b, const char *dtype, const char *layer)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": "
             "\"InputLayer\", \"config\": "
             "{\"batch_shape\": [null, %d], \"dtype\": \"%s\", \"name\": \"words\"}}, %s, {\"class_name\": \"Dense\", "
             "\"config\": {\"name\": "
             "\"d\", \"units\": %d}}]}}",
             WIDTH, dtype, layer, CLASSES);
    return train_model(b->ctx, text);
}

/* Bins of an input are computed in the graph here, and where rows are fetched by predict: the same bits. Text is turned
 * into numbers in front of it (more in tests/api/test_strings.c). */
static void bins_and_strings(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, ROWS);
    artel_model *own = b.model;
    artel_predictor *p;
    float all[ROWS][CLASSES], out[ROWS][CLASSES];
    b.model = load_categories(
        &b, "float32",
        "{\"class_name\": \"Discretization\", \"config\": {\"name\": \"b\", \"bin_boundaries\": [-0.5, 0.1, 0.6], "
        "\"output_mode\": \"count\"}}");
    train_expect(&b, artel_model_initialise(b.model, 3), ARTEL_OK);
    predict_all(&b, all);
    p = make(&b, ROWS, false);
    train_expect(&b, artel_predictor_run(p, (const void *[]){b.x}, ROWS, (float *[]){out[0]}), ARTEL_OK);
    assert_memory_equal(out, all, sizeof out);
    artel_predictor_destroy(p);
    artel_model_destroy(b.model);
    b.model = load_categories(
        &b, "string",
        "{\"class_name\": \"StringLookup\", \"config\": {\"name\": \"l\", \"vocabulary\": [\"a\"], \"output_mode\": "
        "\"count\"}}");
    train_expect(&b, artel_model_initialise(b.model, 3), ARTEL_OK);
    p = make(&b, 2, false);
    const artel_string words[2][WIDTH] = {{{"a", 1}, {"b", 1}, {"a", 1}, {NULL, 0}, {"", 0}}, {{"a", 1}}};
    train_expect(&b, artel_predictor_run(p, (const void *[]){words}, 2, (float *[]){out[0]}), ARTEL_OK);
    train_expect(&b, artel_predictor_run(p, (const void *[]){words[0]}, 1, (float *[]){out[2]}), ARTEL_OK);
    assert_memory_equal(out[0], out[2], sizeof out[0]);
    artel_predictor_destroy(p);
    artel_model_destroy(b.model);
    b.model = own;
    train_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_predict),
        cmocka_unit_test(outlives_training),
        cmocka_unit_test(steady_calls_take_no_memory),
        cmocka_unit_test(loss_of_evaluate),
        cmocka_unit_test(several_at_the_same_time),
        cmocka_unit_test(refusals),
        cmocka_unit_test(bins_and_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
