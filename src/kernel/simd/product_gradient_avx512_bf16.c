/* SPDX-License-Identifier: Apache-2.0 */
/* product_weight_gradient and conv2d_weight_gradient of bfloat16 operands with AVX512_BF16: two rows a step, as pairs
 * (micro_step.h).
 *
 * A pair lies in one shard. Where a shard has an odd number of rows, as at the end of an epoch, all is done as with
 * AVX-512.
 */
#include "kernel/simd/micro_vec_avx512.h"

#include "kernel/simd/chain.h"
#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_gradient_body.h"

static bool pairs_fit(const artel__fold_plan *fold, int64_t inner)
{
    for (int32_t i = 0; i <= fold->count; i++) {
        if (fold->start[i] * inner % VEC_ROWS > 0) return false;
    }
    return true;
}

static const char *pairs_refuse(artel_dtype held, artel__arithmetic arithmetic)
{
    return held == ARTEL_DTYPE_BFLOAT16 ? chain_refuses(arithmetic) : "operands are not bfloat16";
}

static const artel__kernel product_pairs = {.tasks = product_gradient_tasks,
                                            .grain = product_gradient_grain,
                                            .scratch_bytes = product_gradient_scratch,
                                            .run = product_gradient_run};

/* With pairs or without. */
static const artel__kernel *product_way(const void *params)
{
    const artel__product_weight_gradient *p = params;
    return pairs_fit(p->fold, p->inner) ? &product_pairs : &artel__avx512_product_weight_gradient;
}

static const char *product_refuses(const void *params)
{
    const artel__product_weight_gradient *p = params;
    return pairs_refuse(p->held, p->arithmetic);
}

static int64_t product_tasks(const void *params)
{
    return product_way(params)->tasks(params);
}

static int64_t product_grain(const void *params)
{
    return product_way(params)->grain(params);
}

static size_t product_scratch(const void *params)
{
    return product_way(params)->scratch_bytes(params);
}

static void product_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    product_way(params)->run(params, begin, end, scratch);
}

static const artel__kernel conv_pairs = {.tasks = conv_gradient_tasks,
                                         .grain = conv_gradient_grain,
                                         .scratch_bytes = conv_gradient_scratch,
                                         .run = conv_gradient_run};

/* With pairs or without. */
static const artel__kernel *conv_way(const void *params)
{
    const artel__conv2d_weight_gradient *p = params;
    return pairs_fit(p->fold, p->shape.oh * p->shape.ow) ? &conv_pairs : &artel__avx512_conv2d_weight_gradient;
}

static const char *conv_refuses(const void *params)
{
    const artel__conv2d_weight_gradient *p = params;
    return pairs_refuse(p->held, p->arithmetic);
}

static int64_t conv_tasks(const void *params)
{
    return conv_way(params)->tasks(params);
}

static int64_t conv_grain(const void *params)
{
    return conv_way(params)->grain(params);
}

static size_t conv_scratch(const void *params)
{
    return conv_way(params)->scratch_bytes(params);
}

static void conv_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    conv_way(params)->run(params, begin, end, scratch);
}

const artel__kernel artel__avx512_bf16_product_weight_gradient = {.name = "avx512_bf16 product_weight_gradient",
                                                                  .isa = ARTEL__ISA_AVX512_BF16,
                                                                  .refuses = product_refuses,
                                                                  .tasks = product_tasks,
                                                                  .grain = product_grain,
                                                                  .follows = product_gradient_follows,
                                                                  .scratch_bytes = product_scratch,
                                                                  .run = product_run};

const artel__kernel artel__avx512_bf16_conv2d_weight_gradient = {.name = "avx512_bf16 conv2d_weight_gradient",
                                                                 .isa = ARTEL__ISA_AVX512_BF16,
                                                                 .refuses = conv_refuses,
                                                                 .tasks = conv_tasks,
                                                                 .grain = conv_grain,
                                                                 .follows = conv_gradient_follows,
                                                                 .scratch_bytes = conv_scratch,
                                                                 .run = conv_run};
