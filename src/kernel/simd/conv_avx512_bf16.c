/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_forward and conv2d_data_gradient of bfloat16 operands with AVX512_BF16: products whose rows are gathered pixel
 * by pixel. */
#include "kernel/simd/micro_vec_avx512.h"

#include <string.h>

#include "kernel/conv.h"
#include "kernel/simd/micro_tables.h"
#include "kernel/simd/product_pairs.h"

/* Why not; NULL: the pixels of `walk` can be gathered as pairs. */
static const char *gather_refuses(const artel__conv2d_shape *s, const pairs_product *of)
{
    const char *why = pairs_refuse(&of->p);
    if (why) return why;
    if (s->groups > 1) return "groups";
    if (of->walk.ny * of->walk.nx == 0) return "no taps";
    return of->walk.ny * of->walk.nx > 1 && of->walk.depth % 2 > 0 ? "a pair would lie in two taps" : NULL;
}

static pairs_product forward_product(const artel__conv2d_forward *f)
{
    const artel__conv2d_shape *s = &f->shape;
    pairs_product of = {.walk = conv_walk_forward(s, f->x), .normalise = artel__conv_normalises(s)};
    of.p = (artel__product_forward){.m = s->images * s->oh * s->ow,
                                    .n = s->oc,
                                    .k = s->kh * s->kw * s->ic,
                                    .w = f->w,
                                    .bias = f->bias,
                                    .activation = f->activation,
                                    .out = f->out,
                                    .ldo = s->oc,
                                    .narrow = f->narrow,
                                    .held = f->held,
                                    .arithmetic = f->arithmetic};
    return of;
}

static const char *forward_refuses(const void *params)
{
    const artel__conv2d_forward *f = params;
    pairs_product of = forward_product(f);
    return gather_refuses(&f->shape, &of);
}

static int64_t forward_tasks(const void *params)
{
    pairs_product of = forward_product(params);
    return pairs_tasks(&of.p);
}

static size_t forward_scratch(const void *params)
{
    pairs_product of = forward_product(params);
    return pairs_lay(&of.p, NULL).bytes;
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    pairs_product of = forward_product(params);
    pairs_run(&of, begin, end, scratch);
}

/* Without strides: one phase, whose taps are all taps in the order of the transposed weights. */
static pairs_product data_product(const artel__conv2d_data_gradient *d)
{
    const artel__conv2d_shape *s = &d->shape;
    pairs_product of = {.walk = conv_walk_data(s, d->dy, 0, 0), .normalise = artel__conv_normalises(s)};
    of.p = (artel__product_forward){.m = s->images * s->ih * s->iw,
                                    .n = s->ic,
                                    .k = s->kh * s->kw * s->oc,
                                    .w = d->wt,
                                    .bias = d->bias,
                                    .activation = d->activation,
                                    .out = d->dx,
                                    .ldo = s->ic,
                                    .narrow = d->narrow,
                                    .held = d->held,
                                    .arithmetic = d->arithmetic};
    return of;
}

static const char *data_refuses(const void *params)
{
    const artel__conv2d_data_gradient *d = params;
    pairs_product of = data_product(d);
    if (d->held == ARTEL_DTYPE_BFLOAT16 && (d->shape.sh > 1 || d->shape.sw > 1)) return "strides";
    return gather_refuses(&d->shape, &of);
}

static int64_t data_tasks(const void *params)
{
    pairs_product of = data_product(params);
    return pairs_tasks(&of.p);
}

static size_t data_scratch(const void *params)
{
    pairs_product of = data_product(params);
    return pairs_lay(&of.p, NULL).bytes;
}

static void data_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    pairs_product of = data_product(params);
    pairs_run(&of, begin, end, scratch);
}

const artel__kernel artel__avx512_bf16_conv2d_forward = {.name = "avx512_bf16 conv2d_forward",
                                                         .isa = ARTEL__ISA_AVX512_BF16,
                                                         .refuses = forward_refuses,
                                                         .tasks = forward_tasks,
                                                         .scratch_bytes = forward_scratch,
                                                         .run = forward_run};

const artel__kernel artel__avx512_bf16_conv2d_data_gradient = {.name = "avx512_bf16 conv2d_data_gradient",
                                                               .isa = ARTEL__ISA_AVX512_BF16,
                                                               .refuses = data_refuses,
                                                               .tasks = data_tasks,
                                                               .scratch_bytes = data_scratch,
                                                               .run = data_run};
