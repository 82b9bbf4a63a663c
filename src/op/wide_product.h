/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in float64. */
#ifndef ARTEL_OP_WIDE_PRODUCT_H
#define ARTEL_OP_WIDE_PRODUCT_H

#include "op/op.h"

/* a [lead][m][k] and b [lead][n][k] give [lead][m][n]; ROW or GLOBAL each. Differentiates. */
artel__value_id artel__op_wide_product(artel__graph *graph, artel__value_id a, artel__value_id b);

/* artel__op_product in float64: w plain, its elements in the order of the contracted axes of x and the columns. */
typedef struct artel__wide_weights {
    int contracted;
    artel_shape columns;
    bool relu;
} artel__wide_weights;
artel__value_id artel__op_wide_weights(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                       const artel__wide_weights *how);

#endif
