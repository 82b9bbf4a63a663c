/* SPDX-License-Identifier: Apache-2.0 */
/* A run without end that another thread stops; then the context is used again.
 *
 *     cancel [STRATEGY [REPLICAS]]
 *
 * The second thread cancels the context at the third step. The run ends between two steps with ARTEL_ERROR_CANCELLED;
 * the context is cleared and used again: another model trains for two epochs.
 */
#include <artel/build.h>
#include <artel/fit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* What the second thread waits for: the first step of the endless run. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int steps;
    artel_context *ctx;
} gate;

static void count_step(void *user, const artel_event *event)
{
    gate *g = user;
    if (event->kind != ARTEL_EVENT_STEP) return;
    pthread_mutex_lock(&g->mutex);
    g->steps++;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

static void *cancel(void *user)
{
    gate *g = user;
    pthread_mutex_lock(&g->mutex);
    while (g->steps < 3) pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
    artel_context_cancel(g->ctx); /* from any thread, from a signal handler too */
    return NULL;
}

static artel_status build(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_status status = artel_sequential_create(ctx, "endless", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {4}}, &b);
    if (status < 0) return status;
    artel_layer_dense(b, &(artel_dense_options){.units = 16, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = 3, .activation = "softmax"});
    status = artel_sequential_finish(b, out);
    return status < 0 ? status : artel_model_compile(*out, "adam", "sparse_categorical_crossentropy", NULL);
}

/* Trains until the other thread has had enough; that it does so is no failure here. */
static artel_status until_cancelled(artel_model *model, artel_data *data, artel_fit_options options, gate *g)
{
    pthread_t thread;
    options.epochs = 1000000000;
    options.on_event = count_step;
    options.event_user = g;
    if (pthread_create(&thread, NULL, cancel, g) != 0) return ARTEL_ERROR_NO_MEMORY;
    artel_status status = artel_model_fit(model, data, &options, NULL);
    pthread_mutex_lock(&g->mutex);
    g->steps += 3; /* a run that failed before has made no third step */
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
    pthread_join(thread, NULL);
    if (status != ARTEL_ERROR_CANCELLED) return status;
    printf("stopped: %s\n", artel_status_name(status));
    artel_context_clear(g->ctx); /* it can be used again */
    return ARTEL_OK;
}

int main(int argc, char **argv)
{
    gate g = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    artel_model *model = NULL;
    artel_data *data = NULL;
    artel_history *history = NULL;
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    options.epochs = 2;
    options.strategy = argc > 1 ? argv[1] : "auto";
    options.replicas = argc > 2 ? atoi(argv[2]) : 0;
    artel_status status = artel_context_create(NULL, &g.ctx);
    if (status == ARTEL_OK) status = artel_data_open(g.ctx, "synthetic:600", &data);
    if (status == ARTEL_OK) status = build(g.ctx, &model);
    if (status == ARTEL_OK) status = until_cancelled(model, data, options, &g);
    artel_model_destroy(model); /* how far it came is chance */
    model = NULL;
    if (status == ARTEL_OK) status = build(g.ctx, &model);
    if (status == ARTEL_OK) status = artel_model_fit(model, data, &options, &history);
    if (status == ARTEL_OK) printf("and again: loss %a\n", artel_history_values(history, "loss", NULL)[1]);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(g.ctx)->where, artel_context_error(g.ctx)->what);
    artel_history_destroy(history);
    artel_model_destroy(model);
    artel_data_destroy(data);
    artel_context_destroy(g.ctx);
    return status < 0;
}
