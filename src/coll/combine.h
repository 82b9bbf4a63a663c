/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of collectives among the members of a communicator: several operands become one along the one tree
 * (artel/communicator.h says which, and how each type is treated). No operand is written, except that `out` may be one.
 */
#ifndef ARTEL_COLL_COMBINE_H
#define ARTEL_COLL_COMBINE_H

#include <stdbool.h>
#include <stddef.h>

#include "artel/communicator.h"
#include "coll/merge.h"

/* float16, bfloat16, float32, float64, int32, int64 with any reduction. */
bool artel__coll_can_combine(artel_dtype dtype, artel_reduction reduction);
/* "sum", "mean", "min", "max", "product"; "?" for other values. */
const char *artel__coll_reduction_name(artel_reduction reduction);

typedef struct artel__coll_combination {
    artel_dtype dtype;
    artel_reduction reduction;
    int32_t members;
    const void *const *operand; /* by position, `count` elements each */
    int64_t count;
    void *out;
    void *scratch; /* artel__coll_combine_scratch(members) bytes, aligned to 64 */
} artel__coll_combination;

/* The same in parts, for values that are combined on their way: the type of partial values; a leaf made one; two of
 * them; a root of `members` members, which is changed, made a result. */
artel_dtype artel__coll_working_type(artel_dtype dtype);
void artel__coll_widen(artel_dtype dtype, void *out, const void *in, int64_t count);
artel__coll_merge_fn *artel__coll_merge_of(artel_dtype dtype, artel_reduction reduction);
void artel__coll_conclude(artel_dtype dtype, artel_reduction reduction, int32_t members, void *root, void *out,
                          int64_t count);

size_t artel__coll_combine_scratch(int32_t members);
/* In compute state (artel__fp_enter). */
void artel__coll_combine(const artel__coll_combination *c);

#endif
