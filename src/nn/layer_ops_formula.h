/* SPDX-License-Identifier: Apache-2.0 */
/* What formulas of raw operations are written with: the rows of their tables, beside the short names of op/formula.h.
 * For layer_ops_curves.c and layer_ops_numbers.c. */
#ifndef ARTEL_NN_LAYER_OPS_FORMULA_H
#define ARTEL_NN_LAYER_OPS_FORMULA_H

#include "nn/layer_ops.h"
#include "op/formula.h"

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
artel__value_id artel__wide_next_after(artel__graph *graph, artel__value_id a, artel__value_id b);

#endif
