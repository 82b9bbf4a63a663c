/* SPDX-License-Identifier: Apache-2.0 */
/* Random collectives of random teams, and the naive definitions that tell the truth. */
#ifndef HELP_CALLS_H
#define HELP_CALLS_H

#include <stdatomic.h>

#include "coll/algo/call.h"
#include "help_ranks.h"

enum {
    HELP_RANKS = 9,
    HELP_TEAMS = 3,
    HELP_CALLS = 40
};

/* One call of one team: a function of the scene's seed. */
typedef struct help_call {
    int team;
    artel__coll_kind kind;
    artel__coll_way way;
    bool force_way, in_place, blocks;
    int64_t chunk;
    artel_collective what;
    int64_t counts[HELP_RANKS][HELP_RANKS]; /* [from][to] of an all-to-all; [0]: by position */
    int64_t receive[HELP_RANKS];
    int destination[HELP_RANKS];
} help_call;

typedef struct help_scene {
    artel_context *ctx;
    artel__endpoint *endpoint[HELP_RANKS];
    int ranks;
    uint32_t generation;
    uint64_t seed;
    int members[HELP_TEAMS];
    int32_t rank[HELP_TEAMS][HELP_RANKS]; /* by position */
    atomic_int wrong_status, wrong_bits;
} help_scene;

/* Chooses the teams: random subsets in random orders. */
void help_scene_make(help_scene *scene, artel_context *ctx, int ranks, uint64_t seed);
/* Runs all calls on a thread for each rank and compares every output with the naive definition. */
void help_scene_run(help_scene *scene);
/* Call number n of the scene. */
void help_make_call(const help_scene *scene, int n, help_call *out);

/* Element i of the input of the member at `position` in call n, and fills memory with such. */
void help_fill(const help_scene *scene, int n, const help_call *call, int position, void *memory, int64_t count);
/* What the member's `out` holds afterwards; returns its bytes. */
size_t help_truth(const help_scene *scene, int n, const help_call *call, int position, void *out);

/* The combination of one element by the recursive definition; `value` holds `members` elements. */
void help_combine(artel_dtype dtype, artel_reduction reduction, int members, const void *value, void *out);

#endif
