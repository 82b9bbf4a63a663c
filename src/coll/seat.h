/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator's place, for whoever sends messages of its own to the other members: sessions of graphs
 * (function/session). They keep to jobs (net/frame.h) that no team has, and make no collective while a message is under
 * way. */
#ifndef ARTEL_COLL_SEAT_H
#define ARTEL_COLL_SEAT_H

#include "artel/communicator.h"
#include "cluster/mesh.h"

typedef struct artel__coll_seat {
    artel__endpoint *endpoint; /* NULL: one member. Of a communicator that is no subset ranks are positions */
    uint32_t generation;
    int position, members;
    int64_t limit_ns;       /* of waiting for others; 0: none */
    artel_cluster *cluster; /* NULL: threads, or alone */
} artel__coll_seat;

/* Errors: ARTEL_ERROR_INVALID (a subset, finished), that of the call before that has failed. */
artel_status artel__coll_seat_take(artel_communicator *communicator, artel__coll_seat *out);
/* Whether it is still the communicator's: not renewed, finished or left since. */
bool artel__coll_seat_holds(const artel_communicator *communicator, const artel__coll_seat *seat);
/* What this member does from here on. */
void artel__coll_seat_enter(artel_communicator *communicator, artel__member_phase phase);
/* The exchange has failed: the other members' fails, too, and all renew. Returns `status`, recorded. */
artel_status artel__coll_seat_fail(artel_communicator *communicator, artel_status status);

#endif
