/* SPDX-License-Identifier: Apache-2.0 */
/* The strategies of tf.distribute that this version does not have: their names are known, so that the answer is not
 * "unknown", and each says what to use instead.
 */
#include "strategy/plan.h"

static artel_status lacks(artel_context *ctx, const char *name, const char *advice)
{
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "--strategy", advice, "%s is not in this version", name);
}

static artel_status plan_tpu(artel_context *ctx, const artel__strategy_request *request, artel__strategy_plan *out)
{
    (void)request, (void)out;
    return lacks(ctx, "tpu", "use mirrored with the device tpu (docs/devices.md)");
}

const artel__strategy_def artel__strategy_tpu = {.name = "tpu", .doc = "TPUs: the device tpu under another strategy.", .plan = plan_tpu};
