/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers a dataset needs so that nobody who trains on it waits, as the auto-scaler of tf.data service
 * estimates it (tensorflow/core/data/service/auto_scaler.cc): the sum of what clients would take, over what a worker
 * can do on average. A rate that is further from the mean of its kind than the standard deviation is taken for the
 * median. Rates are elements a second; those that are none (they come by network) count as not said.
 */
#ifndef ARTEL_SERVICE_ESTIMATE_H
#define ARTEL_SERVICE_ESTIMATE_H

#include "data/source.h"

enum {
    ARTEL__SERVICE_DEMANDS = 1024, /* of whom it is known how fast they go */
    ARTEL__SERVICE_CREWS = 4096
};

/* Of a process that reads a dataset, whatever connections it has. */
typedef struct artel__service_demand {
    int dataset;
    int64_t client;
    double rate; /* what it would take if it never waited */
    int64_t heard_ns;
} artel__service_demand;

/* What a client has said of its pace; begins cleared. */
typedef struct artel__service_told {
    int64_t rows, ns;
    double demand; /* elements a second, if nobody waited; 0: not known yet */
} artel__service_told;

/* What those that read now would take in a second, by their last batches. A reader that has taken nothing since the
 * last answer (rows of a validation, between two of them) counts for nothing; 0: there is no reader, or not enough was
 * seen of any. */
double artel__service_demand_of(artel__pace *pace, artel__service_told *told);

/* Belongs to one thread; begins cleared. */
typedef struct artel__service_estimate {
    artel__service_demand demand[ARTEL__SERVICE_DEMANDS];
    int demands;
    double clients[ARTEL__SERVICE_DEMANDS], workers[ARTEL__SERVICE_CREWS]; /* rates of a dataset, being counted */
    int client_count, worker_count;
} artel__service_estimate;

/* In place of what the client said before; of too many the one that has said nothing for longest is forgotten. */
void artel__service_estimate_hear(artel__service_estimate *e, const artel__service_demand *demand);
/* Begins with a dataset: the clients of it that were heard of in the last minute. */
void artel__service_estimate_begin(artel__service_estimate *e, int dataset, int64_t now_ns);
/* A worker of it, and what all its threads can do. */
void artel__service_estimate_add(artel__service_estimate *e, double rate);
/* `now`: how many workers there are. 0: there are none, or nothing is known of one of the two kinds; else at least 1
 * and at most 4 * now, now + 500 and 100000. */
int64_t artel__service_estimate_end(artel__service_estimate *e, int64_t now);

#endif
