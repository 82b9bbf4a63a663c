/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps as programs of devices: kernel/optimize_formula.h in formulas. */
#ifndef ARTEL_OP_LOWER_OPTIMIZE_H
#define ARTEL_OP_LOWER_OPTIMIZE_H

#include "graph/lower.h"
#include "kernel/optimize.h"

/* One step of elements: all arrays of one shape. The node's params begin with an artel__apply,
 * of a variable of float64 with an artel__wide_apply. */
typedef struct artel__lower_step {
    const artel__apply_options *options;
    artel__clip clip;
    double limit;
    artel__hlo_value gradient, squares;    /* squares, norm, product, scale: -1: none */
    artel__hlo_value norm, product, scale; /* of one element: the squared norm, Nadam's product, the loss scale */
    artel__hlo_value variable, slot[ARTEL__APPLY_SLOTS]; /* what they become; a slot that the rule has not: -1 */
} artel__lower_step;

void artel__lower_step_write(artel__lower *lower, artel__lower_step *step);

#endif
