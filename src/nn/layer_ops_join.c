/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that join and split by name, write into a part of a tensor, and choose among tensors. See
 * layer_ops.h.
 */
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/shape_ops.h"

/* -- joining -- */

/* Two tensors along an axis. */
artel_status artel__raw_append(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id part[2];
    int axis;
    if (!artel__raw_setting(layer, call, "axis", 0))
        return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    for (int i = 0; i < 2; i++) {
        part[i] = artel__call_tensor(call, artel__raw_argument(call, i)).value;
        if (part[i] < 0) return artel__raw_refuse(layer, "a constant");
        part[i] = artel__as_float(graph, part[i]);
    }
    ARTEL_TRY(graph->status);
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, graph->value[part[0]].shape.rank, &axis));
    artel__call_return(call, artel__op_concat(graph, part, 2, axis));
    return graph->status;
}

/* The least shape of what is joined, as NumPy makes it: [n] of a number, [1][n][1] of a vector for "Dstack", [m][n][1]
 * of a matrix. */
static artel__value_id with_axes(artel__graph *graph, artel__value_id x, int least)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = {.rank = least};
    if (in.rank >= least) return x;
    for (int i = 0; i < least; i++) out.dim[i] = 1;
    for (int i = 0; i < in.rank; i++) out.dim[i + (in.rank == 1 && least == 3)] = in.dim[i];
    return artel__op_reshape(graph, x, &out);
}

/* "Hstack" joins along axis 1, of vectors along their own, "Dstack" along axis 2, which a matrix gets. */
artel_status artel__raw_hstack(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    json_t *list = artel__raw_argument(call, 0);
    int count = (int)json_array_size(list), deep = strcmp(layer->def->class_name, "ops.Dstack") == 0, axis = 0;
    artel__value_id *part = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *part);
    if (!part) return ARTEL_ERROR_NO_MEMORY;
    if (count < 1) return artel__raw_refuse(layer, "an empty list");
    for (int i = 0; i < count; i++) {
        part[i] = artel__call_tensor(call, json_array_get(list, (size_t)i)).value;
        if (part[i] < 0) return artel__raw_refuse(layer, "a constant in the list");
        part[i] = artel__as_float(graph, part[i]);
        ARTEL_TRY(graph->status);
        if (!call->shared && graph->value[part[i]].shape.rank < 1)
            return artel__raw_refuse(layer, "vectors, whose rows it mixes");
        part[i] = with_axes(graph, part[i], (deep ? 2 : 0) + call->shared);
        ARTEL_TRY(graph->status);
        int rank = graph->value[part[i]].shape.rank;
        axis = call->shared && !deep && rank == 1 ? 0 : artel__row_axis(artel__raw_own_axis(call, deep ? 2 : 1), rank);
    }
    artel__call_return(call, count == 1 ? part[0] : artel__op_concat(graph, part, count, axis));
    return graph->status;
}

/* "ArraySplit" along an axis, "Hsplit" along axis 1, "Dsplit" along axis 2; the first parts take what is left over. */
artel_status artel__raw_array_split(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape in;
    const char *name = layer->def->class_name;
    bool uneven = strcmp(name, "ops.ArraySplit") == 0;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &in));
    bool vector = call->shared && in.rank == 1;
    int axis = artel__row_axis(artel__raw_own_axis(call, strcmp(name, "ops.Dsplit") == 0 ? 2
                                                         : vector                        ? 0
                                                                                         : 1),
                               in.rank);
    if (uneven) ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, in.rank, &axis));
    if (axis < 0) return artel__raw_refuse(layer, "so few axes");
    json_t *given = artel__raw_setting(layer, call, "indices_or_sections", 1);
    int64_t parts = 0, at = 0, n = in.dim[axis];
    bool sections = artel__json_integer(given, &parts);
    if (!sections) parts = (int64_t)json_array_size(given) + 1;
    if (parts < 1 || parts > ARTEL__LAYER_OUTPUTS || parts > n || (sections && !uneven && n % parts))
        return artel__raw_refuse(layer, "this number of parts");
    for (int64_t i = 0; i < parts; i++) {
        int64_t end = sections ? at + n / parts + (i < n % parts ? 1 : 0) : n;
        if (!sections && i + 1 < parts && !artel__json_integer(json_array_get(given, (size_t)i), &end))
            return artel__raw_refuse(layer, "these indices");
        if (end < 0) end += n;
        if (end <= at || end > n) return artel__raw_refuse(layer, "empty parts");
        call->out[i] = (artel__tensor){artel__op_slice(graph, x, axis, at, end - at, 1), ARTEL__NO_VALUE};
        at = end;
    }
    call->outputs = (int)parts;
    return graph->status;
}

/* -- a part in another tensor -- */

/* The batch begins at 0 and the update is by row, or else it would change some rows alone. */
artel_status artel__raw_slice_update(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape in, from, begin;
    const float *first;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &in));
    json_t *start = artel__raw_setting(layer, call, "start_indices", 1);
    artel__value_id update = artel__call_tensor(call, artel__raw_setting(layer, call, "updates", 2)).value;
    if (update < 0 || (!call->shared && graph->value[update].domain != ARTEL__DOMAIN_ROW))
        return artel__raw_refuse(layer, "an update of some rows alone");
    int own = call->shared ? 0 : 1; /* where the axes of a row begin */
    if (!artel__raw_constant(call, start, &begin, &first) || begin.rank != 1 || begin.dim[0] != in.rank + own ||
        (own && first[0] != 0))
        return artel__raw_refuse(layer, "these places");
    from = graph->value[update].shape;
    if (from.rank != in.rank) return artel__raw_refuse(layer, "an update of this shape");
    int64_t before[ARTEL_MAX_RANK], after[ARTEL_MAX_RANK];
    for (int i = 0; i < in.rank; i++) {
        before[i] = (int64_t)first[i + own];
        after[i] = in.dim[i] - before[i] - from.dim[i];
        if (before[i] < 0 || after[i] < 0) return artel__raw_refuse(layer, "an update outside of the tensor");
    }
    artel__value_id part = artel__as_float(graph, update), mark = artel__op_fill_like(graph, part, 1);
    mark = above(graph, artel__op_pad(graph, mark, before, after, 0), 0.5);
    part = artel__op_pad(graph, part, before, after, 0);
    artel__call_return(call, where(graph, mark, part, artel__as_float(graph, x)));
    return graph->status;
}

/* The first choice whose condition holds, else the default. */
artel_status artel__raw_select(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    json_t *conditions = artel__raw_argument(call, 0), *choices = artel__raw_argument(call, 1),
           *rest = artel__raw_setting(layer, call, "default", 2);
    int count = (int)json_array_size(conditions);
    artel__value_id y, like = ARTEL__NO_VALUE;
    if (count < 1 || count != (int)json_array_size(choices)) return artel__raw_refuse(layer, "these lists");
    for (int i = 0; i < count && like < 0; i++)
        like = artel__call_tensor(call, json_array_get(conditions, (size_t)i)).value;
    if (like < 0) return artel__raw_refuse(layer, "constants as conditions");
    if (rest)
        ARTEL_TRY(artel__raw_operand(layer, call, rest, &y));
    else
        y = number(graph, 0);
    ARTEL_TRY(artel__raw_align(layer, graph, &y, &like));
    y = artel__as_float(graph, y);
    for (int i = count - 1; i >= 0; i--) {
        artel__value_id condition, choice;
        ARTEL_TRY(artel__raw_operand(layer, call, json_array_get(conditions, (size_t)i), &condition));
        ARTEL_TRY(artel__raw_operand(layer, call, json_array_get(choices, (size_t)i), &choice));
        ARTEL_TRY(artel__raw_align(layer, graph, &condition, &like));
        ARTEL_TRY(artel__raw_align(layer, graph, &choice, &like));
        artel__value_id chosen = artel__as_float(graph, choice);
        y = where(graph, artel__op_cast(graph, condition, ARTEL_DTYPE_BOOL), chosen, y);
    }
    artel__call_return(call, y);
    return graph->status;
}
