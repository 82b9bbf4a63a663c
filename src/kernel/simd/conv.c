/* SPDX-License-Identifier: Apache-2.0 */
/* The ordered lists of convolution kernels: best first, the reference last. */
#include "kernel/conv.h"

#include "kernel/ref/product_fold.h"
#include "kernel/simd/micro_tables.h"

const artel__kernel *const artel__conv2d_forward_kernels[] = {
    &artel__amx_tiles_conv2d_forward,  &artel__avx512_tiles_conv2d_forward,
    &artel__avx2_tiles_conv2d_forward, &artel__avx512_bf16_conv2d_forward,
    &artel__avx512_conv2d_forward,     &artel__avx2_conv2d_forward,
    &artel__ref_conv2d_forward,        NULL};
const artel__kernel *const artel__conv2d_data_gradient_kernels[] = {
    &artel__amx_tiles_conv2d_data_gradient,  &artel__avx512_tiles_conv2d_data_gradient,
    &artel__avx2_tiles_conv2d_data_gradient, &artel__avx512_bf16_conv2d_data_gradient,
    &artel__avx512_conv2d_data_gradient,     &artel__avx2_conv2d_data_gradient,
    &artel__ref_conv2d_data_gradient,        NULL};
const artel__kernel *const artel__conv2d_weight_gradient_kernels[] = {
    &artel__amx_tiles_conv2d_weight_gradient,  &artel__avx512_tiles_conv2d_weight_gradient,
    &artel__avx2_tiles_conv2d_weight_gradient, &artel__avx512_bf16_conv2d_weight_gradient,
    &artel__avx512_conv2d_weight_gradient,     &artel__avx2_conv2d_weight_gradient,
    &artel__ref_conv2d_weight_gradient,        NULL};
