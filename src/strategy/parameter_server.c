/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter servers: variables and the optimizer's state belong to the ps tasks of a cluster, workers compute, the
 * chief coordinates.
 *
 * As tf.distribute.ParameterServerStrategy. A plan says what one process computes with: one replica with all its
 * threads. Who does what follows from the task's type (train/servers.h); when workers and servers agree is
 * --consistency's affair.
 */
#include "strategy/plan.h"

static artel_status plan_parameter_server(artel_context *ctx, const artel__strategy_request *request,
                                          artel__strategy_plan *out)
{
    if (request->replicas > 1)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, ".replicas", "start more workers, or use .threads",
                           "a worker of parameter servers is one replica, which uses all its threads");
    artel__plan_fill(request, "parameter-server", 1, out);
    out->cluster = true;
    out->note[0] = 0;
    return ARTEL_OK;
}

const artel__strategy_def artel__strategy_parameter_server = {
    .name = "parameter-server",
    .doc = "Variables on the ps tasks of a cluster, which workers change without waiting for one another, "
           "or as .consistency says.",
    .single = true,
    .plan = plan_parameter_server,
};
