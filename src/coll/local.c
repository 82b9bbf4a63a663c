/* SPDX-License-Identifier: Apache-2.0 */
/* Short blocks pass through the whole program, so that what lies between leaf and root stays in the first-level cache.
 */
#include "coll/local.h"

#include "coll/program.h"

enum {
    BLOCK = 512,
    PLACES = 13 /* of the merge stack, at the most */
};
_Static_assert(ARTEL__MAX_SHARDS == 1 << (PLACES - 1), "the merge stack has 1 + log2 of the shards places");

typedef struct memory {
    const artel__coll_layout *layout;
    const artel__coll_local_sum *sum;
} memory;

static const char *operand(const void *user, int32_t node)
{
    const memory *m = user;
    int32_t owner = m->layout->node[node].owner;
    return (const char *)((const float *)m->sum->in[owner] + (node - m->layout->first[owner]) * m->sum->stride);
}

void artel__coll_sum_local(const artel__coll_layout *layout, const artel__coll_local_sum *sum)
{
    _Alignas(64) float stack[PLACES * BLOCK];
    memory m = {layout, sum};
    artel__coll_program program = {.layout = layout,
                                   .merge = artel__coll_sum(ARTEL_DTYPE_FLOAT32),
                                   .operand = operand,
                                   .user = &m,
                                   .element = sizeof *sum->out,
                                   .stack = (char *)stack,
                                   .place_bytes = BLOCK * sizeof *stack,
                                   .out = (char *)sum->out};
    int64_t end = sum->first + sum->count;
    for (int64_t at = sum->first; at < end; at += BLOCK)
        artel__coll_program_run(&program, at, end - at < BLOCK ? end - at : BLOCK);
}
