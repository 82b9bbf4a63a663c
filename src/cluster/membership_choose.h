/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the tasks that reported become the members of the next generation, from which step, who copies from whom.
 *
 * A pure function of the reports. Members are mutually reachable: a pair counts when each has had an answer from the
 * other since the proposal. They are taken greedily: the coordinator, former members before newcomers, the better
 * connected first, lower tasks first. (A largest such set is not worth looking for: it differs only when several pairs
 * are cut.)
 *
 * Whoever holds the step to go on from says in which arithmetic it was computed, and all go on in that. Where it is
 * open, as in the beginning, it becomes the one that every member's machine is made for: tiles where all have AMX, else
 * chain.
 */
#ifndef ARTEL_CLUSTER_MEMBERSHIP_CHOOSE_H
#define ARTEL_CLUSTER_MEMBERSHIP_CHOOSE_H

#include "cluster/message.h"

/* A task that reported. */
typedef struct artel__candidate {
    uint32_t task;
    uint64_t incarnation, step, hash;
    uint32_t replicas;
    uint32_t arithmetic, best; /* as in a REPORT */
    bool former;               /* a member of the generation before */
    bool leaving;              /* may give its state, is no member */
    const uint64_t *reach;     /* set of tasks that answered it: bit t % 64 of word t / 64 */
    /* Filled. */
    bool chosen, full; /* full: left out for want of shards only */
    uint32_t degree;
} artel__candidate;

typedef struct artel__choice {
    uint64_t step; /* T */
    uint32_t members, replicas;
    uint32_t arithmetic, best; /* of all members, as in a RECORD */
    bool full;                 /* somebody was left out for want of shards */
    bool conflict;             /* equal steps, unequal hashes: nothing else is filled */
    uint32_t culprit, accuser; /* tasks; the culprit's hash is that of the fewest */
    uint64_t conflict_step;
} artel__choice;

typedef struct artel__choice_request {
    artel__candidate *candidate; /* ascending by task */
    uint32_t count;
    uint32_t coordinator;  /* one of them */
    uint32_t shards;       /* V */
    uint32_t turn;         /* another number, other donors: a copy that failed is not tried again from the same one */
    uint32_t *order;       /* room for `count` numbers */
    artel__member *member; /* receives the members, ascending */
} artel__choice_request;

void artel__membership_choose(const artel__choice_request *request, artel__choice *out);

static inline bool artel__bit(const uint64_t *set, uint32_t task)
{
    return set[task / 64] >> (task % 64) & 1;
}

static inline void artel__bit_set(uint64_t *set, uint32_t task)
{
    set[task / 64] |= (uint64_t)1 << (task % 64);
}

static inline void artel__bit_clear(uint64_t *set, uint32_t task)
{
    set[task / 64] &= ~((uint64_t)1 << (task % 64));
}

#endif
