/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluating the checkpoints of a run beside it, as Keras' SidecarEvaluator does. */
#ifndef ARTEL_CLI_FOLLOW_H
#define ARTEL_CLI_FOLLOW_H

#include "cli/observers.h"

typedef struct artel__follow {
    artel_model *model;
    artel_data *data;
    const char *directory; /* of the run's checkpoints */
    artel_evaluate_options evaluate;
    artel__observer_options show;
    double min_interval; /* seconds from the beginning of an evaluation to that of the next, at least */
    double timeout;      /* seconds that a checkpoint is waited for; 0: for ever */
    int64_t most;        /* evaluations; 0: any number */
    bool once; /* the newest one that is there; else each new one until the run has finished, which may skip some */
} artel__follow;

/* Prints the values of each, or sends an `evaluate` event with its step. Errors: ARTEL_ERROR_NOT_FOUND (once: there is
 * none), ARTEL_ERROR_CANCELLED (told to end before the run has finished), and those of reading and evaluating. */
artel_status artel__cli_follow(artel__invocation *call, const artel__follow *follow);

#endif
