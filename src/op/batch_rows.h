/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that know which rows of the global batch a replica owns. */
#ifndef ARTEL_OP_BATCH_ROWS_H
#define ARTEL_OP_BATCH_ROWS_H

#include "op/op.h"

/* ROW [...] from GLOBAL [batch][...]; no gradient passes. A batch of another size is a fault, whose value is that size.
 */
artel__value_id artel__op_take_rows(artel__graph *graph, artel__value_id state);
extern const artel__op_def artel__op_take_rows_def;
/* ROW [...] in their places of NODES [batch][...]; an all-reduce makes the whole of it. */
artel__value_id artel__op_place_rows(artel__graph *graph, artel__value_id rows, int64_t batch);

/* ROW [groups]: 1 at the group that the row's shard belongs to. `groups` divides the shards of a batch. */
artel__value_id artel__op_batch_groups(artel__graph *graph, int groups);
/* `sum`, the finished sum of ROW `x` over the global batch, so that its gradient reaches every row of x. */
artel__value_id artel__op_batch_sum(artel__graph *graph, artel__value_id sum, artel__value_id x);
/* The sum of ROW `x` over the global batch, with that gradient. */
artel__value_id artel__op_batch_sums(artel__graph *graph, artel__value_id x);
/* artel__op_batch_sum of the finished mean over the rows. */
artel__value_id artel__op_batch_mean(artel__graph *graph, artel__value_id mean, artel__value_id x);

#endif
