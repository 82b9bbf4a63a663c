/* SPDX-License-Identifier: Apache-2.0 */
/* The one fixed binary tree over the virtual shards of a global batch.
 *
 * V (a power of two) shards cut a global batch of B rows: shard v holds rows floor(v*B/V) .. floor((v+1)*B/V) - 1.
 * A node is an aligned power-of-two interval of shards. The value of a leaf is normalised by + 0.0f; the value of an
 * inner node is value(left half) + value(right half). A replica owns a contiguous run of shards and contributes the
 * maximal nodes inside it, at most 2 log2 V. Kernels that fold write one block for each of these nodes; the
 * all-reduce between replicas finishes the tree. No distribution of shards over replicas changes a bit of the root.
 */
#ifndef ARTEL_KERNEL_FOLD_H
#define ARTEL_KERNEL_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#define ARTEL__MAX_SHARDS 4096
#define ARTEL__MAX_NODES 24 /* 2 log2 ARTEL__MAX_SHARDS */

/* An aligned interval [first, first + count) of shards; count is a power of two and divides first. */
typedef struct artel__fold_node {
    int32_t first, count;
} artel__fold_node;

/* What one replica owns of a batch: its shards with their rows, and the maximal nodes. */
typedef struct artel__fold_plan {
    int32_t shards;       /* V */
    int32_t first, count; /* owned shards [first, first + count) */
    int64_t batch;        /* B of this step: rows of the whole global batch */
    int64_t row;          /* global index of the first owned row */
    int64_t rows;         /* owned rows */
    const int64_t *start; /* count + 1 offsets relative to `row`: owned shard i holds rows start[i] .. start[i+1]-1 */
    int32_t nodes;
    artel__fold_node node[ARTEL__MAX_NODES];
} artel__fold_plan;

/* Row boundaries: the first row of shard v. Batches are below 2^50 rows, so the product cannot overflow. */
static inline int64_t artel__shard_start(int64_t batch, int32_t shards, int32_t v)
{
    return v * batch / shards;
}

/* Fills `plan` for shards [first, first + count); `start` is the caller's, count + 1 entries, kept by reference. */
void artel__fold_plan_make(artel__fold_plan *plan, int32_t shards, int32_t first, int32_t count, int64_t batch,
                           int64_t *start);

/* The maximal aligned nodes inside [first, first + count), ascending; returns how many. */
int artel__fold_nodes(int32_t first, int32_t count, artel__fold_node out[ARTEL__MAX_NODES]);

/* The contiguous run of shards that replica r of n owns: floor(r*V/n) .. floor((r+1)*V/n) - 1. */
static inline int32_t artel__replica_first_shard(int32_t shards, int32_t replicas, int32_t r)
{
    return (int32_t)((int64_t)r * shards / replicas);
}

#endif
