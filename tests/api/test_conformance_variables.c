/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Rows of tf.distribute's variables that have no function of their own here, by what docs/tf-distribute.md names in
 * their place, under every strategy (as test_conformance.c): VA5 scattered writes, those that have no call are computed
 * and assigned, VA6 a variable is one handle for all replicas, VA8 a variable lies where another one does by its place
 * in a session. And values of float64 (ST9). */
#include "api/help_conformance.h"

#include <math.h>

#include "artel/session.h"

enum {
    BATCH = 8,
    ROWS = 6, /* of the table */
    WIDTH = 2
};

typedef enum kind {
    CALL_ADD, /* by the call of that name; the others are computed and assigned */
    CALL_SUB,
    CALL_OWN, /* what is added is the row itself, as it was */
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
    conformance_stage on;
    artel_variable *table;
    kind kind;
} stage;

static float start_of(int i)
{
    return (float)(i * 5 % 7) - 3;
}

static stage begin(const conformance_form *f, kind k)
{
    float values[ROWS * WIDTH];
    stage s = {.on = conformance_begin(f, BATCH), .kind = k};
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    s.ctx = s.on.ctx;
    for (int i = 0; i < ROWS * WIDTH; i++) values[i] = start_of(i);
    v.name = "table";
    v.shape = (artel_shape){2, {ROWS, WIDTH}};
    v.initial = values;
    api_ok(s.ctx, artel_variable_create(s.on.strategy, &v, &s.table));
    return s;
}

static void end(stage *s)
{
    conformance_end(&s->on);
}

static artel_value op(artel_graph *g, const char *name, artel_value x, const char *attributes)
{
    return artel_graph_op(g, name, &x, 1, attributes);
}

/* Each row of the batch names a row of the table and brings what is to be written there. */
static artel_status trace_scatter(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const stage *s = user;
    if (s->kind <= CALL_OWN) {
        out[0] = artel_graph_variable(g, s->table);
        const artel_value own[2] = {out[0], in[0]};
        artel_value brought = s->kind == CALL_OWN ? artel_graph_op(g, "take", own, 2, "{\"axis\": 0}") : in[1];
        (s->kind == CALL_SUB ? artel_graph_scatter_sub : artel_graph_scatter_add)(g, s->table, in[0], brought);
        return artel_graph_status(g);
    }
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
    static const char *const with[KINDS] = {NULL,       NULL,     NULL,      "add",     "subtract",
                                            "multiply", "divide", "minimum", "maximum", NULL};
    if (s->kind <= SCATTER_SUB) value = sum;
    if (with[s->kind]) value = artel_graph_binary(g, with[s->kind], old, value);
    artel_graph_assign(g, s->table, value);
    out[0] = old;
    return artel_graph_status(g);
}

static float written(kind k, float old, float by)
{
    switch (k) {
    case CALL_ADD:
    case CALL_OWN:
    case SCATTER_ADD: return old + by;
    case CALL_SUB:
    case SCATTER_SUB: return old - by;
    case SCATTER_MUL: return old * by;
    case SCATTER_DIV: return old / by;
    case SCATTER_MIN: return old < by ? old : by;
    case SCATTER_MAX: return old > by ? old : by;
    default: return by;
    }
}

/* A place that is none: nothing is written. */
static void refuse_place(stage *s, artel_function *function)
{
    int32_t place = ROWS;
    float by[WIDTH] = {1, 1}, before[ROWS * WIDTH];
    const artel_array in[2] = {{ARTEL_DTYPE_INT32, {1, {1}}, &place}, {ARTEL_DTYPE_FLOAT32, {2, {1, WIDTH}}, by}},
                      out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = before};
    api_refused(s->ctx, artel_function_run(function, in, 2, &out, 1), ARTEL_ERROR_INVALID, "index 6");
}

/* What is no row of the table, and no place in it. */
static artel_status trace_unfit(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const stage *s = user;
    out[0] = in[1];
    if (s->kind == CALL_ADD)
        artel_graph_scatter_add(g, s->table, in[0], op(g, "sum", in[1], "{\"axis\": 1}"));
    else
        artel_graph_scatter_sub(g, s->table, op(g, "cast", in[0], "{\"dtype\": \"float32\"}"), in[1]);
    return artel_graph_status(g);
}

static void scatter(const conformance_form *f, kind k)
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
    if (k <= CALL_SUB)
        api_refused(s.ctx, artel_function_create(s.on.strategy, &o, trace_unfit, &s, &function), ARTEL_ERROR_INVALID,
                    "table");
    api_ok(s.ctx, artel_function_create(s.on.strategy, &o, trace_scatter, &s, &function));
    for (int i = 0; i < BATCH * WIDTH; i++) by[i] = (float)(1 << i % 4) * (i % 3 ? 1 : -1);
    for (int i = 0; i < ROWS * WIDTH; i++) expected[i] = start_of(i);
    for (int i = 0; i < rows * WIDTH; i++) {
        float *at = &expected[place[i / WIDTH] * WIDTH + i % WIDTH];
        *at = written(k, *at, k == CALL_OWN ? start_of(place[i / WIDTH] * WIDTH + i % WIDTH) : by[i]);
    }
    const artel_array in[2] = {{ARTEL_DTYPE_INT32, {1, {rows}}, (void *)(uintptr_t)place},
                               {ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, by}},
                      out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = before};
    if (!conformance_start(&s.on)) {
        end(&s);
        return;
    }
    if (k <= CALL_SUB && !f->together && !f->device) refuse_place(&s, function);
    api_ok(s.ctx, conformance_run(&s.on, function, in, 2, &out, 1));
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
    for (int f = 0; f < conformance_count; f++) {
        for (int k = 0; k < KINDS; k++) scatter(&conformance_forms[f], (kind)k);
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
    for (int f = 0; f < conformance_count; f++) {
        stage s = begin(&conformance_forms[f], SCATTER_ADD);
        artel_function *function;
        artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
        const artel_argument argument = {.name = "x"};
        float ones[ROWS * WIDTH], got[ROWS * WIDTH], x[BATCH], y[BATCH];
        o.arguments = &argument;
        o.argument_count = o.output_count = 1;
        api_ok(s.ctx, artel_function_create(s.on.strategy, &o, trace_twice, &s, &function));
        for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
        if (!conformance_start(&s.on)) {
            end(&s);
            continue;
        }
        for (int i = 0; i < BATCH; i++) x[i] = (float)i;
        api_ok(s.ctx, artel_variable_assign(s.table, ones, ROWS * WIDTH));
        const artel_array in = {ARTEL_DTYPE_FLOAT32, {1, {BATCH}}, x}, out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = y};
        for (int round = 1; round <= 2; round++) {
            api_ok(s.ctx, conformance_run(&s.on, function, &in, 1, &out, 1));
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
    const conformance_form one = {"one-device", "one-device", 1, 1, NULL, false};
    stage s = begin(&one, SCATTER_ADD);
    (void)state;
    v.name = "beside";
    api_ok(s.ctx, artel_variable_create(s.on.strategy, &v, &beside));
    api_ok(s.ctx, artel_variable_set_device(s.table, "/job:ps"));
    api_ok(s.ctx, artel_variable_set_device(beside, artel_variable_device(s.table)));
    assert_int_equal(artel_variable_set_device(beside, "/nowhere:1"), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(s.ctx)->what, "nowhere"));
    o.tasks = names;
    o.task_count = 2;
    api_ok(s.ctx, artel_session_create(s.on.strategy, &o, &session));
    assert_string_equal(artel_session_place_of(session, s.table), "/job:ps/task:0");
    assert_string_equal(artel_session_place_of(session, beside), "/job:ps/task:0");
    artel_session_destroy(session);
    end(&s);
}

/* A session computes on the tasks' processors, and says so where a strategy does not. */
static void VA8_other_strategies(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        const conformance_form *form = &conformance_forms[f];
        stage s = begin(form, SCATTER_ADD);
        artel_session *session = NULL;
        artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
        artel_status status = artel_session_create(s.on.strategy, &o, &session);
        bool can = !form->device && !form->together && form->replicas < 2;
        assert_int_equal(status, can ? ARTEL_OK : ARTEL_ERROR_UNSUPPORTED);
        if (form->device) assert_non_null(strstr(artel_context_error(s.ctx)->what, "computes on processors"));
        artel_session_destroy(session);
        end(&s);
    }
}

/* -- ST9 in float64: rows, sums, means and extremes over them, gradients of two orders -- */

enum {
    BATCH64 = 16,
    WIDTH64 = 3,
    COLUMNS = 2,
    RESULTS = 8
};

static const double matrix[WIDTH64 * COLUMNS] = {0.1, -0.7, 0.3, 1.1, -0.9, 0.2};
static const int sizes[RESULTS] = {BATCH64 * COLUMNS, COLUMNS, 1, 1, WIDTH64 *COLUMNS, WIDTH64 *COLUMNS, 1, 1};

static artel_status trace_wide(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    const artel_value w = artel_graph_constant(g, ARTEL_DTYPE_FLOAT64, &(artel_shape){2, {WIDTH64, COLUMNS}}, matrix);
    out[0] = artel_graph_unary(g, "tanh", artel_graph_binary(g, "matmul", in[0], w));
    artel_value square = artel_graph_unary(g, "square", out[0]), zero = artel_graph_number(g, 0),
                truth = artel_graph_binary(g, "greater", out[0], zero);
    truth = artel_graph_op(g, "cast", &truth, 1, "{\"dtype\": \"float64\"}");
    out[6] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_loss(g, "hinge", truth, out[0]));
    out[7] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_loss(g, "dice", truth, square));
    artel_value sum = artel_graph_op(g, "sum", &square, 1, "{\"axis\": -1}");
    out[1] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, out[0]);
    out[2] = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, sum);
    out[3] =
        artel_graph_reduce(g, ARTEL_REDUCTION_SUM, artel_graph_binary(g, "multiply", sum, artel_graph_number(g, 0.1)));
    artel_status status = artel_graph_gradients(g, out[3], &w, 1, &out[4]);
    if (status < 0) return status;
    artel_value slopes = artel_graph_unary(g, "square", out[4]);
    return artel_graph_gradients(g, artel_graph_unary(g, "sum", slopes), &w, 1, &out[5]);
}

/* False: it is not computed here. */
static bool run_wide(conformance_stage *s, int rows, double result[RESULTS][BATCH64 * COLUMNS])
{
    double x[BATCH64 * WIDTH64];
    const artel_argument argument = {.name = "x", .dtype = ARTEL_DTYPE_FLOAT64, .shape = {1, {WIDTH64}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *f;
    artel_array out[RESULTS];
    const artel_array in = {ARTEL_DTYPE_FLOAT64, {2, {rows, WIDTH64}}, x};
    o.arguments = &argument;
    o.argument_count = 1;
    o.output_count = RESULTS;
    for (int i = 0; i < BATCH64 * WIDTH64; i++) x[i] = (i * 37 % 53) / 7.0 - 3;
    for (int i = 0; i < RESULTS; i++) out[i] = (artel_array){.dtype = ARTEL_DTYPE_FLOAT64, .data = result[i]};
    api_ok(s->ctx, artel_function_create(s->strategy, &o, trace_wide, NULL, &f));
    if (!conformance_start(s)) return false;
    artel_status status = conformance_run(s, f, &in, 1, out, RESULTS);
    api_ok(s->ctx, status);
    for (int i = 0; i < COLUMNS; i++) {
        double y = tanh(x[0] * matrix[i] + x[1] * matrix[COLUMNS + i] + x[2] * matrix[2 * COLUMNS + i]);
        assert_true(fabs(result[0][i] - y) < 1e-15);
    }
    return true;
}

/* Two losses that look at the whole batch: labels 0 and 1 are -1 and 1 to a hinge, Dice's overlap is one of all rows.
 */
static void check_wide_losses(int rows, double result[RESULTS][BATCH64 * COLUMNS])
{
    double hinge = 0, both = 0, all = 0;
    for (int i = 0; i < rows * COLUMNS; i++) {
        double y = result[0][i], truth = y > 0 ? 1 : 0;
        hinge += (1 - (2 * truth - 1) * y) / (rows * COLUMNS);
        both += truth * y * y;
        all += truth + y * y;
    }
    assert_true(fabs(result[6][0] - hinge) < 1e-14);
    assert_true(fabs(result[7][0] - (1 - 2 * both / (all + 1e-7))) < 1e-14);
}

/* What a device makes differs from what cores make in the last bits. */
static void ST9_float64(void **state)
{
    (void)state;
    static double first[2][RESULTS][BATCH64 * COLUMNS], other[RESULTS][BATCH64 * COLUMNS];
    for (int rows = BATCH64; rows > 0; rows -= 5) {
        for (int f = 0; f < conformance_count; f++) {
            bool leads = conformance_leads(f), device = conformance_forms[f].device != NULL;
            conformance_stage s = conformance_begin(&conformance_forms[f], BATCH64);
            bool here = run_wide(&s, rows, leads ? first[device] : other);
            if (here && leads) check_wide_losses(rows, first[device]);
            for (int i = 0; i < RESULTS && here; i++) {
                int count = i ? sizes[i] : rows * COLUMNS;
                if (!leads) assert_memory_equal(first[device][i], other[i], sizeof(double) * (size_t)count);
                for (int k = 0; k < count && leads && device; k++)
                    assert_true(fabs(first[1][i][k] - first[0][i][k]) <= 1e-13 * (1 + fabs(first[0][i][k])));
            }
            conformance_end(&s);
        }
    }
}

/* -- ST11: who is who, and that one task writes -- */

static void ST11_cluster(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    artel_cluster *mine = conformance_cluster;
    artel_cluster_options o = ARTEL_CLUSTER_OPTIONS_INIT;
    bool has_servers = conformance_has_servers(&conformance_forms[conformance_count - 1]);
    o.resolver = "none";
    if (!mine) api_ok(ctx, artel_cluster_open(ctx, &o, &mine));
    bool writes = artel_cluster_writes(mine);
    if (has_servers)
        assert_int_equal(strcmp(artel_cluster_role(mine), "chief") == 0, writes);
    else {
        assert_int_equal(artel_cluster_size(mine), conformance_tasks);
        assert_string_equal(artel_cluster_role(mine), "worker");
        assert_in_range(artel_cluster_index(mine), 0, conformance_tasks - 1);
        assert_int_equal(writes, artel_cluster_index(mine) == 0);
    }
    if (mine != conformance_cluster) artel_cluster_close(mine);
    artel_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest rows[] = {cmocka_unit_test(VA5_scatter),  cmocka_unit_test(VA6_packed),
                                      cmocka_unit_test(VA8_colocate), cmocka_unit_test(VA8_other_strategies),
                                      cmocka_unit_test(ST9_float64),  cmocka_unit_test(ST11_cluster)};
    conformance_open(argc, argv);
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
