/* SPDX-License-Identifier: Apache-2.0 */
/* The transport between ranks of one process: a fabric of endpoints that lend one another their memory. */
#ifndef ARTEL_NET_INPROC_H
#define ARTEL_NET_INPROC_H

#include "net/transport.h"

typedef struct artel__fabric artel__fabric;

/* A fabric of `ranks` endpoints, all memory taken here. `spin`: waits poll for some microseconds before they sleep;
 * sensible only when every rank has a core for itself. Destroy it (NULL accepted) when no endpoint is in use. */
artel_status artel__fabric_create(artel_context *ctx, int ranks, bool spin, artel__fabric **out);
void artel__fabric_destroy(artel__fabric *fabric);

/* The endpoint of a rank; closing it does nothing, it lives as long as the fabric. */
artel__endpoint *artel__fabric_endpoint(artel__fabric *fabric, int rank);

/* A rank goes for good, with none of its requests posted. The progress of who waits for a barrier message of it, now or
 * later, fails: ARTEL_ERROR_RUN. */
void artel__fabric_leave(artel__fabric *fabric, int rank);

#endif
