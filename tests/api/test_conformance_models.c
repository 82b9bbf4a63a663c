/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* Models under every strategy (as test_conformance.c, with its arguments): statistics of any number of rows (VA9, IN6),
 * on a device beside what cores make, and a loop by hand with the bits of fit (KE3). */
#include "api/help_conformance_rows.h"

#include <math.h>

enum {
    MOST_NUMBERS = 64, /* of the model's variables */
    UNITS = 4          /* of its first layer */
};

/* -- VA9, IN6: any number of rows, on more replicas than rows: finite, each row counted once, moving statistics and
 * weights alike -- */

static artel_status trace_normalised(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    rows_stage *s = user;
    artel_variable *const *variables;
    artel_value y, wanted[8], gradient[8];
    int count;
    artel_graph_call(g, s->on.model, in, 1, &y, 1);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_loss(g, "mse", in[0], y));
    api_ok(s->ctx, artel_strategy_variables(s->strategy, s->on.model, false, &variables, &count));
    for (int i = 0; i < count; i++) wanted[i] = artel_graph_variable(g, variables[i]);
    artel_graph_gradients(g, out[0], wanted, count, gradient);
    for (int i = 0; i < count; i++) {
        artel_value step = artel_graph_binary(g, "multiply", gradient[i], artel_graph_number(g, 0.05));
        artel_graph_assign(g, variables[i], artel_graph_binary(g, "subtract", wanted[i], step));
    }
    out[1] = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, artel_graph_op(g, "ones_like", in, 1, NULL));
    return artel_graph_status(g);
}

static void add_model(rows_stage *s)
{
    artel_builder *b;
    api_ok(s->ctx, artel_sequential_create(s->ctx, "net", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, &b));
    artel_layer_dense(b, &(artel_dense_options){.units = UNITS});
    artel_layer_batch_normalization(b, NULL);
    artel_layer_dense(b, &(artel_dense_options){.units = WIDTH, .activation = "tanh"});
    api_ok(s->ctx, artel_sequential_finish(b, &s->on.model));
    api_ok(s->ctx, artel_model_initialise(s->on.model, 2));
    api_ok(s->ctx, artel_strategy_add_model(s->strategy, s->on.model));
}

typedef struct outcome {
    char digest[65];
    float number[MOST_NUMBERS];
    int count;
} outcome;

static void read_numbers(const rows_stage *s, outcome *o)
{
    artel_variable *const *variables;
    artel_shape shape;
    int count;
    api_ok(s->ctx, artel_strategy_variables(s->strategy, s->on.model, true, &variables, &count));
    o->count = 0;
    for (int i = 0; i < count; i++) {
        api_ok(s->ctx, artel_variable_shape(variables[i], &shape));
        int64_t elements = artel_shape_count(&shape);
        assert_true(o->count + elements <= MOST_NUMBERS);
        api_ok(s->ctx, artel_variable_read(variables[i], o->number + o->count, elements));
        o->count += (int)elements;
    }
}

static const float *find(const rows_stage *s, const outcome *o, const char *name)
{
    artel_variable *const *variables;
    artel_shape shape;
    int count;
    int64_t at = 0;
    api_ok(s->ctx, artel_strategy_variables(s->strategy, s->on.model, true, &variables, &count));
    for (int i = 0; i < count; i++) {
        if (strstr(artel_variable_name(variables[i]), name)) return o->number + at;
        api_ok(s->ctx, artel_variable_shape(variables[i], &shape));
        at += artel_shape_count(&shape);
    }
    fail_msg("no variable %s", name);
    return NULL;
}

/* Keras' formulas by hand, momentum 0.99: of all rows of the global batch, with the kernel from before the run. */
static void check_statistics(const rows_stage *s, const outcome *before, const outcome *after)
{
    const float *kernel = find(s, before, "dense/kernel"), *mean = find(s, after, "moving_mean"),
                *variance = find(s, after, "moving_variance");
    for (int u = 0; u < UNITS; u++) {
        double y, sum = 0, squares = 0;
        for (int r = 0; r < BATCH; r++, sum += y, squares += y * y) {
            y = 0;
            for (int c = 0; c < WIDTH; c++) y += (double)rows_of[r * WIDTH + c] * (double)kernel[c * UNITS + u];
        }
        sum /= BATCH;
        assert_true(fabs((double)mean[u] - 0.01 * sum) < 1e-6);
        assert_true(fabs((double)variance[u] - (0.99 + 0.01 * (squares / BATCH - sum * sum))) < 1e-6);
    }
}

/* Steps of batches that have `less` rows each time; false: this task only serves. */
static bool train(const conformance_form *f, int less, outcome *o)
{
    rows_stage s = rows_begin(f);
    artel_function *function;
    outcome before;
    float loss, seen[WIDTH];
    add_model(&s);
    api_ok(s.ctx, rows_make(&s, trace_normalised, 2, true, &function));
    bool here = conformance_start(&s.on);
    if (here) read_numbers(&s, &before);
    for (int rows = BATCH; rows > 0 && here; rows -= less) {
        rows_run(&s, function, rows, (float *[]){&loss, seen}, 2);
        assert_true(isfinite(loss));
        for (int c = 0; c < WIDTH; c++) assert_true(seen[c] == (float)rows);
        if (rows < BATCH) continue;
        read_numbers(&s, o);
        check_statistics(&s, &before, o);
    }
    if (here) {
        read_numbers(&s, o);
        api_ok(s.ctx, artel_strategy_store(s.strategy, s.on.model));
        api_ok(s.ctx, artel_model_digest(s.on.model, o->digest));
    }
    rows_end(&s);
    return here;
}

/* Every number of rows is a program of its own on a device, so there are fewer of them there. */
static void VA9_statistics_IN6_partial_batches(void **state)
{
    (void)state;
    outcome first = {.count = 0}, o, cores;
    for (int f = 0; f < conformance_count; f++) {
        bool leads = conformance_leads(f), device = conformance_forms[f].device;
        if (!train(&conformance_forms[f], device ? 5 : 1, &o)) continue;
        if (leads) first = o;
        assert_string_equal(first.digest, o.digest);
        for (int i = 0; i < o.count; i++) assert_true(isfinite(o.number[i]) && o.number[i] == first.number[i]);
        if (!leads || !device) continue;
        assert_true(train(&conformance_forms[0], 5, &cores));
        for (int i = 0; i < o.count; i++)
            assert_true(fabs((double)(o.number[i] - cores.number[i])) <= 1e-5 * (1 + fabs((double)cores.number[i])));
    }
}

/* -- KE3: tape, run and apply over all batches of all passes, the last one in part: the bits of fit -- */

enum {
    SAMPLES = 2 * BATCH + 5,
    PASSES = 3
};

static float sample[SAMPLES * WIDTH], wanted_of[SAMPLES * WIDTH];

static artel_model *make_perceptron(artel_context *ctx)
{
    artel_builder *b;
    artel_model *model;
    api_ok(ctx, artel_sequential_create(ctx, "net", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, &b));
    artel_layer_dense(b, &(artel_dense_options){.units = 8, .activation = "relu"});
    artel_layer_batch_normalization(b, NULL);
    artel_layer_dense(b, &(artel_dense_options){.units = WIDTH});
    api_ok(ctx, artel_sequential_finish(b, &model));
    api_ok(ctx, artel_model_compile(model, "adam", "mse", NULL));
    api_ok(ctx, artel_model_initialise(model, 4));
    return model;
}

static void by_fit(const char *device, char digest[65])
{
    artel_context *ctx = api_context();
    artel_model *model = make_perceptron(ctx);
    artel_data *data;
    const artel_data_array arrays[2] = {
        {"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {SAMPLES, WIDTH}}, sample},
        {"y", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_FLOAT32, {2, {SAMPLES, WIDTH}}, wanted_of}};
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    o.epochs = PASSES;
    o.batch_size = BATCH;
    o.shuffle = false;
    o.strategy = "one-device";
    o.device = device;
    o.shards = CONFORMANCE_SHARDS;
    for (int i = 0; i < SAMPLES * WIDTH; i++) {
        sample[i] = (float)(i * 29 % 61) / 16 - 2;
        wanted_of[i] = sample[i] * sample[i] / 4;
    }
    api_ok(ctx, artel_data_from_memory(ctx, arrays, 2, &data));
    api_ok(ctx, artel_model_fit(model, data, &o, NULL));
    api_ok(ctx, artel_model_digest(model, digest));
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

typedef struct by_hand {
    rows_stage *stage;
    artel_optimizer *optimizer;
    artel_function *step;
    int64_t begun; /* units of the loop before */
} by_hand;

static artel_status trace_tape(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    by_hand *h = user;
    artel_variable *const *variables;
    artel_value y, wanted[8], gradient[8];
    int count;
    artel_graph_call(g, h->stage->on.model, in, 1, &y, 1);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_loss(g, "mse", in[1], y));
    api_ok(h->stage->ctx, artel_strategy_variables(h->stage->strategy, h->stage->on.model, false, &variables, &count));
    for (int i = 0; i < count; i++) wanted[i] = artel_graph_variable(g, variables[i]);
    artel_graph_gradients(g, out[0], wanted, count, gradient);
    artel_graph_apply(g, h->optimizer, gradient, count);
    return artel_graph_status(g);
}

static artel_status apply_unit(void *user, int64_t unit)
{
    const by_hand *h = user;
    int64_t a_pass = (SAMPLES + BATCH - 1) / BATCH, at = (unit - h->begun) % a_pass * BATCH;
    int64_t rows = SAMPLES - at < BATCH ? SAMPLES - at : BATCH;
    float loss;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, sample + at * WIDTH},
                               {ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, wanted_of + at * WIDTH}},
                      out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &loss};
    return h->stage->on.coordinator ? conformance_run(&h->stage->on, h->step, in, 2, &out, 1)
                                    : artel_function_run(h->step, in, 2, &out, 1);
}

static void KE3_custom_loop(void **state)
{
    const int64_t units = PASSES * (int64_t)((SAMPLES + BATCH - 1) / BATCH);
    const artel_argument arguments[2] = {{.name = "x", .shape = {1, {WIDTH}}}, {.name = "y", .shape = {1, {WIDTH}}}};
    char truth[65], digest[65];
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        if (conformance_leads(f)) by_fit(conformance_forms[f].device, truth);
        rows_stage s = rows_begin(&conformance_forms[f]);
        by_hand h = {.stage = &s, .begun = artel_strategy_units(s.strategy)};
        artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
        s.on.model = make_perceptron(s.ctx);
        api_ok(s.ctx, artel_optimizer_create_for_model(s.strategy, "adam", s.on.model, &h.optimizer));
        o.arguments = arguments;
        o.argument_count = 2;
        o.output_count = 1;
        o.training = true;
        api_ok(s.ctx, artel_function_create(s.strategy, &o, trace_tape, &h, &h.step));
        if (!conformance_start(&s.on)) {
            rows_end(&s);
            continue;
        }
        if (s.on.form->together && !s.on.coordinator)
            api_ok(s.ctx, artel_strategy_loop(s.strategy, h.begun + units, apply_unit, &h));
        else
            for (int64_t i = 0; i < units; i++) api_ok(s.ctx, apply_unit(&h, h.begun + i));
        api_ok(s.ctx, artel_strategy_store(s.strategy, s.on.model));
        api_ok(s.ctx, artel_model_digest(s.on.model, digest));
        assert_string_equal(digest, truth);
        rows_end(&s);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(VA9_statistics_IN6_partial_batches),
                                      cmocka_unit_test(KE3_custom_loop)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
