/* SPDX-License-Identifier: Apache-2.0 */
/* What formulas of operations are written with: short names for what they are put together from. */
#ifndef ARTEL_OP_FORMULA_H
#define ARTEL_OP_FORMULA_H

#include "op/elementwise.h"

#define HALF_PI 1.57079632679489661923
#define LOG_2 0.693147180559945309417

static inline artel__value_id unary(artel__graph *graph, artel__unary function, artel__value_id x)
{
    return artel__op_unary(graph, function, NULL, x);
}

static inline artel__value_id binary(artel__graph *graph, artel__binary function, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, function, a, b);
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

static inline artel__value_id above(artel__graph *graph, artel__value_id x, double number)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, x, number);
}

/* |x| with the gradient 1 at 0. */
static inline artel__value_id size_of(artel__graph *graph, artel__value_id x)
{
    return where(graph, below(graph, x, 0), negative(graph, x), x);
}

static inline artel__value_id with_sign(artel__graph *graph, artel__value_id size, artel__value_id like)
{
    return where(graph, below(graph, like, 0), negative(graph, size), size);
}

/* 1 / x tells -0 from 0. */
static inline artel__value_id sign_bit(artel__graph *graph, artel__value_id x)
{
    return artel__op_logical_or(graph, below(graph, x, 0), below(graph, unary(graph, ARTEL__UNARY_RECIPROCAL, x), 0));
}

#endif
