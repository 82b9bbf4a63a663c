/* SPDX-License-Identifier: Apache-2.0 */
/* What a fit tells its caller while it runs: events, with the counters of the moment, and the plan. */
#include "base/argument.h"
#include "base/text.h"
#include "train/fit_impl.h"

void artel__fit_event(const artel__fit *fit, artel_event *event)
{
    if (!fit->options.on_event) return;
    event->epoch = fit->at.epoch;
    event->epochs = fit->options.epochs;
    event->step = fit->at.step;
    event->steps_per_epoch = fit->input.steps_per_epoch;
    event->step_in_epoch = fit->at.step_in_epoch;
    bool well = artel_context_error(fit->ctx)->status == ARTEL_OK;
    fit->options.on_event(fit->options.event_user, event);
    if (well) artel__operation_begin(fit->ctx); /* what failed in the caller's function is no failure of this run */
}

double artel__fit_as_rate(const artel__fit *fit, double rate)
{
    return fit->settings.optimizer.wide ? rate : (double)(float)rate;
}

double artel__fit_rate(const artel__fit *fit)
{
    if (fit->learning_rate >= 0) return fit->learning_rate;
    return artel__schedule_rate(&fit->settings.optimizer.schedule, fit->at.iteration);
}

void artel__fit_tell_epoch(const artel__fit *fit)
{
    artel_event event = {.kind = ARTEL_EVENT_EPOCH_END,
                         .metrics = fit->logs.epoch.item,
                         .metric_count = fit->logs.epoch.count,
                         .learning_rate = artel__fit_rate(fit),
                         .loss = artel__logs_get(&fit->logs.epoch, "loss")};
    event.rates = artel__callbacks_told(fit, &event.rate_count);
    artel__fit_event(fit, &event);
}

artel_status artel__fit_tell_passed_epoch(artel__fit *fit)
{
    const artel_history *h = fit->history;
    if (!h || h->epochs == 0) return ARTEL_OK;
    fit->logs.epoch.count = 0;
    for (int k = 0; k < h->keys; k++)
        ARTEL_TRY(artel__logs_set(fit, &fit->logs.epoch, h->key[k], h->values[k][h->epochs - 1]));
    fit->at.epoch--;
    artel__fit_tell_epoch(fit);
    fit->at.epoch++;
    return ARTEL_OK;
}

void artel__fit_say_start(artel__fit *fit)
{
    if (fit->pace.told) return;
    fit->pace.told = true;
    artel_event event = {.kind = ARTEL_EVENT_START,
                         .text = artel__session_strategy(fit->session),
                         .replicas = artel__session_replicas(fit->session),
                         .threads = artel__session_threads(fit->session),
                         .shards = artel__session_shards(fit->session),
                         .arithmetic = artel__session_arithmetic(fit->session),
                         .resumed_from = fit->resumed_from};
    artel_cluster *cluster = artel__fit_cluster(fit);
    if (cluster) {
        event.role = artel_cluster_role(cluster);
        event.task = artel_cluster_index(cluster);
    }
    artel__fit_event(fit, &event);
}

artel_status artel__fit_report_fault(artel__fit *fit)
{
    const char *fault = artel__session_take_fault(fit->session);
    if (!fault[0]) return ARTEL_OK;
    artel__log(fit->ctx, ARTEL_LOG_WARNING, "%s", fault);
    artel_event event = {.kind = ARTEL_EVENT_FAULT, .text = fault};
    artel__fit_event(fit, &event);
    return ARTEL_OK;
}

artel_status artel__fit_report_plan(artel__fit *fit)
{
    if (!fit->options.on_plan) return ARTEL_OK;
    artel__text text;
    artel__text_init(&text, fit->ctx);
    artel__session_explain(fit->session, &text);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) fit->options.on_plan(fit->options.event_user, text.data);
    artel__text_fini(&text);
    return status;
}
