/* SPDX-License-Identifier: Apache-2.0 */
/* The positions of one token in one node, and which leaves of the tree meet where. Kernels only. */
#ifndef ARTEL_KERNEL_EMBED_TREE_H
#define ARTEL_KERNEL_EMBED_TREE_H

#include "kernel/embed.h"
#include "kernel/fold_tree.h"
#include "kernel/math.h"

/* Subtrees waiting for their right neighbour: one for each level of a tree of ARTEL__MAX_SHARDS leaves, and the newest.
 */
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

static inline artel__embed_list artel__embed_list_at(const artel__embed_rows *p, int64_t k)
{
    int32_t from = k > 0 ? p->end[k - 1] : 0;
    return (artel__embed_list){p->sorted + from, p->end[k] - from};
}

/* What is added up, and which positions belong to which leaf. */
typedef struct artel__embed_source {
    int32_t shards;
    int64_t batch, row; /* of the whole batch; its row that position 0 belongs to */
    int64_t per_row, width;
    const float *dy;
    artel__occurrence of;
} artel__embed_source;

static inline artel__embed_source artel__embed_source_of(const artel__embed_gradient *p)
{
    return (artel__embed_source){p->fold->shards, p->fold->batch, p->fold->row, p->per_row, p->width, p->dy, p->of};
}

static inline artel__embed_source artel__embed_source_of_rows(const artel__embed_rows *p)
{
    return (artel__embed_source){p->shards, p->batch, 0, p->per_row, p->width, p->dy, p->of};
}

/* What one occurrence adds. */
static inline float artel__occurrence_term(artel__occurrence of, float dy)
{
    return of == ARTEL__OCCURRENCE_SQUARE ? dy * dy : of == ARTEL__OCCURRENCE_SIZE ? artel__absf(dy) : dy;
}

/* The shard that holds a position: the last v with floor(v * batch / shards) <= row. */
static inline int32_t artel__embed_shard(const artel__embed_source *s, int32_t position)
{
    return (int32_t)(((s->row + position / s->per_row + 1) * s->shards - 1) / s->batch);
}

/* The position behind the last of a shard. */
static inline int64_t artel__embed_shard_end(const artel__embed_source *s, int32_t shard)
{
    return (artel__shard_start(s->batch, s->shards, shard + 1) - s->row) * s->per_row;
}

/* The height at which two different shards meet. */
static inline int artel__embed_level(int32_t a, int32_t b)
{
    int level = 0;
    for (uint32_t differ = (uint32_t)a ^ (uint32_t)b; differ; differ >>= 1) level++;
    return level;
}

#endif
