/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends what to whom in a collective of a communicator: rank arithmetic without I/O. Tests count and simulate what
 * the task posts.
 *
 * Members have positions 0 .. n-1. A rank's part is a list of receives, one of sends, one of combinations. They are
 * done in this order: receives are taken in the order of the list, and a send or a combination begins when as many of
 * them as it needs are there. Ranges longer than `chunk` elements travel in several messages, so that the next step
 * begins with the first of them.
 *
 * What a rank sends, per element byte, with t elements in all of `out` (all-reduce, reduce, broadcast) or in all
 * blocks, s in the own slice or block; messages for ranges of one chunk; connections used in either direction:
 *
 *   collective      way      messages          elements               connections
 *   broadcast       tree     <= log2 n         children * t           <= log2 n + 1
 *   reduce          sliced   n - 1 + 1         (t - s) + s            n - 1
 *                   whole    1 (root 0)        t                      1 (root n - 1)
 *   all-reduce      sliced   2 (n - 1)         (t - s) + (n - 1) s    n - 1
 *                   whole    n - 1             (n - 1) t              n - 1
 *   reduce-scatter  sliced   n - 1             t - s                  n - 1
 *   gather          tree     1 (root 0)        its subtree's blocks   <= log2 n + 1
 *                   sliced   1 (root 0)        s                      1 (root n - 1)
 *   all-gather      sliced   n - 1             (n - 1) s              n - 1
 *   all-to-all      sliced   n - 1             t - s                  n - 1
 *   permute         sliced   1                 s                      2
 *
 * log2 is rounded up. artel__coll_schedule_load has it exactly. Every call also agrees on what is called: agree.h.
 *
 * The tree is binomial and rooted at `root`: with v = position - root (mod n), member v has the parent v without its
 * lowest set bit, and its subtree is the interval [v, v + lowest bit).
 */
#ifndef ARTEL_COLL_SCHEDULE_H
#define ARTEL_COLL_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/pattern/exchange.h"

typedef enum artel__coll_kind {
    ARTEL__COLL_BARRIER,
    ARTEL__COLL_BROADCAST,
    ARTEL__COLL_REDUCE,
    ARTEL__COLL_ALL_REDUCE,
    ARTEL__COLL_REDUCE_SCATTER,
    ARTEL__COLL_GATHER,
    ARTEL__COLL_ALL_GATHER,
    ARTEL__COLL_ALL_TO_ALL,
    ARTEL__COLL_PERMUTE,
    ARTEL__COLL_KINDS
} artel__coll_kind;

const char *artel__coll_kind_name(artel__coll_kind kind);

typedef enum artel__coll_way {
    ARTEL__COLL_SLICED, /* directly between the members concerned, every slice combined by one of them */
    ARTEL__COLL_WHOLE,  /* whoever needs the result combines all of it: fewer rounds, more bytes */
    ARTEL__COLL_TREE
} artel__coll_way;

/* A call as one rank sees it. All but `position` and the counts of an all-to-all are the same on every member. */
typedef struct artel__coll_shape {
    artel__coll_kind kind;
    artel__coll_way way;
    int32_t members, position, root;
    int64_t count; /* elements of a block: of `out` (broadcast, reduce, all-reduce), of each member's block (others) */
    const int64_t *start;   /* [members + 1]: where blocks begin, when they differ; NULL: at multiples of count */
    const int64_t *receive; /* all-to-all: the same for what is received */
    const int *destination; /* permute */
    int64_t chunk;          /* elements, at least 1 */
} artel__coll_shape;

/* The way that fits a shape of so many bytes in all blocks; a function of what all members know alike. */
artel__coll_way artel__coll_choose(artel__coll_kind kind, int32_t members, int64_t bytes);

typedef enum artel__coll_memory {
    ARTEL__COLL_IN,
    ARTEL__COLL_OUT,
    ARTEL__COLL_ROOM, /* the task's own */
    ARTEL__COLL_HELD  /* of a receive: nowhere, it is combined from where it lies */
} artel__coll_memory;

typedef struct artel__coll_transfer {
    int32_t peer;
    uint32_t stage, number; /* with the peer, they name the message */
    artel__coll_memory memory;
    int64_t first, count; /* elements there */
    int32_t needs;        /* of a send: receives that are there before */
} artel__coll_transfer;

/* out[to ..] = the combination of in[first ..] with the receives [receive, receive + members - 1), in order of
 * position. */
typedef struct artel__coll_combine_step {
    int32_t needs, receive;
    int64_t first, to, count;
    artel__coll_memory memory; /* of the result */
} artel__coll_combine_step;

typedef struct artel__coll_schedule {
    artel__coll_transfer *send, *receive;
    artel__coll_combine_step *combine;
    int32_t sends, receives, combines;
    int64_t room; /* elements */
    /* This rank's own block: copied from in[own_from ..] before anything else. */
    artel__coll_memory own_to_memory;
    int64_t own_from, own_to, own;
} artel__coll_schedule;

/* Lists the schedule. With NULL lists it only counts; then call again with room for so many. */
void artel__coll_schedule_make(const artel__coll_shape *shape, artel__coll_schedule *schedule);

/* The elements of blocks [0, position). */
static inline int64_t artel__coll_start(const artel__coll_shape *shape, int32_t position)
{
    return shape->start ? shape->start[position] : position * shape->count;
}

/* Where slice i of a reduction begins (i = members: its end). */
int64_t artel__coll_slice_start(const artel__coll_shape *shape, int32_t i);

/* What this rank sends, in closed form. `element`: bytes of one. */
artel__coll_load artel__coll_schedule_load(const artel__coll_shape *shape, int32_t element);

#endif
