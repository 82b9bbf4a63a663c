/* SPDX-License-Identifier: Apache-2.0 */
/* Text in functions.
 *
 * Strings exist in no graph. A model that takes them is called with arguments of the function, and those of its layers
 * that make numbers of text are a program of row functions (nn/ahead.h), which a run computes of the caller's rows
 * before its replicas begin: on every task of all rows, so that all fail where one does. The results are inputs of the
 * graph behind the arguments, and nothing else knows of text.
 */
#include <string.h>

#include "function/function_impl.h"

/* -- tracing -- */

bool artel__texts_takes(const artel__model *model)
{
    for (int i = 0; i < model->inputs; i++) {
        if (model->input[i].dtype == ARTEL_DTYPE_STRING) return true;
    }
    return false;
}

artel__value_id artel__texts_input(artel_graph *g, artel_value value, const char *name)
{
    const artel__place *place = artel__graph_place(g, value);
    if (!place) return ARTEL__NO_VALUE;
    if (g->graph->value[place->value].dtype == ARTEL_DTYPE_STRING) return place->value;
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, name, "give it an argument of ARTEL_DTYPE_STRING",
                        "this input takes text, and was given %s",
                        artel_dtype_name(g->graph->value[place->value].dtype));
    return ARTEL__NO_VALUE;
}

static bool is_read(const artel__program *program, int value)
{
    for (int s = 0; s < program->steps; s++) {
        for (int k = 0; k < program->step[s].inputs; k++) {
            if (program->step[s].in[k] == value) return true;
        }
    }
    return false;
}

static artel__function_text *new_text(artel_graph *g, const artel__program *program)
{
    artel__arena *arena = g->graph->arena;
    size_t values = (size_t)artel__program_values(program) + 1;
    artel__function_text *t = artel__arena_alloc(arena, 1, sizeof *t);
    if (!t) return NULL;
    t->rows = (artel__program_rows){.program = program,
                                    .values = artel__arena_alloc(arena, values, sizeof *t->rows.values),
                                    .base = artel__arena_alloc(arena, values, sizeof *t->rows.base),
                                    .name = artel__arena_alloc(arena, values, sizeof *t->rows.name),
                                    .scratch = {.ctx = g->ctx}};
    t->argument = artel__arena_alloc(arena, values, sizeof *t->argument);
    t->fed = artel__arena_alloc(arena, values, sizeof *t->fed);
    t->block = artel__arena_alloc(arena, values, sizeof *t->block);
    t->bytes = artel__arena_alloc(arena, values, sizeof *t->bytes);
    return artel__arena_status(arena) < 0 ? NULL : t;
}

/* Inputs of the graph are arguments, and, behind them, what is fed for models that were called before. */
static bool is_argument(const artel_graph *g, int input)
{
    for (const artel__function_text *t = g->texts; t && input >= 0; t = t->next) {
        for (int v = 0; v < artel__program_values(t->rows.program); v++) {
            if (t->fed[v] == input) return false;
        }
    }
    return input >= 0;
}

/* Which argument each input of the program is, where a step reads it. */
static artel_status find_arguments(artel_graph *g, const artel__model *model, const artel__tensor *in,
                                   artel__function_text *t)
{
    for (int i = 0; i < t->rows.program->inputs; i++) {
        const artel__value *value = &g->graph->value[in[i].value];
        t->argument[i] = -1;
        t->rows.name[i] = model->input[i].name;
        artel__cells_describe(&t->rows.values[i], value->dtype, &value->shape);
        if (!is_read(t->rows.program, i)) continue;
        t->argument[i] = value->input;
        if (!is_argument(g, value->input))
            return artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, model->input[i].name,
                                       "call the model with an argument of the function",
                                       "layers that make numbers of text read this input, which is computed"),
                   g->graph->status;
    }
    return ARTEL_OK;
}

artel_status artel__texts_begin(artel_graph *g, const artel__model *model, const artel__tensor *in, artel__ahead *ahead)
{
    const artel__program *program = artel__model_program(model);
    artel__graph *graph = g->graph;
    artel__function_text *t = program ? new_text(g, program) : NULL;
    if (!t)
        return graph->status = program ? ARTEL_ERROR_NO_MEMORY
                                       : artel__fail(g->ctx, ARTEL_ERROR_UNSUPPORTED, model->name,
                                                     "let a layer make numbers of it", "nothing reads its text");
    ARTEL_TRY(find_arguments(g, model, in, t));
    artel_status status = artel__program_infer(g->ctx, program, t->rows.values);
    if (status == ARTEL_OK) status = artel__ahead_replay(graph, program, ahead);
    if (status < 0) return graph->status = status;
    for (int v = 0; v < artel__program_values(program); v++) {
        const artel__cells *value = &t->rows.values[v];
        t->fed[v] = -1;
        if (v < program->inputs) {
            artel__ahead_set(ahead, v, in[v].value);
        } else if (program->delivered[v]) {
            t->fed[v] = graph->inputs;
            artel__ahead_set(ahead, v, artel__graph_input(graph, ARTEL__DOMAIN_ROW, value->dtype, &value->shape));
        } else {
            artel__ahead_set(ahead, v, artel__ahead_stand_in(graph, value->dtype, &value->shape));
        }
    }
    t->next = g->texts;
    g->texts = t;
    return graph->status;
}

static bool has_text(const artel_function *f)
{
    for (int i = 0; i < f->arguments; i++) {
        if (f->argument[i].dtype == ARTEL_DTYPE_STRING) return true;
    }
    return false;
}

artel_status artel__texts_finish(artel_function *f, const artel_graph *g)
{
    f->texts = g->texts;
    f->fed = f->graph.inputs;
    if (f->strategy->servers && has_text(f))
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_UNSUPPORTED, f->name, "make numbers of the text first",
                           "an argument of text, which is not sent to workers of parameter servers");
    if (f->fed == f->arguments) return ARTEL_OK;
    artel__function_argument *all = artel__arena_alloc(&f->arena, (size_t)f->fed + 1, sizeof *all);
    if (!all) return ARTEL_ERROR_NO_MEMORY;
    memcpy(all, f->argument, (size_t)f->arguments * sizeof *all);
    for (const artel__function_text *t = f->texts; t; t = t->next) {
        for (int v = 0; v < artel__program_values(t->rows.program); v++) {
            const artel__cells *value = &t->rows.values[v];
            if (t->fed[v] < 0) continue;
            const char *layer = t->rows.program->step[v - t->rows.program->inputs].layer;
            all[t->fed[v]] = (artel__function_argument){layer, value->dtype, false, value->shape};
        }
    }
    f->argument = all;
    return ARTEL_OK;
}

/* -- running -- */

static size_t row_bytes(const artel__cells *value)
{
    return (size_t)value->count * artel__cell_size(value->dtype);
}

/* Rows that the function holds: what is fed, and numbers that steps read, converted. */
static artel_status open_text(artel_function *f, artel__function_text *t)
{
    artel_context *ctx = f->strategy->ctx;
    void *block;
    for (int v = 0; v < artel__program_values(t->rows.program); v++) {
        const artel__cells *value = &t->rows.values[v];
        bool input = v < t->rows.program->inputs;
        bool held = input ? t->argument[v] >= 0 && value->dtype != ARTEL_DTYPE_STRING : t->fed[v] >= 0;
        if (!held) continue;
        size_t bytes = row_bytes(value) * (size_t)f->strategy->options.batch_size + 64;
        ARTEL_TRY(artel__alloc_aligned(ctx, bytes, f->name, &t->block[v]));
        t->bytes[v] = bytes;
        t->rows.base[v] = t->block[v];
    }
    t->row_bytes = artel__program_block(&t->rows);
    ARTEL_TRY(artel__alloc_aligned(ctx, t->row_bytes, f->name, &block));
    t->rows.block = block;
    return ARTEL_OK;
}

artel_status artel__texts_open(artel_function *f)
{
    for (artel__function_text *t = f->texts; t; t = t->next) ARTEL_TRY(open_text(f, t));
    return ARTEL_OK;
}

void artel__texts_close(artel_function *f)
{
    artel_context *ctx = f->strategy->ctx;
    for (artel__function_text *t = f->texts; t; t = t->next) {
        for (int v = 0; v < artel__program_values(t->rows.program); v++) {
            if (t->bytes[v]) artel__free_aligned(ctx, t->block[v], t->bytes[v]);
            t->block[v] = t->rows.base[v] = NULL;
            t->bytes[v] = 0;
        }
        if (t->rows.block) artel__free_aligned(ctx, t->rows.block, t->row_bytes);
        t->rows.block = NULL;
        artel__row_scratch_fini(&t->rows.scratch);
    }
}

static artel_status run_text(artel__function_text *t, const artel_array *in, int64_t rows)
{
    for (int v = 0; v < t->rows.program->inputs; v++) {
        const artel__cells *value = &t->rows.values[v];
        if (t->argument[v] < 0) continue;
        const artel_array *given = &in[t->argument[v]];
        if (value->dtype == ARTEL_DTYPE_STRING)
            t->rows.base[v] = given->data;
        else
            artel__convert(given->dtype, given->data, value->dtype, t->rows.base[v], rows * value->count);
    }
    return artel__program_run_rows(&t->rows, rows);
}

artel_status artel__texts_run(artel_function *f, const artel_array *in, int64_t rows)
{
    if (!f->texts) return ARTEL_OK;
    uint32_t caller = artel__fp_enter();
    artel_status status = ARTEL_OK;
    for (artel__function_text *t = f->texts; t && status == ARTEL_OK; t = t->next) status = run_text(t, in, rows);
    artel__fp_leave(caller);
    return status;
}

const void *artel__texts_fed(const artel_function *f, int input)
{
    for (const artel__function_text *t = f->texts; t; t = t->next) {
        for (int v = 0; v < artel__program_values(t->rows.program); v++) {
            if (t->fed[v] == input) return t->block[v];
        }
    }
    return NULL;
}
