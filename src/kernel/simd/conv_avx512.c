/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_forward and conv2d_data_gradient with AVX-512. */
#include "kernel/simd/micro_vec_avx512.h"

#include "kernel/simd/conv_body.h"
#include "kernel/simd/chain.h"
#include "kernel/simd/micro_tables.h"

const artel__kernel artel__avx512_conv2d_forward = {.name = "avx512 conv2d_forward",
                                                    .isa = ARTEL__ISA_AVX512,
                                                    .refuses = chain_conv2d_forward,
                                                    .tasks = conv_forward_tasks,
                                                    .scratch_bytes = conv_forward_scratch,
                                                    .run = conv_forward_run};

const artel__kernel artel__avx512_conv2d_data_gradient = {.name = "avx512 conv2d_data_gradient",
                                                          .isa = ARTEL__ISA_AVX512,
                                                          .refuses = chain_conv2d_data_gradient,
                                                          .tasks = conv_data_tasks,
                                                          .scratch_bytes = conv_data_scratch,
                                                          .run = conv_data_run};
