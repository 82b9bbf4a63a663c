/* SPDX-License-Identifier: Apache-2.0 */
/* Training: epochs of steps over data in a seeded order, with validation, callbacks and checkpoints.
 *
 * The order of samples is a pure function of (seed, pass over the data, number of samples). A run may end at any step
 * boundary (cancelled, preempted, stopped by a callback) and be taken up there: the counters in artel__fit, the
 * session's variables and the callbacks' states are all that the rest depends on.
 */
#include <math.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/threads.h"
#include "train/audit.h"
#include "train/callbacks.h"
#include "train/content.h"
#include "train/deal.h"
#include "train/options.h"

/* All that is left to do has been done, here and everywhere. */
static artel_status conclude(artel__fit *fit, bool preempted)
{
    artel_status status = ARTEL_OK;
    if (preempted) return artel__checkpointer_now(fit);
    ARTEL_TRY(artel__session_export(fit->session, fit->model, fit->at.iteration, artel__fit_rate(fit)));
    if (!artel__checkpointer_finished(fit)) status = artel__checkpointer_finish(fit);
    if (status != ARTEL_OK || !fit->writes || !fit->options.on_result) return status;
    bool others = fit->role == ARTEL__ROLE_COORDINATOR && artel__mesh_ever_formed(fit->options.cluster);
    if (others) artel__outputs_ask(fit->ctx, artel__fit_confirm, fit);
    status = fit->options.on_result(fit->options.event_user, fit->model, fit->history);
    artel__outputs_ask(fit->ctx, NULL, NULL);
    if (status >= 0) return ARTEL_OK;
    return artel__fail(fit->ctx, status, "results", "see what it has found",
                       "the function that writes them has failed");
}

/* -- events of the end -- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static artel_status end_event(artel__fit *fit)
{
    char digest[65];
    if (!fit->options.on_event) return ARTEL_OK;
    bool whole = fit->model->initialised; /* a worker or server need not have all weights */
    if (whole) ARTEL_TRY(artel__keras_digest(fit->model, false, digest));
    qsort(fit->pace.step_ms, (size_t)fit->pace.steps_timed, sizeof *fit->pace.step_ms, by_value);
    double total = 0;
    for (int64_t i = 0; i < fit->pace.steps_timed; i++) total += fit->pace.step_ms[i];
    double first = (double)fit->pace.first_step_ns * 1e-6,
           median = fit->pace.steps_timed ? fit->pace.step_ms[fit->pace.steps_timed / 2] : NAN;
    double per_step = fit->at.step
                          ? (double)fit->pace.examples /
                                (double)(fit->at.step - fit->resumed_from ? fit->at.step - fit->resumed_from : 1)
                          : 0;
    double rate = fit->pace.steps_timed ? (double)fit->pace.steps_timed * per_step / (total * 1e-3)
                  : first > 0           ? per_step / (first * 1e-3)
                                        : 0;
    artel_event event = {.kind = ARTEL_EVENT_END,
                         .examples = fit->pace.examples,
                         .examples_per_second = rate,
                         .step_ms = median,
                         .first_step_ms = first > 0 ? first : NAN,
                         .start_ms = first > 0 ? (double)fit->pace.started_ns * 1e-6 : NAN,
                         .peak_rss_bytes = artel__peak_rss_bytes(),
                         .digest = whole ? digest : NULL};
    artel__session_program_counts(fit->session, &event.programs_compiled, &event.programs_found);
    artel__fit_event(fit, &event);
    return ARTEL_OK;
}

/* Whatever happened, the model receives the weights of the last whole step. */
static artel_status finish(artel__fit *fit, artel_status status)
{
    double rate = artel__fit_rate(fit);
    artel_status exported = artel__session_export(fit->session, fit->model, fit->at.iteration, rate);
    return status < 0 ? status : exported;
}

/* A task of a finished run is started again, and no other one: they have ended before it. */
static artel_status end_late(artel__fit *fit)
{
    artel__operation_begin(fit->ctx);
    artel__log(fit->ctx, ARTEL_LOG_NOTE, "the run is finished, and no other task has come: nothing is left to be done");
    return conclude(fit, false);
}

static artel_status run_among_others(artel__fit *fit)
{
    if (fit->role != ARTEL__ROLE_NONE) return artel__fit_run_servers(fit);
    ARTEL_TRY(artel__fit_join(fit));
    return artel__fit_run(fit, artel__fit_unit);
}

static artel_status run_fit(artel__fit *fit)
{
    fit->result.conclude = conclude;
    artel_cluster *cluster = artel__fit_cluster(fit);
    artel_status status = run_among_others(fit);
    if (status == ARTEL_ERROR_RUN && artel__checkpointer_finished(fit) && !artel__mesh_ever_formed(cluster))
        return end_late(fit);
    ARTEL_TRY(status);
    if (cluster) return ARTEL_OK;
    artel__session_release(fit->session);
    return conclude(fit, false);
}

/* What the user's events say of the end that another task brought about. */
static void report_failure(artel__fit *fit, artel_status status)
{
    artel_cluster *cluster = fit->options.dry_run ? NULL : fit->options.cluster;
    if (artel__mesh_is_single(cluster)) return;
    artel_event event = {.kind = ARTEL_EVENT_FAULT, .text = artel_context_error(fit->ctx)->what};
    event.rank = artel__mesh_culprit(cluster, &event.host, &event.phase);
    if (status != ARTEL_ERROR_PREEMPTED && status != ARTEL_ERROR_CANCELLED) artel__fit_event(fit, &event);
}

artel_status artel__fit_need_context(artel_context *ctx, const artel_data *data, const artel_cluster *cluster)
{
    ARTEL_TRY(artel__need_context(ctx, artel__data_context(data), "the data"));
    return artel__mesh_need_context(ctx, cluster);
}

static artel_status fit_model(artel_model *model, artel_data *data, const artel_fit_options *options,
                              artel_history **out)
{
    artel__fit fit = {.ctx = model->ctx, .model = model, .options = ARTEL_FIT_OPTIONS_INIT};
    ARTEL_TRY(artel__take_options(model->ctx, &artel__fit_kind, options, &fit.options));
    ARTEL_TRY(artel__fit_need_context(model->ctx, data, fit.options.cluster));
    if (fit.options.validation_data)
        ARTEL_TRY(
            artel__need_context(model->ctx, artel__data_context(fit.options.validation_data), "the validation data"));
    artel__arena_init(&fit.arena, model->ctx);
    artel_status status = artel__fit_open(&fit, data);
    if (status == ARTEL_OK && !artel__session_cluster(fit.session)) status = artel__fit_report_plan(&fit);
    fit.at.ended = artel__checkpointer_finished(&fit);
    bool over = fit.at.ended;
    if (status == ARTEL_OK && !fit.options.dry_run) status = run_fit(&fit);
    if (status == ARTEL_OK && over && !fit.options.dry_run) status = artel__callbacks_over(&fit);
    status = artel__fit_end(&fit, status);
    if (fit.session && fit.history && !artel__session_is_cache(fit.session)) status = finish(&fit, status);
    if (status == ARTEL_OK && !fit.options.dry_run) status = end_event(&fit);
    if (status < 0) report_failure(&fit, status);
    if (status == ARTEL_OK && out) {
        *out = fit.history;
        fit.history = NULL;
    }
    artel__fit_close(&fit);
    return status;
}

artel_status artel_model_fit(artel_model *model, artel_data *data, const artel_fit_options *options,
                             artel_history **out)
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model data", model, data));
    uint32_t caller = artel__fp_enter(); /* numbers are parsed and rounded outside the steps too */
    artel_status status = fit_model(model, data, options, out);
    artel__fp_leave(caller);
    return status;
}
