/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which weight gradients add their leaves: shard by shard from left to right, each subtree as soon as it
 * is complete. */
#ifndef ARTEL_KERNEL_SIMD_GRADIENT_TREE_H
#define ARTEL_KERNEL_SIMD_GRADIENT_TREE_H

#include "kernel/fold.h"

/* A run of rows inside one shard. */
typedef struct fold_piece {
    int64_t rows;
    int32_t merges; /* waiting subtrees to add once the leaf is finished; -1: the leaf goes on in the next chunk */
    int32_t node;   /* >= 0: the node that this leaf completes, else the result waits in their place */
    int32_t depth;  /* subtrees that wait when the leaf is finished: at places 0 .. depth - 1 of the stack */
} fold_piece;

/* The shards of one node that have rows, from left to right, and the subtrees that wait. */
typedef struct gradient_tree {
    const artel__fold_plan *fold;
    int64_t inner;              /* rows of the product for each row of the batch */
    int32_t node, shard, last;  /* owned shards: the next one with rows, the one behind the node */
    int32_t depth, waiting[16]; /* a shard of each subtree, the newest last; 2^12 shards at the most */
} gradient_tree;

static inline int32_t gradient_next_shard(const artel__fold_plan *fold, int64_t inner, int32_t shard, int32_t last)
{
    while (shard < last && (fold->start[shard + 1] - fold->start[shard]) * inner == 0) shard++;
    return shard;
}

static inline gradient_tree gradient_node(const artel__fold_plan *fold, int64_t inner, int32_t node)
{
    const artel__fold_node *n = &fold->node[node];
    int32_t first = n->first - fold->first, last = first + n->count;
    return (gradient_tree){.fold = fold,
                           .inner = inner,
                           .node = node,
                           .shard = gradient_next_shard(fold, inner, first, last),
                           .last = last};
}

/* The leaf of the tree's next shard: what it is added to, and where the sum goes. Steps over the shard. A subtree is
 * complete when it lies nearer to this leaf than the next leaf does. */
static inline fold_piece gradient_leaf(gradient_tree *t, int64_t rows)
{
    int32_t base = t->fold->first, shard = t->shard + base,
            next = gradient_next_shard(t->fold, t->inner, t->shard + 1, t->last);
    fold_piece piece = {rows, 0, next < t->last ? -1 : t->node, t->depth};
    while (piece.merges < t->depth &&
           (next == t->last || (t->waiting[t->depth - 1 - piece.merges] ^ shard) < (shard ^ (next + base))))
        piece.merges++;
    t->depth -= piece.merges;
    t->waiting[t->depth++] = shard;
    t->shard = next;
    return piece;
}

#endif
