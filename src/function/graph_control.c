/* SPDX-License-Identifier: Apache-2.0 */
/* Choices, loops and scans (artel/control.h), written out: selections by condition, bodies one behind the other. */
#include <string.h>

#include "artel/control.h"
#include "function/function_impl.h"
#include "function/tape.h"
#include "function/texts.h"
#include "op/elementwise.h"
#include "op/node_attributes.h"
#include "op/shape_ops.h"

enum {
    MOST_VALUES = 256,
    MOST_STACKED = 64,
    MOST_STEPS = 10000,
    GROUP = 31 /* of a concatenation */
};

static artel_status invalid(artel_graph *g, const char *what, const char *advice, const char *why)
{
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, what, advice, "%s", why);
    return g->graph->status;
}

/* The caller's struct, whose tail may be missing, over one of this version. */
static artel_status take(artel_graph *g, const char *what, size_t size, const void *given, void *own)
{
    static const artel__range no_ranges[] = {{.name = NULL}};
    const artel__options_kind kind = {what, "set struct_size to the size of the struct", size, no_ranges};
    artel_status status = artel__take_options(g->ctx, &kind, given, own);
    if (status < 0) g->graph->status = status;
    return status;
}

/* Values that a function of the program's gets, and room for those that it gives. */
typedef struct passed {
    const artel_value *in;
    int inputs; /* that are its own; 0: those that stand outside */
    artel_value *out;
    int count;
} passed;

/* Calls it; its outputs must all be written. */
static artel_status call(artel_graph *g, artel_trace_fn *trace, void *user, const passed *p)
{
    const artel_value *in = p->in;
    artel_value *out = p->out;
    int count = p->count;
    for (int i = 0; i < count; i++) out[i] = ARTEL_NO_VALUE;
    artel__tape_end(g, artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_ENTER}, NULL, 0), in, p->inputs);
    g->bodies++;
    artel_status status = trace(user, g, in, out);
    g->bodies--;
    ARTEL_TRY(g->graph->status);
    if (status < 0) {
        artel__graph_refuse(g, status, "control flow", "see what it has found", "a traced function failed");
        return g->graph->status;
    }
    for (int i = 0; i < count; i++) {
        if (!artel__texts_is(g, out[i]) && !artel__graph_place(g, out[i])) return g->graph->status;
    }
    artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_LEAVE}, out, count);
    return g->graph->status;
}

static artel__value_id condition_of(artel_graph *g, artel_value value)
{
    artel__value_id id = artel__graph_take(g, value);
    if (id < 0) return id;
    const artel__value *found = &g->graph->value[id];
    if (found->dtype == ARTEL_DTYPE_BOOL && found->shape.rank == 0) return id;
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, "condition", "compare two scalars, or reduce with \"any\" or \"all\"",
                        "a condition is a bool scalar, and this is %s with %d axes", artel_dtype_name(found->dtype),
                        found->shape.rank);
    return ARTEL__NO_VALUE;
}

static bool any_wide(artel_graph *g, const artel_value *list, int count)
{
    bool wide = false;
    for (int i = 0; i < count && !wide; i++) {
        const artel__place *place = artel__texts_is(g, list[i]) ? NULL : artel__graph_place(g, list[i]);
        wide = place && g->graph->value[place->value].dtype == ARTEL_DTYPE_FLOAT64;
    }
    return wide;
}

/* Numbers beside float64 values begin as they were given: a copy of one would be its float32. */
static void widen_numbers(artel_graph *g, artel_value *state, int count)
{
    artel__graph *graph = g->graph;
    for (int i = 0; i < count; i++) {
        if (artel__texts_is(g, state[i])) continue;
        artel__value_id id = artel__graph_take(g, state[i]);
        int32_t node = id < 0 ? -1 : graph->value[id].node;
        bool constant = node >= 0 && graph->node[node].op == &artel__op_constant_def;
        const artel__constant_attributes *a = constant ? graph->node[node].attributes : NULL;
        if (a && a->exact)
            state[i] = artel__graph_give(g, artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &a->shape, a->exact));
    }
}

/* Gives floats a value of their own, all of them or those that occur twice: what a body differentiates by one of its
 * inputs is not by another. */
static void separate(artel_graph *g, artel_value *state, int count, bool all)
{
    for (int i = 0; i < count && g->graph->status == ARTEL_OK; i++) {
        if (artel__texts_is(g, state[i])) continue;
        artel__value_id id = artel__graph_take(g, state[i]);
        bool again = all;
        for (int k = 0; k < i && !again && id >= 0; k++)
            again = !artel__texts_is(g, state[k]) && artel__graph_take(g, state[k]) == id;
        if (id < 0 || !again || g->graph->value[id].dtype > ARTEL_DTYPE_FLOAT64) continue;
        state[i] = artel__graph_give(g, artel__op_unary(g->graph, ARTEL__UNARY_LINEAR, NULL, id));
    }
}

/* a where the condition holds, else b. */
static artel_value choose(artel_graph *g, artel__value_id condition, artel_value a, artel_value b)
{
    artel__graph *graph = g->graph;
    if (artel__texts_is(g, a) || artel__texts_is(g, b)) return artel__graph_text.choose(g, condition, a, b);
    artel__value_id one = artel__graph_take(g, a), other = artel__graph_take(g, b);
    if (graph->status < 0) return ARTEL_NO_VALUE;
    if (one == other) return a;
    artel_dtype dtype = graph->value[one].dtype;
    char text[2][128];
    if (dtype != graph->value[other].dtype || !artel__shape_equal(&graph->value[one].shape, &graph->value[other].shape))
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "control flow", "keep shapes and element types",
                                   "the value is %s of %s on one side and %s of %s on the other",
                                   artel_dtype_name(dtype),
                                   artel__shape_text(&graph->value[one].shape, false, text[0], sizeof text[0]),
                                   artel_dtype_name(graph->value[other].dtype),
                                   artel__shape_text(&graph->value[other].shape, false, text[1], sizeof text[1]));
    if (dtype > ARTEL_DTYPE_FLOAT64 && dtype != ARTEL_DTYPE_INT64) { /* float64 holds every int32 */
        artel_dtype held = dtype == ARTEL_DTYPE_INT32 ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32;
        one = artel__op_cast(graph, one, held);
        other = artel__op_cast(graph, other, held);
    }
    artel__value_id chosen = artel__op_where(graph, condition, one, other);
    return artel__graph_give(g, dtype <= ARTEL_DTYPE_FLOAT64 ? chosen : artel__op_cast(graph, chosen, dtype));
}

artel_status artel_graph_choose(artel_graph *g, const artel_choice *choice, artel_value *outputs)
{
    artel_value side[2][MOST_VALUES];
    artel_choice own = {.struct_size = sizeof own};
    const artel_choice *c = &own;
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph choice outputs", g, choice, outputs));
    ARTEL_TRY(g->graph->status);
    ARTEL_TRY(take(g, "choice", sizeof own, choice, &own));
    if (!c->then || !c->otherwise || c->output_count < 1 || c->output_count > MOST_VALUES)
        return invalid(g, "choice", "give two functions and 1 to 256 outputs",
                       "a function is missing, or so many outputs");
    artel__value_id condition = condition_of(g, c->condition);
    ARTEL_TRY(g->graph->status);
    artel__tape_entry *entry = artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_CHOOSE}, &c->condition, 1);
    ARTEL_TRY(call(g, c->then, c->user, &(passed){c->inputs, 0, side[0], c->output_count}));
    ARTEL_TRY(call(g, c->otherwise, c->user, &(passed){c->inputs, 0, side[1], c->output_count}));
    for (int i = 0; i < c->output_count; i++) outputs[i] = choose(g, condition, side[0][i], side[1][i]);
    artel__tape_end(g, entry, outputs, c->output_count);
    return g->graph->status;
}

artel_status artel_graph_loop(artel_graph *g, const artel_loop *loop, artel_value *state)
{
    artel_value now[MOST_VALUES], next[MOST_VALUES], holds;
    artel__value_id active = ARTEL__NO_VALUE;
    artel_loop own = {.struct_size = sizeof own};
    const artel_loop *l = &own;
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph loop state", g, loop, state));
    ARTEL_TRY(g->graph->status);
    ARTEL_TRY(take(g, "loop", sizeof own, loop, &own));
    if (!l->condition || !l->body || l->state_count < 1 || l->state_count > MOST_VALUES || l->most < 1 ||
        l->most > MOST_STEPS)
        return invalid(g, "loop", "give two functions, 1 to 256 values and 1 to 10000 rounds",
                       "a function is missing, or so many of these");
    memcpy(now, state, (size_t)l->state_count * sizeof *now);
    if (any_wide(g, now, l->state_count)) widen_numbers(g, now, l->state_count);
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_LOOP, .which = l->most}, state, l->state_count);
    for (int round = 0; round < l->most; round++) {
        separate(g, now, l->state_count, round == 0);
        ARTEL_TRY(call(g, l->condition, l->user, &(passed){now, l->state_count, &holds, 1}));
        artel__value_id again = condition_of(g, holds);
        active = active < 0 ? again : artel__op_logical_and(g->graph, active, again);
        ARTEL_TRY(g->graph->status);
        ARTEL_TRY(call(g, l->body, l->user, &(passed){now, l->state_count, next, l->state_count}));
        for (int i = 0; i < l->state_count; i++) now[i] = choose(g, active, next[i], now[i]);
        ARTEL_TRY(g->graph->status);
    }
    memcpy(state, now, (size_t)l->state_count * sizeof *now);
    artel__tape_end(g, entry, state, l->state_count);
    return g->graph->status;
}

/* -- scans -- */

/* While one is written out; `axis` and `length` as values behind the batch have them. */
typedef struct track {
    artel_graph *g;
    const artel_scan *scan;
    int64_t length;
    artel__value_id sequence[MOST_STACKED];
    artel__value_id *made; /* [result_count][length], with the axis */
} track;

/* The axis of a value: rows do not count the batch. */
static int axis_of(const track *t, artel__value_id id)
{
    return t->scan->axis - (t->g->graph->value[id].domain == ARTEL__DOMAIN_ROW);
}

static artel_status read_sequences(track *t)
{
    artel_graph *g = t->g;
    for (int i = 0; i < t->scan->sequence_count; i++) {
        artel__value_id id = t->sequence[i] = artel__graph_take(g, t->scan->sequences[i]);
        ARTEL_TRY(g->graph->status);
        int axis = axis_of(t, id);
        const artel_shape *shape = &g->graph->value[id].shape;
        if (axis < 0 || axis >= shape->rank)
            return invalid(g, "scan", "of rows the batch is axis 0", "a sequence does not have this axis");
        if (i > 0 && shape->dim[axis] != t->length)
            return invalid(g, "scan", "give them one length", "sequences of different lengths");
        t->length = shape->dim[axis];
    }
    if (t->length < 1 || t->length > MOST_STEPS)
        return invalid(g, "scan", "it is written out: cut it, or use a recurrent layer",
                       "a sequence of none or more than 10000 positions");
    return ARTEL_OK;
}

static artel_value position(track *t, artel__value_id id, int64_t at)
{
    artel__graph *graph = t->g->graph;
    artel_shape shape = graph->value[id].shape;
    int axis = axis_of(t, id);
    artel__value_id part = artel__op_slice(graph, id, axis, at, 1, 1);
    memmove(&shape.dim[axis], &shape.dim[axis + 1], (size_t)(shape.rank - axis - 1) * sizeof *shape.dim);
    shape.rank--;
    return artel__graph_give(t->g, artel__op_reshape(graph, part, &shape));
}

/* With an axis of one where it is stacked. */
static artel_status keep(track *t, int result, int64_t at, artel_value value)
{
    artel__graph *graph = t->g->graph;
    artel__value_id id = artel__graph_take(t->g, value);
    ARTEL_TRY(graph->status);
    artel_shape shape = graph->value[id].shape;
    int axis = axis_of(t, id);
    if (axis < 0 || axis > shape.rank || shape.rank == ARTEL_MAX_RANK)
        return invalid(t->g, "scan", "give it more axes, or stack along another",
                       "a result cannot be stacked along this axis");
    memmove(&shape.dim[axis + 1], &shape.dim[axis], (size_t)(shape.rank - axis) * sizeof *shape.dim);
    shape.dim[axis] = 1;
    shape.rank++;
    t->made[result * t->length + at] = artel__op_reshape(graph, id, &shape);
    return graph->status;
}

static artel_status step(track *t, int64_t at, artel_value *state)
{
    const artel_scan *s = t->scan;
    artel_value in[MOST_VALUES + MOST_STACKED], out[MOST_VALUES + MOST_STACKED];
    if (s->state_count) memcpy(in, state, (size_t)s->state_count * sizeof *in);
    separate(t->g, in, s->state_count, true);
    for (int i = 0; i < s->sequence_count; i++) in[s->state_count + i] = position(t, t->sequence[i], at);
    ARTEL_TRY(t->g->graph->status);
    ARTEL_TRY(call(t->g, s->body, s->user,
                   &(passed){in, s->state_count + s->sequence_count, out, s->state_count + s->result_count}));
    if (s->state_count) memcpy(state, out, (size_t)s->state_count * sizeof *out);
    for (int i = 0; i < s->result_count; i++) ARTEL_TRY(keep(t, i, at, out[s->state_count + i]));
    return ARTEL_OK;
}

/* Groups of groups, so that each element is copied as often as there are levels. Overwrites the list. */
static artel__value_id join(track *t, artel__value_id *list, int count)
{
    int axis = axis_of(t, list[0]);
    while (count > 1) {
        int groups = 0;
        for (int at = 0; at < count; at += GROUP) {
            int size = count - at < GROUP ? count - at : GROUP;
            list[groups++] = size > 1 ? artel__op_concat(t->g->graph, list + at, size, axis) : list[at];
        }
        count = groups;
    }
    return list[0];
}

static artel_status scan(track *t, artel_value *state, artel_value *results)
{
    const artel_scan *s = t->scan;
    artel__graph *graph = t->g->graph;
    artel_value now[MOST_VALUES];
    ARTEL_TRY(read_sequences(t));
    t->made = artel__arena_alloc(graph->arena, (size_t)(s->result_count * t->length) + 1, sizeof *t->made);
    if (!t->made) return graph->status = ARTEL_ERROR_NO_MEMORY;
    if (s->state_count) memcpy(now, state, (size_t)s->state_count * sizeof *now);
    if (any_wide(t->g, s->sequences, s->sequence_count) || any_wide(t->g, now, s->state_count))
        widen_numbers(t->g, now, s->state_count);
    for (int64_t i = 0; i < t->length; i++) ARTEL_TRY(step(t, s->reverse ? t->length - 1 - i : i, now));
    for (int i = 0; i < s->result_count; i++)
        results[i] = artel__graph_give(t->g, join(t, t->made + i * t->length, (int)t->length));
    ARTEL_TRY(graph->status);
    if (s->state_count) memcpy(state, now, (size_t)s->state_count * sizeof *now);
    return ARTEL_OK;
}

/* On the tape the state comes first, then the sequences or the results. */
static artel__tape_entry *begin_scan(artel_graph *g, const artel_scan *s, const artel_value *state)
{
    artel_value in[MOST_VALUES + MOST_STACKED];
    if (s->state_count) memcpy(in, state, (size_t)s->state_count * sizeof *in);
    memcpy(in + s->state_count, s->sequences, (size_t)s->sequence_count * sizeof *in);
    const artel__tape_entry asked = {
        .kind = ARTEL__TAPE_SCAN, .which = s->axis, .states = s->state_count, .flag = s->reverse};
    return artel__tape_begin(g, &asked, in, s->state_count + s->sequence_count);
}

static void end_scan(artel_graph *g, artel__tape_entry *entry, const artel_scan *s, const artel_value *state,
                     const artel_value *results)
{
    artel_value out[MOST_VALUES + MOST_STACKED];
    if (s->state_count) memcpy(out, state, (size_t)s->state_count * sizeof *out);
    if (s->result_count) memcpy(out + s->state_count, results, (size_t)s->result_count * sizeof *out);
    artel__tape_end(g, entry, out, s->state_count + s->result_count);
}

artel_status artel_graph_scan(artel_graph *g, const artel_scan *given, artel_value *state, artel_value *results)
{
    artel_scan own = {.struct_size = sizeof own};
    const artel_scan *s = &own;
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph scan", g, given));
    ARTEL_TRY(g->graph->status);
    ARTEL_TRY(take(g, "scan", sizeof own, given, &own));
    bool counts = s->sequence_count >= 1 && s->sequence_count <= MOST_STACKED && s->state_count >= 0 &&
                  s->state_count <= MOST_VALUES && s->result_count >= 0 && s->result_count <= MOST_STACKED;
    if (!counts || !s->body || !s->sequences || (s->state_count > 0 && !state) || (s->result_count > 0 && !results))
        return invalid(g, "scan", "give a body, 1 to 64 sequences and room for what it has",
                       "something is missing, or so many of these");
    track t = {.g = g, .scan = s};
    artel__tape_entry *entry = begin_scan(g, s, state);
    ARTEL_TRY(scan(&t, state, results));
    end_scan(g, entry, s, state, results);
    return g->graph->status;
}
