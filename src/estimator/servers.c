/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over parameter servers: the chief schedules one closure a step, with that step's batch, and hears their losses
 * in the order of the steps. Before a checkpoint all that was scheduled is waited for. A server that was lost with its
 * variables takes the training back to the newest checkpoint, which coordinator and disk keep alike. */
#include <math.h>

#include "estimator/trainer.h"
#include "function/snapshot.h"

enum {
    AHEAD = 64, /* closures whose losses were not heard yet */
    MOST_FAILURES = 8
};

typedef struct chief {
    artel__step_trainer *t;
    artel_coordinator *coordinator;
    artel_remote *remote[AHEAD];
    int64_t heard, scheduled; /* steps */
    int failures;             /* since the last checkpoint */
} chief;

static artel_status hear(chief *c)
{
    artel_remote **remote = &c->remote[c->heard % AHEAD];
    const artel_array loss = artel__side_room(&c->t->side, 0);
    artel_status status = artel_remote_fetch(*remote, &loss, 1, NULL);
    artel_remote_release(*remote);
    *remote = NULL;
    if (status == ARTEL_OK) {
        c->t->loss = artel__side_number(&c->t->side, 0, 0);
        c->heard++;
    }
    if (status != ARTEL_ERROR_CANCELLED || artel__cancelled(c->t->side.estimator->ctx)) return status;
    ARTEL_TRY(artel_coordinator_join(c->coordinator)); /* it was dropped: why, is said once */
    return artel__fail(c->t->side.estimator->ctx, ARTEL_ERROR_RUN, "train", "see what the coordinator has said before",
                       "step %lld was dropped", (long long)c->heard + 1);
}

/* *told: what failed is the training itself. */
static artel_status hear_until(chief *c, int64_t step, bool *told)
{
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && c->heard < step) {
        status = hear(c);
        if (status == ARTEL_OK) status = artel__step_tell(c->t, c->heard), *told = status < 0;
    }
    return status;
}

static artel_status save(chief *c, bool finished, bool *told)
{
    artel_strategy *strategy = c->t->side.strategy;
    ARTEL_TRY(hear_until(c, c->scheduled, told));
    ARTEL_TRY(artel_coordinator_join(c->coordinator));
    ARTEL_TRY(artel_coordinator_keep(c->coordinator));
    ARTEL_TRY(artel_strategy_set_units(strategy, c->scheduled));
    artel_status status = artel__step_save(c->t, c->scheduled, finished);
    *told = *told || status < 0;
    c->failures = 0;
    return status;
}

static artel_status schedule(chief *c, bool *told)
{
    int64_t rows;
    artel__input *in = &c->t->side.input;
    if (c->scheduled - c->heard == AHEAD) ARTEL_TRY(hear_until(c, c->heard + 1, told));
    artel_status status = artel__input_read(in, c->scheduled, &rows);
    *told = *told || status < 0;
    if (status < 0) return status;
    ARTEL_TRY(artel_coordinator_schedule(c->coordinator, c->t->side.function, in->array, in->columns, NULL,
                                         &c->remote[c->scheduled % AHEAD]));
    c->scheduled++;
    return ARTEL_OK;
}

static artel_status stopped(chief *c, bool *told)
{
    artel_context *ctx = c->t->side.estimator->ctx;
    if (!artel__cancelled(ctx) && !artel__preempted(ctx)) return ARTEL_OK;
    *told = true;
    if (artel__cancelled(ctx))
        return artel__fail(ctx, ARTEL_ERROR_CANCELLED, "train", "call artel_context_clear to go on",
                           "the training was cancelled");
    ARTEL_TRY(save(c, false, told));
    *told = true;
    return artel__fail(ctx, ARTEL_ERROR_PREEMPTED, "train", "start it again to go on", "the training was asked to end");
}

static artel_status go_on(chief *c, bool *told)
{
    while (c->scheduled < c->t->target && !c->t->side.stop) {
        ARTEL_TRY(stopped(c, told));
        if (artel__step_is_due(c->t, c->scheduled)) ARTEL_TRY(save(c, false, told));
        ARTEL_TRY(schedule(c, told));
    }
    return save(c, true, told);
}

static void forget(chief *c)
{
    for (int i = 0; i < AHEAD; i++) {
        artel_remote_release(c->remote[i]);
        c->remote[i] = NULL;
    }
}

/* A server has come back without its variables. */
static artel_status go_back(chief *c)
{
    forget(c);
    artel__log(c->t->side.estimator->ctx, ARTEL_LOG_WARNING, "%s; going back to step %lld",
               artel_context_error(c->t->side.estimator->ctx)->what, (long long)c->t->saved);
    ARTEL_TRY(artel_coordinator_go_back(c->coordinator));
    c->heard = c->scheduled = c->t->saved;
    return ARTEL_OK;
}

/* What the checkpoint has goes to the servers and is kept. One that was lost before, of a chief that was away, or
 * meanwhile is told once, and gets it again. */
static artel_status give_all(chief *c)
{
    artel_status status = ARTEL_ERROR_RUN;
    for (int tries = 0; status == ARTEL_ERROR_RUN && tries <= MOST_FAILURES; tries++) {
        status = artel__snapshot_push(c->t->side.strategy);
        if (status == ARTEL_OK) status = artel_coordinator_keep(c->coordinator);
    }
    return status;
}

artel_status artel__step_schedule(artel__step_trainer *t)
{
    chief c = {.t = t, .heard = t->first, .scheduled = t->first};
    bool told = false;
    ARTEL_TRY(artel_coordinator_open(t->side.strategy, NULL, &c.coordinator));
    bool warm = t->side.estimator->warm.checkpoint != NULL;
    artel_status status = t->saved >= 0 || warm ? give_all(&c) : ARTEL_OK;
    if (status == ARTEL_OK) status = go_on(&c, &told);
    while (status == ARTEL_ERROR_RUN && !told && t->saved >= 0 && ++c.failures <= MOST_FAILURES) {
        status = go_back(&c);
        if (status == ARTEL_OK) status = go_on(&c, &told);
    }
    forget(&c);
    if (status == ARTEL_OK) status = ARTEL__HOOKS(&t->side, end, c.scheduled, NAN);
    artel_status closed = artel_coordinator_close(c.coordinator);
    return status < 0 ? status : closed;
}
