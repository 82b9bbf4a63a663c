/* SPDX-License-Identifier: Apache-2.0 */
/* The ordered lists of product kernels: best first, the reference last. */
#include "kernel/product.h"

#include "kernel/ref/product_fold.h"
#include "kernel/simd/micro_tables.h"

const artel__kernel *const artel__product_forward_kernels[] = {
    &artel__amx_tiles_product_forward,  &artel__avx512_tiles_product_forward,
    &artel__avx2_tiles_product_forward, &artel__avx512_bf16_product_forward,
    &artel__avx512_product_forward,     &artel__avx2_product_forward,
    &artel__ref_product_forward,        NULL};
const artel__kernel *const artel__product_pack_kernels[] = {&artel__avx2_product_pack, &artel__ref_product_pack, NULL};
const artel__kernel *const artel__product_weight_gradient_kernels[] = {
    &artel__amx_tiles_product_weight_gradient,  &artel__avx512_tiles_product_weight_gradient,
    &artel__avx2_tiles_product_weight_gradient, &artel__avx512_bf16_product_weight_gradient,
    &artel__avx512_product_weight_gradient,     &artel__avx2_product_weight_gradient,
    &artel__ref_product_weight_gradient,        NULL};
