/* SPDX-License-Identifier: Apache-2.0 */
/* Barrier with agreement: nobody passes before everyone has come, and all learn whether all are well. */
#ifndef ARTEL_COLL_BARRIER_H
#define ARTEL_COLL_BARRIER_H

#include "coll/task.h"

enum {
    ARTEL__BARRIER_ROUNDS = 31
};

typedef struct artel__barrier {
    artel__coll_task base;
    bool ok; /* in: this rank is well; out, when the task is done: all are */
    /* The task's own. */
    int32_t round, rounds;
    uint8_t said[ARTEL__BARRIER_ROUNDS]; /* by round: what this rank knew when it sent */
    artel__net_piece piece[ARTEL__BARRIER_ROUNDS];
    artel__net_request receive[ARTEL__BARRIER_ROUNDS], send[ARTEL__BARRIER_ROUNDS];
} artel__barrier;

void artel__barrier_init(artel__barrier *task, artel__endpoint *endpoint);

#endif
