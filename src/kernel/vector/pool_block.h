/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of channels for pooling: as long as the instruction set has them. Include simd.h first. */
#ifndef ARTEL_KERNEL_VECTOR_POOL_BLOCK_H
#define ARTEL_KERNEL_VECTOR_POOL_BLOCK_H

#include "kernel/half.h"
#include "kernel/pool_window.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* BLOCK channels are a vector; WIDE or SOME of them are done side by side, in registers. */
#if defined(__AVX512F__)
#define BLOCK 16
#define WIDE 8
#define SOME 2
#elif defined(__AVX2__)
#define BLOCK 8
#define WIDE 4
#define SOME 2
#else
#define BLOCK 4
#define WIDE 4
#define SOME 2
#endif

typedef float block_floats __attribute__((vector_size(4 * BLOCK)));
typedef int32_t block_bits __attribute__((vector_size(4 * BLOCK)));

ARTEL__INLINE block_floats block_load(const float *from)
{
    block_floats v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* From element `at` of what may be stored as bfloat16. */
ARTEL__INLINE block_floats block_from(const float *x, bool half, int64_t at)
{
    if (!half) return block_load(x + at);
    const uint16_t *from = (const uint16_t *)(const void *)x + at;
#if defined(__AVX512F__)
    return (block_floats)_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from)), 16);
#elif defined(__AVX2__)
    return (block_floats)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from)),
                                           16);
#else
    typedef uint16_t block_halves __attribute__((vector_size(2 * BLOCK)));
    typedef uint32_t block_words __attribute__((vector_size(4 * BLOCK)));
    block_halves narrow;
    memcpy(&narrow, from, sizeof narrow);
    return (block_floats)(__builtin_convertvector(narrow, block_words) << 16);
#endif
}

ARTEL__INLINE float element_from(const float *x, bool half, int64_t at)
{
    return half ? artel__half_widen(((const uint16_t *)(const void *)x)[at]) : x[at];
}

ARTEL__INLINE void block_store(float *to, block_floats v)
{
    memcpy(to, &v, sizeof v);
}

/* Past the caches when `stream` is set: `to` lies on a whole vector then. */
ARTEL__INLINE void block_put(bool stream, float *to, block_floats v)
{
#if defined(__AVX512F__)
    if (stream) {
        _mm512_stream_ps(to, (__m512)v);
        return;
    }
#else
    (void)stream;
#endif
    block_store(to, v);
}

ARTEL__INLINE block_floats block_where(block_bits mask, block_floats v)
{
    return (block_floats)((block_bits)v & mask);
}

/* Fetches, as far as the second level, what the next line of windows reads first at the place of window w: n channels
 * of each position. */
ARTEL__INLINE void fetch_ahead(const artel__pool_shape *s, const artel__window *w, const float *x, bool half, int64_t n)
{
    int64_t line = w->begin[0] * s->in[1] + w->begin[1] + s->window[1];
    for (int64_t j = 0; j < s->stride[1]; j++)
        for (int64_t k = 0; k < s->stride[2]; k++) {
            int64_t position = ((line + j) * s->in[2] + w->begin[2] + k) * s->channels;
            for (int64_t c = 0; c < n; c += half ? 32 : 16)
                __builtin_prefetch(artel__half_at(x, half, position + c), 0, 2);
        }
}

/* v > top ? v : top */
ARTEL__INLINE block_floats block_greater(block_floats v, block_floats top)
{
#if defined(__AVX512F__)
    return (block_floats)_mm512_max_ps((__m512)v, (__m512)top);
#elif defined(__AVX2__)
    return (block_floats)_mm256_max_ps((__m256)v, (__m256)top);
#elif defined(__SSE2__)
    return (block_floats)_mm_max_ps((__m128)v, (__m128)top);
#else
    block_bits more = v > top;
    return (block_floats)(((block_bits)v & more) | ((block_bits)top & ~more));
#endif
}

/* Behind a ReLU that gave v: dy where it is positive, else 0.0f * dy, as unary_formula.h. */
ARTEL__INLINE block_floats block_relu(block_floats v, block_floats dy)
{
    const block_floats one = {0};
    return dy * block_where(v > 0.0f, one + 1.0f);
}

#endif
