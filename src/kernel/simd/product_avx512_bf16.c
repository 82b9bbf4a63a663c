/* SPDX-License-Identifier: Apache-2.0 */
/* product_forward of bfloat16 operands with AVX512_BF16. */
#include "kernel/simd/micro_vec_avx512.h"

#include <string.h>

#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_pairs.h"

static const char *forward_refuses(const void *params)
{
    return pairs_refuse(params);
}

static int64_t forward_tasks(const void *params)
{
    return pairs_tasks(params);
}

static size_t forward_scratch(const void *params)
{
    return pairs_lay(params, NULL).bytes;
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    pairs_product of = {.p = *(const artel__product_forward *)params};
    pairs_run(&of, begin, end, scratch);
}

const artel__kernel artel__avx512_bf16_product_forward = {.name = "avx512_bf16 product_forward",
                                                          .isa = ARTEL__ISA_AVX512_BF16,
                                                          .refuses = forward_refuses,
                                                          .tasks = forward_tasks,
                                                          .scratch_bytes = forward_scratch,
                                                          .run = forward_run};
