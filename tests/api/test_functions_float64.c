/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Loops in float64: one written by hand gives the bits that fit gives a model of that policy, under every strategy; a
 * variable that is declared alone is stepped as one computes it in doubles, and read, assigned, kept in checkpoints and
 * in files without rounding. */
#include "api/help_forms.h"

#include <math.h>

#include "artel/saved.h"
#include "artel/trainer.h"

enum {
    BATCH = 32
};

static const api_form forms[] = {
    {"one-device", 1, 1}, {"one-device", 1, 3}, {"mirrored", 2, 2}, {"central-storage", 3, 3}, {"mirrored", 8, 2}};
enum {
    FORMS = sizeof forms / sizeof *forms
};

/* -- the bits of fit -- */

static void fit(bool images, char digest[65])
{
    artel_context *ctx = api_context();
    artel_model *model = api_wide(ctx, images);
    artel_data *data = api_rows(ctx, images);
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    o.epochs = 2;
    o.batch_size = BATCH;
    o.seed = 11;
    o.shuffle = false;
    api_ok(ctx, artel_model_fit(model, data, &o, NULL));
    api_ok(ctx, artel_model_digest(model, digest));
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

typedef struct loop {
    artel_model *model;
    artel_optimizer *optimizer;
} loop;

static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    loop *l = user;
    artel_value prediction;
    artel_graph_call(g, l->model, &in[0], 1, &prediction, 1);
    artel_value each = artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], prediction);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, each);
    artel_graph_minimise(g, l->optimizer, out[0]);
    return artel_graph_status(g);
}

static artel_function *declare(artel_context *ctx, artel_strategy *s, const artel_argument *arguments, int count,
                               artel_trace_fn *trace, void *user)
{
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *f = NULL;
    artel_dtype dtype;
    o.arguments = arguments;
    o.argument_count = count;
    o.output_count = 1;
    o.training = true;
    api_ok(ctx, artel_function_create(s, &o, trace, user, &f));
    api_ok(ctx, artel_function_output(f, 0, &dtype, NULL, NULL));
    assert_int_equal(dtype, ARTEL_DTYPE_FLOAT64);
    return f;
}

static void epoch(artel_context *ctx, artel_function *step, bool images)
{
    static float x[BATCH * API_IMAGE];
    static int32_t y[BATCH];
    for (int64_t at = 0; at < API_ROWS; at += BATCH) {
        int64_t count = API_ROWS - at < BATCH ? API_ROWS - at : BATCH;
        double loss = -1;
        for (int64_t i = 0; i < count; i++) api_row((uint64_t)(at + i), x + i * API_IMAGE, y + i);
        artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {count, API_IMAGE}}, x}, {ARTEL_DTYPE_INT32, {1, {count}}, y}};
        if (images) in[0].shape = (artel_shape){4, {count, 8, 8, 1}};
        const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT64, .data = &loss};
        api_ok(ctx, artel_function_run(step, in, 2, &out, 1));
        assert_true(loss > 0);
    }
}

static void loop_by_hand(bool images, const api_form *f, char digest[65])
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, f, BATCH);
    loop l = {.model = api_wide(ctx, images)};
    api_ok(ctx, artel_strategy_add_model(s, l.model));
    api_ok(ctx, artel_optimizer_create_for_model(s, images ? "sgd:learning_rate=0.05,momentum=0.9" : "adam", l.model,
                                                 &l.optimizer));
    const artel_argument arguments[2] = {
        {"x", ARTEL_DTYPE_FLOAT32, false, images ? (artel_shape){3, {8, 8, 1}} : (artel_shape){1, {API_IMAGE}}},
        {"y", ARTEL_DTYPE_INT32, false, {0}}};
    artel_function *step = declare(ctx, s, arguments, 2, trace_step, &l);
    for (int pass = 0; pass < 2; pass++) epoch(ctx, step, images);
    api_ok(ctx, artel_strategy_store(s, l.model));
    api_ok(ctx, artel_model_digest(l.model, digest));
    artel_strategy_destroy(s);
    artel_model_destroy(l.model);
    artel_context_destroy(ctx);
}

static void test_bits_of_fit(void **state)
{
    (void)state;
    for (int images = 0; images < 2; images++) {
        char truth[65], digest[65];
        fit(images, truth);
        for (int i = 0; i < FORMS; i++) {
            loop_by_hand(images, &forms[i], digest);
            assert_string_equal(digest, truth);
        }
    }
}

/* -- a variable alone -- */

static const double start[3] = {0.1, -2.0 / 3, 1e-12};
static const double rows[2][3] = {{1.0 / 3, 0.7, -5}, {1e-9, 0.9, 11}};

typedef struct bench {
    artel_context *ctx;
    artel_strategy *s;
    artel_variable *w;
    artel_optimizer *sgd;
    artel_function *step;
} bench;

/* The mean over rows of the sum of w * x, whose gradient is the mean of the rows. */
static artel_status trace_product(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    bench *b = user;
    artel_value product = artel_graph_binary(g, "multiply", in[0], artel_graph_variable(g, b->w));
    artel_value each = artel_graph_op(g, "sum", &product, 1, "{\"axis\": -1}");
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, each);
    artel_graph_minimise(g, b->sgd, out[0]);
    return artel_graph_status(g);
}

static void open_variable(bench *b, const api_form *f, const double *initial)
{
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    b->ctx = api_context();
    b->s = api_strategy(b->ctx, f, BATCH);
    v.name = "w";
    v.dtype = ARTEL_DTYPE_FLOAT64;
    v.shape = (artel_shape){1, {3}};
    v.initial = initial;
    api_ok(b->ctx, artel_variable_create(b->s, &v, &b->w));
    api_ok(b->ctx, artel_optimizer_create(b->s, "sgd:learning_rate=0.1,momentum=0.9", &b->w, 1, &b->sgd));
    const artel_argument argument = {.name = "x", .dtype = ARTEL_DTYPE_FLOAT64, .shape = {1, {3}}};
    b->step = declare(b->ctx, b->s, &argument, 1, trace_product, b);
}

static void close_variable(bench *b)
{
    artel_strategy_destroy(b->s);
    artel_context_destroy(b->ctx);
}

static void step_on(const bench *b, artel_function *step)
{
    double loss;
    artel_array in = {ARTEL_DTYPE_FLOAT64, {2, {2, 3}}, (void *)(uintptr_t)rows};
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT64, .data = &loss};
    api_ok(b->ctx, artel_function_run(step, &in, 1, &out, 1));
    assert_true(isfinite(loss));
}

/* SGD's rule in doubles: the rate as it was given; the momentum as float32 holds it, as in Keras. */
static void compute(int steps, double w[3])
{
    double velocity[3] = {0, 0, 0};
    memcpy(w, start, sizeof start);
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < 3; i++) {
            velocity[i] = (double)0.9f * velocity[i] - 0.1 * ((rows[0][i] + rows[1][i]) / 2);
            w[i] += velocity[i];
        }
    }
}

static void expect_steps(const bench *b, artel_variable *w, int steps)
{
    double values[3], truth[3];
    compute(steps, truth);
    api_ok(b->ctx, artel_variable_read_as(w, ARTEL_DTYPE_FLOAT64, values, 3));
    for (int i = 0; i < 3; i++) assert_true(fabs(values[i] - truth[i]) <= 1e-15 * fabs(truth[i]) + 1e-24);
}

static void test_steps(void **state)
{
    double first[3] = {0}, values[3];
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        bench b;
        open_variable(&b, &forms[i], start);
        for (int step = 0; step < 3; step++) step_on(&b, b.step);
        expect_steps(&b, b.w, 3);
        api_ok(b.ctx, artel_variable_read_as(b.w, ARTEL_DTYPE_FLOAT64, values, 3));
        if (i == 0) memcpy(first, values, sizeof first);
        assert_memory_equal(values, first, sizeof first);
        close_variable(&b);
    }
}

/* Elements in and out, of other types too; what does not fit is refused by name. */
static void test_elements(void **state)
{
    bench b;
    double values[3];
    float narrow[3];
    int64_t whole[3] = {(INT64_C(1) << 53) - 1, -7, 0};
    artel_dtype dtype;
    (void)state;
    open_variable(&b, &forms[2], start);
    api_ok(b.ctx, artel_variable_dtype(b.w, &dtype));
    assert_int_equal(dtype, ARTEL_DTYPE_FLOAT64);
    api_ok(b.ctx, artel_variable_read_as(b.w, ARTEL_DTYPE_FLOAT64, values, 3));
    assert_memory_equal(values, start, sizeof start);
    api_ok(b.ctx, artel_variable_read(b.w, narrow, 3));
    for (int i = 0; i < 3; i++) assert_true(narrow[i] == (float)start[i]);
    api_ok(b.ctx, artel_variable_assign_as(b.w, ARTEL_DTYPE_INT64, whole, 3));
    api_ok(b.ctx, artel_variable_read_as(b.w, ARTEL_DTYPE_FLOAT64, values, 3));
    for (int i = 0; i < 3; i++) assert_true(values[i] == (double)whole[i]);
    api_ok(b.ctx, artel_variable_assign(b.w, narrow, 3));
    api_ok(b.ctx, artel_variable_read_as(b.w, ARTEL_DTYPE_FLOAT64, values, 3));
    for (int i = 0; i < 3; i++) assert_true(values[i] == (double)narrow[i]);
    assert_int_equal(artel_variable_read_as(b.w, ARTEL_DTYPE_FLOAT64, values, 2), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_variable_read_as(b.w, ARTEL_DTYPE_STRING, values, 3), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(b.ctx)->where, "w");
    close_variable(&b);
}

/* -- kept -- */

static void test_checkpoint(void **state)
{
    char folder[64];
    bench b;
    int64_t step;
    (void)state;
    api_folder_make(folder);
    open_variable(&b, &forms[0], start);
    step_on(&b, b.step);
    api_ok(b.ctx, artel_strategy_save(b.s, folder, 1, 0));
    close_variable(&b);
    open_variable(&b, &forms[2], NULL);
    api_ok(b.ctx, artel_strategy_restore(b.s, folder, &step));
    assert_int_equal(step, 1);
    expect_steps(&b, b.w, 1);
    step_on(&b, b.step); /* with the velocity of before */
    expect_steps(&b, b.w, 2);
    close_variable(&b);
    api_folder_remove(folder);
}

static void test_file(void **state)
{
    char folder[64], path[96];
    bench b, c = {.ctx = api_context()};
    (void)state;
    api_folder_make(folder);
    snprintf(path, sizeof path, "%s/f.artel", folder);
    open_variable(&b, &forms[0], start);
    step_on(&b, b.step);
    api_ok(b.ctx, artel_functions_save(b.s, NULL, 0, path));
    close_variable(&b);
    api_ok(c.ctx, artel_functions_load(c.ctx, path, NULL, &c.s));
    api_ok(c.ctx, artel_strategy_variable(c.s, "w", &c.w));
    api_ok(c.ctx, artel_strategy_function(c.s, "function", &c.step));
    step_on(&c, c.step);
    expect_steps(&c, c.w, 2);
    close_variable(&c);
    api_folder_remove(folder);
}

/* -- refused -- */

static void test_refused(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &forms[0], BATCH);
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *w;
    (void)state;
    v.name = "w";
    v.dtype = ARTEL_DTYPE_UINT64;
    assert_int_equal(artel_variable_create(s, &v, &w), ARTEL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(artel_context_error(ctx)->what, "uint64"));
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_of_fit), cmocka_unit_test(test_steps),
                                       cmocka_unit_test(test_elements),    cmocka_unit_test(test_checkpoint),
                                       cmocka_unit_test(test_file),        cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
