/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices, and their gradients, as programs of devices. */
#ifndef ARTEL_OP_LOWER_DECOMPOSE_H
#define ARTEL_OP_LOWER_DECOMPOSE_H

#include "graph/lower.h"
#include "kernel/decompose.h"

void artel__lower_decompose(artel__lower *lower, artel__decomposition function, bool whole);
/* lower_decompose_gradient.c */
void artel__lower_decompose_gradient(artel__lower *lower, artel__decomposition function, bool whole);

#endif
