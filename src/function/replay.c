/* SPDX-License-Identifier: Apache-2.0 */
/* A tape, played: the calls of a function that was saved, made on a graph that is traced.
 *
 * The public functions check what they are given; here is checked what they cannot know: that places fit into the table
 * of values, that there is room for what a call writes, that callbacks of control flow get what is theirs and give as
 * many values as they must. */
#include <string.h>

#include "base/extension.h"
#include "artel/control.h"
#include "artel/extend.h"
#include "function/saved_impl.h"

enum {
    MOST_DEPTH = 32 /* of control flow in control flow */
};

static artel_status damaged(const artel__replay *r, const char *what)
{
    return artel__saved_damaged(r->saved, "calls", what);
}

/* Values of the graph for those of the tape, in memory of the file's. */
static artel_status values_of(artel__replay *r, const artel_value *places, int count, artel_value **out)
{
    artel_value *values = artel__arena_alloc(&r->saved->arena, (size_t)count + 1, sizeof *values);
    if (!values) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        if (places[i] >= r->places) return damaged(r, "a value that there is not");
        values[i] = places[i] < 0 ? ARTEL_NO_VALUE : r->value[places[i]];
    }
    *out = values;
    return ARTEL_OK;
}

static artel_status set_values(artel__replay *r, const artel_value *places, int count, const artel_value *values)
{
    for (int i = 0; i < count; i++) {
        if (places[i] >= r->places) return damaged(r, "a value that there is not");
        if (places[i] >= 0) r->value[places[i]] = values[i];
    }
    return ARTEL_OK;
}

/* -- calls of one kind each: inputs in, outputs written -- */

typedef struct played {
    artel__replay *replay;
    artel_graph *graph;
    const artel__tape_entry *entry;
    artel_value *in, *out;
} played;
typedef artel_status play_fn(const played *p);

static artel_status play_op(const played *p)
{
    const artel__tape_entry *e = p->entry;
    int made = artel_graph_op_all(p->graph, e->name, p->in, e->inputs, e->settings, p->out, e->outputs);
    return made >= 0 && made < e->outputs ? damaged(p->replay, "an operation with more results than it has") : ARTEL_OK;
}

static artel_status play_constant(const played *p)
{
    p->out[0] = artel_graph_constant(p->graph, p->entry->dtype, &p->entry->shape, p->entry->elements);
    return ARTEL_OK;
}

static artel_status play_number(const played *p)
{
    p->out[0] = artel_graph_number(p->graph, p->entry->number[0]);
    return ARTEL_OK;
}

static artel_status play_variable(const played *p)
{
    p->out[0] = artel_graph_variable(p->graph, p->replay->variable[p->entry->which]);
    return ARTEL_OK;
}

static artel_status play_words(const played *p)
{
    p->out[0] = artel_graph_variable(p->graph, p->replay->words[p->entry->which]);
    return ARTEL_OK;
}

static artel_status play_call(const played *p)
{
    return artel_graph_call(p->graph, p->replay->model[p->entry->which], p->in, p->entry->inputs, p->out,
                            p->entry->outputs);
}

static artel_status play_loss(const played *p)
{
    p->out[0] = artel_graph_loss(p->graph, p->entry->name, p->in[0], p->in[1]);
    return ARTEL_OK;
}

static artel_status play_dropout(const played *p)
{
    p->out[0] = artel_graph_dropout(p->graph, p->in[0], p->entry->number[0]);
    return ARTEL_OK;
}

static artel_status play_uniform(const played *p)
{
    const artel__tape_entry *e = p->entry;
    p->out[0] = artel_graph_uniform(p->graph, p->in[0], &e->shape, e->number[0], e->number[1], e->flag);
    return ARTEL_OK;
}

static artel_status play_normal(const played *p)
{
    p->out[0] = artel_graph_normal(p->graph, p->in[0], &p->entry->shape, p->entry->number[0]);
    return ARTEL_OK;
}

static artel_status play_reduce(const played *p)
{
    p->out[0] = artel_graph_reduce(p->graph, (artel_reduction)p->entry->which, p->in[0]);
    return ARTEL_OK;
}

static artel_status play_gather(const played *p)
{
    p->out[0] = artel_graph_gather(p->graph, p->in[0]);
    return ARTEL_OK;
}

static artel_status play_gradients(const played *p)
{
    int count = p->entry->inputs - 1;
    if (p->entry->outputs != count) return damaged(p->replay, "another number of gradients than of values");
    return artel_graph_gradients(p->graph, p->in[0], p->in + 1, count, p->out);
}

static artel_status play_assign(const played *p)
{
    artel_graph_assign(p->graph, p->replay->variable[p->entry->which], p->in[0]);
    return ARTEL_OK;
}

static artel_status play_assign_words(const played *p)
{
    artel_graph_assign(p->graph, p->replay->words[p->entry->which], p->in[0]);
    return ARTEL_OK;
}

static artel_status play_apply(const played *p)
{
    artel_graph_apply(p->graph, p->replay->optimizer[p->entry->which], p->in, p->entry->inputs);
    return ARTEL_OK;
}

static artel_status play_metric(const played *p)
{
    p->out[0] = artel__graph_metric(p->graph, p->entry->name, &p->entry->shape, p->in);
    return ARTEL_OK;
}

static artel_status play_mask(const played *p)
{
    p->out[0] = artel_graph_mask(p->graph, p->in[0]);
    return ARTEL_OK;
}

static artel_status play_model_losses(const played *p)
{
    p->out[0] = artel_graph_model_losses(p->graph, p->replay->model[p->entry->which]);
    return ARTEL_OK;
}

static artel_status play_scale_loss(const played *p)
{
    p->out[0] = artel_graph_scale_loss(p->graph, p->replay->optimizer[p->entry->which], p->in[0]);
    return ARTEL_OK;
}

static artel_status play_custom(const played *p)
{
    const artel_operation *operation = artel__extension_find(p->graph->ctx, ARTEL__EXTENSION_OPERATION, p->entry->name);
    if (!operation)
        return artel__fail(
            p->graph->ctx, ARTEL_ERROR_UNSUPPORTED, p->entry->name, "add it first (artel_context_add_operation)",
            "%s asks for this operation of a program, which the context does not have", p->replay->saved->path);
    p->out[0] = artel_graph_custom(p->graph, operation, p->in, p->entry->inputs);
    return ARTEL_OK;
}

/* -- control flow: its callbacks play what lies between ENTER and LEAVE -- */

static artel_status play_until_leave(artel__replay *r, artel_graph *g, artel_value *out, int count);

typedef struct body {
    artel__replay *replay;
    int inputs, outputs;
} body;

static artel_status play_part(artel__replay *r, artel_graph *g, const artel_value *in, int inputs, artel_value *out,
                              int outputs)
{
    const artel__tape_entry *e = r->at;
    if (!e || e->kind != ARTEL__TAPE_ENTER || e->outputs != inputs)
        return damaged(r, "control flow without what it does");
    r->at = e->next;
    ARTEL_TRY(set_values(r, e->output, inputs, in));
    return play_until_leave(r, g, out, outputs);
}

static artel_status trace_body(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const body *b = user;
    return play_part(b->replay, g, in, b->inputs, out, b->outputs);
}

static artel_status trace_condition(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const body *b = user;
    return play_part(b->replay, g, in, b->inputs, out, 1);
}

static artel_status play_choose(const played *p)
{
    body b = {p->replay, 0, p->entry->outputs};
    const artel_choice choice = {.struct_size = sizeof choice,
                                 .condition = p->in[0],
                                 .then = trace_body,
                                 .otherwise = trace_body,
                                 .user = &b,
                                 .output_count = b.outputs};
    return artel_graph_choose(p->graph, &choice, p->out);
}

static artel_status play_loop(const played *p)
{
    int count = p->entry->inputs;
    if (p->entry->outputs != count) return damaged(p->replay, "a loop whose state changes its length");
    body b = {p->replay, count, count};
    const artel_loop loop = {sizeof loop, trace_condition, trace_body, &b, count, p->entry->which};
    if (count) memcpy(p->out, p->in, (size_t)count * sizeof *p->out);
    return artel_graph_loop(p->graph, &loop, p->out);
}

static artel_status play_scan(const played *p)
{
    const artel__tape_entry *e = p->entry;
    int states = e->states;
    if (states > e->inputs || states > e->outputs)
        return damaged(p->replay, "a scan whose state is longer than what it has");
    body b = {p->replay, e->inputs, e->outputs};
    const artel_scan scan = {.struct_size = sizeof scan,
                             .body = trace_body,
                             .user = &b,
                             .sequences = p->in + states,
                             .sequence_count = e->inputs - states,
                             .state_count = states,
                             .result_count = e->outputs - states,
                             .axis = e->which,
                             .reverse = e->flag};
    if (states) memcpy(p->out, p->in, (size_t)states * sizeof *p->out);
    return artel_graph_scan(p->graph, &scan, p->out, p->out + states);
}

/* -- all kinds -- */

enum {
    ANY = -1
};
static const struct {
    play_fn *play; /* NULL: not a call */
    int inputs, outputs;
} plays[ARTEL__TAPE_KINDS] = {
    [ARTEL__TAPE_OP] = {play_op, ANY, ANY},
    [ARTEL__TAPE_CONSTANT] = {play_constant, 0, 1},
    [ARTEL__TAPE_NUMBER] = {play_number, 0, 1},
    [ARTEL__TAPE_VARIABLE] = {play_variable, 0, 1},
    [ARTEL__TAPE_CALL] = {play_call, ANY, ANY},
    [ARTEL__TAPE_LOSS] = {play_loss, 2, 1},
    [ARTEL__TAPE_DROPOUT] = {play_dropout, 1, 1},
    [ARTEL__TAPE_UNIFORM] = {play_uniform, 1, 1},
    [ARTEL__TAPE_NORMAL] = {play_normal, 1, 1},
    [ARTEL__TAPE_REDUCE] = {play_reduce, 1, 1},
    [ARTEL__TAPE_GATHER] = {play_gather, 1, 1},
    [ARTEL__TAPE_GRADIENTS] = {play_gradients, ANY, ANY},
    [ARTEL__TAPE_ASSIGN] = {play_assign, 1, 0},
    [ARTEL__TAPE_APPLY] = {play_apply, ANY, 0},
    [ARTEL__TAPE_WORDS] = {play_words, 0, 1},
    [ARTEL__TAPE_ASSIGN_WORDS] = {play_assign_words, 1, 0},
    [ARTEL__TAPE_CUSTOM] = {play_custom, ANY, 1},
    [ARTEL__TAPE_CHOOSE] = {play_choose, 1, ANY},
    [ARTEL__TAPE_MASK] = {play_mask, 1, 1},
    [ARTEL__TAPE_MODEL_LOSSES] = {play_model_losses, 0, 1},
    [ARTEL__TAPE_SCALE_LOSS] = {play_scale_loss, 1, 1},
    [ARTEL__TAPE_METRIC] = {play_metric, 3, 1},
    [ARTEL__TAPE_LOOP] = {play_loop, ANY, ANY},
    [ARTEL__TAPE_SCAN] = {play_scan, ANY, ANY},
};

static artel_status play_one(artel__replay *r, artel_graph *g, const artel__tape_entry *e)
{
    played p = {.replay = r, .graph = g, .entry = e};
    int inputs = plays[e->kind].inputs, outputs = plays[e->kind].outputs;
    if (!plays[e->kind].play) return damaged(r, "control flow out of its place");
    if ((inputs != ANY && e->inputs != inputs) || (outputs != ANY && e->outputs != outputs) ||
        (e->kind == ARTEL__TAPE_GRADIENTS && !e->inputs))
        return damaged(r, "a call with another number of values");
    ARTEL_TRY(values_of(r, e->input, e->inputs, &p.in));
    p.out = artel__arena_alloc(&r->saved->arena, (size_t)e->outputs + 1, sizeof *p.out);
    if (!p.out) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(plays[e->kind].play(&p));
    ARTEL_TRY(artel_graph_status(g));
    return set_values(r, e->output, e->outputs, p.out);
}

static artel_status play_until_leave(artel__replay *r, artel_graph *g, artel_value *out, int count)
{
    artel_value *values;
    if (++r->depth > MOST_DEPTH) return damaged(r, "control flow in control flow more than 32 deep");
    while (r->at && r->at->kind != ARTEL__TAPE_LEAVE) {
        const artel__tape_entry *e = r->at;
        r->at = e->next;
        ARTEL_TRY(play_one(r, g, e));
    }
    if (!r->at || r->at->inputs != count) return damaged(r, "a function without an end, or with other outputs");
    ARTEL_TRY(values_of(r, r->at->input, count, &values));
    if (count) memcpy(out, values, (size_t)count * sizeof *out);
    r->at = r->at->next;
    r->depth--;
    return ARTEL_OK;
}

artel_status artel__replay_trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel__replay *r = user;
    for (int i = 0; i < r->places; i++) r->value[i] = i < r->arguments ? in[i] : ARTEL_NO_VALUE;
    ARTEL_TRY(play_until_leave(r, g, out, r->outputs));
    return r->at ? damaged(r, "calls behind the end") : ARTEL_OK;
}
