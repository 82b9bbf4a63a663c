/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that take elements by index or find places among constants, and arithmetic of integers. See
 * layer_ops.h and op/gather.h. Indices below 0 count from the end; those outside end the step.
 */
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/embed.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/wide_embed.h"

#define MOST_COMPARED 65536

/* Indices as int32, those below 0 from the end of an axis of n places. */
static artel__value_id from_end(artel__graph *graph, artel__value_id index, int64_t n)
{
    artel__value_id given = artel__as_float(graph, index);
    artel__value_id moved = artel__op_affine(graph, given, 1, (float)n);
    return artel__op_cast(graph, where(graph, below(graph, given, 0), moved, given), ARTEL_DTYPE_INT32);
}

/* -- take -- */

/* x by constant indices of any shape, which come in place of the axis. */
static artel_status take_constant(artel__layer *layer, artel__call *call, artel__value_id x, json_t *indices)
{
    artel__graph *graph = call->graph;
    artel_shape in = graph->value[x].shape, given, flat, out = {.rank = 0};
    const float *numbers;
    int axis;
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, in.rank, &axis));
    if (!artel__raw_constant(call, indices, &given, &numbers) || in.rank - 1 + given.rank > ARTEL_MAX_RANK)
        return artel__raw_refuse(layer, "these indices");
    int64_t count = artel_shape_count(&given);
    int32_t *index = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *index);
    if (!index) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = (int64_t)numbers[i];
        if (at < 0) at += in.dim[axis];
        if (at < 0 || at >= in.dim[axis]) return artel__raw_refuse(layer, "an index outside its axis");
        index[i] = (int32_t)at;
    }
    flat = artel__shape(1, count);
    artel_dtype dtype = graph->value[x].dtype;
    if (dtype != ARTEL_DTYPE_INT32) x = artel__as_float(graph, x);
    artel__value_id y = artel__op_take(graph, x, artel__op_constant(graph, ARTEL_DTYPE_INT32, &flat, index), axis);
    for (int i = 0; i < axis; i++) out.dim[out.rank++] = in.dim[i];
    for (int i = 0; i < given.rank; i++) out.dim[out.rank++] = given.dim[i];
    for (int i = axis + 1; i < in.rank; i++) out.dim[out.rank++] = in.dim[i];
    artel__call_return(call, artel__op_cast(graph, artel__op_reshape(graph, y, &out), dtype));
    return graph->status;
}

/* Of float64, by indices that all rows have in common: as one list, whose axes then come in place of the axis. */
static artel_status take_flat(const artel__layer *layer, artel__call *call, artel__value_id x, artel__value_id index,
                              int axis)
{
    artel__graph *graph = call->graph;
    artel_shape in = graph->value[x].shape, given = graph->value[index].shape, out = {.rank = 0}, flat;
    if (given.rank + in.rank - 1 > ARTEL_MAX_RANK) return artel__raw_refuse(layer, "these indices of float64");
    flat = artel__shape(1, artel_shape_count(&given));
    artel__value_id list = artel__op_reshape(graph, from_end(graph, index, in.dim[axis]), &flat),
                    y = artel__op_take(graph, x, list, axis);
    for (int i = 0; i < axis; i++) out.dim[out.rank++] = in.dim[i];
    for (int i = 0; i < given.rank; i++) out.dim[out.rank++] = given.dim[i];
    for (int i = axis + 1; i < in.rank; i++) out.dim[out.rank++] = in.dim[i];
    artel__call_return(call, artel__op_reshape(graph, y, &out));
    return graph->status;
}

/* Elements of another axis than the first: that becomes the first, and the axes of the indices come in its place. */
static artel_status take_along(const artel__layer *layer, artel__call *call, artel__value_id x, artel__value_id index,
                               int axis)
{
    artel__graph *graph = call->graph;
    artel_shape in = graph->value[x].shape, out = graph->value[index].shape;
    int order[ARTEL_MAX_RANK], back[ARTEL_MAX_RANK], given = out.rank, n = 0;
    bool wide = graph->real == ARTEL_DTYPE_FLOAT64;
    if (wide && graph->value[index].domain == ARTEL__DOMAIN_GLOBAL) return take_flat(layer, call, x, index, axis);
    if (given + in.rank - 1 > ARTEL_MAX_RANK) return artel__raw_refuse(layer, "so many axes");
    for (int i = 0; i < in.rank; i++) order[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
    artel_shape lines = artel__shape(2, in.dim[axis], in.dim[axis] ? artel_shape_count(&in) / in.dim[axis] : 0);
    artel__value_id table = artel__op_reshape(graph, artel__op_transpose(graph, x, order), &lines);
    index = from_end(graph, index, in.dim[axis]);
    artel__value_id y = wide ? artel__op_wide_lookup(graph, table, index) : artel__op_embedding(graph, table, index);
    for (int i = 1; i < in.rank; i++) out.dim[out.rank++] = in.dim[order[i]];
    for (int i = 0; i < axis; i++) back[n++] = given + i;
    for (int i = 0; i < given; i++) back[n++] = i;
    for (int i = axis; i < in.rank - 1; i++) back[n++] = given + i;
    artel__call_return(call, artel__op_transpose(graph, artel__op_reshape(graph, y, &out), back));
    return graph->status;
}

/* Lines of a constant table by the indices of a row. */
static artel_status take_lines(artel__layer *layer, artel__call *call, artel__value_id table, artel__value_id index)
{
    artel__graph *graph = call->graph;
    artel_shape in = graph->value[table].shape, out = graph->value[index].shape;
    int64_t number;
    json_t *given = artel__raw_setting(layer, call, "axis", 0);
    if (!given || !artel__json_integer(given, &number) || in.rank < 1) return artel__raw_refuse(layer, "this axis");
    int axis = call->shared ? artel__row_axis(number, in.rank) : number == 0 || number == -in.rank ? 0 : -1;
    if (axis < 0) return artel__raw_refuse(layer, "an axis of a constant that is not the first");
    if (graph->value[table].dtype != ARTEL_DTYPE_INT32) table = artel__as_float(graph, table);
    if (axis > 0 || graph->real == ARTEL_DTYPE_FLOAT64) return take_along(layer, call, table, index, axis);
    if (out.rank + in.rank - 1 > ARTEL_MAX_RANK) return artel__raw_refuse(layer, "so many axes");
    artel_shape lines = artel__shape(2, in.dim[0], artel__shape_product(&in, 1, in.rank));
    artel__value_id place = from_end(graph, index, in.dim[0]),
                    y = artel__op_embedding(graph, artel__op_reshape(graph, table, &lines), place);
    for (int i = 1; i < in.rank; i++) out.dim[out.rank++] = in.dim[i];
    artel__call_return(call, artel__op_reshape(graph, y, &out));
    return graph->status;
}

artel_status artel__raw_take(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    json_t *indices = artel__raw_setting(layer, call, "indices", 1);
    artel__value_id x, index = artel__call_tensor(call, indices).value;
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), &x));
    ARTEL_TRY(graph->status);
    bool rows = graph->value[x].domain == ARTEL__DOMAIN_ROW;
    if (rows && index >= 0)
        return artel__raw_refuse(layer, "indices by row, which Keras takes from every row; see take_along_axis");
    if (!artel__raw_setting(layer, call, "axis", 0))
        return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    return rows || index < 0 ? take_constant(layer, call, x, indices) : take_lines(layer, call, x, index);
}

/* Extents that both have, those of 1 repeated, but for the axis. False when they do not fit. */
static bool common_extents(const artel_shape *x, const artel_shape *index, int axis, artel_shape *x_out,
                           artel_shape *index_out)
{
    *x_out = *x;
    *index_out = *index;
    for (int i = 0; i < x->rank; i++) {
        if (i == axis) continue;
        int64_t a = x->dim[i], b = index->dim[i];
        if (a != b && a != 1 && b != 1) return false;
        x_out->dim[i] = index_out->dim[i] = a == 1 ? b : a;
    }
    return true;
}

static artel__value_id spread(artel__graph *graph, artel__value_id x, const artel_shape *from, const artel_shape *to)
{
    for (int i = 0; i < to->rank; i++) {
        if (from->dim[i] != to->dim[i]) x = artel__op_repeat(graph, x, i, to->dim[i]);
    }
    return x;
}

/* A constant of one row as a value by row. */
static artel__value_id by_row(artel__graph *graph, artel__value_id constant, artel__value_id like)
{
    if (graph->status < 0 || graph->value[constant].domain == ARTEL__DOMAIN_ROW) return constant;
    artel_shape one = {.rank = 0};
    artel__value_id zero = artel__op_fill_like(graph, artel__as_float(graph, like), 0);
    uint32_t all = (1u << graph->value[like].shape.rank) - 1;
    if (all) zero = artel__op_reduce(graph, ARTEL__REDUCE_SUM, zero, all, false);
    artel__value_id number = artel__as_float(graph, constant);
    return artel__op_add(graph, artel__op_reshape(graph, zero, &one), number);
}

artel_status artel__raw_take_along_axis(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, index;
    artel_shape in, wide, picks;
    int axis;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &in));
    if (!artel__raw_setting(layer, call, "axis", 0))
        return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", 0, in.rank, &axis));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_setting(layer, call, "indices", 1), &index));
    ARTEL_TRY(artel__raw_align(layer, graph, &index, &x));
    ARTEL_TRY(graph->status);
    index = by_row(graph, index, x);
    ARTEL_TRY(graph->status);
    artel_shape given = graph->value[index].shape;
    if (given.rank != in.rank || !common_extents(&in, &given, axis, &wide, &picks))
        return artel__raw_refuse(layer, "indices of this shape");
    artel_dtype dtype = graph->value[x].dtype;
    x = artel__op_axis_last(graph, spread(graph, artel__as_float(graph, x), &in, &wide), axis);
    index = spread(graph, from_end(graph, index, in.dim[axis]), &given, &picks);
    x = artel__op_take(graph, x, artel__op_axis_last(graph, index, axis), in.rank - 1);
    artel__call_return(call, artel__op_cast(graph, artel__op_axis_back(graph, x, axis), dtype));
    return graph->status;
}

/* -- places among constants -- */

/* x with an axis of 1 behind the others. */
static artel__value_id with_axis(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    shape.dim[shape.rank++] = 1;
    return artel__op_reshape(graph, x, &shape);
}

/* How many of the sorted limits, which all rows have in common, lie before each x: those below it, or `right`, all but
 * those above it. */
static artel_status return_places(artel__layer *layer, artel__call *call, artel__value_id x, json_t *list, bool right)
{
    artel__graph *graph = call->graph;
    artel__value_id limits;
    ARTEL_TRY(graph->status);
    ARTEL_TRY(artel__raw_operand(layer, call, list, &limits));
    limits = artel__as_float(graph, limits);
    ARTEL_TRY(graph->status);
    const artel__value *given = &graph->value[limits];
    if (given->domain != ARTEL__DOMAIN_GLOBAL || given->shape.rank != 1 || graph->value[x].shape.rank >= ARTEL_MAX_RANK)
        return artel__raw_refuse(layer, "these limits");
    int64_t count = given->shape.dim[0];
    if (count < 1 || count > MOST_COMPARED) return artel__raw_refuse(layer, "so many limits");
    artel__value_id wide = with_axis(graph, artel__as_float(graph, x));
    artel__value_id at = artel__op_compare(graph, right ? ARTEL__COMPARE_GREATER : ARTEL__COMPARE_LESS, limits, wide);
    ARTEL_TRY(graph->status);
    at =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__as_float(graph, at), 1u << graph->value[x].shape.rank, false);
    if (right) at = artel__op_affine(graph, at, -1, (double)count);
    artel__call_return(call, artel__op_cast(graph, at, ARTEL_DTYPE_INT32));
    return graph->status;
}

artel_status artel__raw_searchsorted(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    const char *side = artel__raw_name(layer, call, "side", "left");
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_setting(layer, call, "values", 1), &x));
    if (call->graph->status == ARTEL_OK && !call->shared && call->graph->value[x].domain != ARTEL__DOMAIN_ROW)
        return artel__raw_refuse(layer, "a sequence that is no constant");
    return return_places(layer, call, x, artel__raw_argument(call, 0), strcmp(side, "right") == 0);
}

artel_status artel__raw_digitize(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    return return_places(layer, call, x, artel__raw_setting(layer, call, "bins", 1), true);
}

artel_status artel__raw_isin(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape in;
    artel__value_id list;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &in));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 1), &list));
    list = artel__as_float(graph, list);
    ARTEL_TRY(graph->status);
    if (graph->value[list].domain != ARTEL__DOMAIN_GLOBAL || in.rank >= ARTEL_MAX_RANK)
        return artel__raw_refuse(layer, "elements by row");
    int64_t count = artel_shape_count(&graph->value[list].shape);
    artel_shape flat = artel__shape(1, count);
    if (count < 1 || count > MOST_COMPARED) return artel__raw_refuse(layer, "so many elements");
    list = artel__op_reshape(graph, list, &flat);
    artel__value_id same =
        artel__op_compare(graph, ARTEL__COMPARE_EQUAL, list, with_axis(graph, artel__as_float(graph, x)));
    same = artel__op_reduce(graph, ARTEL__REDUCE_MAX, artel__as_float(graph, same), 1u << in.rank, false);
    same = artel__op_cast(graph, same, ARTEL_DTYPE_BOOL);
    bool invert = json_is_true(artel__raw_setting(layer, call, "invert", 0));
    artel__call_return(call, invert ? artel__op_logical_not(graph, same) : same);
    return graph->status;
}

artel_status artel__raw_multi_hot(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape in;
    int64_t classes, axis;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &in));
    if (!artel__raw_integer(layer, call, "num_classes", 0, 0, &classes) || classes < 1 || classes > INT32_MAX)
        return artel__raw_refuse(layer, "this number of classes");
    if (!artel__raw_integer(layer, call, "axis", 0, -1, &axis) || (axis != -1 && axis != in.rank + 1))
        return artel__raw_refuse(layer, "an axis that is not the last");
    if (in.rank < 1) return artel__raw_refuse(layer, "a class by row, which mixes the rows of the batch");
    artel__value_id hot = artel__op_one_hot(graph, artel__op_cast(graph, x, ARTEL_DTYPE_INT32), classes);
    artel__call_return(call, artel__op_reduce(graph, ARTEL__REDUCE_MAX, hot, 1u, false));
    return graph->status;
}

/* -- integers -- */

/* An argument as int32; a constant integer with all its digits. Sums of integers are float32 here. */
static artel_status whole(const artel__layer *layer, const artel__call *call, int n, artel__value_id *out)
{
    json_t *given = artel__raw_argument(call, n);
    int64_t number;
    artel_shape scalar = {.rank = 0};
    if (artel__call_tensor(call, given).value < 0 && artel__json_integer(given, &number)) {
        if (number < INT32_MIN || number > INT32_MAX) return artel__raw_refuse(layer, "this number");
        int32_t word = (int32_t)number;
        *out = artel__op_constant(call->graph, ARTEL_DTYPE_INT32, &scalar, &word);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__raw_operand(layer, call, given, out));
    ARTEL_TRY(call->graph->status);
    artel_dtype dtype = call->graph->value[*out].dtype;
    if (dtype == ARTEL_DTYPE_BOOL) return artel__raw_refuse(layer, "truth values");
    *out = artel__op_cast(call->graph, *out, ARTEL_DTYPE_INT32);
    return ARTEL_OK;
}

static const struct {
    const char *class_name;
    artel__integer_op function;
} integer_rows[] = {
    {"ops.BitwiseAnd", ARTEL__INTEGER_AND},
    {"ops.BitwiseOr", ARTEL__INTEGER_OR},
    {"ops.BitwiseXor", ARTEL__INTEGER_XOR},
    {"ops.LeftShift", ARTEL__INTEGER_SHIFT_LEFT},
    {"ops.BitwiseLeftShift", ARTEL__INTEGER_SHIFT_LEFT},
    {"ops.RightShift", ARTEL__INTEGER_SHIFT_RIGHT},
    {"ops.BitwiseRightShift", ARTEL__INTEGER_SHIFT_RIGHT},
    {"ops.Gcd", ARTEL__INTEGER_GCD},
    {"ops.Lcm", ARTEL__INTEGER_LCM},
};

artel_status artel__raw_integers_of(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id a, b;
    int row = 0;
    while (strcmp(integer_rows[row].class_name, layer->def->class_name) != 0) row++;
    ARTEL_TRY(whole(layer, call, 0, &a));
    ARTEL_TRY(whole(layer, call, 1, &b));
    ARTEL_TRY(artel__raw_align(layer, graph, &a, &b));
    ARTEL_TRY(artel__raw_align(layer, graph, &b, &a));
    artel__call_return(call, artel__op_integer(graph, integer_rows[row].function, a, b));
    return graph->status;
}

artel_status artel__raw_bitwise_not(artel__layer *layer, artel__call *call)
{
    static const int32_t ones = -1;
    artel__value_id x;
    artel_shape scalar = {.rank = 0};
    ARTEL_TRY(whole(layer, call, 0, &x));
    artel__value_id all = artel__op_constant(call->graph, ARTEL_DTYPE_INT32, &scalar, &ones);
    artel__call_return(call, artel__op_integer(call->graph, ARTEL__INTEGER_XOR, x, all));
    return call->graph->status;
}

/* Coordinates of places in an array. Of more than one place a row, Keras on TensorFlow takes the extents from the first
 * on and names the results from the last on, which makes sense for extents that read alike both ways. */
artel_status artel__raw_unravel_index(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    json_t *list = artel__raw_setting(layer, call, "shape", 0);
    int count = (int)json_array_size(list);
    artel_shape scalar = {.rank = 0};
    ARTEL_TRY(whole(layer, call, 0, &x));
    ARTEL_TRY(graph->status);
    if (count < 1 || count > ARTEL__LAYER_OUTPUTS) return artel__raw_refuse(layer, "this shape");
    bool backwards = graph->value[x].shape.rank == 0;
    for (int i = count - 1; i >= 0; i--) {
        int64_t extent;
        if (!artel__json_integer(json_array_get(list, (size_t)(backwards ? i : count - 1 - i)), &extent) ||
            extent < 1 || extent > INT32_MAX)
            return artel__raw_refuse(layer, "this shape");
        int32_t word = (int32_t)extent;
        artel__value_id by = artel__op_constant(graph, ARTEL_DTYPE_INT32, &scalar, &word);
        call->out[i] = (artel__tensor){artel__op_integer(graph, ARTEL__INTEGER_MOD, x, by), ARTEL__NO_VALUE};
        x = artel__op_integer(graph, ARTEL__INTEGER_DIV, x, by);
    }
    call->outputs = count;
    return graph->status;
}
