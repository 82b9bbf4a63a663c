/* SPDX-License-Identifier: Apache-2.0 */
/* product_weight_gradient and conv2d_weight_gradient with AVX2. */
#include "kernel/simd/micro_vec_avx2.h"

#include "kernel/simd/chain.h"
#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_gradient_body.h"

const artel__kernel artel__avx2_product_weight_gradient = {.name = "avx2 product_weight_gradient",
                                                           .isa = ARTEL__ISA_AVX2,
                                                           .refuses = chain_product_weight_gradient,
                                                           .tasks = product_gradient_tasks,
                                                           .grain = product_gradient_grain,
                                                           .follows = product_gradient_follows,
                                                           .scratch_bytes = product_gradient_scratch,
                                                           .run = product_gradient_run};

const artel__kernel artel__avx2_conv2d_weight_gradient = {.name = "avx2 conv2d_weight_gradient",
                                                          .isa = ARTEL__ISA_AVX2,
                                                          .refuses = chain_conv2d_weight_gradient,
                                                          .tasks = conv_gradient_tasks,
                                                          .grain = conv_gradient_grain,
                                                          .follows = conv_gradient_follows,
                                                          .scratch_bytes = conv_gradient_scratch,
                                                          .run = conv_gradient_run};
