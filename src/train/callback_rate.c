/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceLROnPlateau and LearningRateScheduler, after keras/src/callbacks. Both put "learning_rate" into the epoch's
 * logs. */
#include <math.h>
#include <string.h>

#include "train/callbacks.h"

typedef struct plateau_config {
    const char *monitor, *mode;
    double factor, min_delta, min_lr;
    int64_t patience, verbose, cooldown;
} plateau_config;

#define AT(field) offsetof(plateau_config, field)
static const artel__option plateau_options[] = {
    {"monitor", "quantity to watch", ARTEL__OPTION_STRING, AT(monitor), "val_loss", 0, 0, NULL},
    {"factor", "what the learning rate is multiplied by", ARTEL__OPTION_FLOAT, AT(factor), "0.1", 0, 0.999999, NULL},
    {"patience", "epochs without improvement before that", ARTEL__OPTION_INT, AT(patience), "10", 0, 1e9, NULL},
    {"verbose", "1: say so", ARTEL__OPTION_INT, AT(verbose), "0", 0, 2, NULL},
    {"mode", "auto, min, max", ARTEL__OPTION_STRING, AT(mode), "auto", 0, 0, NULL},
    {"min_delta", "change that counts as improvement", ARTEL__OPTION_FLOAT, AT(min_delta), "0.0001", 0, 0, NULL},
    {"cooldown", "epochs to wait after a reduction", ARTEL__OPTION_INT, AT(cooldown), "0", 0, 1e9, NULL},
    {"min_lr", "lower limit", ARTEL__OPTION_FLOAT, AT(min_lr), "0", 0, 0, NULL},
    {.name = NULL},
};
#undef AT

/* A rate set by hand and a schedule exclude each other, as in Keras. */
static artel_status needs_constant(artel__fit *fit, const artel__callback *callback)
{
    if (!fit->settings.optimizer.schedule.def) return ARTEL_OK;
    return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, callback->def->class_name,
                       "give the optimizer a constant learning rate",
                       "the optimizer's learning rate is a schedule and cannot be set by a callback");
}

static artel_status tell_rate(artel__fit *fit, artel__callback *callback)
{
    ARTEL_TRY(artel__logs_set(fit, &fit->logs.epoch, "learning_rate", artel__fit_rate(fit)));
    callback->state.told = artel__logs_get(&fit->logs.epoch, "learning_rate");
    return ARTEL_OK;
}

static artel_status plateau_begin(artel__fit *fit, artel__callback *callback)
{
    const plateau_config *c = callback->config;
    ARTEL_TRY(needs_constant(fit, callback));
    return artel__monitor_direction(fit, callback, c->mode, c->monitor);
}

static bool improved(const artel__callback *callback, double value)
{
    const plateau_config *c = callback->config;
    if (isnan(callback->state.best)) return true;
    return callback->state.up ? value > callback->state.best + c->min_delta
                              : value < callback->state.best - c->min_delta;
}

static void reduce(artel__fit *fit, artel__callback *callback)
{
    const plateau_config *c = callback->config;
    double old = artel__fit_as_rate(fit, artel__fit_rate(fit));
    if (!(old > artel__fit_as_rate(fit, c->min_lr))) return;
    double rate = old * c->factor;
    fit->learning_rate = artel__fit_as_rate(fit, rate > c->min_lr ? rate : c->min_lr);
    if (c->verbose > 0 && fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "Epoch %lld: ReduceLROnPlateau reducing learning rate to %.9g.",
                   (long long)fit->at.epoch + 1, fit->learning_rate);
    callback->state.cooldown = c->cooldown;
    callback->state.wait = 0;
}

static artel_status plateau_epoch_end(artel__fit *fit, artel__callback *callback)
{
    const plateau_config *c = callback->config;
    artel__callback_state *s = &callback->state;
    double value;
    ARTEL_TRY(tell_rate(fit, callback));
    if (!artel__monitor_value(fit, callback, c->monitor, &value)) return ARTEL_OK;
    if (s->cooldown > 0) {
        s->cooldown--;
        s->wait = 0;
    }
    if (improved(callback, value)) {
        s->best = value;
        s->wait = 0;
    } else if (s->cooldown <= 0 && ++s->wait >= c->patience) {
        reduce(fit, callback);
    }
    return ARTEL_OK;
}

const artel__callback_def artel__callback_reduce_lr = {
    .class_name = "ReduceLROnPlateau",
    .doc = "Lowers the learning rate when a quantity has stopped improving.",
    .config_size = sizeof(plateau_config),
    .tells_rate = true,
    .options = plateau_options,
    .begin = plateau_begin,
    .epoch_end = plateau_epoch_end,
};

/* -- LearningRateScheduler: a list of rates by epoch (the last one stays), or a schedule's record called with the epoch
 * -- */

typedef struct scheduler_config {
    const char *schedule;
    int64_t verbose;
} scheduler_config;

static const artel__option scheduler_options[] = {
    {"schedule", "list of rates by epoch, or a schedule's record called with the epoch", ARTEL__OPTION_JSON,
     offsetof(scheduler_config, schedule), "null", 0, 0, NULL},
    {"verbose", "1: say each rate", ARTEL__OPTION_INT, offsetof(scheduler_config, verbose), "0", 0, 2, NULL},
    {.name = NULL},
};

typedef struct scheduler_own {
    double *rate;
    int64_t count;
    artel__schedule schedule;
    int replicas; /* that the schedule was read for */
} scheduler_own;

static artel_status read_rates(artel__fit *fit, json_t *list, scheduler_own *own)
{
    own->count = (int64_t)json_array_size(list);
    own->rate = artel__arena_alloc(&fit->arena, (size_t)own->count + 1, sizeof *own->rate);
    if (!own->rate) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < own->count; i++) {
        if (!artel__json_number(json_array_get(list, (size_t)i), &own->rate[i]))
            return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "LearningRateScheduler", "give numbers",
                               "entry %lld of the schedule is not a number", (long long)i);
    }
    return ARTEL_OK;
}

static artel_status read_scheduler(artel__fit *fit, artel__callback *callback)
{
    const scheduler_config *c = callback->config;
    scheduler_own *own = callback->own;
    json_t *json = NULL;
    own->replicas = fit->job.schedule_replicas;
    if (c->schedule)
        ARTEL_TRY(artel__json_load(fit->ctx, "LearningRateScheduler", c->schedule, strlen(c->schedule), &json));
    artel_status status;
    if (json_is_array(json) && json_array_size(json))
        status = read_rates(fit, json, own);
    else if (json_is_object(json))
        status =
            artel__schedule_read(&fit->arena, json, fit->job.schedule_replicas, fit->input.batch_size, &own->schedule);
    else
        status =
            artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "LearningRateScheduler",
                        "give \"schedule\": a list of rates by epoch, or a schedule's record", "there is no schedule");
    json_decref(json);
    return status;
}

static artel_status scheduler_begin(artel__fit *fit, artel__callback *callback)
{
    ARTEL_TRY(needs_constant(fit, callback));
    callback->own = artel__arena_alloc(&fit->arena, 1, sizeof(scheduler_own));
    return callback->own ? read_scheduler(fit, callback) : ARTEL_ERROR_NO_MEMORY;
}

static artel_status scheduler_epoch_begin(artel__fit *fit, artel__callback *callback)
{
    const scheduler_config *c = callback->config;
    const scheduler_own *own = callback->own;
    /* Among other tasks the replicas are known from the first seat on, in a continued run from its checkpoint. */
    if (own->schedule.tabled && own->replicas != fit->job.schedule_replicas) ARTEL_TRY(read_scheduler(fit, callback));
    int64_t last = own->count - 1;
    double rate = own->count ? own->rate[fit->at.epoch < last ? fit->at.epoch : last]
                             : artel__schedule_rate(&own->schedule, fit->at.epoch);
    fit->learning_rate = artel__fit_as_rate(fit, rate);
    if (c->verbose > 0 && fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "Epoch %lld: LearningRateScheduler setting learning rate to %.9g.",
                   (long long)fit->at.epoch + 1, fit->learning_rate);
    return ARTEL_OK;
}

static artel_status scheduler_epoch_end(artel__fit *fit, artel__callback *callback)
{
    return tell_rate(fit, callback);
}

const artel__callback_def artel__callback_scheduler = {
    .class_name = "LearningRateScheduler",
    .doc = "Sets the learning rate at the beginning of each epoch.",
    .config_size = sizeof(scheduler_config),
    .tells_rate = true,
    .options = scheduler_options,
    .begin = scheduler_begin,
    .epoch_begin = scheduler_epoch_begin,
    .epoch_end = scheduler_epoch_end,
};
