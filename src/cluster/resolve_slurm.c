/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm: a task that srun started.
 *
 *   SLURM_PROCID                                     this task's rank
 *   SLURM_STEP_NUM_TASKS, else SLURM_NTASKS          how many there are
 *   SLURM_STEP_NODELIST, else SLURM_JOB_NODELIST     the nodes, compressed (hostlist.c)
 *   SLURM_STEP_TASKS_PER_NODE, else SLURM_TASKS_PER_NODE
 *   SLURM_DISTRIBUTION, SLURM_DIST_PLANESIZE         how ranks go over nodes: block unless it says cyclic or plane
 *   SLURM_NODEID, SLURM_LOCALID                      checked against the answer when they are there
 *
 * Addresses follow TensorFlow's SlurmClusterResolver: the node's name, port base (8888) + the task's place on its node.
 * TensorFlow sorts the nodes by name, which puts ranks on the wrong hosts as soon as Slurm's order is another one
 * (n[9-10]); here the order is Slurm's. The batch script itself is not a step: what runs there is a cluster of one.
 */
#include <string.h>

#include "cluster/resolver.h"

static const char *const node_lists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST", NULL};
static const char *const task_counts[] = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", NULL};
static const char *const totals[] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS", NULL};
static const char *const steps[] = {"SLURM_STEP_NODELIST", "SLURM_STEP_ID", "SLURM_STEPID", NULL};

/* Where each rank runs. */
typedef struct placement {
    int32_t *node, *local;
} placement;

static bool applies(const artel__resolver_input *in)
{
    const char *value;
    return artel__resolver_get(in, "SLURM_PROCID") && artel__resolver_first(in, steps, &value);
}

static artel_status missing(const artel__resolver_input *in, const char *name)
{
    return artel__fail(in->ctx, ARTEL_ERROR_INVALID, name, "start the program with srun", "the variable is not set");
}

static artel_status read_nodes(const artel__resolver_input *in, artel__cluster *out, artel__hostlist *hosts,
                               artel__counts *counts)
{
    const char *value, *name = artel__resolver_first(in, node_lists, &value);
    if (!name) return missing(in, node_lists[0]);
    ARTEL_TRY(artel__hostlist_expand(&out->arena, name, value, hosts));
    name = artel__resolver_first(in, task_counts, &value);
    if (!name) return missing(in, task_counts[0]);
    ARTEL_TRY(artel__counts_expand(&out->arena, name, value, counts));
    if (hosts->count != counts->count)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, name, "the launcher sets both; do not change them",
                           "it counts tasks for %d nodes, and there are %d", counts->count, hosts->count);
    return ARTEL_OK;
}

/* How many ranks in a row a node gets before the next one's turn; 0: all of its own. */
static artel_status read_plane(const artel__resolver_input *in, int64_t *out)
{
    const artel__resolver_number wanted = {"SLURM_DIST_PLANESIZE", 1, ARTEL__CLUSTER_MAX_TASKS};
    const char *way = artel__resolver_get(in, "SLURM_DISTRIBUTION");
    *out = 0;
    if (!way || artel__starts_with(way, "block")) return ARTEL_OK;
    if (artel__starts_with(way, "plane")) return artel__resolver_int(in, &wanted, out);
    *out = 1;
    if (artel__starts_with(way, "cyclic")) return ARTEL_OK;
    return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "SLURM_DISTRIBUTION",
                       "start it with srun --distribution block, cyclic or plane",
                       "ranks are laid out in a way that no variable tells (found %.40s)", way);
}

static artel_status place(artel__cluster *out, const artel__counts *counts, int64_t plane, placement *where)
{
    int32_t *used = artel__arena_alloc(&out->arena, (size_t)counts->count, sizeof *used);
    where->node = artel__arena_alloc(&out->arena, (size_t)counts->total, sizeof *where->node);
    where->local = artel__arena_alloc(&out->arena, (size_t)counts->total, sizeof *where->local);
    ARTEL_TRY(artel__arena_status(&out->arena));
    int first = 0; /* nodes before it are full */
    for (int64_t rank = 0; rank < counts->total;) {
        for (int32_t node = first; node < counts->count; node++) {
            int32_t end = counts->item[node];
            if (plane && used[node] + plane < end) end = (int32_t)(used[node] + plane);
            for (; used[node] < end; rank++) {
                where->node[rank] = node;
                where->local[rank] = used[node]++;
            }
            if (node == first && used[node] == counts->item[node]) first++;
        }
    }
    return ARTEL_OK;
}

static artel_status check_place(const artel__resolver_input *in, const char *name, int64_t expected)
{
    const artel__resolver_number wanted = {name, 0, ARTEL__CLUSTER_MAX_TASKS};
    int64_t value;
    if (!artel__resolver_get(in, name)) return ARTEL_OK;
    ARTEL_TRY(artel__resolver_int(in, &wanted, &value));
    if (value == expected) return ARTEL_OK;
    return artel__fail(in->ctx, ARTEL_ERROR_INVALID, name, "start it with srun --distribution block",
                       "tasks are not laid out as the other variables say (found %lld, expected %lld)",
                       (long long)value, (long long)expected);
}

static artel_status add_tasks(const artel__resolver_input *in, const artel__hostlist *hosts,
                              const artel__counts *counts, int64_t rank, artel__cluster *out)
{
    placement where;
    int64_t plane;
    ARTEL_TRY(read_plane(in, &plane));
    ARTEL_TRY(place(out, counts, plane, &where));
    ARTEL_TRY(check_place(in, "SLURM_NODEID", where.node[rank]));
    ARTEL_TRY(check_place(in, "SLURM_LOCALID", where.local[rank]));
    for (int64_t i = 0; i < counts->total; i++) {
        const char *address =
            artel__host_port_format(&out->arena, hosts->host[where.node[i]], in->options.port + where.local[i]);
        ARTEL_TRY(artel__arena_status(&out->arena));
        ARTEL_TRY(artel__cluster_add(out, ARTEL__TASK_WORKER, i, address));
    }
    artel__cluster_set_self(out, ARTEL__TASK_WORKER, (int32_t)rank);
    out->local_rank = where.local[rank];
    out->local_count = counts->item[where.node[rank]];
    return ARTEL_OK;
}

static artel_status resolve(const artel__resolver_input *in, artel__cluster *out)
{
    artel__hostlist hosts;
    artel__counts counts;
    const char *value, *name = artel__resolver_first(in, totals, &value);
    int64_t total, rank;
    ARTEL_TRY(artel__cluster_init(in->ctx, out, "slurm", "SLURM_STEP_NODELIST"));
    ARTEL_TRY(read_nodes(in, out, &hosts, &counts));
    const artel__resolver_number wanted = {name ? name : totals[0], 1, ARTEL__CLUSTER_MAX_TASKS};
    ARTEL_TRY(artel__resolver_int(in, &wanted, &total));
    if (total != counts.total)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, wanted.name,
                           "start the program with srun, as a step of its own",
                           "%lld tasks were asked for and %lld assigned", (long long)total, (long long)counts.total);
    const artel__resolver_number own = {"SLURM_PROCID", 0, total - 1};
    ARTEL_TRY(artel__resolver_int(in, &own, &rank));
    return add_tasks(in, &hosts, &counts, rank, out);
}

const artel__resolver artel__resolver_slurm = {"slurm", applies, resolve};
