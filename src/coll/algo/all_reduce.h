/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce: node blocks of all ranks in, the root of the tree out, the same bits on every rank. `out` of a sum may be
 * its `in`: of the direct exchange it is written where the peers have read already, the other forms take a copy of what
 * they read.
 *
 * Adding an algorithm: a file with an artel__all_reduce_def whose `route` lists who sends what to whom (pattern/route.h
 * has the rest), and a line in all_reduces.list. */
#ifndef ARTEL_COLL_ALL_REDUCE_H
#define ARTEL_COLL_ALL_REDUCE_H

#include "coll/pattern/route.h"
#include "coll/task.h"

typedef struct artel__all_reduce_def {
    const char *name, *doc;
    const char *like;                  /* names that TensorFlow has for its like, separated by spaces; NULL: none */
    const artel__coll_task_ops *ops;   /* how it is carried out */
    artel__coll_algorithm exchange;    /* of artel__all_reduce_exchange_ops */
    artel_all_reduce_definition route; /* of artel__all_reduce_relay_ops */
} artel__all_reduce_def;

typedef struct artel__all_reduce {
    artel__coll_task base;              /* a layout is needed by the exchange alone */
    const artel__coll_segment *segment; /* merge set in all; borrowed until finalized */
    int32_t segments;
    artel__coll_algorithm algorithm;        /* of the exchange: the same on every rank */
    const artel__coll_itinerary *itinerary; /* of the relay: this rank's; borrowed */
    const int32_t *peer_rank; /* of the relay: of the endpoint, by rank of the itinerary; NULL: the same */
    /* The task's own. */
    artel__coll_buffer sources, copy, spans, begin, messages, pieces, requests, operands, stack;
    artel__coll_lists lists;
    artel__net_request
        *request;   /* exchange: node receives, result receives, node sends, result sends; relay: receives, sends */
    int32_t posted; /* requests that may be posted */
    int32_t next_receive, next_send, results_left;
    bool merged;
} artel__all_reduce;

/* Zeroed memory becomes a task that may be posted any number of times: an exchange, until `ops` are others. */
void artel__all_reduce_init(artel__all_reduce *task, artel__endpoint *endpoint, const artel__coll_layout *layout);
void artel__all_reduce_fini(artel__all_reduce *task);

/* all_reduce_direct.c, all_reduce_relay.c */
extern const artel__coll_task_ops artel__all_reduce_exchange_ops, artel__all_reduce_relay_ops;

/* What the ways of carrying it out share. Where this rank's `nodes` blocks of every segment lie from now on: in `in`,
 * or with `copies`, where that is `out` too, in a copy. Then the place of a span in one of them. */
artel_status artel__all_reduce_find_sources(artel__all_reduce *t, int32_t nodes, bool copies);
const char *artel__all_reduce_place(const artel__all_reduce *t, const artel__coll_span *span, int32_t block);

#endif
