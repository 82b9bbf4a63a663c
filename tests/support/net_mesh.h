/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks of a group in one process, connected over loopback by a transport between hosts (TCP unless said), plain
 * or encrypted, or through shared memory. */
#ifndef SUPPORT_NET_MESH_H
#define SUPPORT_NET_MESH_H

#include "net/far.h"
#include "net/listener.h"

enum {
    SUPPORT_MOST_RANKS = 16
};

typedef struct support_mesh {
    artel_context *ctx;
    int ranks;
    bool secure, shares;
    const artel__far_transport *transport; /* NULL: the first of the list */
    size_t window;                         /* 0: the driver's */
    const char *host[SUPPORT_MOST_RANKS];  /* the address of each rank; NULL: 127.0.0.1 */
    const char *space[SUPPORT_MOST_RANKS]; /* the network namespace (of `ip netns`) its sockets are made in; NULL: where
                                              the thread is */
    int64_t spin_ns;
    char folder[64];
    artel__site site[SUPPORT_MOST_RANKS];
    artel__tls tls[SUPPORT_MOST_RANKS];
    artel__listener *listener[SUPPORT_MOST_RANKS];
    artel__endpoint *endpoint[SUPPORT_MOST_RANKS];
    int incidents; /* reported to any security log */
    artel__net_fault fault;
    bool proven;
    char reason[512];
} support_mesh;

/* The caller fills in ctx, ranks, secure, shares, transport, window, host, space; connects every pair. With namespaces
 * (needs root) the calling thread is left in one of them. */
artel_status support_mesh_open(support_mesh *mesh);
/* Closes what is left; endpoints that the test closed must have been cleared. */
void support_mesh_close(support_mesh *mesh);

/* Sites and listeners without connections: task "worker-<rank>" of job 7. */
artel_status support_mesh_listen(support_mesh *mesh);
/* Begins a connection between two ranks. */
artel_status support_mesh_dial(support_mesh *mesh, int from, int to, artel__net_purpose purpose,
                               artel__connection **out);
/* Moves a connection and the listener of `to` until the connection is open or lost and so is the other end; returns the
 * other end when it is open. */
artel__connection *support_mesh_meet(support_mesh *mesh, int to, artel__connection *from);

#endif
