/* SPDX-License-Identifier: Apache-2.0 */
/* Writing StableHLO: what moves elements. */
#include "graph/hlo_impl.h"

#include <inttypes.h>
#include <string.h>

artel__hlo_value artel__hlo_reshape(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to)
{
    artel__hlo_type type = *to;
    if (h->status < 0) return -1;
    type.dtype = artel__hlo_type_of(h, a)->dtype;
    if (artel__hlo_same_shape(&type, artel__hlo_type_of(h, a))) return a;
    if (artel__hlo_count(&type) != artel__hlo_count(artel__hlo_type_of(h, a))) return artel__hlo_wrong(h, "reshape");
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.reshape %%%d", out, a);
    artel__hlo_write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_broadcast(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to, const int *axes)
{
    artel__hlo_type type = *to, from = *artel__hlo_type_of(h, a);
    type.dtype = from.dtype;
    for (int i = 0; i < from.rank; i++) {
        if (axes[i] < 0 || axes[i] >= type.rank || (from.dim[i] != 1 && from.dim[i] != type.dim[axes[i]]))
            return artel__hlo_wrong(h, "broadcast");
    }
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.broadcast_in_dim %%%d, dims = [", out, a);
    for (int i = 0; i < from.rank; i++) artel__text_printf(&h->body, "%s%d", i ? ", " : "", axes[i]);
    artel__text_append(&h->body, "]");
    artel__hlo_write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_broadcast_trailing(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to)
{
    int axes[ARTEL__HLO_RANK], rank = artel__hlo_type_of(h, a)->rank;
    if (artel__hlo_same_shape(artel__hlo_type_of(h, a), to)) return a;
    for (int i = 0; i < rank; i++) axes[i] = to->rank - rank + i;
    return artel__hlo_broadcast(h, a, to, axes);
}

artel__hlo_value artel__hlo_transpose(artel__hlo *h, artel__hlo_value a, const int *axes)
{
    artel__hlo_type from = *artel__hlo_type_of(h, a), type = from;
    bool moved = false;
    for (int i = 0; i < from.rank; i++) {
        if (axes[i] < 0 || axes[i] >= from.rank) return artel__hlo_wrong(h, "transpose");
        type.dim[i] = from.dim[axes[i]];
        moved = moved || axes[i] != i;
    }
    if (!moved) return a;
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.transpose %%%d, dims = ", out, a);
    artel__hlo_write_axes(&h->body, axes, from.rank);
    artel__hlo_write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_slice(artel__hlo *h, artel__hlo_value a, const int64_t *first, const int64_t *end,
                                  const int64_t *step)
{
    artel__hlo_type from = *artel__hlo_type_of(h, a), type = from;
    for (int i = 0; i < from.rank; i++) {
        if (first[i] < 0 || end[i] > from.dim[i] || first[i] > end[i] || step[i] < 1)
            return artel__hlo_wrong(h, "slice");
        type.dim[i] = (end[i] - first[i] + step[i] - 1) / step[i];
    }
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.slice %%%d [", out, a);
    for (int i = 0; i < from.rank; i++)
        artel__text_printf(&h->body, "%s%" PRId64 ":%" PRId64 ":%" PRId64, i ? ", " : "", first[i], end[i], step[i]);
    artel__text_append(&h->body, "]");
    artel__hlo_write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_slice_axis(artel__hlo *h, artel__hlo_value a, int axis, int64_t first, int64_t end)
{
    artel__hlo_type from = *artel__hlo_type_of(h, a);
    int64_t begin[ARTEL__HLO_RANK] = {0}, until[ARTEL__HLO_RANK], step[ARTEL__HLO_RANK];
    if (axis < 0 || axis >= from.rank) return artel__hlo_wrong(h, "slice");
    if (first == 0 && end == from.dim[axis]) return a;
    for (int i = 0; i < from.rank; i++) {
        until[i] = from.dim[i];
        step[i] = 1;
    }
    begin[axis] = first;
    until[axis] = end;
    return artel__hlo_slice(h, a, begin, until, step);
}

artel__hlo_value artel__hlo_pad(artel__hlo *h, artel__hlo_value a, artel__hlo_value value, const int64_t *low,
                                const int64_t *high, const int64_t *inside)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    if (artel__hlo_type_of(h, value)->rank != 0 || artel__hlo_type_of(h, value)->dtype != type.dtype)
        return artel__hlo_wrong(h, "pad");
    for (int i = 0; i < type.rank; i++) {
        int64_t gaps = type.dim[i] > 1 ? (type.dim[i] - 1) * inside[i] : 0;
        type.dim[i] += low[i] + high[i] + gaps;
        if (type.dim[i] < 0 || inside[i] < 0) return artel__hlo_wrong(h, "pad");
    }
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.pad %%%d, %%%d, low = ", out, a, value);
    artel__hlo_write_list(&h->body, low, type.rank);
    artel__text_append(&h->body, ", high = ");
    artel__hlo_write_list(&h->body, high, type.rank);
    artel__text_append(&h->body, ", interior = ");
    artel__hlo_write_list(&h->body, inside, type.rank);
    artel__hlo_write_signature(h, (artel__hlo_value[]){a, value}, 2, out);
    return out;
}

artel__hlo_value artel__hlo_concatenate(artel__hlo *h, const artel__hlo_value *in, int count, int axis)
{
    artel__hlo_type type = *artel__hlo_type_of(h, in[0]);
    if (count == 1) return in[0];
    if (axis < 0 || axis >= type.rank) return artel__hlo_wrong(h, "concatenate");
    for (int k = 1; k < count; k++) {
        const artel__hlo_type *other = artel__hlo_type_of(h, in[k]);
        if (other->rank != type.rank || other->dtype != type.dtype) return artel__hlo_wrong(h, "concatenate");
        type.dim[axis] += other->dim[axis];
    }
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.concatenate ", out);
    artel__hlo_write_values(&h->body, in, count);
    artel__text_printf(&h->body, ", dim = %d", axis);
    artel__hlo_write_signature(h, in, count, out);
    return out;
}

artel__hlo_value artel__hlo_reverse(artel__hlo *h, artel__hlo_value a, int axis)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    if (axis < 0 || axis >= type.rank) return artel__hlo_wrong(h, "reverse");
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.reverse %%%d, dims = [%d] : ", out, a, axis);
    artel__hlo_write_type(&h->body, &type);
    artel__text_append(&h->body, "\n");
    return out;
}

/* -- places that are computed -- */

artel__hlo_value artel__hlo_dynamic_slice(artel__hlo *h, artel__hlo_value a, const artel__hlo_value *first,
                                          const int64_t *size)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    artel__hlo_value in[1 + ARTEL__HLO_RANK] = {a};
    for (int i = 0; i < type.rank; i++) {
        if (size[i] > type.dim[i]) return artel__hlo_wrong(h, "dynamic_slice");
        type.dim[i] = size[i];
        in[1 + i] = first[i];
    }
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.dynamic_slice ", out);
    artel__hlo_write_values(&h->body, in, 1 + type.rank);
    artel__text_append(&h->body, ", sizes = ");
    artel__hlo_write_list(&h->body, size, type.rank);
    artel__hlo_write_signature(h, in, 1 + type.rank, out);
    return out;
}

artel__hlo_value artel__hlo_dynamic_update(artel__hlo *h, artel__hlo_value a, artel__hlo_value part,
                                           const artel__hlo_value *first)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    artel__hlo_value in[2 + ARTEL__HLO_RANK] = {a, part};
    if (artel__hlo_type_of(h, part)->rank != type.rank || artel__hlo_type_of(h, part)->dtype != type.dtype)
        return artel__hlo_wrong(h, "dynamic_update_slice");
    for (int i = 0; i < type.rank; i++) in[2 + i] = first[i];
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.dynamic_update_slice ", out);
    artel__hlo_write_values(&h->body, in, 2 + type.rank);
    artel__hlo_write_signature(h, in, 2 + type.rank, out);
    return out;
}

/* "[1, 2, ...]": the axes of a row. */
static void write_row_axes(artel__text *to, int rank)
{
    artel__text_append(to, "[");
    for (int i = 1; i < rank; i++) artel__text_printf(to, "%s%d", i > 1 ? ", " : "", i);
    artel__text_append(to, "]");
}

artel__hlo_value artel__hlo_gather_rows(artel__hlo *h, artel__hlo_value a, artel__hlo_value index)
{
    artel__hlo_type from = *artel__hlo_type_of(h, a), places = *artel__hlo_type_of(h, index), type = from;
    if (from.rank < 1 || places.rank != 1) return artel__hlo_wrong(h, "gather");
    type.dim[0] = places.dim[0];
    places.dim[places.rank++] = 1;
    artel__hlo_value in[] = {a, artel__hlo_reshape(h, index, &places)}, out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(
        &h->body,
        "    %%%d = \"stablehlo.gather\"(%%%d, %%%d) {dimension_numbers = #stablehlo.gather<offset_dims = ", out, in[0],
        in[1]);
    write_row_axes(&h->body, from.rank);
    artel__text_append(
        &h->body,
        ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1");
    for (int i = 1; i < from.rank; i++) artel__text_printf(&h->body, ", %" PRId64, from.dim[i]);
    artel__text_append(&h->body, ">, indices_are_sorted = false}");
    artel__hlo_write_signature(h, in, 2, out);
    return out;
}

artel__hlo_value artel__hlo_scatter_rows(artel__hlo *h, artel__hlo_value a, artel__hlo_value index,
                                         artel__hlo_value rows, bool ascending)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a), places = *artel__hlo_type_of(h, index),
                    scalar = {.dtype = type.dtype};
    if (type.rank < 1 || places.rank != 1 || artel__hlo_type_of(h, rows)->rank != type.rank)
        return artel__hlo_wrong(h, "scatter");
    places.dim[places.rank++] = 1;
    artel__hlo_value in[] = {a, artel__hlo_reshape(h, index, &places), rows}, out = artel__hlo_add(h, &type);
    artel__hlo_value old = artel__hlo_add(h, &scalar), new = artel__hlo_add(h, &scalar);
    if (new < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = \"stablehlo.scatter\"(%%%d, %%%d, %%%d) ({\n      ^bb0(%%%d: ", out, in[0],
                       in[1], in[2], old);
    artel__hlo_write_type(&h->body, &scalar);
    artel__text_printf(&h->body, ", %%%d: ", new);
    artel__hlo_write_type(&h->body, &scalar);
    artel__text_printf(&h->body, "):\n        stablehlo.return %%%d : ", new);
    artel__hlo_write_type(&h->body, &scalar);
    artel__text_append(&h->body, "\n    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = ");
    write_row_axes(&h->body, type.rank);
    artel__text_printf(&h->body,
                       ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
                       "indices_are_sorted = %s, "
                       "unique_indices = true}",
                       ascending ? "true" : "false");
    artel__hlo_write_signature(h, in, 3, out);
    return out;
}

void artel__hlo_sort(artel__hlo *h, const char *how, const artel__hlo_value *in, int count, int axis,
                     artel__hlo_value *out)
{
    artel__hlo_value pair[2 * ARTEL__HLO_CARRIED];
    if (count < 1 || count > ARTEL__HLO_CARRIED) artel__hlo_wrong(h, "sort");
    for (int i = 0; i < count; i++) out[i] = artel__hlo_add(h, artel__hlo_type_of(h, in[i]));
    for (int i = 0; i < 2 * count && h->status >= 0; i++) {
        artel__hlo_type scalar = {.dtype = artel__hlo_type_of(h, in[i / 2])->dtype};
        pair[i] = artel__hlo_add(h, &scalar);
    }
    if (h->status < 0) return;
    artel__text_append(&h->body, "    ");
    artel__hlo_write_values(&h->body, out, count);
    artel__text_append(&h->body, " = \"stablehlo.sort\"(");
    artel__hlo_write_values(&h->body, in, count);
    artel__text_append(&h->body, ") ({\n      ^bb0(");
    for (int i = 0; i < 2 * count; i++) {
        artel__text_printf(&h->body, "%s%%%d: ", i ? ", " : "", pair[i]);
        artel__hlo_write_type(&h->body, artel__hlo_type_of(h, pair[i]));
    }
    artel__text_append(&h->body, "):\n    ");
    artel__hlo_value before = artel__hlo_compare(h, how, pair[0], pair[1]);
    artel__text_printf(
        &h->body, "        stablehlo.return %%%d : tensor<i1>\n    }) {dimension = %d : i64, is_stable = true} : (",
        before, axis);
    for (int i = 0; i < count; i++) {
        if (i) artel__text_append(&h->body, ", ");
        artel__hlo_write_type(&h->body, artel__hlo_type_of(h, in[i]));
    }
    artel__text_append(&h->body, ") -> (");
    for (int i = 0; i < count; i++) {
        if (i) artel__text_append(&h->body, ", ");
        artel__hlo_write_type(&h->body, artel__hlo_type_of(h, out[i]));
    }
    artel__text_append(&h->body, ")\n");
}
