/* SPDX-License-Identifier: Apache-2.0 */
/* Without a generation, and with another one in sight.
 *
 * A task without a generation looks for one that runs and joins it; sees one being formed and waits to be asked; or,
 * where there is none, the lowest of those present begins one: at once when all tasks of the cluster are there, when
 * the time for that is over, or, when somebody has state from an earlier generation, with min_members.
 */
#include "cluster/membership_impl.h"

#include <string.h>

/* A later start of the lowest task must not make the others give up before it has begun. */
#define PATIENCE (2 * ARTEL__MS_SECOND)

/* Probes the members of a running generation, and asks its coordinator to be let in once all have answered. */
void artel__ms_court(artel__membership *m, artel__ms_other other)
{
    uint32_t reached = 0;
    uint64_t *silent = m->deciding.choice.set;
    if (m->now < m->lone.retry_at || m->now - m->lone.wish_at < ARTEL__MS_BACKOFF_MIN) return;
    bool again = m->now - m->lone.wish_at >= m->limits.again / 2;
    memset(silent, 0, m->words * sizeof *silent);
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        bool member = p->link >= 0 && artel__generation_same(p->said.generation, other.id);
        bool fresh = member && p->live.pong_at > p->live.bound_at - 1 && p->live.pong &&
                     m->now - p->live.pong_at < m->config.suspect_after_ns;
        if (member && (again || !fresh)) artel__ms_probe(m, t);
        reached += fresh;
        if (!fresh && t != m->config.self) artel__bit_set(silent, t);
    }
    m->lone.wish_at = m->now;
    if (reached == other.size && artel__ms_linked(m, other.lowest)) {
        if (artel__generation_same(m->lone.wish, other.id) && !again) return;
        m->lone.wish = other.id;
        artel__ms_send(m, other.lowest,
                       &(artel__message){.kind = ARTEL__MESSAGE_JOIN,
                                         .about = other.id,
                                         .reason = ARTEL__REASON_JOIN,
                                         .subject = m->config.self});
    } else if (!artel__ms_has_group(m) && m->now - m->lone.since > ARTEL__MS_SECOND &&
               artel__ms_due(m, &m->lone.wait_said)) {
        char names[ARTEL__MS_LINE / 2];
        artel__ms_list(m, silent, names, sizeof names);
        artel__ms_say(
            m, m->config.self, ARTEL__REASON_UNREACHABLE,
            "a generation of %u members runs; %u of them answer; to join it all must (no answer from some of %s)",
            (unsigned)other.size, (unsigned)reached, names);
    }
}

void artel__ms_on_join(artel__membership *m, uint32_t from, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[from];
    if (!artel__ms_has_group(m) || !artel__generation_same(message->about, m->group.id) || artel__ms_in_group(m, from))
        return;
    if (p->joining.active) return;
    p->joining.active = true;
    p->joining.since = m->now;
}

/* -- no generation in sight -- */

typedef struct present {
    uint32_t count; /* with this task */
    bool lower;     /* some of them lower than this task */
    bool has_run, forming;
    bool saving; /* somebody who holds a state of the run wants all to save it and end */
} present;

static present look(const artel__membership *m)
{
    present found = {.count = 1, .has_run = m->has_run, .saving = m->has_run && m->leave == ARTEL__MS_SAVE};
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        if (p->link < 0) continue;
        found.count++;
        found.lower = found.lower || t < m->config.self;
        found.has_run = found.has_run || (p->said.flags & ARTEL__FLAG_HAS_RUN);
        found.forming = found.forming || (p->said.flags & ARTEL__FLAG_FORMING);
        found.saving = found.saving || (~p->said.flags & (ARTEL__FLAG_HAS_RUN | ARTEL__FLAG_SAVING)) == 0;
    }
    return found;
}

/* Attempts that came to nothing do not begin the time for the first generation anew. */
static int64_t alone_for(const artel__membership *m)
{
    return m->now - (m->has_run ? m->lone.since : m->begun);
}

static void say_missing(artel__membership *m, bool last)
{
    char names[ARTEL__MS_LINE / 2];
    uint64_t *missing = m->deciding.choice.set;
    memset(missing, 0, m->words * sizeof *missing);
    for (uint32_t t = 0; t < m->config.tasks; t++)
        if (t != m->config.self && !artel__ms_linked(m, t)) artel__bit_set(missing, t);
    artel__ms_list(m, missing, names, sizeof names);
    long long seconds = (long long)(alone_for(m) / ARTEL__MS_SECOND);
    if (last)
        artel__ms_fail_here(m, ARTEL_ERROR_RUN, "no generation after %lld s (.wait_for_cluster); missing: %s", seconds,
                            names);
    else
        artel__ms_say(m, m->config.self, ARTEL__REASON_NONE, "waiting for %s, %lld s",
                      *names ? names : "the others to begin", seconds);
}

static bool may_begin(const artel__membership *m, const present *found)
{
    int64_t waited = alone_for(m);
    if (found->lower || found->forming || m->now < m->lone.retry_at) return false;
    if (found->count == m->config.tasks) return true;
    if (found->count < m->config.min_members && !found->saving) return false;
    if (found->has_run) return m->now - m->lone.settle >= m->limits.appeal;
    return found->count >= m->config.start_members && waited >= m->config.wait_for_cluster_ns;
}

/* Those that hold a state of the run beside a task that is to leave. */
typedef struct heirs {
    bool stays, asked; /* one of them goes on, and knows that this task does not; one has not said yet */
    bool lowest;       /* this task is the lowest of all that hold one and are here */
} heirs;

/* A question tells them that this task leaves, and the answer says whether they do: so of several that are told to
 * leave at once none relies on another that does not stay. */
static heirs ask_heirs(artel__membership *m)
{
    heirs found = {.lowest = true};
    if (m->leave_round == 0) m->leave_round = m->life.nonce + 1;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        if (t == m->config.self || p->link < 0 || !(p->said.flags & ARTEL__FLAG_HAS_RUN)) continue;
        if (p->live.ping < m->leave_round) artel__ms_probe(m, t);
        found.lowest = found.lowest && t > m->config.self;
        if (p->live.pong < m->leave_round)
            found.asked = true;
        else if (!(p->said.flags & ARTEL__FLAG_LEAVING))
            found.stays = true;
    }
    return found;
}

/* Whoever is to leave and is no member leaves when one that stays holds the state; of those that hold it and all leave
 * the lowest has them save it. Where all are to save, a task with a state joins the others for that, however long it
 * has slept. True: nothing else is to be done. */
static bool leave(artel__membership *m, const present *found)
{
    bool leaves = m->leave == ARTEL__MS_LEAVE;
    if (m->leave == ARTEL__MS_STAY) return false;
    heirs others = {.lowest = true};
    if (m->has_run && leaves && found->count > 1) others = ask_heirs(m);
    if (!m->has_run || others.stays)
        artel__ms_end(m, ARTEL_ERROR_PREEMPTED, false, "asked to leave while it was not a member");
    else if (found->count == 1 || (leaves && others.lowest && !others.asked))
        artel__ms_propose(m, ARTEL__REASON_SAVE, m->config.self);
    return leaves || m->course == ARTEL__MS_ENDED || found->count == 1;
}

/* The time for others is over, and they are too few, or not to be joined. */
static bool gave_up(const artel__membership *m, const present *found, bool other)
{
    if (alone_for(m) < m->config.wait_for_cluster_ns + (found->lower || other ? PATIENCE : 0)) return false;
    return other || found->lower || found->count < m->config.min_members ||
           (!found->has_run && found->count < m->config.start_members);
}

void artel__ms_lone(artel__membership *m)
{
    if (m->training.state == ARTEL__MS_GOING) artel__ms_stop(m);
    artel__ms_other other = artel__ms_find_other(m);
    present found = look(m);
    if (leave(m, &found)) return;
    if (found.count != m->lone.linked) m->lone.settle = m->now;
    m->lone.linked = found.count;
    if (gave_up(m, &found, other.id.counter != 0)) {
        if (m->has_run && m->leave == ARTEL__MS_SAVE && !other.id.counter)
            artel__ms_propose(m, ARTEL__REASON_SAVE, m->config.self); /* at least here */
        else
            say_missing(m, true);
        return;
    }
    if (other.id.counter) {
        artel__ms_court(m, other);
    } else if (may_begin(m, &found)) {
        artel__ms_propose(m, ARTEL__REASON_START, m->config.self);
        artel__ms_advance(m);
    } else if (artel__ms_due(m, &m->lone.wait_said)) {
        say_missing(m, false);
    }
}
