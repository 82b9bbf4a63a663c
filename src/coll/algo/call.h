/* SPDX-License-Identifier: Apache-2.0 */
/* A collective of a team: one task for all kinds, which carries out a schedule. */
#ifndef ARTEL_COLL_CALL_H
#define ARTEL_COLL_CALL_H

#include "coll/algo/agree.h"
#include "coll/algo/all_reduce.h"
#include "coll/task.h"

enum {
    ARTEL__CALL_CHUNK = 1 << 20,  /* bytes of a message at the most, except of an all-to-all with counts */
    ARTEL__CALL_EAGER = 128 << 10 /* bytes of a message that may leave before all have agreed, where it costs memory */
};

typedef struct artel__call {
    artel__coll_task base;
    artel__team *team;
    /* The caller fills these before each run; memory and lists are borrowed until it ends. */
    artel__coll_kind kind;
    artel_collective what;
    uint64_t detail;                        /* what else must be equal on all members, as a number */
    artel_status refused;                   /* a reason, recorded already, why this member cannot do it: all are told */
    bool force_way;                         /* for tests: `way` instead of the choice */
    artel__coll_way way;                    /* set by the run otherwise */
    int64_t chunk;                          /* for tests: elements; 0: by ARTEL__CALL_CHUNK */
    int64_t limit_ns;                       /* of waiting for others; 0: none */
    const artel__coll_itinerary *itinerary; /* all-reduces go along its route; NULL: by schedules */
    /* The task's own. */
    bool agreed, posted, stuck;
    artel_status own; /* why this member cannot do it */
    artel__agreement agreement;
    artel__coll_shape shape;
    artel__coll_schedule schedule;
    artel__all_reduce relay; /* along the route: partial values, in `wide` */
    artel__coll_segment segment;
    bool concluded;
    artel__coll_buffer wide;
    artel__coll_buffer starts, lists, pieces, requests, room, copy, operands, scratch;
    artel__net_request *request;                             /* receives, then sends */
    const void *in;                                          /* what.in, or a copy where `out` overlaps it */
    int32_t requests_posted, received, combined, sent, left; /* left: sends that are done */
    int32_t wrong;                                           /* the receive whose length was not as expected */
} artel__call;

void artel__call_init(artel__call *call, artel__team *team);
void artel__call_fini(artel__call *call);

/* Runs the call as the team's next one, in compute state (artel__fp_enter).
 *
 * Failures: ARTEL_ERROR_INVALID when members have called different things, or some member something that cannot be done
 * (that one keeps its own status, the others say who it is; ARTEL_ERROR_RUN where it had no memory). All members learn
 * that, and the endpoint is not cancelled unless it has more ranks than the team. Everything else cancels it:
 * ARTEL_ERROR_RUN (a peer is lost, or sent another length, or does not come within the limit), ARTEL_ERROR_NO_MEMORY,
 * ARTEL_ERROR_CANCELLED (the context's cancellation, too). After any failure messages of it may be on their way: the
 * team's connections take a new generation before they are used again. */
artel_status artel__call_run(artel__call *call);

#endif
