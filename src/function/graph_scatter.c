/* SPDX-License-Identifier: Apache-2.0 */
/* Rows added to places of a variable: what a table gets as its gradient when rows look into it, so it travels as that
 * does. By public calls, which a saved function makes again. */
#include "function/function_impl.h"

/* What each row brings is a row of the variable, or a number of one that has one axis. */
static bool fits(artel_graph *g, const artel_variable *variable, artel_value places, artel_value rows)
{
    artel_shape whole, place, row;
    artel_dtype type, number, wanted;
    bool placed, rowwise;
    if (artel_graph_describe(g, places, &number, &place, &placed) < 0 ||
        artel_graph_describe(g, rows, &type, &row, &rowwise) < 0 || artel_variable_shape(variable, &whole) < 0 ||
        artel_variable_dtype(variable, &wanted) < 0)
        return false;
    bool same = type == wanted && whole.rank >= 1 && row.rank == whole.rank - 1;
    for (int d = 0; d < row.rank && same; d++) same = row.dim[d] == whole.dim[d + 1];
    return same && rowwise && placed && number == ARTEL_DTYPE_INT32 && place.rank == 0;
}

static void scatter(artel_graph *g, artel_variable *variable, artel_value places, artel_value rows, bool less)
{
    if (!g || g->graph->status < 0) return;
    artel_value table = artel_graph_variable(g, variable), pair[2] = {table, places}, sum;
    if (table < 0 || !artel__graph_place(g, places) || !artel__graph_place(g, rows)) return;
    const char *name = artel_variable_name(variable);
    if (variable->joining.synchronization == ARTEL__SYNCHRONIZATION_ON_READ) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, name, "add rows to all of it, or declare it on_write",
                            "a variable that is synchronised on_read takes no rows at places");
        return;
    }
    if (!fits(g, variable, places, rows)) {
        artel__graph_refuse(
            g, ARTEL_ERROR_INVALID, name,
            "give a whole number (int32) for each row, and rows of the variable's shape without its first axis",
            "places, or what is to be there, that do not fit the variable");
        return;
    }
    artel_value found = artel_graph_op(g, "take", pair, 2, "{\"axis\": 0}");
    rows = artel_graph_unary(g, "stop_gradient", rows); /* they may be made of the variable, too */
    if (artel_graph_gradients(g, artel_graph_binary(g, "multiply", found, rows), &table, 1, &sum) < 0) return;
    if (less)
        artel_graph_assign_sub(g, variable, sum);
    else
        artel_graph_assign_add(g, variable, sum);
}

void artel_graph_scatter_add(artel_graph *g, artel_variable *variable, artel_value places, artel_value rows)
{
    scatter(g, variable, places, rows, false);
}

void artel_graph_scatter_sub(artel_graph *g, artel_variable *variable, artel_value places, artel_value rows)
{
    scatter(g, variable, places, rows, true);
}
