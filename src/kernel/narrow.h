/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding float32 values to what a 16-bit type holds; they stay stored as float32.
 *
 * To nearest, ties to even. BFLOAT16: denormals become zero of their sign, as in the processor's own conversion;
 * FLOAT16 keeps its denormals (multiples of 2^-24). What is too large becomes infinity; a NaN stays one, quiet, with
 * its first bits.
 */
#ifndef ARTEL_KERNEL_NARROW_H
#define ARTEL_KERNEL_NARROW_H

#include "kernel/elementwise.h"

/* y = x rounded to `to` (FLOAT16 or BFLOAT16); y may be x. With y_half, `to` is BFLOAT16 and y lies elsewhere. Tasks:
 * runs of ARTEL__ELEMENT_TASK elements. */
typedef struct artel__narrow {
    artel_dtype to;
    int64_t count;
    const float *x;
    float *y;
    bool y_half;
} artel__narrow;

extern const artel__kernel *const artel__narrow_kernels[];

/* One value, for constants of a graph; FLOAT32 leaves it alone. */
float artel__narrow_one(artel_dtype to, float x);
/* The double of x as a float32. A function: GCC 12 stores two such doubles beside one another as if they had not been
 * rounded. */
double artel__round_to_float32(double x);

#endif
