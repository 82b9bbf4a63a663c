/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: what is computed by fold nodes or by rows becomes the same bits on every replica.
 *
 * sum      out[i] = root of the tree of sums over the node blocks
 * moments  out[3][c] = (count, mean, M2) of all rows, merged pairwise along the tree after T. Chan, G. Golub,
 *          R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979
 * max      out[i] = the greatest of the node blocks
 * gather   out[row] = the row of whoever owns it, all rows of the global batch
 * With one replica there is one block, or all rows, and the collective is a view of it. Gradients pass through sums
 * alone, as they are: the operation that made the fold gives each row its own.
 */
#include "op/op.h"
#include "op/second.h"

static artel_status infer_collective(artel__infer *infer)
{
    const artel__value *in = infer->in[0];
    if (!in || in->domain != ARTEL__DOMAIN_NODES) return artel__op_fail(infer, "the operand is not a fold");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, in->dtype, &in->shape);
    infer->out[0].storage = in->storage;
    infer->out[0].layout = in->layout;
    return ARTEL_OK;
}

const artel__op_def artel__op_all_reduce_def = {
    .name = "all_reduce",
    .doc = "Finishes the tree of sums over virtual shards.",
    .collective = ARTEL__COLLECTIVE_SUM,
    .infer = infer_collective,
    .grad = artel__second_all_reduce,
};

const artel__op_def artel__op_all_reduce_moments_def = {
    .name = "all_reduce_moments",
    .doc = "Merges count, mean and second moment over virtual shards.",
    .collective = ARTEL__COLLECTIVE_MOMENTS,
    .infer = infer_collective,
};

const artel__op_def artel__op_all_reduce_max_def = {
    .name = "all_reduce_max",
    .doc = "The greatest over virtual shards.",
    .collective = ARTEL__COLLECTIVE_MAX,
    .infer = infer_collective,
};

static artel_status infer_all_gather(artel__infer *infer)
{
    const artel__value *in = infer->in[0];
    if (!in || in->domain != ARTEL__DOMAIN_ROW) return artel__op_fail(infer, "the operand has no rows");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_BATCH, in->dtype, &in->shape);
    return ARTEL_OK;
}

const artel__op_def artel__op_all_gather_def = {
    .name = "all_gather",
    .doc = "The rows of all replicas, on each of them.",
    .collective = ARTEL__COLLECTIVE_GATHER,
    .infer = infer_all_gather,
};

artel__value_id artel__op_all_gather(artel__graph *graph, artel__value_id rows)
{
    return artel__graph_add(graph, &artel__op_all_gather_def, NULL, &rows, 1);
}

artel__value_id artel__op_all_reduce_moments(artel__graph *graph, artel__value_id nodes)
{
    return artel__graph_add(graph, &artel__op_all_reduce_moments_def, NULL, &nodes, 1);
}

artel__value_id artel__op_all_reduce_max(artel__graph *graph, artel__value_id nodes)
{
    return artel__graph_add(graph, &artel__op_all_reduce_max_def, NULL, &nodes, 1);
}
