/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: every rank sends to the next one only.
 *
 * Slice i starts at rank i + 1 and passes every rank on its way to rank i; each adds what it has, as far as the one
 * tree merges it: what travels are the maximal nodes of the ranks passed so far, at most 2 log2 V blocks and one where
 * these ranks are an aligned power of two. Rank i has the result, which goes around once more. 2 (R - 1) messages and
 * two connections a rank.
 */
#include "coll/algo/all_reduce.h"

static artel_status list(void *user, const artel_all_reduce_group *group, artel_all_reduce_route *route)
{
    int members = group->members;
    (void)user;
    for (int slice = 0; slice < members; slice++) {
        int first = (slice + 1) % members;
        for (int hop = 0; hop < 2 * (members - 1); hop++) {
            int from = (first + hop) % members;
            bool result = hop >= members - 1;
            artel_status status = artel_all_reduce_send(route, from, (from + 1) % members, slice, result ? 0 : first,
                                                        result ? members : hop + 1);
            if (status < 0) return status;
        }
    }
    return ARTEL_OK;
}

const artel__all_reduce_def artel__all_reduce_ring = {
    .name = "ring",
    .doc = "Every rank sends to the next one only: two connections a rank, 2 (R - 1) rounds.",
    .like = "RING NCCL NcclAllReduce",
    .ops = &artel__all_reduce_relay_ops,
    .route = {.name = "ring", .list = list},
};
