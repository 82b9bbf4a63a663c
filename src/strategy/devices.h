/* SPDX-License-Identifier: Apache-2.0 */
/* How a strategy divides a run among devices: which are opened for it, how many replicas and shards there are where
 * nobody says. For fit and loops by hand alike, so that both have the same bits. */
#ifndef ARTEL_STRATEGY_DEVICES_H
#define ARTEL_STRATEGY_DEVICES_H

#include "cluster/mesh.h"
#include "device/select.h"
#include "strategy/strategy.h"

/* What a run is, as far as it is known. */
typedef struct artel__device_share {
    const artel__strategy_def *strategy;
    const artel__device_set *devices;
    int replicas;   /* of this process; 0: nobody has said */
    int32_t shards; /* 0: likewise */
    int64_t batch_size;
    const artel_cluster *cluster;
} artel__device_share;

/* One replica each, as far as there are shards; one for all of XLA's CPU, whose devices are the same cores. */
int artel__device_replicas(const artel__device_share *share);
/* Among tasks of several kinds, wherever this one computes: a function of the batch and of how many tasks there are. */
int32_t artel__mixed_shards(int64_t batch_size, int tasks);
/* A function of the batch alone, as for cores, so that 1, 2, 4, 8 devices give the same bits; of the fast class one for
 * each replica. Where processors compute beside devices, whose bits belong to their list, at least one for each. */
int32_t artel__device_shards(const artel__device_share *share);
/* Opens what the request names, or what the strategy is for if it names nothing; NULL in *out: the cores. Errors: those
 * of artel__devices_open; INVALID (the strategy is for other devices). */
artel_status artel__strategy_open_devices(artel_context *ctx, const artel__strategy_def *strategy,
                                          const artel__device_request *request, const artel_cluster *cluster,
                                          artel__device_set **out);

/* What a worker of parameter servers computes with: one device, in the exact class; *named: it is asked for one. "auto"
 * becomes processors, for what a job computes with must not go by what each of its hosts has. Errors: INVALID (no such
 * name), UNSUPPORTED. */
artel_status artel__servers_check_device(artel_context *ctx, artel__device_request *request, bool *named);

/* Shards of a run that says nothing about them. */
int32_t artel__strategy_shards(const artel__device_share *share);
/* The plan of a run whose strategy, devices and shards are known. Where `share` says nothing about replicas, each
 * device has one; `threads` 0: the cores of this process, or among other tasks its share of them. Errors: those of
 * artel__strategy_make_plan; of replicas on devices. */
artel_status artel__strategy_divide(artel_context *ctx, const artel__device_share *share, int threads,
                                    const char *all_reduce, artel__strategy_plan *out);
/* Of processors beside devices each gets its shards (artel__device_set.mixture.start); `shards` 0: they are those of
 * other processes, too, and all have equal shares. Refused where replicas have not a
 * name of the list each and variables of their own, and where one would have no shard. Nothing is done without. */
artel_status artel__strategy_settle_mixture(artel_context *ctx, artel__device_set *devices, int32_t shards,
                                            artel__strategy_plan *plan);
/* Behind a step of such replicas: processors and devices make other last bits of the variables, and those of the first
 * replica count. `state` by replica. Nothing is done without a mixture. */
artel_status artel__mixture_make_equal(const artel__device_set *devices, const artel__variables *variables,
                                       artel__state *const *state);

#endif
