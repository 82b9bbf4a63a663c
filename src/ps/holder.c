/* SPDX-License-Identifier: Apache-2.0 */
/* Views and logs joined; see holder.h.
 *
 * The view machine and the logs call back while they work, and must not be called then: what a log has to say to the
 * machine (level) is noted by part, and told after each input.
 */
#include "ps/holder.h"

#include <string.h>

typedef struct held_part {
    artel__holder *holder;
    uint32_t number;
    artel__part_log *log;
    bool level;          /* to be told to the view machine */
    bool loading;        /* `begin` has been said, and not answered */
    uint64_t copy_epoch; /* a copy is wanted in that view; 0: none */
    uint32_t copy_from;
    bool copy_levelling;
} held_part;

struct artel__holder {
    artel_context *ctx;
    artel__holder_config config;
    artel__holding *views;
    artel__generation_id accepted;
    artel__view
        view; /* the accepted one: chains for parts whose checkpoint is still being loaded; memory of the machine */
    int64_t now, nudged;
    bool told; /* something is to be told to the view machine */
    held_part part[];
};

/* -- a log's functions -- */

static void apply(void *user, const artel__log_entry *entry, const void *payload)
{
    held_part *p = user;
    p->holder->config.ops->apply(p->holder->config.user, p->number, entry, payload);
}

static uint64_t digest(void *user)
{
    held_part *p = user;
    return p->holder->config.ops->digest(p->holder->config.user, p->number);
}

static void send(void *user, uint32_t task, const artel__log_message *message)
{
    held_part *p = user;
    p->holder->config.ops->data(p->holder->config.user, task, message);
}

static void answer(void *user, const artel__log_entry *entry, artel__log_answer answer)
{
    held_part *p = user;
    p->holder->config.ops->answer(p->holder->config.user, p->number, entry, answer);
}

static void level(void *user, uint64_t epoch)
{
    (void)epoch;
    held_part *p = user;
    p->level = p->holder->told = true;
}

static void want_copy(held_part *p, uint64_t epoch, uint32_t from, bool levelling)
{
    p->copy_epoch = epoch;
    p->copy_from = from;
    p->copy_levelling = levelling;
    p->holder->config.ops->ask_copy(p->holder->config.user, p->number, from, epoch, levelling);
}

static void copy(void *user, uint64_t epoch, uint32_t from)
{
    want_copy(user, epoch, from, true);
}

static void differ(void *user, uint64_t position)
{
    held_part *p = user;
    p->holder->config.ops->differ(p->holder->config.user, p->number, position);
}

static void release(void *user, void *payload)
{
    held_part *p = user;
    p->holder->config.ops->release(p->holder->config.user, payload);
}

static const artel__part_log_ops with_digest = {apply, digest, send, answer, level, copy, differ, release};
static const artel__part_log_ops without_digest = {apply, NULL, send, answer, level, copy, differ, release};

/* -- orders of the view machine -- */

static void accept_part(artel__holder *h, held_part *p)
{
    const artel__chain *c = &h->view.chain[p->number];
    artel__part_log_accept(p->log, h->view.epoch, c->task, c->holders);
}

static void accept_view(artel__holder *h, const artel__holding_action *a)
{
    h->accepted = a->view->ballot;
    h->view = *a->view; /* the machine keeps member and chain where they are */
    for (uint32_t i = 0; i < h->config.holding.parts; i++) {
        held_part *p = &h->part[i];
        bool named = artel__chain_find(&a->view->chain[i], h->config.holding.self) >= 0;
        p->copy_epoch = 0;
        p->level = false;
        if (a->fresh) artel__part_log_reset(p->log);
        p->loading = named && a->fresh;
        if (p->loading)
            h->config.ops->begin(h->config.user, i, a->view->epoch, a->view->origin);
        else
            accept_part(h, p);
    }
}

static void drop_part(artel__holder *h, uint32_t part)
{
    held_part *p = &h->part[part];
    artel__part_log_fence(p->log);
    artel__part_log_reset(p->log);
    p->loading = p->level = false;
    h->config.ops->drop(h->config.user, part);
}

void artel__holder_perform(artel__holder *h, const artel__holding_action *a)
{
    const artel__holder_ops *ops = h->config.ops;
    void *user = h->config.user;
    switch (a->kind) {
    case ARTEL__HOLDING_SEND: ops->control(user, a->task, a->bytes, a->count); return;
    case ARTEL__HOLDING_FENCE:
        for (uint32_t i = 0; i < h->config.holding.parts; i++) artel__part_log_fence(h->part[i].log);
        return;
    case ARTEL__HOLDING_ACCEPT: accept_view(h, a); return;
    case ARTEL__HOLDING_SERVE:
        ops->view(user, a->view, true);
        for (uint32_t i = 0; i < h->config.holding.parts; i++) artel__part_log_serve(h->part[i].log, a->view->epoch);
        return;
    case ARTEL__HOLDING_DROP: drop_part(h, a->part); return;
    case ARTEL__HOLDING_COPY_FROM: want_copy(&h->part[a->part], a->view->epoch, a->task, false); return;
    case ARTEL__HOLDING_LEARN: ops->view(user, a->view, false); return;
    default: ops->report(user, a->kind, a->part, a->text);
    }
}

static void act(void *user, const artel__holding_action *a)
{
    artel__holder *h = user;
    if (!h->config.ops->filter || h->config.ops->filter(h->config.user, a)) artel__holder_perform(h, a);
}

/* -- life -- */

artel_status artel__holder_create(artel_context *ctx, const artel__holder_config *config, artel__holder **out)
{
    void *block;
    uint32_t parts = config->holding.parts;
    if (parts > ARTEL__HOLDING_MOST_PARTS)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "parameter servers", "", "too many parts for a view");
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__holder) + parts * sizeof(held_part), "parameter servers", &block));
    artel__holder *h = block;
    h->ctx = ctx;
    h->config = *config;
    h->config.holding.act = act;
    h->config.holding.user = h;
    if (!h->config.nudge_ns) h->config.nudge_ns = config->holding.suspect_after_ns / 5;
    artel_status status = artel__holding_create(ctx, &h->config.holding, &h->views);
    for (uint32_t i = 0; i < parts && status == ARTEL_OK; i++) {
        h->part[i].holder = h;
        h->part[i].number = i;
        artel__part_log_config c = {
            .part = i, .self = config->holding.self, .batches = config->batches, .keep_bytes = config->keep_bytes};
        c.ops = config->ops->digest ? &with_digest : &without_digest;
        c.user = &h->part[i];
        status = artel__part_log_create(ctx, &c, &h->part[i].log);
    }
    if (status == ARTEL_OK)
        *out = h;
    else
        artel__holder_destroy(h);
    return status;
}

void artel__holder_destroy(artel__holder *h)
{
    if (!h) return;
    for (uint32_t i = 0; i < h->config.holding.parts; i++) artel__part_log_destroy(h->part[i].log);
    artel__holding_destroy(h->views);
    artel__free(h->ctx, h);
}

/* -- inputs -- */

/* Tells the view machine what the logs have said; that may lead to more. */
static void flush(artel__holder *h)
{
    while (h->told) {
        h->told = false;
        for (uint32_t i = 0; i < h->config.holding.parts; i++) {
            if (!h->part[i].level) continue;
            h->part[i].level = false;
            artel__holding_level(h->views, h->now, h->accepted, i);
        }
    }
}

bool artel__holder_wants(const artel__holder *h, uint32_t part, uint64_t epoch, bool levelling)
{
    if (part >= h->config.holding.parts) return false;
    const held_part *p = &h->part[part];
    const artel__view *known = artel__holding_known(h->views);
    uint64_t present = levelling ? artel__ballot_epoch(h->accepted) : known ? known->epoch : 0;
    return p->copy_epoch && p->copy_epoch == epoch && p->copy_levelling == levelling && epoch == present;
}

static void pursue_copy(artel__holder *h, held_part *p)
{
    if (!p->copy_epoch) return;
    if (artel__holder_wants(h, p->number, p->copy_epoch, p->copy_levelling))
        h->config.ops->ask_copy(h->config.user, p->number, p->copy_from, p->copy_epoch, p->copy_levelling);
    else
        p->copy_epoch = 0;
}

void artel__holder_tick(artel__holder *h, int64_t now)
{
    h->now = now;
    artel__holding_tick(h->views, now);
    flush(h);
    if (now - h->nudged < h->config.nudge_ns) return;
    h->nudged = now;
    for (uint32_t i = 0; i < h->config.holding.parts; i++) {
        uint32_t silent = 0;
        pursue_copy(h, &h->part[i]);
        if (artel__part_log_nudge(h->part[i].log, &silent)) artel__holding_complain(h->views, now, silent);
    }
    flush(h);
}

void artel__holder_link_up(artel__holder *h, int64_t now, uint32_t task, uint64_t incarnation)
{
    h->now = now;
    artel__holding_link_up(h->views, now, task, incarnation);
    for (uint32_t i = 0; i < h->config.holding.parts; i++) artel__part_log_again(h->part[i].log, task);
    flush(h);
}

void artel__holder_link_down(artel__holder *h, int64_t now, uint32_t task)
{
    h->now = now;
    artel__holding_link_down(h->views, now, task);
    flush(h);
}

void artel__holder_control(artel__holder *h, int64_t now, uint32_t from, const uint8_t *bytes, size_t count)
{
    h->now = now;
    artel__holding_receive(h->views, now, from, bytes, count);
    flush(h);
}

void artel__holder_data(artel__holder *h, int64_t now, uint32_t from, const artel__log_message *message, void *owned)
{
    h->now = now;
    if (message->part < h->config.holding.parts)
        artel__part_log_receive(h->part[message->part].log, from, message, owned);
    else if (owned)
        h->config.ops->release(h->config.user, owned);
    flush(h);
}

artel__log_answer artel__holder_push(artel__holder *h, int64_t now, uint32_t part, uint64_t epoch,
                                     const artel__log_entry *entry, void *payload, uint64_t *position)
{
    h->now = now;
    *position = 0;
    return part < h->config.holding.parts ? artel__part_log_push(h->part[part].log, epoch, entry, payload, position)
                                          : ARTEL__LOG_STALE;
}

void artel__holder_begun(artel__holder *h, int64_t now, uint32_t part, uint64_t epoch)
{
    h->now = now;
    if (part >= h->config.holding.parts || !h->part[part].loading || h->view.epoch != epoch) return;
    h->part[part].loading = false;
    accept_part(h, &h->part[part]);
    flush(h);
}

/* -- copies -- */

bool artel__holder_may_copy(artel__holder *h, uint32_t part, uint64_t epoch, bool levelling)
{
    const artel__view *serving = artel__holding_serving(h->views);
    if (part >= h->config.holding.parts) return false;
    artel__part_log *log = h->part[part].log;
    if (levelling ? artel__ballot_epoch(h->accepted) != epoch
                  : !serving || serving->epoch != epoch || !artel__part_log_serves(log))
        return false;
    bool still = artel__part_log_is_still(log);
    artel__part_log_pause(log, !still);
    return still;
}

const char *artel__holder_copied(artel__holder *h, int64_t now, uint32_t part, uint64_t epoch, bool levelling,
                                 const uint8_t *table, size_t count)
{
    h->now = now;
    if (!artel__holder_wants(h, part, epoch, levelling)) return "a copy that is not wanted";
    const char *wrong = artel__part_log_load(h->part[part].log, table, count);
    if (wrong) {
        artel__holding_broken(h->views, now, part);
        return wrong;
    }
    h->part[part].copy_epoch = 0;
    if (!levelling) artel__holding_copied(h->views, now, artel__holding_known(h->views)->ballot, part);
    flush(h);
    return NULL;
}

/* -- what it knows -- */

artel__holding *artel__holder_views(artel__holder *h)
{
    return h->views;
}

artel__part_log *artel__holder_log(artel__holder *h, uint32_t part)
{
    return h->part[part].log;
}
