/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rows as operations of a graph; see row_function.c. */
#ifndef ARTEL_OP_ROW_FUNCTION_H
#define ARTEL_OP_ROW_FUNCTION_H

#include "graph/graph.h"
#include "text/row_function.h"

/* `settings` is borrowed and must outlive the graph. */
artel__value_id artel__op_row_function(artel__graph *graph, const artel__row_function *function, const void *settings,
                                       const artel__value_id *inputs, int count);

#endif
