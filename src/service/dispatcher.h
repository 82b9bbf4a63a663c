/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher of a data service: knows which data is served and who computes it, and moves none of it.
 *
 * Words are JSON objects with a member "say":
 *   worker  -> work {address, version}           <- datasets [{name, spec, policy}], refused {why}
 *   worker  -> ready {datasets, here}            <- welcome, refused {why}: its data is another than the others'
 *   worker  -> beat {computed, found, rates}     <- beat
 *   client  -> open {dataset, client, demand}    <- dataset {dataset, workers: [{address, task, here}]}; without
 * "dataset" as long as nobody has described it; refused {why} anybody -> status                            <- status
 * {datasets, workers, ...} What the first worker says of a dataset holds from then on, over restarts, as long as there
 * is the journal; whoever has other data is refused. Belongs to one thread, which artel__dispatcher_run takes until the
 * context is cancelled.
 */
#ifndef ARTEL_SERVICE_DISPATCHER_H
#define ARTEL_SERVICE_DISPATCHER_H

#include "service/access.h"
#include "service/dataset.h"

typedef struct artel__dispatcher_options {
    artel__net_address listen;
    artel__service_access access;
    const char *journal; /* a file; NULL: a dispatcher that dies forgets */
    const char *const *name, *const *spec;
    int datasets;
    artel__service_policy policy; /* of all */
    void (*listening)(void *user, const char *address);
    void *user;
} artel__dispatcher_options;

/* Errors: those of listening, of the journal (also: it tells of other specifications). Ends with ARTEL_OK when
 * cancelled. */
artel_status artel__dispatcher_run(artel_context *ctx, const artel__dispatcher_options *options);

#endif
