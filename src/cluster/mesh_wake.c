/* SPDX-License-Identifier: Apache-2.0 */
/* Between the thread of the mesh and the caller's: how one wakes the other, how the caller waits and sees that it is to
 * stop, and what the machine is owed at once, whichever of them has called it.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/mesh_impl.h"

void artel__mesh_wake(artel_cluster *mesh)
{
    uint64_t one = 1;
    while (write(mesh->threads.wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void artel__mesh_wait(artel_cluster *mesh, int64_t ns)
{
    struct timespec until = artel__after_ns(ns);
    pthread_cond_timedwait(&mesh->changed, &mesh->mutex, &until);
}

bool artel__mesh_stopping(const artel_cluster *mesh)
{
    return atomic_load_explicit(&mesh->training.stopping, memory_order_relaxed);
}

bool artel__mesh_leaving(const artel_cluster *mesh)
{
    return atomic_load_explicit(&mesh->training.saving, memory_order_relaxed) == ARTEL__MESH_SAVES_NOW;
}

const atomic_bool *artel__mesh_stop_flag(const artel_cluster *mesh)
{
    return &mesh->training.stopping;
}

void artel__mesh_settle(artel_cluster *mesh)
{
    while (artel__mesh_is_running(mesh) && mesh->orders.due == ARTEL__MESH_STOP &&
           mesh->training.work == ARTEL__MESH_RESTS) {
        artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
        artel__membership_stopped(mesh->machine, artel__now_ns(), mesh->training.rest_step, mesh->training.rest_hash);
    }
    pthread_cond_broadcast(&mesh->changed);
}
