/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Rows of tf.distribute's variables that have no function of their own here, by what docs/tf-distribute.md names in
 * their place, under every strategy of one process: VA5 scattered writes are computed and assigned, VA6 a variable is
 * one handle for all replicas, VA8 a variable lies where another one does by its place in a session. */
#include "api/help_api.h"

#include "artel/session.h"

enum {
    BATCH = 8,
    ROWS = 6, /* of the table */
    WIDTH = 2
};

typedef struct form {
    const char *strategy;
    int replicas;
} form;

static const form forms[] = {
    {"default", 0}, {"one-device", 1}, {"mirrored", 2}, {"mirrored", 3}, {"central-storage", 3}};

typedef enum kind {
    SCATTER_ADD,
    SCATTER_SUB,
    SCATTER_MUL, /* from here on each place is written once */
    SCATTER_DIV,
    SCATTER_MIN,
    SCATTER_MAX,
    SCATTER_UPDATE,
    KINDS
} kind;

typedef struct stage {
    artel_context *ctx;
    artel_strategy *strategy;
    artel_variable *table;
    kind kind;
} stage;

static float start_of(int i)
{
    return (float)(i * 5 % 7) - 3;
}

static stage begin(const form *f, kind k)
{
    float values[ROWS * WIDTH];
    stage s = {.ctx = api_context(), .kind = k};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    o.strategy = f->strategy;
    o.replicas = f->replicas;
    o.batch_size = BATCH;
    api_ok(s.ctx, artel_strategy_create(s.ctx, &o, &s.strategy));
    for (int i = 0; i < ROWS * WIDTH; i++) values[i] = start_of(i);
    v.name = "table";
    v.shape = (artel_shape){2, {ROWS, WIDTH}};
    v.initial = values;
    api_ok(s.ctx, artel_variable_create(s.strategy, &v, &s.table));
    return s;
}

static void end(stage *s)
{
    artel_strategy_destroy(s->strategy);
    artel_context_destroy(s->ctx);
}

static artel_value op(artel_graph *g, const char *name, artel_value x, const char *attributes)
{
    return artel_graph_op(g, name, &x, 1, attributes);
}

/* Each row of the batch names a row of the table and brings what is to be written there. */
static artel_status trace_scatter(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const stage *s = user;
    artel_value old = artel_graph_variable(g, s->table), one = artel_graph_number(g, 1),
                none = artel_graph_number(g, 0);
    artel_value place = op(g, "one_hot", in[0], "{\"num_classes\": 6}");
    artel_value hit = op(g, "expand_dims", place, "{\"axis\": -1}"),
                brought = op(g, "expand_dims", in[1], "{\"axis\": 1}");
    artel_value here = artel_graph_binary(g, "multiply", hit, brought);
    artel_value sum = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, here);
    artel_value any = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, hit);
    artel_value written = artel_graph_binary(g, "greater", any, none);
    artel_value other = s->kind == SCATTER_MUL || s->kind == SCATTER_DIV ? one : old;
    artel_value value = artel_graph_op(g, "where", (artel_value[]){written, sum, other}, 3, NULL);
    static const char *const with[KINDS] = {"add", "subtract", "multiply", "divide", "minimum", "maximum", NULL};
    if (s->kind <= SCATTER_SUB) value = sum;
    if (with[s->kind]) value = artel_graph_binary(g, with[s->kind], old, value);
    artel_graph_assign(g, s->table, value);
    out[0] = old;
    return artel_graph_status(g);
}

static float written(kind k, float old, float by)
{
    switch (k) {
    case SCATTER_ADD: return old + by;
    case SCATTER_SUB: return old - by;
    case SCATTER_MUL: return old * by;
    case SCATTER_DIV: return old / by;
    case SCATTER_MIN: return old < by ? old : by;
    case SCATTER_MAX: return old > by ? old : by;
    default: return by;
    }
}

static void scatter(const form *f, kind k)
{
    static const int32_t often[BATCH] = {2, 0, 2, 5, 2, 0, 1, 5}, once[BATCH] = {4, 0, 2, 5};
    int rows = k <= SCATTER_SUB ? BATCH : 4;
    float by[BATCH * WIDTH], expected[ROWS * WIDTH], got[ROWS * WIDTH], before[ROWS * WIDTH];
    stage s = begin(f, k);
    artel_function *function;
    const artel_argument arguments[2] = {{"place", ARTEL_DTYPE_INT32, false, {0, {0}}},
                                         {"by", ARTEL_DTYPE_FLOAT32, false, {1, {WIDTH}}}};
    const int32_t *place = k <= SCATTER_SUB ? often : once;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    api_ok(s.ctx, artel_function_create(s.strategy, &o, trace_scatter, &s, &function));
    for (int i = 0; i < BATCH * WIDTH; i++) by[i] = (float)(1 << i % 4) * (i % 3 ? 1 : -1);
    for (int i = 0; i < ROWS * WIDTH; i++) expected[i] = start_of(i);
    for (int i = 0; i < rows * WIDTH; i++) {
        float *at = &expected[place[i / WIDTH] * WIDTH + i % WIDTH];
        *at = written(k, *at, by[i]);
    }
    const artel_array in[2] = {{ARTEL_DTYPE_INT32, {1, {rows}}, (void *)(uintptr_t)place},
                               {ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, by}},
                      out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = before};
    api_ok(s.ctx, artel_function_run(function, in, 2, &out, 1));
    api_ok(s.ctx, artel_variable_read(s.table, got, ROWS * WIDTH));
    for (int i = 0; i < ROWS * WIDTH; i++) {
        assert_true(before[i] == start_of(i));
        if (got[i] != expected[i])
            fail_msg("%s, kind %d, element %d: %g, expected %g", f->strategy, k, i, (double)got[i],
                     (double)expected[i]);
    }
    end(&s);
}

static void VA5_scatter(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        for (int k = 0; k < KINDS; k++) scatter(&forms[f], (kind)k);
    }
}

/* What is assigned by the handle is what every replica reads, and what a run writes is read by the handle. */
static artel_status trace_twice(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const stage *s = user;
    artel_value sum = artel_graph_unary(g, "sum", artel_graph_variable(g, s->table));
    out[0] = artel_graph_binary(g, "multiply", in[0], sum);
    artel_graph_assign(g, s->table,
                       artel_graph_binary(g, "multiply", artel_graph_variable(g, s->table), artel_graph_number(g, 2)));
    return artel_graph_status(g);
}

static void VA6_packed(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        stage s = begin(&forms[f], SCATTER_ADD);
        artel_function *function;
        artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
        const artel_argument argument = {.name = "x"};
        float ones[ROWS * WIDTH], got[ROWS * WIDTH], x[BATCH], y[BATCH];
        o.arguments = &argument;
        o.argument_count = o.output_count = 1;
        api_ok(s.ctx, artel_function_create(s.strategy, &o, trace_twice, &s, &function));
        for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
        for (int i = 0; i < BATCH; i++) x[i] = (float)i;
        api_ok(s.ctx, artel_variable_assign(s.table, ones, ROWS * WIDTH));
        const artel_array in = {ARTEL_DTYPE_FLOAT32, {1, {BATCH}}, x}, out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = y};
        for (int round = 1; round <= 2; round++) {
            api_ok(s.ctx, artel_function_run(function, &in, 1, &out, 1));
            for (int i = 0; i < BATCH; i++) assert_true(y[i] == (float)(i * ROWS * WIDTH * round));
            api_ok(s.ctx, artel_variable_read(s.table, got, ROWS * WIDTH));
            for (int i = 0; i < ROWS * WIDTH; i++) assert_true(got[i] == (float)(2 * round));
        }
        end(&s);
    }
}

static void VA8_colocate(void **state)
{
    static const char *const names[] = {"/job:worker/task:0", "/job:ps/task:0"};
    artel_session *session;
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *beside;
    stage s = begin(&forms[1], SCATTER_ADD);
    (void)state;
    v.name = "beside";
    api_ok(s.ctx, artel_variable_create(s.strategy, &v, &beside));
    api_ok(s.ctx, artel_variable_set_device(s.table, "/job:ps"));
    api_ok(s.ctx, artel_variable_set_device(beside, artel_variable_device(s.table)));
    assert_int_equal(artel_variable_set_device(beside, "/nowhere:1"), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(s.ctx)->what, "nowhere"));
    o.tasks = names;
    o.task_count = 2;
    api_ok(s.ctx, artel_session_create(s.strategy, &o, &session));
    assert_string_equal(artel_session_place_of(session, s.table), "/job:ps/task:0");
    assert_string_equal(artel_session_place_of(session, beside), "/job:ps/task:0");
    artel_session_destroy(session);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest rows[] = {cmocka_unit_test(VA5_scatter), cmocka_unit_test(VA6_packed),
                                      cmocka_unit_test(VA8_colocate)};
    return cmocka_run_group_tests(rows, NULL, NULL);
}
