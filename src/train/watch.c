/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into a directory for checkpoints, a few times a second. */
#include "train/watch.h"

#include <time.h>

#include "base/clock.h"
#include "base/context.h"

#define LOOK_NS 200000000L             /* between two looks into the directory */
#define REMIND_NS INT64_C(30000000000) /* as SidecarEvaluator */

static artel_status wait_a_moment(const artel__watch *w, int64_t ns)
{
    const struct timespec pause = {.tv_nsec = ns < LOOK_NS ? (long)ns : LOOK_NS};
    if (artel__cancelled(w->ctx) || artel__preempted(w->ctx))
        return artel__fail(w->ctx, ARTEL_ERROR_CANCELLED, w->directory, "start the same command again to go on",
                           "stopped on request before the run has finished");
    nanosleep(&pause, NULL);
    return ARTEL_OK;
}

static artel_status wait_until(const artel__watch *w, int64_t then)
{
    for (int64_t left = then - artel__now_ns(); left > 0; left = then - artel__now_ns())
        ARTEL_TRY(wait_a_moment(w, left));
    return ARTEL_OK;
}

static artel_status no_checkpoint(const artel__watch *w)
{
    return artel__fail(w->ctx, ARTEL_ERROR_NOT_FOUND, w->directory, "give the .checkpoint_dir of a fit",
                       "there is no whole checkpoint");
}

static bool ended(const artel__watch *w, const artel_checkpoint_info *found)
{
    return w->is_over ? w->is_over(w->user, found) : found->finished;
}

/* Behind the one before: whether a further one is wanted, and not too early. */
static artel_status go_on(artel__watch *w)
{
    if (!w->started) {
        w->started = true;
        w->found.step = -1;
        w->reminded = artel__now_ns() - REMIND_NS;
        return wait_until(w, artel__now_ns() + (int64_t)(w->start_delay * 1e9));
    }
    if (w->given == 0) return ARTEL_OK;
    w->over = w->once || ended(w, &w->found) || (w->most && w->given >= w->most);
    if (w->over) return ARTEL_OK;
    w->reminded = artel__now_ns();
    ARTEL_TRY(wait_until(w, w->began + (int64_t)(w->throttle * 1e9)));
    w->over = w->is_done && w->is_done(w->user);
    return ARTEL_OK;
}

/* One look: *fresh, watch->over. */
static artel_status look(artel__watch *w, bool *fresh)
{
    artel_checkpoint_info found;
    int64_t seen = w->found.step;
    artel_status status = w->read(w->user, seen, &found);
    bool replaced = status == ARTEL_ERROR_NOT_FOUND; /* the run has removed it while it was read */
    *fresh = false;
    if (replaced) return ARTEL_OK;
    if (found.step > seen) { /* also one that could not be taken up, which would be the next one for ever */
        *fresh = true;
        w->found = found;
        w->given++;
        w->began = artel__now_ns();
        return status;
    }
    ARTEL_TRY(status);
    if (w->once) return no_checkpoint(w);
    w->over = seen >= 0 && found.step == seen && ended(w, &found);
    return ARTEL_OK;
}

static void remind(artel__watch *w)
{
    if (artel__now_ns() - w->reminded < REMIND_NS) return;
    w->reminded = artel__now_ns();
    artel__log(w->ctx, ARTEL_LOG_NOTE, "%s: waiting for a new checkpoint", w->directory);
}

artel_status artel__watch_next(artel__watch *w)
{
    bool fresh = false;
    if (w->over) return ARTEL_AGAIN;
    ARTEL_TRY(go_on(w));
    int64_t since = artel__now_ns();
    while (!w->over) {
        ARTEL_TRY(look(w, &fresh));
        if (fresh) return ARTEL_OK;
        if (w->over) break;
        int64_t left = w->timeout < 0 ? LOOK_NS : since + (int64_t)(w->timeout * 1e9) - artel__now_ns();
        if (left > 0) {
            remind(w);
            ARTEL_TRY(wait_a_moment(w, left));
            continue;
        }
        w->over = !w->is_done || w->is_done(w->user);
        since = artel__now_ns();
        if (!w->over) ARTEL_TRY(wait_a_moment(w, 0)); /* it may have been told to end */
    }
    return ARTEL_AGAIN;
}

artel_status artel__watch_run(artel__watch *w)
{
    artel_status status = artel__watch_next(w);
    while (status == ARTEL_OK) {
        ARTEL_TRY(w->evaluate(w->user, &w->found));
        status = artel__watch_next(w);
    }
    return status < 0 ? status : ARTEL_OK;
}
