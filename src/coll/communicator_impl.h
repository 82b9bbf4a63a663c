/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of artel/communicator.h. A home is what all communicators of one member and origin share: the endpoint,
 * and whether it may be used; it belongs to the member's thread. Homes of threads share a fabric. */
#ifndef ARTEL_COLL_COMMUNICATOR_IMPL_H
#define ARTEL_COLL_COMMUNICATOR_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/mesh.h"
#include "coll/algo/call.h"
#include "coll/sparse.h"
#include "net/inproc.h"

/* The threads of one artel_communicator_create. */
typedef struct artel__coll_threads {
    artel_context *ctx; /* its own */
    artel__fabric *fabric;
    int members;
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t changed;
    int homes, renewing; /* homes: that are left */
    uint32_t generation;
} artel__coll_threads;

/* How many subsets of equal id have been made: their ids differ by that number. */
typedef struct artel__coll_made {
    uint64_t id;
    uint32_t count;
} artel__coll_made;

typedef struct artel__coll_home {
    artel_context *ctx;
    artel__coll_threads *threads; /* one of these two, or neither: alone */
    artel_cluster *cluster;
    artel__mesh_activity *activity; /* of the cluster's seat */
    pthread_mutex_t mutex; /* held by whoever changes `endpoint`, and by artel_communicator_cancel() of any thread */
    artel__endpoint *endpoint; /* the cluster's: NULL while there is none */
    uint32_t generation;
    artel_status broken; /* a call has failed so: nothing more before renew */
    int64_t limit_ns;    /* of a call's waiting for others; 0: none */
    bool begun, finished;
    int users;
    artel__coll_buffer made_list;
    int made;
} artel__coll_home;

struct artel_communicator {
    artel__coll_home *home;
    bool subset;
    artel__team team;
    artel__call call;
    const artel__all_reduce_def *all_reduce; /* NULL: by size */
    artel__coll_itinerary itinerary;         /* of its route, for the members of `routed` */
    uint64_t routed;
    artel__coll_buffer ranks, pack;
    artel__sparse_room own, combined; /* of the sparse all-reduce: this member's rows, and those of all */
    artel__coll_buffer counts, all_ids, all_rows;
};

/* Runs one collective as a part of the context's operation, in compute state, and does what follows a failure.
 * `detail`: what else must be equal on all members, as a number. */
artel_status artel__communicator_continue(artel_communicator *c, artel__coll_kind kind, const artel_collective *what,
                                          uint64_t detail);
/* communicator_route.c: before an all-reduce, makes the call go the way that was chosen. */
artel_status artel__communicator_take_way(artel_communicator *c, uint64_t *detail);
/* This member cannot take part, for a reason that is recorded: the others, who wait for it, are told. */
artel_status artel__communicator_refuse(artel_communicator *c, artel__coll_kind kind, artel_status reason);

/* communicator_cluster.c: waits for a seat; the home's endpoint, generation and activity are new. `first`, `ranks`: the
 * member's position, and how many there are. */
artel_status artel__coll_home_begin(artel__coll_home *home, int *first, int *ranks);
artel_status artel__coll_home_await(artel__coll_home *home, int *first, int *ranks);
artel_status artel__coll_home_finish(artel__coll_home *home);
void artel__coll_home_leave(artel__coll_home *home);
/* A call has failed: the endpoint is left alone, so that the others can form the next generation. */
void artel__coll_home_rest(artel__coll_home *home);

#endif
