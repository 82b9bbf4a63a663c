/* SPDX-License-Identifier: Apache-2.0 */
/* An all-reduce of a team along a route (pattern/route.h) instead of a schedule.
 *
 * What travels are partial values, so 16-bit floats are widened before and rounded once at the end, as in combine.c:
 * the bits are those of every other way. The member's own block and the result lie in memory of the task; `in` and
 * `out` may overlap.
 */
#include <string.h>

#include "coll/algo/call_impl.h"

bool artel__call_relays(const artel__call *t)
{
    return t->kind == ARTEL__COLL_ALL_REDUCE && t->itinerary && t->team->members > 1;
}

artel_status artel__call_relay_prepare(artel__call *t)
{
    artel_dtype working = artel__coll_working_type(t->what.dtype);
    size_t bytes = ((size_t)t->what.count * artel_dtype_size(working) + 63) / 64 * 64;
    ARTEL_TRY(artel__coll_reserve(t->team->ctx, &t->wide, 2 * bytes + 64, 1));
    char *own = t->wide.data;
    if (t->what.count) artel__coll_widen(t->what.dtype, own, t->what.in, t->what.count);
    t->segment = (artel__coll_segment){.merge = artel__coll_merge_of(t->what.dtype, t->what.reduction),
                                       .count = t->what.count,
                                       .element = (int32_t)artel_dtype_size(working),
                                       .in = own,
                                       .out = own + bytes};
    if (!t->relay.base.ops) artel__all_reduce_init(&t->relay, t->team->endpoint, NULL);
    t->relay.base.ops = &artel__all_reduce_relay_ops;
    t->relay.base.endpoint = t->team->endpoint;
    t->relay.segment = &t->segment;
    t->relay.segments = 1;
    t->relay.itinerary = t->itinerary;
    t->relay.peer_rank = t->team->rank;
    return ARTEL_OK;
}

artel_status artel__call_relay_post(artel__call *t)
{
    t->concluded = false;
    t->relay.base.frame = t->base.frame;
    return t->relay.base.ops->post(&t->relay.base);
}

artel_status artel__call_relay_progress(artel__call *t)
{
    if (t->concluded) return ARTEL_OK; /* a root is divided once */
    artel_status status = t->relay.base.ops->progress(&t->relay.base);
    t->concluded = status == ARTEL_OK;
    if (t->concluded && t->what.count)
        artel__coll_conclude(t->what.dtype, t->what.reduction, t->team->members, t->segment.out, t->what.out,
                             t->what.count);
    return status;
}

void artel__call_relay_finalize(artel__call *t)
{
    if (t->relay.posted) t->relay.base.ops->finalize(&t->relay.base);
}
