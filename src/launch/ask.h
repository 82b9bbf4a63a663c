/* SPDX-License-Identifier: Apache-2.0 */
/* What a launched job is about: its tasks are asked (status.h) by a thread of its own, so that the launcher never
 * waits.
 *
 * Life: zero it; start, then look until there is an answer, again and again; fini. Belongs to one thread.
 */
#ifndef ARTEL_LAUNCH_ASK_H
#define ARTEL_LAUNCH_ASK_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/status.h"

/* What tasks say; a set where several do. */
typedef enum artel__launch_answer {
    ARTEL__LAUNCH_UNKNOWN = 1, /* no answer, or just beginning: worth another question */
    ARTEL__LAUNCH_LOADS = 2,   /* does not look for the others yet */
    ARTEL__LAUNCH_WAITS = 4,   /* looks for them, and has not begun */
    ARTEL__LAUNCH_LOST = 8,    /* looks for them again */
    ARTEL__LAUNCH_BEGUN = 16
} artel__launch_answer;

typedef struct artel__launch_inquiry {
    const artel__status_request *request; /* the caller's, until the end */
    int requests;
    unsigned answers; /* a set */
    atomic_bool done, stop;
    pthread_t thread;
    bool running;
} artel__launch_inquiry;

/* What the answer of one task, `count` bytes of JSON, says of the job. */
artel__launch_answer artel__launch_answer_of(artel_context *ctx, const char *answer, size_t count);

/* Asks one after the other, up to the first that has begun. Nothing may be under way. */
void artel__launch_ask_start(artel__launch_inquiry *inquiry, const artel__status_request *request, int requests);
/* True when there are answers, or none were asked for (UNKNOWN). Does not block. */
bool artel__launch_ask_look(artel__launch_inquiry *inquiry, unsigned *out);
/* Waits for the question under way to end. */
void artel__launch_ask_fini(artel__launch_inquiry *inquiry);

#endif
