/* SPDX-License-Identifier: Apache-2.0 */
/* Who is who in a mesh: this task, the others by name and by rank, and which of them share a host. */
#include <string.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/threads.h"
#include "cluster/mesh_impl.h"

bool artel__mesh_is_single(const artel_cluster *mesh)
{
    return !mesh || mesh->single;
}

const char *artel_cluster_role(const artel_cluster *mesh)
{
    return mesh ? artel__task_type_name(mesh->cluster.self.type) : "";
}

int artel_cluster_index(const artel_cluster *mesh)
{
    return mesh ? (int)mesh->cluster.self.index : 0;
}

artel_status artel__mesh_need_context(artel_context *ctx, const artel_cluster *mesh)
{
    return mesh ? artel__need_context(ctx, mesh->ctx, "the cluster") : ARTEL_OK;
}

int artel_cluster_size(const artel_cluster *mesh)
{
    return artel__mesh_is_single(mesh) ? 1 : mesh->peers;
}

bool artel_cluster_writes(const artel_cluster *mesh)
{
    return !mesh || mesh->generation.writes;
}

int64_t artel__mesh_patience_ns(const artel_cluster *mesh)
{
    return (int64_t)(mesh->options.wait_for_cluster * 1e9);
}

const char *artel__mesh_title(const artel_cluster *mesh, int task)
{
    return mesh->peer[task].title;
}

const artel__cluster *artel__mesh_tasks(const artel_cluster *mesh)
{
    return &mesh->cluster;
}

int artel__mesh_find(const artel_cluster *mesh, const char *name)
{
    for (int r = 0; r < mesh->peers; r++) {
        if (strcmp(mesh->peer[r].name, name) == 0) return r;
    }
    return -1;
}

int artel__mesh_owner(const artel_cluster *mesh, int rank)
{
    for (int r = 0; r < mesh->peers; r++) {
        const artel__mesh_peer *p = &mesh->peer[r];
        if (rank >= p->first && rank < p->first + p->replicas) return r;
    }
    return -1;
}

int artel__mesh_task_of(artel_cluster *mesh, int rank)
{
    pthread_mutex_lock(&mesh->mutex);
    int task = artel__mesh_owner(mesh, rank);
    pthread_mutex_unlock(&mesh->mutex);
    return task;
}

void artel__mesh_own(artel_cluster *mesh, int task, char out[ARTEL__OWN_MAX + 1])
{
    out[0] = '\0';
    pthread_mutex_lock(&mesh->mutex);
    if (mesh->machine && task >= 0) artel__membership_own(mesh->machine, (uint32_t)task, out);
    pthread_mutex_unlock(&mesh->mutex);
}

const char *artel__mesh_host(void *user, const char *task)
{
    const artel_cluster *mesh = user;
    int rank = artel__mesh_find(mesh, task);
    return rank >= 0 && mesh->peer[rank].host[0] && !mesh->peer[rank].shared_host ? mesh->peer[rank].host : NULL;
}

int artel__mesh_tasks_here(const artel_cluster *mesh)
{
    artel__host_port own, other;
    int here = 1;
    if (artel__mesh_is_single(mesh) || artel__usable_cores() < sysconf(_SC_NPROCESSORS_ONLN)) return 1;
    if (artel__host_port_parse(mesh->peer[mesh->self].address, &own)) return 1;
    for (int r = 0; r < mesh->peers; r++) {
        bool known = r != mesh->self && !artel__host_port_parse(mesh->peer[r].address, &other);
        here += known && strcmp(own.host, other.host) == 0;
    }
    return here;
}

static bool is_same_host(const artel_cluster *mesh, int task, int other)
{
    artel__host_port a, b;
    if (task == other) return true;
    if (task < 0 || other < 0) return false;
    return !artel__host_port_parse(mesh->peer[task].address, &a) &&
           !artel__host_port_parse(mesh->peer[other].address, &b) && strcmp(a.host, b.host) == 0;
}

void artel__mesh_hosts(artel_cluster *mesh, int ranks, int *host)
{
    int before = -1, number = 0;
    for (int r = 0; r < ranks; r++) {
        int task = mesh ? artel__mesh_task_of(mesh, r) : -1;
        number += r > 0 && !is_same_host(mesh, before, task);
        host[r] = number;
        before = task;
    }
}
