/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated processes: their start, and what befalls them. */
#include "help_simulator_impl.h"

void sim_start_process(sim *s, uint32_t number, uint32_t index, const char *facts)
{
    process *p = &s->p[number];
    artel__membership_config config = ARTEL__MEMBERSHIP_CONFIG_INIT;
    if (p->alive) return;
    uint32_t life = p->life + 1;
    char kept[FACTS]; /* `facts` may be those of the process that was */
    snprintf(kept, sizeof kept, "%s", facts ? facts : "version=1\nmodel=a");
    if (p->m) {
        artel__membership_destroy(p->m);
        memset(p, 0, sizeof *p);
    }
    p->life = life;
    p->index = index;
    p->dark = false;
    p->alive = true;
    memcpy(p->facts, kept, sizeof kept);
    for (int i = 0; i < LINKS; i++) p->link[i] = -1;
    sim_reset_state(s, p);
    p->who = (caller){s, number};
    config.tasks = s->o.tasks;
    config.self = index;
    config.name = s->name;
    config.incarnation = sim_mix(sim_random(s), number) | 1;
    config.facts = p->facts;
    config.links = LINKS;
    config.shards = s->o.shards;
    config.replicas = s->o.replicas;
    config.min_members = s->o.min_members;
    if (s->o.start_members) config.start_members = s->o.start_members;
    config.save_on_preempt = s->o.save_on_preempt;
    config.hash_every = s->o.hash_every;
    config.wait_for_cluster_ns = s->o.wait_ns;
    if (s->o.suspect_ns) config.suspect_after_ns = s->o.suspect_ns;
    config.step = p->step;
    config.hash = p->chain;
    config.best = s->best[index];
    config.arithmetic = p->used;
    config.act = sim_act;
    config.user = &p->who;
    if (artel__membership_create(s->ctx, &config, &p->m) < 0) abort();
    sim_trace(s, number, "started");
    sim_schedule(s, 0, EVENT_TICK, number, 0, 0);
}

void sim_start_with(sim *s, uint32_t task, const char *facts)
{
    sim_start_process(s, task, task, facts);
}

void sim_start(sim *s, uint32_t task)
{
    sim_start_process(s, task, task, NULL);
}

void sim_start_from(sim *s, uint32_t task, uint32_t step)
{
    s->p[task].kept_step = step;
    sim_start(s, task);
}

void sim_set_arithmetic(sim *s, uint32_t task, uint32_t best, uint32_t held)
{
    s->best[task] = best;
    s->held[task] = held;
}

void sim_start_all(sim *s)
{
    for (uint32_t t = 0; t < s->o.tasks; t++) sim_start(s, t);
}

uint32_t sim_start_twin(sim *s, uint32_t task)
{
    uint32_t number = s->processes++;
    sim_start_process(s, number, task, NULL);
    return number;
}

void sim_kill(sim *s, uint32_t task, bool silent)
{
    process *p = &s->p[task];
    if (!p->alive) return;
    sim_trace(s, task, "killed at step %llu", (unsigned long long)p->step);
    for (uint32_t i = 0; i < s->connections; i++) {
        connection *c = s->connection[i];
        for (int side = 0; side < 2; side++)
            if (c->task[side] == task && sim_there(s, c, side)) {
                c->open[side] = false;
                if (!silent) sim_put_item(s, i, !side, ITEM_CLOSED, NULL, 0);
            }
    }
    p->alive = p->paused = false;
    p->dark = silent;
    p->deferred_count = 0;
}

void sim_pause(sim *s, uint32_t task)
{
    if (s->p[task].alive && !s->p[task].paused) sim_trace(s, task, "paused");
    if (s->p[task].alive) s->p[task].paused = true;
}

void sim_resume(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    if (!p->paused) return;
    sim_trace(s, task, "resumed");
    p->paused = false;
    for (uint32_t i = 0; i < p->deferred_count; i++) {
        p->deferred[i].at = s->now;
        sim_push(s, p->deferred[i]);
    }
    p->deferred_count = 0;
    sim_deliver_held(s);
}

void sim_cut(sim *s, uint32_t from, uint32_t to, bool cut)
{
    if (s->cut[from][to] != cut) sim_trace(s, from, "%s %u", cut ? "cut from" : "joined to", (unsigned)to);
    s->cut[from][to] = cut;
    if (!cut) sim_deliver_held(s);
}

void sim_reset(sim *s, uint32_t a, uint32_t b)
{
    sim_trace(s, a, "connections to %u reset", (unsigned)b);
    for (uint32_t i = 0; i < s->connections; i++) {
        connection *c = s->connection[i];
        if (!((c->task[0] == a && c->task[1] == b) || (c->task[0] == b && c->task[1] == a)) || c->data) continue;
        for (int side = 0; side < 2; side++) {
            if (!sim_there(s, c, side)) continue;
            for (item *it = c->head[side]; it; it = it->next)
                if (it->kind == ITEM_BYTES && sim_random(s) % 2)
                    it->kind = ITEM_CLOSED; /* what was on the way is lost from here on */
            sim_put_item(s, i, side, ITEM_CLOSED, NULL, 0);
        }
    }
}

void sim_lose_words(sim *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < s->connections; i++) {
        connection *c = s->connection[i];
        int side = c->task[1] == to;
        if (c->data || c->task[side] != to || c->task[!side] != from) continue;
        for (item *it = c->head[side]; it; it = it->next) it->kind = ITEM_CLOSED;
    }
}

void sim_heal(sim *s)
{
    memset(s->cut, 0, sizeof s->cut);
    for (uint32_t t = 0; t < s->processes; t++) sim_resume(s, t);
    sim_deliver_held(s);
}

void sim_break_copy(sim *s, uint32_t task, uint32_t donor)
{
    s->copy_broken[task][donor] = true;
}

void sim_drain(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    if (p->alive && !p->paused && !p->ended) artel__membership_drain(p->m, s->now);
}

void sim_fail(sim *s, uint32_t task, bool job, const char *text)
{
    process *p = &s->p[task];
    if (p->alive && !p->ended) artel__membership_fail(p->m, s->now, job, ARTEL_ERROR_RUN, text);
}

void sim_corrupt(sim *s, uint32_t task)
{
    s->p[task].chain ^= 1;
}

void sim_stranger(sim *s, uint32_t task, int kind)
{
    process *p = &s->p[task];
    uint8_t bytes[4096];
    artel__message status = {
        .kind = ARTEL__MESSAGE_STATUS, .task = (task + 1) % s->o.tasks, .incarnation = sim_random(s), .ping = 1};
    artel__message hello = {.kind = ARTEL__MESSAGE_HELLO, .task = s->o.tasks, .incarnation = 5, .facts = {bytes, 4}};
    size_t count =
        kind == 0 ? sim_random(s) % 64 : artel__message_encode(kind == 1 ? &hello : &status, bytes, sizeof bytes);
    for (size_t i = 0; kind == 0 && i < count; i++) bytes[i] = (uint8_t)sim_random(s);
    if (!p->alive || p->ended) return;
    int link = LINKS - 1;
    if (p->stranger) return;
    p->stranger = kind == 4;
    artel__membership_link_up(p->m, s->now, link, -1);
    if (kind < 3)
        artel__membership_receive(p->m, s->now, link, bytes, kind == 1 ? count - sim_random(s) % count : count);
    if (kind != 4) artel__membership_link_down(p->m, s->now, link);
}

bool sim_stranger_linked(const sim *s, uint32_t task)
{
    return s->p[task].stranger;
}

void sim_kill_at(sim *s, uint32_t task, uint64_t step, artel__member_phase phase, int64_t restart_ns)
{
    s->trap.active = true;
    s->trap.by_input = false;
    s->trap.task = task;
    s->trap.step = step;
    s->trap.phase = phase;
    s->trap.restart = restart_ns;
}

void sim_kill_at_input(sim *s, uint32_t task, uint32_t number, int64_t restart_ns)
{
    s->trap.active = s->trap.by_input = true;
    s->trap.task = task;
    s->trap.input = number;
    s->trap.restart = restart_ns;
}
