/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over groups of virtual shards: what batch normalisation needs for statistics by group (`--batch-norm groups:G`).
 *
 * The V shards of a batch are cut into G aligned runs of V / G shards; G is a power of two, so each group is a node of
 * the fold's tree. A row enters the fold in the column of its group and as zero in all others: a sum over a group is
 * therefore the fold over its node, bit for bit, however replicas share the shards. All functions are no-ops in a graph
 * that has failed.
 */
#ifndef ARTEL_NN_BATCH_GROUPS_H
#define ARTEL_NN_BATCH_GROUPS_H

#include "graph/graph.h"

/* `member` is artel__op_batch_groups'. The sum of x, ROW [...][c], over rows and all axes but the last. Without groups
 * (`member` absent): GLOBAL [c]; else GLOBAL [groups][c]. Has a gradient. */
artel__value_id artel__group_sums(artel__graph *graph, artel__value_id member, artel__value_id x);

/* What belongs to each row's group among `sums`, with leading extents of 1 up to `rank`: ROW [1]...[c]; without groups
 * `sums`. */
artel__value_id artel__group_rows(artel__graph *graph, artel__value_id member, artel__value_id sums, int rank);

#endif
