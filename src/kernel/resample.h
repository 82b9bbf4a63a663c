/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: weighted runs along one axis, and images seen through an affine map.
 *
 * A run of weights (`band`) is a linear map along an axis of which each output reads neighbouring inputs: resizing with
 * any filter, means over windows of varying extent. Its gradient is the transposed map, which is a band again.
 */
#ifndef ARTEL_KERNEL_RESAMPLE_H
#define ARTEL_KERNEL_RESAMPLE_H

#include "kernel/kernel.h"

/* y[a][o][b] = sum over k of weight[o * taps + k] * x[a][first[o] + k][b], one chain from k = 0 with both roundings; x
 * has `extent` places. Tasks: outer times outputs. */
typedef struct artel__band {
    int64_t outer, extent, outputs, inner, taps;
    const int32_t *first; /* 0 .. extent - taps */
    const float *weight;
    const float *x;
    float *y;
} artel__band;

extern const artel__kernel *const artel__band_kernels[];

typedef enum artel__warp_fill {
    ARTEL__WARP_CONSTANT, /* `fill` outside */
    ARTEL__WARP_REFLECT,  /* d c b a | a b c d | d c b a */
    ARTEL__WARP_WRAP,     /* a b c d | a b c d | a b c d */
    ARTEL__WARP_NEAREST   /* a a a a | a b c d | d d d d */
} artel__warp_fill;

/* y[r][i][j] = x[r] at (m0 j + m1 i + m2, m3 j + m4 i + m5) / (m6 j + m7 i + 1), column and line, m = map[r]; maps of
 * six numbers are not divided by anything, and where the divisor is 0 the value is `fill`. After TensorFlow's
 * ImageProjectiveTransformV3 (tensorflow/core/kernels/image/image_ops.h). Positions outside are brought back as `mode`
 * says; a place that is outside all the same counts as `fill`. Bilinear: the four neighbours, the upper line first,
 * weights before values; else the nearest, halves away from zero. Tasks: rows times lines of y. */
typedef struct artel__warp {
    int64_t rows, in_h, in_w, out_h, out_w, channels;
    bool bilinear;
    artel__warp_fill mode;
    float fill;
    int numbers;          /* of a map: 6, or 8 */
    const float *x, *map; /* map [rows][numbers] */
    float *y;
} artel__warp;

/* dx from 0, adding in row-major order of the outputs, corners in the order above. Tasks: rows. */
typedef struct artel__warp_gradient {
    artel__warp as; /* x and y are not read */
    const float *dy;
    float *dx;
} artel__warp_gradient;

extern const artel__kernel *const artel__warp_kernels[];
extern const artel__kernel *const artel__warp_gradient_kernels[];

#endif
