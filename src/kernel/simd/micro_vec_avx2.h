/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of one instruction set under common names: AVX2 with FMA, 8 lanes, 16 registers. See micro_vec_avx512.h. */
#ifndef ARTEL_KERNEL_SIMD_MICRO_VEC_AVX2_H
#define ARTEL_KERNEL_SIMD_MICRO_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "kernel/simd/micro_steps_avx2.h"

#define VEC_INLINE static inline __attribute__((always_inline))
#define VEC_APART static __attribute__((noinline))
#ifdef __clang__
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#define VEC_LOOP _Pragma("clang loop unroll_count(1)")
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#define VEC_LOOP _Pragma("GCC unroll 1")
#endif

typedef __m256 vec;
typedef __m256i vec_mask;

/* A tile: 6 x 16 takes 12 accumulators, two vectors of B and one of A. Whole tiles take micro_steps_avx2.h, but not
 * where a sanitizer is to see what they read. */
#define TILE_ROWS_ABOVE_6 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TILE_ASSEMBLY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define TILE_ASSEMBLY 0
#endif
#endif
#ifndef TILE_ASSEMBLY
#define TILE_ASSEMBLY 1
#endif
enum {
    VEC_LANES = 8,
    TILE_ROWS = 6,
    TILE_PAIR = 3,
    TILE_UNROLL = 4,
    TILE_COLUMNS = 16
};

/* At the end of a run: compilers do this by themselves, but not without optimisation, and code without vectors that
 * comes after would be many times slower. */
VEC_INLINE void vec_leave(void)
{
    _mm256_zeroupper();
}

VEC_INLINE vec vec_zero(void)
{
    return _mm256_setzero_ps();
}

VEC_INLINE vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

VEC_INLINE void vec_store(float *p, vec x)
{
    _mm256_storeu_ps(p, x);
}

/* Past the caches; p lies on a whole vector. Before others may read it: vec_fence. */
VEC_INLINE void vec_stream(float *p, vec x)
{
    _mm256_stream_ps(p, x);
}

VEC_INLINE void vec_fence(void)
{
    _mm_sfence();
}

VEC_INLINE vec vec_set(float x)
{
    return _mm256_set1_ps(x);
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

VEC_INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

/* Rounded to what bfloat16 holds (narrow.h); x is no denormal, as arithmetic flushes them. */
VEC_INLINE vec vec_to_bfloat16(vec x)
{
    __m256i bits = _mm256_castps_si256(x), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256 rounded = _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))));
    __m256 quiet = _mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_set1_epi32(0x00400000)));
    rounded = _mm256_blendv_ps(rounded, quiet, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_and_ps(rounded, _mm256_castsi256_ps(_mm256_set1_epi32((int)0xffff0000)));
}

/* Rounded to what float16 holds. */
VEC_INLINE vec vec_to_float16(vec x)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* x < 0 ? +0 : x */
VEC_INLINE vec vec_relu(vec x)
{
    return _mm256_and_ps(x, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLT_UQ));
}

/* Lanes first <= i < last. */
VEC_INLINE vec_mask vec_range(int first, int last)
{
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i from = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(first - 1));
    return _mm256_and_si256(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(last), lane));
}

VEC_INLINE vec vec_load_part(const float *p, vec_mask m)
{
    return _mm256_maskload_ps(p, m);
}

/* VEC_LANES bfloat16 as float32; `count` of them, zeros behind. */
VEC_INLINE vec vec_widen(const uint16_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}

VEC_INLINE vec vec_widen_part(const uint16_t *p, int count)
{
    uint16_t part[VEC_LANES] = {0};
    if (count >= VEC_LANES) return vec_widen(p);
    for (int i = 0; i < count; i++) part[i] = p[i];
    return vec_widen(part);
}

/* Rounds to bfloat16 and stores the first `count`; x is no denormal. */
VEC_INLINE void vec_halve(uint16_t *p, int count, vec x)
{
    uint16_t part[VEC_LANES];
    __m256i low = _mm256_srli_epi32(_mm256_castps_si256(vec_to_bfloat16(x)), 16);
    __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storeu_si128((__m128i *)(count >= VEC_LANES ? p : part), halves);
    for (int i = 0; i < count && count < VEC_LANES; i++) p[i] = part[i];
}

VEC_INLINE void vec_store_part(float *p, vec_mask m, vec x)
{
    _mm256_maskstore_ps(p, m, x);
}

#endif
