/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of a data service: opens what the dispatcher serves, on its own machine, and computes elements for whoever
 * asks.
 *
 * It knows no epoch and no order: a question names elements, the answer holds them. So it may come, go and be killed at
 * any time. It registers again with a dispatcher that was restarted, and goes on answering clients while there is none.
 * Belongs to one thread.
 */
#ifndef ARTEL_SERVICE_WORKER_H
#define ARTEL_SERVICE_WORKER_H

#include "service/access.h"

typedef struct artel__worker_options {
    const char *dispatcher; /* HOST:PORT */
    artel__net_address listen;
    const char
        *address; /* where clients reach it; NULL: the address from which it reaches the dispatcher, and its port */
    artel__service_access access;
    int threads;          /* 0: the cores that this process may use */
    uint64_t cache_bytes; /* of each dataset; 0: none */
    void (*ready)(void *user, const char *address);
    void *user;
} artel__worker_options;

/* Ends with ARTEL_OK when cancelled. Errors: ARTEL_ERROR_INVALID (refused by the dispatcher: certificate, other data),
 * those of opening the data. A dispatcher that is not there is waited for. */
artel_status artel__worker_run(artel_context *ctx, const artel__worker_options *options);

#endif
