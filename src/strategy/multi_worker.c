/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-worker: mirrored over all tasks of a cluster that train.
 *
 * As tf.distribute.MultiWorkerMirroredStrategy, except that neither the number of tasks nor how many replicas each of
 * them has changes a bit. A process plans its own replicas as mirrored does; how many the others have it learns when
 * the cluster forms (cluster/mesh.h). A cluster of one is a single process.
 */
#include "strategy/plan.h"

static artel_status plan_multi_worker(artel_context *ctx, const artel__strategy_request *request,
                                      artel__strategy_plan *out)
{
    ARTEL_TRY(artel__plan_mirrored(ctx, request, out));
    out->name = "multi-worker";
    out->cluster = true;
    return ARTEL_OK;
}

const artel__strategy_def artel__strategy_multi_worker = {
    .name = "multi-worker",
    .doc = "Replicas on all hosts of a cluster, each with a copy of all variables and a part of every batch.",
    .plan = plan_multi_worker,
};
