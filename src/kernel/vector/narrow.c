/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to 16-bit types; see simd.h for how this file is compiled, kernel/narrow.h for the contract. */
#include "kernel/simd/simd.h"

#include "kernel/narrow.h"
#include "kernel/half.h"

static int64_t narrow_tasks(const void *params)
{
    return artel__pieces(((const artel__narrow *)params)->count, ARTEL__ELEMENT_TASK);
}

static void narrow_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__narrow *p = params;
    int64_t from = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, begin),
            to = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, end);
    const float *x = p->x;
    float *y = p->y;
    (void)scratch;
    if (p->y_half) {
        artel__half_store(y, true, from, to - from, x + from);
        return;
    }
    if (p->to == ARTEL_DTYPE_BFLOAT16) {
        ARTEL__INDEPENDENT
        for (int64_t i = from; i < to; i++) y[i] = narrow_to_bfloat16(x[i]);
        return;
    }
    ARTEL__INDEPENDENT
    for (int64_t i = from; i < to; i++) y[i] = narrow_to_float16(x[i]);
}

ARTEL__SIMD_KERNEL(narrow, .tasks = narrow_tasks, .halves = artel__halves_always, .run = narrow_run);
