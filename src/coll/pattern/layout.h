/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns which nodes of the fold tree, and in which order they are merged. Rank arithmetic: no I/O, no arithmetic on
 * values.
 *
 * Rank r of R owns shards floor(rV/R) .. floor((r+1)V/R) - 1 and contributes the maximal nodes inside (kernel/fold.h).
 * The maximal nodes of all ranks, in ascending order, tile the tree exactly. The program merges them: wherever two
 * neighbours are the halves of an aligned interval, they become one, until the root is left. That is the one fixed
 * tree, whatever R is.
 */
#ifndef ARTEL_COLL_LAYOUT_H
#define ARTEL_COLL_LAYOUT_H

#include "base/text.h"
#include "kernel/fold.h"

typedef struct artel__coll_node {
    artel__fold_node shards;
    int32_t owner;
} artel__coll_node;

/* One merge. An operand or destination >= 0 is a place on the merge stack; an operand < 0 is node -1 - operand. The
 * destination is the left operand's place; that of the last merge, place 0, is the result. */
typedef struct artel__coll_merge_step {
    int32_t to, left, right;
} artel__coll_merge_step;

typedef struct artel__coll_layout {
    int32_t shards, width, ranks; /* width: leaves of the tree, the power of two from `shards` on */
    int32_t *start;               /* [ranks + 1]: rank r owns shards start[r] .. start[r + 1] - 1 */
    int32_t nodes;                /* of all ranks */
    artel__coll_node *node;       /* [nodes], ascending */
    int32_t *first;               /* [ranks + 1]: rank r owns nodes first[r] .. first[r + 1] - 1 */
    artel__coll_merge_step *step; /* [nodes - 1] */
    int32_t steps;
    int32_t places; /* of the merge stack; at most 1 + log2 of the tree's leaves */
} artel__coll_layout;

/* shards: a power of two up to ARTEL__MAX_SHARDS; 1 <= ranks <= shards (ARTEL_ERROR_INVALID otherwise). */
artel_status artel__coll_layout_init(artel_context *ctx, int32_t shards, int32_t ranks, artel__coll_layout *out);
/* The same with runs of shards of any length, each at least 1, beginning at start[rank]; NULL: even ones. `shards` may
 * be any number up to ARTEL__MAX_SHARDS: leaves of the tree that are not there leave their left neighbours as they are.
 */
artel_status artel__coll_layout_init_runs(artel_context *ctx, int32_t shards, int32_t ranks, const int32_t *start,
                                          artel__coll_layout *out);
void artel__coll_layout_fini(artel_context *ctx, artel__coll_layout *layout);

/* Stable text: a line for each rank with its nodes, then the merges in order. */
void artel__coll_layout_dump(const artel__coll_layout *layout, artel__text *out);

/* The node's number in the heap order of the tree (root 1, children 2n and 2n + 1): its name on a wire. */
static inline uint32_t artel__coll_node_number(const artel__coll_layout *layout, int32_t node)
{
    const artel__fold_node *n = &layout->node[node].shards;
    return (uint32_t)((layout->width + n->first) / n->count);
}

static inline int32_t artel__coll_owned(const artel__coll_layout *layout, int32_t rank)
{
    return layout->first[rank + 1] - layout->first[rank];
}

/* First global row of rank r (r = ranks: the batch). */
static inline int64_t artel__coll_first_row(const artel__coll_layout *layout, int64_t batch, int32_t rank)
{
    return artel__shard_start(batch, layout->shards, layout->start[rank]);
}

#endif
