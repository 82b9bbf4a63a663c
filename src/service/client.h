/* SPDX-License-Identifier: Apache-2.0 */
/* Reading elements from a data service.
 *
 * A call of fetch deals its elements to the workers in small runs, a few to each at a time, and gives a worker another
 * run when it has answered, so that fast ones do more. A run whose worker dies, or says nothing for some seconds, is
 * given to another one; an answer that comes twice counts once. So each element that is asked for comes exactly once,
 * whoever dies, and its values are a function of its number alone. Only who asks knows of an epoch: what has been
 * consumed is in his checkpoint.
 *
 * The dispatcher is asked who works when the client opens, when somebody is missing, and every few seconds; without it
 * a client goes on with the workers it knows. Threads: fetch may be called by any number of threads at once; each has a
 * session, with connections of its own.
 */
#ifndef ARTEL_SERVICE_CLIENT_H
#define ARTEL_SERVICE_CLIENT_H

#include "data/source.h"
#include "service/access.h"
#include "service/dataset.h"

typedef struct artel__service_client artel__service_client;

typedef struct artel__service_client_options {
    const char *address; /* of the dispatcher, HOST:PORT */
    const char *dataset; /* "": the only one */
    artel__service_access access;
    int64_t wait_ns; /* how long to wait for the dispatcher, and for a worker when there is none; 0: a minute */
} artel__service_client_options;

/* Waits until a worker has described the dataset. Errors: ARTEL_ERROR_RUN (not in time), ARTEL_ERROR_INVALID (refused).
 */
artel_status artel__service_client_open(artel_context *ctx, const artel__service_client_options *options,
                                        artel__service_client **out);
void artel__service_client_close(artel__service_client *client); /* NULL accepted */
/* Fetches that run, and all to come, end soon with ARTEL_ERROR_CANCELLED. Thread-safe. */
void artel__service_client_stop(artel__service_client *client);
const artel__service_dataset *artel__service_client_dataset(const artel__service_client *client);
/* Where those that read write down how fast they go, which the dispatcher is told. Thread-safe. */
artel__pace *artel__service_client_pace(artel__service_client *client);

/* Takes one element as it arrives: `row` is its block of dataset->row_bytes; `at` its place in rows[]. */
typedef void artel__service_take_fn(void *user, int64_t at, const uint8_t *row);
/* Errors: those of the worker that read an element (INVALID, CORRUPT, ...), ARTEL_ERROR_RUN (nobody can compute it),
 * CANCELLED. Numbers below dataset->rows, with a pass (artel__row_in_pass) or without. Thread-safe. */
artel_status artel__service_client_fetch(artel__service_client *client, const uint64_t *rows, int64_t count,
                                         artel__service_take_fn *take, void *user);

#endif
