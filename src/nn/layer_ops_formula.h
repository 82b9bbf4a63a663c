/* SPDX-License-Identifier: Apache-2.0 */
/* What formulas of raw operations are written with: short names beside those of op/formula.h, and, for
 * layer_ops_curves.c and layer_ops_numbers.c, the rows of their tables. */
#ifndef ARTEL_NN_LAYER_OPS_FORMULA_H
#define ARTEL_NN_LAYER_OPS_FORMULA_H

#include "nn/layer_ops.h"
#include "op/formula.h"

#define HALF_PI 1.57079632679489661923

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

typedef artel__value_id one_fn(artel__graph *graph, artel__value_id x);
typedef artel__value_id two_fn(artel__graph *graph, artel__value_id a, artel__value_id b);

/* A row has one of the two. */
typedef struct formula_row {
    const char *class_name;
    one_fn *one;
    two_fn *two;
} formula_row;

extern const formula_row artel__raw_curves[]; /* ends with an empty row */
artel__value_id artel__raw_power_of_two(artel__graph *graph, artel__value_id x);
artel__value_id artel__raw_arctan2(artel__graph *graph, artel__value_id y, artel__value_id x);
artel__value_id artel__raw_erfc(artel__graph *graph, artel__value_id x);

/* Of float64 (layer_ops_wide.c). `guess`: the inverse of erf to seven digits, and its infinities and NaN. */
artel__value_id artel__wide_erfinv(artel__graph *graph, artel__value_id x, artel__value_id guess);
artel__value_id artel__wide_bessel_i0(artel__graph *graph, artel__value_id x);
/* Where the exponential of a number is infinite. */
artel__value_id artel__raw_overflows(artel__graph *graph, artel__value_id size);
/* Infinite, with the infinite slope of what grows with `size`, where it is `over`; elsewhere not read. */
artel__value_id artel__raw_infinite_beyond(artel__graph *graph, artel__value_id over, artel__value_id size);
artel__value_id artel__wide_next_after(artel__graph *graph, artel__value_id a, artel__value_id b);

#endif
