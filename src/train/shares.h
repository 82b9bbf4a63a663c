/* SPDX-License-Identifier: Apache-2.0 */
/* sync:K at the coordinator: the shares of the step in work, one for each worker; with fewer workers than K there are
 * K, for whoever asks. Results are put beside one another until there are as many as make the step, and added up in the
 * order of shares. Who is given which is the coordinator's (coordinate.c); what parts make of updates, some.h. */
#ifndef ARTEL_TRAIN_SHARES_H
#define ARTEL_TRAIN_SHARES_H

#include "train/servers.h"

typedef struct artel__shares {
    double *sum; /* of a step that is whole: means of losses, then sums, as artel__tally_read has them */
    double *result;
    int means, values;            /* of a result */
    bool has[ARTEL__MOST_SHARES]; /* by share */
    int results, next;            /* next: to be dealt out, where all are for anybody */
    int64_t given, late;          /* of this epoch: shares; those that no part has taken */
} artel__shares;

int artel__shares_count(const artel__service *service);
/* The rows of a batch of `count` that share k has: *first, and how many. */
int64_t artel__shares_rows(const artel__service *service, int64_t count, int k, int64_t *first);
/* Shares that make a step: K, or all where a batch has fewer rows. */
int64_t artel__shares_wanted(const artel__service *service, int64_t count);

/* In a new generation: there are none. Nothing without sync:K. */
artel_status artel__shares_begin(artel__shares *shares, artel__fit *fit, const artel__service *service);
/* Puts a share's result beside those of its step, of a batch of `count` rows. True: the step is whole, in shares->sum,
 * until artel__shares_clear. */
bool artel__shares_add(artel__shares *shares, const artel__service *service, int64_t count, int k,
                       const double *values);
void artel__shares_clear(artel__shares *shares); /* the next step */
void artel__shares_fini(artel__shares *shares, artel_context *ctx);

#endif
