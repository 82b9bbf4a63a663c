/* SPDX-License-Identifier: Apache-2.0 */
/* Greeting: who is at the other end of a link, which of several links is the peer's, and what its loss means.
 *
 * Of two links with one process the one dialled by the higher task stays, of two dialled by one task the newer: whoever
 * dials again has lost the first, with what was on it, so the change counts as a loss. A HELLO of another process while
 * the old link stands makes its link a rival: it gets the place when the old one breaks or leaves a probe unanswered;
 * if both answer, two processes have one index. (That the old one answers is not enough: a process that wakes reads its
 * connections in any order, and may read the HELLO of one that has died since.)
 */
#include "cluster/membership_impl.h"

#include <stdio.h>
#include <string.h>

/* A value between two places in a text, or what says that there is none. */
typedef struct value {
    const char *text;
    int length;
} value;

static value value_of(const char *text, size_t from, size_t to)
{
    return to > from ? (value){text + from, (int)(to - from)} : (value){"none", 4};
}

static const char own_name[] = "own=";

/* The value of a task's own fact in its list of facts. */
static void read_own(const char *facts, size_t count, char out[ARTEL__OWN_MAX + 1])
{
    size_t skip = sizeof own_name - 1;
    out[0] = '\0';
    for (size_t at = 0, length; at < count; at += length + 1) {
        const char *end = memchr(facts + at, '\n', count - at);
        length = end ? (size_t)(end - facts) - at : count - at;
        if (length >= skip && memcmp(facts + at, own_name, skip) == 0)
            snprintf(out, ARTEL__OWN_MAX + 1, "%.*s", (int)(length - skip), facts + at + skip);
    }
}

void artel__membership_own(const artel__membership *m, uint32_t task, char out[ARTEL__OWN_MAX + 1])
{
    out[0] = '\0';
    if (task == m->config.self)
        read_own(m->config.facts, strlen(m->config.facts), out);
    else if (task < m->config.tasks)
        memcpy(out, m->peer[task].own, ARTEL__OWN_MAX + 1);
}

/* Both lines state what their tasks are. */
static bool are_own(const char *here, size_t a, const char *there, size_t b)
{
    size_t skip = sizeof own_name - 1;
    return a >= skip && b >= skip && memcmp(here, own_name, skip) == 0 && memcmp(there, own_name, skip) == 0;
}

/* Who computes nothing itself says of the arithmetic of those who do what it knows: the first words of theirs. */
static bool are_words_of(const char *here, size_t a, const char *there, size_t b)
{
    static const char name[] = "arithmetic=";
    const char *longer = a > b ? here : there;
    size_t least = a > b ? b : a;
    return least >= sizeof name && memcmp(here, name, sizeof name - 1) == 0 && memcmp(here, there, least) == 0 &&
           (a == b || longer[least] == ' ');
}

/* The first fact that differs, as "name (there X, here Y)". False when all are equal, and when one side has none: that
 * is a task that has failed before its pass began, and comes only to say why. */
static bool find_difference(const artel__membership *m, artel__message_bytes facts, char *out, size_t size)
{
    const char *here = m->config.facts, *there = (const char *)facts.data;
    size_t left = facts.count;
    if (!*here || !left) return false;
    while (*here || left) {
        size_t a = strcspn(here, "\n"), b = 0;
        while (b < left && there[b] != '\n') b++;
        bool equal = (a == b && memcmp(here, there, a) == 0) || are_words_of(here, a, there, b);
        if (!equal && !are_own(here, a, there, b)) {
            const char *name = a ? here : there;
            size_t longest = a ? a : b, width = 0;
            while (width < longest && name[width] != '=') width++;
            size_t skip = width < longest ? width + 1 : width;
            bool same_name = a >= skip && b >= skip && memcmp(here, there, skip) == 0;
            value other = value_of(there, same_name ? skip : 0, b), own = value_of(here, same_name ? skip : 0, a);
            snprintf(out, size, "%.*s (there %.*s, here %.*s)", (int)width, name, other.length, other.text, own.length,
                     own.text);
            return true;
        }
        here += a + (here[a] == '\n');
        if (b < left) b++;
        there += b;
        left -= b;
    }
    return false;
}

/* -- bound and lost -- */

void artel__ms_bind(artel__membership *m, int link, const artel__message *hello)
{
    artel__ms_peer *p = &m->peer[hello->task];
    bool another = p->who.incarnation != hello->incarnation;
    p->who.incarnation = hello->incarnation;
    p->who.life = hello->life;
    p->who.sequence = hello->sequence;
    p->link = link;
    p->dialled = m->link[link].dialled;
    p->live.heard = p->live.watched = p->live.bound_at = m->now;
    p->live.ping = p->live.pong = 0;
    if (another) p->live.trip = 0; /* of another process, perhaps on another host */
    m->link[link].task = (int)hello->task;
    if (another && artel__ms_in_group(m, hello->task)) artel__ms_break(m, ARTEL__REASON_RESTARTED, hello->task);
    artel__ms_probe(m, hello->task); /* its HELLO, and this task's, may be older than what both have become since */
    if (m->course == ARTEL__MS_FAILING) artel__ms_tell_failure(m, hello->task);
}

void artel__ms_back_off(artel__membership *m, artel__ms_peer *p)
{
    p->dial.at = m->now + p->dial.backoff;
    p->dial.backoff = p->dial.backoff * 2 > ARTEL__MS_BACKOFF_MAX ? ARTEL__MS_BACKOFF_MAX : p->dial.backoff * 2;
}

static void clear_peer(artel__membership *m, artel__ms_peer *p)
{
    p->said.flags = p->said.size = 0;
    p->said.generation = (artel__generation_id){0};
    p->joining.active = false;
    p->member.finished_in = p->member.saved_in = (artel__generation_id){0};
    p->part.stage = ARTEL__MS_OUTSIDE;
    p->live.ping = p->live.pong = 0;
    p->live.heard = m->now;
}

void artel__ms_lose(artel__membership *m, uint32_t task, artel__reason reason)
{
    artel__ms_peer *p = &m->peer[task];
    bool in_record = m->proposal.active && m->proposal.recorded && artel__bit(m->next.set, task);
    bool coordinator = m->proposal.active && m->proposal.coordinator == task;
    int rival = p->rival.link;
    artel__ms_close(m, p->link);
    p->link = p->rival.link = -1;
    artel__ms_back_off(m, p);
    clear_peer(m, p);
    artel__ms_share_forget(m, task);
    if (m->now - p->joining.admitted_at < ARTEL__MS_PROBATION && p->joining.admitted_at) artel__ms_punish(m, task);
    if (artel__ms_in_group(m, task)) artel__ms_break(m, reason, task);
    if (coordinator)
        artel__ms_give_up(m, ARTEL__REASON_NONE);
    else if (artel__ms_coordinates(m) && in_record)
        artel__ms_propose(m, reason, task);
    if (rival >= 0 && m->link[rival].open) {
        artel__message hello = {.task = task,
                                .incarnation = p->rival.said.incarnation,
                                .life = p->rival.said.life,
                                .sequence = p->rival.said.sequence};
        artel__ms_bind(m, rival, &hello);
        artel__ms_invite(m, task);
    }
}

/* -- refused -- */

/* Ends a link for what its peer says; a task whose link it was is lost. */
static void drop(artel__membership *m, int link)
{
    int task = m->link[link].task;
    if (task >= 0 && m->peer[task].rival.link == link) m->peer[task].rival.link = -1;
    if (task >= 0 && m->peer[task].link == link)
        artel__ms_lose(m, (uint32_t)task, ARTEL__REASON_RESET);
    else
        artel__ms_close(m, link);
}

/* Whoever belongs to a job that has begun stays with it: only the other one ends. */
static void incompatible(artel__membership *m, int link, const artel__message *hello, artel__reason reason,
                         const char *text)
{
    bool there = hello->flags & (ARTEL__FLAG_RUNNING | ARTEL__FLAG_FORMING),
         here = artel__ms_has_group(m) || m->proposal.active;
    char line[ARTEL__TEXT_MAX + 1];
    snprintf(line, sizeof line, "%s: %s", artel__ms_name(m, hello->task), text);
    artel__ms_send_on(m, link,
                      &(artel__message){.kind = ARTEL__MESSAGE_REFUSE,
                                        .reason = reason,
                                        .subject = hello->task,
                                        .text = {(const uint8_t *)line, (uint32_t)strlen(line)}});
    drop(m, link);
    if (here || (there && hello->task != m->config.self && reason == ARTEL__REASON_DUPLICATE)) {
        artel__ms_say(m, hello->task, reason, "%s; refused", line);
    } else if (there) {
        artel__ms_fail_here(m, ARTEL_ERROR_INVALID, "%s", line);
    } else {
        artel__cause cause = {.status = ARTEL_ERROR_INVALID, .task = hello->task, .incarnation = hello->incarnation};
        memcpy(cause.text, line, sizeof cause.text);
        artel__ms_fail_job(m, &cause);
    }
}

/* -- of several links -- */

/* The process has given its incarnation up; its links stand. */
static void renounced(artel__membership *m, const artel__message *hello)
{
    artel__ms_peer *p = &m->peer[hello->task];
    int link = p->link;
    p->link = -1; /* so that it is not closed */
    artel__ms_lose(m, hello->task, ARTEL__REASON_RESTARTED);
    if (p->link < 0) artel__ms_bind(m, link, hello);
}

/* A second link, and which of the two lives is not known: both are asked. */
static void contest(artel__membership *m, int link, const artel__message *hello)
{
    artel__ms_peer *p = &m->peer[hello->task];
    if (p->rival.link >= 0 && p->rival.link != link) artel__ms_close(m, p->rival.link);
    p->rival.link = link;
    p->rival.said.incarnation = hello->incarnation;
    p->rival.said.life = hello->life;
    p->rival.said.sequence = hello->sequence;
    p->rival.since = m->now;
    p->rival.answered = false;
    artel__ms_probe(m, hello->task);
    p->rival.probe = p->live.ping;
    p->rival.ping = ++m->life.nonce;
    artel__ms_send_on(m, link, &(artel__message){.kind = ARTEL__MESSAGE_STATUS, .ping = p->rival.ping});
}

/* Both answer: of one process the second link is not needed; two processes must not have one index. */
void artel__ms_settle(artel__membership *m, uint32_t task)
{
    artel__ms_peer *p = &m->peer[task];
    int rival = p->rival.link;
    bool one = p->rival.said.life == p->who.life;
    if (rival < 0 || p->live.pong < p->rival.probe || (!one && !p->rival.answered)) return;
    p->rival.link = -1;
    if (one) {
        artel__ms_close(m, rival);
        return;
    }
    artel__message hello = {.task = task, .incarnation = p->rival.said.incarnation, .flags = p->said.flags};
    incompatible(m, rival, &hello, ARTEL__REASON_DUPLICATE, artel__reason_text(ARTEL__REASON_DUPLICATE));
}

void artel__ms_hear_rival(artel__membership *m, int link, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[message->task];
    if (p->rival.link != link || p->rival.said.incarnation != message->incarnation || message->pong != p->rival.ping)
        return;
    p->rival.answered = true;
    artel__ms_settle(m, message->task);
}

/* A HELLO from a task that is linked already. Who dials a second time has lost the first link, with what was on it; if
 * both have dialled, both sides keep the link dialled by the higher task. */
static void greet_linked(artel__membership *m, int link, const artel__message *hello)
{
    artel__ms_peer *p = &m->peer[hello->task];
    bool dialled = m->link[link].dialled, by_higher = dialled == (m->config.self > hello->task);
    if (hello->life != p->who.life && p->link == link) {
        drop(m, link); /* one process has one life */
        return;
    }
    if (hello->life != p->who.life) {
        contest(m, link, hello);
        return;
    }
    if (hello->sequence < p->who.sequence) return; /* its later HELLO follows on this link */
    if (hello->sequence > p->who.sequence) renounced(m, hello);
    if (p->link == link) return;
    if (p->rival.link == link) p->rival.link = -1;
    if (p->dialled != dialled && !by_higher) {
        contest(m, link, hello);
        return;
    }
    artel__ms_lose(m, hello->task, ARTEL__REASON_RESET);
    if (p->link < 0) artel__ms_bind(m, link, hello);
}

void artel__ms_on_hello(artel__membership *m, int link, const artel__message *hello)
{
    char text[ARTEL__TEXT_MAX - 40], difference[ARTEL__TEXT_MAX - 150];
    int known = m->link[link].task;
    if (hello->task >= m->config.tasks || !hello->incarnation) {
        drop(m, link);
        return;
    }
    if (known >= 0 && known != (int)hello->task) {
        drop(m, link); /* the address of one task is answered by another */
        if (artel__ms_due(m, &m->lone.wait_said))
            artel__ms_say(m, hello->task, ARTEL__REASON_FACTS, "%s answers as %s", artel__ms_name(m, (uint32_t)known),
                          artel__ms_name(m, hello->task));
        return;
    }
    m->link[link].task = (int)hello->task;
    if (hello->protocol != ARTEL__PROTOCOL_VERSION) {
        snprintf(text, sizeof text, "speaks version %u of the protocol, here version %d", (unsigned)hello->protocol,
                 ARTEL__PROTOCOL_VERSION);
        incompatible(m, link, hello, ARTEL__REASON_FACTS, text);
    } else if (find_difference(m, hello->facts, difference, sizeof difference)) {
        snprintf(text, sizeof text, "differs in %s from %.80s", difference, artel__ms_name(m, m->config.self));
        incompatible(m, link, hello, ARTEL__REASON_FACTS, text);
    } else if (hello->task == m->config.self) {
        if (hello->incarnation == m->life.incarnation)
            artel__ms_close(m, link);
        else
            incompatible(m, link, hello, ARTEL__REASON_DUPLICATE, artel__reason_text(ARTEL__REASON_DUPLICATE));
    } else {
        read_own((const char *)hello->facts.data, hello->facts.count, m->peer[hello->task].own);
        if (m->peer[hello->task].link >= 0)
            greet_linked(m, link, hello);
        else
            artel__ms_bind(m, link, hello);
    }
}
