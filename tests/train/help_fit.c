/* SPDX-License-Identifier: Apache-2.0 */
/* The models and data of help_fit.h, and what they note of a fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "help_fit.h"
#include "help_train.h"

#define DENSE(name, units, activation)                                                   \
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"" name "\", \"units\": " units \
    ", \"activation\": \"" activation "\"}}"
#define SEQUENTIAL(shape, layers)                                                                                   \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": \"InputLayer\", " \
    "\"config\": "                                                                                                  \
    "{\"batch_shape\": " shape ", \"dtype\": \"float32\", \"name\": \"in\"}}, " layers "]}}"

const char fit_mlp[] =
    SEQUENTIAL("[null, 9]", DENSE("a", "21", "relu") ", {\"class_name\": \"Dropout\", \"config\": {\"name\": \"drop\", "
                                                     "\"rate\": 0.4}}, " DENSE("b", "4", "softmax"));
const char fit_cnn[] = SEQUENTIAL(
    "[null, 6, 6, 2]", "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 5, \"kernel_size\": "
                       "[3, 3], \"padding\": \"same\"}}, "
                       "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"n\"}}, {\"class_name\": "
                       "\"ReLU\", \"config\": {\"name\": \"r\"}}, "
                       "{\"class_name\": \"MaxPooling2D\", \"config\": {\"name\": \"p\", \"pool_size\": [2, 2]}}, "
                       "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"f\"}}, " DENSE("b", "4", "softmax"));

const char fit_table[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": \"InputLayer\", "
    "\"config\": {\"batch_shape\": [null, 2], \"dtype\": \"int32\", \"name\": \"in\"}}, {\"class_name\": "
    "\"Embedding\", \"config\": {\"name\": \"e\", \"input_dim\": 64, \"output_dim\": 6}}, {\"class_name\": "
    "\"Flatten\", \"config\": {\"name\": \"f\"}}, " DENSE("a", "21", "relu") ", " DENSE("b", "4", "softmax") "]}}";

static void make_folder(fit_bench *b)
{
    strcpy(b->folder, "/tmp/artel-fit-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
}

static void open_with(fit_bench *b, const artel_context_options *options, const char *json, int64_t rows, int64_t width,
                      artel_shape row)
{
    memset(b, 0, sizeof *b);
    assert_int_equal(artel_context_create(options, &b->ctx), ARTEL_OK);
    b->model = train_model(b->ctx, json);
    assert_int_equal(artel_model_compile(b->model, "adam", "sparse_categorical_crossentropy", "[\"accuracy\"]"),
                     ARTEL_OK);
    b->x = malloc((size_t)(rows * width) * sizeof *b->x);
    for (int64_t i = 0; i < rows * width; i++) b->x[i] = (float)((i * 7919) % 211) / 100.0f - 1.0f;
    for (int64_t i = 0; i < rows; i++) b->y[i] = (int32_t)((i * 31 + i / 7) % 4);
    artel_shape shape = {.rank = row.rank + 1, .dim = {rows}}, targets = {.rank = 1, .dim = {rows}};
    for (int d = 0; d < row.rank; d++) shape.dim[d + 1] = row.dim[d];
    artel_data_array arrays[] = {{.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = shape, .values = b->x},
                                 {.name = "y", .dtype = ARTEL_DTYPE_INT32, .shape = targets, .values = b->y}};
    if (json == fit_table) {
        b->token = malloc((size_t)(rows * width) * sizeof *b->token);
        for (int64_t i = 0; i < rows * width; i++) b->token[i] = (int32_t)(i * 37 % (i % 5 ? 20 : 64));
        arrays[0].dtype = ARTEL_DTYPE_INT32;
        arrays[0].values = b->token;
    }
    assert_int_equal(artel_data_from_memory(b->ctx, arrays, 2, &b->data), ARTEL_OK);
}

void fit_open(fit_bench *b, const char *json, int64_t rows, int64_t width, artel_shape row)
{
    open_with(b, NULL, json, rows, width, row);
    make_folder(b);
}

void fit_open_mlp(fit_bench *b, int64_t rows)
{
    fit_open_logged(b, rows, NULL);
}

void fit_open_logged(fit_bench *b, int64_t rows, const artel_context_options *options)
{
    open_with(b, options, fit_mlp, rows, 9, (artel_shape){.rank = 1, .dim = {9}});
    make_folder(b);
}

void fit_open_either(fit_bench *b, bool table, int64_t rows, const artel_context_options *options)
{
    int64_t width = table ? 2 : 9;
    open_with(b, options, table ? fit_table : fit_mlp, rows, width, (artel_shape){.rank = 1, .dim = {width}});
}

void fit_close(fit_bench *b)
{
    artel_data_destroy(b->data);
    artel_model_destroy(b->model);
    if (b->folder[0]) assert_int_equal(artel__remove_tree(b->ctx, b->folder), ARTEL_OK);
    artel_context_destroy(b->ctx);
    free(b->token);
    free(b->x);
}

static void on_event(void *user, const artel_event *event)
{
    fit_bench *b = user;
    artel_model *none;
    if (event->kind == ARTEL_EVENT_START) b->resumed = event->resumed_from;
    if (event->kind == ARTEL_EVENT_START && b->fails)
        assert_int_equal(artel_model_load(b->ctx, "/nowhere", &none), ARTEL_ERROR_NOT_FOUND);
    if (event->kind == ARTEL_EVENT_FAULT) snprintf(b->fault, sizeof b->fault, "%s", event->text);
    if (event->kind != ARTEL_EVENT_STEP || event->validation) return;
    b->steps = event->step;
    if (b->stop_at == 0 || event->step != b->stop_at) return;
    if (b->cancel)
        artel_context_cancel(b->ctx);
    else
        artel_context_preempt(b->ctx);
}

artel_fit_options fit_options(fit_bench *b, int64_t batch, int replicas, int threads)
{
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    o.epochs = 2;
    o.batch_size = batch;
    o.shards = 16;
    o.seed = 5;
    o.strategy = replicas > 1 ? "mirrored" : "one-device";
    o.replicas = replicas;
    o.threads = threads;
    o.on_event = on_event;
    o.event_user = b;
    return o;
}

void fit_expect(fit_bench *b, artel_status status, artel_status wanted)
{
    if (status != wanted)
        fail_msg("status %d: %s: %s", (int)status, artel_context_error(b->ctx)->where,
                 artel_context_error(b->ctx)->what);
}
