/* SPDX-License-Identifier: Apache-2.0 */
/* What reference kernels of products and convolutions do with a finished chain behind the bias. */
#ifndef ARTEL_KERNEL_REF_FINISH_H
#define ARTEL_KERNEL_REF_FINISH_H

#include "kernel/narrow.h"
#include "kernel/product.h"

static inline float artel__ref_finish(artel__fused activation, artel_dtype narrow, float x)
{
    if (activation == ARTEL__FUSED_RELU && x < 0.0f) x = 0.0f;
    return artel__narrow_one(narrow, x);
}

#endif
