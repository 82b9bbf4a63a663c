/* SPDX-License-Identifier: Apache-2.0 */
/* State of rows that outlives a batch: what row i of a batch leaves behind is what row i of the next begins with.
 *
 * It is a variable [batch][...] that every replica holds whole: a replica reads its own rows of it, and behind the step
 * the rows of all are gathered along the fold's tree, so that it has the same bits on any number of replicas, moves
 * with checkpoints, and does not care which replica owns a row. No file of Keras holds it: it begins with zeros. A
 * batch of another size is a fault of the step.
 */
#ifndef ARTEL_NN_ROW_STATE_H
#define ARTEL_NN_ROW_STATE_H

#include "graph/graph.h"

/* ROW [...] from GLOBAL [batch][...]; no gradient passes (Keras' states are variables). */
artel__value_id artel__row_state_read(artel__graph *graph, artel__value_id state);
/* Adds the APPLY node that puts ROW [...] into the variable `state` [batch][...]. */
void artel__row_state_write(artel__graph *graph, artel__value_id state, artel__value_id rows);
/* Whether a fault of this node means a batch of another size; then its value is that size, and `batch` receives the
 * right one. */
bool artel__row_state_fault(const artel__graph *graph, const artel__node *node, int64_t *batch);

#endif
