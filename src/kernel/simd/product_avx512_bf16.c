/* SPDX-License-Identifier: Apache-2.0 */
/* product_forward of bfloat16 operands with AVX512_BF16. */
#include "kernel/simd/micro_vec_avx512.h"

#include <string.h>

#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_pairs.h"

const artel__kernel artel__avx512_bf16_product_forward = {.name = "avx512_bf16 product_forward",
                                                          .isa = ARTEL__ISA_AVX512_BF16,
                                                          .refuses = pairs_refuse,
                                                          .tasks = pairs_tasks,
                                                          .scratch_bytes = pairs_scratch,
                                                          .run = pairs_run};
