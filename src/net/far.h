/* SPDX-License-Identifier: Apache-2.0 */
/* Transports between hosts: drivers (net/transport.h) whose endpoints are given their connections one by one, can lose
 * a peer, and go on with those who are left.
 *
 * A descriptor says what such a driver can do beside sending and receiving; its endpoints lead to it
 * (artel__transport_ops.far), so that whoever has an endpoint needs no name. Who opens endpoints finds the descriptor
 * in transports.list by its name, or takes the first. Nothing here is called for a message.
 *
 * An endpoint begins without connections, in a generation. For each peer a data connection is made, encrypted and
 * greeted (net/connection.h), which then is the driver's: to send over, or as the way on which both sides agree about
 * another one. A peer without a connection, and one whose connection has ended, is lost.
 *
 * Adding one: a file with the driver's artel__transport_ops and `const artel__far_transport artel__far_<name>`, and a
 * line in transports.list; tests/net/test_transport.c and tests/net/test_far.c run over the list.
 */
#ifndef ARTEL_NET_FAR_H
#define ARTEL_NET_FAR_H

#include "net/connection.h"
#include "net/transport.h"

typedef struct artel__far_options {
    int rank, ranks;
    uint32_t generation; /* messages of older ones are dropped; 0: that of the first message */
    size_t window;       /* bytes a peer that are kept of messages nobody asked for yet; 0: the driver's choice */
    int64_t spin_ns;     /* a wait polls for this long before it sleeps; sensible when every rank has a core for itself.
                            A driver may find out better where it shares memory with its peers */
} artel__far_options;

typedef struct artel__far_transport {
    const char *name, *doc;
    /* An endpoint without connections; artel__net_close frees it. Its ops' `far` is this descriptor. */
    artel_status (*create)(artel_context *ctx, const artel__far_options *options, artel__endpoint **out);
    /* Gives the endpoint its connection to a peer: an OPEN one with purpose DATA, taken in any case. Replaces a lost
     * one; ARTEL_ERROR_INVALID when the peer has a good one or the connection is not usable. */
    artel_status (*attach)(artel__endpoint *endpoint, int peer, artel__connection *connection);
    bool (*is_attached)(artel__endpoint *endpoint, int peer); /* also when it has been lost since */
    bool (*is_lost)(artel__endpoint *endpoint, int peer);
    /* Declares a peer lost (the membership's verdict on one that is silent). Any thread; wakes a wait. */
    void (*lose)(artel__endpoint *endpoint, int peer, const char *reason);
    /* Ends a wait that is going on, or the next one. Any thread, while the endpoint lives. */
    void (*wake)(artel__endpoint *endpoint);
    /* The only peer from which a posted message has yet to come; -1: none or several. Any thread. */
    int (*awaited)(artel__endpoint *endpoint);
    /* A peer to which bytes are on their way that its host has not acknowledged for that long, though they were sent
     * again; -1: none. A peer that is stopped, or computes and reads nothing, acknowledges all the same; this is the
     * way's fault. Any thread. NULL: the driver cannot tell (none ever is). */
    int (*unheard)(artel__endpoint *endpoint, int64_t limit_ns);
} artel__far_transport;

/* Those of transports.list; NULL ends. */
extern const artel__far_transport *const artel__far_transports[];

/* By name; NULL: the first of the list. A context knows its own (artel__extension_add, kind ARTEL__FAR_EXTENSION).
 * ARTEL_ERROR_INVALID with the nearest name. */
#define ARTEL__FAR_EXTENSION "transport"
artel_status artel__far_find(artel_context *ctx, const char *name, const artel__far_transport **out);

/* -- of an endpoint that such a transport has created -- */

static inline artel_status artel__far_attach(artel__endpoint *endpoint, int peer, artel__connection *connection)
{
    return endpoint->ops->far->attach(endpoint, peer, connection);
}

static inline bool artel__far_is_attached(artel__endpoint *endpoint, int peer)
{
    return endpoint->ops->far->is_attached(endpoint, peer);
}

static inline bool artel__far_is_lost(artel__endpoint *endpoint, int peer)
{
    return endpoint->ops->far->is_lost(endpoint, peer);
}

static inline void artel__far_lose(artel__endpoint *endpoint, int peer, const char *reason)
{
    endpoint->ops->far->lose(endpoint, peer, reason);
}

static inline void artel__far_wake(artel__endpoint *endpoint)
{
    endpoint->ops->far->wake(endpoint);
}

static inline int artel__far_awaited(artel__endpoint *endpoint)
{
    return endpoint->ops->far->awaited(endpoint);
}

static inline int artel__far_unheard(artel__endpoint *endpoint, int64_t limit_ns)
{
    const artel__far_transport *far = endpoint->ops->far;
    return far->unheard ? far->unheard(endpoint, limit_ns) : -1;
}

#endif
