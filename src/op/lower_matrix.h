/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices as programs of devices. */
#ifndef ARTEL_OP_LOWER_MATRIX_H
#define ARTEL_OP_LOWER_MATRIX_H

#include "graph/lower.h"
#include "kernel/matrix.h"

void artel__lower_matrix(artel__lower *lower, artel__matrix_function function);

#endif
