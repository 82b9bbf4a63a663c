/* SPDX-License-Identifier: Apache-2.0 */
/* Why kernels whose sums are chains refuse: the sum is wanted in blocks (kernel/tiles.h). One function a kind of
 * parameters. */
#ifndef ARTEL_KERNEL_SIMD_CHAIN_H
#define ARTEL_KERNEL_SIMD_CHAIN_H

#include "kernel/conv.h"
#include "kernel/product.h"

static inline const char *chain_refuses(artel__arithmetic arithmetic)
{
    return arithmetic == ARTEL__ARITHMETIC_CHAIN ? NULL : "adds in chains, not in blocks";
}

static inline const char *chain_product_forward(const void *params)
{
    return chain_refuses(((const artel__product_forward *)params)->arithmetic);
}

static inline const char *chain_product_weight_gradient(const void *params)
{
    return chain_refuses(((const artel__product_weight_gradient *)params)->arithmetic);
}

static inline const char *chain_conv2d_forward(const void *params)
{
    return chain_refuses(((const artel__conv2d_forward *)params)->arithmetic);
}

static inline const char *chain_conv2d_data_gradient(const void *params)
{
    return chain_refuses(((const artel__conv2d_data_gradient *)params)->arithmetic);
}

static inline const char *chain_conv2d_weight_gradient(const void *params)
{
    return chain_refuses(((const artel__conv2d_weight_gradient *)params)->arithmetic);
}

#endif
