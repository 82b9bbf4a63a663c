/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement on what is called: every member learns whether all have called the same.
 *
 * It travels beside the collective, on messages of its own, so it costs no time where the data takes longer, and a
 * member whose data cannot arrive is told all the same. Each member sends ceil(log2 n) messages of 64 bytes over as
 * many connections and receives as many over others. It is a barrier, too. */
#ifndef ARTEL_COLL_AGREE_H
#define ARTEL_COLL_AGREE_H

#include "base/text.h"
#include "coll/combine.h"
#include "coll/pattern/schedule.h"
#include "coll/team.h"

enum {
    ARTEL__AGREEMENT_ROUNDS = 31,
    ARTEL__AGREEMENT_BYTES = 64
};

/* What a member has called. All fields are compared. */
typedef struct artel__coll_signature {
    uint8_t kind, reduction, dtype;
    uint8_t refused; /* - artel_status: this member's call is wrong in itself, and nothing else of it is known */
    int32_t root;
    int64_t count;
    uint64_t detail; /* a hash of what else is equal on all members: counts, a permutation */
} artel__coll_signature;

typedef struct artel__call_seen {
    int32_t position; /* -1: none */
    artel__coll_signature call;
} artel__call_seen;

typedef struct artel__agreement {
    const artel__team *team;
    artel__frame frame;
    /* in: `first` is this member's own; out, when it is done: the call of member 0, and of the first one that called
     * something else (position -1: nobody did). The same on all members. */
    artel__call_seen first, other;
    /* Its own. */
    int32_t round, rounds, posted;
    uint8_t said[ARTEL__AGREEMENT_ROUNDS][ARTEL__AGREEMENT_BYTES];
    artel__net_piece piece[ARTEL__AGREEMENT_ROUNDS];
    artel__net_request receive[ARTEL__AGREEMENT_ROUNDS], send[ARTEL__AGREEMENT_ROUNDS];
} artel__agreement;

/* As in task.h: post begins, progress moves (ARTEL_AGAIN: not done), finalize ends it, done or not. */
artel_status artel__agreement_post(artel__agreement *a);
artel_status artel__agreement_progress(artel__agreement *a);
void artel__agreement_finalize(artel__agreement *a);
/* A rank whose word is missing; -1: none. */
int artel__agreement_waits_for(const artel__agreement *a);

/* "all-reduce (sum) of 10 x float32". */
void artel__coll_signature_text(const artel__coll_signature *call, artel__text *out);

#endif
