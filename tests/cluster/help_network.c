/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network: connections that deliver in order or break, cuts that hold up, dialling. */
#include "help_simulator_impl.h"

int64_t sim_delay(sim *s)
{
    return s->o.delay_ns / 2 + (int64_t)(sim_random(s) % (uint64_t)(s->o.delay_ns + 1));
}

bool sim_there(const sim *s, const connection *c, int side)
{
    const process *p = &s->p[c->task[side]];
    return c->open[side] && p->alive && p->life == c->life[side];
}

static connection *make_connection(sim *s, uint32_t from, uint32_t to, bool data)
{
    if (s->connections == s->connection_capacity) {
        s->connection_capacity = s->connection_capacity ? 2 * s->connection_capacity : 64;
        s->connection = realloc(s->connection, s->connection_capacity * sizeof(connection *));
    }
    connection *c = calloc(1, sizeof *c);
    *c = (connection){.task = {from, to},
                      .life = {s->p[from].life, s->p[to].life},
                      .open = {true, true},
                      .link = {-1, -1},
                      .data = data};
    s->connection[s->connections++] = c;
    return c;
}

void sim_put_item(sim *s, uint32_t number, int side, item_kind kind, const void *bytes, size_t count)
{
    connection *c = s->connection[number];
    item *it = calloc(1, sizeof *it + count);
    *it = (item){.kind = kind, .count = count, .bytes = (uint8_t *)(it + 1), .ready = s->now + sim_delay(s)};
    if (count) memcpy(it->bytes, bytes, count);
    if (it->ready < c->last[side]) it->ready = c->last[side];
    c->last[side] = it->ready;
    if (c->tail[side])
        c->tail[side]->next = it;
    else
        c->head[side] = it;
    c->tail[side] = it;
    sim_schedule(s, it->ready - s->now, EVENT_DELIVER, c->task[side], number, (uint32_t)side);
}

item *sim_take_item(connection *c, int side)
{
    item *it = c->head[side];
    c->head[side] = it->next;
    if (!it->next) c->tail[side] = NULL;
    return it;
}

static int free_link(sim *s, uint32_t task)
{
    for (int i = 0; i < LINKS - 1; i++)
        if (s->p[task].link[i] < 0) return i;
    sim_accuse(s, "task %u has no link number left", (unsigned)task);
    return 0;
}

static bool spring(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    if (!s->trap.active || !s->trap.by_input || s->trap.task != task || p->inputs != s->trap.input) return false;
    s->trap.active = false;
    sim_kill(s, task, false);
    if (s->trap.restart) sim_schedule(s, s->trap.restart, EVENT_START, task, 0, 0);
    return true;
}

/* Before each input to a process: false when the process is killed here. */
bool sim_input(sim *s, uint32_t task)
{
    process *p = &s->p[task];
    p->inputs++;
    return !spring(s, task) && p->alive && !p->ended;
}

static void deliver_one(sim *s, uint32_t number, int side)
{
    connection *c = s->connection[number];
    uint32_t task = c->task[side], from = c->task[!side];
    process *p = &s->p[task];
    item *it = sim_take_item(c, side);
    if (sim_there(s, c, side) && !p->ended && sim_input(s, task)) {
        if (it->kind == ITEM_ACCEPT) {
            c->link[side] = free_link(s, task);
            p->link[c->link[side]] = (int)(2 * number + (uint32_t)side);
            artel__membership_link_up(p->m, s->now, c->link[side], -1);
        } else if (it->kind == ITEM_DATA) {
            data_message d;
            memcpy(&d, it->bytes, sizeof d);
            p->inbox[s->p[from].index][d.step % 2] = d;
            sim_check_exchange(s, task);
        } else if (it->kind == ITEM_BYTES) {
            artel__membership_receive(p->m, s->now, c->link[side], it->bytes, it->count);
        } else if (c->data) {
            c->open[side] = false;
            artel__membership_lost(p->m, s->now, s->p[from].index);
        } else {
            c->open[side] = false;
            p->link[c->link[side]] = -1;
            artel__membership_link_down(p->m, s->now, c->link[side]);
        }
    }
    free(it);
}

void sim_deliver(sim *s, uint32_t number, int side)
{
    connection *c = s->connection[number];
    uint32_t task = c->task[side];
    while (c->head[side] && c->head[side]->ready <= s->now && !s->cut[c->task[!side]][task] && !s->p[task].paused) {
        bool closed = c->head[side]->kind == ITEM_CLOSED, had = sim_there(s, c, side);
        bool lost = !had && !s->p[task].dark && sim_there(s, c, !side);
        deliver_one(s, number, side);
        if (lost && !closed) sim_put_item(s, number, !side, ITEM_CLOSED, NULL, 0); /* the kernel answers with a reset */
    }
}

/* After cuts and pauses end: whatever was held up. */
void sim_deliver_held(sim *s)
{
    for (uint32_t i = 0; i < s->connections; i++)
        for (int side = 0; side < 2; side++)
            if (s->connection[i]->head[side])
                sim_schedule(s, sim_delay(s), EVENT_DELIVER, s->connection[i]->task[side], i, (uint32_t)side);
}

void sim_send_on(sim *s, uint32_t task, int link, item_kind kind, const void *bytes, size_t count)
{
    int at = s->p[task].link[link];
    if (link == LINKS - 1) return; /* a stranger's */
    if (at < 0) {
        sim_accuse(s, "task %u sends on link %d, which is closed", (unsigned)task, link);
        return;
    }
    sim_put_item(s, (uint32_t)at / 2, !(at & 1), kind, bytes, count);
    if (s->o.twice && kind == ITEM_BYTES && sim_random(s) % 16 == 0)
        sim_put_item(s, (uint32_t)at / 2, !(at & 1), kind, bytes, count);
}

void sim_close_link(sim *s, uint32_t task, int link)
{
    if (link == LINKS - 1) s->p[task].stranger = false;
    int at = s->p[task].link[link];
    if (at < 0) return;
    connection *c = s->connection[at / 2];
    c->open[at & 1] = false;
    s->p[task].link[link] = -1;
    sim_put_item(s, (uint32_t)at / 2, !(at & 1), ITEM_CLOSED, NULL, 0);
}

/* A process listens at the address of its task; a twin is dialled by nobody. */
void sim_dial_answer(sim *s, uint32_t task, uint32_t target)
{
    process *p = &s->p[task], *q = &s->p[target];
    bool reached = q->alive && !q->ended && !s->cut[task][target] && !s->cut[target][task];
    if (!sim_input(s, task)) return;
    if (!reached) {
        artel__membership_dial_failed(p->m, s->now, target);
        return;
    }
    connection *c = make_connection(s, task, target, false);
    uint32_t number = s->connections - 1;
    c->link[0] = free_link(s, task);
    p->link[c->link[0]] = (int)(2 * number);
    sim_put_item(s, number, 1, ITEM_ACCEPT, NULL, 0);
    artel__membership_link_up(p->m, s->now, c->link[0], (int)target);
}

uint32_t sim_data_connection(sim *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = s->connections; i-- > 0;) {
        connection *c = s->connection[i];
        if (c->data && c->task[0] == from && c->task[1] == to && sim_there(s, c, 0) && c->open[1] &&
            c->life[1] == s->p[to].life)
            return i;
    }
    make_connection(s, from, to, true);
    return s->connections - 1;
}
