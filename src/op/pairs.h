/* SPDX-License-Identifier: Apache-2.0 */
/* A loss of pairs of rows. */
#ifndef ARTEL_OP_PAIRS_H
#define ARTEL_OP_PAIRS_H

#include "op/op.h"

typedef struct artel__pairs_settings {
    double gamma, margin;
    bool others; /* a row is no partner of itself */
} artel__pairs_settings;

/* x ROW [width], labels ROW int32 []; the loss of each row beside all rows of the batch, ROW []. */
artel__value_id artel__op_pairs(artel__graph *graph, const artel__pairs_settings *settings, artel__value_id labels,
                                artel__value_id x);

#endif
