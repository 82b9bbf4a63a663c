/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing how the all-reduces of a communicator travel. A route is a function of the members, which a renewal may
 * change: so it is made before the first call that needs it, and again after each. */
#include <string.h>

#include "base/argument.h"
#include "base/hash.h"
#include "coll/communicator_impl.h"
#include "coll/select.h"

/* Numbers of hosts by position: neighbours on one host have one. */
static void find_hosts(const artel_communicator *c, int *host, int *scratch)
{
    const artel__team *team = &c->team;
    int ranks = team->endpoint->ranks;
    memset(scratch, 0, (size_t)ranks * sizeof *scratch);
    if (c->home->cluster) artel__mesh_hosts(c->home->cluster, ranks, scratch);
    for (int i = 0; i < team->members; i++)
        host[i] = i == 0 ? 0 : host[i - 1] + (scratch[team->rank[i]] != scratch[team->rank[i - 1]]);
}

static artel_status make_route(artel_communicator *c, int32_t *start, int *host)
{
    const artel__team *team = &c->team;
    artel_all_reduce_route route;
    artel__coll_tree tree = {.shards = 1, .present = team->members, .ranks = team->members, .start = start};
    artel_all_reduce_group group = {team->members, host};
    while (tree.shards < team->members) tree.shards *= 2;
    for (int i = 0; i <= team->members; i++) start[i] = i < team->members ? i : tree.shards;
    find_hosts(c, host, host + team->members);
    ARTEL_TRY(artel__coll_route_make(c->home->ctx, &c->all_reduce->route, &group, &route));
    artel_status status = artel__coll_route_check(&route, &tree, c->all_reduce->name);
    if (status == ARTEL_OK)
        status = artel__coll_itinerary_make(&route, &tree, c->all_reduce->name, team->position, &c->itinerary);
    artel__coll_route_fini(&route);
    return status;
}

static uint64_t members_hash(const artel__team *team)
{
    uint64_t parts[3] = {team->generation, (uint64_t)team->position,
                         artel__hash64(team->rank, (size_t)team->members * sizeof *team->rank)};
    return artel__hash64(parts, sizeof parts) | 1;
}

static artel_status find_route(artel_communicator *c)
{
    uint64_t wanted = members_hash(&c->team);
    void *block;
    if (c->routed == wanted) return ARTEL_OK;
    artel__coll_itinerary_fini(&c->itinerary);
    c->routed = 0;
    size_t numbers = 2 * (size_t)c->team.members + 1 + (size_t)c->team.endpoint->ranks;
    ARTEL_TRY(artel__calloc(c->home->ctx, numbers, sizeof(int32_t), "communicator", &block));
    artel_status status = make_route(c, block, (int *)block + c->team.members + 1);
    artel__free(c->home->ctx, block);
    if (status == ARTEL_OK) c->routed = wanted;
    return status;
}

artel_status artel__communicator_take_way(artel_communicator *c, uint64_t *detail)
{
    const artel__all_reduce_def *def = c->all_reduce;
    if (!def || c->team.members == 1) return ARTEL_OK;
    *detail ^= artel__hash64(def->name, strlen(def->name)); /* members that differ are told */
    if (def->ops == &artel__all_reduce_relay_ops) {
        ARTEL_TRY(find_route(c));
        c->call.itinerary = &c->itinerary;
    } else {
        c->call.force_way = true;
        c->call.way = def->exchange == ARTEL__COLL_DIRECT ? ARTEL__COLL_SLICED : ARTEL__COLL_WHOLE;
    }
    return ARTEL_OK;
}

artel_status artel_communicator_set_all_reduce(artel_communicator *c, const char *name)
{
    const artel__all_reduce_def *def, *before;
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, __func__, "communicator", c));
    ARTEL_TRY(artel__all_reduce_find(c->home->ctx, name, &def));
    before = c->all_reduce;
    c->all_reduce = def;
    c->routed = 0;
    if (!def || def->ops != &artel__all_reduce_relay_ops || c->team.members == 1 || !c->team.endpoint) return ARTEL_OK;
    artel_status status = find_route(c);
    if (status < 0) c->all_reduce = before;
    return status;
}
