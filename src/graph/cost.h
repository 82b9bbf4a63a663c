/* SPDX-License-Identifier: Apache-2.0 */
/* What a node costs, by its definition: for plans, for recomputation, for whoever shares work out. */
#ifndef ARTEL_GRAPH_COST_H
#define ARTEL_GRAPH_COST_H

#include "graph/op_def.h"

/* Whether an operand or a result has an entry for each row, so that the node's work grows with them. */
bool artel__node_has_rows(const artel__graph *graph, const artel__node *node);
/* Floating-point operations of the node for so many rows; 0: its operation does not count them. */
int64_t artel__node_operations(const artel__graph *graph, const artel__node *node, int64_t rows);

#endif
