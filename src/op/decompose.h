/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices in the last two axes. */
#ifndef ARTEL_OP_DECOMPOSE_H
#define ARTEL_OP_DECOMPOSE_H

#include "kernel/decompose.h"
#include "op/op.h"

/* a [lead][m][n]; the results, each behind lead, are those of kernel/decompose.h, the others by artel__graph_output.
 * Differentiates as TensorFlow does, and like it not where the missing columns of a whole basis have no derivative. */
artel__value_id artel__op_decompose(artel__graph *graph, artel__decomposition function, bool whole, artel__value_id a);

#endif
