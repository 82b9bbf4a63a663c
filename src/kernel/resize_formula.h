/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of bilinear resizing, shared by the reference and the fast kernels. */
#ifndef ARTEL_KERNEL_RESIZE_FORMULA_H
#define ARTEL_KERNEL_RESIZE_FORMULA_H

#include "kernel/math.h"
#include "kernel/shape_ops.h"

/* The two input positions of output position o along an axis, and the share of the upper one. */
typedef struct resize_tap {
    int64_t lower, upper;
    float share;
} resize_tap;

static inline resize_tap resize_tap_of(int64_t o, int64_t in, int64_t out)
{
    float at = ((float)o + 0.5f) * ((float)in / (float)out) - 0.5f;
    int64_t floor = (int64_t)at - (at < (float)(int64_t)at);
    resize_tap tap = {floor < 0 ? 0 : floor, floor + 1 < in ? floor + 1 : in - 1, at - (float)floor};
    return tap;
}

ARTEL__MATH float resize_blend(float top_left, float top_right, float bottom_left, float bottom_right, float right,
                               float down)
{
    float top = top_left + (top_right - top_left) * right, bottom = bottom_left + (bottom_right - bottom_left) * right;
    return top + (bottom - top) * down;
}

#endif
