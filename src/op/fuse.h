/* SPDX-License-Identifier: Apache-2.0 */
/* Joining operations that one kernel can do. Changes no bit: the joined kernel does the same operations in the same
 * order. */
#ifndef ARTEL_OP_FUSE_H
#define ARTEL_OP_FUSE_H

#include "op/op.h"

/* Of a forward graph, before it is differentiated: normalise + (add) + ReLU or ReLU6 -> one normalise. `values` are ids
 * the caller holds on to; they are renamed where their producer was joined. */
artel_status artel__op_fuse(artel__graph *graph, artel__value_id **values, int count);
/* Of a whole training graph: gradient of a maximum pool + gradient of the ReLU that the pool reads -> one gradient of
 * the pool. */
artel_status artel__op_fuse_gradients(artel__graph *graph);

#endif
