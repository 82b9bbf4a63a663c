/* SPDX-License-Identifier: Apache-2.0 */
#include "api/help_allocations.h"

#include "base/context.h"

void api_fail_each_allocation(artel_status (*work)(artel_context *ctx), uint64_t least)
{
    artel_context *ctx = api_context();
    uint64_t n = 0;
    api_ok(ctx, work(ctx));
    for (artel_status status = ARTEL_ERROR_NO_MEMORY; status < 0;) {
        artel__fail_allocation_after(ctx, ++n);
        status = work(ctx);
        artel__fail_allocation_after(ctx, 0);
        if (status < 0 && status != ARTEL_ERROR_NO_MEMORY)
            fail_msg("allocation %d: %s", (int)n, artel_context_error(ctx)->what);
    }
    assert_true(n > least);
    artel_context_destroy(ctx);
}
