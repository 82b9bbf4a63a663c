/* SPDX-License-Identifier: Apache-2.0 */
/* A generation that goes on: newcomers and leavers; its end, finished or preempted; and what the end of another task
 * means here. How this one fails: membership_fail.c.
 *
 * Finished: every member tells the coordinator; when all have, it orders SAVE; when all have saved, it says END to
 * everybody and only then drops its own state. Who hears END from anybody ends, too. A loss before that forms another
 * generation at the same step, whose members are finished at once, and the writing is done again: files are named by
 * step and renamed whole.
 *
 * Failed alone: END says why on every link, and a link may break with it unread. So whoever hears it tells the lowest
 * of the rest, and that one tells all, before it proposes: each survivor says the cause once, if one of them has heard
 * it.
 */
#include <string.h>

#include "cluster/membership_impl.h"

/* -- failed alone -- */

/* The lowest of those that are left, as far as this task reaches. */
static uint32_t find_teller(const artel__membership *m, uint32_t lost)
{
    uint32_t t = 0;
    while (t != m->config.self && (t == lost || !artel__ms_linked(m, t))) t++;
    return t;
}

static void pass_on(artel__membership *m, uint32_t lost, const artel__message *ended)
{
    uint32_t teller = find_teller(m, lost);
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        artel__message copy = *ended;
        if (t != lost && (t == teller || teller == m->config.self)) artel__ms_send(m, t, &copy);
    }
}

static void learn_failure(artel__membership *m, uint32_t task, uint64_t incarnation, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[task];
    if (message->status == ARTEL_ERROR_PREEMPTED || message->status >= 0 || p->member.failed_as == incarnation) return;
    p->member.failed_as = incarnation;
    static const char said[] = "failed"; /* as a task's driver begins */
    size_t count = message->text.count;
    const char *text = count ? (const char *)message->text.data : "";
    bool says = count >= sizeof said - 1 && memcmp(text, said, sizeof said - 1) == 0;
    artel__ms_say(m, task, ARTEL__REASON_LEFT, says ? "%s has %.*s" : "%s has failed: %.*s", artel__ms_name(m, task),
                  (int)count, text);
    pass_on(m, task,
            &(artel__message){.kind = ARTEL__MESSAGE_ENDED,
                              .subject = task,
                              .status = message->status,
                              .cause_incarnation = incarnation,
                              .text = message->text});
}

void artel__ms_on_ended(artel__membership *m, uint32_t from, const artel__message *message)
{
    if (message->subject == m->config.self || message->subject == from || !message->cause_incarnation) return;
    learn_failure(m, message->subject, message->cause_incarnation, message);
}

void artel__ms_on_end(artel__membership *m, uint32_t from, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[from];
    bool whole = message->purpose != 0;
    if (whole && (message->status == ARTEL_OK || message->status == ARTEL_ERROR_PREEMPTED)) {
        m->digest = message->target;
        artel__ms_end(m, (artel_status)message->status, true,
                      message->status == ARTEL_OK ? "finished" : "all saved and ended");
        return;
    }
    learn_failure(m, from, p->who.incarnation, message);
    artel__ms_lose(m, from, ARTEL__REASON_LEFT);
    p->dial.at = m->now + ARTEL__MS_SECOND;
}

/* -- coming and leaving -- */

/* Members who want to leave, or want all to save; newcomers who have waited for the window. */
static bool change_wanted(const artel__membership *m, artel__reason *reason, uint32_t *subject)
{
    bool found = false;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        bool self = t == m->config.self;
        uint32_t flags = self ? artel__ms_flags(m) : p->said.flags;
        if (artel__ms_in_group(m, t) && (flags & (ARTEL__FLAG_LEAVING | ARTEL__FLAG_SAVING))) {
            *reason = flags & ARTEL__FLAG_SAVING ? ARTEL__REASON_SAVE : ARTEL__REASON_LEFT;
            *subject = t;
            return true;
        }
        if (!p->joining.active || p->link < 0 || p->joining.admit_at > m->now ||
            m->now - p->joining.since < ARTEL__MS_WINDOW)
            continue;
        *reason = ARTEL__REASON_JOIN;
        *subject = t;
        found = true;
    }
    return found;
}

/* -- finishing -- */

static bool all_members(const artel__membership *m, bool saved)
{
    for (uint32_t i = 0; i < m->group.members; i++) {
        uint32_t t = m->group.member[i].task;
        const artel__ms_peer *p = &m->peer[t];
        bool self = t == m->config.self;
        bool done = saved ? m->ending == ARTEL__MS_WRITTEN : m->ending != ARTEL__MS_STEPPING;
        if (!self) done = artel__generation_same(saved ? p->member.saved_in : p->member.finished_in, m->group.id);
        if (!done) return false;
    }
    return true;
}

static void save(artel__membership *m)
{
    artel__ms_move_ending(m, ARTEL__MS_WRITING);
    m->training.phase = ARTEL__MEMBER_SAVE;
    m->training.phase_since = m->now;
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_SAVE,
                                      .step = m->step,
                                      .purpose = m->group.purpose,
                                      .writer = artel__ms_lowest(m) == m->config.self});
}

static void finish(artel__membership *m)
{
    if (!all_members(m, false)) return;
    if (m->ending < ARTEL__MS_WRITING) {
        for (uint32_t i = 0; i < m->group.members; i++)
            artel__ms_send(m, m->group.member[i].task,
                           &(artel__message){.kind = ARTEL__MESSAGE_SAVE, .about = m->group.id});
        save(m);
    }
    if (!all_members(m, true)) return;
    bool preempted = m->group.purpose == ARTEL__PURPOSE_SAVE;
    artel__ms_end(m, preempted ? ARTEL_ERROR_PREEMPTED : ARTEL_OK, true,
                  preempted ? "all saved and ended" : "finished");
}

/* A generation that goes on. */
void artel__ms_finish_tick(artel__membership *m)
{
    artel__reason reason = ARTEL__REASON_NONE;
    uint32_t subject = 0;
    bool coordinator = artel__ms_lowest(m) == m->config.self,
         ending = m->group.purpose == ARTEL__PURPOSE_SAVE || m->ending != ARTEL__MS_STEPPING;
    if (coordinator) finish(m);
    if (m->course == ARTEL__MS_ENDED || ending) return;
    if (coordinator && change_wanted(m, &reason, &subject)) {
        artel__ms_propose(m, reason, subject);
        return;
    }
    artel__ms_other other = artel__ms_find_other(m);
    bool better =
        other.size > m->group.members || (other.size == m->group.members && other.lowest < artel__ms_lowest(m));
    if (other.id.counter && better) artel__ms_court(m, other);
}

void artel__ms_on_finish(artel__membership *m, uint32_t from, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[from];
    bool here =
        artel__ms_running(m) && artel__generation_same(message->about, m->group.id) && artel__ms_in_group(m, from);
    switch (message->kind) {
    case ARTEL__MESSAGE_FINISHED: p->member.finished_in = message->about; break;
    case ARTEL__MESSAGE_SAVED:
        p->member.saved_in = message->about;
        if (here && message->target) m->digest = message->target;
        break;
    case ARTEL__MESSAGE_SAVE:
        if (here && from == artel__ms_lowest(m) && m->ending == ARTEL__MS_FINISHED) save(m);
        break;
    default: break;
    }
}
