/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding: rows of a table by index, and the gradient of the table.
 *
 * An index outside [0, vocabulary) is reported in the fault slot, reads as a row of zeros, and adds nothing.
 * Order of the gradient: for each token the tree of fold.h, where the leaf of a shard is the sum over its positions in
 * order, acc = 0; acc += dy[position]; leaf = acc + 0. A token absent from a shard is +0, whose addition changes no
 * bit, so absent leaves are skipped. So a token's sum needs no other token: the rows of the tokens that a batch names,
 * made from the whole batch (embed_tokens, embed_rows), have the bits that the table-size gradient has there after its
 * all-reduce.
 */
#ifndef ARTEL_KERNEL_EMBED_H
#define ARTEL_KERNEL_EMBED_H

#include "kernel/fault_slot.h"
#include "kernel/fold.h"
#include "kernel/held_rows.h"
#include "kernel/kernel.h"
#include "kernel/occurrence.h"

/* y[p] = table[index[p]]; positions = rows * per_row. Where rows are held in place of the table, an index of another
 * row is as one outside of it. Tasks: runs of positions. */
typedef struct artel__embed_forward {
    int64_t positions, per_row;
    int64_t vocabulary, width;
    const int32_t *index;
    const float *table; /* [vocabulary][width] */
    float *y;
    artel__fault_slot fault;
    artel__held_rows held;
} artel__embed_forward;

/* Sorts the positions of each node by token, stably. sorted: [positions]; first: [nodes][vocabulary + 1], node k's
 * positions of token t are sorted[first[k][t]] .. sorted[first[k][t + 1] - 1], in position order. Out-of-range tokens
 * are left out. positions < 2^31. Tasks: nodes. */
typedef struct artel__embed_sort {
    const artel__fold_plan *fold;
    int64_t per_row, vocabulary;
    const int32_t *index;
    int32_t *sorted, *first;
} artel__embed_sort;

/* For each node a dense block dtable [vocabulary][width] at dtable + k * stride. Tasks: nodes times runs of tokens. */
typedef struct artel__embed_gradient {
    const artel__fold_plan *fold;
    int64_t per_row, vocabulary, width;
    const int32_t *sorted, *first; /* from embed_sort */
    const float *dy;               /* [rows * per_row][width] */
    artel__occurrence of;          /* what is added up */
    float *dtable;
    int64_t stride;
} artel__embed_gradient;

/* The tokens of a whole global batch, ascending. Token k of *count is token[k]; its positions, ascending, are
 * sorted[end[k - 1]] .. sorted[end[k] - 1] (end[-1]: 0). All three have room for `positions` entries, < 2^31.
 * Out-of-range tokens are left out. One task. */
typedef struct artel__embed_tokens {
    int64_t positions, vocabulary;
    const int32_t *index;
    int32_t *sorted, *end, *token, *count;
} artel__embed_tokens;

/* rows[k]: the gradient of table[token[k]], the root of the tree over all shards of a batch; k < *count, rows behind
 * are not written. Tasks: runs of k. */
typedef struct artel__embed_rows {
    int32_t shards;
    int64_t batch; /* rows of the whole batch */
    int64_t per_row, width;
    const int32_t *sorted, *end, *count; /* from embed_tokens */
    const float *dy;                     /* [batch * per_row][width] */
    artel__occurrence of;                /* what is added up */
    float *rows;                         /* [batch * per_row][width] */
} artel__embed_rows;

extern const artel__kernel *const artel__embed_forward_kernels[];
extern const artel__kernel *const artel__embed_sort_kernels[];
extern const artel__kernel *const artel__embed_gradient_kernels[];
extern const artel__kernel *const artel__embed_tokens_kernels[];
extern const artel__kernel *const artel__embed_rows_kernels[];

#endif
