/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of micro_vec_avx512.h as pairs of AVX2's, in the place of micro_vec_avx2.h.
 *
 * kernel.product_wide and its like are built with it: tiles of 14 rows by 32 columns, and all that is cut by their
 * size, are then tested on processors that have no AVX-512. It is not fast.
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_VEC_AVX2_H
#define ARTEL_KERNEL_SIMD_MICRO_VEC_AVX2_H

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

typedef struct vec {
    __m256 low, high;
} vec;

typedef uint16_t vec_mask;

#define TILE_ROWS_ABOVE_6 1
#define TILE_ASSEMBLY 0
enum {
    VEC_LANES = 16,
    TILE_ROWS = 14,
    TILE_PAIR = 7,
    TILE_UNROLL = 2,
    TILE_COLUMNS = 32
};

VEC_INLINE void vec_leave(void)
{
    _mm256_zeroupper();
}

VEC_INLINE vec vec_zero(void)
{
    return (vec){_mm256_setzero_ps(), _mm256_setzero_ps()};
}

VEC_INLINE vec vec_load(const float *p)
{
    return (vec){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

VEC_INLINE void vec_store(float *p, vec x)
{
    _mm256_storeu_ps(p, x.low);
    _mm256_storeu_ps(p + 8, x.high);
}

/* A store past the caches of 64 bytes would fault where this traps. */
VEC_INLINE void vec_stream(float *p, vec x)
{
    if ((uintptr_t)p % 64 != 0) __builtin_trap();
    vec_store(p, x);
}

VEC_INLINE void vec_fence(void)
{
    _mm_sfence();
}

VEC_INLINE vec vec_set(float x)
{
    return (vec){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return (vec){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

VEC_INLINE vec vec_add(vec a, vec b)
{
    return (vec){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

VEC_INLINE __m256 vec_half_relu(__m256 x)
{
    return _mm256_and_ps(x, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLT_UQ));
}

VEC_INLINE vec vec_relu(vec x)
{
    return (vec){vec_half_relu(x.low), vec_half_relu(x.high)};
}

VEC_INLINE __m256 vec_half_bfloat16(__m256 x)
{
    __m256i bits = _mm256_castps_si256(x), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256 rounded = _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))));
    __m256 quiet = _mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_set1_epi32(0x00400000)));
    rounded = _mm256_blendv_ps(rounded, quiet, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_and_ps(rounded, _mm256_castsi256_ps(_mm256_set1_epi32((int)0xffff0000)));
}

VEC_INLINE vec vec_to_bfloat16(vec x)
{
    return (vec){vec_half_bfloat16(x.low), vec_half_bfloat16(x.high)};
}

VEC_INLINE __m256 vec_half_float16(__m256 x)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

VEC_INLINE vec vec_to_float16(vec x)
{
    return (vec){vec_half_float16(x.low), vec_half_float16(x.high)};
}

VEC_INLINE vec_mask vec_range(int first, int last)
{
    first = first < 0 ? 0 : first > 16 ? 16 : first;
    last = last < 0 ? 0 : last > 16 ? 16 : last;
    return (vec_mask)(((1u << last) - 1) & ~((1u << first) - 1));
}

VEC_INLINE __m256i vec_half_mask(int m)
{
    __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(m), bit), bit);
}

VEC_INLINE vec vec_load_part(const float *p, vec_mask m)
{
    return (vec){_mm256_maskload_ps(p, vec_half_mask(m)), _mm256_maskload_ps(p + 8, vec_half_mask(m >> 8))};
}

VEC_INLINE void vec_store_part(float *p, vec_mask m, vec x)
{
    _mm256_maskstore_ps(p, vec_half_mask(m), x.low);
    _mm256_maskstore_ps(p + 8, vec_half_mask(m >> 8), x.high);
}

#endif
