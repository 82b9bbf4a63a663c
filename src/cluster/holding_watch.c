/* SPDX-License-Identifier: Apache-2.0 */
/* Who is heard, and when this task proposes (H8).
 *
 * The lowest voter of the view in force that is heard leads. It proposes when a member is gone, when somebody has come,
 * or when it is asked to. Others ask it; they propose when a ballot that they follow comes to nothing. Who is not in
 * the view in force asks to be let in, and proposes only when it hears none of its members: so a task that reaches some
 * of the others only cannot unmake views for ever. Before there has been a view, only who hears all voters proposes: a
 * first view needs all of them.
 */
#include "cluster/holding_impl.h"

int64_t artel__holding_draw(artel__holding *h, int64_t below)
{
    h->random ^= h->random << 13;
    h->random ^= h->random >> 7;
    h->random ^= h->random << 17;
    return below > 0 ? (int64_t)(h->random % (uint64_t)below) : 0;
}

static bool is_member(const artel__holding *h, uint32_t task)
{
    return h->known.ballot.counter && h->known.member[task] && h->known.member[task] == h->peer[task].incarnation;
}

/* The lowest voter among the members that is heard; tasks: none is. */
static uint32_t find_leader(const artel__holding *h)
{
    for (uint32_t t = 0; t < h->config.tasks; t++)
        if (h->config.votes[t] && is_member(h, t) && artel__holding_lately(h, t)) return t;
    return h->config.tasks;
}

static bool hears_all_voters(const artel__holding *h)
{
    for (uint32_t t = 0; t < h->config.tasks; t++)
        if (h->config.votes[t] && !artel__holding_lately(h, t)) return false;
    return true;
}

/* Once in five seconds. */
static void say_waiting(artel__holding *h)
{
    if (h->now - h->said < 5000000000 && h->said) return;
    for (uint32_t t = 0; t < h->config.tasks && h->said; t++)
        if (h->config.votes[t] && !artel__holding_lately(h, t))
            artel__holding_say(h, ARTEL__HOLDING_REPORT, 0,
                               "parameter servers wait for all voters before the job begins: %s is not heard",
                               h->config.name ? h->config.name[t] : "one");
    h->said = h->now;
}

static uint32_t lowest_voter_heard(const artel__holding *h)
{
    for (uint32_t t = 0; t < h->config.tasks; t++)
        if (h->config.votes[t] && artel__holding_lately(h, t)) return t;
    return h->config.tasks;
}

/* Somebody of the view in force is gone, or somebody could be in it. */
static bool is_outdated(const artel__holding *h)
{
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        const artel__holding_peer *p = &h->peer[t];
        if (!artel__holding_takes_part(h, t) || t == h->config.self) continue;
        bool lately = artel__holding_lately(h, t);
        if (h->known.member[t] && (!lately || p->incarnation != h->known.member[t]) &&
            !(lately && h->now < p->shun_until))
            return true;
        if (!h->known.member[t] && lately && h->now >= p->shun_until) return true;
    }
    return false;
}

static bool in_transit(const artel__holding *h)
{
    return !h->held || artel__ballot_compare(h->promised, h->accepted.ballot) != 0;
}

static uint32_t rank_of(const artel__holding *h)
{
    uint32_t rank = 0;
    for (uint32_t t = 0; t < h->config.self; t++) rank += h->config.votes[t] && artel__holding_lately(h, t);
    return rank;
}

/* How long to wait for the ballot that is followed. Its candidate may wait for somebody silent, and again for a copy.
 */
static bool has_waited(const artel__holding *h)
{
    int64_t wait = (int64_t)rank_of(h) * h->config.suspect_after_ns / 4;
    for (uint32_t t = 0; t < h->config.tasks; t++)
        if (h->peer[t].incarnation == h->promised.incarnation && artel__holding_lately(h, t) && t != h->config.self)
            wait += 4 * h->config.suspect_after_ns;
    return h->now - h->promised_at >= wait;
}

static bool should_propose(artel__holding *h)
{
    if (!h->known.ballot.counter) {
        if (!hears_all_voters(h)) {
            say_waiting(h);
            return false;
        }
        return in_transit(h) && h->promised.incarnation ? has_waited(h) : lowest_voter_heard(h) == h->config.self;
    }
    uint32_t leader = find_leader(h);
    if (!is_member(h, h->config.self)) {
        if (leader < h->config.tasks) artel__holding_want(h, 0);
        return leader == h->config.tasks && lowest_voter_heard(h) == h->config.self &&
               h->now - h->proposed_at > 4 * h->config.suspect_after_ns;
    }
    if (in_transit(h)) return has_waited(h);
    if (leader != h->config.self) {
        if (h->want_copied) artel__holding_want(h, 0);
        return false;
    }
    return h->wanted || (h->want_copied && h->now - h->proposed_at > h->config.suspect_after_ns / 4) || is_outdated(h);
}

static void ping(artel__holding *h)
{
    int64_t every = h->config.suspect_after_ns / 4;
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        artel__holding_peer *p = &h->peer[t];
        if (t == h->config.self || !p->linked || h->now - p->pinged < every) continue;
        p->pinged = h->now;
        artel__holding_send(h, t, &(artel__holding_message){.kind = ARTEL__HOLDING_PING});
    }
}

void artel__holding_watch(artel__holding *h)
{
    ping(h);
    if (!h->config.votes[h->config.self] || h->phase != ARTEL__BALLOT_NONE || h->now < h->backoff_until) {
        if (!h->config.votes[h->config.self] &&
            (h->want_copied || (h->known.ballot.counter && !is_member(h, h->config.self))))
            artel__holding_want(h, 0);
        return;
    }
    if (!should_propose(h)) return;
    h->wanted = false;
    artel__holding_propose(h);
}

/* -- asking -- */

void artel__holding_want(artel__holding *h, uint32_t subject)
{
    uint32_t leader = find_leader(h);
    if (!subject && h->wanted_at && h->now - h->wanted_at < h->config.suspect_after_ns / 4) return;
    if (!artel__holding_takes_part(h, h->config.self) && !subject) return;
    h->wanted_at = h->now;
    if (leader == h->config.self)
        h->wanted = true;
    else if (leader < h->config.tasks)
        artel__holding_send(
            h, leader,
            &(artel__holding_message){.kind = ARTEL__HOLDING_WANT, .about = h->known.ballot, .subject = subject});
}

/* Complaints are heard at growing intervals: a path that only its users see broken would fence all parts again and
 * again. */
static bool hear_complaint(artel__holding *h)
{
    int64_t least = h->config.suspect_after_ns;
    if (h->complained_at && h->now - h->complained_at < h->complaint_wait) return false;
    bool soon = h->complained_at && h->now - h->complained_at < 4 * h->complaint_wait;
    h->complaint_wait = !soon ? least : h->complaint_wait < 32 * least ? 2 * h->complaint_wait : h->complaint_wait;
    h->complained_at = h->now;
    return true;
}

void artel__holding_on_want(artel__holding *h, uint32_t from, const artel__holding_message *m)
{
    if (artel__ballot_compare(m->about, h->known.ballot) != 0) {
        artel__holding_tell(h, from);
        if (m->subject || h->known.member[from]) return;
    }
    if (m->subject ? hear_complaint(h) : h->now >= h->peer[from].shun_until) h->wanted = true;
}

void artel__holding_complain(artel__holding *h, int64_t now, uint32_t task)
{
    h->now = now;
    if (task >= h->config.tasks || in_transit(h)) return;
    if (find_leader(h) != h->config.self)
        artel__holding_want(h, 1 + task);
    else if (hear_complaint(h))
        h->wanted = true;
    artel__holding_watch(h);
}
