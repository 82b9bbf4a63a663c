/* SPDX-License-Identifier: Apache-2.0 */
/* The merge program of a layout on memory of the same process.
 *
 * Short blocks pass through the whole program, so that what lies between leaf and root stays in the first-level cache. The root is
 * written when all of its block has been read.
 */
#include "coll/local.h"

#include <string.h>

#include "coll/merge.h"

enum {
    BLOCK = 512,
    MOST_PLACES = 13 /* 1 + log2 ARTEL__MAX_SHARDS */
};

typedef struct block {
    const artel__coll_layout *layout;
    const artel__coll_local_sum *sum;
    int64_t at;
    float (*stack)[BLOCK];
} block;

static const float *operand_of(const block *b, int32_t operand)
{
    if (operand >= 0) return b->stack[operand];
    int32_t node = -1 - operand, owner = b->layout->node[node].owner;
    return (const float *)b->sum->in[owner] + (node - b->layout->first[owner]) * b->sum->stride + b->at;
}

void artel__coll_sum_local(const artel__coll_layout *layout, const artel__coll_local_sum *sum)
{
    _Alignas(64) float stack[MOST_PLACES][BLOCK];
    artel__coll_merge_fn *merge = artel__coll_sum(ARTEL_DTYPE_FLOAT32);
    int64_t end = sum->first + sum->count;
    for (int64_t at = sum->first; at < end; at += BLOCK) {
        block b = {layout, sum, at, stack};
        int64_t count = end - at < BLOCK ? end - at : BLOCK;
        if (layout->steps == 0) memmove(sum->out + at, operand_of(&b, -1), (size_t)count * sizeof *sum->out);
        for (int32_t i = 0; i < layout->steps; i++) {
            const artel__coll_merge_step *step = &layout->step[i];
            float *to = i + 1 == layout->steps ? sum->out + at : stack[step->to];
            merge(to, operand_of(&b, step->left), operand_of(&b, step->right), count);
        }
    }
}
