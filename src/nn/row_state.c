/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and gathering the state of rows. */
#include "nn/row_state.h"

#include "op/batch_rows.h"
#include "op/op.h"
#include "op/optimize.h"

artel__value_id artel__row_state_read(artel__graph *graph, artel__value_id state)
{
    if (graph->status < 0 || state < 0) return ARTEL__NO_VALUE;
    return artel__op_take_rows(graph, state);
}

bool artel__row_state_fault(const artel__graph *graph, const artel__node *node, int64_t *batch)
{
    if (node->op != &artel__op_take_rows_def) return false;
    *batch = graph->value[node->input[0]].shape.dim[0];
    return true;
}

void artel__row_state_write(artel__graph *graph, artel__value_id state, artel__value_id rows)
{
    if (graph->status < 0 || state < 0 || rows < 0) return;
    artel__value_id all =
        artel__op_all_reduce(graph, artel__op_place_rows(graph, rows, graph->value[state].shape.dim[0]));
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, state, all);
    graph->phase = phase;
}
