/* SPDX-License-Identifier: Apache-2.0 */
/* The ordered lists of depthwise kernels: best first, the reference last. */
#include "kernel/depthwise.h"

#include "kernel/ref/product_fold.h"
#include "kernel/simd/micro_tables.h"

const artel__kernel *const artel__depthwise_forward_kernels[] = {
    &artel__avx512_depthwise_forward, &artel__avx2_depthwise_forward, &artel__ref_depthwise_forward, NULL};
const artel__kernel *const artel__depthwise_data_gradient_kernels[] = {&artel__avx512_depthwise_data_gradient,
                                                                       &artel__avx2_depthwise_data_gradient,
                                                                       &artel__ref_depthwise_data_gradient, NULL};
const artel__kernel *const artel__depthwise_weight_gradient_kernels[] = {&artel__avx512_depthwise_weight_gradient,
                                                                         &artel__avx2_depthwise_weight_gradient,
                                                                         &artel__ref_depthwise_weight_gradient, NULL};
