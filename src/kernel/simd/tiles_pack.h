/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of products in blocks (kernel/tiles.h) as their multipliers want them; included behind a micro_vec_*.h.
 *
 * The left operand lies by rows: each a run of blocks of 32 bfloat16, 64 bytes, side by side. The right operand lies by
 * blocks: of each, tile after tile of 16 columns, 16 lines of 64 bytes: line p holds terms 2p and 2p + 1 of every
 * column as a pair, the earlier one in the lower half. What fills up a block is +0. Values come as float32 that
 * bfloat16 holds, so that their upper halves are all of them, or as bfloat16.
 */
#ifndef ARTEL_KERNEL_SIMD_TILES_PACK_H
#define ARTEL_KERNEL_SIMD_TILES_PACK_H

#include <string.h>

#include "kernel/half.h"
#include "kernel/simd/micro_transpose.h"
#include "kernel/tiles.h"

enum {
    TILES_SIDE = 16, /* rows and columns of a tile of the result, pairs of a block */
    TILES_LINE = 64, /* bytes of a line of a tile */
    TILES_BYTES = TILES_SIDE * TILES_LINE,
    TILES_CELL = 2 * TILES_SIDE /* rows and columns of what is multiplied at once */
};

static inline int64_t tiles_blocks(int64_t terms)
{
    return (terms + ARTEL__BLOCK - 1) / ARTEL__BLOCK;
}

#if defined(__AVX512BW__)

/* A block of 32 neighbours. */
VEC_INLINE void tiles_halves(vec left, vec right, uint16_t *to)
{
    const __m512i upper = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                                           25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(_mm512_castps_si512(left), upper, _mm512_castps_si512(right)));
}

/* The same, of which `count` are there; `raw`: they are rounded first. */
VEC_INLINE void tiles_block(const float *from, int count, uint16_t *to, bool raw)
{
    bool whole = count >= ARTEL__BLOCK;
    vec left = whole ? vec_load(from) : vec_load_part(from, vec_range(0, count));
    vec right = whole ? vec_load(from + VEC_LANES) : vec_load_part(from + VEC_LANES, vec_range(0, count - VEC_LANES));
    tiles_halves(raw ? vec_to_bfloat16(left) : left, raw ? vec_to_bfloat16(right) : right, to);
}

/* Two terms of VEC_LANES columns as pairs. */
VEC_INLINE vec tiles_pair(vec even, vec odd)
{
    __m512i low = _mm512_srli_epi32(_mm512_castps_si512(even), 16);
    return _mm512_castsi512_ps(_mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_castps_si512(odd)));
}

/* The same of bfloat16: the first `count` of 16 columns, +0 behind them; a term that is NULL is +0. */
VEC_INLINE void tiles_pair_halves(const uint16_t *even, const uint16_t *odd, int64_t count, uint16_t *to)
{
    __mmask16 mask = (__mmask16)((1u << count) - 1);
    __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(even ? mask : 0, even));
    __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(odd ? mask : 0, odd));
    _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

#else

VEC_INLINE __m256i tiles_upper(__m256 left, __m256 right)
{
    __m256i packed = _mm256_packus_epi32(_mm256_srli_epi32(_mm256_castps_si256(left), 16),
                                         _mm256_srli_epi32(_mm256_castps_si256(right), 16));
    return _mm256_permute4x64_epi64(packed, 0xd8);
}

VEC_INLINE void tiles_block(const float *from, int count, uint16_t *to, bool raw)
{
    for (int k = 0; k < ARTEL__BLOCK; k += 16) {
        vec left = vec_zero(), right = vec_zero();
        if (count > k) left = vec_load_part(from + k, vec_range(0, count - k));
        if (count > k + 8) right = vec_load_part(from + k + 8, vec_range(0, count - k - 8));
        if (raw) {
            left = vec_to_bfloat16(left);
            right = vec_to_bfloat16(right);
        }
        _mm256_storeu_si256((__m256i *)(to + k), tiles_upper(left, right));
    }
}

VEC_INLINE vec tiles_pair(vec even, vec odd)
{
    __m256i low = _mm256_srli_epi32(_mm256_castps_si256(even), 16);
    return _mm256_castsi256_ps(_mm256_blend_epi16(low, _mm256_castps_si256(odd), 0xaa));
}

VEC_INLINE void tiles_pair_halves(const uint16_t *even, const uint16_t *odd, int64_t count, uint16_t *to)
{
    uint16_t part[2][TILES_SIDE];
    if (!even || !odd || count < TILES_SIDE) {
        memset(part, 0, sizeof part);
        for (int64_t j = 0; j < count && even; j++) part[0][j] = even[j];
        for (int64_t j = 0; j < count && odd; j++) part[1][j] = odd[j];
        even = part[0];
        odd = part[1];
    }
    for (int j = 0; j < TILES_SIDE; j += 8) {
        __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(even + j)));
        __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(odd + j)));
        _mm256_storeu_si256((__m256i *)(to + 2 * j), _mm256_or_si256(low, _mm256_slli_epi32(high, 16)));
    }
}

#endif

/* A block of neighbours that are bfloat16 already; `count` of them are there. */
VEC_INLINE void tiles_block_halves(const uint16_t *from, int64_t count, uint16_t *to)
{
    if (count >= ARTEL__BLOCK) {
        memcpy(to, from, ARTEL__BLOCK * sizeof *to);
        return;
    }
#if defined(__AVX512BW__)
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi16((1u << count) - 1, from));
#else
    for (int64_t i = 0; i < ARTEL__BLOCK; i++) to[i] = i < count ? from[i] : 0;
#endif
}

/* `count` neighbours, whole blocks written from `to` on. `half`: they are bfloat16 already. */
static inline void tiles_along(const void *any, bool half, int64_t count, uint16_t *to)
{
    if (half) {
        for (const uint16_t *from = any; count > 0; count -= ARTEL__BLOCK, from += ARTEL__BLOCK, to += ARTEL__BLOCK)
            tiles_block_halves(from, count, to);
        return;
    }
    const float *from = any;
    for (; count >= ARTEL__BLOCK; count -= ARTEL__BLOCK, from += ARTEL__BLOCK, to += ARTEL__BLOCK)
        tiles_block(from, ARTEL__BLOCK, to, false);
    if (count > 0) tiles_block(from, (int)count, to, false);
}

#if defined(__AVX512BW__)

/* Four neighbours of 16 lines, line by line -> 128-bit lanes of four lines each: a step of turning 16 x 16. */
VEC_INLINE void tiles_turn_four(const __m512 *x, __m512 *to)
{
    __m512 a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
    __m512 c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
    to[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(c)));
    to[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(c)));
    to[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(b), _mm512_castps_pd(d)));
    to[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(b), _mm512_castps_pd(d)));
}

/* Lines of 16 pairs [pair][column], `step` floats apart, as 16 rows of a block [column][pair], `pitch` bytes apart. */
static inline void tiles_turn(const float *pairs, int64_t step, char *to, int64_t pitch)
{
    __m512 x[16], y[16];
    VEC_UNROLL
    for (int i = 0; i < 16; i++) x[i] = _mm512_loadu_ps(pairs + i * step);
    VEC_UNROLL
    for (int i = 0; i < 16; i += 4) tiles_turn_four(x + i, y + i);
    VEC_UNROLL
    for (int i = 0; i < 4; i++) { /* lanes hold columns i, 4 + i, 8 + i, 12 + i */
        __m512 a = _mm512_shuffle_f32x4(y[i], y[4 + i], 0x44), b = _mm512_shuffle_f32x4(y[8 + i], y[12 + i], 0x44);
        __m512 c = _mm512_shuffle_f32x4(y[i], y[4 + i], 0xee), d = _mm512_shuffle_f32x4(y[8 + i], y[12 + i], 0xee);
        _mm512_storeu_ps(to + i * pitch, _mm512_shuffle_f32x4(a, b, 0x88));
        _mm512_storeu_ps(to + (4 + i) * pitch, _mm512_shuffle_f32x4(a, b, 0xdd));
        _mm512_storeu_ps(to + (8 + i) * pitch, _mm512_shuffle_f32x4(c, d, 0x88));
        _mm512_storeu_ps(to + (12 + i) * pitch, _mm512_shuffle_f32x4(c, d, 0xdd));
    }
}

#else

static inline void tiles_turn(const float *pairs, int64_t step, char *to, int64_t pitch)
{
    for (int i = 0; i < TILES_SIDE; i += 8) {
        for (int j = 0; j < TILES_SIDE; j += 8)
            transpose_8x8(pairs + i * step + j, step, (float *)(void *)(to + j * pitch) + i,
                          pitch / (int64_t)sizeof(float));
    }
}

#endif

#endif
