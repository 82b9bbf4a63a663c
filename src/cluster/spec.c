/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster's tasks: collected in any order, then sorted, checked and ranked at once.
 *
 * All rules are in artel__cluster_seal(), whoever found the tasks, so that a cluster means the same from every
 * launcher. They are TensorFlow's (multi_worker_util.py), and two that TensorFlow leaves to fate: an address given
 * twice and, in a cluster of dictionaries, the task's own index missing. Sorting makes every check a look at
 * neighbours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cluster/cluster.h"

artel_status artel__cluster_init(artel_context *ctx, artel__cluster *cluster, const char *resolver, const char *where)
{
    memset(cluster, 0, sizeof *cluster);
    artel__arena_init(&cluster->arena, ctx);
    cluster->self = (artel__task){ARTEL__TASK_WORKER, 0, NULL};
    cluster->self_at = cluster->rank = cluster->local_rank = -1;
    cluster->where = artel__arena_strdup(&cluster->arena, where);
    cluster->resolver = artel__arena_strdup(&cluster->arena, resolver);
    artel_status status = artel__arena_status(&cluster->arena);
    if (status < 0) artel__cluster_fini(cluster);
    return status;
}

void artel__cluster_fini(artel__cluster *cluster)
{
    if (!cluster->arena.ctx) return;
    artel__free(cluster->arena.ctx, cluster->task);
    artel__arena_fini(&cluster->arena);
    memset(cluster, 0, sizeof *cluster);
}

static artel_status make_room(artel__cluster *cluster)
{
    if (cluster->tasks < cluster->capacity) return ARTEL_OK;
    if (cluster->tasks >= ARTEL__CLUSTER_MAX_TASKS)
        return artel__fail(cluster->arena.ctx, ARTEL_ERROR_INVALID, cluster->where, "make it smaller",
                           "more than %d tasks", ARTEL__CLUSTER_MAX_TASKS);
    int capacity = cluster->capacity ? 2 * cluster->capacity : 16;
    void *block = cluster->task;
    ARTEL_TRY(artel__realloc(cluster->arena.ctx, (size_t)capacity * sizeof *cluster->task, cluster->where, &block));
    cluster->task = block;
    cluster->capacity = capacity;
    return ARTEL_OK;
}

artel_status artel__cluster_add(artel__cluster *cluster, artel__task_type type, int64_t index, const char *address)
{
    artel_context *ctx = cluster->arena.ctx;
    const char *name = artel__task_type_name(type);
    artel__host_port parsed;
    artel__task task = {type, 0, NULL};
    if (index < 0 || index > ARTEL__CLUSTER_MAX_INDEX)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where, "number the tasks of a type from 0",
                           "%s has an impossible index (found %lld, expected 0 to %d)", name, (long long)index,
                           ARTEL__CLUSTER_MAX_INDEX);
    const char *wrong = address ? artel__host_port_parse(address, &parsed) : NULL;
    if (wrong)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where, "write host:port, or [address]:port for IPv6",
                           "the address of %s %lld is no address: %s (found \"%.100s\")", name, (long long)index, wrong,
                           address);
    ARTEL_TRY(make_room(cluster));
    task.index = (int32_t)index;
    if (address) task.address = artel__host_port_format(&cluster->arena, parsed.host, parsed.port);
    ARTEL_TRY(artel__arena_status(&cluster->arena));
    cluster->task[cluster->tasks++] = task;
    cluster->count[type]++;
    return ARTEL_OK;
}

void artel__cluster_set_self(artel__cluster *cluster, artel__task_type type, int32_t index)
{
    cluster->self = (artel__task){type, index, NULL};
}

/* -- sealing -- */

static int compare_tasks(const void *a, const void *b)
{
    const artel__task *x = a, *y = b;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Names of hosts are the same in capitals. */
static int compare_addresses(const void *a, const void *b)
{
    const artel__task *x = *(const artel__task *const *)a, *y = *(const artel__task *const *)b;
    return strcasecmp(x->address, y->address);
}

int artel__cluster_find(const artel__cluster *cluster, artel__task_type type, int32_t index)
{
    int low = 0, high = cluster->tasks;
    const artel__task wanted = {type, index, NULL};
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = compare_tasks(&cluster->task[middle], &wanted);
        if (order == 0) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static artel_status check_counts(const artel__cluster *cluster)
{
    artel_context *ctx = cluster->arena.ctx;
    if (cluster->count[ARTEL__TASK_CHIEF] > 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where,
                           "keep one chief (or master) and make the others workers",
                           "there are %d chiefs (at most one is allowed)", cluster->count[ARTEL__TASK_CHIEF]);
    if (cluster->count[ARTEL__TASK_EVALUATOR] > 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where, "keep one evaluator",
                           "there are %d evaluators (at most one is allowed)", cluster->count[ARTEL__TASK_EVALUATOR]);
    bool alone = cluster->self.type == ARTEL__TASK_EVALUATOR;
    if (cluster->count[ARTEL__TASK_CHIEF] + cluster->count[ARTEL__TASK_WORKER] == 0 && !alone && !cluster->sparse)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where, "add a worker",
                           "nobody trains: there is no chief and no worker");
    return ARTEL_OK;
}

static artel_status check_indices(const artel__cluster *cluster)
{
    artel_context *ctx = cluster->arena.ctx;
    for (int i = 1; i < cluster->tasks; i++) {
        const artel__task *task = &cluster->task[i];
        if (compare_tasks(task - 1, task) == 0)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where, "give each task an index of its own",
                               "%s %d is there twice", artel__task_type_name(task->type), (int)task->index);
    }
    for (int i = 0; i < cluster->tasks && !cluster->sparse && !cluster->gaps; i++) {
        const artel__task *task = &cluster->task[i];
        int32_t expected = i == 0 || task[-1].type != task->type ? 0 : task[-1].index + 1;
        if (task->index != expected)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where,
                               "number the tasks of a type from 0 without gaps", "%s %d is missing",
                               artel__task_type_name(task->type), (int)expected);
    }
    return ARTEL_OK;
}

static artel_status check_addresses(const artel__cluster *cluster)
{
    artel_context *ctx = cluster->arena.ctx;
    void *block = NULL;
    int count = 0;
    artel_status status = ARTEL_OK;
    ARTEL_TRY(artel__alloc(ctx, ((size_t)cluster->tasks + 1) * sizeof(artel__task *), cluster->where, &block));
    const artel__task **sorted = block;
    for (int i = 0; i < cluster->tasks; i++)
        if (cluster->task[i].address) sorted[count++] = &cluster->task[i];
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_addresses);
    for (int i = 1; i < count && status == ARTEL_OK; i++) {
        const artel__task *a = sorted[i - 1], *b = sorted[i];
        if (strcasecmp(a->address, b->address) == 0)
            status = artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where, "give each task a host or a port of its own",
                                 "%s %d and %s %d have the same address, %s", artel__task_type_name(a->type),
                                 (int)a->index, artel__task_type_name(b->type), (int)b->index, a->address);
    }
    artel__free(ctx, block);
    return status;
}

static artel_status check_self(artel__cluster *cluster)
{
    artel_context *ctx = cluster->arena.ctx;
    const artel__task *self = &cluster->self;
    const char *name = artel__task_type_name(self->type);
    int count = cluster->count[self->type];
    cluster->self_at = artel__cluster_find(cluster, self->type, self->index);
    if (cluster->self_at >= 0) {
        cluster->self = cluster->task[cluster->self_at];
        return ARTEL_OK;
    }
    if (count == 0 && self->type == ARTEL__TASK_EVALUATOR) return ARTEL_OK; /* it lives outside the cluster */
    if (count == 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, cluster->where, "add the task to the cluster, or correct its type",
                           "this task is %s %d, and the cluster has no %s", name, (int)self->index, name);
    return artel__fail(
        ctx, ARTEL_ERROR_INVALID, cluster->where, "correct the task's index, or add the task to the cluster",
        "this task is %s %d, which is not in the cluster (it has %d of type %s)", name, (int)self->index, count, name);
}

artel_status artel__cluster_seal(artel__cluster *cluster)
{
    if (cluster->tasks > 1) qsort(cluster->task, (size_t)cluster->tasks, sizeof(*cluster->task), compare_tasks);
    ARTEL_TRY(check_counts(cluster));
    ARTEL_TRY(check_indices(cluster));
    ARTEL_TRY(check_addresses(cluster));
    ARTEL_TRY(check_self(cluster));
    artel__task_type type = cluster->self.type;
    bool trains = type == ARTEL__TASK_CHIEF || type == ARTEL__TASK_WORKER;
    cluster->trainers = cluster->count[ARTEL__TASK_CHIEF] + cluster->count[ARTEL__TASK_WORKER];
    cluster->rank = -1;
    if (trains)
        cluster->rank = cluster->self.index + (type == ARTEL__TASK_WORKER ? cluster->count[ARTEL__TASK_CHIEF] : 0);
    if (trains && cluster->gaps && !cluster->sparse) cluster->rank = cluster->self_at;
    cluster->is_chief = cluster->rank == 0 || type == ARTEL__TASK_EVALUATOR;
    cluster->single = trains && cluster->trainers == 1 && cluster->count[ARTEL__TASK_PS] == 0 && !cluster->sparse;
    return ARTEL_OK;
}
