/* SPDX-License-Identifier: Apache-2.0 */
/* Tables at a server of which rows come alone: they are stepped alone, and where a rule changes all other rows, too,
 * those are late (exec/deferred.h), until somebody looks at them or they get a gradient. Steps of a table are those of
 * functions that have its rows; the numbers of such steps must follow one another to be noted, so where they do not all
 * rows are level first. */
#include <string.h>

#include "function/book_impl.h"

enum {
    MOST_NOTED = 1 << 16 /* steps; then all rows make theirs */
};

/* The most rows of a piece that an update of any function has. */
static int64_t most_rows(const artel__book *b, const artel__owned_piece *p)
{
    int64_t most = 0, rows = p->count / p->width;
    for (const artel_function *f = b->strategy->function; f; f = f->next) {
        for (int k = 0; k < f->updates; k++) {
            if (f->update[k].rows && f->update[k].variable == p->variable && f->update[k].most > most)
                most = f->update[k].most;
        }
    }
    return most < rows ? most : rows;
}

artel_status artel__book_declare_rows(artel__book *b, const artel__update *u, const artel__owned_piece *piece)
{
    artel__book_place *p = &b->place[piece - b->strategy->piece];
    artel_shape one = artel__shape(1, (int64_t)1), tokens = artel__shape(1, most_rows(b, piece)),
                rows = artel__shape(2, most_rows(b, piece), piece->width);
    if (p->token < 0) ARTEL_TRY(artel__book_add_room(b, "tokens", ARTEL_DTYPE_INT32, &tokens, &p->token));
    if (p->number < 0) ARTEL_TRY(artel__book_add_room(b, "count", ARTEL_DTYPE_INT32, &one, &p->number));
    if (p->rows < 0) ARTEL_TRY(artel__book_add_room(b, "rows", ARTEL_DTYPE_FLOAT32, &rows, &p->rows));
    if (p->row_squares < 0 && u->kept_squares >= 0)
        ARTEL_TRY(artel__book_add_room(b, "squares", ARTEL_DTYPE_FLOAT32, &rows, &p->row_squares));
    return ARTEL_OK;
}

static artel_status defer_piece(artel__book *b, artel__ruler *r, int trainable)
{
    const artel__owned_piece *piece = &b->strategy->piece[r->piece[trainable]];
    artel__book_place *p = &b->place[r->piece[trainable]];
    artel__deferred_table table = {.options = &r->rule.options,
                                   .squares = p->row_squares >= 0,
                                   .rows = piece->count / piece->width,
                                   .width = piece->width,
                                   .variable = artel__state_lend(b->state, p->variable)};
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) {
        int slot = r->slots.slot[trainable * r->slots.per_variable + k];
        if (slot >= 0) table.slot[k] = artel__state_lend(b->state, slot);
    }
    p->steps.ctx = b->strategy->ctx;
    p->steps.first = r->iteration;
    return artel__deferred_create(b->strategy->ctx, &table, b->pool, &p->deferred);
}

artel_status artel__book_defer(artel__book *b)
{
    for (int i = 0; i < b->rulers; i++) {
        artel__ruler *r = &b->ruler[i];
        if (!artel__optimizer_changes_other_rows(&r->rule)) continue;
        for (int t = 0; t < r->count; t++) {
            if (b->place[r->piece[t]].rows >= 0) ARTEL_TRY(defer_piece(b, r, t));
        }
    }
    artel__book_anew(b);
    return ARTEL_OK;
}

void artel__book_level(artel__book *b, int piece)
{
    artel__book_place *p = &b->place[piece];
    if (!p->deferred || p->steps.count == 0) return;
    artel__deferred_all(p->deferred, &p->steps);
    p->steps.count = 0;
    artel__deferred_begin(p->deferred);
}

void artel__book_anew(artel__book *b)
{
    for (int i = 0; i < b->strategy->pieces; i++) {
        artel__book_place *p = &b->place[i];
        p->steps.count = 0;
        if (p->deferred) artel__deferred_begin(p->deferred);
    }
}

const float *artel__book_rows(artel__book *b, int piece, const int32_t *row, int32_t count)
{
    artel__book_place *p = &b->place[piece];
    if (p->deferred) artel__deferred_rows(p->deferred, &p->steps, row, count);
    return artel__state_lend(b->state, p->variable);
}

bool artel__book_put_rows(artel__book *b, const artel__row_piece *rows)
{
    artel__book_place *p = &b->place[rows->piece];
    size_t bytes = (size_t)rows->count * (size_t)rows->width * sizeof(float);
    int32_t *count = artel__state_lend(b->state, p->number);
    *count = 0;
    if (!artel__row_piece_tokens(rows, artel__state_lend(b->state, p->token))) return false;
    *count = rows->count;
    if (rows->count) memcpy(artel__state_lend(b->state, p->rows), rows->row, bytes);
    if (rows->count && rows->square) memcpy(artel__state_lend(b->state, p->row_squares), rows->square, bytes);
    return true;
}

/* -- around an update -- */

static int32_t tokens_of(const artel__book *b, const artel__book_place *p, const int32_t **token)
{
    *token = artel__state_lend(b->state, p->token);
    return *(const int32_t *)artel__state_lend(b->state, p->number);
}

static artel_status begin_piece(artel__book *b, const artel_function *f, const artel__update *u, int piece)
{
    artel__book_place *p = &b->place[piece];
    const artel__ruler *r = b->applier[f->number].ruler;
    const int32_t *token;
    if (!p->deferred) return ARTEL_OK;
    bool follows = u->rows && r->iteration == p->steps.first + (int64_t)p->steps.count;
    if (!follows || p->steps.count == MOST_NOTED) artel__book_level(b, piece);
    if (!u->rows) return ARTEL_OK;
    if (p->steps.count == 0) p->steps.first = r->iteration;
    ARTEL_TRY(artel__deferred_reserve(&p->steps));
    int32_t count = tokens_of(b, p, &token);
    artel__deferred_rows(p->deferred, &p->steps, token, count);
    return ARTEL_OK;
}

artel_status artel__book_begin_rows(artel__book *b, const artel_function *f)
{
    const artel__owned_piece *p;
    for (int k = 0; k < f->updates; k++) {
        const artel__update *u = &f->update[k];
        for (int at = 0; (p = artel__closure_piece(b->strategy, u->variable, b->server, &at)) != NULL;)
            ARTEL_TRY(begin_piece(b, f, u, (int)(p - b->strategy->piece)));
    }
    return ARTEL_OK;
}

static void end_piece(artel__book *b, const artel_function *f, const artel__update *u, int piece, double rate)
{
    artel__book_place *p = &b->place[piece];
    const artel__ruler *r = b->applier[f->number].ruler;
    const int32_t *token;
    if (!p->deferred) return;
    if (!u->rows) {
        artel__deferred_begin(p->deferred);
        return;
    }
    const float *product = r->slots.product >= 0 ? artel__state_lend(b->state, r->slots.product) : NULL;
    artel__deferred_note(&p->steps, (float)rate, product ? *product : 1.0f);
    int32_t count = tokens_of(b, p, &token);
    artel__deferred_mark(p->deferred, &p->steps, token, count);
}

void artel__book_end_rows(artel__book *b, const artel_function *f, double rate)
{
    const artel__owned_piece *p;
    for (int k = 0; k < f->updates; k++) {
        const artel__update *u = &f->update[k];
        for (int at = 0; (p = artel__closure_piece(b->strategy, u->variable, b->server, &at)) != NULL;)
            end_piece(b, f, u, (int)(p - b->strategy->piece), rate);
    }
}
