/* SPDX-License-Identifier: Apache-2.0 */
/* A connection between two tasks: a socket, encryption, greeting; afterwards the carrier of a transport's messages, or
 * of control messages.
 *
 * Life: artel__connection_open (or artel__listener_take), then artel__connection_progress whenever the socket is ready
 * or the deadline has passed, until the state is OPEN or LOST; artel__connection_close in any state. Nothing blocks. A
 * connection belongs to one thread at a time. One thread serves any number: poll artel__connection_fd for
 * artel__connection_events until artel__connection_deadline.
 *
 * Failing is ordinary here (a peer that is not up yet), so nothing is recorded in the context: `fault` and `why` of the
 * connection say what happened; what a refused peer was is reported to the site's security log, and the peer is told
 * before the connection ends.
 *
 * Control messages are byte strings of 1 to ARTEL__CONTROL_MOST bytes, summed and numbered, in order, once.
 */
#ifndef ARTEL_NET_CONNECTION_H
#define ARTEL_NET_CONNECTION_H

#include "net/site.h"
#include "net/stream.h"

enum {
    ARTEL__CONTROL_MOST = 65536
};

typedef enum artel__connection_state {
    ARTEL__CONNECTION_CONNECTING,
    ARTEL__CONNECTION_SECURING,
    ARTEL__CONNECTION_GREETING,
    ARTEL__CONNECTION_REFUSING, /* tells the peer why; LOST soon */
    ARTEL__CONNECTION_OPEN,
    ARTEL__CONNECTION_LOST
} artel__connection_state;

typedef struct artel__connection artel__connection;

/* Begins to connect. `task` is who should answer: its certificate must carry this name, and it must call itself so.
 * Fails only for want of memory or sockets (ARTEL_ERROR_NO_MEMORY, ARTEL_ERROR_IO). */
typedef struct artel__connection_request {
    artel__net_address to;
    artel__net_purpose purpose;
    const char *task;
} artel__connection_request;
artel_status artel__connection_open(artel__site *site, const artel__connection_request *request,
                                    artel__connection **out);

/* What a listener asks of its sockets as SO_RCVLOWAT: the head of a TLS record, or more than the first word of a
 * greeting. */
enum {
    ARTEL__CONNECTION_FIRST = 5
};

/* Takes an accepted socket, also when it fails; for listeners. Nothing is looked at before the first progress. */
artel_status artel__connection_accept(artel__site *site, int socket, const artel__net_address *from,
                                      artel__connection **out);

/* For listeners: the peer has said what encryption begins with, and the next progress takes memory and keys for it;
 * that has been taken, and the peer has not answered yet. */
bool artel__connection_knocks(const artel__connection *connection);
bool artel__connection_is_costly(const artel__connection *connection);

/* NULL accepted. What was said and can leave at once does leave. */
void artel__connection_close(artel__connection *connection);

/* Moves the connection on; returns its state. For an open control connection this sends and receives. */
artel__connection_state artel__connection_progress(artel__connection *connection);

artel__connection_state artel__connection_get_state(const artel__connection *connection);
artel__net_fault artel__connection_fault(const artel__connection *connection); /* of a LOST or REFUSING one */
/* One line about it that names both ends: "worker/1 at 10.0.0.2:2222: certificate: ...". */
const char *artel__connection_why(const artel__connection *connection);
bool artel__connection_refused_there(const artel__connection *connection); /* the fault was found by the peer */

int artel__connection_fd(const artel__connection *connection);
short artel__connection_events(const artel__connection *connection);     /* of poll(): POLLIN, POLLOUT */
int64_t artel__connection_deadline(const artel__connection *connection); /* artel__now_ns() time; INT64_MAX: none */

/* Of an OPEN one. */
const artel__hello *artel__connection_peer(const artel__connection *connection);
const char *artel__connection_address(const artel__connection *connection);
bool artel__connection_is_secure(const artel__connection *connection);

/* Queues a control message (copied). ARTEL_AGAIN: the queue is full (256 KiB; a peer that does not read), nothing was
 * taken. Failures: ARTEL_ERROR_RUN (lost), ARTEL_ERROR_INVALID (size), ARTEL_ERROR_NO_MEMORY. */
artel_status artel__connection_say(artel__connection *connection, const void *bytes, size_t count);

/* The next control message that has arrived: valid until the next call with this connection. ARTEL_AGAIN: none (yet, or
 * any more). Messages that came before a loss can still be heard, also when it is this side's sending that failed
 * first. */
artel_status artel__connection_hear(artel__connection *connection, const void **out_bytes, size_t *out_count);

/* After the last message has left: ends this side and reads away what still comes. True when the other end has ended,
 * too; until then, closing could destroy what it has not read, and what this kernel has not sent: a connection that is
 * closed answers with a reset. */
bool artel__connection_part(artel__connection *connection);

/* For transports: the stream of an open data connection, what carries messages (the stream, or memory that both ends
 * share once they have attached; whatever is said on the stream before is apart from it), and numbers that only the two
 * ends know, by which the sums of frames are masked: what this end sends, what it receives. The connection stays the
 * owner. */
artel__net_stream *artel__connection_stream(artel__connection *connection);
artel__net_stream *artel__connection_carrier(artel__connection *connection);
uint32_t artel__connection_mask(const artel__connection *connection, bool sending);
artel__site *artel__connection_site(artel__connection *connection);

/* Reports a damaged or replayed frame to the security log and loses the connection. */
void artel__connection_condemn(artel__connection *connection, const char *reason);

/* The decoder of control messages, for its tests: the state of one direction. */
typedef struct artel__control_header {
    uint32_t length, crc;
} artel__control_header;
bool artel__control_decode(const uint8_t in[8], artel__control_header *out);

#endif
