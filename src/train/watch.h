/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of an evaluator beside a run: look for a newer checkpoint, evaluate it, until the run is over. What Keras'
 * SidecarEvaluator and the evaluator of an Estimator do. */
#ifndef ARTEL_TRAIN_WATCH_H
#define ARTEL_TRAIN_WATCH_H

#include "artel/fit.h"

typedef struct artel__watch {
    artel_context *ctx;
    const char *directory; /* of the run's checkpoints */
    /* Takes up the newest checkpoint if it is newer than a step, as artel_model_read_checkpoint() does. */
    artel_status (*read)(void *user, int64_t newer_than, artel_checkpoint_info *out);
    artel_status (*evaluate)(void *user, const artel_checkpoint_info *found);
    bool (*is_over)(void *user,
                    const artel_checkpoint_info *found); /* of one that was evaluated; NULL: when the run says so */
    void *user;
    double start_delay,
        throttle; /* seconds before the first look; from the beginning of an evaluation to that of the next */
    bool once;    /* the newest one that is there; else each new one, of which some may be skipped */
} artel__watch;

/* Errors: ARTEL_ERROR_NOT_FOUND (once: there is none), ARTEL_ERROR_CANCELLED (told to end before the run was over), and
 * those of the functions. */
artel_status artel__watch_run(const artel__watch *watch);

#endif
