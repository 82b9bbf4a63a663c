/* SPDX-License-Identifier: Apache-2.0 */
/* Rows added to places of a variable: what a table gets as its gradient when rows look into it, so it travels as that
 * does. By public calls, which a saved function makes again. */
#include "function/function_impl.h"

/* The element type that graphs know it by. */
static artel_status held_in(const artel_variable *variable, artel_dtype *out)
{
    ARTEL_TRY(artel_variable_dtype(variable, out));
    *out = artel__variable_held(&variable->strategy->variables.item[variable->index]);
    return ARTEL_OK;
}

/* What each row brings is a row of the variable, or a number of one that has one axis. */
static bool fits(artel_graph *g, const artel_variable *variable, artel_value places, artel_value rows)
{
    artel_shape whole, place, row;
    artel_dtype type, number, wanted;
    bool placed, rowwise;
    if (artel_graph_describe(g, places, &number, &place, &placed) < 0 ||
        artel_graph_describe(g, rows, &type, &row, &rowwise) < 0 || artel_variable_shape(variable, &whole) < 0 ||
        held_in(variable, &wanted) < 0)
        return false;
    bool same = type == wanted && whole.rank >= 1 && row.rank == whole.rank - 1;
    for (int d = 0; d < row.rank && same; d++) same = row.dim[d] == whole.dim[d + 1];
    bool numbered = number == ARTEL_DTYPE_INT32 || number == ARTEL_DTYPE_INT64;
    return same && rowwise && placed && numbered && place.rank == 0 && wanted != ARTEL_DTYPE_BOOL;
}

/* The rows that each place of a table gets, added up: as its gradient. */
static artel_value sum_at(artel_graph *g, artel_value table, artel_value places, artel_value rows)
{
    artel_value pair[2] = {table, places}, sum = ARTEL_NO_VALUE;
    artel_value found = artel_graph_op(g, "take", pair, 2, "{\"axis\": 0}");
    rows = artel_graph_unary(g, "stop_gradient", rows); /* they may be made of the variable, too */
    artel_graph_gradients(g, artel_graph_binary(g, "multiply", found, rows), &table, 1, &sum);
    return sum;
}

static artel_value as(artel_graph *g, artel_value x, const char *settings)
{
    return artel_graph_op(g, "cast", &x, 1, settings);
}

static artel_value with(artel_graph *g, const char *operation, artel_value x, int64_t number)
{
    return artel_graph_binary(g, operation, x,
                              artel_graph_constant(g, ARTEL_DTYPE_INT64, &(artel_shape){.rank = 0}, &number));
}

/* Of whole numbers: both halves in float64, which is exact, and what they make wraps around, as TensorFlow's. */
static artel_value sum_whole_at(artel_graph *g, artel_value table, artel_value places, artel_value rows,
                                artel_dtype dtype)
{
    static const char float64[] = "{\"dtype\": \"float64\"}", int64[] = "{\"dtype\": \"int64\"}";
    artel_value room = as(g, table, float64), half[2];
    rows = as(g, rows, int64);
    half[0] = with(g, "right_shift", rows, 32);
    half[1] = with(g, "bitwise_and", rows, UINT32_MAX);
    for (int i = 0; i < 2; i++) half[i] = as(g, sum_at(g, room, places, as(g, half[i], float64)), int64);
    artel_value sum = artel_graph_binary(g, "add", with(g, "left_shift", half[0], 32), half[1]);
    if (dtype == ARTEL_DTYPE_INT64) return sum;
    return as(g, with(g, "right_shift", with(g, "left_shift", sum, 32), 32), "{\"dtype\": \"int32\"}");
}

static void scatter(artel_graph *g, artel_variable *variable, artel_value places, artel_value rows, bool less)
{
    artel_dtype dtype;
    if (!g || g->graph->status < 0) return;
    artel_value table = artel_graph_variable(g, variable);
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
            "give a whole number (int32, int64) for each row, and rows of the variable's shape without its first axis",
            "places, or what is to be there, that do not fit the variable");
        return;
    }
    if (held_in(variable, &dtype) < 0) return;
    artel_value sum =
        artel__is_floating(dtype) ? sum_at(g, table, places, rows) : sum_whole_at(g, table, places, rows, dtype);
    if (g->graph->status < 0) return;
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
