/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that join several inputs: Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate, Dot.
 *
 * Rows broadcast as in NumPy, which is what Keras does by adding axes in front. Masks: the result is masked when all
 * inputs are, and valid where any is; Multiply, Maximum and Minimum leave masked elements out of the arithmetic.
 * After keras/src/layers/merging.
 */
#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/norm.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct merge_config {
    int64_t axis;
    artel__ints axes;
    bool normalize;
} merge_config;

static artel_status check_inputs(const artel__layer *layer, const artel__call *call, int least, int most)
{
    if (call->inputs >= least && call->inputs <= most) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "check the inputs of this layer",
                             "it has %d inputs, expected %d%s", call->inputs, least, most > least ? " or more" : "");
}

/* A mask [t] beside features, as wide as x. */
static artel__value_id mask_beside(artel__graph *graph, artel__tensor t)
{
    if (graph->status < 0 || t.mask < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[t.mask].shape;
    while (shape.rank < graph->value[t.value].shape.rank) shape.dim[shape.rank++] = 1;
    return artel__op_reshape(graph, t.mask, &shape);
}

/* The masks joined by or; none when an input has none. */
static artel__value_id joined_mask(artel__graph *graph, const artel__call *call)
{
    artel__value_id mask = call->in[0].mask;
    for (int i = 0; i < call->inputs; i++) {
        if (call->in[i].mask < 0) return ARTEL__NO_VALUE;
        if (i) mask = artel__op_logical_or(graph, mask, call->in[i].mask);
    }
    return mask;
}

static artel_status call_fold(artel__layer *layer, artel__call *call, artel__binary function)
{
    artel__graph *graph = call->graph;
    ARTEL_TRY(check_inputs(layer, call, 1, INT32_MAX));
    artel__value_id y = artel__as_float(graph, call->in[0].value);
    for (int i = 1; i < call->inputs; i++)
        y = artel__op_binary(graph, function, y, artel__as_float(graph, call->in[i].value));
    artel__call_return(call, y);
    call->out[0].mask = joined_mask(graph, call);
    return ARTEL_OK;
}

static artel_status call_add(artel__layer *layer, artel__call *call)
{
    return call_fold(layer, call, ARTEL__BINARY_ADD);
}

static artel_status call_subtract(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(check_inputs(layer, call, 2, 2));
    return call_fold(layer, call, ARTEL__BINARY_SUB);
}

static artel_status call_average(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    ARTEL_TRY(call_fold(layer, call, ARTEL__BINARY_ADD));
    call->out[0].value =
        artel__op_binary(graph, ARTEL__BINARY_DIV, call->out[0].value, artel__op_scalar(graph, (double)call->inputs));
    return ARTEL_OK;
}

/* Masked elements count as 1, and become 0 where no input is valid. */
static artel_status call_multiply(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id y = ARTEL__NO_VALUE;
    ARTEL_TRY(check_inputs(layer, call, 1, INT32_MAX));
    for (int i = 0; i < call->inputs; i++) {
        artel__value_id x = artel__as_float(graph, call->in[i].value), mask = mask_beside(graph, call->in[i]);
        if (mask >= 0) x = artel__op_where(graph, mask, x, artel__op_scalar(graph, 1));
        y = i ? artel__op_binary(graph, ARTEL__BINARY_MUL, y, x) : x;
    }
    artel__tensor joined = {y, joined_mask(graph, call)};
    if (joined.mask >= 0) y = artel__op_where(graph, mask_beside(graph, joined), y, ARTEL__NO_VALUE);
    artel__call_return(call, y);
    call->out[0].mask = joined.mask;
    return ARTEL_OK;
}

/* A masked element gives way to the other operand. */
static artel_status call_extremum(artel__layer *layer, artel__call *call, artel__binary function)
{
    artel__graph *graph = call->graph;
    ARTEL_TRY(check_inputs(layer, call, 1, INT32_MAX));
    artel__value_id y = artel__as_float(graph, call->in[0].value), so_far = mask_beside(graph, call->in[0]);
    for (int i = 1; i < call->inputs; i++) {
        artel__value_id x = artel__as_float(graph, call->in[i].value), mask = mask_beside(graph, call->in[i]);
        if (mask >= 0) x = artel__op_where(graph, mask, x, y);
        if (so_far >= 0) y = artel__op_where(graph, so_far, y, x);
        so_far = mask >= 0 && so_far >= 0 ? artel__op_logical_or(graph, so_far, mask) : ARTEL__NO_VALUE;
        y = artel__op_binary(graph, function, y, x);
    }
    artel__call_return(call, y);
    call->out[0].mask = joined_mask(graph, call);
    return ARTEL_OK;
}

static artel_status call_maximum(artel__layer *layer, artel__call *call)
{
    return call_extremum(layer, call, ARTEL__BINARY_MAX);
}

static artel_status call_minimum(artel__layer *layer, artel__call *call)
{
    return call_extremum(layer, call, ARTEL__BINARY_MIN);
}

/* -- Concatenate -- */

static const artel__option concatenate_options[] = {
    {"axis", "axis along which the inputs are put side by side", ARTEL__OPTION_INT, offsetof(merge_config, axis), "-1",
     0, 0, NULL},
    ARTEL__OPTIONS_END,
};

/* A mask of an input that has none: all valid. */
static artel__value_id all_valid(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    int last = --shape.rank;
    artel__value_id ones =
        artel__op_fill_like(graph, artel__op_slice(graph, artel__as_float(graph, x), last, 0, 1, 1), 1);
    return artel__op_reshape(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, ones, 0), &shape);
}

/* BOOL of x's shape: true everywhere, or nowhere. */
static artel__value_id constant_mask(artel__graph *graph, artel__value_id x, bool value)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER,
                                    artel__op_fill_like(graph, artel__as_float(graph, x), value), 0);
}

/* Masks with as many axes as their inputs (TimeDistributed hands on those of its steps): every mask is spread over its
 * input, they are put side by side, and what is valid anywhere along the last axis is valid. */
static artel_status spread_masks(artel__layer *layer, artel__call *call, artel__value_id *part, int axis)
{
    artel__graph *graph = call->graph;
    int rank = artel__call_shape(call, 0)->rank;
    for (int i = 0; i < call->inputs; i++) {
        artel__value_id mask = call->in[i].mask, x = call->in[i].value;
        artel_shape shape = mask >= 0 ? graph->value[mask].shape : graph->value[x].shape;
        if (mask < 0) {
            mask = constant_mask(graph, x, true);
        } else if (shape.rank == rank - 1) {
            shape.dim[shape.rank++] = 1;
            mask = artel__op_logical_or(graph, artel__op_reshape(graph, mask, &shape), constant_mask(graph, x, false));
        } else if (shape.rank != rank) {
            return artel__layer_fail(
                layer, ARTEL_ERROR_UNSUPPORTED, "concatenate tensors whose masks have as many axes, or one less",
                "a mask of %d axes with an input of %d is not supported", shape.rank + 1, rank + 1);
        }
        part[i] = mask;
    }
    artel__value_id all = artel__as_float(graph, artel__op_concat(graph, part, call->inputs, axis));
    all = artel__op_reduce(graph, ARTEL__REDUCE_MAX, all, 1u << (rank - 1), false);
    call->out[0].mask = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, all, 0);
    return graph->status;
}

/* Along the features a step is valid when any input's is; along another axis masks are put side by side as the inputs
 * are. */
static artel_status concatenate_masks(artel__layer *layer, artel__call *call, int axis)
{
    artel__graph *graph = call->graph;
    int rank = artel__call_shape(call, 0)->rank, masked = 0, other = 0;
    artel__value_id *part = artel__arena_alloc(graph->arena, (size_t)call->inputs, sizeof *part);
    if (!part) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < call->inputs; i++) {
        if (call->in[i].mask < 0) continue;
        masked++;
        if (graph->value[call->in[i].mask].shape.rank != rank - 1) other++;
    }
    if (other) return spread_masks(layer, call, part, axis);
    if (!masked || (axis == rank - 1 && masked < call->inputs)) return ARTEL_OK;
    for (int i = 0; i < call->inputs; i++) {
        part[i] = call->in[i].mask >= 0 ? call->in[i].mask : all_valid(graph, call->in[i].value);
        if (axis == rank - 1 && i) part[0] = artel__op_logical_or(graph, part[0], part[i]);
    }
    call->out[0].mask = axis == rank - 1 ? part[0] : artel__op_concat(graph, part, call->inputs, axis);
    return ARTEL_OK;
}

static artel_status call_concatenate(artel__layer *layer, artel__call *call)
{
    const merge_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(check_inputs(layer, call, 1, INT32_MAX));
    int axis = artel__row_axis(c->axis, artel__call_shape(call, 0)->rank);
    if (axis < 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name an axis of the inputs, the batch (0) excepted",
                                 "the axis %lld does not exist", (long long)c->axis);
    artel__value_id *part = artel__arena_alloc(graph->arena, (size_t)call->inputs, sizeof *part);
    if (!part) return ARTEL_ERROR_NO_MEMORY;
    bool same = true;
    for (int i = 0; i < call->inputs; i++)
        same = same && graph->value[call->in[i].value].dtype == graph->value[call->in[0].value].dtype;
    for (int i = 0; i < call->inputs; i++)
        part[i] = same ? call->in[i].value : artel__as_float(graph, call->in[i].value);
    artel__call_return(call, call->inputs == 1 ? part[0] : artel__op_concat(graph, part, call->inputs, axis));
    return concatenate_masks(layer, call, axis);
}

/* -- Dot -- */

static const artel__option dot_options[] = {
    {"axes", "axis of each input that is summed over", ARTEL__OPTION_INTS, offsetof(merge_config, axes), NULL, 0, 0,
     NULL},
    {"normalize", "whether the inputs are scaled to length 1 first", ARTEL__OPTION_BOOL,
     offsetof(merge_config, normalize), "false", 0, 0, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status configure_dot(artel__layer *layer)
{
    merge_config *c = layer->config;
    if (c->axes.count == 1) c->axes.item[c->axes.count++] = c->axes.item[0];
    if (c->axes.count == 2) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name one axis, or one for each input",
                             "the setting \"axes\" names %d", c->axes.count);
}

/* x [a...][k] and y [b...][k] to [a...][b...]; [1] when nothing else is left. */
static artel__value_id inner_products(artel__graph *graph, artel__value_id x, artel__value_id y)
{
    if (graph->status < 0 || x < 0 || y < 0) return ARTEL__NO_VALUE;
    artel_shape a = graph->value[x].shape, b = graph->value[y].shape, out = {.rank = 0};
    artel_shape left = artel__shape(2, artel__shape_product(&a, 0, a.rank - 1), a.dim[a.rank - 1]);
    artel_shape right = artel__shape(2, artel__shape_product(&b, 0, b.rank - 1), b.dim[b.rank - 1]);
    if (a.rank + b.rank - 2 > ARTEL_MAX_RANK) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope,
                                    "use fewer axes", "the result would have more than %d axes", ARTEL_MAX_RANK);
        return ARTEL__NO_VALUE;
    }
    for (int i = 0; i + 1 < a.rank; i++) out.dim[out.rank++] = a.dim[i];
    for (int i = 0; i + 1 < b.rank; i++) out.dim[out.rank++] = b.dim[i];
    if (out.rank == 0) out.dim[out.rank++] = 1;
    artel__value_id turned = artel__op_reshape(graph, y, &right);
    return artel__op_reshape(graph, artel__row_products(graph, artel__op_reshape(graph, x, &left), turned), &out);
}

static artel_status call_dot(artel__layer *layer, artel__call *call)
{
    const merge_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id x[2];
    ARTEL_TRY(check_inputs(layer, call, 2, 2));
    int64_t length[2];
    for (int i = 0; i < 2; i++) {
        const artel_shape *in = artel__call_shape(call, i);
        int permutation[ARTEL_MAX_RANK], axis = artel__row_axis(c->axes.item[i], in->rank);
        if (axis < 0)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name an axis of the input, the batch (0) excepted",
                                     "the axis %lld does not exist", (long long)c->axes.item[i]);
        length[i] = in->dim[axis];
        x[i] = artel__axes_last(graph, artel__as_float(graph, call->in[i].value), 1u << axis, permutation);
        if (c->normalize)
            x[i] =
                artel__op_layer_norm(graph, ARTEL__LAYER_NORM_UNIT, x[i], ARTEL__NO_VALUE, ARTEL__NO_VALUE, 1, 1e-7f);
    }
    if (length[0] != length[1])
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name axes of equal extents",
                                 "the axes have %lld and %lld elements", (long long)length[0], (long long)length[1]);
    artel__call_return(call, inner_products(graph, x[0], x[1]));
    return graph->status;
}

#define MERGE(symbol, name, kind, table, before, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(merge_config),               \
        .options = table,                                  \
        .mask = ARTEL__MASK_OWN,                           \
        .configure = before,                               \
        .call = call_##kind,                               \
    }

MERGE(add, "Add", add, NULL, NULL, "Sum of the inputs.");
MERGE(subtract, "Subtract", subtract, NULL, NULL, "The first input less the second.");
MERGE(multiply, "Multiply", multiply, NULL, NULL, "Product of the inputs, element by element.");
MERGE(average, "Average", average, NULL, NULL, "Mean of the inputs.");
MERGE(maximum, "Maximum", maximum, NULL, NULL, "Greatest of the inputs, element by element.");
MERGE(minimum, "Minimum", minimum, NULL, NULL, "Least of the inputs, element by element.");
MERGE(concatenate, "Concatenate", concatenate, concatenate_options, NULL, "The inputs side by side.");
MERGE(feature_concat, "TFDConcat", concatenate, concatenate_options, NULL, "Concatenate, as a FeatureSpace ends.");
MERGE(dot, "Dot", dot, dot_options, configure_dot, "Inner products of two inputs along one axis of each.");
