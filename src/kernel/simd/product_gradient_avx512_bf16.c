/* SPDX-License-Identifier: Apache-2.0 */
/* product_weight_gradient and conv2d_weight_gradient of bfloat16 operands with AVX512_BF16: two rows a step, as pairs (micro_step.h).
 *
 * A pair lies in one shard. Where a shard has an odd number of rows, as at the end of an epoch, all is done as with AVX-512.
 */
#include "kernel/simd/micro_vec_avx512.h"

#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_gradient_body.h"

static bool pairs_fit(const artel__fold_plan *fold, int64_t inner)
{
    for (int32_t i = 0; i <= fold->count; i++) {
        if (fold->start[i] * inner % VEC_ROWS > 0) return false;
    }
    return true;
}

static const char *pairs_refuse(artel_dtype held)
{
    return held == ARTEL_DTYPE_BFLOAT16 ? NULL : "operands are not bfloat16";
}

/* The kernel without pairs; NULL: they fit. */
static const artel__kernel *product_plain(const artel__product_weight_gradient *p)
{
    return pairs_fit(p->fold, p->inner) ? NULL : &artel__avx512_product_weight_gradient;
}

static const char *product_pairs_refuse(const void *params)
{
    return pairs_refuse(((const artel__product_weight_gradient *)params)->held);
}

static int64_t product_pairs_tasks(const void *params)
{
    const artel__kernel *plain = product_plain(params);
    return plain ? plain->tasks(params) : product_gradient_tasks(params);
}

static int64_t product_pairs_grain(const void *params)
{
    const artel__kernel *plain = product_plain(params);
    return plain ? plain->grain(params) : product_gradient_grain(params);
}

static size_t product_pairs_scratch(const void *params)
{
    const artel__kernel *plain = product_plain(params);
    return plain ? plain->scratch_bytes(params) : product_gradient_scratch(params);
}

static void product_pairs_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__kernel *plain = product_plain(params);
    if (plain)
        plain->run(params, begin, end, scratch);
    else
        product_gradient_run(params, begin, end, scratch);
}

static const artel__kernel *conv_plain(const artel__conv2d_weight_gradient *p)
{
    return pairs_fit(p->fold, p->shape.oh * p->shape.ow) ? NULL : &artel__avx512_conv2d_weight_gradient;
}

static const char *conv_pairs_refuse(const void *params)
{
    return pairs_refuse(((const artel__conv2d_weight_gradient *)params)->held);
}

static int64_t conv_pairs_tasks(const void *params)
{
    const artel__kernel *plain = conv_plain(params);
    return plain ? plain->tasks(params) : conv_gradient_tasks(params);
}

static int64_t conv_pairs_grain(const void *params)
{
    const artel__kernel *plain = conv_plain(params);
    return plain ? plain->grain(params) : conv_gradient_grain(params);
}

static size_t conv_pairs_scratch(const void *params)
{
    const artel__kernel *plain = conv_plain(params);
    return plain ? plain->scratch_bytes(params) : conv_gradient_scratch(params);
}

static void conv_pairs_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__kernel *plain = conv_plain(params);
    if (plain)
        plain->run(params, begin, end, scratch);
    else
        conv_gradient_run(params, begin, end, scratch);
}

const artel__kernel artel__avx512_bf16_product_weight_gradient = {.name = "avx512_bf16 product_weight_gradient",
                                                                  .isa = ARTEL__ISA_AVX512_BF16,
                                                                  .refuses = product_pairs_refuse,
                                                                  .tasks = product_pairs_tasks,
                                                                  .grain = product_pairs_grain,
                                                                  .follows = product_gradient_follows,
                                                                  .scratch_bytes = product_pairs_scratch,
                                                                  .run = product_pairs_run};

const artel__kernel artel__avx512_bf16_conv2d_weight_gradient = {.name = "avx512_bf16 conv2d_weight_gradient",
                                                                 .isa = ARTEL__ISA_AVX512_BF16,
                                                                 .refuses = conv_pairs_refuse,
                                                                 .tasks = conv_pairs_tasks,
                                                                 .grain = conv_pairs_grain,
                                                                 .follows = conv_gradient_follows,
                                                                 .scratch_bytes = conv_pairs_scratch,
                                                                 .run = conv_pairs_run};
