/* SPDX-License-Identifier: Apache-2.0 */
/* What keras.callbacks.TensorBoard writes: the runs train/ and validation/ under a log directory, with its tags.
 *
 *   train/       keras (the graph), epoch_<m>, epoch_learning_rate, epoch_steps_per_second, batch_<m>,
 *                batch_steps_per_second, <weight path>/histogram
 *   validation/  epoch_<m> (without val_), evaluation_<m>_vs_iterations
 *
 * Event files are created when they first get a point. One object belongs to one thread and to the task that writes
 * the logs of a run. A run that is taken up again creates new files in the same directories; TensorBoard drops the
 * points of a tag that lie beyond the step at which it starts again.
 */
#ifndef ARTEL_OBSERVE_TENSORBOARD_H
#define ARTEL_OBSERVE_TENSORBOARD_H

#include "artel/tensor.h"
#include "observe/graph_def.h"
#include "observe/number.h"

typedef struct artel__tensorboard artel__tensorboard;

/* As the constructor's arguments; a zeroed struct is Keras' default except write_graph. */
typedef struct artel__tensorboard_options {
    int64_t update_freq;         /* 0: "epoch"; 1: "batch"; n: every n batches */
    int64_t histogram_freq;      /* in epochs; 0: none */
    bool write_graph;            /* default in Keras: true */
    bool write_steps_per_second; /* default: false */
} artel__tensorboard_options;

artel_status artel__tensorboard_create(artel_context *ctx, const char *log_dir,
                                       const artel__tensorboard_options *options, artel__tensorboard **out);

/* Flushes, closes and frees; NULL is accepted. */
artel_status artel__tensorboard_destroy(artel__tensorboard *board);

/* At the beginning of training: `model_json` as model.to_json() writes it. Does nothing without write_graph. */
artel_status artel__tensorboard_graph(artel__tensorboard *board, const char *model_json);
/* Before it: the operations. Ends the graph; does nothing without write_graph. */
artel_status artel__tensorboard_operations(artel__tensorboard *board, artel__graph_def *graph);

/* Whether batch_end would write anything for this step; saves the caller from gathering values. */
bool artel__tensorboard_wants_batch(const artel__tensorboard *board, int64_t step);

/* After a training batch: `step` counts batches of the whole run from 1, `seconds` is what the batch took. Written
 * when update_freq is not "epoch" and divides the step. */
artel_status artel__tensorboard_batch_end(artel__tensorboard *board, int64_t step, artel__logs logs, double seconds);

/* After an evaluation (of its own or inside fit): `iterations` of the optimizer; names without val_. Always written;
 * Keras leaves some out when update_freq is a number, depending on its count of test batches. */
artel_status artel__tensorboard_test_end(artel__tensorboard *board, int64_t iterations, artel__logs logs);

/* What an epoch's end is told beside its logs. */
typedef struct artel__tensorboard_epoch {
    int64_t epoch;           /* from 0, as in Keras */
    double learning_rate;    /* of the optimizer after the epoch; NaN: it has none */
    double steps_per_second; /* of the epoch, validation included as Keras counts it */
} artel__tensorboard_epoch;

/* `logs` holds training and val_ entries, which go to train/ and validation/. Flushes both files. */
artel_status artel__tensorboard_epoch_end(artel__tensorboard *board, const artel__tensorboard_epoch *epoch,
                                          artel__logs logs);

/* Whether weights are wanted after this epoch. */
bool artel__tensorboard_wants_weights(const artel__tensorboard *board, int64_t epoch);

/* One weight as a histogram; `path` is Keras' variable path ("sequential/dense/kernel"); ':' becomes '_'. */
artel_status artel__tensorboard_weight(artel__tensorboard *board, int64_t epoch, const char *path, artel_dtype dtype,
                                       const void *values, int64_t count);

/* Text in the run train/, Markdown. */
artel_status artel__tensorboard_text(artel__tensorboard *board, const char *tag, int64_t step, const char *markdown);

#endif
