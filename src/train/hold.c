/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a part from here on: the coordinator's decision at the beginning of a generation, when no update is under
 * way.
 *
 * A head acknowledges nothing that its copies do not have, so each of them has whatever was acknowledged; the one with
 * most updates is the head. A holder of an epoch before the part's last assignment was left out then, and what it
 * has is void. An epoch counts for the part when all who were named have heard it: an assignment that was not finished
 * changes nothing, for no item is dealt out before it is. Nobody acts without the one coordinator of the generation, so
 * no two servers ever are heads of a part in it; which of two coordinators may act is decided before (meet.c).
 */
#include <string.h>

#include "train/install.h"

typedef struct holdings {
    artel__holding at[ARTEL__MOST_SERVERS]
                     [ARTEL__MOST_SERVERS]; /* by part, by number of the server in the generation */
    uint64_t load[ARTEL__MOST_SERVERS];     /* bytes of parts, by server */
} holdings;

/* What a server has; parts of no use any more are dropped. */
static artel_status hear(artel__installed *c, const artel__service *s, int server, holdings *out)
{
    artel__held_part held[ARTEL__MOST_SERVERS];
    artel__lane_head answer, ask = {.op = ARTEL__SERVE_ASK};
    int rank = s->server[server], count = 0;
    artel_status status = artel__installed_ask(c, s, rank, &ask, &answer);
    if (status == ARTEL_OK) {
        size_t bytes = answer.a <= ARTEL__MOST_SERVERS ? (size_t)answer.a * sizeof *held : 0;
        const void *data = bytes ? artel__slot_data(&c->call, 0, 0, bytes) : NULL;
        if (data) memcpy(held, data, bytes);
        if (data) count = (int)answer.a;
    }
    status = artel__installed_done(c, status, rank);
    for (int k = 0; k < count && status == ARTEL_OK; k++) {
        int part = (int)held[k].part;
        bool known =
            held[k].part < (uint64_t)c->parts && held[k].install == c->number && held[k].epoch >= c->part[part].epoch;
        if (known) {
            out->at[part][server] = (artel__holding){true, held[k].position};
            out->load[server] += c->part[part].bytes;
            continue;
        }
        artel__lane_head drop = {.op = ARTEL__SERVE_DROP, .part = (uint32_t)held[k].part & 0xffff};
        status = artel__installed_done(c, artel__installed_ask(c, s, rank, &drop, &answer), rank);
    }
    return status;
}

/* The server that was the head; -1: it is not here. */
static int find_head(const artel__installed *c, const artel__service *s, int part)
{
    for (int k = 0; k < s->servers; k++) {
        if (s->task[s->server[k]] == c->part[part].task) return k;
    }
    return -1;
}

static artel_status order(artel__installed *c, const artel__service *s, int rank, int part, artel__lane_head head)
{
    artel__lane_head answer;
    head.install = c->number;
    head.part = (uint32_t)part | (uint32_t)c->parts << 16;
    artel_status status = artel__installed_ask(c, s, rank, &head, &answer);
    bool refused = status == ARTEL_OK && answer.flags != ARTEL__ANSWER_OK;
    status = artel__installed_done(c, status, rank);
    if (status != ARTEL_OK || !refused) return status;
    return artel__fail(c->fit->ctx, ARTEL_ERROR_INTERNAL, "parameter servers", "please report this",
                       "a server does not have the part that it said it has");
}

/* Copies hear their role before the head does: an update is sent to nobody who does not expect it. Ranks; the head's is
 * the first. */
static artel_status assign(artel__installed *c, const artel__service *s, int part, const int *rank, int count)
{
    artel__installed_part *p = &c->part[part];
    artel__lane_head role = {.op = ARTEL__SERVE_ASSIGN, .a = ++c->epoch};
    artel_status status = ARTEL_OK;
    for (int k = 1; k < count && status == ARTEL_OK; k++) status = order(c, s, rank[k], part, role);
    role.flags = ARTEL__FLAG_HEAD;
    for (int k = 1; k < count; k++) role.b |= (uint64_t)(rank[k] + 1) << (16 * (k - 1));
    if (status == ARTEL_OK) status = order(c, s, rank[0], part, role);
    if (status != ARTEL_OK) return status;
    p->task = s->task[rank[0]];
    p->rank = rank[0];
    p->copies = count - 1;
    for (int k = 1; k < count; k++) p->copy[k - 1] = s->task[rank[k]];
    p->epoch = role.a;
    return ARTEL_OK;
}

artel_status artel__installed_assign(artel__installed *c, const artel__service *s)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < c->parts && status == ARTEL_OK; i++) {
        const artel__installed_part *p = &c->part[i];
        int rank[ARTEL__MOST_COPIES] = {p->rank}, count = 1;
        for (int n = 0; n < p->copies; n++) {
            for (int k = 0; k < s->servers; k++) {
                if (s->task[s->server[k]] == p->copy[n]) rank[count++] = s->server[k];
            }
        }
        status = assign(c, s, i, rank, count);
    }
    return status;
}

static void say_copied(const artel__installed *c, const artel__service *s, int server, int part)
{
    artel__log(c->fit->ctx, ARTEL_LOG_NOTE, "%s has a new copy of a part of %lld bytes",
               artel__mesh_title(s->cluster, s->task[s->server[server]]), (long long)c->part[part].bytes);
}

static void say_held(const artel__installed *c, const artel__service *s, int before, int had, int part)
{
    const artel__installed_part *p = &c->part[part];
    artel_context *ctx = c->fit->ctx;
    if (before != p->task)
        artel__log(ctx, ARTEL_LOG_NOTE,
                   "%s goes on with the part of variables that another server had, of %lld bytes; no update is lost",
                   artel__mesh_title(s->cluster, p->task), (long long)p->bytes);
    if (p->copies == had || p->copies + 1 == s->copies) return;
    if (p->copies == 0)
        artel__log(ctx, ARTEL_LOG_WARNING, "a part of %lld bytes has no copy: there is one parameter server left",
                   (long long)p->bytes);
    else
        artel__log(ctx, ARTEL_LOG_WARNING, "a part of %lld bytes is at %d servers: there are no more",
                   (long long)p->bytes, p->copies + 1);
}

/* One part: its head, and copies that are level with it. Numbers of servers; the head's is the first. */
static artel_status hold(artel__installed *c, const artel__service *s, holdings *h, int part, int head)
{
    int before = c->part[part].task, had = c->part[part].copies, chosen[ARTEL__MOST_COPIES] = {head}, count = 1;
    int rank[ARTEL__MOST_COPIES] = {s->server[head]};
    while (count < s->copies) {
        int copy = artel__holding_copy(h->at[part], h->load, s->servers, chosen, count);
        if (copy < 0) break;
        artel__holding *at = &h->at[part][copy];
        if (!at->has || at->position != h->at[part][head].position) {
            artel__lane_head give = {.op = ARTEL__SERVE_COPY, .a = (uint64_t)s->server[copy], .b = ++c->epoch};
            artel_status status = order(c, s, s->server[head], part, give);
            if (status != ARTEL_OK) return status;
            if (!at->has) h->load[copy] += c->part[part].bytes;
            say_copied(c, s, copy, part);
        }
        rank[count] = s->server[copy];
        chosen[count++] = copy;
    }
    artel_status status = assign(c, s, part, rank, count);
    if (status == ARTEL_OK) say_held(c, s, before, had, part);
    return status;
}

/* `gives`: parts are given to their holders, too. */
static artel_status look(artel__installed *c, const artel__service *s, bool gives, int *lost)
{
    holdings *h;
    void *block;
    int head[ARTEL__MOST_SERVERS];
    *lost = -1;
    ARTEL_TRY(artel__calloc(c->fit->ctx, 1, sizeof *h, "parameter servers", &block));
    h = block;
    artel_status status = ARTEL_OK;
    for (int k = 0; k < s->servers && status == ARTEL_OK; k++) status = hear(c, s, k, h);
    for (int i = 0; i < c->parts && status == ARTEL_OK; i++) {
        head[i] = artel__holding_head(h->at[i], s->servers, find_head(c, s, i));
        if (head[i] < 0) *lost = i;
    }
    gives = gives && *lost < 0;
    for (int i = 0; i < c->parts && status == ARTEL_OK && gives; i++) status = hold(c, s, h, i, head[i]);
    artel__free(c->fit->ctx, h);
    return status;
}

artel_status artel__installed_hold(artel__installed *c, const artel__service *s, int *lost)
{
    return look(c, s, true, lost);
}

artel_status artel__installed_find(artel__installed *c, const artel__service *s, int *lost)
{
    return look(c, s, false, lost);
}
