/* SPDX-License-Identifier: Apache-2.0 */
/* Copies past the caches, for passes whose result is larger than what the caches keep until it is read. Include simd.h
 * first.
 *
 * A result of that size is read by the next operation from its beginning, of which no cache holds anything by then, but
 * each of its lines would be fetched from memory before it is written. Only with vectors of a whole line, as halves of
 * lines cost more than is won; elsewhere the copies are plain ones and artel__streams says no.
 */
#ifndef ARTEL_KERNEL_SIMD_STREAM_H
#define ARTEL_KERNEL_SIMD_STREAM_H

#include <string.h>

#include "kernel/half.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

enum {
    ARTEL__STREAM_BYTES = 12 << 20, /* of a result from which on it goes past the caches */
    ARTEL__STREAM_LINE = 64
};

/* Whether a result of `count` floats that shares no memory with an operand goes past the caches. */
static inline bool artel__streams(int64_t count)
{
#if defined(__AVX512F__)
    return count * 4 >= ARTEL__STREAM_BYTES;
#else
    (void)count;
    return false;
#endif
}

/* Copies n floats; before others may read them: artel__stream_end. */
static inline void artel__stream(float *to, const float *from, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX512F__)
    int64_t head = (int64_t)(-(uintptr_t)to % ARTEL__STREAM_LINE / 4);
    i = head < n ? head : n;
    memcpy(to, from, (size_t)i * 4);
    for (; i + 16 <= n; i += 16) _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
#endif
    memcpy(to + i, from + i, (size_t)(n - i) * 4);
}

/* Rounds n floats of a run to bfloat16 and copies them likewise, from element `at` of y on. */
static inline void artel__half_stream(float *y, int64_t at, int64_t n, const float *from)
{
    uint16_t *to = (uint16_t *)(void *)y + at;
    _Alignas(64) uint16_t run[ARTEL__HALF_RUN];
    for (int64_t i = 0; i < n; i += ARTEL__HALF_RUN) {
        int64_t count = n - i < ARTEL__HALF_RUN ? n - i : ARTEL__HALF_RUN;
        artel__half_store((float *)(void *)run, true, 0, count, from + i);
        if (count % 2 == 0 && (uintptr_t)(to + i) % 4 == 0)
            artel__stream((float *)(void *)(to + i), (const float *)(const void *)run, count / 2);
        else
            memcpy(to + i, run, (size_t)count * sizeof *run);
    }
}

static inline void artel__stream_end(void)
{
#if defined(__AVX512F__)
    _mm_sfence();
#endif
}

#endif
