/* SPDX-License-Identifier: Apache-2.0 */
/* Elements by index along an axis, the order of elements, arithmetic of integers. Axes are those of one row. */
#ifndef ARTEL_OP_GATHER_H
#define ARTEL_OP_GATHER_H

#include "kernel/gather.h"
#include "op/op.h"

/* Places of the elements along the last axis from the smallest to the largest, int32; equals keep their order, NaN
 * comes last. */
artel__value_id artel__op_order(artel__graph *graph, artel__value_id x);

/* x [lead][n][inner], float32, float64 or int32, by index int32 [lead][m], the axes in front of `axis` being `lead`:
 * [lead][m][inner]. By a GLOBAL index [m] all of lead and all rows are picked from alike. An index outside 0 .. n - 1
 * is a fault that ends the step. Differentiates in x. */
artel__value_id artel__op_take(artel__graph *graph, artel__value_id x, artel__value_id index, int axis);

/* int32, with broadcasting. */
artel__value_id artel__op_integer(artel__graph *graph, artel__integer_op function, artel__value_id a,
                                  artel__value_id b);

#endif
