/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas and shards of a run on devices, and opening these.
 *
 * Bits of a device do not depend on how many of them there are, so shards are a function of the batch; a shard wants
 * more rows than on cores, for few starve a large device. In the fast class each replica has one shard.
 */
#include "strategy/devices.h"

#include <string.h>

#include "device/tpu.h"

enum {
    DEVICE_ROWS = 32, /* of a shard */
    DEVICE_SHARDS = 8
};

int artel__device_replicas(const artel__device_share *share)
{
    int devices = share->devices->count;
    bool cores = !share->devices->numbered && strcmp(share->devices->place.kind, "cpu") == 0;
    if (share->strategy->single) return 1;
    if (share->devices->mixture.count) return share->devices->mixture.count;
    if (cores) return 1;
    return devices < share->shards || !share->shards ? devices : share->shards;
}

/* At least `least`. */
static int32_t shards_for(int64_t batch_size, int least)
{
    int32_t shards = 1;
    while (shards < DEVICE_SHARDS && batch_size / (2 * shards) >= DEVICE_ROWS) shards *= 2;
    while (shards < least && shards < ARTEL__MAX_SHARDS) shards *= 2;
    return shards;
}

/* Each unit of a share is a shard at least. */
static int shares_of(const artel__mixture *mixture)
{
    int all = 0;
    for (int r = 0; r < mixture->count; r++) all += mixture->share[r];
    return all;
}

int32_t artel__mixed_shards(int64_t batch_size, int tasks)
{
    return shards_for(batch_size, tasks);
}

int32_t artel__device_shards(const artel__device_share *share)
{
    int tasks = artel__mesh_is_single(share->cluster) ? 1 : artel_cluster_size(share->cluster);
    int replicas = tasks * (share->replicas ? share->replicas : artel__device_replicas(share));
    if (share->devices->place.fast) return replicas < ARTEL__MAX_SHARDS ? replicas : ARTEL__MAX_SHARDS;
    return shards_for(share->batch_size, shares_of(&share->devices->mixture));
}

/* Said once, as TPUStrategy prints its topology. */
static artel_status tell_tpus(artel_context *ctx, const artel__device_set *devices, const artel_cluster *cluster)
{
    artel__text text;
    int hosts;
    artel__text_init(&text, ctx);
    artel_status status = artel__tpu_topology(ctx, &text, &hosts);
    if (status == ARTEL_OK)
        artel__log(ctx, ARTEL_LOG_NOTE, "tpu: %s%s%d device%s here", text.data, text.length ? "; " : "", devices->count,
                   devices->count == 1 ? "" : "s");
    if (status == ARTEL_OK && hosts > 1 && artel__mesh_is_single(cluster))
        artel__log(ctx, ARTEL_LOG_NOTE,
                   "tpu: the devices of the other %d host%s take part in a cluster (docs/cluster.md)", hosts - 1,
                   hosts == 2 ? "" : "s");
    artel__text_fini(&text);
    return status;
}

artel_status artel__strategy_open_devices(artel_context *ctx, const artel__strategy_def *strategy,
                                          const artel__device_request *request, const artel_cluster *cluster,
                                          artel__device_set **out)
{
    artel__device_request asked = *request;
    artel__device_set *set;
    const char *named = asked.device;
    bool any = !named || strcmp(named, "auto") == 0 || strcmp(named, "cpu") == 0;
    if (strategy->device && any) asked.device = strategy->device;
    ARTEL_TRY(artel__devices_open(ctx, &asked, &set));
    artel_status status = artel__strategy_check_device(ctx, strategy, set ? set->place.kind : NULL, named);
    if (status == ARTEL_OK && strategy->device) status = tell_tpus(ctx, set, cluster);
    if (status < 0)
        artel__devices_close(set);
    else
        *out = set;
    return status;
}

artel_status artel__servers_check_device(artel_context *ctx, artel__device_request *request, bool *named)
{
    if (request->device && strcmp(request->device, "auto") == 0) request->device = "cpu";
    ARTEL_TRY(artel__devices_named(ctx, request, named));
    if (!*named) return ARTEL_OK;
    if (strchr(request->device, ','))
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, ".device", "start a worker for each device",
                           "a worker of parameter servers is one replica, on one device, and a list names several");
    if (!request->reduce || strcmp(request->reduce, "exact") == 0) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, ".device_reduce", "leave it out, or use multi-worker",
                       "workers of parameter-server compute in the exact class in this version");
}

int32_t artel__strategy_shards(const artel__device_share *share)
{
    return share->devices ? artel__device_shards(share) : artel__default_shards(share->batch_size);
}

artel_status artel__strategy_divide(artel_context *ctx, const artel__device_share *share, int threads,
                                    const char *all_reduce, artel__strategy_plan *out)
{
    bool single = artel__mesh_is_single(share->cluster);
    int cores = artel__usable_cores() / artel__mesh_tasks_here(share->cluster);
    artel__strategy_request request = {share->replicas, threads, share->shards, share->batch_size, all_reduce, !single};
    if (share->devices && request.replicas == 0) request.replicas = artel__device_replicas(share);
    if (request.threads == 0 && !single) request.threads = cores > 1 ? cores : 1;
    ARTEL_TRY(artel__strategy_make_plan(ctx, share->strategy->name, &request, out));
    return artel__devices_check_replicas(share->devices, out->replicas > 1 || !single);
}

static artel_status divide_mixture(artel_context *ctx, artel__device_set *devices, int32_t shards)
{
    if (shards == 0 && shares_of(&devices->mixture) > devices->mixture.count)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device", "leave the shares out",
                           "among several tasks each processor and device has an equal share in this version");
    if (shards == 0 || artel__mixture_divide(&devices->mixture, shards)) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "give more .shards, or shares that are less unequal",
                       "of %d shards one of the processors and devices gets none", shards);
}

artel_status artel__strategy_settle_mixture(artel_context *ctx, artel__device_set *devices, int32_t shards,
                                            artel__strategy_plan *plan)
{
    int names = devices ? devices->mixture.count : 0;
    if (!names) return ARTEL_OK;
    if (!plan->held_once && plan->replicas == names) {
        plan->note[0] = '\0'; /* shards are as unequal as was asked for */
        return divide_mixture(ctx, devices, shards);
    }
    if (!plan->held_once)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, ".allow_mixed_arithmetic", "leave .replicas and .strategy out",
                           "%d processors and devices are named, a replica each, and replicas there are %d", names,
                           plan->replicas);
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, ".allow_mixed_arithmetic", "leave .strategy out",
                       "processors and devices compute together where each replica of a process has variables of its "
                       "own, not with %s",
                       plan->name);
}

artel_status artel__mixture_make_equal(const artel__device_set *devices, const artel__variables *variables,
                                       artel__state *const *state)
{
    const artel__mixture *mixture = devices ? &devices->mixture : NULL;
    if (!mixture || !mixture->count) return ARTEL_OK;
    ARTEL_TRY(artel__state_bring(state[0]));
    bool first = artel__mixture_is_core(mixture, 0);
    for (int r = 1; r < mixture->count; r++) {
        if (artel__mixture_is_core(mixture, r) != first)
            artel__state_copy(state[r], state[0], artel__all_of(variables));
    }
    return ARTEL_OK;
}
