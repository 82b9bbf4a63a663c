/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing threads among replicas, and saying which of them will have nothing to do.
 *
 * Threads idle for two reasons: a replica owns no row of a batch, or some replicas own more shards than others and the
 * rest waits. Both follow from batch, shards and replicas alone, so they are said before the first step. Below 10 % it
 * is not worth a line.
 */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "strategy/plan.h"

int artel__plan_threads(const artel__strategy_request *request)
{
    return request->threads > 0 ? request->threads : artel__usable_cores();
}

/* The most shards that one replica owns. */
static int32_t most_shards(int32_t shards, int replicas)
{
    return (shards + replicas - 1) / replicas;
}

/* The share of time that the average replica waits for the one with the most shards. */
static double idle_share(int32_t shards, int replicas)
{
    return 1.0 - (double)shards / ((double)replicas * most_shards(shards, replicas));
}

static int replicas_without_rows(const artel__strategy_request *request, int replicas)
{
    int without = 0;
    for (int r = 0; r < replicas; r++) {
        int64_t first = artel__shard_start(request->batch_size, request->shards,
                                           artel__replica_first_shard(request->shards, replicas, r));
        int64_t end = artel__shard_start(request->batch_size, request->shards,
                                         artel__replica_first_shard(request->shards, replicas, r + 1));
        without += first == end;
    }
    return without;
}

static void note_uneven(const artel__strategy_request *request, artel__strategy_plan *out)
{
    double idle = idle_share(request->shards, out->replicas);
    if (idle < 0.1) return;
    int fewer = out->replicas;
    while (fewer > 1 && idle_share(request->shards, fewer) >= 0.02) fewer--;
    int32_t more = request->shards;
    while (more < ARTEL__MAX_SHARDS && idle_share(more, out->replicas) >= 0.05) more *= 2;
    snprintf(out->note, sizeof out->note,
             "%d shards do not divide among %d replicas: threads are idle %.0f %% of the time; .replicas %d uses them, "
             "or .shards %d (a "
             "different run: other bits)",
             request->shards, out->replicas, idle * 100, fewer, more);
}

static void note_idle(const artel__strategy_request *request, artel__strategy_plan *out)
{
    int without = request->batch_size > 0 ? replicas_without_rows(request, out->replicas) : 0;
    if (without > 0)
        snprintf(out->note, sizeof out->note,
                 "%d of %d replicas get no row of a batch of %lld and stay idle; use .replicas %d or a larger "
                 ".batch_size",
                 without, out->replicas, (long long)request->batch_size, out->replicas - without);
    else if (request->threads > 0 && request->threads < out->replicas)
        snprintf(out->note, sizeof out->note, "%d replicas have a thread each, although .threads is %d", out->replicas,
                 request->threads);
    else
        note_uneven(request, out);
}

void artel__plan_fill(const artel__strategy_request *request, const char *name, int replicas, artel__strategy_plan *out)
{
    int threads = artel__plan_threads(request);
    *out = (artel__strategy_plan){.name = name, .replicas = replicas};
    for (int r = 0; r < replicas; r++) {
        int share = threads / replicas + (r < threads % replicas);
        out->threads_of[r] = share > 0 ? share : 1;
        out->threads += out->threads_of[r];
    }
    note_idle(request, out);
}

int32_t artel__default_shards(int64_t batch_size)
{
    int32_t shards = 8;
    while (shards < 256 && (int64_t)shards * 2 <= batch_size / 32) shards *= 2;
    return shards;
}
