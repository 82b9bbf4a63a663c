/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 60 */
/* What a program gets wrong between calls, each of which is well-formed by itself: objects of two contexts in one call,
 * functions that call themselves while they are traced, gradients that ask for themselves, arrays whose shapes lie,
 * sizes beyond all memory, counters at their end, names that files cannot hold. All are refused by name; nothing
 * is read, lost or torn. */
#include "api/help_forms.h"

#include <math.h>

#include "artel/cluster.h"
#include "artel/communicator.h"
#include "artel/eager.h"
#include "artel/extend.h"
#include "artel/pipeline.h"
#include "artel/trainer.h"
#include "artel/values.h"

static const api_form two = {"mirrored", 2, 2};

enum {
    MOST_NAME = 1000 /* bytes of a variable's */
};

static artel_status make(artel_strategy *s, artel_trace_fn *trace, void *user, int arguments, int outputs,
                         artel_function **out)
{
    const artel_argument rows[2] = {{.name = "x", .shape = {1, {3}}}, {.name = "y", .shape = {1, {3}}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = rows;
    o.argument_count = arguments;
    o.output_count = outputs;
    return artel_function_create(s, &o, trace, user, out);
}

static artel_status trace_copy(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = in[0];
    return artel_graph_status(g);
}

static void contexts_do_not_mix(void **state)
{
    artel_context *ctx = api_context(), *far = api_context();
    artel_model *model = api_mlp(ctx), *far_model = api_mlp(far);
    artel_communicator *c = NULL;
    artel_data *data = api_rows(ctx, false), *far_data = api_rows(far, false);
    artel_cluster_options alone = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_cluster *cluster;
    artel_predictions *p = NULL;
    artel_trainer *t = NULL;
    artel_strategy *s = NULL;
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    artel_evaluate_options evaluate = ARTEL_EVALUATE_OPTIONS_INIT;
    artel_strategy_options strategy = ARTEL_STRATEGY_OPTIONS_INIT;
    (void)state;
    alone.resolver = "none";
    api_ok(far, artel_cluster_open(far, &alone, &cluster));
    api_refused(ctx, artel_model_fit(model, far_data, NULL, NULL), ARTEL_ERROR_INVALID,
                "the data is another context's");
    api_refused(ctx, artel_model_evaluate(model, far_data, NULL, NULL), ARTEL_ERROR_INVALID, "the data is");
    api_refused(ctx, artel_model_predict(model, far_data, NULL, &p), ARTEL_ERROR_INVALID, "the data is");
    api_refused(ctx, artel_trainer_create(model, far_data, NULL, &t), ARTEL_ERROR_INVALID, "the data is");
    fit.validation_data = far_data;
    api_refused(ctx, artel_model_fit(model, data, &fit, NULL), ARTEL_ERROR_INVALID, "the validation data is");
    fit.validation_data = NULL;
    fit.cluster = evaluate.cluster = strategy.cluster = cluster;
    api_refused(ctx, artel_model_fit(model, data, &fit, NULL), ARTEL_ERROR_INVALID, "the cluster is");
    api_refused(ctx, artel_model_evaluate(model, data, &evaluate, NULL), ARTEL_ERROR_INVALID, "the cluster is");
    api_refused(ctx, artel_strategy_create(ctx, &strategy, &s), ARTEL_ERROR_INVALID, "the cluster is");
    api_refused(ctx, artel_communicator_open(ctx, cluster, &c), ARTEL_ERROR_INVALID, "the cluster is");
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    api_refused(ctx, artel_strategy_add_model(s, far_model), ARTEL_ERROR_INVALID, "the model is another context's");
    artel_strategy_destroy(s);
    artel_cluster_close(cluster);
    artel_model_destroy(far_model);
    artel_data_destroy(data);
    artel_data_destroy(far_data);
    artel_model_destroy(model);
    artel_context_destroy(far);
    artel_context_destroy(ctx);
}

/* -- recursion -- */

typedef struct eager_loop {
    artel_eager *e;
    artel_eager_function *f;
    artel_ndarray *x;
    int calls, refusals;
} eager_loop;

static artel_status trace_itself(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    eager_loop *l = user;
    artel_ndarray *y = NULL;
    l->calls++;
    if (artel_eager_call(l->f, &l->x, 1, &y, 1) < 0) l->refusals++;
    artel_ndarray_release(y);
    out[0] = in[0];
    return artel_graph_status(g);
}

/* What is called meanwhile, and fails, leaves alone what is being traced. */
static artel_status trace_failures(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    eager_loop *l = user;
    artel_ndarray *y = NULL;
    if (artel_eager_unary(l->e, "no_such_operation", l->x, &y) < 0) l->refusals++;
    out[0] = artel_graph_unary(g, "square", in[0]);
    return artel_graph_status(g);
}

static void functions_that_call_themselves_end(void **state)
{
    artel_context *ctx = api_context();
    eager_loop l = {.calls = 0};
    artel_ndarray *y = NULL;
    float values[3] = {1, 2, 3};
    (void)state;
    api_ok(ctx, artel_eager_create(ctx, NULL, &l.e));
    api_ok(ctx, artel_ndarray_create(l.e, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {3}}, values, &l.x));
    api_ok(ctx, artel_eager_function_create(l.e, "itself", trace_itself, &l, 1, &l.f));
    api_ok(ctx, artel_eager_call(l.f, &l.x, 1, &y, 1));
    assert_in_range(l.calls, 2, 64);
    assert_int_equal(l.refusals, 1);
    artel_ndarray_release(y);
    api_ok(ctx, artel_eager_function_create(l.e, "failures", trace_failures, &l, 1, &l.f));
    api_ok(ctx, artel_eager_call(l.f, &l.x, 1, &y, 1));
    api_ok(ctx, artel_ndarray_read(y, ARTEL_DTYPE_FLOAT32, values, 3));
    assert_true(l.refusals == 2 && values[2] == 9);
    artel_eager_destroy(l.e);
    artel_context_destroy(ctx);
}

static artel_status infer_same(void *user, const artel_shape *in, int count, artel_shape *out)
{
    (void)user, (void)count;
    *out = in[0];
    return ARTEL_OK;
}

static void compute_copy(void *user, int64_t rows, int64_t row, const float *const *in, float *out)
{
    (void)user;
    memcpy(out, in[0], (size_t)(rows * row) * sizeof *out);
}

static artel_status ask_for_itself(void *user, artel_graph *g, const artel_value *in, int count, artel_value out,
                                   artel_value dy, artel_value *dx)
{
    (void)user, (void)count, (void)dy;
    return artel_graph_gradients(g, out, in, 1, dx);
}

static artel_status trace_asking(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_operation op = {sizeof op, "asking", infer_same, compute_copy, ask_for_itself, NULL};
    artel_value y = artel_graph_custom(g, &op, in, 1);
    (void)user;
    return artel_graph_gradients(g, y, in, 1, out);
}

static void gradients_that_ask_for_themselves_end(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_function *f;
    (void)state;
    api_refused(ctx, make(s, trace_asking, NULL, 1, 1, &f), ARTEL_ERROR_INVALID, "asks for itself");
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

/* -- arrays and counters -- */

static void shapes_do_not_lie(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_function *f;
    artel_data *data = api_rows_by_callback(ctx, false), *large = NULL;
    artel_reader *reader = NULL;
    float x[8][3] = {{0}}, y[8][3];
    (void)state;
    api_ok(ctx, make(s, trace_copy, NULL, 2, 1, &f));
    artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {-3, 3}}, x}, {ARTEL_DTYPE_FLOAT32, {2, {5, 3}}, x}};
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = y};
    api_refused(ctx, artel_function_run(f, in, 2, &out, 1), ARTEL_ERROR_INVALID, "an array of");
    in[1].shape.dim[0] = -3;
    api_refused(ctx, artel_function_run(f, in, 2, &out, 1), ARTEL_ERROR_INVALID, "an array of");
    api_refused(ctx, artel_reader_create(data, &reader), ARTEL_ERROR_UNSUPPORTED, "from a function");
    const artel_data_array array = {.name = "x", .shape = {2, {(int64_t)1 << 61, 3}}, .values = x};
    api_refused(ctx, artel_data_from_memory(ctx, &array, 1, &large), ARTEL_ERROR_INVALID, "too many values");
    artel_data_destroy(data);
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

static void counters_do_not_overflow(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *v;
    artel_optimizer *optimizer;
    (void)state;
    o.name = "v";
    api_ok(ctx, artel_variable_create(s, &o, &v));
    api_ok(ctx, artel_optimizer_create(s, "adam", &v, 1, &optimizer));
    api_refused(ctx, artel_optimizer_set_iterations(optimizer, INT64_MAX), ARTEL_ERROR_INVALID, "steps");
    api_refused(ctx, artel_strategy_set_runs(s, INT64_MAX), ARTEL_ERROR_INVALID, "runs");
    api_refused(ctx, artel_strategy_set_units(s, INT64_MAX), ARTEL_ERROR_INVALID, "units");
    api_ok(ctx, artel_optimizer_set_iterations(optimizer, (int64_t)1 << 53));
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

/* The counters of a checkpoint are in its manifest, which no hash covers. */
static void write_counters(const char *folder, const char *counters)
{
    char path[128], text[4096], *at;
    snprintf(path, sizeof path, "%s/ckpt-1/manifest.json", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    at = strstr(text, "\"counters\": ");
    assert_non_null(at);
    const char *rest = strstr(at, "]}") + 2;
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%.*s\"counters\": %s%s", (int)(at - text), text, counters, rest) > 0);
    assert_int_equal(fclose(file), 0);
}

static void counters_of_checkpoints_are_looked_at(void **state)
{
    static const char *const wrong[] = {
        "{\"runs\": 9007199254740993, \"units\": 5, \"optimizers\": [7]}", /* 2^53 + 1 */
        "{\"runs\": -1, \"units\": 5, \"optimizers\": [7]}",
        "{\"runs\": 4, \"units\": 9223372036854775807, \"optimizers\": [7]}",
        "{\"runs\": 4, \"optimizers\": [7]}",
        "{\"runs\": 4, \"units\": 5.0, \"optimizers\": [7]}",
        "{\"runs\": 4, \"units\": 5, \"optimizers\": [9223372036854775807]}",
        "{\"runs\": 4, \"units\": 5, \"optimizers\": [-7]}",
        "{\"runs\": 4, \"units\": 5, \"optimizers\": [\"7\"]}",
        "{\"runs\": 4, \"units\": 5, \"optimizers\": [7, 7]}"};
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *v;
    artel_optimizer *optimizer;
    char folder[64];
    int64_t step;
    float value = 3;
    (void)state;
    api_folder_make(folder);
    o.name = "v";
    api_ok(ctx, artel_variable_create(s, &o, &v));
    api_ok(ctx, artel_optimizer_create(s, "adam", &v, 1, &optimizer));
    api_ok(ctx, artel_variable_assign(v, &value, 1));
    api_ok(ctx, artel_strategy_save(s, folder, 1, 1));
    value = 8;
    api_ok(ctx, artel_variable_assign(v, &value, 1));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_counters(folder, wrong[i]);
        api_refused(ctx, artel_strategy_restore(s, folder, &step), ARTEL_ERROR_CORRUPT, "the counters");
        api_ok(ctx, artel_variable_read(v, &value, 1));
        assert_true(value == 8 && artel_strategy_runs(s) == 0 && artel_strategy_units(s) == 0 &&
                    artel_optimizer_iterations(optimizer) == 0);
    }
    write_counters(folder, "{\"runs\": 9007199254740992, \"units\": 5, \"optimizers\": [7]}");
    api_ok(ctx, artel_strategy_restore(s, folder, &step));
    api_ok(ctx, artel_variable_read(v, &value, 1));
    assert_true(value == 3 && artel_strategy_runs(s) == (int64_t)1 << 53 && artel_strategy_units(s) == 5 &&
                artel_optimizer_iterations(optimizer) == 7);
    artel_strategy_destroy(s);
    api_folder_remove(folder);
    artel_context_destroy(ctx);
}

/* -- what a variable has become since -- */

/* One variable of a strategy. */
static artel_strategy *of_one(artel_context *ctx, artel_dtype dtype, artel_shape shape, artel_variable **v)
{
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = "v";
    o.dtype = dtype;
    o.shape = shape;
    api_ok(ctx, artel_variable_create(s, &o, v));
    return s;
}

/* Of as many bytes: its bits would be numbers of another kind, or in other places. */
static void checkpoints_hold_types_and_shapes(void **state)
{
    static const struct {
        artel_dtype dtype;
        artel_shape shape;
    } other[] = {{ARTEL_DTYPE_INT64, {2, {2, 3}}},
                 {ARTEL_DTYPE_FLOAT64, {2, {3, 2}}},
                 {ARTEL_DTYPE_FLOAT64, {1, {6}}},
                 {ARTEL_DTYPE_FLOAT32, {2, {2, 6}}}};
    artel_context *ctx = api_context();
    artel_variable *v;
    char folder[64];
    int64_t step;
    (void)state;
    api_folder_make(folder);
    artel_strategy *s = of_one(ctx, ARTEL_DTYPE_FLOAT64, (artel_shape){2, {2, 3}}, &v);
    api_ok(ctx, artel_strategy_save(s, folder, 1, 1));
    artel_strategy_destroy(s);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        s = of_one(ctx, other[i].dtype, other[i].shape, &v);
        api_refused(ctx, artel_strategy_restore(s, folder, &step), ARTEL_ERROR_CORRUPT, "does not fit");
        artel_strategy_destroy(s);
    }
    s = of_one(ctx, ARTEL_DTYPE_FLOAT64, (artel_shape){2, {2, 3}}, &v);
    api_ok(ctx, artel_strategy_restore(s, folder, &step));
    artel_strategy_destroy(s);
    api_folder_remove(folder);
    artel_context_destroy(ctx);
}

/* -- names -- */

enum {
    NAMES = 5
};

static void declare(artel_context *ctx, artel_strategy *s, artel_variable *v[NAMES])
{
    static const char *const names[NAMES] = {"a\"b\\c", "tab\t and\nline", "\x01\x1f", "caf\xc3\xa9", "%s%n"};
    for (int i = 0; i < NAMES; i++) {
        artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
        o.name = names[i];
        api_ok(ctx, artel_variable_create(s, &o, &v[i]));
    }
}

static void names_survive_checkpoints(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8), *again = api_strategy(ctx, &two, 8);
    artel_variable *v[NAMES], *w[NAMES];
    char folder[64];
    int64_t step;
    (void)state;
    api_folder_make(folder);
    declare(ctx, s, v);
    declare(ctx, again, w);
    for (int i = 0; i < NAMES; i++) api_ok(ctx, artel_variable_assign(v[i], (float[]){(float)(i + 1)}, 1));
    api_ok(ctx, artel_strategy_save(s, folder, 7, 1));
    api_ok(ctx, artel_strategy_restore(again, folder, &step));
    assert_int_equal(step, 7);
    for (int i = 0; i < NAMES; i++) {
        float value;
        api_ok(ctx, artel_variable_read(w[i], &value, 1));
        assert_true(value == (float)(i + 1));
    }
    artel_strategy_destroy(s);
    artel_strategy_destroy(again);
    api_folder_remove(folder);
    artel_context_destroy(ctx);
}

static void names_that_files_cannot_hold(void **state)
{
    static char many[MOST_NAME + 2];
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *v;
    (void)state;
    memset(many, 'n', MOST_NAME + 1);
    o.name = many;
    api_refused(ctx, artel_variable_create(s, &o, &v), ARTEL_ERROR_INVALID, "1001 bytes");
    many[MOST_NAME] = '\0';
    api_ok(ctx, artel_variable_create(s, &o, &v));
    assert_string_equal(artel_variable_name(v), many);
    o.name = "";
    api_refused(ctx, artel_variable_create(s, &o, &v), ARTEL_ERROR_INVALID, "name");
    o.name = "bad\xff";
    api_refused(ctx, artel_variable_create(s, &o, &v), ARTEL_ERROR_INVALID, "no UTF-8");
    o.name = "net/kernel";
    api_ok(ctx, artel_variable_create(s, &o, &v));
    o.name = "net.kernel"; /* the same in a checkpoint */
    api_refused(ctx, artel_variable_create(s, &o, &v), ARTEL_ERROR_INVALID, "dots and slashes");
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

/* -- sizes whose products are no sizes -- */

static artel_status trace_noise(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = artel_graph_uniform(g, in[0], &(artel_shape){1, {*(const int64_t *)user}}, 0, 1, false);
    return artel_graph_status(g);
}

static artel_status make_one(void *user, const artel_value_context *context, void *element)
{
    (void)user, (void)context;
    *(float *)element = 1;
    return ARTEL_OK;
}

static void refuse_size(artel_context *ctx, int64_t size)
{
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_values_options values = ARTEL_VALUES_OPTIONS_INIT;
    artel_variable *v;
    artel_values *made;
    artel_function *f;
    o.name = "large";
    o.shape = (artel_shape){1, {size}};
    api_refused(ctx, artel_variable_create(s, &o, &v), ARTEL_ERROR_INVALID, "elements");
    o.initializer = "ones";
    api_refused(ctx, artel_variable_create(s, &o, &v), ARTEL_ERROR_INVALID, "elements");
    values.shape = o.shape;
    values.make = make_one;
    api_refused(ctx, artel_values_create(s, &values, &made), ARTEL_ERROR_NO_MEMORY, "values");
    api_refused(ctx, make(s, trace_noise, &size, 1, 1, &f), ARTEL_ERROR_INVALID, "too large");
    o = (artel_variable_options)ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = "small";
    api_ok(ctx, artel_variable_create(s, &o, &v)); /* what was refused has left nothing behind */
    artel_strategy_destroy(s);
}

/* Of a possible row and a possible batch together; where nothing is computed yet, nothing is refused. */
static void refuse_batch(artel_context *ctx)
{
    artel_strategy *s;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function *f;
    int64_t size = INT64_C(1) << 40;
    float x[3] = {0};
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {1, 3}}, x}, out = {.dtype = ARTEL_DTYPE_FLOAT32};
    o.batch_size = 1000000000;
    api_ok(ctx, artel_strategy_create(ctx, &o, &s));
    api_ok(ctx, make(s, trace_noise, &size, 1, 1, &f));
    api_refused(ctx, artel_function_run(f, &in, 1, &out, 1), ARTEL_ERROR_NO_MEMORY, "a value of 4.4e+21 bytes");
    artel_strategy_destroy(s);
}

/* 17 bytes for each of so many elements are 16, but for 2^64. */
static void refuse_strings(artel_context *ctx)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_variable *v;
    o.name = "v";
    o.dtype = ARTEL_DTYPE_STRING;
    o.shape = (artel_shape){1, {INT64_C(1085102592571150096)}};
    assert_int_equal(artel_variable_create(s, &o, &v), ARTEL_ERROR_NO_MEMORY);
    artel_strategy_destroy(s);
}

static void sizes_do_not_overflow(void **state)
{
    static const int64_t sizes[] = {INT64_C(1) << 62, (INT64_C(1) << 62) + 1, INT64_C(1) << 61, INT64_MAX};
    artel_context *ctx = api_context();
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) refuse_size(ctx, sizes[i]);
    refuse_batch(ctx);
    refuse_strings(ctx);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contexts_do_not_mix),
                                       cmocka_unit_test(functions_that_call_themselves_end),
                                       cmocka_unit_test(gradients_that_ask_for_themselves_end),
                                       cmocka_unit_test(shapes_do_not_lie),
                                       cmocka_unit_test(counters_do_not_overflow),
                                       cmocka_unit_test(counters_of_checkpoints_are_looked_at),
                                       cmocka_unit_test(checkpoints_hold_types_and_shapes),
                                       cmocka_unit_test(names_survive_checkpoints),
                                       cmocka_unit_test(names_that_files_cannot_hold),
                                       cmocka_unit_test(sizes_do_not_overflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
