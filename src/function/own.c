/* SPDX-License-Identifier: Apache-2.0 */
/* A server of closures: answers one call after another. The updates of a closure are applied whole between two calls,
 * so what a worker reads of a server is always the state after some number of closures; and by the closure's number
 * once. */
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "function/closure.h"
#include "ps/applied.h"

enum {
    FORGET =
        1 << 16 /* closures that are done everywhere and still known by number, before they are forgotten together */
};

typedef struct client {
    artel__lane lane;
    artel__lane_slot call;
    enum {
        IDLE,
        EXPECTED,
        LEAVING
    } state;
} client;

typedef struct own {
    artel_strategy *strategy;
    artel__book *book;
    int server;
    uint64_t life, session; /* this server's, the coordinator's */
    uint64_t updates, version;
    uint64_t read, written; /* bytes that workers have read, and sent as updates */
    artel__applied applied; /* by number of the closure; those before its base are done */
    artel__row_lists *rows; /* by function */
    int32_t *asked;         /* rows of a piece that are asked for */
    int32_t asked_room;
    artel__net_piece *piece;
    client *client;
    bool ended;
} own;

static artel_status mark(own *o, uint64_t number)
{
    if (number - o->applied.base > (uint64_t)1 << 32) return artel__closure_misfit(o->strategy->ctx, "a worker");
    return artel__applied_add(o->strategy->ctx, &o->applied, number);
}

/* -- answers -- */

static artel_status answer(client *c, const artel__lane_head *head, const artel__net_piece *piece, int count)
{
    c->state = LEAVING;
    return artel__lane_judge(artel__lane_answer(&c->lane, &c->call, head, piece, count));
}

static size_t bytes_of(const artel__owned_piece *piece)
{
    return (size_t)piece->count * sizeof(float);
}

/* Those that are no tables; *to: where they are copied. Returns how many pieces of the message they are. */
static int list_values(own *o, const artel_function *f, uint8_t **to)
{
    const artel__owned_piece *p;
    int count = 0;
    for (int k = 0; k < f->reads; k++) {
        if (f->tables.of[k] >= 0) continue;
        for (int at = 0; (p = artel__closure_piece(o->strategy, f->read[k], o->server, &at)) != NULL;) {
            memcpy(*to, artel__book_piece(o->book, p), bytes_of(p));
            o->piece[count++] = (artel__net_piece){*to, bytes_of(p)};
            *to += artel__net_padded(bytes_of(p));
        }
    }
    return count;
}

static size_t values_bytes(const own *o, const artel_function *f)
{
    const artel__owned_piece *p;
    size_t bytes = 0;
    for (int k = 0; k < f->reads; k++) {
        if (f->tables.of[k] >= 0) continue;
        for (int at = 0; (p = artel__closure_piece(o->strategy, f->read[k], o->server, &at)) != NULL;)
            bytes += artel__net_padded(bytes_of(p));
    }
    return bytes;
}

/* Returns how many pieces there are then; -1: a token is none of its piece. */
static int list_rows(own *o, const artel__row_list *list, uint8_t *to, int count)
{
    for (int i = 0; i < list->count; i++) {
        const artel__row_piece *p = &list->item[i];
        size_t bytes = (size_t)p->count * (size_t)p->width * sizeof(float);
        if (p->count == 0) continue;
        if (!artel__row_piece_tokens(p, o->asked)) return -1;
        artel__row_piece_copy(p, artel__book_piece(o->book, &o->strategy->piece[p->piece]), o->asked, to);
        o->piece[count++] = (artel__net_piece){to, bytes};
        to += artel__net_padded(bytes);
    }
    return count;
}

static artel_status make_asked(own *o, const artel__row_list *list)
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

/* What a function reads of this server, unless the worker has it. A copy: the next update may come before it has left.
 */
static artel_status read_variables(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    const artel_function *f = artel__closure_function(o->strategy, in->part);
    artel__slot_at at = {0, 0};
    uint8_t *to;
    artel__row_list *list = f ? &o->rows[f->number].read : NULL;
    if (!f || !artel__row_list_read(list, &c->call, &at, false) || at.offset != c->call.length)
        return artel__closure_misfit(o->strategy->ctx, "a worker");
    bool same = in->position == o->version;
    size_t bytes = (same ? 0 : values_bytes(o, f)) + artel__row_list_answer_bytes(list);
    out->position = o->version;
    out->flags = same ? ARTEL__CLOSURE_SAME : ARTEL__CLOSURE_OK;
    ARTEL_TRY(make_asked(o, list));
    ARTEL_TRY(artel__slot_room(&c->lane, &c->call, bytes, &to));
    int count = same ? 0 : list_values(o, f, &to);
    count = list_rows(o, list, to, count);
    o->read += bytes;
    return count >= 0 ? answer(c, out, o->piece, count) : artel__closure_misfit(o->strategy->ctx, "a worker");
}

static artel_status take_update(own *o, const artel__lane_slot *call, artel__slot_at *from, const artel__update *u)
{
    const artel__owned_piece *p;
    for (int at = 0; (p = artel__closure_piece(o->strategy, u->variable, o->server, &at)) != NULL;) {
        size_t bytes[3];
        int parts = artel__update_parts(u, p, bytes);
        for (int k = 0; k < parts; k++) {
            const void *data = artel__slot_next(call, from, bytes[k]);
            if (!data) return artel__closure_misfit(o->strategy->ctx, "a worker");
            memcpy(artel__book_room(o->book, u, p, k), data, bytes[k]);
        }
    }
    return ARTEL_OK;
}

static artel_status take_updates(own *o, const artel_function *f, const artel__lane_slot *call, artel__slot_at *at)
{
    artel__row_list *list = &o->rows[f->number].update;
    for (int k = 0; k < f->updates; k++) {
        if (!f->update[k].rows) ARTEL_TRY(take_update(o, call, at, &f->update[k]));
    }
    bool fits = artel__row_list_read(list, call, at, true);
    for (int i = 0; i < list->count && fits; i++) fits = artel__book_put_rows(o->book, f, &list->item[i]);
    return fits ? ARTEL_OK : artel__closure_misfit(o->strategy->ctx, "a worker");
}

static artel_status apply(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    const artel_function *f = artel__closure_function(o->strategy, in->part);
    artel__slot_at at = {0, 0};
    if (!f || in->a > in->item) return artel__closure_misfit(o->strategy->ctx, "a worker"); /* itself it is not done */
    artel__applied_forget(&o->applied, in->a, FORGET); /* they have results: none of them is ever sent again */
    if (artel__applied_has(&o->applied, in->item)) return answer(c, out, NULL, 0);
    ARTEL_TRY(take_updates(o, f, &c->call, &at));
    if (at.offset != c->call.length) return artel__closure_misfit(o->strategy->ctx, "a worker");
    ARTEL_TRY(mark(o, in->item));
    artel__book_apply(o->book, f, in->rate);
    o->updates++;
    o->version++;
    o->written += c->call.length;
    artel__mesh_stepped(o->strategy->options.cluster, o->updates, 0); /* for artel status */
    return answer(c, out, NULL, 0);
}

/* -- the chief's -- */

static artel_status meet(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    if (o->session != in->a) { /* another coordinator, which counts anew */
        o->session = in->a;
        artel__applied_fini(o->strategy->ctx, &o->applied);
    }
    out->a = o->life;
    out->position = o->updates;
    return answer(c, out, NULL, 0);
}

static artel_status fetch(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    const artel__owned_piece *p = &o->strategy->piece[in->part];
    artel__net_piece piece = {artel__book_piece(o->book, p), bytes_of(p)};
    uint8_t *to;
    ARTEL_TRY(artel__slot_room(&c->lane, &c->call, piece.bytes, &to));
    piece.data = memcpy(to, piece.data, piece.bytes);
    return answer(c, out, &piece, 1);
}

static artel_status store(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    const artel__owned_piece *p = &o->strategy->piece[in->part];
    size_t bytes = bytes_of(p);
    const void *data = artel__slot_data(&c->call, 0, 0, bytes);
    if (!data) return artel__closure_misfit(o->strategy->ctx, "the chief");
    memcpy(artel__book_piece(o->book, p), data, bytes);
    o->version++;
    return answer(c, out, NULL, 0);
}

static artel_status keep(own *o, client *c, artel__lane_head *out)
{
    artel__net_piece piece = {NULL, artel__book_bytes(o->book)};
    uint8_t *to;
    out->a = piece.bytes;
    ARTEL_TRY(artel__slot_room(&c->lane, &c->call, piece.bytes, &to));
    artel__book_image(o->book, to);
    piece.data = to;
    return answer(c, out, &piece, 1);
}

static artel_status restore(own *o, client *c, artel__lane_head *out)
{
    size_t bytes = artel__book_bytes(o->book);
    const void *data = artel__slot_data(&c->call, 0, 0, bytes);
    if (!data || c->call.length != artel__net_padded(bytes))
        return artel__closure_misfit(o->strategy->ctx, "the chief");
    artel__book_restore(o->book, data);
    o->version++;
    return answer(c, out, NULL, 0);
}

static bool may_say(artel__task_type type, unsigned op)
{
    bool works = op == ARTEL__CLOSURE_READ || op == ARTEL__CLOSURE_APPLY;
    return type == ARTEL__TASK_WORKER ? works : type == ARTEL__TASK_CHIEF && !works;
}

static artel_status handle(own *o, const artel__closure_job *j, client *c)
{
    artel__lane_head in;
    ARTEL_TRY(artel__lane_take(&c->lane, &c->call, &in));
    artel__lane_head out = {.op = in.op, .install = o->session};
    bool one = in.op == ARTEL__CLOSURE_FETCH || in.op == ARTEL__CLOSURE_STORE;
    if (!may_say(j->type[c->lane.peer], in.op)) return artel__closure_misfit(j->ctx, "a task");
    if (one && (in.part >= (uint32_t)o->strategy->pieces || o->strategy->piece[in.part].part != o->server))
        return artel__closure_misfit(j->ctx, "the chief");
    if (in.op != ARTEL__CLOSURE_ASK && in.op != ARTEL__CLOSURE_END && in.install != o->session) {
        out.flags = ARTEL__CLOSURE_STALE;
        return answer(c, &out, NULL, 0);
    }
    switch ((artel__closure_op)in.op) {
    case ARTEL__CLOSURE_ASK: return meet(o, c, &in, &out);
    case ARTEL__CLOSURE_READ: return read_variables(o, c, &in, &out);
    case ARTEL__CLOSURE_APPLY: return apply(o, c, &in, &out);
    case ARTEL__CLOSURE_FETCH: return fetch(o, c, &in, &out);
    case ARTEL__CLOSURE_STORE: return store(o, c, &in, &out);
    case ARTEL__CLOSURE_KEEP: return keep(o, c, &out);
    case ARTEL__CLOSURE_RESTORE: return restore(o, c, &out);
    case ARTEL__CLOSURE_END: o->ended = true; return answer(c, &out, NULL, 0);
    default: return artel__closure_misfit(j->ctx, "a task");
    }
}

/* -- the loop -- */

static artel_status look_at(own *o, const artel__closure_job *j, client *c, size_t most, bool *did)
{
    if (c->state == EXPECTED && artel__slot_arrived(&c->call)) {
        artel_status status = handle(o, j, c);
        if (status != ARTEL_OK) return status;
        *did = true;
    }
    if (c->state == LEAVING && artel__slot_left(&c->call)) {
        c->state = IDLE;
        *did = true;
    }
    if (c->state != IDLE || o->ended) return ARTEL_OK;
    c->state = EXPECTED;
    return artel__lane_judge(artel__lane_expect(&c->lane, &c->call, most));
}

static artel_status loop(own *o, const artel__closure_job *j)
{
    size_t most = artel__closure_most(o->strategy);
    artel_status status = artel__closure_move(j);
    while (status == ARTEL_OK) {
        bool did = false, leaving = false;
        for (int r = 0; r < j->seat.ranks && status == ARTEL_OK; r++) {
            if (j->type[r] != ARTEL__TASK_CHIEF && j->type[r] != ARTEL__TASK_WORKER) continue;
            status = look_at(o, j, &o->client[r], most, &did);
            leaving = leaving || o->client[r].state == LEAVING;
        }
        if (status == ARTEL_OK && o->ended && !leaving) return ARTEL_OK;
        if (status == ARTEL_OK) status = did ? artel__closure_move(j) : artel__closure_wait(j);
    }
    return status;
}

static artel_status serve(artel__closure_job *j, void *user)
{
    own *o = user;
    void *block;
    int ranks = j->seat.ranks;
    ARTEL_TRY(artel__calloc(j->ctx, (size_t)ranks, sizeof *o->client, "parameter server", &block));
    o->client = block;
    o->ended = false;
    for (int r = 0; r < ranks; r++) o->client[r].lane = artel__closure_lane(j, r);
    artel_status status = loop(o, j);
    for (int r = 0; r < ranks; r++) {
        artel__lane_withdraw(&o->client[r].lane, &o->client[r].call);
        artel__slot_fini(j->ctx, &o->client[r].call);
    }
    artel__free(j->ctx, o->client);
    o->client = NULL;
    return status;
}

static artel_status make_lists(own *o)
{
    artel_strategy *s = o->strategy;
    size_t functions = (size_t)(s->function ? s->function->number + 1 : 0) + 1;
    void *block;
    ARTEL_TRY(artel__calloc(s->ctx, (size_t)s->pieces + 1, sizeof *o->piece, "parameter server", &block));
    o->piece = block;
    o->rows = artel__arena_alloc(&s->arena, functions, sizeof *o->rows);
    ARTEL_TRY(artel__arena_status(&s->arena));
    for (const artel_function *f = s->function; f; f = f->next)
        ARTEL_TRY(artel__row_lists_make(&s->arena, f, o->server, &o->rows[f->number]));
    return ARTEL_OK;
}

artel_status artel__closure_own(artel_strategy *s, int server)
{
    own o = {.strategy = s, .server = server, .version = 1};
    while (o.life == 0) {
        if (getrandom(&o.life, sizeof o.life, 0) != sizeof o.life)
            return artel__fail_errno(s->ctx, "parameter server", "get a random number");
    }
    artel_status status = make_lists(&o);
    if (status == ARTEL_OK) status = artel__book_create(s, server, &o.book);
    if (status == ARTEL_OK) status = artel__closure_run(s, false, serve, &o);
    artel__log(s->ctx, ARTEL_LOG_DEBUG,
               "%" PRIu64 " updates, of %" PRIu64 " bytes; workers have read %" PRIu64 " bytes", o.updates, o.written,
               o.read);
    artel__book_destroy(o.book);
    artel__applied_fini(s->ctx, &o.applied);
    artel__free(s->ctx, o.piece);
    artel__free(s->ctx, o.asked);
    return status;
}
