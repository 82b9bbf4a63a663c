/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends what to whom in an all-reduce: the schedule that the algorithms post and the tests count, and its cost in
 * closed form.
 *
 * direct:     every rank sends slice i of each of its maximal nodes to rank i; rank i merges them along the tree and
 *             sends slice i of the root to all. Two rounds; per rank (n nodes owned, slice of s bytes, total t, R
 * ranks) at most (n + 1) (R - 1) messages and n (t - s) + (R - 1) s bytes sent. redundant:  every rank sends its
 * maximal nodes to everyone and everyone merges them all. One round; n (R - 1) messages and n t (R - 1) bytes. For few
 * bytes, where rounds cost more than bytes. Both connect every pair: R - 1 connections a rank.
 */
#ifndef ARTEL_COLL_EXCHANGE_H
#define ARTEL_COLL_EXCHANGE_H

#include "coll/pattern/layout.h"

typedef enum artel__coll_algorithm {
    ARTEL__COLL_DIRECT,
    ARTEL__COLL_REDUNDANT
} artel__coll_algorithm;

typedef struct artel__coll_exchange {
    const artel__coll_layout *layout;
    artel__coll_algorithm algorithm;
    const int32_t
        *begin; /* spans by slice, as cut: an empty slice is not sent. One slice for REDUNDANT, else one a rank */
} artel__coll_exchange;

typedef struct artel__coll_message {
    int32_t peer;
    int32_t node; /* index in the layout; -1: the root */
    int32_t slice;
} artel__coll_message;

/* The messages of one rank. Receives of nodes are in ascending order of nodes, one for each node that others own (none
 * when the rank's own slice is empty). Sends begin with the next rank, so that not all begin with the same one. */
typedef struct artel__coll_lists {
    artel__coll_message *send, *receive;                              /* room for artel__coll_most_messages each */
    int32_t node_sends, result_sends, node_receives, result_receives; /* nodes come first in both lists */
} artel__coll_lists;

int32_t artel__coll_most_messages(const artel__coll_layout *layout, int32_t rank);
void artel__coll_list_messages(const artel__coll_exchange *exchange, int32_t rank, artel__coll_lists *lists);

/* The slice that a rank merges. */
static inline int32_t artel__coll_own_slice(artel__coll_algorithm algorithm, int32_t rank)
{
    return algorithm == ARTEL__COLL_DIRECT ? rank : 0;
}

/* What a rank sends. slice_bytes: bytes of one block in each slice. */
typedef struct artel__coll_load {
    int64_t messages, bytes;
    int32_t connections;
} artel__coll_load;
artel__coll_load artel__coll_rank_load(const artel__coll_layout *layout, artel__coll_algorithm algorithm,
                                       const int64_t *slice_bytes, int32_t rank);

#endif
