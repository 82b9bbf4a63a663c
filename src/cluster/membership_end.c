/* SPDX-License-Identifier: Apache-2.0 */
/* A generation that goes on: newcomers and leavers; and its ends: finished, preempted, failed.
 *
 * Finished: every member tells the coordinator; when all have, it orders SAVE; when all have saved, it says END to
 * everybody and only then drops its own state. Who hears END from anybody ends, too. A loss before that forms another
 * generation at the same step, whose members are finished at once, and the writing is done again: files are named by
 * step and renamed whole.
 *
 * Failed: the cause is told to all, who pass it on once; each waits a moment for other causes and ends with the
 * earliest.
 *
 * Failed alone: END says why on every link, and a link may break with it unread. So whoever hears it tells the lowest
 * of the rest, and that one tells all, before it proposes: each survivor says the cause once, if one of them has heard
 * it.
 */
#include "cluster/membership_impl.h"

#include <stdio.h>
#include <string.h>

void artel__ms_end(artel__membership *m, artel_status status, bool whole, const char *text)
{
    artel__cause cause = m->cause;
    if (!m->failing) {
        cause = (artel__cause){.status = status,
                               .task = m->config.self,
                               .incarnation = m->incarnation,
                               .step = m->step,
                               .phase = m->phase};
        snprintf(cause.text, sizeof cause.text, "%s", text);
    }
    artel__message end = {.kind = ARTEL__MESSAGE_END,
                          .status = cause.status,
                          .purpose = whole,
                          .about = m->group.id,
                          .target = m->digest};
    end.text = (artel__message_bytes){(const uint8_t *)cause.text, (uint32_t)strlen(cause.text)};
    artel__ms_send_all(m, &end);
    m->ended = true;
    artel__ms_act(
        m, &(artel__action){
               .kind = ARTEL__ACTION_END, .cause = &cause, .digest = m->digest, .step = m->step, .whole = whole});
}

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
    if (message->status == ARTEL_ERROR_PREEMPTED || message->status >= 0 || p->failed_as == incarnation) return;
    p->failed_as = incarnation;
    artel__ms_say(m, task, ARTEL__REASON_LEFT, "%s has failed: %.*s", artel__ms_name(m, task), (int)message->text.count,
                  message->text.count ? (const char *)message->text.data : "");
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
    learn_failure(m, from, p->incarnation, message);
    artel__ms_lose(m, from, ARTEL__REASON_LEFT);
    p->dial_at = m->now + ARTEL__MS_SECOND;
}

/* -- failing -- */

static bool earlier(const artel__cause *a, const artel__cause *b)
{
    if (a->step != b->step) return a->step < b->step;
    if (a->phase != b->phase) return a->phase < b->phase;
    return a->task < b->task;
}

static artel__message failure(const artel__cause *cause)
{
    return (artel__message){
        .kind = ARTEL__MESSAGE_FAIL,
        .status = cause->status,
        .subject = cause->task,
        .cause_incarnation = cause->incarnation,
        .cause_step = cause->step,
        .cause_phase = (uint32_t)cause->phase,
        .text = {(const uint8_t *)cause->text, (uint32_t)strnlen(cause->text, ARTEL__TEXT_MAX)},
    };
}

void artel__ms_tell_failure(artel__membership *m, uint32_t task)
{
    artel__message fail = failure(&m->cause);
    artel__ms_send(m, task, &fail);
}

void artel__ms_fail_job(artel__membership *m, const artel__cause *cause)
{
    if (m->ended) return;
    bool first = !m->failing;
    if (first || earlier(cause, &m->cause))
        m->cause = *cause;
    else
        return;
    if (first) {
        m->failing = true;
        m->fail_since = m->now;
        artel__ms_stop(m);
    }
    artel__message fail = failure(cause);
    artel__ms_send_all(m, &fail);
}

void artel__ms_on_fail(artel__membership *m, uint32_t from, const artel__message *message)
{
    /* A newcomer's complaint does not end a job that runs. */
    if (artel__ms_has_group(m) && !artel__ms_in_group(m, from)) return;
    if (message->status >= 0 || message->subject >= m->config.tasks) return;
    artel__cause cause = {.status = (artel_status)message->status,
                          .task = message->subject,
                          .incarnation = message->cause_incarnation,
                          .step = message->cause_step,
                          .phase = (artel__member_phase)message->cause_phase};
    memcpy(cause.text, message->text.count ? message->text.data : (const uint8_t *)"", message->text.count);
    artel__ms_fail_job(m, &cause);
}

void artel__ms_fail_tick(artel__membership *m)
{
    if (m->now - m->fail_since >= ARTEL__MS_FAIL_GRACE) artel__ms_end(m, m->cause.status, true, "");
}

void artel__ms_fail_here(artel__membership *m, artel_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->line, sizeof m->line, format, args);
    va_end(args);
    if (!m->ended) artel__ms_end(m, status, false, m->line);
}

void artel__membership_fail(artel__membership *m, int64_t now, bool job, artel_status status, const char *text)
{
    if (!artel__ms_enter(m, now)) return;
    if (status >= 0) status = ARTEL_ERROR_INTERNAL;
    if (!job) {
        artel__ms_fail_here(m, status, "%s", text);
        return;
    }
    artel__cause cause = {
        .status = status, .task = m->config.self, .incarnation = m->incarnation, .step = m->step, .phase = m->phase};
    snprintf(cause.text, sizeof cause.text, "%s", text);
    artel__ms_fail_job(m, &cause);
}

/* -- leaving -- */

void artel__membership_drain(artel__membership *m, int64_t now)
{
    if (!artel__ms_enter(m, now)) return;
    if (m->config.save_on_preempt)
        m->saving_wanted = true;
    else
        m->leaving = true;
    artel__ms_consider(m);
}

/* Members who want to leave, or want all to save; newcomers who have waited for the window. */
static bool change_wanted(const artel__membership *m, artel__reason *reason, uint32_t *subject)
{
    bool found = false;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        bool self = t == m->config.self;
        uint32_t flags = self ? artel__ms_flags(m) : p->flags;
        if (artel__ms_in_group(m, t) && (flags & (ARTEL__FLAG_LEAVING | ARTEL__FLAG_SAVING))) {
            *reason = flags & ARTEL__FLAG_SAVING ? ARTEL__REASON_SAVE : ARTEL__REASON_LEFT;
            *subject = t;
            return true;
        }
        if (!p->joins || p->link < 0 || p->admit_at > m->now || m->now - p->joins_since < ARTEL__MS_WINDOW) continue;
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
        bool done = saved ? m->written : m->finished;
        if (!self) done = artel__generation_same(saved ? p->saved_in : p->finished_in, m->group.id);
        if (!done) return false;
    }
    return true;
}

static void save(artel__membership *m)
{
    m->saving = m->writing = true;
    m->phase = ARTEL__MEMBER_SAVE;
    m->phase_since = m->now;
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_SAVE,
                                      .step = m->step,
                                      .purpose = m->group.purpose,
                                      .writer = artel__ms_lowest(m) == m->config.self});
}

static void finish(artel__membership *m)
{
    if (!all_members(m, false)) return;
    if (!m->saving) {
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
         ending = m->group.purpose == ARTEL__PURPOSE_SAVE || m->finished;
    if (coordinator) finish(m);
    if (m->ended || ending) return;
    if (coordinator && change_wanted(m, &reason, &subject)) {
        artel__ms_propose(m, reason, subject);
        return;
    }
    artel__ms_other other = artel__ms_find_other(m);
    bool better =
        other.size > m->group.members || (other.size == m->group.members && other.lowest < artel__ms_lowest(m));
    if (other.id.counter && better) artel__ms_court(m, other);
}

void artel__membership_finished(artel__membership *m, int64_t now, uint64_t step, uint64_t hash)
{
    if (!artel__ms_enter(m, now) || !artel__ms_running(m) || m->training != ARTEL__MS_GOING || m->finished) return;
    m->finished = true;
    m->step = step;
    m->hash = hash;
    m->phase = ARTEL__MEMBER_IDLE;
    m->phase_since = m->now;
    uint32_t lowest = artel__ms_lowest(m);
    if (lowest != m->config.self)
        artel__ms_send(
            m, lowest,
            &(artel__message){
                .kind = ARTEL__MESSAGE_FINISHED, .about = m->group.id, .step = step, .hash = hash, .hash_step = step});
    artel__ms_consider(m);
}

void artel__membership_saved(artel__membership *m, int64_t now, uint64_t digest)
{
    if (!artel__ms_enter(m, now) || !m->writing || !artel__ms_running(m)) return;
    m->writing = false;
    m->written = true;
    if (digest) m->digest = digest;
    uint32_t lowest = artel__ms_lowest(m);
    if (lowest != m->config.self)
        artel__ms_send(m, lowest,
                       &(artel__message){.kind = ARTEL__MESSAGE_SAVED, .about = m->group.id, .target = digest});
    artel__ms_consider(m);
}

void artel__ms_on_finish(artel__membership *m, uint32_t from, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[from];
    bool here =
        artel__ms_running(m) && artel__generation_same(message->about, m->group.id) && artel__ms_in_group(m, from);
    switch (message->kind) {
    case ARTEL__MESSAGE_FINISHED: p->finished_in = message->about; break;
    case ARTEL__MESSAGE_SAVED:
        p->saved_in = message->about;
        if (here && message->target) m->digest = message->target;
        break;
    case ARTEL__MESSAGE_SAVE:
        if (here && from == artel__ms_lowest(m) && m->finished && !m->saving) save(m);
        break;
    default: break;
    }
}
