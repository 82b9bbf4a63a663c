/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the graph that move or add up elements, as ONNX nodes. Axes of the graph are those of a row; ONNX
 * counts the batch. */
#include <string.h>

#include "keras/onnx_graph.h"
#include "kernel/resize_formula.h"
#include "op/node_attributes.h"
#include "op/ops.h"
#include "op/reduce.h"
#include "op/reduce_attributes.h"
#include "op/shape_attributes.h"

typedef artel__onnx_site site;

static int axis_of(const site *s, int axis)
{
    return axis + artel__onnx_ahead(artel__onnx_in_value(s, 0));
}

/* Axes of extent 1 more or fewer than in `in`, in one place: which; -1 when the shapes differ by more than that. */
static int unit_axis(const artel_shape *in, const artel_shape *out)
{
    const artel_shape *shorter = in->rank < out->rank ? in : out, *longer = in->rank < out->rank ? out : in;
    int at = 0;
    if (longer->rank != shorter->rank + 1) return -1;
    while (at < shorter->rank && longer->dim[at] == shorter->dim[at]) at++;
    if (longer->dim[at] != 1) return -1;
    for (int i = at; i < shorter->rank; i++) {
        if (longer->dim[i + 1] != shorter->dim[i]) return -1;
    }
    return at;
}

static void write_shape(site *s)
{
    const artel_shape *in = &artel__onnx_in_value(s, 0)->shape, *out = &artel__onnx_out_value(s)->shape;
    int unit = unit_axis(in, out);
    if (unit >= 0) {
        const int64_t axis = axis_of(s, unit);
        const char *op = in->rank < out->rank ? "Unsqueeze" : "Squeeze";
        s->out[0] = artel__onnx_node2(s->onnx, op, s->in[0], artel__onnx_ints_constant(s->onnx, &axis, 1));
        return;
    }
    if (artel__onnx_open(s->onnx)) s->refused = "over inputs of any size";
    s->out[0] = artel__onnx_shaped(s, s->in[0], artel__onnx_out_value(s));
}

static void write_transpose(site *s)
{
    const artel__transpose_attributes *a = s->node->attributes;
    int ahead = axis_of(s, 0), rank = artel__onnx_in_value(s, 0)->shape.rank;
    int64_t perm[ARTEL_MAX_RANK + 1] = {0};
    for (int i = 0; i < rank; i++) perm[i + ahead] = a->permutation[i] + ahead;
    s->out[0] = artel__onnx_transpose(s->onnx, s->in[0], perm, rank + ahead);
}

static void write_pad(site *s)
{
    const artel__pad_attributes *a = s->node->attributes;
    const artel__value *x = artel__onnx_in_value(s, 0);
    int ahead = axis_of(s, 0), rank = x->shape.rank + ahead;
    int64_t pads[2 * ARTEL_MAX_RANK + 2] = {0};
    for (int i = ahead; i < rank; i++) {
        pads[i] = a->before[i - ahead];
        pads[rank + i] = a->after[i - ahead];
    }
    artel__text node = artel__onnx_start(s->onnx, "Pad");
    s->out[0] = artel__onnx_end(s->onnx, &node,
                                (const char *[]){s->in[0], artel__onnx_ints_constant(s->onnx, pads, 2 * rank),
                                                 artel__onnx_number_of(s->onnx, x->dtype, (double)a->number)},
                                3);
}

static const char *put_slice(site *s, const char *x, int axis, const artel__slice_attributes *a)
{
    int64_t at = axis, begin = a->begin, step = a->step ? a->step : 1, end = begin + a->length * step;
    if (step < 0 && end < 0) end = INT64_MIN + 1; /* a small negative number would count from the end */
    artel__text node = artel__onnx_start(s->onnx, "Slice");
    return artel__onnx_end(
        s->onnx, &node,
        (const char *[]){x, artel__onnx_ints_constant(s->onnx, &begin, 1), artel__onnx_ints_constant(s->onnx, &end, 1),
                         artel__onnx_ints_constant(s->onnx, &at, 1), artel__onnx_ints_constant(s->onnx, &step, 1)},
        5);
}

static void write_slice(site *s)
{
    const artel__slice_attributes *a = s->node->attributes;
    s->out[0] = put_slice(s, s->in[0], axis_of(s, a->axis), a);
}

/* From the parts; what the graph inserts them into is not read. */
static void write_concat(site *s)
{
    const artel__concat_attributes *a = s->node->attributes;
    int ahead = artel__onnx_ahead(artel__onnx_out_value(s));
    for (int k = 1; k < s->node->inputs; k++) {
        if (artel__onnx_ahead(artel__onnx_in_value(s, k)) != ahead) s->refused = "parts with and without rows";
    }
    artel__text node = artel__onnx_start(s->onnx, "Concat");
    artel__onnx_int(&node, "axis", a->axis + ahead);
    s->out[0] = artel__onnx_end(s->onnx, &node, s->in + 1, s->node->inputs - 1);
}

/* [.., extent, ..] -> [.., extent, times, ..] -> [.., extent * times, ..] */
static void write_repeat(site *s)
{
    const artel__repeat_attributes *a = s->node->attributes;
    const artel__value *x = artel__onnx_in_value(s, 0);
    int64_t behind = axis_of(s, a->axis) + 1, wide[ARTEL_MAX_RANK + 2];
    int rank = x->shape.rank + axis_of(s, 0) + 1;
    for (int i = 0; i < rank; i++) wide[i] = i == (int)behind ? a->times : 1;
    const char *y = artel__onnx_node2(s->onnx, "Unsqueeze", s->in[0], artel__onnx_ints_constant(s->onnx, &behind, 1));
    y = artel__onnx_node2(s->onnx, "Expand", y, artel__onnx_ints_constant(s->onnx, wide, rank));
    s->out[0] = artel__onnx_shaped(s, y, artel__onnx_out_value(s));
}

/* -- along an axis, by a table [extent][outputs] -- */

static const char *put_table(site *s, const char *x, int axis, int rank, const float *table, int64_t extent,
                             int64_t outputs)
{
    int64_t to[ARTEL_MAX_RANK + 1], back[ARTEL_MAX_RANK + 1];
    const char *weights =
        artel__onnx_constant(s->onnx, ARTEL_DTYPE_FLOAT32, &(artel_shape){2, {extent, outputs}}, table);
    for (int i = 0; i < rank; i++) {
        to[i] = i < axis ? i : i + 1 < rank ? i + 1 : axis;
        back[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
    }
    bool last = axis == rank - 1;
    if (!last) x = artel__onnx_transpose(s->onnx, x, to, rank);
    x = artel__onnx_node2(s->onnx, "MatMul", x, weights);
    return last ? x : artel__onnx_transpose(s->onnx, x, back, rank);
}

static void write_band(site *s)
{
    const artel__band_attributes *a = s->node->attributes;
    const artel__op_band *b = &a->band;
    float *table = artel__arena_alloc(&s->onnx->arena, (size_t)(b->extent * b->outputs) + 1, sizeof *table);
    if (!table) return;
    for (int64_t o = 0; o < b->outputs; o++) {
        for (int64_t k = 0; k < b->taps; k++) table[(b->first[o] + k) * b->outputs + o] = b->weight[o * b->taps + k];
    }
    int rank = artel__onnx_in_value(s, 0)->shape.rank + axis_of(s, 0);
    s->out[0] = put_table(s, s->in[0], axis_of(s, a->axis), rank, table, b->extent, b->outputs);
}

static const char *resize_axis(site *s, const char *x, int axis, int64_t in, int64_t out)
{
    float *table = artel__arena_alloc(&s->onnx->arena, (size_t)(in * out) + 1, sizeof *table);
    if (!table) return NULL;
    for (int64_t o = 0; o < out && in > 0; o++) {
        resize_tap tap = resize_tap_of(o, in, out);
        table[tap.lower * out + o] += 1.0f - tap.share;
        table[tap.upper * out + o] += tap.share;
    }
    return put_table(s, x, axis_of(s, axis), 3 + axis_of(s, 0), table, in, out);
}

static void write_resize(site *s)
{
    const artel_shape *from = &artel__onnx_in_value(s, 0)->shape, *to = &artel__onnx_out_value(s)->shape;
    const char *y = resize_axis(s, s->in[0], 1, from->dim[1], to->dim[1]);
    s->out[0] = y ? resize_axis(s, y, 0, from->dim[0], to->dim[0]) : NULL;
}

/* -- sums and choices -- */

static void write_reduce(site *s)
{
    static const char *const how[] = {[ARTEL__REDUCE_SUM] = "ReduceSum",
                                      [ARTEL__REDUCE_MEAN] = "ReduceMean",
                                      [ARTEL__REDUCE_MAX] = "ReduceMax",
                                      [ARTEL__REDUCE_MIN] = "ReduceMin",
                                      [ARTEL__REDUCE_PROD] = "ReduceProd"};
    const artel__reduce_attributes *a = s->node->attributes;
    int64_t axes[ARTEL_MAX_RANK];
    int count = 0;
    for (int i = 0; i < artel__onnx_in_value(s, 0)->shape.rank; i++) {
        if (a->axes >> i & 1) axes[count++] = axis_of(s, i);
    }
    s->out[0] = count ? artel__onnx_reduce_over(s->onnx, how[a->function], s->in[0], axes, count, a->keep) : s->in[0];
}

/* With z sorted downwards and s its running sums: k stays while 1 + k z_k > s_k. The border is Keras'
 * (kernel/softmax.h): from the sum of the running sums of those that stay. */
static void write_sparsemax(site *s, int64_t axis, int64_t extent)
{
    artel__onnx *o = s->onnx;
    int behind = artel__onnx_in_value(s, 0)->shape.rank + axis_of(s, 0) - 1 - (int)axis;
    artel_shape shape = {.rank = behind + 1, .dim = {extent, 1, 1, 1, 1, 1, 1, 1}};
    float *number = artel__arena_alloc(&o->arena, (size_t)extent + 1, sizeof *number);
    for (int64_t i = 0; number && i < extent; i++) number[i] = (float)(i + 1);
    const char *k = artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &shape, number), *one = artel__onnx_scalar(o, 1),
               *x = s->in[0];
    artel__text node = artel__onnx_start(o, "TopK");
    artel__onnx_int(&node, "axis", axis);
    const char *z = artel__onnx_name(o);
    if (z) artel__put_string(&node, 2, z);
    artel__onnx_end(o, &node, (const char *[]){x, artel__onnx_ints_constant(o, &extent, 1)},
                    2); /* and the places, which nobody reads */
    const char *sums = artel__onnx_node2(o, "CumSum", z, artel__onnx_number_of(o, ARTEL_DTYPE_INT64, (double)axis));
    const char *inside =
        artel__onnx_node2(o, "Greater", artel__onnx_node2(o, "Add", artel__onnx_node2(o, "Mul", k, z), one), sums);
    inside = artel__onnx_cast(o, inside, ARTEL_DTYPE_FLOAT32);
    const char *count = artel__onnx_reduce_over(o, "ReduceSum", inside, &axis, 1, true);
    const char *total =
        artel__onnx_reduce_over(o, "ReduceSum", artel__onnx_node2(o, "Mul", inside, sums), &axis, 1, true);
    const char *border = artel__onnx_node2(o, "Div", artel__onnx_node2(o, "Sub", total, one), count);
    s->out[0] = artel__onnx_node1(o, "Relu", artel__onnx_node2(o, "Sub", x, border));
}

static void write_softmax(site *s)
{
    const artel__axis_attributes *a = s->node->attributes;
    if (a->function == (int)ARTEL__SPARSEMAX) {
        write_sparsemax(s, axis_of(s, a->axis), artel__onnx_in_value(s, 0)->shape.dim[a->axis]);
        return;
    }
    artel__text node = artel__onnx_start(s->onnx, a->function == (int)ARTEL__SOFTMAX ? "Softmax" : "LogSoftmax");
    artel__onnx_int(&node, "axis", axis_of(s, a->axis));
    s->out[0] = artel__onnx_end(s->onnx, &node, s->in, 1);
}

static void write_glu(site *s)
{
    const artel__axis_attributes *a = s->node->attributes;
    int64_t half = artel__onnx_out_value(s)->shape.dim[a->axis];
    const char *first = put_slice(s, s->in[0], axis_of(s, a->axis), &(artel__slice_attributes){0, 0, half, 1});
    const char *gate = put_slice(s, s->in[0], axis_of(s, a->axis), &(artel__slice_attributes){0, half, half, 1});
    s->out[0] = artel__onnx_node2(s->onnx, "Mul", first, artel__onnx_node1(s->onnx, "Sigmoid", gate));
}

static void write_argmax(site *s)
{
    artel__text node = artel__onnx_start(s->onnx, "ArgMax");
    artel__onnx_int(&node, "axis", -1);
    artel__onnx_int(&node, "keepdims", 0);
    s->out[0] = artel__onnx_cast(s->onnx, artel__onnx_end(s->onnx, &node, s->in, 1), ARTEL_DTYPE_INT32);
}

/* The places are TopK's second output, of which the first is not wanted. */
static void write_order(site *s)
{
    const artel_shape *shape = &artel__onnx_in_value(s, 0)->shape;
    const char *count = artel__onnx_ints_constant(s->onnx, &shape->dim[shape->rank - 1], 1);
    artel__text node = artel__onnx_start(s->onnx, "TopK");
    artel__onnx_int(&node, "axis", -1);
    artel__onnx_int(&node, "largest", 0);
    artel__onnx_int(&node, "sorted", 1);
    const char *values = artel__onnx_name(s->onnx);
    if (values) artel__put_string(&node, 2, values);
    s->out[0] = artel__onnx_cast(s->onnx, artel__onnx_end(s->onnx, &node, (const char *[]){s->in[0], count}, 2),
                                 ARTEL_DTYPE_INT32);
}

/* By one index for all, or by one for each of the axes in front. */
static void write_take(site *s)
{
    const artel__take_attributes *a = s->node->attributes;
    const artel__value *index = artel__onnx_in_value(s, 1);
    int axis = axis_of(s, a->axis);
    bool shared = index->shape.rank == 1 && index->domain == ARTEL__DOMAIN_GLOBAL;
    const int64_t behind = -1;
    artel__text node = artel__onnx_start(s->onnx, shared ? "Gather" : "GatherND");
    if (shared)
        artel__onnx_int(&node, "axis", axis);
    else
        artel__onnx_int(&node, "batch_dims", axis);
    const char *at = artel__onnx_cast(s->onnx, s->in[1], ARTEL_DTYPE_INT64);
    if (!shared) at = artel__onnx_node2(s->onnx, "Unsqueeze", at, artel__onnx_ints_constant(s->onnx, &behind, 1));
    s->out[0] = artel__onnx_end(s->onnx, &node, (const char *[]){s->in[0], at}, 2);
}

static void write_embedding(site *s)
{
    s->out[0] = artel__onnx_node2(s->onnx, "Gather", s->in[0], artel__onnx_cast(s->onnx, s->in[1], ARTEL_DTYPE_INT64));
}

/* index == 0, 1, ...: what is no class becomes zeros, as in Keras. */
static void write_one_hot(site *s)
{
    const artel_shape *out = &artel__onnx_out_value(s)->shape;
    const int64_t behind = -1, classes = out->dim[out->rank - 1];
    int32_t *number = artel__arena_alloc(&s->onnx->arena, (size_t)classes + 1, sizeof *number);
    for (int64_t i = 0; number && i < classes; i++) number[i] = (int32_t)i;
    const char *all = artel__onnx_constant(s->onnx, ARTEL_DTYPE_INT32, &(artel_shape){1, {classes}}, number);
    const char *index = artel__onnx_node2(s->onnx, "Unsqueeze", artel__onnx_cast(s->onnx, s->in[0], ARTEL_DTYPE_INT32),
                                          artel__onnx_ints_constant(s->onnx, &behind, 1));
    s->out[0] = artel__onnx_cast(s->onnx, artel__onnx_node2(s->onnx, "Equal", index, all), ARTEL_DTYPE_FLOAT32);
}

static void refuse_states(site *s)
{
    s->refused = "states between batches";
}

static void refuse_words(site *s)
{
    s->refused = "words, categories and their tables";
}

const artel__onnx_operation artel__onnx_movements[] = {
    {&artel__op_take_rows_def, refuse_states, true, 0},   {&artel__op_row_function_def, refuse_words, true, 0},
    {&artel__op_reshape_def, write_shape, true, 0},       {&artel__op_panels_def, write_shape, false, 0},
    {&artel__op_transpose_def, write_transpose, true, 0}, {&artel__op_pad_def, write_pad, false, 0},
    {&artel__op_slice_def, write_slice, false, 0},        {&artel__op_concat_def, write_concat, true, 1u << 0},
    {&artel__op_repeat_def, write_repeat, false, 0},      {&artel__op_band_def, write_band, false, 0},
    {&artel__op_resize_def, write_resize, false, 0},      {&artel__op_reduce_def, write_reduce, true, 0},
    {&artel__op_softmax_def, write_softmax, true, 0},     {&artel__op_glu_def, write_glu, false, 0},
    {&artel__op_argmax_def, write_argmax, true, 0},       {&artel__op_order_def, write_order, false, 0},
    {&artel__op_take_def, write_take, true, 0},           {&artel__op_embedding_def, write_embedding, true, 0},
    {&artel__op_one_hot_def, write_one_hot, true, 0},     {NULL, NULL, false, 0},
};
