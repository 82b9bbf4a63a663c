/* SPDX-License-Identifier: Apache-2.0 */
/* Attention; see simd.h for how this file is compiled, kernel/attention.h for the formulas.
 *
 * One row and one head at a time: the scores of a head fit a cache close by, and the small products do the work. The
 * reference is this body over the plain products.
 */
#include "kernel/simd/simd.h"

#include "kernel/attention.h"
#include "kernel/half.h"
#include "kernel/math.h"
#include "kernel/micro.h"
#include "kernel/simd/attention_tables.h"
#include "kernel/simd/row.h"

/* Queries and keys are walked in blocks. Causal attention without a mask leaves out the blocks that no query may see:
 * block b of the queries meets the keys before seen_keys, block b of the keys the queries from first_query on. */
enum {
    BLOCK = 32
};

static bool skips(const artel__attention_shape *s)
{
    return s->causal && !s->mask;
}

static int64_t block_count(const artel__attention_shape *s, int64_t extent)
{
    return skips(s) ? (extent + BLOCK - 1) / BLOCK : extent > 0;
}

typedef struct block {
    int64_t begin, end; /* of the queries or keys that are walked */
    int64_t from, to;   /* of the others: those they meet */
} block;

static block query_block(const artel__attention_shape *s, int64_t b)
{
    if (!skips(s)) return (block){0, s->queries, 0, s->keys};
    int64_t end = (b + 1) * BLOCK < s->queries ? (b + 1) * BLOCK : s->queries;
    return (block){b * BLOCK, end, 0, (b + 1) * BLOCK < s->keys ? (b + 1) * BLOCK : s->keys};
}

static block key_block(const artel__attention_shape *s, int64_t b)
{
    if (!skips(s)) return (block){0, s->keys, 0, s->queries};
    int64_t end = (b + 1) * BLOCK < s->keys ? (b + 1) * BLOCK : s->keys;
    return (block){b * BLOCK, end, b * BLOCK < s->queries ? b * BLOCK : s->queries, s->queries};
}

/* Keys of query i that are computed; the probabilities of the others are zero. */
static int64_t row_keys(const artel__attention_shape *s, int64_t i)
{
    return query_block(s, i / BLOCK).to;
}

static const uint8_t *mask_at(const artel__attention_shape *s, int64_t row, int64_t head, int64_t query)
{
    int64_t outer = row / s->inner;
    return s->mask + outer * s->mask_row + (row - outer * s->inner) * s->mask_inner + head * s->mask_head +
           query * s->mask_query;
}

/* Writes `number` where query i may not attend; positions past n have been dealt with. */
static void mask_row(const artel__attention_shape *s, int64_t row, int64_t head, int64_t i, float number, float *x)
{
    if (s->mask) {
        const uint8_t *mask = mask_at(s, row, head, i);
        int64_t stride = s->mask_key;
        for (int64_t j = 0; j < s->keys; j++) x[j] = mask[j * stride] ? x[j] : number;
    }
    int64_t keys = row_keys(s, i);
    for (int64_t j = s->causal ? i + 1 : keys; j < keys; j++) x[j] = number;
}

/* As Attention hides positions: what is left of them counts in rows that are hidden throughout, where scores of less
 * than half of 64, the distance of float32 numbers from 1e9 on, are left equal. */
static void lower_row(const artel__attention_shape *s, int64_t row, int64_t head, int64_t i, float *x)
{
    const uint8_t *mask = mask_at(s, row, head, i);
    for (int64_t j = 0; j < s->keys; j++) {
        if (!mask[j * s->mask_key] || (s->causal && j > i)) x[j] = x[j] - 1e9f;
    }
}

/* Whether the mask leaves query i nothing to see. */
static bool sees_nothing(const artel__attention_shape *s, int64_t row, int64_t head, int64_t i)
{
    if (!s->mask) return false;
    const uint8_t *mask = mask_at(s, row, head, i);
    int64_t keys = s->causal && i + 1 < s->keys ? i + 1 : s->keys, j = 0;
    while (j < keys && !mask[j * s->mask_key]) j++;
    return j == keys;
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
    int64_t base = (row % s->inner * s->heads + head) * s->queries * s->keys;
    uint32_t word[4];
    int64_t drawn = -1;
    for (int64_t i = 0; i < s->queries; i++) {
        for (int64_t k = i * s->keys, last = k + row_keys(s, i); k < last; k++) {
            int64_t index = base + k;
            if (index / 4 != drawn) {
                drawn = index / 4;
                artel__rng_block(s->key, s->batch, s->node, (uint32_t)(s->first_row + row / s->inner), (uint64_t)drawn,
                                 word);
            }
            y[k] = artel__rng_uniform(word[index & 3]) >= s->rate ? x[k] * s->keep_scale : 0.0f;
        }
    }
}

/* The four products of a head, over the blocks there are. `x` and `y` are rows of queries or keys, `p` is
 * [queries][keys]. */
typedef struct rows {
    const float *at;
    int64_t step, width;
} rows;

/* `count` rows of a head, from element `at` on, `step` apart; widened to `*room` if they are bfloat16. */
static rows rows_of(const float *x, bool half, int64_t at, int64_t step, int64_t count, int64_t width, float **room)
{
    float *to = *room;
    if (!half) return (rows){x + at, step, width};
    artel__half_gather(x, true, at, step, count, width, to);
    *room += count * width;
    return (rows){to, width, width};
}

/* Where such rows are made. */
typedef struct made {
    float *at;
    int64_t step;
} made;

static made made_of(float *y, bool half, int64_t at, int64_t step, int64_t count, int64_t width, float **room)
{
    float *to = *room;
    if (!half) return (made){y + at, step};
    *room += count * width;
    return (made){to, width};
}

/* And, once they are, stored. */
static void made_store(float *y, bool half, int64_t at, int64_t step, int64_t count, int64_t width, made m)
{
    for (int64_t i = 0; half && i < count; i++) artel__half_store(y, true, at + i * step, width, m.at + i * m.step);
}

/* p = x y^T: x by query, y by key. */
static void scores(const artel__attention_shape *s, rows x, rows y, float *p)
{
    const artel__micro *micro = artel__micro_for(ARTEL__SIMD_ISA, s->arithmetic);
    for (int64_t i = 0; i < block_count(s, s->keys); i++) {
        block b = key_block(s, i);
        artel__gemm g = {b.to - b.from, b.end - b.begin,
                         x.width,       x.at + b.from * x.step,
                         x.step,        y.at + b.begin * y.step,
                         y.step,        p + b.from * s->keys + b.begin,
                         s->keys,       false};
        micro->nt(&g);
    }
}

/* out = p y, by query. */
static void over_keys(const artel__attention_shape *s, const float *p, rows y, float *out, int64_t step)
{
    const artel__micro *micro = artel__micro_for(ARTEL__SIMD_ISA, s->arithmetic);
    for (int64_t i = 0; i < block_count(s, s->queries); i++) {
        block b = query_block(s, i);
        artel__gemm g = {b.end - b.begin,      y.width, b.to, p + b.begin * s->keys, s->keys, y.at, y.step,
                         out + b.begin * step, step,    false};
        micro->nn(&g);
    }
}

/* out (+)= p^T x, by key. */
static void over_queries(const artel__attention_shape *s, const float *p, rows x, float *out, int64_t step,
                         bool accumulate)
{
    const artel__micro *micro = artel__micro_for(ARTEL__SIMD_ISA, s->arithmetic);
    for (int64_t i = 0; i < block_count(s, s->keys); i++) {
        block b = key_block(s, i);
        artel__gemm g = {b.end - b.begin,
                         x.width,
                         b.to - b.from,
                         p + b.from * s->keys + b.begin,
                         s->keys,
                         x.at + b.from * x.step,
                         x.step,
                         out + b.begin * step,
                         step,
                         accumulate};
        micro->tn(&g);
    }
}

/* With AMX, whose small products are in blocks, chains are no business of this file's. */
static const char *refuses(const artel__attention_shape *s)
{
    return ARTEL__SIMD_ISA < ARTEL__ISA_AMX || s->arithmetic == ARTEL__ARITHMETIC_TILES
               ? NULL
               : "adds in blocks, not in chains";
}

static const char *forward_refuses(const void *params)
{
    return refuses(&((const artel__attention_forward *)params)->shape);
}

static const char *gradient_refuses(const void *params)
{
    return refuses(&((const artel__attention_gradient *)params)->shape);
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
    const artel__attention_shape *s = &p->shape;
    int64_t t = s->queries, n = s->keys, floats = s->rate > 0 ? t * n : 0;
    if (p->q_half) floats += t * s->depth;
    if (p->k_half) floats += n * s->depth;
    if (p->v_half) floats += n * s->value_depth;
    if (p->out_half) floats += t * s->value_depth;
    return (size_t)floats * sizeof(float);
}

static void forward_head(const artel__attention_forward *p, int64_t row, int64_t head, float *scratch)
{
    const artel__attention_shape *s = &p->shape;
    int64_t t = s->queries, n = s->keys, group = head * s->key_heads / s->heads;
    int64_t at_q = row * t * s->heads + head, at_k = row * n * s->key_heads + group,
            step_out = s->heads * s->value_depth;
    float *probs = p->probs + (row * s->heads + head) * t * n, *used = probs,
          *room = scratch + (s->rate > 0 ? t * n : 0);
    rows q = rows_of(p->q, p->q_half, at_q * s->depth, s->heads * s->depth, t, s->depth, &room);
    rows k = rows_of(p->k, p->k_half, at_k * s->depth, s->key_heads * s->depth, n, s->depth, &room);
    rows v = rows_of(p->v, p->v_half, at_k * s->value_depth, s->key_heads * s->value_depth, n, s->value_depth, &room);
    made out = made_of(p->out, p->out_half, at_q * s->value_depth, step_out, t, s->value_depth, &room);
    scores(s, q, k, probs);
    for (int64_t i = 0; i < t && n > 0; i++) {
        float *x = probs + i * n, scale = s->scale;
        int64_t keys = row_keys(s, i);
        ARTEL__INDEPENDENT
        for (int64_t j = 0; j < keys; j++) x[j] = x[j] * scale;
        if (s->mask && s->hidden == ARTEL__HIDDEN_LOWERED)
            lower_row(s, row, head, i, x);
        else
            mask_row(s, row, head, i, ARTEL__MASKED_SCORE, x);
        softmax_row(x, keys);
        if (s->hidden == ARTEL__HIDDEN_ZERO && sees_nothing(s, row, head, i)) keys = 0;
        for (int64_t j = keys; j < n; j++) x[j] = 0.0f;
    }
    if (s->rate > 0) drop(s, row, head, probs, used = scratch);
    over_keys(s, used, v, out.at, out.step);
    made_store(p->out, p->out_half, at_q * s->value_depth, step_out, t, s->value_depth, out);
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__attention_forward *p = params;
    int64_t share = p->shape.heads / p->shape.key_heads;
    for (int64_t task = begin; task < end; task++)
        for (int64_t h = 0; h < share; h++)
            forward_head(p, task / p->shape.key_heads, task % p->shape.key_heads * share + h, scratch);
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
    const artel__attention_shape *s = &p->shape;
    int64_t t = s->queries, n = s->keys, floats = t * n * (s->rate > 0 ? 2 : 1);
    floats += (p->q_half + p->dq_half) * t * s->depth + (p->k_half + p->dk_half) * n * s->depth;
    floats += (p->v_half + p->dv_half) * n * s->value_depth + p->dout_half * t * s->value_depth;
    return (size_t)floats * sizeof(float);
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

/* `accumulate`: the sums for the keys go on; `last`: they end here. */
static void gradient_head(const artel__attention_gradient *p, int64_t row, int64_t head, bool accumulate, bool last,
                          float *scratch)
{
    const artel__attention_shape *s = &p->shape;
    int64_t t = s->queries, n = s->keys, group = head * s->key_heads / s->heads;
    int64_t at_q = (row * t * s->heads + head) * s->depth, at_k = (row * n * s->key_heads + group) * s->depth;
    int64_t at_o = (row * t * s->heads + head) * s->value_depth,
            at_v = (row * n * s->key_heads + group) * s->value_depth;
    int64_t step_q = s->heads * s->depth, step_k = s->key_heads * s->depth;
    int64_t step_o = s->heads * s->value_depth, step_v = s->key_heads * s->value_depth;
    float *room = scratch + t * n * (s->rate > 0 ? 2 : 1);
    rows q = rows_of(p->q, p->q_half, at_q, step_q, t, s->depth, &room),
         k = rows_of(p->k, p->k_half, at_k, step_k, n, s->depth, &room);
    rows v = rows_of(p->v, p->v_half, at_v, step_v, n, s->value_depth, &room);
    rows dout = rows_of(p->dout, p->dout_half, at_o, step_o, t, s->value_depth, &room);
    made dq = made_of(p->dq, p->dq_half, at_q, step_q, t, s->depth, &room),
         dk = made_of(p->dk, p->dk_half, at_k, step_k, n, s->depth, &room);
    made dv = made_of(p->dv, p->dv_half, at_v, step_v, n, s->value_depth, &room);
    const float *probs = p->probs + (row * s->heads + head) * t * n, *used = probs;
    float *d = scratch;
    if (s->rate > 0) {
        drop(s, row, head, probs, scratch + t * n);
        used = scratch + t * n;
    }
    over_queries(s, used, dout, dv.at, dv.step, accumulate);
    scores(s, dout, v, d);
    if (s->rate > 0) drop(s, row, head, d, d);
    for (int64_t i = 0; i < t; i++) {
        float *x = d + i * n;
        int64_t keys = row_keys(s, i);
        if (p->dprobs) {
            const float *more = p->dprobs + ((row * s->heads + head) * t + i) * n;
            ARTEL__INDEPENDENT
            for (int64_t j = 0; j < keys; j++) x[j] = x[j] + more[j];
        }
        softmax_row_back(probs + i * n, x, keys, s->scale);
        if (s->mask && (s->hidden != ARTEL__HIDDEN_LOWERED || !sees_nothing(s, row, head, i)))
            mask_row(s, row, head, i, 0.0f, x);
    }
    over_keys(s, d, k, dq.at, dq.step);
    over_queries(s, d, q, dk.at, dk.step, accumulate);
    made_store(p->dq, p->dq_half, at_q, step_q, t, s->depth, dq);
    if (last) made_store(p->dk, p->dk_half, at_k, step_k, n, s->depth, dk);
    if (last) made_store(p->dv, p->dv_half, at_v, step_v, n, s->value_depth, dv);
}

static void gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__attention_gradient *p = params;
    int64_t share = p->shape.heads / p->shape.key_heads;
    for (int64_t task = begin; task < end; task++)
        for (int64_t h = 0; h < share; h++)
            gradient_head(p, task / p->shape.key_heads, task % p->shape.key_heads * share + h, h > 0, h + 1 == share,
                          scratch);
}

const artel__kernel ARTEL__SIMD_TABLE[ARTEL__ATTENTION_KERNELS] = {
    [ARTEL__ATTENTION_FORWARD] = {.name = ARTEL__SIMD_NAME " attention_forward",
                                  .isa = ARTEL__SIMD_ISA,
                                  .refuses = forward_refuses,
                                  .tasks = forward_tasks,
                                  .scratch_bytes = forward_scratch,
                                  .halves = artel__halves_always,
                                  .run = forward_run},
    [ARTEL__ATTENTION_GRADIENT] = {.name = ARTEL__SIMD_NAME " attention_gradient",
                                   .isa = ARTEL__SIMD_ISA,
                                   .refuses = gradient_refuses,
                                   .tasks = gradient_tasks,
                                   .scratch_bytes = gradient_scratch,
                                   .halves = artel__halves_always,
                                   .run = gradient_run},
};
