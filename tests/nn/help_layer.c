/* SPDX-License-Identifier: Apache-2.0 */
/* Small models from JSON text. See the header. */
#include "help_layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

void layer_numbers(float *out, int64_t count, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 12345u;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

static artel_status make(artel_context *ctx, const char *record, artel__model **model)
{
    json_t *json;
    artel_status status = artel__json_load(ctx, "test", record, strlen(record), &json);
    if (status < 0) return status;
    status = artel__model_create(ctx, "test", json, model);
    json_decref(json);
    return status;
}

static char *sequential(const char *batch_shape, const char *dtype, const char *layers)
{
    size_t size = strlen(layers) + 512;
    char *text = malloc(size);
    assert_non_null(text);
    snprintf(text, size,
             "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": "
             "\"InputLayer\", \"config\": "
             "{\"batch_shape\": %s, \"dtype\": \"%s\", \"name\": \"in\"}}, %s]}}",
             batch_shape, dtype, layers);
    return text;
}

void layer_open_model(layer_bench *bench, const char *record)
{
    *bench = (layer_bench){.ctx = NULL};
    assert_int_equal(artel_context_create(NULL, &bench->ctx), ARTEL_OK);
    artel_status status = make(bench->ctx, record, &bench->model);
    if (status < 0) {
        const artel_error *error = artel_context_error(bench->ctx);
        fail_msg("%s: %s; %s", error->where, error->what, error->advice);
    }
    assert_int_equal(artel__state_create(bench->ctx, bench->model->variables, &bench->state), ARTEL_OK);
    assert_int_equal(artel__pool_create(bench->ctx, 2, &bench->pool), ARTEL_OK);
    for (int i = 0; i < bench->model->variables->count; i++) {
        const artel__variable *variable = &bench->model->variables->item[i];
        if (variable->dtype != ARTEL_DTYPE_FLOAT32) continue;
        int64_t count = artel_shape_count(&variable->shape);
        float *plain = malloc((size_t)count * sizeof *plain + 1);
        layer_numbers(plain, count, (uint32_t)i + 1);
        for (int64_t k = 0; k < count; k++)
            plain[k] = 0.5f * plain[k] + (strstr(variable->name, "variance") ? 1.0f : 0.0f);
        artel__state_store(bench->state, i, plain);
        free(plain);
    }
}

void layer_open(layer_bench *bench, const char *batch_shape, const char *dtype, const char *layers)
{
    char *text = sequential(batch_shape, dtype, layers);
    layer_open_model(bench, text);
    free(text);
}

artel_status layer_refused_model(const char *record, char message[1100])
{
    artel_context *ctx;
    artel__model *model = NULL;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel_status status = make(ctx, record, &model);
    const artel_error *error = artel_context_error(ctx);
    snprintf(message, 1100, "%s: %s", error->where, error->what);
    if (status >= 0) artel__model_destroy(model);
    artel_context_destroy(ctx);
    return status;
}

artel_status layer_refused(const char *batch_shape, const char *layers, char message[1100])
{
    char *text = sequential(batch_shape, "float32", layers);
    artel_status status = layer_refused_model(text, message);
    free(text);
    return status;
}

void layer_close(layer_bench *bench)
{
    artel__pool_destroy(bench->pool);
    artel__state_destroy(bench->state);
    artel__model_destroy(bench->model);
    artel_context_destroy(bench->ctx);
}

void layer_set(layer_bench *bench, int variable, const float *plain)
{
    artel__state_store(bench->state, variable, plain);
}

void layer_get(layer_bench *bench, int variable, float *plain)
{
    artel__state_fetch(bench->state, variable, plain);
}

/* A graph of the model with its plan and run, and eight shards of rows. */
typedef struct session {
    artel__arena arena;
    artel__graph graph;
    artel__value_id *input;
    artel__tensor *out;
    artel__plan *plan;
    artel__run *run;
    artel__fold_plan fold;
    int64_t start[9];
    artel__step step;
} session;

static void build(layer_bench *bench, session *s, bool training)
{
    artel__model *model = bench->model;
    artel__arena_init(&s->arena, bench->ctx);
    artel__graph_init(&s->graph, &s->arena, model->variables, training);
    artel__tensor *in = artel__arena_alloc(&s->arena, (size_t)model->inputs + 1, sizeof *in);
    s->input = artel__arena_alloc(&s->arena, (size_t)model->inputs + 1, sizeof *s->input);
    s->out = artel__arena_alloc(&s->arena, (size_t)model->outputs + 1, sizeof *s->out);
    for (int i = 0; i < model->inputs; i++) {
        s->input[i] = artel__graph_input(&s->graph, ARTEL__DOMAIN_ROW, model->input[i].dtype, &model->input[i].shape);
        in[i] = (artel__tensor){s->input[i], ARTEL__NO_VALUE};
    }
    if (artel__model_call(model, &s->graph, in, s->out) < 0) fail_msg("%s", artel_context_error(bench->ctx)->what);
}

static void start(layer_bench *bench, session *s, int64_t rows, bool training)
{
    artel_status status = artel__graph_seal(&s->graph);
    artel__plan_options options = {
        .batch_size = rows, .shards = 8, .replicas = 1, .isa = artel__context_isa(bench->ctx)};
    if (status == ARTEL_OK) status = artel__plan_create(bench->ctx, &s->graph, &options, &s->plan);
    if (status == ARTEL_OK) status = artel__run_create(s->plan, bench->state, bench->pool, NULL, &s->run);
    if (status < 0) fail_msg("%s: %s", artel_context_error(bench->ctx)->where, artel_context_error(bench->ctx)->what);
    artel__fold_plan_make(&s->fold, 8, 0, 8, rows, s->start);
    s->step = (artel__step){.fold = &s->fold, .seed = 7, .training = training};
}

static void finish(session *s)
{
    artel__run_destroy(s->run);
    artel__plan_destroy(s->plan);
    artel__arena_fini(&s->arena);
}

void layer_run(layer_bench *bench, const void *const *x, int64_t rows, bool training, bool apply, layer_result *out)
{
    session s = {.input = NULL};
    build(bench, &s, training);
    const artel__value *value = &s.graph.value[s.out[0].value];
    *out = (layer_result){
        .shape = value->shape, .count = rows * artel_shape_count(&value->shape), .random_ops = (int)s.graph.random_ops};
    artel_dtype dtype = value->dtype;
    assert_true(out->count <= (int64_t)ARTEL__COUNT(out->data));
    int kept = artel__graph_keep(&s.graph, s.out[0].value), mask = -1;
    if (s.out[0].mask >= 0) {
        out->masked = true;
        out->mask_shape = s.graph.value[s.out[0].mask].shape;
        mask = artel__graph_keep(&s.graph, s.out[0].mask);
    }
    start(bench, &s, rows, training);
    assert_int_equal(artel__run_compute(s.run, &s.step, x), ARTEL_OK);
    if (apply) artel__run_apply(s.run, &s.step);
    artel__convert(dtype, artel__run_kept(s.run, kept), ARTEL_DTYPE_FLOAT32, out->data, out->count);
    if (mask >= 0)
        memcpy(out->mask, artel__run_kept(s.run, mask), (size_t)(rows * artel_shape_count(&out->mask_shape)));
    finish(&s);
}

/* -- gradients -- */

typedef struct derivative {
    session s;
    int outputs[8], output_kept; /* kept indices */
    int variable_kept[64], input_kept[8];
    float coefficient[4096];
    int64_t row_count;
} derivative;

static void build_derivative(layer_bench *bench, derivative *d, bool training)
{
    artel__graph *graph = &d->s.graph;
    artel__model *model = bench->model;
    build(bench, &d->s, training);
    artel__value_id out = d->s.out[0].value, wanted[72], found[72];
    artel_shape shape = graph->value[out].shape;
    d->row_count = artel_shape_count(&shape);
    assert_true(d->row_count <= (int64_t)ARTEL__COUNT(d->coefficient));
    layer_numbers(d->coefficient, d->row_count, 99);
    d->output_kept = artel__graph_keep(graph, out);
    artel__value_id seed = artel__op_add(graph, artel__op_fill_like(graph, out, 0),
                                         artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &shape, d->coefficient));
    int count = 0;
    for (int i = 0; i < model->variables->count; i++) wanted[count++] = artel__graph_variable(graph, i);
    for (int i = 0; i < model->inputs; i++) wanted[count++] = d->s.input[i];
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &out,
                                    .seeds = &seed,
                                    .target_count = 1,
                                    .wanted = wanted,
                                    .wanted_count = count};
    graph->phase = ARTEL__PHASE_BACKWARD;
    artel_status status = artel__graph_differentiate(graph, &request, found);
    if (status < 0) fail_msg("%s: %s", artel_context_error(bench->ctx)->where, artel_context_error(bench->ctx)->what);
    for (int i = 0; i < count; i++) {
        int kept = found[i] >= 0 ? artel__graph_keep(graph, found[i]) : -1;
        if (i < model->variables->count)
            d->variable_kept[i] = kept;
        else
            d->input_kept[i - model->variables->count] = kept;
    }
}

static double weighted(derivative *d, const void *const *x, int64_t rows)
{
    assert_int_equal(artel__run_compute(d->s.run, &d->s.step, x), ARTEL_OK);
    const float *out = artel__run_kept(d->s.run, d->output_kept);
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < d->row_count; i++) sum += (double)out[r * d->row_count + i] * d->coefficient[i];
    }
    return sum;
}

static void compare(const char *what, int64_t index, double exact, double numeric)
{
    double tolerance = 0.02 * (fabs(numeric) > 1 ? fabs(numeric) : 1);
    if (!(fabs(exact - numeric) <= tolerance))
        fail_msg("%s[%lld]: gradient %g, finite difference %g", what, (long long)index, exact, numeric);
}

static void check_variable(layer_bench *bench, derivative *d, int v, const void *const *x, int64_t rows)
{
    const artel__variable *variable = &bench->model->variables->item[v];
    if (d->variable_kept[v] < 0 || variable->dtype != ARTEL_DTYPE_FLOAT32) return;
    int64_t count = artel_shape_count(&variable->shape);
    float *plain = malloc((size_t)count * sizeof *plain), *gradient = malloc((size_t)count * sizeof *gradient);
    artel__state *other;
    assert_int_equal(artel__state_create(bench->ctx, bench->model->variables, &other), ARTEL_OK);
    weighted(d, x, rows);
    memcpy(artel__state_data(other, v), artel__run_kept(d->s.run, d->variable_kept[v]),
           (size_t)variable->count * sizeof(float));
    artel__state_fetch(other, v, gradient);
    artel__state_destroy(other);
    layer_get(bench, v, plain);
    for (int64_t i = 0; i<count; i += count> 40 ? 7 : 1) {
        float held = plain[i], h = 0.01f;
        plain[i] = held + h;
        layer_set(bench, v, plain);
        double up = weighted(d, x, rows);
        plain[i] = held - h;
        layer_set(bench, v, plain);
        double down = weighted(d, x, rows);
        plain[i] = held;
        layer_set(bench, v, plain);
        compare(variable->name, i, gradient[i], (up - down) / (2 * (double)h));
    }
    free(plain);
    free(gradient);
}

static void check_input(layer_bench *bench, derivative *d, int n, const void *const *x, int64_t rows)
{
    const artel__model_input *input = &bench->model->input[n];
    if (d->input_kept[n] < 0 || input->dtype != ARTEL_DTYPE_FLOAT32) return;
    int64_t count = rows * artel_shape_count(&input->shape);
    float *moved = malloc((size_t)count * sizeof *moved), *gradient = malloc((size_t)count * sizeof *gradient);
    const void *changed[8];
    memcpy(changed, x, (size_t)bench->model->inputs * sizeof *changed);
    changed[n] = moved;
    memcpy(moved, x[n], (size_t)count * sizeof *moved);
    weighted(d, x, rows);
    memcpy(gradient, artel__run_kept(d->s.run, d->input_kept[n]), (size_t)count * sizeof *gradient);
    for (int64_t i = 0; i<count; i += count> 60 ? 11 : 1) {
        float held = moved[i], h = 0.01f;
        moved[i] = held + h;
        double up = weighted(d, changed, rows);
        moved[i] = held - h;
        double down = weighted(d, changed, rows);
        moved[i] = held;
        compare(input->name, i, gradient[i], (up - down) / (2 * (double)h));
    }
    free(moved);
    free(gradient);
}

void layer_check_gradients(layer_bench *bench, const void *const *x, int64_t rows, bool training)
{
    static derivative d;
    memset(&d, 0, sizeof d);
    assert_true(bench->model->inputs <= 8 && bench->model->variables->count <= 64);
    build_derivative(bench, &d, training);
    start(bench, &d.s, rows, training);
    for (int i = 0; i < bench->model->variables->count; i++) check_variable(bench, &d, i, x, rows);
    for (int i = 0; i < bench->model->inputs; i++) check_input(bench, &d, i, x, rows);
    finish(&d.s);
}

/* -- asserting -- */

void layer_assert_floats(const layer_result *result, const float *expected, int count, float tolerance)
{
    assert_true(result->count >= count);
    for (int i = 0; i < count; i++) {
        if (!(fabsf(result->data[i] - expected[i]) <= tolerance))
            fail_msg("element %d is %g, expected %g", i, (double)result->data[i], (double)expected[i]);
    }
}

void layer_assert_shape(const artel_shape *shape, int rank, ...)
{
    va_list args;
    va_start(args, rank);
    bool same = shape->rank == rank;
    for (int i = 0; i < rank; i++) {
        int wanted = va_arg(args, int);
        same = same && i < shape->rank && shape->dim[i] == wanted;
    }
    va_end(args);
    char text[128];
    if (!same) fail_msg("the shape is %s", artel__shape_text(shape, true, text, sizeof text));
}
