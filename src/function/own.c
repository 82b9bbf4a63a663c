/* SPDX-License-Identifier: Apache-2.0 */
/* A server of closures: answers one call after another. The updates of a closure are applied whole between two calls,
 * so what a worker reads of a part is always the state after some number of closures; and by the closure's number
 * once.
 *
 * The chief says which server is the head of a part, and which ones have copies (ps/chain.h). Workers and the chief
 * talk to heads. What changes a part goes to its copies as it has come, and each of them does the same with it, in the
 * same order; no answer about the part leaves before they have all that it speaks of. */
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "function/owned.h"
#include "ps/tell.h"

typedef struct own {
    artel_strategy *strategy;
    artel__owned_part *part[ARTEL__PLACE_SERVERS]; /* by number; NULL: not here */
    artel__chain_client *client;                   /* by rank */
    int server, slots;                             /* slots: of each client */
    uint64_t life, session;                        /* this server's, the coordinator's */
    artel__owned_held *held;                       /* an answer */
    artel__telling telling;
    uint64_t steps; /* updates of all parts, since it is */
    bool ended;
} own;

/* -- answers -- */

/* About a part: not before its copies have what the answer speaks of. */
static artel_status reply(artel__owned_part *p, artel__chain_client *c, artel__chain_call *at,
                          const artel__lane_head *head, int count)
{
    if (!artel__chain_waits(&p->chain)) return artel__chain_answer(c, at, head, p->piece, count);
    return artel__chain_hold(p->strategy->ctx, &p->chain, at, head, p->piece, count);
}

/* Calls that one task has under way with another at a time. */
static int most_calls(const own *o)
{
    return o->strategy->copies > 1 ? o->strategy->servers + ARTEL__CHAIN_AHEAD : 1;
}

/* -- what changes a part -- */

/* At the head: to the copies first, so that they apply it while this one does. */
static artel_status change(own *o, const artel__closure_job *j, artel__owned_part *p, artel__chain_client *c,
                           artel__chain_call *at, const artel__lane_head *in, const artel__lane_head *out)
{
    int count;
    if (in->op == ARTEL__CLOSURE_APPLY && artel__applied_has(&p->applied, in->item)) return reply(p, c, at, out, 0);
    if (!artel__chain_may_tell(&p->chain, o->client, most_calls(o))) return ARTEL_OK; /* looked at again */
    ARTEL_TRY(artel__owned_put(p, in->op, in, &at->call, &count));
    artel__lane_head head = *in;
    head.op = ARTEL__CLOSURE_FORWARD;
    head.flags = in->op;
    head.position = p->version;
    artel_status moved = ARTEL_OK;
    if (p->chain.copies)
        moved = artel__chain_tell(&p->chain, o->client, p->chain.copy, p->chain.copies, &head, p->piece, count);
    if (p->chain.copies && moved == ARTEL_OK) moved = artel__closure_move(j);
    ARTEL_TRY(artel__owned_apply(p, in->op, in, &at->call)); /* where the generation is over, too: copies may have it */
    artel__mesh_stepped(j->cluster, ++o->steps, 0);          /* for artel status */
    return moved == ARTEL_OK ? reply(p, c, at, out, 0) : moved;
}

/* At a copy: the same in the same order, so the same bits. */
static artel_status follow(const artel__closure_job *j, artel__owned_part *p, artel__chain_client *c,
                           artel__chain_call *at, const artel__lane_head *in)
{
    int count;
    unsigned op = in->flags;
    if (p->version < in->position) return ARTEL_OK; /* the one before is looked at next */
    bool known = op == ARTEL__CLOSURE_APPLY || op == ARTEL__CLOSURE_STORE || op == ARTEL__CLOSURE_RESTORE;
    if (!known || p->version != in->position || p->chain.head) return artel__closure_misfit(j->ctx, "a server");
    ARTEL_TRY(artel__owned_put(p, op, in, &at->call, &count));
    artel_status status = artel__owned_apply(p, op, in, &at->call);
    artel__lane_head out = {.op = in->op, .install = in->install};
    return status == ARTEL_OK ? artel__chain_answer(c, at, &out, NULL, 0) : status;
}

/* -- the chief's -- */

/* What a server has. Another coordinator that begins counts anew; one that was before, and has been replaced, is told
 * so. */
static artel_status meet(own *o, artel__chain_client *c, artel__chain_call *at, const artel__lane_head *in,
                         artel__lane_head *out)
{
    int count = 0;
    bool begins = in->b == 0, other = o->session != in->a;
    if (other && !begins && o->session) {
        out->flags = ARTEL__CLOSURE_STALE;
        return artel__chain_answer(c, at, out, NULL, 0);
    }
    o->session = in->a;
    for (int i = 0; i < o->strategy->servers; i++) {
        artel__owned_part *p = o->part[i];
        if (!p) continue;
        if (other) artel__applied_fini(o->strategy->ctx, &p->applied);
        o->held[count++] = (artel__owned_held){(uint64_t)i, p->life, p->epoch, p->version, p->updates};
    }
    const artel__net_piece piece = {o->held, (size_t)count * sizeof *o->held};
    out->a = (uint64_t)count;
    return artel__chain_answer(c, at, out, &piece, count > 0);
}

static bool is_other_server(const artel__closure_job *j, int rank)
{
    return rank >= 0 && rank < j->seat.ranks && rank != j->endpoint->rank && j->type[rank] == ARTEL__TASK_PS;
}

static artel_status assign(const artel__closure_job *j, artel__owned_part *p, artel__chain_client *c,
                           artel__chain_call *at, const artel__lane_head *in, const artel__lane_head *out)
{
    artel__chain *n = &p->chain;
    n->copies = 0;
    for (uint64_t left = in->item; left; left >>= 16) {
        int rank = (int)(left & 0xffff) - 1;
        if (!is_other_server(j, rank) || n->copies == ARTEL__CHAIN_HOLDERS - 1)
            return artel__closure_misfit(j->ctx, "the chief");
        n->copy[n->copies++] = rank;
    }
    n->head = in->position;
    p->epoch = in->a;
    return artel__chain_answer(c, at, out, NULL, 0);
}

static artel_status copy_out(own *o, const artel__closure_job *j, artel__owned_part *p, artel__chain_client *c,
                             artel__chain_call *at, const artel__lane_head *in, const artel__lane_head *out)
{
    int rank = (int)in->item, count;
    artel__lane_head head = {.op = ARTEL__CLOSURE_INSTALL, .part = in->part, .install = in->install, .b = in->b};
    if (!is_other_server(j, rank)) return artel__closure_misfit(j->ctx, "the chief");
    ARTEL_TRY(artel__owned_copy(p, c, at, &head, &count));
    artel_status status = artel__chain_tell(&p->chain, o->client, &rank, 1, &head, p->piece, count);
    return status == ARTEL_OK ? reply(p, c, at, out, 0) : status;
}

static artel_status install(own *o, artel__chain_client *c, artel__chain_call *at, const artel__lane_head *in,
                            const artel__lane_head *out)
{
    int number = (int)(in->b & 0xff);
    if (number >= o->strategy->servers) return artel__closure_misfit(o->strategy->ctx, "a server");
    if (!o->part[number]) ARTEL_TRY(artel__owned_create(o->strategy, number, &o->part[number]));
    artel__owned_part *p = o->part[number];
    if (artel__chain_waits(&p->chain)) return artel__closure_misfit(o->strategy->ctx, "a server");
    ARTEL_TRY(artel__owned_install(p, in, &at->call));
    p->chain.head = false;
    p->chain.copies = 0;
    p->epoch = in->b >> 8;
    return artel__chain_answer(c, at, out, NULL, 0);
}

/* A part that others hold, of a server that was cut off from them. Its own stays, as room to begin anew in, and counts
 * as one that nobody has heard of. */
static artel_status drop(own *o, artel__owned_part *p, artel__chain_client *c, artel__chain_call *at,
                         const artel__lane_head *out)
{
    p->epoch = 0;
    p->chain.head = false;
    if (p->number != o->server) {
        o->part[p->number] = NULL;
        artel__owned_destroy(p);
    }
    return artel__chain_answer(c, at, out, NULL, 0);
}

/* Nothing follows. */
static artel_status end(own *o, artel__chain_client *c, artel__chain_call *at, const artel__lane_head *out)
{
    for (int i = 0; i < o->strategy->servers; i++) {
        const artel__owned_part *p = o->part[i];
        if (!p) continue;
        artel__log(o->strategy->ctx, ARTEL_LOG_DEBUG,
                   "part %d: %" PRIu64 " updates, of %" PRIu64 " bytes; workers have read %" PRIu64 " bytes", i,
                   p->updates, p->written, p->read);
    }
    o->ended = true;
    return artel__chain_answer(c, at, out, NULL, 0);
}

/* -- calls -- */

/* Who may say what. */
static bool may_say(artel__task_type type, unsigned op)
{
    bool works = op == ARTEL__CLOSURE_READ || op == ARTEL__CLOSURE_APPLY,
         copies = op == ARTEL__CLOSURE_FORWARD || op == ARTEL__CLOSURE_INSTALL;
    switch (type) {
    case ARTEL__TASK_WORKER: return works;
    case ARTEL__TASK_PS: return copies;
    case ARTEL__TASK_CHIEF: return !works && !copies;
    default: return false;
    }
}

/* About a part that is here. */
static artel_status handle_part(own *o, const artel__closure_job *j, artel__owned_part *p, artel__chain_client *c,
                                artel__chain_call *at, const artel__lane_head *in)
{
    artel__lane_head out = {.op = in->op, .install = o->session};
    int count = 0;
    artel_status status = ARTEL_OK;
    switch ((artel__closure_op)in->op) {
    case ARTEL__CLOSURE_READ: status = artel__owned_read(p, c, at, in, &out, &count); break;
    case ARTEL__CLOSURE_FETCH: status = artel__owned_fetch(p, c, at, in, &count); break;
    case ARTEL__CLOSURE_KEEP: status = artel__owned_keep(p, c, at, &out, &count); break;
    case ARTEL__CLOSURE_APPLY:
    case ARTEL__CLOSURE_STORE:
    case ARTEL__CLOSURE_RESTORE: return change(o, j, p, c, at, in, &out);
    case ARTEL__CLOSURE_FORWARD: return follow(j, p, c, at, in);
    case ARTEL__CLOSURE_ASSIGN: return assign(j, p, c, at, in, &out);
    case ARTEL__CLOSURE_COPY: return copy_out(o, j, p, c, at, in, &out);
    case ARTEL__CLOSURE_DROP: return drop(o, p, c, at, &out);
    default: return artel__closure_misfit(j->ctx, "a task");
    }
    return status == ARTEL_OK ? reply(p, c, at, &out, count) : status;
}

static artel_status handle(own *o, const artel__closure_job *j, artel__chain_client *c, artel__chain_call *at)
{
    artel__lane_head in;
    ARTEL_TRY(artel__lane_take(&c->from, &at->call, &in));
    artel__lane_head out = {.op = in.op, .install = o->session};
    if (!may_say(j->type[c->from.peer], in.op)) return artel__closure_misfit(j->ctx, "a task");
    if (in.op == ARTEL__CLOSURE_ASK) return meet(o, c, at, &in, &out);
    if (in.op == ARTEL__CLOSURE_END) return end(o, c, at, &out);
    if (in.install == o->session && in.op == ARTEL__CLOSURE_INSTALL) return install(o, c, at, &in, &out);
    uint64_t number = in.b & 0xff;
    artel__owned_part *p = number < (uint64_t)o->strategy->servers ? o->part[number] : NULL;
    bool commands = in.op == ARTEL__CLOSURE_ASSIGN || in.op == ARTEL__CLOSURE_COPY || in.op == ARTEL__CLOSURE_DROP ||
                    in.op == ARTEL__CLOSURE_FORWARD;
    if (p && in.install == o->session && (p->chain.head || commands)) return handle_part(o, j, p, c, at, &in);
    out.flags = ARTEL__CLOSURE_STALE;
    return artel__chain_answer(c, at, &out, NULL, 0);
}

/* -- the loop -- */

static artel_status look_at(own *o, const artel__closure_job *j, artel__chain_client *c, artel__chain_call *at,
                            size_t most, bool *did)
{
    if (at->state == ARTEL__CALL_EXPECTED && artel__slot_arrived(&at->call)) {
        artel_status status = handle(o, j, c, at);
        if (status != ARTEL_OK) return status;
        *did = *did || at->state != ARTEL__CALL_EXPECTED; /* else it waits for copies, or another one's update */
    }
    if (artel__chain_may_leave(at)) {
        artel_status status = artel__chain_answer(c, at, &at->reply, at->piece, at->pieces);
        if (status != ARTEL_OK) return status;
        *did = true;
    }
    if (at->state == ARTEL__CALL_LEAVING && artel__slot_left(&at->call)) {
        at->state = ARTEL__CALL_IDLE;
        *did = true;
    }
    if (at->state != ARTEL__CALL_IDLE || o->ended) return ARTEL_OK;
    at->state = ARTEL__CALL_EXPECTED;
    return artel__lane_judge(artel__lane_expect(&c->from, &at->call, most));
}

static artel_status look_around(own *o, const artel__closure_job *j, size_t most, bool *did, bool *leaving)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < o->strategy->servers && status == ARTEL_OK; i++) {
        if (o->part[i]) status = artel__chain_hear(&o->part[i]->chain, o->client, did);
    }
    for (int r = 0; r < j->seat.ranks && status == ARTEL_OK; r++) {
        bool calls = r != j->endpoint->rank && j->type[r] != ARTEL__TASK_EVALUATOR;
        for (int k = 0; calls && k < o->slots && status == ARTEL_OK; k++) {
            artel__chain_call *at = &o->client[r].slot[k];
            status = look_at(o, j, &o->client[r], at, most, did);
            *leaving = *leaving || at->state == ARTEL__CALL_LEAVING || at->state == ARTEL__CALL_HELD;
        }
    }
    return status;
}

static void tell(own *o, const artel__closure_job *j)
{
    if (!artel__tell_due(&o->telling)) return;
    artel__tell_begin(&o->telling, o->strategy->ctx);
    artel__tell_parts(&o->telling);
    for (int i = 0; i < o->strategy->servers; i++) {
        const artel__owned_part *p = o->part[i];
        if (!p || !p->epoch) continue;
        artel__told_part told = {
            i,   artel__part_bytes(o->strategy, i), p->chain.head ? "head" : "copy", -1, {0}, 0, (int64_t)p->updates,
            NULL};
        artel__tell_part(&o->telling, &told);
    }
    artel__tell_end(&o->telling, j->cluster);
}

static artel_status loop(own *o, const artel__closure_job *j)
{
    size_t most = artel__closure_most(o->strategy);
    artel_status status = artel__closure_move(j);
    while (status == ARTEL_OK) {
        bool did = false, leaving = false;
        tell(o, j);
        status = look_around(o, j, most, &did, &leaving);
        if (status == ARTEL_OK && o->ended && !leaving) return ARTEL_OK;
        if (status == ARTEL_OK) status = did ? artel__closure_move(j) : artel__closure_wait(j);
    }
    return status;
}

/* In a new generation nobody is a head before the chief says so. */
static artel_status open_clients(own *o, const artel__closure_job *j)
{
    void *block;
    int ranks = j->seat.ranks;
    o->ended = false;
    o->slots = most_calls(o);
    ARTEL_TRY(artel__calloc(j->ctx, (size_t)ranks, sizeof *o->client, "parameter server", &block));
    o->client = block;
    for (int i = 0; i < o->strategy->servers; i++) {
        if (o->part[i]) o->part[i]->chain.head = false;
    }
    for (int r = 0; r < ranks; r++) {
        artel__lane lane = artel__closure_lane(j, r);
        ARTEL_TRY(artel__chain_client_open(j->ctx, &o->client[r], &lane, o->slots));
    }
    return ARTEL_OK;
}

static artel_status serve(artel__closure_job *j, void *user)
{
    own *o = user;
    artel_status status = open_clients(o, j);
    if (status == ARTEL_OK) status = loop(o, j);
    for (int i = 0; i < o->strategy->servers && o->client; i++) {
        if (o->part[i]) artel__chain_withdraw(&o->part[i]->chain, o->client);
    }
    for (int r = 0; r < j->seat.ranks && o->client; r++) artel__chain_client_close(j->ctx, &o->client[r]);
    artel__free(j->ctx, o->client);
    o->client = NULL;
    return status;
}

/* -- a life -- */

static artel_status begin(own *o)
{
    artel_strategy *s = o->strategy;
    void *block;
    while (o->life == 0) {
        if (getrandom(&o->life, sizeof o->life, 0) != sizeof o->life)
            return artel__fail_errno(s->ctx, "parameter server", "get a random number");
    }
    ARTEL_TRY(artel__calloc(s->ctx, (size_t)s->servers, sizeof *o->held, "parameter server", &block));
    o->held = block;
    ARTEL_TRY(artel__owned_create(s, o->server, &o->part[o->server]));
    o->part[o->server]->life = o->life;
    return ARTEL_OK;
}

artel_status artel__closure_own(artel_strategy *s, int server)
{
    void *block;
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(own), "parameter server", &block));
    own *o = block;
    o->strategy = s;
    o->server = server;
    artel_status status = begin(o);
    if (status == ARTEL_OK) status = artel__closure_run(s, false, serve, o);
    for (int i = 0; i < s->servers; i++) artel__owned_destroy(o->part[i]);
    artel__free(s->ctx, o->held);
    artel__free(s->ctx, o);
    return status;
}
