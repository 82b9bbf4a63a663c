/* SPDX-License-Identifier: Apache-2.0 */
/* From a broken generation to a proposal that all follow: who suspects, who coordinates, who gives way.
 *
 * Order among tasks decides everything: the lowest member that a task reaches is the one to coordinate, so appeals go
 * downwards, and of two coordinators the lower one stays. A task does not leave a lower one behind on hearsay: it asks
 * that one before it follows a higher coordinator (held). Each wait here has a limit, after which the task takes the
 * next one in order, itself at the end.
 */
#include "cluster/membership_impl.h"

#include <string.h>

/* Whoever was blamed is still the same process: of one that has died nothing is held against the next one, nor against
 * who complained. */
bool artel__ms_blame_stands(const artel__membership *m)
{
    bool self = m->blame.b == m->config.self;
    bool lives = self || (m->peer[m->blame.b].link >= 0 && m->peer[m->blame.b].who.life == m->blame.life);
    return lives && m->blame.step == m->step && m->now - m->blame.at < ARTEL__MS_PROBATION;
}

void artel__ms_blame(artel__membership *m, uint32_t a, uint32_t b)
{
    if (a >= m->config.tasks || b >= m->config.tasks) return;
    bool again = m->blame.times && m->blame.a == a && artel__ms_blame_stands(m);
    m->blame.times = again ? m->blame.times + 1 : 1;
    m->blame.a = a;
    m->blame.b = b;
    m->blame.life = m->peer[b].who.life;
    m->blame.step = m->step;
    m->blame.at = m->now;
}

/* A member of the broken generation that could take part in the next one. */
static bool is_fellow(const artel__membership *m, uint32_t task)
{
    const artel__ms_peer *p = &m->peer[task];
    if (!artel__ms_in_group(m, task) || p->link < 0 || p->who.incarnation != p->member.incarnation) return false;
    bool older = p->said.generation.counter < m->group.id.counter; /* it has said nothing since the start */
    return older || artel__generation_same(p->said.generation, m->group.id) || !(p->said.flags & ARTEL__FLAG_RUNNING);
}

static void search(artel__membership *m)
{
    if (m->search.active) return;
    m->search.active = true;
    m->search.round = m->life.nonce + 1;
    m->search.until = m->now + artel__ms_probe_time(m);
    for (uint32_t t = 0; t < m->config.self; t++)
        if (is_fellow(m, t)) artel__ms_probe(m, t);
}

/* Who is to propose: the lowest fellow that answers and has not failed to do so before, or this task. False: not known
 * yet. */
static bool find_leader(const artel__membership *m, uint32_t *leader)
{
    *leader = m->config.self;
    for (uint32_t t = 0; t < m->config.self; t++) {
        const artel__ms_peer *p = &m->peer[t];
        if (!is_fellow(m, t) || p->member.passive_until > m->now) continue;
        *leader = t;
        if (p->live.pong >= m->search.round) return true;
        if (m->now < m->search.until) return false;
        *leader = m->config.self;
    }
    return true;
}

static uint32_t count_fellows(const artel__membership *m)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < m->config.tasks; t++) count += t != m->config.self && is_fellow(m, t);
    return count;
}

void artel__ms_regroup(artel__membership *m)
{
    artel__ms_stop(m);
    if (m->held.active) return;
    artel__ms_other other = artel__ms_find_other(m);
    if (other.id.counter && other.size > count_fellows(m) + 1) {
        artel__ms_renounce(m);
        return;
    }
    uint32_t leader;
    search(m);
    if (!find_leader(m, &leader)) return;
    if (leader == m->config.self) {
        artel__ms_propose(m, m->trouble.reason, m->trouble.subject);
    } else if (!m->appeal.active || m->appeal.task != leader) {
        m->appeal.active = true;
        m->appeal.task = leader;
        m->appeal.until = m->now + m->limits.appeal;
        artel__ms_send(m, leader,
                       &(artel__message){.kind = ARTEL__MESSAGE_SUSPECT,
                                         .about = m->group.id,
                                         .reason = m->trouble.reason,
                                         .subject = m->trouble.subject});
    } else if (m->now >= m->appeal.until) {
        m->peer[leader].member.passive_until = m->now + m->limits.stop;
        m->appeal.active = false;
    }
}

void artel__ms_on_suspect(artel__membership *m, uint32_t from, const artel__message *message)
{
    if (m->proposal.recorded && artel__generation_same(message->about, m->next.id))
        return; /* START is yet to come here */
    if (!artel__generation_same(message->about, m->group.id)) {
        artel__ms_send(
            m, from,
            &(artel__message){.kind = ARTEL__MESSAGE_REFUSE, .about = message->about, .reason = ARTEL__REASON_STALE});
        return;
    }
    if (!artel__ms_in_group(m, from)) return;
    if (message->reason == ARTEL__REASON_DATA || message->reason == ARTEL__REASON_SILENT)
        artel__ms_blame(m, from, message->subject);
    artel__ms_break(m, (artel__reason)message->reason, message->subject);
}

/* -- proposing -- */

/* Whether a task may be asked to take part in a proposal of this one. */
static bool may_ask(const artel__membership *m, uint32_t task)
{
    const artel__ms_peer *p = &m->peer[task];
    if (task == m->config.self || p->link < 0) return false;
    if (is_fellow(m, task)) return true;
    if (artel__ms_has_group(m) && !m->trouble.active && !p->joining.active) return false;
    if (artel__ms_has_group(m) && p->joining.admit_at > m->now) return false;
    return !(p->said.flags & ARTEL__FLAG_RUNNING) || p->joining.active;
}

void artel__ms_invite(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    if (!artel__ms_coordinates(m) || m->proposal.recorded || p->part.stage != ARTEL__MS_OUTSIDE || !may_ask(m, task))
        return;
    if (m->proposal.reported) { /* those who have reported could not probe it: once more, for all */
        artel__ms_propose(m, m->proposal.reason, m->proposal.subject);
        return;
    }
    p->part.stage = ARTEL__MS_PENDING;
    p->part.since = p->live.watched = m->now;
    artel__message propose = {.kind = ARTEL__MESSAGE_PROPOSE,
                              .about = m->proposal.id,
                              .reason = m->proposal.reason,
                              .subject = m->proposal.subject};
    artel__ms_send(m, task, &propose);
    artel__ms_probe(m, task);
}

void artel__ms_begin(artel__membership *m, artel__generation_id id, uint32_t coordinator, artel__reason reason,
                     uint32_t subject)
{
    m->held.active = m->appeal.active = m->search.active = false;
    m->proposal = (artel__ms_proposal){
        .active = true,
        .id = id,
        .coordinator = coordinator,
        .reason = reason,
        .subject = subject,
        .since = m->now,
        .round = m->life.nonce + 1,
        .probe_until = m->now + artel__ms_probe_time(m),
    };
    artel__ms_stop(m);
    if (coordinator != m->config.self) m->peer[coordinator].live.watched = m->now;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        if (coordinator == m->config.self)
            m->peer[t].part.stage = ARTEL__MS_OUTSIDE;
        else
            artel__ms_probe(m, t);
    }
}

void artel__ms_propose(artel__membership *m, artel__reason reason, uint32_t subject)
{
    bool new_trouble = !artel__ms_coordinates(m);
    if (reason != ARTEL__REASON_START && reason != ARTEL__REASON_JOIN && new_trouble)
        artel__ms_say(m, subject, reason, "%s: %s; the others form a new generation", artel__ms_name(m, subject),
                      artel__reason_text(reason));
    m->counter++;
    artel__ms_begin(m, (artel__generation_id){m->counter, m->life.incarnation}, m->config.self, reason, subject);
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        artel__ms_invite(m, t);
        if (m->peer[t].part.stage == ARTEL__MS_OUTSIDE) artel__ms_probe(m, t);
    }
}

void artel__ms_give_up(artel__membership *m, artel__reason why)
{
    if (!m->proposal.active) return;
    artel__generation_id id = m->proposal.id;
    bool mine = artel__ms_coordinates(m);
    if (m->training.state == ARTEL__MS_GOING) artel__ms_stop(m); /* a copy */
    m->proposal.active = m->proposal.recorded = false;
    artel__ms_break(m, m->proposal.reason, m->proposal.subject);
    for (uint32_t t = 0; t < m->config.tasks && mine; t++) {
        if (m->peer[t].part.stage != ARTEL__MS_OUTSIDE && why != ARTEL__REASON_NONE)
            artel__ms_send(m, t,
                           &(artel__message){
                               .kind = ARTEL__MESSAGE_REFUSE, .about = id, .reason = why, .subject = m->config.self});
        m->peer[t].part.stage = ARTEL__MS_OUTSIDE;
    }
}

/* -- following -- */

static void decline(artel__membership *m, uint32_t from, artel__generation_id id, uint32_t leader)
{
    artel__ms_send(
        m, from,
        &(artel__message){
            .kind = ARTEL__MESSAGE_DECLINE, .about = id, .reason = ARTEL__REASON_WITHDRAWN, .subject = leader});
}

static void follow(artel__membership *m, uint32_t from, artel__generation_id id, artel__reason reason, uint32_t subject)
{
    if (m->proposal.active) {
        uint32_t old = m->proposal.coordinator;
        artel__generation_id old_id = m->proposal.id;
        bool other = old != m->config.self && old != from;
        artel__ms_give_up(m, ARTEL__REASON_WITHDRAWN);
        if (other) decline(m, old, old_id, from);
    }
    artel__ms_begin(m, id, from, reason, subject);
}

/* Members of the generation below the proposer that are linked here: the lowest, or the proposer. */
static uint32_t find_lower(const artel__membership *m, uint32_t from)
{
    for (uint32_t t = 0; t < from; t++)
        if (t != m->config.self && is_fellow(m, t) && m->peer[t].member.passive_until <= m->now) return t;
    return from;
}

static void hold(artel__membership *m, uint32_t from, uint32_t lower, const artel__message *message)
{
    if (m->held.active && m->held.from < from) return;
    artel__ms_probe(m, lower);
    m->held = (artel__ms_held){
        .active = true,
        .from = from,
        .lower = lower,
        .id = message->about,
        .reason = (artel__reason)message->reason,
        .subject = message->subject,
        .probe = m->peer[lower].live.ping,
        .until = m->now + artel__ms_probe_time(m),
    };
}

/* The lower task has answered: it coordinates. It is gone or silent: the proposer does. */
void artel__ms_held_tick(artel__membership *m)
{
    artel__ms_held *h = &m->held;
    if (!h->active) return;
    if (m->proposal.active || !artel__ms_linked(m, h->from)) {
        h->active = false;
        return;
    }
    bool linked = artel__ms_linked(m, h->lower);
    if (linked && m->peer[h->lower].live.pong >= h->probe) {
        h->active = false;
        decline(m, h->from, h->id, h->lower);
        if (!artel__ms_has_group(m)) return;
        artel__ms_break(m, ARTEL__REASON_UNREACHABLE, h->from);
        artel__ms_send(m, h->lower,
                       &(artel__message){.kind = ARTEL__MESSAGE_SUSPECT,
                                         .about = m->group.id,
                                         .reason = ARTEL__REASON_UNREACHABLE,
                                         .subject = h->from});
    } else if (!linked || m->now >= h->until) {
        artel__ms_begin(m, h->id, h->from, h->reason, h->subject);
    }
}

/* A second proposal while one is under way: the lower coordinator's counts, of one coordinator the later one. */
static void choose_proposal(artel__membership *m, uint32_t from, const artel__message *message)
{
    uint32_t mine = m->proposal.coordinator;
    artel__reason reason = (artel__reason)message->reason;
    if (mine == from) {
        if (message->about.counter > m->proposal.id.counter) follow(m, from, message->about, reason, message->subject);
    } else if (mine < from) {
        decline(m, from, message->about, mine);
        artel__ms_invite(m, from);
    } else {
        follow(m, from, message->about, reason, message->subject);
    }
}

void artel__ms_on_propose(artel__membership *m, uint32_t from, const artel__message *message)
{
    artel__reason reason = (artel__reason)message->reason;
    if (message->about.counter > m->counter) m->counter = message->about.counter;
    if (message->about.incarnation != m->peer[from].who.incarnation) return;
    bool begun = m->proposal.active && m->proposal.recorded && !artel__ms_coordinates(m) &&
                 artel__generation_same(message->generation, m->next.id);
    if (begun) /* START has come to the proposer, and is on its way here on another link */
        artel__ms_on_start(m, m->proposal.coordinator, &(artel__message){.about = m->next.id});
    if (m->proposal.active) {
        choose_proposal(m, from, message);
    } else if (!artel__ms_has_group(m)) {
        follow(m, from, message->about, reason, message->subject);
    } else if (message->about.counter <= m->group.id.counter && artel__ms_in_group(m, from)) {
        decline(m, from, message->about, artel__ms_lowest(m)); /* it was sent before the generation began */
    } else if (!m->trouble.active && !artel__generation_same(message->generation, m->group.id)) {
        bool wanted = m->lone.wish.counter && artel__generation_same(message->generation, m->lone.wish);
        if (wanted)
            follow(m, from, message->about, reason, message->subject);
        else
            decline(m, from, message->about, artel__ms_lowest(m));
    } else if (m->config.self < from) {
        decline(m, from, message->about, m->config.self);
        artel__ms_break(m, reason, message->subject);
    } else {
        uint32_t lower = find_lower(m, from);
        if (lower != from)
            hold(m, from, lower, message);
        else
            follow(m, from, message->about, reason, message->subject);
    }
}

void artel__ms_on_decline(artel__membership *m, uint32_t from, const artel__message *message)
{
    if (!artel__ms_coordinates(m) || !artel__generation_same(message->about, m->proposal.id)) return;
    if (!m->proposal.recorded || !artel__bit(m->next.set, from)) {
        m->peer[from].part.stage = ARTEL__MS_OUTSIDE;
        return;
    }
    bool copy = message->reason == ARTEL__REASON_DATA; /* its donor is lost to it */
    if (copy) artel__ms_blame(m, from, message->subject);
    artel__ms_propose(m, copy ? ARTEL__REASON_DATA : ARTEL__REASON_LEFT, copy ? message->subject : from);
}

/* -- refused -- */

void artel__ms_on_refuse(artel__membership *m, uint32_t from, const artel__message *message)
{
    bool about_proposal =
        m->proposal.active && m->proposal.coordinator == from && artel__generation_same(message->about, m->proposal.id);
    switch (message->reason) {
    case ARTEL__REASON_DUPLICATE:
        if (m->has_run) { /* it has slept, or was cut off */
            artel__ms_fail_here(m, ARTEL_ERROR_RUN,
                                "another process has taken this task's place, and the job goes on with that one (said "
                                "by %s)",
                                artel__ms_name(m, from));
            return;
        }
        /* fall through */
    case ARTEL__REASON_FACTS:
        artel__ms_fail_here(m, ARTEL_ERROR_INVALID, "refused by %s: %.*s", artel__ms_name(m, from),
                            (int)message->text.count, message->text.count ? (const char *)message->text.data : "");
        return;
    case ARTEL__REASON_STALE:
        if (!m->proposal.active && artel__ms_has_group(m) && artel__generation_same(message->about, m->group.id))
            artel__ms_renounce(m);
        return;
    case ARTEL__REASON_LEFT:
        if (about_proposal) artel__ms_end(m, ARTEL_ERROR_PREEMPTED, false, "left the job in order; the others go on");
        return;
    default: break;
    }
    if (!about_proposal) return;
    artel__ms_give_up(m, ARTEL__REASON_NONE);
    if (message->reason == ARTEL__REASON_WITHDRAWN) return;
    if (message->reason == ARTEL__REASON_TOO_FEW) {
        artel__ms_set_lone(m);
        return;
    }
    artel__ms_say(m, m->config.self, (artel__reason)message->reason,
                  "not a member of the new generation (%s); trying to join again",
                  artel__reason_text((artel__reason)message->reason));
    artel__ms_renounce(m);
}
