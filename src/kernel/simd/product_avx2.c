/* SPDX-License-Identifier: Apache-2.0 */
/* product_forward with AVX2. */
#include "kernel/simd/micro_vec_avx2.h"

#include "kernel/simd/chain.h"
#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_body.h"

const artel__kernel artel__avx2_product_forward = {.name = "avx2 product_forward",
                                                   .isa = ARTEL__ISA_AVX2,
                                                   .refuses = chain_product_forward,
                                                   .tasks = product_forward_tasks,
                                                   .scratch_bytes = product_forward_scratch,
                                                   .run = product_forward_run};
