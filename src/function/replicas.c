/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes: from the options of a strategy to its replicas, their shards and devices, and the group that connects
 * them. What fit does for its sessions (train/session.c), so a loop by hand has the bits of fit on devices, too. */
#include <string.h>

#include "function/function_impl.h"

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static artel_status read_arithmetic(artel_strategy *s)
{
    const char *text = s->options.arithmetic;
    bool any = !text || !*text || strcmp(text, "auto") == 0, alone = artel__mesh_is_single(s->options.cluster);
    s->arithmetic =
        any && alone && artel__isa_of_machine() == ARTEL__ISA_AMX ? ARTEL__ARITHMETIC_TILES : ARTEL__ARITHMETIC_CHAIN;
    for (int a = ARTEL__ARITHMETIC_CHAIN; !any && a <= ARTEL__ARITHMETIC_TILES; a++) {
        if (strcmp(text, artel__arithmetic_name((artel__arithmetic)a)) != 0) continue;
        s->arithmetic = (artel__arithmetic)a;
        any = true;
    }
    if (any) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "strategy options", "give auto, chain or tiles",
                       "\"%.60s\" is not an arithmetic", text);
}

/* -- devices -- */

static bool is_of_servers(const artel__strategy_def *strategy)
{
    return strcmp(strategy->name, "parameter-server") == 0;
}

static bool is_worker(const artel_cluster *cluster)
{
    return !artel__mesh_is_single(cluster) && strcmp(artel_cluster_role(cluster), "worker") == 0;
}

/* Among tasks each caller goes by the results of its own, which would differ. */
static artel_status check_mixed(const artel_strategy *s)
{
    if (!s->options.allow_mixed_arithmetic || artel__mesh_is_single(s->options.cluster)) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, ".allow_mixed_arithmetic",
                       "train with artel_model_fit(), or let all tasks compute alike",
                       "functions of several tasks compute with one arithmetic in this version");
}

/* Functions come later than the strategy, so nobody knows whether they have convolutions. */
static artel_status open_devices(artel_strategy *s, const artel__strategy_def *strategy)
{
    const artel_strategy_options *o = &s->options;
    artel__device_request request =
        ARTEL__DEVICE_REQUEST(o, o->allow_mixed_arithmetic, artel__mesh_is_single(o->cluster));
    bool of_servers = is_of_servers(strategy);
    if (of_servers) ARTEL_TRY(artel__servers_check_device(s->ctx, &request, &s->on_devices));
    if (of_servers && !(s->on_devices && is_worker(o->cluster))) return ARTEL_OK; /* it computes with no device */
    return artel__strategy_open_devices(s->ctx, strategy, &request, o->cluster, &s->devices);
}

/* -- the plan -- */

/* The fast class takes any number. */
static artel_status choose_shards(artel_strategy *s, artel__device_share *share)
{
    artel_strategy_options *o = &s->options;
    if (o->shards == 0) o->shards = artel__strategy_shards(share);
    share->shards = (int32_t)o->shards;
    if ((s->devices && s->devices->place.fast) || is_power_of_two(o->shards)) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "strategy options", "give 1, 2, 4, 8, ... up to 4096",
                       "%lld shards: not a power of two", (long long)o->shards);
}

static artel_status make_plan(artel_strategy *s)
{
    artel_strategy_options *o = &s->options;
    bool alone = artel__mesh_is_single(o->cluster);
    artel__device_share share = {NULL, NULL, o->replicas, (int32_t)o->shards, o->batch_size, o->cluster};
    ARTEL_TRY(check_mixed(s));
    ARTEL_TRY(artel__strategy_by_name(s->ctx, o->strategy, !alone, &share.strategy));
    ARTEL_TRY(open_devices(s, share.strategy));
    share.devices = s->devices;
    ARTEL_TRY(choose_shards(s, &share));
    ARTEL_TRY(artel__strategy_divide(s->ctx, &share, o->threads, o->all_reduce, &s->plan));
    s->options.strategy = s->plan.name;
    ARTEL_TRY(artel__strategy_settle_mixture(s->ctx, s->devices, (int32_t)o->shards, &s->plan));
    artel__device_sums sums = {s->plan.replicas, !alone, s->plan.all_reduce != NULL};
    return artel__devices_sum(s->devices, &sums);
}

artel_status artel__strategy_resolve(artel_strategy *s)
{
    artel_strategy_options *o = &s->options;
    bool alone = artel__mesh_is_single(o->cluster);
    ARTEL_TRY(read_arithmetic(s));
    ARTEL_TRY(make_plan(s));
    if (strcmp(s->plan.name, "parameter-server") == 0) {
        s->ranks = 1;
        return artel__elsewhere_begin(s, o->cluster);
    }
    s->common = s->plan.common && s->plan.replicas > 1 && alone && (!s->devices || s->plan.held_once);
    s->ranks = s->plan.replicas;
    if (!alone) return artel__loop_begin(s, o->cluster);
    if (s->plan.replicas == 1) return ARTEL_OK;
    ARTEL_TRY(
        artel__group_create_runs(s->ctx, s->plan.replicas, (int32_t)o->shards, artel__strategy_runs(s), &s->group));
    return artel__group_choose(s->group, s->plan.all_reduce, NULL);
}

const int32_t *artel__strategy_runs(const artel_strategy *s)
{
    return s->devices && s->devices->mixture.count ? s->devices->mixture.start : NULL;
}

int32_t artel__strategy_first_shard(const artel_strategy *s, int replica)
{
    if (artel__strategy_runs(s)) return artel__strategy_runs(s)[replica];
    return artel__replica_first_shard((int32_t)s->options.shards, s->ranks, s->first + replica);
}
