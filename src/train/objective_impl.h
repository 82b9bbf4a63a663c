/* SPDX-License-Identifier: Apache-2.0 */
/* What objective.c gives to objective_training.c. */
#ifndef ARTEL_TRAIN_OBJECTIVE_IMPL_H
#define ARTEL_TRAIN_OBJECTIVE_IMPL_H

#include "train/session.h"

/* The end of a graph of which everything forward is there. By output, and one more for what layers add
 * (artel__graph.extra): */
typedef struct artel__objective_back {
    const artel__objective_request *request;
    artel__objective *objective;
    const artel__value_id *loss; /* ARTEL__NO_VALUE: none */
    const artel__value_id *seed; /* gradient of the total by it; ARTEL__NO_VALUE: none */
    artel__value_id times;       /* GLOBAL [1]: what counts for every element of a loss that is not reduced, or none */
    bool penalised;              /* variables have penalties */
} artel__objective_back;

/* Adds gradients and what is done with them. Does not seal. Errors: UNSUPPORTED, NO_MEMORY. */
artel_status artel__objective_add_training(const artel__objective_back *back);

#endif
