/* SPDX-License-Identifier: Apache-2.0 */
/* The view machine at a task that is asked: what it promises, accepts and serves. The candidate's side is
 * holding_ballot.c.
 *
 * A view in force is decided: whoever hears of it may adopt it, unless it has promised to follow a later ballot. So
 * TELL repairs what a lost VIEW or HOLD has left behind, and a promise always carries the newest view that its sender
 * can know of.
 */
#include "cluster/holding_impl.h"

#include <string.h>

/* -- creation -- */

static uint32_t count_votes(const artel__holding_config *c)
{
    uint32_t votes = 0;
    for (uint32_t t = 0; t < c->tasks; t++) votes += c->votes[t];
    return votes;
}

void artel__holding_vote(const uint8_t *role, uint32_t tasks, uint8_t *votes)
{
    uint32_t voters = 0, lowest = tasks;
    for (uint32_t t = 0; t < tasks; t++) voters += votes[t] = role[t] >= 2;
    for (uint32_t t = 0; t < tasks && voters < 3; t++)
        if (role[t] == 1) voters += votes[t] = 1;
    for (uint32_t t = tasks; t-- > 0;)
        if (votes[t]) lowest = t;
    if (voters % 2 == 0 && lowest < tasks) votes[lowest] = 2;
}

/* No more copies than servers. */
static int fewer(const artel__holding_config *c)
{
    int servers = 0;
    for (uint32_t t = 0; t < c->tasks; t++) servers += c->server[t] != 0;
    return servers < c->copies ? servers : c->copies;
}

static const char *judge(const artel__holding_config *c)
{
    if (c->tasks < 1 || c->tasks > ARTEL__HOLDING_MOST_TASKS || c->self >= c->tasks)
        return "too many tasks for views of parts";
    if (c->parts < 1 || c->parts > ARTEL__HOLDING_MOST_PARTS) return "too many parts for a view";
    if (artel__holding_bound(c->tasks, c->parts) > ARTEL__HOLDING_BYTES_MAX) return "views that do not fit a message";
    if (c->copies < 1 || c->copies > ARTEL__HOLDING_COPIES) return "so many copies of a part are not kept";
    if (!c->incarnation || !count_votes(c)) return "no voters, or no incarnation";
    for (uint32_t p = 0; p < c->parts; p++)
        if (c->first[p] >= c->tasks || !c->server[c->first[p]]) return "a part is placed on a task that is no server";
    return NULL;
}

typedef struct layout {
    uint8_t *at;
    size_t bytes;
} layout;

/* Two passes: sizes, then pointers. */
static void *take(layout *l, size_t bytes)
{
    void *block = l->at ? l->at + l->bytes : NULL;
    l->bytes += (bytes + 15) / 16 * 16;
    return block;
}

static void lay_out(artel__holding *h, layout *l, const artel__holding_config *c)
{
    artel__view *view[] = {&h->accepted, &h->known, &h->incoming, &h->best, &h->next};
    for (size_t i = 0; i < sizeof view / sizeof *view; i++) {
        uint64_t *member = take(l, c->tasks * sizeof(uint64_t));
        artel__chain *chain = take(l, c->parts * sizeof(artel__chain));
        if (l->at) view[i]->member = member, view[i]->chain = chain;
    }
    artel__holding_peer *peer = take(l, c->tasks * sizeof *peer);
    uint8_t *bytes = take(l, (3 + c->tasks) * (size_t)c->parts);
    uint64_t *load = take(l, c->tasks * sizeof *load);
    uint8_t *out = take(l, artel__holding_bound(c->tasks, c->parts)), *in = take(l, c->parts);
    if (!l->at) return;
    h->peer = peer;
    h->part = bytes;
    h->pending = bytes + c->parts;
    h->assigned = bytes + 2 * (size_t)c->parts;
    h->states = bytes + 3 * (size_t)c->parts;
    h->load = load;
    h->out = out;
    h->in_state = in;
}

artel_status artel__holding_create(artel_context *ctx, const artel__holding_config *config, artel__holding **out)
{
    const char *wrong = judge(config);
    if (wrong)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "parameter servers", "use fewer tasks or larger parts", "%s",
                           wrong);
    artel__holding unused;
    layout l = {.bytes = (sizeof(artel__holding) + 15) / 16 * 16};
    void *block;
    lay_out(&unused, &l, config);
    ARTEL_TRY(artel__calloc(ctx, 1, l.bytes, "parameter servers", &block));
    artel__holding *h = block;
    l = (layout){block, (sizeof(artel__holding) + 15) / 16 * 16};
    lay_out(h, &l, config);
    h->ctx = ctx;
    h->config = *config;
    h->votes = count_votes(config);
    h->config.copies = fewer(config);
    h->random = config->incarnation * 0x9e3779b97f4a7c15u | 1;
    h->counter = h->promised.counter = config->counter;
    h->fenced = true;
    h->began = INT64_MIN;
    h->peer[config->self].incarnation = config->incarnation;
    *out = h;
    return ARTEL_OK;
}

void artel__holding_destroy(artel__holding *h)
{
    if (h) artel__free(h->ctx, h);
}

/* -- promising -- */

void artel__holding_follow(artel__holding *h, artel__generation_id ballot)
{
    h->promised = ballot;
    h->promised_at = h->now;
    if (ballot.counter > h->counter) h->counter = ballot.counter;
    if (h->phase != ARTEL__BALLOT_NONE && artel__ballot_compare(h->ballot, ballot) < 0) artel__holding_give_up(h);
}

/* The view that has been served is over. */
static void fence(artel__holding *h)
{
    if (!h->fenced) artel__holding_act(h, &(artel__holding_action){.kind = ARTEL__HOLDING_FENCE});
    h->fenced = true;
}

static void say_higher(artel__holding *h, uint32_t task)
{
    artel__holding_send(h, task, &(artel__holding_message){.kind = ARTEL__HOLDING_HIGHER, .about = h->promised});
}

static void on_ballot(artel__holding *h, uint32_t from, artel__generation_id ballot)
{
    int order = artel__ballot_compare(ballot, h->promised);
    if (order < 0) {
        say_higher(h, from);
        return;
    }
    if (order > 0) artel__holding_follow(h, ballot);
    if (artel__ballot_compare(h->accepted.ballot, ballot) == 0) return; /* asked again, and it has gone on since */
    artel__holding_send(h, from,
                        &(artel__holding_message){.kind = ARTEL__HOLDING_PROMISE,
                                                  .flags = h->remembers ? ARTEL__HOLDING_REMEMBERS : 0,
                                                  .about = ballot,
                                                  .view = h->accepted.ballot.counter ? &h->accepted : NULL,
                                                  .state = h->part});
}

static void on_higher(artel__holding *h, artel__generation_id ballot)
{
    if (ballot.counter > h->counter) h->counter = ballot.counter;
    if (h->phase == ARTEL__BALLOT_NONE || artel__ballot_compare(ballot, h->ballot) <= 0) return;
    artel__holding_give_up(h);
    h->backoff_until = h->now + h->config.suspect_after_ns / 8 + artel__holding_draw(h, h->config.suspect_after_ns / 4);
}

/* -- accepting -- */

static void void_part(artel__holding *h, uint32_t part)
{
    if (h->part[part] == ARTEL__HOLDING_NONE) return;
    h->part[part] = ARTEL__HOLDING_NONE;
    artel__holding_act(h, &(artel__holding_action){.kind = ARTEL__HOLDING_DROP, .part = part});
}

static void say_level(artel__holding *h)
{
    if (h->accepted_from == h->config.self)
        artel__holding_on_is_level(h, h->config.self, h->accepted.ballot);
    else
        artel__holding_send(h, h->accepted_from,
                            &(artel__holding_message){.kind = ARTEL__HOLDING_IS_LEVEL, .about = h->accepted.ballot});
}

/* What is to be levelled: the parts whose chains name this task. */
static void set_pending(artel__holding *h)
{
    const artel__view *v = &h->accepted;
    h->pendings = 0;
    for (uint32_t p = 0; p < h->config.parts; p++) {
        bool named = artel__view_names(v, h->config.self, h->config.incarnation) &&
                     artel__chain_find(&v->chain[p], h->config.self) >= 0;
        h->pending[p] = named;
        h->pendings += named;
    }
}

/* Parts of another beginning of the job are void. True: this view begins anew. */
static bool begin_anew(artel__holding *h)
{
    if (artel__ballot_compare(h->start, h->accepted.start) == 0) return false;
    for (uint32_t p = 0; p < h->config.parts; p++) void_part(h, p);
    h->start = h->accepted.start;
    return artel__ballot_compare(h->accepted.start, h->accepted.ballot) == 0;
}

void artel__holding_on_view(artel__holding *h, uint32_t from, const artel__view *view)
{
    if (artel__ballot_compare(view->ballot, h->promised) != 0) {
        if (artel__ballot_compare(view->ballot, h->promised) < 0) say_higher(h, from);
        return;
    }
    if (artel__ballot_compare(view->ballot, h->accepted.ballot) == 0) {
        if (!h->pendings) say_level(h); /* asked again */
        return;
    }
    fence(h);
    artel__view_copy(h, &h->accepted, view);
    h->accepted_from = from;
    h->held = false;
    bool fresh = begin_anew(h);
    set_pending(h);
    artel__holding_act(h,
                       &(artel__holding_action){.kind = ARTEL__HOLDING_ACCEPT, .view = &h->accepted, .fresh = fresh});
    if (!h->pendings) say_level(h);
}

void artel__holding_level(artel__holding *h, int64_t now, artel__generation_id ballot, uint32_t part)
{
    h->now = now;
    if (artel__ballot_compare(ballot, h->accepted.ballot) != 0 || artel__ballot_compare(h->promised, ballot) != 0)
        return;
    if (part >= h->config.parts || !h->pending[part]) return;
    h->pending[part] = 0;
    h->part[part] = ARTEL__HOLDING_LEVEL;
    if (--h->pendings == 0) say_level(h);
    artel__holding_advance(h);
}

/* -- in force -- */

/* What a view in force does not name is void: its log may have an entry that nobody else has. A copy that waits to be
 * named stays. */
static void drop_unnamed(artel__holding *h, const artel__view *view)
{
    bool member = artel__view_names(view, h->config.self, h->config.incarnation);
    for (uint32_t p = 0; p < h->config.parts; p++)
        if (h->part[p] == ARTEL__HOLDING_LEVEL && !(member && artel__chain_find(&view->chain[p], h->config.self) >= 0))
            void_part(h, p);
}

/* The accepted view is in force. */
static void come_into_force(artel__holding *h)
{
    bool member = artel__view_names(&h->accepted, h->config.self, h->config.incarnation);
    h->held = true;
    h->wanted = false;
    h->remembers |= member;
    artel__view_copy(h, &h->known, &h->accepted);
    drop_unnamed(h, &h->known);
    if (!member) {
        artel__holding_act(h, &(artel__holding_action){.kind = ARTEL__HOLDING_LEARN, .view = &h->known});
        return;
    }
    h->fenced = false;
    artel__holding_act(h, &(artel__holding_action){.kind = ARTEL__HOLDING_SERVE, .view = &h->accepted});
    artel__holding_assign(h);
}

void artel__holding_on_hold(artel__holding *h, artel__generation_id ballot)
{
    if (artel__ballot_compare(ballot, h->accepted.ballot) == 0 && !h->held) come_into_force(h);
}

/* A view that is in force. Adopting it is as having accepted it: it is decided. Where it names this task as a holder,
 * this task has accepted it before, or it would not be in force. */
static void on_tell(artel__holding *h, const artel__view *view)
{
    if (artel__ballot_compare(view->ballot, h->known.ballot) <= 0) return;
    if (artel__ballot_compare(view->ballot, h->accepted.ballot) == 0) {
        artel__holding_on_hold(h, view->ballot);
    } else if (artel__ballot_compare(view->ballot, h->promised) >= 0) {
        artel__holding_follow(h, view->ballot);
        fence(h);
        artel__view_copy(h, &h->accepted, view);
        begin_anew(h);
        memset(h->pending, 0, h->config.parts);
        h->pendings = 0;
        come_into_force(h);
    } else {
        artel__view_copy(h, &h->known, view);
        if (artel__ballot_compare(view->ballot, h->accepted.ballot) > 0) fence(h);
        if (artel__ballot_compare(view->ballot, h->accepted.ballot) > 0 &&
            artel__ballot_compare(h->start, view->start) == 0)
            drop_unnamed(h, view);
        artel__holding_act(h, &(artel__holding_action){.kind = ARTEL__HOLDING_LEARN, .view = &h->known});
    }
}

/* -- other inputs -- */

static void on_ping(artel__holding *h, uint32_t from, const artel__holding_message *m)
{
    int order = artel__ballot_compare(m->known, h->known.ballot);
    if (m->kind == ARTEL__HOLDING_PING || order > 0) {
        if (order < 0)
            artel__holding_tell(h, from);
        else
            artel__holding_send(
                h, from, &(artel__holding_message){.kind = order > 0 ? ARTEL__HOLDING_PING : ARTEL__HOLDING_PONG});
    }
}

static void hear(artel__holding *h, uint32_t from, const artel__holding_message *m)
{
    switch ((artel__holding_kind)m->kind) {
    case ARTEL__HOLDING_BALLOT: on_ballot(h, from, m->about); return;
    case ARTEL__HOLDING_PROMISE: artel__holding_on_promise(h, from, m); return;
    case ARTEL__HOLDING_HIGHER: on_higher(h, m->about); return;
    case ARTEL__HOLDING_VIEW:
        if (artel__view_names(m->view, h->config.self, h->config.incarnation)) artel__holding_on_view(h, from, m->view);
        return;
    case ARTEL__HOLDING_IS_LEVEL: artel__holding_on_is_level(h, from, m->about); return;
    case ARTEL__HOLDING_HOLD: artel__holding_on_hold(h, m->about); return;
    case ARTEL__HOLDING_TELL:
        if (artel__holding_takes_part(h, from)) on_tell(h, m->view);
        return;
    case ARTEL__HOLDING_WANT: artel__holding_on_want(h, from, m); return;
    case ARTEL__HOLDING_PING:
    case ARTEL__HOLDING_PONG: on_ping(h, from, m); return;
    default: return;
    }
}

void artel__holding_receive(artel__holding *h, int64_t now, uint32_t from, const uint8_t *bytes, size_t count)
{
    h->now = now;
    artel__holding_message m = {.view = &h->incoming, .state = h->in_state};
    if (from >= h->config.tasks || !h->peer[from].linked) return;
    if (artel__holding_decode(bytes, count, h->config.tasks, h->config.parts, &m)) return;
    if (m.task != from || m.from != h->peer[from].incarnation || m.to != h->config.incarnation) return;
    if (m.about.counter > h->counter && m.kind != ARTEL__HOLDING_BALLOT) h->counter = m.about.counter;
    h->peer[from].heard = now;
    hear(h, from, &m);
    artel__holding_advance(h);
    if (h->wanted) artel__holding_watch(h);
}

void artel__holding_link_up(artel__holding *h, int64_t now, uint32_t task, uint64_t incarnation)
{
    h->now = now;
    if (task >= h->config.tasks || task == h->config.self) return;
    artel__holding_peer *p = &h->peer[task];
    if (p->incarnation != incarnation) p->shuns = 0, p->shun_until = 0, p->promised = p->level = false;
    p->linked = true;
    p->incarnation = incarnation;
    p->heard = p->pinged = now;
    artel__holding_send(h, task, &(artel__holding_message){.kind = ARTEL__HOLDING_PING});
    if (h->phase == ARTEL__BALLOT_COLLECT && artel__holding_takes_part(h, task) && !p->promised)
        artel__holding_send(h, task, &(artel__holding_message){.kind = ARTEL__HOLDING_BALLOT, .about = h->ballot});
    if (h->phase == ARTEL__BALLOT_LEVEL && p->promised)
        artel__holding_send(
            h, task, &(artel__holding_message){.kind = ARTEL__HOLDING_VIEW, .about = h->ballot, .view = &h->next});
    artel__holding_advance(h);
}

void artel__holding_link_down(artel__holding *h, int64_t now, uint32_t task)
{
    h->now = now;
    if (task >= h->config.tasks || task == h->config.self) return;
    h->peer[task].linked = false;
    artel__holding_advance(h);
    artel__holding_watch(h);
}

void artel__holding_copied(artel__holding *h, int64_t now, artel__generation_id ballot, uint32_t part)
{
    h->now = now;
    if (part >= h->config.parts || artel__ballot_compare(ballot, h->known.ballot) != 0 || !h->assigned[part]) return;
    if (artel__ballot_compare(h->start, h->known.start) != 0 || h->part[part] == ARTEL__HOLDING_LEVEL) return;
    h->assigned[part] = 0;
    h->part[part] = ARTEL__HOLDING_COPY;
    bool all = true;
    for (uint32_t p = 0; p < h->config.parts; p++) all &= !h->assigned[p];
    if (!all) return;
    h->want_copied = true;
    artel__holding_want(h, 0);
}

void artel__holding_broken(artel__holding *h, int64_t now, uint32_t part)
{
    h->now = now;
    if (part < h->config.parts && h->part[part] == ARTEL__HOLDING_COPY) h->part[part] = ARTEL__HOLDING_NONE;
}

void artel__holding_gone(artel__holding *h, int64_t now, uint32_t task)
{
    h->now = now;
    if (task >= h->config.tasks || task == h->config.self) return;
    h->peer[task].gone = h->peer[task].incarnation;
    artel__holding_advance(h);
}

void artel__holding_set_origin(artel__holding *h, uint64_t origin)
{
    h->origin = origin;
}

void artel__holding_tick(artel__holding *h, int64_t now)
{
    h->now = now;
    if (h->began == INT64_MIN) h->began = now;
    artel__holding_advance(h);
    artel__holding_watch(h);
}

/* -- what it knows -- */

const artel__view *artel__holding_serving(const artel__holding *h)
{
    return h->fenced ? NULL : &h->accepted;
}

const artel__view *artel__holding_known(const artel__holding *h)
{
    return h->known.ballot.counter ? &h->known : NULL;
}

artel__holding_state artel__holding_part(const artel__holding *h, uint32_t part)
{
    return part < h->config.parts ? (artel__holding_state)h->part[part] : ARTEL__HOLDING_NONE;
}

bool artel__holding_remembers(const artel__holding *h)
{
    return h->remembers;
}

bool artel__holding_coordinates(const artel__holding *h)
{
    return !h->fenced && h->accepted.coordinator == h->config.self;
}

uint32_t artel__holding_short(const artel__holding *h)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < h->config.parts && h->known.ballot.counter; p++)
        count += h->known.chain[p].holders < h->config.copies;
    return count;
}
