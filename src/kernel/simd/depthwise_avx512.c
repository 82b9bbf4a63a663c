/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions with AVX-512. */
#include "kernel/simd/micro_vec_avx512.h"

#include "kernel/simd/depthwise_body.h"
#include "kernel/simd/micro_tables.h"

const artel__kernel artel__avx512_depthwise_forward = {.name = "avx512 depthwise_forward",
                                                       .isa = ARTEL__ISA_AVX512,
                                                       .tasks = depth_forward_tasks,
                                                       .scratch_bytes = depth_forward_scratch,
                                                       .run = depth_forward_run};

const artel__kernel artel__avx512_depthwise_data_gradient = {.name = "avx512 depthwise_data_gradient",
                                                             .isa = ARTEL__ISA_AVX512,
                                                             .tasks = depth_data_tasks,
                                                             .scratch_bytes = depth_data_scratch,
                                                             .run = depth_data_run};

const artel__kernel artel__avx512_depthwise_weight_gradient = {.name = "avx512 depthwise_weight_gradient",
                                                               .isa = ARTEL__ISA_AVX512,
                                                               .tasks = depth_weight_tasks,
                                                               .scratch_bytes = depth_weight_scratch,
                                                               .run = depth_weight_run};
