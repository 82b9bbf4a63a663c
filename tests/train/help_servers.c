/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated job: its processes, generations and faults. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "help_servers_impl.h"
#include "keras/model.h"

enum {
    ROWS = 40,
    BATCH = 8,
    CHECKED = 5,      /* rows of a batch of validation: more batches than an epoch has steps */
    LONGEST = 3000000 /* of virtual time: a job that goes on is over long before */
};

uint64_t storm_random(storm *w, uint64_t below)
{
    uint64_t x = w->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % below;
}

void storm_accuse(storm *w, const char *format, ...)
{
    if (*w->result->wrong) return;
    va_list args;
    va_start(args, format);
    vsnprintf(w->result->wrong, sizeof w->result->wrong, format, args);
    va_end(args);
}

void storm_trace(const storm *w, const process *p, const char *format, ...)
{
    if (!w->o.trace) return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%8lld  process %d (task %d)  ", (long long)w->now, p ? p->id : -1, p ? p->task : -1);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

/* -- events -- */

static bool sooner(const event *a, const event *b)
{
    return a->when != b->when ? a->when < b->when : a->order < b->order;
}

void storm_push(storm *w, int64_t after, event e)
{
    e.when = w->now + after;
    e.order = w->order++;
    if (w->events == w->room) {
        w->room = w->room ? 2 * w->room : 1024;
        w->heap = realloc(w->heap, (size_t)w->room * sizeof *w->heap);
    }
    int i = w->events++;
    for (; i && sooner(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2) w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static event pop(storm *w)
{
    event top = w->heap[0], last = w->heap[--w->events];
    int i = 0;
    for (int child; (child = 2 * i + 1) < w->events; i = child) {
        if (child + 1 < w->events && sooner(&w->heap[child + 1], &w->heap[child])) child++;
        if (!sooner(&w->heap[child], &last)) break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return top;
}

void storm_wake(process *p)
{
    if (p->woken || p->state == PROCESS_OVER) return;
    p->woken = true;
    storm_push(p->world, 0, (event){.kind = EVENT_RUN, .who = p});
}

/* -- a process -- */

static void log_line_of(void *user, artel_log_level level, const char *text)
{
    process *p = user;
    if (level == ARTEL_LOG_DEBUG) storm_note(p, text);
    p->world->result->moves += strstr(text, " pieces elsewhere") != NULL;
    const char *some = p->world->o.consistency;
    bool all = strncmp(some, "sync:", 5) == 0 && atoi(some + 5) >= p->world->o.workers;
    if (all && strstr(text, " came too late ") && strncmp(text, "0 of ", 5) != 0)
        storm_accuse(p->world, "all shares make a step, and %s", text);
    storm_trace(p->world, p, "%s", text);
}

/* A chief says how an epoch has ended; another one that goes on from there may say it again. */
static void on_event(void *user, const artel_event *told)
{
    const process *p = user;
    storm_result *r = p->world->result;
    if (told->kind != ARTEL_EVENT_EPOCH_END || p->task != 0 || p->killed) return;
    for (int i = 0; i < told->metric_count; i++) {
        if (strcmp(told->metrics[i].name, "val_loss") != 0) continue;
        r->checked = told->metrics[i].value;
        r->checks++;
        if (!(r->checked > 0 && r->checked < 100))
            storm_accuse(p->world, "a validation has found a loss of %g", r->checked);
    }
}

static void take_seat(process *p, const generation *g)
{
    artel__service *s = &p->service;
    s->seat = (artel__mesh_seat){.generation = g->number, .job = 9, .ranks = g->ranks, .activity = &p->activity};
    s->chief = -1;
    s->servers = s->workers = 0;
    for (int r = 0; r < g->ranks; r++) {
        s->task[r] = g->member[r]->task;
        s->type[r] = p->world->task[s->task[r]].type;
        if (g->member[r] == p) s->endpoint = (artel__endpoint *)&g->port[r].base;
        if (g->member[r] == p) s->seat.first = r;
        if (s->type[r] == ARTEL__TASK_CHIEF) s->chief = r;
        if (s->type[r] == ARTEL__TASK_WORKER) s->workers++;
        if (s->type[r] == ARTEL__TASK_PS) s->server[s->servers++] = r;
    }
    p->fit.writes = p->fit.role == ARTEL__ROLE_COORDINATOR;
    atomic_store(&p->cluster.training.stopping, false);
}

/* As servers.c: without whom nothing is done. */
static bool may_work(const artel__service *s)
{
    if (s->chief < 0) return false;
    return s->fit->role != ARTEL__ROLE_COORDINATOR || (s->servers > 0 && (s->workers > 0 || s->fit->at.ended));
}

static artel_status work(process *p)
{
    artel__service *s = &p->service;
    if (!may_work(s)) return ARTEL_AGAIN;
    switch (p->fit.role) {
    case ARTEL__ROLE_COORDINATOR: return artel__coordinate(s, p->user);
    case ARTEL__ROLE_SERVER: return artel__serve(s, p->user);
    default: return artel__work(s, p->user);
    }
}

static bool is_over(const process *p)
{
    return p->killed || p->world->over || p->status < 0;
}

/* The last thing: the trained weights. */
static void conclude(process *p)
{
    storm *w = p->world;
    artel__fit *fit = &p->fit;
    int64_t steps = (int64_t)w->o.epochs * fit->input.steps_per_epoch;
    bool scales = fit->settings.optimizer.scales_loss; /* some updates are no steps then, and not all */
    bool counted = scales ? fit->at.iteration > 0 && fit->at.iteration < steps : fit->at.iteration == steps;
    if (fit->at.step != steps || !counted)
        storm_accuse(w, "the chief has %lld steps and %lld updates, of %lld", (long long)fit->at.step,
                     (long long)fit->at.iteration, (long long)steps);
    artel_status status = artel__session_export(fit->session, fit->model, fit->at.iteration, artel__fit_rate(fit));
    if (status == ARTEL_OK) status = artel__keras_digest(fit->model, false, w->result->digest);
    if (status < 0) storm_accuse(w, "no result: %s", artel_context_error(p->bench.ctx)->what);
    w->last = p->fetched;
    w->over = true;
}

/* Waits for the end of the generation, or, at rest, for the next one. */
static void await_change(process *p)
{
    while (!is_over(p) && !(p->seat && p->seat != p->last)) storm_yield(p, PROCESS_RESTS);
}

void storm_live(process *p)
{
    while (!is_over(p)) {
        await_change(p);
        if (is_over(p)) break;
        p->seated = p->last = p->seat;
        p->state = PROCESS_WORKS;
        take_seat(p, p->seated);
        p->status = work(p);
        if (p->status == ARTEL_OK && p->task == 0 && !p->killed) conclude(p);
        if (p->status >= 0) artel__operation_begin(p->bench.ctx);
        p->seated = NULL;
    }
}

static void fill_cluster(process *p)
{
    storm *w = p->world;
    artel_cluster *c = &p->cluster;
    c->cluster.task = w->task;
    c->cluster.tasks = c->peers = w->tasks;
    c->cluster.count[ARTEL__TASK_CHIEF] = 1;
    c->cluster.count[ARTEL__TASK_WORKER] = w->o.workers;
    c->cluster.count[ARTEL__TASK_PS] = w->o.servers;
    c->options.wait_for_cluster = 1e6;
    c->peer = p->peer;
    c->self = p->task;
    for (int t = 0; t < w->tasks; t++) snprintf(p->peer[t].title, sizeof p->peer[t].title, "task %d", t);
    pthread_mutex_init(&c->mutex, NULL);
}

static void open_fit(process *p)
{
    storm *w = p->world;
    static const artel__fit_role roles[] = {[ARTEL__TASK_CHIEF] = ARTEL__ROLE_COORDINATOR,
                                            [ARTEL__TASK_WORKER] = ARTEL__ROLE_WORKER,
                                            [ARTEL__TASK_PS] = ARTEL__ROLE_SERVER};
    artel_context_options log = {
        .struct_size = sizeof log, .isa = "auto", .log = log_line_of, .log_user = p, .log_level = ARTEL_LOG_DEBUG};
    fit_open_either(&p->bench, w->o.tables, w->o.validates ? 2 * ROWS : ROWS, &log);
    if (w->o.optimizer)
        fit_expect(
            &p->bench,
            artel_model_compile(p->bench.model, w->o.optimizer, "sparse_categorical_crossentropy", "[\"accuracy\"]"),
            ARTEL_OK);
    p->fit = (artel__fit){.ctx = p->bench.ctx,
                          .model = p->bench.model,
                          .options = fit_options(&p->bench, BATCH, 1, 1),
                          .role = roles[w->task[p->task].type]};
    p->fit.options.epochs = w->o.epochs;
    p->fit.options.consistency = w->o.consistency;
    p->fit.options.on_event = on_event;
    p->fit.options.event_user = p;
    if (w->o.validates) p->fit.options.validation_split = 0.5;
    if (w->o.validates) p->fit.options.validation_batch_size = CHECKED;
    artel__arena_init(&p->fit.arena, p->fit.ctx);
    fit_expect(&p->bench, artel__fit_open(&p->fit, p->bench.data), ARTEL_OK);
    p->fit.options.cluster = &p->cluster;
    atomic_store(&p->fit.job.forsaken, true); /* whether it is the chief still is asked of the membership machine */
    p->service = (artel__service){.fit = &p->fit, .cluster = &p->cluster};
    p->fit.options.strategy = "parameter-server";
    p->fit.options.ps_copies = w->o.copies;
    p->fit.options.ps_partitioner = w->o.partitioner;
    fit_expect(&p->bench, artel__service_read_options(&p->service), ARTEL_OK);
    if (w->o.moves) p->service.worth = 0;
    artel_status status = p->fit.role == ARTEL__ROLE_COORDINATOR ? artel__coordinator_create(&p->fit, &p->user)
                          : p->fit.role == ARTEL__ROLE_SERVER    ? artel__server_create(&p->fit, &p->user)
                                                                 : artel__worker_create(&p->fit, &p->user);
    fit_expect(&p->bench, status, ARTEL_OK);
}

static process *start(storm *w, int task, int side)
{
    process *p = calloc(1, sizeof *p);
    if (w->processes == STORM_PROCESSES) abort();
    *p = (process){.world = w, .id = w->processes, .task = task, .side = side, .alive = true, .dies_after = -1};
    w->process[w->processes++] = p;
    fill_cluster(p);
    open_fit(p);
    storm_turn_create(p);
    storm_trace(w, p, "begins on side %d", side);
    storm_wake(p);
    return p;
}

static void destroy(process *p)
{
    if (p->fit.role == ARTEL__ROLE_COORDINATOR) artel__coordinator_destroy(&p->fit, p->user);
    if (p->fit.role == ARTEL__ROLE_SERVER) artel__server_destroy(&p->fit, p->user);
    if (p->fit.role == ARTEL__ROLE_WORKER) artel__worker_destroy(&p->fit, p->user);
    p->fit.options.cluster = NULL;
    artel__fit_close(&p->fit);
    pthread_mutex_destroy(&p->cluster.mutex);
    fit_close(&p->bench);
    free(p);
}

/* -- generations -- */

static void form_soon(storm *w, int side)
{
    if (w->forms[side]) return;
    w->forms[side] = true;
    storm_push(w, 5 + (int64_t)storm_random(w, 40), (event){.kind = EVENT_FORM, .a = side});
}

/* The side's generation is over; each member hears of it in its time, who is on the other side later. */
static void break_up(storm *w, int side)
{
    generation *g = w->current[side];
    w->current[side] = NULL;
    for (int r = 0; g && r < g->ranks; r++) {
        int64_t after = (int64_t)storm_random(w, g->member[r]->side == side ? 60 : 500);
        storm_push(w, after, (event){.kind = EVENT_NOTICE, .who = g->member[r], .of = g});
    }
    form_soon(w, side);
}

static void notice(storm *w, process *p, generation *g)
{
    if (!p->alive || (p->seated != g && p->seat != g)) return;
    if (p->asleep) {
        storm_push(w, 50, (event){.kind = EVENT_NOTICE, .who = p, .of = g});
        return;
    }
    atomic_store(&p->cluster.training.stopping, true);
    for (int r = 0; r < g->ranks; r++)
        if (g->member[r] == p) storm_cancel(&g->port[r]);
    if (p->seat == g) p->seat = NULL;
}

static bool is_on(const process *p, int side)
{
    return p->alive && p->side == side && !p->asleep;
}

static bool rests(const process *p)
{
    return p->state == PROCESS_RESTS && !p->seated && (!p->seat || p->seat == p->last) && !p->woken;
}

/* All that are there begin a generation, as soon as they rest. */
static void form(storm *w, int side)
{
    generation *g = calloc(1, sizeof *g);
    bool busy = false;
    w->forms[side] = false;
    g->world = w;
    g->side = side;
    for (int k = 0; k < w->tasks; k++) /* ranks as mesh_data.c has them: workers come first */
        for (int i = 0; i < w->processes; i++) {
            process *p = w->process[i];
            int t = k < w->o.workers ? k + 1 : k == w->o.workers ? 0 : k;
            if (p->task != t || !is_on(p, side)) continue;
            busy = busy || !rests(p);
            g->member[g->ranks++] = p;
        }
    if (busy || g->ranks == 0) {
        free(g);
        if (busy) form_soon(w, side);
        return;
    }
    g->number = ++w->counter;
    g->next = w->generations;
    w->generations = w->current[side] = g;
    w->result->generations++;
    for (int r = 0; r < g->ranks; r++) storm_open_port(g, r);
    for (int r = 0; r < g->ranks; r++) { /* START comes to one after another */
        g->member[r]->seat = g;
        storm_push(w, (int64_t)storm_random(w, 30), (event){.kind = EVENT_RUN, .who = g->member[r]});
    }
    storm_trace(w, NULL, "generation %u of %d on side %d", (unsigned)g->number, g->ranks, side);
}

/* Whoever has come to rest though nobody told it to has met with what only another generation repairs. */
static void look_after(storm *w, const process *p)
{
    generation *g = w->current[p->side];
    bool member = false;
    for (int r = 0; g && r < g->ranks; r++) member = member || g->member[r] == p;
    bool waits = p->status == ARTEL_OK || atomic_load(&p->cluster.training.stopping) || !may_work(&p->service);
    if (member && p->state == PROCESS_RESTS && !p->seated && p->last == g && !waits) break_up(w, p->side);
}

/* -- faults -- */

static void end_process(storm *w, process *p)
{
    p->killed = true;
    p->alive = false;
    while (p->state != PROCESS_OVER) storm_turn_give(p);
    if (w->over) return;
    w->result->deaths++;
    storm_trace(w, p, "is dead");
    if (p->id == w->o.dies - 1) storm_push(w, 300, (event){.kind = EVENT_RESTART, .who = p, .a = p->task});
    break_up(w, p->side);
}

static process *chief_of(const storm *w, int side)
{
    for (int i = 0; i < w->processes; i++)
        if (w->process[i]->alive && w->process[i]->task == 0 && w->process[i]->side == side) return w->process[i];
    return NULL;
}

static process *pick(storm *w)
{
    process *found = NULL;
    uint64_t seen = 0;
    for (int i = 0; i < w->processes; i++) {
        process *p = w->process[i];
        bool may = p->alive && !p->asleep && p->dies_after < 0 && (p->task > 0 || w->o.chiefs);
        if (may && storm_random(w, ++seen) == 0) found = p;
    }
    return found;
}

/* What was cut is whole again. Of two chiefs one goes: another process has its place. */
static void heal(storm *w)
{
    for (int i = 0; i < w->processes; i++) w->process[i]->side = 0;
    process *chief = chief_of(w, 0);
    for (int i = 0; chief && i < w->processes; i++) {
        process *p = w->process[i];
        if (p == chief || !p->alive || p->task != 0) continue;
        process *loser = storm_random(w, 2) ? p : chief;
        if (loser == chief) chief = p;
        end_process(w, loser);
    }
    if (!chief) start(w, 0, 0);
    break_up(w, 1);
    break_up(w, 0);
}

static void cut(storm *w)
{
    for (int i = 0; i < w->processes; i++)
        if (w->process[i]->side != 0) return; /* one cut at a time */
    for (int i = 0; i < w->processes; i++) {
        process *p = w->process[i];
        if ((p->task > 0 || w->o.chiefs) && storm_random(w, 3) == 0) p->side = 1;
    }
    storm_trace(w, NULL, "a cut");
    w->result->cuts++;
    break_up(w, 0);
    form_soon(w, 1);
    if (w->o.chiefs && !chief_of(w, 0)) start(w, 0, 0);
    if (w->o.chiefs && !chief_of(w, 1) && storm_random(w, 3) == 0) start(w, 0, 1);
    storm_push(w, 200 + (int64_t)storm_random(w, 1500), (event){.kind = EVENT_HEAL});
}

static void fault(storm *w)
{
    if (w->faults_left > 0) storm_push(w, 100 + (int64_t)storm_random(w, 900), (event){.kind = EVENT_FAULT});
    if (w->faults_left == 0) return;
    w->faults_left--;
    process *p = pick(w);
    uint64_t kind = storm_random(w, 8);
    if (kind == 0) {
        cut(w);
        return;
    }
    if (!p) return;
    if (kind < 3) {
        storm_trace(w, p, "falls asleep");
        p->asleep = true;
        break_up(w, p->side);
        storm_push(w, 200 + (int64_t)storm_random(w, 1500), (event){.kind = EVENT_WAKE, .who = p});
    } else {
        p->dies_after = (int)storm_random(w, 8);
        storm_push(w, 300, (event){.kind = EVENT_RESTART, .who = p, .a = p->task});
    }
}

/* Where it was about to send nothing, it dies where it is. */
static void restart(storm *w, process *p, int task)
{
    int side = p->side;
    if (p->alive) end_process(w, p);
    bool there = false;
    for (int i = 0; i < w->processes; i++)
        there = there || (w->process[i]->alive && w->process[i]->task == task && w->process[i]->side == side);
    if (!there) start(w, task, side);
    break_up(w, side);
}

static void wake(storm *w, process *p)
{
    if (!p->alive) return;
    storm_trace(w, p, "wakes");
    p->asleep = false;
    if (p->woken) storm_push(w, 0, (event){.kind = EVENT_RUN, .who = p});
    break_up(w, p->side);
}

/* -- the job -- */

static void give_turn(storm *w, process *p)
{
    if (p->asleep || p->state == PROCESS_OVER) return;
    p->woken = false;
    storm_turn_give(p);
    if (p->killed) {
        if (p->alive) end_process(w, p);
    } else if (p->state == PROCESS_OVER && p->status < 0) {
        const char *what = artel_context_error(p->bench.ctx)->what;
        storm_trace(w, p, "ends: %s", what);
        p->alive = false;
        if (p->task == 0 && strstr(what, "another chief has gone on")) {
            if (!chief_of(w, p->side)) start(w, 0, p->side);
            break_up(w, p->side);
        } else
            storm_accuse(w, "process %d (task %d): %s", p->id, p->task, what);
    } else
        look_after(w, p);
}

static void handle(storm *w, const event *e)
{
    switch (e->kind) {
    case EVENT_LEAVE: storm_leave(w, e->at, e->a); break;
    case EVENT_ARRIVE: storm_arrive(w, e->of, e->at); break;
    case EVENT_RUN: give_turn(w, e->who); break;
    case EVENT_NOTICE: notice(w, e->who, e->of); break;
    case EVENT_FORM: form(w, e->a); break;
    case EVENT_FAULT: fault(w); break;
    case EVENT_WAKE: wake(w, e->who); break;
    case EVENT_RESTART: restart(w, e->who, e->a); break;
    case EVENT_HEAL: heal(w); break;
    }
}

static void make_tasks(storm *w)
{
    w->tasks = 1 + w->o.workers + w->o.servers;
    for (int t = 0; t < w->tasks; t++) {
        bool worker = t > 0 && t <= w->o.workers;
        w->task[t].type = t == 0 ? ARTEL__TASK_CHIEF : worker ? ARTEL__TASK_WORKER : ARTEL__TASK_PS;
        w->task[t].index = t == 0 ? 0 : worker ? t - 1 : t - 1 - w->o.workers;
    }
}

static void finish(storm *w)
{
    w->over = true;
    for (int i = 0; i < w->processes; i++) {
        process *p = w->process[i];
        p->killed = true;
        while (p->state != PROCESS_OVER) storm_turn_give(p);
        storm_turn_destroy(p);
    }
    for (int i = 0; i < w->events; i++)
        if (w->heap[i].kind == EVENT_ARRIVE) storm_arrive(w, w->heap[i].of, w->heap[i].at);
    for (int i = 0; i < w->processes; i++) destroy(w->process[i]);
    for (generation *g = w->generations, *next; g; g = next) {
        next = g->next;
        storm_close_generation(g);
    }
    free(w->heap);
    free(w->log);
}

void storm_run(const storm_options *options, storm_result *out)
{
    storm w = {.o = *options, .result = out, .random = options->seed * 0x9e3779b97f4a7c15u};
    *out = (storm_result){.states = 0};
    w.faults_left = options->faults;
    make_tasks(&w);
    for (int t = 0; t < w.tasks; t++) start(&w, t, 0);
    if (options->dies) w.process[options->dies - 1]->dies_after = options->message;
    form_soon(&w, 0);
    storm_push(&w, 50 + (int64_t)storm_random(&w, 400), (event){.kind = EVENT_FAULT});
    while (w.events && !w.over && !*out->wrong && w.now < LONGEST) {
        event e = pop(&w);
        w.now = e.when;
        handle(&w, &e);
    }
    if (!w.over) storm_accuse(&w, "the job does not go on (%s)", w.events ? "too long" : "nothing is under way");
    bool ended = w.over && !*out->wrong;
    storm_check(&w, ended, (uint64_t)options->epochs * (ROWS / BATCH));
    finish(&w);
}
