/* SPDX-License-Identifier: Apache-2.0 */
/* The server: answers one call after another. An update is applied whole between two calls, so what a worker reads of a
 * part is always the state after some number of updates; and by its item's number at most once.
 *
 * Copies. The coordinator says which server is the head of a part, and which ones have copies. Workers talk to heads. A
 * head sends an update on to the copies and applies it; no answer about the part leaves before they have all that it
 * speaks of: a copy says so before it applies an update, which it does then before all else. So whatever was
 * acknowledged or read is at all of them, and yet the head goes on meanwhile: what it answers is put aside as it is
 * then. In a new generation nothing is under way, and the coordinator says anew who holds what. */
#include <stdio.h>
#include <string.h>

#include "train/numbers.h"
#include "ps/tell.h"

#define MOST_WORDS 160 /* of what is waited for */

typedef struct server {
    artel__fit *fit;
    artel__served_part *part[ARTEL__MOST_SERVERS]; /* by number; NULL: not here */
    artel__chain_client *client;                   /* by rank, of this generation */
    int slots;                                     /* of each client */
    artel__held_part *held;                        /* an answer */
    artel__telling telling;
    artel__numbers numbers;
    uint64_t chief, reign; /* of the last majority; 0: none */
    bool ended;
    int64_t since; /* a copy's answer, or another part, is waited for; 0 */
} server;

/* -- copies -- */

static artel_status hear_copies(server *s, artel__served_part *p, bool *did)
{
    uint64_t before = p->chain.heard;
    artel_status status = artel__chain_hear(&p->chain, s->client, did);
    if (p->chain.heard > before) s->since = 0;
    return status;
}

/* Gives another server the state of a part. */
static artel_status copy_out(server *s, artel__served_part *p, artel__chain_client *c, artel__chain_call *at,
                             const artel__lane_head *in)
{
    artel__lane_head head = {.op = ARTEL__SERVE_INSTALL,
                             .flags = ARTEL__FLAG_COPY,
                             .part = in->part,
                             .install = p->install,
                             .item = p->applied.base,
                             .position = (uint64_t)p->begun,
                             .a = (uint64_t)artel__store_iteration(p->store),
                             .b = in->b};
    int count = p->count[ARTEL__PART_STATE], first = p->placed != NULL;
    artel__store_refresh(p->store);
    artel__served_list(p, ARTEL__PART_STATE);
    if (first) {
        memmove(p->piece + 1, p->piece, (size_t)count++ * sizeof *p->piece);
        p->piece[0] = (artel__net_piece){p->placed, (size_t)p->division.pieces};
        head.flags |= ARTEL__FLAG_PLACED;
    }
    if (p->before) p->piece[count++] = (artel__net_piece){p->before, artel__served_kept_bytes(p)};
    if (p->numbers) p->piece[count++] = (artel__net_piece){p->numbers, artel__served_number_bytes(p)};
    if (p->applied.bytes) p->piece[count++] = (artel__net_piece){p->applied.bits, p->applied.bytes};
    int rank = (int)in->a;
    artel_status status = artel__chain_tell(&p->chain, s->client, &rank, 1, &head, p->piece, count);
    artel__lane_head out = {.op = in->op, .install = p->install};
    return status == ARTEL_OK ? artel__served_reply(p, c, at, &out, NULL, 0) : status;
}

/* An answer about the part waits for copies, or they are told something: it cannot go. */
static bool is_busy(const server *s, const artel__service *service, const artel__served_part *p)
{
    bool busy = artel__chain_waits(&p->chain);
    for (int r = 0; r < service->seat.ranks; r++) {
        for (int k = 0; k < s->slots; k++) {
            const artel__chain_call *at = &s->client[r].slot[k];
            busy = busy || (at->state == ARTEL__CALL_HELD && at->of == &p->chain);
        }
    }
    return busy;
}

/* False: one of them is busy, which no chief minds who runs the same program. `part` -1: all but those of the state. */
static bool drop_parts(server *s, const artel__service *service, int part, uint64_t install)
{
    for (int i = 0; i < ARTEL__MOST_SERVERS; i++) {
        artel__served_part *p = s->part[i];
        bool goes = p && (part >= 0 ? i == part : p->install != install);
        if (goes && is_busy(s, service, p)) return false;
        if (!goes) continue;
        artel__numbers_withdraw(p, s->client, service);
        artel__served_drop(p);
        s->part[i] = NULL;
    }
    return true;
}

/* -- operations -- */

/* Items of the run. */
static double count_items(const artel__fit *fit)
{
    return (double)fit->options.epochs * (double)fit->input.steps_per_epoch;
}

/* Numbers of a state that can be: a copy has no more updates since it was installed than there are items, by which
 * items that may come are judged. */
static bool is_possible(const artel__fit *fit, const artel__lane_head *in)
{
    uint64_t begun = in->flags & ARTEL__FLAG_COPY ? in->position : in->a, most = (uint64_t)1 << 62;
    return in->a < most && in->item < most && begun <= in->a && (double)(in->a - begun) <= count_items(fit);
}

static artel_status install(server *s, const artel__service *service, artel__chain_client *c, artel__chain_call *at,
                            const artel__lane_head *in)
{
    int number = (int)(in->part & 0xffff), parts = (int)(in->part >> 16);
    if (parts < 1 || parts > ARTEL__MOST_SERVERS || number >= parts || !is_possible(s->fit, in))
        return artel__served_misfit(s->fit);
    /* What is of a state that is not installed any more is void, and in the way of what takes its place. */
    bool gone = drop_parts(s, service, number, 0) && drop_parts(s, service, -1, in->install);
    if (!gone) return artel__served_misfit(s->fit);
    const artel__lane_slot *placed = in->flags & ARTEL__FLAG_PLACED ? &at->call : NULL;
    ARTEL_TRY(artel__served_make(s->fit, service, number, parts, placed, &s->part[number]));
    artel__served_part *p = s->part[number];
    ARTEL_TRY(artel__served_take_state(p, &at->call, in));
    artel__store_set_iteration(p->store, (int64_t)in->a);
    artel__store_begin(p->store);
    p->install = in->install;
    p->applied.base = in->item;
    p->epoch = in->b;
    p->begun = in->flags & ARTEL__FLAG_COPY ? (int64_t)in->position : artel__store_iteration(p->store);
    artel__served_log_installed(p);
    artel__lane_head out = {.op = in->op, .install = p->install};
    return artel__chain_answer(c, at, &out, NULL, 0);
}

/* Items of an epoch are dealt out when all of those before have been applied. */
static bool may_come(const artel__served_part *p, uint64_t item)
{
    uint64_t most = (uint64_t)(artel__store_iteration(p->store) - p->begun) + (uint64_t)p->fit->input.steps_per_epoch;
    return item >= p->applied.base && item - p->applied.base < most;
}

/* Puts an update in its place; false: it is of a step that lacks shares. */
static artel_status put(artel__served_part *p, const artel__chain_call *at, const artel__lane_head *in, bool *whole)
{
    if (in->b > 0) return artel__served_collect(p, at, in, whole);
    *whole = true;
    return artel__served_take_update(p, &at->call);
}

/* An update that has been put in its place, and sent on. */
static artel_status apply(artel__served_part *p, const artel__lane_head *in)
{
    ARTEL_TRY(artel__applied_add(p->fit->ctx, &p->applied, in->item));
    if (p->before) artel__served_keep(p, in->item);
    ARTEL_TRY(artel__store_apply(p->store, in->rate, in->flags & ARTEL__FLAG_ASSIGN));
    p->has_told = false; /* not before: what is not applied after all is void */
    artel__served_log_applied(p, in->item);
    return ARTEL_OK;
}

/* What was posted leaves now, while the update is applied; that is done, too, where the generation is over. */
static artel_status move_and_apply(const artel__service *service, artel__served_part *p, const artel__lane_head *in)
{
    artel_status moved = artel__service_move(service);
    ARTEL_TRY(apply(p, in));
    return moved;
}

/* A new update, in its place: sent to copies first, so that they apply it while this one does. The mean of sync:K is
 * sent from there. */
static artel_status take_new(server *s, const artel__service *service, artel__served_part *p,
                             const artel__chain_call *at, const artel__lane_head *in)
{
    artel__lane_head head = *in;
    artel_status status = ARTEL_OK;
    bool whole = in->b > 0;
    head.op = ARTEL__SERVE_FORWARD;
    head.position = (uint64_t)artel__store_iteration(p->store);
    memcpy(&head.a, &p->squares, sizeof head.a);
    if (p->chain.copies) {
        if (whole) artel__served_list(p, ARTEL__PART_UPDATE);
        int count = whole ? p->count[ARTEL__PART_UPDATE] : artel__served_list_update(p, &at->call);
        status = artel__chain_tell(&p->chain, s->client, p->chain.copy, p->chain.copies, &head, p->piece, count);
    }
    if (status != ARTEL_OK) return status;
    return p->chain.copies ? move_and_apply(service, p, in) : apply(p, in);
}

/* Calls that one task has under way with another at a time; so many are expected, so that none waits on its connection
 * before others. */
static int most_calls(const artel__service *service)
{
    return service->servers + ARTEL__CHAIN_AHEAD;
}

/* At the head. A mean lies where the next one will be put, so it waits until copies have the one before. Of a step that
 * lacks shares the update is kept, and whoever sent it may make another share: it vanishes with the generation, in
 * which the coordinator hears of the step when all parts have K, so when a part has taken it and answered whoever came
 * last or too late. Where the generation ends when some parts have taken it, its shares are made again, of the
 * variables as they were before it, which these parts have kept. */
static artel_status push(server *s, artel__served_part *p, const artel__service *service, artel__chain_client *c,
                         artel__chain_call *at, const artel__lane_head *in)
{
    uint64_t before = (uint64_t)artel__store_iteration(p->store);
    bool ready = p->pending == at, some = service->some > 0;
    if (!may_come(p, in->item) || (in->b > 0) != some || in->b > (uint64_t)service->some)
        return artel__served_misfit(p->fit);
    bool fresh = !artel__applied_has(&p->applied, in->item);
    artel__lane_head out = {.op = in->op, .flags = fresh ? ARTEL__ANSWER_OK : ARTEL__ANSWER_ALREADY, .item = in->item};
    bool waits = !artel__chain_may_tell(&p->chain, s->client, most_calls(service)) ||
                 (in->b > 0 && artel__chain_waits(&p->chain)) || (p->pending && !ready);
    if (fresh && waits) return ARTEL_OK; /* looked at again when copies, or other parts, have answered */
    if (fresh && !ready) {
        ARTEL_TRY(put(p, at, in, &ready));
        if (!ready) return artel__chain_answer(c, at, &out, NULL, 0);
    }
    if (fresh) {
        artel_status status = artel__numbers_agree(&s->numbers, p, at, s->client, service, &ready);
        if (status == ARTEL_OK && !ready) return ARTEL_OK;
        s->since = 0;
        if (status == ARTEL_OK) status = take_new(s, service, p, at, in);
        if (status != ARTEL_OK) return status;
        artel__mesh_stepped(service->cluster, before + 1, 0); /* for artel status */
    }
    if (fresh && before > in->position && in->b == 0) out.a = before - in->position;
    if (in->flags & ARTEL__FLAG_ONLY) return artel__served_reply(p, c, at, &out, NULL, 0);
    return artel__served_answer_values(p, c, at, 0, &out);
}

/* At a copy: the same updates in the same order, so the same bits. */
static artel_status forward(const artel__service *service, artel__served_part *p, artel__chain_client *c,
                            artel__chain_call *at, const artel__lane_head *in)
{
    uint64_t position = (uint64_t)artel__store_iteration(p->store);
    if (position < in->position) return ARTEL_OK; /* the one before is looked at next */
    bool fits = position == in->position && !p->chain.head && may_come(p, in->item) &&
                !artel__applied_has(&p->applied, in->item);
    if (!fits) return artel__served_misfit(p->fit);
    ARTEL_TRY(artel__served_take_update(p, &at->call));
    double squares;
    memcpy(&squares, &in->a, sizeof squares);
    artel__numbers_follow(p, squares);
    artel__lane_head out = {.op = in->op, .flags = ARTEL__ANSWER_OK, .install = p->install, .position = position + 1};
    artel_status answered = artel__chain_answer(c, at, &out, NULL, 0), moved = move_and_apply(service, p, in);
    return answered == ARTEL_OK ? moved : answered;
}

static artel_status tell_parts(server *s, artel__chain_client *c, artel__chain_call *at, artel__lane_head *out)
{
    int count = 0;
    for (int i = 0; i < ARTEL__MOST_SERVERS; i++) {
        const artel__served_part *p = s->part[i];
        if (p && p->install)
            s->held[count++] =
                (artel__held_part){(uint64_t)i, p->install, p->epoch, (uint64_t)artel__store_iteration(p->store)};
    }
    artel__net_piece piece = {s->held, (size_t)count * sizeof *s->held};
    out->a = (uint64_t)count;
    return artel__chain_answer(c, at, out, &piece, count > 0);
}

/* Without a majority it stays what it was: who has been cut off from the others is not followed. */
static artel_status meet(server *s, artel__chain_client *c, artel__chain_call *at, const artel__lane_head *in)
{
    artel__lane_head out = {.op = in->op, .position = s->reign, .a = s->chief};
    if (in->a == 0 || in->b > ARTEL__MEET_LEAVES) return artel__served_misfit(s->fit);
    if (in->b == ARTEL__MEET_LEAVES && s->chief != in->a) s->chief = 0;
    if (in->b == ARTEL__MEET_HOLDS) s->chief = in->a;
    if (in->b == ARTEL__MEET_HOLDS) s->reign = in->position;
    if (in->b == ARTEL__MEET_WAITS)
        artel__log(s->fit->ctx, ARTEL_LOG_NOTE,
                   "the chief has no majority of the ps tasks, without which nothing goes on, and waits for one");
    return artel__chain_answer(c, at, &out, NULL, 0);
}

static bool is_other_server(const artel__service *service, uint64_t rank)
{
    return rank < (uint64_t)service->seat.ranks && (int)rank != service->endpoint->rank &&
           service->type[rank] == ARTEL__TASK_PS;
}

static artel_status assign(server *s, const artel__service *service, artel__served_part *p, const artel__lane_head *in)
{
    p->chain.copies = 0;
    for (uint64_t left = in->b; left; left >>= 16) {
        int rank = (int)(left & 0xffff) - 1;
        bool known = rank >= 0 && is_other_server(service, (uint64_t)rank) && p->chain.copies < ARTEL__MOST_COPIES - 1;
        if (!known) return artel__served_misfit(s->fit);
        p->chain.copy[p->chain.copies++] = rank;
    }
    memset(p->traffic, 0, (size_t)p->division.pieces * sizeof *p->traffic);
    p->epoch = in->a;
    p->chain.head = in->flags & ARTEL__FLAG_HEAD;
    return ARTEL_OK;
}

/* Who may say what. */
static bool may_say(artel__task_type type, unsigned op, unsigned flags)
{
    bool commands = op <= ARTEL__SERVE_END || op == ARTEL__SERVE_ASSIGN || op == ARTEL__SERVE_COPY ||
                    op == ARTEL__SERVE_DROP || op == ARTEL__SERVE_MEET;
    switch (type) {
    case ARTEL__TASK_CHIEF: return commands && !(op == ARTEL__SERVE_INSTALL && (flags & ARTEL__FLAG_COPY));
    case ARTEL__TASK_WORKER: return op == ARTEL__SERVE_PULL || op == ARTEL__SERVE_PUSH;
    case ARTEL__TASK_PS:
        return op == ARTEL__SERVE_FORWARD || op == ARTEL__SERVE_NUMBERS ||
               (op == ARTEL__SERVE_INSTALL && (flags & ARTEL__FLAG_COPY));
    default: return false;
    }
}

/* About a part that is here, in the state that is meant. */
static artel_status handle_part(server *s, const artel__service *service, artel__chain_client *c, artel__chain_call *at,
                                const artel__lane_head *in)
{
    artel__served_part *p = s->part[in->part & 0xffff];
    artel__lane_head out = {.op = in->op, .install = p->install};
    bool early = (in->flags & ARTEL__FLAG_WAIT) && (uint64_t)artel__store_iteration(p->store) < in->a;
    bool commands = in->op == ARTEL__SERVE_FETCH || in->op == ARTEL__SERVE_COPY || in->op == ARTEL__SERVE_ASSIGN;
    if (commands && artel__chain_waits(&p->chain))
        return ARTEL_OK; /* what was applied last may vanish yet: looked at again */
    switch ((artel__serve_op)in->op) {
    case ARTEL__SERVE_FETCH:
        artel__served_say_state(p, &out);
        artel__store_refresh(p->store);
        artel__served_list(p, ARTEL__PART_STATE);
        p->piece[p->count[ARTEL__PART_STATE]] =
            (artel__net_piece){p->traffic, artel__division_traffic_bytes(&p->division)};
        return artel__chain_answer(c, at, &out, p->piece, p->count[ARTEL__PART_STATE] + 1);
    case ARTEL__SERVE_PULL:
        if (early) return ARTEL_OK; /* looked at again */
        return in->flags & ARTEL__FLAG_ROWS ? artel__served_answer_rows(p, c, at, in, &out)
                                            : artel__served_answer_values(p, c, at, in->b, &out);
    case ARTEL__SERVE_PUSH: return push(s, p, service, c, at, in);
    case ARTEL__SERVE_FORWARD: return forward(service, p, c, at, in);
    case ARTEL__SERVE_COPY:
        if (!is_other_server(service, in->a)) return artel__served_misfit(s->fit);
        return copy_out(s, p, c, at, in);
    case ARTEL__SERVE_ASSIGN: {
        ARTEL_TRY(assign(s, service, p, in));
        artel_status status = p->chain.head ? artel__numbers_tell_again(&s->numbers, p, s->client, service) : ARTEL_OK;
        return status == ARTEL_OK ? artel__chain_answer(c, at, &out, NULL, 0) : status;
    }
    default: return artel__served_misfit(s->fit);
    }
}

static artel_status handle(server *s, const artel__service *service, artel__chain_client *c, artel__chain_call *at)
{
    artel__lane_head in;
    ARTEL_TRY(artel__lane_take(&c->from, &at->call, &in));
    artel__lane_head out = {.op = in.op};
    uint32_t number = in.part & 0xffff;
    if (number >= ARTEL__MOST_SERVERS || !may_say(service->type[c->from.peer], in.op, in.flags))
        return artel__served_misfit(s->fit);
    artel__served_part *p = s->part[number];
    switch ((artel__serve_op)in.op) {
    case ARTEL__SERVE_ASK: return tell_parts(s, c, at, &out);
    case ARTEL__SERVE_MEET: return meet(s, c, at, &in);
    case ARTEL__SERVE_NUMBERS:
        if (!artel__numbers_take(&s->numbers, &in, &at->call)) return artel__served_misfit(s->fit);
        return artel__chain_answer(c, at, &out, NULL, 0);
    case ARTEL__SERVE_INSTALL: return install(s, service, c, at, &in);
    case ARTEL__SERVE_END: s->ended = true; return artel__chain_answer(c, at, &out, NULL, 0);
    case ARTEL__SERVE_DROP:
        if (!drop_parts(s, service, (int)number, 0)) return artel__served_misfit(s->fit);
        return artel__chain_answer(c, at, &out, NULL, 0);
    default: break;
    }
    if (p && p->install && in.install == p->install) return handle_part(s, service, c, at, &in);
    out.flags = ARTEL__ANSWER_STALE;
    return artel__chain_answer(c, at, &out, NULL, 0);
}

/* -- the loop -- */

/* Whether anything was done. */
static artel_status look_at(server *s, const artel__service *service, artel__chain_client *c, artel__chain_call *at,
                            size_t most, bool *did)
{
    if (at->state == ARTEL__CALL_EXPECTED && artel__slot_arrived(&at->call)) {
        artel_status status = handle(s, service, c, at);
        if (status != ARTEL_OK) return status;
        *did = *did || at->state != ARTEL__CALL_EXPECTED; /* else it waits for another one's update */
    }
    if (artel__chain_may_leave(at)) {
        artel_status status = artel__served_let_go(c, at);
        if (status != ARTEL_OK) return status;
        *did = true;
    }
    if (at->state == ARTEL__CALL_LEAVING && artel__slot_left(&at->call)) {
        *did = true;
        at->state = ARTEL__CALL_IDLE;
    }
    if (at->state == ARTEL__CALL_IDLE && !s->ended) {
        at->state = ARTEL__CALL_EXPECTED;
        ARTEL_TRY(artel__lane_judge(artel__lane_expect(&c->from, &at->call, most)));
    }
    return ARTEL_OK;
}

static artel_status look_around(server *s, const artel__service *service, size_t most, bool *did, bool *leaving)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < ARTEL__MOST_SERVERS && status == ARTEL_OK; i++) {
        if (s->part[i]) status = hear_copies(s, s->part[i], did);
        if (s->part[i] && status == ARTEL_OK) status = artel__numbers_hear(s->part[i], s->client, service, did);
    }
    for (int r = 0; r < service->seat.ranks && status == ARTEL_OK; r++) {
        bool calls = r != service->endpoint->rank && service->type[r] != ARTEL__TASK_EVALUATOR;
        for (int k = 0; calls && k < s->slots && status == ARTEL_OK; k++) {
            artel__chain_call *at = &s->client[r].slot[k];
            status = look_at(s, service, &s->client[r], at, most, did);
            *leaving = *leaving || at->state == ARTEL__CALL_LEAVING || at->state == ARTEL__CALL_HELD;
        }
    }
    return status;
}

/* Bytes of the longest message: the state of all variables, and a bit for each item of the run, twice that where room
 * was made for more (served.c). */
static size_t most_bytes(const artel__fit *fit)
{
    double items = count_items(fit);
    size_t bits = items < 1e15 ? (size_t)items / 4 : SIZE_MAX / 4;
    return fit->model->nn->variables->bytes * (ARTEL__APPLY_SLOTS + 4) + bits + (4 << 20);
}

/* What a part waits for, in words; false: nothing. A copy without whose answer the head gives none, or another part. */
static bool find_awaited(const server *s, const artel__service *service, const artel__served_part *p,
                         char out[MOST_WORDS])
{
    int rank, part, copy = artel__chain_awaited(&p->chain);
    artel__numbers_awaited(&s->numbers, p, service, &rank, &part);
    if (copy >= 0) rank = copy;
    if (rank >= 0)
        snprintf(out, MOST_WORDS, "an answer of %s", artel__mesh_title(service->cluster, service->task[rank]));
    else if (part >= 0)
        snprintf(out, MOST_WORDS, "the norms of part %d", part);
    return rank >= 0 || part >= 0;
}

static void tell(server *s, const artel__service *service)
{
    artel__telling *t = &s->telling;
    if (!artel__tell_due(t)) return;
    artel__tell_begin(t, s->fit->ctx);
    artel__tell_parts(t);
    for (int i = 0; i < ARTEL__MOST_SERVERS; i++) {
        const artel__served_part *p = s->part[i];
        char what[MOST_WORDS];
        if (!p || !p->install) continue;
        artel__told_part told = {i,
                                 artel__division_bytes(&p->division, i),
                                 p->chain.head ? "head" : "copy",
                                 -1,
                                 {0},
                                 0,
                                 artel__store_iteration(p->store),
                                 find_awaited(s, service, p, what) ? what : NULL};
        artel__tell_part(t, &told);
    }
    artel__tell_end(t, service->cluster);
}

static artel_status wait_for_calls(server *s, const artel__service *service)
{
    char what[MOST_WORDS];
    for (int i = 0; i < ARTEL__MOST_SERVERS; i++) {
        if (s->part[i] && find_awaited(s, service, s->part[i], what))
            return artel__service_wait_till(service, what, &s->since);
    }
    s->since = 0;
    return artel__service_wait(service);
}

static artel_status loop(server *s, const artel__service *service)
{
    size_t most = most_bytes(s->fit);
    artel_status status = artel__service_move(service);
    while (status == ARTEL_OK) {
        bool did = false, leaving = false;
        tell(s, service);
        status = look_around(s, service, most, &did, &leaving);
        if (status == ARTEL_OK && s->ended && !leaving) return ARTEL_OK;
        if (status == ARTEL_OK) status = did ? artel__service_move(service) : wait_for_calls(s, service);
    }
    return status;
}

/* Each client may call about each part at once, a head more than once. */
static artel_status open_clients(server *s, const artel__service *service)
{
    int ranks = service->seat.ranks;
    void *block;
    s->slots = most_calls(service);
    for (int i = 0; i < ARTEL__MOST_SERVERS; i++) {
        if (s->part[i] && s->part[i]->division.servers > s->slots) s->slots = s->part[i]->division.servers;
    }
    ARTEL_TRY(artel__numbers_begin(&s->numbers, service));
    if (s->numbers.count) s->slots += ARTEL__MOST_SERVERS; /* each part's head may tell something */
    ARTEL_TRY(artel__calloc(s->fit->ctx, (size_t)ranks, sizeof *s->client, "parameter server", &block));
    s->client = block;
    for (int r = 0; r < ranks; r++) {
        artel__lane lane = artel__service_lane(service, r);
        ARTEL_TRY(artel__chain_client_open(s->fit->ctx, &s->client[r], &lane, s->slots));
    }
    return ARTEL_OK;
}

static void close_clients(server *s, const artel__service *service)
{
    int ranks = service->seat.ranks;
    for (int i = 0; i < ARTEL__MOST_SERVERS; i++) {
        artel__served_part *p = s->part[i];
        if (p) artel__chain_withdraw(&p->chain, s->client);
        if (p && s->client) artel__numbers_withdraw(p, s->client, service);
        if (p) artel__some_stage_drop(&p->stage);
    }
    for (int r = 0; s->client && r < ranks; r++) artel__chain_client_close(s->fit->ctx, &s->client[r]);
    artel__free(s->fit->ctx, s->client);
    s->client = NULL;
}

artel_status artel__serve(artel__service *service, void *user)
{
    server *s = user;
    s->ended = false;
    s->since = 0;
    artel_status status = open_clients(s, service);
    if (status == ARTEL_OK) status = loop(s, service);
    close_clients(s, service);
    return status;
}

artel_status artel__server_create(artel__fit *fit, void **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(server), "parameter server", &block));
    server *s = block;
    s->fit = fit;
    *out = s;
    ARTEL_TRY(artel__calloc(fit->ctx, ARTEL__MOST_SERVERS, sizeof *s->held, "parameter server", &block));
    s->held = block;
    return ARTEL_OK;
}

void artel__server_destroy(artel__fit *fit, void *user)
{
    server *s = user;
    if (!s) return;
    for (int i = 0; i < ARTEL__MOST_SERVERS; i++) artel__served_drop(s->part[i]);
    artel__free(fit->ctx, s->held);
    if (s->numbers.told) artel__numbers_fini(&s->numbers);
    artel__free(fit->ctx, s);
}
