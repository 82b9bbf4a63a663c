/* SPDX-License-Identifier: Apache-2.0 */
/* Many ranks in one process, and the naive tree that tells the truth. */
#ifndef HELP_RANKS_H
#define HELP_RANKS_H

#include "coll/algo/all_gather.h"
#include "coll/algo/all_reduce.h"
#include "coll/algo/barrier.h"
#include "coll/select.h"
#include "net/inproc.h"

/* Runs body(user, rank) on a thread for each rank and waits for all. Bodies must not use cmocka's asserts: they count
 * what is wrong. */
typedef void help_rank_fn(void *user, int rank);
void help_run_ranks(int ranks, help_rank_fn *body, void *user);

/* A well-mixed number from a seed and a place. */
uint64_t help_mix(uint64_t seed, uint64_t place);

/* The value of node [first, first + count) from its leaves, `leaf` + shard * elements * size: recursively, as the
 * definition says. `scratch` takes log2(count) + 1 blocks. */
typedef struct help_tree {
    artel__coll_merge_fn *merge;
    int64_t elements;
    size_t size;
    const char *leaf;
} help_tree;
void help_tree_value(const help_tree *tree, int32_t first, int32_t count, char *out, char *scratch);

#endif
