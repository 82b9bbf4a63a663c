/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the coordinator's thread: what it knows of the generation that goes on, what it asks of
 * servers (command.c), and dealing (deal.c). */
#ifndef ARTEL_FUNCTION_DRIVER_H
#define ARTEL_FUNCTION_DRIVER_H

#include "function/coordinator_impl.h"

typedef struct artel__driver_held { /* a call of a worker */
    artel__lane_slot call;
    artel__closure *closure; /* that is leaving */
    uint64_t arrived;
    enum {
        ARTEL__HELD_IDLE,
        ARTEL__HELD_EXPECTED,
        ARTEL__HELD_HELD,
        ARTEL__HELD_LEAVING
    } state;
} artel__driver_held;

typedef struct artel__driver_client {
    artel__lane lane;
    artel__driver_held *held;
    int out;   /* closures that it has */
    bool told; /* that there are no more */
} artel__driver_client;

typedef struct artel__driver {
    artel_coordinator *c;
    const artel__closure_job *j;
    artel__driver_client *client; /* by rank */
    artel__lane_slot call;
    uint64_t arrivals;
    size_t most;
    int64_t said_ns;
} artel__driver;

/* driver.c. The job cannot go on; the first reason counts. Both return a failure. */
artel_status artel__driver_fatal(artel_coordinator *coordinator, artel_status status, const char *what);
artel_status artel__driver_misfit(const artel__driver *driver, const char *who);

/* command.c. A call to the server of a rank, and its answer; `asked` when it has been read. */
artel_status artel__driver_ask(artel__driver *driver, int rank, const artel__lane_head *head,
                               const artel__net_piece *piece, artel__lane_head *answer);
artel_status artel__driver_asked(artel__driver *driver, int rank, artel_status status);
/* holders.c: asks each server what it has, and says who is head and who has a copy of each part. *lost: the number of a
 * server without which a part is nowhere, and nothing has been said; -1: all are held. */
artel_status artel__driver_hold(artel__driver *driver, int *lost);
/* What the caller waits for, if it waits. What a lost task interrupts is done in the next generation. */
artel_status artel__driver_command(artel__driver *driver);

/* deal.c. Gives waiting closures to workers that ask. */
artel_status artel__deal(artel__driver *driver);
/* Whether the next one may go: servers know closures by bits from the oldest on that is out. With the mutex held. */
bool artel__deal_may(const artel_coordinator *coordinator);
/* Takes what a worker has sent; *did: there was something. */
artel_status artel__deal_look(artel__driver *driver, artel__driver_client *who, bool *did);
/* Of the workers that ask, the one that has the fewest closures; of equal ones who has waited longest. NULL: nobody
 * asks. */
artel__driver_held *artel__deal_next(const artel__driver *driver, artel__driver_client **whose);
/* What was sent has left, or never will. */
void artel__deal_left(artel__driver *driver, artel__driver_held *held);
/* Tells workers that there is nothing more. *all: all have heard it. */
artel_status artel__deal_end(artel__driver *driver, bool *all);

#endif
