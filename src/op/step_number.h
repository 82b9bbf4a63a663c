/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a step as GLOBAL float32 scalars, for optimizers that are put together from operations (APPLY phase). */
#ifndef ARTEL_OP_STEP_NUMBER_H
#define ARTEL_OP_STEP_NUMBER_H

#include "op/op.h"

typedef enum artel__step_number {
    ARTEL__STEP_RATE,
    ARTEL__STEP_RATE_DOWN, /* min(rate, 1 / sqrt(t)) */
    ARTEL__STEP_KEPT,      /* 1 - t^parameter */
    ARTEL__STEP_COUNT      /* t: 1 at the first update */
} artel__step_number;

artel__value_id artel__op_step_number(artel__graph *graph, artel__step_number kind, double parameter);

#endif
