/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that survive the loss of tasks: what a job knows lies in its newest checkpoint, so that is where all go back
 * to.
 *
 *   task 0   restore, push, unit, unit, ..., (pull, save), ..., close
 *   others   serve
 * and after a loss: renew, which waits until all tasks are there again, and begin anew. */
#include "base/argument.h"
#include "function/session/session.h"

#define MOST_UNITS 1000000000000000
#define OPTION(field) offsetof(artel_monitor_options, field)
static const artel__range ranges[] = {{".save_every", ARTEL__RANGE_INT64, OPTION(save_every), 1, 1e15, NULL},
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
    int losses; /* since the last checkpoint */
} monitor;

static artel_status save(monitor *m, int64_t unit)
{
    ARTEL_TRY(artel_session_pull(m->session));
    ARTEL_TRY(artel_strategy_set_units(m->strategy, unit));
    ARTEL_TRY(artel_strategy_save(m->strategy, m->options.directory, unit, m->options.keep));
    m->losses = 0;
    return ARTEL_OK;
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
    ARTEL_TRY(restore(m, &next));
    while (next < m->units) {
        ARTEL_TRY(m->unit(m->user, next));
        next++;
        if (next == m->units || next % m->options.save_every == 0) ARTEL_TRY(save(m, next));
    }
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

static artel_status watch(monitor *m)
{
    artel_communicator *communicator = artel__placed_communicator(m->session);
    for (;;) {
        artel_status status = artel__placed_is_first(m->session) ? lead(m) : artel_session_serve(m->session);
        if (status != ARTEL_ERROR_RUN || !communicator) return status;
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
    return watch(&m);
}
