/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that survive the loss of tasks: what a job knows lies in its newest checkpoint, so that is where all go back
 * to.
 *
 *   task 0   restore, push, unit, unit, ..., (pull, save), ..., close
 *   others   serve
 * and after a loss: renew, which waits until all tasks are there again, and begin anew. */
#include <math.h>

#include "base/argument.h"
#include "base/clock.h"
#include "estimator/hook.h"
#include "function/session/session.h"

#define DEFAULT_SECS 600.0 /* as MonitoredTrainingSession */
#define MOST_UNITS 1000000000000000
#define OPTION(field) offsetof(artel_monitor_options, field)
static const artel__range ranges[] = {{".save_every", ARTEL__RANGE_INT64, OPTION(save_every), 0, 1e15, NULL},
                                      {".save_secs", ARTEL__RANGE_DOUBLE, OPTION(save_secs), 0, 1e9, NULL},
                                      {".hook_count", ARTEL__RANGE_INT, OPTION(hook_count), 0, 1000, NULL},
                                      {".keep", ARTEL__RANGE_INT, OPTION(keep), 1, 1e6, NULL},
                                      {".retries", ARTEL__RANGE_INT, OPTION(retries), 0, 1e6, NULL},
                                      {.name = NULL}};
static const artel__options_kind kind = {"monitor options", "begin with ARTEL_MONITOR_OPTIONS_INIT",
                                         sizeof(artel_monitor_options), ranges};

typedef struct monitor {
    artel_session *session;
    artel_strategy *strategy;
    artel_context *ctx;
    artel_monitor_options options;
    int64_t units;
    artel_unit_fn *unit;
    void *user;
    artel__hooks hooks;
    int losses; /* since the last checkpoint */
    int64_t saved_ns;
} monitor;

static artel_status save(monitor *m, int64_t unit)
{
    ARTEL_TRY(artel__hooks_call(&m->hooks, ARTEL__HOOK_SAVING, unit));
    ARTEL_TRY(artel_session_pull(m->session));
    ARTEL_TRY(artel_strategy_set_units(m->strategy, unit));
    ARTEL_TRY(artel_strategy_save(m->strategy, m->options.directory, unit, m->options.keep));
    m->losses = 0;
    m->saved_ns = artel__now_ns();
    return artel__hooks_call(&m->hooks, ARTEL__HOOK_SAVED, unit);
}

static bool is_due(const monitor *m, int64_t unit)
{
    const artel_monitor_options *o = &m->options;
    double secs = o->save_secs > 0 ? o->save_secs : o->save_every > 0 ? INFINITY : DEFAULT_SECS;
    if (o->save_every > 0 && unit % o->save_every == 0) return true;
    return (double)(artel__now_ns() - m->saved_ns) * 1e-9 >= secs;
}

/* What the newest checkpoint holds, on all tasks; *next: the unit that it begins with. */
static artel_status restore(monitor *m, int64_t *next)
{
    ARTEL_TRY(artel_strategy_restore(m->strategy, m->options.directory, next));
    if (*next >= 0) return artel_session_push(m->session);
    *next = 0;
    return save(m, 0);
}

static artel_status lead(monitor *m)
{
    int64_t next;
    m->saved_ns = artel__now_ns();
    ARTEL_TRY(restore(m, &next));
    ARTEL_TRY(artel__hooks_call(&m->hooks, ARTEL__HOOK_CREATED, next));
    while (next < m->units && !m->hooks.stopped) {
        m->hooks.unit = next;
        artel_status status = m->unit(m->user, next);
        if (status < 0)
            return artel__fail(m->ctx, status, "session", "see what it has found", "unit %lld has failed",
                               (long long)next);
        next++;
        if (next == m->units || m->hooks.stopped || is_due(m, next)) ARTEL_TRY(save(m, next));
    }
    ARTEL_TRY(artel__hooks_call(&m->hooks, ARTEL__HOOK_END, next));
    return artel_session_close(m->session);
}

/* Waits for those who were lost. */
static artel_status renew(monitor *m)
{
    artel_communicator *communicator = artel__placed_communicator(m->session);
    if (++m->losses > m->options.retries)
        return artel__fail(m->ctx, ARTEL_ERROR_RUN, "session", "see why tasks are lost, or allow more .retries",
                           "tasks were lost %d times without a checkpoint in between", m->losses);
    artel__log(m->ctx, ARTEL_LOG_NOTE,
               "session: a task is lost; all go back to the newest checkpoint when it is here again");
    return artel_communicator_renew(communicator);
}

/* The client's hooks are around its runs, until the job is over. */
static artel_status watch(monitor *m)
{
    artel_communicator *communicator = artel__placed_communicator(m->session);
    for (;;) {
        bool leads = artel__placed_is_first(m->session);
        artel_status status = leads ? lead(m) : artel_session_serve(m->session);
        if (status != ARTEL_ERROR_RUN || !communicator) return status;
        if (leads && !artel__placed_lost(m->session)) return status; /* a unit's own, or a hook's */
        ARTEL_TRY(renew(m));
        artel__operation_begin(m->ctx); /* what a loss has recorded is no failure of the job */
    }
}

artel_status artel_session_monitor(artel_session *s, const artel_monitor_options *options, int64_t units,
                                   artel_unit_fn *unit, void *user)
{
    monitor m = {.session = s, .options = ARTEL_MONITOR_OPTIONS_INIT, .units = units, .unit = unit, .user = user};
    m.ctx = s ? artel__placed_context(s) : NULL;
    ARTEL_TRY(artel__enter(m.ctx, __func__, "session options", s, options));
    ARTEL_TRY(artel__take_options(m.ctx, &kind, options, &m.options));
    m.strategy = artel__placed_strategy(s);
    bool named = m.options.directory && m.options.directory[0], possible = units >= 0 && units <= MOST_UNITS;
    if (!named || !possible || !unit)
        return artel__fail(m.ctx, ARTEL_ERROR_INVALID, "monitor options",
                           "name a directory, a number of units and a function", "%s",
                           !unit    ? "there is no unit function"
                           : !named ? "there is no directory"
                                    : "so many units are not possible");
    if (m.options.hook_count > 0 && !m.options.hooks)
        return artel__fail(m.ctx, ARTEL_ERROR_INVALID, "monitor options", "give a list, and how many there are",
                           "the hooks are no list");
    m.hooks = (artel__hooks){s, m.ctx, m.options.hooks, m.options.hook_count, 0, false};
    for (int i = 0; i < m.hooks.count; i++) {
        ARTEL_TRY(artel__need(m.ctx, __func__, "hooks", m.hooks.hook[i]));
        ARTEL_TRY(artel__need_context(m.ctx, m.hooks.hook[i]->ctx, "a hook"));
    }
    if (artel__placed_surrounded(s))
        return artel__fail(m.ctx, ARTEL_ERROR_INVALID, "session", "run functions in a unit or a hook",
                           "the session is monitored already");
    artel_status status = artel__placed_is_first(s) ? artel__hooks_call(&m.hooks, ARTEL__HOOK_BEGIN, 0) : ARTEL_OK;
    if (status == ARTEL_OK) status = watch(&m);
    artel__placed_surround(s, NULL, NULL);
    artel__placed_watch(s, NULL, NULL); /* of a hook whose run has failed */
    return status;
}

artel_status artel_session_request_stop(artel_session *s)
{
    ARTEL_TRY(artel__need(s ? artel__placed_context(s) : NULL, __func__, "session", s));
    artel__hooks *hooks = artel__placed_surrounded(s);
    if (!hooks)
        return artel__fail(artel__placed_context(s), ARTEL_ERROR_INVALID, "session",
                           "call it from a unit or a hook of artel_session_monitor", "the session is not monitored");
    hooks->stopped = true;
    return ARTEL_OK;
}
