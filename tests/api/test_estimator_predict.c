/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Estimators that predict, and that begin as the checkpoint of another run has them: rows in the order of the data, of
 * every element type; names by pattern, renamed ones; what is refused. */
#include <math.h>

#include "api/help_api.h"
#include "artel/estimator.h"

enum {
    ROWS = 10,
    BATCH = 4
};

typedef struct desk {
    artel_context *ctx;
    char folder[64];
    const char *names[3]; /* of the variables: a scale, shifts of two places, a count of steps */
    artel_variable *variable[3];
    int64_t rows, wide; /* predictions so far; of so many shifts, 2 if 0 */
    int batches, stop_after, moments[2];
    bool nothing, shared; /* the model function predicts nothing, or a shared value */
    bool fails;           /* who sees predictions, without a word */
    float begins[4];      /* of the variables when training begins */
} desk;

static artel_status input(void *user, artel_context *ctx, artel_estimator_input *in)
{
    static float x[ROWS];
    (void)user;
    for (int i = 0; i < ROWS; i++) x[i] = (float)i / 2;
    const artel_data_array column = {"x", ARTEL_DATA_ROLE_AUTO, ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, x};
    in->batch_size = BATCH;
    return artel_data_from_memory(ctx, &column, 1, &in->data);
}

static artel_status build(void *user, artel_strategy *strategy, artel_estimator_mode mode)
{
    desk *d = user;
    (void)mode;
    for (int i = 0; i < 3; i++) {
        artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
        o.name = d->names[i];
        o.shape = i == 1 ? (artel_shape){1, {d->wide ? d->wide : 2}} : (artel_shape){0, {0}};
        o.dtype = i == 2 ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_FLOAT32;
        artel_status status = artel_variable_create(strategy, &o, &d->variable[i]);
        if (status < 0) return status;
    }
    return ARTEL_OK;
}

static artel_value add_to(artel_graph *g, artel_variable *variable, double more)
{
    artel_graph_assign_add(g, variable, artel_graph_number(g, more));
    return artel_graph_variable(g, variable);
}

static void predict(const desk *d, artel_graph *g, artel_value x, artel_estimator_spec *spec)
{
    const artel_string words[2] = {{"low", 3}, {"high", 4}};
    artel_value both[2] = {x, x}, pair[2];
    artel_value y = artel_graph_op(g, "stack", both, 2, "{\"axis\": -1}");
    y = artel_graph_binary(g, "multiply", y, artel_graph_variable(g, d->variable[0]));
    y = artel_graph_binary(g, "add", y, artel_graph_variable(g, d->variable[1]));
    spec->predictions[spec->prediction_count++] = (artel_estimator_prediction){"y", y};
    artel_value whole = artel_graph_op(g, "cast", &x, 1, "{\"dtype\": \"int64\"}");
    whole = artel_graph_binary(g, "add", whole, artel_graph_variable(g, d->variable[2]));
    spec->predictions[spec->prediction_count++] = (artel_estimator_prediction){"steps", whole};
    artel_value above = artel_graph_binary(g, "greater", x, artel_graph_number(g, 2));
    pair[0] = artel_graph_constant(g, ARTEL_DTYPE_STRING, &(artel_shape){1, {2}}, words);
    pair[1] = artel_graph_op(g, "cast", &above, 1, "{\"dtype\": \"int32\"}");
    spec->predictions[spec->prediction_count++] =
        (artel_estimator_prediction){"word", artel_graph_op(g, "take", pair, 2, "{\"axis\": 0}")};
    if (d->shared)
        spec->predictions[0] = (artel_estimator_prediction){"scale", artel_graph_variable(g, d->variable[0])};
}

/* Each step: the scale grows by 0.5, shifts by 2, and the count by 1. */
static artel_status model(void *user, artel_graph *g, const artel_estimator_batch *batch, artel_estimator_spec *spec)
{
    static const int64_t one = 1;
    desk *d = user;
    artel_value x = batch->features[0];
    if (batch->mode == ARTEL_ESTIMATOR_PREDICT) {
        if (!d->nothing) predict(d, g, x, spec);
        return artel_graph_status(g);
    }
    spec->loss = x;
    if (batch->mode != ARTEL_ESTIMATOR_TRAIN) return artel_graph_status(g);
    add_to(g, d->variable[0], 0.5);
    artel_value shifts = artel_graph_variable(g, d->variable[1]);
    artel_graph_assign(g, d->variable[1], artel_graph_binary(g, "add", shifts, artel_graph_number(g, 2)));
    artel_graph_assign_add(g, d->variable[2], artel_graph_constant(g, ARTEL_DTYPE_INT64, &(artel_shape){0}, &one));
    return artel_graph_status(g);
}

static desk open_desk(void)
{
    desk d = {.ctx = api_context(), .names = {"net/scale", "net/shift", "count"}};
    api_folder_make(d.folder);
    return d;
}

static void close_desk(desk *d)
{
    artel_context_destroy(d->ctx);
    api_folder_remove(d->folder);
}

static artel_status make(desk *d, const artel_warm_start *warm, int replicas, artel_estimator **out)
{
    artel_estimator_options o = ARTEL_ESTIMATOR_OPTIONS_INIT;
    artel_strategy_options s = ARTEL_STRATEGY_OPTIONS_INIT;
    s.strategy = replicas > 1 ? "mirrored" : "one-device";
    s.replicas = replicas;
    o.model_dir = d->folder;
    o.build = build;
    o.model = model;
    o.user = d;
    o.strategy = &s;
    o.warm_start = warm;
    return artel_estimator_create(d->ctx, &o, out);
}

static artel_status note_beginning(void *user, artel_estimator_moment *moment)
{
    desk *d = user;
    int64_t steps;
    (void)moment;
    for (int i = 0; i < 2; i++) api_ok(d->ctx, artel_variable_read(d->variable[i], d->begins + i, i + 1));
    api_ok(d->ctx, artel_variable_read_as(d->variable[2], ARTEL_DTYPE_INT64, &steps, 1));
    d->begins[3] = (float)steps;
    return ARTEL_OK;
}

static artel_status train(desk *d, const artel_warm_start *warm, int replicas, int64_t max_steps)
{
    const artel_estimator_hook hook = {.struct_size = sizeof hook, .begin = note_beginning, .user = d};
    artel_train_spec spec = ARTEL_TRAIN_SPEC_INIT;
    artel_estimator *e = NULL;
    artel_status status = make(d, warm, replicas, &e);
    spec.input = input;
    spec.max_steps = max_steps;
    spec.hooks = &hook;
    spec.hook_count = 1;
    if (status == ARTEL_OK) status = artel_estimator_train(e, &spec);
    artel_estimator_destroy(e);
    return status;
}

/* -- predictions -- */

static artel_status see(void *user, artel_predicted_batch *p)
{
    desk *d = user;
    float step = (float)p->step;
    assert_int_equal(p->count, 3);
    assert_int_equal(p->first, d->rows);
    assert_int_equal(p->rows, d->batches < 2 ? BATCH : 2);
    assert_string_equal(p->names[0], "y");
    assert_int_equal(p->arrays[0].shape.rank, 2);
    assert_int_equal(p->arrays[0].shape.dim[0], p->rows);
    assert_int_equal(p->arrays[0].shape.dim[1], 2);
    assert_int_equal(p->arrays[1].dtype, ARTEL_DTYPE_INT64);
    assert_int_equal(p->arrays[2].dtype, ARTEL_DTYPE_STRING);
    for (int64_t r = 0; r < p->rows; r++) {
        float x = (float)(p->first + r) / 2;
        const artel_string *word = (const artel_string *)p->arrays[2].data + r;
        for (int k = 0; k < 2; k++)
            assert_true(((const float *)p->arrays[0].data)[2 * r + k] == x * (0.5f * step) + 2 * step);
        assert_int_equal(((const int64_t *)p->arrays[1].data)[r], (int64_t)x + p->step);
        assert_string_equal(word->bytes, x > 2 ? "high" : "low");
    }
    d->rows += p->rows;
    d->batches++;
    p->stop = d->batches == d->stop_after;
    return d->fails ? ARTEL_ERROR_IO : ARTEL_OK;
}

static artel_status begin_or_end(void *user, artel_estimator_moment *moment)
{
    desk *d = user;
    assert_int_equal(moment->mode, ARTEL_ESTIMATOR_PREDICT);
    d->moments[0]++;
    return ARTEL_OK;
}

static artel_status around(void *user, artel_estimator_moment *moment)
{
    desk *d = user;
    (void)moment;
    d->moments[1]++;
    return ARTEL_OK;
}

static artel_status predict_all(desk *d, const char *checkpoint, int replicas)
{
    const artel_estimator_hook hook = {.struct_size = sizeof hook,
                                       .begin = begin_or_end,
                                       .before = around,
                                       .after = around,
                                       .end = begin_or_end,
                                       .user = d};
    artel_predict_spec spec = ARTEL_PREDICT_SPEC_INIT;
    artel_estimator *e = NULL;
    artel_status status = make(d, NULL, replicas, &e);
    d->rows = d->batches = d->moments[0] = d->moments[1] = 0;
    spec.input = input;
    spec.predict = see;
    spec.user = d;
    spec.checkpoint = checkpoint;
    spec.hooks = &hook;
    spec.hook_count = 1;
    if (status == ARTEL_OK) status = artel_estimator_predict(e, &spec);
    artel_estimator_destroy(e);
    return status;
}

static void GS11_predict(void **state)
{
    char checkpoint[96];
    desk d = open_desk();
    (void)state;
    assert_int_equal(predict_all(&d, NULL, 1), ARTEL_ERROR_NOT_FOUND);
    api_ok(d.ctx, train(&d, NULL, 1, 3));
    for (int replicas = 1; replicas <= 3; replicas += 2) {
        api_ok(d.ctx, predict_all(&d, NULL, replicas));
        assert_int_equal(d.rows, ROWS);
        assert_true(d.moments[0] == 2 && d.moments[1] == 6);
    }
    snprintf(checkpoint, sizeof checkpoint, "%s/ckpt-0", d.folder);
    d.stop_after = 1;
    api_ok(d.ctx, predict_all(&d, checkpoint, 1));
    assert_int_equal(d.rows, BATCH);
    d.fails = true;
    api_refused(d.ctx, predict_all(&d, NULL, 1), ARTEL_ERROR_IO, "predict function");
    d.nothing = true;
    api_refused(d.ctx, predict_all(&d, NULL, 1), ARTEL_ERROR_INVALID, "no predictions");
    d.nothing = false;
    d.shared = true;
    api_refused(d.ctx, predict_all(&d, NULL, 1), ARTEL_ERROR_INVALID, "shared");
    artel_predict_spec spec = ARTEL_PREDICT_SPEC_INIT;
    artel_estimator *e = NULL;
    api_ok(d.ctx, make(&d, NULL, 1, &e));
    spec.input = input;
    api_refused(d.ctx, artel_estimator_predict(e, &spec), ARTEL_ERROR_INVALID, "predict");
    artel_estimator_destroy(e);
    close_desk(&d);
}

/* -- warm starts -- */

static void warm_refused(desk *d, const artel_warm_start *warm, artel_status wanted, const char *word)
{
    api_refused(d->ctx, train(d, warm, 1, 1), wanted, word);
}

static void VA9_warm_start(void **state)
{
    const artel_renamed renamed[2] = {{"net/moved", "net/shift"}, {"lost", "elsewhere"}},
                        other_type = {"net/scale", "count"};
    artel_warm_start warm = ARTEL_WARM_START_INIT;
    desk first = open_desk(), d = open_desk();
    (void)state;
    api_ok(first.ctx, train(&first, NULL, 1, 3));
    warm.checkpoint = first.folder;
    d.names[1] = "net/moved";
    warm_refused(&d, &warm, ARTEL_ERROR_NOT_FOUND, "net/moved");
    warm.renamed = renamed;
    warm.renamed_count = 2;
    warm_refused(&d, &warm, ARTEL_ERROR_INVALID, "lost");
    warm.renamed_count = 1;
    warm.variables = "et/";
    warm_refused(&d, &warm, ARTEL_ERROR_INVALID, "et/"); /* found, but not at the beginning */
    warm.variables = "(net";
    warm_refused(&d, &warm, ARTEL_ERROR_INVALID, "warm start");
    warm.variables = "net/(scale|m)";
    d.wide = 3;
    warm_refused(&d, &warm, ARTEL_ERROR_INVALID, "another shape");
    d.wide = 0;
    warm.variables = "net/scale";
    warm.renamed = &other_type;
    warm_refused(&d, &warm, ARTEL_ERROR_INVALID, "element type");
    warm.variables = "net/(scale|m)";
    warm.renamed = renamed;
    for (int replicas = 2; replicas > 0; replicas--) { /* the second one goes on from its own checkpoint */
        api_ok(d.ctx, train(&d, &warm, replicas, replicas == 2 ? 2 : 3));
        float done = replicas == 2 ? 0 : 2;
        assert_true(d.begins[0] == 1.5f + done / 2 && d.begins[1] == 6 + 2 * done && d.begins[2] == 6 + 2 * done);
        assert_true(d.begins[3] == done); /* no part of it */
    }
    warm.checkpoint = "/nowhere";
    desk other = open_desk();
    warm_refused(&other, &warm, ARTEL_ERROR_NOT_FOUND, "/nowhere");
    warm.checkpoint = NULL;
    warm_refused(&other, &warm, ARTEL_ERROR_INVALID, "checkpoint");
    close_desk(&other);
    close_desk(&d);
    close_desk(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(GS11_predict), cmocka_unit_test(VA9_warm_start)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
