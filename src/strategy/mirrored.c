/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrored: each replica computes its run of shards; they agree at every fold of a step; everyone owns all variables,
 * or, on one NUMA node, all have them in common.
 *
 * As tf.distribute.MirroredStrategy, except that the number of replicas changes no bit. Unasked, there is one replica
 * for each NUMA node's share of the cores, so that a replica's variables lie in its own memory.
 */
#include "strategy/plan.h"

static int least(int a, int b)
{
    return a < b ? a : b;
}

artel_status artel__plan_mirrored(artel_context *ctx, const artel__strategy_request *request, artel__strategy_plan *out)
{
    (void)ctx;
    int replicas = request->replicas;
    if (replicas == 0) {
        replicas = least(artel__numa_nodes(), artel__plan_threads(request));
        replicas = least(least(replicas, request->shards), ARTEL__MAX_REPLICAS);
    }
    artel__plan_fill(request, "mirrored", replicas, out);
    out->common = artel__numa_nodes() == 1;
    return ARTEL_OK;
}

const artel__strategy_def artel__strategy_mirrored = {
    .name = "mirrored",
    .doc = "Replicas on this machine, each with a part of every batch; on one NUMA node they have the variables in "
           "common, else a copy each.",
    .plan = artel__plan_mirrored,
};
