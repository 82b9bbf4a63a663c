/* SPDX-License-Identifier: Apache-2.0 */
/* Auto: what a user who knows nothing of strategies should have.
 *
 * One device where memory is one NUMA node, mirrored where it is several, or where several replicas are asked for. The
 * result is the same bits either way.
 */
#include "strategy/plan.h"

static artel_status plan_auto(artel_context *ctx, const artel__strategy_request *request, artel__strategy_plan *out)
{
    bool several = request->replicas > 1 || (request->replicas == 0 && artel__numa_nodes() > 1);
    return several ? artel__plan_mirrored(ctx, request, out) : artel__plan_one_device(ctx, request, out);
}

const artel__strategy_def artel__strategy_auto = {
    .name = "auto",
    .doc = "one-device on one NUMA node, else mirrored.",
    .plan = plan_auto,
};
