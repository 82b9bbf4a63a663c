/* SPDX-License-Identifier: Apache-2.0 */
/* What the fast kernels share that are written in plain C for the compiler to vectorise.
 *
 * Each file of kernel/vector is a family, compiled once for each instruction set (cmake/rooms.cmake), which sets
 * ARTEL__SIMD_SET and ARTEL__SIMD_ISA. Without contraction and reassociation every instruction set gives the same bits.
 * It ends with its kernels, which ARTEL__KERNEL_LIST (kernel/kernel.h) lists. Bodies that are written against vectors,
 * too (attention_body.h, recurrent_body.h), are included by a file for each set.
 */
#ifndef ARTEL_KERNEL_SIMD_SIMD_H
#define ARTEL_KERNEL_SIMD_SIMD_H

#ifndef __clang__
#pragma GCC optimize( \
    "no-trapping-math") /* changes no value; without it selections do not vectorise. Include this file first. */
#endif

#include "kernel/kernel.h"

#ifdef ARTEL__SIMD_SET
/* The kernel of that name for this set; the other arguments are fields of artel__kernel. */
#define ARTEL__SIMD_KERNEL(kernel, ...) ARTEL__SIMD_KERNEL_FOR(ARTEL__SIMD_SET, kernel, __VA_ARGS__)
#define ARTEL__SIMD_KERNEL_FOR(set, kernel, ...) ARTEL__SIMD_KERNEL_DEFINE(set, kernel, __VA_ARGS__)
#define ARTEL__SIMD_KERNEL_DEFINE(set, kernel, ...)     \
    extern const artel__kernel artel__##kernel##_##set; \
    const artel__kernel artel__##kernel##_##set = {.name = #set " " #kernel, .isa = ARTEL__SIMD_ISA, __VA_ARGS__}
#endif

/* For loops that take a formula as a constant argument: the call must disappear. */
#define ARTEL__INLINE static inline __attribute__((always_inline))

/* Before a loop whose iterations are independent although pointers may be equal (in-place work). */
#if !defined(__OPTIMIZE__) /* nothing vectorises, and gcc would warn about some of them */
#define ARTEL__INDEPENDENT
#elif defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* the loops that stay scalar (pow) are not worth a word */
#define ARTEL__INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ARTEL__INDEPENDENT _Pragma("GCC ivdep")
#endif

#define ARTEL__LANES 16

/* The fixed tree over 16 lanes: 8 apart, 4 apart, 2 apart, 1 apart. */
static inline float artel__lanes_sum(const float *lane)
{
    float eight[8], four[4];
    for (int i = 0; i < 8; i++) eight[i] = lane[i] + lane[i + 8];
    for (int i = 0; i < 4; i++) four[i] = eight[i] + eight[i + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

static inline double artel__lanes_sum64(const double *lane)
{
    double eight[8], four[4];
    for (int i = 0; i < 8; i++) eight[i] = lane[i] + lane[i + 8];
    for (int i = 0; i < 4; i++) four[i] = eight[i] + eight[i + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* The last n < 16 elements of a row followed by `fill`, so that their lanes are made like all others. */
static inline void artel__tail(const float *x, int64_t n, float fill, float *tail)
{
    for (int k = 0; k < ARTEL__LANES; k++) tail[k] = fill;
    for (int64_t k = 0; k < n; k++) tail[k] = x[k];
}

/* Tasks of `size` elements, and the elements of tasks [begin, end). */
static inline int64_t artel__pieces(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

static inline int64_t artel__piece_end(int64_t count, int64_t size, int64_t task)
{
    return task * size < count ? task * size : count;
}

#endif
