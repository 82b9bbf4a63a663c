/* SPDX-License-Identifier: Apache-2.0 */
/* The membership machine: creation, inputs, views.
 *
 * Every input notes the time, changes what it is about, and then lets consider() look at the whole: what is due
 * follows from the state and not from the order in which inputs came. Nothing is decided in the inputs themselves.
 */
#include "cluster/membership_impl.h"

#include <string.h>

#define WHERE "cluster membership"

/* -- creation -- */

static artel_status check(artel_context *ctx, const artel__membership_config *c)
{
    const char *wrong = NULL;
    if (c->tasks < 1 || c->tasks > ARTEL__MAX_TASKS || c->self >= c->tasks)
        wrong = "tasks and self";
    else if (!c->incarnation)
        wrong = "the incarnation";
    else if (c->links < 2 * c->tasks + 8 || c->links > 64 * ARTEL__MAX_TASKS)
        wrong = "links";
    else if (c->shards < 1 || c->shards > ARTEL__MAX_TASKS)
        wrong = "shards";
    else if (c->replicas < 1 || c->min_members < 1 || c->min_members > c->tasks)
        wrong = "replicas and min_members";
    else if (c->suspect_after_ns < 8 * ARTEL__MEMBERSHIP_TICK_NS || c->wait_for_cluster_ns < 0 ||
             c->collective_timeout_ns <= 0)
        wrong = "the time limits";
    else if (!c->facts || strlen(c->facts) > ARTEL__FACTS_MAX)
        wrong = "the facts";
    else if (!c->act || !c->name)
        wrong = "act and name";
    if (!wrong) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, WHERE, "", "%s: out of range", wrong);
}

static artel_status take(artel_context *ctx, size_t count, size_t size, void **out)
{
    return artel__calloc(ctx, count, size, WHERE, out);
}

static artel_status take_group(artel_context *ctx, const artel__membership *m, artel__ms_group *group)
{
    ARTEL_TRY(take(ctx, m->config.tasks, sizeof *group->member, (void **)&group->member));
    return take(ctx, m->words, sizeof *group->set, (void **)&group->set);
}

static artel_status take_all(artel_context *ctx, artel__membership *m)
{
    uint32_t n = m->config.tasks;
    m->buffer.room = artel__message_bound(n);
    ARTEL_TRY(take(ctx, n, sizeof *m->peer, (void **)&m->peer));
    ARTEL_TRY(take(ctx, m->config.links, sizeof *m->link, (void **)&m->link));
    ARTEL_TRY(take_group(ctx, m, &m->group));
    ARTEL_TRY(take_group(ctx, m, &m->next));
    ARTEL_TRY(take_group(ctx, m, &m->deciding.choice));
    ARTEL_TRY(take(ctx, (size_t)n * m->words, sizeof *m->deciding.reach, (void **)&m->deciding.reach));
    ARTEL_TRY(take(ctx, n, sizeof *m->deciding.candidate, (void **)&m->deciding.candidate));
    ARTEL_TRY(take(ctx, n, sizeof *m->deciding.order, (void **)&m->deciding.order));
    ARTEL_TRY(take(ctx, n, sizeof *m->buffer.member, (void **)&m->buffer.member));
    ARTEL_TRY(take(ctx, 1, m->buffer.room, (void **)&m->buffer.out));
    ARTEL_TRY(take(ctx, m->words, 8, (void **)&m->buffer.bits));
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++)
        ARTEL_TRY(take(ctx, n, sizeof(uint32_t), (void **)&m->barrier[i].seen));
    return ARTEL_OK;
}

artel_status artel__membership_create(artel_context *ctx, const artel__membership_config *config,
                                      artel__membership **out)
{
    ARTEL_TRY(check(ctx, config));
    artel__membership *m = NULL;
    ARTEL_TRY(take(ctx, 1, sizeof *m, (void **)&m));
    m->ctx = ctx;
    m->config = *config;
    m->words = (config->tasks + 63) / 64;
    artel_status status = take_all(ctx, m);
    if (status < 0) {
        artel__membership_destroy(m);
        return status;
    }
    m->life.incarnation = config->incarnation;
    m->limits.heartbeat = config->suspect_after_ns / 4;
    m->limits.probe = config->suspect_after_ns / 8;
    m->limits.stop = config->suspect_after_ns * 5;
    m->limits.appeal = config->suspect_after_ns / 2;
    m->limits.again = m->limits.appeal < ARTEL__MS_AGAIN_MAX ? m->limits.appeal : ARTEL__MS_AGAIN_MAX;
    m->step = config->step;
    m->hash = config->hash;
    m->arithmetic = config->arithmetic;
    m->now = m->begun = -1;
    m->training.waiting_for = -1;
    for (uint32_t t = 0; t < config->tasks; t++) {
        m->peer[t].link = m->peer[t].rival.link = -1;
        m->peer[t].dial.backoff = ARTEL__MS_BACKOFF_MIN;
    }
    *out = m;
    return ARTEL_OK;
}

void artel__membership_destroy(artel__membership *m)
{
    if (!m) return;
    artel_context *ctx = m->ctx;
    artel__ms_group *const group[] = {&m->group, &m->next, &m->deciding.choice};
    for (size_t i = 0; i < ARTEL__COUNT(group); i++) {
        artel__free(ctx, group[i]->member);
        artel__free(ctx, group[i]->set);
    }
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) artel__free(ctx, m->barrier[i].seen);
    void *const block[] = {m->peer,
                           m->link,
                           m->deciding.reach,
                           m->deciding.candidate,
                           m->deciding.order,
                           m->buffer.member,
                           m->buffer.out,
                           m->buffer.bits,
                           m};
    for (size_t i = 0; i < ARTEL__COUNT(block); i++) artel__free(ctx, block[i]);
}

/* -- time and the whole -- */

static void consider(artel__membership *m)
{
    if (m->course == ARTEL__MS_ENDED) return;
    if (m->course == ARTEL__MS_FAILING) {
        artel__ms_fail_tick(m);
        return;
    }
    artel__ms_held_tick(m);
    if (m->proposal.active)
        artel__ms_advance(m);
    else if (!artel__ms_has_group(m))
        artel__ms_lone(m);
    else if (m->trouble.active)
        artel__ms_regroup(m);
    else
        artel__ms_finish_tick(m);
    if (m->course != ARTEL__MS_ENDED) artel__ms_announce(m);
}

/* Training that has been in one local phase for too long will not come back. */
static void check_stuck(artel__membership *m)
{
    int64_t since = m->training.state == ARTEL__MS_STOPPING ? m->training.stop_since : m->training.phase_since;
    bool local = m->training.state == ARTEL__MS_STOPPING ||
                 (m->training.state == ARTEL__MS_GOING &&
                  (m->training.phase == ARTEL__MEMBER_COMPUTE || m->training.phase == ARTEL__MEMBER_APPLY));
    if (!local || m->now - since < m->config.collective_timeout_ns) return;
    artel__ms_fail_here(m, ARTEL_ERROR_RUN, "in phase %s of step %llu for %lld s (.collective_timeout)",
                        artel__member_phase_name(m->training.phase), (unsigned long long)m->step,
                        (long long)((m->now - since) / ARTEL__MS_SECOND));
}

/* A step whose exchange does not come on: the member that it waits for is probed, and named. */
static void check_exchange(artel__membership *m)
{
    int task = m->training.waiting_for;
    if (!artel__ms_running(m) || m->training.state != ARTEL__MS_GOING || m->training.phase != ARTEL__MEMBER_EXCHANGE)
        return;
    if (m->now - m->training.phase_since < m->limits.heartbeat || task < 0 || !artel__ms_in_group(m, (uint32_t)task))
        return;
    artel__ms_peer *p = &m->peer[task];
    if (m->now - p->live.beat_at >= m->limits.heartbeat) artel__ms_probe(m, (uint32_t)task);
    if (m->now - m->training.phase_since > ARTEL__MS_REPORT_EVERY && artel__ms_due(m, &m->lone.wait_said))
        artel__ms_say(m, (uint32_t)task, ARTEL__REASON_NONE, "step %llu waits for %s, in phase %s for %lld s",
                      (unsigned long long)m->step, artel__ms_name(m, (uint32_t)task),
                      artel__member_phase_name(p->said.phase),
                      (long long)((m->now - p->said.phase_since) / ARTEL__MS_SECOND));
}

void artel__membership_tick(artel__membership *m, int64_t now)
{
    if (!artel__ms_enter(m, now)) return;
    artel__ms_link_tick(m);
    check_exchange(m);
    artel__ms_shared_tick(m);
    check_stuck(m);
    consider(m);
}

/* -- links -- */

void artel__membership_link_up(artel__membership *m, int64_t now, int link, int task)
{
    if (!artel__ms_enter(m, now) || link < 0 || (uint32_t)link >= m->config.links || task >= (int)m->config.tasks)
        return;
    m->link[link] = (artel__ms_link){.open = true, .task = task, .dialled = task >= 0, .since = m->now};
    if (task >= 0) m->peer[task].dial.waits = false;
    if (task >= 0 && artel__ms_linked(m, (uint32_t)task))
        artel__ms_close(m, link); /* it has dialled, too, and was first */
    else
        artel__ms_greet(m, link);
    consider(m);
}

static bool is_open(const artel__membership *m, int link)
{
    return link >= 0 && (uint32_t)link < m->config.links && m->link[link].open;
}

void artel__membership_link_down(artel__membership *m, int64_t now, int link)
{
    if (!is_open(m, link) || !artel__ms_enter(m, now)) return;
    if (artel__ms_link_lost(m, link)) consider(m);
}

void artel__membership_receive(artel__membership *m, int64_t now, int link, const uint8_t *bytes, size_t count)
{
    if (!is_open(m, link) || !artel__ms_enter(m, now)) return;
    if (artel__ms_receive(m, link, bytes, count)) consider(m);
}

/* -- the training -- */

/* Remembers the latest hashes, to be compared with those of the others at the same step. */
static void note_hash(artel__membership *m, uint64_t step, uint64_t hash)
{
    if (!hash || !m->config.hash_every || step % m->config.hash_every) return;
    uint32_t last = (m->recent.next + ARTEL__MS_RECENT - 1) % ARTEL__MS_RECENT;
    if (m->recent.hash[last] && m->recent.step[last] == step) return;
    m->recent.step[m->recent.next] = step;
    m->recent.hash[m->recent.next] = hash;
    m->recent.next = (m->recent.next + 1) % ARTEL__MS_RECENT;
}

static void set_phase(artel__membership *m, artel__member_phase phase)
{
    m->training.phase = phase;
    m->training.phase_since = m->now;
}

void artel__membership_progressed(artel__membership *m, int64_t now, const artel__membership_progress *progress)
{
    if (!artel__ms_enter(m, now) || m->training.state == ARTEL__MS_REST) return;
    if (m->training.phase != progress->phase || m->step != progress->step) set_phase(m, progress->phase);
    m->step = progress->step;
    m->training.waiting_for = progress->waiting_for;
    if (progress->busy) m->training.busy = progress->busy;
    note_hash(m, progress->step, progress->hash);
}

void artel__membership_stopped(artel__membership *m, int64_t now, uint64_t step, uint64_t hash)
{
    if (!artel__ms_enter(m, now) || m->training.state != ARTEL__MS_STOPPING) return;
    artel__ms_move_training(m, ARTEL__MS_REST);
    m->step = step;
    m->hash = hash;
    if (step == m->copy.step && m->copy.arithmetic)
        m->arithmetic = m->copy.arithmetic; /* the copy was there, its word came late */
    m->training.waiting_for = -1;
    set_phase(m, ARTEL__MEMBER_IDLE);
    consider(m);
}

void artel__membership_copied(artel__membership *m, int64_t now, uint64_t hash)
{
    if (!artel__ms_enter(m, now) || !m->proposal.active || !m->proposal.recorded || m->proposal.ready ||
        m->training.state != ARTEL__MS_GOING)
        return;
    artel__ms_move_training(m, ARTEL__MS_REST);
    m->step = m->next.step;
    m->hash = hash;
    if (m->next.arithmetic) m->arithmetic = m->next.arithmetic;
    set_phase(m, ARTEL__MEMBER_IDLE);
    consider(m);
}

void artel__membership_finished(artel__membership *m, int64_t now, uint64_t step, uint64_t hash)
{
    if (!artel__ms_enter(m, now) || !artel__ms_running(m) || m->training.state != ARTEL__MS_GOING ||
        m->ending != ARTEL__MS_STEPPING)
        return;
    artel__ms_move_ending(m, ARTEL__MS_FINISHED);
    m->step = step;
    m->hash = hash;
    set_phase(m, ARTEL__MEMBER_IDLE);
    uint32_t lowest = artel__ms_lowest(m);
    if (lowest != m->config.self)
        artel__ms_send(
            m, lowest,
            &(artel__message){
                .kind = ARTEL__MESSAGE_FINISHED, .about = m->group.id, .step = step, .hash = hash, .hash_step = step});
    consider(m);
}

void artel__membership_saved(artel__membership *m, int64_t now, uint64_t digest)
{
    if (!artel__ms_enter(m, now) || m->ending != ARTEL__MS_WRITING || !artel__ms_running(m)) return;
    artel__ms_move_ending(m, ARTEL__MS_WRITTEN);
    if (digest) m->digest = digest;
    uint32_t lowest = artel__ms_lowest(m);
    if (lowest != m->config.self)
        artel__ms_send(m, lowest,
                       &(artel__message){.kind = ARTEL__MESSAGE_SAVED, .about = m->group.id, .target = digest});
    consider(m);
}

void artel__membership_lost(artel__membership *m, int64_t now, uint32_t task)
{
    if (!artel__ms_enter(m, now) || task >= m->config.tasks || task == m->config.self) return;
    bool copying = m->proposal.active && m->proposal.recorded && !m->proposal.ready;
    if (copying && artel__ms_coordinates(m)) {
        artel__ms_blame(m, m->config.self, task);
        artel__ms_propose(m, ARTEL__REASON_DATA, task);
    } else if (copying) {
        artel__ms_send(m, m->proposal.coordinator,
                       &(artel__message){.kind = ARTEL__MESSAGE_DECLINE,
                                         .about = m->proposal.id,
                                         .reason = ARTEL__REASON_DATA,
                                         .subject = task});
    } else if (artel__ms_running(m) && artel__ms_in_group(m, task)) {
        artel__ms_blame(m, m->config.self, task);
        artel__ms_break(m, ARTEL__REASON_DATA, task);
    }
    consider(m);
}

void artel__membership_renew(artel__membership *m, int64_t now)
{
    if (!artel__ms_enter(m, now)) return;
    if (artel__ms_running(m)) artel__ms_break(m, ARTEL__REASON_RENEW, m->config.self);
    consider(m);
}

void artel__membership_drain(artel__membership *m, int64_t now)
{
    if (!artel__ms_enter(m, now)) return;
    artel__ms_move_leave(m, m->config.save_on_preempt ? ARTEL__MS_SAVE : ARTEL__MS_LEAVE);
    consider(m);
}

/* -- views -- */

artel__membership_state artel__membership_state_of(const artel__membership *m)
{
    if (m->course == ARTEL__MS_ENDED) return ARTEL__MEMBERSHIP_ENDED;
    if (m->proposal.active) return m->proposal.recorded ? ARTEL__MEMBERSHIP_COPYING : ARTEL__MEMBERSHIP_FORMING;
    if (!artel__ms_has_group(m)) return ARTEL__MEMBERSHIP_JOINING;
    if (m->trouble.active) return ARTEL__MEMBERSHIP_SUSPECTING;
    return m->leave == ARTEL__MS_LEAVE ? ARTEL__MEMBERSHIP_LEAVING : ARTEL__MEMBERSHIP_RUNNING;
}

const artel__generation *artel__membership_generation(const artel__membership *m)
{
    return m->course != ARTEL__MS_ENDED && artel__ms_running(m) ? &m->view : NULL;
}

uint64_t artel__membership_incarnation(const artel__membership *m)
{
    return m->life.incarnation;
}

artel__peer_view artel__membership_peer(const artel__membership *m, uint32_t task)
{
    if (task >= m->config.tasks) return (artel__peer_view){0};
    if (task == m->config.self)
        return (artel__peer_view){true,
                                  artel__ms_in_group(m, task),
                                  m->step,
                                  m->config.memory,
                                  m->training.phase,
                                  m->now - m->training.phase_since,
                                  0,
                                  m->training.busy};
    const artel__ms_peer *p = &m->peer[task];
    return (artel__peer_view){
        .linked = p->link >= 0,
        .member = artel__ms_in_group(m, task),
        .step = p->said.step,
        .memory = p->part.memory,
        .phase = p->said.phase,
        .phase_ns = m->now - p->said.phase_since,
        .heard_ns = m->now - p->live.heard,
        .busy = p->said.busy,
    };
}
