/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's last word, and the failures that lead to it.
 *
 * The cause of a failed job is told to all, who pass it on once; each waits a moment for other causes and ends with the
 * earliest.
 */
#include "cluster/membership_impl.h"

#include <stdio.h>
#include <string.h>

void artel__ms_end(artel__membership *m, artel_status status, bool whole, const char *text)
{
    artel__cause cause = m->failing.cause;
    if (m->course != ARTEL__MS_FAILING) {
        cause = (artel__cause){.status = status,
                               .task = m->config.self,
                               .incarnation = m->life.incarnation,
                               .step = m->step,
                               .phase = m->training.phase};
        snprintf(cause.text, sizeof cause.text, "%s", text);
    }
    artel__message end = {.kind = ARTEL__MESSAGE_END,
                          .status = cause.status,
                          .purpose = whole,
                          .about = m->group.id,
                          .target = m->digest};
    end.text = (artel__message_bytes){(const uint8_t *)cause.text, (uint32_t)strlen(cause.text)};
    artel__ms_send_all(m, &end);
    artel__ms_move_course(m, ARTEL__MS_ENDED);
    artel__ms_act(
        m, &(artel__action){
               .kind = ARTEL__ACTION_END, .cause = &cause, .digest = m->digest, .step = m->step, .whole = whole});
}

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
    artel__message fail = failure(&m->failing.cause);
    artel__ms_send(m, task, &fail);
}

void artel__ms_fail_job(artel__membership *m, const artel__cause *cause)
{
    if (m->course == ARTEL__MS_ENDED) return;
    bool first = m->course != ARTEL__MS_FAILING;
    if (first || earlier(cause, &m->failing.cause))
        m->failing.cause = *cause;
    else
        return;
    if (first) {
        artel__ms_move_course(m, ARTEL__MS_FAILING);
        m->failing.since = m->now;
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
    if (m->now - m->failing.since >= ARTEL__MS_FAIL_GRACE) artel__ms_end(m, m->failing.cause.status, true, "");
}

void artel__ms_fail_here(artel__membership *m, artel_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->buffer.line, sizeof m->buffer.line, format, args);
    va_end(args);
    if (m->course != ARTEL__MS_ENDED) artel__ms_end(m, status, false, m->buffer.line);
}

void artel__membership_fail(artel__membership *m, int64_t now, bool job, artel_status status, const char *text)
{
    if (!artel__ms_enter(m, now)) return;
    if (status >= 0) status = ARTEL_ERROR_INTERNAL;
    if (!job) {
        artel__ms_fail_here(m, status, "%s", text);
        return;
    }
    artel__cause cause = {.status = status,
                          .task = m->config.self,
                          .incarnation = m->life.incarnation,
                          .step = m->step,
                          .phase = m->training.phase};
    snprintf(cause.text, sizeof cause.text, "%s", text);
    artel__ms_fail_job(m, &cause);
}
