/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of state that several files make: the time of an input, the training stopped, a generation broken, lost, or
 * gone on without this task; and what is remembered of peers. What follows from them is decided in the files above.
 */
#include "cluster/membership_impl.h"

/* A long gap means that this process itself has not run: what others said meanwhile is yet to be read, so their silence
 * begins now. */
bool artel__ms_enter(artel__membership *m, int64_t now)
{
    if (m->ended) return false;
    if (m->begun < 0) {
        m->begun = m->now = now;
        m->phase_since = m->rest_since = now;
        artel__ms_set_lone(m);
    }
    if (now < m->now) now = m->now;
    if (now - m->now > m->config.suspect_after_ns / 2) {
        for (uint32_t t = 0; t < m->config.tasks; t++) m->peer[t].watched = m->peer[t].ping_since = now;
        m->proposal.probe_until = now + m->probe;
    }
    m->now = now;
    return true;
}

void artel__ms_stop(artel__membership *m)
{
    m->writing = false;
    if (m->training != ARTEL__MS_GOING) return;
    m->training = ARTEL__MS_STOPPING;
    m->stop_since = m->now;
    if (m->phase != ARTEL__MEMBER_COPY) m->rest_since = m->now;
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_STOP});
}

void artel__ms_break(artel__membership *m, artel__reason reason, uint32_t subject)
{
    if (!artel__ms_has_group(m) || m->trouble) return;
    m->trouble = true;
    m->trouble_reason = reason;
    m->trouble_subject = subject;
    m->trouble_since = m->now;
    m->appeal.active = m->search.active = false;
}

void artel__ms_set_lone(artel__membership *m)
{
    m->group.id = (artel__generation_id){0};
    m->group.members = 0;
    m->trouble = m->finished = m->saving = m->writing = m->written = false;
    m->appeal.active = m->held.active = false;
    m->blame.times = 0;
    m->wish = (artel__generation_id){0};
    m->lone_since = m->lone_settle = m->now;
    m->wait_said = m->now ? m->now : 1;
    artel__ms_stop(m);
}

/* A step of the mixer of splitmix64 (Steele, Lea, Flood 2014): another number, never 0. */
static uint64_t next_incarnation(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x ? x : 1;
}

void artel__ms_renounce(artel__membership *m)
{
    bool had = artel__ms_has_group(m);
    artel__ms_set_lone(m);
    m->retry_at = m->now + ARTEL__MS_BACKOFF_MIN;
    if (!had) return;
    m->incarnation = next_incarnation(m->incarnation);
    m->sequence++;
    artel__ms_say(m, m->config.self, ARTEL__REASON_STALE,
                  "the job went on without this task; it joins again with its state of step %llu",
                  (unsigned long long)m->step);
    artel__ms_greet_all(m);
}

artel__ms_other artel__ms_find_other(const artel__membership *m)
{
    artel__ms_other best = {0};
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        if (p->link < 0 || !(p->flags & ARTEL__FLAG_RUNNING) || artel__generation_same(p->generation, m->group.id))
            continue;
        if (p->size < best.size || (p->size == best.size && p->lowest >= best.lowest)) continue;
        best = (artel__ms_other){p->generation, p->size, p->lowest};
    }
    return best;
}

void artel__ms_punish(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    p->penalty = p->penalty ? p->penalty * 2 : ARTEL__MS_SECOND;
    if (p->penalty > ARTEL__MS_PENALTY_MAX) p->penalty = ARTEL__MS_PENALTY_MAX;
    p->admit_at = m->now + p->penalty;
    p->admitted_at = 0;
}
