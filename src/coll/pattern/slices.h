/* SPDX-License-Identifier: Apache-2.0 */
/* How the elements of a collective are cut into slices, one for each rank.
 *
 * The segments of a call are laid end to end and cut into slices of about equal bytes. Cuts are allowed only at blocks
 * of 4,096 elements that restart at each segment, and nowhere inside a segment that is whole (moments). A slice is a
 * run of spans, each within one segment. The cuts are a function of the segments and the number of slices alone, so
 * every rank finds the same ones.
 */
#ifndef ARTEL_COLL_SLICES_H
#define ARTEL_COLL_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/merge.h"

enum {
    ARTEL__COLL_BLOCK = 4096
};

/* One value of a reduction: `in` holds this rank's node blocks one behind the other, `out` takes the root. They do not
 * overlap; `in` is only read, by others too. A gather instead (merge NULL): `count` elements a row, `in` this rank's
 * rows, `out` those of all. */
typedef struct artel__coll_segment {
    artel__coll_merge_fn *merge;
    int64_t count;   /* elements of one block */
    int64_t stride;  /* from one block of `in` to the next; 0: count */
    int32_t element; /* bytes of one */
    bool whole;      /* may not be cut */
    const void *in;
    void *out;
} artel__coll_segment;

typedef struct artel__coll_span {
    int32_t segment;
    int64_t first, count; /* elements */
} artel__coll_span;

/* Cuts `segments` segments into `slices`. Slice i has spans begin[i] .. begin[i + 1] - 1; `begin` has slices + 1
 * entries, `span` room for segments + slices. Late slices may be empty. Returns the number of spans. */
int32_t artel__coll_cut(const artel__coll_segment *segment, int32_t segments, int32_t slices, artel__coll_span *span,
                        int32_t *begin);

/* Bytes of one block of all segments. */
int64_t artel__coll_bytes(const artel__coll_segment *segment, int32_t segments);

#endif
