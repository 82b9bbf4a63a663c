/* SPDX-License-Identifier: Apache-2.0 */
/* What a server owns of a strategy: the memory of its pieces of variables and their slots, and for each function a
 * graph that applies its updates.
 *
 * Whole variables lie as they do in a worker; of one that is cut a piece is a run of its elements, which no rule minds
 * that cuts it. So messages are copies of memory. Behind the pieces are the slots, behind these rooms where updates are
 * put. A function's graph has the optimizer's nodes as artel__optimizer_step makes
 * them in any training graph, constraints and assignments; so the bits are those of a process that does it all.
 */
#include <string.h>

#include "function/book_impl.h"
#include "op/elementwise.h"
#include "op/optimize.h"

/* -- declaring -- */

static artel_status add(artel__book *b, const artel__owned_piece *p, const char *name, artel__variable_kind kind,
                        int *out)
{
    const artel__variable *like = &b->strategy->variables.item[p->variable];
    bool table = like->shape.rank == 2 && p->width > 0;
    artel_shape run = table ? artel__shape(2, p->count / p->width, p->width) : artel__shape(1, p->count);
    bool panels = p->whole && like->layout == ARTEL__LAYOUT_PANELS;
    *out = artel__variables_add(&b->variables, name, kind, like->dtype, p->whole ? &like->shape : &run,
                                panels ? like->rows : 0);
    return *out < 0 ? (artel_status)*out : ARTEL_OK;
}

static artel_status declare_pieces(artel__book *b)
{
    const artel_strategy *s = b->strategy;
    for (int i = 0; i < s->pieces; i++) {
        const artel__variable *v = &s->variables.item[s->piece[i].variable];
        b->place[i] = (artel__book_place){.variable = -1,
                                          .value = -1,
                                          .squares = -1,
                                          .norm = -1,
                                          .token = -1,
                                          .number = -1,
                                          .rows = -1,
                                          .row_squares = -1};
        if (s->piece[i].part == b->server) ARTEL_TRY(add(b, &s->piece[i], v->name, v->kind, &b->place[i].variable));
    }
    return ARTEL_OK;
}

static artel_status declare_slots(artel__book *b, artel__ruler *r)
{
    const artel_strategy *s = b->strategy;
    r->trainable = artel__arena_alloc(&b->arena, (size_t)s->pieces + 1, sizeof *r->trainable);
    r->item = artel__arena_alloc(&b->arena, (size_t)s->pieces + 1, sizeof *r->item);
    r->piece = artel__arena_alloc(&b->arena, (size_t)s->pieces + 1, sizeof *r->piece);
    ARTEL_TRY(artel__arena_status(&b->arena));
    r->rule = r->of->rule;
    r->rule.arena = &b->arena;
    for (int i = 0; i < r->of->count; i++) {
        const artel__owned_piece *p;
        for (int at = 0; (p = artel__closure_piece(s, r->of->variable[i]->index, b->server, &at)) != NULL;) {
            r->item[r->count] = i;
            r->piece[r->count] = (int)(p - s->piece);
            r->trainable[r->count++] = b->place[p - s->piece].variable;
        }
    }
    return artel__optimizer_declare(&r->rule, &b->variables, r->trainable, r->count, &r->slots);
}

artel_status artel__book_add_room(artel__book *b, const char *name, artel_dtype dtype, const artel_shape *shape,
                                  int *out)
{
    *out = artel__variables_add(&b->variables, name, ARTEL__VARIABLE_SLOT, dtype, shape, 0);
    return *out < 0 ? (artel_status)*out : ARTEL_OK;
}

/* Where what an update has of a piece is put. */
static artel_status declare_room(artel__book *b, const artel__update *u, const artel__owned_piece *piece)
{
    artel_shape scalar = {.rank = 0};
    artel__book_place *p = &b->place[piece - b->strategy->piece];
    if (p->value < 0) ARTEL_TRY(add(b, piece, "value", ARTEL__VARIABLE_SLOT, &p->value));
    if (p->squares < 0 && artel__update_has_second(u))
        ARTEL_TRY(add(b, piece, "squares", ARTEL__VARIABLE_SLOT, &p->squares));
    if (p->norm >= 0 || u->kept_norm < 0) return ARTEL_OK;
    p->norm = artel__variables_add(&b->variables, "norm", ARTEL__VARIABLE_SLOT, ARTEL_DTYPE_FLOAT64, &scalar, 0);
    return p->norm < 0 ? (artel_status)p->norm : ARTEL_OK;
}

static artel_status declare_rooms(artel__book *b)
{
    const artel__owned_piece *p;
    for (const artel_function *f = b->strategy->function; f; f = f->next) {
        for (int k = 0; k < f->updates; k++) {
            const artel__update *u = &f->update[k];
            for (int at = 0; (p = artel__closure_piece(b->strategy, u->variable, b->server, &at)) != NULL;) {
                ARTEL_TRY(u->rows ? artel__book_declare_rows(b, u, p) : declare_room(b, u, p));
            }
        }
    }
    return ARTEL_OK;
}

static artel_status declare(artel__book *b)
{
    artel_strategy *s = b->strategy;
    for (const artel_optimizer *o = s->optimizer; o; o = o->next) b->rulers++;
    b->functions = s->function ? s->function->number + 1 : 0;
    b->place = artel__arena_alloc(&b->arena, (size_t)s->pieces + 1, sizeof *b->place);
    b->ruler = artel__arena_alloc(&b->arena, (size_t)b->rulers + 1, sizeof *b->ruler);
    b->applier = artel__arena_alloc(&b->arena, (size_t)b->functions + 1, sizeof *b->applier);
    ARTEL_TRY(artel__arena_status(&b->arena));
    memset(b->ruler, 0, (size_t)b->rulers * sizeof *b->ruler);
    memset(b->applier, 0, (size_t)b->functions * sizeof *b->applier);
    ARTEL_TRY(declare_pieces(b));
    artel__ruler *r = b->ruler;
    for (const artel_optimizer *o = s->optimizer; o; o = o->next, r++) {
        r->of = o;
        ARTEL_TRY(declare_slots(b, r));
    }
    b->kept = b->variables.count;
    return declare_rooms(b);
}

/* -- graphs -- */

static artel__value_id value_of(artel__graph *graph, int variable)
{
    return variable >= 0 ? artel__graph_variable(graph, variable) : ARTEL__NO_VALUE;
}

static const artel__update *update_of(const artel_function *f, int item)
{
    for (int k = 0; k < f->updates; k++) {
        if (f->update[k].kind == ARTEL__UPDATE_GRADIENT && f->update[k].item == item) return &f->update[k];
    }
    return NULL;
}

/* The optimizer's step, of the variables that are here. */
static artel_status add_step(artel__book *b, const artel_function *f, artel__applier *a)
{
    artel__ruler *r = a->ruler;
    size_t count = (size_t)r->count + 1;
    artel__graph *graph = &a->graph;
    artel__value_id *gradient = artel__arena_alloc(&b->arena, count, sizeof *gradient);
    artel__value_id *norm = artel__arena_alloc(&b->arena, count, sizeof *norm);
    artel__value_id *squares = artel__arena_alloc(&b->arena, count, sizeof *squares);
    bool *clipped = artel__arena_alloc(&b->arena, count, sizeof *clipped);
    artel__embedding_rows *rows = artel__arena_alloc(&b->arena, count, sizeof *rows);
    ARTEL_TRY(artel__arena_status(&b->arena));
    for (int i = 0; i < r->count; i++) {
        const artel__update *u = update_of(f, r->item[i]);
        const artel__book_place *p = &b->place[r->piece[i]];
        bool alone = u && u->rows;
        gradient[i] = u ? value_of(graph, alone ? p->rows : p->value) : ARTEL__NO_VALUE;
        squares[i] = u && u->kept_squares >= 0 ? value_of(graph, alone ? p->row_squares : p->squares) : ARTEL__NO_VALUE;
        rows[i] = (artel__embedding_rows){.token = alone ? value_of(graph, p->token) : ARTEL__NO_VALUE,
                                          .count = alone ? value_of(graph, p->number) : ARTEL__NO_VALUE};
        norm[i] = u && u->kept_norm >= 0 ? value_of(graph, p->norm) : ARTEL__NO_VALUE;
        clipped[i] = u && u->clipped;
    }
    artel__optimizer_input in = {
        .gradient = gradient, .norm = norm, .squares = squares, .clipped = clipped, .rows = rows};
    ARTEL_TRY(artel__optimizer_step(&r->rule, graph, &r->slots, &in));
    graph->phase = ARTEL__PHASE_APPLY;
    for (int i = 0; i < r->count; i++) {
        const artel_variable *v = r->of->variable[r->item[i]];
        if (gradient[i] >= 0) artel__constraint_apply(graph, &v->constraint, value_of(graph, r->trainable[i]));
    }
    return graph->status;
}

static artel__ruler *ruler_of(artel__book *b, const artel_function *f)
{
    for (int i = 0; i < b->rulers; i++) {
        if (b->ruler[i].of == artel__function_optimizer(f) && b->ruler[i].count > 0) return &b->ruler[i];
    }
    return NULL;
}

static artel_status build(artel__book *b, const artel_function *f)
{
    artel__applier *a = &b->applier[f->number];
    const artel__plan_options options = {
        .batch_size = 1, .shards = 1, .replicas = 1, .isa = artel__context_isa(b->strategy->ctx)};
    a->ruler = ruler_of(b, f);
    artel__graph_init(&a->graph, &b->arena, &b->variables, true);
    a->graph.scope = "optimizer";
    a->graph.phase = ARTEL__PHASE_APPLY;
    if (a->ruler) ARTEL_TRY(add_step(b, f, a));
    const artel__owned_piece *piece;
    for (int k = 0; k < f->updates; k++) {
        artel__update_kind kind = f->update[k].kind;
        if (kind != ARTEL__UPDATE_ASSIGN && kind != ARTEL__UPDATE_ADD) continue;
        for (int at = 0; (piece = artel__closure_piece(b->strategy, f->update[k].variable, b->server, &at)) != NULL;) {
            const artel__book_place *p = &b->place[piece - b->strategy->piece];
            artel__value_id to = value_of(&a->graph, p->variable), value = value_of(&a->graph, p->value);
            if (kind == ARTEL__UPDATE_ADD) value = artel__op_binary(&a->graph, ARTEL__BINARY_ADD, to, value);
            artel__op_assign(&a->graph, to, value);
        }
    }
    ARTEL_TRY(artel__graph_seal(&a->graph));
    return artel__compile(b->strategy->ctx, &artel__cpu, &a->graph, &options, &a->plan);
}

/* -- starting -- */

static void start_slots(artel__book *b, artel__ruler *r)
{
    for (int i = 0; i < r->slots.file_count; i++) {
        int slot = r->slots.file_order[i], source = artel__optimizer_slot_source(&r->rule, &r->slots, slot);
        double start = artel__optimizer_slot_start(&r->rule, &r->slots, slot);
        if (source >= 0)
            artel__state_assign(b->state, slot, source);
        else if (start != 0)
            artel__state_fill(b->state, slot, start);
    }
}

/* As the program has them: a task of its own has made them alike. */
static void start(artel__book *b)
{
    artel_strategy *s = b->strategy;
    for (int i = 0; i < s->pieces; i++) {
        const artel__owned_piece *p = &s->piece[i];
        size_t size = artel_dtype_size(s->variables.item[p->variable].dtype);
        const uint8_t *from = artel__state_lend(s->state[0], p->variable);
        if (b->place[i].variable < 0) continue;
        memcpy(artel__state_lend(b->state, b->place[i].variable), from + (size_t)p->first * size,
               (size_t)p->count * size);
    }
    for (int i = 0; i < b->rulers; i++) start_slots(b, &b->ruler[i]);
}

static artel_status make(artel__book *b)
{
    artel_strategy *s = b->strategy;
    artel__variables_init(&b->variables, &b->arena);
    ARTEL_TRY(declare(b));
    ARTEL_TRY(artel__state_create(s->ctx, &b->variables, &b->state));
    ARTEL_TRY(artel__pool_create(s->ctx, s->plan.threads_of[0], &b->pool));
    artel__fold_plan_make(&b->fold, 1, 0, 1, 1, b->start);
    start(b);
    ARTEL_TRY(artel__book_defer(b));
    const artel__execution_options own = {.state = b->state, .pool = b->pool};
    for (const artel_function *f = s->function; f; f = f->next) {
        ARTEL_TRY(build(b, f));
        ARTEL_TRY(artel__execution_create(b->applier[f->number].plan, &own, &b->applier[f->number].run));
    }
    return ARTEL_OK;
}

artel_status artel__book_create(artel_strategy *s, int server, artel__book **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(artel__book), "parameter server", &block));
    artel__book *b = block;
    b->strategy = s;
    b->server = server;
    artel__arena_init(&b->arena, s->ctx);
    artel_status status = make(b);
    if (status < 0) {
        artel__book_destroy(b);
        return status;
    }
    *out = b;
    return ARTEL_OK;
}

void artel__book_destroy(artel__book *b)
{
    if (!b) return;
    artel_context *ctx = b->strategy->ctx;
    for (int i = 0; b->applier && i < b->functions; i++) {
        artel__execution_destroy(b->applier[i].run);
        artel__executable_destroy(b->applier[i].plan);
    }
    for (int i = 0; b->place && i < b->strategy->pieces; i++) {
        artel__deferred_destroy(b->place[i].deferred);
        artel__free(ctx, b->place[i].steps.step);
    }
    artel__pool_destroy(b->pool);
    artel__state_destroy(b->state);
    artel__arena_fini(&b->arena);
    artel__free(ctx, b);
}

/* -- using -- */

float *artel__book_piece(artel__book *b, const artel__owned_piece *piece)
{
    artel__book_level(b, (int)(piece - b->strategy->piece));
    return artel__state_lend(b->state, b->place[piece - b->strategy->piece].variable);
}

void *artel__book_room(artel__book *b, const artel__update *u, const artel__owned_piece *piece, int k)
{
    artel__book_place *p = &b->place[piece - b->strategy->piece];
    bool squares = k == 1 && artel__update_has_second(u);
    return artel__state_lend(b->state, k == 0 ? p->value : squares ? p->squares : p->norm);
}

/* -- applying -- */

/* What nobody else has changed since it was read becomes what the worker has, to the bit; else what it has added is
 * added. */
static void take_statistic(artel__book *b, const artel__owned_piece *piece)
{
    const artel__book_place *p = &b->place[piece - b->strategy->piece];
    float *value = artel__state_lend(b->state, p->variable);
    const float *now = artel__state_lend(b->state, p->value), *before = artel__state_lend(b->state, p->squares);
    for (int64_t i = 0; i < piece->count; i++)
        value[i] = memcmp(&value[i], &before[i], sizeof *value) == 0 ? now[i] : value[i] + (now[i] - before[i]);
}

/* Moving statistics: what each closure has added to them counts, in whatever order they come. */
static void take_statistics(artel__book *b, const artel_function *f)
{
    const artel__owned_piece *p;
    for (int k = 0; k < f->updates; k++) {
        if (f->update[k].kind != ARTEL__UPDATE_STATISTIC) continue;
        for (int at = 0; (p = artel__closure_piece(b->strategy, f->update[k].variable, b->server, &at)) != NULL;)
            take_statistic(b, p);
    }
}

artel_status artel__book_apply(artel__book *b, const artel_function *f, double rate)
{
    artel__applier *a = &b->applier[f->number];
    artel__ruler *r = a->ruler;
    artel__step step = {.fold = &b->fold, .training = true};
    ARTEL_TRY(artel__book_begin_rows(b, f));
    if (r) {
        step.batch = (uint64_t)r->iteration;
        step.iteration = r->iteration;
        step.learning_rate = rate >= 0 ? rate : artel__schedule_rate(&r->rule.schedule, r->iteration);
        r->iteration++;
    }
    uint32_t caller = artel__fp_enter();
    artel__execution_compute(a->run, &step,
                             NULL); /* nothing but what an apply reads; cannot fail without collectives */
    artel__execution_apply(a->run, &step);
    take_statistics(b, f);
    artel__book_end_rows(b, f, step.learning_rate);
    artel__fp_leave(caller);
    return ARTEL_OK;
}

static artel__variable_range kept(const artel__book *b)
{
    return (artel__variable_range){0, b->kept};
}

size_t artel__book_bytes(const artel__book *b)
{
    return artel__image_bytes(&b->variables, kept(b)) + (size_t)b->rulers * sizeof(int64_t);
}

void artel__book_image(artel__book *b, void *image)
{
    uint8_t *at = image;
    for (int i = 0; i < b->strategy->pieces; i++) artel__book_level(b, i);
    artel__state_image(b->state, kept(b), image);
    at += artel__image_bytes(&b->variables, kept(b));
    for (int i = 0; i < b->rulers; i++)
        memcpy(at + (size_t)i * sizeof(int64_t), &b->ruler[i].iteration, sizeof(int64_t));
}

void artel__book_restore(artel__book *b, const void *image)
{
    const uint8_t *at = image;
    artel__state_restore(b->state, kept(b), image);
    at += artel__image_bytes(&b->variables, kept(b));
    for (int i = 0; i < b->rulers; i++)
        memcpy(&b->ruler[i].iteration, at + (size_t)i * sizeof(int64_t), sizeof(int64_t));
    artel__book_anew(b);
}
