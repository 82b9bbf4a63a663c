/* SPDX-License-Identifier: Apache-2.0 */
/* Central storage: the replicas of mirrored, but the variables are held once by the process, on any number of NUMA
 * nodes.
 *
 * As tf.distribute.experimental.CentralStorageStrategy: replicas read the variables where they lie and update them
 * there, each its part. What mirrored chooses by itself on one NUMA node is asked for here: on several it saves a copy
 * of variables and optimizer state a replica, and reads over the link between the nodes. Bits are those of mirrored,
 * since nobody's sums change.
 */
#include "strategy/plan.h"

static artel_status plan_central_storage(artel_context *ctx, const artel__strategy_request *request,
                                         artel__strategy_plan *out)
{
    ARTEL_TRY(artel__plan_mirrored(ctx, request, out));
    out->name = "central-storage";
    out->common = out->held_once = true;
    return ARTEL_OK;
}

const artel__strategy_def artel__strategy_central_storage = {
    .name = "central-storage",
    .doc = "Replicas on this machine as mirrored; the variables are held once by the process, on any number of NUMA "
           "nodes.",
    .plan = plan_central_storage,
};
