/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a launched job has begun: its tasks are asked (status.h) by a thread of its own, so that the launcher never waits.
 *
 * Life: zero it; start, then look until there is an answer, again and again; fini. Belongs to one thread.
 */
#ifndef ARTEL_CLUSTER_LAUNCH_ASK_H
#define ARTEL_CLUSTER_LAUNCH_ASK_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/status.h"

typedef enum artel__launch_answer {
    ARTEL__LAUNCH_UNKNOWN, /* somebody did not answer, or is just beginning: worth another question */
    ARTEL__LAUNCH_WAITS,   /* all say that they have not begun, and are not about to */
    ARTEL__LAUNCH_BEGUN
} artel__launch_answer;

typedef struct artel__launch_inquiry {
    const artel__status_request *request; /* the caller's, until the end */
    int requests;
    artel__launch_answer answer;
    atomic_bool done, stop;
    pthread_t thread;
    bool running;
} artel__launch_inquiry;

/* What the answer of one task, `count` bytes of JSON, says of the job. */
artel__launch_answer artel__launch_answer_of(artel_context *ctx, const char *answer, size_t count);

/* Asks all of them, one after the other. Nothing may be under way. */
void artel__launch_ask_start(artel__launch_inquiry *inquiry, const artel__status_request *request, int requests);
/* True when there is an answer, or none was asked for (UNKNOWN). Does not block. */
bool artel__launch_ask_look(artel__launch_inquiry *inquiry, artel__launch_answer *out);
/* Waits for the question under way to end. */
void artel__launch_ask_fini(artel__launch_inquiry *inquiry);

#endif
