/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of state that several files make: the time of an input, the training stopped, a generation broken, lost, or
 * gone on without this task; and what is remembered of peers. What follows from them is decided in the files above.
 */
#include "cluster/membership_impl.h"

/* -- which state may follow which -- */

static const artel__move_state training[ARTEL__MS_TRAININGS] = {
    [ARTEL__MS_REST] = {"rest", ARTEL__MOVE_TO(ARTEL__MS_GOING)},
    [ARTEL__MS_GOING] = {"going", ARTEL__MOVE_TO(ARTEL__MS_REST) | ARTEL__MOVE_TO(ARTEL__MS_STOPPING)},
    [ARTEL__MS_STOPPING] = {"stopping", ARTEL__MOVE_TO(ARTEL__MS_REST)},
};
const artel__moves artel__ms_trainings = {"training", training, ARTEL__MS_TRAININGS};

/* The next generation, and none, begin with steps. */
static const artel__move_state ending[ARTEL__MS_ENDINGS] = {
    [ARTEL__MS_STEPPING] = {"stepping", ARTEL__MOVE_TO(ARTEL__MS_FINISHED)},
    [ARTEL__MS_FINISHED] = {"finished", ARTEL__MOVE_TO(ARTEL__MS_WRITING) | ARTEL__MOVE_TO(ARTEL__MS_STEPPING)},
    [ARTEL__MS_WRITING] = {"writing", ARTEL__MOVE_TO(ARTEL__MS_WRITTEN) | ARTEL__MOVE_TO(ARTEL__MS_UNWRITTEN) |
                                          ARTEL__MOVE_TO(ARTEL__MS_STEPPING)},
    [ARTEL__MS_WRITTEN] = {"written", ARTEL__MOVE_TO(ARTEL__MS_STEPPING)},
    [ARTEL__MS_UNWRITTEN] = {"unwritten", ARTEL__MOVE_TO(ARTEL__MS_STEPPING)},
};
const artel__moves artel__ms_endings = {"ending", ending, ARTEL__MS_ENDINGS};

static const artel__move_state course[ARTEL__MS_COURSES] = {
    [ARTEL__MS_LIVES] = {"lives", ARTEL__MOVE_TO(ARTEL__MS_FAILING) | ARTEL__MOVE_TO(ARTEL__MS_ENDED)},
    [ARTEL__MS_FAILING] = {"failing", ARTEL__MOVE_TO(ARTEL__MS_ENDED)},
    [ARTEL__MS_ENDED] = {"ended", 0},
};
const artel__moves artel__ms_courses = {"course", course, ARTEL__MS_COURSES};

static const artel__move_state leave[ARTEL__MS_LEAVES] = {
    [ARTEL__MS_STAY] = {"stay", ARTEL__MOVE_TO(ARTEL__MS_LEAVE) | ARTEL__MOVE_TO(ARTEL__MS_SAVE)},
    [ARTEL__MS_LEAVE] = {"leave", 0},
    [ARTEL__MS_SAVE] = {"save", 0},
};
const artel__moves artel__ms_leaves = {"leave", leave, ARTEL__MS_LEAVES};

void artel__ms_move_training(artel__membership *m, artel__ms_training_state to)
{
    artel__check_move(&artel__ms_trainings, (int)m->training.state, (int)to);
    m->training.state = to;
}

void artel__ms_move_ending(artel__membership *m, artel__ms_ending to)
{
    artel__check_move(&artel__ms_endings, (int)m->ending, (int)to);
    m->ending = to;
}

void artel__ms_move_course(artel__membership *m, artel__ms_course to)
{
    artel__check_move(&artel__ms_courses, (int)m->course, (int)to);
    m->course = to;
}

void artel__ms_move_leave(artel__membership *m, artel__ms_leave to)
{
    artel__check_move(&artel__ms_leaves, (int)m->leave, (int)to);
    m->leave = to;
}

/* -- changes of state -- */

/* A long gap means that this process itself has not run: what others said meanwhile is yet to be read, so their silence
 * begins now. */
bool artel__ms_enter(artel__membership *m, int64_t now)
{
    if (m->course == ARTEL__MS_ENDED) return false;
    if (m->begun < 0) {
        m->begun = m->now = now;
        m->training.phase_since = m->training.rest_since = now;
        artel__ms_set_lone(m);
    }
    if (now < m->now) now = m->now;
    if (now - m->now > m->config.suspect_after_ns / 2) {
        for (uint32_t t = 0; t < m->config.tasks; t++) {
            m->peer[t].live.watched = m->peer[t].live.ping_since = now;
            m->peer[t].live.asked_at = -1;
        }
        m->proposal.probe_until = now + artel__ms_probe_time(m);
    }
    m->now = now;
    return true;
}

void artel__ms_stop(artel__membership *m)
{
    if (m->ending == ARTEL__MS_WRITING) artel__ms_move_ending(m, ARTEL__MS_UNWRITTEN);
    if (m->training.state != ARTEL__MS_GOING) return;
    artel__ms_move_training(m, ARTEL__MS_STOPPING);
    m->training.stop_since = m->now;
    if (m->training.phase != ARTEL__MEMBER_COPY) m->training.rest_since = m->now;
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_STOP});
}

void artel__ms_break(artel__membership *m, artel__reason reason, uint32_t subject)
{
    if (!artel__ms_has_group(m) || m->trouble.active) return;
    m->trouble.active = true;
    m->trouble.reason = reason;
    m->trouble.subject = subject;
    m->trouble.since = m->now;
    m->appeal.active = m->search.active = false;
}

void artel__ms_set_lone(artel__membership *m)
{
    m->group.id = (artel__generation_id){0};
    m->group.members = 0;
    m->trouble.active = false;
    artel__ms_move_ending(m, ARTEL__MS_STEPPING);
    m->appeal.active = m->held.active = false;
    m->blame.times = 0;
    m->lone.wish = (artel__generation_id){0};
    m->lone.since = m->lone.settle = m->now;
    if (m->has_run || !m->lone.wait_said) /* attempts to begin are one wait */
        m->lone.wait_said = m->now ? m->now : 1;
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
    m->lone.retry_at = m->now + ARTEL__MS_BACKOFF_MIN;
    if (!had) return;
    m->life.incarnation = next_incarnation(m->life.incarnation);
    m->life.sequence++;
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
        if (p->link < 0 || !(p->said.flags & ARTEL__FLAG_RUNNING) ||
            artel__generation_same(p->said.generation, m->group.id))
            continue;
        if (p->said.size < best.size || (p->said.size == best.size && p->said.lowest >= best.lowest)) continue;
        best = (artel__ms_other){p->said.generation, p->said.size, p->said.lowest};
    }
    return best;
}

void artel__ms_punish(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    p->joining.penalty = p->joining.penalty ? p->joining.penalty * 2 : ARTEL__MS_SECOND;
    if (p->joining.penalty > ARTEL__MS_PENALTY_MAX) p->joining.penalty = ARTEL__MS_PENALTY_MAX;
    p->joining.admit_at = m->now + p->joining.penalty;
    p->joining.admitted_at = 0;
}
