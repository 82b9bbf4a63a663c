/* SPDX-License-Identifier: Apache-2.0 */
/* The first message of a generation, and what tells that it was missed.
 *
 * START is sent when all are ready. Whoever is ready may also conclude it from any message of the coordinator that
 * speaks of the generation as running; whoever follows a coordinator that no longer forms anything knows that the
 * proposal is over.
 */
#include "cluster/membership_impl.h"

static void describe(artel__membership *m, artel__generation *view)
{
    *view = (artel__generation){
        .id = m->group.id,
        .purpose = m->group.purpose,
        .step = m->group.step,
        .arithmetic = m->group.arithmetic,
        .best = m->group.best,
        .member = m->group.member,
        .members = m->group.members,
        .reason = m->proposal.reason,
        .subject = m->proposal.subject,
        .pause_ns = m->now - m->training.rest_since,
    };
    for (uint32_t i = 0; i < m->group.members; i++) {
        view->replicas += m->group.member[i].replicas;
        if (m->group.member[i].task == m->config.self) view->rank = i;
    }
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        bool now = artel__bit(m->group.set, t), was = m->next.id.counter && artel__bit(m->next.set, t);
        view->joined += now && !was;
        view->left += was && !now;
    }
}

/* The record becomes the generation. */
static void adopt(artel__membership *m)
{
    artel__ms_group old = m->group;
    m->group = m->next;
    m->next = old;
    describe(m, &m->view);
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        artel__ms_peer *p = &m->peer[t];
        p->joining.active = false;
        p->part.stage = ARTEL__MS_OUTSIDE;
        p->member.passive_until = 0;
        p->live.watched = m->now;
        bool was = old.id.counter && artel__bit(old.set, t);
        if (artel__ms_in_group(m, t) && !was && old.id.counter) p->joining.admitted_at = m->now;
        if (m->now - p->joining.admitted_at > ARTEL__MS_PROBATION) p->joining.penalty = 0;
    }
    for (uint32_t i = 0; i < m->group.members; i++)
        m->peer[m->group.member[i].task].member.incarnation = m->group.member[i].incarnation;
    m->proposal.active = m->proposal.recorded = m->trouble.active = false;
    artel__ms_move_ending(m, ARTEL__MS_STEPPING);
    m->lone.wish = (artel__generation_id){0};
    m->has_run = true;
    if (m->group.arithmetic) m->arithmetic = m->group.arithmetic;
    m->copy.arithmetic = 0;
    m->started = m->now;
    m->lone.wait_said = 0;
    artel__ms_share_again(m);
    artel__ms_move_training(m, ARTEL__MS_GOING);
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_START,
                                      .generation = &m->view,
                                      .step = m->group.step,
                                      .purpose = m->group.purpose});
    /* Reported reachable and lost since, unnoticed by the coordinator of the proposal: what is said now would not
     * arrive. */
    for (uint32_t i = 0; i < m->group.members; i++) {
        uint32_t t = m->group.member[i].task;
        if (t != m->config.self && !artel__ms_linked(m, t)) artel__ms_break(m, ARTEL__REASON_RESET, t);
    }
}

void artel__ms_on_start(artel__membership *m, uint32_t from, const artel__message *message)
{
    if (!m->proposal.active || m->proposal.coordinator != from || !m->proposal.ready) return;
    if (!artel__generation_same(message->about, m->proposal.id) || !artel__bit(m->next.set, m->config.self)) return;
    adopt(m);
}

void artel__ms_compare(artel__membership *m, uint32_t from, const artel__message *message)
{
    const artel__ms_peer *p = &m->peer[from];
    bool forming = message->flags & ARTEL__FLAG_FORMING;
    if (artel__ms_running(m) && artel__ms_in_group(m, from)) {
        bool same = artel__generation_same(message->generation, m->group.id);
        bool late = forming && m->now - m->started > m->limits.appeal; /* START has not come there */
        if (!same && (late || (!forming && message->generation.counter >= m->group.id.counter)))
            artel__ms_break(m, ARTEL__REASON_LEFT, from);
    } else if (artel__ms_coordinates(m)) {
        if (forming || p->part.stage < ARTEL__MS_REPORTED) return;
        if (m->proposal.recorded)
            artel__ms_propose(m, ARTEL__REASON_LEFT, from);
        else
            m->peer[from].part.stage = ARTEL__MS_OUTSIDE;
    } else if (m->proposal.active && m->proposal.coordinator == from && !forming) {
        bool begun = m->proposal.ready && artel__generation_same(message->generation, m->next.id);
        if (begun && artel__bit(m->next.set, m->config.self))
            adopt(m);
        else if (!begun && message->kind != ARTEL__MESSAGE_REFUSE && message->kind != ARTEL__MESSAGE_END)
            artel__ms_give_up(m, ARTEL__REASON_NONE);
    }
}

void artel__ms_start_all(artel__membership *m)
{
    artel__generation_id id = m->next.id;
    for (uint32_t i = 0; i < m->next.members; i++) {
        uint32_t task = m->next.member[i].task;
        if (task == m->config.self) continue;
        artel__ms_share(m, task);
        artel__ms_send(m, task, &(artel__message){.kind = ARTEL__MESSAGE_START, .about = id});
    }
    for (uint32_t t = 0; t < m->config.tasks; t++)
        if (m->peer[t].part.stage == ARTEL__MS_REPORTED)
            artel__ms_send(m, t,
                           &(artel__message){.kind = ARTEL__MESSAGE_REFUSE, .about = id, .reason = ARTEL__REASON_LEFT});
    if (artel__bit(m->next.set, m->config.self))
        adopt(m);
    else
        artel__ms_end(m, ARTEL_ERROR_PREEMPTED, false, "left the job in order; the others go on");
}
