/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of sequences whose alignment is not known. */
#ifndef ARTEL_OP_ALIGN_H
#define ARTEL_OP_ALIGN_H

#include "op/op.h"

/* labels ROW int32 [n], 0 where there is none; logits ROW [steps][classes], class 0 the blank; ROW []. */
artel__value_id artel__op_align(artel__graph *graph, artel__value_id labels, artel__value_id logits);

#endif
