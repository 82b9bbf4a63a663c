/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions in blocks (kernel/tiles.h) with multiply-adds of AVX-512. */
#include "kernel/simd/micro_vec_avx512.h"

#include "kernel/simd/micro_tables.h"
#include "kernel/simd/tiles_multiply_fma.h"
#include "kernel/simd/tiles_conv.h"
#include "kernel/simd/tiles_gradient.h"

const artel__kernel artel__avx512_tiles_product_forward = {.name = "avx512 tiles product_forward",
                                                           .isa = ARTEL__ISA_AVX512,
                                                           .refuses = tiles_product_refuses,
                                                           .tasks = tiles_product_tasks,
                                                           .scratch_bytes = tiles_product_scratch,
                                                           .halves = artel__halves_always,
                                                           .run = tiles_product_run};

const artel__kernel artel__avx512_tiles_conv2d_forward = {.name = "avx512 tiles conv2d_forward",
                                                          .isa = ARTEL__ISA_AVX512,
                                                          .refuses = tiles_forward_refuses,
                                                          .tasks = tiles_forward_tasks,
                                                          .scratch_bytes = tiles_forward_scratch,
                                                          .halves = artel__halves_always,
                                                          .run = tiles_forward_run};

const artel__kernel artel__avx512_tiles_conv2d_data_gradient = {.name = "avx512 tiles conv2d_data_gradient",
                                                                .isa = ARTEL__ISA_AVX512,
                                                                .refuses = tiles_data_refuses,
                                                                .tasks = tiles_data_tasks,
                                                                .scratch_bytes = tiles_data_scratch,
                                                                .halves = artel__halves_always,
                                                                .run = tiles_data_run};

const artel__kernel artel__avx512_tiles_product_weight_gradient = {.name = "avx512 tiles product_weight_gradient",
                                                                   .isa = ARTEL__ISA_AVX512,
                                                                   .refuses = tiles_weights_refuses,
                                                                   .tasks = tiles_weights_tasks,
                                                                   .follows = tiles_weights_follows,
                                                                   .scratch_bytes = tiles_weights_scratch,
                                                                   .halves = artel__halves_always,
                                                                   .run = tiles_weights_run};

const artel__kernel artel__avx512_tiles_conv2d_weight_gradient = {.name = "avx512 tiles conv2d_weight_gradient",
                                                                  .isa = ARTEL__ISA_AVX512,
                                                                  .refuses = tiles_conv_weights_refuses,
                                                                  .tasks = tiles_conv_weights_tasks,
                                                                  .follows = tiles_conv_weights_follows,
                                                                  .scratch_bytes = tiles_conv_weights_scratch,
                                                                  .halves = artel__halves_always,
                                                                  .run = tiles_conv_weights_run};
