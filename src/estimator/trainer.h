/* SPDX-License-Identifier: Apache-2.0 */
/* A training that goes on: what a loop of units (train.c) and a coordinator's (servers.c) have in common. */
#ifndef ARTEL_ESTIMATOR_TRAINER_H
#define ARTEL_ESTIMATOR_TRAINER_H

#include "artel/coordinator.h"
#include "estimator/estimator_impl.h"

typedef struct artel__step_trainer {
    artel__estimator_side side;
    const artel_train_spec *spec;
    artel__evaluator *evaluator;
    int64_t first, target;   /* steps: behind it when this call began; of the whole training */
    int64_t saved, saved_ns; /* the newest checkpoint, -1: none; when it was written */
    int64_t evaluated_ns;    /* when an evaluation began last, or this call did */
    double loss;
} artel__step_trainer;

/* Whether a checkpoint is to be written between two steps; and writing it. */
bool artel__step_is_due(const artel__step_trainer *trainer, int64_t step);
artel_status artel__step_save(artel__step_trainer *trainer, int64_t step, bool finished);
/* A step is done, and `loss` is its loss, which must be a number. */
artel_status artel__step_tell(artel__step_trainer *trainer, int64_t step);

/* servers.c: the chief's steps over parameter servers, to the last checkpoint. */
artel_status artel__step_schedule(artel__step_trainer *trainer);

#endif
