/* SPDX-License-Identifier: Apache-2.0 */
/* A part: reading it, putting an update in its place and applying that, the whole of it as an image. */
#include "function/owned.h"

#include <string.h>

static size_t bytes_of(const artel__owned_piece *piece)
{
    return (size_t)piece->count * sizeof(float);
}

/* -- life -- */

static artel_status make(artel__owned_part *o)
{
    artel_strategy *s = o->strategy;
    size_t functions = (size_t)(s->function ? s->function->number + 1 : 0) + 1;
    o->piece = artel__arena_alloc(&o->arena, 5 * (size_t)s->pieces + 8, sizeof *o->piece);
    o->rows = artel__arena_alloc(&o->arena, functions, sizeof *o->rows);
    ARTEL_TRY(artel__arena_status(&o->arena));
    for (const artel_function *f = s->function; f; f = f->next)
        ARTEL_TRY(artel__row_lists_make(&o->arena, f, o->number, &o->rows[f->number]));
    return artel__book_create(s, o->number, &o->book);
}

artel_status artel__owned_create(artel_strategy *s, int number, artel__owned_part **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(artel__owned_part), "parameter server", &block));
    artel__owned_part *o = block;
    o->strategy = s;
    o->number = number;
    o->version = 1;
    artel__arena_init(&o->arena, s->ctx);
    artel_status status = make(o);
    if (status < 0) {
        artel__owned_destroy(o);
        return status;
    }
    *out = o;
    return ARTEL_OK;
}

void artel__owned_destroy(artel__owned_part *o)
{
    if (!o) return;
    artel_context *ctx = o->strategy->ctx;
    artel__chain_fini(ctx, &o->chain);
    artel__book_destroy(o->book);
    artel__applied_fini(ctx, &o->applied);
    artel__free(ctx, o->asked);
    artel__arena_fini(&o->arena);
    artel__free(ctx, o);
}

static artel_status misfit(const artel__owned_part *o)
{
    return artel__closure_misfit(o->strategy->ctx, "a task");
}

/* -- updates -- */

static bool take_update(artel__owned_part *o, const artel__lane_slot *call, artel__slot_at *from,
                        const artel__update *u, int *count)
{
    const artel__owned_piece *p;
    for (int at = 0; (p = artel__closure_piece(o->strategy, u->variable, o->number, &at)) != NULL;) {
        size_t bytes[3];
        int parts = artel__update_parts(u, p, bytes);
        for (int k = 0; k < parts; k++) {
            const void *data = artel__slot_next(call, from, bytes[k]);
            if (!data) return false;
            memcpy(artel__book_room(o->book, u, p, k), data, bytes[k]);
            o->piece[(*count)++] = (artel__net_piece){data, bytes[k]};
        }
    }
    return true;
}

static bool take_rows(artel__owned_part *o, const artel_function *f, const artel__lane_slot *call, artel__slot_at *at,
                      int *count)
{
    artel__row_list *list = &o->rows[f->number].update;
    artel__slot_at before = *at;
    if (!artel__row_list_read(list, call, at, true)) return false;
    int more = artel__row_list_write(list, true, o->piece + *count);
    if (more) /* the list's own is of the next one soon */
        o->piece[*count].data = artel__slot_next(call, &before, o->piece[*count].bytes);
    *count += more;
    for (int i = 0; i < list->count; i++) {
        if (!artel__book_put_rows(o->book, &list->item[i])) return false;
    }
    return true;
}

static bool take_updates(artel__owned_part *o, const artel__lane_head *in, const artel__lane_slot *call, int *count)
{
    const artel_function *f = artel__closure_function(o->strategy, in->part);
    artel__slot_at at = {0, 0};
    bool fits = f && in->a <= in->item && in->item - in->a < ARTEL__CLOSURES_APART && in->item >= o->applied.base;
    for (int k = 0; fits && k < f->updates; k++)
        fits = f->update[k].rows || take_update(o, call, &at, &f->update[k], count);
    return fits && take_rows(o, f, call, &at, count) && at.offset == call->length;
}

static bool is_here(const artel__owned_part *o, uint32_t piece)
{
    return piece < (uint32_t)o->strategy->pieces && o->strategy->piece[piece].part == o->number;
}

artel_status artel__owned_put(artel__owned_part *o, unsigned op, const artel__lane_head *in,
                              const artel__lane_slot *call, int *count)
{
    *count = 0;
    if (op == ARTEL__CLOSURE_APPLY) return take_updates(o, in, call, count) ? ARTEL_OK : misfit(o);
    if (op == ARTEL__CLOSURE_STORE && !is_here(o, in->part)) return misfit(o);
    size_t bytes = op == ARTEL__CLOSURE_STORE ? bytes_of(&o->strategy->piece[in->part]) : artel__book_bytes(o->book);
    const void *data = artel__slot_data(call, 0, 0, bytes);
    if (!data || call->length != artel__net_padded(bytes)) return misfit(o);
    o->piece[(*count)++] = (artel__net_piece){data, bytes};
    return ARTEL_OK;
}

static artel_status apply_closure(artel__owned_part *o, const artel__lane_head *in, const artel__lane_slot *call)
{
    const artel_function *f = artel__closure_function(o->strategy, in->part);
    artel__applied_forget(&o->applied, in->a,
                          ARTEL__CLOSURES_KNOWN); /* they have results: none of them is ever sent again */
    ARTEL_TRY(artel__applied_add(o->strategy->ctx, &o->applied, in->item));
    ARTEL_TRY(artel__book_apply(o->book, f, in->rate));
    o->updates++;
    o->written += call->length;
    return ARTEL_OK;
}

artel_status artel__owned_apply(artel__owned_part *o, unsigned op, const artel__lane_head *in,
                                const artel__lane_slot *call)
{
    if (op == ARTEL__CLOSURE_APPLY) ARTEL_TRY(apply_closure(o, in, call));
    if (op == ARTEL__CLOSURE_STORE) {
        const artel__owned_piece *p = &o->strategy->piece[in->part];
        memcpy(artel__book_piece(o->book, p), artel__slot_data(call, 0, 0, bytes_of(p)), bytes_of(p));
    }
    if (op == ARTEL__CLOSURE_RESTORE)
        artel__book_restore(o->book, artel__slot_data(call, 0, 0, artel__book_bytes(o->book)));
    o->version++;
    return ARTEL_OK;
}

/* -- reading -- */

/* Those that are no tables; *to: where they are copied. Returns how many pieces of the message they are. */
static int list_values(artel__owned_part *o, const artel_function *f, uint8_t **to)
{
    const artel__owned_piece *p;
    artel__span of;
    int count = 0;
    for (int k = 0; k < f->reads; k++) {
        if (f->tables.of[k] >= 0) continue;
        for (int at = 0; (p = artel__closure_read(f, k, o->number, &at, &of)) != NULL;) {
            size_t bytes = artel__span_bytes(&of);
            memcpy(*to, artel__book_piece(o->book, p) + (of.first - p->first), bytes);
            o->piece[count++] = (artel__net_piece){*to, bytes};
            *to += artel__net_padded(bytes);
        }
    }
    return count;
}

static size_t values_bytes(const artel__owned_part *o, const artel_function *f)
{
    artel__span of;
    size_t bytes = 0;
    for (int k = 0; k < f->reads; k++) {
        if (f->tables.of[k] >= 0) continue;
        for (int at = 0; artel__closure_read(f, k, o->number, &at, &of) != NULL;)
            bytes += artel__net_padded(artel__span_bytes(&of));
    }
    return bytes;
}

/* Returns how many pieces there are then; -1: a token is none of its piece. */
static int list_rows(artel__owned_part *o, const artel__row_list *list, uint8_t *to, int count)
{
    for (int i = 0; i < list->count; i++) {
        const artel__row_piece *p = &list->item[i];
        size_t bytes = (size_t)p->count * (size_t)p->width * sizeof(float);
        if (p->count == 0) continue;
        if (!artel__row_piece_tokens(p, o->asked)) return -1;
        artel__row_piece_copy(p, artel__book_rows(o->book, p->piece, o->asked, p->count), o->asked, to);
        o->piece[count++] = (artel__net_piece){to, bytes};
        to += artel__net_padded(bytes);
    }
    return count;
}

static artel_status make_asked(artel__owned_part *o, const artel__row_list *list)
{
    void *wider = o->asked;
    int32_t most = 0;
    for (int i = 0; i < list->count; i++) most = list->item[i].count > most ? list->item[i].count : most;
    if (most <= o->asked_room) return ARTEL_OK;
    ARTEL_TRY(artel__realloc(o->strategy->ctx, (size_t)most * sizeof *o->asked, "parameter server", &wider));
    o->asked = wider;
    o->asked_room = most;
    return ARTEL_OK;
}

artel_status artel__owned_read(artel__owned_part *o, artel__chain_client *c, artel__chain_call *at,
                               const artel__lane_head *in, artel__lane_head *out, int *count)
{
    const artel_function *f = artel__closure_function(o->strategy, in->part);
    artel__slot_at from = {0, 0};
    uint8_t *to;
    artel__row_list *list = f ? &o->rows[f->number].read : NULL;
    if (!f || !artel__row_list_read(list, &at->call, &from, false) || from.offset != at->call.length) return misfit(o);
    bool same = in->position == o->version;
    size_t bytes = (same ? 0 : values_bytes(o, f)) + artel__row_list_answer_bytes(list);
    out->position = o->version;
    out->flags = same ? ARTEL__CLOSURE_SAME : ARTEL__CLOSURE_OK;
    ARTEL_TRY(make_asked(o, list));
    ARTEL_TRY(artel__chain_room(c, at, bytes, &to));
    *count = same ? 0 : list_values(o, f, &to);
    *count = list_rows(o, list, to, *count);
    o->read += bytes;
    return *count >= 0 ? ARTEL_OK : misfit(o);
}

artel_status artel__owned_fetch(artel__owned_part *o, artel__chain_client *c, artel__chain_call *at,
                                const artel__lane_head *in, int *count)
{
    uint8_t *to;
    if (!is_here(o, in->part)) return misfit(o);
    const artel__owned_piece *p = &o->strategy->piece[in->part];
    ARTEL_TRY(artel__chain_room(c, at, bytes_of(p), &to));
    memcpy(to, artel__book_piece(o->book, p), bytes_of(p));
    o->piece[0] = (artel__net_piece){to, bytes_of(p)};
    *count = 1;
    return ARTEL_OK;
}

/* -- all of it -- */

artel_status artel__owned_keep(artel__owned_part *o, artel__chain_client *c, artel__chain_call *at,
                               artel__lane_head *out, int *count)
{
    uint8_t *to;
    out->a = artel__book_bytes(o->book);
    ARTEL_TRY(artel__chain_room(c, at, out->a, &to));
    artel__book_image(o->book, to);
    o->piece[0] = (artel__net_piece){to, out->a};
    *count = 1;
    return ARTEL_OK;
}

artel_status artel__owned_copy(artel__owned_part *o, artel__chain_client *c, artel__chain_call *at,
                               artel__lane_head *out, int *count)
{
    ARTEL_TRY(artel__owned_keep(o, c, at, out, count));
    out->item = o->life;
    out->position = o->version;
    out->a = o->updates;
    memcpy(&out->rate, &o->applied.base, sizeof out->rate);
    if (o->applied.bytes) o->piece[(*count)++] = (artel__net_piece){o->applied.bits, o->applied.bytes};
    return ARTEL_OK;
}

artel_status artel__owned_install(artel__owned_part *o, const artel__lane_head *in, const artel__lane_slot *call)
{
    artel__slot_at at = {0, 0};
    const void *image = artel__slot_next(call, &at, artel__book_bytes(o->book));
    size_t rest = image ? call->length - at.offset : 0;
    const void *bits = rest ? artel__slot_next(call, &at, rest) : NULL;
    if (!image || (rest && !bits)) return misfit(o);
    artel__book_restore(o->book, image);
    ARTEL_TRY(artel__applied_take(o->strategy->ctx, &o->applied, bits, rest));
    memcpy(&o->applied.base, &in->rate, sizeof in->rate);
    o->life = in->item;
    o->version = in->position;
    o->updates = in->a;
    return ARTEL_OK;
}
