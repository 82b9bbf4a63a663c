/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: functions of rows behind what a graph has computed. See op_cases.h. */
#include "op/elementwise.h"
#include "op/row_function.h"
#include "support/op_cases.h"
#include "text/functions.h"

static artel__value_id discretized(op_graph *g)
{
    static const float boundary[] = {-0.5f, 0.1f, 0.4f};
    static const artel__discretize settings = {
        boundary, 3, {.mode = ARTEL__ENCODE_COUNT, .depth = 4, .dtype = ARTEL_DTYPE_FLOAT32}};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5)), y = op_row(g, OP_SIGNED, SHAPE(4));
    return artel__op_add(&g->graph, artel__op_row_function(&g->graph, &artel__discretize_function, &settings, &x, 1),
                         y);
}

const op_family op_cases_rows[] = {
    {{.name = "discretized", .build = discretized}, 1},
    {.count = 0},
};
