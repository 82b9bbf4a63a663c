/* SPDX-License-Identifier: Apache-2.0 */
/* From reports to the state that all share: report, record, copy, ready.
 *
 * The coordinator collects until nobody is pending; each pending task reports, declines, is lost, or is given up after
 * the limit for coming to rest. From the record on the set is fixed, and any loss begins again under the next counter.
 */
#include "cluster/membership_impl.h"

#include <stdio.h>
#include <string.h>

/* -- own report -- */

/* Everybody linked has answered since the proposal, or has had the time. */
static bool probes_done(const artel__membership *m)
{
    if (m->now >= m->proposal.probe_until) return true;
    for (uint32_t t = 0; t < m->config.tasks; t++)
        if (artel__ms_linked(m, t) && m->peer[t].live.ping >= m->proposal.round &&
            m->peer[t].live.pong < m->proposal.round)
            return false;
    return true;
}

static void note_reach(artel__membership *m, uint64_t *set)
{
    memset(set, 0, m->words * sizeof *set);
    artel__bit_set(set, m->config.self);
    for (uint32_t t = 0; t < m->config.tasks; t++)
        if (artel__ms_linked(m, t) && m->peer[t].live.pong >= m->proposal.round) artel__bit_set(set, t);
}

static void to_bytes(const artel__membership *m, const uint64_t *set, artel__message_bytes *out)
{
    uint32_t count = (m->config.tasks + 7) / 8;
    for (uint32_t i = 0; i < count; i++) m->buffer.bits[i] = (uint8_t)(set[i / 8] >> (i % 8 * 8));
    *out = (artel__message_bytes){m->buffer.bits, count};
}

static void from_bytes(const artel__membership *m, artel__message_bytes bytes, uint64_t *set)
{
    memset(set, 0, m->words * sizeof *set);
    for (uint32_t t = 0; t < m->config.tasks && t / 8 < bytes.count; t++)
        if (bytes.data[t / 8] >> (t % 8) & 1) artel__bit_set(set, t);
}

static void report(artel__membership *m)
{
    if (m->proposal.reported || m->training.state != ARTEL__MS_REST || !probes_done(m)) return;
    m->proposal.reported = true;
    uint64_t *set = m->deciding.reach + (size_t)m->config.self * m->words;
    note_reach(m, set);
    if (artel__ms_coordinates(m)) return;
    artel__message message = {.kind = ARTEL__MESSAGE_REPORT,
                              .about = m->proposal.id,
                              .step = m->step,
                              .hash = m->hash,
                              .replicas = m->config.replicas,
                              .memory = m->config.memory,
                              .arithmetic = m->arithmetic,
                              .best = m->config.best};
    to_bytes(m, set, &message.bits);
    artel__ms_send(m, m->proposal.coordinator, &message);
}

/* -- the coordinator's decision -- */

/* What this artel does not know it cannot agree to. */
static uint32_t known_arithmetic(uint32_t said)
{
    return said <= 1 + ARTEL__ARITHMETIC_TILES ? said : 0;
}

void artel__ms_on_report(artel__membership *m, uint32_t from, const artel__message *message)
{
    artel__ms_peer *p = &m->peer[from];
    if (!artel__ms_coordinates(m) || !artel__generation_same(message->about, m->proposal.id) ||
        p->part.stage != ARTEL__MS_PENDING)
        return;
    p->part.stage = ARTEL__MS_REPORTED;
    p->part.step = message->step;
    p->part.hash = message->hash;
    p->part.replicas = message->replicas;
    p->part.memory = message->memory;
    p->part.arithmetic = known_arithmetic(message->arithmetic);
    p->part.best = known_arithmetic(message->best);
    from_bytes(m, message->bits, m->deciding.reach + (size_t)from * m->words);
}

/* Who complains twice without a step in between is parted from the one it complains of, whatever the probes say. */
static void apply_blame(artel__membership *m)
{
    if (m->blame.times < 2 || !artel__ms_blame_stands(m)) return;
    artel__bit_clear(m->deciding.reach + (size_t)m->blame.a * m->words, m->blame.b);
}

static uint32_t gather(artel__membership *m, bool save)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        bool self = t == m->config.self;
        if (!self && p->part.stage != ARTEL__MS_REPORTED) continue;
        m->deciding.candidate[count++] = (artel__candidate){
            .task = t,
            .incarnation = self ? m->life.incarnation : p->who.incarnation,
            .step = self ? m->step : p->part.step,
            .hash = self ? m->hash : p->part.hash,
            .replicas = self ? m->config.replicas : p->part.replicas,
            .arithmetic = self ? m->arithmetic : p->part.arithmetic,
            .best = self ? m->config.best : p->part.best,
            .former = artel__ms_in_group(m, t),
            .leaving = !save && (self ? m->leave == ARTEL__MS_LEAVE : (p->said.flags & ARTEL__FLAG_LEAVING) != 0),
            .reach = m->deciding.reach + (size_t)t * m->words,
        };
    }
    return count;
}

/* Somebody asked that all save and end, or so many leave that too few would remain. */
static bool wants_save(const artel__membership *m)
{
    uint32_t stay = m->leave != ARTEL__MS_LEAVE, leave = m->leave == ARTEL__MS_LEAVE;
    bool save = m->leave == ARTEL__MS_SAVE;
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        if (t == m->config.self || p->part.stage != ARTEL__MS_REPORTED) continue;
        save = save || (p->said.flags & ARTEL__FLAG_SAVING);
        if (p->said.flags & ARTEL__FLAG_LEAVING)
            leave++;
        else
            stay++;
    }
    return save || (leave && stay < m->config.min_members);
}

/* The first generation of a job is for all, until the time for that is over. */
static uint32_t needed(const artel__membership *m)
{
    bool has_run = (artel__ms_flags(m) & ARTEL__FLAG_HAS_RUN) != 0;
    for (uint32_t t = 0; t < m->config.tasks; t++)
        if (m->peer[t].part.stage == ARTEL__MS_REPORTED && (m->peer[t].said.flags & ARTEL__FLAG_HAS_RUN))
            has_run = true;
    bool waited = m->now - m->begun >= m->config.wait_for_cluster_ns;
    return has_run ? m->config.min_members : waited ? m->config.start_members : m->config.tasks;
}

static void refuse_rest(artel__membership *m, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const artel__candidate *c = &m->deciding.candidate[i];
        if (c->chosen || c->leaving || c->task == m->config.self) continue;
        artel__ms_send(m, c->task,
                       &(artel__message){.kind = ARTEL__MESSAGE_REFUSE,
                                         .about = m->proposal.id,
                                         .reason = c->full ? ARTEL__REASON_FULL : ARTEL__REASON_UNREACHABLE});
        artel__ms_say(m, c->task, c->full ? ARTEL__REASON_FULL : ARTEL__REASON_UNREACHABLE, "%s is left out: %s",
                      artel__ms_name(m, c->task),
                      artel__reason_text(c->full ? ARTEL__REASON_FULL : ARTEL__REASON_UNREACHABLE));
        artel__ms_punish(m, c->task);
        m->peer[c->task].part.stage = ARTEL__MS_OUTSIDE;
    }
}

static void take_record(artel__membership *m, artel__ms_group *to, const artel__member *member, uint32_t members)
{
    if (member != to->member) memcpy(to->member, member, members * sizeof *member);
    to->members = members;
    memset(to->set, 0, m->words * sizeof *to->set);
    for (uint32_t i = 0; i < members; i++) artel__bit_set(to->set, member[i].task);
}

static void prepare(artel__membership *m);

static void send_record(artel__membership *m, uint32_t count)
{
    artel__message record = {.kind = ARTEL__MESSAGE_RECORD,
                             .about = m->next.id,
                             .purpose = m->next.purpose,
                             .target = m->next.step,
                             .arithmetic = m->next.arithmetic,
                             .best = m->next.best,
                             .member = m->next.member,
                             .members = m->next.members};
    for (uint32_t i = 0; i < count; i++) {
        const artel__candidate *c = &m->deciding.candidate[i];
        if (c->task != m->config.self && (c->chosen || c->leaving)) artel__ms_send(m, c->task, &record);
        if (c->chosen) m->peer[c->task].part.since = m->now;
    }
}

/* The first two that reported and do not reach each other; "": none. */
static void name_pair(const artel__membership *m, uint32_t count, char *out, size_t size)
{
    out[0] = '\0';
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = a + 1; b < count; b++) {
            const artel__candidate *x = &m->deciding.candidate[a], *y = &m->deciding.candidate[b];
            if (artel__bit(x->reach, y->task) && artel__bit(y->reach, x->task)) continue;
            snprintf(out, size, "%.100s and %.100s do not reach each other", artel__ms_name(m, x->task),
                     artel__ms_name(m, y->task));
            return;
        }
    }
}

/* The time for the first generation is over, and those that are here cannot be one. */
static bool gave_up_waiting(artel__membership *m, const char *pair)
{
    if (m->has_run || !pair[0] || m->now - m->begun < m->config.wait_for_cluster_ns) return false;
    artel__cause cause = {.status = ARTEL_ERROR_RUN, .task = m->config.self, .incarnation = m->life.incarnation};
    snprintf(cause.text, sizeof cause.text, "no generation after %lld s (.wait_for_cluster): %s",
             (long long)((m->now - m->begun) / ARTEL__MS_SECOND), pair);
    artel__ms_fail_job(m, &cause);
    return true;
}

/* Too few may go on: all wait, with their state, until more are there. */
static void wait_for_more(artel__membership *m, const artel__choice *choice, uint32_t count)
{
    if (choice->full && !m->has_run) {
        artel__cause cause = {
            .status = ARTEL_ERROR_INVALID, .task = m->config.self, .incarnation = m->life.incarnation};
        snprintf(cause.text, sizeof cause.text,
                 "the tasks have more replicas than there are virtual shards, %u; give more .shards, or start fewer "
                 "tasks or replicas",
                 (unsigned)m->config.shards);
        artel__ms_fail_job(m, &cause);
        return;
    }
    char pair[ARTEL__MS_LINE / 2];
    name_pair(m, count, pair, sizeof pair);
    if (gave_up_waiting(m, pair)) return;
    if (m->lone.few_said == 0)
        m->lone.few_said = m->begun ? m->begun : 1; /* at first they are still connecting with one another */
    uint32_t need = needed(m);
    artel__ms_give_up(m, ARTEL__REASON_TOO_FEW);
    artel__ms_set_lone(m);
    if (m->has_run || artel__ms_due(m, pair[0] ? &m->lone.few_said : &m->lone.wait_said))
        artel__ms_say(m, m->config.self, ARTEL__REASON_TOO_FEW,
                      "%u of %u tasks reach one another, %u are needed; waiting%s%s", (unsigned)choice->members,
                      (unsigned)count, (unsigned)need, pair[0] ? ": " : "", pair);
    /* At the beginning tasks are still connecting with one another. */
    m->lone.retry_at = m->now + (m->has_run ? m->limits.again : m->limits.again / 4);
}

static void conflict(artel__membership *m, const artel__choice *choice)
{
    artel__cause cause = {.status = m->has_run ? ARTEL_ERROR_INTERNAL : ARTEL_ERROR_INVALID,
                          .task = choice->culprit,
                          .step = choice->conflict_step};
    cause.incarnation =
        choice->culprit == m->config.self ? m->life.incarnation : m->peer[choice->culprit].who.incarnation;
    snprintf(cause.text, sizeof cause.text, "%.80s: its weights differ from those of %.80s at step %llu",
             artel__ms_name(m, choice->culprit), artel__ms_name(m, choice->accuser),
             (unsigned long long)choice->conflict_step);
    artel__ms_fail_job(m, &cause);
}

/* A linked member of the old generation takes part in another proposal. */
static bool forming_elsewhere(const artel__membership *m)
{
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        const artel__ms_peer *p = &m->peer[t];
        if (artel__ms_in_group(m, t) && p->link >= 0 && p->part.stage == ARTEL__MS_OUTSIDE &&
            (p->said.flags & ARTEL__FLAG_FORMING))
            return true;
    }
    return false;
}

/* Members of the generation before that are on this side of whatever cut there is: those chosen, and those that leave
 * in order. */
static uint32_t count_here(const artel__membership *m, const artel__choice *choice, uint32_t count)
{
    uint32_t here = choice->members;
    for (uint32_t i = 0; i < count; i++) here += m->deciding.candidate[i].leaving && m->deciding.candidate[i].former;
    return here;
}

static void decide(artel__membership *m)
{
    artel__choice choice;
    bool save = wants_save(m);
    apply_blame(m);
    uint32_t count = gather(m, save);
    artel__membership_choose(&(artel__choice_request){.candidate = m->deciding.candidate,
                                                      .count = count,
                                                      .coordinator = m->config.self,
                                                      .shards = m->config.shards,
                                                      .turn = m->proposal.id.counter,
                                                      .order = m->deciding.order,
                                                      .member = m->deciding.choice.member},
                             &choice);
    if (choice.conflict) {
        conflict(m, &choice);
        return;
    }
    /* Much smaller than before: this side may be the one that is cut off. Others get a moment to come back, or, where
     * members follow another coordinator, the time to begin, so that this task sees it and joins. */
    bool small = artel__ms_has_group(m) && 2 * count_here(m, &choice, count) < m->group.members;
    if (small && m->now - m->proposal.since < (forming_elsewhere(m) ? m->limits.stop : m->limits.appeal)) return;
    artel__ms_other other = artel__ms_find_other(m);
    if (other.id.counter &&
        (other.size > choice.members || (other.size == choice.members && other.lowest < m->config.self))) {
        artel__ms_give_up(m, ARTEL__REASON_WITHDRAWN);
        artel__ms_renounce(m);
        return;
    }
    if (choice.members < (save ? 1 : needed(m))) {
        wait_for_more(m, &choice, count);
        return;
    }
    take_record(m, &m->next, m->deciding.choice.member, choice.members);
    m->next.id = m->proposal.id;
    m->next.purpose = save ? ARTEL__PURPOSE_SAVE : ARTEL__PURPOSE_TRAIN;
    m->next.step = choice.step;
    m->next.arithmetic = choice.arithmetic;
    m->next.best = choice.best;
    m->proposal.recorded = true;
    refuse_rest(m, count);
    send_record(m, count);
    prepare(m);
}

/* -- copying -- */

/* This task's part of the record: to copy, to serve, or to be ready. */
static void prepare(artel__membership *m)
{
    const artel__ms_group *g = &m->next;
    m->proposal.ready = false;
    for (uint32_t i = 0; i < g->members; i++) {
        const artel__member *one = &g->member[i];
        if (one->donor == 1 + m->config.self)
            artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_SERVE, .task = one->task, .step = g->step});
        if (one->task != m->config.self || !one->donor) continue;
        m->copy.step = g->step;
        m->copy.arithmetic = g->arithmetic;
        artel__ms_move_training(m, ARTEL__MS_GOING);
        m->training.phase = ARTEL__MEMBER_COPY;
        m->training.phase_since = m->now;
        artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_COPY, .task = one->donor - 1, .step = g->step});
    }
}

static void become_ready(artel__membership *m)
{
    bool member = artel__bit(m->next.set, m->config.self);
    if (m->proposal.ready || m->training.state != ARTEL__MS_REST || (member && m->step != m->next.step)) return;
    m->proposal.ready = true;
    if (artel__ms_coordinates(m)) return;
    artel__ms_share(m, m->proposal.coordinator);
    artel__ms_send(m, m->proposal.coordinator, &(artel__message){.kind = ARTEL__MESSAGE_READY, .about = m->next.id});
}

/* A record must name existing tasks in order, itself sound; else the coordinator is not to be trusted with more. */
static bool sound(const artel__membership *m, const artel__message *message)
{
    uint32_t shard = 0;
    if (message->arithmetic != known_arithmetic(message->arithmetic) ||
        message->best != known_arithmetic(message->best))
        return false;
    for (uint32_t i = 0; i < message->members; i++) {
        const artel__member *one = &message->member[i];
        if (one->task >= m->config.tasks || (i && one->task <= message->member[i - 1].task)) return false;
        if (one->donor > m->config.tasks || one->donor == 1 + one->task) return false;
        if (one->shard != shard || one->shards > m->config.shards - shard) return false;
        if (one->task == m->config.self && one->incarnation != m->life.incarnation) return false;
        if (one->task == m->config.self && one->donor == 0 && message->target != m->step) return false;
        shard += one->shards;
    }
    return shard == m->config.shards;
}

void artel__ms_on_record(artel__membership *m, uint32_t from, const artel__message *message)
{
    if (!m->proposal.active || m->proposal.coordinator != from ||
        !artel__generation_same(message->about, m->proposal.id))
        return;
    if (m->proposal.recorded || !m->proposal.reported || !sound(m, message)) return;
    take_record(m, &m->next, message->member, message->members);
    m->next.id = message->about;
    m->next.purpose = message->purpose == ARTEL__PURPOSE_SAVE ? ARTEL__PURPOSE_SAVE : ARTEL__PURPOSE_TRAIN;
    m->next.step = message->target;
    m->next.arithmetic = message->arithmetic;
    m->next.best = message->best;
    m->proposal.recorded = true;
    if (!artel__bit(m->next.set, m->config.self) && m->leave != ARTEL__MS_LEAVE) {
        artel__ms_give_up(m, ARTEL__REASON_NONE);
        artel__ms_renounce(m);
        return;
    }
    prepare(m);
}

void artel__ms_on_ready(artel__membership *m, uint32_t from, const artel__message *message)
{
    if (!artel__ms_coordinates(m) || !m->proposal.recorded || !artel__generation_same(message->about, m->proposal.id))
        return;
    if (artel__bit(m->next.set, from)) m->peer[from].part.stage = ARTEL__MS_READY;
}

/* -- limits -- */

/* Who keeps the proposal waiting is named, and given up in the end. True when somebody does. */
static bool await(artel__membership *m, bool copying)
{
    bool waiting = false;
    int64_t limit = copying ? m->config.collective_timeout_ns : m->limits.stop;
    uint64_t *set = m->deciding.choice.set;
    memset(set, 0, m->words * sizeof *set);
    for (uint32_t t = 0; t < m->config.tasks; t++) {
        artel__ms_peer *p = &m->peer[t];
        bool missing = copying ? artel__bit(m->next.set, t) && t != m->config.self && p->part.stage != ARTEL__MS_READY
                               : p->part.stage == ARTEL__MS_PENDING;
        if (missing && m->now - p->part.since > limit) {
            artel__ms_send(m, t,
                           &(artel__message){.kind = ARTEL__MESSAGE_REFUSE,
                                             .about = m->proposal.id,
                                             .reason = ARTEL__REASON_STUCK,
                                             .subject = t});
            artel__ms_punish(m, t);
            p->part.stage = ARTEL__MS_OUTSIDE;
            if (copying) artel__ms_propose(m, ARTEL__REASON_STUCK, t);
            return true;
        }
        if (missing) artel__bit_set(set, t);
        waiting = waiting || missing;
    }
    if (waiting && m->now - m->proposal.since > ARTEL__MS_REPORT_EVERY && artel__ms_due(m, &m->lone.wait_said)) {
        char names[ARTEL__MS_LINE / 2];
        artel__ms_list(m, set, names, sizeof names);
        artel__ms_say(m, m->config.self, ARTEL__REASON_NONE, "the new generation waits for %s %s", names,
                      copying ? "to copy the state" : "to come to rest");
    }
    return waiting;
}

void artel__ms_advance(artel__membership *m)
{
    report(m);
    if (m->proposal.recorded) become_ready(m);
    if (!artel__ms_coordinates(m)) {
        /* A coordinator that lives and does nothing is passed over. */
        bool late = !m->proposal.recorded && m->now - m->proposal.since > 3 * m->limits.stop;
        if (late) m->peer[m->proposal.coordinator].member.passive_until = m->now + m->limits.stop;
        if (late) artel__ms_give_up(m, ARTEL__REASON_NONE);
        return;
    }
    if (!m->proposal.recorded) {
        if (!await(m, false) && m->proposal.reported) decide(m);
        if (m->course == ARTEL__MS_ENDED || !m->proposal.active || !m->proposal.recorded) return;
        become_ready(m);
    }
    if (m->proposal.recorded && m->proposal.ready && !await(m, true) && m->proposal.recorded) artel__ms_start_all(m);
}
