/* SPDX-License-Identifier: Apache-2.0 */
/* The candidate: from a ballot to a view in force.
 *
 * Collecting ends when a majority of votes that remember has promised and everybody who was heard lately has, or has
 * had `suspect_after` for it; then the view is made, once. Whoever promises later is not asked to accept. Levelling
 * ends when a majority of votes that remember has accepted and every holder named is level; a holder that does not
 * become level in time is left out by the next ballot, unless it is the last one. Without a majority that remembers,
 * all voters must promise and accept: the job begins (again).
 */
#include "cluster/holding_impl.h"

#include <string.h>

void artel__holding_give_up(artel__holding *h)
{
    h->phase = ARTEL__BALLOT_NONE;
}

void artel__holding_shun(artel__holding *h, uint32_t task)
{
    artel__holding_peer *p = &h->peer[task];
    if (h->now < p->shun_until) return;
    p->shun_until = h->now + (h->config.suspect_after_ns << (p->shuns < 5 ? p->shuns : 5));
    p->shuns++;
}

static void promise_self(artel__holding *h)
{
    artel__holding_message m = {.task = (uint16_t)h->config.self,
                                .from = h->config.incarnation,
                                .about = h->ballot,
                                .view = &h->accepted,
                                .state = h->part};
    m.flags = (uint8_t)((h->remembers ? ARTEL__HOLDING_REMEMBERS : 0) |
                        (h->accepted.ballot.counter ? ARTEL__HOLDING_HAS_VIEW : 0));
    artel__holding_on_promise(h, h->config.self, &m);
}

static void ask(artel__holding *h)
{
    h->asked = h->now;
    for (uint32_t t = 0; t < h->config.tasks; t++)
        if (artel__holding_takes_part(h, t) && !h->peer[t].promised)
            artel__holding_send(h, t, &(artel__holding_message){.kind = ARTEL__HOLDING_BALLOT, .about = h->ballot});
}

void artel__holding_propose(artel__holding *h)
{
    for (uint32_t t = 0; t < h->config.tasks; t++) h->peer[t].promised = h->peer[t].level = false;
    h->ballot = (artel__generation_id){h->counter + 1, h->config.incarnation};
    h->phase = ARTEL__BALLOT_NONE;
    artel__holding_follow(h, h->ballot);
    h->phase = ARTEL__BALLOT_COLLECT;
    h->since = h->proposed_at = h->said = h->now;
    h->best.ballot = (artel__generation_id){0};
    promise_self(h);
    ask(h);
    artel__holding_advance(h);
}

void artel__holding_on_promise(artel__holding *h, uint32_t from, const artel__holding_message *m)
{
    if (h->phase != ARTEL__BALLOT_COLLECT || artel__ballot_compare(m->about, h->ballot) != 0) return;
    artel__holding_peer *p = &h->peer[from];
    p->promised = true;
    p->life = m->from;
    p->remembers = m->flags & ARTEL__HOLDING_REMEMBERS;
    memcpy(h->states + (size_t)from * h->config.parts, m->state, h->config.parts);
    if ((m->flags & ARTEL__HOLDING_HAS_VIEW) && artel__ballot_compare(m->view->ballot, h->best.ballot) > 0)
        artel__view_copy(h, &h->best, m->view);
}

/* -- the view -- */

typedef struct tally {
    uint32_t remember; /* votes */
    bool all, awaited; /* voters have promised; somebody heard lately has not */
} tally;

static tally count(artel__holding *h)
{
    tally c = {.all = true};
    bool patient = h->now - h->since < h->config.suspect_after_ns;
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        artel__holding_peer *p = &h->peer[t];
        if (!artel__holding_takes_part(h, t)) continue;
        /* one that has come back as another process is lost as what it was */
        if (p->promised && p->life != p->incarnation) p->promised = false;
        if (p->promised) {
            c.remember += p->remembers ? h->config.votes[t] : 0;
            continue;
        }
        c.all &= !h->config.votes[t];
        if (!artel__holding_lately(h, t) || h->now < p->shun_until) continue;
        c.awaited |= patient;
        if (!patient) artel__holding_shun(h, t);
    }
    return c;
}

static void set_members(artel__holding *h)
{
    artel__view *v = &h->next;
    v->ballot = h->ballot;
    v->epoch = artel__ballot_epoch(h->ballot);
    v->start = h->best.start;
    v->origin = h->best.origin;
    v->coordinator = h->config.tasks;
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        v->member[t] = h->peer[t].promised ? h->peer[t].life : 0;
        if (v->member[t] && h->config.votes[t] && v->coordinator == h->config.tasks) v->coordinator = t;
    }
}

static bool begin_job(artel__holding *h, const char *why)
{
    if (!artel__holding_place_chains(h)) return false;
    h->next.start = h->ballot;
    h->next.origin = h->origin;
    artel__holding_say(h, ARTEL__HOLDING_FALL_BACK, 0, "%s", why);
    return true;
}

/* Names who is missing, every five seconds. */
static void say_waiting(artel__holding *h, const char *what)
{
    char names[300] = "";
    if (h->now - h->said < 5000000000) return;
    h->said = h->now;
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        size_t used = strlen(names);
        const char *name = h->config.name ? h->config.name[t] : "";
        if (!artel__holding_takes_part(h, t) || h->peer[t].promised || used + strlen(name) + 3 > sizeof names) continue;
        memcpy(names + used, used ? ", " : "", used ? 3 : 1);
        strcat(names, name);
    }
    artel__holding_say(h, ARTEL__HOLDING_REPORT, 0, "parameter servers wait for %s: %s", what, names);
}

static bool make_view(artel__holding *h, tally c)
{
    uint32_t part = 0;
    set_members(h);
    h->bootstrap = c.remember * 2 <= h->votes;
    if (h->bootstrap)
        return begin_job(h, h->best.ballot.counter ? "most voters have lost their memory: back to the newest checkpoint"
                                                   : "the job begins");
    switch (artel__holding_make_chains(h, &part)) {
    case ARTEL__CHAIN_MADE: return true;
    case ARTEL__CHAIN_WAIT: say_waiting(h, "the last holders of parts"); return false;
    default: break;
    }
    artel__holding_say(h, ARTEL__HOLDING_LOST, part, "all holders of part %u are gone", (unsigned)part);
    return begin_job(h, "a part has been lost: back to the newest checkpoint");
}

static void collect(artel__holding *h)
{
    tally c = count(h);
    if (c.awaited || (c.remember * 2 <= h->votes && !c.all)) {
        if (!c.awaited) say_waiting(h, "a majority of votes");
    } else if (make_view(h, c)) {
        h->phase = ARTEL__BALLOT_LEVEL;
        h->since = h->asked = h->now;
        for (uint32_t t = 0; t < h->config.tasks; t++) h->peer[t].excluded = false;
        for (uint32_t t = 0; t < h->config.tasks; t++)
            if (h->next.member[t])
                artel__holding_send(
                    h, t, &(artel__holding_message){.kind = ARTEL__HOLDING_VIEW, .about = h->ballot, .view = &h->next});
        artel__holding_on_view(h, h->config.self, &h->next);
        return;
    }
    if (h->now - h->asked >= h->config.suspect_after_ns / 4) ask(h);
}

/* -- levelling -- */

static bool is_holder(const artel__holding *h, uint32_t task)
{
    for (uint32_t p = 0; p < h->config.parts; p++)
        if (artel__chain_find(&h->next.chain[p], task) >= 0) return true;
    return false;
}

/* The job begins (again): all members must know, lest one goes on with what is void. */
static bool begins(const artel__holding *h)
{
    return artel__ballot_compare(h->next.start, h->next.ballot) == 0;
}

void artel__holding_on_is_level(artel__holding *h, uint32_t from, artel__generation_id ballot)
{
    if (h->phase == ARTEL__BALLOT_LEVEL && artel__ballot_compare(ballot, h->ballot) == 0 && h->peer[from].promised)
        h->peer[from].level = true;
}

static bool all_level(const artel__holding *h)
{
    uint32_t votes = 0;
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        const artel__holding_peer *p = &h->peer[t];
        if (!h->next.member[t]) continue;
        if (p->level && (p->remembers || h->bootstrap)) votes += h->config.votes[t];
        if (!p->level && (begins(h) || is_holder(h, t))) return false;
    }
    return h->bootstrap ? votes == h->votes : votes * 2 > h->votes;
}

static void hold(artel__holding *h)
{
    h->phase = ARTEL__BALLOT_NONE;
    artel__holding_on_hold(h, h->ballot);
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        h->peer[t].shuns = h->next.member[t] && h->peer[t].level ? 0 : h->peer[t].shuns;
        if (h->next.member[t])
            artel__holding_send(h, t, &(artel__holding_message){.kind = ARTEL__HOLDING_HOLD, .about = h->ballot});
        else
            artel__holding_tell(h, t);
    }
}

/* Who has not become level in time, or is gone, is left out next time. */
static bool must_begin_again(artel__holding *h)
{
    bool patient = begins(h) || h->now - h->since < h->config.suspect_after_ns, again = !patient;
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        artel__holding_peer *p = &h->peer[t];
        if (!h->next.member[t] || p->level || t == h->config.self) continue;
        bool gone = !artel__holding_lately(h, t) || p->incarnation != p->life;
        again |= gone && (begins(h) || is_holder(h, t) || h->config.votes[t]);
        if (!gone && !patient) {
            p->excluded = true;
            artel__holding_shun(h, t);
        }
    }
    return again;
}

void artel__holding_advance(artel__holding *h)
{
    if (h->phase == ARTEL__BALLOT_COLLECT) collect(h);
    if (h->phase != ARTEL__BALLOT_LEVEL) return;
    if (all_level(h)) {
        hold(h);
    } else if (must_begin_again(h)) {
        artel__holding_propose(h);
    } else if (h->now - h->asked >= h->config.suspect_after_ns / 4) {
        h->asked = h->now;
        for (uint32_t t = 0; t < h->config.tasks; t++)
            if (h->next.member[t] && !h->peer[t].level)
                artel__holding_send(
                    h, t, &(artel__holding_message){.kind = ARTEL__HOLDING_VIEW, .about = h->ballot, .view = &h->next});
    }
}
