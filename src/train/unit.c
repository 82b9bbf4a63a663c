/* SPDX-License-Identifier: Apache-2.0 */
/* A unit of work of a training: a step, a batch of validation, or the end of an epoch.
 *
 * Between two of them the state is whole: the counters in artel__fit, the session's variables and the callbacks' states
 * are all that the rest depends on.
 */
#include <stdio.h>

#include "base/clock.h"
#include "train/audit.h"
#include "train/callbacks.h"
#include "train/content.h"
#include "train/deal.h"
#include "train/left.h"

/* -- steps -- */

void artel__fit_time_step(artel__fit *fit, int64_t before)
{
    int64_t now = artel__now_ns();
    if (fit->pace.first_step_ns == 0) {
        fit->pace.first_step_ns = now - before;
        fit->pace.started_ns = (int64_t)(artel__process_age() * 1e9);
    } else if (fit->pace.steps_timed < fit->pace.step_room)
        fit->pace.step_ms[fit->pace.steps_timed++] = (double)(now - before) * 1e-6;
}

artel_status artel__fit_tell_step(artel__fit *fit, double loss, double rate)
{
    if (!fit->options.on_event) return ARTEL_OK;
    ARTEL_TRY(artel__tally_logs(fit, &fit->tally, artel__session_objective(fit->session, ARTEL__MODE_TRAIN), "",
                                &fit->logs.step));
    artel_event event = {.kind = ARTEL_EVENT_STEP,
                         .loss = loss,
                         .learning_rate = rate,
                         .metrics = fit->logs.step.item,
                         .metric_count = fit->logs.step.count};
    artel__fit_event(fit, &event);
    return ARTEL_OK;
}

/* The batches after this one, unless the run ends before. */
static void look_ahead(artel__fit *fit, artel__batch *batch)
{
    bool last_epoch = fit->at.epoch + 1 >= fit->options.epochs;
    for (int i = 0; fit->input.batches.peeks && i < ARTEL__PREFETCH_AHEAD; i++) {
        if (last_epoch && fit->at.step_in_epoch + i + 1 >= fit->input.steps_per_epoch) return;
        batch->ahead[i] = artel__deal_batch(fit, ARTEL__MODE_TRAIN, i + 1, artel__batches_peek(&fit->input.batches, i));
    }
}

artel_status artel__fit_stepped(artel__fit *fit, double loss, double rate)
{
    ARTEL_TRY(artel__fit_tell_step(fit, loss, rate));
    return artel__callbacks_batch_end(fit, loss);
}

static artel_status one_step(artel__fit *fit)
{
    artel__batches *batches = &fit->input.batches;
    if (batches->cursor >= batches->rows) {
        artel__batches_begin_pass(batches);
        artel__content_begin_pass(fit);
        artel__audit_begin_pass(fit);
    }
    ARTEL_TRY(artel__deal_share(fit));
    artel__batch_rows next = artel__deal_batch(fit, ARTEL__MODE_TRAIN, 0, artel__batches_next(batches));
    bool last =
        batches->cursor + next.count >= batches->rows || fit->at.step_in_epoch + 1 >= fit->input.steps_per_epoch;
    double rate = artel__fit_rate(fit);
    artel__batch batch = {.rows = next.rows,
                          .count = next.count,
                          .pass = next.pass,
                          .bucket = next.bucket,
                          .move = next.move,
                          .moves = next.moves,
                          .ordinal = (uint64_t)(fit->options.initial_epoch * fit->input.steps_per_epoch + fit->at.step),
                          .position = (int64_t)fit->tally.weight,
                          .iteration = fit->at.iteration,
                          .learning_rate = rate,
                          .compares = artel__content_is_due(fit, last)};
    look_ahead(fit, &batch);
    if (fit->pace.profile) ARTEL_TRY(artel__session_profile(fit->session));
    int64_t before = artel__now_ns();
    ARTEL_TRY(artel__session_step(fit->session, ARTEL__MODE_TRAIN, &batch));
    artel__fit_time_step(fit, before);
    if (fit->pace.profile) artel__fit_profile_step(fit);
    batches->cursor += next.count;
    fit->pace.examples += next.count;
    fit->at.step++;
    fit->at.step_in_epoch++;
    if (artel__session_took_step(fit->session)) fit->at.iteration++;
    artel__tally_add(&fit->tally, fit->session, ARTEL__MODE_TRAIN, next.count);
    double loss = artel__session_loss(fit->session, ARTEL__MODE_TRAIN, NULL);
    ARTEL_TRY(artel__fit_report_fault(fit));
    artel__audit_stepped(fit);
    ARTEL_TRY(artel__content_stepped(fit));
    return artel__fit_stepped(fit, loss, rate);
}

/* -- validation -- */

int64_t artel__fit_next_judged(const artel__fit *fit, int64_t epoch)
{
    int64_t every = fit->options.validation_frequency > 0 ? fit->options.validation_frequency : 1, next = INT64_MAX;
    if (!fit->validation.epoch) return epoch - epoch % every + every;
    for (int i = 0; i < fit->validation.epochs; i++)
        if (fit->validation.epoch[i] > epoch && fit->validation.epoch[i] < next) next = fit->validation.epoch[i];
    return next;
}

/* Whether the validation pass of this epoch has another batch. */
bool artel__fit_validates(const artel__fit *fit)
{
    if (!fit->validation.feed || artel__fit_next_judged(fit, fit->at.epoch) != fit->at.epoch + 1) return false;
    return fit->validation.row < fit->validation.end;
}

/* Of the `place`-th batch from here on. */
static artel__batch_rows validation_rows(artel__fit *fit, int place)
{
    const artel__fit_validation *v = &fit->validation;
    artel__batch_rows rows = artel__batch_at(&v->cut, v->order, artel__batch_behind(&v->cut, v->order, v->row, place));
    return artel__deal_batch(fit, ARTEL__MODE_EVALUATE, place, rows);
}

static artel_status validate_batch(artel__fit *fit)
{
    ARTEL_TRY(artel__deal_share(fit));
    artel__batch_rows next = validation_rows(fit, 0);
    int64_t count = next.count;
    artel__batch batch = {
        .rows = next.rows, .count = count, .bucket = next.bucket, .move = next.move, .moves = next.moves};
    for (int i = 0; i < ARTEL__PREFETCH_AHEAD; i++) batch.ahead[i] = validation_rows(fit, i + 1);
    fit->validation.row += count;
    batch.compares = fit->content.reads && !artel__fit_validates(fit); /* the last one of the pass */
    fit->validation.row -= count;
    artel__callbacks_around_test(fit, true);
    artel_status status = artel__session_step(fit->session, ARTEL__MODE_EVALUATE, &batch);
    artel__callbacks_around_test(fit, false);
    ARTEL_TRY(status);
    artel__tally_add(&fit->validation.tally, fit->session, ARTEL__MODE_EVALUATE, count);
    fit->validation.row += count;
    return ARTEL_OK;
}

static artel_status report_validation(artel__fit *fit)
{
    artel__log_list *logs = &fit->validation.logs;
    const artel__objective *objective = artel__session_objective(fit->session, ARTEL__MODE_EVALUATE);
    logs->count = 0;
    ARTEL_TRY(artel__tally_logs(fit, &fit->validation.tally, objective, "", logs));
    artel_event event = {
        .kind = ARTEL_EVENT_EVALUATE, .validation = true, .metrics = logs->item, .metric_count = logs->count};
    artel__fit_event(fit, &event);
    return artel__tally_logs(fit, &fit->validation.tally, objective, "val_", &fit->logs.epoch);
}

/* -- epochs -- */

artel_status artel__fit_epoch_end(artel__fit *fit)
{
    fit->logs.epoch.count = 0;
    ARTEL_TRY(artel__state_bring(artel__session_state(fit->session)));
    ARTEL_TRY(artel__session_complete(fit->session));
    artel__state_copy(fit->model->weights, artel__session_state(fit->session),
                      artel__all_of(fit->model->nn->variables));
    fit->model->initialised = true;
    ARTEL_TRY(artel__tally_logs(fit, &fit->tally, artel__session_objective(fit->session, ARTEL__MODE_TRAIN), "",
                                &fit->logs.epoch));
    if (fit->validation.row > 0) ARTEL_TRY(report_validation(fit));
    ARTEL_TRY(artel__callbacks_epoch_end(fit));
    ARTEL_TRY(artel__history_append(fit->history, &fit->logs.epoch));
    artel__fit_tell_epoch(fit);
    artel__audit_epoch_end(fit);
    fit->at.epoch++;
    fit->at.step_in_epoch = fit->validation.row = 0;
    fit->at.epoch_begun = false;
    if (fit->options.steps_per_epoch == 0)
        fit->input.batches.cursor = fit->input.batches.rows; /* the next epoch begins a new pass */
    artel__tally_clear(&fit->tally);
    if (fit->validation.feed) artel__tally_clear(&fit->validation.tally);
    return ARTEL_OK;
}

artel_status artel__fit_preempted(artel__fit *fit)
{
    bool saves = fit->role == ARTEL__ROLE_NONE || fit->role == ARTEL__ROLE_COORDINATOR;
    const char *what = !fit->options.checkpoint_dir ? "; this run's progress is lost"
                       : saves                      ? ", after saving"
                       : fit->job.saved             ? ", after the chief has saved"
                                                    : "; the chief, which saves, is not here";
    char step[40] = "";
    if (saves) snprintf(step, sizeof step, " at step %lld", (long long)fit->at.step);
    artel__operation_begin(fit->ctx);
    return artel__fail(fit->ctx, ARTEL_ERROR_PREEMPTED, "fit",
                       fit->options.checkpoint_dir ? "start the same command again to continue"
                                                   : "give .checkpoint_dir so that a stopped run can be continued",
                       "stopped on request%s%s", step, what);
}

/* Whether the run has been asked to end here; ARTEL_OK to go on. */
static artel_status check_requests(artel__fit *fit)
{
    if (artel__cancelled(fit->ctx))
        return artel__fail(fit->ctx, ARTEL_ERROR_CANCELLED, "fit",
                           "start it again; with checkpoint_dir it would continue", "the run was cancelled");
    if (!artel__preempted(fit->ctx)) return ARTEL_OK;
    ARTEL_TRY(artel__checkpointer_now(fit));
    return artel__fit_preempted(fit);
}

artel_status artel__fit_epoch_begin(artel__fit *fit)
{
    artel_event event = {.kind = ARTEL_EVENT_EPOCH_BEGIN, .learning_rate = artel__fit_rate(fit)};
    artel__fit_event(fit, &event);
    ARTEL_TRY(artel__callbacks_epoch_begin(fit));
    fit->at.epoch_begun = true;
    return ARTEL_OK;
}

artel_status artel__fit_training_end(artel__fit *fit)
{
    if (fit->options.epochs > 0) artel__session_finalize(fit->session);
    ARTEL_TRY(artel__callbacks_train_end(fit));
    fit->at.ended = true;
    return ARTEL_OK;
}

/* With steps_per_epoch an epoch that reaches the end of the data before its last step ends there, as in Keras. */
bool artel__fit_ran_out(artel__fit *fit)
{
    bool short_of = fit->options.steps_per_epoch && fit->at.step_in_epoch > 0 &&
                    fit->input.batches.cursor >= fit->input.batches.rows;
    if (short_of && !fit->input.told_short && fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_WARNING,
                   "epoch %lld ends after %lld of %lld steps, with the data, as in Keras: steps per epoch that divide "
                   "the %lld batches of the "
                   "data make epochs of one length",
                   (long long)fit->at.epoch + 1, (long long)fit->at.step_in_epoch,
                   (long long)fit->input.steps_per_epoch, (long long)artel__batch_count(&fit->input.batches.cut));
    fit->input.told_short = fit->input.told_short || short_of;
    return short_of;
}

artel_status artel__fit_unit(artel__fit *fit)
{
    artel__fit_say_start(fit);
    if (!artel__session_cluster(fit->session)) ARTEL_TRY(check_requests(fit));
    if (!fit->at.epoch_begun && (fit->at.epoch >= fit->options.epochs || fit->callbacks.stop))
        return artel__fit_training_end(fit);
    if (!fit->at.epoch_begun) ARTEL_TRY(artel__fit_epoch_begin(fit));
    if (fit->at.step_in_epoch < fit->input.steps_per_epoch && !fit->callbacks.stop && !artel__fit_ran_out(fit))
        return one_step(fit);
    return artel__fit_validates(fit) ? validate_batch(fit) : artel__fit_epoch_end(fit);
}
