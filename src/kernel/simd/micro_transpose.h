/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing small blocks of floats with AVX registers; for files compiled with AVX2 or more. */
#ifndef ARTEL_KERNEL_SIMD_MICRO_TRANSPOSE_H
#define ARTEL_KERNEL_SIMD_MICRO_TRANSPOSE_H

#include <immintrin.h>
#include <stdint.h>

/* to[j * st + i] = from[i * sf + j] for i, j < 8. */
static inline __attribute__((always_inline)) void transpose_8x8(const float *from, int64_t sf, float *to, int64_t st)
{
    __m256 a = _mm256_loadu_ps(from), b = _mm256_loadu_ps(from + sf), c = _mm256_loadu_ps(from + 2 * sf);
    __m256 d = _mm256_loadu_ps(from + 3 * sf), e = _mm256_loadu_ps(from + 4 * sf), f = _mm256_loadu_ps(from + 5 * sf);
    __m256 g = _mm256_loadu_ps(from + 6 * sf), h = _mm256_loadu_ps(from + 7 * sf);
    __m256 ab = _mm256_unpacklo_ps(a, b), AB = _mm256_unpackhi_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    __m256 CD = _mm256_unpackhi_ps(c, d), ef = _mm256_unpacklo_ps(e, f), EF = _mm256_unpackhi_ps(e, f);
    __m256 gh = _mm256_unpacklo_ps(g, h), GH = _mm256_unpackhi_ps(g, h);
    __m256 a4 = _mm256_shuffle_ps(ab, cd, 0x44), b4 = _mm256_shuffle_ps(ab, cd, 0xee);
    __m256 c4 = _mm256_shuffle_ps(AB, CD, 0x44), d4 = _mm256_shuffle_ps(AB, CD, 0xee);
    __m256 e4 = _mm256_shuffle_ps(ef, gh, 0x44), f4 = _mm256_shuffle_ps(ef, gh, 0xee);
    __m256 g4 = _mm256_shuffle_ps(EF, GH, 0x44), h4 = _mm256_shuffle_ps(EF, GH, 0xee);
    _mm256_storeu_ps(to, _mm256_permute2f128_ps(a4, e4, 0x20));
    _mm256_storeu_ps(to + st, _mm256_permute2f128_ps(b4, f4, 0x20));
    _mm256_storeu_ps(to + 2 * st, _mm256_permute2f128_ps(c4, g4, 0x20));
    _mm256_storeu_ps(to + 3 * st, _mm256_permute2f128_ps(d4, h4, 0x20));
    _mm256_storeu_ps(to + 4 * st, _mm256_permute2f128_ps(a4, e4, 0x31));
    _mm256_storeu_ps(to + 5 * st, _mm256_permute2f128_ps(b4, f4, 0x31));
    _mm256_storeu_ps(to + 6 * st, _mm256_permute2f128_ps(c4, g4, 0x31));
    _mm256_storeu_ps(to + 7 * st, _mm256_permute2f128_ps(d4, h4, 0x31));
}

/* to[j * st + i] = from[i * sf + j] for i < rows, j < columns. */
static inline void transpose_block(const float *from, int64_t sf, float *to, int64_t st, int64_t rows, int64_t columns)
{
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8) {
        int64_t j = 0;
        for (; j + 8 <= columns; j += 8) transpose_8x8(from + i * sf + j, sf, to + j * st + i, st);
        for (; j < columns; j++) {
            for (int64_t r = i; r < i + 8; r++) to[j * st + r] = from[r * sf + j];
        }
    }
    for (; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) to[j * st + i] = from[i * sf + j];
    }
}

#endif
