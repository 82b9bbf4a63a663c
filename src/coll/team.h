/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in collectives: some of the ranks of an endpoint, in an order of their own. A rank is a member once;
 * its place in the order is its position. Teams that share ranks, or all of them, have different ids, and so never mix
 * messages. */
#ifndef ARTEL_COLL_TEAM_H
#define ARTEL_COLL_TEAM_H

#include "net/transport.h"

typedef struct artel__team {
    artel_context *ctx;
    artel__endpoint *endpoint; /* NULL: one member */
    int32_t members, position; /* of this rank */
    const int32_t *rank;       /* of the endpoint, by position */
    uint64_t id;               /* travels as the job of its messages */
    uint32_t generation;
    uint64_t calls; /* begun so far: the number of a call is the step of its messages */
} artel__team;

/* The id of the n-th team of these members (positions of `parent`, in order) that is made of it: the same on all of
 * them. */
uint64_t artel__team_id(const artel__team *parent, const int *position, int count, uint32_t n);

#endif
