/* SPDX-License-Identifier: Apache-2.0 */
/* TPUs: mirrored over the TPU devices of this host, and of the other hosts where there is a cluster.
 *
 * As tf.distribute.TPUStrategy: a replica a core. Who asks for it asks for TPUs: the session opens them (device/tpu.h
 * says what the environment tells about them), and refuses other devices.
 */
#include "strategy/plan.h"

static artel_status plan_tpu(artel_context *ctx, const artel__strategy_request *request, artel__strategy_plan *out)
{
    ARTEL_TRY(artel__plan_mirrored(ctx, request, out));
    out->name = "tpu";
    out->cluster = true;
    return ARTEL_OK;
}

const artel__strategy_def artel__strategy_tpu = {
    .name = "tpu",
    .doc = "Replicas on all TPU devices of this host, and of the other hosts of a cluster: mirrored or multi-worker "
           "with the device tpu.",
    .device = "tpu",
    .devices = "TPUs",
    .plan = plan_tpu,
};
