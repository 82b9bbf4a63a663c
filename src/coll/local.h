/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over ranks whose memory the caller can read: the tree of a layout without messages. */
#ifndef ARTEL_COLL_LOCAL_H
#define ARTEL_COLL_LOCAL_H

#include "coll/pattern/layout.h"

typedef struct artel__coll_local_sum {
    const void *const *in; /* by rank: its node blocks, of `stride` float32 each; only read */
    int64_t stride, first, count;
    float *out; /* where element 0 would lie; may be a rank's first node block, if nobody else reads these elements */
} artel__coll_local_sum;

/* Elements [first, first + count) of the root. Any thread; no memory is taken. */
void artel__coll_sum_local(const artel__coll_layout *layout, const artel__coll_local_sum *sum);

#endif
