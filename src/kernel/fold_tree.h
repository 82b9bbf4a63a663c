/* SPDX-License-Identifier: Apache-2.0 */
/* Where the rows of a shard lie, for kernels that walk the tree of a fold plan. */
#ifndef ARTEL_KERNEL_FOLD_TREE_H
#define ARTEL_KERNEL_FOLD_TREE_H

#include "kernel/fold.h"

/* First row and row after the last of shard v, relative to the first owned row. */
static inline int64_t artel__fold_begin(const artel__fold_plan *plan, int32_t v)
{
    return plan->start[v - plan->first];
}

static inline int64_t artel__fold_end(const artel__fold_plan *plan, int32_t v)
{
    return plan->start[v - plan->first + 1];
}

#endif
