/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* No process globals: contexts live side by side, each with its threads, error record, log and flags. Cancelling and
 * preempting from another thread end a run in good order; data from a function is asked for as its header says. */
#include <pthread.h>

#include "api/help_api.h"

/* -- several contexts -- */

typedef struct job {
    api_run run;
    char digest[65];
} job;

static void *run_job(void *user)
{
    job *j = user;
    artel_context *ctx = api_context();
    api_train(ctx, &j->run, j->digest);
    artel_context_destroy(ctx);
    return NULL;
}

static void test_contexts_in_threads(void **state)
{
    enum {
        COUNT = 6
    };
    job jobs[COUNT], alone[2] = {{.run = {.images = false}}, {.run = {.images = true}}};
    pthread_t threads[COUNT];
    (void)state;
    run_job(&alone[0]);
    run_job(&alone[1]);
    for (int i = 0; i < COUNT; i++) {
        jobs[i] = (job){.run = {.images = i % 2, .replicas = i % 3 + 1, .threads = 2}};
        assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(jobs[i].digest, alone[i % 2].digest);
    }
}

/* The failure of one context, its cancellation too, is none of the other's business. */
static void test_contexts_are_apart(void **state)
{
    char digest[65];
    artel_data *data = NULL;
    (void)state;
    artel_context *one = api_context(), *two = api_context();
    artel_context_cancel(one);
    assert_int_equal(artel_data_open(one, "npz:/nowhere/x.npz", &data), ARTEL_ERROR_NOT_FOUND);
    assert_int_equal(artel_context_error(one)->status, ARTEL_ERROR_NOT_FOUND);
    assert_int_equal(artel_context_error(two)->status, ARTEL_OK);
    api_train(two, &(api_run){.epochs = 1}, digest);
    artel_context_clear(one);
    assert_int_equal(artel_context_error(one)->status, ARTEL_OK);
    api_train(one, &(api_run){.epochs = 1}, digest);
    artel_context_destroy(one);
    artel_context_destroy(two);
}

/* -- stopping from another thread -- */

typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t steps, checkpoints;
    void (*stop)(artel_context *ctx);
    artel_context *ctx;
} gate;

static void count(void *user, const artel_event *event)
{
    gate *g = user;
    pthread_mutex_lock(&g->mutex);
    if (event->kind == ARTEL_EVENT_STEP) g->steps = event->step;
    if (event->kind == ARTEL_EVENT_CHECKPOINT) g->checkpoints++;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

static void *stop_after_three(void *user)
{
    gate *g = user;
    pthread_mutex_lock(&g->mutex);
    while (g->steps < 3) pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
    g->stop(g->ctx);
    return NULL;
}

/* Trains without end until the other thread stops it. */
static artel_status run_until(gate *g, artel_model *model, artel_data *data, artel_fit_options options)
{
    pthread_t thread;
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->changed, NULL);
    options.epochs = 1000000000;
    options.on_event = count;
    options.event_user = g;
    assert_int_equal(pthread_create(&thread, NULL, stop_after_three, g), 0);
    artel_status status = artel_model_fit(model, data, &options, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&g->mutex);
    pthread_cond_destroy(&g->changed);
    return status;
}

static void test_cancel(void **state)
{
    char digest[65];
    (void)state;
    for (int replicas = 1; replicas <= 3; replicas += 2) {
        artel_context *ctx = api_context();
        artel_model *model = api_mlp(ctx);
        artel_data *data = api_rows(ctx, false);
        artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
        gate g = {.stop = artel_context_cancel, .ctx = ctx};
        options.strategy = "mirrored";
        options.replicas = replicas;
        assert_int_equal(run_until(&g, model, data, options), ARTEL_ERROR_CANCELLED);
        assert_int_equal(artel_context_error(ctx)->status, ARTEL_ERROR_CANCELLED);
        assert_true(g.steps >= 3);
        api_ok(ctx, artel_model_digest(model, digest)); /* the weights of the last whole step */
        artel_context_clear(ctx);
        options.epochs = 1;
        api_ok(ctx, artel_model_fit(model, data, &options, NULL));
        artel_data_destroy(data);
        artel_model_destroy(model);
        artel_context_destroy(ctx);
    }
}

/* Preempted at some step and started again, a run ends with the bits of one that was never stopped. */
static void test_preempt_and_continue(void **state)
{
    char folder[64], expected[65], digest[65];
    (void)state;
    artel_context *ctx = api_context();
    api_folder_make(folder);
    artel_data *data = api_rows(ctx, true);
    artel_model *model = api_cnn(ctx);
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    gate g = {.stop = artel_context_preempt, .ctx = ctx};
    options.checkpoint_dir = folder;
    assert_int_equal(run_until(&g, model, data, options), ARTEL_ERROR_PREEMPTED);
    assert_true(g.checkpoints >= 1);
    artel_model_destroy(model);
    artel_context_clear(ctx);

    options.epochs = (g.steps + 2) / 3 + 2; /* three steps an epoch: later than where it stopped */
    model = api_cnn(ctx);
    api_ok(ctx, artel_model_fit(model, data, &options, NULL));
    api_ok(ctx, artel_model_digest(model, digest));
    artel_model_destroy(model);

    options.checkpoint_dir = NULL;
    model = api_cnn(ctx);
    api_ok(ctx, artel_model_fit(model, data, &options, NULL));
    api_ok(ctx, artel_model_digest(model, expected));
    assert_string_equal(digest, expected);
    artel_model_destroy(model);
    artel_data_destroy(data);
    api_folder_remove(folder);
    artel_context_destroy(ctx);
}

/* -- data from a function -- */

static void test_callback_equals_memory(void **state)
{
    char memory[65], callback[65];
    (void)state;
    artel_context *ctx = api_context();
    for (int images = 0; images < 2; images++) {
        api_train(ctx, &(api_run){.images = images, .replicas = 3, .threads = 3}, memory);
        api_train(ctx, &(api_run){.images = images, .replicas = 3, .threads = 3, .by_callback = true}, callback);
        assert_string_equal(memory, callback);
    }
    artel_context_destroy(ctx);
}

static artel_status fetch_badly(void *user, const uint64_t *rows, int64_t count, void *const *buffers, char *message)
{
    const uint64_t *bad = user;
    float *x = buffers[0];
    int32_t *y = buffers[1];
    for (int64_t i = 0; i < count; i++) {
        if (rows[i] == *bad) {
            snprintf(message, 512, "row %llu is under water", (unsigned long long)rows[i]);
            return ARTEL_ERROR_IO;
        }
        for (int k = 0; k < API_IMAGE; k++) x[i * API_IMAGE + k] = 0.5f;
        y[i] = 1;
    }
    return ARTEL_OK;
}

static void test_callback_fails(void **state)
{
    uint64_t bad = 41;
    artel_data *data;
    (void)state;
    artel_context *ctx = api_context();
    artel_model *model = api_mlp(ctx);
    const artel_data_array arrays[] = {
        {.name = "x", .role = ARTEL_DATA_ROLE_INPUT, .shape = {2, {0, API_IMAGE}}},
        {.name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT32, .shape = {1, {0}}},
    };
    const artel_data_callback callback = {
        .arrays = arrays, .array_count = 2, .count = 60, .fetch = fetch_badly, .user = &bad};
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    api_ok(ctx, artel_data_from_callback(ctx, &callback, &data));
    options.strategy = "mirrored";
    options.replicas = 2;
    assert_true(artel_model_fit(model, data, &options, NULL) < 0);
    assert_non_null(strstr(artel_context_error(ctx)->what, "row 41 is under water"));
    bad = 1000;
    api_ok(ctx, artel_model_fit(model, data, &options, NULL)); /* nothing is broken by it */
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

/* -- the log -- */

static void keep_line(void *user, artel_log_level level, const char *message)
{
    (void)level;
    char *log = user;
    size_t length = strlen(log);
    snprintf(log + length, 2048 - length, "%s\n", message);
}

static void test_log_sink(void **state)
{
    static const char callbacks[] =
        "[{\"class_name\": \"LearningRateScheduler\", \"config\": {\"schedule\": [0.5, 0.25], \"verbose\": 1}}]";
    (void)state;
    for (int quiet = 0; quiet < 2; quiet++) {
        char log[2048] = "";
        artel_context *ctx;
        artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
        artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
        options.log = keep_line;
        options.log_user = log;
        options.log_level = quiet ? ARTEL_LOG_WARNING : ARTEL_LOG_NOTE;
        assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
        artel_model *model = api_mlp(ctx);
        artel_data *data = api_rows(ctx, false);
        fit.epochs = 2;
        fit.callbacks = callbacks;
        api_ok(ctx, artel_model_fit(model, data, &fit, NULL));
        if (quiet)
            assert_string_equal(log, "");
        else
            assert_non_null(strstr(log, "0.25"));
        artel_data_destroy(data);
        artel_model_destroy(model);
        artel_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts_in_threads),
        cmocka_unit_test(test_contexts_are_apart),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_preempt_and_continue),
        cmocka_unit_test(test_callback_equals_memory),
        cmocka_unit_test(test_callback_fails),
        cmocka_unit_test(test_log_sink),
    };
    return cmocka_run_group_tests_name("api.contexts", tests, NULL, NULL);
}
