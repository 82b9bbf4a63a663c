/* SPDX-License-Identifier: Apache-2.0 */
/* A step of a product over rows of two operands: one row of each, or, in files compiled for AVX512_BF16, two.
 *
 * There a lane holds a pair: the bfloat16 of the earlier row in its upper half, that of the later row in its lower. The
 * processor takes the upper one first, adds it to the chain with one rounding, flushes denormals and then takes the
 * lower one: the two steps that vec_fma would take on float32 values that bfloat16 holds, in the mode that kernels run
 * in, so the bits are the same (60 million random and extreme operands on AMD Zen 4; which of several NaNs comes out
 * excepted).
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_STEP_H
#define ARTEL_KERNEL_SIMD_MICRO_STEP_H

#if defined(__AVX512BF16__)

enum {
    VEC_ROWS = 2 /* rows of a step */
};

VEC_INLINE vec vec_step(vec a, vec b, vec c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

/* Two rows that bfloat16 holds as one of pairs. */
VEC_INLINE vec vec_join(vec earlier, vec later)
{
    __m512i low = _mm512_srli_epi32(_mm512_castps_si512(later), 16);
    return _mm512_castsi512_ps(_mm512_mask_blend_epi16(0x55555555, _mm512_castps_si512(earlier), low));
}

#else

enum {
    VEC_ROWS = 1
};

VEC_INLINE vec vec_step(vec a, vec b, vec c)
{
    return vec_fma(a, b, c);
}

VEC_INLINE vec vec_join(vec earlier, vec later)
{
    (void)later;
    return earlier;
}

#endif

#endif
