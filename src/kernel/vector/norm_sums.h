/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of batch normalisation for each channel, in registers; included by norm_body.h.
 *
 * Every channel has one chain of float64 additions over the positions. A few vectors of channels at a time keep theirs
 * in registers over a chunk of positions that stays in the first-level cache, so that memory is read once; between
 * chunks the chains wait in sum and product. With more channels than that a chunk is no stream that a processor
 * foresees: the next one is fetched meanwhile. Of three arrays such fetches use half of what memory gives, so while the
 * chains fit the first-level cache chunks are of one position, and memory is read in order. Vectors are those of the
 * compiler, as wide as the instruction set has them.
 */
#ifndef ARTEL_KERNEL_VECTOR_NORM_SUMS_H
#define ARTEL_KERNEL_VECTOR_NORM_SUMS_H

#include <string.h>

#include "kernel/half.h"
#include "kernel/norm_formula.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define SUMS_LANES 8
#define SUMS_VECTORS 8
#elif defined(__AVX2__)
#define SUMS_LANES 4
#define SUMS_VECTORS 4
#else
#define SUMS_LANES 2
#define SUMS_VECTORS 4
#endif

enum {
    SUMS_POSITIONS = 8,
    SUMS_ORDERED = 512, /* channels up to which sums of the gradient read memory in order */
    SUMS_LINE = 16,     /* floats */
    SUMS_TILE =
        1024 /* channels side by side: reading some of a position's at a time made memory several times slower */
};

#ifdef __clang__
#define SUMS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SUMS_UNROLL _Pragma("GCC unroll 8")
#endif

typedef float sums_float __attribute__((vector_size(4 * SUMS_LANES)));
typedef int32_t sums_mask __attribute__((vector_size(4 * SUMS_LANES)));
typedef uint16_t sums_halves __attribute__((vector_size(2 * SUMS_LANES)));
typedef uint32_t sums_words __attribute__((vector_size(4 * SUMS_LANES)));
typedef double sums_double __attribute__((vector_size(8 * SUMS_LANES)));

/* What is summed, from the first channel of a tile on. y is not read for LINEAR, and no pointer but x for moments. */
typedef struct sums_input {
    const float *x, *y, *dy, *mean, *inverse;
    int64_t stride; /* floats from a position to the next */
} sums_input;

typedef enum sums_kind {
    SUMS_MOMENTS, /* x and x * x */
    SUMS_GRADIENT /* dy' and dy' * xhat */
} sums_kind;

/* An element, and SUMS_LANES of them, from `at` on. `half`: all three arrays are stored as bfloat16. */
ARTEL__INLINE float sums_at(const float *x, bool half, int64_t at)
{
    return half ? artel__half_widen(((const uint16_t *)(const void *)x)[at]) : x[at];
}

ARTEL__INLINE sums_float sums_load(const float *x, bool half, int64_t at)
{
    sums_float wide;
    if (half) {
        const uint16_t *from = (const uint16_t *)(const void *)x + at;
#if defined(__AVX512F__)
        return (sums_float)_mm256_slli_epi32(
            _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from)), 16);
#elif defined(__AVX2__)
        return (sums_float)_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from)), 16);
#else
        sums_halves narrow;
        memcpy(&narrow, from, sizeof narrow);
        return (sums_float)(__builtin_convertvector(narrow, sums_words) << 16);
#endif
    }
    memcpy(&wide, x + at, sizeof wide);
    return wide;
}

/* One position of one channel: the definition. */
ARTEL__INLINE void sums_element(sums_kind kind, artel__norm_activation activation, bool half, const sums_input *in,
                                int64_t at, int64_t c, double *sum, double *product)
{
    float x = sums_at(in->x, half, at), d = x, factor = x;
    if (kind == SUMS_GRADIENT) {
        d = norm_mask(activation, activation == ARTEL__NORM_LINEAR ? 0.0f : sums_at(in->y, half, at),
                      sums_at(in->dy, half, at));
        factor = (x - in->mean[c]) * in->inverse[c];
    }
    *sum = *sum + (double)d;
    *product = *product + (double)d * (double)factor;
}

/* SUMS_LANES channels of a position: norm_mask and the rest of sums_element on vectors. */
ARTEL__INLINE void sums_vector(sums_kind kind, artel__norm_activation activation, bool half, const sums_input *in,
                               int64_t at, int64_t c, sums_double *sum, sums_double *product)
{
    sums_float x, d, factor, y, mean, inverse;
    x = sums_load(in->x, half, at);
    d = factor = x;
    if (kind == SUMS_GRADIENT) {
        d = sums_load(in->dy, half, at);
        memcpy(&mean, in->mean + c, sizeof mean);
        memcpy(&inverse, in->inverse + c, sizeof inverse);
        factor = (x - mean) * inverse;
    }
    if (kind == SUMS_GRADIENT && activation != ARTEL__NORM_LINEAR) {
        y = sums_load(in->y, half, at);
        sums_mask passed = y > 0.0f;
        if (activation == ARTEL__NORM_RELU6) passed &= y < 6.0f;
        d = (sums_float)((sums_mask)d & passed);
    }
    sums_double wide = __builtin_convertvector(d, sums_double);
    *sum = *sum + wide;
    *product = *product + wide * __builtin_convertvector(factor, sums_double);
}

/* Asks for the line that holds element `at`, into the second-level cache: of many channels a chunk is as large as the
 * first. */
ARTEL__INLINE void sums_fetch(sums_kind kind, artel__norm_activation activation, bool half, const sums_input *in,
                              int64_t at)
{
    __builtin_prefetch(artel__half_at(in->x, half, at), 0, 2);
    if (kind == SUMS_GRADIENT) __builtin_prefetch(artel__half_at(in->dy, half, at), 0, 2);
    if (kind == SUMS_GRADIENT && activation != ARTEL__NORM_LINEAR)
        __builtin_prefetch(artel__half_at(in->y, half, at), 0, 2);
}

/* Channels c .. c + vectors * SUMS_LANES - 1 over `count` positions from element `at` on. */
ARTEL__INLINE void sums_columns(sums_kind kind, artel__norm_activation activation, bool half, bool fetch, int vectors,
                                const sums_input *in, int64_t at, int64_t c, int64_t count, double *sum,
                                double *product)
{
    sums_double s[SUMS_VECTORS], q[SUMS_VECTORS];
    SUMS_UNROLL
    for (int v = 0; v < vectors; v++) {
        memcpy(&s[v], sum + c + v * SUMS_LANES, sizeof s[v]);
        memcpy(&q[v], product + c + v * SUMS_LANES, sizeof q[v]);
    }
    for (int64_t i = 0; i < count; i++) {
        SUMS_UNROLL
        for (int v = 0; v < vectors; v++) {
            int64_t channel = c + v * SUMS_LANES;
            if (fetch && v * SUMS_LANES % SUMS_LINE == 0) {
                sums_fetch(kind, activation, half, in, at + (i + SUMS_POSITIONS) * in->stride + channel);
            }
            sums_vector(kind, activation, half, in, at + i * in->stride + channel, channel, &s[v], &q[v]);
        }
    }
    SUMS_UNROLL
    for (int v = 0; v < vectors; v++) {
        memcpy(sum + c + v * SUMS_LANES, &s[v], sizeof s[v]);
        memcpy(product + c + v * SUMS_LANES, &q[v], sizeof q[v]);
    }
}

ARTEL__INLINE void sums_chunks(sums_kind kind, artel__norm_activation activation, bool half, bool fetch, int64_t chunk,
                               const sums_input *in, int64_t positions, int64_t width, double *sum, double *product)
{
    for (int64_t i = 0; i < positions; i += chunk) {
        int64_t count = positions - i < chunk ? positions - i : chunk, at = i * in->stride, c = 0;
        for (; c + SUMS_VECTORS * SUMS_LANES <= width; c += SUMS_VECTORS * SUMS_LANES) {
            sums_columns(kind, activation, half, fetch, SUMS_VECTORS, in, at, c, count, sum, product);
        }
        for (; c + SUMS_LANES <= width; c += SUMS_LANES)
            sums_columns(kind, activation, half, false, 1, in, at, c, count, sum, product);
        for (; c < width; c++) {
            for (int64_t k = 0; k < count; k++) {
                sums_element(kind, activation, half, in, at + k * in->stride + c, c, &sum[c], &product[c]);
            }
        }
    }
}

/* sum and product [width]: over `positions` positions. */
ARTEL__INLINE void sums_run(sums_kind kind, artel__norm_activation activation, bool half, const sums_input *in,
                            int64_t positions, int64_t width, double *sum, double *product)
{
    for (int64_t c = 0; c < width; c++) sum[c] = product[c] = 0.0;
    if (in->stride <= SUMS_VECTORS * SUMS_LANES)
        sums_chunks(kind, activation, half, false, SUMS_POSITIONS, in, positions, width, sum, product);
    else if (kind == SUMS_GRADIENT && in->stride <= SUMS_ORDERED)
        sums_chunks(kind, activation, half, false, 1, in, positions, width, sum, product);
    else
        sums_chunks(kind, activation, half, true, SUMS_POSITIONS, in, positions, width, sum, product);
}

#endif
