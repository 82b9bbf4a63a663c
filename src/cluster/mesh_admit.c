/* SPDX-License-Identifier: Apache-2.0 */
/* Who is let in, and what it means when somebody is not.
 *
 * A task of this cluster may connect while a pass of the same number runs here; earlier and later it is asked to come
 * again. Two processes with one index are the machine's affair. What cannot become right by waiting ends the job while
 * it has not begun: what answers at the address of a task that is missing, or somebody refused on the host of one, who
 * (where the job encrypts) has shown a certificate of the cluster. Anybody else is a stranger, and what strangers say
 * ends nothing. Later all are.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/mesh_impl.h"

bool artel__mesh_is_final(artel__net_fault fault)
{
    return fault != ARTEL__FAULT_NONE && fault != ARTEL__FAULT_UNREACHABLE && fault != ARTEL__FAULT_LOST &&
           fault != ARTEL__FAULT_SLOW && fault != ARTEL__FAULT_CROWDED;
}

/* Called by the mesh's thread, which holds the mutex; and for what this side dials, whose peer is known already. */
artel__net_fault artel__mesh_admit(void *user, const artel__hello *peer, char reason[ARTEL__HELLO_REASON])
{
    const artel_cluster *mesh = user;
    int rank = artel__mesh_find(mesh, peer->task);
    if (peer->job == 0) return ARTEL__FAULT_NONE; /* it asks a question, and reaches no more than the desk */
    if (rank < 0) {
        snprintf(reason, ARTEL__HELLO_REASON, "there is no task %.50s in this cluster", peer->task);
        return ARTEL__FAULT_REJECTED;
    }
    if (peer->purpose != ARTEL__NET_CONTROL) return ARTEL__FAULT_NONE;
    if (rank == mesh->self && peer->incarnation != mesh->site.self.incarnation) {
        snprintf(reason, ARTEL__HELLO_REASON, "another process is %.50s already", peer->task);
        return ARTEL__FAULT_REJECTED;
    }
    if (mesh->pass.course == ARTEL__MESH_HOPELESS) {
        snprintf(reason, ARTEL__HELLO_REASON, "the job has failed: %.150s", mesh->pass.cause.text);
        return ARTEL__FAULT_REJECTED;
    }
    if (artel__mesh_is_running(mesh) && peer->generation == mesh->pass.number) return ARTEL__FAULT_NONE;
    snprintf(reason, ARTEL__HELLO_REASON, "%.50s is not ready for it (yet)", mesh->peer[mesh->self].name);
    return ARTEL__FAULT_CROWDED;
}

/* Whether the addresses of all that have not been met are known, or known not to be. */
static bool all_located(const artel_cluster *mesh)
{
    for (int r = 0; r < mesh->peers; r++) {
        const artel__mesh_peer *p = &mesh->peer[r];
        bool open = p->lookup == ARTEL__MESH_UNKNOWN || p->lookup == ARTEL__MESH_WANTED;
        if (r != mesh->self && p->known == ARTEL__MESH_UNMET && p->address[0] && open) return false;
    }
    return true;
}

/* Whether a task that has not been met runs on the host of this address. */
static bool host_is_missing(const artel_cluster *mesh, const char *address)
{
    artel__net_address from;
    if (!artel__net_address_parse(address, &from)) return false;
    for (int r = 0; r < mesh->peers; r++) {
        const artel__mesh_peer *p = &mesh->peer[r];
        if (r != mesh->self && p->known == ARTEL__MESH_UNMET && p->lookup == ARTEL__MESH_KNOWN &&
            artel__net_address_same_host(&p->resolved, &from))
            return true;
    }
    return false;
}

/* Whether that is a task that has not been met, and nobody knows yet where it is to be (only rank 0's address is
 * given). */
static bool is_awaited_from_anywhere(const artel_cluster *mesh, const char *task)
{
    int rank = artel__mesh_find(mesh, task);
    return rank >= 0 && rank != mesh->self && mesh->peer[rank].known == ARTEL__MESH_UNMET &&
           !mesh->peer[rank].address[0];
}

/* Whether a peer listens there. */
static bool is_peer(const artel_cluster *mesh, const char *address)
{
    for (int r = 0; r < mesh->peers; r++) {
        char text[ARTEL__NET_ADDRESS_TEXT];
        const artel__mesh_peer *p = &mesh->peer[r];
        if (p->lookup != ARTEL__MESH_KNOWN) continue;
        artel__net_address_text(&p->resolved, text);
        if (strcmp(text, address) == 0) return true;
    }
    return false;
}

/* The security log. Only marks what is to be judged: any thread, with any lock. */
void artel__mesh_note_incident(void *user, const artel__net_incident *incident)
{
    artel_cluster *mesh = user;
    if (incident->fault == ARTEL__FAULT_CROWDED && incident->task[0]) return; /* early or late, not a stranger */
    if (incident->fault == ARTEL__FAULT_SLOW && is_peer(mesh, incident->address))
        return; /* dialled, and stopped or far away */
    artel__site_log(&mesh->site, incident);
    bool theirs = incident->fault == ARTEL__FAULT_CERTIFICATE || incident->fault == ARTEL__FAULT_NAME ||
                  incident->fault == ARTEL__FAULT_PLAINTEXT || incident->fault == ARTEL__FAULT_VERSION ||
                  incident->fault == ARTEL__FAULT_JOB || incident->fault == ARTEL__FAULT_REJECTED;
    if (!theirs || !incident->proven) return;
    pthread_mutex_lock(&mesh->incident.mutex);
    if (!mesh->incident.text[0]) {
        mesh->incident.unwanted = incident->fault == ARTEL__FAULT_REJECTED;
        snprintf(mesh->incident.task, sizeof mesh->incident.task, "%.60s", incident->task);
        snprintf(mesh->incident.address, sizeof mesh->incident.address, "%s", incident->address);
        snprintf(mesh->incident.text, sizeof mesh->incident.text, "a task at %.60s was refused by %.40s (%s): %.100s",
                 incident->address, mesh->peer[mesh->self].name, artel__net_fault_name(incident->fault),
                 incident->reason);
    }
    pthread_mutex_unlock(&mesh->incident.mutex);
}

void artel__mesh_ignore_incident(void *mesh, const artel__net_incident *incident)
{
    (void)mesh;
    (void)incident;
}

void artel__mesh_refuse(artel_cluster *mesh, const char *text)
{
    if (!artel__mesh_is_running(mesh) || artel__mesh_has_formed(mesh)) return;
    artel__membership_fail(mesh->machine, artel__now_ns(), true, ARTEL_ERROR_INVALID, text);
    artel__mesh_settle(mesh);
}

void artel__mesh_check_incident(artel_cluster *mesh)
{
    char address[ARTEL__NET_ADDRESS_TEXT], text[ARTEL__MESH_WHY], task[ARTEL__MESH_NAME];
    pthread_mutex_lock(&mesh->incident.mutex);
    bool unwanted = mesh->incident.unwanted, early = !unwanted && mesh->incident.text[0] && !all_located(mesh);
    memcpy(text, mesh->incident.text, sizeof text);
    memcpy(address, mesh->incident.address, sizeof address);
    memcpy(task, mesh->incident.task, sizeof task);
    if (!early) mesh->incident.text[0] = 0;
    pthread_mutex_unlock(&mesh->incident.mutex);
    bool believed = unwanted || host_is_missing(mesh, address) || is_awaited_from_anywhere(mesh, task);
    if (text[0] && !early && believed) artel__mesh_refuse(mesh, text);
}
