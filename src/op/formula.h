/* SPDX-License-Identifier: Apache-2.0 */
/* Short names for what formulas are put together from: losses and cells in float64, gradients of gradients, and, by
 * nn/layer_ops_formula.h, which has more of them, raw operations. */
#ifndef ARTEL_OP_FORMULA_H
#define ARTEL_OP_FORMULA_H

#include "op/elementwise.h"

#define LOG_2 0.693147180559945309417

static inline artel__value_id unary(artel__graph *graph, artel__unary function, artel__value_id x)
{
    return artel__op_unary(graph, function, NULL, x);
}

static inline artel__value_id binary(artel__graph *graph, artel__binary function, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, function, a, b);
}

static inline artel__value_id product(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_MUL, a, b);
}

static inline artel__value_id difference(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_SUB, a, b);
}

static inline artel__value_id square(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_SQUARE, x);
}

static inline artel__value_id negative(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_NEG, x);
}

static inline artel__value_id below(artel__graph *graph, artel__value_id x, double number)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, x, number);
}

static inline artel__value_id is(artel__graph *graph, artel__value_id x, double number)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, x, number);
}

static inline artel__value_id where(artel__graph *graph, artel__value_id condition, artel__value_id a,
                                    artel__value_id b)
{
    return artel__op_where(graph, condition, a, b);
}

static inline artel__value_id number(artel__graph *graph, double value)
{
    return artel__op_scalar(graph, value);
}

static inline artel__value_id clip(artel__graph *graph, artel__value_id x, double low, double high)
{
    return artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, (double[]){low, high, 0}, x);
}

/* x * factor, which artel__op_affine with an offset of +0 is not for -0. */
static inline artel__value_id times(artel__graph *graph, artel__value_id x, double factor)
{
    return artel__op_affine(graph, x, factor, -0.0);
}

#endif
