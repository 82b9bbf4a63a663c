/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: traced once, sealed, planned at their first run.
 *
 * What a function gives back is kept by the graph; the passes that a step of fit goes through are gone through here,
 * too, so that a loop which does what fit does has its graph.
 */
#include <string.h>

#include "function/direct.h"
#include "function/function_impl.h"
#include "function/tape.h"
#include "function/texts.h"
#include "op/elementwise.h"
#include "op/fuse.h"

static const artel__range ranges[] = {{.name = NULL}};
static const artel__options_kind kind = {"function options", "begin with ARTEL_FUNCTION_OPTIONS_INIT",
                                         sizeof(artel_function_options), ranges};

enum {
    MOST_ARGUMENTS = 4096,
    MOST_OUTPUTS = 4096
};

static artel_status check_options(artel_context *ctx, const artel_function_options *o)
{
    if (o->argument_count < 0 || o->argument_count > MOST_ARGUMENTS || (o->argument_count > 0 && !o->arguments))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "function options", "describe 0 to 4096 arguments",
                           "%d arguments%s", o->argument_count, o->arguments ? "" : ", and no description");
    if (o->output_count < 0 || o->output_count > MOST_OUTPUTS)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "function options", "declare 0 to 4096 outputs", "%d outputs",
                           o->output_count);
    return ARTEL_OK;
}

static artel_status take_argument(artel_function *f, const artel_argument *from, int i)
{
    artel__function_argument *to = &f->argument[i];
    const char *name =
        from->name ? artel__arena_strdup(&f->arena, from->name) : artel__arena_printf(&f->arena, "argument %d", i);
    if (!name) return ARTEL_ERROR_NO_MEMORY;
    *to = (artel__function_argument){name, from->dtype, from->shared, from->shape};
    bool text = from->dtype == ARTEL_DTYPE_STRING;
    if (!artel__computes_with(from->dtype) && !text)
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_UNSUPPORTED, name,
                           "use float32, float64, int32, int64, bool or string; arrays are converted",
                           "an argument of %s", artel_dtype_name(from->dtype));
    if (from->shape.rank < 0 || from->shape.rank >= ARTEL_MAX_RANK || artel_shape_count(&from->shape) < 0)
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, name, "use 0 to 7 axes", "this shape is none");
    if (!from->shared) f->rows_arguments++;
    return ARTEL_OK;
}

/* -- tracing -- */

static artel_status trace_body(artel_function *f, artel_graph *g, artel_trace_fn *trace, void *user)
{
    artel__graph *graph = g->graph;
    artel_value *in = artel__arena_alloc(&f->arena, (size_t)f->arguments + 1, sizeof *in);
    artel_value *out = artel__arena_alloc(&f->arena, (size_t)f->outputs + 1, sizeof *out);
    if (!in || !out) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < f->arguments; i++) {
        artel__domain domain = f->argument[i].shared ? ARTEL__DOMAIN_GLOBAL : ARTEL__DOMAIN_ROW;
        artel__value_id input = artel__graph_input(graph, domain, f->argument[i].dtype, &f->argument[i].shape);
        in[i] = f->argument[i].dtype == ARTEL_DTYPE_STRING ? artel__texts_argument(g, i, input, f->argument[i].name)
                                                           : artel__graph_give(g, input);
    }
    for (int i = 0; i < f->outputs; i++) out[i] = ARTEL_NO_VALUE;
    ARTEL_TRY(graph->status);
    artel_status status = trace(user, g, in, out);
    if (status >= 0) artel__devices_finish(g);
    ARTEL_TRY(graph->status);
    if (status < 0)
        return artel__fail(f->strategy->ctx, status, f->name, "see what it has found", "the traced function failed");
    artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_LEAVE}, out, f->outputs);
    for (int i = 0; i < f->outputs; i++) {
        if (out[i] == ARTEL_NO_VALUE)
            return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name,
                               "write every declared output; a gradient by what the target does not depend on is none",
                               "output %d was not written", i);
        if (artel__texts_output(g, out[i], &f->output[i])) continue;
        artel__value_id value = artel__graph_take(g, out[i]);
        ARTEL_TRY(graph->status);
        if (graph->value[value].node < 0 &&
            graph->value[value].dtype <= ARTEL_DTYPE_FLOAT64) /* an argument, a variable: a copy of it */
            value = artel__op_unary(graph, ARTEL__UNARY_LINEAR, NULL, value);
        f->output[i].kept = artel__graph_keep(graph, value);
    }
    artel__elsewhere_keep(f, g);
    return graph->status;
}

static artel_status finish(artel_function *f, const artel_graph *g)
{
    artel__graph *graph = &f->graph;
    f->scaling = graph->gate >= 0 ? g->scaling : NULL;
    if (f->scaling) f->gate = artel__graph_keep(graph, graph->gate);
    if (!f->strategy->servers) artel__op_round_variables(graph);
    if (g->applies > 0) artel__op_narrow_late(graph);
    ARTEL_TRY(artel__op_fuse_gradients(graph));
    ARTEL_TRY(artel__graph_seal(graph));
    f->writes = g->texts && g->texts->write;
    for (int i = 0; i < graph->nodes; i++) f->writes = f->writes || graph->node[i].phase == ARTEL__PHASE_APPLY;
    f->applied = g->applied;
    f->applies = g->applies;
    return f->strategy->servers ? artel__elsewhere_finish(f) : ARTEL_OK;
}

static artel_status trace_function(artel_function *f, artel_trace_fn *trace, void *user)
{
    artel_strategy *s = f->strategy;
    artel_graph g = {.ctx = s->ctx, .strategy = s, .graph = &f->graph};
    g.assigned = artel__arena_alloc(&f->arena, (size_t)s->variables.count + 1, sizeof *g.assigned);
    g.tape = f->tape = artel__arena_alloc(&f->arena, 1, sizeof *f->tape);
    if (!g.assigned || !g.tape) return ARTEL_ERROR_NO_MEMORY;
    artel__graph_init(&f->graph, &f->arena, &s->variables, f->training);
    f->graph.batch_size = s->options.batch_size;
    f->graph.arithmetic = s->arithmetic;
    ARTEL_TRY(artel__texts_create(&g, f->arguments));
    f->texts = g.texts;
    ARTEL_TRY(trace_body(f, &g, trace, user));
    f->devices = g.devices;
    ARTEL_TRY(artel__texts_finish(f, &g));
    return finish(f, &g);
}

static artel_status make(artel_function *f, const artel_function_options *o, artel_trace_fn *trace, void *user)
{
    f->name = artel__arena_strdup(&f->arena, o->name ? o->name : "function");
    f->argument = artel__arena_alloc(&f->arena, (size_t)o->argument_count + 1, sizeof *f->argument);
    f->output = artel__arena_alloc(&f->arena, (size_t)o->output_count + 1, sizeof *f->output);
    ARTEL_TRY(artel__arena_status(&f->arena));
    f->arguments = o->argument_count;
    f->outputs = o->output_count;
    f->training = o->training;
    for (int i = 0; i < f->arguments; i++) ARTEL_TRY(take_argument(f, &o->arguments[i], i));
    return trace_function(f, trace, user);
}

artel_status artel_function_create(artel_strategy *s, const artel_function_options *options, artel_trace_fn *trace,
                                   void *user, artel_function **out)
{
    artel_function_options chosen = ARTEL_FUNCTION_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy options out", s, options, out));
    ARTEL_TRY(artel__take_options(s->ctx, &kind, options, &chosen));
    if (!trace)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "function", "give a function to trace", "trace is NULL");
    ARTEL_TRY(check_options(s->ctx, &chosen));
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(artel_function), "function", &block));
    artel_function *f = block;
    f->strategy = s;
    artel__arena_init(&f->arena, s->ctx);
    artel__arena_init(&f->place, s->ctx);
    artel__text_init(&f->text, s->ctx);
    artel__scope_frame frame;
    artel_status status = artel__scope_trace(s, &frame);
    if (status == ARTEL_OK) {
        uint32_t caller = artel__fp_enter();
        status = make(f, &chosen, trace, user);
        artel__fp_leave(caller);
        artel__scope_untrace(&frame);
    }
    if (status < 0) {
        artel__function_destroy(f);
        return status;
    }
    f->number = s->function ? s->function->number + 1 : 0;
    f->next = s->function;
    s->function = f;
    *out = f;
    return ARTEL_OK;
}

artel_status artel_function_output(const artel_function *f, int index, artel_dtype *dtype, artel_shape *shape,
                                   bool *rows)
{
    ARTEL_TRY(artel__enter(f ? f->strategy->ctx : NULL, __func__, "function", f));
    if (index < 0 || index >= f->outputs)
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name, "count from 0", "there is no output %d",
                           index);
    artel_dtype type;
    artel_shape form;
    bool by_row;
    artel__function_describe(f, index, dtype ? dtype : &type, shape ? shape : &form, rows ? rows : &by_row);
    return ARTEL_OK;
}

const char *artel_function_explain(artel_function *f)
{
    if (!f) return "";
    artel__text_clear(&f->text);
    artel__text_printf(&f->text, "# %s graph\n", f->name);
    artel__graph_dump(&f->graph, &f->text);
    artel__texts_dump(f, &f->text);
    if (f->plan) {
        artel__text_printf(&f->text, "# %s plan\n", f->name);
        artel__executable_dump(f->plan, &f->text);
    }
    return f->text.data;
}
