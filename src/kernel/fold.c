/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on the binary tree of shards.
 *
 * The maximal nodes of a run are found greedily from the left: at each place the largest aligned interval that starts
 * there and still fits. Sizes first rise and then fall, which bounds their number by 2 log2 V.
 */
#include "kernel/fold.h"

int artel__fold_nodes(int32_t first, int32_t count, artel__fold_node out[ARTEL__MAX_NODES])
{
    int nodes = 0;
    int32_t end = first + count;
    while (first < end && nodes < ARTEL__MAX_NODES) {
        int32_t size = first ? first & -first : ARTEL__MAX_SHARDS;
        while (size > end - first) size /= 2;
        out[nodes++] = (artel__fold_node){first, size};
        first += size;
    }
    return nodes;
}

void artel__fold_plan_make(artel__fold_plan *plan, int32_t shards, int32_t first, int32_t count, int64_t batch,
                           int64_t *start)
{
    int64_t row = artel__shard_start(batch, shards, first);
    for (int32_t i = 0; i <= count; i++) start[i] = artel__shard_start(batch, shards, first + i) - row;
    plan->shards = shards;
    plan->first = first;
    plan->count = count;
    plan->batch = batch;
    plan->row = row;
    plan->rows = start[count];
    plan->start = start;
    plan->nodes = artel__fold_nodes(first, count, plan->node);
}
