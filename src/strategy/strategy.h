/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies: who computes, who owns the variables, when they agree.
 *
 * A strategy is a plan made from the request and the machine: no sockets, no threads. Adding one: a file with an
 * artel__strategy_def and a line in strategies.list. A group (comm/group.h) connects the replicas of a plan.
 */
#ifndef ARTEL_STRATEGY_STRATEGY_H
#define ARTEL_STRATEGY_STRATEGY_H

#include "coll/select.h"

typedef struct artel__strategy_request {
    int replicas;   /* 0: the strategy decides */
    int threads;    /* 0: the cores this process may use */
    int32_t shards; /* V of the run */
    int64_t batch_size;
    const char *all_reduce; /* how sums travel; NULL, "auto": decided for each by its size */
    bool together;          /* with the other tasks of a cluster */
} artel__strategy_request;

enum {
    ARTEL__MAX_REPLICAS = 256
};

typedef struct artel__strategy_plan {
    const char *name; /* as resolved: "one-device", "mirrored" */
    int replicas;     /* of this process */
    bool common;      /* its replicas have one set of variables; not in a cluster, where they must not */
    bool held_once;   /* they must have one */
    bool cluster;     /* trains together with the other tasks of a cluster, where there are any */
    int threads;      /* in all */
    int threads_of[ARTEL__MAX_REPLICAS]; /* at least 1 each */
    const artel__all_reduce_def
        *all_reduce; /* NULL: by size. Sums that are to travel some way do travel: nothing is common then */
    char note[256];  /* what the user may want to know (idle threads and the option that would use them); "" */
} artel__strategy_plan;

typedef struct artel__strategy_def {
    const char *name, *doc;
    const char *device, *devices; /* the one kind that it is for, and how that is called: "tpu", "TPUs"; NULL: any */
    bool single;                  /* it has one replica, however many devices there are */
    artel_status (*plan)(artel_context *ctx, const artel__strategy_request *request, artel__strategy_plan *out);
} artel__strategy_def;

extern const artel__strategy_def *const artel__strategies[];

/* By name; what NULL and "auto" are depends on whether there are other tasks. Errors: INVALID: unknown names (with the
 * nearest). */
artel_status artel__strategy_by_name(artel_context *ctx, const char *name, bool together,
                                     const artel__strategy_def **out);
/* Refuses devices of a kind (NULL: processors) that the strategy is not for; `named` is what the user called them. */
artel_status artel__strategy_check_device(artel_context *ctx, const artel__strategy_def *def, const char *kind,
                                          const char *named);
/* Resolves a strategy by name. Errors: unknown names (with the nearest), strategies that this build lacks
 * (ARTEL_ERROR_UNSUPPORTED), more replicas than shards (names .shards), other tasks that it does not work with. */
artel_status artel__strategy_make_plan(artel_context *ctx, const char *name, const artel__strategy_request *request,
                                       artel__strategy_plan *out);

/* V for a global batch: the largest power of two <= B / 32, at least 8, at most 256. */
int32_t artel__default_shards(int64_t batch_size);

#endif
