/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* Which strategy is current (ST2), and values that a function makes, one for each replica or as many as one says (ST8),
 * under every strategy (as test_conformance.c, with its arguments). */
#include "api/help_conformance_rows.h"

#include "artel/scope.h"
#include "artel/values.h"

/* -- ST2: the default strategy outside of scopes, the innermost one within; another one, and the wrong order, are
 * refused with the names of both -- */

static void expect_current(artel_context *ctx, const artel_strategy *wanted, bool has, bool across)
{
    artel_strategy *got;
    api_ok(ctx, artel_strategy_get(ctx, &got));
    assert_ptr_equal(got, wanted);
    assert_int_equal(artel_strategy_has(ctx), has);
    assert_int_equal(artel_strategy_across_replicas(ctx), across);
}

static void refused_with_both(const artel_context *ctx, artel_status status, const artel_strategy *one,
                              const artel_strategy *other)
{
    api_refused(ctx, status, ARTEL_ERROR_INVALID, artel_strategy_name(one));
    assert_non_null(strstr(artel_context_error(ctx)->what, artel_strategy_name(other)));
}

static artel_status trace_current(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    rows_stage *s = user;
    expect_current(s->ctx, s->strategy, true, false);
    api_refused(s->ctx, artel_strategy_enter(s->strategy), ARTEL_ERROR_INVALID, "while a function is traced");
    api_refused(s->ctx, artel_strategy_leave(s->strategy), ARTEL_ERROR_INVALID, "while a function is traced");
    api_refused(s->ctx, artel_strategy_set(s->ctx, NULL), ARTEL_ERROR_INVALID, "while a function is traced");
    return rows_trace_squares(s, g, in, out);
}

static artel_strategy *make_other(artel_context *ctx)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_strategy *other;
    o.strategy = "mirrored";
    o.replicas = 4;
    api_ok(ctx, artel_strategy_create(ctx, &o, &other));
    return other;
}

static void enter_and_leave(rows_stage *s, artel_strategy *other, artel_strategy *fallback)
{
    artel_function *f;
    api_ok(s->ctx, artel_strategy_enter(fallback)); /* as good as none */
    expect_current(s->ctx, fallback, false, false);
    for (int again = 0; again < 3; again++) {
        api_ok(s->ctx, artel_strategy_enter(s->strategy));
        expect_current(s->ctx, s->strategy, true, true);
    }
    refused_with_both(s->ctx, artel_strategy_enter(other), other, s->strategy);
    refused_with_both(s->ctx, artel_strategy_enter(fallback), fallback, s->strategy);
    refused_with_both(s->ctx, artel_strategy_leave(fallback), fallback, s->strategy);
    refused_with_both(s->ctx, artel_strategy_set(s->ctx, other), other, s->strategy);
    refused_with_both(s->ctx, artel_strategy_set(s->ctx, s->strategy), s->strategy, s->strategy);
    api_ok(s->ctx, rows_make(s, trace_current, 1, false, &f));
    for (int again = 0; again < 3; again++) {
        expect_current(s->ctx, s->strategy, true, true);
        api_ok(s->ctx, artel_strategy_leave(s->strategy));
    }
    expect_current(s->ctx, fallback, false, false);
    api_ok(s->ctx, artel_strategy_leave(fallback));
    api_refused(s->ctx, artel_strategy_leave(s->strategy), ARTEL_ERROR_INVALID, "has not been entered");
    api_ok(s->ctx, rows_make(s, trace_current, 1, false, &f)); /* which needs no scope */
    expect_current(s->ctx, fallback, false, false);
}

static void set(rows_stage *s, artel_strategy *other, const artel_strategy *fallback)
{
    api_ok(s->ctx, artel_strategy_set(s->ctx, other));
    expect_current(s->ctx, other, true, true);
    api_ok(s->ctx, artel_strategy_set(s->ctx, s->strategy));
    expect_current(s->ctx, s->strategy, true, true);
    refused_with_both(s->ctx, artel_strategy_enter(other), other, s->strategy);
    api_refused(s->ctx, artel_strategy_leave(s->strategy), ARTEL_ERROR_INVALID, "has not been entered");
    api_ok(s->ctx, artel_strategy_enter(s->strategy));
    refused_with_both(s->ctx, artel_strategy_set(s->ctx, other), other, s->strategy);
    api_ok(s->ctx, artel_strategy_leave(s->strategy));
    api_ok(s->ctx, artel_strategy_set(s->ctx, NULL));
    expect_current(s->ctx, fallback, false, false);
}

static void ST2_current_strategy(void **state)
{
    (void)state;
    assert_false(artel_strategy_has(NULL) || artel_strategy_across_replicas(NULL));
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        artel_strategy *fallback, *other = make_other(s.ctx);
        artel_context *apart = api_context();
        api_ok(s.ctx, artel_strategy_get(s.ctx, &fallback));
        assert_int_equal(artel_strategy_replicas(fallback), 1);
        expect_current(s.ctx, fallback, false, false);
        enter_and_leave(&s, other, fallback);
        assert_int_equal(s.traces, 2);
        set(&s, other, fallback);
        api_refused(apart, artel_strategy_set(apart, other), ARTEL_ERROR_INVALID, "the strategy");
        api_ok(s.ctx, artel_strategy_enter(other));
        assert_false(artel_strategy_has(apart)); /* scopes are a context's own */
        artel_strategy_destroy(other);
        expect_current(s.ctx, fallback, false, false); /* who ends is left */
        artel_context_destroy(apart);
        rows_end(&s);
    }
}

/* -- ST8: values from a function -- */

enum {
    OWN = 5 /* values, on any number of replicas */
};

typedef struct maker {
    int calls[64]; /* by value */
    int64_t of;    /* what the last call was told */
    artel_status status;
} maker;

static artel_status make_value(void *user, const artel_value_context *c, void *elements)
{
    maker *m = user;
    int32_t *to = elements;
    assert_true(c->struct_size == sizeof *c && c->id >= 0 && c->id < c->count && c->id < 64);
    if (m->status < 0) return m->status;
    m->calls[c->id]++;
    m->of = c->count;
    for (int i = 0; i < WIDTH; i++) to[i] = (int32_t)(10 * c->id + i);
    return ARTEL_OK;
}

/* The value of each row, and what x and it are together. */
static artel_status trace_values(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = in[1];
    out[1] = artel_graph_reduce(g, ARTEL_REDUCTION_SUM,
                                artel_graph_unary(g, "tanh", artel_graph_binary(g, "multiply", in[0], in[1])));
    return artel_graph_status(g);
}

typedef struct run {
    rows_stage *stage;
    artel_function *function;
    artel_values *values;
    int rows;
    float seen[BATCH * WIDTH], sum[WIDTH];
    int64_t first, count, all;
} run;

static artel_status run_unit(void *user, int64_t unit)
{
    run *r = user;
    artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {r->rows, WIDTH}}, rows_of}};
    const artel_array out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = r->seen},
                                {.dtype = ARTEL_DTYPE_FLOAT32, .data = r->sum}};
    (void)unit;
    artel_status status = artel_values_rows(r->values, r->rows, &in[1]);
    if (status == ARTEL_OK) status = artel_values_local(r->values, &r->first, &r->count, &r->all, NULL);
    if (status < 0) return status;
    return r->stage->on.coordinator ? conformance_run(&r->stage->on, r->function, in, 2, out, 2)
                                    : artel_function_run(r->function, in, 2, out, 2);
}

static artel_status run_values(run *r)
{
    const rows_stage *s = r->stage;
    if (s->on.form->together && !s->on.coordinator)
        return artel_strategy_loop(s->strategy, artel_strategy_units(s->strategy) + 1, run_unit, r);
    return run_unit(r, 0);
}

/* Of one a replica: replica i has the rows of its shards. */
static int value_of(const run *r, int row, int64_t values, bool own)
{
    for (int64_t i = 0; i < values; i++) {
        int64_t end =
            own ? (i + 1) * r->rows / values : (i + 1) * CONFORMANCE_SHARDS / values * r->rows / CONFORMANCE_SHARDS;
        if (row < end) return (int)i;
    }
    return -1;
}

static void check_values(run *r, maker *m, int64_t values, bool own)
{
    assert_true(m->of == values && r->all == values);
    for (int i = 0; i < r->rows * WIDTH; i++)
        assert_true(r->seen[i] == (float)(10 * value_of(r, i / WIDTH, values, own) + i % WIDTH));
    for (int i = 0; i < 64; i++) assert_int_equal(m->calls[i], i >= r->first && i < r->first + r->count);
    if (!r->stage->on.form->together || r->stage->on.coordinator) assert_true(r->first == 0 && r->count == values);
    if (!own && r->stage->on.form->together && !r->stage->on.coordinator)
        assert_int_equal(r->count, r->stage->on.form->replicas);
}

static artel_values *make_values(rows_stage *s, maker *m, int64_t count)
{
    artel_values_options o = ARTEL_VALUES_OPTIONS_INIT;
    artel_values *values;
    o.dtype = ARTEL_DTYPE_INT32;
    o.shape = (artel_shape){1, {WIDTH}};
    o.count = count;
    o.make = make_value;
    o.user = m;
    api_ok(s->ctx, artel_values_create(s->strategy, &o, &values));
    return values;
}

static void refuse_values(rows_stage *s)
{
    artel_values_options o = ARTEL_VALUES_OPTIONS_INIT;
    artel_values *values = NULL;
    api_refused(s->ctx, artel_values_create(s->strategy, &o, &values), ARTEL_ERROR_INVALID, "nothing makes");
    o.make = make_value;
    o.count = BATCH + 1;
    api_refused(s->ctx, artel_values_create(s->strategy, &o, &values), ARTEL_ERROR_INVALID, "17 values");
    o.count = 0;
    o.dtype = ARTEL_DTYPE_STRING;
    api_refused(s->ctx, artel_values_create(s->strategy, &o, &values), ARTEL_ERROR_UNSUPPORTED, "string");
    o.dtype = ARTEL_DTYPE_FLOAT32;
    o.shape = (artel_shape){1, {0}};
    api_refused(s->ctx, artel_values_create(s->strategy, &o, &values), ARTEL_ERROR_INVALID, "no elements");
    assert_null(values);
}

/* What the function says is said, and asked for again; of tasks outside of units nobody knows whose a value is. */
static void refuse_runs(run *r, maker *m)
{
    artel_array rows;
    rows_stage *s = r->stage;
    api_refused(s->ctx, artel_values_rows(r->values, 0, &rows), ARTEL_ERROR_INVALID, "0 rows");
    api_refused(s->ctx, artel_values_rows(r->values, BATCH + 1, &rows), ARTEL_ERROR_INVALID, "17 rows");
    if (s->on.form->together && !s->on.coordinator) {
        api_refused(s->ctx, artel_values_local(r->values, NULL, NULL, NULL, NULL), ARTEL_ERROR_INVALID,
                    "in their loop");
        return;
    }
    m->status = ARTEL_ERROR_IO;
    api_refused(s->ctx, artel_values_rows(r->values, 1, &rows), ARTEL_ERROR_IO, "could not be made");
    m->status = ARTEL_OK;
}

static void ST8_values_from_a_function(void **state)
{
    const artel_argument arguments[2] = {{.name = "x", .shape = {1, {WIDTH}}},
                                         {.name = "value", .shape = {1, {WIDTH}}}};
    float first[WIDTH] = {0};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        maker each = {.of = 0}, own = {.of = 0};
        run r = {.stage = &s};
        artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
        o.arguments = arguments;
        o.argument_count = o.output_count = 2;
        api_ok(s.ctx, artel_function_create(s.strategy, &o, trace_values, &s, &r.function));
        artel_values *of_replicas = make_values(&s, &each, 0), *of_mine = make_values(&s, &own, OWN);
        refuse_values(&s);
        bool here = conformance_start(&s.on);
        for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = (float)(i * 37 % 53) / 80 - 0.3f;
        r.values = of_mine;
        if (here) refuse_runs(&r, &own);
        for (r.rows = BATCH; r.rows > 0 && here; r.rows -= 5) {
            r.values = of_replicas;
            api_ok(s.ctx, run_values(&r));
            check_values(&r, &each, artel_strategy_replicas(s.strategy), false);
            r.values = of_mine;
            api_ok(s.ctx, run_values(&r));
            check_values(&r, &own, OWN, true);
            if (r.rows < BATCH) continue;
            if (conformance_leads(f)) memcpy(first, r.sum, sizeof first);
            assert_memory_equal(first, r.sum, sizeof first);
        }
        artel_values_destroy(of_mine); /* the other one ends with its strategy */
        artel_values_destroy(NULL);
        rows_end(&s);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(ST2_current_strategy),
                                      cmocka_unit_test(ST8_values_from_a_function)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
