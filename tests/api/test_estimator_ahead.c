/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* An estimator reads ahead: while the program is in the event of a step, the next batch is read, and no further one. */
#include <pthread.h>
#include <time.h>

#include "api/help_api.h"
#include "artel/estimator.h"
#include "artel/pipeline.h"

enum {
    AHEAD_ROWS = 13,
    AHEAD_BATCH = 4,
    AHEAD_STEPS = 7 /* two passes of 4, 4, 4, 1 rows, less the last one */
};

typedef struct watched {
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t changed;
    int64_t reads, fails_at; /* elements; -1: none of them fails */
    bool torn;               /* too few or too many were read */
    char folder[64];
    artel_variable *sum;
} watched;

static artel_status watch(void *user, int64_t index, const void *in, void *out, char *message)
{
    watched *w = user;
    (void)index;
    pthread_mutex_lock(&w->mutex);
    bool fails = w->reads == w->fails_at;
    w->reads += !fails; /* an element that fails is asked for again */
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    *(float *)out = (float)*(const int64_t *)in;
    if (fails) snprintf(message, 512, "the tape is torn");
    return fails ? ARTEL_ERROR_IO : ARTEL_OK;
}

static artel_status input(void *user, artel_context *ctx, artel_estimator_input *in)
{
    watched *w = user;
    char text[128];
    artel_pipeline *p;
    snprintf(text, sizeof text, "csv:%s/rows.csv", w->folder);
    const artel_pipeline_function f = {"x", "watched 1", ARTEL_DTYPE_FLOAT32, {.rank = 0}, watch, w};
    artel_status status = artel_pipeline_create(ctx, text, &p);
    if (status == ARTEL_OK) status = artel_pipeline_map(p, &f);
    if (status == ARTEL_OK) status = artel_pipeline_open(p, &in->data);
    artel_pipeline_destroy(p);
    in->batch_size = AHEAD_BATCH;
    in->passes = 2;
    return status;
}

static artel_status build_sum(void *user, artel_strategy *strategy, artel_estimator_mode mode)
{
    watched *w = user;
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    (void)mode;
    o.name = "sum";
    return artel_variable_create(strategy, &o, &w->sum);
}

static artel_status add_up(void *user, artel_graph *g, const artel_estimator_batch *batch, artel_estimator_spec *spec)
{
    const watched *w = user;
    artel_value rows = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, batch->features[0]);
    artel_value sum = artel_graph_binary(g, "add", artel_graph_variable(g, w->sum), rows);
    artel_graph_assign(g, w->sum, sum);
    spec->loss = sum;
    return artel_graph_status(g);
}

static int64_t rows_until(int64_t batches)
{
    int64_t pass = (AHEAD_ROWS + AHEAD_BATCH - 1) / AHEAD_BATCH, rest = batches % pass * AHEAD_BATCH;
    if (batches >= 2 * pass) return 2 * AHEAD_ROWS; /* the input ends */
    return batches / pass * AHEAD_ROWS + (rest < AHEAD_ROWS ? rest : AHEAD_ROWS);
}

static void wait_for_reads(void *user, const artel_event *event)
{
    watched *w = user;
    struct timespec until;
    if (event->kind != ARTEL_EVENT_STEP) return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60; /* only where nobody reads */
    pthread_mutex_lock(&w->mutex);
    int error = 0;
    while (w->reads < rows_until(event->step + 1) && w->fails_at < 0 && error == 0)
        error = pthread_cond_timedwait(&w->changed, &w->mutex, &until);
    w->torn = w->torn || error != 0 || w->reads > rows_until(event->step + 1);
    pthread_mutex_unlock(&w->mutex);
}

static artel_status train(artel_context *ctx, watched *w, int64_t steps)
{
    artel_estimator *e;
    artel_estimator_options o = ARTEL_ESTIMATOR_OPTIONS_INIT;
    artel_train_spec spec = ARTEL_TRAIN_SPEC_INIT;
    o.model_dir = w->folder;
    o.build = build_sum;
    o.model = add_up;
    o.user = o.event_user = w;
    o.on_event = wait_for_reads;
    spec.input = input;
    spec.user = w;
    spec.steps = steps;
    api_ok(ctx, artel_estimator_create(ctx, &o, &e));
    artel_status status = artel_estimator_train(e, &spec);
    artel_estimator_destroy(e);
    return status;
}

static void test_reading_ahead(void **state)
{
    watched w = {.fails_at = -1};
    artel_context *ctx = api_context();
    char path[96];
    (void)state;
    pthread_mutex_init(&w.mutex, NULL);
    pthread_cond_init(&w.changed, NULL);
    api_folder_make(w.folder);
    snprintf(path, sizeof path, "%s/rows.csv", w.folder);
    FILE *file = fopen(path, "w");
    fprintf(file, "x\n");
    for (int i = 0; i < AHEAD_ROWS; i++) fprintf(file, "%d\n", i + 1);
    fclose(file);
    api_ok(ctx, train(ctx, &w, AHEAD_STEPS));
    assert_false(w.torn);
    assert_int_equal(w.reads, rows_until(AHEAD_STEPS + 1)); /* each once */
    /* It goes on where it stopped, whatever was read ahead then: the last batch, a row of it. */
    w.reads = rows_until(AHEAD_STEPS);
    api_ok(ctx, train(ctx, &w, AHEAD_STEPS));
    assert_int_equal(w.reads, 2 * AHEAD_ROWS);
    /* What fails ahead fails when its step comes, with its cause: here the second step of a new run. */
    api_folder_remove(w.folder);
    api_folder_make(w.folder);
    snprintf(path, sizeof path, "%s/rows.csv", w.folder);
    file = fopen(path, "w");
    fprintf(file, "x\n1\n2\n3\n4\n5\n6\n");
    fclose(file);
    w.reads = 0;
    w.fails_at = 5;
    assert_int_equal(train(ctx, &w, 2), ARTEL_ERROR_IO);
    assert_non_null(strstr(artel_context_error(ctx)->what, "the tape is torn"));
    artel_context_destroy(ctx);
    api_folder_remove(w.folder);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.mutex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading_ahead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
