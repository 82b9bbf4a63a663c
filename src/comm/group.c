/* SPDX-License-Identifier: Apache-2.0 */
/* The life of groups: connecting the ranks of one process, over the inproc transport when all ranks are here, else over
 * the endpoints of a mesh; choosing how sums travel; ending.
 *
 * Once all ranks have returned from a failed step the fabric is empty, and reset has only to end the cancellation.
 * Messages carry the generation, which reset advances.
 */
#include "base/threads.h"
#include "coll/select.h"
#include "comm/group_impl.h"

enum {
    PART_BYTES = 256 << 10 /* of a part, for each rank */
};

/* Which shards are whose. */
typedef struct runs {
    int32_t shards;
    const int32_t *start; /* NULL: even ones */
} runs;

static artel_status connect_members(artel__group *group, const runs *who, const artel__mesh_seat *seat)
{
    void *block;
    ARTEL_TRY(artel__coll_layout_init_runs(group->ctx, who->shards, group->ranks, who->start, &group->layout));
    bool spin = artel__usable_cores() >= group->replicas;
    if (!seat) ARTEL_TRY(artel__fabric_create(group->ctx, group->replicas, spin, &group->fabric));
    ARTEL_TRY(artel__calloc(group->ctx, (size_t)group->replicas, sizeof(artel__group_member), "group", &block));
    group->member = block;
    for (int r = 0; r < group->replicas; r++) {
        artel__group_member *m = &group->member[r];
        m->group = group;
        m->comm = (artel__comm){.ops = &artel__group_ops, .self = m, .rank = group->first + r, .size = group->ranks};
        if (group->ranks == 1) continue;
        m->endpoint = seat ? seat->endpoint[r] : artel__fabric_endpoint(group->fabric, r);
        m->activity = seat ? &seat->activity[r] : NULL;
        artel__all_reduce_init(&m->all_reduce, m->endpoint, &group->layout);
        artel__all_gather_init(&m->all_gather, m->endpoint, &group->layout);
        artel__barrier_init(&m->barrier, m->endpoint);
        artel__parcels_init(&m->parcels, m->endpoint, &group->layout);
        ARTEL_TRY(artel__calloc(group->ctx, ARTEL__GROUP_TASKS, sizeof *m->task, "group", &block));
        m->task = block;
    }
    return ARTEL_OK;
}

static artel_status create(artel_context *ctx, const artel__group *wanted, const runs *who,
                           const artel__mesh_seat *seat, artel__group **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__group), "group", &block));
    artel__group *group = block;
    *group = *wanted;
    artel_status status = connect_members(group, who, seat);
    if (status < 0) {
        artel__group_destroy(group);
        return status;
    }
    *out = group;
    return ARTEL_OK;
}

artel_status artel__group_create(artel_context *ctx, int replicas, int32_t shards, artel__group **out)
{
    return artel__group_create_runs(ctx, replicas, shards, NULL, out);
}

artel_status artel__group_create_runs(artel_context *ctx, int replicas, int32_t shards, const int32_t *start,
                                      artel__group **out)
{
    artel__group wanted = {.ctx = ctx, .replicas = replicas, .ranks = replicas};
    return create(ctx, &wanted, &(runs){shards, start}, NULL, out);
}

artel_status artel__group_create_seated(artel_context *ctx, int replicas, int32_t shards, const artel__mesh_seat *seat,
                                        artel__group **out)
{
    artel__group wanted = {.ctx = ctx,
                           .replicas = replicas,
                           .first = seat->first,
                           .ranks = seat->ranks,
                           .generation = seat->generation,
                           .job = seat->job};
    return create(ctx, &wanted, &(runs){shards, NULL}, seat, out);
}

static artel_status list_routes(artel__group *group, const artel__all_reduce_def *def, const int *host, int32_t *start)
{
    artel_all_reduce_route route;
    int *hosts = start + group->ranks + 1;
    for (int r = 0; r <= group->ranks; r++) start[r] = group->layout.start[r];
    for (int r = 0; r < group->ranks; r++) hosts[r] = host ? host[r] : 0;
    artel__coll_tree tree = {
        .shards = group->layout.width, .present = group->layout.shards, .ranks = group->ranks, .start = start};
    artel_all_reduce_group members = {group->ranks, hosts};
    ARTEL_TRY(artel__coll_route_make(group->ctx, &def->route, &members, &route));
    artel_status status = artel__coll_route_check(&route, &tree, def->name);
    for (int r = 0; r < group->replicas && status == ARTEL_OK; r++)
        status = artel__coll_itinerary_make(&route, &tree, def->name, group->first + r, &group->member[r].itinerary);
    artel__coll_route_fini(&route);
    return status;
}

artel_status artel__group_choose(artel__group *group, const artel__all_reduce_def *def, const int *host)
{
    void *block;
    for (int r = 0; r < group->replicas; r++) artel__coll_itinerary_fini(&group->member[r].itinerary);
    group->all_reduce = def;
    if (!def || def->ops != &artel__all_reduce_relay_ops || group->ranks == 1) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(group->ctx, 2 * (size_t)group->ranks + 1, sizeof(int32_t), "group", &block));
    artel_status status = list_routes(group, def, host, block);
    artel__free(group->ctx, block);
    return status;
}

static void close_member(artel_context *ctx, artel__group_member *m)
{
    for (int i = 0; i < m->flights; i++) artel__flight_destroy(ctx, m->flight[i]);
    for (int i = 0; i < ARTEL__GROUP_PARTS; i++) artel__flight_destroy(ctx, m->part[i]);
    artel__free(ctx, m->flight);
    artel__free(ctx, m->task);
    artel__all_reduce_fini(&m->all_reduce);
    artel__all_gather_fini(&m->all_gather);
    artel__parcels_fini(&m->parcels);
    artel__coll_itinerary_fini(&m->itinerary);
    artel__coll_buffer_fini(ctx, &m->parcel);
    artel__coll_buffer_fini(ctx, &m->segments);
    artel__coll_buffer_fini(ctx, &m->begun);
    artel__coll_buffer_fini(ctx, &m->spans);
}

void artel__group_destroy(artel__group *group)
{
    if (!group) return;
    for (int r = 0; group->member && r < group->replicas; r++) close_member(group->ctx, &group->member[r]);
    artel__free(group->ctx, group->member);
    artel__fabric_destroy(group->fabric);
    artel__coll_layout_fini(group->ctx, &group->layout);
    artel__free(group->ctx, group);
}

const artel__comm *artel__group_comm(artel__group *group, int index)
{
    return group->ranks > 1 ? &group->member[index].comm : NULL;
}

/* Memory that is lent is neither copied nor waited for. */
int artel__group_parts(const artel__group_member *m, int64_t bytes, int most)
{
    int64_t parts = m->endpoint->ops->caps & ARTEL__NET_LENDS ? 1 : bytes / PART_BYTES / m->group->ranks;
    return parts < 1 ? 1 : parts < most ? (int)parts : most;
}

/* In units of what a rank ends with, cut evenly: the most that one of this process's ranks sends. */
static void dump_load(const artel__group *group, artel__text *out)
{
    const artel__coll_itinerary *first = &group->member[0].itinerary;
    artel__coll_load most = {.messages = 0};
    double share = 0;
    for (int r = 0; r < group->replicas && first->ctx; r++) {
        artel__coll_load load = artel__coll_itinerary_load(&group->member[r].itinerary, NULL);
        if (load.messages > most.messages) most = load;
        if ((double)load.bytes / first->slices > share) share = (double)load.bytes / first->slices;
    }
    if (first->ctx)
        artel__text_printf(out, "  a rank sends up to %lld messages and %.2f times the bytes, on %d connections\n",
                           (long long)most.messages, share, most.connections);
}

void artel__group_dump(const artel__group *group, artel__text *out)
{
    artel__coll_layout_dump(&group->layout, out);
    artel__text_append(out, "how sums travel: ");
    if (group->all_reduce)
        artel__text_printf(out, "%s, as asked for. %s\n", group->all_reduce->name, group->all_reduce->doc);
    else
        artel__coll_select_dump(group->ranks, out);
    dump_load(group, out);
}

void artel__group_dump_sum(const artel__group *group, int64_t bytes, bool background, artel__text *out)
{
    int parts = artel__group_parts(&group->member[0], bytes, background ? ARTEL__GROUP_BEGUN : ARTEL__GROUP_PARTS);
    if (parts > 1) artel__text_printf(out, "in %d parts, each ", parts);
    if (group->all_reduce)
        artel__text_append(out, group->all_reduce->name);
    else
        artel__coll_select_explain((bytes + parts - 1) / parts, group->ranks, out);
}

bool artel__group_lends(const artel__group *group)
{
    bool some = false;
    for (int r = 0; group->ranks > 1 && r < group->replicas; r++)
        some = some || artel__net_has_borrower(group->member[r].endpoint);
    return some;
}

void artel__group_cancel(artel__group *group)
{
    int endpoints = group->fabric ? 1 : group->replicas; /* a fabric is cancelled as a whole */
    for (int r = 0; group->ranks > 1 && r < endpoints; r++) artel__net_cancel(group->member[r].endpoint);
}

void artel__group_reset(artel__group *group)
{
    if (!group->fabric) return;
    group->generation++;
    for (int r = 0; r < group->replicas; r++) {
        group->member[r].barriers = 0;
        artel__net_resume(group->member[r].endpoint);
    }
}
