/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that data takes so as to be faster (blocks of unfolded files, batches read ahead): one account a context, held
 * against a limit.
 *
 * Whoever can do with less asks before it takes more; what nobody can do without is taken anyway and counted. All
 * functions are thread-safe.
 */
#ifndef ARTEL_BASE_BUDGET_H
#define ARTEL_BASE_BUDGET_H

#include "base/context.h"

/* 0: a quarter of the memory there is (artel__memory_limit), which is what holds until it is set. */
void artel__budget_set(artel_context *ctx, uint64_t bytes);
uint64_t artel__budget_limit(artel_context *ctx);
bool artel__budget_is_set(const artel_context *ctx);
/* "512K", "2M", "4G", "1T", or bytes: at least 1; "auto" is 0. */
bool artel__budget_parse(const char *text, uint64_t *out);
/* Counts the bytes, unless more than `percent` of the limit would then be taken: false, and nothing is counted. */
bool artel__budget_take(artel_context *ctx, uint64_t bytes, unsigned percent);
/* Counts them whatever the limit is. */
void artel__budget_force(artel_context *ctx, uint64_t bytes);
void artel__budget_give(artel_context *ctx, uint64_t bytes);
/* What is taken now. */
uint64_t artel__budget_used(artel_context *ctx);

#endif
