/* SPDX-License-Identifier: Apache-2.0 */
/* Text while a function is traced: values outside of the graph, those that the graph is fed, models that take text,
 * outputs. See texts.h. */
#include "function/texts.h"

#include <string.h>

#include "op/elementwise.h"
#include "op/node_attributes.h"

enum {
    MOST_PASSES = 16
};

/* -- values and steps -- */

artel_status artel__texts_create(artel_graph *g, int arguments)
{
    artel__texts *t = artel__arena_alloc(g->graph->arena, 1, sizeof *t);
    if (!t) return ARTEL_ERROR_NO_MEMORY;
    *t = (artel__texts){.arguments = arguments, .value_end = &t->value, .step_end = &t->step};
    g->texts = t;
    return ARTEL_OK;
}

artel__text_value *artel__text_value_new(artel_graph *g, artel_dtype dtype, const artel_shape *row, bool rows,
                                         const char *name)
{
    artel__text_value *v = artel__arena_alloc(g->graph->arena, 1, sizeof *v);
    if (!v) {
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return NULL;
    }
    *v = (artel__text_value){
        .name = name, .rows = rows, .argument = -1, .input = -1, .kept = -1, .place = ARTEL_NO_VALUE};
    artel__cells_describe(&v->row, dtype, row);
    artel__text_init(&v->text, g->ctx);
    *g->texts->value_end = v;
    g->texts->value_end = &v->next;
    return v;
}

artel__text_step *artel__text_step_new(artel_graph *g, artel__text_step_fn *run, const char *name, int inputs,
                                       int outputs)
{
    artel__arena *arena = g->graph->arena;
    artel__text_step *s = artel__arena_alloc(arena, 1, sizeof *s);
    artel__text_value **in = artel__arena_alloc(arena, (size_t)inputs + 1, sizeof *in);
    artel__text_value **out = artel__arena_alloc(arena, (size_t)outputs + 1, sizeof *out);
    const char *copy = artel__arena_strdup(arena, name);
    if (!s || !in || !out || !copy) {
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return NULL;
    }
    *s = (artel__text_step){.run = run, .name = copy, .in = in, .out = out, .inputs = inputs, .outputs = outputs};
    *g->texts->step_end = s;
    g->texts->step_end = &s->next;
    return s;
}

artel_value artel__text_give(artel_graph *g, artel__text_value *v)
{
    if (!v || g->graph->status < 0) return ARTEL_NO_VALUE;
    return artel__graph_put(g, &(artel__place){.value = ARTEL__NO_VALUE, .shape = v->row.shape, .text = v});
}

int artel__text_latest(artel__text_value *const *values, int count)
{
    int late = 0;
    for (int i = 0; i < count; i++) {
        if (values[i] && values[i]->late > late) late = values[i]->late;
    }
    return late;
}

artel_value artel__texts_argument(artel_graph *g, int argument, artel__value_id input, const char *name)
{
    if (input < 0) return ARTEL_NO_VALUE;
    const artel__value *value = &g->graph->value[input];
    artel__text_value *v =
        artel__text_value_new(g, value->dtype, &value->shape, value->domain == ARTEL__DOMAIN_ROW, name);
    if (!v) return ARTEL_NO_VALUE;
    v->argument = argument;
    return artel__graph_put(g, &(artel__place){.value = input, .shape = value->shape, .text = v});
}

/* -- out of the graph, and into it -- */

static artel__text_value *find_input(const artel_graph *g, int input)
{
    artel__text_value *v = g->texts->value;
    while (v && (input < g->texts->arguments ? v->argument : v->input) != input) v = v->next;
    return v;
}

artel__text_value *artel__text_known(artel_graph *g, artel__value_id id)
{
    if (id < 0 || g->graph->status < 0) return NULL;
    const artel__value *value = &g->graph->value[id];
    bool rows = value->domain == ARTEL__DOMAIN_ROW;
    if (value->input >= 0) {
        artel__text_value *found = find_input(g, value->input);
        if (found || value->input >= g->texts->arguments) return found;
        found = artel__text_value_new(g, value->dtype, &value->shape, rows, "argument");
        if (found) found->argument = value->input;
        return found;
    }
    if (value->node < 0 || g->graph->node[value->node].op != &artel__op_constant_def) return NULL;
    const artel__constant_attributes *constant = g->graph->node[value->node].attributes;
    artel__text_value *made = artel__text_value_new(g, value->dtype, &value->shape, rows, "constant");
    if (made) made->constant = constant->data;
    return made;
}

/* How late what a value of the graph depends on is: nodes stand in the order in which they are computed. */
static int depends_on(const artel_graph *g, artel__value_id id)
{
    const artel__graph *graph = g->graph;
    if (g->texts->passes == 0) return 0;
    uint8_t *late = artel__arena_alloc(graph->arena, (size_t)graph->values + 1, sizeof *late);
    if (!late) return 0; /* the arena remembers it */
    for (int i = g->texts->arguments; i < graph->inputs; i++) {
        const artel__text_value *v = find_input(g, i);
        late[graph->input[i]] = v ? (uint8_t)v->late : 0;
    }
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        uint8_t most = 0;
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] >= 0 && late[node->input[k]] > most) most = late[node->input[k]];
        }
        for (int k = 0; k < node->outputs; k++) late[node->output[k]] = most;
    }
    return late[id];
}

artel__text_value *artel__text_operand(artel_graph *g, artel_value value)
{
    if (g->graph->status < 0) return NULL;
    if (value >= 0 && value < g->places && g->place[value].text) return g->place[value].text;
    artel__value_id id = artel__graph_take(g, value);
    artel__text_value *known = artel__text_known(g, id);
    if (known || g->graph->status < 0) return known;
    const artel__value *found = &g->graph->value[id];
    artel__text_value *late =
        artel__text_value_new(g, found->dtype, &found->shape, found->domain == ARTEL__DOMAIN_ROW, "the graph");
    if (!late) return NULL;
    late->late = 1 + depends_on(g, id);
    g->texts->late = true;
    if (found->node < 0 && found->dtype <= ARTEL_DTYPE_FLOAT64) /* a variable: a copy of it */
        id = artel__op_unary(g->graph, ARTEL__UNARY_LINEAR, NULL, id);
    late->place = artel__graph_give(g, id);
    return late;
}

bool artel__texts_feed(artel_graph *g, artel__place *place)
{
    artel__text_value *v = place->text;
    if (v->row.dtype == ARTEL_DTYPE_STRING)
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "text", "docs/functions.md says which operations have strings",
                            "operations take numbers, and this value is text");
    else if (v->late > MOST_PASSES)
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, v->name, "give it back, and to a second function",
                            "what is made by text of what the graph computes goes back into it more than %d times",
                            MOST_PASSES);
    else if (v->late > g->texts->passes)
        g->texts->passes = v->late;
    if (g->graph->status < 0) return false;
    if (place->value >= 0) return true;
    if (v->input < 0) {
        artel__domain domain = v->rows ? ARTEL__DOMAIN_ROW : ARTEL__DOMAIN_GLOBAL;
        v->input = g->graph->inputs;
        (void)artel__graph_input(g->graph, domain, v->row.dtype, &v->row.shape);
        if (g->graph->status < 0) return false;
    }
    place->value = g->graph->input[v->input];
    return true;
}

/* -- models -- */

bool artel__texts_takes(const artel__model *model)
{
    for (int i = 0; i < model->inputs; i++) {
        if (model->input[i].dtype == ARTEL_DTYPE_STRING) return true;
    }
    return false;
}

artel__value_id artel__texts_input(artel_graph *g, artel_value value, const char *name)
{
    if (artel__texts_is(g, value)) {
        const artel__text_value *v = g->place[value].text;
        if (v->rows) return artel__ahead_stand_in(g->graph, ARTEL_DTYPE_STRING, &v->row.shape);
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, name, "string_lookup and string_to_hash_bucket_fast take it",
                            "models and layers of text take rows, and this text is shared");
        return ARTEL__NO_VALUE;
    }
    artel__value_id id = artel__graph_take(g, value);
    if (id < 0) return id;
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, name, "give it an argument of ARTEL_DTYPE_STRING",
                        "this input takes text, and was given %s", artel_dtype_name(g->graph->value[id].dtype));
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

/* Which value each input of the program is, where a step reads it. */
static artel_status find_inputs(artel_graph *g, const artel__model *model, const artel_value *inputs,
                                const artel__tensor *in, artel__text_step *step)
{
    artel__program_rows *rows = step->program;
    for (int i = 0; i < rows->program->inputs; i++) {
        const artel__value value = g->graph->value[in[i].value];
        rows->name[i] = model->input[i].name;
        artel__cells_describe(&rows->values[i], value.dtype, &value.shape);
        if (!is_read(rows->program, i)) continue;
        step->in[i] = artel__texts_is(g, inputs[i]) ? g->place[inputs[i]].text : artel__text_known(g, in[i].value);
        ARTEL_TRY(g->graph->status);
        if (!step->in[i] || step->in[i]->late)
            return artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, model->input[i].name,
                                       "call the model with an argument of the function, or what text makes of one",
                                       "layers that make numbers of text read this input, which is computed"),
                   g->graph->status;
    }
    return ARTEL_OK;
}

static artel_status run_program(artel_function *f, artel__text_step *step, int64_t rows)
{
    artel__program_rows *p = step->program;
    (void)f;
    for (int i = 0; i < step->inputs; i++) p->base[i] = step->in[i] ? step->in[i]->row.data : NULL;
    for (int v = 0; v < step->outputs; v++) {
        if (step->out[v]) p->base[v] = step->out[v]->row.data;
    }
    bool shared = step->inputs == 1 && step->in[0] && !step->in[0]->rows;
    return artel__program_run_rows(p, shared ? 1 : rows);
}

static artel__text_step *new_program(artel_graph *g, const artel__program *program, const char *name)
{
    artel__arena *arena = g->graph->arena;
    size_t values = (size_t)artel__program_values(program) + 1;
    artel__text_step *step =
        artel__text_step_new(g, run_program, name, program->inputs, artel__program_values(program));
    artel__program_rows *rows = artel__arena_alloc(arena, 1, sizeof *rows);
    if (!step || !rows) return NULL;
    *rows = (artel__program_rows){.program = program,
                                  .values = artel__arena_alloc(arena, values, sizeof *rows->values),
                                  .base = artel__arena_alloc(arena, values, sizeof *rows->base),
                                  .name = artel__arena_alloc(arena, values, sizeof *rows->name),
                                  .scratch = {.ctx = g->ctx}};
    step->program = rows;
    return artel__arena_status(arena) < 0 ? NULL : step;
}

artel_status artel__texts_begin(artel_graph *g, const artel__model *model, const artel_value *inputs,
                                const artel__tensor *in, artel__ahead *ahead)
{
    const artel__program *program = artel__model_program(model);
    artel__graph *graph = g->graph;
    if (!program)
        return graph->status = artel__fail(g->ctx, ARTEL_ERROR_UNSUPPORTED, model->name,
                                           "let a layer make numbers of it", "nothing reads its text");
    artel__text_step *step = new_program(g, program, model->name);
    if (!step) return graph->status = ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(find_inputs(g, model, inputs, in, step));
    artel__cells *values = step->program->values;
    artel_status status = artel__program_infer(g->ctx, program, values);
    if (status == ARTEL_OK) status = artel__ahead_replay(graph, program, ahead);
    if (status < 0) return graph->status = status;
    for (int v = 0; v < artel__program_values(program); v++) {
        if (v < program->inputs) {
            artel__ahead_set(ahead, v, in[v].value);
        } else if (program->delivered[v]) {
            const char *layer = program->step[v - program->inputs].layer;
            artel__text_value *made = artel__text_value_new(g, values[v].dtype, &values[v].shape, true, layer);
            if (!made) return graph->status;
            step->out[v] = made;
            made->input = graph->inputs;
            artel__ahead_set(ahead, v, artel__graph_input(graph, ARTEL__DOMAIN_ROW, made->row.dtype, &made->row.shape));
        } else {
            artel__ahead_set(ahead, v, artel__ahead_stand_in(graph, values[v].dtype, &values[v].shape));
        }
    }
    return graph->status;
}

/* A program of one function: what it gives. */
artel__text_value *artel__texts_program(artel_graph *g, const artel__program *program, artel__text_value *in,
                                        const char *name, json_t *held)
{
    artel__text_step *step = new_program(g, program, name);
    if (!step) {
        json_decref(held);
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return NULL;
    }
    artel__cells *values = step->program->values;
    step->json = held;
    step->in[0] = in;
    step->late = in->late;
    step->program->name[0] = name;
    values[0] = in->row;
    artel_status status = artel__program_infer(g->ctx, program, values);
    if (status < 0) {
        g->graph->status = status;
        return NULL;
    }
    artel__text_value *made = artel__text_value_new(g, values[1].dtype, &values[1].shape, in->rows, step->name);
    if (made) made->late = in->late;
    return step->out[1] = made;
}

/* -- the end -- */

bool artel__texts_output(artel_graph *g, artel_value value, artel__function_output *out)
{
    *out = (artel__function_output){-1, NULL};
    if (value < 0 || value >= g->places || g->graph->status < 0) return false;
    artel__text_value *v = g->place[value].text;
    if (!v || (v->row.dtype != ARTEL_DTYPE_STRING && !v->late)) return false;
    out->text = v;
    return true;
}

/* What the graph is fed, as arguments behind those of the function. */
static artel_status describe_inputs(artel_function *f)
{
    if (f->fed == f->arguments) return ARTEL_OK;
    artel__function_argument *all = artel__arena_alloc(&f->arena, (size_t)f->fed + 1, sizeof *all);
    if (!all) return ARTEL_ERROR_NO_MEMORY;
    memcpy(all, f->argument, (size_t)f->arguments * sizeof *all);
    for (const artel__text_value *v = f->texts->value; v; v = v->next) {
        if (v->input >= 0) all[v->input] = (artel__function_argument){v->name, v->row.dtype, !v->rows, v->row.shape};
    }
    f->argument = all;
    return ARTEL_OK;
}

/* What replicas hand out: outputs that the graph has, and behind them what text is made of. */
static artel_status list_results(artel_function *f, artel_graph *g)
{
    int count = f->outputs;
    for (artel__text_value *v = f->texts->value; v; v = v->next) {
        if (v->place < 0) continue;
        v->kept = artel__graph_keep(g->graph, g->place[v->place].value);
        count++;
    }
    ARTEL_TRY(g->graph->status);
    f->result = artel__arena_alloc(&f->arena, (size_t)count + 1, sizeof *f->result);
    if (!f->result) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < f->outputs; i++) {
        if (f->output[i].kept >= 0) f->result[f->results++] = (artel__function_result){f->output[i].kept, i, NULL};
    }
    for (artel__text_value *v = f->texts->value; v; v = v->next) {
        if (v->kept >= 0) f->result[f->results++] = (artel__function_result){v->kept, -1, v};
    }
    return ARTEL_OK;
}

int artel__texts_passes(const artel_function *f)
{
    return f->texts ? f->texts->passes : 0;
}

bool artel__texts_any(const artel_function *f)
{
    return f->texts && (f->texts->value || f->texts->step);
}

/* Shared values of rows come from one step alone. */
bool artel__texts_cross(const artel_function *f)
{
    bool cross = false;
    for (const artel__text_step *s = f->texts->step; s; s = s->next) {
        bool rows = false, shared = false;
        for (int i = 0; i < s->inputs; i++) rows = rows || (s->in[i] && s->in[i]->rows);
        for (int i = 0; i < s->outputs; i++) shared = shared || (s->out[i] && !s->out[i]->rows);
        cross = cross || (rows && shared);
    }
    return cross;
}

artel_status artel__texts_finish(artel_function *f, artel_graph *g)
{
    f->fed = f->graph.inputs;
    if (f->strategy->servers && artel__texts_any(f))
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_UNSUPPORTED, f->name, "make numbers of the text first",
                           "text, which is not sent to workers of parameter servers");
    ARTEL_TRY(describe_inputs(f));
    return list_results(f, g);
}

void artel__function_describe(const artel_function *f, int output, artel_dtype *dtype, artel_shape *shape, bool *rows)
{
    const artel__text_value *text = f->output[output].text;
    const artel__value *value = text ? NULL : &f->graph.value[f->graph.kept[f->output[output].kept]];
    *dtype = text ? text->row.dtype : value->dtype;
    *shape = text ? text->row.shape : value->shape;
    *rows = text ? text->rows : value->domain == ARTEL__DOMAIN_ROW;
}
