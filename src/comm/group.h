/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: the replicas of one process as ranks among all that train together. A group hands each its artel__comm
 * (exec/comm.h), which is carried by coll over net whatever the placement. */
#ifndef ARTEL_COMM_GROUP_H
#define ARTEL_COMM_GROUP_H

#include "cluster/mesh.h"
#include "coll/algo/all_reduce.h"
#include "exec/comm.h"

/* The replicas of one process among all replicas that train together. With one replica in all there is nothing to
 * connect and comm is NULL. */
typedef struct artel__group artel__group;
/* The replicas of one process are all there are: ranks 0 .. replicas - 1, connected in memory. */
artel_status artel__group_create(artel_context *ctx, int replicas, int32_t shards, artel__group **out);
/* The same with runs of shards of any length (artel__coll_layout_init_runs). */
artel_status artel__group_create_runs(artel_context *ctx, int replicas, int32_t shards, const int32_t *start,
                                      artel__group **out);
/* They are ranks of a generation that a mesh has formed (cluster/mesh.h); its endpoints are borrowed. Such a group ends
 * with its first failure: reset does nothing, a new generation gets a new group. */
artel_status artel__group_create_seated(artel_context *ctx, int replicas, int32_t shards, const artel__mesh_seat *seat,
                                        artel__group **out);
void artel__group_destroy(artel__group *group);
/* How its sums travel from now on (NULL: by size); before the first step. host: by rank, as in artel_all_reduce_group;
 * NULL: all are on one. Errors: ARTEL_ERROR_INVALID (a route of the program's own that does not give every rank the
 * result). */
artel_status artel__group_choose(artel__group *group, const artel__all_reduce_def *all_reduce, const int *host);
/* Of the process's replica `index`; its `rank` and `size` are those of the whole group. */
const artel__comm *artel__group_comm(artel__group *group, int index);
/* Whether some of its ranks, in other processes of the host, read this process's sums where they lie
 * (artel__plan_options.lends). */
bool artel__group_lends(const artel__group *group);
/* Wakes everybody who waits in a collective of the group with ARTEL_ERROR_CANCELLED, and makes later calls return it
 * too, until artel__group_reset. Any thread. A collective that fails does the same by itself. */
void artel__group_cancel(artel__group *group);
/* Makes a cancelled group usable again, as if it were new. When no rank is in a collective and none will cancel any
 * more for the old reason: after all ranks have returned from the failed step. */
void artel__group_reset(artel__group *group);
/* Who owns which shards, in which order they are merged, how sums travel and why: stable text for --explain. */
void artel__group_dump(const artel__group *group, artel__text *out);
/* The same of one sum: "direct: ...". bytes: of one block; background: nobody waits for it at once. */
void artel__group_dump_sum(const artel__group *group, int64_t bytes, bool background, artel__text *out);

#endif
