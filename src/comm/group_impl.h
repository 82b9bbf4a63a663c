/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of groups: what a rank of this process has under way, and what its group knows. */
#ifndef ARTEL_COMM_GROUP_IMPL_H
#define ARTEL_COMM_GROUP_IMPL_H

#include "coll/algo/all_gather.h"
#include "coll/algo/all_reduce.h"
#include "coll/algo/barrier.h"
#include "coll/algo/parcels.h"
#include "comm/group.h"
#include "net/inproc.h"

enum {
    ARTEL__GROUP_PARTS = 16,  /* of a sum that is waited for, at most */
    ARTEL__GROUP_BEGUN = 128, /* of one in the background */
    ARTEL__GROUP_TASKS = ARTEL__GROUP_PARTS + 1
};

/* A sum in the background, or a part of one that is waited for. */
typedef struct artel__flight {
    artel__all_reduce all_reduce;
    artel__coll_buffer segments;
} artel__flight;

typedef struct artel__group_member {
    artel__group *group;
    artel__comm comm;
    artel__endpoint *endpoint;
    artel__all_reduce all_reduce;
    artel__all_gather all_gather;
    artel__barrier barrier;
    artel__parcels parcels;
    artel__coll_buffer parcel;                 /* list of those of the last exchange */
    artel__coll_buffer segments, begun, spans; /* of what is waited for; of what begins; scratch of either */
    artel__coll_task *own[ARTEL__GROUP_TASKS]; /* the first `owns` are posted, and waited for */
    int owns;
    artel__flight **flight;                  /* kept from step to step; the first `flying` are under way */
    int flights, flying, landed;             /* the first `landed` of those under way are done */
    artel__flight *part[ARTEL__GROUP_PARTS]; /* kept, too */
    artel__coll_task **task;                 /* scratch: room for those that are waited for and all flights */
    uint32_t barriers;                       /* passed in this generation */
    artel__coll_itinerary itinerary;         /* of an all-reduce along a route */
    artel__mesh_activity *activity;          /* what it is doing, for whoever watches; NULL: nobody does */
} artel__group_member;

struct artel__group {
    artel_context *ctx;
    int replicas; /* of this process */
    int first;    /* rank of its first one */
    int ranks;
    uint32_t generation;
    uint64_t job;
    artel__fabric *fabric; /* NULL: the endpoints are a mesh's */
    artel__coll_layout layout;
    const artel__all_reduce_def *all_reduce; /* NULL: by size */
    artel__group_member *member;
};

/* Into how many parts the member cuts a sum. */
int artel__group_parts(const artel__group_member *m, int64_t bytes, int most);

/* exchange.c: what a rank asks of its group. */
extern const artel__comm_ops artel__group_ops;
void artel__flight_destroy(artel_context *ctx, artel__flight *flight);

#endif
