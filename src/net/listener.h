/* SPDX-License-Identifier: Apache-2.0 */
/* The one listening port of a process: takes connections up to their greeting and hands out the open ones.
 *
 * Strangers cost little: at most `most_pending` connections are unfinished at a time and `most_per_host` from one host;
 * beyond that the oldest of the crowded gives way, because an honest peer is through within milliseconds and one that
 * gave way tries again. One that has not sent a first record yet wakes nobody, and costs a socket and a small block. At
 * most 96 handshakes of TLS, 32 of one host, are under way at a time; who comes then queues until one is through, or
 * has taken half a second and gives way. Each has the site's handshake time. No thread of its own: one file descriptor
 * becomes readable when there is something to do.
 */
#ifndef ARTEL_NET_LISTENER_H
#define ARTEL_NET_LISTENER_H

#include "net/connection.h"

typedef struct artel__listener artel__listener;

typedef struct artel__listener_options {
    artel__net_address address; /* port 0: the system chooses */
    int most_pending;           /* 0: 256 */
    int most_per_host;          /* 0: 64 */
} artel__listener_options;

/* Errors: ARTEL_ERROR_IO (the port is taken, no such address), ARTEL_ERROR_NO_MEMORY. The site is borrowed. */
artel_status artel__listener_create(artel__site *site, const artel__listener_options *options, artel__listener **out);
void artel__listener_destroy(artel__listener *listener); /* closes what is pending or not taken; NULL accepted */

/* Readable (level-triggered) when artel__listener_progress has something to do; may itself be polled or put into epoll.
 */
int artel__listener_fd(const artel__listener *listener);
int64_t artel__listener_deadline(
    const artel__listener *listener); /* of the next call of progress for its time; INT64_MAX: none */
int artel__listener_port(const artel__listener *listener);

/* Accepts, moves handshakes on, ends those out of time. Does not block; bounded work a call. */
void artel__listener_progress(artel__listener *listener);

/* The next open connection, now the caller's; NULL: none. Its purpose is in artel__connection_peer. */
artel__connection *artel__listener_take(artel__listener *listener);

/* errno of the last accept, if it found no files or no memory; the port then rests for some milliseconds. Else 0. */
int artel__listener_lack(const artel__listener *listener);

/* Unfinished ones, for tests and status. */
int artel__listener_pending(const artel__listener *listener);

#endif
