/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in float64. */
#ifndef ARTEL_OP_WIDE_PRODUCT_H
#define ARTEL_OP_WIDE_PRODUCT_H

#include "op/op.h"

/* a [lead][m][k] and b [lead][n][k] give [lead][m][n]; ROW or GLOBAL each. Differentiates. */
artel__value_id artel__op_wide_product(artel__graph *graph, artel__value_id a, artel__value_id b);

#endif
