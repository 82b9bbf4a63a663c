/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar, as Keras 3 prints it (keras/src/utils/progbar.py, callbacks/progbar_logger.py).
 *
 *   verbose 1  "Epoch 1/5", then one line that is redrawn: steps, bar, time left, time a step, metrics; when the
 *              epoch is over the time taken stands in place of the time left. Colour and redrawing only on a
 *              terminal; elsewhere only the last state of the line appears, plain.
 *   verbose 2  "Epoch 1/5", then "469/469 - 8s - 17ms/step - accuracy: 0.7700 - loss: 0.6600"
 *   verbose 0  nothing
 *
 * The line is redrawn at most every 50 ms and, while it runs, fits the width of the terminal (Keras' would wrap): the
 * bar is as wide as there is room, and metrics that find none are left out. On a terminal rows may stand below it (one
 * for each host of a cluster); they go when the line ends. Failures of writing are ignored: a closed standard error
 * must not end a training. One thread.
 */
#ifndef ARTEL_OBSERVE_PROGRESS_H
#define ARTEL_OBSERVE_PROGRESS_H

#include "observe/number.h"

typedef struct artel__progress artel__progress;

/* Nanoseconds on a clock that never goes back. */
typedef int64_t artel__progress_clock_fn(void *user);

typedef struct artel__progress_options {
    int fd;                          /* 2: standard error */
    int verbose;                     /* 0, 1, 2 */
    int terminal;                    /* 1: redraw and colour, 0: neither, -1: as isatty says */
    int columns;                     /* width of the terminal; 0: ask it, each time */
    artel__progress_clock_fn *clock; /* NULL: artel__now_ns */
    void *clock_user;
    bool plain; /* no colours */
    bool ascii; /* a bar of = and . : the terminal's character set has no other */
} artel__progress_options;

artel_status artel__progress_create(artel_context *ctx, const artel__progress_options *options, artel__progress **out);
/* Ends a line that was being drawn. NULL is accepted. */
void artel__progress_destroy(artel__progress *progress);

/* Begins an epoch (`epoch` from 0): prints "Epoch 1/5" when `epochs` > 1 and starts the clock. `steps` is the number
 * of steps to come, 0 when it is not known. For evaluate and predict: epoch 0 of 1. */
void artel__progress_begin(artel__progress *progress, int64_t epoch, int64_t epochs, int64_t steps);
/* The same in the middle of an epoch, of which `before` steps were made by another run or task. */
void artel__progress_go_on(artel__progress *progress, int64_t epoch, int64_t epochs, int64_t steps, int64_t before);

/* After step `current` (from 1) of the epoch. `logs` are the running averages, shown as they are. */
void artel__progress_update(artel__progress *progress, int64_t current, artel__logs logs);

/* The epoch is over, validation included. */
void artel__progress_end(artel__progress *progress, artel__logs logs);

/* Whether rows would be shown now, and are old enough (half a second) to be given anew. */
bool artel__progress_wants_rows(const artel__progress *progress);
/* The rows below the line, each ended by a newline; cut to the width of the terminal. Copied; "" takes them away. */
void artel__progress_rows(artel__progress *progress, const char *rows);

/* Before something else is written to the same terminal (a note, a warning): clears the line being drawn, which
 * appears again with the next update. */
void artel__progress_pause(artel__progress *progress);

#endif
