/* SPDX-License-Identifier: Apache-2.0 */
/* Attention; see simd.h for how this file is compiled, kernel/attention.h for the formulas.
 *
 * One row and one head at a time: the scores of a head fit a cache close by, and the small products do the work. The reference is
 * this body over the plain products.
 */
#include "kernel/simd/simd.h"

#include "kernel/attention.h"
#include "kernel/math.h"
#include "kernel/micro.h"
#include "kernel/simd/attention_tables.h"
#include "kernel/simd/row.h"

static const uint8_t *mask_at(const artel__attention_shape *s, int64_t row, int64_t head, int64_t query)
{
    return s->mask + row / s->inner * s->mask_row + head * s->mask_head + query * s->mask_query;
}

/* Writes `number` where query i may not attend; positions past n have been dealt with. */
static void mask_row(const artel__attention_shape *s, int64_t row, int64_t head, int64_t i, float number, float *x)
{
    if (s->mask) {
        const uint8_t *mask = mask_at(s, row, head, i);
        int64_t stride = s->mask_key;
        for (int64_t j = 0; j < s->keys; j++) x[j] = mask[j * stride] ? x[j] : number;
    }
    for (int64_t j = s->causal ? i + 1 : s->keys; j < s->keys; j++) x[j] = number;
}

static void softmax_row(float *x, int64_t n)
{
    float m, scale = 1.0f / artel__row_exponentials(x, n, &m);
    ARTEL__INDEPENDENT
    for (int64_t j = 0; j < n; j++) x[j] = artel__expf(x[j] - m) * scale;
}

/* One head's dropout of x into y, which may be x. */
static void drop(const artel__attention_shape *s, int64_t row, int64_t head, const float *x, float *y)
{
    int64_t n = s->queries * s->keys, base = (row % s->inner * s->heads + head) * n;
    uint32_t word[4];
    int64_t block = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t index = base + i;
        if (index / 4 != block) {
            block = index / 4;
            artel__rng_block(s->key, s->batch, s->node, (uint32_t)(s->first_row + row / s->inner), (uint64_t)block, word);
        }
        y[i] = artel__rng_uniform(word[index & 3]) >= s->rate ? x[i] * s->keep_scale : 0.0f;
    }
}

/* -- forward -- */

static int64_t forward_tasks(const void *params)
{
    const artel__attention_forward *p = params;
    return p->shape.rows * p->shape.key_heads;
}

static size_t forward_scratch(const void *params)
{
    const artel__attention_forward *p = params;
    return p->shape.rate > 0 ? (size_t)(p->shape.queries * p->shape.keys) * sizeof(float) : 0;
}

static void forward_head(const artel__attention_forward *p, int64_t row, int64_t head, float *scratch)
{
    const artel__attention_shape *s = &p->shape;
    const artel__micro *micro = artel__micro_for(ARTEL__SIMD_ISA);
    int64_t t = s->queries, n = s->keys, group = head * s->key_heads / s->heads;
    const float *k = p->k + (row * n * s->key_heads + group) * s->depth, *v = p->v + (row * n * s->key_heads + group) * s->value_depth;
    float *probs = p->probs + (row * s->heads + head) * t * n, *used = probs;
    artel__gemm scores = {
        t, n, s->depth, p->q + (row * t * s->heads + head) * s->depth, s->heads * s->depth, k, s->key_heads * s->depth, probs, n, false};
    micro->nt(&scores);
    for (int64_t i = 0; i < t && n > 0; i++) {
        float *x = probs + i * n, scale = s->scale;
        ARTEL__INDEPENDENT
        for (int64_t j = 0; j < n; j++) x[j] = x[j] * scale;
        mask_row(s, row, head, i, ARTEL__MASKED_SCORE, x);
        softmax_row(x, n);
    }
    if (s->rate > 0) drop(s, row, head, probs, used = scratch);
    artel__gemm combine = {t,
                           s->value_depth,
                           n,
                           used,
                           n,
                           v,
                           s->key_heads * s->value_depth,
                           p->out + (row * t * s->heads + head) * s->value_depth,
                           s->heads * s->value_depth,
                           false};
    micro->nn(&combine);
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__attention_forward *p = params;
    int64_t share = p->shape.heads / p->shape.key_heads;
    for (int64_t task = begin; task < end; task++)
        for (int64_t h = 0; h < share; h++) forward_head(p, task / p->shape.key_heads, task % p->shape.key_heads * share + h, scratch);
}

/* -- gradient -- */

static int64_t gradient_tasks(const void *params)
{
    const artel__attention_gradient *p = params;
    return p->shape.rows * p->shape.key_heads;
}

static size_t gradient_scratch(const void *params)
{
    const artel__attention_gradient *p = params;
    return (size_t)(p->shape.queries * p->shape.keys * (p->shape.rate > 0 ? 2 : 1)) * sizeof(float);
}

static void softmax_row_back(const float *y, float *d, int64_t n, float scale)
{
    float lane[ARTEL__LANES] = {0};
    int64_t j = 0;
    for (; j + ARTEL__LANES <= n; j += ARTEL__LANES)
        for (int l = 0; l < ARTEL__LANES; l++) lane[l] = lane[l] + d[j + l] * y[j + l];
    for (int l = 0; j + l < n; l++) lane[l] = lane[l] + d[j + l] * y[j + l];
    float sum = artel__lanes_sum(lane);
    ARTEL__INDEPENDENT
    for (j = 0; j < n; j++) d[j] = ((d[j] - sum) * y[j]) * scale;
}

static void gradient_head(const artel__attention_gradient *p, int64_t row, int64_t head, bool accumulate, float *scratch)
{
    const artel__attention_shape *s = &p->shape;
    const artel__micro *micro = artel__micro_for(ARTEL__SIMD_ISA);
    int64_t t = s->queries, n = s->keys, group = head * s->key_heads / s->heads;
    int64_t at_q = (row * t * s->heads + head) * s->depth, at_k = (row * n * s->key_heads + group) * s->depth;
    int64_t at_o = (row * t * s->heads + head) * s->value_depth, at_v = (row * n * s->key_heads + group) * s->value_depth;
    int64_t ldq = s->heads * s->depth, ldk = s->key_heads * s->depth, ldo = s->heads * s->value_depth, ldv = s->key_heads * s->value_depth;
    const float *probs = p->probs + (row * s->heads + head) * t * n, *used = probs;
    float *d = scratch;
    if (s->rate > 0) {
        drop(s, row, head, probs, scratch + t * n);
        used = scratch + t * n;
    }
    artel__gemm back_v = {n, s->value_depth, t, used, n, p->dout + at_o, ldo, p->dv + at_v, ldv, accumulate};
    micro->tn(&back_v);
    artel__gemm back_probs = {t, n, s->value_depth, p->dout + at_o, ldo, p->v + at_v, ldv, d, n, false};
    micro->nt(&back_probs);
    if (s->rate > 0) drop(s, row, head, d, d);
    if (p->dprobs) {
        const float *more = p->dprobs + (row * s->heads + head) * t * n;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < t * n; i++) d[i] = d[i] + more[i];
    }
    for (int64_t i = 0; i < t; i++) {
        softmax_row_back(probs + i * n, d + i * n, n, s->scale);
        if (s->mask) mask_row(s, row, head, i, 0.0f, d + i * n);
    }
    artel__gemm back_q = {t, s->depth, n, d, n, p->k + at_k, ldk, p->dq + at_q, ldq, false};
    micro->nn(&back_q);
    artel__gemm back_k = {n, s->depth, t, d, n, p->q + at_q, ldq, p->dk + at_k, ldk, accumulate};
    micro->tn(&back_k);
}

static void gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__attention_gradient *p = params;
    int64_t share = p->shape.heads / p->shape.key_heads;
    for (int64_t task = begin; task < end; task++)
        for (int64_t h = 0; h < share; h++)
            gradient_head(p, task / p->shape.key_heads, task % p->shape.key_heads * share + h, h > 0, scratch);
}

const artel__kernel ARTEL__SIMD_TABLE[ARTEL__ATTENTION_KERNELS] = {
    [ARTEL__ATTENTION_FORWARD] = {.name = ARTEL__SIMD_NAME " attention_forward",
                                  .isa = ARTEL__SIMD_ISA,
                                  .tasks = forward_tasks,
                                  .scratch_bytes = forward_scratch,
                                  .run = forward_run},
    [ARTEL__ATTENTION_GRADIENT] = {.name = ARTEL__SIMD_NAME " attention_gradient",
                                   .isa = ARTEL__SIMD_ISA,
                                   .tasks = gradient_tasks,
                                   .scratch_bytes = gradient_scratch,
                                   .run = gradient_run},
};
