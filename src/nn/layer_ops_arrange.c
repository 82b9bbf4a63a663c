/* SPDX-License-Identifier: Apache-2.0 */
/* More of Keras' raw operations that move elements: diagonals and triangles, joins and splits by name, turns, blocks of
 * images, frames of signals. See layer_ops.h. Each is transposes, slices, joins and reshapes of rows.
 */
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- as they are -- */

/* "Copy" and its kin: the tensor, of the dtype that is asked for. */
artel_status artel__raw_copy(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_dtype dtype;
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    const char *name = json_string_value(artel__raw_setting(layer, call, "dtype", 0));
    if (json_is_true(artel__raw_setting(layer, call, "sparse", 0)) ||
        json_is_true(artel__raw_setting(layer, call, "ragged", 0)))
        return artel__raw_refuse(layer, "sparse or ragged tensors");
    if (name && (artel_dtype_parse(name, &dtype) < 0 || dtype == ARTEL_DTYPE_STRING))
        return artel__raw_refuse(layer, "this dtype");
    if (name && (dtype == ARTEL_DTYPE_FLOAT16 || dtype == ARTEL_DTYPE_BFLOAT16))
        x = artel__op_narrow(graph, artel__as_float(graph, x), dtype);
    else if (name)
        x = artel__op_cast(graph, x, dtype);
    artel__call_return(call, x);
    return graph->status;
}

/* Of a real number: pi below 0. */
artel_status artel__raw_angle(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__value_id turned = where(graph, below(graph, x, 0), number(graph, 2 * HALF_PI), number(graph, 0));
    bool imaginary = strcmp(layer->def->class_name, "ops.Imag") == 0;
    artel__call_return(call, imaginary ? artel__op_fill_like(graph, x, 0)
                                       : where(graph, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, x, x), turned, x));
    return graph->status;
}

artel_status artel__raw_full_like(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    double value = 0;
    artel_dtype dtype;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    bool full = strcmp(layer->def->class_name, "ops.FullLike") == 0;
    if (full && !artel__json_number(artel__raw_setting(layer, call, "fill_value", 1), &value))
        return artel__raw_refuse(layer, "this value");
    const char *name = json_string_value(artel__raw_setting(layer, call, "dtype", 0));
    if (name && (artel_dtype_parse(name, &dtype) < 0 || dtype == ARTEL_DTYPE_STRING))
        return artel__raw_refuse(layer, "this dtype");
    artel__value_id y = artel__op_fill_like(graph, x, value);
    artel__call_return(call, name ? artel__op_cast(graph, y, dtype) : y);
    return graph->status;
}

/* -- diagonals -- */

static artel_status two_axes(const artel__layer *layer, const artel__call *call, int rank, int *a, int *b)
{
    ARTEL_TRY(artel__raw_axis(layer, call, "axis1", 0, rank, a));
    ARTEL_TRY(artel__raw_axis(layer, call, "axis2", 1, rank, b));
    return *a != *b ? ARTEL_OK : artel__raw_refuse(layer, "one axis twice");
}

/* The other axes, then a and b. */
static artel__value_id move_last(artel__graph *graph, artel__value_id x, int a, int b)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int order[ARTEL_MAX_RANK], n = 0, rank = graph->value[x].shape.rank;
    for (int i = 0; i < rank; i++) {
        if (i != a && i != b) order[n++] = i;
    }
    order[n] = a;
    order[n + 1] = b;
    return a == rank - 2 && b == rank - 1 ? x : artel__op_transpose(graph, x, order);
}

/* The last two axes as one, then every (columns + 1)st element from the diagonal's first on. */
static artel_status diagonal(const artel__layer *layer, const artel__call *call, artel__value_id *x)
{
    artel__graph *graph = call->graph;
    artel_shape shape;
    int a, b;
    int64_t offset;
    ARTEL_TRY(artel__raw_row(layer, call, x, &shape));
    ARTEL_TRY(two_axes(layer, call, shape.rank, &a, &b));
    if (!artel__raw_integer(layer, call, "offset", 0, 0, &offset)) return artel__raw_refuse(layer, "this offset");
    int64_t lines = shape.dim[a], columns = shape.dim[b];
    bool outside = offset >= columns || offset <= -lines; /* then it is empty, as NumPy's */
    if (outside) offset = 0;
    int64_t right = columns - (offset > 0 ? offset : 0), down = lines + (offset < 0 ? offset : 0);
    *x = move_last(graph, *x, a, b);
    ARTEL_TRY(graph->status);
    shape = graph->value[*x].shape;
    shape.rank--;
    shape.dim[shape.rank - 1] = lines * columns;
    *x = artel__op_reshape(graph, *x, &shape);
    *x = artel__op_slice(graph, *x, shape.rank - 1, offset > 0 ? offset : -offset * columns,
                         outside        ? 0
                         : right < down ? right
                                        : down,
                         columns + 1);
    return graph->status;
}

artel_status artel__raw_diagonal(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(diagonal(layer, call, &x));
    artel__call_return(call, x);
    return ARTEL_OK;
}

artel_status artel__raw_trace(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(diagonal(layer, call, &x));
    artel__graph *graph = call->graph;
    artel__call_return(call, artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__as_float(graph, x),
                                              1u << (graph->value[x].shape.rank - 1), false));
    return graph->status;
}

/* "Tril" and "Triu". */
artel_status artel__raw_tril(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape shape;
    int64_t k;
    bool lower = strcmp(layer->def->class_name, "ops.Tril") == 0;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &shape));
    if (!artel__raw_integer(layer, call, "k", 0, 0, &k)) return artel__raw_refuse(layer, "this diagonal");
    if (shape.rank < 2) return artel__raw_refuse(layer, "the batch as an axis of its matrix");
    int64_t lines = shape.dim[shape.rank - 2], columns = shape.dim[shape.rank - 1];
    uint8_t *stays = artel__arena_alloc(graph->arena, (size_t)(lines * columns) + 1, sizeof *stays);
    if (!stays) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < lines * columns; i++) {
        int64_t above_diagonal = i % columns - i / columns;
        stays[i] = lower ? above_diagonal <= k : above_diagonal >= k;
    }
    artel_shape matrix = artel__shape(2, lines, columns);
    artel_dtype dtype = graph->value[x].dtype;
    x = artel__op_where(graph, artel__op_constant(graph, ARTEL_DTYPE_BOOL, &matrix, stays), artel__as_float(graph, x),
                        ARTEL__NO_VALUE);
    artel__call_return(call, artel__op_cast(graph, x, dtype));
    return graph->status;
}

/* -- turns -- */

artel_status artel__raw_fliplr(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape shape;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &shape));
    int axis = artel__row_axis(artel__raw_own_axis(call, 1), shape.rank);
    if (axis < 0) return artel__raw_refuse(layer, call->shared ? "so few axes" : "the batch as its axis");
    artel__call_return(call, artel__op_slice(call->graph, x, axis, shape.dim[axis] - 1, shape.dim[axis], -1));
    return call->graph->status;
}

artel_status artel__raw_rot90(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape shape;
    int64_t times_, number[2] = {artel__raw_own_axis(call, 0), artel__raw_own_axis(call, 1)};
    int axis[2], order[ARTEL_MAX_RANK];
    json_t *axes = artel__raw_setting(layer, call, "axes", 0);
    ARTEL_TRY(artel__raw_row(layer, call, &x, &shape));
    if (!artel__raw_integer(layer, call, "k", 0, 1, &times_)) return artel__raw_refuse(layer, "this number of turns");
    for (size_t i = 0; i < 2; i++) {
        if (axes && !artel__json_integer(json_array_get(axes, i), &number[i]))
            return artel__raw_refuse(layer, "these axes");
        axis[i] = artel__row_axis(number[i], shape.rank);
        if (axis[i] < 0) return artel__raw_refuse(layer, "axes that move the batch");
    }
    if (axis[0] == axis[1]) return artel__raw_refuse(layer, "one axis twice");
    for (int i = 0; i < shape.rank; i++) order[i] = i == axis[0] ? axis[1] : i == axis[1] ? axis[0] : i;
    for (int64_t i = 0; i < (times_ % 4 + 4) % 4; i++) {
        int64_t n = graph->value[x].shape.dim[axis[1]];
        x = artel__op_transpose(graph, artel__op_slice(graph, x, axis[1], n - 1, n, -1), order);
        ARTEL_TRY(graph->status);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

/* -- products of arrays -- */

/* Of a row and a constant whose leading extent, the batch's, is 1 or not there. */
artel_status artel__raw_kron(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x[2];
    for (int i = 0; i < 2; i++) ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, i), &x[i]));
    ARTEL_TRY(graph->status);
    bool wider = call->shared && graph->value[x[0]].shape.rank > graph->value[x[1]].shape.rank;
    int constant = wider || graph->value[x[0]].domain == ARTEL__DOMAIN_ROW ? 1 : 0;
    if (graph->value[x[constant]].domain == ARTEL__DOMAIN_ROW)
        return artel__raw_refuse(layer, "two batches, whose rows it mixes");
    ARTEL_TRY(artel__raw_align(layer, graph, &x[constant], &x[1 - constant]));
    artel_shape shape[2] = {graph->value[x[0]].shape, graph->value[x[1]].shape}, wide[2],
                out = {.rank = shape[1 - constant].rank};
    int rank = out.rank;
    if (2 * rank > ARTEL_MAX_RANK || shape[constant].rank > rank) return artel__raw_refuse(layer, "so many axes");
    for (int i = 0; i < 2; i++) {
        wide[i] = (artel_shape){.rank = 2 * rank};
        for (int d = 0; d < rank; d++) {
            int own = d - (rank - shape[i].rank);
            wide[i].dim[2 * d + i] = own < 0 ? 1 : shape[i].dim[own];
            wide[i].dim[2 * d + 1 - i] = 1;
        }
        x[i] = artel__op_reshape(graph, artel__as_float(graph, x[i]), &wide[i]);
    }
    for (int d = 0; d < rank; d++) out.dim[d] = wide[0].dim[2 * d] * wide[1].dim[2 * d + 1];
    artel__call_return(call, artel__op_reshape(graph, binary(graph, ARTEL__BINARY_MUL, x[0], x[1]), &out));
    return graph->status;
}

/* One operand of a cross product with its vectors last. */
static artel_status vectors(const artel__layer *layer, const artel__call *call, int n, const char *key,
                            artel__value_id *out)
{
    artel__graph *graph = call->graph;
    int64_t axis = -1;
    json_t *all = artel__raw_setting(layer, call, "axis", 0),
           *own = all ? all : artel__raw_setting(layer, call, key, 0);
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, n), out));
    ARTEL_TRY(graph->status);
    if (own && !artel__json_integer(own, &axis)) return artel__raw_refuse(layer, "this axis");
    int rank = graph->value[*out].shape.rank;
    bool counted = call->shared || graph->value[*out].domain == ARTEL__DOMAIN_ROW;
    int at = counted ? artel__row_axis(axis, rank) : (int)(axis < 0 ? axis + rank : axis);
    if (at < 0 || at >= rank) return artel__raw_refuse(layer, "this axis");
    *out = artel__op_axis_last(graph, artel__as_float(graph, *out), at);
    ARTEL_TRY(graph->status);
    int64_t extent = graph->value[*out].shape.dim[rank - 1];
    return extent == 2 || extent == 3 ? ARTEL_OK
                                      : artel__raw_refuse(layer, "vectors that have not two or three elements");
}

static artel__value_id component(artel__graph *graph, artel__value_id x, int i)
{
    int last = graph->value[x].shape.rank - 1;
    return i < graph->value[x].shape.dim[last] ? artel__op_slice(graph, x, last, i, 1, 1)
                                               : times(graph, artel__op_slice(graph, x, last, 0, 1, 1), 0);
}

artel_status artel__raw_cross(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id a, b, part[3];
    ARTEL_TRY(vectors(layer, call, 0, "axisa", &a));
    ARTEL_TRY(vectors(layer, call, 1, "axisb", &b));
    ARTEL_TRY(artel__raw_align(layer, graph, &a, &b));
    ARTEL_TRY(artel__raw_align(layer, graph, &b, &a));
    int last_a = graph->value[a].shape.rank - 1, last_b = graph->value[b].shape.rank - 1;
    bool flat = graph->value[a].shape.dim[last_a] == 2 && graph->value[b].shape.dim[last_b] == 2;
    for (int i = flat ? 2 : 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        artel__value_id b_k = component(graph, b, k),
                        plus = binary(graph, ARTEL__BINARY_MUL, component(graph, a, j), b_k);
        artel__value_id b_j = component(graph, b, j);
        part[i] = binary(graph, ARTEL__BINARY_SUB, plus, binary(graph, ARTEL__BINARY_MUL, component(graph, a, k), b_j));
    }
    ARTEL_TRY(graph->status);
    artel_shape shape = graph->value[part[2]].shape;
    if (flat) {
        shape.rank--;
        artel__call_return(call, artel__op_reshape(graph, part[2], &shape));
        return graph->status;
    }
    int64_t axis = -1;
    json_t *all = artel__raw_setting(layer, call, "axis", 0),
           *own = all ? all : artel__raw_setting(layer, call, "axisc", 0);
    int to = own && !artel__json_integer(own, &axis) ? -1 : artel__row_axis(axis, shape.rank);
    if (to < 0) return artel__raw_refuse(layer, "this axis");
    artel__call_return(call, artel__op_axis_back(graph, artel__op_concat(graph, part, 3, shape.rank - 1), to));
    return graph->status;
}

/* -- blocks and frames -- */

/* "DepthToSpace" and back: [h][w][block][block][c] beside [h block][w block][c]. */
artel_status artel__raw_depth_to_space(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape in;
    int64_t block;
    bool spread = strcmp(layer->def->class_name, "ops.DepthToSpace") == 0;
    int first = strcmp(artel__raw_name(layer, call, "data_format", "channels_last"), "channels_first") == 0;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &in));
    if (in.rank != 3 || !artel__raw_integer(layer, call, "block_size", 0, 2, &block) || block < 1 || block > INT16_MAX)
        return artel__raw_refuse(layer, "this block or input");
    x = artel__channels_last(graph, x, first);
    ARTEL_TRY(graph->status);
    in = graph->value[x].shape;
    int64_t h = in.dim[0], w = in.dim[1], c = in.dim[2];
    if (spread ? c % (block * block) : h % block || w % block) return artel__raw_refuse(layer, "this block or input");
    static const int apart[] = {0, 2, 1, 3, 4};
    artel_shape wide, out;
    if (spread) {
        wide = artel__shape(5, h, w, block, block, c / (block * block));
        out = artel__shape(3, h * block, w * block, c / (block * block));
    } else {
        wide = artel__shape(5, h / block, block, w / block, block, c);
        out = artel__shape(3, h / block, w / block, c * block * block);
    }
    x = artel__op_transpose(graph, artel__op_reshape(graph, x, &wide), apart);
    artel__call_return(call, artel__channels_back(graph, artel__op_reshape(graph, x, &out), first));
    return graph->status;
}

/* [..][n] to [..][frames][length]: places by index. */
artel__value_id artel__raw_frames(artel__graph *graph, artel__value_id x, int64_t length, int64_t stride)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    int last = shape.rank - 1;
    int64_t frames = (shape.dim[last] - length) / stride + 1, count = frames * length;
    int32_t *index = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *index);
    if (!index) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < count; i++) index[i] = (int32_t)(i / length * stride + i % length);
    artel_shape flat = artel__shape(1, count);
    x = artel__op_take(graph, x, artel__op_constant(graph, ARTEL_DTYPE_INT32, &flat, index), last);
    shape.dim[last] = frames;
    shape.dim[shape.rank++] = length;
    return artel__op_reshape(graph, x, &shape);
}

artel_status artel__raw_extract_sequences(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    int64_t length, stride;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    ARTEL_TRY(call->graph->status);
    const artel_shape *shape = &call->graph->value[x].shape;
    bool fits = artel__raw_integer(layer, call, "sequence_length", 0, 0, &length) &&
                artel__raw_integer(layer, call, "sequence_stride", 0, 0, &stride);
    if (!fits || shape->rank < 1 || shape->rank >= ARTEL_MAX_RANK || length < 1 || stride < 1 ||
        length > shape->dim[shape->rank - 1])
        return artel__raw_refuse(layer, "this length or stride");
    artel__call_return(call, artel__raw_frames(call->graph, x, length, stride));
    return call->graph->status;
}
