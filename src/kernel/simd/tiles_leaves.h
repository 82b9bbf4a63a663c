/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a weight gradient in chunks of whole blocks: each piece of a chunk lies in one shard and begins on one of
 * its blocks. */
#ifndef ARTEL_KERNEL_SIMD_TILES_LEAVES_H
#define ARTEL_KERNEL_SIMD_TILES_LEAVES_H

#include "kernel/simd/gradient_tree.h"
#include "kernel/tiles.h"

enum {
    TILES_CHUNK = 16,                             /* blocks of a chunk of many */
    TILES_WHOLE = 64,                             /* blocks that are taken as one chunk */
    TILES_PIECES = TILES_WHOLE + ARTEL__MAX_NODES /* nodes without rows have a piece of their own */
};

typedef struct tiles_piece {
    int64_t row, block, blocks; /* its first row, its first block in the chunk */
    fold_piece leaf;
    bool resume; /* its shard began in an earlier chunk */
} tiles_piece;

/* A sum of a cell in a chunk, with which it goes up the tree. */
typedef struct tiles_sum {
    int64_t block, blocks;
    fold_piece leaf;
    bool resume, normalise; /* + 0.0f behind it */
} tiles_sum;

typedef struct tiles_chunk {
    tiles_piece piece[TILES_PIECES];
    tiles_sum sum[TILES_PIECES];
    int count, sums;
    int64_t blocks;
} tiles_chunk;

/* Where the next chunk begins. */
typedef struct tiles_leaves {
    const artel__fold_plan *fold;
    int64_t inner, at; /* the row reached in the tree's shard; -1: its first */
    int64_t most;      /* blocks of a chunk */
    int32_t node;      /* of the tree; -1: none yet */
    gradient_tree tree;
} tiles_leaves;

static inline tiles_leaves tiles_leaves_begin(const artel__fold_plan *fold, int64_t inner, int64_t most)
{
    return (tiles_leaves){.fold = fold, .inner = inner, .most = most, .at = -1, .node = -1};
}

/* The next rows of the tree's shard, as many as the chunk still takes. */
static inline tiles_piece tiles_take_piece(tiles_leaves *l, int64_t block)
{
    int64_t first = l->fold->start[l->tree.shard] * l->inner, last = l->fold->start[l->tree.shard + 1] * l->inner;
    int64_t at = l->at < 0 ? first : l->at, rows = (l->most - block) * ARTEL__BLOCK;
    if (rows > last - at) rows = last - at;
    tiles_piece piece = {
        .row = at, .block = block, .blocks = (rows + ARTEL__BLOCK - 1) / ARTEL__BLOCK, .resume = at > first};
    if (at + rows < last) {
        piece.leaf = (fold_piece){rows, -1, -1, 0};
        l->at = at + rows;
    } else {
        piece.leaf = gradient_leaf(&l->tree, rows);
        l->at = -1;
    }
    return piece;
}

/* Adds a piece. Two leaves of one block each, side by side in the tree, are one sum of two blocks: the right one is
 * added to the left one as the second block is to the first, which began at +0 and so is no -0 that the right one's
 * normalisation could meet. */
static inline void tiles_add_piece(tiles_chunk *c, tiles_piece piece)
{
    tiles_sum *last = c->sums > 0 ? &c->sum[c->sums - 1] : NULL;
    c->piece[c->count++] = piece;
    c->blocks += piece.blocks;
    if (last && piece.leaf.merges > 0 && piece.blocks == 1 && !piece.resume && last->blocks == 1 && last->normalise &&
        !last->resume && last->leaf.merges == 0 && last->leaf.node < 0) {
        last->blocks = 2;
        last->normalise = false;
        last->leaf = piece.leaf;
        last->leaf.merges--;
        last->leaf.depth--;
        return;
    }
    c->sum[c->sums++] = (tiles_sum){piece.block, piece.blocks, piece.leaf, piece.resume, true};
}

/* The next chunk; false: there is none. */
static inline bool tiles_next_chunk(tiles_leaves *l, tiles_chunk *c)
{
    c->count = c->sums = 0;
    c->blocks = 0;
    while (c->blocks < l->most) {
        if (l->node >= 0 && l->tree.shard < l->tree.last) {
            tiles_add_piece(c, tiles_take_piece(l, c->blocks));
            continue;
        }
        if (l->node + 1 >= l->fold->nodes) break;
        l->tree = gradient_node(l->fold, l->inner, ++l->node);
        if (l->tree.shard == l->tree.last)
            tiles_add_piece(c, (tiles_piece){.block = c->blocks, .leaf = {0, 0, l->node, 0}});
    }
    return c->count > 0;
}

/* Blocks of all rows. */
static inline int64_t tiles_all_blocks(const artel__fold_plan *fold, int64_t inner)
{
    int64_t blocks = 0;
    for (int32_t i = 0; i < fold->count; i++)
        blocks += ((fold->start[i + 1] - fold->start[i]) * inner + ARTEL__BLOCK - 1) / ARTEL__BLOCK;
    return blocks;
}

/* How many subtrees may wait. */
static inline int64_t tiles_levels(const artel__fold_plan *fold)
{
    int64_t levels = 1;
    for (int32_t i = 0; i < fold->nodes; i++) {
        int64_t deep = 1;
        for (int32_t count = fold->node[i].count; count > 1; count /= 2) deep++;
        if (deep > levels) levels = deep;
    }
    return levels;
}

#endif
