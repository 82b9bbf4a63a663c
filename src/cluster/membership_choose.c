/* SPDX-License-Identifier: Apache-2.0 */
/* Members, target step, shard map and donors from the reports. */
#include "cluster/membership_choose.h"

#include "kernel/fold.h"

static bool mutual(const artel__candidate *a, const artel__candidate *b)
{
    return artel__bit(a->reach, b->task) && artel__bit(b->reach, a->task);
}

/* How many candidates share step and hash with candidate k. */
static uint32_t agreeing(const artel__candidate *candidate, uint32_t count, uint32_t k)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < count; i++)
        if (candidate[i].step == candidate[k].step && candidate[i].hash == candidate[k].hash) same++;
    return same;
}

/* Equal steps with unequal hashes. The culprit is in the minority; of two alone, the newcomer, else the higher task. */
static bool find_conflict(const artel__candidate *candidate, uint32_t count, artel__choice *out)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            const artel__candidate *a = &candidate[i], *b = &candidate[k];
            if (a->step != b->step || a->hash == b->hash) continue;
            uint32_t for_a = agreeing(candidate, count, i), for_b = agreeing(candidate, count, k);
            bool blame_a = for_a != for_b ? for_a < for_b : !a->former && b->former;
            *out = (artel__choice){.conflict = true,
                                   .culprit = blame_a ? a->task : b->task,
                                   .accuser = blame_a ? b->task : a->task,
                                   .conflict_step = a->step};
            return true;
        }
    }
    return false;
}

static bool before(const artel__candidate *a, const artel__candidate *b, uint32_t coordinator)
{
    if ((a->task == coordinator) != (b->task == coordinator)) return a->task == coordinator;
    if (a->former != b->former) return a->former;
    if (a->degree != b->degree) return a->degree > b->degree;
    return a->task < b->task;
}

/* Insertion sort: the lists are nearly sorted, and short but for the largest clusters. */
static void sort(const artel__candidate *candidate, uint32_t count, uint32_t coordinator, uint32_t *order)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = i;
        for (; k > 0 && before(&candidate[i], &candidate[order[k - 1]], coordinator); k--) order[k] = order[k - 1];
        order[k] = i;
    }
}

static bool reaches_chosen(const artel__candidate *candidate, uint32_t count, const artel__candidate *one)
{
    for (uint32_t i = 0; i < count; i++)
        if (candidate[i].chosen && &candidate[i] != one && !mutual(&candidate[i], one)) return false;
    return true;
}

static void pick(artel__candidate *candidate, uint32_t count, uint32_t shards, const uint32_t *order,
                 artel__choice *out)
{
    for (uint32_t i = 0; i < count; i++) {
        artel__candidate *c = &candidate[order[i]];
        if (c->leaving || !reaches_chosen(candidate, count, c)) continue;
        if (c->replicas == 0 || c->replicas > shards - out->replicas) {
            c->full = out->full = true;
            continue;
        }
        c->chosen = true;
        out->members++;
        out->replicas += c->replicas;
    }
}

/* T: the highest step of those from whom every member can copy. */
static void find_target(artel__candidate *candidate, uint32_t count, artel__choice *out)
{
    for (uint32_t i = 0; i < count; i++) {
        artel__candidate *c = &candidate[i];
        if (c->step > out->step && (c->chosen || reaches_chosen(candidate, count, c))) out->step = c->step;
    }
}

/* Of the state of T: as whoever holds it says, the coordinator and former members before others. */
static void find_arithmetic(const artel__candidate *candidate, uint32_t count, const uint32_t *order,
                            artel__choice *out)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        const artel__candidate *c = &candidate[order[i]];
        bool holds = c->step == out->step && (c->chosen || reaches_chosen(candidate, count, c));
        if (holds && !out->arithmetic) out->arithmetic = c->arithmetic;
        if (c->chosen && (!any || c->best < out->best)) out->best = c->best;
        any = any || c->chosen;
    }
    if (!out->arithmetic) out->arithmetic = out->best;
}

/* The laggard-th donor in turn. */
static uint32_t find_donor(const artel__candidate *candidate, uint32_t count, uint64_t step, uint32_t laggard)
{
    uint32_t donors = 0;
    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < count; i++) {
            const artel__candidate *c = &candidate[i];
            if (c->step != step || (!c->chosen && !reaches_chosen(candidate, count, c))) continue;
            if (pass && at++ == laggard % donors) return c->task;
            if (!pass) donors++;
        }
    }
    return UINT32_MAX;
}

static void write_members(const artel__choice_request *r, const artel__choice *out)
{
    uint32_t at = 0, replica = 0, laggard = r->turn;
    for (uint32_t i = 0; i < r->count; i++) {
        const artel__candidate *c = &r->candidate[i];
        if (!c->chosen) continue;
        int32_t first = artel__replica_first_shard((int32_t)r->shards, (int32_t)out->replicas, (int32_t)replica);
        int32_t end =
            artel__replica_first_shard((int32_t)r->shards, (int32_t)out->replicas, (int32_t)(replica + c->replicas));
        r->member[at++] = (artel__member){
            .task = c->task,
            .incarnation = c->incarnation,
            .replicas = c->replicas,
            .shard = (uint32_t)first,
            .shards = (uint32_t)(end - first),
            .donor = c->step == out->step ? 0 : 1 + find_donor(r->candidate, r->count, out->step, laggard++),
        };
        replica += c->replicas;
    }
}

void artel__membership_choose(const artel__choice_request *request, artel__choice *out)
{
    artel__candidate *candidate = request->candidate;
    uint32_t count = request->count;
    *out = (artel__choice){0};
    if (find_conflict(candidate, count, out)) return;
    for (uint32_t i = 0; i < count; i++) {
        candidate[i].chosen = candidate[i].full = false;
        candidate[i].degree = 0;
        for (uint32_t k = 0; k < count; k++) candidate[i].degree += k != i && mutual(&candidate[i], &candidate[k]);
    }
    sort(candidate, count, request->coordinator, request->order);
    pick(candidate, count, request->shards, request->order, out);
    find_target(candidate, count, out);
    find_arithmetic(candidate, count, request->order, out);
    write_members(request, out);
}
