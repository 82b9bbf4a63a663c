/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplying blocks with fused multiply-adds: the bits of tiles_multiply_amx.h on any processor that has them. */
#ifndef ARTEL_KERNEL_SIMD_TILES_MULTIPLY_FMA_H
#define ARTEL_KERNEL_SIMD_TILES_MULTIPLY_FMA_H

#include "kernel/simd/tiles_job.h"

enum {
    TILES_STRIP = 4 /* rows whose chains are in registers */
};

static inline void tiles_begin(void)
{
}

static inline void tiles_end(void)
{
}

/* The upper or the lower halves of pairs as float32. */
VEC_INLINE vec tiles_half(vec pairs, bool odd)
{
#if defined(__AVX512BW__)
    __m512i bits = _mm512_castps_si512(pairs);
    return _mm512_castsi512_ps(odd ? _mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000))
                                   : _mm512_slli_epi32(bits, 16));
#else
    __m256i bits = _mm256_castps_si256(pairs);
    return _mm256_castsi256_ps(odd ? _mm256_and_si256(bits, _mm256_set1_epi32((int)0xffff0000))
                                   : _mm256_slli_epi32(bits, 16));
#endif
}

/* TILES_STRIP rows by VEC_LANES columns. */
static inline void tiles_strip(const tiles_job *j, const char *a, const char *b, float *c)
{
    vec acc[TILES_STRIP];
    for (int i = 0; i < TILES_STRIP; i++) acc[i] = j->load ? vec_load(c + i * TILES_CELL) : vec_zero();
    for (int64_t block = 0; block < j->blocks; block++, a += TILES_LINE, b += j->sb) {
        vec even[TILES_STRIP], odd[TILES_STRIP];
        for (int i = 0; i < TILES_STRIP; i++) even[i] = odd[i] = vec_zero();
        for (int p = 0; p < TILES_SIDE; p++) {
            vec pairs = vec_load((const float *)(const void *)(b + p * TILES_LINE)), be = tiles_half(pairs, false),
                bo = tiles_half(pairs, true);
            VEC_UNROLL
            for (int i = 0; i < TILES_STRIP; i++) {
                vec x = vec_set(((const float *)(const void *)(a + i * j->sa))[p]);
                even[i] = vec_fma(tiles_half(x, false), be, even[i]);
                odd[i] = vec_fma(tiles_half(x, true), bo, odd[i]);
            }
        }
        VEC_UNROLL
        for (int i = 0; i < TILES_STRIP; i++) acc[i] = vec_add(acc[i], vec_add(even[i], odd[i]));
    }
    for (int i = 0; i < TILES_STRIP; i++) vec_store(c + i * TILES_CELL, acc[i]);
}

static void tiles_multiply(const tiles_job *j)
{
    for (int row = 0; row < j->rows; row += TILES_STRIP) {
        for (int column = 0; column < j->columns; column += VEC_LANES) {
            const char *b = j->b + column / TILES_SIDE * TILES_BYTES + column % TILES_SIDE * 4;
            tiles_strip(j, j->a + row * j->sa, b, j->c + row * TILES_CELL + column);
        }
    }
}

#endif
