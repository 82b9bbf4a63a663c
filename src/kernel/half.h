/* SPDX-License-Identifier: Apache-2.0 */
/* Operands stored as bfloat16, of which each element is the upper half of a float32, as kernels load and store them.
 *
 * Loops over float32 stay as they are: of an operand that is stored in 16 bits they get a run of elements widened in a
 * buffer, and what they make is rounded (narrow.h) from a buffer to its place. Where the flag is false everything is
 * the operand itself.
 */
#ifndef ARTEL_KERNEL_HALF_H
#define ARTEL_KERNEL_HALF_H

#include <stdbool.h>
#include <string.h>

#include "kernel/narrow_formula.h"

enum {
    ARTEL__HALF_RUN = 512 /* elements that are widened at once: a few such buffers stay in the first-level cache */
};

ARTEL__MATH float artel__half_widen(uint16_t x)
{
    return artel__from_bits((uint32_t)x << 16);
}

ARTEL__MATH uint16_t artel__half_round(float x)
{
    return (uint16_t)(artel__bits(narrow_to_bfloat16(x)) >> 16);
}

/* For artel__kernel.halves: operands may be stored so, whatever the params. */
static inline bool artel__halves_always(const void *params)
{
    (void)params;
    return true;
}

/* The address of element `at`, for who knows how it is stored. */
static inline const void *artel__half_at(const float *x, bool half, int64_t at)
{
    return (const char *)x + at * (half ? 2 : 4);
}

/* Elements [at, at + n) of x as float32: where they lie, or in `room`. */
static inline const float *artel__half_load(const float *x, bool half, int64_t at, int64_t n, float *restrict room)
{
    if (!half) return x + at;
    const uint16_t *from = (const uint16_t *)(const void *)x + at;
    for (int64_t i = 0; i < n; i++) room[i] = artel__half_widen(from[i]);
    return room;
}

/* n elements of each of `rows` rows, `step` apart in x from element `at` on, side by side in `room`, stored either way.
 */
static inline void artel__half_gather(const float *x, bool half, int64_t at, int64_t step, int64_t rows, int64_t n,
                                      float *restrict room)
{
    for (int64_t r = 0; r < rows; r++, at += step, room += n) {
        if (half)
            artel__half_load(x, true, at, n, room);
        else
            memcpy(room, x + at, (size_t)n * sizeof *room);
    }
}

/* Where elements from `at` on are to be made. */
static inline float *artel__half_make(float *y, bool half, int64_t at, float *room)
{
    return half ? room : y + at;
}

/* Once n of them are made there. */
static inline void artel__half_store(float *y, bool half, int64_t at, int64_t n, const float *restrict room)
{
    if (!half) return;
    uint16_t *to = (uint16_t *)(void *)y + at;
    for (int64_t i = 0; i < n; i++) to[i] = artel__half_round(room[i]);
}

#endif
