/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that are put together from other operations: overlaps of whole batches or of rows, and what forgives wrong
 * labels. */
#ifndef ARTEL_NN_LOSS_OVERLAP_H
#define ARTEL_NN_LOSS_OVERLAP_H

#include "graph/graph.h"

/* 1 - 2 I / (T + P + e) for Dice, with I, T, P the sums of target times prediction, target and prediction; Tversky's
 * 1 - I / (I + alpha F + beta N + e) with F what the target alone has and N what the prediction alone has. Over the row
 * axes of the bit set: a loss for each row; `whole`: over the batch, one number that every row carries. */
typedef struct artel__overlap {
    bool tversky, whole;
    double alpha, beta;
    uint32_t axes;
} artel__overlap;
artel__value_id artel__loss_overlap(artel__graph *graph, const artel__overlap *overlap, artel__value_id target,
                                    artel__value_id prediction);

/* The mean of weights over the batch, for each row, in the shape of a loss of the whole batch: what weighs it. */
artel__value_id artel__loss_even_weight(artel__graph *graph, artel__value_id loss, artel__value_id weight);

/* (1 - p^q) / q with p the prediction for the class `target` (INT32). */
artel__value_id artel__loss_generalised(artel__graph *graph, double q, artel__value_id target,
                                        artel__value_id prediction);

#endif
