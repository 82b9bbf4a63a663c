/* SPDX-License-Identifier: Apache-2.0 */
/* Losses as programs of devices: kernel/loss.h in formulas. */
#ifndef ARTEL_OP_LOWER_LOSS_H
#define ARTEL_OP_LOWER_LOSS_H

#include "graph/lower.h"

/* Inputs: target, prediction; behind the upstream gradient. */
void artel__lower_loss(artel__lower *lower);
void artel__lower_loss_gradient(artel__lower *lower);

#endif
