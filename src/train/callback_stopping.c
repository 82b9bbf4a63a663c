/* SPDX-License-Identifier: Apache-2.0 */
/* EarlyStopping and TerminateOnNaN, after keras/src/callbacks. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "train/callbacks.h"

typedef struct early_config {
    const char *monitor, *mode;
    double min_delta;
    const char *baseline; /* JSON: a number or null */
    int64_t patience, verbose, start_from_epoch;
    bool restore_best_weights;
} early_config;

#define AT(field) offsetof(early_config, field)
static const artel__option early_options[] = {
    {"monitor", "quantity to watch", ARTEL__OPTION_STRING, AT(monitor), "val_loss", 0, 0, NULL},
    {"min_delta", "change that counts as improvement", ARTEL__OPTION_FLOAT, AT(min_delta), "0", 0, 0, NULL},
    {"patience", "epochs without improvement before training stops", ARTEL__OPTION_INT, AT(patience), "0", 0, 1e9,
     NULL},
    {"verbose", "1: say when training stops", ARTEL__OPTION_INT, AT(verbose), "0", 0, 2, NULL},
    {"mode", "auto, min, max", ARTEL__OPTION_STRING, AT(mode), "auto", 0, 0, NULL},
    {"baseline", "value to be better than", ARTEL__OPTION_JSON, AT(baseline), "null", 0, 0, NULL},
    {"restore_best_weights", "end with the weights of the best epoch", ARTEL__OPTION_BOOL, AT(restore_best_weights),
     "false", 0, 0, NULL},
    {"start_from_epoch", "epochs before watching begins", ARTEL__OPTION_INT, AT(start_from_epoch), "0", 0, 1e9, NULL},
    {.name = NULL},
};

static artel_status early_begin(artel__fit *fit, artel__callback *callback)
{
    const early_config *c = callback->config;
    return artel__monitor_direction(fit, callback, c->mode, c->monitor);
}

static bool better(const artel__callback *callback, double value, double reference)
{
    const early_config *c = callback->config;
    if (isnan(reference)) return true;
    return callback->state.up ? value - fabs(c->min_delta) > reference : value + fabs(c->min_delta) < reference;
}

static artel_status early_epoch_end(artel__fit *fit, artel__callback *callback)
{
    const early_config *c = callback->config;
    artel__callback_state *s = &callback->state;
    double value;
    if (!artel__monitor_value(fit, callback, c->monitor, &value) || fit->at.epoch < c->start_from_epoch)
        return ARTEL_OK;
    if (c->restore_best_weights && !callback->weights) {
        ARTEL_TRY(artel__callback_keep_weights(fit, callback));
        s->best_epoch = fit->at.epoch;
    }
    s->wait++;
    if (better(callback, value, s->best)) {
        s->best = value;
        s->best_epoch = fit->at.epoch;
        if (c->restore_best_weights) ARTEL_TRY(artel__callback_keep_weights(fit, callback));
        double baseline;
        bool has_baseline = c->baseline && artel__parse_double(c->baseline, &baseline);
        if (!has_baseline || better(callback, value, baseline)) s->wait = 0;
        return ARTEL_OK;
    }
    if (s->wait >= c->patience && fit->at.epoch > 0) {
        s->stopped_epoch = fit->at.epoch;
        fit->callbacks.stop = true;
    }
    return ARTEL_OK;
}

static artel_status early_train_end(artel__fit *fit, artel__callback *callback)
{
    const early_config *c = callback->config;
    const artel__callback_state *s = &callback->state;
    if (s->stopped_epoch > 0 && c->verbose > 0 && fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "Epoch %lld: early stopping", (long long)s->stopped_epoch + 1);
    if (!c->restore_best_weights || !callback->weights) return ARTEL_OK;
    if (c->verbose > 0 && fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "Restoring model weights from the end of the best epoch: %lld.",
                   (long long)s->best_epoch + 1);
    artel__state_restore(artel__session_state(fit->session), artel__all_of(fit->model->nn->variables),
                         callback->weights);
    artel__session_broadcast(fit->session);
    return ARTEL_OK;
}

const artel__callback_def artel__callback_early_stopping = {
    .class_name = "EarlyStopping",
    .doc = "Ends training when a quantity has stopped improving.",
    .config_size = sizeof(early_config),
    .options = early_options,
    .begin = early_begin,
    .epoch_end = early_epoch_end,
    .train_end = early_train_end,
};

typedef struct nan_config {
    bool raise_error;
} nan_config;

static const artel__option nan_options[] = {
    {"raise_error", "whether the run then fails, instead of ending", ARTEL__OPTION_BOOL,
     offsetof(nan_config, raise_error), "false", 0, 0, NULL},
    {.name = NULL},
};

static artel_status nan_batch_end(artel__fit *fit, artel__callback *callback, double loss)
{
    const nan_config *c = callback->config;
    if (isfinite(loss)) return ARTEL_OK;
    if (c->raise_error)
        return artel__fail(fit->ctx, ARTEL_ERROR_RUN, "TerminateOnNaN", "lower the learning rate, or clip gradients",
                           "the loss of batch %lld is not finite", (long long)fit->at.step_in_epoch - 1);
    if (fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "Batch %lld: Invalid loss, terminating training",
                   (long long)fit->at.step_in_epoch - 1);
    fit->callbacks.stop = true;
    return ARTEL_OK;
}

const artel__callback_def artel__callback_terminate_on_nan = {
    .class_name = "TerminateOnNaN",
    .doc = "Ends training when the loss of a batch is not finite.",
    .config_size = sizeof(nan_config),
    .options = nan_options,
    .batch_end = nan_batch_end,
    .ends_at_batches = true,
};

static const artel__option no_options[] = {{.name = NULL}};

/* Keras adds these by itself; artel's own progress and history are always there. */
const artel__callback_def artel__callback_history = {
    .class_name = "History", .doc = "Always kept.", .options = no_options};
const artel__callback_def artel__callback_progbar = {
    .class_name = "ProgbarLogger", .doc = "The program shows progress.", .options = no_options};
