/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes of a row, softmax and its relatives, ranks as programs of devices. */
#ifndef ARTEL_OP_LOWER_REDUCE_H
#define ARTEL_OP_LOWER_REDUCE_H

#include "graph/lower.h"

void artel__lower_reduce(artel__lower *lower);
void artel__lower_reduce_gradient(artel__lower *lower);
void artel__lower_softmax(artel__lower *lower);
void artel__lower_softmax_gradient(artel__lower *lower);
void artel__lower_glu(artel__lower *lower);
void artel__lower_glu_gradient(artel__lower *lower);
void artel__lower_argmax(artel__lower *lower);
void artel__lower_in_top_k(artel__lower *lower);

#endif
