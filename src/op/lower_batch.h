/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the rows of a whole batch in programs of devices (op/batch.c, op/pairs.c). */
#ifndef ARTEL_OP_LOWER_BATCH_H
#define ARTEL_OP_LOWER_BATCH_H

#include "graph/lower.h"
#include "op/pairs.h"

void artel__lower_shuffle(artel__lower *lower, bool back);
/* Of float32. */
void artel__lower_pairs(artel__lower *lower, const artel__pairs_settings *settings);
void artel__lower_pairs_gradient(artel__lower *lower, const artel__pairs_settings *settings);

#endif
