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

static artel_status evaluate(const artel__watch *w, const artel_checkpoint_info *found, bool *over)
{
    int64_t began = artel__now_ns();
    ARTEL_TRY(w->evaluate(w->user, found));
    *over = w->once || (w->is_over ? w->is_over(w->user, found) : found->finished);
    return *over ? ARTEL_OK : wait_until(w, began + (int64_t)(w->throttle * 1e9));
}

static artel_status no_checkpoint(const artel__watch *w)
{
    return artel__fail(w->ctx, ARTEL_ERROR_NOT_FOUND, w->directory, "give the --checkpoint-dir of a fit",
                       "there is no whole checkpoint");
}

artel_status artel__watch_run(const artel__watch *w)
{
    artel_checkpoint_info found;
    int64_t seen = -1, reminded = artel__now_ns() - REMIND_NS;
    bool over = false;
    ARTEL_TRY(wait_until(w, artel__now_ns() + (int64_t)(w->start_delay * 1e9)));
    while (!over) {
        artel_status status = w->read(w->user, seen, &found);
        bool replaced = status == ARTEL_ERROR_NOT_FOUND; /* the run has removed it while it was read */
        if (status < 0 && !replaced) return status;
        if (!replaced && found.step > seen) {
            ARTEL_TRY(evaluate(w, &found, &over));
            seen = found.step;
            reminded = artel__now_ns();
            continue;
        }
        if (!replaced && w->once) return no_checkpoint(w);
        over =
            !replaced && seen >= 0 && found.step == seen && (w->is_over ? w->is_over(w->user, &found) : found.finished);
        if (!over && artel__now_ns() - reminded >= REMIND_NS) {
            reminded = artel__now_ns();
            artel__log(w->ctx, ARTEL_LOG_NOTE, "%s: waiting for a new checkpoint", w->directory);
        }
        if (!over) ARTEL_TRY(wait_a_moment(w, LOOK_NS));
    }
    return ARTEL_OK;
}
