/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that have settings or are put together from several of ours: activations with constants,
 * division with remainder, logic, selection, statistics, products of matrices. See layer_ops.h.
 */
#include "nn/activation_float64.h"
#include "nn/layer_ops.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/elementwise.h"
#include "op/norm.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- functions with settings -- */

static artel_status return_unary(artel__layer *layer, artel__call *call, artel__unary function, double a, double b)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__call_return(call, artel__op_unary_exact(call->graph, function, (double[]){a, b, 0}, x));
    return ARTEL_OK;
}

artel_status artel__raw_gelu(artel__layer *layer, artel__call *call)
{
    bool exact = json_is_false(artel__raw_setting(layer, call, "approximate", 0));
    return return_unary(layer, call, exact ? ARTEL__UNARY_GELU : ARTEL__UNARY_GELU_TANH, 0, 0);
}

artel_status artel__raw_leaky_relu(artel__layer *layer, artel__call *call)
{
    return return_unary(layer, call, ARTEL__UNARY_LEAKY_RELU, artel__raw_number(layer, call, "negative_slope", 0.2), 0);
}

artel_status artel__raw_elu(artel__layer *layer, artel__call *call)
{
    return return_unary(layer, call, ARTEL__UNARY_ELU, artel__raw_number(layer, call, "alpha", 1), 0);
}

artel_status artel__raw_celu(artel__layer *layer, artel__call *call)
{
    return return_unary(layer, call, ARTEL__UNARY_CELU, artel__raw_number(layer, call, "alpha", 1), 0);
}

/* Between two tensors: the larger of the lower limit and of the smaller, as tf.clip_by_value. */
static artel_status clip_between(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x[3];
    for (int i = 0; i < 3; i++) {
        ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, i), &x[i]));
        x[i] = artel__as_float(graph, x[i]);
    }
    for (int i = 1; i < 3; i++) {
        ARTEL_TRY(artel__raw_align(layer, graph, &x[i], &x[0]));
        ARTEL_TRY(artel__raw_align(layer, graph, &x[0], &x[i]));
    }
    artel__value_id least = artel__op_binary(graph, ARTEL__BINARY_MIN, x[0], x[2]);
    artel__call_return(call, artel__op_binary(graph, ARTEL__BINARY_MAX, least, x[1]));
    return graph->status;
}

artel_status artel__raw_clip(artel__layer *layer, artel__call *call)
{
    double least = artel__raw_number(layer, call, "x_min", -INFINITY),
           most = artel__raw_number(layer, call, "x_max", INFINITY);
    if (call->inputs > 1) return clip_between(layer, call);
    if (isnan(least) || isnan(most)) { /* nothing is between these, as in NumPy, TensorFlow and PyTorch */
        artel__value_id x;
        ARTEL_TRY(artel__raw_float(layer, call, &x));
        artel__call_return(call, artel__op_affine(call->graph, x, 1, NAN));
        return ARTEL_OK;
    }
    return return_unary(layer, call, ARTEL__UNARY_CLIP, least, most < least ? least : most);
}

static artel_status return_softmax(artel__layer *layer, artel__call *call, artel__softmax_op function)
{
    artel__value_id x;
    int axis;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    ARTEL_TRY(call->graph->status);
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", -1, call->graph->value[x].shape.rank, &axis));
    if (function == ARTEL__SPARSEMAX && call->graph->real == ARTEL_DTYPE_FLOAT64)
        artel__call_return(call, artel__wide_sparsemax(call->graph, x, axis));
    else
        artel__call_return(call, artel__op_softmax(call->graph, function, x, axis));
    return ARTEL_OK;
}

artel_status artel__raw_softmax(artel__layer *layer, artel__call *call)
{
    return return_softmax(layer, call, ARTEL__SOFTMAX);
}

artel_status artel__raw_log_softmax(artel__layer *layer, artel__call *call)
{
    return return_softmax(layer, call, ARTEL__LOG_SOFTMAX);
}

artel_status artel__raw_sparsemax(artel__layer *layer, artel__call *call)
{
    return return_softmax(layer, call, ARTEL__SPARSEMAX);
}

artel_status artel__raw_glu(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    int axis;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    ARTEL_TRY(call->graph->status);
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", -1, call->graph->value[x].shape.rank, &axis));
    if (call->graph->real != ARTEL_DTYPE_FLOAT64) {
        artel__call_return(call, artel__op_glu(call->graph, x, axis));
        return ARTEL_OK;
    }
    if (call->graph->value[x].shape.dim[axis] % 2) return artel__raw_refuse(layer, "an axis of an odd extent");
    artel__call_return(call, artel__wide_glu(call->graph, x, axis));
    return ARTEL_OK;
}

/* -- arithmetic by composition -- */

artel_status artel__raw_floor_divide(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id a, b;
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    artel__value_id divisor = artel__as_float(graph, b),
                    ratio = artel__op_binary(graph, ARTEL__BINARY_DIV, artel__as_float(graph, a), divisor);
    /* Steps; that of 0 / 0 would have a gradient of its own. */
    ratio = artel__op_stop_gradient(graph, ratio);
    artel__call_return(call, artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, ratio));
    return ARTEL_OK;
}

artel_status artel__raw_mod(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id a, b;
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    artel__value_id divisor = artel__as_float(graph, b);
    artel__call_return(call, artel__op_binary(graph, ARTEL__BINARY_MOD, artel__as_float(graph, a), divisor));
    return ARTEL_OK;
}

artel_status artel__raw_logical_and(artel__layer *layer, artel__call *call)
{
    artel__value_id a, b;
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    artel__graph *graph = call->graph;
    artel__value_id second = artel__op_cast(graph, b, ARTEL_DTYPE_BOOL);
    artel__call_return(call, artel__op_logical_and(graph, artel__op_cast(graph, a, ARTEL_DTYPE_BOOL), second));
    return ARTEL_OK;
}

artel_status artel__raw_logical_or(artel__layer *layer, artel__call *call)
{
    artel__value_id a, b;
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    artel__graph *graph = call->graph;
    artel__value_id second = artel__op_cast(graph, b, ARTEL_DTYPE_BOOL);
    artel__call_return(call, artel__op_logical_or(graph, artel__op_cast(graph, a, ARTEL_DTYPE_BOOL), second));
    return ARTEL_OK;
}

artel_status artel__raw_logical_not(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    artel__call_return(call, artel__op_logical_not(call->graph, artel__op_cast(call->graph, x, ARTEL_DTYPE_BOOL)));
    return ARTEL_OK;
}

artel_status artel__raw_where(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id operand[3];
    for (int i = 0; i < 3; i++) ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, i), &operand[i]));
    for (int i = 0; i < 9; i++) {
        if (i % 3 != i / 3) ARTEL_TRY(artel__raw_align(layer, graph, &operand[i % 3], &operand[i / 3]));
    }
    artel__value_id no = artel__as_float(graph, operand[2]), yes = artel__as_float(graph, operand[1]);
    artel__call_return(call, artel__op_where(graph, artel__op_cast(graph, operand[0], ARTEL_DTYPE_BOOL), yes, no));
    return ARTEL_OK;
}

artel_status artel__raw_cast(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_dtype dtype;
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    const char *name = json_string_value(artel__raw_setting(layer, call, "dtype", 1));
    if (!name || artel_dtype_parse(name, &dtype) < 0 || dtype == ARTEL_DTYPE_STRING)
        return artel__raw_refuse(layer, "this dtype");
    bool half = dtype == ARTEL_DTYPE_FLOAT16 || dtype == ARTEL_DTYPE_BFLOAT16;
    artel__call_return(call,
                       half ? artel__op_narrow(call->graph, artel__op_cast(call->graph, x, ARTEL_DTYPE_FLOAT32), dtype)
                            : artel__op_cast(call->graph, x, dtype));
    return ARTEL_OK;
}

/* -- reductions by composition -- */

static artel_status variance(artel__layer *layer, artel__call *call, artel__value_id *out)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    uint32_t axes;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    artel__value_id mean = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, axes, true);
    artel__value_id square =
        artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, artel__op_binary(graph, ARTEL__BINARY_SUB, x, mean));
    *out = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, square, axes, artel__raw_keeps_axes(layer, call));
    return ARTEL_OK;
}

artel_status artel__raw_var(artel__layer *layer, artel__call *call)
{
    artel__value_id y;
    ARTEL_TRY(variance(layer, call, &y));
    artel__call_return(call, y);
    return ARTEL_OK;
}

artel_status artel__raw_std(artel__layer *layer, artel__call *call)
{
    artel__value_id y;
    ARTEL_TRY(variance(layer, call, &y));
    artel__call_return(call, artel__op_unary(call->graph, ARTEL__UNARY_SQRT, NULL, y));
    return ARTEL_OK;
}

static artel_status return_truth(artel__layer *layer, artel__call *call, artel__reduction function)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    uint32_t axes;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    artel__value_id truth = artel__as_float(graph, artel__op_cast(graph, x, ARTEL_DTYPE_BOOL));
    artel__value_id y = artel__op_reduce(graph, function, truth, axes, artel__raw_keeps_axes(layer, call));
    artel__call_return(call, artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, y, 0));
    return ARTEL_OK;
}

artel_status artel__raw_any(artel__layer *layer, artel__call *call)
{
    return return_truth(layer, call, ARTEL__REDUCE_MAX);
}

artel_status artel__raw_all(artel__layer *layer, artel__call *call)
{
    return return_truth(layer, call, ARTEL__REDUCE_MIN);
}

static artel__value_id finite_max(artel__graph *graph, artel__value_id x, uint32_t axes, bool keep)
{
    double most = graph->real == ARTEL_DTYPE_FLOAT64 ? DBL_MAX : (double)FLT_MAX;
    return artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, (double[]){-most, most, 0},
                                 artel__op_reduce(graph, ARTEL__REDUCE_MAX, x, axes, keep));
}

/* log(sum(exp(x - max))) + max, with a finite max in place of an infinite one. */
artel_status artel__raw_logsumexp(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    uint32_t axes;
    bool keep = artel__raw_keeps_axes(layer, call);
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    artel__value_id held = artel__op_stop_gradient(graph, x), most = finite_max(graph, held, axes, true);
    artel__value_id power =
        artel__op_unary(graph, ARTEL__UNARY_EXPONENTIAL, NULL, artel__op_binary(graph, ARTEL__BINARY_SUB, x, most));
    artel__value_id sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, power, axes, keep);
    artel__value_id back = keep ? most : finite_max(graph, held, axes, false);
    artel__call_return(call, artel__op_add(graph, artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, sum), back));
    return ARTEL_OK;
}

/* -- the rest -- */

artel_status artel__raw_stop_gradient(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    artel__call_return(call, artel__op_stop_gradient(call->graph, x));
    return ARTEL_OK;
}

static artel_status return_fill(artel__layer *layer, artel__call *call, double number)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__value_id y = artel__op_fill_like(call->graph, x, number);
    artel_dtype dtype;
    const char *name = json_string_value(artel__raw_setting(layer, call, "dtype", 0));
    if (name && artel_dtype_parse(name, &dtype) == ARTEL_OK && dtype != ARTEL_DTYPE_STRING)
        y = artel__op_cast(call->graph, y, dtype);
    artel__call_return(call, y);
    return ARTEL_OK;
}

artel_status artel__raw_ones_like(artel__layer *layer, artel__call *call)
{
    return return_fill(layer, call, 1);
}

artel_status artel__raw_zeros_like(artel__layer *layer, artel__call *call)
{
    return return_fill(layer, call, 0);
}

artel_status artel__raw_one_hot(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    int64_t classes = 0;
    int axis;
    ARTEL_TRY(artel__raw_tensor(layer, call, &x));
    ARTEL_TRY(graph->status);
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", -1, graph->value[x].shape.rank + 1, &axis));
    if (!artel__json_integer(artel__raw_setting(layer, call, "num_classes", 1), &classes) || classes < 1 ||
        classes > INT32_MAX)
        return artel__raw_refuse(layer, "this number of classes");
    x = artel__op_one_hot(graph, artel__op_cast(graph, x, ARTEL_DTYPE_INT32), classes);
    artel__call_return(call, artel__op_axis_back(graph, x, axis));
    return graph->status;
}

artel_status artel__raw_normalize(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    uint32_t axes;
    int permutation[ARTEL_MAX_RANK];
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    if (artel__raw_number(layer, call, "order", 2) != 2) return artel__raw_refuse(layer, "this order");
    double epsilon = artel__raw_number(layer, call, "epsilon", 1e-7);
    if (graph->real == ARTEL_DTYPE_FLOAT64) {
        artel__value_id square = artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x);
        square = artel__op_reduce(graph, ARTEL__REDUCE_SUM, square, axes, true);
        artel__value_id inverse = artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL, square),
                        most = artel__op_scalar(graph, 1 / epsilon);
        inverse = artel__op_binary(graph, ARTEL__BINARY_MIN, inverse, most);
        artel__call_return(call, artel__op_binary(graph, ARTEL__BINARY_MUL, x, inverse));
        return graph->status;
    }
    artel__value_id y =
        artel__op_layer_norm(graph, ARTEL__LAYER_NORM_UNIT, artel__axes_last(graph, x, axes, permutation),
                             ARTEL__NO_VALUE, ARTEL__NO_VALUE, artel__bit_count(axes), (float)epsilon);
    artel__call_return(call, artel__axes_back(graph, y, permutation));
    return ARTEL_OK;
}
