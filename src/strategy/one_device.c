/* SPDX-License-Identifier: Apache-2.0 */
/* One device: one replica computes everything with all threads and owns the variables; there is nobody to agree with.
 *
 * Named after tf.distribute.OneDeviceStrategy; "default" is Keras without a strategy, which is the same thing here.
 */
#include "strategy/plan.h"

artel_status artel__plan_one_device(artel_context *ctx, const artel__strategy_request *request,
                                    artel__strategy_plan *out)
{
    if (request->replicas > 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ".replicas", "use .strategy mirrored, or leave .replicas out",
                           "%d replicas with .strategy one-device, which has one", request->replicas);
    artel__plan_fill(request, "one-device", 1, out);
    return ARTEL_OK;
}

const artel__strategy_def artel__strategy_one_device = {
    .name = "one-device",
    .doc = "One replica with all threads.",
    .single = true,
    .plan = artel__plan_one_device,
};

const artel__strategy_def artel__strategy_default = {
    .name = "default",
    .doc = "No strategy, as in Keras: the same as one-device.",
    .single = true,
    .plan = artel__plan_one_device,
};
