/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a connection within this machine: the user whose process holds the other socket.
 *
 * The kernel answers, so nobody can say he is somebody else. Both ends must be on this machine and in this network
 * namespace.
 */
#ifndef ARTEL_NET_OWNER_H
#define ARTEL_NET_OWNER_H

#include <sys/types.h>

#include "net/address.h"

/* The owner of the socket that the peer of this connected TCP socket holds. False: no process holds it any more, or the
 * kernel does not say. Costs a microsecond, or where sock_diag(7) is not to be had the reading of /proc/net/tcp. */
bool artel__net_owner(int socket, uid_t *out);

/* Whether this process may trust that owner: it is this user, or root. */
bool artel__net_owner_is_trusted(uid_t owner);

#endif
