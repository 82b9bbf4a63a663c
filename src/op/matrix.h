/* SPDX-License-Identifier: Apache-2.0 */
/* Small square matrices in the last two axes. */
#ifndef ARTEL_OP_MATRIX_H
#define ARTEL_OP_MATRIX_H

#include "kernel/matrix.h"
#include "op/op.h"

/* a [lead][n][n], and for SOLVE b [lead][n][m]; one of the two may be GLOBAL without lead. Differentiates as TensorFlow
 * does: Cholesky's gradient is symmetric. */
artel__value_id artel__op_matrix(artel__graph *graph, artel__matrix_function function, artel__value_id a,
                                 artel__value_id b);

#endif
