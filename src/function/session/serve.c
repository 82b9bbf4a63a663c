/* SPDX-License-Identifier: Apache-2.0 */
/* A task that serves: runs its parts of what clients ask for, of several at a time, and gives and takes variables. */
#include <string.h>

#include "function/closure.h"
#include "function/session/session_impl.h"

typedef struct server {
    artel_session *session;
    int closed; /* clients that want nothing more */
} server;

/* -- answers -- */

static artel_status answer(artel_session *s, int task, artel__lane_slot *slot, const artel__lane_head *head,
                           const artel__net_piece *piece, int count)
{
    return artel__lane_answer(&s->peer[task].hear, slot, head, piece, count);
}

/* A failure of this task's, which is the client's to report. */
static artel_status answer_failure(artel_session *s, int task, artel__lane_slot *slot, artel_status status)
{
    artel__placed_peer *peer = &s->peer[task];
    artel__lane_head head = {.op = ARTEL__PLACED_RUN, .flags = ARTEL__PLACED_FAILED};
    peer->error = *artel_context_error(s->ctx);
    peer->error.status = status;
    artel__operation_begin(s->ctx);
    artel__net_piece piece = {&peer->error, sizeof peer->error};
    return answer(s, task, slot, &head, &piece, 1);
}

static artel_status answer_run(artel_session *s, int task)
{
    artel__placed_peer *peer = &s->peer[task];
    artel__placed_plan *p = peer->plan;
    artel__lane_head head = {.op = ARTEL__PLACED_RUN, .item = p->run};
    artel__lane_slot *slot = peer->unanswered;
    int count = 0;
    for (int i = 0; i < p->function->outputs; i++) {
        const void *value = artel__placed_output(p, i);
        if (value) p->piece[count++] = (artel__net_piece){value, artel__output_bytes(p->function, i, p->rows)};
    }
    p->answered = true;
    peer->unanswered = NULL;
    return answer(s, task, slot, &head, p->piece, count);
}

/* -- what clients ask for -- */

static artel_status read_feeds(artel_session *s, int task, const artel__lane_slot *slot, artel__placed_plan *p,
                               int64_t rows)
{
    const artel_function *f = p->function;
    artel__slot_at at = {0, 0};
    void *to;
    if (!artel__slot_next(slot, &at, (size_t)f->outputs)) return artel__placed_misfit(s, task);
    for (int i = 0; i < f->arguments; i++) {
        if (!p->fed[s->self * f->arguments + i]) continue;
        size_t bytes = artel__placed_feed_bytes(f, i, rows);
        const void *data = artel__slot_next(slot, &at, bytes);
        if (!data) return artel__placed_misfit(s, task);
        ARTEL_TRY(artel__placed_feed(p, i, rows, &to));
        memcpy(to, data, bytes);
    }
    return ARTEL_OK;
}

/* The plan that a client means. */
static artel_status find_plan(artel_session *s, int task, const artel__lane_slot *slot, const artel__lane_head *head,
                              artel__placed_plan **out)
{
    artel_function *f = artel__closure_function(s->strategy, head->part);
    const uint8_t *wanted = f ? artel__slot_data(slot, 0, 0, (size_t)f->outputs) : NULL;
    if (!wanted) return artel__placed_misfit(s, task);
    ARTEL_TRY(artel__placed_wanted(s, f));
    for (int i = 0; i < f->outputs; i++) s->wanted[i] = wanted[i] != 0;
    ARTEL_TRY(artel__placed_plan_get(s, f, task, s->wanted, (head->flags & ARTEL__PLACED_UPDATES) != 0, out));
    return (*out)->hash == head->install ? ARTEL_OK : artel__placed_misfit(s, task);
}

static artel_status begin(artel_session *s, int task, artel__lane_slot *slot, const artel__lane_head *head)
{
    artel__placed_plan *p;
    artel__placed_start start = {head->item, head->a, (int64_t)head->position, (int64_t)head->b, head->rate};
    ARTEL_TRY(find_plan(s, task, slot, head, &p));
    ARTEL_TRY(artel__function_check_rows(p->function, start.rows));
    ARTEL_TRY(read_feeds(s, task, slot, p, start.rows));
    if (s->peer[task].plan) artel__placed_drop(s->peer[task].plan); /* of a run without a verdict */
    s->peer[task].plan = p;
    s->peer[task].unanswered = slot;
    return artel__placed_begin(p, &start);
}

static artel_status do_run(artel_session *s, int task, artel__lane_slot *slot, const artel__lane_head *head)
{
    artel_status status = begin(s, task, slot, head);
    if (status == ARTEL_OK || status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_CANCELLED) return status;
    if (s->peer[task].plan) artel__placed_drop(s->peer[task].plan);
    s->peer[task].plan = NULL;
    s->peer[task].unanswered = NULL;
    return answer_failure(s, task, slot, status);
}

/* All have computed, or somebody has failed. */
static artel_status do_verdict(artel_session *s, int task, artel__lane_slot *slot, const artel__lane_head *head)
{
    artel__placed_peer *peer = &s->peer[task];
    artel__placed_plan *p = peer->plan;
    artel__lane_head out = {.op = head->op};
    if (peer->unanswered) { /* it was given up in the midst of it */
        artel__lane_head given_up = {.op = ARTEL__PLACED_RUN};
        ARTEL_TRY(answer(s, task, peer->unanswered, &given_up, NULL, 0));
        peer->unanswered = NULL;
    }
    if (p && p->computed && head->op == ARTEL__PLACED_COMMIT) artel__placed_commit(p);
    const artel_optimizer *o = p ? artel__function_optimizer(p->function) : NULL;
    if (o) out.b = (uint64_t)o->iterations;
    if (p) artel__placed_drop(p);
    peer->plan = NULL;
    return answer(s, task, slot, &out, NULL, 0);
}

static artel_status reserve(artel_session *s, artel__placed_peer *peer, int variables, size_t bytes)
{
    void *block = peer->staged, *pieces = peer->piece;
    ARTEL_TRY(artel__realloc(s->ctx, bytes + 64, "session", &block));
    peer->staged = block;
    ARTEL_TRY(artel__realloc(s->ctx, ((size_t)variables + 1) * sizeof *peer->piece, "session", &pieces));
    peer->piece = pieces;
    return ARTEL_OK;
}

/* A copy of this task's variables: others may write them before it has left. */
static artel_status do_pull(artel_session *s, int task, artel__lane_slot *slot)
{
    artel__placed_peer *peer = &s->peer[task];
    artel__lane_head head = {.op = ARTEL__PLACED_PULL};
    ARTEL_TRY(reserve(s, peer, s->strategy->variables.count, s->strategy->variables.bytes));
    int count = artel__placed_variables(s, s->self, peer->piece);
    uint8_t *at = peer->staged;
    for (int i = 0; i < count; i++) {
        memcpy(at, peer->piece[i].data, peer->piece[i].bytes);
        peer->piece[i].data = at;
        at += peer->piece[i].bytes;
    }
    return answer(s, task, slot, &head, peer->piece, count);
}

static artel_status do_push(artel_session *s, int task, artel__lane_slot *slot)
{
    artel__placed_peer *peer = &s->peer[task];
    artel__lane_head head = {.op = ARTEL__PLACED_PUSH};
    artel__slot_at at = {0, 0};
    int64_t steps;
    ARTEL_TRY(reserve(s, peer, s->strategy->variables.count, 0));
    for (artel_optimizer *o = s->strategy->optimizer; o; o = o->next) {
        const void *data = artel__slot_next(slot, &at, sizeof steps);
        if (!data) return artel__placed_misfit(s, task);
        memcpy(&steps, data, sizeof steps);
        o->iterations = steps;
    }
    int count = artel__placed_variables(s, s->self, peer->piece);
    for (int i = 0; i < count; i++) {
        const void *data = artel__slot_next(slot, &at, peer->piece[i].bytes);
        if (!data) return artel__placed_misfit(s, task);
        memcpy((void *)(uintptr_t)peer->piece[i].data, data, peer->piece[i].bytes);
    }
    return answer(s, task, slot, &head, NULL, 0);
}

static artel_status do_call(server *v, int task, artel__lane_slot *slot, const artel__lane_head *head)
{
    artel_session *s = v->session;
    artel__lane_head closed = {.op = ARTEL__PLACED_CLOSE};
    switch ((artel__placed_op)head->op) {
    case ARTEL__PLACED_RUN: return do_run(s, task, slot, head);
    case ARTEL__PLACED_COMMIT:
    case ARTEL__PLACED_DROP: return do_verdict(s, task, slot, head);
    case ARTEL__PLACED_PULL: return do_pull(s, task, slot);
    case ARTEL__PLACED_PUSH: return do_push(s, task, slot);
    case ARTEL__PLACED_CLOSE: v->closed++; return answer(s, task, slot, &closed, NULL, 0);
    }
    return artel__placed_misfit(s, task);
}

/* -- listening -- */

static artel_status listen_to(artel_session *s, int task)
{
    artel__placed_peer *peer = &s->peer[task];
    if (peer->listening) return ARTEL_OK;
    artel__lane_slot *slot = &peer->slot[peer->turn];
    artel__lane_withdraw(&peer->hear, slot); /* an answer from before has arrived: the client has asked again since */
    peer->listening = true;
    return artel__lane_expect(&peer->hear, slot, artel__placed_most(s));
}

static artel_status hear(server *v, int task, bool *moved)
{
    artel_session *s = v->session;
    artel__placed_peer *peer = &s->peer[task];
    artel__lane_slot *slot = &peer->slot[peer->turn];
    artel__lane_head head;
    if (task == s->self || !artel__slot_arrived(slot)) return ARTEL_OK;
    ARTEL_TRY(artel__lane_take(&peer->hear, slot, &head));
    *moved = true;
    peer->listening = false;
    peer->turn = 1 - peer->turn;
    ARTEL_TRY(do_call(v, task, slot, &head));
    return listen_to(s, task);
}

static artel_status go_on(artel_session *s, int task, bool *moved)
{
    artel__placed_peer *peer = &s->peer[task];
    if (!peer->plan || !peer->unanswered) return ARTEL_OK;
    artel_status status = peer->plan->computed ? ARTEL_OK : artel__placed_advance(peer->plan, moved);
    if (status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_CANCELLED) return status;
    if (status == ARTEL_OK && !peer->plan->computed) return ARTEL_OK;
    *moved = true;
    if (status == ARTEL_OK) return answer_run(s, task);
    artel__lane_slot *slot = peer->unanswered;
    artel__placed_drop(peer->plan);
    peer->plan = NULL;
    peer->unanswered = NULL;
    return answer_failure(s, task, slot, status);
}

/* What was answered has left; a call that was expected has not come. */
static artel_status end(artel_session *s)
{
    artel_status status = ARTEL_OK;
    for (int t = 0; t < s->tasks && status == ARTEL_OK; t++) {
        artel__placed_peer *peer = &s->peer[t];
        if (t == s->self) continue;
        if (peer->plan) artel__placed_drop(peer->plan);
        peer->plan = NULL;
        artel__lane_slot *last = &peer->slot[1 - peer->turn];
        while (status == ARTEL_OK && last->send.pieces && !artel__slot_left(last))
            status = artel__placed_wait(s, 0, NULL, t);
        if (!peer->listening) continue;
        artel__lane_withdraw(&peer->hear, &peer->slot[peer->turn]);
        peer->hear.next--;
        peer->listening = false;
    }
    return status;
}

static artel_status serve(server *v)
{
    artel_session *s = v->session;
    for (int t = 0; t < s->tasks; t++) {
        if (t != s->self) ARTEL_TRY(listen_to(s, t));
    }
    while (v->closed < s->options.clients) {
        bool moved = false;
        ARTEL_TRY(artel__placed_move(s));
        for (int t = 0; t < s->tasks; t++) {
            ARTEL_TRY(hear(v, t, &moved));
            ARTEL_TRY(go_on(s, t, &moved));
        }
        if (!moved && v->closed < s->options.clients) ARTEL_TRY(artel__placed_wait(s, 0, NULL, -1));
    }
    return end(s);
}

artel_status artel_session_serve(artel_session *s)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "session", s));
    if (s->alone) return ARTEL_OK; /* nobody wants anything */
    if (!s->serves)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session", "serve on the other tasks", "%s is a client",
                           s->task[s->self].text);
    ARTEL_TRY(artel__placed_sit(s));
    server v = {.session = s};
    artel_status status = serve(&v);
    if (status < 0) return artel__placed_broken(s, status);
    artel__placed_stand(s);
    return ARTEL_OK;
}
