/* SPDX-License-Identifier: Apache-2.0 */
/* Listing hops. */
#include "coll/pattern/route.h"

#include <stdlib.h>

#include "base/argument.h"

enum {
    FIRST_ROOM = 256
};

artel_status artel_all_reduce_send(artel_all_reduce_route *r, int from, int to, int slice, int first, int count)
{
    if (!r) return artel__need(NULL, __func__, "route", r);
    if (r->status < 0) return r->status;
    bool known =
        from >= 0 && from < r->ranks && to >= 0 && to < r->ranks && from != to && first >= 0 && first < r->ranks;
    if (!known || slice < 0 || slice >= r->slices || count < 1 || count > r->ranks)
        return r->status =
                   artel__fail(r->ctx, ARTEL_ERROR_INVALID, "artel_all_reduce_send",
                               "give two members, a slice, and a run of members that it is the sum of",
                               "member %d is to send member %d slice %d of %d, of %d members from %d on; there are %d",
                               from, to, slice, r->slices, count, first, r->ranks);
    if (r->hops == r->room) {
        void *list = r->hop;
        int32_t room = r->room ? 2 * r->room : FIRST_ROOM;
        r->status = artel__realloc(r->ctx, (size_t)room * sizeof *r->hop, "collectives", &list);
        if (r->status < 0) return r->status;
        r->hop = list;
        r->room = room;
    }
    r->hop[r->hops] = (artel__coll_hop){from, to, slice, r->hops, first, count};
    r->hops++;
    return ARTEL_OK;
}

static int by_slice(const void *left, const void *right)
{
    const artel__coll_hop *l = left, *r = right;
    if (l->slice != r->slice) return l->slice < r->slice ? -1 : 1;
    return l->number < r->number ? -1 : l->number > r->number;
}

artel_status artel__coll_route_make(artel_context *ctx, const artel_all_reduce_definition *algorithm,
                                    const artel_all_reduce_group *group, artel_all_reduce_route *out)
{
    int slices = algorithm->slices ? algorithm->slices(algorithm->user, group) : group->members;
    *out = (artel_all_reduce_route){.ctx = ctx, .ranks = group->members, .slices = slices};
    if (slices < 1 || slices > group->members)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, algorithm->name, "cut into 1 slice, up to one for each member",
                           "%d slices for %d members", slices, group->members);
    artel_status status = algorithm->list(algorithm->user, group, out);
    if (status >= 0) status = out->status;
    if (status < 0) {
        artel__coll_route_fini(out);
        return status;
    }
    if (out->hops) qsort(out->hop, (size_t)out->hops, sizeof *out->hop, by_slice);
    return ARTEL_OK;
}

void artel__coll_route_fini(artel_all_reduce_route *route)
{
    if (route->ctx) artel__free(route->ctx, route->hop);
    *route = (artel_all_reduce_route){.hop = NULL};
}
