/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of nodes. */
#include "graph/cost.h"

static bool is_row(const artel__graph *graph, artel__value_id id)
{
    return id >= 0 && graph->value[id].domain == ARTEL__DOMAIN_ROW;
}

bool artel__node_has_rows(const artel__graph *graph, const artel__node *node)
{
    bool row = false;
    for (int k = 0; k < node->inputs; k++) row = row || is_row(graph, node->input[k]);
    for (int k = 0; k < node->outputs; k++) row = row || is_row(graph, node->output[k]);
    return row;
}

int64_t artel__node_operations(const artel__graph *graph, const artel__node *node, int64_t rows)
{
    if (!node->op->cost) return 0;
    return node->op->cost(graph, node) * (artel__node_has_rows(graph, node) ? rows : 1);
}
