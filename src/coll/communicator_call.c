/* SPDX-License-Identifier: Apache-2.0 */
/* The public collectives: one call each, and packs of small all-reduces. */
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/threads.h"
#include "coll/communicator_impl.h"

enum {
    PACKED = 256 << 10, /* bytes of an all-reduce up to which it is packed */
    PACK = 4 << 20,     /* bytes of a pack */
    MOST_CALLS = 1 << 20
};

static void enter(const artel__coll_home *home, artel__member_phase phase)
{
    if (home->activity) artel__mesh_enter(home->activity, phase, artel__now_ns());
}

static artel_status check_home(const artel__coll_home *home)
{
    if (home->finished)
        return artel__fail(home->ctx, ARTEL_ERROR_INVALID, "communicator", "finish it after the last call",
                           "it is finished");
    if (home->broken == ARTEL_OK) return ARTEL_OK;
    return artel__fail(home->ctx, home->broken, "communicator", "destroy its subsets, and renew it on all members",
                       "a call before has failed (%s)", artel_status_name(home->broken));
}

/* Who has ended it, as far as this member has heard, and why. */
static void explain_cancelled(const artel_communicator *c, artel__coll_kind kind)
{
    const artel__coll_home *home = c->home;
    artel_status why = ARTEL_OK;
    char who[32] = "";
    int rank = c->team.endpoint ? artel__net_blamed(c->team.endpoint, &why) : -1;
    bool other = rank >= 0 && rank != c->team.endpoint->rank;
    int task = other && home->cluster ? artel__mesh_task_of(home->cluster, rank) : -1;
    for (int i = 0; i < c->team.members; i++) {
        if (other && c->team.rank[i] == rank) snprintf(who, sizeof who, "member %d", i);
    }
    if (task >= 0 || who[0])
        artel__fail(home->ctx, ARTEL_ERROR_CANCELLED, artel__coll_kind_name(kind),
                    "see what it says; renew the communicator on all members, or end", "ended by %s: %s",
                    task >= 0 ? artel__mesh_title(home->cluster, task) : who,
                    why < 0 ? artel_status_name(why) : "cancelled");
    else
        artel__fail(home->ctx, ARTEL_ERROR_CANCELLED, artel__coll_kind_name(kind),
                    "renew the communicator on all members, or end",
                    "cancelled, by this member or another one, or because one is lost");
}

artel_status artel__communicator_continue(artel_communicator *c, artel__coll_kind kind, const artel_collective *what,
                                          uint64_t detail)
{
    artel__coll_home *home = c->home;
    ARTEL_TRY(check_home(home));
    c->call.itinerary = NULL;
    c->call.force_way = false;
    artel_status way = ARTEL_OK;
    if (kind == ARTEL__COLL_ALL_REDUCE && c->call.refused == ARTEL_OK)
        way = c->call.refused = artel__communicator_take_way(c, &detail);
    c->call.kind = kind;
    c->call.what = what ? *what : (artel_collective){.count = 0};
    c->call.detail = detail;
    c->call.limit_ns = home->limit_ns;
    enter(home, ARTEL__MEMBER_EXCHANGE);
    uint32_t fp = artel__fp_enter();
    artel_status status = artel__call_run(&c->call);
    if (way < 0) c->call.refused = ARTEL_OK;
    artel__fp_leave(fp);
    enter(home, ARTEL__MEMBER_IDLE);
    if (status == ARTEL_ERROR_CANCELLED) explain_cancelled(c, kind);
    if (status < 0 && c->team.endpoint) {
        home->broken = status;
        if (home->cluster) artel__coll_home_rest(home);
    }
    return status;
}

artel_status artel__communicator_refuse(artel_communicator *c, artel__coll_kind kind, artel_status reason)
{
    c->call.refused = reason;
    artel_status status = artel__communicator_continue(c, kind, NULL, 0);
    c->call.refused = ARTEL_OK;
    return status;
}

/* A public call: what is missing fails here, and the others, who wait for this member, are told. */
static artel_status run(artel_communicator *c, artel__coll_kind kind, const char *function,
                        const artel_collective *call)
{
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, function, "communicator", c));
    artel_status status = artel__need(c->home->ctx, function, "call", call);
    return status < 0 ? artel__communicator_refuse(c, kind, status) : artel__communicator_continue(c, kind, call, 0);
}

artel_status artel_communicator_barrier(artel_communicator *c)
{
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, __func__, "communicator", c));
    return artel__communicator_continue(c, ARTEL__COLL_BARRIER, NULL, 0);
}

artel_status artel_communicator_broadcast(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_BROADCAST, __func__, call);
}

artel_status artel_communicator_reduce(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_REDUCE, __func__, call);
}

artel_status artel_communicator_all_reduce(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_ALL_REDUCE, __func__, call);
}

artel_status artel_communicator_reduce_scatter(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_REDUCE_SCATTER, __func__, call);
}

artel_status artel_communicator_gather(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_GATHER, __func__, call);
}

artel_status artel_communicator_all_gather(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_ALL_GATHER, __func__, call);
}

artel_status artel_communicator_all_to_all(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_ALL_TO_ALL, __func__, call);
}

artel_status artel_communicator_permute(artel_communicator *c, const artel_collective *call)
{
    return run(c, ARTEL__COLL_PERMUTE, __func__, call);
}

/* -- many -- */

static int64_t bytes_of(const artel_collective *call)
{
    return call->count * (int64_t)artel_dtype_size(call->dtype);
}

/* What may travel in one pack with others; a function of what all members have alike. */
static bool packs(const artel_collective *call)
{
    return call->count >= 0 && call->count <= PACKED && bytes_of(call) <= PACKED;
}

/* The end of the pack that begins at `first`: neighbours of equal type and reduction. */
static int pack_end(const artel_collective *calls, int first, int count)
{
    int64_t bytes = packs(&calls[first]) ? bytes_of(&calls[first]) : PACK;
    int end = first + 1;
    while (end < count && packs(&calls[first]) && packs(&calls[end]) && calls[end].dtype == calls[first].dtype &&
           calls[end].reduction == calls[first].reduction && bytes + bytes_of(&calls[end]) <= PACK)
        bytes += bytes_of(&calls[end++]);
    return end;
}

/* Tells the others that this member's list cannot be done. */
static artel_status refuse(artel_communicator *c, const char *what)
{
    return artel__communicator_refuse(
        c, ARTEL__COLL_ALL_REDUCE,
        artel__fail(c->home->ctx, ARTEL_ERROR_INVALID, "all-reduce of many", "see artel/communicator.h", "%s", what));
}

static bool lacks_memory(const artel_collective *calls, int count)
{
    for (int i = 0; i < count; i++) {
        if (calls[i].count > 0 && (!calls[i].in || !calls[i].out)) return true;
    }
    return false;
}

/* `detail`: of the list. */
static artel_status run_pack(artel_communicator *c, const artel_collective *calls, int count, uint64_t detail)
{
    int64_t bytes = 0;
    artel_collective what = calls[0];
    if (lacks_memory(calls, count)) return refuse(c, "`in` or `out` of one of the calls is missing");
    what.count = 0;
    for (int i = 0; i < count; i++) {
        bytes += bytes_of(&calls[i]);
        what.count += calls[i].count;
        detail = artel__hash64((uint64_t[2]){detail, (uint64_t)calls[i].count}, 16);
    }
    c->call.refused = artel__coll_reserve(c->home->ctx, &c->pack, (size_t)bytes, 1);
    what.in = what.out = c->pack.data;
    char *at = c->pack.data;
    for (int i = 0; i < count && c->call.refused == ARTEL_OK; i++) {
        if (calls[i].count) memcpy(at, calls[i].in, (size_t)bytes_of(&calls[i]));
        at += bytes_of(&calls[i]);
    }
    artel_status status = artel__communicator_continue(c, ARTEL__COLL_ALL_REDUCE, &what, detail);
    c->call.refused = ARTEL_OK;
    at = c->pack.data;
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        if (calls[i].count) memcpy(calls[i].out, at, (size_t)bytes_of(&calls[i]));
        at += bytes_of(&calls[i]);
    }
    return status;
}

artel_status artel_communicator_all_reduce_many(artel_communicator *c, const artel_collective *calls, int count)
{
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, __func__, "communicator", c));
    if (count < 0 || count > MOST_CALLS || (count > 0 && !calls))
        return refuse(c, "the list is missing, or its length is negative or above 1,048,576");
    /* Members with lists of different lengths differ in their first message, those with empty ones included. */
    uint64_t length = (uint64_t)count, detail = count == 1 ? 0 : artel__hash64(&length, sizeof length);
    if (count == 0) return artel__communicator_continue(c, ARTEL__COLL_ALL_REDUCE, NULL, detail);
    for (int first = 0; first < count;) {
        int end = pack_end(calls, first, count);
        if (end > first + 1)
            ARTEL_TRY(run_pack(c, calls + first, end - first, detail));
        else
            ARTEL_TRY(artel__communicator_continue(c, ARTEL__COLL_ALL_REDUCE, &calls[first], detail));
        first = end;
    }
    return ARTEL_OK;
}
