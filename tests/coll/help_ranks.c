/* SPDX-License-Identifier: Apache-2.0 */
#include "help_ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    help_rank_fn *body;
    void *user;
    int rank;
    pthread_t thread;
} job;

static void *run(void *user)
{
    job *j = user;
    j->body(j->user, j->rank);
    return NULL;
}

void help_run_ranks(int ranks, help_rank_fn *body, void *user)
{
    job *jobs = calloc((size_t)ranks, sizeof *jobs);
    for (int r = 0; r < ranks; r++) {
        jobs[r] = (job){.body = body, .user = user, .rank = r};
        if (pthread_create(&jobs[r].thread, NULL, run, &jobs[r]) != 0) abort();
    }
    for (int r = 0; r < ranks; r++) pthread_join(jobs[r].thread, NULL);
    free(jobs);
}

uint64_t help_mix(uint64_t seed, uint64_t place)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + place * 0xbf58476d1ce4e5b9u + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void help_tree_value(const help_tree *tree, int32_t first, int32_t count, char *out, char *scratch)
{
    size_t bytes = (size_t)tree->elements * tree->size;
    if (count == 1) {
        memcpy(out, tree->leaf + (size_t)first * bytes, bytes);
        return;
    }
    int32_t left = 1; /* the largest power of two that leaves something on the right */
    while (2 * left < count) left *= 2;
    help_tree_value(tree, first, left, out, scratch + bytes);
    help_tree_value(tree, first + left, count - left, scratch, scratch + bytes);
    tree->merge(out, out, scratch, tree->elements);
}
