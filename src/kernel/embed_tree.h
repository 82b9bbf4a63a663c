/* SPDX-License-Identifier: Apache-2.0 */
/* The positions of one token in one node, and which leaves of the tree meet where. Kernels only. */
#ifndef ARTEL_KERNEL_EMBED_TREE_H
#define ARTEL_KERNEL_EMBED_TREE_H

#include "kernel/embed.h"
#include "kernel/fold_tree.h"

/* Subtrees waiting for their right neighbour: one for each level of a tree of ARTEL__MAX_SHARDS leaves, and the newest. */
enum {
    ARTEL__EMBED_DEPTH = 14
};

typedef struct artel__embed_list {
    const int32_t *position; /* ascending */
    int64_t count;
} artel__embed_list;

static inline artel__embed_list artel__embed_list_of(const artel__embed_gradient *p, int64_t node, int64_t token)
{
    const int32_t *first = p->first + node * (p->vocabulary + 1) + token;
    return (artel__embed_list){p->sorted + first[0], first[1] - first[0]};
}

/* The shard that holds a position, at or after `shard`. */
static inline int32_t artel__embed_shard(const artel__embed_gradient *p, int32_t position, int32_t shard)
{
    while (artel__fold_end(p->fold, shard) * p->per_row <= position) shard++;
    return shard;
}

/* The height at which two different shards meet. */
static inline int artel__embed_level(int32_t a, int32_t b)
{
    int level = 0;
    for (uint32_t differ = (uint32_t)a ^ (uint32_t)b; differ; differ >>= 1) level++;
    return level;
}

#endif
