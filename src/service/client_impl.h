/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a client, for client.c (life, who works), client_plan.c (what is asked of whom) and client_fetch.c
 * (asking). */
#ifndef ARTEL_SERVICE_CLIENT_IMPL_H
#define ARTEL_SERVICE_CLIENT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "service/client.h"
#include "service/estimate.h"
#include "service/line.h"
#include "service/texts.h"

enum {
    ARTEL__SERVICE_FLIGHTS =
        3, /* runs that one worker is asked for at a time: it computes one, one is on its way each way */
    ARTEL__SERVICE_WORKERS = 1024
};

/* A run that a worker has been asked for. */
typedef struct artel__service_flight {
    uint64_t call;
    int64_t since_ns;
    int64_t rows;
    int run;         /* -1: of an earlier call of fetch, its answer is passed over */
    bool given_back; /* others may be asked, too: who answers first counts */
} artel__service_flight;

typedef struct artel__service_peer {
    char address[ARTEL__NET_ADDRESS_TEXT], task[ARTEL__HELLO_NAME], why[256];
    char *here; /* parts, "0110"; on the heap */
    artel__line line;
    artel__service_flight flight[ARTEL__SERVICE_FLIGHTS];
    int flights;
    int64_t retry_ns; /* not before */
    bool lost;        /* the last try failed */
    bool listed;      /* the dispatcher still names it */
} artel__service_peer;

/* Connections of one thread's calls. Peers are in the order of their addresses. */
typedef struct artel__service_session {
    struct artel__service_session *next;
    artel__service_peer *peer;
    int peers;
    int64_t asked_ns, ask_every_ns; /* the dispatcher */
    uint64_t calls;
} artel__service_session;

struct artel__service_client {
    artel_context *ctx;
    artel_context *quiet; /* of questions that may fail: another thread's failure is not to be forgotten with theirs */
    artel__arena arena;
    artel__service_client_options options;
    artel__service_site site;
    artel__service_dataset dataset;
    artel__texts texts; /* of elements whose reader keeps none himself (data/texts.h), as long as the client */
    uint64_t number;    /* of this client, for the policy `off` */
    artel__pace pace;
    pthread_mutex_t asking; /* one question to the dispatcher at a time; held while it is answered; guards the next */
    artel__service_told told;
    pthread_mutex_t mutex; /* guards what follows; innermost */
    artel__service_session *idle;
    json_t *workers; /* as a dispatcher has named them last; NULL: none has */
    atomic_bool stopped;
};

/* Rows [first, first + count) of the order: one question. */
typedef struct artel__service_run {
    int64_t first, count;
    int part, owner; /* the file it needs; the peer that it is for, or -1 */
    bool asked, done;
} artel__service_run;

typedef struct artel__service_plan {
    const uint64_t *rows; /* as asked */
    int64_t count;
    int64_t *order; /* places in rows[], run by run; on the heap with the runs */
    artel__service_run *run;
    int runs, done;
} artel__service_plan;

/* Cuts rows into runs by the dataset's policy. */
artel_status artel__service_plan_make(artel__service_client *client, const artel__service_session *session,
                                      const uint64_t *rows, int64_t count, artel__service_plan *out);
void artel__service_plan_free(artel_context *ctx, artel__service_plan *plan);
/* Whether the peer may be asked for the run now. */
bool artel__service_may_do(const artel__service_session *session, const artel__service_peer *peer,
                           const artel__service_run *run);

/* Who works, by the dispatcher. With `waits` until it answers, for as long as the options say. */
artel_status artel__service_ask_who(artel__service_client *client, artel__service_session *session, bool waits);
void artel__service_peer_close(artel_context *ctx, artel__service_peer *peer);

#endif
