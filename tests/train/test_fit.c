/* SPDX-License-Identifier: Apache-2.0 */
/* Fits end in the same bits on any number of replicas and threads, and when they are interrupted anywhere and continued. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "artel/fit.h"
#include "base/file.h"
#include "base/json.h"

#define DENSE(name, units, activation) \
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"" name "\", \"units\": " units ", \"activation\": \"" activation "\"}}"
#define SEQUENTIAL(shape, layers)                                                                                               \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": \"InputLayer\", \"config\": " \
    "{\"batch_shape\": " shape ", \"dtype\": \"float32\", \"name\": \"in\"}}, " layers "]}}"

static const char mlp[] =
    SEQUENTIAL("[null, 9]", DENSE("a", "21", "relu") ", {\"class_name\": \"Dropout\", \"config\": {\"name\": \"drop\", "
                                                     "\"rate\": 0.4}}, " DENSE("b", "4", "softmax"));
static const char cnn[] = SEQUENTIAL(
    "[null, 6, 6, 2]",
    "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 5, \"kernel_size\": [3, 3], \"padding\": \"same\"}}, "
    "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"n\"}}, {\"class_name\": \"ReLU\", \"config\": {\"name\": \"r\"}}, "
    "{\"class_name\": \"MaxPooling2D\", \"config\": {\"name\": \"p\", \"pool_size\": [2, 2]}}, "
    "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"f\"}}, " DENSE("b", "4", "softmax"));

typedef struct bench {
    artel_context *ctx;
    artel_model *model;
    artel_data *data;
    float *x;
    int32_t y[256];
    char folder[64];
    int64_t stop_at; /* preempt after this step */
    bool cancel;
    int64_t steps, resumed;
    char fault[512];
    bool faulted;
    bool fails; /* a call in the first event */
    bool recomputes;
} bench;

static void bench_open(bench *b, const char *json, int64_t rows, int64_t width, artel_shape row)
{
    memset(b, 0, sizeof *b);
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    strcpy(b->folder, "/tmp/artel-fit-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    char path[128];
    snprintf(path, sizeof path, "%s/model.json", b->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(json, file);
    fclose(file);
    if (artel_model_load(b->ctx, path, &b->model) < 0) fail_msg("%s", artel_context_error(b->ctx)->what);
    unlink(path);
    assert_int_equal(artel_model_compile(b->model, "adam", "sparse_categorical_crossentropy", "[\"accuracy\"]"), ARTEL_OK);
    b->x = malloc((size_t)(rows * width) * sizeof *b->x);
    for (int64_t i = 0; i < rows * width; i++) b->x[i] = (float)((i * 7919) % 211) / 100.0f - 1.0f;
    for (int64_t i = 0; i < rows; i++) b->y[i] = (int32_t)((i * 31 + i / 7) % 4);
    artel_shape shape = {.rank = row.rank + 1, .dim = {rows}}, targets = {.rank = 1, .dim = {rows}};
    for (int d = 0; d < row.rank; d++) shape.dim[d + 1] = row.dim[d];
    artel_data_array arrays[] = {{.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = shape, .values = b->x},
                                 {.name = "y", .dtype = ARTEL_DTYPE_INT32, .shape = targets, .values = b->y}};
    assert_int_equal(artel_data_from_memory(b->ctx, arrays, 2, &b->data), ARTEL_OK);
}

static void open_mlp(bench *b, int64_t rows)
{
    bench_open(b, mlp, rows, 9, (artel_shape){.rank = 1, .dim = {9}});
}

static void bench_close(bench *b)
{
    artel_data_destroy(b->data);
    artel_model_destroy(b->model);
    if (b->folder[0]) assert_int_equal(artel__remove_tree(b->ctx, b->folder), ARTEL_OK);
    artel_context_destroy(b->ctx);
    free(b->x);
}

static void on_event(void *user, const artel_event *event)
{
    bench *b = user;
    artel_model *none;
    if (event->kind == ARTEL_EVENT_START) b->resumed = event->resumed_from;
    if (event->kind == ARTEL_EVENT_START && b->fails) assert_int_equal(artel_model_load(b->ctx, "/nowhere", &none), ARTEL_ERROR_NOT_FOUND);
    if (event->kind == ARTEL_EVENT_FAULT) snprintf(b->fault, sizeof b->fault, "%s", event->text);
    if (event->kind != ARTEL_EVENT_STEP || event->validation) return;
    b->steps = event->step;
    if (b->stop_at == 0 || event->step != b->stop_at) return;
    if (b->cancel)
        artel_context_cancel(b->ctx);
    else
        artel_context_preempt(b->ctx);
}

static artel_fit_options options_of(bench *b, int64_t batch, int replicas, int threads)
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

static void expect(bench *b, artel_status status, artel_status wanted)
{
    if (status != wanted) fail_msg("status %d: %s: %s", (int)status, artel_context_error(b->ctx)->where, artel_context_error(b->ctx)->what);
}

/* -- replicas and threads -- */

static void digest_of(const char *json, const char *optimizer, int64_t batch, int64_t rows, int replicas, int threads, char out[65])
{
    bench b;
    bool image = json == cnn;
    bench_open(&b, json, rows, image ? 72 : 9, image ? (artel_shape){.rank = 3, .dim = {6, 6, 2}} : (artel_shape){.rank = 1, .dim = {9}});
    artel_fit_options o = options_of(&b, batch, replicas, threads);
    expect(&b, artel_model_compile(b.model, optimizer, "sparse_categorical_crossentropy", "[\"accuracy\"]"), ARTEL_OK);
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_int_equal(artel_model_digest(b.model, out), ARTEL_OK);
    bench_close(&b);
}

static void check_replicas(const char *json, int64_t batch, int64_t rows)
{
    static const int replicas[] = {1, 2, 3, 5, 8, 16};
    char first[65], other[65];
    digest_of(json, "adam", batch, rows, 1, 1, first);
    for (size_t r = 0; r < sizeof replicas / sizeof *replicas; r++) {
        for (int threads = 1; threads <= 2; threads++) {
            digest_of(json, "adam", batch, rows, replicas[r], threads * replicas[r], other);
            if (strcmp(first, other) != 0)
                fail_msg("batch %lld, %d replicas, %d threads each: another digest", (long long)batch, replicas[r], threads);
        }
    }
}

static void test_mlp_on_replicas(void **state)
{
    (void)state;
    check_replicas(mlp, 96, 230);
    check_replicas(mlp, 100, 230);
    check_replicas(mlp, 7, 25); /* fewer rows than shards */
}

static void test_cnn_on_replicas(void **state)
{
    (void)state;
    check_replicas(cnn, 96, 230);
    check_replicas(cnn, 11, 25);
}

/* Some leave steps that replicas share out, some need all of a variable or what another node of the phase writes. */
static void test_optimizers_on_replicas(void **state)
{
    static const char *const names[] = {"sgd:momentum=0.9,nesterov=true,weight_decay=0.01",
                                        "adam:clipnorm=0.1",
                                        "adam:global_clipnorm=0.1",
                                        "rmsprop:use_ema=true,ema_momentum=0.5",
                                        "nadam",
                                        "nadam:gradient_accumulation_steps=2,global_clipnorm=0.1",
                                        "lamb"};
    char first[65], other[65];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        digest_of(cnn, names[i], 24, 60, 1, 1, first);
        for (int replicas = 2; replicas <= 3; replicas++) {
            digest_of(cnn, names[i], 24, 60, replicas, replicas, other);
            if (strcmp(first, other) != 0) fail_msg("%s, %d replicas: another digest", names[i], replicas);
        }
    }
}

/* Activations computed again, the first time or on several replicas: the same bits, and the plan says so. */
static void on_plan(void *user, const char *text)
{
    bench *b = user;
    b->recomputes = strstr(text, ", again\n") != NULL;
}

static void test_recompute(void **state)
{
    (void)state;
    static const int replicas[] = {1, 2, 8};
    char plain[65], other[65];
    digest_of(cnn, "adam", 96, 230, 1, 1, plain);
    for (size_t r = 0; r < sizeof replicas / sizeof *replicas; r++) {
        bench b;
        bench_open(&b, cnn, 230, 72, (artel_shape){.rank = 3, .dim = {6, 6, 2}});
        artel_fit_options o = options_of(&b, 96, replicas[r], replicas[r]);
        o.recompute = 100;
        o.on_plan = on_plan;
        expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_true(b.recomputes);
        assert_int_equal(artel_model_digest(b.model, other), ARTEL_OK);
        assert_string_equal(plain, other);
        o.recompute = -1;
        expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
        assert_string_equal(artel_context_error(b.ctx)->where, "--recompute");
        bench_close(&b);
    }
}

/* -- failures -- */

/* A label out of range on one replica: no weight changes anywhere, and the model can be trained again. */
static void test_label_out_of_range(void **state)
{
    (void)state;
    for (int replicas = 1; replicas <= 3; replicas += 2) {
        bench b;
        char before[65], after[65];
        open_mlp(&b, 48);
        assert_int_equal(artel_model_initialise(b.model, 5), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, before), ARTEL_OK);
        artel_fit_options o = options_of(&b, 48, replicas, replicas);
        b.y[41] = 9;
        b.fails = true; /* hides nothing of what happens later */
        assert_true(artel_model_fit(b.model, b.data, &o, NULL) < 0);
        assert_non_null(strstr(artel_context_error(b.ctx)->what, "9"));
        b.fails = false;
        assert_int_equal(artel_model_digest(b.model, after), ARTEL_OK);
        assert_string_equal(before, after);
        b.y[41] = 1;
        artel_data *fresh;
        artel_data_array arrays[] = {{.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {.rank = 2, .dim = {48, 9}}, .values = b.x},
                                     {.name = "y", .dtype = ARTEL_DTYPE_INT32, .shape = {.rank = 1, .dim = {48}}, .values = b.y}};
        assert_int_equal(artel_data_from_memory(b.ctx, arrays, 2, &fresh), ARTEL_OK);
        expect(&b, artel_model_fit(b.model, fresh, &o, NULL), ARTEL_OK);
        artel_data_destroy(fresh);
        bench_close(&b);
    }
}

static void test_stop_on_nan(void **state)
{
    (void)state;
    bench b;
    open_mlp(&b, 48);
    b.x[100] = 1e38f * 10;
    artel_fit_options o = options_of(&b, 16, 2, 2);
    o.stop_on_nan = true;
    o.shuffle = false;
    assert_true(artel_model_fit(b.model, b.data, &o, NULL) < 0);
    assert_non_null(strstr(artel_context_error(b.ctx)->what, "\"a\""));
    bench_close(&b);
}

/* -- interruption -- */

static const char callbacks[] = "[{\"class_name\": \"EarlyStopping\", \"config\": {\"monitor\": \"loss\", \"patience\": 3, "
                                "\"restore_best_weights\": true}}, {\"class_name\": \"ReduceLROnPlateau\", \"config\": {\"monitor\": "
                                "\"loss\", \"factor\": 0.5, \"patience\": 0, \"min_delta\": 10.0}}]";

static artel_fit_options long_run(bench *b, int replicas, char *directory)
{
    artel_fit_options o = options_of(b, 16, replicas, replicas);
    snprintf(directory, 128, "%s/ckpt", b->folder);
    o.epochs = 4; /* of 3 steps */
    o.callbacks = callbacks;
    o.checkpoint_dir = directory;
    o.save_every = "100epochs";
    return o;
}

/* A model as a new process would have it. */
static void renew(bench *b, bench *fresh)
{
    open_mlp(fresh, 40);
    rmdir(fresh->folder);
    strcpy(fresh->folder, b->folder);
}

static void uninterrupted(char digest[65], double last_losses[4])
{
    bench b;
    char directory[128];
    artel_history *history;
    open_mlp(&b, 40);
    artel_fit_options o = long_run(&b, 1, directory);
    expect(&b, artel_model_fit(b.model, b.data, &o, &history), ARTEL_OK);
    int64_t epochs;
    const double *loss = artel_history_values(history, "loss", &epochs);
    assert_int_equal(epochs, 4);
    memcpy(last_losses, loss, 4 * sizeof *loss);
    assert_int_equal(b.steps, 12);
    assert_int_equal(artel_model_digest(b.model, digest), ARTEL_OK);
    artel_history_destroy(history);
    bench_close(&b);
}

static void test_interrupted_at_every_step(void **state)
{
    (void)state;
    char wanted[65], digest[65], directory[128];
    double losses[4];
    uninterrupted(wanted, losses);
    for (int64_t stop = 1; stop < 12; stop++) {
        bench b, again;
        artel_history *history;
        int64_t epochs;
        open_mlp(&b, 40);
        artel_fit_options o = long_run(&b, 1, directory);
        b.stop_at = stop;
        expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_PREEMPTED);
        renew(&b, &again);
        o = long_run(&again, stop % 3 + 1, directory);
        o.recompute = stop % 2 ? 100 : 0; /* no part of what a run is known by */
        expect(&again, artel_model_fit(again.model, again.data, &o, &history), ARTEL_OK);
        assert_int_equal(again.resumed, stop);
        assert_int_equal(artel_model_digest(again.model, digest), ARTEL_OK);
        assert_string_equal(digest, wanted);
        const double *loss = artel_history_values(history, "loss", &epochs);
        assert_int_equal(epochs, 4);
        assert_memory_equal(loss, losses, sizeof losses);
        artel_history_destroy(history);
        bench_close(&again);
        b.folder[0] = 0; /* the other took it over */
        bench_close(&b);
    }
}

static int64_t number_in(json_t *manifest, const char *key)
{
    return json_integer_value(json_object_get(manifest, key));
}

/* A position counts the units that are in the state beside it: those of steps, batches of validation, ends of epochs. Tasks that
 * begin with checkpoints of other moments compare states by it. */
static void check_position(bench *b, const char *directory, int64_t step)
{
    char path[256];
    json_t *manifest;
    snprintf(path, sizeof path, "%s/ckpt-%d/manifest.json", directory, (int)step);
    expect(b, artel__json_load_file(b->ctx, path, &manifest), ARTEL_OK);
    int64_t rows = number_in(manifest, "validation_row"), ended = number_in(manifest, "epoch");
    assert_int_equal(number_in(manifest, "step"), step);
    assert_int_equal(number_in(manifest, "unit"), step + (rows + 15) / 16 + 2 * ended); /* an epoch: one batch of validation, its end */
    json_decref(manifest);
}

static void test_positions(void **state)
{
    (void)state;
    bench b;
    char directory[128];
    open_mlp(&b, 40);
    artel_fit_options o = long_run(&b, 1, directory);
    o.validation_split = 0.2; /* 32 rows in 2 steps, 8 in one batch */
    o.save_every = "1step";
    o.keep = 100;
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    for (int64_t step = 1; step < 8; step++) check_position(&b, directory, step);
    for (int64_t step = 1; step < 8; step++) {
        bench stopped;
        renew(&b, &stopped);
        char other[160];
        snprintf(other, sizeof other, "%s/stopped-%d", b.folder, (int)step);
        o = long_run(&stopped, 1, directory);
        o.validation_split = 0.2;
        o.checkpoint_dir = other;
        stopped.stop_at = step;
        expect(&stopped, artel_model_fit(stopped.model, stopped.data, &o, NULL), ARTEL_ERROR_PREEMPTED);
        check_position(&stopped, other, step);
        stopped.folder[0] = 0; /* the other's */
        bench_close(&stopped);
    }
    bench_close(&b);
}

/* Cancelled, the newest checkpoint damaged: the older one counts. Only `keep` stay. Another seed is refused by name. */
static void test_damaged_and_foreign(void **state)
{
    (void)state;
    char wanted[65], digest[65], directory[128], path[256];
    double losses[4];
    uninterrupted(wanted, losses);
    bench b, again;
    open_mlp(&b, 40);
    artel_fit_options o = long_run(&b, 1, directory);
    o.save_every = "2steps";
    o.keep = 2;
    b.stop_at = 9;
    b.cancel = true;
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_CANCELLED);
    snprintf(path, sizeof path, "%s/ckpt-4", directory);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/ckpt-6", directory);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/ckpt-8/state.safetensors", directory);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, -5, SEEK_END);
    fputc(0x5a, file);
    fclose(file);
    renew(&b, &again);
    o = long_run(&again, 2, directory);
    o.seed = 6;
    assert_true(artel_model_fit(again.model, again.data, &o, NULL) < 0);
    assert_non_null(strstr(artel_context_error(again.ctx)->what, "seed"));
    assert_null(strstr(artel_context_error(again.ctx)->what, "batch size"));
    artel_model_destroy(again.model);
    artel_data_destroy(again.data);
    artel_context_destroy(again.ctx);
    free(again.x);
    renew(&b, &again);
    o = long_run(&again, 2, directory);
    expect(&again, artel_model_fit(again.model, again.data, &o, NULL), ARTEL_OK);
    assert_int_equal(again.resumed, 6);
    assert_int_equal(artel_model_digest(again.model, digest), ARTEL_OK);
    assert_string_equal(digest, wanted);
    bench_close(&again);
    b.folder[0] = 0; /* the other took it over */
    bench_close(&b);
}

/* Class weights of 1 change nothing; others do. */
static void test_class_weights(void **state)
{
    (void)state;
    static const char *const weights[] = {NULL, "{\"0\": 1, \"3\": 1.0}", "{\"1\": 5}"};
    char digest[3][65];
    for (int i = 0; i < 3; i++) {
        bench b;
        open_mlp(&b, 40);
        artel_fit_options o = options_of(&b, 16, 2, 2);
        o.class_weight = weights[i];
        expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, digest[i]), ARTEL_OK);
        bench_close(&b);
    }
    assert_string_equal(digest[0], digest[1]);
    assert_string_not_equal(digest[0], digest[2]);
}

/* -- statistics of batch normalisation by group of shards -- */

static void grouped_digest(int groups, int64_t batch, int64_t rows, int replicas, char out[65])
{
    bench b;
    bench_open(&b, cnn, rows, 72, (artel_shape){.rank = 3, .dim = {6, 6, 2}});
    artel_fit_options o = options_of(&b, batch, replicas, replicas);
    o.batch_norm_groups = groups;
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_int_equal(artel_model_digest(b.model, out), ARTEL_OK);
    bench_close(&b);
}

/* 23 rows in 16 shards leave a last batch of 7 with empty shards, and with 16 groups empty groups. */
static void test_batch_norm_groups(void **state)
{
    (void)state;
    static const int groups[] = {1, 2, 4, 16}, replicas[] = {2, 3, 8};
    char global[65], first[4][65], other[65];
    grouped_digest(0, 16, 23, 1, global);
    for (int g = 0; g < 4; g++) {
        grouped_digest(groups[g], 16, 23, 1, first[g]);
        for (int r = 0; r < 3; r++) {
            grouped_digest(groups[g], 16, 23, replicas[r], other);
            if (strcmp(first[g], other) != 0) fail_msg("%d groups, %d replicas: another digest", groups[g], replicas[r]);
        }
        for (int k = 0; k < g; k++) assert_string_not_equal(first[k], first[g]);
    }
    assert_string_equal(global, first[0]);
}

static void test_wrong_groups(void **state)
{
    (void)state;
    static const int wrong[] = {3, 32, -1};
    bench b;
    open_mlp(&b, 40);
    for (int i = 0; i < 3; i++) {
        artel_fit_options o = options_of(&b, 16, 2, 2);
        o.batch_norm_groups = wrong[i];
        expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
        assert_string_equal(artel_context_error(b.ctx)->where, "--batch-norm");
    }
    bench_close(&b);
}

static void test_wrong_arithmetic(void **state)
{
    (void)state;
    bench b;
    open_mlp(&b, 40);
    artel_fit_options o = options_of(&b, 16, 2, 2);
    artel_evaluate_options e = ARTEL_EVALUATE_OPTIONS_INIT;
    o.arithmetic = e.arithmetic = "tile";
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(b.ctx)->where, "--arithmetic");
    expect(&b, artel_model_evaluate(b.model, b.data, &e, NULL), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(b.ctx)->where, "--arithmetic");
    o.arithmetic = "auto";
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    bench_close(&b);
}

/* Options without their size are refused, those of a shorter struct are completed with defaults. */
static void test_struct_size(void **state)
{
    (void)state;
    char digest[2][65];
    for (int i = 0; i < 2; i++) {
        bench b;
        open_mlp(&b, 40);
        artel_fit_options o = options_of(&b, 16, 2, 2);
        if (i) {
            o.struct_size = 0;
            expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
            o.struct_size = offsetof(artel_fit_options, batch_norm_groups);
            o.batch_norm_groups = -7;
        }
        expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, digest[i]), ARTEL_OK);
        artel_evaluate_options e = ARTEL_EVALUATE_OPTIONS_INIT;
        e.struct_size = 0;
        expect(&b, artel_model_evaluate(b.model, b.data, &e, NULL), ARTEL_ERROR_INVALID);
        e.struct_size = offsetof(artel_evaluate_options, steps);
        e.steps = -3; /* not read */
        e.batch_size = 7;
        expect(&b, artel_model_evaluate(b.model, b.data, &e, NULL), ARTEL_OK);
        bench_close(&b);
    }
    assert_string_equal(digest[0], digest[1]);
}

/* -- profile -- */

typedef struct profile {
    bench *b; /* the event functions' user is this one */
    int64_t calls;
    double operations;
    bool forward, backward, apply, layer;
} profile;

static void on_profile(void *user, int64_t step, const artel_profile_node *nodes, int count)
{
    profile *p = user;
    assert_int_equal(step, ++p->calls);
    assert_true(count > 0);
    p->operations = 0;
    for (int i = 0; i < count; i++) {
        assert_true(nodes[i].ns > 0 ? nodes[i].begin_ns > 0 : nodes[i].ns == 0);
        assert_true(nodes[i].ns > 0 || strcmp(nodes[i].kernel, "collective") == 0);
        assert_string_not_equal(nodes[i].kernel, "view");
        p->operations += nodes[i].operations;
        p->forward = p->forward || strcmp(nodes[i].phase, "forward") == 0;
        p->backward = p->backward || strcmp(nodes[i].phase, "backward") == 0;
        p->apply = p->apply || strcmp(nodes[i].phase, "apply") == 0;
        p->layer = p->layer || strcmp(nodes[i].layer, "a") == 0;
    }
}

/* Every step is reported, nothing changes, and the operations are those of the rows: of the last, short batch too. */
static void test_profile(void **state)
{
    (void)state;
    char digest[2][65];
    for (int i = 0; i < 2; i++) {
        bench b;
        open_mlp(&b, 40);
        profile p = {.b = &b};
        artel_fit_options o = options_of(&b, 16, 2, 2);
        if (i) {
            o.on_profile = on_profile;
            o.on_event = NULL;
            o.event_user = &p;
        }
        expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, digest[i]), ARTEL_OK);
        bench_close(&b);
        if (!i) continue;
        assert_int_equal(p.calls, 6);
        assert_true(p.forward && p.backward && p.apply && p.layer);
        /* forward and weight gradients of 9 x 21 and 21 x 4, data gradient of the second; replica 0 has 4 of the 8 rows */
        assert_float_equal(p.operations, 2.0 * 4 * (2 * 9 * 21 + 3 * 21 * 4), 0.5);
    }
    assert_string_equal(digest[0], digest[1]);
}

/* The first of five replicas has 3 of 16 shards: 9 of the 48 rows, where others have 12. */
static void test_profile_of_fewer_rows(void **state)
{
    (void)state;
    bench b;
    open_mlp(&b, 48);
    profile p = {.b = &b};
    artel_fit_options o = options_of(&b, 48, 5, 5);
    o.on_profile = on_profile;
    o.on_event = NULL;
    o.event_user = &p;
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_float_equal(p.operations, 2.0 * 9 * (2 * 9 * 21 + 3 * 21 * 4), 0.5);
    bench_close(&b);
}

/* No two spans have anything in common; a collective of two calls has the time of both, and the place of one. */
static void spans_apart(void *user, int64_t step, const artel_profile_node *nodes, int count)
{
    (void)user;
    (void)step;
    for (int i = 0; i < count; i++) {
        assert_true(nodes[i].longest_ns <= nodes[i].ns);
        for (int k = 0; k < count; k++) {
            bool before = nodes[k].begin_ns + nodes[k].longest_ns <= nodes[i].begin_ns;
            bool behind = nodes[i].begin_ns + nodes[i].longest_ns <= nodes[k].begin_ns;
            if (k != i && nodes[i].ns && nodes[k].ns && !before && !behind)
                fail_msg("%s of %s and %s of %s at once", nodes[i].operation, nodes[i].layer, nodes[k].operation, nodes[k].layer);
        }
    }
}

static void test_profile_spans(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, cnn, 96, 72, (artel_shape){.rank = 3, .dim = {6, 6, 2}});
    artel_fit_options o = options_of(&b, 16, 2, 2);
    o.on_profile = spans_apart;
    expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp_on_replicas),
        cmocka_unit_test(test_cnn_on_replicas),
        cmocka_unit_test(test_optimizers_on_replicas),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_label_out_of_range),
        cmocka_unit_test(test_stop_on_nan),
        cmocka_unit_test(test_interrupted_at_every_step),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_damaged_and_foreign),
        cmocka_unit_test(test_class_weights),
        cmocka_unit_test(test_batch_norm_groups),
        cmocka_unit_test(test_wrong_groups),
        cmocka_unit_test(test_wrong_arithmetic),
        cmocka_unit_test(test_struct_size),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profile_of_fewer_rows),
        cmocka_unit_test(test_profile_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
