/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that an update wants of all parts: squared norms, where all gradients together are clipped by a norm that no
 * worker knows (of the mean of some workers' in sync:K, of the sum of several steps); and in sync:K the gate of a
 * scaled loss, for parts take the mean of different gradients.
 *
 * A head that has an update in its place tells all other servers its numbers, and applies the update, and no other one,
 * when it has those of all parts. Numbers of the same update have the same ordinal. What is told is void with the
 * generation; but a part that has applied the update tells it again in the next one, since others may not have: it
 * keeps the numbers of the last two, as copies do, which make them of the same update. No part can be further ahead.
 *
 * In async and bounded:S the m-th step of a part is made of the sums of its m-th period, which may be of other batches
 * than those of another part, and clipped by the norm of what all parts have in their m-th period: the norm of what is
 * stepped with. Within a generation all updates reach all parts, so the wait ends; with the next one all go back
 * (install.c).
 */
#ifndef ARTEL_TRAIN_NUMBERS_H
#define ARTEL_TRAIN_NUMBERS_H

#include "train/served.h"

typedef struct artel__numbers {
    artel_context *ctx;
    int count;                             /* of a part; 0: no update wants any */
    double *told;                          /* [part][2][1 + count]: the ordinal, 0: none; the numbers */
    uint64_t install[ARTEL__MOST_SERVERS]; /* the state that they are of */
} artel__numbers;

/* In each generation, before all else: nothing has been told. ARTEL_ERROR_NO_MEMORY. */
artel_status artel__numbers_begin(artel__numbers *numbers, const artel__service *service);
void artel__numbers_fini(artel__numbers *numbers);
/* What the head of a part has told. False: it fits nothing. */
bool artel__numbers_take(artel__numbers *numbers, const artel__lane_head *head, const artel__lane_slot *call);
/* Of a head: tells what it has applied, in a new generation. `client` by rank. */
artel_status artel__numbers_tell_again(artel__numbers *numbers, artel__served_part *part, artel__chain_client *client,
                                       const artel__service *service);
/* An update lies in its place, of the call `at`. *ready: it may be applied, and part->squares is what copies are to be
 * told; else to be asked again with the same call, until when no other is put there. */
artel_status artel__numbers_agree(artel__numbers *numbers, artel__served_part *part, artel__chain_call *at,
                                  artel__chain_client *client, const artel__service *service, bool *ready);
/* Whom an update in its place waits for: *rank, of a server that has not answered yet, or *of_part, whose numbers have
 * not been told; -1: nobody. */
void artel__numbers_awaited(const artel__numbers *numbers, const artel__served_part *part,
                            const artel__service *service, int *rank, int *of_part);
/* At a copy, whose head has told it the sum. */
void artel__numbers_follow(artel__served_part *part, double squares);
/* Takes what others have answered. */
artel_status artel__numbers_hear(artel__served_part *part, artel__chain_client *client, const artel__service *service,
                                 bool *did);
/* Nothing is under way any more. */
void artel__numbers_withdraw(artel__served_part *part, artel__chain_client *client, const artel__service *service);

#endif
