/* SPDX-License-Identifier: Apache-2.0 */
/* The one interface between collectives and whatever carries their messages.
 *
 * An endpoint is one rank's side of a group of `ranks`. Messages are requests in the caller's memory: a send lends its
 * pieces until it is done, a receive names the message it wants and, once done, borrows the bytes until it is released.
 * Where sender and receiver share memory the borrowed bytes are the sender's own (nothing is copied); a driver for a
 * network borrows its own receive buffer to the caller. So every collective is written once, for both. A sender in
 * another process does not wait for its reader when it withdraws: the reader is told when it releases.
 *
 * Life of a request: zero it, fill the caller's fields, post, let artel__net_progress run until it is done; for a
 * receive, artel__net_release. A request that is not done is ended with artel__net_withdraw; afterwards no peer touches
 * its memory, or what it still reads there is void to it.
 * Requests and pieces stay where they are while posted. A send moves while its own rank progresses or waits;
 * once done it needs neither. One that is withdrawn before it is done may arrive or not.
 *
 * Threads: an endpoint and its requests belong to one thread; only artel__net_cancel may be called from any.
 *
 * Adding a driver: a file with an artel__transport_ops and a function that opens it, and a row in
 * tests/net/test_transport.c; one between hosts is in a list instead (net/far.h), and the tests follow.
 */
#ifndef ARTEL_NET_TRANSPORT_H
#define ARTEL_NET_TRANSPORT_H

#include <stdatomic.h>

#include "net/frame.h"

typedef struct artel__net_piece {
    const void *data;
    size_t bytes;
} artel__net_piece;

typedef enum artel__net_state {
    ARTEL__NET_IDLE, /* not posted, withdrawn, or released */
    ARTEL__NET_POSTED,
    ARTEL__NET_TAKEN, /* a send that its receiver is reading */
    ARTEL__NET_DONE   /* a send: its memory is the caller's again; a receive: the message is here */
} artel__net_state;

typedef struct artel__net_request {
    /* The caller's. */
    int peer;                      /* destination or source */
    artel__frame frame;            /* which message; a receive that is done holds the sender's */
    const artel__net_piece *piece; /* of a send; of a receive that is done: what was sent, in the pieces in which it was
                                      sent or in one, each part then starting at a multiple of 8 bytes */
    int pieces;
    const artel__net_piece *into; /* of a receive: where the caller would like the message, in the pieces in which it is
                                     sent (the data is written to); NULL: anywhere. A driver may put it there, and
                                     `piece` is `into` then */
    int intos;
    bool overtakes; /* of a send: somebody waits for it now. A driver may send it before others to the same peer that
                       are not on their way yet and do not overtake */
    uint64_t most;  /* of a receive: bytes that the message may have at the most, 0: any. A longer one is done with
                      its length and without pieces; so a peer cannot make a rank take more memory than it
                      expects to need */
    /* The driver's. */
    _Atomic int state;
    bool sending;
    struct artel__net_request *next, *partner;
    void *held;    /* a driver's buffer that the message lies in */
    uint64_t mark; /* a driver's place in its stream */
} artel__net_request;

enum {
    ARTEL__NET_LENDS =
        1, /* receives borrow the sender's own memory: receiving is free, copying is the reader's choice */
    ARTEL__NET_CHECKS = 2 /* payloads are summed (crc32c) */
};

typedef struct artel__endpoint artel__endpoint;

typedef struct artel__transport_ops {
    const char *name;
    uint32_t caps; /* ARTEL__NET_... */
    /* Neither blocks. They fail only when the peer is known to be lost. */
    artel_status (*post_send)(artel__endpoint *endpoint, artel__net_request *request);
    artel_status (*post_receive)(artel__endpoint *endpoint, artel__net_request *request);
    /* Moves what can be moved, without blocking. ARTEL_ERROR_CANCELLED while the endpoint is cancelled. */
    artel_status (*progress)(artel__endpoint *endpoint);
    /* Blocks until something has happened since the last progress began (a request of this endpoint changed, cancel).
     */
    void (*wait)(artel__endpoint *endpoint);
    artel_status (*release)(artel__endpoint *endpoint, artel__net_request *request);
    void (*withdraw)(artel__endpoint *endpoint, artel__net_request *request);
    void (*cancel)(artel__endpoint *endpoint);
    void (*resume)(artel__endpoint *endpoint);
    /* Whether a peer in another process reads lendable memory (base/lend.h) of this one where it lies. NULL: none does.
     */
    bool (*has_borrower)(artel__endpoint *endpoint);
    void (*close)(artel__endpoint *endpoint);
    /* What it can do between hosts (net/far.h). NULL: its endpoints are connected from the start, and stay so. */
    const struct artel__far_transport *far;
} artel__transport_ops;

/* What every driver's endpoint starts with. */
struct artel__endpoint {
    const artel__transport_ops *ops;
    artel_context *ctx;
    int rank, ranks;
    /* Why it is cancelled: 1 + the rank that did so first or was lost, and above ARTEL__NET_BLAME_BITS its status,
     * negated; 0: it is not, or nobody knows. For messages: nothing depends on it. */
    _Atomic uint32_t blame;
};

enum {
    ARTEL__NET_BLAME_BITS = 16
};

/* The first one counts. */
static inline void artel__net_blame(artel__endpoint *endpoint, int rank, artel_status status)
{
    uint32_t nobody = 0, one = (uint32_t)(1 + rank) | (uint32_t)(status < 0 ? -(int)status : 0)
                                                          << ARTEL__NET_BLAME_BITS;
    atomic_compare_exchange_strong(&endpoint->blame, &nobody, one);
}

/* The rank; -1: nobody knows. */
static inline int artel__net_blamed(artel__endpoint *endpoint, artel_status *status)
{
    uint32_t blame = atomic_load(&endpoint->blame);
    *status = (artel_status) - (int)(blame >> ARTEL__NET_BLAME_BITS);
    return (int)(blame & ((1U << ARTEL__NET_BLAME_BITS) - 1)) - 1;
}

artel_status artel__net_send(artel__endpoint *endpoint, artel__net_request *request);
artel_status artel__net_receive(artel__endpoint *endpoint, artel__net_request *request);

static inline artel_status artel__net_progress(artel__endpoint *endpoint)
{
    return endpoint->ops->progress(endpoint);
}

static inline void artel__net_wait(artel__endpoint *endpoint)
{
    endpoint->ops->wait(endpoint);
}

static inline bool artel__net_done(const artel__net_request *request)
{
    return atomic_load_explicit(&request->state, memory_order_acquire) == ARTEL__NET_DONE;
}

/* Gives a received message back; for the sender, its send is done from here on. ARTEL_ERROR_CANCELLED: its sender has
 * taken its memory back while it was being read here, so what has been made of it must not be used (the request is idle
 * all the same). */
artel_status artel__net_release(artel__endpoint *endpoint, artel__net_request *request);

/* Ends a request in whatever state it is (idle and done ones too). For a send this may wait for a receiver that is
 * reading it, and for nothing else: withdraw one's receives first. */
void artel__net_withdraw(artel__endpoint *endpoint, artel__net_request *request);

/* Where part `index` of a received message lies, when the parts before it are `offset` bytes long, padding included
 * (artel__net_padded). */
const void *artel__net_part(const artel__net_request *request, int index, size_t offset);

/* The length of a part in a message that travels in one piece. */
static inline size_t artel__net_padded(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* The payload length of a message: its parts, padded. */
size_t artel__net_length(const artel__net_piece *piece, int pieces);

/* Makes every waiting or later progress of this endpoint return ARTEL_ERROR_CANCELLED, until resumed, and that of the
 * other ranks as soon as the transport can tell them (inproc: at once). Any thread. */
static inline void artel__net_cancel(artel__endpoint *endpoint)
{
    artel__net_blame(endpoint, endpoint->rank, ARTEL_OK);
    endpoint->ops->cancel(endpoint);
}

/* Ends this endpoint's cancellation; when none of its requests is posted and no rank will cancel for the old reason. */
static inline void artel__net_resume(artel__endpoint *endpoint)
{
    atomic_store(&endpoint->blame, 0);
    endpoint->ops->resume(endpoint);
}

static inline bool artel__net_has_borrower(artel__endpoint *endpoint)
{
    return endpoint->ops->has_borrower && endpoint->ops->has_borrower(endpoint);
}

/* NULL accepted. None of the endpoint's requests may be posted. */
void artel__net_close(artel__endpoint *endpoint);

#endif
