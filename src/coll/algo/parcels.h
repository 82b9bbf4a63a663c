/* SPDX-License-Identifier: Apache-2.0 */
/* Parcels: what some ranks send to some others, as both sides of each have agreed before. */
#ifndef ARTEL_COLL_PARCELS_H
#define ARTEL_COLL_PARCELS_H

#include "coll/task.h"

typedef struct artel__coll_parcel {
    int peer;
    bool sends;
    void *data; /* borrowed until finalized */
    size_t bytes;
} artel__coll_parcel;

typedef struct artel__parcels {
    artel__coll_task base;
    const artel__coll_parcel *parcel; /* borrowed until finalized; at most one to and one from a peer */
    int32_t count;
    /* The task's own. */
    artel__coll_buffer pieces, requests;
    artel__net_request *request; /* one each */
    int32_t posted, receives, receives_left;
} artel__parcels;

void artel__parcels_init(artel__parcels *task, artel__endpoint *endpoint, const artel__coll_layout *layout);
void artel__parcels_fini(artel__parcels *task);

#endif
