/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of one instruction set under common names: AVX-512, 16 lanes, 32 registers.
 *
 * micro_tile.h and the *_body.h files are written once against these names; each *_avx512.c and *_avx2.c file includes
 * one vector header and the bodies it needs. Everything is static, so the two sets never meet.
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_VEC_AVX512_H
#define ARTEL_KERNEL_SIMD_MICRO_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#define VEC_INLINE static inline __attribute__((always_inline))
#define VEC_APART static __attribute__((noinline))
#ifdef __clang__
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#define VEC_LOOP _Pragma("clang loop unroll_count(2)")
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#define VEC_LOOP _Pragma("GCC unroll 2")
#endif

typedef __m512 vec;
typedef __mmask16 vec_mask;

/* A tile: 14 x 32 takes 28 accumulators, two vectors of B and one of A. TILE_PAIR rows fit half a tile. */
#define TILE_ROWS_ABOVE_6 1
#define TILE_ASSEMBLY 0
enum {
    VEC_LANES = 16,
    TILE_ROWS = 14,
    TILE_PAIR = 7,
    TILE_UNROLL = 2,
    TILE_COLUMNS = 32
};

/* At the end of a run: compilers do this by themselves, but not without optimisation, and code without vectors that
 * comes after would be many times slower. */
VEC_INLINE void vec_leave(void)
{
    _mm256_zeroupper();
}

VEC_INLINE vec vec_zero(void)
{
    return _mm512_setzero_ps();
}

VEC_INLINE vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

VEC_INLINE void vec_store(float *p, vec x)
{
    _mm512_storeu_ps(p, x);
}

/* Past the caches; p lies on a whole vector. Before others may read it: vec_fence. */
VEC_INLINE void vec_stream(float *p, vec x)
{
    _mm512_stream_ps(p, x);
}

VEC_INLINE void vec_fence(void)
{
    _mm_sfence();
}

VEC_INLINE vec vec_set(float x)
{
    return _mm512_set1_ps(x);
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

VEC_INLINE vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

/* Rounded to what bfloat16 holds (narrow.h); x is no denormal, as arithmetic flushes them. */
VEC_INLINE vec vec_to_bfloat16(vec x)
{
    __m512i bits = _mm512_castps_si512(x), odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    rounded =
        _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits, _mm512_set1_epi32(0x00400000));
    return _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32((int)0xffff0000)));
}

/* Rounded to what float16 holds. */
VEC_INLINE vec vec_to_float16(vec x)
{
    return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* x < 0 ? +0 : x */
VEC_INLINE vec vec_relu(vec x)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLT_UQ), x);
}

/* Lanes first <= i < last; bounds outside 0 .. VEC_LANES are cut. */
VEC_INLINE vec_mask vec_range(int first, int last)
{
    first = first < 0 ? 0 : first > 16 ? 16 : first;
    last = last < 0 ? 0 : last > 16 ? 16 : last;
    return (vec_mask)(((1u << last) - 1) & ~((1u << first) - 1));
}

VEC_INLINE vec vec_load_part(const float *p, vec_mask m)
{
    return _mm512_maskz_loadu_ps(m, p);
}

/* VEC_LANES bfloat16 as float32; `count` of them, zeros behind. */
VEC_INLINE vec vec_widen(const uint16_t *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}

VEC_INLINE vec vec_widen_part(const uint16_t *p, int count)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(vec_range(0, count), p)), 16));
}

/* Rounds to bfloat16 and stores the first `count`; x is no denormal. */
VEC_INLINE void vec_halve(uint16_t *p, int count, vec x)
{
#if defined(__AVX512BF16__)
    __m256i halves = (__m256i)_mm512_cvtneps_pbh(x); /* as vec_to_bfloat16 does it */
#else
    __m256i halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(vec_to_bfloat16(x)), 16));
#endif
    if (count >= VEC_LANES)
        _mm256_storeu_si256((__m256i *)p, halves);
    else
        _mm256_mask_storeu_epi16(p, vec_range(0, count), halves);
}

VEC_INLINE void vec_store_part(float *p, vec_mask m, vec x)
{
    _mm512_mask_storeu_ps(p, m, x);
}

#endif
