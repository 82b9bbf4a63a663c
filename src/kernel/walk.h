/* SPDX-License-Identifier: Apache-2.0 */
/* Walking an artel__loop by runs of its innermost axis, from any position of the dense result.
 *
 * Used by kernels only. A walk stands at a position; walk_run tells how many elements of the innermost axis follow, at
 * most up to `end`; walk_advance steps over them. The strides inside a run are those of the innermost axis.
 */
#ifndef ARTEL_KERNEL_WALK_H
#define ARTEL_KERNEL_WALK_H

#include "kernel/elementwise.h"

typedef struct artel__walk {
    int64_t position;
    int64_t index[ARTEL__LOOP_RANK];
    int64_t offset[ARTEL__LOOP_OPERANDS]; /* of each operand at the position */
} artel__walk;

static inline void artel__walk_start(artel__walk *walk, const artel__loop *loop, int64_t position)
{
    walk->position = position;
    for (int k = 0; k < ARTEL__LOOP_OPERANDS; k++) walk->offset[k] = 0;
    for (int d = loop->rank - 1; d >= 0; d--) {
        int64_t dim = loop->dim[d] > 0 ? loop->dim[d] : 1; /* an empty loop is never walked */
        walk->index[d] = position % dim;
        position /= dim;
        for (int k = 0; k < ARTEL__LOOP_OPERANDS; k++) walk->offset[k] += walk->index[d] * loop->stride[k][d];
    }
}

static inline int64_t artel__walk_run(const artel__walk *walk, const artel__loop *loop, int64_t end)
{
    int last = loop->rank - 1;
    int64_t run = loop->dim[last] - walk->index[last], left = end - walk->position;
    return run < left ? run : left;
}

static inline void artel__walk_advance(artel__walk *walk, const artel__loop *loop, int64_t run)
{
    int d = loop->rank - 1;
    walk->position += run;
    walk->index[d] += run;
    for (int k = 0; k < ARTEL__LOOP_OPERANDS; k++) walk->offset[k] += run * loop->stride[k][d];
    while (d > 0 && walk->index[d] == loop->dim[d]) {
        for (int k = 0; k < ARTEL__LOOP_OPERANDS; k++)
            walk->offset[k] += loop->stride[k][d - 1] - loop->dim[d] * loop->stride[k][d];
        walk->index[d] = 0;
        walk->index[--d]++;
    }
}

#endif
