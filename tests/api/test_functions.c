/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Small functions under every strategy (VA1 to VA9): gradients are those that one works out on paper; operations,
 * reductions and assignments; what does not fit is refused by name. test_functions_fit.c: loops with the bits of fit.
 */
#include "api/help_forms.h"

#include <math.h>

enum {
    BATCH = 32
};

static artel_array result(void *data)
{
    return (artel_array){.dtype = ARTEL_DTYPE_FLOAT32, .data = data};
}

typedef struct small {
    artel_context *ctx;
    artel_strategy *s;
    artel_variable *v;
} small;

static small open_small(const api_form *f, const artel_shape *shape, const float *initial)
{
    small b = {.ctx = api_context()};
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    b.s = api_strategy(b.ctx, f, 16);
    o.name = "v";
    o.shape = *shape;
    o.initial = initial;
    api_ok(b.ctx, artel_variable_create(b.s, &o, &b.v));
    return b;
}

static void close_small(small *b)
{
    artel_strategy_destroy(b->s);
    artel_context_destroy(b->ctx);
}

static artel_function *declare(small *b, artel_trace_fn *trace, void *user, const artel_argument *arguments, int count,
                               int outputs)
{
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *f = NULL;
    o.arguments = arguments;
    o.argument_count = count;
    o.output_count = outputs;
    api_ok(b->ctx, artel_function_create(b->s, &o, trace, user, &f));
    return f;
}

static artel_array floats(const void *data, artel_shape shape)
{
    return (artel_array){ARTEL_DTYPE_FLOAT32, shape, (void *)(uintptr_t)data};
}

/* y = sum over columns of v * x^2 by row; its mean over the batch; gradients of that. */
static artel_status trace_squares(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    small *b = user;
    artel_value v = artel_graph_variable(g, b->v), wanted[2] = {in[0], v};
    artel_value square = artel_graph_op(g, "square", &in[0], 1, NULL);
    artel_value weighed = artel_graph_binary(g, "multiply", square, v);
    out[0] = artel_graph_op(g, "sum", &weighed, 1, "{\"axis\": -1}");
    out[1] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, out[0]);
    out[2] = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, in[0]);
    out[3] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, in[0]);
    artel_graph_gradients(g, out[1], wanted, 2, &out[4]);
    artel_graph_gradients(g, out[0], wanted, 1, &out[6]); /* of each example */
    return ARTEL_OK;
}

static void test_gradients_on_paper(void **state)
{
    (void)state;
    static const float v[3] = {1, 2, -4}, x[5][3] = {{1, 2, 3}, {0, -1, 2}, {4, 4, 4}, {-2, 0, 1}, {0.5f, 0.25f, -1}};
    const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, false, {1, {3}}};
    for (int i = 0; i < API_FORMS; i++) {
        small b = open_small(&api_forms[i], &(artel_shape){1, {3}}, v);
        artel_function *f = declare(&b, trace_squares, &b, &argument, 1, 7);
        float y[5], mean, sum[3], average[3], dx[5][3], dv[3], each[5][3];
        const artel_array in = floats(x, (artel_shape){2, {5, 3}});
        const artel_array out[7] = {result(y),  result(&mean), result(sum), result(average),
                                    result(dx), result(dv),    result(each)};
        api_ok(b.ctx, artel_function_run(f, &in, 1, out, 7));
        double total = 0;
        for (int r = 0; r < 5; r++) {
            double row = 0;
            for (int c = 0; c < 3; c++) {
                row += (double)v[c] * x[r][c] * x[r][c];
                assert_float_equal(dx[r][c], 2 * v[c] * x[r][c] / 5, 1e-6);
                assert_float_equal(each[r][c], 2 * v[c] * x[r][c], 1e-6);
            }
            assert_float_equal(y[r], row, 1e-5);
            total += row;
        }
        assert_float_equal(mean, total / 5, 1e-5);
        for (int c = 0; c < 3; c++) {
            double columns = 0, squares = 0;
            for (int r = 0; r < 5; r++) {
                columns += (double)x[r][c];
                squares += (double)x[r][c] * x[r][c];
            }
            assert_float_equal(sum[c], columns, 1e-6);
            assert_float_equal(average[c], columns / 5, 1e-6);
            assert_float_equal(dv[c], squares / 5, 1e-5);
        }
        close_small(&b);
    }
}

/* Operations on shared values count axes from their first. */
static artel_status trace_shared(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_op(g, "sum", &in[0], 1, "{\"axis\": 0}");
    out[1] = artel_graph_op(g, "max", &in[0], 1, NULL);
    out[2] = artel_graph_op(g, "transpose", &in[0], 1, "{\"axes\": [1, 0]}");
    out[3] = artel_graph_op(g, "mean", &in[0], 1, "{\"axis\": [-1], \"keepdims\": true}");
    out[4] = artel_graph_op(g, "concatenate", (artel_value[]){in[0], in[0]}, 2, "{\"axis\": 0}");
    out[5] = artel_graph_op(g, "reshape", &in[0], 1, "{\"newshape\": [3, 2]}");
    out[6] = artel_graph_binary(g, "add", artel_graph_op(g, "exp", &in[0], 1, NULL), artel_graph_number(g, 1));
    return ARTEL_OK;
}

static void test_shared_values(void **state)
{
    (void)state;
    static float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, true, {2, {2, 3}}};
    small b = open_small(&api_forms[3], &(artel_shape){0}, NULL);
    artel_function *f = declare(&b, trace_shared, &b, &argument, 1, 7);
    float sum[3], most, turned[3][2], mean[2], twice[4][3], flat[6], more[6];
    const artel_array in = floats(x, (artel_shape){2, {2, 3}});
    const artel_array out[7] = {result(sum),   result(&most), result(turned), result(mean),
                                result(twice), result(flat),  result(more)};
    artel_shape shape;
    bool rows = true;
    api_ok(b.ctx, artel_function_output(f, 4, NULL, &shape, &rows));
    assert_false(rows);
    assert_true(shape.rank == 2 && shape.dim[0] == 4 && shape.dim[1] == 3);
    api_ok(b.ctx, artel_function_run(f, &in, 1, out, 7));
    for (int c = 0; c < 3; c++) assert_float_equal(sum[c], x[0][c] + x[1][c], 0);
    assert_float_equal(most, 6, 0);
    assert_float_equal(turned[2][0], 3, 0);
    assert_float_equal(turned[0][1], 4, 0);
    assert_float_equal(mean[0], 2, 1e-6);
    assert_float_equal(mean[1], 5, 1e-6);
    assert_memory_equal(twice[2], x, sizeof x);
    assert_memory_equal(flat, x, sizeof x);
    for (int i = 0; i < 6; i++) assert_float_equal(more[i], exp(i + 1) + 1, 1e-4 * exp(i + 1));
    close_small(&b);
}

/* v += the mean of x; the result is v as it was. */
static artel_status trace_count(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    small *b = user;
    out[0] = artel_graph_variable(g, b->v);
    artel_graph_assign(g, b->v,
                       artel_graph_binary(g, "add", out[0], artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, in[0])));
    return ARTEL_OK;
}

static void test_assignments(void **state)
{
    (void)state;
    const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, false, {0}};
    for (int i = 0; i < API_FORMS; i++) {
        static const float ten = 10;
        float x[7] = {1, 2, 3, 4, 5, 6, 7}, before = 0, now = 0;
        small b = open_small(&api_forms[i], &(artel_shape){0}, &ten);
        artel_function *f = declare(&b, trace_count, &b, &argument, 1, 1);
        const artel_array out = result(&before);
        for (int run = 0; run < 3; run++) {
            const artel_array in = floats(x, (artel_shape){1, {run + 5}});
            api_ok(b.ctx, artel_function_run(f, &in, 1, &out, 1));
            api_ok(b.ctx, artel_variable_read(b.v, &now, 1));
            assert_float_equal(now - before, (run + 6) / 2.0f, 1e-6);
        }
        float other = -1;
        api_ok(b.ctx, artel_variable_assign(b.v, &other, 1));
        const artel_array in = floats(x, (artel_shape){1, {7}});
        api_ok(b.ctx, artel_function_run(f, &in, 1, &out, 1));
        assert_float_equal(before, -1, 0);
        assert_int_equal(artel_strategy_runs(b.s), 4);
        close_small(&b);
    }
}

/* Parts of rows, and rows that are repeated; the gradient counts how often each element is used. */
static artel_status trace_parts(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_op(g, "slice", in, 1, "{\"start_indices\": [0, 1], \"shape\": [-1, 2]}");
    out[1] = artel_graph_op(g, "broadcast_to", out, 1, "{\"shape\": [-1, 4, 2]}");
    return artel_graph_gradients(g, out[1], in, 1, &out[2]);
}

static void test_parts(void **state)
{
    (void)state;
    static const float x[5][3] = {{1, 2, 3}, {0, -1, 2}, {4, 4, 4}, {-2, 0, 1}, {0.5f, 0.25f, -1}};
    const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, false, {1, {3}}};
    for (int i = 0; i < API_FORMS; i++) {
        small b = open_small(&api_forms[i], &(artel_shape){0}, NULL);
        artel_function *f = declare(&b, trace_parts, NULL, &argument, 1, 3);
        float part[5][2], many[5][4][2], slope[5][3];
        const artel_array in = floats(x, (artel_shape){2, {5, 3}}),
                          out[3] = {result(part), result(many), result(slope)};
        api_ok(b.ctx, artel_function_run(f, &in, 1, out, 3));
        for (int r = 0; r < 5; r++) {
            assert_memory_equal(part[r], &x[r][1], sizeof part[r]);
            for (int k = 0; k < 4; k++) assert_memory_equal(many[r][k], part[r], sizeof part[r]);
            assert_true(slope[r][0] == 0 && slope[r][1] == 4 && slope[r][2] == 4);
        }
        close_small(&b);
    }
}

/* -- what is refused -- */

typedef struct refusal {
    const char *operation, *attributes;
    artel_status status;
    const char *says;
} refusal;

static artel_status trace_refused(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const refusal *r = user;
    out[0] = artel_graph_op(g, r->operation, &in[0], 1, r->attributes);
    return artel_graph_status(g);
}

/* A gradient through whole numbers is none, and none is no output. */
static artel_status trace_flat(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value place = artel_graph_op(g, "argmax", in, 1, "{\"axis\": 1}");
    artel_value number = artel_graph_op(g, "cast", &place, 1, "{\"dtype\": \"float32\"}");
    return artel_graph_gradients(g, number, in, 1, out);
}

static void test_refusals(void **state)
{
    (void)state;
    static const refusal refusals[] = {
        {"sume", NULL, ARTEL_ERROR_UNSUPPORTED, "did you mean"},
        {"sum", "{\"axis\": 0}", ARTEL_ERROR_UNSUPPORTED, "batch"},
        {"sum", "{\"axes\"", ARTEL_ERROR_INVALID, "JSON"},
        {"sum", "[1]", ARTEL_ERROR_INVALID, "JSON"},
        {"reshape", "{\"newshape\": [null, 7]}", ARTEL_ERROR_UNSUPPORTED, NULL},
        {"multiply", NULL, ARTEL_ERROR_UNSUPPORTED, "an argument missing"},
        {"ravel", NULL, ARTEL_ERROR_UNSUPPORTED, "mixes the rows"},
        {"slice", "{\"start_indices\": [1, 0], \"shape\": [-1, 1]}", ARTEL_ERROR_INVALID, "the batch"},
        {"slice", "{\"start_indices\": [0, -9223372036854775807], \"shape\": [-1, -1]}", ARTEL_ERROR_INVALID, "inside"},
        {"broadcast_to", "{\"shape\": [-1, 9]}", ARTEL_ERROR_INVALID, "broadcast"},
        {"broadcast_to", "{\"shape\": [-1, -1, 3]}", ARTEL_ERROR_INVALID, "negative"},
    };
    const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, false, {1, {3}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = &argument;
    o.argument_count = o.output_count = 1;
    small b = open_small(&api_forms[1], &(artel_shape){0}, NULL);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        artel_function *f = NULL;
        assert_true(artel_function_create(b.s, &o, trace_refused, (void *)(uintptr_t)&refusals[i], &f) < 0);
        const artel_error *error = artel_context_error(b.ctx);
        assert_null(f);
        if (refusals[i].says && !strstr(error->what, refusals[i].says))
            fail_msg("%s: %s", refusals[i].operation, error->what);
    }
    artel_function *f = NULL;
    assert_int_equal(artel_function_create(b.s, &o, trace_flat, NULL, &f), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(b.ctx)->advice, "does not depend on"));
    close_small(&b);
}

/* Variables begin as Keras' initialisers say, from the strategy's seed; each has numbers of its own. */
static artel_status begin_as(artel_strategy *s, const char *name, const char *initializer, artel_dtype dtype,
                             const float *initial, artel_variable **out)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = name;
    o.dtype = dtype;
    o.shape = (artel_shape){2, {6, 4}};
    o.initial = initial;
    o.initializer = initializer;
    return artel_variable_create(s, &o, out);
}

static void test_initializers(void **state)
{
    (void)state;
    float first[2][24], value[24];
    double wide[24];
    const float some[24] = {0};
    for (int f = 0; f < API_FORMS; f++) {
        artel_context *ctx = api_context();
        artel_strategy *s = api_strategy(ctx, &api_forms[f], BATCH);
        artel_variable *v[5];
        api_ok(ctx, begin_as(s, "a", "glorot_uniform", ARTEL_DTYPE_FLOAT32, NULL, &v[0]));
        api_ok(ctx, begin_as(s, "b", "glorot_uniform", ARTEL_DTYPE_FLOAT32, NULL, &v[1]));
        api_ok(ctx, begin_as(s, "c", "random_uniform:minval=2,maxval=3", ARTEL_DTYPE_FLOAT64, NULL, &v[2]));
        api_ok(ctx, begin_as(s, "d", "ones", ARTEL_DTYPE_FLOAT32, NULL, &v[3]));
        api_ok(ctx, begin_as(s, "e", "{\"class_name\": \"Constant\", \"config\": {\"value\": -2}}", ARTEL_DTYPE_FLOAT32,
                             NULL, &v[4]));
        for (int k = 0; k < 2; k++) {
            api_ok(ctx, artel_variable_read(v[k], value, 24));
            if (f == 0) memcpy(first[k], value, sizeof value);
            assert_memory_equal(first[k], value, sizeof value);
            for (int i = 0; i < 24; i++) assert_true(fabsf(value[i]) <= sqrtf(6.0F / 10) && value[i] != 0);
        }
        api_ok(ctx, artel_variable_read_as(v[2], ARTEL_DTYPE_FLOAT64, wide, 24));
        for (int i = 0; i < 24; i++) assert_true(wide[i] >= 2 && wide[i] < 3);
        api_ok(ctx, artel_variable_read(v[3], value, 24));
        for (int i = 0; i < 24; i++) assert_true(value[i] == 1);
        api_ok(ctx, artel_variable_read(v[4], value, 24));
        for (int i = 0; i < 24; i++) assert_true(value[i] == -2);
        artel_strategy_destroy(s);
        s = api_strategy(ctx, &api_forms[f], BATCH);
        assert_int_equal(begin_as(s, "a", "ones", ARTEL_DTYPE_FLOAT32, some, &v[0]), ARTEL_ERROR_INVALID);
        assert_true(begin_as(s, "a", "no_such", ARTEL_DTYPE_FLOAT32, NULL, &v[0]) < 0);
        assert_int_equal(begin_as(s, "a", "", ARTEL_DTYPE_FLOAT32, NULL, &v[0]), ARTEL_ERROR_INVALID);
        api_ok(ctx, begin_as(s, "a", NULL, ARTEL_DTYPE_FLOAT32, NULL, &v[0])); /* nothing was declared */
        artel_strategy_destroy(s);
        artel_context_destroy(ctx);
    }
    assert_memory_not_equal(first[0], first[1], sizeof value);
}

/* Rows that do not fit, after which everything is as before. */
static void test_wrong_runs(void **state)
{
    (void)state;
    const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, false, {0}};
    small b = open_small(&api_forms[3], &(artel_shape){0}, NULL);
    artel_function *f = declare(&b, trace_count, &b, &argument, 1, 1);
    float x[32] = {1}, before, now;
    const artel_array out = result(&before), wide = {.dtype = ARTEL_DTYPE_FLOAT64, .data = &before};
    const artel_array none = floats(x, (artel_shape){1, {0}}), many = floats(x, (artel_shape){1, {17}}),
                      matrix = floats(x, (artel_shape){2, {4, 4}}), null = floats(NULL, (artel_shape){1, {4}}),
                      good = floats(x, (artel_shape){1, {4}});
    assert_int_equal(artel_function_run(f, &none, 1, &out, 1), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_function_run(f, &many, 1, &out, 1), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(b.ctx)->advice, "batch_size"));
    assert_int_equal(artel_function_run(f, &matrix, 1, &out, 1), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_function_run(f, &null, 1, &out, 1), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_function_run(f, &good, 1, &wide, 1), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_function_run(f, &good, 1, &out, 0), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_strategy_runs(b.s), 0);
    api_ok(b.ctx, artel_function_run(f, &good, 1, &out, 1));
    api_ok(b.ctx, artel_variable_read(b.v, &now, 1));
    assert_float_equal(now, 0.25, 0);
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *late;
    o.name = "late";
    assert_int_equal(artel_variable_create(b.s, &o, &late), ARTEL_ERROR_INVALID);
    close_small(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients_on_paper), cmocka_unit_test(test_shared_values),
                                       cmocka_unit_test(test_assignments),        cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_refusals),           cmocka_unit_test(test_wrong_runs),
                                       cmocka_unit_test(test_initializers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
