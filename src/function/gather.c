/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the whole batch joined along an axis of theirs: all of them, the batch moved in front of that axis, and both
 * taken for one. By the calls of artel/graph.h, which is what a saved function holds of it. */
#include <stdio.h>

#include "function/function_impl.h"

enum {
    TEXT = 256
};

static artel_value arranged(artel_graph *g, artel_value all, const char *name, const char *setting, const int64_t *list,
                            int count)
{
    char text[TEXT];
    int at = snprintf(text, sizeof text, "{\"%s\": [", setting);
    for (int i = 0; i < count; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld", i ? ", " : "", (long long)list[i]);
    snprintf(text + at, sizeof text - (size_t)at, "]}");
    return artel_graph_op(g, name, &all, 1, text);
}

artel_value artel_graph_gather_along(artel_graph *g, artel_value rows, int axis)
{
    int64_t order[ARTEL_MAX_RANK], extent[ARTEL_MAX_RANK];
    artel_shape row = {.rank = 0};
    bool by_row = false;
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    artel_graph_describe(g, rows, NULL, &row, &by_row); /* artel_graph_gather() says what is wrong */
    int count = row.rank + 1, along = axis < 0 ? axis + count : axis;
    if (by_row && (along < 0 || along >= count))
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "gather", "name an axis; the batch is axis 0",
                                   "there is no axis %d of rows of %d axes", axis, row.rank);
    artel_value all = artel_graph_gather(g, rows);
    if (along == 0 || !by_row || all == ARTEL_NO_VALUE) return all;
    for (int i = 0; i < count; i++) order[i] = i < along - 1 ? i + 1 : i == along - 1 ? 0 : i;
    for (int i = 0; i < row.rank; i++)
        extent[i] = row.dim[i] * (i == along - 1 ? (int64_t)g->strategy->options.batch_size : 1);
    return arranged(g, arranged(g, all, "transpose", "axes", order, count), "reshape", "newshape", extent, row.rank);
}
