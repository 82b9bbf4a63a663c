/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of one instruction set offer to the lists: tables of small products, kernels. */
#ifndef ARTEL_KERNEL_SIMD_MICRO_TABLES_H
#define ARTEL_KERNEL_SIMD_MICRO_TABLES_H

#include "kernel/kernel.h"
#include "kernel/micro.h"

extern const artel__micro artel__micro_ref, artel__micro_avx2, artel__micro_avx512;

extern const artel__kernel artel__avx2_product_forward, artel__avx512_product_forward;
extern const artel__kernel artel__avx2_product_weight_gradient, artel__avx512_product_weight_gradient;
extern const artel__kernel artel__avx512_bf16_product_forward;
extern const artel__kernel artel__avx512_bf16_conv2d_forward, artel__avx512_bf16_conv2d_data_gradient;
extern const artel__kernel artel__avx512_bf16_product_weight_gradient, artel__avx512_bf16_conv2d_weight_gradient;
extern const artel__kernel artel__avx2_conv2d_forward, artel__avx512_conv2d_forward;
extern const artel__kernel artel__avx2_conv2d_data_gradient, artel__avx512_conv2d_data_gradient;
extern const artel__kernel artel__avx2_conv2d_weight_gradient, artel__avx512_conv2d_weight_gradient;
extern const artel__kernel artel__avx2_depthwise_forward, artel__avx512_depthwise_forward;
extern const artel__kernel artel__avx2_depthwise_data_gradient, artel__avx512_depthwise_data_gradient;
extern const artel__kernel artel__avx2_depthwise_weight_gradient, artel__avx512_depthwise_weight_gradient;
extern const artel__kernel artel__avx2_product_pack;

#endif
