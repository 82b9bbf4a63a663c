/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies: who computes, who owns the variables, when they agree.
 *
 * A strategy is a plan made from the request and the machine: no sockets, no threads. Adding one: a file with an
 * artel__strategy_def and a line in strategies.list. The group connects the replicas of a plan and hands each its
 * artel__comm (exec/comm.h), which is carried by coll over net whatever the placement.
 */
#ifndef ARTEL_STRATEGY_STRATEGY_H
#define ARTEL_STRATEGY_STRATEGY_H

#include "cluster/mesh.h"
#include "exec/comm.h"

typedef struct artel__strategy_request {
    int replicas;   /* 0: the strategy decides */
    int threads;    /* 0: the cores this process may use */
    int32_t shards; /* V of the run */
    int64_t batch_size;
} artel__strategy_request;

enum {
    ARTEL__MAX_REPLICAS = 256
};

typedef struct artel__strategy_plan {
    const char *name;                    /* as resolved: "one-device", "mirrored" */
    int replicas;                        /* of this process */
    bool common;                         /* its replicas have one set of variables; not in a cluster, where they must not */
    bool cluster;                        /* trains together with the other tasks of a cluster, where there are any */
    int threads;                         /* in all */
    int threads_of[ARTEL__MAX_REPLICAS]; /* at least 1 each */
    char note[256];                      /* what the user may want to know (idle threads and the option that would use them); "" */
} artel__strategy_plan;

typedef struct artel__strategy_def {
    const char *name, *doc;
    artel_status (*plan)(artel_context *ctx, const artel__strategy_request *request, artel__strategy_plan *out);
} artel__strategy_def;

extern const artel__strategy_def *const artel__strategies[];

/* Resolves a strategy by name. Errors: unknown names (with the nearest), strategies that this build lacks
 * (ARTEL_ERROR_UNSUPPORTED), more replicas than shards (names --shards). */
artel_status artel__strategy_make_plan(artel_context *ctx, const char *name, const artel__strategy_request *request,
                                       artel__strategy_plan *out);

/* The replicas of one process among all replicas that train together. With one replica in all there is nothing to connect
 * and comm is NULL. */
typedef struct artel__group artel__group;
/* The replicas of one process are all there are: ranks 0 .. replicas - 1, connected in memory. */
artel_status artel__group_create(artel_context *ctx, int replicas, int32_t shards, artel__group **out);
/* They are ranks of a generation that a mesh has formed (cluster/mesh.h); its endpoints are borrowed. Such a group ends with its
 * first failure: reset does nothing, a new generation gets a new group. */
artel_status artel__group_create_seated(artel_context *ctx, int replicas, int32_t shards, const artel__mesh_seat *seat, artel__group **out);
void artel__group_destroy(artel__group *group);
/* Of the process's replica `index`; its `rank` and `size` are those of the whole group. */
const artel__comm *artel__group_comm(artel__group *group, int index);
/* Whether some of its ranks, in other processes of the host, read this process's sums where they lie (artel__plan_options.lends). */
bool artel__group_lends(const artel__group *group);
/* Wakes everybody who waits in a collective of the group with ARTEL_ERROR_CANCELLED, and makes later calls return it too,
 * until artel__group_reset. Any thread. A collective that fails does the same by itself. */
void artel__group_cancel(artel__group *group);
/* Makes a cancelled group usable again, as if it were new. When no rank is in a collective and none will cancel any more
 * for the old reason: after all ranks have returned from the failed step. */
void artel__group_reset(artel__group *group);
/* Who owns which shards and in which order they are merged: stable text for --explain. */
void artel__group_dump(const artel__group *group, artel__text *out);

#endif
