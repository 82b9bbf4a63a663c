/* SPDX-License-Identifier: Apache-2.0 */
/* What a server owns: the memory of its part, and the graph that steps it.
 *
 * The pieces are variables of a set of their own; so are their slots, and the places where an update is put: gradients,
 * squares, norms. Of a table whose rows travel alone there is room for the rows of a batch; the others wait, where a
 * rule changes them without a gradient (deferred.h). The graph has nothing but the optimizer's nodes, as
 * artel__optimizer_step makes them in any training graph, and constraints. A piece that is a whole variable keeps its
 * layout (constraints, LAMB and steps on matrices want it); others are runs of elements, which no rule minds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/spill.h"
#include "exec/deferred.h"
#include "train/left.h"
#include "train/rows.h"

typedef struct place {
    int variable, gradient, squares, norm; /* of the store's own set; -1: none */
    int trainable;                         /* among the store's; -1 */
    int token, count;                      /* of a table; -1 */
    artel__deferred *deferred;             /* of one whose rule changes rows without a gradient */
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
    artel__row_list tables;
    artel__deferred_steps steps;
    artel__graph graph;
    artel__executable *plan;
    artel__state *state;
    artel__execution *run;
    artel__pool *pool;
    artel__fold_plan fold;
    int64_t start[2];
    int64_t iteration, untaken; /* steps; updates that were none */
    int gate, norm;             /* float64 variables: of the update that lies here; -1: none */
    artel__graph preview;       /* squared norms of gradients (artel__store_preview) */
    int *norm_kept;             /* by trainable of the store; NULL: none are previewed */
    artel__executable *preview_plan;
    artel__execution *preview_run;
};

/* -- making -- */

static artel_status add(artel__store *s, const char *name, const artel__variable *like, const artel__piece *piece,
                        artel__variable_kind kind, int *out)
{
    bool table = piece->width > 0;
    artel_shape shape = table          ? artel__shape(2, piece->count / piece->width, piece->width)
                        : piece->whole ? like->shape
                                       : artel__shape(1, piece->count);
    *out = artel__variables_add(&s->variables, name, kind, ARTEL_DTYPE_FLOAT32, &shape,
                                piece->whole && !table ? like->rows : 0);
    return *out < 0 ? (artel_status)*out : ARTEL_OK;
}

static artel_status add_room(artel__store *s, const char *name, artel_dtype dtype, const artel_shape *shape, int *out)
{
    *out = artel__variables_add(&s->variables, name, ARTEL__VARIABLE_SLOT, dtype, shape, 0);
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
    *p = (place){-1, -1, -1, -1, -1, -1, -1, NULL};
    if (piece->server != s->server) return ARTEL_OK;
    bool trained = piece->trainable >= 0;
    ARTEL_TRY(add(s, like->name, like, piece, trained ? ARTEL__VARIABLE_TRAINABLE : ARTEL__VARIABLE_NON_TRAINABLE,
                  &p->variable));
    if (!trained) return ARTEL_OK;
    p->trainable = s->trainables;
    s->of[s->trainables] = i;
    s->trainable[s->trainables++] = p->variable;
    return ARTEL_OK;
}

/* Room for the rows of a batch. */
static artel_status declare_rows(artel__store *s, const artel__row_piece *table)
{
    place *p = &s->place[table->piece];
    artel_shape one = artel__shape(1, (int64_t)1), tokens = artel__shape(1, table->most),
                rows = artel__shape(2, table->most, table->width);
    ARTEL_TRY(add_room(s, "tokens", ARTEL_DTYPE_INT32, &tokens, &p->token));
    ARTEL_TRY(add_room(s, "count", ARTEL_DTYPE_INT32, &one, &p->count));
    ARTEL_TRY(add_room(s, "rows", ARTEL_DTYPE_FLOAT32, &rows, &p->gradient));
    return table->squares ? add_room(s, "squares", ARTEL_DTYPE_FLOAT32, &rows, &p->squares) : ARTEL_OK;
}

/* All gradients are clipped by a norm that wants those of all parts, as they are here. */
static bool clips_together(const artel__optimizer *o, bool mean)
{
    return o->clipnorm <= 0 && o->global_clipnorm > 0 && (mean || o->accumulation_steps > 1);
}

static artel_status declare_update(artel__store *s, const artel__variables *all, int i)
{
    const artel__objective *o = s->division.objective;
    const artel__piece *piece = &s->division.piece[i];
    const artel__variable *like = &all->item[piece->variable];
    place *p = &s->place[i];
    if (p->variable < 0 || piece->width > 0) return ARTEL_OK;
    ARTEL_TRY(add(s, "gradient", like, piece, ARTEL__VARIABLE_SLOT, &p->gradient));
    if (piece->trainable < 0) return ARTEL_OK;
    if (o->squares_kept[piece->trainable] >= 0)
        ARTEL_TRY(add(s, "squares", like, piece, ARTEL__VARIABLE_SLOT, &p->squares));
    if (clips_together(&s->optimizer, s->division.mean)) p->norm = s->norm;
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
    s->gate = s->norm = -1;
    if (s->division.scales) ARTEL_TRY(add_scalar(s, "gate", &s->gate));
    if (clips_together(&s->optimizer, s->division.mean)) ARTEL_TRY(add_scalar(s, "norm", &s->norm));
    for (int i = 0; i < s->division.pieces; i++) ARTEL_TRY(declare_update(s, all, i));
    ARTEL_TRY(artel__row_list_make(&s->arena, &s->division, s->server, &s->tables));
    for (int i = 0; i < s->tables.count; i++) ARTEL_TRY(declare_rows(s, &s->tables.item[i]));
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
    artel__embedding_rows *rows = artel__arena_alloc(&s->arena, count, sizeof *rows);
    ARTEL_TRY(artel__arena_status(&s->arena));
    artel__graph_init(&s->graph, &s->arena, &s->variables, true);
    s->graph.scope = "optimizer";
    s->graph.phase = ARTEL__PHASE_APPLY;
    for (int t = 0; t < s->trainables; t++) {
        const place *p = &s->place[s->of[t]];
        gradient[t] = value_of(s, p->gradient);
        norm[t] = value_of(s, p->norm);
        squares[t] = value_of(s, p->squares);
        rows[t] = (artel__embedding_rows){.token = value_of(s, p->token), .count = value_of(s, p->count)};
        clipped[t] = o->clipped[s->division.piece[s->of[t]].trainable];
    }
    artel__optimizer_input in = {
        .gradient = gradient, .norm = norm, .squares = squares, .clipped = clipped, .rows = rows};
    if (s->division.mean && !clips_together(&s->optimizer, s->division.mean)) in.norm = NULL;
    s->graph.gate = value_of(s, s->gate);
    ARTEL_TRY(artel__optimizer_step(&s->optimizer, &s->graph, &s->slots, &in));
    s->graph.gating = s->gate >= 0;
    ARTEL_TRY(artel__model_visit(artel__session_network(s->division.session), constrain, s));
    s->graph.gating = false;
    return artel__graph_seal(&s->graph);
}

/* Norms of what the next step would read, in a graph of their own. */
static artel_status build_preview(artel__store *s)
{
    const artel__plan_options options = {
        .batch_size = 1, .shards = 1, .replicas = 1, .isa = artel__context_isa(s->ctx)};
    size_t count = (size_t)s->trainables + 1;
    artel__value_id *gradient = artel__arena_alloc(&s->arena, count, sizeof *gradient);
    artel__value_id *norm = artel__arena_alloc(&s->arena, count, sizeof *norm);
    s->norm_kept = artel__arena_alloc(&s->arena, count, sizeof *s->norm_kept);
    ARTEL_TRY(artel__arena_status(&s->arena));
    artel__graph_init(&s->preview, &s->arena, &s->variables, true);
    s->preview.scope = "norms";
    for (int t = 0; t < s->trainables; t++)
        gradient[t] = artel__graph_variable(&s->preview, s->place[s->of[t]].gradient);
    ARTEL_TRY(artel__optimizer_preview_norms(&s->optimizer, &s->preview, &s->slots, gradient, norm));
    for (int t = 0; t < s->trainables; t++) s->norm_kept[t] = artel__graph_keep(&s->preview, norm[t]);
    ARTEL_TRY(artel__graph_seal(&s->preview));
    ARTEL_TRY(artel__compile(s->ctx, &artel__cpu, &s->preview, &options, &s->preview_plan));
    const artel__execution_options own = {.state = s->state, .pool = s->pool};
    return artel__execution_create(s->preview_plan, &own, &s->preview_run);
}

/* Tables whose rows change without a gradient. */
static artel_status defer(artel__store *s)
{
    s->steps.ctx = s->ctx;
    for (int i = 0; i < s->tables.count && artel__optimizer_changes_other_rows(&s->optimizer); i++) {
        const artel__row_piece *p = &s->tables.item[i];
        place *at = &s->place[p->piece];
        artel__deferred_table table = {.options = &s->optimizer.options,
                                       .squares = p->squares,
                                       .rows = p->rows,
                                       .width = p->width,
                                       .variable = artel__state_lend(s->state, at->variable)};
        for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) {
            int slot = s->slots.slot[at->trainable * s->slots.per_variable + k];
            if (slot >= 0) table.slot[k] = artel__state_lend(s->state, slot);
        }
        ARTEL_TRY(artel__deferred_create(s->ctx, &table, s->pool, &at->deferred));
    }
    return ARTEL_OK;
}

static artel_status make(artel__store *s, int threads)
{
    ARTEL_TRY(declare(s));
    ARTEL_TRY(build(s));
    const artel__plan_options options = {
        .batch_size = 1, .shards = 1, .replicas = 1, .isa = artel__context_isa(s->ctx)};
    ARTEL_TRY(artel__compile(s->ctx, &artel__cpu, &s->graph, &options, &s->plan));
    artel__spill_pause(s->ctx); /* what a server owns is in memory, wherever all else is */
    artel_status status = artel__state_create(s->ctx, &s->variables, &s->state);
    artel__spill_resume(s->ctx);
    ARTEL_TRY(status);
    ARTEL_TRY(artel__pool_create(s->ctx, threads, &s->pool));
    artel__fold_plan_make(&s->fold, 1, 0, 1, 1, s->start);
    ARTEL_TRY(defer(s));
    if (clips_together(&s->optimizer, s->division.mean)) ARTEL_TRY(build_preview(s));
    const artel__execution_options own = {.state = s->state, .pool = s->pool};
    return artel__execution_create(s->plan, &own, &s->run);
}

artel_status artel__store_create(artel_context *ctx, const artel__division *division, const artel__settings *settings,
                                 int server, int threads, artel__store **out)
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
    for (int i = 0; i < s->tables.count; i++) artel__deferred_destroy(s->place[s->tables.item[i].piece].deferred);
    artel__free(s->ctx, s->steps.step);
    artel__execution_destroy(s->preview_run);
    artel__execution_destroy(s->run);
    artel__pool_destroy(s->pool);
    artel__state_destroy(s->state);
    artel__executable_destroy(s->preview_plan);
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
    case ARTEL__ENTRY_SUM: variable = slots->sum[p->trainable]; break;
    case ARTEL__ENTRY_PRODUCT: variable = slots->product; break;
    case ARTEL__ENTRY_SCALE: variable = slots->scale; break;
    case ARTEL__ENTRY_SCALE_STEPS: variable = slots->steps; break;
    case ARTEL__ENTRY_UNTAKEN: return &s->untaken;
    case ARTEL__ENTRY_GATE: variable = s->gate; break;
    case ARTEL__ENTRY_GRADIENT:
    case ARTEL__ENTRY_DIFFERENCE: variable = p->gradient; break;
    case ARTEL__ENTRY_SQUARES:
    case ARTEL__ENTRY_SIZES: variable = p->squares; break;
    case ARTEL__ENTRY_NORM: variable = p->norm; break;
    }
    return artel__state_lend(s->state, variable);
}

artel__store_table artel__store_locate_table(artel__store *s, int piece)
{
    const place *p = &s->place[piece];
    return (artel__store_table){.token = artel__state_lend(s->state, p->token),
                                .count = artel__state_lend(s->state, p->count),
                                .rows = artel__state_lend(s->state, p->gradient),
                                .squares = p->squares >= 0 ? artel__state_lend(s->state, p->squares) : NULL,
                                .values = artel__state_lend(s->state, p->variable)};
}

void artel__store_refresh_rows(artel__store *s, int piece, const int32_t *token, int32_t count)
{
    if (s->place[piece].deferred) artel__deferred_rows(s->place[piece].deferred, &s->steps, token, count);
}

void artel__store_refresh(artel__store *s)
{
    bool any = false;
    for (int i = 0; i < s->tables.count; i++) {
        artel__deferred *deferred = s->place[s->tables.item[i].piece].deferred;
        if (!deferred) continue;
        artel__deferred_all(deferred, &s->steps);
        artel__deferred_begin(deferred);
        any = true;
    }
    if (any) s->steps.count = 0;
    s->steps.first = s->iteration;
}

static void start_slot(artel__store *s, int slot)
{
    int source = artel__optimizer_slot_source(&s->optimizer, &s->slots, slot);
    double start = artel__optimizer_slot_start(&s->optimizer, &s->slots, slot);
    if (source >= 0) artel__state_assign(s->state, slot, source);
    if (start != 0) artel__state_fill(s->state, slot, start);
}

artel_status artel__store_draw(artel__store *s)
{
    for (int i = 0; i < s->division.pieces; i++) {
        const artel__piece *p = &s->division.piece[i];
        const place *at = &s->place[i];
        if (!p->left || at->trainable < 0) continue;
        float *values = artel__state_lend(s->state, at->variable);
        ARTEL_TRY(artel__session_draw(s->division.session, p->variable, p->first, p->count, values));
        for (int k = 0; k < s->slots.per_variable; k++) {
            int slot = s->slots.slot[at->trainable * s->slots.per_variable + k];
            if (slot >= 0) start_slot(s, slot);
        }
        if (s->slots.average) start_slot(s, s->slots.average[at->trainable]);
    }
    return ARTEL_OK;
}

void artel__store_begin(artel__store *s)
{
    for (int i = 0; i < s->tables.count; i++) {
        artel__deferred *deferred = s->place[s->tables.item[i].piece].deferred;
        if (deferred) artel__deferred_begin(deferred);
    }
    s->steps.count = 0;
    s->steps.first = s->iteration;
}

/* Rows that get a gradient make the steps that they lack before; after, all of them have made this one. */
static artel_status begin_tables(artel__store *s)
{
    for (int i = 0; i < s->tables.count; i++) {
        const place *p = &s->place[s->tables.item[i].piece];
        if (!p->deferred) continue;
        ARTEL_TRY(artel__deferred_reserve(&s->steps));
        artel__deferred_rows(p->deferred, &s->steps, artel__state_lend(s->state, p->token),
                             *(const int32_t *)artel__state_lend(s->state, p->count));
    }
    return ARTEL_OK;
}

static void end_tables(artel__store *s, double rate)
{
    bool noted = false;
    const float *product = s->slots.product >= 0 ? artel__state_lend(s->state, s->slots.product) : NULL;
    for (int i = 0; i < s->tables.count; i++) {
        const place *p = &s->place[s->tables.item[i].piece];
        if (!p->deferred) continue;
        if (!noted) artel__deferred_note(&s->steps, (float)rate, product ? *product : 1.0f);
        noted = true;
        artel__deferred_mark(p->deferred, &s->steps, artel__state_lend(s->state, p->token),
                             *(const int32_t *)artel__state_lend(s->state, p->count));
    }
}

static void change_averages(artel__store *s, bool assign)
{
    for (int i = 0; i < s->division.pieces; i++) {
        const place *p = &s->place[i];
        if (p->variable < 0 || p->trainable >= 0) continue;
        float *value = artel__state_lend(s->state, p->variable);
        const float *difference = artel__state_lend(s->state, p->gradient);
        for (int64_t k = 0; k < s->division.piece[i].count; k++)
            value[k] = assign ? difference[k] : value[k] + difference[k];
    }
}

static artel__step step_of(artel__store *s, double rate)
{
    return (artel__step){.fold = &s->fold,
                         .batch = (uint64_t)s->iteration,
                         .iteration = s->iteration,
                         .learning_rate = rate >= 0 ? rate : artel__schedule_rate(&s->optimizer.schedule, s->iteration),
                         .training = true};
}

/* Whether the update that lies here is a step. */
static bool is_finite(const artel__store *s)
{
    return s->gate < 0 || isfinite(*(const double *)artel__state_lend(s->state, s->gate));
}

bool artel__store_may_ask(const artel__optimizer *o, bool mean)
{
    return clips_together(o, mean) || (o->scales_loss && mean);
}

/* Those that ask are counted, so that the ordinals of two in succession differ by one: what is told of them lies in two
 * places by turns. Updates come in the same order where they are means; with a gate all of them ask. Else they need
 * not, and one that is no step, and wants nothing, may come to one part earlier than to another; what all have in
 * common is the number of steps. */
int64_t artel__store_ask(const artel__store *s)
{
    int64_t period = s->optimizer.accumulation_steps;
    bool last = (s->iteration + 1) % period == 0, mean = s->division.mean, all = s->gate >= 0 && mean;
    bool asks = (s->norm >= 0 && last && (mean || is_finite(s))) || all;
    return !asks ? 0 : all ? s->iteration + s->untaken + 1 : (s->iteration + 1) / period;
}

int artel__store_numbers(const artel__store *s)
{
    return s->division.slots->count + 1;
}

void artel__store_preview(artel__store *s, double *numbers)
{
    int count = artel__store_numbers(s);
    for (int i = 0; i < count; i++) numbers[i] = 0;
    if (s->gate >= 0) numbers[count - 1] = *(const double *)artel__state_lend(s->state, s->gate);
    if (s->norm < 0) return;
    artel__step step = step_of(s, 0);
    artel__execution_compute(s->preview_run, &step, NULL); /* cannot fail without collectives */
    for (int t = 0; t < s->trainables; t++)
        numbers[s->division.piece[s->of[t]].trainable] =
            *(const double *)artel__execution_read(s->preview_run, s->norm_kept[t]);
}

void artel__store_take_sums(artel__store *s, double squared_norm, double gate)
{
    if (s->norm >= 0) *(double *)artel__state_lend(s->state, s->norm) = squared_norm;
    if (s->gate >= 0) *(double *)artel__state_lend(s->state, s->gate) = gate;
}

artel_status artel__store_apply(artel__store *s, double rate, bool assign)
{
    ARTEL_TRY(begin_tables(s));
    artel__step step = step_of(s, rate);
    artel__execution_compute(s->run, &step,
                             NULL); /* nothing but what an apply reads; cannot fail without collectives */
    artel__execution_apply(s->run, &step);
    end_tables(s, step.learning_rate);
    change_averages(s, assign);
    if (is_finite(s))
        s->iteration++;
    else
        s->untaken++;
    return ARTEL_OK;
}

int64_t artel__store_iteration(const artel__store *s)
{
    return s->iteration + s->untaken;
}

void artel__store_set_iteration(artel__store *s, int64_t iteration)
{
    s->iteration = iteration - s->untaken;
}
