/* SPDX-License-Identifier: Apache-2.0 */
/* Losses by sample and what belongs to their reduction. Formulas: kernel/loss.h, after keras/src/losses. */
#ifndef ARTEL_OP_LOSS_H
#define ARTEL_OP_LOSS_H

#include "kernel/loss.h"
#include "kernel/seed.h"
#include "op/op.h"

/* prediction ROW [.., k] and target (float32 of the same shape, or int32/float32 class numbers [..]) -> ROW [..].
 * `settings`: op, constants, labels_binary, ignored class; the rest is filled in. Differentiates with respect to the
 * prediction. */
artel__value_id artel__op_loss(artel__graph *graph, const artel__loss_input *settings, artel__value_id target,
                               artel__value_id prediction);

/* The gradient of  sum over all elements of x*w / denominator  with respect to x (ROW): w / denominator, or 1 /
 * denominator without weights (ARTEL__NO_VALUE). The denominator is number of rows in the global batch * elements in a
 * row * scale, or, when `denominator` (GLOBAL float64 [1]) is given, that value * scale (0 gives 0). */
typedef struct artel__loss_seed {
    artel__value_id like, weights, denominator;
    double scale;
    bool sum; /* no denominator: plain sums */
} artel__loss_seed;
artel__value_id artel__op_loss_seed(artel__graph *graph, const artel__loss_seed *seed);

#endif
