/* SPDX-License-Identifier: Apache-2.0 */
/* The table of strategies, and the checks that hold for all of them.
 *
 * Names are looked up in strategies.list; what a request may ask for at all is checked here, so that a strategy's plan
 * sees only sensible numbers.
 */
#include <stdio.h>
#include <string.h>

#include "base/advice.h"
#include "strategy/strategy.h"

#define STRATEGY(name) extern const artel__strategy_def artel__strategy_##name;
#include "strategy/strategies.list"
#undef STRATEGY

const artel__strategy_def *const artel__strategies[] = {
#define STRATEGY(name) &artel__strategy_##name,
#include "strategy/strategies.list"
#undef STRATEGY
    NULL,
};

enum {
    MOST_NAMES = 32,
    MOST_THREADS = 1024
};

static artel_status check_range(artel_context *ctx, const char *option, int value, int most)
{
    if (value >= 0 && value <= most) return ARTEL_OK;
    char advice[64];
    snprintf(advice, sizeof advice, "give a number from 1 to %d, or 0 to have it decided", most);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, option, advice, "%d is out of range", value);
}

static artel_status check_shards(artel_context *ctx, int replicas, int32_t shards)
{
    if (replicas <= shards) return ARTEL_OK;
    int32_t enough = 1;
    while (enough < replicas) enough *= 2;
    char advice[128];
    snprintf(advice, sizeof advice, "use at most %d replicas, or .shards %d (a different run: other bits)", shards,
             enough);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, ".shards", advice, "%d replicas cannot share %d virtual shards",
                       replicas, shards);
}

static artel_status unknown(artel_context *ctx, const char *name)
{
    const char *names[MOST_NAMES + 1];
    int count = 0;
    for (; artel__strategies[count] && count < MOST_NAMES; count++) names[count] = artel__strategies[count]->name;
    names[count] = NULL;
    char advice[256];
    artel__advise_name(name, names, advice, sizeof advice);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, ".strategy", advice, "there is no strategy named \"%s\"", name);
}

artel_status artel__strategy_by_name(artel_context *ctx, const char *name, bool together,
                                     const artel__strategy_def **out)
{
    const artel__strategy_def *const *at = artel__strategies;
    if (!name || (together && strcmp(name, artel__strategy_auto.name) == 0))
        name = together ? artel__strategy_multi_worker.name : artel__strategy_auto.name;
    while (*at && strcmp((*at)->name, name) != 0) at++;
    if (!*at) return unknown(ctx, name);
    *out = *at;
    return ARTEL_OK;
}

artel_status artel__strategy_check_device(artel_context *ctx, const artel__strategy_def *def, const char *kind,
                                          const char *named)
{
    if (!def->device || (kind && strcmp(kind, def->device) == 0)) return ARTEL_OK;
    char advice[64];
    snprintf(advice, sizeof advice, "use mirrored, or .device %s", def->device);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, ".strategy", advice, "%s computes on %s, and the device is %.60s",
                       def->name, def->devices, named);
}

artel_status artel__strategy_make_plan(artel_context *ctx, const char *name, const artel__strategy_request *request,
                                       artel__strategy_plan *out)
{
    const artel__strategy_def *def;
    ARTEL_TRY(artel__strategy_by_name(ctx, name, request->together, &def));
    ARTEL_TRY(check_range(ctx, ".replicas", request->replicas, ARTEL__MAX_REPLICAS));
    ARTEL_TRY(check_range(ctx, ".threads", request->threads, MOST_THREADS));
    ARTEL_TRY(check_shards(ctx, request->replicas, request->shards));
    const artel__all_reduce_def *all_reduce;
    ARTEL_TRY(artel__all_reduce_find(ctx, request->all_reduce, &all_reduce));
    artel__strategy_plan plan;
    ARTEL_TRY(def->plan(ctx, request, &plan));
    plan.all_reduce = all_reduce;
    if (all_reduce && plan.held_once)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "all_reduce", "use mirrored, or leave it out",
                           "with %s sums are added up where they lie and do not travel", plan.name);
    if (request->together && !plan.cluster)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ".strategy", "use multi-worker, or give no cluster",
                           "%s does not work with the other tasks of a cluster", plan.name);
    plan.common = plan.common && !all_reduce;
    *out = plan;
    return ARTEL_OK;
}
