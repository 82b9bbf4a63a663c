/* SPDX-License-Identifier: Apache-2.0 */
/* Order, elements by index, integers as programs of devices. */
#ifndef ARTEL_OP_LOWER_GATHER_H
#define ARTEL_OP_LOWER_GATHER_H

#include "graph/lower.h"
#include "kernel/gather.h"

/* [outer][extent][inner] by [outer][picks], or by [picks]. */
typedef struct artel__lower_picks {
    int64_t outer, extent, picks, inner;
    bool shared;
} artel__lower_picks;

void artel__lower_order(artel__lower *lower);
void artel__lower_take(artel__lower *lower, const artel__lower_picks *picks);
void artel__lower_take_gradient(artel__lower *lower, const artel__lower_picks *picks);
void artel__lower_integer(artel__lower *lower, artel__integer_op function);

#endif
