/* SPDX-License-Identifier: Apache-2.0 */
/* What losses of overlaps have in common: 1 - A / (D + e) with A and D sums over axes of the row, a loss for each row;
 * or over the batch, one number that every row carries. */
#ifndef ARTEL_NN_LOSS_OVERLAP_H
#define ARTEL_NN_LOSS_OVERLAP_H

#include "base/option.h"
#include "nn/loss.h"
#include "op/elementwise.h"

typedef struct artel__overlap {
    artel__value_id target, prediction; /* of one type and shape */
    uint32_t axes;
    bool whole; /* the batch */
} artel__overlap;

/* The mean of weights over the batch, for each row, in the shape of a loss of the whole batch: what weighs it. */
artel__value_id artel__loss_even_weight(artel__graph *graph, artel__value_id loss, artel__value_id weight);

/* `axes` as Keras counts them; none: the whole batch. False when the graph has failed: the batch is no axis. */
bool artel__overlap_begin(artel__graph *graph, const artel__loss_config *loss, const artel__ints *axes,
                          artel__value_id target, artel__value_id prediction, artel__overlap *out);
/* What belongs to a row of it; then over the batch, artel__overlap_end adds up. */
artel__value_id artel__overlap_sum(artel__graph *graph, const artel__overlap *overlap, artel__value_id x);
artel__value_id artel__overlap_end(artel__graph *graph, const artel__overlap *overlap, artel__value_id above,
                                   artel__value_id below);

static inline artel__value_id artel__overlap_times(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, ARTEL__BINARY_MUL, a, b);
}

#endif
