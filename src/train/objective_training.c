/* SPDX-License-Identifier: Apache-2.0 */
/* What the graph of training has beside losses and metrics: the way back from the seeds of the losses, regularisers,
 * the optimizer, constraints. Where the optimizer is elsewhere (parameter servers) the gradients are the results, those
 * of large tables as the rows that the batch names.
 */
#include "train/objective_impl.h"

#include "op/elementwise.h"
#include "op/fuse.h"
#include "op/stand_in.h"

typedef struct updater {
    const artel__objective_back *b;
    const artel__value_id *gradient;
    artel__value_id *regularised;
    bool *constrained;
    int next;
    bool constraints;
} updater;

/* Visits trainable variables in the order of the slots: first regularisers, then (second visit) constraints. A variable
 * without a gradient is left alone by both optimizer and constraint, as in Keras. */
static artel_status update_variable(void *user, const artel__model_variable *variable)
{
    updater *u = user;
    if (!variable->trainable) return ARTEL_OK;
    artel__graph *graph = &u->b->objective->graph;
    artel__value_id id = artel__graph_variable(graph, variable->variable->index);
    const artel__regularizer *r = &variable->variable->regularizer;
    if (u->constraints) {
        if (u->regularised[u->next++] < 0) return ARTEL_OK;
        graph->scope = variable->layer->scope;
        artel__constraint_apply(graph, &variable->variable->constraint, id);
        return graph->status;
    }
    artel__value_id gradient = u->gradient[u->next];
    if (!artel__regularizer_is_none(r))
        gradient = artel__regularizer_gradient(graph, r, gradient, artel__op_stood_in(graph, id));
    u->constrained[u->next] = variable->variable->constraint.def;
    u->regularised[u->next++] = gradient;
    return graph->status;
}

/* Rows of a table's gradient in its place. NULL, or why they cannot stand for it. */
static const char *keep_rows(const artel__objective_back *b, int i, artel__value_id gradient)
{
    artel__objective *o = b->objective;
    artel__graph *graph = &b->objective->graph;
    artel__embedding_rows rows;
    const char *why;
    if (artel__op_embedding_index(graph, artel__graph_variable(graph, b->request->slots->trainable[i]), &why) < 0)
        return why;
    const artel__variable *table = &b->request->variables->item[b->request->slots->trainable[i]];
    why = artel__optimizer_rows(&b->request->settings->optimizer, graph, table, gradient, &rows);
    if (why || graph->status < 0) return why;
    o->gradient_kept[i] = artel__graph_keep(graph, rows.rows);
    if (rows.squares >= 0) o->squares_kept[i] = artel__graph_keep(graph, rows.squares);
    o->table[o->tables++] = (artel__objective_table){.trainable = i,
                                                     .token = artel__graph_keep(graph, rows.token),
                                                     .count = artel__graph_keep(graph, rows.count),
                                                     .most = graph->batch_size * graph->value[rows.token].storage};
    return NULL;
}

/* What is done with the gradients is done elsewhere: they are the results. */
static artel_status keep_gradients(const artel__objective_back *b, artel__value_id *gradient, const bool *constrained)
{
    artel__objective *o = b->objective;
    artel__graph *graph = &b->objective->graph;
    const artel__optimizer *optimizer = &b->request->settings->optimizer;
    const artel__optimizer_slots *slots = b->request->slots;
    size_t count = (size_t)slots->count + 1;
    artel__value_id *norm = artel__arena_alloc(&o->arena, count, sizeof *norm);
    o->gradient_kept = artel__arena_alloc(&o->arena, count, sizeof *o->gradient_kept);
    o->squares_kept = artel__arena_alloc(&o->arena, count, sizeof *o->squares_kept);
    o->norm_kept = artel__arena_alloc(&o->arena, count, sizeof *o->norm_kept);
    o->clipped = artel__arena_alloc(&o->arena, count, sizeof *o->clipped);
    o->table = artel__arena_alloc(&o->arena, count, sizeof *o->table);
    ARTEL_TRY(artel__arena_status(&o->arena));
    for (int i = 0; i < slots->count; i++) norm[i] = ARTEL__NO_VALUE; /* of a mean, who makes it makes them */
    if (!b->request->whole) ARTEL_TRY(artel__optimizer_norms(optimizer, graph, slots, gradient, norm));
    for (int i = 0; i < slots->count; i++) {
        o->gradient_kept[i] = o->squares_kept[i] = o->norm_kept[i] = -1;
        if (gradient[i] < 0) continue;
        artel__value_id clipped = artel__optimizer_clip_table(optimizer, graph, gradient[i]);
        o->clipped[i] = clipped >= 0;
        if (clipped >= 0) gradient[i] = clipped;
        const char *why = b->request->whole ? "the mean of some workers' gradients is made of whole ones"
                          : constrained[i]  ? "its constraint is for the whole table"
                                            : keep_rows(b, i, gradient[i]);
        if (!why) continue;
        artel__op_embedding_explain(graph, gradient[i], why);
        artel__value_id squares = artel__optimizer_squares(optimizer, graph, gradient[i]);
        o->gradient_kept[i] = artel__graph_keep(graph, gradient[i]);
        if (squares >= 0) o->squares_kept[i] = artel__graph_keep(graph, squares);
        if (norm[i] >= 0) o->norm_kept[i] = artel__graph_keep(graph, norm[i]);
    }
    return graph->status;
}

/* `x` as often as it counts. */
static artel__value_id times(const artel__objective_back *b, artel__value_id x)
{
    artel__graph *graph = &b->objective->graph;
    if (graph->status < 0 || x < 0 || b->times < 0) return x;
    return artel__op_binary(graph, ARTEL__BINARY_MUL, x, artel__op_cast(graph, b->times, graph->value[x].dtype));
}

static bool is_reduced(const artel__objective_back *b, int i)
{
    return i < b->request->nn->outputs && b->request->settings->output[i].loss.reduction != ARTEL__REDUCTION_NONE;
}

static artel__value_id scaled(artel__graph *graph, artel__value_id seed, artel__value_id scale)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    scale = artel__op_cast(graph, scale, graph->value[seed].dtype);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, seed, scale);
}

artel_status artel__objective_add_training(const artel__objective_back *b)
{
    const artel__objective_request *request = b->request;
    artel__graph *graph = &b->objective->graph;
    const artel__optimizer_slots *slots = request->slots;
    artel__arena *arena = graph->arena;
    artel__value_id *wanted = artel__arena_alloc(arena, (size_t)slots->count + 1, sizeof *wanted);
    artel__value_id *gradient = artel__arena_alloc(arena, (size_t)slots->count + 1, sizeof *gradient);
    artel__value_id *targets = artel__arena_alloc(arena, (size_t)request->nn->outputs + 1, sizeof *targets);
    artel__value_id *seeds = artel__arena_alloc(arena, (size_t)request->nn->outputs + 1, sizeof *seeds);
    updater u = {.b = b,
                 .gradient = gradient,
                 .regularised = artel__arena_alloc(arena, (size_t)slots->count + 1, sizeof *wanted),
                 .constrained = artel__arena_alloc(arena, (size_t)slots->count + 1, sizeof *u.constrained)};
    ARTEL_TRY(artel__arena_status(arena));
    const artel__optimizer *optimizer = &request->settings->optimizer;
    artel__value_id scale = artel__optimizer_scale(optimizer, graph, slots);
    bool divide = request->elsewhere || b->penalised || artel__optimizer_wants_unscaled(optimizer);
    int count = 0;
    for (int i = 0; i <= request->nn->outputs; i++) {
        if (b->seed[i] < 0) continue;
        artel__value_id seed = is_reduced(b, i) ? times(b, b->seed[i]) : b->seed[i];
        targets[count] = b->loss[i];
        seeds[count++] = scale >= 0 ? scaled(graph, seed, scale) : seed;
    }
    for (int i = 0; i < slots->count; i++) wanted[i] = artel__graph_variable(graph, slots->trainable[i]);
    artel__differentiate d = {.add = &artel__op_binary_def,
                              .narrow = &artel__op_narrow_def,
                              .targets = targets,
                              .seeds = seeds,
                              .target_count = count,
                              .wanted = wanted,
                              .wanted_count = slots->count};
    ARTEL_TRY(artel__graph_differentiate(graph, &d, gradient));
    graph->phase = ARTEL__PHASE_BACKWARD;
    graph->scope = "optimizer";
    ARTEL_TRY(artel__optimizer_unscale(graph, slots, scale, gradient, divide));
    b->objective->gate_kept = artel__graph_keep(graph, graph->gate);
    ARTEL_TRY(artel__model_visit(request->nn, update_variable, &u));
    if (request->elsewhere && artel__op_stands_in(graph))
        return artel__fail(b->objective->arena.ctx, ARTEL_ERROR_UNSUPPORTED, request->nn->name,
                           "choose another strategy", "SpectralNormalization with parameter servers is not supported");
    if (request->elsewhere) {
        ARTEL_TRY(keep_gradients(b, u.regularised, u.constrained));
        artel__op_narrow_late(graph);
        return artel__op_fuse_gradients(graph);
    }
    ARTEL_TRY(artel__optimizer_add(optimizer, graph, slots, u.regularised, divide ? ARTEL__NO_VALUE : scale));
    u.constraints = true;
    u.next = 0;
    graph->phase = ARTEL__PHASE_APPLY;
    graph->gating = graph->gate >= 0;
    ARTEL_TRY(artel__model_visit(request->nn, update_variable, &u));
    graph->gating = false;
    artel__op_round_variables(graph);
    artel__op_narrow_late(graph);
    ARTEL_TRY(artel__op_fuse_gradients(graph));
    return graph->status;
}
