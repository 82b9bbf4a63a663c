/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: made, asked for what they are, ended; and variables as a whole, from task to task. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "function/closure.h"
#include "function/session/session.h"
#include "function/session/session_impl.h"

#define OPTION(field) offsetof(artel_session_options, field)
static const artel__range ranges[] = {
    {".clients", ARTEL__RANGE_INT, OPTION(clients), 1, ARTEL__PLACED_MOST_TASKS, NULL},
    {".task_count", ARTEL__RANGE_INT, OPTION(task_count), 0, ARTEL__PLACED_MOST_TASKS, NULL},
    {.name = NULL}};
static const artel__options_kind kind = {"session options", "begin with ARTEL_SESSION_OPTIONS_INIT",
                                         sizeof(artel_session_options), ranges};
static const artel__range no_ranges[] = {{.name = NULL}};
const artel__options_kind artel__placed_call_kind = {"session call", "begin with ARTEL_SESSION_CALL_INIT",
                                                     sizeof(artel_session_call), no_ranges};

/* -- the tasks -- */

static artel_status take_name(artel_session *s, int t, const char *text)
{
    artel__placed_task *task = &s->task[t];
    ARTEL_TRY(artel__device_name_read(s->ctx, text ? text : "", &task->name));
    if (!task->name.job[0] || task->name.task < 0)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session options", "write /job:NAME/task:N",
                           "task %d is named \"%.100s\"", t, text ? text : "(null)");
    task->name.replica = task->name.index = -1;
    task->name.type[0] = '\0';
    artel__device_name_write(&task->name, task->text);
    for (int i = 0; i < t; i++) {
        if (strcmp(s->task[i].text, task->text) == 0)
            return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session options", "name each task once",
                               "%s is there twice", task->text);
    }
    return ARTEL_OK;
}

static artel_status name_tasks(artel_session *s)
{
    artel_session_options *o = &s->options;
    for (int t = 0; t < s->tasks; t++) {
        char text[64];
        snprintf(text, sizeof text, "/job:worker/task:%d", t);
        if (!o->tasks && s->seat.cluster) {
            const artel__task *task =
                &artel__mesh_tasks(s->seat.cluster)->task[artel__mesh_task_of(s->seat.cluster, t)];
            snprintf(text, sizeof text, "/job:%s/task:%d", artel__task_type_name(task->type), (int)task->index);
        }
        ARTEL_TRY(take_name(s, t, o->tasks ? o->tasks[t] : text));
    }
    return ARTEL_OK;
}

static artel_status find_tasks(artel_session *s)
{
    artel_session_options *o = &s->options;
    s->communicator = o->communicator;
    s->seat = (artel__coll_seat){.members = 1};
    if (s->communicator) ARTEL_TRY(artel__coll_seat_take(s->communicator, &s->seat));
    s->alone = s->seat.members == 1;
    s->self = s->seat.position;
    s->tasks = s->alone && o->tasks ? o->task_count : s->seat.members;
    if (s->tasks < 1 || s->tasks > ARTEL__PLACED_MOST_TASKS ||
        (o->tasks ? o->task_count != s->tasks : o->task_count != 0))
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session options",
                           "name every member of the communicator, or none", "%d names for %d tasks", o->task_count,
                           s->tasks);
    if (!s->alone && s->self >= s->options.clients) s->serves = true;
    if (!s->alone && s->options.clients > s->tasks)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session options", "count the tasks that run graphs",
                           "%d .clients of %d tasks", s->options.clients, s->tasks);
    s->task = artel__arena_alloc(&s->arena, (size_t)s->tasks, sizeof *s->task);
    s->peer = artel__arena_alloc(&s->arena, (size_t)s->tasks, sizeof *s->peer);
    ARTEL_TRY(artel__arena_status(&s->arena));
    return name_tasks(s);
}

/* -- making -- */

static artel_status check_strategy(const artel_strategy *s)
{
    bool several = s->plan.replicas > 1, clustered = !artel__mesh_is_single(s->options.cluster);
    if (s->devices)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, "session", "make the strategy without .device",
                           "a session computes on processors, and the strategy on %s", s->devices->device.name);
    if (!several && !clustered) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, "session",
                       "make the strategy with .strategy one-device and without a cluster",
                       several ? "a session over %d replicas" : "a session of a strategy that has a cluster of its own",
                       s->plan.replicas);
}

static artel_status make(artel_session *s)
{
    ARTEL_TRY(check_strategy(s->strategy));
    ARTEL_TRY(find_tasks(s));
    ARTEL_TRY(artel__strategy_open(s->strategy));
    return artel__placed_place_variables(s);
}

artel_status artel_session_create(artel_strategy *strategy, const artel_session_options *options, artel_session **out)
{
    artel_session_options chosen = ARTEL_SESSION_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(strategy ? strategy->ctx : NULL, __func__, "strategy out", strategy, out));
    ARTEL_TRY(artel__take_options(strategy->ctx, &kind, options, &chosen));
    ARTEL_TRY(artel__calloc(strategy->ctx, 1, sizeof(artel_session), "session", &block));
    artel_session *s = block;
    s->strategy = strategy;
    s->ctx = strategy->ctx;
    s->options = chosen;
    artel__arena_init(&s->arena, s->ctx);
    artel__text_init(&s->text, s->ctx);
    artel_status status = make(s);
    if (status < 0) {
        artel_session_destroy(s);
        return status;
    }
    *out = s;
    return ARTEL_OK;
}

void artel_session_destroy(artel_session *s)
{
    if (!s) return;
    artel_context *ctx = s->ctx;
    artel__placed_stand(s);
    while (s->plan) {
        artel__placed_plan *plan = s->plan;
        s->plan = plan->after;
        artel__placed_plan_destroy(plan);
    }
    for (int t = 0; s->peer && t < s->tasks; t++) {
        artel__placed_peer *peer = &s->peer[t];
        artel__lane_slot *const slot[] = {&peer->call, &peer->verdict, &peer->slot[0], &peer->slot[1]};
        for (size_t i = 0; i < sizeof slot / sizeof *slot; i++) artel__slot_fini(ctx, slot[i]);
        artel__free(ctx, peer->staged);
        artel__free(ctx, peer->piece);
    }
    artel__free(ctx, s->wanted);
    artel__text_fini(&s->text);
    artel__arena_fini(&s->arena);
    artel__free(ctx, s);
}

artel_status artel__placed_wanted(artel_session *s, const artel_function *f)
{
    void *block = s->wanted;
    if (f->outputs < s->wanted_room) return ARTEL_OK;
    ARTEL_TRY(artel__realloc(s->ctx, (size_t)f->outputs + 1, "session", &block));
    s->wanted = block;
    s->wanted_room = f->outputs + 1;
    return ARTEL_OK;
}

const char *artel_session_task(const artel_session *s)
{
    return s ? s->task[s->self].text : "";
}

bool artel__placed_lost(const artel_session *s)
{
    return s->lost;
}

artel_context *artel__placed_function_context(const artel_function *f)
{
    return f->strategy->ctx;
}

void artel__placed_surround(artel_session *s, artel__placed_around_fn *around, void *user)
{
    s->around = around;
    s->around_user = user;
}

void artel__placed_watch(artel_session *s, artel__placed_time_fn *watch, void *user)
{
    s->watch = watch;
    s->watch_user = user;
}

void *artel__placed_surrounded(const artel_session *s)
{
    return s->around_user;
}

artel_context *artel__placed_context(const artel_session *s)
{
    return s->ctx;
}

artel_strategy *artel__placed_strategy(const artel_session *s)
{
    return s->strategy;
}

artel_communicator *artel__placed_communicator(const artel_session *s)
{
    return s->alone ? NULL : s->communicator;
}

bool artel__placed_is_first(const artel_session *s)
{
    return s->self == 0;
}

const char *artel_session_place_of(const artel_session *s, const artel_variable *v)
{
    return s && v && v->strategy == s->strategy && !v->words ? s->task[s->owner[v->index]].text : "";
}

const char *artel_session_explain(artel_session *s, artel_function *f)
{
    artel__placed_plan *p;
    if (!s || !f || f->strategy != s->strategy || artel__placed_wanted(s, f) < 0) return "";
    artel__operation_begin(s->ctx);
    for (int i = 0; i < f->outputs; i++) s->wanted[i] = true;
    if (artel__placed_plan_get(s, f, s->self, s->wanted, true, &p) < 0) return "";
    artel__text_clear(&s->text);
    for (int i = 0; i < s->strategy->variables.count; i++)
        artel__text_printf(&s->text, "variable %s: %s\n", s->strategy->variables.item[i].name,
                           s->task[s->owner[i]].text);
    artel__placed_plan_dump(p, &s->text);
    return s->text.failed ? "" : s->text.data;
}

/* -- asking one task after another -- */

/* A call that is answered at once; `slot` is the peer's, until it is done. */
static artel_status ask(artel_session *s, int task, const artel__lane_head *head, const artel__net_piece *piece,
                        int count)
{
    artel__placed_peer *peer = &s->peer[task];
    artel__lane_head out;
    int64_t since = artel__now_ns(), said = since;
    artel_status status = artel__lane_call(&peer->ask, &peer->call, head, piece, count, artel__placed_most(s));
    if (status == ARTEL_OK) status = artel__placed_move(s);
    while (status == ARTEL_OK && !artel__slot_arrived(&peer->call)) status = artel__placed_wait(s, since, &said, task);
    return status < 0 ? status : artel__lane_take(&peer->ask, &peer->call, &out);
}

static artel_status done(artel_session *s, int task)
{
    return artel__lane_done(&s->peer[task].ask, &s->peer[task].call);
}

typedef artel_status each_fn(artel_session *s, int task, artel__net_piece *piece);

/* Every task that serves and has variables, or with `all` every one that serves. */
static artel_status ask_each(artel_session *s, bool all, each_fn *each)
{
    void *block;
    size_t room = (size_t)s->strategy->variables.count + 64;
    artel_status status = ARTEL_OK;
    if (s->alone) return ARTEL_OK;
    if (s->serves)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session", "ask on a client", "%s is no client",
                           s->task[s->self].text);
    for (artel_optimizer *o = s->strategy->optimizer; o; o = o->next) room++;
    ARTEL_TRY(artel__placed_sit(s));
    ARTEL_TRY(artel__alloc(s->ctx, room * sizeof(artel__net_piece), "session", &block));
    for (int t = 0; t < s->tasks && status == ARTEL_OK; t++) {
        if (t != s->self && t >= s->options.clients && (all || artel__placed_variables(s, t, NULL)))
            status = each(s, t, block);
    }
    if (status < 0) status = artel__placed_broken(s, status);
    artel__free(s->ctx, block);
    return status;
}

static artel_status pull_from(artel_session *s, int task, artel__net_piece *piece)
{
    artel__lane_head head = {.op = ARTEL__PLACED_PULL};
    artel__slot_at at = {0, 0};
    ARTEL_TRY(ask(s, task, &head, NULL, 0));
    int count = artel__placed_variables(s, task, piece);
    for (int i = 0; i < count; i++) {
        const void *data = artel__slot_next(&s->peer[task].call, &at, piece[i].bytes);
        if (!data) return artel__placed_misfit(s, task);
        memcpy((void *)(uintptr_t)piece[i].data, data, piece[i].bytes);
    }
    return done(s, task);
}

artel_status artel_session_pull(artel_session *s)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "session", s));
    return ask_each(s, false, pull_from);
}

static artel_status push_to(artel_session *s, int task, artel__net_piece *piece)
{
    artel__lane_head head = {.op = ARTEL__PLACED_PUSH};
    int count = 0;
    for (artel_optimizer *o = s->strategy->optimizer; o; o = o->next)
        piece[count++] = (artel__net_piece){&o->iterations, sizeof o->iterations};
    count += artel__placed_variables(s, task, piece + count);
    ARTEL_TRY(ask(s, task, &head, piece, count));
    return done(s, task);
}

artel_status artel_session_push(artel_session *s)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "session", s));
    return ask_each(s, true, push_to);
}

static artel_status close_with(artel_session *s, int task, artel__net_piece *piece)
{
    artel__lane_head head = {.op = ARTEL__PLACED_CLOSE};
    (void)piece;
    ARTEL_TRY(ask(s, task, &head, NULL, 0));
    return done(s, task);
}

artel_status artel_session_close(artel_session *s)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "session", s));
    ARTEL_TRY(ask_each(s, true, close_with));
    artel__placed_stand(s);
    return ARTEL_OK;
}
