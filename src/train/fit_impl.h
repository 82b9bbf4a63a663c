/* SPDX-License-Identifier: Apache-2.0 */
/* A fit in progress: counters, logs and the hooks that callbacks and checkpoints use; shared in this room only.
 *
 * Everything that a continuation depends on lies here or in the session's variables: epoch and step, the accumulators of
 * the running epoch, the history, the learning rate set by callbacks, and each callback's state. Values in logs are
 * rounded to float32, as Keras' are.
 */
#ifndef ARTEL_TRAIN_FIT_IMPL_H
#define ARTEL_TRAIN_FIT_IMPL_H

#include "train/session.h"

/* Names and values in order: an epoch's logs. */
typedef struct artel__log_list {
    artel_metric_value *item;
    int count, capacity;
} artel__log_list;

/* Weighted means and metric sums of one pass over data. */
typedef struct artel__tally {
    double loss, weight; /* sum of loss * rows, sum of rows */
    double batches;
    double *output_loss; /* by output: sum of losses by batch, as Keras averages them without rows; by row when not reduced */
    const artel__settings *settings;
    double *sums; /* metric accumulators */
    int outputs, sum_count;
} artel__tally;

typedef struct artel__callback artel__callback;
typedef struct artel__checkpointer artel__checkpointer;

struct artel_history {
    artel_context *ctx;
    artel__arena arena;
    char **key;
    double **values;
    int keys;
    int64_t epochs, capacity;
};

typedef struct artel__fit {
    artel_context *ctx;
    artel__arena arena;
    artel_model *model;
    artel_fit_options options;
    artel__settings settings;
    artel__session *session;
    artel__feed *train_feed, *validation_feed;
    artel__feed *whole; /* behind a split */
    artel__tally tally, validation_tally;
    uint64_t *order; /* of the rows in the running epoch */
    uint64_t *validation_order;
    int64_t rows, validation_rows;
    int64_t batch_size, steps_per_epoch;
    int64_t epoch;             /* running, from 0 */
    int64_t step_in_epoch;     /* finished in the running epoch */
    int64_t step;              /* finished in the whole run */
    int64_t cursor;            /* rows consumed of the current pass (steps_per_epoch may cut passes) */
    int64_t pass;              /* passes over the data begun before the current one */
    int64_t iteration;         /* of the optimizer */
    double learning_rate;      /* set by callbacks or options; the schedule counts when negative */
    bool stop;                 /* a callback asked to end after this epoch */
    artel__log_list logs;      /* of the running epoch's end */
    artel__log_list step_logs; /* of the last step; its names are made once */
    artel_history *history;
    artel__callback *callbacks;
    int callback_count;
    artel__checkpointer *checkpointer;
    int64_t resumed_from;
    int64_t first_step_ns, started_ns, examples;
    double *step_ms; /* of up to step_room steps, for the median */
    int64_t steps_timed, step_room;
    artel_profile_node *profile; /* of the nodes that compute; NULL unless asked for */
    int32_t *profile_node;       /* their numbers in the graph */
    int64_t *profile_ns;         /* time up to the last step */
    int profile_count;
} artel__fit;

/* logs.c */
void artel__tally_clear(artel__tally *tally);
artel_status artel__tally_init(artel__arena *arena, const artel__settings *settings, const artel__objective *objective, artel__tally *out);
void artel__tally_add(artel__tally *tally, const artel__session *session, artel__mode mode, int64_t rows);
/* Appends the pass's values in Keras' order (sorted by name), each name with `prefix` in front. */
artel_status artel__tally_logs(artel__fit *fit, const artel__tally *tally, const artel__objective *objective, const char *prefix,
                               artel__log_list *out);
artel_status artel__logs_set(artel__fit *fit, artel__log_list *logs, const char *name, double value);
/* NAN when absent. */
double artel__logs_get(const artel__log_list *logs, const char *name);
artel_status artel__history_create(artel_context *ctx, artel_history **out);
artel_status artel__history_append(artel_history *history, const artel__log_list *logs);

/* The learning rate of the next step. */
double artel__fit_rate(const artel__fit *fit);

/* callbacks.c: the callbacks of Keras that change or end a run, or write files. Made from options.callbacks.
 * Their state can be saved to and restored from JSON for checkpoints. */
artel_status artel__callbacks_create(artel__fit *fit);
void artel__callbacks_destroy(artel__fit *fit);
artel_status artel__callbacks_train_begin(artel__fit *fit);
artel_status artel__callbacks_epoch_begin(artel__fit *fit);
artel_status artel__callbacks_batch_end(artel__fit *fit, double loss);
artel_status artel__callbacks_epoch_end(artel__fit *fit);
artel_status artel__callbacks_train_end(artel__fit *fit);
artel_status artel__callbacks_save(const artel__fit *fit, json_t *out);
artel_status artel__callbacks_restore(artel__fit *fit, json_t *in);

/* checkpoint.c: folders ckpt-<step> in options.checkpoint_dir. */
artel_status artel__checkpointer_create(artel__fit *fit); /* finds and restores the newest whole checkpoint; checks identity */
void artel__checkpointer_destroy(artel__fit *fit);
artel_status artel__checkpointer_step(artel__fit *fit); /* after each step: writes when one is due, in the background */
artel_status artel__checkpointer_epoch(artel__fit *fit);
artel_status artel__checkpointer_now(artel__fit *fit);    /* on preemption: writes and waits */
artel_status artel__checkpointer_finish(artel__fit *fit); /* at the end of the run: waits, marks it finished */
bool artel__checkpointer_finished(const artel__fit *fit); /* the run was already complete when it was taken up */

/* The most rows that a batch of the feed can have: memory is taken for these, not for a --batch-size beyond the data. */
static inline int64_t artel__batch_room(const artel__feed *feed, int64_t batch_size)
{
    int64_t rows = artel__feed_count(feed);
    return rows > 0 && rows < batch_size ? rows : batch_size;
}

/* profile.c: times of nodes for options.on_profile. */
artel_status artel__fit_profile_open(artel__fit *fit);
void artel__fit_profile_step(artel__fit *fit, int64_t rows);

/* Runs a validation pass and fills fit->validation_tally. */
artel_status artel__fit_validate(artel__fit *fit);
void artel__fit_event(const artel__fit *fit, artel_event *event);

#endif
