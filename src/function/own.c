/* SPDX-License-Identifier: Apache-2.0 */
/* A server of closures: answers one call after another. The updates of a closure are applied whole between two calls,
 * so what a worker reads of a server is always the state after some number of closures; and by the closure's number
 * once. */
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
    artel__applied applied; /* by number of the closure; those before its base are done */
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

static size_t bytes_of(const own *o, int variable)
{
    return (size_t)o->strategy->variables.item[variable].count * sizeof(float);
}

/* What a function reads of this server, unless the worker has it. A copy: the next update may come before it has left.
 */
static artel_status read_variables(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    const artel_function *f = artel__closure_function(o->strategy, in->part);
    size_t bytes = 0;
    uint8_t *to;
    int count = 0;
    if (!f) return artel__closure_misfit(o->strategy->ctx, "a worker");
    out->position = o->version;
    if (in->position == o->version) {
        out->flags = ARTEL__CLOSURE_SAME;
        return answer(c, out, NULL, 0);
    }
    for (int k = 0; k < f->reads; k++)
        bytes += o->strategy->owner[f->read[k]] == o->server ? artel__net_padded(bytes_of(o, f->read[k])) : 0;
    ARTEL_TRY(artel__slot_room(&c->lane, &c->call, bytes, &to));
    for (int k = 0; k < f->reads; k++) {
        if (o->strategy->owner[f->read[k]] != o->server) continue;
        size_t one = bytes_of(o, f->read[k]);
        o->piece[count++] = (artel__net_piece){memcpy(to, artel__book_variable(o->book, f->read[k]), one), one};
        to += artel__net_padded(one);
    }
    return answer(c, out, o->piece, count);
}

static artel_status take_update(own *o, const artel__lane_slot *call, artel__slot_at *at, const artel__update *u)
{
    size_t bytes[3];
    int parts = artel__update_parts(o->strategy, u, bytes);
    for (int k = 0; k < parts; k++) {
        const void *data = artel__slot_next(call, at, bytes[k]);
        if (!data) return artel__closure_misfit(o->strategy->ctx, "a worker");
        memcpy(artel__book_room(o->book, u, k), data, bytes[k]);
    }
    return ARTEL_OK;
}

static artel_status apply(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    const artel_function *f = artel__closure_function(o->strategy, in->part);
    artel__slot_at at = {0, 0};
    if (!f || in->a > in->item) return artel__closure_misfit(o->strategy->ctx, "a worker"); /* itself it is not done */
    artel__applied_forget(&o->applied, in->a, FORGET); /* they have results: none of them is ever sent again */
    if (artel__applied_has(&o->applied, in->item)) return answer(c, out, NULL, 0);
    for (int k = 0; k < f->updates; k++) {
        if (o->strategy->owner[f->update[k].variable] == o->server)
            ARTEL_TRY(take_update(o, &c->call, &at, &f->update[k]));
    }
    if (at.offset != c->call.length) return artel__closure_misfit(o->strategy->ctx, "a worker");
    ARTEL_TRY(mark(o, in->item));
    artel__book_apply(o->book, f, in->rate);
    o->updates++;
    o->version++;
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
    artel__net_piece piece = {artel__book_variable(o->book, (int)in->part), bytes_of(o, (int)in->part)};
    uint8_t *to;
    ARTEL_TRY(artel__slot_room(&c->lane, &c->call, piece.bytes, &to));
    piece.data = memcpy(to, piece.data, piece.bytes);
    return answer(c, out, &piece, 1);
}

static artel_status store(own *o, client *c, const artel__lane_head *in, artel__lane_head *out)
{
    size_t bytes = bytes_of(o, (int)in->part);
    const void *data = artel__slot_data(&c->call, 0, 0, bytes);
    if (!data) return artel__closure_misfit(o->strategy->ctx, "the chief");
    memcpy(artel__book_variable(o->book, (int)in->part), data, bytes);
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
    if (one && (in.part >= (uint32_t)o->strategy->variables.count || o->strategy->owner[in.part] != o->server))
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

artel_status artel__closure_own(artel_strategy *s, int server)
{
    own o = {.strategy = s, .server = server, .version = 1};
    void *block = NULL;
    while (o.life == 0) {
        if (getrandom(&o.life, sizeof o.life, 0) != sizeof o.life)
            return artel__fail_errno(s->ctx, "parameter server", "get a random number");
    }
    ARTEL_TRY(artel__calloc(s->ctx, (size_t)s->variables.count + 1, sizeof *o.piece, "parameter server", &block));
    o.piece = block;
    artel_status status = artel__book_create(s, server, &o.book);
    if (status == ARTEL_OK) status = artel__closure_run(s, false, serve, &o);
    artel__book_destroy(o.book);
    artel__applied_fini(s->ctx, &o.applied);
    artel__free(s->ctx, o.piece);
    return status;
}
