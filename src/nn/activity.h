/* SPDX-License-Identifier: Apache-2.0 */
/* Penalties of activities that are not a sum over the elements of a row. */
#ifndef ARTEL_NN_ACTIVITY_H
#define ARTEL_NN_ACTIVITY_H

#include "graph/graph.h"
#include "nn/parts.h"

/* What OrthogonalRegularizer adds to the loss of a row for an activity x, ROW [k]: ROW []; none where the size of
 * batches is not known, which is where nothing computes a loss. In mode rows the rows are those of the global batch. */
artel__value_id artel__regularizer_activity(artel__graph *graph, const artel__regularizer *regularizer,
                                            artel__value_id x);

#endif
