/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' losses by element as raw operations: crossentropies that a Functional model may hold between its layers. Each
 * is put together as Keras puts it together, so that infinities and NaN come out where they do there. See layer_ops.h.
 */
#include "nn/layer_ops.h"
#include "op/formula.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define EPSILON 1e-7 /* of keras.config */

static artel__value_id probability(artel__graph *graph, artel__value_id x)
{
    return artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, (double[]){EPSILON, 1 - EPSILON, 0}, x);
}

/* max(x, 0) - x * target + log(1 + exp(-|x|)), where the first two cancel exactly. */
static artel__value_id binary_of_logits(artel__graph *graph, artel__value_id target, artel__value_id x)
{
    artel__value_id below = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, x, 0),
                    minus = unary(graph, ARTEL__UNARY_NEG, x);
    artel__value_id apart = artel__op_where(graph, below, x, minus),
                    positive = artel__op_where(graph, below, ARTEL__NO_VALUE, x);
    artel__value_id tail = unary(graph, ARTEL__UNARY_LOG1P, unary(graph, ARTEL__UNARY_EXPONENTIAL, apart));
    artel__value_id rest = binary(graph, ARTEL__BINARY_SUB, positive, binary(graph, ARTEL__BINARY_MUL, x, target));
    return artel__op_add(graph, rest, tail);
}

artel_status artel__raw_binary_crossentropy(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id target, x;
    ARTEL_TRY(artel__raw_operands(layer, call, &target, &x));
    target = artel__as_float(graph, target);
    x = artel__as_float(graph, x);
    if (json_is_true(artel__raw_setting(layer, call, "from_logits", 2))) {
        artel__call_return(call, binary_of_logits(graph, target, x));
        return ARTEL_OK;
    }
    x = probability(graph, x);
    artel__value_id hit = binary(graph, ARTEL__BINARY_MUL, target, unary(graph, ARTEL__UNARY_LOG, x));
    artel__value_id miss = unary(graph, ARTEL__UNARY_LOG, artel__op_affine(graph, x, -1, 1)),
                    other = binary(graph, ARTEL__BINARY_MUL, artel__op_affine(graph, target, -1, 1), miss);
    artel__call_return(call, unary(graph, ARTEL__UNARY_NEG, artel__op_add(graph, hit, other)));
    return ARTEL_OK;
}

/* Minus the logarithm of the probabilities along an axis; Keras clips before it makes them sum to 1 where targets are
 * class numbers. */
static artel__value_id cost_of(artel__graph *graph, artel__value_id x, int axis, bool logits, bool sparse)
{
    if (!logits && sparse) x = unary(graph, ARTEL__UNARY_LOG, probability(graph, x));
    if (logits || sparse) return unary(graph, ARTEL__UNARY_NEG, artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, x, axis));
    artel__value_id share =
        binary(graph, ARTEL__BINARY_DIV, x, artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, 1u << axis, true));
    return unary(graph, ARTEL__UNARY_NEG, unary(graph, ARTEL__UNARY_LOG, probability(graph, share)));
}

/* A class number selects, so that no other class counts, however unlikely it is; other targets are factors, and 0 * inf
 * is NaN. */
static artel_status categorical(artel__layer *layer, artel__call *call, bool sparse)
{
    artel__graph *graph = call->graph;
    artel__value_id target, x;
    int axis;
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), &target));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 1), &x));
    x = artel__as_float(graph, x);
    ARTEL_TRY(graph->status);
    int rank = graph->value[x].shape.rank;
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", -1, rank, &axis));
    bool fits = graph->value[target].shape.rank == rank - sparse && (!sparse || axis == rank - 1);
    if (!fits) return artel__raw_refuse(layer, "targets of this shape");
    bool logits = json_is_true(artel__raw_setting(layer, call, "from_logits", 2));
    artel__value_id cost = cost_of(graph, x, axis, logits, sparse);
    if (sparse) {
        target =
            artel__op_one_hot(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), graph->value[x].shape.dim[axis]);
        cost = artel__op_where(graph, artel__op_cast(graph, target, ARTEL_DTYPE_BOOL), cost, ARTEL__NO_VALUE);
    } else {
        cost = binary(graph, ARTEL__BINARY_MUL, artel__as_float(graph, target), cost);
    }
    artel__call_return(call, artel__op_reduce(graph, ARTEL__REDUCE_SUM, cost, 1u << axis, false));
    return ARTEL_OK;
}

artel_status artel__raw_categorical_crossentropy(artel__layer *layer, artel__call *call)
{
    return categorical(layer, call, false);
}

artel_status artel__raw_sparse_categorical_crossentropy(artel__layer *layer, artel__call *call)
{
    return categorical(layer, call, true);
}
