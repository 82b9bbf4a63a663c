/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchical: first within each host, then between hosts.
 *
 * Neighbouring ranks of one host send what they have to the first of them, its leader. Leaders merge that, and make the
 * direct exchange among themselves: leader h gets slice h of all, merges it, sends the result to all leaders; these
 * pass it on. Between H hosts there are H (H - 1) connections, however many ranks each has. On one host alone
 * everything is summed up on its first rank and copied to the others.
 */
#include "coll/algo/all_reduce.h"

static int hosts_of(void *user, const artel_all_reduce_group *group)
{
    (void)user;
    return group->host[group->members - 1] + 1;
}

/* The members of a host are first .. first + count - 1. */
static int members_of(const artel_all_reduce_group *group, int host, int *first)
{
    int at = 0, count = 0;
    while (group->host[at] < host) at++;
    while (at + count < group->members && group->host[at + count] == host) count++;
    *first = at;
    return count;
}

/* All messages of a slice within a host: up to the leader, or the result down from it. */
static void list_host(const artel_all_reduce_group *group, artel_all_reduce_route *route, int slice, int host,
                      bool result)
{
    int leader, count = members_of(group, host, &leader);
    for (int m = leader + 1; m < leader + count; m++) {
        if (result)
            artel_all_reduce_send(route, leader, m, slice, 0, group->members);
        else
            artel_all_reduce_send(route, m, leader, slice, m, 1);
    }
}

/* Between the leader of another host and the one that merges the slice. */
static void list_leaders(const artel_all_reduce_group *group, artel_all_reduce_route *route, int slice, int host,
                         bool result)
{
    int leader, merger, count = members_of(group, host, &leader);
    members_of(group, slice, &merger);
    if (host == slice) return;
    if (result)
        artel_all_reduce_send(route, merger, leader, slice, 0, group->members);
    else
        artel_all_reduce_send(route, leader, merger, slice, leader, count);
}

/* What is wrong with a hop is remembered by the route. */
static artel_status list(void *user, const artel_all_reduce_group *group, artel_all_reduce_route *route)
{
    int hosts = hosts_of(user, group);
    for (int slice = 0; slice < hosts; slice++) {
        for (int host = 0; host < hosts; host++) list_host(group, route, slice, host, false);
        for (int host = 0; host < hosts; host++) list_leaders(group, route, slice, host, false);
        for (int host = 0; host < hosts; host++) list_leaders(group, route, slice, host, true);
        for (int host = 0; host < hosts; host++) list_host(group, route, slice, host, true);
    }
    return ARTEL_OK;
}

const artel__all_reduce_def artel__all_reduce_hierarchical = {
    .name = "hierarchical",
    .doc = "Within each host on its first rank, then between these: few connections between hosts with many ranks.",
    .like = "HierarchicalCopyAllReduce ReductionToOneDevice",
    .ops = &artel__all_reduce_relay_ops,
    .route = {.name = "hierarchical", .slices = hosts_of, .list = list},
};
