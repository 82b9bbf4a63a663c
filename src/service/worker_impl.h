/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a worker, for worker.c (the loop, readers) and worker_join.c (the dispatcher). */
#ifndef ARTEL_SERVICE_WORKER_IMPL_H
#define ARTEL_SERVICE_WORKER_IMPL_H

#include <poll.h>

#include "net/listener.h"
#include "service/crew.h"
#include "service/worker.h"

enum {
    ARTEL__WORKER_READERS = 2048,
    ARTEL__WORKER_JOBS = 8 /* of one reader at a time, with answers that have not left */
};

/* A client's connection. */
typedef struct artel__reader {
    artel__line line; /* ctx NULL: free */
    artel__service_store *store;
    uint64_t visit; /* so that an answer to a former one is not taken for this one's */
    int jobs;
    bool closing;
} artel__reader;

typedef struct artel__worker {
    artel_context *ctx;
    const artel__worker_options *options;
    artel__arena arena;
    artel__service_site site;
    artel__listener *listener;
    artel__service_crew *crew;
    artel__service_store *store;
    int stores;
    char address[ARTEL__NET_ADDRESS_TEXT];
    artel__line dispatcher;
    int64_t join_at_ns, beat_at_ns;
    bool opened, welcome, told;
    artel__reader reader[ARTEL__WORKER_READERS];
    int readers; /* in use: below this number */
    uint64_t visits;
} artel__worker;

/* Connects, registers, beats. A failure ends the worker. */
artel_status artel__worker_join(artel__worker *w, int64_t now);

#endif
