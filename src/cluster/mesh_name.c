/* SPDX-License-Identifier: Apache-2.0 */
/* Where tasks are: names of hosts, looked up by a thread that may wait for a name server as long as it likes; and,
 * where a launcher tells only where rank 0 is, addresses told by rank 0, who sees whence the others come.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/mesh_impl.h"

void *artel__mesh_name_main(void *user)
{
    artel_cluster *mesh = user;
    pthread_mutex_lock(&mesh->mutex);
    while (mesh->threads.life != ARTEL__MESH_CLOSING) {
        int rank = 0;
        while (rank < mesh->peers && mesh->peer[rank].lookup != ARTEL__MESH_WANTED) rank++;
        if (rank == mesh->peers) {
            pthread_cond_wait(&mesh->threads.names, &mesh->mutex);
            continue;
        }
        artel__mesh_peer *p = &mesh->peer[rank];
        char address[sizeof p->address];
        artel__net_address found;
        memcpy(address, p->address, sizeof address);
        pthread_mutex_unlock(&mesh->mutex);
        bool known = artel__net_address_resolve(mesh->quiet, address, &found) == ARTEL_OK;
        pthread_mutex_lock(&mesh->mutex);
        if (known) p->resolved = found;
        p->lookup = known ? ARTEL__MESH_KNOWN : ARTEL__MESH_NO_HOST;
        artel__mesh_wake(mesh);
    }
    pthread_mutex_unlock(&mesh->mutex);
    return NULL;
}

bool artel__mesh_locate(artel_cluster *mesh, artel__mesh_peer *peer)
{
    if (peer->lookup == ARTEL__MESH_KNOWN) return true;
    if (peer->lookup == ARTEL__MESH_WANTED || !peer->address[0]) return false;
    if (peer->lookup == ARTEL__MESH_UNKNOWN && artel__net_address_parse(peer->address, &peer->resolved)) {
        peer->lookup = ARTEL__MESH_KNOWN;
        return true;
    }
    bool failed = peer->lookup == ARTEL__MESH_NO_HOST;
    peer->lookup = failed ? ARTEL__MESH_UNKNOWN : ARTEL__MESH_WANTED;
    if (!failed) pthread_cond_signal(&mesh->threads.names);
    return false;
}

void artel__mesh_forget_address(artel__mesh_peer *peer)
{
    if (peer->lookup == ARTEL__MESH_KNOWN) peer->lookup = ARTEL__MESH_UNKNOWN;
}

/* Who comes from another host than the one it was found at may have moved (a pod that was made anew): its name is
 * looked up again. */
void artel__mesh_check_address(artel__mesh_peer *peer, const artel__connection *from)
{
    artel__net_address now;
    bool known = peer->lookup == ARTEL__MESH_KNOWN && artel__net_address_parse(artel__connection_address(from), &now);
    if (known && !artel__net_address_same_host(&now, &peer->resolved)) artel__mesh_forget_address(peer);
}

/* -- addresses told -- */

static void say(artel__mesh_link *link, artel__message *message)
{
    uint8_t bytes[4096]; /* artel__message_bound of a message without members, and more */
    size_t count = artel__message_encode(message, bytes, sizeof bytes);
    if (count && !link->closing) artel__connection_say(link->connection, bytes, count);
}

static void say_address(artel_cluster *mesh, artel__mesh_link *link, int of)
{
    const char *text = mesh->peer[of].address;
    artel__message message = {.kind = ARTEL__MESSAGE_ADDRESS,
                              .task = (uint32_t)mesh->self,
                              .subject = (uint32_t)of,
                              .value = {(const uint8_t *)text, (uint32_t)strlen(text)}};
    if (text[0]) say(link, &message);
}

void artel__mesh_say_addresses(artel_cluster *mesh, artel__mesh_link *link)
{
    artel__message here = {.kind = ARTEL__MESSAGE_ADDRESS,
                           .task = (uint32_t)mesh->self,
                           .subject = (uint32_t)mesh->self,
                           .target = (uint64_t)artel__listener_port(mesh->listener)};
    if (!mesh->cluster.rendezvous) return;
    if (mesh->self != 0) {
        say(link, &here);
        return;
    }
    for (int r = 1; r < mesh->peers; r++) say_address(mesh, link, r);
}

/* Rank 0 learns where the sender listens, and tells all. */
static void learn(artel_cluster *mesh, artel__mesh_link *link, uint64_t port)
{
    artel__mesh_peer *p = &mesh->peer[link->peer];
    char address[sizeof p->address];
    const char *from = artel__connection_address(link->connection), *colon = strrchr(from, ':');
    if (port < 1 || port > 65535 || !colon) return;
    snprintf(address, sizeof address, "%.*s:%u", (int)(colon - from), from, (unsigned)port);
    if (strcmp(address, p->address) != 0) {
        memcpy(p->address, address, sizeof address);
        p->lookup = ARTEL__MESH_UNKNOWN;
    }
    for (int i = 0; i < mesh->links.count; i++) {
        artel__mesh_link *other = &mesh->links.link[i];
        if (other->connection && !other->closing && other->peer != link->peer) say_address(mesh, other, link->peer);
    }
}

void artel__mesh_hear_address(artel_cluster *mesh, artel__mesh_link *link, const artel__message *message)
{
    char address[sizeof mesh->peer->address];
    artel__net_address parsed;
    if (!mesh->cluster.rendezvous) return;
    if (mesh->self == 0) {
        learn(mesh, link, message->target);
        return;
    }
    if (link->peer != 0 || message->subject == 0 || message->subject >= (uint32_t)mesh->peers) return;
    if ((int)message->subject == mesh->self || !message->value.count || message->value.count >= sizeof address) return;
    memcpy(address, message->value.data, message->value.count);
    address[message->value.count] = 0;
    artel__mesh_peer *p = &mesh->peer[message->subject];
    if (!artel__net_address_parse(address, &parsed) || strcmp(address, p->address) == 0) return;
    memcpy(p->address, address, sizeof address);
    p->resolved = parsed;
    p->lookup = ARTEL__MESH_KNOWN;
}
