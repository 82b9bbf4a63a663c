/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of an evaluator: look for a newer checkpoint, evaluate it, until the run says that it has finished. */
#include "cli/follow.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

#define LOOK_NS 200000000L             /* between two looks into the directory */
#define REMIND_NS INT64_C(30000000000) /* as SidecarEvaluator */

typedef struct follower {
    const artel__follow *follow;
    artel__invocation *call;
    artel__observers observers;
    artel_checkpoint_info found;
} follower;

/* Events of the evaluation, with the place in the run. */
static void pass_on(void *user, const artel_event *event)
{
    follower *f = user;
    artel_event told = *event;
    if (event->kind == ARTEL_EVENT_EVALUATE) {
        told.step = f->found.step;
        told.epoch = f->found.epoch;
    }
    artel__observers_event(&f->observers, &told);
}

static void print_values(const follower *f, const artel_history *history)
{
    char number[32];
    artel__show(stdout, "step %lld", (long long)f->found.step);
    for (int k = 0; k < artel_history_keys(history); k++) {
        const char *key = artel_history_key(history, k);
        artel__show(stdout, " %s %s", key, artel__format_double(number, sizeof number, artel_history_values(history, key, NULL)[0]));
    }
    artel__show(stdout, "\n");
    fflush(stdout);
}

static artel_status evaluate(follower *f)
{
    artel_evaluate_options options = f->follow->evaluate;
    artel_history *history = NULL;
    options.on_event = pass_on;
    options.event_user = f;
    ARTEL_TRY(artel_model_evaluate(f->follow->model, f->follow->data, &options, &history));
    if (!f->observers.events) print_values(f, history);
    artel_history_destroy(history);
    return ARTEL_OK;
}

static artel_status stopped(const follower *f)
{
    const char *advice = "start the same command again to go on";
    return artel__fail(f->call->ctx, ARTEL_ERROR_CANCELLED, f->follow->directory, advice, "stopped on request before the run has finished");
}

static artel_status wait_a_moment(follower *f, int64_t *reminded)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    if (artel__cancelled(f->call->ctx) || artel__preempted(f->call->ctx)) return stopped(f);
    if (artel__now_ns() - *reminded >= REMIND_NS) {
        *reminded = artel__now_ns();
        artel__log(f->call->ctx, ARTEL_LOG_NOTE, "%s: waiting for a new checkpoint", f->follow->directory);
    }
    nanosleep(&pause, NULL);
    return ARTEL_OK;
}

static artel_status follow_run(follower *f)
{
    const artel__follow *follow = f->follow;
    int64_t seen = -1, reminded = artel__now_ns() - REMIND_NS;
    for (;;) {
        artel_status status = artel_model_read_checkpoint(follow->model, follow->directory, seen, &f->found);
        bool replaced = status == ARTEL_ERROR_NOT_FOUND; /* the run has removed it while it was read */
        if (status < 0 && !replaced) return status;
        if (status == ARTEL_OK && f->found.step > seen) {
            ARTEL_TRY(evaluate(f));
            seen = f->found.step;
            reminded = artel__now_ns();
        }
        if (status == ARTEL_OK && follow->once && seen < 0)
            return artel__fail(f->call->ctx, ARTEL_ERROR_NOT_FOUND, follow->directory, "give the --checkpoint-dir of a fit",
                               "there is no whole checkpoint");
        if (status == ARTEL_OK && seen >= 0 && (follow->once || (f->found.finished && f->found.step == seen))) return ARTEL_OK;
        ARTEL_TRY(wait_a_moment(f, &reminded));
    }
}

artel_status artel__cli_follow(artel__invocation *call, const artel__follow *follow)
{
    follower f = {.follow = follow, .call = call};
    artel_status status = artel__observers_open(call->ctx, follow->model, &follow->show, &f.observers);
    f.observers.keras_progress = f.observers.follows = true;
    artel__cli_catch_signals(call->ctx);
    if (status == ARTEL_OK) status = follow_run(&f);
    artel_status shown = artel__observers_close(&f.observers);
    return status < 0 ? status : shown;
}
