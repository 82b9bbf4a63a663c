/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* Steps of optimizers and what models add to them, under every strategy (as test_conformance.c, with its arguments):
 * several optimizers in one function, losses that an optimizer scales, losses and masks of a model (KE3), metrics
 * (VA9).
 */
#include "api/help_conformance_rows.h"

#include <math.h>

enum {
    STEPS = 5,
    OPTIMIZERS = 2
};

/* -- several optimizers in one function: the bits of a function for each -- */

static const char *const rules[OPTIMIZERS] = {
    "{\"class_name\": \"Adam\", \"config\": {\"learning_rate\": {\"class_name\": \"ExponentialDecay\", \"config\": "
    "{\"initial_learning_rate\": 0.1, \"decay_steps\": 1, \"decay_rate\": 0.5}}}}",
    "sgd:learning_rate=0.25,momentum=0.5,gradient_accumulation_steps=2"};

typedef struct pair {
    rows_stage *stage;
    artel_variable *variable[OPTIMIZERS];
    artel_optimizer *optimizer[OPTIMIZERS];
    int first, last; /* which of the two a function steps */
} pair;

static artel_status trace_pair(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const pair *p = user;
    out[0] = artel_graph_number(g, 0);
    for (int k = p->first; k <= p->last; k++) {
        artel_value error =
            artel_graph_binary(g, "subtract", in[0], artel_graph_variable(g, p->variable[k])); /* by row and element */
        error = artel_graph_unary(g, "square", error);
        artel_value loss =
            artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_op(g, "sum", &error, 1, "{\"axis\": 1}"));
        out[0] = artel_graph_binary(g, "add", out[0], loss);
        artel_graph_minimise(g, p->optimizer[k], loss);
    }
    return artel_graph_status(g);
}

static void add_pair(rows_stage *s, const char *name, pair *p)
{
    char text[32];
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    p->stage = s;
    for (int k = 0; k < OPTIMIZERS; k++) {
        snprintf(text, sizeof text, "%s_%d", name, k);
        o.name = text;
        o.shape = (artel_shape){1, {WIDTH}};
        api_ok(s->ctx, artel_variable_create(s->strategy, &o, &p->variable[k]));
        api_ok(s->ctx, artel_optimizer_create(s->strategy, rules[k], &p->variable[k], 1, &p->optimizer[k]));
    }
}

static artel_status make_pair(pair *p, int first, int last, artel_function **out)
{
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = &x;
    o.argument_count = o.output_count = 1;
    p->first = first;
    p->last = last;
    return artel_function_create(p->stage->strategy, &o, trace_pair, p, out);
}

static void check_pair(rows_stage *s)
{
    pair joint, apart;
    artel_function *both, *one[OPTIMIZERS], *twice;
    float loss, a[WIDTH], b[WIDTH];
    add_pair(s, "joint", &joint);
    add_pair(s, "apart", &apart);
    if (conformance_has_servers(s->on.form)) {
        assert_int_equal(make_pair(&joint, 0, 1, &both), ARTEL_ERROR_UNSUPPORTED);
        assert_non_null(strstr(artel_context_error(s->ctx)->what, "one optimizer"));
        return;
    }
    api_ok(s->ctx, make_pair(&joint, 0, 1, &both));
    for (int k = 0; k < OPTIMIZERS; k++) api_ok(s->ctx, make_pair(&apart, k, k, &one[k]));
    joint.optimizer[0] = joint.optimizer[1];
    assert_int_equal(make_pair(&joint, 0, 1, &twice), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(s->ctx)->what, "two steps of one optimizer"));
    joint.optimizer[0] = NULL;
    for (int i = 0; i < STEPS; i++) {
        rows_run(s, both, BATCH - i, (float *[]){&loss}, 1);
        for (int k = 0; k < OPTIMIZERS; k++) rows_run(s, one[k], BATCH - i, (float *[]){&loss}, 1);
        for (int k = 0; k < OPTIMIZERS; k++) {
            api_ok(s->ctx, artel_variable_read(joint.variable[k], a, WIDTH));
            api_ok(s->ctx, artel_variable_read(apart.variable[k], b, WIDTH));
            for (int c = 0; c < WIDTH; c++) assert_true(a[c] == b[c] && (a[c] != 0 || (k == 1 && i == 0)));
        }
    }
    assert_int_equal(artel_optimizer_iterations(joint.optimizer[1]), STEPS);
    assert_int_equal(artel_optimizer_iterations(apart.optimizer[0]), STEPS);
}

static void KE3_several_optimizers(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        check_pair(&s);
        rows_end(&s);
    }
}

/* -- an optimizer that scales its loss -- */

#define SCALING                                                                                             \
    "{\"class_name\": \"LossScaleOptimizer\", \"config\": {\"inner_optimizer\": {\"class_name\": \"SGD\", " \
    "\"config\": "                                                                                          \
    "{\"learning_rate\": 0.125}}, \"initial_scale\": 1024.0, \"dynamic_growth_steps\": 2}}"

typedef struct scaled {
    artel_variable *variable[2];
    artel_optimizer *plain, *scaling;
} scaled;

static artel_status trace_scaled(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const scaled *s = user;
    artel_optimizer *optimizer[2] = {s->scaling, s->plain};
    for (int k = 0; k < 2; k++) {
        artel_value product = artel_graph_binary(g, "multiply", in[0], artel_graph_variable(g, s->variable[k]));
        product = artel_graph_unary(g, "square", product);
        artel_value loss =
            artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_op(g, "sum", &product, 1, "{\"axis\": 1}"));
        artel_graph_minimise(g, optimizer[k], loss);
    }
    out[0] = artel_graph_scale_loss(g, s->scaling, artel_graph_number(g, 1));
    out[1] = artel_graph_scale_loss(g, s->plain, artel_graph_number(g, 1));
    return artel_graph_status(g);
}

static void run_scaled(rows_stage *s, artel_function *f, float value, float *scale)
{
    float x[BATCH * WIDTH], one;
    for (int i = 0; i < BATCH * WIDTH; i++) x[i] = i == 5 ? value : (float)(i % 7) / 8;
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {BATCH, WIDTH}}, x},
                      out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = scale},
                                {.dtype = ARTEL_DTYPE_FLOAT32, .data = &one}};
    api_ok(s->ctx, conformance_run(&s->on, f, &in, 1, out, 2));
    assert_true(one == 1);
}

/* The scale is of before the run: halved behind an infinity, doubled behind every second finite step in a row. */
static void check_scaled(rows_stage *s)
{
    static const struct {
        float value, scale;
    } step[] = {{1, 1024}, {2, 1024}, {INFINITY, 2048}, {1, 1024}, {NAN, 1024}, {3, 512}, {1, 512}, {1, 1024}};
    scaled o = {.plain = NULL};
    artel_function *f;
    float a[WIDTH], b[WIDTH], scale;
    int64_t taken = 0;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    const float first[WIDTH] = {1, -2, 0.5f};
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    artel_function_options options = ARTEL_FUNCTION_OPTIONS_INIT;
    v.shape = (artel_shape){1, {WIDTH}};
    v.initial = first;
    for (int k = 0; k < 2; k++) {
        v.name = k ? "plain" : "scaled";
        api_ok(s->ctx, artel_variable_create(s->strategy, &v, &o.variable[k]));
    }
    if (conformance_has_servers(s->on.form)) {
        assert_int_equal(artel_optimizer_create(s->strategy, SCALING, o.variable, 1, &o.scaling),
                         ARTEL_ERROR_UNSUPPORTED);
        return;
    }
    api_ok(s->ctx, artel_optimizer_create(s->strategy, SCALING, o.variable, 1, &o.scaling));
    api_ok(s->ctx, artel_optimizer_create(s->strategy, "sgd:learning_rate=0.125", o.variable + 1, 1, &o.plain));
    options.arguments = &x;
    options.argument_count = 1;
    options.output_count = 2;
    api_ok(s->ctx, artel_function_create(s->strategy, &options, trace_scaled, &o, &f));
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        bool finite = isfinite(step[i].value);
        api_ok(s->ctx, artel_variable_read(o.variable[0], a, WIDTH));
        if (!finite) api_ok(s->ctx, artel_variable_assign(o.variable[1], a, WIDTH)); /* the other one takes its step */
        run_scaled(s, f, step[i].value, &scale);
        if (scale != step[i].scale) fail_msg("step %zu: a scale of %g", i, (double)scale);
        if (!finite) {
            api_ok(s->ctx, artel_variable_read(o.variable[0], b, WIDTH));
            assert_memory_equal(a, b, sizeof a);
            api_ok(s->ctx, artel_variable_assign(o.variable[1], a, WIDTH));
        }
        taken += finite;
        assert_int_equal(artel_optimizer_iterations(o.scaling), taken);
        assert_int_equal(artel_optimizer_iterations(o.plain), i + 1);
        api_ok(s->ctx, artel_variable_read(o.variable[0], a, WIDTH));
        api_ok(s->ctx, artel_variable_read(o.variable[1], b, WIDTH));
        for (int c = 0; c < WIDTH; c++) assert_true(a[c] == b[c] && isfinite(a[c]));
    }
}

static void KE3_scaled_losses(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        check_scaled(&s);
        rows_end(&s);
    }
}

/* -- what a model adds to the loss, and its masks -- */

static artel_status trace_losses(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    rows_stage *s = user;
    artel_variable *const *variables;
    artel_value y, wanted, gradient;
    int count;
    out[0] = artel_graph_model_losses(g, s->on.model); /* nothing of activities yet */
    artel_graph_call(g, s->on.model, in, 1, &y, 1);
    out[1] = artel_graph_model_losses(g, s->on.model);
    api_ok(s->ctx, artel_strategy_variables(s->strategy, s->on.model, false, &variables, &count));
    wanted = artel_graph_variable(g, variables[0]);
    artel_graph_gradients(g, out[0], &wanted, 1, &gradient);
    out[2] = gradient;
    out[3] = artel_graph_op(g, "cast", (artel_value[]){artel_graph_mask(g, y)}, 1, "{\"dtype\": \"float32\"}");
    out[4] = y;
    return artel_graph_status(g);
}

static void add_penalised(rows_stage *s)
{
    artel_builder *b;
    api_ok(s->ctx, artel_sequential_create(s->ctx, "net", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, &b));
    api_ok(s->ctx, artel_layer_add(b, "Reshape", "{\"target_shape\": [3, 1]}"));
    api_ok(s->ctx, artel_layer_add(b, "Masking", "{\"mask_value\": -3.0}"));
    api_ok(s->ctx,
           artel_layer_add(b, "Dense",
                           "{\"units\": 2, \"use_bias\": false, \"kernel_regularizer\": {\"class_name\": \"L1L2\", "
                           "\"config\": {\"l1\": 0.25, \"l2\": 0.5}}, \"activity_regularizer\": {\"class_name\": "
                           "\"L2\", \"config\": {\"l2\": 0.125}}}"));
    api_ok(s->ctx, artel_sequential_finish(b, &s->on.model));
    api_ok(s->ctx, artel_model_initialise(s->on.model, 5));
    api_ok(s->ctx, artel_strategy_add_model(s->strategy, s->on.model));
}

static void near(float value, double wanted)
{
    if (!(fabs((double)value - wanted) <= 1e-5 * (1 + fabs(wanted)))) fail_msg("%g, and not %g", (double)value, wanted);
}

static void check_losses(rows_stage *s)
{
    artel_variable *const *variables;
    artel_function *f;
    float w[2], weights, all, slope[2], mask[BATCH * WIDTH], y[BATCH * WIDTH * 2];
    int count, masked = 0;
    add_penalised(s);
    api_ok(s->ctx, rows_make(s, trace_losses, 5, true, &f));
    if (!conformance_start(&s->on)) return;
    api_ok(s->ctx, artel_strategy_variables(s->strategy, s->on.model, false, &variables, &count));
    assert_int_equal(count, 1);
    api_ok(s->ctx, artel_variable_read(variables[0], w, 2));
    rows_run(s, f, BATCH, (float *[]){&weights, &all, slope, mask, y}, 5);
    double penalty = 0, activity = 0;
    for (int i = 0; i < 2; i++) {
        penalty += 0.25 * fabs((double)w[i]) + 0.5 * (double)w[i] * (double)w[i];
        near(slope[i], (w[i] < 0 ? -0.25 : 0.25) + (double)w[i]);
    }
    for (int i = 0; i < BATCH * WIDTH * 2; i++) activity += 0.125 * (double)y[i] * (double)y[i] / BATCH;
    near(weights, penalty);
    near(all, penalty + activity);
    for (int i = 0; i < BATCH * WIDTH; i++) {
        assert_true(mask[i] == (rows_of[i] != -3.0f));
        masked += mask[i] == 0;
    }
    assert_true(masked > 0 && masked < BATCH * WIDTH);
}

static void KE3_model_losses_and_masks(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        check_losses(&s);
        rows_end(&s);
    }
}

/* -- VA9: metrics as objects, which live as variables do -- */

enum {
    METRICS = 5
};

typedef struct measured {
    artel_metric *metric[METRICS];
} measured;

static const char *const metric_names[METRICS] = {"Mean", "Mean:name=shared", "mse", "accuracy", "Sum"};

static artel_value column(artel_graph *g, artel_value x, int i)
{
    char text[96];
    snprintf(text, sizeof text, "{\"start_indices\": [0, %d], \"shape\": [-1, 1]}", i);
    x = artel_graph_op(g, "slice", &x, 1, text);
    return artel_graph_op(g, "squeeze", &x, 1, "{\"axis\": 1}");
}

static artel_status trace_metrics(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const measured *m = user;
    artel_value x = in[0], first = column(g, x, 0), weight = artel_graph_unary(g, "square", column(g, x, 1)),
                positive = artel_graph_binary(g, "greater", first, artel_graph_number(g, 0));
    artel_value classes = artel_graph_op(g, "cast", &positive, 1, "{\"dtype\": \"int32\"}");
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, first);
    artel_graph_update_metric(g, m->metric[0], ARTEL_NO_VALUE, x, ARTEL_NO_VALUE);
    artel_graph_update_metric(g, m->metric[1], ARTEL_NO_VALUE, out[0], ARTEL_NO_VALUE);
    artel_graph_update_metric(g, m->metric[2], artel_graph_unary(g, "zeros_like", x), x, weight);
    artel_graph_update_metric(g, m->metric[3], classes, x, ARTEL_NO_VALUE);
    artel_graph_update_metric(g, m->metric[4], ARTEL_NO_VALUE, first, weight);
    return artel_graph_status(g);
}

static artel_status trace_misfit(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const measured *m = user;
    out[0] = in[0];
    artel_graph_update_metric(g, m->metric[2], column(g, in[0], 0), in[0], ARTEL_NO_VALUE);
    return artel_graph_status(g);
}

typedef struct sums {
    double x, values, shared, runs, squares, weights, right, rows, weighted;
} sums;

/* Formulas of keras.metrics by hand, of the rows that a run sees. */
static void add_rows(sums *t, int rows)
{
    double first = 0;
    for (int r = 0; r < rows; r++) {
        const float *x = rows_of + r * WIDTH;
        double w = (double)x[1] * (double)x[1], square = 0;
        int most = 0;
        for (int c = 0; c < WIDTH; c++) {
            t->x += (double)x[c];
            square += (double)x[c] * (double)x[c] / WIDTH;
            if (x[c] > x[most]) most = c;
        }
        t->values += WIDTH;
        t->squares += w * square;
        t->weights += w;
        t->weighted += w * (double)x[0];
        t->right += most == (x[0] > 0);
        t->rows++;
        first += (double)x[0];
    }
    t->shared += first / rows;
    t->runs++;
}

static void check_results(rows_stage *s, const measured *m, const sums *t)
{
    const double wanted[METRICS] = {t->x / t->values, t->shared / t->runs, t->squares / t->weights, t->right / t->rows,
                                    t->weighted};
    double value;
    for (int k = 0; k < METRICS; k++) {
        int count = artel_metric_result(m->metric[k], &value, 1);
        api_ok(s->ctx, count < 0 ? (artel_status)count : ARTEL_OK);
        assert_int_equal(count, 1);
        if (fabs(value - wanted[k]) > 1e-5 * (1 + fabs(wanted[k])))
            fail_msg("%s: %.9g, and not %.9g", artel_metric_name(m->metric[k]), value, wanted[k]);
    }
}

static void check_metrics(rows_stage *s, double *bits)
{
    measured m;
    artel_function *f;
    float first;
    sums total = {0}, second = {0};
    const artel_shape row = {1, {WIDTH}};
    const artel_argument x = {.name = "x", .shape = row};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    if (conformance_has_servers(s->on.form)) {
        assert_int_equal(artel_metric_create(s->strategy, "mse", &row, &m.metric[0]), ARTEL_ERROR_UNSUPPORTED);
        return;
    }
    for (int k = 0; k < METRICS; k++)
        api_ok(s->ctx, artel_metric_create(s->strategy, metric_names[k], &row, &m.metric[k]));
    o.arguments = &x;
    o.argument_count = o.output_count = 1;
    api_ok(s->ctx, artel_function_create(s->strategy, &o, trace_metrics, &m, &f));
    artel_function *misfit;
    assert_int_equal(artel_function_create(s->strategy, &o, trace_misfit, &m, &misfit), ARTEL_ERROR_INVALID);
    for (int rows = BATCH; rows > 0; rows -= 7) {
        rows_run(s, f, rows, (float *[]){&first}, 1);
        add_rows(&total, rows);
        check_results(s, &m, &total);
    }
    assert_int_equal(artel_metric_result(m.metric[2], bits, 1), 1);
    for (int k = 0; k < METRICS; k++) api_ok(s->ctx, artel_metric_reset(m.metric[k]));
    rows_run(s, f, BATCH, (float *[]){&first}, 1);
    add_rows(&second, BATCH);
    check_results(s, &m, &second);
}

static void VA9_metrics(void **state)
{
    (void)state;
    double truth = 0, bits = 0;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        check_metrics(&s, &bits);
        if (conformance_leads(f)) truth = bits;
        assert_true(bits == truth || conformance_has_servers(&conformance_forms[f]));
        rows_end(&s);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(KE3_several_optimizers), cmocka_unit_test(KE3_scaled_losses),
                                      cmocka_unit_test(KE3_model_losses_and_masks), cmocka_unit_test(VA9_metrics)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
