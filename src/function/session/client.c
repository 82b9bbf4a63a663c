/* SPDX-License-Identifier: Apache-2.0 */
/* A client: has the tasks run their parts, runs its own in between, and says when all have computed. */
#include <string.h>

#include "base/clock.h"
#include "function/closure.h"
#include "function/session/session_impl.h"

/* One run. */
typedef struct run {
    artel_session *session;
    artel__placed_plan *plan;
    const artel_session_call *call;
    artel__placed_start start;
    int waiting;          /* answers that are still to come */
    artel_status failure; /* of a task, recorded */
    int64_t since, said;
} run;

/* -- arguments -- */

static artel_status check_outputs(const artel_function *f, const artel_session_call *c)
{
    for (int i = 0; i < f->outputs; i++) {
        artel_dtype dtype = f->graph.value[f->graph.kept[i]].dtype;
        if (c->outputs[i].data && c->outputs[i].dtype != dtype)
            return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name, "give outputs their own element type",
                               "output %d is %s, the array %s", i, artel_dtype_name(dtype),
                               artel_dtype_name(c->outputs[i].dtype));
    }
    return ARTEL_OK;
}

static artel_status check_call(const artel_session *s, const artel_function *f, const artel_session_call *c)
{
    if (f->strategy != s->strategy)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, f->name, "use a function of the session's strategy",
                           "the function is another strategy's");
    if (c->feed_count != f->arguments || c->output_count != f->outputs || (c->feed_count && !c->feeds) ||
        (c->output_count && !c->outputs))
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, f->name, "list all of both; what is not wanted has no data",
                           "%d feeds and %d outputs; it has %d and %d", c->feed_count, c->output_count, f->arguments,
                           f->outputs);
    if (s->serves)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session",
                           "run graphs on the first tasks, of which .clients says how many", "%s is no client",
                           s->task[s->self].text);
    if (artel__cancelled(s->ctx))
        return artel__fail(s->ctx, ARTEL_ERROR_CANCELLED, f->name, "call artel_context_clear to go on",
                           "the run was cancelled");
    ARTEL_TRY(artel__placed_check_function(s, f)); /* of one with text not all outputs are the graph's */
    return check_outputs(f, c);
}

static bool anybody_needs(const artel__placed_plan *p, int argument)
{
    bool needed = false;
    for (int t = 0; t < p->session->tasks; t++) needed = needed || p->fed[t * p->function->arguments + argument];
    return needed;
}

/* Feeds as the function computes with them, in the plan's memory; those that nobody needs are passed over. */
static artel_status take_feeds(run *r)
{
    const artel_function *f = r->plan->function;
    int64_t rows = -1;
    for (int i = 0; i < f->arguments; i++) {
        const artel_array *given = &r->call->feeds[i];
        if (!given->data && !anybody_needs(r->plan, i)) continue;
        if (!given->data)
            return artel__fail(r->session->ctx, ARTEL_ERROR_INVALID, f->argument[i].name, "feed it, or fetch less",
                               "what is fetched needs this argument, and it is not fed");
        ARTEL_TRY(artel__function_check_one(f, i, given, &rows));
    }
    r->start.rows = rows < 0 ? 1 : rows;
    ARTEL_TRY(artel__function_check_rows(f, r->start.rows));
    for (int i = 0; i < f->arguments; i++) {
        const artel_array *given = &r->call->feeds[i];
        void *to;
        if (!given->data || !anybody_needs(r->plan, i)) continue;
        ARTEL_TRY(artel__placed_feed(r->plan, i, r->start.rows, &to));
        artel__convert(given->dtype, given->data, f->argument[i].dtype, to, artel_shape_count(&given->shape));
    }
    return ARTEL_OK;
}

/* -- asking -- */

static artel_status ask(run *r, int task)
{
    artel__placed_plan *p = r->plan;
    const artel_function *f = p->function;
    artel__placed_peer *peer = &r->session->peer[task];
    artel__lane_head head = {.op = ARTEL__PLACED_RUN,
                             .flags = p->updates ? ARTEL__PLACED_UPDATES : 0,
                             .part = (uint32_t)f->number,
                             .install = p->hash,
                             .item = r->start.run,
                             .position = (uint64_t)r->start.rows,
                             .rate = r->start.rate,
                             .a = r->start.batch,
                             .b = (uint64_t)r->start.iteration};
    int count = 0;
    p->piece[count++] = (artel__net_piece){p->wanted, (size_t)f->outputs};
    for (int i = 0; i < f->arguments; i++) {
        if (p->fed[task * f->arguments + i])
            p->piece[count++] = (artel__net_piece){p->feed[i], artel__placed_feed_bytes(f, i, r->start.rows)};
    }
    r->plan->asked[task] = r->plan->due[task] = true;
    r->waiting++;
    return artel__lane_call(&peer->ask, &peer->call, &head, p->piece, count, artel__placed_most(r->session));
}

static artel_status ask_all(run *r)
{
    const artel_session *s = r->session;
    for (int t = 0; t < s->tasks; t++) {
        if (!s->alone && t != s->self && r->plan->involved[t]) ARTEL_TRY(ask(r, t));
    }
    return ARTEL_OK;
}

/* -- answers -- */

static void copy_output(const run *r, int i, const void *from)
{
    memcpy(r->call->outputs[i].data, from, artel__output_bytes(r->plan->function, i, r->start.rows));
}

/* The task that has an output; -1: it is an argument or nobody's. */
static int task_of_output(const artel__placed_plan *p, int i)
{
    int node = p->function->graph.value[p->function->graph.kept[i]].node;
    return node < 0 || !p->wanted[i] ? -1 : artel__placed_host(p->session, p->place[node]);
}

static void note_failure(run *r, int task, const artel_error *error)
{
    if (error->status == ARTEL_ERROR_RUN) r->session->lost = true; /* it waited in vain for another one */
    if (r->failure == ARTEL_OK)
        r->failure = artel__fail(r->session->ctx, error->status < 0 ? error->status : ARTEL_ERROR_RUN, error->where,
                                 error->advice, "%s: %s", r->session->task[task].text, error->what);
}

static artel_status take_outputs(run *r, int task, const artel__lane_slot *slot)
{
    artel__slot_at at = {0, 0};
    for (int i = 0; i < r->plan->function->outputs; i++) {
        if (task_of_output(r->plan, i) != task) continue;
        const void *data = artel__slot_next(slot, &at, artel__output_bytes(r->plan->function, i, r->start.rows));
        if (!data) return artel__placed_misfit(r->session, task);
        copy_output(r, i, data);
    }
    return ARTEL_OK;
}

static artel_status take_answer(run *r, int task)
{
    artel__placed_peer *peer = &r->session->peer[task];
    artel__lane_head head;
    ARTEL_TRY(artel__lane_take(&peer->ask, &peer->call, &head));
    r->plan->due[task] = false;
    r->waiting--;
    if (head.flags & ARTEL__PLACED_FAILED) {
        const artel_error *error = artel__slot_data(&peer->call, 0, 0, sizeof *error);
        if (!error) return artel__placed_misfit(r->session, task);
        note_failure(r, task, error);
    } else if (r->failure == ARTEL_OK)
        ARTEL_TRY(take_outputs(r, task, &peer->call));
    return artel__lane_done(&peer->ask, &peer->call);
}

static artel_status take_answers(run *r, bool *moved)
{
    const artel_session *s = r->session;
    for (int t = 0; t < s->tasks && r->waiting; t++) {
        if (!r->plan->due[t] || !artel__slot_arrived(&s->peer[t].call)) continue;
        ARTEL_TRY(take_answer(r, t));
        *moved = true;
    }
    return ARTEL_OK;
}

static int first_due(const run *r)
{
    for (int t = 0; t < r->session->tasks; t++) {
        if (r->plan->due[t]) return t;
    }
    return -1;
}

/* Its own parts, until they are done or fail. */
static void advance(run *r, bool *moved)
{
    if (r->plan->computed || r->failure < 0) return;
    artel_status status = artel__placed_advance(r->plan, moved);
    if (status < 0) r->failure = status;
}

/* Until all have computed, or somebody has failed. Failures returned are those of the exchange. */
static artel_status compute(run *r)
{
    const artel_session *s = r->session;
    while (r->failure == ARTEL_OK && (r->waiting || !r->plan->computed)) {
        bool moved = false;
        if (s->seat.endpoint) ARTEL_TRY(artel__placed_move(s));
        advance(r, &moved);
        if (r->waiting && r->failure == ARTEL_OK) ARTEL_TRY(take_answers(r, &moved));
        if (!moved && s->seat.endpoint && r->failure == ARTEL_OK && (r->waiting || !r->plan->computed))
            ARTEL_TRY(artel__placed_wait(s, r->since, &r->said, first_due(r)));
    }
    return ARTEL_OK;
}

/* -- the verdict -- */

static artel_status tell(run *r, int task, bool commit)
{
    artel__placed_peer *peer = &r->session->peer[task];
    artel__lane_head head = {.op = commit ? ARTEL__PLACED_COMMIT : ARTEL__PLACED_DROP, .item = r->start.run};
    return artel__lane_call(&peer->ask, &peer->verdict, &head, NULL, 0, artel__placed_most(r->session));
}

static artel_status hear(run *r, int task)
{
    artel_session *s = r->session;
    artel__placed_peer *peer = &s->peer[task];
    artel__lane_head head;
    bool moved;
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && !artel__slot_arrived(&peer->verdict)) {
        status = take_answers(r, &moved);
        if (status == ARTEL_OK && !artel__slot_arrived(&peer->verdict))
            status = artel__placed_wait(s, r->since, &r->said, task);
    }
    if (status == ARTEL_OK) status = take_answers(r, &moved);
    ARTEL_TRY(status);
    ARTEL_TRY(artel__lane_take(&peer->ask, &peer->verdict, &head));
    artel_optimizer *o = artel__function_optimizer(r->plan->function);
    if (o && (int64_t)head.b > o->iterations) o->iterations = (int64_t)head.b;
    return artel__lane_done(&peer->ask, &peer->verdict);
}

/* All write, or nobody does. Reading alone needs no verdict. */
static artel_status decide(run *r)
{
    const artel_session *s = r->session;
    bool commit = r->failure == ARTEL_OK;
    if (commit && !r->plan->writes) return ARTEL_OK;
    for (int t = 0; t < s->tasks; t++) {
        if (r->plan->asked[t]) ARTEL_TRY(tell(r, t, commit));
    }
    if (commit) artel__placed_commit(r->plan);
    for (int t = 0; t < s->tasks; t++) {
        if (r->plan->asked[t]) ARTEL_TRY(hear(r, t));
    }
    return ARTEL_OK;
}

/* -- the whole -- */

static void hand_out(const run *r)
{
    const artel_function *f = r->plan->function;
    for (int i = 0; i < f->outputs; i++) {
        if (!r->plan->wanted[i]) continue;
        int input = f->graph.value[f->graph.kept[i]].input;
        const void *mine = input >= 0 ? r->plan->feed[input] : artel__placed_output(r->plan, i);
        if (mine) copy_output(r, i, mine);
    }
}

static artel_status exchange(run *r)
{
    r->since = r->said = artel__now_ns();
    ARTEL_TRY(ask_all(r));
    ARTEL_TRY(artel__placed_begin(r->plan, &r->start));
    ARTEL_TRY(compute(r));
    if (r->failure == ARTEL_OK) hand_out(r);
    return decide(r);
}

static artel_status find_plan(run *r, artel_function *f)
{
    artel_session *s = r->session;
    ARTEL_TRY(artel__placed_wanted(s, f));
    for (int i = 0; i < f->outputs; i++) s->wanted[i] = r->call->outputs[i].data != NULL;
    ARTEL_TRY(artel__placed_plan_get(s, f, s->self, s->wanted, !r->call->read_only, &r->plan));
    for (int t = 0; t < s->options.clients && !s->alone; t++) {
        if (t != s->self && r->plan->involved[t])
            return artel__fail(
                s->ctx, ARTEL_ERROR_INVALID, f->name, "place variables and nodes at tasks that serve, or here",
                "something that is needed lies at %s, which is a client and does not serve", s->task[t].text);
    }
    memset(r->plan->asked, 0, (size_t)s->tasks * sizeof *r->plan->asked);
    memset(r->plan->due, 0, (size_t)s->tasks * sizeof *r->plan->due);
    return ARTEL_OK;
}

static artel_status run_it(run *r, artel_function *f)
{
    artel_session *s = r->session;
    const artel_optimizer *o = artel__function_optimizer(f);
    ARTEL_TRY(find_plan(r, f));
    ARTEL_TRY(take_feeds(r));
    ARTEL_TRY(artel__placed_sit(s));
    r->start.run = ++s->runs;
    r->start.batch = (uint64_t)s->strategy->runs;
    r->start.iteration = o ? o->iterations : 0;
    r->start.rate = o ? o->rate : 0;
    artel_status status = exchange(r);
    if (status < 0 && s->seat.endpoint) return artel__placed_broken(s, status);
    artel__placed_drop(r->plan);
    if (status == ARTEL_OK) status = r->failure;
    if (status == ARTEL_OK && s->watch) artel__placed_tell_times(r->plan);
    if (status == ARTEL_OK && r->plan->writes) s->strategy->runs++;
    return status;
}

artel_status artel_session_run(artel_session *s, artel_function *f, const artel_session_call *call)
{
    artel_session_call chosen = ARTEL_SESSION_CALL_INIT;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "session function call", s, f, call));
    ARTEL_TRY(artel__take_options(s->ctx, &artel__placed_call_kind, call, &chosen));
    ARTEL_TRY(check_call(s, f, &chosen));
    if (s->around) return s->around(s->around_user, f, &chosen);
    run r = {.session = s, .call = &chosen};
    return run_it(&r, f);
}
