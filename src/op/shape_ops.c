/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements: transpose, pad and crop, slice, concatenate, repeat, resize, one-hot.
 *
 * Transpose, slice and repeat are one strided copy; its gradient is the copy the other way (a slice's gradient is a
 * padding, a repetition's a sum). Any element type; only float32 has gradients. The batch is the first axis of the
 * kernel's index space and not counted here.
 */
#include "kernel/half.h"
#include "op/shape_ops.h"

#include <string.h>

#include "kernel/shape_ops.h"
#include "op/elementwise.h"
#include "op/lower_shape_ops.h"
#include "op/reduce.h"
#include "op/shape_attributes.h"

/* The extents of a value with its rows in front. */
static int full_dims(const artel__run_args *args, artel__value_id id, int64_t dim[ARTEL__LOOP_RANK])
{
    const artel__value *value = &args->graph->value[id];
    dim[0] = artel__args_rows(args, id);
    for (int i = 0; i < value->shape.rank; i++) dim[i + 1] = value->shape.dim[i];
    return value->shape.rank + 1;
}

static int normal_axis(int axis, int rank)
{
    return axis < 0 ? axis + rank : axis;
}

static void output_shape(artel__infer *infer, const artel_shape *shape)
{
    artel__infer_output(infer, 0, infer->in[0]->domain, infer->in[0]->dtype, shape);
}

/* -- transpose -- */

static artel_status infer_transpose(artel__infer *infer)
{
    const artel__transpose_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    uint32_t seen = 0;
    for (int i = 0; i < shape.rank; i++) {
        int from = a->permutation[i];
        if (from < 0 || from >= shape.rank || (seen & (1u << from)))
            return artel__op_fail(infer, "the permutation does not fit the input");
        seen |= 1u << from;
        shape.dim[i] = infer->in[0]->shape.dim[from];
    }
    output_shape(infer, &shape);
    return ARTEL_OK;
}

static void fill_transpose(const artel__run_args *args, void *params)
{
    const artel__transpose_attributes *a = args->attributes;
    int64_t dim[ARTEL__LOOP_RANK];
    int permutation[ARTEL__LOOP_RANK] = {0};
    int rank = full_dims(args, args->node->input[0], dim);
    for (int i = 1; i < rank; i++) permutation[i] = a->permutation[i - 1] + 1;
    artel__strided_copy *p = params;
    artel__copy_transpose(p, rank, dim, permutation);
    p->item = artel_dtype_size(artel__args_in(args, 0)->dtype);
    p->x = args->in[0];
    p->y = args->out[0];
}

static artel_status grad_transpose(artel__gradient *g)
{
    const artel__transpose_attributes *a = g->attributes;
    int inverse[ARTEL_MAX_RANK];
    int rank = g->graph->value[g->in[0]].shape.rank;
    for (int i = 0; i < rank; i++) inverse[a->permutation[i]] = i;
    g->in_gradient[0] = artel__op_transpose(g->graph, g->out_gradient[0], inverse);
    return ARTEL_OK;
}

const artel__op_def artel__op_transpose_def = {
    .name = "transpose",
    .doc = "Permutes the axes of a row.",
    .attribute_size = sizeof(artel__transpose_attributes),
    .infer = infer_transpose,
    .grad = grad_transpose,
    .moves = artel__op_always_moves,
    .lower = artel__lower_transpose,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__strided_copy_kernels,
            .params_size = sizeof(artel__strided_copy),
            .fill = fill_transpose,
        },
};

artel__value_id artel__op_transpose(artel__graph *graph, artel__value_id x, const int *permutation)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__transpose_attributes attributes = {{0}};
    int rank = graph->value[x].shape.rank, node = graph->value[x].node;
    bool same = true;
    for (int i = 0; i < rank; i++) attributes.permutation[i] = permutation[i];
    if (node >= 0 && graph->node[node].op == &artel__op_transpose_def) { /* two in a row are one, or none */
        const artel__transpose_attributes *before = graph->node[node].attributes;
        x = graph->node[node].input[0];
        for (int i = 0; i < rank; i++) attributes.permutation[i] = before->permutation[permutation[i]];
    }
    for (int i = 0; i < rank; i++) same = same && attributes.permutation[i] == i;
    return same ? x : artel__graph_add(graph, &artel__op_transpose_def, &attributes, &x, 1);
}

artel__value_id artel__op_axis_last(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int order[ARTEL_MAX_RANK], last = graph->value[x].shape.rank - 1;
    for (int i = 0; i <= last; i++) order[i] = i < axis ? i : i == last ? axis : i + 1;
    return axis == last ? x : artel__op_transpose(graph, x, order);
}

artel__value_id artel__op_axis_back(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int order[ARTEL_MAX_RANK], last = graph->value[x].shape.rank - 1;
    for (int i = 0; i <= last; i++) order[i] = i < axis ? i : i == axis ? last : i - 1;
    return axis == last ? x : artel__op_transpose(graph, x, order);
}

/* -- pad and crop -- */

static artel_status infer_pad(artel__infer *infer)
{
    const artel__pad_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    for (int i = 0; i < shape.rank; i++) {
        shape.dim[i] += a->before[i] + a->after[i];
        if (shape.dim[i] < 0) return artel__op_fail(infer, "more is cropped from axis %d than there is", i + 1);
    }
    output_shape(infer, &shape);
    return ARTEL_OK;
}

static void fill_pad(const artel__run_args *args, void *params)
{
    const artel__pad_attributes *a = args->attributes;
    artel__pad *p = params;
    p->rank = full_dims(args, args->node->input[0], p->in);
    full_dims(args, args->node->output[0], p->out);
    for (int i = 1; i < p->rank; i++) p->before[i] = a->before[i - 1];
    p->item = artel_dtype_size(artel__args_in(args, 0)->dtype);
    uint32_t bits = 0;
    bool wide = artel__args_wide(args);
    if (artel__args_in(args, 0)->dtype == ARTEL_DTYPE_FLOAT32)
        memcpy(&bits, &a->number, sizeof bits);
    else if (!wide)
        bits = (uint32_t)(int32_t)a->number;
    p->bits = bits;
    if (wide) memcpy(&p->bits, &a->exact, sizeof p->bits);
    if (artel__args_half_in(args, 0)) {
        p->item = artel_dtype_size(ARTEL_DTYPE_BFLOAT16);
        p->bits = artel__half_round(a->number);
    }
    p->x = args->in[0];
    p->y = args->out[0];
}

static artel_status grad_pad(artel__gradient *g)
{
    const artel__pad_attributes *a = g->attributes;
    int64_t before[ARTEL_MAX_RANK], after[ARTEL_MAX_RANK];
    for (int i = 0; i < ARTEL_MAX_RANK; i++) {
        before[i] = -a->before[i];
        after[i] = -a->after[i];
    }
    g->in_gradient[0] = artel__op_pad(g->graph, g->out_gradient[0], before, after, 0);
    return ARTEL_OK;
}

static bool pads_with_zero(const void *attributes)
{
    return ((const artel__pad_attributes *)attributes)->number == 0;
}

const artel__op_def artel__op_pad_def = {
    .name = "pad",
    .doc = "Adds a border of one number, or crops.",
    .attribute_size = sizeof(artel__pad_attributes),
    .infer = infer_pad,
    .grad = grad_pad,
    .moves = pads_with_zero,
    .lower = artel__lower_pad,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__pad_kernels,
            .params_size = sizeof(artel__pad),
            .fill = fill_pad,
            .half_in = 1u,
            .half_out = 1u,
            .half_alike = true,
        },
};

artel__value_id artel__op_pad(artel__graph *graph, artel__value_id x, const int64_t *before, const int64_t *after,
                              double number)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__pad_attributes attributes = {.number = (float)number, .exact = number};
    for (int i = 0; i < graph->value[x].shape.rank; i++) {
        attributes.before[i] = before[i];
        attributes.after[i] = after[i];
    }
    return artel__graph_add(graph, &artel__op_pad_def, &attributes, &x, 1);
}

/* -- slice -- */

static artel_status infer_slice(artel__infer *infer)
{
    const artel__slice_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (a->axis < 0 || a->axis >= shape.rank || a->length < 0)
        return artel__op_fail(infer, "the axis or the length does not fit the input");
    int64_t extent = shape.dim[a->axis], last = a->begin + (a->length - 1) * a->step;
    if (a->length > 0 && (a->begin < 0 || a->begin >= extent || last < 0 || last >= extent))
        return artel__op_fail(infer, "elements %lld to %lld of an axis of %lld", (long long)a->begin, (long long)last,
                              (long long)extent);
    shape.dim[a->axis] = a->length;
    output_shape(infer, &shape);
    return ARTEL_OK;
}

/* start, step and count of every axis, rows in front. */
static void slice_bounds(const artel__run_args *args, artel__value_id part, int64_t *start, int64_t *step,
                         int64_t *count)
{
    const artel__slice_attributes *a = args->attributes;
    int rank = full_dims(args, part, count);
    for (int i = 0; i < rank; i++) {
        start[i] = 0;
        step[i] = 1;
    }
    start[a->axis + 1] = a->begin;
    step[a->axis + 1] = a->step;
}

static void fill_slice(const artel__run_args *args, void *params)
{
    int64_t dim[ARTEL__LOOP_RANK], start[ARTEL__LOOP_RANK], step[ARTEL__LOOP_RANK], count[ARTEL__LOOP_RANK];
    artel__strided_copy *p = params;
    int rank = full_dims(args, args->node->input[0], dim);
    slice_bounds(args, args->node->output[0], start, step, count);
    artel__copy_slice(p, rank, dim, start, step, count);
    p->item = artel_dtype_size(artel__args_in(args, 0)->dtype);
    p->x = args->in[0];
    p->y = args->out[0];
}

/* Inputs: zeros of the full shape (overwritten in place), the part. */
static artel_status infer_insert(artel__infer *infer)
{
    output_shape(infer, &infer->in[0]->shape);
    return ARTEL_OK;
}

static void fill_insert(const artel__run_args *args, void *params)
{
    int64_t dim[ARTEL__LOOP_RANK], start[ARTEL__LOOP_RANK], step[ARTEL__LOOP_RANK], count[ARTEL__LOOP_RANK];
    artel__strided_copy *p = params;
    int rank = full_dims(args, args->node->input[0], dim);
    slice_bounds(args, args->node->input[1], start, step, count);
    artel__copy_insert(p, rank, dim, start, step, count);
    p->item = artel_dtype_size(artel__args_in(args, 1)->dtype);
    p->x = args->in[1];
    p->y = args->out[0];
}

/* Of the part; what lies below it are zeros that nothing depends on. */
static artel_status grad_insert(artel__gradient *g)
{
    const artel__slice_attributes *a = g->attributes;
    if (g->needed[1])
        g->in_gradient[1] = artel__op_slice(g->graph, g->out_gradient[0], a->axis, a->begin, a->length, a->step);
    return g->graph->status;
}

const artel__op_def artel__op_insert_def = {
    .name = "insert",
    .doc = "Writes a part into a larger value.",
    .attribute_size = sizeof(artel__slice_attributes),
    .placement = ARTEL__PLACE_VIEW_WRITTEN,
    .infer = infer_insert,
    .grad = grad_insert,
    .moves = artel__op_always_moves,
    .lower = artel__lower_insert,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__strided_copy_kernels,
            .params_size = sizeof(artel__strided_copy),
            .fill = fill_insert,
        },
};

static artel_status grad_slice(artel__gradient *g)
{
    const artel__slice_attributes *a = g->attributes;
    artel__value_id zeros = artel__op_fill_like(g->graph, g->in[0], 0);
    g->in_gradient[0] =
        artel__graph_add(g->graph, &artel__op_insert_def, a, (artel__value_id[]){zeros, g->out_gradient[0]}, 2);
    return ARTEL_OK;
}

const artel__op_def artel__op_slice_def = {
    .name = "slice",
    .doc = "Some elements of one axis.",
    .attribute_size = sizeof(artel__slice_attributes),
    .infer = infer_slice,
    .grad = grad_slice,
    .moves = artel__op_always_moves,
    .lower = artel__lower_slice,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__strided_copy_kernels,
            .params_size = sizeof(artel__strided_copy),
            .fill = fill_slice,
        },
};

artel__value_id artel__op_slice(artel__graph *graph, artel__value_id x, int axis, int64_t begin, int64_t length,
                                int64_t step)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__slice_attributes attributes = {normal_axis(axis, graph->value[x].shape.rank), begin, length, step};
    return artel__graph_add(graph, &artel__op_slice_def, &attributes, &x, 1);
}

/* -- concatenation: a pair at a time is never needed; each input is one insert into an uninitialised value -- */

static artel_status infer_blank(artel__infer *infer)
{
    const artel__concat_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    shape.dim[a->axis] = a->total;
    output_shape(infer, &shape);
    for (int k = 1; k < infer->inputs; k++) {
        if (infer->in[k]->domain == ARTEL__DOMAIN_ROW) infer->out[0].domain = ARTEL__DOMAIN_ROW;
    }
    return ARTEL_OK;
}

static void fill_blank(const artel__run_args *args, void *params)
{
    (void)args;
    *(artel__fill *)params = (artel__fill){.count = 0, .item = 4};
}

static uint32_t unread_by_blank(const artel__node *node)
{
    (void)node;
    return UINT32_MAX;
}

/* Memory for the inserts that follow; its content is undefined until they have run. */
const artel__op_def artel__op_blank_def = {
    .name = "blank",
    .doc = "Room for a concatenation.",
    .attribute_size = sizeof(artel__concat_attributes),
    .infer = infer_blank,
    .moves = artel__op_always_moves,
    .lower = artel__lower_blank,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fill_kernels,
            .params_size = sizeof(artel__fill),
            .fill = fill_blank,
            .unread = unread_by_blank,
        },
};

/* Inputs: the concatenation as inserts have left it, then the parts. Only carries the gradient. */
static artel_status infer_joined(artel__infer *infer)
{
    output_shape(infer, &infer->in[0]->shape);
    return ARTEL_OK;
}

static artel_status grad_joined(artel__gradient *g)
{
    const artel__concat_attributes *a = g->attributes;
    int64_t begin = 0;
    for (int k = 1; k < ARTEL__MAX_OPERANDS && g->in[k] >= 0; k++) {
        int64_t length = g->graph->value[g->in[k]].shape.dim[a->axis];
        if (g->needed[k]) g->in_gradient[k] = artel__op_slice(g->graph, g->out_gradient[0], a->axis, begin, length, 1);
        begin += length;
    }
    return ARTEL_OK;
}

static uint32_t unread_by_concat(const artel__node *node)
{
    (void)node;
    return ~1u; /* the inserts have read them */
}

const artel__op_def artel__op_concat_def = {
    .name = "concat",
    .doc = "Values side by side along one axis.",
    .attribute_size = sizeof(artel__concat_attributes),
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_joined,
    .grad = grad_joined,
    .lower = artel__lower_concat,
    .exec =
        &(const artel__op_exec){
            .unread = unread_by_concat,
        },
};

static artel_status grad_nothing(artel__gradient *g)
{
    (void)g;
    return ARTEL_OK;
}

const artel__op_def artel__op_concat_insert_def = {
    .name = "concat_insert",
    .doc = "One part of a concatenation.",
    .attribute_size = sizeof(artel__slice_attributes),
    .placement = ARTEL__PLACE_VIEW_WRITTEN,
    .infer = infer_insert,
    .grad = grad_nothing,
    .moves = artel__op_always_moves,
    .lower = artel__lower_concat_insert,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__strided_copy_kernels,
            .params_size = sizeof(artel__strided_copy),
            .fill = fill_insert,
        },
};

static bool concat_fits(artel__graph *graph, const artel__value_id *x, int count, int axis, int64_t *total)
{
    artel_shape first = graph->value[x[0]].shape;
    *total = 0;
    for (int k = 0; k < count; k++) {
        artel_shape shape = graph->value[x[k]].shape;
        if (shape.rank != first.rank || axis < 0 || axis >= shape.rank) return false;
        *total += shape.dim[axis];
        shape.dim[axis] = first.dim[axis];
        if (!artel__shape_equal(&shape, &first) || graph->value[x[k]].dtype != graph->value[x[0]].dtype) return false;
    }
    return true;
}

artel__value_id artel__op_concat(artel__graph *graph, const artel__value_id *x, int count, int axis)
{
    for (int k = 0; k < count; k++) {
        if (graph->status < 0 || x[k] < 0) return ARTEL__NO_VALUE;
    }
    if (count > ARTEL__MAX_OPERANDS - 1) {
        artel__value_id head = artel__op_concat(graph, x, ARTEL__MAX_OPERANDS - 1, axis);
        artel__value_id rest =
            artel__op_concat(graph, x + ARTEL__MAX_OPERANDS - 1, count - ARTEL__MAX_OPERANDS + 1, axis);
        return artel__op_concat(graph, (artel__value_id[]){head, rest}, 2, axis);
    }
    artel__concat_attributes attributes = {.axis = normal_axis(axis, graph->value[x[0]].shape.rank)};
    if (!concat_fits(graph, x, count, attributes.axis, &attributes.total)) {
        graph->status =
            artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, graph->scope,
                        "inputs of a concatenation must agree in all axes but one", "the inputs' shapes do not fit");
        return ARTEL__NO_VALUE;
    }
    artel__value_id operands[ARTEL__MAX_OPERANDS];
    artel__value_id room = artel__graph_add(graph, &artel__op_blank_def, &attributes, x, count);
    int64_t begin = 0;
    for (int k = 0; k < count && graph->status == ARTEL_OK; k++) {
        int64_t length = graph->value[x[k]].shape.dim[attributes.axis];
        artel__slice_attributes part = {attributes.axis, begin, length, 1};
        room = artel__graph_add(graph, &artel__op_concat_insert_def, &part, (artel__value_id[]){room, x[k]}, 2);
        begin += length;
        operands[k + 1] = x[k];
    }
    operands[0] = room;
    return artel__graph_add(graph, &artel__op_concat_def, &attributes, operands, count + 1);
}

/* -- repeat -- */

static artel_status infer_repeat(artel__infer *infer)
{
    const artel__repeat_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (a->axis < 0 || a->axis >= shape.rank || a->times < 1)
        return artel__op_fail(infer, "the axis or the count is not possible");
    shape.dim[a->axis] *= a->times;
    output_shape(infer, &shape);
    return ARTEL_OK;
}

static void fill_repeat(const artel__run_args *args, void *params)
{
    const artel__repeat_attributes *a = args->attributes;
    int64_t dim[ARTEL__LOOP_RANK], each[ARTEL__LOOP_RANK], whole[ARTEL__LOOP_RANK];
    int rank = full_dims(args, args->node->input[0], dim);
    for (int i = 0; i < rank; i++) each[i] = whole[i] = 1;
    each[a->axis + 1] = a->times;
    artel__strided_copy *p = params;
    artel__copy_repeat(p, rank, dim, each, whole);
    p->item = artel_dtype_size(artel__args_in(args, 0)->dtype);
    p->x = args->in[0];
    p->y = args->out[0];
}

static artel_status grad_repeat(artel__gradient *g)
{
    const artel__repeat_attributes *a = g->attributes;
    artel_shape from = g->graph->value[g->in[0]].shape, split = {.rank = 0};
    for (int i = 0; i < from.rank; i++) {
        split.dim[split.rank++] = from.dim[i];
        if (i == a->axis) split.dim[split.rank++] = a->times;
    }
    if (split.rank > ARTEL_MAX_RANK)
        return artel__fail(artel__graph_context(g->graph), ARTEL_ERROR_UNSUPPORTED, g->graph->scope, "use fewer axes",
                           "repeat of a value with %d axes has no gradient", from.rank);
    artel__value_id dy = artel__op_reshape(g->graph, g->out_gradient[0], &split);
    g->in_gradient[0] = artel__op_reduce(g->graph, ARTEL__REDUCE_SUM, dy, 1u << (a->axis + 1), false);
    return ARTEL_OK;
}

const artel__op_def artel__op_repeat_def = {
    .name = "repeat",
    .doc = "Each element of an axis several times in a row.",
    .attribute_size = sizeof(artel__repeat_attributes),
    .infer = infer_repeat,
    .grad = grad_repeat,
    .moves = artel__op_always_moves,
    .lower = artel__lower_repeat,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__strided_copy_kernels,
            .params_size = sizeof(artel__strided_copy),
            .fill = fill_repeat,
        },
};

artel__value_id artel__op_repeat(artel__graph *graph, artel__value_id x, int axis, int64_t times)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__repeat_attributes attributes = {normal_axis(axis, graph->value[x].shape.rank), times};
    return artel__graph_add(graph, &artel__op_repeat_def, &attributes, &x, 1);
}

artel__value_id artel__op_broadcast_to(artel__graph *graph, artel__value_id x, const artel_shape *shape)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape padded = {.rank = shape->rank};
    int ahead = shape->rank - graph->value[x].shape.rank;
    for (int i = 0; i < shape->rank; i++) padded.dim[i] = i < ahead ? 1 : graph->value[x].shape.dim[i - ahead];
    if (ahead) x = artel__op_reshape(graph, x, &padded);
    for (int i = 0; i < shape->rank; i++) {
        if (padded.dim[i] == 1 && shape->dim[i] > 1) x = artel__op_repeat(graph, x, i, shape->dim[i]);
    }
    return x;
}
