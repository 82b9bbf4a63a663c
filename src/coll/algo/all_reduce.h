/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce: node blocks of all ranks in, the root of the tree out, the same bits on every rank. `out` of a sum may be its `in`: of the
 * direct exchange it is written where the peers have read already, the one-round form takes a copy of what they read. */
#ifndef ARTEL_COLL_ALL_REDUCE_H
#define ARTEL_COLL_ALL_REDUCE_H

#include "coll/pattern/exchange.h"
#include "coll/task.h"

typedef struct artel__all_reduce {
    artel__coll_task base;
    const artel__coll_segment *segment; /* merge set in all; borrowed until finalized */
    int32_t segments;
    artel__coll_algorithm algorithm; /* the same on every rank */
    /* The task's own. */
    artel__coll_buffer sources, copy, spans, begin, messages, pieces, requests, operands, stack;
    artel__coll_lists lists;
    artel__net_request *request; /* node receives, result receives, node sends, result sends */
    int32_t posted;              /* requests that may be posted */
    int32_t next_receive, next_send, results_left;
    bool merged;
} artel__all_reduce;

/* Zeroed memory becomes a task that may be posted any number of times. */
void artel__all_reduce_init(artel__all_reduce *task, artel__endpoint *endpoint, const artel__coll_layout *layout);
void artel__all_reduce_fini(artel__all_reduce *task);

#endif
