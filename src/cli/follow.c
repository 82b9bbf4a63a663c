/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what an evaluator finds: the loop is train/watch.c. */
#include "cli/follow.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "train/watch.h"

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
        artel__show(stdout, " %s %s", key,
                    artel__format_double(number, sizeof number, artel_history_values(history, key, NULL)[0]));
    }
    artel__show(stdout, "\n");
    fflush(stdout);
}

static artel_status evaluate(void *user, const artel_checkpoint_info *found)
{
    follower *f = user;
    f->found = *found;
    artel_evaluate_options options = f->follow->evaluate;
    artel_history *history = NULL;
    options.on_event = pass_on;
    options.event_user = f;
    ARTEL_TRY(artel_model_evaluate(f->follow->model, f->follow->data, &options, &history));
    if (!f->observers.events) print_values(f, history);
    artel_history_destroy(history);
    return ARTEL_OK;
}

static artel_status read_newer(void *user, int64_t newer_than, artel_checkpoint_info *out)
{
    follower *f = user;
    return artel_model_read_checkpoint(f->follow->model, f->follow->directory, newer_than, out);
}

static artel_status follow_run(follower *f)
{
    artel__watch watch = {.ctx = f->call->ctx,
                          .directory = f->follow->directory,
                          .read = read_newer,
                          .evaluate = evaluate,
                          .user = f,
                          .throttle = f->follow->min_interval,
                          .timeout = f->follow->timeout > 0 ? f->follow->timeout : ARTEL__WATCH_FOR_EVER,
                          .most = f->follow->most,
                          .once = f->follow->once};
    return artel__watch_run(&watch);
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
