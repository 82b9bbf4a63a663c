/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated cluster: its events in order, the run, what can be asked afterwards. */
#include "help_simulator_impl.h"

uint64_t sim_mix(uint64_t x, uint64_t y)
{
    x = (x ^ y) + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t sim_random(sim *s)
{
    s->random += 0x9e3779b97f4a7c15u;
    return sim_mix(s->random, 0);
}

static uint64_t shard_term(uint64_t chain, uint64_t step, uint32_t shard)
{
    return sim_mix(sim_mix(chain, step), shard);
}

uint64_t sim_shard_sum(uint64_t chain, uint64_t step, uint32_t first, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t v = first; v < first + count; v++) sum += shard_term(chain, step, v);
    return sum;
}

void sim_accuse(sim *s, const char *format, ...)
{
    if (*s->wrong) return;
    va_list args;
    va_start(args, format);
    vsnprintf(s->wrong, sizeof s->wrong, format, args);
    va_end(args);
}

void sim_trace(const sim *s, uint32_t task, const char *format, ...)
{
    if (!s->o.trace) return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%10.3f ms  %u  ", (double)s->now / 1e6, (unsigned)task);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

/* -- events -- */

static bool sooner(const event *a, const event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void sim_push(sim *s, event e)
{
    if (s->events == s->event_capacity) {
        s->event_capacity = s->event_capacity ? 2 * s->event_capacity : 1024;
        s->heap = realloc(s->heap, s->event_capacity * sizeof *s->heap);
    }
    e.order = s->order++;
    uint32_t i = s->events++;
    for (; i && sooner(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static event pop(sim *s)
{
    event top = s->heap[0], last = s->heap[--s->events];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= s->events) break;
        if (child + 1 < s->events && sooner(&s->heap[child + 1], &s->heap[child])) child++;
        if (!sooner(&s->heap[child], &last)) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    if (s->events) s->heap[i] = last;
    return top;
}

void sim_schedule(sim *s, int64_t after, event_kind kind, uint32_t task, uint32_t a, uint32_t b)
{
    sim_push(s, (event){.at = s->now + after, .kind = kind, .task = task, .life = s->p[task].life, .a = a, .b = b});
}

/* -- the run -- */

static void handle(sim *s, const event *e)
{
    process *p = &s->p[e->task];
    if (e->kind == EVENT_DELIVER) {
        sim_deliver(s, e->a, (int)e->b);
        return;
    }
    if (e->kind == EVENT_START) {
        sim_start_process(s, e->task, p->index, p->facts);
        return;
    }
    if (!p->alive || p->life != e->life || p->ended) return;
    if (p->paused) {
        if (p->deferred_count < sizeof p->deferred / sizeof *p->deferred)
            p->deferred[p->deferred_count++] = *e;
        else
            sim_accuse(s, "too many events wait for a paused task");
        return;
    }
    switch (e->kind) {
    case EVENT_TICK:
        if (!sim_input(s, e->task)) return;
        artel__membership_tick(p->m, s->now);
        sim_schedule(s, ARTEL__MEMBERSHIP_TICK_NS, EVENT_TICK, e->task, 0, 0);
        break;
    case EVENT_DIAL: sim_dial_answer(s, e->task, e->a); break;
    case EVENT_TRAINING:
        if (e->a == p->token) sim_training(s, e->task);
        break;
    default: break;
    }
}

/* All that live have ended, and somebody lives. */
static bool all_ended(const sim *s)
{
    uint32_t living = 0;
    for (uint32_t t = 0; t < s->processes; t++) {
        if (s->p[t].alive && !s->p[t].ended) return false;
        living += s->p[t].alive;
    }
    return living > 0;
}

static bool start_pending(const sim *s)
{
    for (uint32_t i = 0; i < s->events; i++)
        if (s->heap[i].kind == EVENT_START && !s->p[s->heap[i].task].alive) return true;
    return false;
}

int64_t sim_run(sim *s, int64_t until, sim_stop_fn *stop, void *user)
{
    while (s->events && s->heap[0].at <= until) {
        if (*s->wrong || (all_ended(s) && !start_pending(s)) || (stop && stop(s, user))) return s->now;
        event e = pop(s);
        if (e.at > s->now) s->now = e.at;
        handle(s, &e);
    }
    if (s->now < until && !all_ended(s)) s->now = until;
    return s->now;
}

sim *sim_create(const sim_options *options)
{
    sim *s = calloc(1, sizeof *s);
    if (artel_context_create(NULL, &s->ctx) < 0) abort();
    s->o = *options;
    s->random = sim_mix(options->seed, 77);
    s->processes = options->tasks;
    s->now = SIM_SECOND;
    for (uint32_t t = 0; t < options->tasks; t++) {
        snprintf(s->names[t], sizeof s->names[t], "worker %u", (unsigned)t);
        s->name[t] = s->names[t];
        s->p[t].index = t;
    }
    s->expected[0] = sim_mix(42, 42);
    for (uint32_t t = 0; t < options->steps; t++)
        s->expected[t + 1] = sim_mix(s->expected[t], sim_shard_sum(s->expected[t], t, 0, options->shards));
    return s;
}

void sim_destroy(sim *s)
{
    for (uint32_t i = 0; i < s->connections; i++) {
        for (int side = 0; side < 2; side++)
            while (s->connection[i]->head[side]) free(sim_take_item(s->connection[i], side));
        free(s->connection[i]);
    }
    for (uint32_t t = 0; t < s->processes; t++) artel__membership_destroy(s->p[t].m);
    artel_context_destroy(s->ctx);
    free(s->connection);
    free(s->heap);
    free(s->said);
    free(s);
}

/* -- views -- */

sim_view sim_look(const sim *s, uint32_t task)
{
    const process *p = &s->p[task];
    const artel__generation *g = p->m ? artel__membership_generation(p->m) : NULL;
    sim_view v = {.alive = p->alive,
                  .ended = p->ended,
                  .status = p->status,
                  .cause_task = p->cause_task,
                  .step = p->step,
                  .chain = p->chain,
                  .generation = g ? g->id.counter : 0,
                  .members = g ? g->members : 0,
                  .arithmetic = g ? g->arithmetic : 0,
                  .ended_at = p->ended_at,
                  .stepped_at = p->stepped_at,
                  .inputs = p->inputs,
                  .saves = p->saves};
    memcpy(v.text, p->text, sizeof v.text);
    return v;
}

artel__membership *sim_membership(sim *s, uint32_t task)
{
    return s->p[task].m;
}

int64_t sim_now(const sim *s)
{
    return s->now;
}

uint64_t sim_expected(const sim *s)
{
    return s->expected[s->o.steps];
}

uint32_t sim_writes(const sim *s)
{
    return s->writes;
}

uint64_t sim_sent(const sim *s)
{
    return s->sent;
}

uint64_t sim_heap_calls(const sim *s)
{
    return artel__heap_calls(s->ctx);
}

bool sim_said(const sim *s, const char *text)
{
    return s->said && strstr(s->said, text) != NULL;
}

uint32_t sim_said_by(const sim *s, uint32_t task, const char *text)
{
    uint32_t count = 0;
    for (const char *line = s->said, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        const char *found = strstr(line, text);
        count += (uint32_t)strtoul(line, NULL, 10) == task && found && found < end;
    }
    return count;
}

uint32_t sim_released(const sim *s, uint32_t task)
{
    return s->p[task].released;
}

const char *sim_wrong(const sim *s)
{
    return *s->wrong ? s->wrong : NULL;
}
