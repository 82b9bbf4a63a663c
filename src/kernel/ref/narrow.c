/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of kernel/narrow.h, through the 16-bit form itself (tensor/convert.c), and the list. */
#include "kernel/narrow.h"

#include "kernel/math.h"

double artel__round_to_float32(double x)
{
    return (double)(float)x;
}

float artel__narrow_one(artel_dtype to, float x)
{
    if (to == ARTEL_DTYPE_FLOAT16) return artel__half_to_float(artel__float_to_half(x));
    if (to != ARTEL_DTYPE_BFLOAT16) return x;
    bool denormal = (artel__bits(x) & 0x7f800000u) == 0; /* by its bits: comparisons depend on the processor's modes */
    return artel__bfloat16_to_float(artel__float_to_bfloat16(denormal ? artel__copysignf(0.0f, x) : x));
}

static int64_t narrow_tasks(const void *params)
{
    return (((const artel__narrow *)params)->count + ARTEL__ELEMENT_TASK - 1) / ARTEL__ELEMENT_TASK;
}

static void narrow_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__narrow *p = params;
    int64_t stop = end * ARTEL__ELEMENT_TASK < p->count ? end * ARTEL__ELEMENT_TASK : p->count;
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < stop; i++) p->y[i] = artel__narrow_one(p->to, p->x[i]);
}

static const artel__kernel narrow = {.name = "reference narrow", .tasks = narrow_tasks, .run = narrow_run};

ARTEL__KERNEL_LIST(narrow, narrow);
