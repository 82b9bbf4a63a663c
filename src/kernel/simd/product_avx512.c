/* SPDX-License-Identifier: Apache-2.0 */
/* product_forward with AVX-512. */
#include "kernel/simd/micro_vec_avx512.h"

#include "kernel/simd/chain.h"
#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_body.h"

const artel__kernel artel__avx512_product_forward = {.name = "avx512 product_forward",
                                                     .isa = ARTEL__ISA_AVX512,
                                                     .refuses = chain_product_forward,
                                                     .tasks = product_forward_tasks,
                                                     .scratch_bytes = product_forward_scratch,
                                                     .run = product_forward_run};
