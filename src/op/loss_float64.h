/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of float64, put together from operations. */
#ifndef ARTEL_OP_LOSS_FLOAT64_H
#define ARTEL_OP_LOSS_FLOAT64_H

#include "graph/graph.h"
#include "kernel/loss.h"

typedef struct artel__loss_float64 {
    artel__loss op;
    const char *name; /* for messages */
    double a, b, c;   /* of kernel/loss.h */
    bool smooths;     /* a is still to be spread */
    bool balanced;    /* b weighs the classes */
    bool has_ignored;
    int64_t ignored;
} artel__loss_float64;

/* As artel__op_loss, of a prediction of float64 and a target of that or, for classes by number, int32. */
artel__value_id artel__loss_in_float64(artel__graph *graph, const artel__loss_float64 *loss, artel__value_id target,
                                       artel__value_id prediction);

#endif
