/* SPDX-License-Identifier: Apache-2.0 */
#include "api/help_conformance_rows.h"

rows_stage rows_begin(const conformance_form *f)
{
    rows_stage s = {.on = conformance_begin(f, BATCH)};
    s.ctx = s.on.ctx;
    s.strategy = s.on.strategy;
    return s;
}

void rows_end(rows_stage *s)
{
    conformance_end(&s->on);
}

void rows_add_variable(rows_stage *s, const char *name, const float *initial)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = name;
    o.initial = initial;
    api_ok(s->ctx, artel_variable_create(s->strategy, &o, &s->variable));
}

artel_status rows_make(rows_stage *s, artel_trace_fn *trace, int outputs, bool training, artel_function **out)
{
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = &x;
    o.argument_count = 1;
    o.output_count = outputs;
    o.training = training;
    return artel_function_create(s->strategy, &o, trace, s, out);
}

float rows_of[BATCH * WIDTH];

void rows_run(rows_stage *s, artel_function *f, int rows, float *const *outputs, int count)
{
    artel_array out[8];
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, rows_of};
    for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = (float)(i * 37 % 53) / 8 - 3;
    for (int i = 0; i < count; i++) out[i] = (artel_array){.dtype = ARTEL_DTYPE_FLOAT32, .data = outputs[i]};
    api_ok(s->ctx, conformance_run(&s->on, f, &in, 1, out, count));
}

void rows_refused(rows_stage *s, artel_trace_fn *trace, const char *word)
{
    artel_function *f;
    assert_int_equal(rows_make(s, trace, 1, false, &f), ARTEL_ERROR_INVALID);
    if (!strstr(artel_context_error(s->ctx)->what, word))
        fail_msg("no %s in: %s", word, artel_context_error(s->ctx)->what);
}

artel_status rows_trace_squares(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    ((rows_stage *)user)->traces++;
    out[0] = artel_graph_unary(g, "square", in[0]);
    return artel_graph_status(g);
}

artel_status rows_trace_total(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    rows_stage *s = user;
    artel_value rows = artel_graph_op(g, "sum", in, 1, "{\"axis\": 1}"), old = artel_graph_variable(g, s->variable);
    out[0] = old;
    artel_graph_assign(g, s->variable,
                       artel_graph_binary(g, "add", old, artel_graph_reduce(g, ARTEL_REDUCTION_SUM, rows)));
    return artel_graph_status(g);
}

float rows_step_total(rows_stage *s, artel_function *f)
{
    float before, total;
    rows_run(s, f, BATCH, (float *[]){&before}, 1);
    api_ok(s->ctx, artel_variable_read(s->variable, &total, 1));
    return total;
}
