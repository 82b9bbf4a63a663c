/* SPDX-License-Identifier: Apache-2.0 */
/* Links: dialling, whether a peer lives, what every message says about its sender, and who handles it.
 *
 * One link a pair. The higher task dials the lower; if that does not succeed for a second the lower dials, too, so that
 * a second process with a low index is met by all. A link counts once the peer's HELLO has come (membership_greet.c).
 */
#include "cluster/membership_impl.h"

#include <stdio.h>

#define COUNTER_MAX (UINT32_MAX / 2) /* far from where counters would begin again */

uint64_t artel__membership_ask(artel__membership *m, int64_t now)
{
    bool going = artel__ms_enter(m, now);
    uint64_t asked = m->life.nonce;
    for (uint32_t t = 0; going && t < m->config.tasks; t++)
        if (t != m->config.self && artel__ms_in_group(m, t)) artel__ms_probe(m, t);
    return asked;
}

/* Who answers has heard of the generation before it was asked: both were said on one link. */
artel__membership_answer artel__membership_answered(const artel__membership *m, uint32_t task, uint64_t asked)
{
    const artel__ms_peer *p = &m->peer[task];
    if (m->course == ARTEL__MS_ENDED || p->link < 0 || !artel__ms_has_group(m) || !artel__ms_in_group(m, task))
        return ARTEL__MEMBERSHIP_GONE;
    if (p->live.pong <= asked) return ARTEL__MEMBERSHIP_ASKED;
    return artel__generation_same(p->said.generation, m->group.id) ? ARTEL__MEMBERSHIP_STILL : ARTEL__MEMBERSHIP_GONE;
}

/* -- dialling -- */

static void dial(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    if (p->link >= 0 || p->dial.waits || m->now < p->dial.at) return;
    if (task > m->config.self && m->now - (p->live.heard > m->begun ? p->live.heard : m->begun) < ARTEL__MS_UPHILL)
        return;
    for (uint32_t i = 0; i < m->config.links; i++)
        if (m->link[i].open && m->link[i].task == (int)task) return; /* its HELLO is on its way */
    p->dial.waits = true;
    artel__ms_back_off(m, p);
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_OPEN, .task = task});
}

void artel__membership_dial_failed(artel__membership *m, int64_t now, uint32_t task)
{
    if (!artel__ms_enter(m, now) || task >= m->config.tasks) return;
    m->peer[task].dial.waits = false;
}

/* -- loss -- */

bool artel__ms_link_lost(artel__membership *m, int link)
{
    int task = m->link[link].task;
    m->link[link].open = false;
    if (task < 0) return false;
    artel__ms_peer *p = &m->peer[task];
    if (p->rival.link == link) p->rival.link = -1;
    if (p->link != link) return false;
    p->link = -1;
    artel__ms_lose(m, (uint32_t)task, ARTEL__REASON_RESET);
    return true;
}

/* -- liveness -- */

/* Pairs that owe one another heartbeats: a coordinator and those who follow it. */
static bool is_watched(const artel__membership *m, uint32_t task)
{
    if (artel__ms_coordinates(m)) return m->peer[task].part.stage != ARTEL__MS_OUTSIDE;
    if (m->proposal.active) return m->proposal.coordinator == task;
    if (!artel__ms_has_group(m) || m->trouble.active || !artel__ms_in_group(m, task)) return false;
    return artel__ms_lowest(m) == m->config.self || artel__ms_lowest(m) == task;
}

static void check_rival(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    if (p->rival.link < 0 || m->now - p->rival.since < m->config.suspect_after_ns / 2) return;
    if (p->live.pong < p->rival.probe) {
        artel__ms_lose(m, task, ARTEL__REASON_RESTARTED);
        return;
    }
    artel__ms_close(m, p->rival.link);
    p->rival.link = -1;
}

static void check_peer(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    dial(m, task);
    if (p->link < 0) return;
    check_rival(m, task);
    if (p->link < 0) return;
    if (m->now - p->live.bound_at > ARTEL__MS_SECOND) p->dial.backoff = ARTEL__MS_BACKOFF_MIN;
    bool watched = is_watched(m, task);
    int64_t heard = p->live.heard > p->live.watched ? p->live.heard : p->live.watched;
    bool unanswered = p->live.ping > p->live.pong && m->now - p->live.ping_since > m->config.suspect_after_ns;
    if (!watched) p->live.watched = m->now;
    if ((watched && m->now - heard > m->config.suspect_after_ns) || unanswered)
        artel__ms_lose(m, task, ARTEL__REASON_SILENT);
    else if (watched && m->now - p->live.beat_at >= m->limits.heartbeat)
        artel__ms_send(m, task, &(artel__message){.kind = ARTEL__MESSAGE_STATUS});
}

/* Somebody connects and never says who it is. */
static void close_strangers(artel__membership *m)
{
    for (uint32_t i = 0; i < m->config.links; i++) {
        const artel__ms_link *link = &m->link[i];
        if (!link->open || m->now - link->since <= m->config.suspect_after_ns) continue;
        const artel__ms_peer *p = link->task >= 0 ? &m->peer[link->task] : NULL;
        if (!p || (p->link != (int)i && p->rival.link != (int)i)) artel__ms_close(m, (int)i);
    }
}

void artel__ms_link_tick(artel__membership *m)
{
    close_strangers(m);
    for (uint32_t t = 0; t < m->config.tasks && m->course != ARTEL__MS_ENDED; t++)
        if (t != m->config.self) check_peer(m, t);
}

/* -- receiving -- */

static void compare_hash(artel__membership *m, uint32_t task)
{
    const artel__ms_peer *p = &m->peer[task];
    if (!p->said.hash || artel__ms_lowest(m) != m->config.self) return;
    for (uint32_t i = 0; i < ARTEL__MS_RECENT; i++) {
        if (!m->recent.hash[i] || m->recent.step[i] != p->said.hash_step || m->recent.hash[i] == p->said.hash) continue;
        uint32_t with_it = 0, with_us = 0;
        for (uint32_t t = 0; t < m->config.tasks; t++) {
            if (!artel__ms_in_group(m, t) || m->peer[t].said.hash_step != p->said.hash_step) continue;
            with_it += m->peer[t].said.hash == p->said.hash;
            with_us += m->peer[t].said.hash == m->recent.hash[i];
        }
        uint32_t culprit = with_it > with_us + 1 ? m->config.self : task;
        artel__cause cause = {.status = ARTEL_ERROR_INTERNAL,
                              .task = culprit,
                              .incarnation = p->who.incarnation,
                              .step = p->said.hash_step};
        snprintf(cause.text, sizeof cause.text, "%.80s: its weights differ from those of %.80s after step %llu",
                 artel__ms_name(m, culprit), artel__ms_name(m, culprit == task ? m->config.self : task),
                 (unsigned long long)p->said.hash_step);
        artel__ms_fail_job(m, &cause);
        return;
    }
}

/* What every message says about its sender. */
static void absorb(artel__membership *m, uint32_t task, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[task];
    bool another = !artel__generation_same(p->said.generation, message->generation);
    p->live.heard = m->now;
    p->said.flags = message->flags;
    p->said.generation = message->generation;
    p->said.size = message->size;
    p->said.lowest = message->lowest;
    if (message->step != p->said.step || message->phase != (uint32_t)p->said.phase || !p->said.phase_since)
        p->said.phase_since = m->now - message->phase_ms * ARTEL__MS_MILLISECOND;
    p->said.step = message->step;
    p->said.phase = (artel__member_phase)message->phase;
    p->said.busy = message->busy;
    if (message->kind == ARTEL__MESSAGE_STATUS) {
        p->said.hash = message->hash;
        p->said.hash_step = message->hash_step;
    }
    if (message->counter > m->counter) m->counter = message->counter;
    if (another && p->joining.active && (p->said.flags & ARTEL__FLAG_RUNNING)) p->joining.active = false;
    bool same = artel__generation_same(message->generation, m->group.id);
    bool next = m->proposal.recorded && artel__generation_same(message->generation, m->next.id);
    if ((message->flags & ARTEL__FLAG_YOURS) && !same && !next && message->kind != ARTEL__MESSAGE_REFUSE &&
        !m->proposal.active)
        artel__ms_send(m, task,
                       &(artel__message){
                           .kind = ARTEL__MESSAGE_REFUSE, .about = message->generation, .reason = ARTEL__REASON_STALE});
    bool compare = same && artel__ms_running(m) && artel__ms_in_group(m, task);
    if (compare && message->kind == ARTEL__MESSAGE_STATUS) compare_hash(m, task);
    if (m->course != ARTEL__MS_ENDED && message->kind != ARTEL__MESSAGE_HELLO) artel__ms_compare(m, task, message);
}

static void on_status(artel__membership *m, uint32_t from, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[from];
    if (message->ping) artel__ms_send(m, from, &(artel__message){.kind = ARTEL__MESSAGE_STATUS, .pong = message->ping});
    if (message->pong > p->live.ping || message->pong <= p->live.pong) return;
    if (message->pong == p->live.ping && p->live.asked_at >= 0) p->live.trip = m->now - p->live.asked_at;
    p->live.pong = message->pong;
    p->live.pong_at = m->now;
    artel__ms_settle(m, from);
}

static void dispatch(artel__membership *m, uint32_t from, const artel__message *message)
{
    typedef void handler(artel__membership *, uint32_t, const artel__message *);
    static handler *const table[ARTEL__MESSAGE_KINDS] = {
        [ARTEL__MESSAGE_STATUS] = on_status,
        [ARTEL__MESSAGE_SUSPECT] = artel__ms_on_suspect,
        [ARTEL__MESSAGE_PROPOSE] = artel__ms_on_propose,
        [ARTEL__MESSAGE_REPORT] = artel__ms_on_report,
        [ARTEL__MESSAGE_DECLINE] = artel__ms_on_decline,
        [ARTEL__MESSAGE_RECORD] = artel__ms_on_record,
        [ARTEL__MESSAGE_READY] = artel__ms_on_ready,
        [ARTEL__MESSAGE_START] = artel__ms_on_start,
        [ARTEL__MESSAGE_REFUSE] = artel__ms_on_refuse,
        [ARTEL__MESSAGE_JOIN] = artel__ms_on_join,
        [ARTEL__MESSAGE_FINISHED] = artel__ms_on_finish,
        [ARTEL__MESSAGE_SAVE] = artel__ms_on_finish,
        [ARTEL__MESSAGE_SAVED] = artel__ms_on_finish,
        [ARTEL__MESSAGE_FAIL] = artel__ms_on_fail,
        [ARTEL__MESSAGE_END] = artel__ms_on_end,
        [ARTEL__MESSAGE_ENDED] = artel__ms_on_ended,
        [ARTEL__MESSAGE_ENTER] = artel__ms_on_shared,
        [ARTEL__MESSAGE_RELEASE] = artel__ms_on_shared,
        [ARTEL__MESSAGE_PUT] = artel__ms_on_shared,
        [ARTEL__MESSAGE_SET] = artel__ms_on_shared,
    };
    if (table[message->kind]) table[message->kind](m, from, message);
}

/* NULL, or why a message is not to be read further: it speaks of tasks that do not exist. Numbers that a later version
 * may have added become their neutral values. */
static const char *judge(const artel__membership *m, artel__message *message)
{
    if (message->task >= m->config.tasks) return "an unknown task";
    if (message->lowest >= m->config.tasks || message->subject >= m->config.tasks || message->size > m->config.tasks)
        return "it speaks of tasks that do not exist";
    if (message->counter > COUNTER_MAX || message->about.counter > COUNTER_MAX ||
        message->generation.counter > COUNTER_MAX)
        return "a generation that cannot be";
    if (message->phase >= ARTEL__MEMBER_PHASES) message->phase = ARTEL__MEMBER_IDLE;
    if (message->busy > 1001) message->busy = 0;
    if (message->reason >= ARTEL__REASONS) message->reason = ARTEL__REASON_NONE;
    return NULL;
}

bool artel__ms_receive(artel__membership *m, int link, const uint8_t *bytes, size_t count)
{
    artel__message message = {.member = m->buffer.member, .member_capacity = m->config.tasks};
    const char *wrong = artel__message_decode(bytes, count, &message);
    if (!wrong) wrong = judge(m, &message);
    if (wrong) {
        artel__ms_say(m, m->config.tasks, ARTEL__REASON_FACTS,
                      "a message was not understood (%s); its connection is closed", wrong);
        artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_CLOSE, .link = link});
        return artel__ms_link_lost(m, link);
    }
    if (message.kind == ARTEL__MESSAGE_HELLO) artel__ms_on_hello(m, link, &message);
    artel__ms_peer *p = &m->peer[message.task];
    bool bound = p->link == link && p->who.incarnation == message.incarnation;
    if (m->course != ARTEL__MS_ENDED && !bound) artel__ms_hear_rival(m, link, &message);
    if (m->course != ARTEL__MS_ENDED && bound) {
        absorb(m, message.task, &message);
        if (m->course != ARTEL__MS_ENDED && message.kind == ARTEL__MESSAGE_HELLO) artel__ms_invite(m, message.task);
        if (m->course != ARTEL__MS_ENDED) dispatch(m, message.task, &message);
    }
    return true;
}
