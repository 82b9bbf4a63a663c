/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks: Keras' that change or end a run, or save models. A class is one definition with options as data.
 *
 * State that the rest of a run depends on is numbers and one copy of the weights; both go into checkpoints.
 */
#ifndef ARTEL_TRAIN_CALLBACKS_H
#define ARTEL_TRAIN_CALLBACKS_H

#include "train/fit_impl.h"

typedef struct artel__callback_def {
    const char *class_name, *doc;
    size_t config_size;
    bool tells_rate; /* puts "learning_rate" into the logs of each epoch */
    const artel__option *options;
    /* All hooks are optional. The first sets options of the run that this class stands for, before anything goes by
     * them. */
    artel_status (*set)(artel__fit *fit, artel__callback *callback);
    artel_status (*begin)(artel__fit *fit, artel__callback *callback); /* checks the config against what the run has */
    artel_status (*epoch_begin)(artel__fit *fit, artel__callback *callback);
    artel_status (*batch_end)(artel__fit *fit, artel__callback *callback, double loss);
    bool ends_at_batches; /* batch_end may end training */
    /* Whether batch_end of the step'th step (from 1) reads variables. Without it: of none. */
    bool (*reads_at)(const artel__callback *callback, int64_t step);
    void (*around_test)(artel__fit *fit, artel__callback *callback, bool begins); /* a batch of validation */
    artel_status (*epoch_end)(artel__fit *fit, artel__callback *callback);
    artel_status (*train_end)(artel__fit *fit, artel__callback *callback);
    artel_status (*over)(artel__fit *fit, artel__callback *callback);      /* had ended before this process began */
    artel_status (*take_over)(artel__fit *fit, artel__callback *callback); /* writes `owed` */
} artel__callback_def;

/* What a callback remembers; its meaning is the class's affair. */
typedef struct artel__callback_state {
    double best; /* NAN: nothing seen yet */
    double told; /* the rate put into the logs of the last epoch */
    int64_t wait, cooldown, best_epoch, stopped_epoch;
    bool up; /* larger is better */
} artel__callback_state;

struct artel__callback {
    const artel__callback_def *def;
    void *config;
    artel__callback_state state;
    uint8_t *weights;  /* a copy of the model's variables, or NULL */
    void *own;         /* in the fit's arena */
    int64_t owed_unit; /* behind this unit of work a file was to be written (by one task, if there are several) */
    char owed[1024];   /* its name */
};

extern const artel__callback_def *const artel__callback_defs[];
/* Of a class; false for one that is none of these. */
bool artel__callback_tells_rate(const char *class_name);

/* Whether larger values of this quantity are better, into callback->state.up: as `mode` says, for "auto" as the loss or
 * the metric of that name says, as Keras does. INVALID when neither knows: a name that no epoch will have, a count such
 * as FalseNegatives. */
artel_status artel__monitor_direction(artel__fit *fit, artel__callback *callback, const char *mode,
                                      const char *monitor);
/* Whether the logs of this run have such a quantity at some time. */
bool artel__monitor_exists(const artel__fit *fit, const char *monitor);
/* The monitored value of this epoch; false, and a warning that names what there is, when it is absent. */
bool artel__monitor_value(artel__fit *fit, const artel__callback *callback, const char *monitor, double *out);
/* Copies the weights of this moment into the callback. */
artel_status artel__callback_keep_weights(artel__fit *fit, artel__callback *callback);

/* Of a run that had ended when it was opened: no other hook is called. */
artel_status artel__callbacks_over(artel__fit *fit);

#endif
