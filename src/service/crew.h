/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a worker that compute elements. Questions go in, answers come out in any order; the thread of the
 * connections is woken through a descriptor. */
#ifndef ARTEL_SERVICE_CREW_H
#define ARTEL_SERVICE_CREW_H

#include "service/cache.h"
#include "service/dataset.h"
#include "service/line.h"

/* What a worker serves. Rows may be read by any thread. */
typedef struct artel__service_store {
    artel_data *data;
    artel__rows rows;
    artel__service_dataset dataset;
    artel__service_cache *cache; /* or NULL */
    char *here;
    _Atomic uint64_t done, busy_ns; /* elements computed or found, and how long a thread of the crew took for them */
    uint64_t told_done, told_ns;    /* those that `rate` is of: the worker's, as the next */
    double rate;                    /* elements a second of all threads; 0: not known yet */
} artel__service_store;

/* A question, then its answer. */
typedef struct artel__service_job {
    struct artel__service_job *next;
    artel__service_store *store;
    int reader; /* whose it is: the worker's own numbers */
    uint64_t visit, call;
    artel__line_block *answer; /* NULL: no memory for it */
    int64_t count;
    uint64_t rows[]; /* [count], below the dataset's, with a pass or without */
} artel__service_job;

typedef struct artel__service_crew artel__service_crew;

artel_status artel__service_crew_create(artel_context *ctx, int threads, artel__service_crew **out);
/* Waits for what is being computed; NULL accepted. */
void artel__service_crew_destroy(artel__service_crew *crew);
/* Takes the job (from artel__alloc). */
void artel__service_crew_give(artel__service_crew *crew, artel__service_job *job);
/* One that is done, now the caller's; NULL: none. */
artel__service_job *artel__service_crew_take(artel__service_crew *crew);
int artel__service_crew_threads(const artel__service_crew *crew);
int artel__service_crew_fd(const artel__service_crew *crew); /* readable when one is done */
/* Elements computed, and found in the cache. */
void artel__service_crew_counts(artel__service_crew *crew, uint64_t *computed, uint64_t *found);

#endif
