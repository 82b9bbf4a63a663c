/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the training, and what a machine's actions do to it. */
#include "help_simulator_impl.h"

static void set_timer(sim *s, uint32_t task, int64_t after)
{
    sim_schedule(s, after, EVENT_TRAINING, task, ++s->p[task].token, 0);
}

static void progressed(sim *s, uint32_t task, artel__member_phase phase)
{
    process *p = &s->p[task];
    if (s->trap.active && !s->trap.by_input && s->trap.task == task && s->trap.step == p->step &&
        s->trap.phase == phase) {
        s->trap.active = false;
        sim_kill(s, task, false);
        if (s->trap.restart) sim_schedule(s, s->trap.restart, EVENT_START, task, 0, 0);
        return;
    }
    int waiting = -1;
    for (uint32_t i = 0; i < p->members && phase == ARTEL__MEMBER_EXCHANGE; i++) {
        const data_message *d = &p->inbox[p->member[i].task][p->step % 2];
        bool here = artel__generation_same(d->generation, p->generation) && d->step == p->step;
        if (p->member[i].task != p->index && !here) waiting = (int)p->member[i].task;
    }
    artel__membership_progress progress = {.step = p->step, .hash = p->chain, .phase = phase, .waiting_for = waiting};
    artel__membership_progressed(p->m, s->now, &progress);
}

static void next_step(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    bool over = p->step >= s->o.steps || p->purpose == ARTEL__PURPOSE_SAVE;
    p->work = over ? WORK_FINISHED : WORK_COMPUTE;
    if (!over) progressed(s, task, ARTEL__MEMBER_COMPUTE);
    if (p->alive)
        set_timer(s, task, over ? 0 : s->o.compute_ns / 2 + (int64_t)(sim_random(s) % (uint64_t)(s->o.compute_ns + 1)));
}

/* All parts of the step are here: it will be applied. */
void sim_check_exchange(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    if (p->work != WORK_EXCHANGE || p->stopping) return;
    for (uint32_t i = 0; i < p->members; i++) {
        const data_message *d = &p->inbox[p->member[i].task][p->step % 2];
        if (p->member[i].task == p->index) continue;
        if (!artel__generation_same(d->generation, p->generation) || d->step != p->step) {
            progressed(s, task, ARTEL__MEMBER_EXCHANGE);
            return;
        }
    }
    p->work = WORK_APPLY;
    progressed(s, task, ARTEL__MEMBER_APPLY);
    if (p->alive) set_timer(s, task, s->o.compute_ns / 20);
}

static void exchange(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    data_message d = {p->generation, p->step, sim_shard_sum(p->chain, p->step, p->first, p->shards), p->shards};
    p->work = WORK_EXCHANGE;
    for (uint32_t i = 0; i < p->members; i++) {
        uint32_t to = p->member[i].task;
        if (to != p->index && s->p[to].alive)
            sim_put_item(s, sim_data_connection(s, task, to), 1, ITEM_DATA, &d, sizeof d);
    }
    sim_check_exchange(s, task);
}

static void apply(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    uint64_t sum = sim_shard_sum(p->chain, p->step, p->first, p->shards);
    uint32_t covered = p->shards;
    for (uint32_t i = 0; i < p->members; i++) {
        const data_message *d = &p->inbox[p->member[i].task][p->step % 2];
        if (p->member[i].task == p->index) continue;
        sum += d->sum;
        covered += d->shards;
    }
    if (covered != s->o.shards)
        sim_accuse(s, "task %u: %u of %u shards in step %llu", task, covered, s->o.shards, (unsigned long long)p->step);
    if (p->used && p->used != p->arithmetic) sim_accuse(s, "task %u goes on in another arithmetic", task);
    p->used = p->arithmetic;
    p->ledger[p->step]++;
    p->chain = sim_mix(p->chain, sum);
    p->step++;
    p->stepped_at = s->now;
    progressed(s, task, ARTEL__MEMBER_IDLE);
}

void sim_reset_state(sim *s, process *p)
{
    p->step = p->kept_step;
    p->chain = s->expected[p->kept_step];
    memset(p->ledger, 0, sizeof p->ledger);
    memset(p->ledger, 1, p->kept_step);
    p->used = s->held[p->index];
}

static void take_over(process *p, const process *q)
{
    p->step = q->step;
    p->chain = q->chain;
    p->used = q->used;
    memcpy(p->ledger, q->ledger, sizeof p->ledger);
}

static void say_stopped(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    const process *donor = &s->p[p->copy_from];
    if (p->work == WORK_COPY && s->o.copy_outruns && donor->step == p->copy_step) take_over(p, donor);
    if (p->work == WORK_COPY && s->o.copy_destroys) sim_reset_state(s, p);
    p->work = WORK_REST;
    p->stopping = false;
    if (sim_input(s, task)) artel__membership_stopped(p->m, s->now, p->step, p->chain);
}

/* The donor is at rest and serves as long as it lives; a paused one makes the copy hang. */
static void copy(sim *s, uint32_t task)
{
    process *p = &s->p[task], *q = &s->p[p->copy_from];
    bool cut = s->cut[task][p->copy_from] || s->cut[p->copy_from][task];
    if (q->alive && (q->paused || cut)) {
        set_timer(s, task, s->o.copy_ns);
        return;
    }
    if (s->copy_broken[task][p->copy_from] || !q->alive || q->ended || q->step != p->copy_step ||
        q->work != WORK_REST) {
        if (sim_input(s, task)) artel__membership_lost(p->m, s->now, p->copy_from);
        return;
    }
    take_over(p, q);
    p->work = WORK_REST;
    if (sim_input(s, task)) artel__membership_copied(p->m, s->now, p->chain);
}

static void save(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    p->work = WORK_WAIT;
    p->saves++;
    if (p->writer) s->writes++;
    if (p->writer && (p->step > s->o.steps || p->chain != s->expected[p->step]))
        sim_accuse(s, "task %u wrote a wrong digest", (unsigned)task);
    if (sim_input(s, task)) artel__membership_saved(p->m, s->now, p->writer ? p->chain : 0);
}

void sim_training(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    bool applied = p->work == WORK_APPLY;
    if (applied) apply(s, task);
    if (!p->alive) return;
    if (p->stopping) {
        say_stopped(s, task);
        return;
    }
    switch (p->work) {
    case WORK_COMPUTE: exchange(s, task); break;
    case WORK_APPLY: next_step(s, task); break;
    case WORK_COPY: copy(s, task); break;
    case WORK_SAVE: save(s, task); break;
    case WORK_FINISHED:
        p->work = WORK_WAIT;
        if (sim_input(s, task)) artel__membership_finished(p->m, s->now, p->step, p->chain);
        break;
    default: break;
    }
}

/* -- actions -- */

static void stop_training(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    bool applying = p->work == WORK_APPLY; /* it ends first; its timer runs */
    p->stopping = true;
    if (!applying) set_timer(s, task, (int64_t)(sim_random(s) % (uint64_t)(s->o.stop_ns + 1)));
}

static void start_training(sim *s, uint32_t task, const artel__action *a)
{
    process *p = &s->p[task];
    const artel__generation *g = a->generation;
    if (p->work != WORK_REST || p->stopping)
        sim_accuse(s, "task %u is started while it is not at rest", (unsigned)task);
    if (p->step != g->step)
        sim_accuse(s, "task %u is started at step %llu and holds %llu", (unsigned)task, (unsigned long long)g->step,
                   (unsigned long long)p->step);
    p->generation = g->id;
    p->purpose = g->purpose;
    p->arithmetic = g->arithmetic;
    p->members = g->members;
    memcpy(p->member, g->member, g->members * sizeof *g->member);
    p->first = g->member[g->rank].shard;
    p->shards = g->member[g->rank].shards;
    next_step(s, task);
}

static void end_process(sim *s, uint32_t task, const artel__action *a)
{
    process *p = &s->p[task];
    p->ended = true;
    p->ended_at = s->now;
    bool finished = a->cause->status == ARTEL_OK && p->work == WORK_WAIT && p->purpose == ARTEL__PURPOSE_TRAIN;
    p->status = a->cause->status;
    p->cause_task = a->cause->task;
    snprintf(p->text, sizeof p->text, "%s", a->cause->text);
    if (finished && (p->step != s->o.steps || p->chain != s->expected[s->o.steps]))
        sim_accuse(s, "task %u ended with a wrong state", (unsigned)task);
    for (uint32_t t = 0; t < s->o.steps && finished; t++)
        if (p->ledger[t] != 1)
            sim_accuse(s, "task %u used the samples of step %u %u times", (unsigned)task, (unsigned)t,
                       (unsigned)p->ledger[t]);
    for (int i = 0; i < LINKS; i++) sim_close_link(s, task, i);
}

static void note_line(sim *s, uint32_t task, const char *text)
{
    char line[SIM_LINE];
    size_t count = (size_t)snprintf(line, sizeof line, "%u: %s", (unsigned)task, text) + 1;
    sim_trace(s, task, "says: %s", text);
    while (s->said_count + count + 1 > s->said_capacity) {
        s->said_capacity = s->said_capacity ? 2 * s->said_capacity : 4096;
        s->said = realloc(s->said, s->said_capacity);
    }
    memcpy(s->said + s->said_count, line, count - 1);
    s->said_count += count;
    s->said[s->said_count - 1] = '\n';
    s->said[s->said_count] = '\0';
}

static void trace_message(sim *s, uint32_t task, const artel__action *a)
{
    artel__member member[SIM_MAX_TASKS];
    artel__message m = {.member = member, .member_capacity = SIM_MAX_TASKS};
    int at = s->p[task].link[a->link];
    if (at < 0 || artel__message_decode(a->bytes, a->count, &m)) return;
    sim_trace(s, task, "-> %u %s about %u:%04x flags %u gen %u ping %llu pong %llu reason %u subject %u",
              s->connection[at / 2]->task[!(at & 1)], artel__message_name(m.kind), m.about.counter,
              (unsigned)(m.about.incarnation & 0xffff), m.flags, m.generation.counter, (unsigned long long)m.ping,
              (unsigned long long)m.pong, m.reason, m.subject);
}

void sim_act(void *user, const artel__action *a)
{
    caller *c = user;
    sim *s = c->s;
    uint32_t task = c->task;
    process *p = &s->p[task];
    switch (a->kind) {
    case ARTEL__ACTION_OPEN:
        sim_schedule(
            s, s->cut[task][a->task] || s->cut[a->task][task] || s->p[a->task].dark ? SIM_SECOND : 2 * sim_delay(s),
            EVENT_DIAL, task, a->task, 0);
        break;
    case ARTEL__ACTION_CLOSE: sim_close_link(s, task, a->link); break;
    case ARTEL__ACTION_SEND:
        if (s->o.trace) trace_message(s, task, a);
        s->sent++;
        sim_send_on(s, task, a->link, ITEM_BYTES, a->bytes, a->count);
        break;
    case ARTEL__ACTION_STOP:
        sim_trace(s, task, "STOP at %llu", (unsigned long long)p->step);
        stop_training(s, task);
        break;
    case ARTEL__ACTION_COPY:
        sim_trace(s, task, "COPY step %llu from %u", (unsigned long long)a->step, (unsigned)a->task);
        p->work = WORK_COPY;
        p->copy_step = a->step;
        p->copy_from = a->task;
        set_timer(s, task, s->o.copy_ns);
        break;
    case ARTEL__ACTION_START: start_training(s, task, a); break;
    case ARTEL__ACTION_SAVE:
        p->work = WORK_SAVE;
        p->writer = a->writer;
        set_timer(s, task, s->o.save_ns * (1 + (int64_t)p->index));
        break;
    case ARTEL__ACTION_RELEASED: p->released++; break;
    case ARTEL__ACTION_REPORT: note_line(s, task, a->text); break;
    case ARTEL__ACTION_END:
        sim_trace(s, task, "END %s: %s", artel_status_name(a->cause->status), a->cause->text);
        end_process(s, task, a);
        break;
    default: break;
    }
}
