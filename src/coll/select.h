/* SPDX-License-Identifier: Apache-2.0 */
/* Which algorithm an all-reduce takes. The choice never depends on timing and every rank makes the same one; all of
 * them give the same bits. */
#ifndef ARTEL_COLL_SELECT_H
#define ARTEL_COLL_SELECT_H

#include "base/text.h"
#include "coll/algo/all_reduce.h"

/* Those of all_reduces.list; NULL ends. */
extern const artel__all_reduce_def *const artel__all_reduces[];

/* By name: NULL, "auto" give NULL, which is artel__coll_select for each call; TensorFlow's names what is nearest; a
 * context knows its own (artel_context_add_all_reduce). Errors: ARTEL_ERROR_INVALID with the nearest name. */
artel_status artel__all_reduce_find(artel_context *ctx, const char *name, const artel__all_reduce_def **out);

/* By the bytes of one block of all segments and the number of ranks. */
artel__coll_algorithm artel__coll_select(int64_t bytes, int32_t ranks);
const char *artel__coll_algorithm_name(artel__coll_algorithm algorithm);
/* What artel__coll_select does between so many ranks, and why; and what it does with so many bytes: stable text. */
void artel__coll_select_dump(int32_t ranks, artel__text *out);
void artel__coll_select_explain(int64_t bytes, int32_t ranks, artel__text *out);

#endif
