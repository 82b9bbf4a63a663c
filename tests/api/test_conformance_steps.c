/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* Steps of optimizers and what models add to them, under every strategy (as test_conformance.c, with its arguments):
 * several optimizers in one function, losses that an optimizer scales, losses and masks of a model (KE3), metrics
 * (VA9).
 */
#include "api/help_conformance_rows.h"

#include <math.h>

#include "artel/control.h"

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

/* -- VA1: variables of whole numbers and truth values -- */

enum {
    PLACES = 5,
    LOW_TYPES = 5
};

/* The first one is scattered to, the others get these each time. */
static const artel_dtype low_types[LOW_TYPES] = {ARTEL_DTYPE_INT8, ARTEL_DTYPE_UINT32, ARTEL_DTYPE_INT16,
                                                 ARTEL_DTYPE_UINT8, ARTEL_DTYPE_UINT16};
static const int32_t low_more[PLACES] = {200, -3, 70000, 33000, 1};

typedef struct counted {
    bool with_long;                         /* the last three lines, too */
    artel_variable *runs, *positive, *seen; /* int32; int32, the sum of what rows bring; bool [WIDTH] */
    artel_variable *steps, *total, *first;  /* int64; a sum of rows; the first one */
    artel_variable *at;                     /* int64 [PLACES], scattered to */
    artel_variable *low[LOW_TYPES], *sum8;  /* [PLACES] of fewer bits; int8, a sum */
} counted;

static artel_value with_long(artel_graph *g, const char *name, artel_value x, int64_t number)
{
    return artel_graph_binary(g, name, x, artel_graph_constant(g, ARTEL_DTYPE_INT64, &(artel_shape){0}, &number));
}

static artel_status is_below(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = artel_graph_binary(g, "less", in[0], *(const artel_value *)user);
    return artel_graph_status(g);
}

static artel_status count_up(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = with_long(g, "add", in[0], 1);
    return artel_graph_status(g);
}

/* int64: two more steps, counted beyond 2^53; large numbers of rows, and where they belong, added up and wrapping. */
static artel_status trace_long(const counted *c, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value step = artel_graph_variable(g, c->steps), end = with_long(g, "add", step, 2);
    const artel_loop loop = {
        .struct_size = sizeof loop, .condition = is_below, .body = count_up, .user = &end, .state_count = 1, .most = 3};
    artel_graph_loop(g, &loop, &step);
    artel_graph_assign(g, c->steps, step);
    artel_graph_assign_add(g, c->total, in[0]);
    artel_graph_assign(g, c->first, in[0]);
    artel_graph_scatter_add(g, c->at, in[1], in[0]);
    artel_value low = with_long(g, "bitwise_and", in[0], INT32_MAX), low32;
    low32 = artel_graph_op(g, "cast", &low, 1, "{\"dtype\": \"int32\"}");
    artel_graph_scatter_sub(g, c->low[0], in[1], low32);
    artel_value more = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){1, {PLACES}}, low_more);
    artel_value wide = artel_graph_op(g, "cast", &more, 1, "{\"dtype\": \"int64\"}");
    for (int i = 1; i < LOW_TYPES; i++) artel_graph_assign_add(g, c->low[i], i == 1 ? wide : more);
    artel_graph_assign_sub(g, c->sum8, low32);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, in[0]);
    return artel_graph_status(g);
}

/* How many numbers of each row are positive; which columns have had a number above 2. */
static artel_status trace_counted(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const counted *c = user;
    static const int32_t one = 1;
    artel_value positive = artel_graph_binary(g, "greater", in[0], artel_graph_number(g, 0));
    positive = artel_graph_op(g, "cast", &positive, 1, "{\"dtype\": \"int32\"}");
    artel_value largest = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, in[0]),
                above = artel_graph_binary(g, "greater", largest, artel_graph_number(g, 2));
    out[0] = artel_graph_variable(g, c->runs); /* before the run */
    artel_graph_assign_add(g, c->runs, artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){0}, &one));
    artel_graph_assign_add(g, c->positive, artel_graph_op(g, "sum", &positive, 1, "{\"axis\": 1}"));
    artel_graph_assign(g, c->seen, artel_graph_binary(g, "logical_or", artel_graph_variable(g, c->seen), above));
    return c->with_long ? trace_long(c, g, in + 1, out + 1) : artel_graph_status(g);
}

static const int64_t long_start = (INT64_C(1) << 53) + 1;

static void add_long(const rows_stage *s, counted *c)
{
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    v.name = "steps";
    v.dtype = ARTEL_DTYPE_INT64;
    v.initial = &long_start;
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->steps));
    v.initial = NULL;
    v.name = "total";
    v.aggregation = "sum";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->total));
    v.name = "first";
    v.aggregation = "only_first_replica";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->first));
    v.aggregation = NULL;
    v.name = "at";
    v.shape = (artel_shape){1, {PLACES}};
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->at));
    for (int i = 0; i < LOW_TYPES; i++) {
        v.dtype = low_types[i];
        v.name = artel_dtype_name(v.dtype);
        api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->low[i]));
    }
    v.shape.rank = 0;
    v.dtype = ARTEL_DTYPE_INT8;
    v.aggregation = "sum";
    v.name = "sum8";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->sum8));
}

static artel_status add_counted(const rows_stage *s, counted *c)
{
    static const int32_t start = 1 << 30;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    v.name = "runs";
    v.dtype = ARTEL_DTYPE_INT32;
    v.initial = &start;
    artel_status status = artel_variable_create(s->strategy, &v, &c->runs);
    if (status < 0) return status;
    v.initial = NULL;
    v.name = "mean";
    v.aggregation = "mean";
    assert_int_equal(artel_variable_create(s->strategy, &v, &c->positive), ARTEL_ERROR_INVALID);
    v.name = "positive";
    v.aggregation = "sum";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->positive));
    v.aggregation = NULL;
    v.name = "seen";
    v.dtype = ARTEL_DTYPE_BOOL;
    v.shape = (artel_shape){1, {WIDTH}};
    return artel_variable_create(s->strategy, &v, &c->seen);
}

/* Of each row of a run: what is added, and at which place. */
static int64_t number_of(int i)
{
    return (int64_t)(((uint64_t)i * 0x9E3779B97F4A7C15u) ^ 1);
}

typedef struct totals {
    uint64_t all, at[PLACES];
    uint32_t at32[PLACES];
    int64_t most;
} totals;

static void run_long(totals *t, int64_t *number, int64_t *place, int rows, int times)
{
    t->most = number_of(0);
    for (int i = 0; i < rows; i++) {
        number[i] = number_of(i);
        place[i] = i * 7 % PLACES;
        t->all += (uint64_t)number[i] * (uint64_t)times;
        t->at[place[i]] += (uint64_t)number[i] * (uint64_t)times;
        t->at32[place[i]] -= (uint32_t)(number[i] & INT32_MAX) * (uint32_t)times;
        if (number[i] > t->most) t->most = number[i];
    }
}

static void check_long(const rows_stage *s, const counted *c, const totals *t, int runs)
{
    int64_t read[PLACES];
    api_ok(s->ctx, artel_variable_read_as(c->steps, ARTEL_DTYPE_INT64, read, 1));
    assert_true(read[0] == long_start + 2 * runs);
    api_ok(s->ctx, artel_variable_read_as(c->total, ARTEL_DTYPE_INT64, read, 1));
    assert_true((uint64_t)read[0] == t->all);
    api_ok(s->ctx, artel_variable_read_as(c->first, ARTEL_DTYPE_INT64, read, 1));
    assert_true(read[0] == number_of(0));
    api_ok(s->ctx, artel_variable_read_as(c->at, ARTEL_DTYPE_INT64, read, PLACES));
    assert_memory_equal(read, t->at, sizeof read);
    for (int i = 0; i < LOW_TYPES; i++) { /* the low bits of what is added up */
        uint32_t low[PLACES] = {0};
        size_t size = artel_dtype_size(low_types[i]);
        api_ok(s->ctx, artel_variable_read_as(c->low[i], low_types[i], low, PLACES));
        for (int k = 0; k < PLACES; k++) {
            uint32_t wanted = i < 1 ? t->at32[k] : (uint32_t)low_more[k] * (uint32_t)runs;
            assert_memory_equal((const char *)low + size * (size_t)k, &wanted, size); /* the low bytes come first */
        }
    }
    int8_t sum = 0;
    uint32_t all = 0;
    for (int k = 0; k < PLACES; k++) all += t->at32[k];
    api_ok(s->ctx, artel_variable_read_as(c->sum8, ARTEL_DTYPE_INT8, &sum, 1));
    assert_true((uint8_t)sum == (uint8_t)all);
}

static void check_counted(rows_stage *s, const char *folder, bool again, bool with_long)
{
    counted c = {.with_long = with_long};
    totals t = {.all = 0};
    int64_t number[BATCH], place[BATCH], most = 0;
    artel_function *f;
    artel_optimizer *optimizer;
    int32_t before, wanted = 0, read;
    uint8_t seen[WIDTH], sees[WIDTH] = {0};
    int64_t step = -1;
    const artel_argument arguments[3] = {{.name = "x", .shape = {1, {WIDTH}}},
                                         {.name = "number", .dtype = ARTEL_DTYPE_INT64},
                                         {.name = "place", .dtype = ARTEL_DTYPE_INT64}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_status status = add_counted(s, &c);
    if (conformance_has_servers(s->on.form)) {
        assert_int_equal(status, ARTEL_ERROR_UNSUPPORTED);
        return;
    }
    api_ok(s->ctx, status);
    add_long(s, &c);
    assert_int_equal(artel_optimizer_create(s->strategy, "sgd", &c.runs, 1, &optimizer), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_optimizer_create(s->strategy, "sgd", &c.steps, 1, &optimizer), ARTEL_ERROR_INVALID);
    o.arguments = arguments;
    o.argument_count = 3;
    o.output_count = 1 + c.with_long;
    api_ok(s->ctx, artel_function_create(s->strategy, &o, trace_counted, &c, &f));
    if (again) api_ok(s->ctx, artel_strategy_restore(s->strategy, folder, &step));
    assert_int_equal(step, again ? 7 : -1);
    for (int run = 0; run < 2; run++) {
        const artel_array in[3] = {{ARTEL_DTYPE_FLOAT32, {2, {BATCH - run, WIDTH}}, rows_of},
                                   {ARTEL_DTYPE_INT64, {1, {BATCH - run}}, number},
                                   {ARTEL_DTYPE_INT64, {1, {BATCH - run}}, place}},
                          out[2] = {{.dtype = ARTEL_DTYPE_INT32, .data = &before},
                                    {.dtype = ARTEL_DTYPE_INT64, .data = &most}};
        for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = (float)(i * 37 % 53) / 8 - 3;
        run_long(&t, number, place, BATCH - run, 1 + again);
        api_ok(s->ctx, conformance_run(&s->on, f, in, 3, out, o.output_count));
        assert_int_equal(before, (1 << 30) + run + (again ? 2 : 0));
        assert_true(!c.with_long || most == t.most);
        for (int i = 0; i < (BATCH - run) * WIDTH; i++) {
            wanted += (rows_of[i] > 0) << again; /* twice where it goes on from there */
            sees[i % WIDTH] |= rows_of[i] > 2;
        }
    }
    api_ok(s->ctx, artel_variable_read_as(c.positive, ARTEL_DTYPE_INT32, &read, 1));
    assert_int_equal(read, wanted);
    api_ok(s->ctx, artel_variable_read_as(c.seen, ARTEL_DTYPE_BOOL, seen, WIDTH));
    assert_memory_equal(seen, sees, WIDTH);
    if (c.with_long) check_long(s, &c, &t, again ? 4 : 2);
    if (!again && folder && artel_strategy_writes(s->strategy))
        api_ok(s->ctx, artel_strategy_save(s->strategy, folder, 7, 1));
}

/* Saved by each form, and gone on from by the form itself: alone, for tasks share no folder here. */
static void VA1_whole_numbers(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        char folder[64];
        bool alone = !conformance_forms[f].together;
        if (alone) api_folder_make(folder);
        for (int again = 0; again <= alone; again++) {
            rows_stage s = rows_begin(&conformance_forms[f]);
            check_counted(&s, alone ? folder : NULL, again, !again || conformance_leads(f));
            rows_end(&s);
        }
        if (alone) api_folder_remove(folder);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(KE3_several_optimizers), cmocka_unit_test(KE3_scaled_losses),
                                      cmocka_unit_test(KE3_model_losses_and_masks), cmocka_unit_test(VA9_metrics),
                                      cmocka_unit_test(VA1_whole_numbers)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
