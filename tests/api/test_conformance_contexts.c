/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* What a strategy refuses, by its name, and that it goes on (ST12): what needs rows or one value for all, ways to run
 * that are another strategy's, work within other work, devices that are none and operations that devices do not
 * compute. As test_conformance.c under all strategies, with its arguments. */
#include "api/help_conformance_rows.h"

#include "artel/control.h"
#include "artel/extend.h"

/* -- ST12: what needs rows, or one value for all, says so -- */

static artel_status trace_reduce_shared(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user, (void)in;
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, artel_graph_number(g, 1));
    return artel_graph_status(g);
}

static artel_status trace_assign_rows(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = in[0];
    artel_graph_assign(g, ((rows_stage *)user)->variable, artel_graph_op(g, "sum", in, 1, "{\"axis\": 1}"));
    return artel_graph_status(g);
}

static artel_status trace_assign_twice(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = in[0];
    for (int i = 0; i < 2; i++) artel_graph_assign(g, ((rows_stage *)user)->variable, artel_graph_number(g, i));
    return artel_graph_status(g);
}

static void ST12_contexts(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        rows_add_variable(&s, "v", NULL);
        rows_refused(&s, trace_reduce_shared, "no rows");
        rows_refused(&s, trace_assign_rows, "rows");
        rows_refused(&s, trace_assign_twice, "twice");
        rows_end(&s);
    }
}

/* -- ST12: each strategy has its way to run a function; the others are refused, and name it -- */

static artel_status count_unit(void *user, int64_t unit)
{
    (void)unit;
    ++*(int *)user;
    return ARTEL_OK;
}

static void names(const rows_stage *s, artel_status status, const char *call)
{
    assert_int_equal(status, ARTEL_ERROR_INVALID);
    if (!strstr(artel_context_error(s->ctx)->advice, call))
        fail_msg("%s: no %s in: %s", artel_strategy_name(s->strategy), call, artel_context_error(s->ctx)->advice);
}

static void ST12_outside_the_loop(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        artel_function *function;
        artel_coordinator *coordinator = NULL;
        int units = 0;
        float x[WIDTH] = {1, 2, 3}, y[WIDTH];
        const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {1, WIDTH}}, x},
                          out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = y};
        bool has_servers = conformance_has_servers(&conformance_forms[f]);
        api_ok(s.ctx, rows_make(&s, rows_trace_squares, 1, false, &function));
        artel_status status = artel_function_run(function, &in, 1, &out, 1);
        if (s.on.form->together)
            names(&s, status, has_servers ? "artel_coordinator_schedule" : "artel_strategy_loop");
        else
            api_ok(s.ctx, status);
        if (has_servers)
            names(&s, artel_strategy_loop(s.strategy, 1, count_unit, &units), "artel_coordinator_schedule");
        else {
            names(&s, artel_coordinator_open(s.strategy, NULL, &coordinator), "parameter-server");
            names(&s, artel_coordinator_serve(s.strategy), "parameter-server");
        }
        assert_true(units == 0 && !coordinator);
        rows_end(&s);
    }
}

/* -- ST12: a strategy within another one's work: named where it cannot be, and the outer one goes on -- */

typedef struct nest {
    rows_stage *outer;
    rows_stage *inner;
    artel_function *outer_step, *inner_step;
    int refusals, units;
} nest;

static artel_status nested_unit(void *user, int64_t unit)
{
    nest *n = user;
    float before;
    (void)unit;
    n->units++;
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {BATCH, WIDTH}}, rows_of},
                      out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &before};
    artel_status status = artel_strategy_loop(n->outer->strategy, 9, nested_unit, n);
    n->refusals += status == ARTEL_ERROR_INVALID &&
                   strstr(artel_context_error(n->outer->ctx)->what, "a loop in a unit of its own strategy");
    int64_t more = artel_strategy_units(n->inner->strategy) + 1;
    status = artel_strategy_loop(n->inner->strategy, more, count_unit, &n->units);
    n->refusals +=
        status == ARTEL_ERROR_INVALID && strstr(artel_context_error(n->inner->ctx)->what, "one thing at a time");
    if (!n->outer->on.form->together) api_ok(n->inner->ctx, artel_function_run(n->inner_step, &in, 1, &out, 1));
    return artel_function_run(n->outer_step, &in, 1, &out, 1);
}

static void nest_loops(nest *n)
{
    float total;
    bool together = n->outer->on.form->together;
    api_ok(n->outer->ctx,
           artel_strategy_loop(n->outer->strategy, artel_strategy_units(n->outer->strategy) + 2, nested_unit, n));
    assert_int_equal(n->refusals, together ? 4 : 2);
    assert_int_equal(n->units, together ? 2 : 4); /* alone the inner loop has units of its own */
    api_ok(n->outer->ctx, artel_variable_read(n->outer->variable, &total, 1));
    assert_true(total == 282); /* of two units of the outer loop: 141 are the numbers of a batch together */
}

/* A second coordinator of the same cluster is told so by what it is asked, and ends; the first does its work. */
static void nest_coordinators(nest *n)
{
    artel_coordinator *second;
    artel_remote *remote;
    assert_true(rows_step_total(n->outer, n->outer_step) == 11.5f); /* it is at work */
    api_ok(n->outer->ctx, artel_coordinator_open(n->inner->strategy, NULL, &second));
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {BATCH, WIDTH}}, rows_of};
    artel_status status = artel_coordinator_schedule(second, n->inner_step, &in, 1, NULL, &remote);
    if (status == ARTEL_OK) {
        status = artel_coordinator_join(second);
        artel_remote_release(remote);
    }
    assert_int_equal(status, ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(n->outer->ctx)->what, "one thing at a time"));
    assert_int_equal(artel_coordinator_close(second), ARTEL_ERROR_INVALID);
    for (int i = 2; i < 4; i++) assert_true(rows_step_total(n->outer, n->outer_step) == 11.5f * (float)i);
}

static void ST12_nested(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage outer = rows_begin(&conformance_forms[f]), inner = rows_begin(&conformance_forms[f]);
        nest n = {.outer = &outer, .inner = &inner};
        rows_add_variable(&outer, "total", NULL);
        rows_add_variable(&inner, "total", NULL);
        api_ok(outer.ctx, rows_make(&outer, rows_trace_total, 1, false, &n.outer_step));
        api_ok(inner.ctx, rows_make(&inner, rows_trace_total, 1, false, &n.inner_step));
        for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = (float)(i % 7);
        bool here = conformance_start(&outer.on);
        if (here && conformance_has_servers(&conformance_forms[f]))
            nest_coordinators(&n);
        else if (here)
            nest_loops(&n);
        rows_end(&inner);
        rows_end(&outer);
    }
}

/* -- ST12 on devices: what names none, what they do not compute; the strategy goes on -- */

static artel_status infer_same(void *user, const artel_shape *in, int count, artel_shape *out)
{
    (void)user, (void)count;
    *out = in[0];
    return ARTEL_OK;
}

static void compute_same(void *user, int64_t rows, int64_t width, const float *const *in, float *out)
{
    (void)user;
    memcpy(out, in[0], (size_t)(rows * width) * sizeof *out);
}

static artel_status trace_own(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_operation op = {.struct_size = sizeof op, .name = "mine", .infer = infer_same, .compute = compute_same};
    (void)user;
    out[0] = artel_graph_custom(g, &op, in, 1);
    return artel_graph_status(g);
}

static void refuse_devices(const conformance_form *f)
{
    static const char *const names[] = {"gpus", "cpu:xla,cpu", "cuda:x"};
    rows_stage place = rows_begin(f);
    artel_context *ctx = place.ctx;
    artel_strategy *made = NULL;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = f->strategy;
    o.cluster = f->together ? conformance_cluster : NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        o.device = names[i];
        artel_status status = artel_strategy_create(ctx, &o, &made);
        assert_true(status == ARTEL_ERROR_INVALID || status == ARTEL_ERROR_UNSUPPORTED);
        assert_string_equal(artel_context_error(ctx)->where, "device");
    }
    assert_null(made);
    rows_end(&place);
}

static void ST12_devices(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        refuse_devices(&conformance_forms[f]);
        rows_stage s = rows_begin(&conformance_forms[f]);
        artel_function *own, *rows;
        float y[BATCH * WIDTH];
        const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {BATCH, WIDTH}}, rows_of},
                          out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = y};
        api_ok(s.ctx, rows_make(&s, trace_own, 1, false, &own));
        api_ok(s.ctx, rows_make(&s, rows_trace_squares, 1, false, &rows));
        if (conformance_start(&s.on)) {
            rows_run(&s, rows, BATCH, (float *[]){y}, 1);
            artel_status status = conformance_run(&s.on, own, &in, 1, &out, 1);
            assert_int_equal(status, s.on.form->device ? ARTEL_ERROR_UNSUPPORTED : ARTEL_OK);
            if (s.on.form->device) assert_non_null(strstr(artel_context_error(s.ctx)->what, "custom:mine"));
            if (!s.on.form->together || !s.on.form->device) rows_run(&s, rows, BATCH, (float *[]){y}, 1);
            for (int i = 0; i < BATCH * WIDTH; i++) assert_true(y[i] == rows_of[i] * rows_of[i]);
        }
        rows_end(&s);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(ST12_contexts), cmocka_unit_test(ST12_outside_the_loop),
                                      cmocka_unit_test(ST12_nested), cmocka_unit_test(ST12_devices)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
