/* SPDX-License-Identifier: Apache-2.0 */
/* What comes out of the membership machine: actions, lines for the user and their words, messages and what each of them
 * says about its sender. Every other file may call this one, which calls none of them.
 */
#include "cluster/membership_impl.h"

#include <stdio.h>
#include <string.h>

/* -- names -- */

const char *artel__reason_text(artel__reason reason)
{
    static const char *const text[ARTEL__REASONS] = {
        [ARTEL__REASON_NONE] = "no reason",
        [ARTEL__REASON_START] = "the job begins",
        [ARTEL__REASON_RESET] = "connection lost",
        [ARTEL__REASON_SILENT] = "nothing heard from it",
        [ARTEL__REASON_DATA] = "its data connection is lost",
        [ARTEL__REASON_RESTARTED] = "it was restarted",
        [ARTEL__REASON_STUCK] = "it did not come to rest in time",
        [ARTEL__REASON_LEFT] = "it left in order",
        [ARTEL__REASON_JOIN] = "it joins",
        [ARTEL__REASON_SAVE] = "all save and end",
        [ARTEL__REASON_PASSIVE] = "it did not coordinate",
        [ARTEL__REASON_STALE] = "that generation is over",
        [ARTEL__REASON_UNREACHABLE] = "not all members reach it",
        [ARTEL__REASON_FULL] = "more replicas than virtual shards (.shards)",
        [ARTEL__REASON_TOO_FEW] = "too few tasks (.min_workers)",
        [ARTEL__REASON_WITHDRAWN] = "a lower task coordinates",
        [ARTEL__REASON_FACTS] = "its version, model, data or settings differ",
        [ARTEL__REASON_DUPLICATE] = "two processes have that task index",
        [ARTEL__REASON_RENEW] = "it begins anew after a failure",
    };
    return (unsigned)reason < ARTEL__REASONS ? text[reason] : "another reason";
}

const char *artel__member_phase_name(artel__member_phase phase)
{
    static const char *const name[ARTEL__MEMBER_PHASES] = {"idle", "compute", "exchange", "apply", "copy", "save"};
    return (unsigned)phase < ARTEL__MEMBER_PHASES ? name[phase] : "another phase";
}

const char *artel__membership_state_name(artel__membership_state state)
{
    static const char *const name[] = {"joining", "running", "suspecting", "forming", "copying", "leaving", "ended"};
    return (unsigned)state < ARTEL__COUNT(name) ? name[state] : "another state";
}

/* -- actions and lines -- */

void artel__ms_act(artel__membership *m, const artel__action *action)
{
    m->config.act(m->config.user, action);
}

void artel__ms_say(artel__membership *m, uint32_t task, artel__reason reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->buffer.line, sizeof m->buffer.line, format, args);
    va_end(args);
    artel__ms_act(
        m, &(artel__action){.kind = ARTEL__ACTION_REPORT, .task = task, .reason = reason, .text = m->buffer.line});
}

void artel__ms_list(const artel__membership *m, const uint64_t *set, char *out, size_t size)
{
    size_t at = 0;
    uint32_t said = 0, more = 0;
    out[0] = '\0';
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        if (!artel__bit(set, t)) continue;
        if (said >= 3) {
            more++;
            continue;
        }
        int wrote = snprintf(out + at, size - at, "%s%s", said++ ? ", " : "", m->config.name[t]);
        if (wrote < 0 || (size_t)wrote >= size - at) return;
        at += (size_t)wrote;
    }
    if (more) snprintf(out + at, size - at, " and %u more", (unsigned)more);
}

bool artel__ms_due(artel__membership *m, int64_t *said)
{
    if (*said && m->now - *said < ARTEL__MS_REPORT_EVERY) return false;
    *said = m->now ? m->now : 1;
    return true;
}

/* -- messages -- */

uint32_t artel__ms_flags(const artel__membership *m)
{
    uint32_t flags = 0;
    if (artel__ms_running(m))
        flags |= ARTEL__FLAG_RUNNING;
    else if (m->proposal.active || artel__ms_has_group(m))
        flags |= ARTEL__FLAG_FORMING;
    if (m->has_run) flags |= ARTEL__FLAG_HAS_RUN;
    if (m->leave == ARTEL__MS_LEAVE) flags |= ARTEL__FLAG_LEAVING;
    if (m->leave == ARTEL__MS_SAVE) flags |= ARTEL__FLAG_SAVING;
    if (m->ending != ARTEL__MS_STEPPING) flags |= ARTEL__FLAG_FINISHED;
    return flags;
}

void artel__ms_send_on(artel__membership *m, int link, artel__message *message)
{
    uint32_t last = (m->recent.next + ARTEL__MS_RECENT - 1) % ARTEL__MS_RECENT;
    int task = m->link[link].task;
    message->task = m->config.self;
    message->incarnation = m->life.incarnation;
    message->flags = artel__ms_flags(m) | (task >= 0 && artel__ms_in_group(m, (uint32_t)task) ? ARTEL__FLAG_YOURS : 0);
    message->counter = m->counter;
    message->generation = m->group.id;
    message->size = artel__ms_has_group(m) ? m->group.members : 0;
    message->lowest = artel__ms_has_group(m) ? artel__ms_lowest(m) : 0;
    message->phase = m->training.phase;
    message->busy = m->training.busy;
    message->phase_ms = (uint32_t)((m->now - m->training.phase_since) / ARTEL__MS_MILLISECOND);
    if (message->kind != ARTEL__MESSAGE_REPORT && message->kind != ARTEL__MESSAGE_FINISHED) {
        message->step = m->step;
        message->hash = m->recent.hash[last];
        message->hash_step = m->recent.step[last];
    }
    size_t count = artel__message_encode(message, m->buffer.out, m->buffer.room);
    artel__ms_act(m,
                  &(artel__action){.kind = ARTEL__ACTION_SEND, .link = link, .bytes = m->buffer.out, .count = count});
}

void artel__ms_send(artel__membership *m, uint32_t task, artel__message *message)
{
    artel__ms_peer *p = &m->peer[task];
    if (p->link < 0) return;
    p->live.beat_at = m->now;
    artel__ms_send_on(m, p->link, message);
}

void artel__ms_send_all(artel__membership *m, artel__message *message)
{
    for (uint32_t t = 0; t < m->config.tasks; t++) artel__ms_send(m, t, message);
}

void artel__ms_probe(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    if (p->link < 0) return;
    if (p->live.pong >= p->live.ping) p->live.ping_since = m->now;
    p->live.ping = ++m->life.nonce;
    p->live.asked_at = m->now;
    artel__ms_send(m, task, &(artel__message){.kind = ARTEL__MESSAGE_STATUS, .ping = p->live.ping});
}

int64_t artel__ms_probe_time(const artel__membership *m)
{
    int64_t time = m->limits.probe;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        int64_t wanted = 2 * m->peer[t].live.trip;
        if (m->peer[t].link >= 0 && wanted > time) time = wanted;
    }
    return time < m->limits.appeal ? time : m->limits.appeal;
}

void artel__ms_greet(artel__membership *m, int link)
{
    artel__message_bytes facts = {(const uint8_t *)m->config.facts, (uint32_t)strlen(m->config.facts)};
    artel__ms_send_on(m, link,
                      &(artel__message){.kind = ARTEL__MESSAGE_HELLO,
                                        .protocol = ARTEL__PROTOCOL_VERSION,
                                        .life = m->config.incarnation,
                                        .sequence = m->life.sequence,
                                        .facts = facts});
}

void artel__ms_greet_all(artel__membership *m)
{
    for (uint32_t i = 0; i < m->config.links; i++)
        if (m->link[i].open) artel__ms_greet(m, (int)i);
}

void artel__ms_announce(artel__membership *m)
{
    uint32_t flags = artel__ms_flags(m);
    if (flags == m->said.flags && artel__generation_same(m->said.generation, m->group.id)) return;
    m->said.flags = flags;
    m->said.generation = m->group.id;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        if (artel__ms_running(m) && artel__ms_in_group(m, t) && t != artel__ms_lowest(m)) continue;
        artel__ms_send(m, t, &(artel__message){.kind = ARTEL__MESSAGE_STATUS});
    }
}

void artel__ms_close(artel__membership *m, int link)
{
    if (link < 0 || !m->link[link].open) return;
    m->link[link].open = false;
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_CLOSE, .link = link});
}
