/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting: slice i ends at the first allowed place at or behind byte i * total / slices of the concatenation, so a
 * slice exceeds its share by less than a block (or a whole segment).
 */
#include "coll/pattern/slices.h"

typedef struct cursor {
    const artel__coll_segment *segment;
    int32_t at;      /* segment */
    int64_t element; /* within it */
    int64_t bytes;   /* of everything before */
} cursor;

/* The longest span from the cursor on that is needed to reach `target` and lies in one segment. */
static artel__coll_span advance(cursor *c, int64_t target)
{
    const artel__coll_segment *s = &c->segment[c->at];
    int64_t left = s->count - c->element, take = left, block = (int64_t)ARTEL__COLL_BLOCK * s->element;
    if (!s->whole) {
        int64_t blocks = (target - c->bytes + block - 1) / block;
        if (blocks < left / ARTEL__COLL_BLOCK + 1 && blocks * ARTEL__COLL_BLOCK < left)
            take = blocks * ARTEL__COLL_BLOCK;
    }
    artel__coll_span span = {c->at, c->element, take};
    c->bytes += take * s->element;
    c->element += take;
    if (c->element == s->count) {
        c->at++;
        c->element = 0;
    }
    return span;
}

int32_t artel__coll_cut(const artel__coll_segment *segment, int32_t segments, int32_t slices, artel__coll_span *span,
                        int32_t *begin)
{
    int64_t total = artel__coll_bytes(segment, segments);
    cursor c = {.segment = segment};
    int32_t spans = 0;
    for (int32_t i = 0; i < slices; i++) {
        int64_t target = total / slices * (i + 1) + total % slices * (i + 1) / slices;
        begin[i] = spans;
        while (c.bytes < target) {
            artel__coll_span next = advance(&c, target);
            if (next.count > 0) span[spans++] = next;
        }
    }
    begin[slices] = spans;
    return spans;
}

int64_t artel__coll_bytes(const artel__coll_segment *segment, int32_t segments)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < segments; i++) bytes += segment[i].count * segment[i].element;
    return bytes;
}
