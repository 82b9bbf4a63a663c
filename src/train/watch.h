/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of an evaluator beside a run: look for a newer checkpoint, evaluate it, until the run is over. What Keras'
 * SidecarEvaluator, tf.train.checkpoints_iterator() and the evaluator of an Estimator do. */
#ifndef ARTEL_TRAIN_WATCH_H
#define ARTEL_TRAIN_WATCH_H

#include "artel/fit.h"

#define ARTEL__WATCH_FOR_EVER (-1)

typedef struct artel__watch {
    artel_context *ctx;
    const char *directory; /* of the run's checkpoints */
    /* Takes up the newest checkpoint if it is newer than a step, as artel_model_read_checkpoint() does. */
    artel_status (*read)(void *user, int64_t newer_than, artel_checkpoint_info *out);
    artel_status (*evaluate)(void *user, const artel_checkpoint_info *found); /* of artel__watch_run */
    bool (*is_over)(void *user,
                    const artel_checkpoint_info *found); /* of one that was evaluated; NULL: when the run says so */
    bool (*is_done)(void *user); /* no further one will come: asked after time-outs and evaluations; NULL: a time-out
                                    ends it */
    void *user;
    double start_delay,
        throttle;   /* seconds before the first look; from the beginning of an evaluation to that of the next */
    double timeout; /* seconds that one is waited for; ARTEL__WATCH_FOR_EVER */
    int64_t most;   /* so many are enough; 0: any number */
    bool once;      /* the newest one that is there; else each new one, of which some may be skipped */
    /* Its state. */
    bool started, over;
    int64_t given, began, reminded;
    artel_checkpoint_info found; /* the last one that was given */
} artel__watch;

/* Waits for the next one: ARTEL_OK and watch->found, ARTEL_AGAIN when none will come. Errors: ARTEL_ERROR_NOT_FOUND
 * (once: there is none), ARTEL_ERROR_CANCELLED (told to end before the run was over), and those of reading. */
artel_status artel__watch_next(artel__watch *watch);
/* Evaluates one after another. Errors: as above, and those of evaluating. */
artel_status artel__watch_run(artel__watch *watch);

#endif
