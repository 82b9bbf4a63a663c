/* SPDX-License-Identifier: Apache-2.0 */
/* What a server owns: the memory of its part, and the graph that steps it.
 *
 * The pieces are variables of a set of their own; so are their slots, and the places where an update is put: gradients, squares, norms.
 * The graph has nothing but the optimizer's nodes, as artel__optimizer_step makes them in any training graph, and constraints. A piece
 * that is a whole variable keeps its layout (constraints and LAMB want it); others are runs of elements, which no rule minds.
 */
#include <stdlib.h>
#include <string.h>

#include "train/part.h"

typedef struct place {
    int variable, gradient, squares, norm; /* of the store's own set; -1: none */
    int trainable;                         /* among the store's; -1 */
} place;

struct artel__store {
    artel_context *ctx;
    artel__arena arena;
    artel__division division;
    artel__optimizer optimizer;
    artel__variables variables;
    artel__optimizer_slots slots;
    place *place;        /* by piece of the division */
    int *trainable, *of; /* by trainable of the store: its variable, its piece */
    int trainables, server;
    artel__graph graph;
    artel__executable *plan;
    artel__state *state;
    artel__execution *run;
    artel__pool *pool;
    artel__fold_plan fold;
    int64_t start[2];
    int64_t iteration;
};

/* -- making -- */

static artel_status add(artel__store *s, const char *name, const artel__variable *like, const artel__piece *piece,
                        artel__variable_kind kind, int *out)
{
    artel_shape shape = piece->whole ? like->shape : artel__shape(1, piece->count);
    *out = artel__variables_add(&s->variables, name, kind, ARTEL_DTYPE_FLOAT32, &shape, piece->whole ? like->rows : 0);
    return *out < 0 ? (artel_status)*out : ARTEL_OK;
}

static artel_status add_scalar(artel__store *s, const char *name, int *out)
{
    artel_shape scalar = {.rank = 0};
    *out = artel__variables_add(&s->variables, name, ARTEL__VARIABLE_SLOT, ARTEL_DTYPE_FLOAT64, &scalar, 0);
    return *out < 0 ? (artel_status)*out : ARTEL_OK;
}

/* The variable of a piece and, behind all variables, where its update is put. */
static artel_status declare_piece(artel__store *s, const artel__variables *all, int i)
{
    const artel__piece *piece = &s->division.piece[i];
    const artel__variable *like = &all->item[piece->variable];
    place *p = &s->place[i];
    *p = (place){-1, -1, -1, -1, -1};
    if (piece->server != s->server) return ARTEL_OK;
    bool trained = piece->trainable >= 0;
    ARTEL_TRY(add(s, like->name, like, piece, trained ? ARTEL__VARIABLE_TRAINABLE : ARTEL__VARIABLE_NON_TRAINABLE, &p->variable));
    if (!trained) return ARTEL_OK;
    p->trainable = s->trainables;
    s->of[s->trainables] = i;
    s->trainable[s->trainables++] = p->variable;
    return ARTEL_OK;
}

static artel_status declare_update(artel__store *s, const artel__variables *all, int i)
{
    const artel__objective *o = s->division.objective;
    const artel__piece *piece = &s->division.piece[i];
    const artel__variable *like = &all->item[piece->variable];
    place *p = &s->place[i];
    if (p->variable < 0) return ARTEL_OK;
    ARTEL_TRY(add(s, "gradient", like, piece, ARTEL__VARIABLE_SLOT, &p->gradient));
    if (piece->trainable < 0) return ARTEL_OK;
    if (o->squares_kept[piece->trainable] >= 0) ARTEL_TRY(add(s, "squares", like, piece, ARTEL__VARIABLE_SLOT, &p->squares));
    return o->norm_kept[piece->trainable] >= 0 ? add_scalar(s, "norm", &p->norm) : ARTEL_OK;
}

static artel_status declare(artel__store *s)
{
    const artel__variables *all = artel__session_network(s->division.session)->variables;
    size_t pieces = (size_t)s->division.pieces + 1;
    s->place = artel__arena_alloc(&s->arena, pieces, sizeof *s->place);
    s->trainable = artel__arena_alloc(&s->arena, pieces, sizeof *s->trainable);
    s->of = artel__arena_alloc(&s->arena, pieces, sizeof *s->of);
    ARTEL_TRY(artel__arena_status(&s->arena));
    artel__variables_init(&s->variables, &s->arena);
    for (int i = 0; i < s->division.pieces; i++) ARTEL_TRY(declare_piece(s, all, i));
    ARTEL_TRY(artel__optimizer_declare(&s->optimizer, &s->variables, s->trainable, s->trainables, &s->slots));
    for (int i = 0; i < s->division.pieces; i++) ARTEL_TRY(declare_update(s, all, i));
    return ARTEL_OK;
}

static artel__value_id value_of(artel__store *s, int variable)
{
    return variable >= 0 ? artel__graph_variable(&s->graph, variable) : ARTEL__NO_VALUE;
}

static artel_status constrain(void *user, const artel__model_variable *variable)
{
    artel__store *s = user;
    if (!variable->trainable || !variable->variable->constraint.def) return ARTEL_OK;
    for (int i = 0; i < s->division.pieces; i++) {
        if (s->division.piece[i].variable != variable->variable->index || s->place[i].trainable < 0) continue;
        s->graph.scope = variable->layer->scope;
        artel__constraint_apply(&s->graph, &variable->variable->constraint, value_of(s, s->place[i].variable));
    }
    return s->graph.status;
}

static artel_status build(artel__store *s)
{
    const artel__objective *o = s->division.objective;
    size_t count = (size_t)s->trainables + 1;
    artel__value_id *gradient = artel__arena_alloc(&s->arena, count, sizeof *gradient);
    artel__value_id *norm = artel__arena_alloc(&s->arena, count, sizeof *norm);
    artel__value_id *squares = artel__arena_alloc(&s->arena, count, sizeof *squares);
    bool *clipped = artel__arena_alloc(&s->arena, count, sizeof *clipped);
    ARTEL_TRY(artel__arena_status(&s->arena));
    artel__graph_init(&s->graph, &s->arena, &s->variables, true);
    s->graph.scope = "optimizer";
    s->graph.phase = ARTEL__PHASE_APPLY;
    for (int t = 0; t < s->trainables; t++) {
        const place *p = &s->place[s->of[t]];
        gradient[t] = value_of(s, p->gradient);
        norm[t] = value_of(s, p->norm);
        squares[t] = value_of(s, p->squares);
        clipped[t] = o->clipped[s->division.piece[s->of[t]].trainable];
    }
    artel__optimizer_input in = {.gradient = gradient, .norm = norm, .squares = squares, .clipped = clipped};
    ARTEL_TRY(artel__optimizer_step(&s->optimizer, &s->graph, &s->slots, &in));
    ARTEL_TRY(artel__model_visit(artel__session_network(s->division.session), constrain, s));
    return artel__graph_seal(&s->graph);
}

static artel_status make(artel__store *s, int threads)
{
    ARTEL_TRY(declare(s));
    ARTEL_TRY(build(s));
    const artel__plan_options options = {.batch_size = 1, .shards = 1, .replicas = 1, .isa = artel__context_isa(s->ctx)};
    ARTEL_TRY(artel__compile(s->ctx, &artel__cpu, &s->graph, &options, &s->plan));
    ARTEL_TRY(artel__state_create(s->ctx, &s->variables, &s->state));
    ARTEL_TRY(artel__pool_create(s->ctx, threads, &s->pool));
    artel__fold_plan_make(&s->fold, 1, 0, 1, 1, s->start);
    const artel__execution_options own = {.state = s->state, .pool = s->pool};
    return artel__execution_create(s->plan, &own, &s->run);
}

artel_status artel__store_create(artel_context *ctx, const artel__division *division, const artel__settings *settings, int server,
                                 int threads, artel__store **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__store), "parameter server", &block));
    artel__store *s = block;
    s->ctx = ctx;
    s->division = *division;
    s->optimizer = settings->optimizer;
    s->server = server;
    artel__arena_init(&s->arena, ctx);
    s->optimizer.arena = &s->arena;
    artel_status status = make(s, threads);
    if (status < 0) {
        artel__store_destroy(s);
        return status;
    }
    *out = s;
    return ARTEL_OK;
}

void artel__store_destroy(artel__store *s)
{
    if (!s) return;
    artel__execution_destroy(s->run);
    artel__pool_destroy(s->pool);
    artel__state_destroy(s->state);
    artel__executable_destroy(s->plan);
    artel__arena_fini(&s->arena);
    artel__free(s->ctx, s);
}

/* -- using -- */

void *artel__store_locate(artel__store *s, const artel__entry *entry)
{
    const place *p = &s->place[entry->piece];
    const artel__optimizer_slots *slots = &s->slots;
    int variable = -1;
    switch (entry->kind) {
    case ARTEL__ENTRY_VALUE: variable = p->variable; break;
    case ARTEL__ENTRY_SLOT: variable = slots->slot[p->trainable * slots->per_variable + entry->slot]; break;
    case ARTEL__ENTRY_AVERAGE: variable = slots->average[p->trainable]; break;
    case ARTEL__ENTRY_PRODUCT: variable = slots->product; break;
    case ARTEL__ENTRY_GRADIENT:
    case ARTEL__ENTRY_DIFFERENCE: variable = p->gradient; break;
    case ARTEL__ENTRY_SQUARES: variable = p->squares; break;
    case ARTEL__ENTRY_NORM: variable = p->norm; break;
    }
    return artel__state_lend(s->state, variable);
}

static void change_averages(artel__store *s, bool assign)
{
    for (int i = 0; i < s->division.pieces; i++) {
        const place *p = &s->place[i];
        if (p->variable < 0 || p->trainable >= 0) continue;
        float *value = artel__state_lend(s->state, p->variable);
        const float *difference = artel__state_lend(s->state, p->gradient);
        for (int64_t k = 0; k < s->division.piece[i].count; k++) value[k] = assign ? difference[k] : value[k] + difference[k];
    }
}

void artel__store_apply(artel__store *s, double rate, bool assign)
{
    artel__step step = {.fold = &s->fold,
                        .batch = (uint64_t)s->iteration,
                        .iteration = s->iteration,
                        .learning_rate = rate >= 0 ? rate : artel__schedule_rate(&s->optimizer.schedule, s->iteration),
                        .training = true};
    artel__execution_compute(s->run, &step, NULL); /* nothing but what an apply reads; cannot fail without collectives */
    artel__execution_apply(s->run, &step);
    change_averages(s, assign);
    s->iteration++;
}

int64_t artel__store_iteration(const artel__store *s)
{
    return s->iteration;
}

void artel__store_set_iteration(artel__store *s, int64_t iteration)
{
    s->iteration = iteration;
}
