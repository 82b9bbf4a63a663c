/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Estimators: the same bits under every strategy, those of fit, and after an interruption; when an evaluation happens
 * and what is exported; the evaluator's role; what is refused. */
#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "api/help_api.h"
#include "artel/estimator.h"
#include "artel/saved.h"

typedef struct bench {
    artel_context *ctx, *far; /* far: of the data; NULL: ctx */
    artel_model *model;       /* NULL: the model function counts steps in a variable */
    artel_variable *counter;
    artel_optimizer *optimizer;
    int64_t preempt_at, passes;
    artel_dtype floats;
    bool text;     /* rows of text, and a model that takes them */
    double poison; /* added to the loss */
    int writes, evaluations, steps, checkpoints;
    double loss, step_loss; /* of the last evaluation, of the last step */
    char folder[64];
    int calls[6]; /* of hooks: begin, end, before, after, saving, saved */
    int64_t stop_at, seen;
    const artel_estimator_hook *train_hooks, *eval_hooks; /* one each, or NULL */
} bench;

/* 75 rows: a word of four, and a class. */
static artel_data *rows_of_text(artel_context *ctx)
{
    static const artel_string words[] = {{"good", 4}, {"bad", 3}, {"", 0}, {"plot", 4}};
    static artel_string x[API_ROWS];
    static int32_t y[API_ROWS];
    artel_data *data = NULL;
    for (int i = 0; i < API_ROWS; i++) x[i] = words[i * 7 % 4], y[i] = i % API_CLASSES;
    const artel_data_array arrays[2] = {{"x", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_STRING, {2, {API_ROWS, 1}}, x},
                                        {"y", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_INT32, {1, {API_ROWS}}, y}};
    api_ok(ctx, artel_data_from_memory(ctx, arrays, 2, &data));
    return data;
}

static artel_model *model_of_text(artel_context *ctx)
{
    artel_builder *b;
    artel_model *model;
    api_ok(ctx, artel_sequential_create(ctx, "mlp", ARTEL_DTYPE_STRING, &(artel_shape){1, {1}}, &b));
    (void)artel_layer_add(b, "StringLookup", "{\"vocabulary\": [\"good\", \"bad\"], \"output_mode\": \"one_hot\"}");
    (void)artel_layer_add(b, "Dense", "{\"units\": 3, \"activation\": \"softmax\"}");
    api_ok(ctx, artel_sequential_finish(b, &model));
    api_ok(ctx, artel_model_compile(model, "adam", "sparse_categorical_crossentropy", NULL));
    api_ok(ctx, artel_model_initialise(model, 3));
    return model;
}

static artel_status input(void *user, artel_context *ctx, artel_estimator_input *in)
{
    const bench *b = user;
    in->text = b->text;
    in->passes = b->passes;
    in->floats = b->floats;
    in->data = b->text ? rows_of_text(ctx) : api_rows(b->far ? b->far : ctx, false);
    return ARTEL_OK;
}

/* -- a network -- */

static artel_status build(void *user, artel_strategy *strategy, artel_estimator_mode mode)
{
    bench *b = user;
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = "counter";
    if (!b->model) return artel_variable_create(strategy, &o, &b->counter);
    if (mode == ARTEL_ESTIMATOR_EVALUATE) return artel_strategy_add_model(strategy, b->model);
    return artel_optimizer_create_for_model(strategy, "adam", b->model, &b->optimizer);
}

static artel_status network(void *user, artel_graph *g, const artel_estimator_batch *batch, artel_estimator_spec *spec)
{
    bench *b = user;
    artel_value made;
    assert_int_equal(batch->feature_count, 1);
    assert_int_equal(batch->label_count, 1);
    assert_int_equal(batch->weight, ARTEL_NO_VALUE);
    assert_string_equal(batch->feature_names[0], "x");
    artel_graph_call(g, b->model, batch->features, 1, &made, 1);
    spec->loss = artel_graph_loss(g, "sparse_categorical_crossentropy", batch->labels[0], made);
    spec->optimizer = b->optimizer;
    made = artel_graph_op(g, "argmax", &made, 1, "{\"axis\": -1}");
    spec->metrics[spec->metric_count++] =
        (artel_estimator_metric){"accuracy", artel_graph_binary(g, "equal", made, batch->labels[0])};
    return artel_graph_status(g);
}

/* -- a counter, whose loss is least at step 4 -- */

static artel_status count(void *user, artel_graph *g, const artel_estimator_batch *batch, artel_estimator_spec *spec)
{
    bench *b = user;
    artel_value counter = artel_graph_variable(g, b->counter);
    artel_value away =
        artel_graph_unary(g, "absolute", artel_graph_binary(g, "subtract", counter, artel_graph_number(g, 4)));
    spec->loss = artel_graph_binary(g, "add", away, artel_graph_number(g, b->poison));
    spec->metrics[spec->metric_count++] = (artel_estimator_metric){"counter", counter};
    if (batch->mode == ARTEL_ESTIMATOR_TRAIN && b->writes)
        artel_graph_assign(g, b->counter, artel_graph_binary(g, "add", counter, artel_graph_number(g, 1)));
    return artel_graph_status(g);
}

static artel_status export(void *user, artel_strategy *strategy, const char *directory)
{
    char path[400];
    float value = -1;
    (void)user;
    artel_variable *counter = NULL;
    assert_int_equal(artel_strategy_variable(strategy, "count", &counter), ARTEL_ERROR_NOT_FOUND);
    assert_int_equal(artel_strategy_variable(strategy, "counter", &counter), ARTEL_OK);
    artel_status status = artel_variable_read(counter, &value, 1);
    snprintf(path, sizeof path, "%s/counter-%g", directory, value);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    return status;
}

static artel_status export_nothing(void *user, artel_strategy *strategy, const char *directory)
{
    (void)user;
    (void)strategy;
    (void)directory;
    return ARTEL_OK;
}

static void on_event(void *user, const artel_event *event)
{
    bench *b = user;
    b->steps += event->kind == ARTEL_EVENT_STEP;
    b->checkpoints += event->kind == ARTEL_EVENT_CHECKPOINT;
    b->evaluations += event->kind == ARTEL_EVENT_EVALUATE;
    if (event->kind == ARTEL_EVENT_EVALUATE) b->loss = event->loss;
    if (event->kind == ARTEL_EVENT_STEP) b->step_loss = event->loss;
    if (event->kind == ARTEL_EVENT_STEP && event->step == b->preempt_at) artel_context_preempt(b->ctx);
}

/* -- running -- */

static void open_bench(bench *b, bool model)
{
    *b = (bench){.ctx = api_context(), .writes = 1, .loss = -1};
    if (model) b->model = api_mlp(b->ctx);
    api_folder_make(b->folder);
}

static void close_bench(bench *b)
{
    artel_model_destroy(b->model);
    artel_context_destroy(b->ctx);
    api_folder_remove(b->folder);
}

static artel_estimator *make(bench *b, const artel_strategy_options *strategy, int64_t every)
{
    artel_estimator *e = NULL;
    artel_estimator_options o = ARTEL_ESTIMATOR_OPTIONS_INIT;
    o.model_dir = b->folder;
    o.build = build;
    o.model = b->model ? network : count;
    o.user = o.event_user = b;
    o.strategy = strategy;
    o.save_checkpoints_steps = every;
    o.on_event = on_event;
    api_ok(b->ctx, artel_estimator_create(b->ctx, &o, &e));
    return e;
}

static artel_status run(bench *b, const artel_strategy_options *strategy, int64_t max_steps,
                        const artel_exporter *exporters, int exporter_count, double throttle, artel_history **out)
{
    artel_train_spec train = ARTEL_TRAIN_SPEC_INIT;
    artel_eval_spec eval = ARTEL_EVAL_SPEC_INIT;
    train.input = eval.input = input;
    train.user = eval.user = b;
    train.max_steps = max_steps;
    eval.exporters = exporters;
    eval.exporter_count = exporter_count;
    eval.start_delay_secs = 0;
    eval.throttle_secs = throttle;
    eval.steps = 3; /* once through the 75 rows */
    train.hooks = b->train_hooks;
    train.hook_count = b->train_hooks != NULL;
    eval.hooks = b->eval_hooks;
    eval.hook_count = b->eval_hooks != NULL;
    artel_estimator *e = make(b, strategy, b->model ? 5 : 1);
    artel_status status = artel_train_and_evaluate(e, &train, &eval, out);
    artel_estimator_destroy(e);
    return status;
}

static const artel_exporter final = {.struct_size = sizeof(artel_exporter), .kind = ARTEL_EXPORTER_FINAL};

static void digest_of(const bench *b, const char *export, char digest[65])
{
    char path[200];
    artel_model *model = NULL;
    snprintf(path, sizeof path, "%s/export/%s", b->folder, export);
    api_ok(b->ctx, artel_model_load(b->ctx, path, &model));
    api_ok(b->ctx, artel_model_digest(model, digest));
    artel_model_destroy(model);
}

static void test_bits(void **state)
{
    static const char *const names[] = {"one-device", "mirrored", "central-storage", "multi-worker"};
    char digest[65], truth[65] = "";
    double loss = -1;
    (void)state;
    for (int i = 0; i < 4; i++) {
        bench b;
        artel_history *history = NULL;
        artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
        o.strategy = names[i];
        o.replicas = i ? 3 : 1;
        open_bench(&b, true);
        api_ok(b.ctx, run(&b, &o, 12, &final, 1, 0, &history));
        assert_int_equal(b.steps, 12);
        assert_int_equal(b.checkpoints, 4); /* 0, 5, 10, 12 */
        assert_int_equal(b.evaluations, 3);
        assert_int_equal(artel_history_keys(history), 3);
        assert_true(artel_history_values(history, "global_step", NULL)[0] == 12);
        assert_true(artel_history_values(history, "accuracy", NULL)[0] > 0);
        if (i == 0) loss = b.loss;
        assert_true(artel_history_values(history, "loss", NULL)[0] == loss);
        digest_of(&b, "final/12/mlp.keras", i ? digest : truth);
        if (i) assert_string_equal(digest, truth);
        artel_history_destroy(history);
        close_bench(&b);
    }
}

/* Two passes over 75 rows in batches of 32: six steps, and the input ends. */
static void compare_with_fit(artel_dtype floats)
{
    bench b;
    char digest[65], truth[65];
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    bool wide = floats == ARTEL_DTYPE_FLOAT64;
    open_bench(&b, !wide);
    if (wide) b.model = api_wide(b.ctx, false);
    b.floats = floats;
    artel_model *model = wide ? api_wide(b.ctx, false) : api_mlp(b.ctx);
    artel_data *data = api_rows(b.ctx, false);
    o.epochs = 2;
    o.shuffle = false;
    api_ok(b.ctx, artel_model_fit(model, data, &o, NULL));
    api_ok(b.ctx, artel_model_digest(model, truth));
    b.passes = 2;
    api_ok(b.ctx, run(&b, NULL, 0, &final, 1, 1e6, NULL));
    assert_int_equal(b.steps, 6);
    assert_int_equal(b.evaluations, 1);                               /* throttled but for the end */
    assert_true(wide == (b.step_loss != (double)(float)b.step_loss)); /* of all digits */
    digest_of(&b, "final/6/mlp.keras", digest);
    assert_string_equal(digest, truth);
    artel_data_destroy(data);
    artel_model_destroy(model);
    close_bench(&b);
}

static void test_bits_of_fit(void **state)
{
    (void)state;
    compare_with_fit(ARTEL_DTYPE_FLOAT32);
    compare_with_fit(ARTEL_DTYPE_FLOAT64);
}

/* Columns of text, through layers of words: two passes, as fit. */
static void test_text(void **state)
{
    bench b;
    char digest[65], truth[65];
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    artel_strategy_options s = ARTEL_STRATEGY_OPTIONS_INIT;
    (void)state;
    open_bench(&b, false);
    b.text = true;
    b.model = model_of_text(b.ctx);
    artel_model *model = model_of_text(b.ctx);
    artel_data *data = rows_of_text(b.ctx);
    o.epochs = 2;
    o.shuffle = false;
    api_ok(b.ctx, artel_model_fit(model, data, &o, NULL));
    api_ok(b.ctx, artel_model_digest(model, truth));
    b.passes = 2;
    s.strategy = "mirrored";
    s.replicas = 2;
    api_ok(b.ctx, run(&b, &s, 0, &final, 1, 1e6, NULL));
    digest_of(&b, "final/6/mlp.keras", digest);
    assert_string_equal(digest, truth);
    artel_data_destroy(data);
    artel_model_destroy(model);
    close_bench(&b);
}

static void test_going_on(void **state)
{
    bench b;
    char digest[65], truth[65];
    int64_t step;
    (void)state;
    open_bench(&b, true);
    api_ok(b.ctx, run(&b, NULL, 12, &final, 1, 1e6, NULL));
    digest_of(&b, "final/12/mlp.keras", truth);
    close_bench(&b);
    open_bench(&b, true);
    b.preempt_at = 7;
    assert_int_equal(run(&b, NULL, 12, &final, 1, 1e6, NULL), ARTEL_ERROR_PREEMPTED);
    artel_context_destroy((artel_model_destroy(b.model), b.ctx)); /* nothing is left but the folder */
    b.ctx = api_context();
    b.model = api_mlp(b.ctx);
    artel_estimator *e = make(&b, NULL, 5);
    api_ok(b.ctx, artel_estimator_latest_checkpoint(e, &step));
    assert_int_equal(step, 7);
    artel_estimator_destroy(e);
    b.preempt_at = b.steps = 0;
    api_ok(b.ctx, run(&b, NULL, 12, &final, 1, 1e6, NULL));
    assert_int_equal(b.steps, 5);
    digest_of(&b, "final/12/mlp.keras", digest);
    assert_string_equal(digest, truth);
    api_ok(b.ctx, run(&b, NULL, 12, NULL, 0, 1e6, NULL)); /* there is nothing to train: evaluated all the same */
    assert_int_equal(b.steps, 5);
    close_bench(&b);
}

static bool is_there(const bench *b, const char *path)
{
    char whole[300];
    snprintf(whole, sizeof whole, "%s/export/%s", b->folder, path);
    return access(whole, F_OK) == 0;
}

static void test_exporters(void **state)
{
    bench b;
    const artel_exporter exporters[4] = {
        {.struct_size = sizeof(artel_exporter), .kind = ARTEL_EXPORTER_LATEST, .keep = 2, .write = export, .user = &b},
        {.struct_size = sizeof(artel_exporter), .kind = ARTEL_EXPORTER_BEST, .write = export, .user = &b},
        {.struct_size = sizeof(artel_exporter),
         .kind = ARTEL_EXPORTER_BEST,
         .name = "most",
         .metric = "counter",
         .greatest = true,
         .write = export,
         .user = &b},
        {.struct_size = sizeof(artel_exporter), .kind = ARTEL_EXPORTER_FINAL, .write = export, .user = &b}};
    (void)state;
    open_bench(&b, false);
    api_ok(b.ctx, run(&b, NULL, 6, exporters, 4, 0, NULL));
    assert_int_equal(b.evaluations, 6);
    assert_true(is_there(&b, "latest/6/counter-6") && is_there(&b, "latest/5/counter-5") && !is_there(&b, "latest/4"));
    assert_true(is_there(&b, "best/4/counter-4") && is_there(&b, "best/1") && !is_there(&b, "best/5"));
    assert_true(is_there(&b, "most/6") && is_there(&b, "most/2") && !is_there(&b, "most/1")); /* five are kept */
    assert_true(is_there(&b, "final/6") && !is_there(&b, "final/5"));
    api_ok(b.ctx, run(&b, NULL, 8, exporters, 4, 0, NULL)); /* what was best stays best */
    assert_true(is_there(&b, "best/4") && !is_there(&b, "best/7") && !is_there(&b, "best/8") &&
                is_there(&b, "final/8"));
    struct { /* of a program that was compiled with a later library */
        artel_exporter known;
        double more[3];
    } later[2] = {{exporters[0], {0}}, {exporters[3], {0}}};
    later[0].known.struct_size = later[1].known.struct_size = sizeof later[0];
    api_ok(b.ctx, run(&b, NULL, 9, &later[0].known, 2, 0, NULL));
    assert_true(is_there(&b, "latest/9") && is_there(&b, "final/9"));
    close_bench(&b);
}

/* -- hooks -- */

static artel_status note(bench *b, int which, artel_estimator_moment *moment)
{
    b->calls[which]++;
    b->seen = moment->step;
    if (moment->mode == ARTEL_ESTIMATOR_TRAIN && which == 3 && moment->step == b->stop_at) moment->stop = true;
    return ARTEL_OK;
}
static artel_status on_begin(void *user, artel_estimator_moment *moment)
{
    return note(user, 0, moment);
}
static artel_status on_end(void *user, artel_estimator_moment *moment)
{
    return note(user, 1, moment);
}
static artel_status before(void *user, artel_estimator_moment *moment)
{
    return note(user, 2, moment);
}
static artel_status after(void *user, artel_estimator_moment *moment)
{
    bench *b = user;
    float counter;
    artel_variable *v;
    if (!b->model && moment->mode == ARTEL_ESTIMATOR_TRAIN) { /* the variable has been written */
        api_ok(b->ctx, artel_strategy_variable(moment->strategy, "counter", &v));
        api_ok(b->ctx, artel_variable_read(v, &counter, 1));
        assert_true(counter == (float)moment->step);
    }
    return note(b, 3, moment);
}
static artel_status saving(void *user, artel_estimator_moment *moment)
{
    return note(user, 4, moment);
}
static artel_status saved(void *user, artel_estimator_moment *moment)
{
    return note(user, 5, moment);
}
static artel_status fails(void *user, artel_estimator_moment *moment)
{
    (void)moment;
    artel_context_cancel(((bench *)user)->ctx);
    return ARTEL_ERROR_CANCELLED;
}

/* Stopped by a hook after step 4 of 9; begun again it goes to the end. */
static void GS11_hooks(void **state)
{
    static const char *const names[] = {"one-device", "mirrored"};
    for (int i = 0; i < 2; i++) {
        bench b, e;
        artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
        artel_estimator_hook h = {sizeof h, on_begin, on_end, before, after, saving, saved, &b}, beside = h;
        const artel_exporter last = {
            .struct_size = sizeof last, .kind = ARTEL_EXPORTER_FINAL, .write = export, .user = &b};
        (void)state;
        o.strategy = names[i];
        o.replicas = i ? 3 : 1;
        open_bench(&b, false);
        memset(&e, 0, sizeof e);
        beside.user = &e;
        b.train_hooks = &h;
        b.eval_hooks = &beside;
        b.stop_at = 4;
        api_ok(b.ctx, run(&b, &o, 9, &last, 1, 1e6, NULL));
        assert_int_equal(b.steps, 4);
        assert_memory_equal(b.calls, ((int[]){1, 1, 4, 4, 5, 5}), sizeof b.calls); /* checkpoints 0 to 4 */
        assert_memory_equal(e.calls, ((int[]){1, 1, 3, 3, 0, 0}), sizeof e.calls);
        assert_int_equal(e.seen, 4);
        assert_true(is_there(&b, "final/4/counter-4")); /* it is over, in order */
        b.stop_at = 0;
        api_ok(b.ctx, run(&b, &o, 9, &last, 1, 1e6, NULL));
        assert_int_equal(b.steps, 9);
        assert_true(is_there(&b, "final/9/counter-9"));
        h.before = fails;
        b.train_hooks = &h;
        memset(b.calls, 0, sizeof b.calls);
        assert_int_equal(run(&b, &o, 12, NULL, 0, 1e6, NULL), ARTEL_ERROR_CANCELLED);
        assert_int_equal(b.calls[1], 0); /* no end after a failure */
        artel_context_clear(b.ctx);
        close_bench(&b);
    }
}

static bool is_later(void *user, const artel_history *best, const artel_history *now)
{
    int *asked = user;
    ++*asked;
    double then = artel_history_values(best, "global_step", NULL)[0];
    assert_true(artel_history_values(best, "counter", NULL)[0] == then);
    return artel_history_values(now, "counter", NULL)[0] >= then + 2;
}

/* A comparison of the program's own, over two calls; a checkpoint by its name. */
static void GS11_best_and_checkpoints(void **state)
{
    bench b;
    int asked = 0;
    char path[100];
    artel_history *history = NULL;
    artel_eval_spec eval = ARTEL_EVAL_SPEC_INIT;
    artel_train_spec train = ARTEL_TRAIN_SPEC_INIT;
    const artel_exporter best = {.struct_size = sizeof best,
                                 .kind = ARTEL_EXPORTER_BEST,
                                 .write = export_nothing,
                                 .user = &asked,
                                 .better = is_later};
    (void)state;
    open_bench(&b, false);
    api_ok(b.ctx, run(&b, NULL, 6, &best, 1, 0, NULL));
    assert_int_equal(asked, 5); /* of 2 to 6: 3 and 5 are better */
    assert_true(is_there(&b, "best/1") && !is_there(&b, "best/2") && is_there(&b, "best/3") && is_there(&b, "best/5") &&
                !is_there(&b, "best/6"));
    api_ok(b.ctx, run(&b, NULL, 7, &best, 1, 0, NULL));
    assert_true(is_there(&b, "best/7"));
    artel_estimator *e = make(&b, NULL, 1);
    snprintf(path, sizeof path, "%s/ckpt-5", b.folder);
    eval.input = train.input = input;
    eval.user = train.user = &b;
    eval.checkpoint = path;
    api_ok(b.ctx, artel_estimator_evaluate(e, &eval, &history));
    assert_true(artel_history_values(history, "counter", NULL)[0] == 5);
    artel_history_destroy(history);
    train.max_steps = 9;
    api_refused(b.ctx, artel_train_and_evaluate(e, &train, &eval, NULL), ARTEL_ERROR_INVALID, "is named");
    artel_estimator_destroy(e);
    close_bench(&b);
}

static void GS10_evaluator(void **state)
{
    bench b;
    artel_cluster *cluster = NULL;
    artel_history *history = NULL;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_cluster_options c = ARTEL_CLUSTER_OPTIONS_INIT;
    (void)state;
    open_bench(&b, false);
    api_ok(b.ctx, run(&b, NULL, 6, NULL, 0, 1e6, NULL));
    setenv("TF_CONFIG",
           "{\"cluster\": {\"chief\": [\"127.0.0.1:1\"], \"worker\": [\"127.0.0.1:2\"]}, \"task\": {\"type\": "
           "\"evaluator\", \"index\": 0}}",
           1);
    c.resolver = "tf-config";
    api_ok(b.ctx, artel_cluster_open(b.ctx, &c, &cluster));
    unsetenv("TF_CONFIG");
    o.strategy = "multi-worker";
    o.cluster = cluster;
    b.steps = b.evaluations = 0;
    const artel_exporter exporter = {
        .struct_size = sizeof(artel_exporter), .kind = ARTEL_EXPORTER_FINAL, .write = export, .user = &b};
    api_ok(b.ctx, run(&b, &o, 6, &exporter, 1, 0, &history));
    assert_int_equal(b.steps, 0);
    assert_int_equal(b.evaluations, 1);
    assert_true(artel_history_values(history, "counter", NULL)[0] == 6);
    assert_true(is_there(&b, "final/6/counter-6"));
    artel_history_destroy(history);
    artel_cluster_close(cluster);
    close_bench(&b);
}

static void test_refused(void **state)
{
    bench b;
    artel_history *history = NULL;
    artel_train_spec train = ARTEL_TRAIN_SPEC_INIT;
    artel_eval_spec eval = ARTEL_EVAL_SPEC_INIT;
    const artel_exporter none = {.struct_size = sizeof(artel_exporter), .kind = ARTEL_EXPORTER_LATEST},
                         metric = {.struct_size = sizeof(artel_exporter), .kind = ARTEL_EXPORTER_BEST, .metric = "auc"};
    (void)state;
    open_bench(&b, false);
    artel_estimator *e = make(&b, NULL, 1);
    train.input = eval.input = input;
    train.user = eval.user = &b;
    train.steps = train.max_steps = 3;
    api_refused(b.ctx, artel_estimator_train(e, &train), ARTEL_ERROR_INVALID, "both");
    api_refused(b.ctx, artel_estimator_evaluate(e, &eval, &history), ARTEL_ERROR_NOT_FOUND, "no whole checkpoint");
    train.max_steps = 0;
    api_refused(b.ctx, artel_train_and_evaluate(e, &train, &eval, NULL), ARTEL_ERROR_INVALID, "evaluator");
    api_refused(b.ctx, run(&b, NULL, 2, (artel_exporter[]){none, {.struct_size = 16}}, 2, 0, NULL), ARTEL_ERROR_INVALID,
                "not that of the first");
    api_refused(b.ctx, run(&b, NULL, 2, &(artel_exporter){.kind = ARTEL_EXPORTER_FINAL}, 1, 0, NULL),
                ARTEL_ERROR_INVALID, "struct_size is not set");
    api_refused(b.ctx, run(&b, NULL, 2, &none, 1, 0, NULL), ARTEL_ERROR_INVALID, "no model");
    api_refused(b.ctx, run(&b, NULL, 2, &metric, 1, 0, NULL), ARTEL_ERROR_INVALID, "no such metric");
    b.far = api_context();
    api_refused(b.ctx, artel_estimator_train(e, &train), ARTEL_ERROR_INVALID, "the data is another context's");
    artel_context_destroy(b.far);
    b.far = NULL;
    b.poison = NAN;
    api_refused(b.ctx, artel_estimator_train(e, &train), ARTEL_ERROR_RUN, "not a number");
    b.writes = 0;
    api_refused(b.ctx, artel_estimator_train(e, &train), ARTEL_ERROR_INVALID, "trains nothing");
    artel_estimator_destroy(e);
    close_bench(&b);
}

/* steps goes on from what there is; a directory of fit's is not an estimator's. */
static void test_steps(void **state)
{
    bench b;
    artel_history *history = NULL;
    artel_train_spec train = ARTEL_TRAIN_SPEC_INIT;
    artel_eval_spec eval = ARTEL_EVAL_SPEC_INIT;
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    (void)state;
    open_bench(&b, false);
    artel_estimator *e = make(&b, NULL, 100);
    train.input = eval.input = input;
    train.user = eval.user = &b;
    train.steps = 3;
    for (int i = 1; i <= 2; i++) {
        api_ok(b.ctx, artel_estimator_train(e, &train));
        api_ok(b.ctx, artel_estimator_evaluate(e, &eval, &history));
        assert_true(artel_history_values(history, "counter", NULL)[0] == 3.0 * i);
        artel_history_destroy(history);
    }
    artel_estimator_destroy(e);
    close_bench(&b);
    open_bench(&b, true);
    artel_data *data = api_rows(b.ctx, false);
    fit.checkpoint_dir = b.folder;
    api_ok(b.ctx, artel_model_fit(b.model, data, &fit, NULL));
    api_refused(b.ctx, run(&b, NULL, 9, NULL, 0, 0, NULL), ARTEL_ERROR_INVALID, "not that of a strategy");
    artel_data_destroy(data);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),      cmocka_unit_test(test_bits_of_fit),
        cmocka_unit_test(test_text),      cmocka_unit_test(test_going_on),
        cmocka_unit_test(test_exporters), cmocka_unit_test(GS10_evaluator),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_steps),
        cmocka_unit_test(GS11_hooks),     cmocka_unit_test(GS11_best_and_checkpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
