/* SPDX-License-Identifier: Apache-2.0 */
/* The inner node of a fold: out = merge(left, right).
 *
 * Collectives know no arithmetic but this function type. Sums and maxima are here; whoever joins the rooms brings
 * others (moments). `out` may be `left`, that of sums and maxima `right` too; otherwise it overlaps neither. The
 * operands may be another rank's memory and are only read.
 */
#ifndef ARTEL_COLL_MERGE_H
#define ARTEL_COLL_MERGE_H

#include "artel/tensor.h"

typedef void artel__coll_merge_fn(void *out, const void *left, const void *right, int64_t count);

/* left + right for float32, float64, int32, int64 (integers wrap around); NULL for others. */
artel__coll_merge_fn *artel__coll_sum(artel_dtype dtype);
/* The larger of the two for the same types: `right` only if it is greater, so that of equals the left one stays. */
artel__coll_merge_fn *artel__coll_max(artel_dtype dtype);

#endif
