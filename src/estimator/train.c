/* SPDX-License-Identifier: Apache-2.0 */
/* The training side: a loop of units (function/cluster.c), one step each, with checkpoints between two of them.
 *
 * A checkpoint is written at the beginning of the unit that follows, by the task that writes at that moment: there the
 * state is that of all whole steps. A unit that is played again after a task was lost writes the same file again, or
 * finds it written. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "estimator/trainer.h"

#define MOST_STEPS INT64_C(1000000000000000)
#define LOOKS 5

/* -- between two steps -- */

artel_status artel__step_save(artel__step_trainer *t, int64_t step, bool finished)
{
    const artel__estimator_save now = {step, step / t->side.input.per_pass, t->spec->max_steps, finished};
    ARTEL_TRY(ARTEL__HOOKS(&t->side, saving, step, NAN));
    ARTEL_TRY(artel__estimator_save_now(&t->side, &now));
    ARTEL_TRY(ARTEL__HOOKS(&t->side, saved, step, NAN));
    t->saved = step;
    t->saved_ns = artel__now_ns();
    return ARTEL_OK;
}

bool artel__step_is_due(const artel__step_trainer *t, int64_t step)
{
    const artel_estimator_options *o = &t->side.estimator->options;
    if (t->saved < 0) return true; /* as it began */
    if (t->saved == step) return false;
    if (o->save_checkpoints_steps) return step % o->save_checkpoints_steps == 0;
    return o->save_checkpoints_secs > 0 && (double)(artel__now_ns() - t->saved_ns) * 1e-9 >= o->save_checkpoints_secs;
}

static artel_status evaluate(artel__step_trainer *t)
{
    int64_t now = artel__now_ns();
    if ((double)(now - t->evaluated_ns) * 1e-9 < t->evaluator->spec->throttle_secs) return ARTEL_OK;
    t->evaluated_ns = now;
    return artel__evaluator_look(t->evaluator);
}

static artel_status rest(artel__step_trainer *t, int64_t step)
{
    if (!artel_strategy_writes(t->side.strategy) || !artel__step_is_due(t, step)) return ARTEL_OK;
    ARTEL_TRY(artel__step_save(t, step, false));
    return t->evaluator && step > t->first ? evaluate(t)
                                           : ARTEL_OK; /* the first checkpoint is not evaluated: nothing was trained */
}

/* -- a step -- */

artel_status artel__step_tell(artel__step_trainer *t, int64_t step)
{
    if (isnan(t->loss))
        return artel__fail(t->side.estimator->ctx, ARTEL_ERROR_RUN, "train",
                           "lower the learning rate, or look at the data", "the loss of step %lld is not a number",
                           (long long)step);
    const artel_estimator_options *o = &t->side.estimator->options;
    artel__estimator_event(t->side.estimator, &(artel_event){.kind = ARTEL_EVENT_STEP,
                                                             .step = step,
                                                             .epoch = (step - 1) / t->side.input.per_pass,
                                                             .step_in_epoch = (step - 1) % t->side.input.per_pass + 1,
                                                             .steps_per_epoch = t->side.input.per_pass,
                                                             .loss = t->loss});
    ARTEL_TRY(ARTEL__HOOKS(&t->side, after, step, t->loss));
    if (o->save_summary_steps == 0 || step % o->save_summary_steps != 0 || !artel_strategy_writes(t->side.strategy))
        return ARTEL_OK;
    return artel__side_point(&t->side, "", "loss", step, t->loss);
}

static artel_status one_step(void *user, int64_t unit)
{
    int64_t rows;
    artel__step_trainer *t = user;
    const artel_array loss = artel__side_room(&t->side, 0);
    if (t->side.stop) return ARTEL_ERROR_CANCELLED; /* nothing of this step was done: in_order() says so */
    ARTEL_TRY(rest(t, unit));
    if (t->side.stop) return ARTEL_ERROR_CANCELLED;
    ARTEL_TRY(ARTEL__HOOKS(&t->side, before, unit, NAN));
    ARTEL_TRY(artel__input_read(&t->side.input, unit, &rows));
    ARTEL_TRY(artel_function_run(t->side.function, t->side.input.array, t->side.input.columns, &loss, 1));
    t->loss = artel__side_number(&t->side, 0, 0);
    return artel__step_tell(t, unit + 1);
}

/* -- a call -- */

static artel_status begin(artel__step_trainer *t)
{
    int64_t batches = artel__input_batches(&t->side.input);
    artel_checkpoint_info found;
    artel_status status = ARTEL_ERROR_NOT_FOUND;
    for (int i = 0; i < LOOKS && status == ARTEL_ERROR_NOT_FOUND;
         i++) /* a job that this task joins removes the oldest ones */
        status = artel__estimator_restore(&t->side, t->side.estimator->options.model_dir, -1, &found, NULL);
    ARTEL_TRY(status);
    if (found.step < 0) ARTEL_TRY(artel__side_warm_start(&t->side));
    t->saved = found.step;
    t->first = found.step > 0 ? found.step : 0;
    t->saved_ns = t->evaluated_ns = artel__now_ns();
    t->target = t->spec->steps ? t->first + t->spec->steps : t->spec->max_steps ? t->spec->max_steps : MOST_STEPS;
    if (t->target > batches) t->target = batches;
    if (t->target > MOST_STEPS) t->target = MOST_STEPS;
    if (t->first >= t->target)
        artel__log(t->side.estimator->ctx, ARTEL_LOG_NOTE, "%s: %lld steps are done already",
                   t->side.estimator->options.model_dir, (long long)t->first);
    return ARTEL_OK;
}

static artel_status end(artel__step_trainer *t, artel_status status)
{
    int64_t step = artel_strategy_units(t->side.strategy);
    bool writes = artel_strategy_writes(t->side.strategy);
    if (status == ARTEL_OK && writes) return artel__step_save(t, step, true);
    if (status == ARTEL_ERROR_PREEMPTED && writes && t->saved != step && artel__step_save(t, step, false) < 0)
        return ARTEL_ERROR_IO;
    return status;
}

/* A hook has ended the loop before a step. */
static artel_status in_order(artel__step_trainer *t, artel_status status)
{
    if (status != ARTEL_ERROR_CANCELLED || !t->side.stop || artel__cancelled(t->side.estimator->ctx)) return status;
    artel__operation_begin(t->side.estimator->ctx);
    return ARTEL_OK;
}

/* By this task: the steps, those of others by a coordinator, or what workers and servers do. */
static artel_status run(artel__step_trainer *t, bool servers)
{
    if (servers && !artel_cluster_writes(t->side.estimator->strategy.cluster))
        return artel_coordinator_serve(t->side.strategy);
    ARTEL_TRY(begin(t));
    ARTEL_TRY(ARTEL__HOOKS(&t->side, begin, t->first, NAN));
    if (servers) return artel__step_schedule(t);
    artel_status status = end(t, in_order(t, artel_strategy_loop(t->side.strategy, t->target, one_step, t)));
    return status == ARTEL_OK ? ARTEL__HOOKS(&t->side, end, artel_strategy_units(t->side.strategy), NAN) : status;
}

artel_status artel__estimator_train(artel_estimator *e, const artel_train_spec *spec, artel__evaluator *evaluator)
{
    artel__step_trainer t = {.spec = spec, .evaluator = evaluator};
    ARTEL_TRY(artel__side_open(e, ARTEL_ESTIMATOR_TRAIN, spec->input, spec->user, e->strategy.cluster, &t.side));
    artel_status status = artel__side_take_hooks(&t.side, spec->hooks, spec->hook_count);
    if (status == ARTEL_OK) status = run(&t, strcmp(artel_strategy_name(t.side.strategy), "parameter-server") == 0);
    if (status == ARTEL_OK && t.side.events) status = artel__tfevents_flush(t.side.events);
    artel__side_close(&t.side);
    return status;
}
