/* SPDX-License-Identifier: Apache-2.0 */
/* The rounding of kernel/narrow.h on the bits of a float32, without branches, so that loops over it vectorise. */
#ifndef ARTEL_KERNEL_NARROW_FORMULA_H
#define ARTEL_KERNEL_NARROW_FORMULA_H

#include "kernel/math.h"

ARTEL__MATH float narrow_to_bfloat16(float x)
{
    uint32_t bits = artel__bits(x), magnitude = bits & 0x7fffffffu;
    uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u); /* a carry runs on into the exponent, up to infinity */
    rounded = magnitude > 0x7f800000u ? bits | 0x00400000u : rounded;
    rounded = magnitude < 0x00800000u ? bits & 0x80000000u : rounded;
    return artel__from_bits(rounded & 0xffff0000u);
}

ARTEL__MATH float narrow_to_float16(float x)
{
    uint32_t bits = artel__bits(x), magnitude = bits & 0x7fffffffu;
    uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & 0xffffe000u;
    /* Below 2^-14 the step is 2^-24, which is that of [0.5, 1). */
    uint32_t small = artel__bits((artel__from_bits(magnitude) + 0.5f) - 0.5f);
    rounded = magnitude < 0x38800000u ? small : rounded;
    rounded = rounded >= 0x47800000u ? 0x7f800000u : rounded; /* 65536 and more */
    rounded = magnitude > 0x7f800000u ? (magnitude | 0x00400000u) & 0xffffe000u : rounded;
    return artel__from_bits(rounded | (bits & 0x80000000u));
}

#endif
