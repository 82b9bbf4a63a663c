/* SPDX-License-Identifier: Apache-2.0 */
/* The account of the budget: two numbers of the context, changed without locks. */
#include "base/budget.h"

#include <string.h>

#include "base/context_impl.h"
#include "base/pages.h"

void artel__budget_set(artel_context *ctx, uint64_t bytes)
{
    atomic_store_explicit(&ctx->budget_limit, bytes, memory_order_relaxed);
    atomic_store_explicit(&ctx->budget_set, bytes > 0, memory_order_relaxed);
}

bool artel__budget_is_set(const artel_context *ctx)
{
    return atomic_load_explicit(&ctx->budget_set, memory_order_relaxed);
}

bool artel__budget_parse(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    uint64_t number = 0;
    const char *at = text;
    if (strcmp(text, "auto") == 0) {
        *out = 0;
        return true;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if (number > UINT64_MAX / 16) return false;
        number = number * 10 + (uint64_t)(*at - '0');
    }
    const char *unit = *at != '\0' ? strchr(units, *at) : NULL;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    if (at == text || number == 0 || at[unit != NULL] != '\0' || number > UINT64_MAX >> 1 >> shift) return false;
    *out = number << shift;
    return true;
}

uint64_t artel__budget_limit(artel_context *ctx)
{
    uint64_t limit = atomic_load_explicit(&ctx->budget_limit, memory_order_relaxed);
    if (limit > 0) return limit;
    limit = artel__memory_limit() / 4;
    if (limit == 0) limit = 1;
    atomic_store_explicit(&ctx->budget_limit, limit, memory_order_relaxed);
    return limit;
}

bool artel__budget_take(artel_context *ctx, uint64_t bytes, unsigned percent)
{
    uint64_t most = artel__budget_limit(ctx) / 100 * percent;
    uint64_t used = atomic_load_explicit(&ctx->budget_used, memory_order_relaxed);
    do {
        if (bytes > most || used > most - bytes) return false;
    } while (!atomic_compare_exchange_weak_explicit(&ctx->budget_used, &used, used + bytes, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

void artel__budget_force(artel_context *ctx, uint64_t bytes)
{
    atomic_fetch_add_explicit(&ctx->budget_used, bytes, memory_order_relaxed);
}

void artel__budget_give(artel_context *ctx, uint64_t bytes)
{
    atomic_fetch_sub_explicit(&ctx->budget_used, bytes, memory_order_relaxed);
}

uint64_t artel__budget_used(artel_context *ctx)
{
    return atomic_load_explicit(&ctx->budget_used, memory_order_relaxed);
}
