/* SPDX-License-Identifier: Apache-2.0 */
/* Random masks and noise; see simd.h for how this file is compiled, kernel/shape_ops.h for the contracts.
 *
 * Philox (base/rng.h) is run on many counter blocks side by side. A row's elements are walked by runs along which the
 * index in the noise shape either moves with the element or stands still; each run draws its own words.
 */
#include "kernel/simd/simd.h"

#include "kernel/half.h"
#include "kernel/noise_formula.h"
#include "kernel/walk.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* LANES counter blocks are a vector; GROUP vectors are done side by side, in registers. */
#if defined(__AVX512F__)
#define LANES 8
#define GROUP 4
#elif defined(__AVX2__)
#define LANES 4
#define GROUP 2
#else
#define LANES 2
#define GROUP 2
#endif

enum {
    RUN = 512,
    TOGETHER = GROUP * LANES,
    BLOCKS = (RUN / 4 + 1 + TOGETHER) / TOGETHER * TOGETHER
};

/* Words of the generator are the low halves of their lanes; what the high halves hold does not matter. */
typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));

ARTEL__INLINE lanes low_product(lanes a, lanes b)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (lanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

ARTEL__INLINE lanes all_lanes(uint32_t word)
{
    return (lanes){0} + word;
}

/* As artel__philox, of blocks first .. first + TOGETHER - 1; c1, c2, c3: the rest of their counters. */
static void philox_group(const artel__noise *p, uint32_t c1, uint32_t c2, uint32_t first, uint32_t *restrict out)
{
    lanes c[GROUP][4], count;
    uint32_t k0 = p->key.word[0], k1 = p->key.word[1];
    for (int i = 0; i < LANES; i++) count[i] = first + (uint32_t)i;
    for (int g = 0; g < GROUP; g++) {
        c[g][0] = count + (uint32_t)(g * LANES);
        c[g][1] = all_lanes(c1), c[g][2] = all_lanes(c2), c[g][3] = all_lanes((uint32_t)p->batch);
    }
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        for (int g = 0; g < GROUP; g++) {
            lanes p0 = low_product(c[g][0], all_lanes(0xD2511F53u)), p1 = low_product(c[g][2], all_lanes(0xCD9E8D57u));
            c[g][0] = (p1 >> 32) ^ c[g][1] ^ k0;
            c[g][2] = (p0 >> 32) ^ c[g][3] ^ k1;
            c[g][1] = p1;
            c[g][3] = p0;
        }
    for (int g = 0; g < GROUP; g++) {
        uint64_t front[LANES], back[LANES], both[2 * LANES];
        lanes pair = (c[g][0] & 0xFFFFFFFFu) | c[g][1] << 32;
        memcpy(front, &pair, sizeof front);
        pair = (c[g][2] & 0xFFFFFFFFu) | c[g][3] << 32;
        memcpy(back, &pair, sizeof back);
        for (int i = 0; i < LANES; i++) both[2 * i] = front[i], both[2 * i + 1] = back[i];
        memcpy(out + g * 4 * LANES, both, sizeof both);
    }
}

/* Words of counter blocks first .. first + count - 1, and of some more: word i of block b at out[4 * (b - first) + i].
 */
static void philox_blocks(const artel__noise *p, uint32_t row, uint64_t first, int count, uint32_t *restrict out)
{
    uint32_t node = p->node | (uint32_t)(p->batch >> 32) << 24;
    for (int j = 0; j < count; j += TOGETHER) philox_group(p, row, node, (uint32_t)first + (uint32_t)j, out + 4 * j);
}

/* The draws (uniform or normal) of logical indices from .. from + n - 1 of a row; n <= RUN. */
static void draws(const artel__noise *p, uint32_t row, int64_t from, int64_t n, float *restrict draw)
{
    uint32_t word[4 * BLOCKS];
    uint64_t first = (uint64_t)from / 4;
    int skip = (int)(from % 4), blocks = (int)((uint64_t)(from + n - 1) / 4 - first) + 1;
    philox_blocks(p, row, first, blocks, word);
    if (!noise_is_normal(p->op)) {
        for (int64_t i = 0; i < n; i++) draw[i] = artel__rng_uniform(word[skip + i]);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float pair[2];
        int64_t at = skip + i;
        artel__rng_normal_pair(word[at & ~1], word[at | 1], pair);
        draw[i] = pair[at & 1];
        if ((at & 1) == 0 && i + 1 < n) draw[++i] = pair[1];
    }
}

ARTEL__INLINE void noise_elements(artel__noise_op op, const artel__noise *p, const float *draw, int64_t step,
                                  int64_t at, int64_t n)
{
    noise_constants k = {p->rate, p->scale, p->shift, p->other};
    float from[RUN], made[RUN];
    const float *x = op == ARTEL__NOISE_UNIFORM ? draw : artel__half_load(p->x, p->x_half, at, n, from);
    float *y = artel__half_make(p->y, p->y_half, at, made);
    if (step == 1) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = noise_element(op, x[i], draw[i], &k);
    } else {
        float fixed = *draw;
        for (int64_t i = 0; i < n; i++) y[i] = noise_element(op, op == ARTEL__NOISE_UNIFORM ? fixed : x[i], fixed, &k);
    }
    artel__half_store(p->y, p->y_half, at, n, made);
}

static void noise_dispatch(const artel__noise *p, const float *draw, int64_t step, int64_t at, int64_t n)
{
    switch (p->op) {
    case ARTEL__NOISE_DROPOUT: noise_elements(ARTEL__NOISE_DROPOUT, p, draw, step, at, n); break;
    case ARTEL__NOISE_ALPHA: noise_elements(ARTEL__NOISE_ALPHA, p, draw, step, at, n); break;
    case ARTEL__NOISE_GAUSSIAN: noise_elements(ARTEL__NOISE_GAUSSIAN, p, draw, step, at, n); break;
    case ARTEL__NOISE_GAUSSIAN_MUL: noise_elements(ARTEL__NOISE_GAUSSIAN_MUL, p, draw, step, at, n); break;
    case ARTEL__NOISE_UNIFORM: noise_elements(ARTEL__NOISE_UNIFORM, p, draw, step, at, n); break;
    }
}

/* Elements from .. to of one row; `loop` is over the row's shape. */
static void noise_row(const artel__noise *p, const artel__loop *loop, int64_t row, int64_t row_size, int64_t from,
                      int64_t to)
{
    uint32_t counter_row = p->shared_rows ? 0 : (uint32_t)(p->first_row + row);
    int64_t step = loop->stride[0][loop->rank - 1];
    artel__walk walk;
    float draw[RUN];
    artel__walk_start(&walk, loop, from);
    while (walk.position < to) {
        int64_t n = artel__walk_run(&walk, loop, to);
        if ((step == 1 || p->x_half || p->y_half) && n > RUN) n = RUN;
        draws(p, counter_row, walk.offset[0], step == 1 ? n : 1, draw);
        noise_dispatch(p, draw, step, row * row_size + walk.position, n);
        artel__walk_advance(&walk, loop, n);
    }
}

static int64_t noise_tasks(const void *params)
{
    const artel__noise *p = params;
    return artel__pieces(p->rows * noise_row_size(p), ARTEL__ELEMENT_TASK);
}

static void noise_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__noise *p = params;
    int64_t size = noise_row_size(p), to = artel__piece_end(p->rows * size, ARTEL__ELEMENT_TASK, end);
    artel__loop loop = noise_loop(p);
    (void)scratch;
    for (int64_t at = begin * ARTEL__ELEMENT_TASK; at < to;) {
        int64_t row = at / size, stop = (row + 1) * size < to ? (row + 1) * size : to;
        noise_row(p, &loop, row, size, at - row * size, stop - row * size);
        at = stop;
    }
}

ARTEL__SIMD_KERNEL(noise, .tasks = noise_tasks, .halves = artel__halves_always, .run = noise_run);
