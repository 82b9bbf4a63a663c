/* SPDX-License-Identifier: Apache-2.0 */
/* All-gather: the rows of all ranks to everyone, in the order of the batch. */
#ifndef ARTEL_COLL_ALL_GATHER_H
#define ARTEL_COLL_ALL_GATHER_H

#include "coll/task.h"

typedef struct artel__all_gather {
    artel__coll_task base;
    const artel__coll_segment *segment; /* borrowed until finalized */
    int32_t segments;
    int64_t batch; /* rows of all ranks; who has which follows from the layout */
    /* The task's own. */
    artel__coll_buffer pieces, requests;
    artel__net_request *request; /* receives, then sends: one of each a peer */
    int32_t posted, receives_left;
    bool copied;
} artel__all_gather;

void artel__all_gather_init(artel__all_gather *task, artel__endpoint *endpoint, const artel__coll_layout *layout);
void artel__all_gather_fini(artel__all_gather *task);

#endif
