/* SPDX-License-Identifier: Apache-2.0 */
#include "help_train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

static const char record[] = "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": "
                             "[{\"class_name\": \"InputLayer\", \"config\": "
                             "{\"batch_shape\": [null, 5], \"dtype\": \"float32\", \"name\": \"in\"}}, "
                             "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", "
                             "\"units\": 4, \"activation\": \"softmax\"}}]}}";

/* From memory: storms make tens of thousands. */
artel_model *train_model(artel_context *ctx, const char *text)
{
    char path[32];
    artel_model *model = NULL;
    int fd = memfd_create("model", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    artel_status status = artel_model_load(ctx, path, &model);
    close(fd);
    if (status < 0) fail_msg("%s", artel_context_error(ctx)->what);
    return model;
}

void train_open(train_bench *b, int64_t rows)
{
    memset(b, 0, sizeof *b);
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    strcpy(b->folder, "/tmp/artel-train-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    b->model = train_model(b->ctx, record);
    assert_int_equal(artel_model_compile(b->model, "sgd", "sparse_categorical_crossentropy", "[]"), ARTEL_OK);
    b->x = malloc((size_t)rows * 5 * sizeof *b->x);
    b->y = malloc((size_t)rows * sizeof *b->y);
    assert_true(b->x && b->y);
    for (int64_t i = 0; i < rows * 5; i++) b->x[i] = (float)((i * 7919) % 211) / 100.0f - 1.0f;
    for (int64_t i = 0; i < rows; i++) b->y[i] = (int32_t)((i * 31 + i / 7) % 4);
    artel_data_array arrays[] = {
        {.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {.rank = 2, .dim = {rows, 5}}, .values = b->x},
        {.name = "y", .dtype = ARTEL_DTYPE_INT32, .shape = {.rank = 1, .dim = {rows}}, .values = b->y}};
    assert_int_equal(artel_data_from_memory(b->ctx, arrays, 2, &b->data), ARTEL_OK);
}

void train_close(train_bench *b)
{
    artel_data_destroy(b->data);
    artel_model_destroy(b->model);
    if (b->folder[0]) assert_int_equal(artel__remove_tree(b->ctx, b->folder), ARTEL_OK);
    artel_context_destroy(b->ctx);
    free(b->x);
    free(b->y);
}

static void on_event(void *user, const artel_event *event)
{
    train_bench *b = user;
    if (event->kind == ARTEL_EVENT_START) b->resumed = event->resumed_from;
    if (event->kind == ARTEL_EVENT_STEP && event->step == b->stop_at) artel_context_preempt(b->ctx);
}

artel_fit_options train_options(train_bench *b, int replicas)
{
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    o.epochs = 2;
    o.batch_size = 16;
    o.shards = 16;
    o.seed = 5;
    o.shuffle = false;
    o.strategy = replicas > 1 ? "mirrored" : "one-device";
    o.replicas = replicas;
    o.threads = replicas;
    o.on_event = on_event;
    o.event_user = b;
    return o;
}

void train_expect(const train_bench *b, artel_status status, artel_status wanted)
{
    const artel_error *error = artel_context_error(b->ctx);
    if (status != wanted)
        fail_msg("status %d instead of %d: %s: %s", (int)status, (int)wanted, error->where, error->what);
}

void train_digest(const char *optimizer, int64_t batch, int replicas, const char *callbacks, char out[65])
{
    train_bench b;
    train_open(&b, 40);
    train_expect(&b, artel_model_compile(b.model, optimizer, NULL, NULL), ARTEL_OK);
    artel_fit_options o = train_options(&b, replicas);
    o.batch_size = batch;
    o.callbacks = callbacks;
    train_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_int_equal(artel_model_digest(b.model, out), ARTEL_OK);
    train_close(&b);
}
