/* SPDX-License-Identifier: Apache-2.0 */
/* Events, the network, and faults. */
#include "help_world_impl.h"
#include "ps/log_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t world_draw(world *w, uint64_t below)
{
    w->random += 0x9e3779b97f4a7c15u;
    uint64_t z = w->random;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return below ? (z ^ z >> 31) % below : 0;
}

void world_fail(world *w, const char *format, ...)
{
    if (w->wrong[0]) return;
    va_list args;
    va_start(args, format);
    vsnprintf(w->wrong, sizeof w->wrong, format, args);
    va_end(args);
}

/* -- events -- */

static bool before(const event *a, const event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

event *world_post(world *w, int64_t at, event_kind kind, uint32_t task)
{
    event *e = calloc(1, sizeof *e);
    if (w->events == w->room) w->heap = realloc(w->heap, (w->room = w->room ? 2 * w->room : 64) * sizeof *w->heap);
    if (!e || !w->heap) abort();
    *e = (event){.at = at, .order = w->order++, .kind = kind, .task = task, .life = w->process[task].life};
    size_t i = w->events++;
    for (; i > 0 && before(e, w->heap[(i - 1) / 2]); i = (i - 1) / 2) w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
    return e;
}

static event *take(world *w)
{
    event *first = w->heap[0], *last = w->heap[--w->events];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < w->events; i = child) {
        if (child + 1 < w->events && before(w->heap[child + 1], w->heap[child])) child++;
        if (!before(w->heap[child], last)) break;
        w->heap[i] = w->heap[child];
    }
    if (w->events) w->heap[i] = last;
    return first;
}

/* -- network -- */

static void connect_pair(world *w, uint32_t a, uint32_t b)
{
    uint64_t link = ++w->order;
    w->link[a][b] = w->link[b][a] = link;
    for (int i = 0; i < 2; i++) {
        uint32_t at = i ? b : a, other = i ? a : b;
        event *e = world_post(w, w->now + (int64_t)(20000 + world_draw(w, 300000)), EVENT_LINK_UP, at);
        e->from = other;
        e->link = link;
        e->a = w->process[other].life;
    }
}

static void break_pair(world *w, uint32_t a, uint32_t b, bool silent)
{
    w->link[a][b] = w->link[b][a] = 0;
    for (int i = 0; i < 2 && !silent; i++) {
        event *e = world_post(w, w->now + (int64_t)(10000 + world_draw(w, 300000)), EVENT_LINK_DOWN, i ? b : a);
        e->from = i ? a : b;
    }
}

/* Bytes that arrive in order on their plane, if their connection lives and is not cut then. */
void world_send(world *w, int plane, uint32_t from, uint32_t to, const uint8_t *bytes, size_t count)
{
    if (!w->link[from][to] || w->cut[from][to] || count > EVENT_BYTES) return;
    if (w->options.lossy && !w->faults_over && world_draw(w, 200) == 0) return;
    int64_t at = w->now + (int64_t)(20000 + world_draw(w, 400000)), *busy = &w->busy_until[plane][from][to];
    if (at <= *busy) at = *busy + 1;
    *busy = at;
    event *e = world_post(w, at, plane ? EVENT_DATA : EVENT_CONTROL, to);
    e->from = from;
    e->link = w->link[from][to];
    e->count = (uint32_t)count;
    e->bytes = malloc(count ? count : 1);
    if (!e->bytes) abort();
    memcpy(e->bytes, bytes, count);
}

/* -- processes -- */

void world_start(world *w, uint32_t task)
{
    process *p = &w->process[task];
    if (p->alive) return;
    p->alive = true;
    p->life = ++w->lives * 0x1000193 + task;
    if (w->options.trace) printf("%9.3f task %u starts\n", (double)w->now / 1e6, task);
    driver_begin(w, task);
    world_post(w, w->now, EVENT_TICK, task);
    for (uint32_t t = 0; t < w->tasks; t++)
        if (t != task && w->process[t].alive) connect_pair(w, task, t);
}

void world_start_all(world *w)
{
    for (uint32_t t = 0; t < w->tasks; t++) world_start(w, t);
}

void world_kill(world *w, uint32_t task, bool silent)
{
    process *p = &w->process[task];
    if (!p->alive) return;
    p->alive = false;
    p->kill_at = 0;
    w->sum.deaths++;
    if (w->options.trace) printf("%9.3f task %u is killed%s\n", (double)w->now / 1e6, task, silent ? " silently" : "");
    driver_end(w, task);
    for (uint32_t t = 0; t < w->tasks; t++)
        if (w->link[task][t]) break_pair(w, task, t, silent);
}

void world_cut(world *w, uint32_t from, uint32_t to, bool cut)
{
    w->cut[from][to] = cut;
}

void world_heal(world *w)
{
    if (w->options.trace) printf("%9.3f all is healed\n", (double)w->now / 1e6);
    for (uint32_t a = 0; a < w->tasks; a++)
        for (uint32_t b = 0; b < a; b++) {
            bool was = w->cut[a][b] || w->cut[b][a];
            w->cut[a][b] = w->cut[b][a] = false;
            if (!was || !w->link[a][b] || world_draw(w, 3) == 0) continue;
            break_pair(w, a, b, false); /* TCP gave up in the meantime */
            connect_pair(w, a, b);
        }
    world_start_all(w);
}

void world_kill_at(world *w, uint32_t task, uint32_t message, int64_t restart_ns)
{
    w->process[task].kill_at = message;
    w->process[task].restart_ns = restart_ns;
}

/* -- faults at random -- */

static bool copies_are_complete(world *w)
{
    for (uint32_t t = 0; t < w->tasks; t++) {
        const artel__view *v = w->process[t].alive ? artel__holding_serving(w->process[t].holding) : NULL;
        if (!w->votes[t]) continue;
        if (!v || artel__holding_short(w->process[t].holding)) return false;
        for (uint32_t u = 0; u < w->tasks; u++)
            if (w->votes[u] && v->member[u] != w->process[u].life) return false;
    }
    return true;
}

static bool is_cut(const world *w)
{
    for (uint32_t a = 0; a < w->tasks; a++)
        for (uint32_t b = 0; b < w->tasks; b++)
            if (w->cut[a][b]) return true;
    return false;
}

static void cut_some(world *w)
{
    uint32_t a = (uint32_t)world_draw(w, w->tasks), b = (uint32_t)world_draw(w, w->tasks);
    if (w->options.trace) printf("%9.3f a cut\n", (double)w->now / 1e6);
    switch (world_draw(w, 3)) {
    case 0: w->cut[a][b] = a != b; break;
    case 1: w->cut[a][b] = w->cut[b][a] = a != b; break;
    default: { /* a partition */
        uint64_t side = world_draw(w, UINT64_C(1) << w->tasks);
        for (uint32_t x = 0; x < w->tasks; x++)
            for (uint32_t y = 0; y < w->tasks; y++) w->cut[x][y] = (side >> x & 1) != (side >> y & 1);
    }
    }
}

static void strike(world *w)
{
    if (w->now >= w->options.storm_ns) {
        w->faults_over = true;
        world_heal(w);
        return;
    }
    event *next =
        world_post(w, w->now + (int64_t)world_draw(w, 2 * (uint64_t)w->options.fault_ns) + 1000, EVENT_FAULT, 0);
    next->life = 0;
    if (w->options.gentle && (is_cut(w) || !copies_are_complete(w))) return;
    uint64_t kind = world_draw(w, 10);
    uint32_t task = (uint32_t)world_draw(w, w->tasks);
    if (kind < 5) {
        world_kill(w, task, kind == 0);
        event *e =
            world_post(w, w->now + (int64_t)(5 * WORLD_MS + (int64_t)world_draw(w, 300 * WORLD_MS)), EVENT_START, task);
        e->life = 0;
    } else if (kind < 8) {
        cut_some(w);
        if (w->options.gentle) world_post(w, w->now + (int64_t)world_draw(w, 400 * WORLD_MS), EVENT_HEAL, 0)->life = 0;
    } else if (kind < 9) {
        world_heal(w);
    } else {
        uint32_t other = (uint32_t)world_draw(w, w->tasks);
        if (other == task || !w->link[task][other]) return;
        break_pair(w, task, other, false);
        connect_pair(w, task, other);
    }
}

/* -- running -- */

static void happen(world *w, event *e)
{
    process *p = &w->process[e->task];
    if (e->kind == EVENT_FAULT) {
        strike(w);
        return;
    }
    if (e->kind == EVENT_HEAL) {
        world_heal(w);
        return;
    }
    if (e->kind == EVENT_START) {
        world_start(w, e->task);
        return;
    }
    if (!p->alive || (e->life && e->life != p->life)) return;
    if (e->link && w->link[e->task][e->from] != e->link) return;
    bool message = e->kind == EVENT_CONTROL || e->kind == EVENT_DATA;
    if (message && w->cut[e->from][e->task]) return;
    if (message && ++p->heard == p->kill_at) {
        int64_t restart = p->restart_ns;
        world_kill(w, e->task, false);
        if (restart) world_post(w, w->now + restart, EVENT_START, e->task)->life = 0;
        return;
    }
    switch (e->kind) {
    case EVENT_TICK:
        driver_tick(w, e->task);
        if (e->task >= w->options.voters) client_tick(w, e->task);
        world_post(w, w->now + 10 * WORLD_MS, EVENT_TICK, e->task);
        break;
    case EVENT_CONTROL: artel__holder_control(p->holder, w->now, e->from, e->bytes, e->count); break;
    case EVENT_DATA: driver_data(w, e->task, e->from, e->bytes, e->count); break;
    case EVENT_LINK_UP: artel__holder_link_up(p->holder, w->now, e->from, e->a); break;
    case EVENT_LINK_DOWN:
        if (!w->link[e->task][e->from]) artel__holder_link_down(p->holder, w->now, e->from);
        break;
    case EVENT_BEGUN: driver_begun(w, e->task, e->from, e->a); break;
    case EVENT_SERVED: driver_served(w, e->task); break;
    default: artel__holding_level(p->holding, w->now, (artel__generation_id){(uint32_t)e->a, e->b}, e->from); break;
    }
}

static void step(world *w)
{
    event *e = take(w);
    w->now = e->at;
    w->sum.events++;
    happen(w, e);
    free(e->bytes);
    free(e);
}

void world_pass(world *w, int64_t until)
{
    while (w->events && w->heap[0]->at <= until && !w->wrong[0]) step(w);
    w->now = until;
}

bool world_run(world *w, int64_t limit)
{
    if (w->options.fault_ns && !w->sum.events) world_post(w, w->now + w->options.fault_ns, EVENT_FAULT, 0)->life = 0;
    while (w->events && w->now < limit && !w->wrong[0]) {
        step(w);
        if (w->sum.events % 64 == 0 && (w->faults_over || !w->options.fault_ns) && world_is_done(w) &&
            (w->options.incomplete || copies_are_complete(w)))
            return true;
    }
    return false;
}

world *world_create(const world_options *options)
{
    world *w = calloc(1, sizeof *w);
    if (!w || artel_context_create(NULL, &w->ctx) < 0) abort();
    w->options = *options;
    w->tasks = options->voters + options->clients;
    w->random = options->seed * 0x2545f4914f6cdd1du + 1;
    uint8_t role[WORLD_TASKS] = {0};
    for (uint32_t t = 0; t < w->tasks; t++) {
        bool server = t < options->voters && t >= options->voters - options->servers;
        role[t] = server ? 2 : t < options->voters ? (t == 0 ? 3 : 1) : 0;
        w->server[t] = server || (t == 0 && options->servers == 1);
    }
    artel__holding_vote(role, w->tasks, w->votes);
    for (uint32_t p = 0; p < options->parts; p++)
        w->first[p] = (uint16_t)(options->voters - options->servers + p % options->servers);
    return w;
}

void world_destroy(world *w)
{
    for (uint32_t t = 0; t < w->tasks; t++)
        if (w->process[t].alive) driver_end(w, t);
    while (w->events) {
        event *e = take(w);
        free(e->bytes);
        free(e);
    }
    artel_context_destroy(w->ctx);
    free(w->heap);
    free(w);
}

artel__holding *world_holding(world *w, uint32_t task)
{
    return w->process[task].holding;
}

artel__part_log *world_log(world *w, uint32_t task, uint32_t part)
{
    return w->process[task].part[part].log;
}

uint32_t world_heard(const world *w, uint32_t task)
{
    return w->process[task].heard;
}

int64_t world_now(const world *w)
{
    return w->now;
}

world_sum world_count(const world *w)
{
    return w->sum;
}

void world_dump(world *w, uint32_t task)
{
    process *p = &w->process[task];
    if (!p->alive) {
        printf("task %u is dead\n", task);
        return;
    }
    const artel__holding *h = p->holding;
    printf("task %u: promised %u of %lx accepted %u known %u held %d fenced %d remembers %d phase %d ballot %u "
           "pendings %u\n",
           task, h->promised.counter, (long)h->promised.incarnation, h->accepted.ballot.counter,
           h->known.ballot.counter, h->held, h->fenced, h->remembers, h->phase, h->ballot.counter, h->pendings);
    for (uint32_t i = 0; i < w->options.parts; i++) {
        const artel__part_log *l = p->part[i].log;
        printf("   part %u state %u assigned %u want %d place %d of %d fenced %d level %d serving %d paused %d copying "
               "%d last %u applied "
               "%u told %u have %u\n",
               i, h->part[i], h->assigned[i], h->want_copied, l->place, l->holders, l->fenced, l->level, l->serving,
               l->paused, l->copying, (unsigned)l->last, (unsigned)l->applied, (unsigned)l->told, (unsigned)l->have);
    }
}

world_options world_storm(uint64_t seed, world_shape shape)
{
    world_options o = WORLD_OPTIONS_INIT;
    o.seed = seed;
    o.voters = 3 + (uint32_t)(seed % 3);
    o.servers = 2 + (uint32_t)(seed % 2);
    o.copies = 2 + (seed / 2 % 4 == 0);
    o.items = 40;
    o.storm_ns = 3 * WORLD_SECOND;
    o.fault_ns = (seed % 4 < 2 ? 50 : 150) * WORLD_MS;
    o.gentle = shape == WORLD_GENTLE;
    o.lossy = seed % 3 == 0;
    if (shape == WORLD_LARGE) {
        o.voters = 5;
        o.servers = 4;
        o.clients = o.parts = 3;
        o.fault_ns = (seed % 2 ? 40 : 80) * WORLD_MS;
    }
    return o;
}
