/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a part from here on: the chief's decision at the beginning of a generation, when no update is under way.
 *
 * A head acknowledges nothing that its copies do not have, so each of them has whatever was acknowledged; the one that
 * has most is the head. A holder of an epoch before the part's last assignment was left out then, and what it has is
 * void. An epoch counts when all who were named have heard it, and nothing is dealt out before. A chief that begins has
 * given none: it hears all servers, and the newest epoch counts that any of them has heard. Servers follow whoever
 * began last, so a chief that was replaced, and has not heard of it, does nothing more.
 *
 * Where nobody has a part any more, though all who had it are here, its own server begins anew with it: what it has are
 * the values of the beginning, if it was started again. The loss is raised. */
#include <stdio.h>
#include <string.h>

#include "function/driver.h"

typedef struct holdings {
    artel__owned_held held[ARTEL__PLACE_SERVERS];
    artel__holding at[ARTEL__PLACE_SERVERS]; /* of the part in work, by number of the server */
    uint64_t load[ARTEL__PLACE_SERVERS];
    artel__owned_held *all; /* [part][server]; life 0: it has none */
    uint64_t updates;
    int servers;
} holdings;

static artel__owned_held *held_at(const holdings *h, int part, int server)
{
    return &h->all[part * h->servers + server];
}

/* -- hearing -- */

static artel_status take_held(artel__driver *d, holdings *h, int server, uint64_t count)
{
    size_t bytes = count <= (uint64_t)h->servers ? (size_t)count * sizeof *h->held : 0;
    const void *data = bytes ? artel__slot_data(&d->call, 0, 0, bytes) : NULL;
    if (count && !data) return artel__driver_misfit(d, "a server");
    if (data) memcpy(h->held, data, bytes);
    for (uint64_t k = 0; k < count; k++) {
        if (h->held[k].part >= (uint64_t)h->servers) return artel__driver_misfit(d, "a server");
        *held_at(h, (int)h->held[k].part, server) = h->held[k];
    }
    return ARTEL_OK;
}

static artel_status hear(artel__driver *d, holdings *h, int server)
{
    int rank = d->j->server[server];
    artel__lane_head answer, head = {.op = ARTEL__CLOSURE_ASK, .a = d->c->session, .b = d->c->met};
    if (rank < 0) return ARTEL_OK;
    artel_status status = artel__driver_ask(d, rank, &head, NULL, &answer);
    if (status == ARTEL_OK) status = take_held(d, h, server, answer.a);
    return artel__driver_asked(d, rank, status);
}

/* -- deciding -- */

static void raise_lost(artel_coordinator *c, int server)
{
    artel_error error = {.status = ARTEL_ERROR_RUN};
    snprintf(error.where, sizeof error.where, "ps %d", server);
    snprintf(error.advice, sizeof error.advice, "%s",
             "go back to what was kept (artel_coordinator_go_back), or assign the variables");
    snprintf(error.what, sizeof error.what, "%s", "this server was started again, and what it had is lost");
    pthread_mutex_lock(&c->mutex);
    if (c->failed && !c->lost) /* of a closure that nobody fetches nobody else would hear */
        artel__log(c->ctx, ARTEL_LOG_WARNING, "the loss of %s is raised instead of a closure's error: %s: %s",
                   error.where, c->error.where, c->error.what);
    artel__coordinator_raise(c, &error);
    c->error = error; /* before that of a closure: what closures have read and written since is void */
    c->lost = true;
    pthread_mutex_unlock(&c->mutex);
}

/* What a chief that begins takes for the part: the newest epoch that a server has heard. */
static void take_newest(artel_coordinator *c, const holdings *h, int part)
{
    artel__part_holders *p = &c->part[part];
    const artel__owned_held *best = NULL;
    for (int k = 0; k < h->servers; k++) {
        const artel__owned_held *at = held_at(h, part, k);
        if (at->life && (!best || at->epoch > best->epoch || (at->epoch == best->epoch && k == part))) best = at;
    }
    if (!best) return;
    p->life = best->life;
    p->epoch = best->epoch;
    p->head = part; /* who was is not known; not one server for all of them */
}

/* A chief that begins finds a part that nobody has said anything about, though closures have changed others: who had it
 * was started again since. */
static void find_lost(artel_coordinator *c, const holdings *h)
{
    bool begun = false;
    for (int i = 0; i < h->servers * h->servers; i++) begun = begun || h->all[i].version > 1;
    for (int i = 0; i < h->servers && begun; i++) {
        if (c->part[i].epoch == 0) raise_lost(c, i);
    }
}

/* The holdings of a part that count; returns the head, -1: nobody has it. */
static int choose_head(artel__driver *d, holdings *h, int part)
{
    artel__part_holders *p = &d->c->part[part];
    for (int k = 0; k < h->servers; k++) {
        const artel__owned_held *at = held_at(h, part, k);
        h->at[k] = (artel__holding){at->life && at->life == p->life && at->epoch >= p->epoch, at->version};
    }
    return artel__holding_head(h->at, h->servers, p->head);
}

/* A server that had the part and is not here: it may have it still. -1: all are here. */
static int find_absent(const artel__driver *d, int part)
{
    const artel__part_holders *p = &d->c->part[part];
    if (d->j->server[p->head] < 0) return p->head;
    for (int k = 0; k < p->copies; k++) {
        if (d->j->server[p->copy[k]] < 0) return p->copy[k];
    }
    return d->j->server[part] < 0 ? part : -1;
}

/* Nobody has the part. Once all who had it are here its own server begins anew with it; *lost: else who is awaited. */
static int begin_again(artel__driver *d, holdings *h, int part, int *lost)
{
    const artel__owned_held *own = held_at(h, part, part);
    *lost = find_absent(d, part);
    if (*lost >= 0) return -1;
    d->c->part[part] = (artel__part_holders){.life = own->life, .epoch = own->epoch, .head = part};
    raise_lost(d->c, part);
    return choose_head(d, h, part);
}

/* -- saying -- */

static artel_status order(artel__driver *d, int server, artel__lane_head head)
{
    int rank = d->j->server[server];
    artel__lane_head answer;
    return artel__driver_asked(d, rank, artel__driver_ask(d, rank, &head, NULL, &answer));
}

/* Copies hear their role before the head does: an update is sent to nobody who does not expect it. */
static artel_status assign(artel__driver *d, int part, const int *server, int count)
{
    artel__part_holders *p = &d->c->part[part];
    artel__lane_head role = {.op = ARTEL__CLOSURE_ASSIGN, .a = ++d->c->epoch, .b = (uint64_t)part};
    artel_status status = ARTEL_OK;
    for (int k = 1; k < count && status == ARTEL_OK; k++) status = order(d, server[k], role);
    for (int k = 1; k < count; k++) role.item |= (uint64_t)(d->j->server[server[k]] + 1) << (16 * (k - 1));
    role.position = 1;
    if (status == ARTEL_OK) status = order(d, server[0], role);
    if (status != ARTEL_OK) return status;
    p->head = server[0];
    p->copies = count - 1;
    for (int k = 1; k < count; k++) p->copy[k - 1] = server[k];
    p->epoch = role.a;
    d->c->heads[part] = d->j->server[server[0]];
    return ARTEL_OK;
}

static void say_held(artel__driver *d, int before, int had, int part)
{
    artel_coordinator *c = d->c;
    const artel__part_holders *p = &c->part[part];
    long long bytes = artel__part_bytes(c->strategy, part);
    if (before != p->head)
        artel__log(c->ctx, ARTEL_LOG_NOTE,
                   "ps %d goes on with the %lld bytes of variables that ps %d had; no update is lost", p->head, bytes,
                   before);
    if (p->copies == had || p->copies + 1 == c->strategy->copies) return;
    artel__log(c->ctx, ARTEL_LOG_WARNING, "%lld bytes of variables are at %d of the ps tasks: there are no more", bytes,
               p->copies + 1);
}

/* What servers have of a part that others hold from here on is void: who was cut off, and has come back. */
static artel_status drop_void(artel__driver *d, const holdings *h, int part, const int *chosen, int count)
{
    const artel__lane_head drop = {.op = ARTEL__CLOSURE_DROP, .b = (uint64_t)part};
    artel_status status = ARTEL_OK;
    for (int k = 0; k < h->servers && status == ARTEL_OK; k++) {
        bool holds = false;
        for (int i = 0; i < count; i++) holds = holds || chosen[i] == k;
        if (!holds && held_at(h, part, k)->epoch) status = order(d, k, drop);
    }
    return status;
}

/* One part: its head, and copies that are level with it. */
static artel_status hold(artel__driver *d, holdings *h, int part, int head)
{
    artel_coordinator *c = d->c;
    int before = c->part[part].epoch && c->met ? c->part[part].head : head, had = c->part[part].copies;
    int chosen[ARTEL__CHAIN_HOLDERS] = {head}, count = 1, here = 0;
    for (int k = 0; k < h->servers; k++) here += d->j->server[k] >= 0;
    while (count < c->strategy->copies && count < here) {
        int copy = artel__holding_copy(h->at, h->load, h->servers, chosen, count);
        if (!h->at[copy].has || h->at[copy].position != h->at[head].position) {
            artel__lane_head give = {
                .op = ARTEL__CLOSURE_COPY, .item = (uint64_t)d->j->server[copy], .b = (uint64_t)part | ++c->epoch << 8};
            artel_status status = order(d, head, give);
            if (status != ARTEL_OK) return status;
        }
        h->load[copy] += (uint64_t)artel__part_bytes(c->strategy, part) + 1;
        chosen[count++] = copy;
    }
    artel_status status = assign(d, part, chosen, count);
    if (status == ARTEL_OK) say_held(d, before, had, part);
    return status == ARTEL_OK ? drop_void(d, h, part, chosen, count) : status;
}

/* -- all -- */

/* A server that is not here gets nothing. */
static void weigh(const artel__driver *d, holdings *h, const int *head)
{
    for (int k = 0; k < h->servers; k++) h->load[k] = d->j->server[k] < 0 ? UINT64_MAX / 2 : 0;
    for (int i = 0; i < h->servers; i++) h->load[head[i]] += (uint64_t)artel__part_bytes(d->c->strategy, i) + 1;
}

static artel_status decide(artel__driver *d, holdings *h, int *lost)
{
    artel_coordinator *c = d->c;
    int head[ARTEL__PLACE_SERVERS];
    for (int i = 0; i < h->servers && !c->met; i++) take_newest(c, h, i);
    if (!c->met) find_lost(c, h);
    for (int i = 0; i < h->servers; i++) {
        head[i] = choose_head(d, h, i);
        if (head[i] < 0) head[i] = begin_again(d, h, i, lost);
        if (head[i] < 0) return ARTEL_OK;
        h->updates += held_at(h, i, head[i])->updates;
    }
    weigh(d, h, head);
    for (int i = 0; i < h->servers; i++) {
        choose_head(d, h, i);
        artel_status status = hold(d, h, i, head[i]);
        if (status != ARTEL_OK) return status;
    }
    return ARTEL_OK;
}

static artel_status hold_all(artel__driver *d, holdings *h, int *lost)
{
    artel_coordinator *c = d->c;
    artel_status status = ARTEL_OK;
    for (int k = 0; k < h->servers && status == ARTEL_OK; k++) status = hear(d, h, k);
    for (int i = 0; i < h->servers * h->servers; i++) {
        if (h->all[i].epoch > c->epoch) c->epoch = h->all[i].epoch;
    }
    if (status == ARTEL_OK) status = decide(d, h, lost);
    if (status != ARTEL_OK || *lost >= 0) return status;
    pthread_mutex_lock(&c->mutex);
    if (!c->met) c->metrics.resumed = (int64_t)h->updates;
    c->whole = true;
    pthread_mutex_unlock(&c->mutex);
    c->met = true;
    return ARTEL_OK;
}

artel_status artel__driver_hold(artel__driver *d, int *lost)
{
    artel_coordinator *c = d->c;
    size_t servers = (size_t)c->strategy->servers;
    void *block, *all;
    *lost = -1;
    if (artel__calloc(c->ctx, 1, sizeof(holdings), "coordinator", &block) < 0)
        return artel__driver_fatal(c, ARTEL_ERROR_NO_MEMORY, "no memory for who holds what");
    holdings *h = block;
    h->servers = c->strategy->servers;
    artel_status status = artel__calloc(c->ctx, servers * servers, sizeof *h->all, "coordinator", &all);
    if (status < 0) {
        artel__free(c->ctx, h);
        return artel__driver_fatal(c, status, "no memory for who holds what");
    }
    h->all = all;
    status = hold_all(d, h, lost);
    artel__free(c->ctx, all);
    artel__free(c->ctx, h);
    return status;
}
