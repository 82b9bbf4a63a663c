/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual network: endpoints of processes in a generation. */
#include <stdlib.h>
#include <string.h>

#include "help_servers_impl.h"

static port *port_of(artel__endpoint *endpoint)
{
    return (port *)endpoint;
}

static void notify(port *p)
{
    p->events++;
    if (p->owner->seated == p->of) storm_wake(p->owner);
}

static bool is_dead(const port *p)
{
    return p->cancelled || p->owner->killed || p->owner->seated != p->of;
}

/* -- messages -- */

static void free_message(message *m)
{
    free(m->bytes);
    free(m);
}

/* A posted receive that it fits takes it. */
static bool match(port *p, message *m)
{
    for (artel__net_request **at = &p->receives; *at; at = &(*at)->next) {
        artel__net_request *r = *at;
        if (r->peer != m->from || !artel__frame_match(&r->frame, &m->frame)) continue;
        *at = r->next;
        r->frame = m->frame;
        m->piece = (artel__net_piece){m->bytes, m->frame.length};
        r->piece = &m->piece;
        r->pieces = r->most && m->frame.length > r->most ? 0 : 1;
        r->held = m;
        atomic_store(&r->state, ARTEL__NET_DONE);
        notify(p);
        return true;
    }
    return false;
}

void storm_arrive(storm *w, generation *g, message *m)
{
    port *p = &g->port[m->to];
    process *from = g->member[m->from], *to = g->member[m->to];
    bool left = to->seated != g && to->seat != g;
    (void)w;
    if (left || p->cancelled || to->killed || from->side != to->side) {
        free_message(m);
        return;
    }
    if (match(p, m)) return;
    m->next = NULL;
    if (p->last_arrived)
        p->last_arrived->next = m;
    else
        p->arrived = m;
    p->last_arrived = m;
}

static message *take_arrived(port *p, const artel__net_request *request)
{
    message *before = NULL;
    for (message *m = p->arrived; m; before = m, m = m->next) {
        if (m->from != request->peer || !artel__frame_match(&m->frame, &request->frame)) continue;
        if (before)
            before->next = m->next;
        else
            p->arrived = m->next;
        if (p->last_arrived == m) p->last_arrived = before;
        return m;
    }
    return NULL;
}

static void send_away(storm *w, port *from, message *m, int64_t later)
{
    int64_t way = 1 + (int64_t)storm_random(w, storm_random(w, 8) ? 12 : 200), at = w->now + way + later;
    if (!later && at < from->arrives[m->to]) at = from->arrives[m->to];
    if (!later) from->arrives[m->to] = at;
    storm_push(w, at - w->now, (event){.kind = EVENT_ARRIVE, .at = m, .of = from->of});
}

/* -- mistakes, as if the process that speaks made them -- */

static message *copy_of(const message *m)
{
    message *copy = calloc(1, sizeof *copy);
    *copy = *m;
    copy->bytes = malloc(m->frame.length + 1);
    memcpy(copy->bytes, m->bytes, m->frame.length);
    return copy;
}

/* The copy answers at once, and is told much later. */
static bool answer_early(storm *w, port *from, message *m)
{
    message *answer = copy_of(m);
    artel__lane_head head = {.op = ARTEL__SERVE_FORWARD};
    answer->from = m->to;
    answer->to = m->from;
    answer->frame.kind = ARTEL__FRAME_ANSWER;
    answer->frame.length = ARTEL__LANE_HEAD;
    artel__slot_encode(&head, answer->bytes);
    send_away(w, &from->of->port[m->to], answer, 0);
    send_away(w, from, m, 150);
    return true;
}

/* The copy is not told, and seems to have answered. */
static void tell_nobody(storm *w, port *from, const message *m)
{
    message *answer = copy_of(m);
    artel__lane_head head = {.op = ARTEL__SERVE_FORWARD};
    answer->from = m->to;
    answer->to = m->from;
    answer->frame.kind = ARTEL__FRAME_ANSWER;
    answer->frame.length = ARTEL__LANE_HEAD;
    artel__slot_encode(&head, answer->bytes);
    send_away(w, &from->of->port[m->to], answer, 0);
}

static void change_head(storm_mistake mistake, artel__lane_head *head, message *m)
{
    if (mistake == STORM_UNAPPLIED && head->op == ARTEL__SERVE_PUSH)
        *head = (artel__lane_head){.op = ARTEL__SERVE_PULL, .part = head->part, .install = head->install};
    artel__slot_encode(head, m->bytes);
}

/* What a server says that it has; `installed`: what the chief has installed last. */
static void change_held(storm_mistake mistake, uint64_t installed, message *m)
{
    for (size_t at = ARTEL__LANE_HEAD; at + sizeof(artel__held_part) <= m->frame.length;
         at += sizeof(artel__held_part)) {
        artel__held_part held;
        memcpy(&held, m->bytes + at, sizeof held);
        if (mistake == STORM_LEVEL) held.position = 1;
        if (mistake == STORM_VOID || mistake == STORM_OTHER) held.epoch = UINT64_MAX;
        if (mistake == STORM_OTHER) held.install = installed;
        memcpy(m->bytes + at, &held, sizeof held);
    }
}

/* True: it has been sent. */
static bool mistake(storm *w, port *from, const artel__net_request *r, message *m)
{
    artel__lane_head head;
    if (m->frame.length < ARTEL__LANE_HEAD) return false;
    artel__slot_decode(m->bytes, &head);
    bool call = m->frame.kind == ARTEL__FRAME_CALL;
    if (w->o.mistake == STORM_EARLY && call && head.op == ARTEL__SERVE_FORWARD) return answer_early(w, from, m);
    if (w->o.mistake == STORM_TWICE && call && head.op == ARTEL__SERVE_INSTALL && (head.flags & ARTEL__FLAG_COPY)) {
        size_t bits = artel__net_padded(r->piece[r->pieces - 1].bytes);
        memset(m->bytes + m->frame.length - bits, 0, bits);
    }
    if (w->o.mistake == STORM_MISSED && call && head.op == ARTEL__SERVE_FORWARD && storm_random(w, 8) == 0) {
        tell_nobody(w, from, m);
        free_message(m);
        return true;
    }
    if (call && storm_random(w, 8) == 0) change_head(w->o.mistake, &head, m);
    if (!call && head.op == ARTEL__SERVE_ASK) change_held(w->o.mistake, from->of->member[m->to]->installed, m);
    return false;
}

/* -- sending -- */

void storm_leave(storm *w, port *from, int to)
{
    artel__net_request *r = from->out[to];
    if (!r || is_dead(from)) return;
    from->out[to] = r->next;
    if (!r->next) from->last_out[to] = NULL;
    message *m = calloc(1, sizeof *m);
    *m = (message){.from = from->base.rank, .to = to, .frame = r->frame};
    m->bytes = calloc(1, r->frame.length + 1);
    size_t at = 0;
    for (int i = 0; i < r->pieces; i++) {
        if (r->piece[i].bytes) memcpy(m->bytes + at, r->piece[i].data, r->piece[i].bytes);
        at += artel__net_padded(r->piece[i].bytes);
    }
    if (!w->o.mistake || !mistake(w, from, r, m)) send_away(w, from, m, 0);
    atomic_store(&r->state, ARTEL__NET_DONE);
    notify(from);
}

/* A chief that has told its servers that it has no majority would wait for one: that is over at once, so that time may
 * go on. Which state it takes back is noted. */
static void hear_chief(process *p, const artel__net_request *r)
{
    artel__lane_head head;
    if (p->task != 0 || r->frame.kind != ARTEL__FRAME_CALL || r->piece[0].bytes < ARTEL__LANE_HEAD) return;
    artel__slot_decode(r->piece[0].data, &head);
    if (head.op == ARTEL__SERVE_FETCH) p->fetched = head.install;
    if (head.op == ARTEL__SERVE_INSTALL) p->installed = head.install;
    if (head.op == ARTEL__SERVE_MEET && head.b == ARTEL__MEET_WAITS) atomic_store(&p->cluster.training.stopping, true);
}

static artel_status sim_send(artel__endpoint *endpoint, artel__net_request *r)
{
    port *p = port_of(endpoint);
    process *owner = p->owner;
    storm *w = owner->world;
    r->sending = true;
    r->next = NULL;
    atomic_store(&r->state, ARTEL__NET_POSTED);
    if (owner->id == owner->task) w->result->sent[owner->task]++;
    if (owner->dies_after == 0) owner->killed = true;
    if (owner->dies_after > 0) owner->dies_after--;
    if (is_dead(p)) return ARTEL_OK;
    hear_chief(owner, r);
    if (p->last_out[r->peer])
        p->last_out[r->peer]->next = r;
    else
        p->out[r->peer] = r;
    p->last_out[r->peer] = r;
    int64_t at = w->now + (int64_t)storm_random(w, 4);
    if (at < p->leaves[r->peer]) at = p->leaves[r->peer];
    p->leaves[r->peer] = at;
    storm_push(w, at - w->now, (event){.kind = EVENT_LEAVE, .at = p, .of = p->of, .a = r->peer});
    return ARTEL_OK;
}

static artel_status sim_receive(artel__endpoint *endpoint, artel__net_request *r)
{
    port *p = port_of(endpoint);
    r->sending = false;
    atomic_store(&r->state, ARTEL__NET_POSTED);
    message *m = take_arrived(p, r);
    r->next = p->receives;
    p->receives = r;
    if (m) match(p, m);
    return ARTEL_OK;
}

static artel_status sim_progress(artel__endpoint *endpoint)
{
    port *p = port_of(endpoint);
    p->seen = p->events;
    return is_dead(p) ? ARTEL_ERROR_CANCELLED : ARTEL_OK;
}

static void sim_wait(artel__endpoint *endpoint)
{
    port *p = port_of(endpoint);
    while (p->events == p->seen && !is_dead(p)) storm_yield(p->owner, PROCESS_WAITS);
}

static artel_status sim_release(artel__endpoint *endpoint, artel__net_request *r)
{
    (void)endpoint;
    if (!artel__net_done(r)) return ARTEL_OK;
    if (!r->sending && r->held) free_message(r->held);
    r->held = NULL;
    atomic_store(&r->state, ARTEL__NET_IDLE);
    return ARTEL_OK;
}

static void take_out(artel__net_request **list, artel__net_request **last, const artel__net_request *r)
{
    artel__net_request *before = NULL;
    for (artel__net_request *at = *list; at; before = at, at = at->next) {
        if (at != r) continue;
        if (before)
            before->next = r->next;
        else
            *list = r->next;
        if (last && *last == r) *last = before;
        return;
    }
}

static void sim_withdraw(artel__endpoint *endpoint, artel__net_request *r)
{
    port *p = port_of(endpoint);
    bool posted = atomic_load(&r->state) == ARTEL__NET_POSTED;
    if (posted && r->sending) take_out(&p->out[r->peer], &p->last_out[r->peer], r);
    if (posted && !r->sending) take_out(&p->receives, NULL, r);
    if (posted) atomic_store(&r->state, ARTEL__NET_IDLE);
    sim_release(endpoint, r);
}

void storm_cancel(port *p)
{
    p->cancelled = true;
    notify(p);
}

/* Others hear of it as of the end of a generation: whoever rests ends it. */
static void sim_cancel(artel__endpoint *endpoint)
{
    storm_cancel(port_of(endpoint));
}

static void sim_resume(artel__endpoint *endpoint)
{
    (void)endpoint;
}

static void sim_close(artel__endpoint *endpoint)
{
    (void)endpoint;
}

static const artel__transport_ops ops = {
    .name = "virtual",
    .post_send = sim_send,
    .post_receive = sim_receive,
    .progress = sim_progress,
    .wait = sim_wait,
    .release = sim_release,
    .withdraw = sim_withdraw,
    .cancel = sim_cancel,
    .resume = sim_resume,
    .close = sim_close,
};

void storm_open_port(generation *g, int rank)
{
    port *p = &g->port[rank];
    *p = (port){.of = g, .owner = g->member[rank]};
    p->base = (artel__endpoint){.ops = &ops, .ctx = p->owner->bench.ctx, .rank = rank, .ranks = g->ranks};
}

void storm_close_generation(generation *g)
{
    for (int r = 0; r < g->ranks; r++) {
        while (g->port[r].arrived) {
            message *m = g->port[r].arrived;
            g->port[r].arrived = m->next;
            free_message(m);
        }
    }
    free(g);
}
