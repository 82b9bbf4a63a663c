/* SPDX-License-Identifier: Apache-2.0 */
/* Where a task listens, and where it reaches itself. */
#ifndef ARTEL_CLUSTER_LISTEN_H
#define ARTEL_CLUSTER_LISTEN_H

#include "cluster/cluster.h"
#include "net/address.h"

/* `bind`, an address of this machine; NULL: the address by which the task is known when that is of the loopback, else
 * all of its family. Errors: ARTEL_ERROR_INVALID, `bind` is no address. */
artel_status artel__listen_address(artel_context *ctx, const artel__host_port *known, const char *bind, int port,
                                   artel__net_address *out);
/* Who listens there, on that port, as seen from the same machine. */
void artel__listen_reach(const artel__net_address *listening, int port, artel__net_address *out);

#endif
