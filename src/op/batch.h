/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the whole batch for each of its rows. */
#ifndef ARTEL_OP_BATCH_H
#define ARTEL_OP_BATCH_H

#include "op/op.h"

/* The rows of x, ROW float32 or float64, in the order of the keys, ROW [1]: random ones give a random order. */
artel__value_id artel__op_shuffle(artel__graph *graph, artel__value_id x, artel__value_id keys);

#endif
