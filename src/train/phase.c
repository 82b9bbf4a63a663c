/* SPDX-License-Identifier: Apache-2.0 */
/* Phases: which batches, and what their results change in a fit. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "train/coordinate.h"

#define PATIENCE_NS INT64_C(1000000000)

static artel__tally *tally_of(artel__fit *fit, const artel__phase_run *phase)
{
    return phase->mode == ARTEL__MODE_TRAIN ? &fit->tally : &fit->validation.tally;
}

/* Whether the variables are wanted after so many steps: by a checkpoint, by a callback. */
static bool is_cut(const artel__fit *fit, int64_t step)
{
    int64_t every = artel__checkpointer_steps(fit);
    return (every > 0 && step % every == 0) || artel__callbacks_read_at(fit, step);
}

/* The batches from here to the end of the epoch, or to where variables are wanted, as a run of one process takes them;
 * `out` NULL counts. */
static int64_t plan_training(const artel__fit *fit, artel__phase_item *out)
{
    int64_t count = 0, pass = fit->input.batches.pass, cursor = fit->input.batches.cursor;
    for (int64_t step = fit->at.step_in_epoch; step < fit->input.steps_per_epoch; step++, count++) {
        bool epoch_cut = fit->options.steps_per_epoch && step > 0 && cursor >= fit->input.batches.rows;
        if (epoch_cut || (count > 0 && is_cut(fit, fit->at.step + count))) break;
        if (cursor >= fit->input.batches.rows) {
            pass++;
            cursor = 0;
        }
        int64_t rows = fit->input.batches.rows - cursor < fit->input.batch_size ? fit->input.batches.rows - cursor
                                                                                : fit->input.batch_size;
        if (out) out[count] = (artel__phase_item){.pass = pass, .cursor = cursor, .count = rows};
        cursor += rows;
    }
    return count;
}

static int64_t plan_validation(const artel__fit *fit, artel__phase_item *out)
{
    int64_t batch = artel__fit_validation_batch(fit), limit = fit->options.validation_steps, count = 0;
    for (int64_t row = fit->validation.row; row < fit->validation.rows && (limit == 0 || row < limit * batch);
         row += batch, count++) {
        int64_t rest = fit->validation.rows - row;
        if (out) out[count] = (artel__phase_item){.cursor = row, .count = rest < batch ? rest : batch};
    }
    return count;
}

static artel_status open(artel__fit *fit, artel__phase_run *phase, artel__mode mode)
{
    void *block;
    artel__phase_close(fit, phase);
    phase->mode = mode;
    phase->serial++;
    phase->next = phase->added = phase->done = 0;
    phase->owes = false;
    phase->first = (uint64_t)fit->at.step;
    const artel__tally *tally = tally_of(fit, phase);
    phase->items = mode == ARTEL__MODE_TRAIN ? plan_training(fit, NULL) : plan_validation(fit, NULL);
    phase->stride = artel__tally_values(tally);
    ARTEL_TRY(artel__calloc(fit->ctx, (size_t)phase->items + 1, sizeof *phase->item, "items", &block));
    phase->item = block;
    ARTEL_TRY(
        artel__calloc(fit->ctx, (size_t)phase->items * (size_t)phase->stride + 1, sizeof(double), "items", &block));
    phase->values = block;
    ARTEL_TRY(artel__calloc(fit->ctx, (size_t)phase->stride + 1, sizeof(double), "items", &block));
    phase->saved_sums = block;
    if (mode == ARTEL__MODE_TRAIN)
        plan_training(fit, phase->item);
    else
        plan_validation(fit, phase->item);
    phase->since_ns = artel__now_ns();
    phase->saved = (artel__phase_place){.pass = fit->input.batches.pass,
                                        .cursor = fit->input.batches.cursor,
                                        .step = fit->at.step,
                                        .step_in_epoch = fit->at.step_in_epoch,
                                        .iteration = fit->at.iteration,
                                        .unit = fit->at.unit,
                                        .examples = fit->pace.examples,
                                        .validation_row = fit->validation.row,
                                        .stop = fit->callbacks.stop,
                                        .tally = *tally};
    memcpy(phase->saved_sums, tally->output_loss, (size_t)tally->outputs * sizeof(double));
    memcpy(phase->saved_sums + tally->outputs, tally->sums, (size_t)tally->sum_count * sizeof(double));
    phase->open = true;
    return ARTEL_OK;
}

void artel__phase_close(artel__fit *fit, artel__phase_run *phase)
{
    artel__free(fit->ctx, phase->item);
    artel__free(fit->ctx, phase->values);
    artel__free(fit->ctx, phase->saved_sums);
    phase->item = NULL;
    phase->values = phase->saved_sums = NULL;
    phase->open = false;
}

void artel__phase_go_back(artel__fit *fit, artel__phase_run *phase)
{
    const artel__phase_place *from = &phase->saved;
    artel__tally *tally = tally_of(fit, phase);
    if (!phase->open) return;
    fit->at.step = from->step;
    fit->at.step_in_epoch = from->step_in_epoch;
    fit->input.batches.cursor = from->cursor;
    fit->input.batches.pass = from->pass;
    fit->at.iteration = from->iteration;
    fit->at.unit = from->unit;
    fit->pace.examples = from->examples;
    fit->validation.row = from->validation_row;
    fit->callbacks.stop = from->stop;
    *tally = from->tally;
    memcpy(tally->output_loss, phase->saved_sums, (size_t)tally->outputs * sizeof(double));
    memcpy(tally->sums, phase->saved_sums + tally->outputs, (size_t)tally->sum_count * sizeof(double));
    for (int64_t i = 0; i < phase->items; i++) {
        phase->item[i].state = ARTEL__ITEM_NEW;
        phase->item[i].again = false;
    }
    phase->next = phase->added = phase->done = 0;
    phase->owes = false;
}

void artel__phase_recall(artel__phase_run *phase)
{
    for (int64_t i = phase->added; i < phase->items; i++) {
        if (phase->item[i].state == ARTEL__ITEM_OUT) phase->item[i].state = ARTEL__ITEM_NEW;
        phase->item[i].again = false;
    }
    phase->next = phase->added;
}

int64_t artel__phase_deal(artel__phase_run *phase)
{
    while (phase->next < phase->items && phase->item[phase->next].state != ARTEL__ITEM_NEW) phase->next++;
    if (phase->next >= phase->items) return -1;
    phase->item[phase->next].state = ARTEL__ITEM_OUT;
    phase->dealt_ns = artel__now_ns();
    return phase->next++;
}

int64_t artel__phase_deal_again(artel__phase_run *phase)
{
    if (phase->mode == ARTEL__MODE_TRAIN || artel__now_ns() - phase->dealt_ns < PATIENCE_NS) return -1;
    for (int64_t i = phase->added; i < phase->items; i++) {
        if (phase->item[i].state != ARTEL__ITEM_OUT || phase->item[i].again) continue;
        phase->item[i].again = true;
        return i;
    }
    return -1;
}

artel_status artel__phase_pay(artel__fit *fit, artel__phase_run *phase)
{
    bool owes = phase->owes;
    phase->owes = false;
    return owes ? artel__callbacks_batch_end(fit, phase->owed_loss) : ARTEL_OK;
}

bool artel__phase_is_done(const artel__phase_run *phase)
{
    return phase->added >= phase->items;
}

/* What callbacks read of variables is at the servers until the phase is done. */
static artel_status count_step(artel__fit *fit, artel__phase_run *phase, const artel__phase_item *item,
                               const double *values)
{
    double rate = artel__fit_rate(fit);
    fit->input.batches.pass = item->pass;
    fit->input.batches.cursor = item->cursor + item->count;
    fit->pace.examples += item->count;
    fit->at.step++;
    fit->at.step_in_epoch++;
    fit->at.iteration++;
    artel__tally_add_values(&fit->tally, values, item->count);
    if (!artel__callbacks_read_at(fit, fit->at.step)) return artel__fit_stepped(fit, values[0], rate);
    phase->owes = true;
    phase->owed_loss = values[0];
    return artel__fit_tell_step(fit, values[0], rate);
}

/* A step of the job takes as long as it is since the one before. */
static artel_status time_step(artel__fit *fit, artel__phase_run *phase, const artel__phase_item *item,
                              const double *values)
{
    artel__fit_time_step(fit, phase->since_ns);
    phase->since_ns = artel__now_ns();
    return count_step(fit, phase, item, values);
}

/* A callback that ends the epoch at a step ends the dealing; what is out is still waited for. */
static void cut_short(artel__phase_run *phase)
{
    while (phase->items > phase->added && phase->item[phase->items - 1].state == ARTEL__ITEM_NEW) phase->items--;
}

artel_status artel__phase_take(artel__fit *fit, artel__phase_run *phase, uint64_t number, const double *values)
{
    uint64_t i = number - phase->first;
    if (i >= (uint64_t)phase->items || phase->item[i].state == ARTEL__ITEM_DONE)
        return ARTEL_OK; /* of before, or twice */
    memcpy(phase->values + i * (uint64_t)phase->stride, values, (size_t)phase->stride * sizeof *values);
    phase->item[i].state = ARTEL__ITEM_DONE;
    phase->done++;
    while (phase->added < phase->items && phase->item[phase->added].state == ARTEL__ITEM_DONE) {
        const artel__phase_item *item = &phase->item[phase->added];
        const double *result = phase->values + phase->added * phase->stride;
        phase->added++;
        fit->at.unit++;
        if (phase->mode == ARTEL__MODE_TRAIN)
            ARTEL_TRY(time_step(fit, phase, item, result));
        else {
            artel__tally_add_values(&fit->validation.tally, result, item->count);
            fit->validation.row += item->count;
        }
    }
    if (fit->callbacks.stop) cut_short(phase);
    return ARTEL_OK;
}

artel_status artel__phase_open_next(artel__fit *fit, artel__phase_run *phase)
{
    while (!fit->at.ended) {
        bool over = fit->at.epoch >= fit->options.epochs || fit->callbacks.stop;
        if (!fit->at.epoch_begun && over) return artel__fit_training_end(fit);
        if (!fit->at.epoch_begun) ARTEL_TRY(artel__fit_epoch_begin(fit));
        bool trains =
            fit->at.step_in_epoch < fit->input.steps_per_epoch && !fit->callbacks.stop && !artel__fit_ran_out(fit);
        if (trains) return open(fit, phase, ARTEL__MODE_TRAIN);
        if (artel__fit_validates(fit)) return open(fit, phase, ARTEL__MODE_EVALUATE);
        ARTEL_TRY(artel__fit_epoch_end(fit));
        fit->at.unit++;
        ARTEL_TRY(artel__checkpointer_unit(fit));
    }
    return ARTEL_OK;
}
