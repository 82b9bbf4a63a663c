/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of unary.list, one element at a time, shared by the reference and the fast kernels.
 *
 * forward_<name>(x, a, b, c) is the function; backward_<name>(v, dy, a, b, c) is its gradient, where v is x or y as the
 * row of unary.list says. Branch-free, so that loops over them vectorise.
 */
#ifndef ARTEL_KERNEL_UNARY_FORMULA_H
#define ARTEL_KERNEL_UNARY_FORMULA_H

#include "kernel/activation_formula.h"
#include "kernel/math.h"

ARTEL__MATH float forward_scale_shift(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * a + b;
}

ARTEL__MATH float backward_scale_shift(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * a;
}

ARTEL__MATH float forward_log(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__logf(v);
}

ARTEL__MATH float backward_log(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy / v;
}

ARTEL__MATH float forward_log1p(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__log1pf(v);
}

ARTEL__MATH float backward_log1p(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy / (1.0f + v);
}

ARTEL__MATH float forward_expm1(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v == 0.0f ? v : artel__expm1f(v);
}

ARTEL__MATH float backward_expm1(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * artel__expf(v);
}

ARTEL__MATH float forward_sqrt(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__sqrtf(v);
}

ARTEL__MATH float backward_sqrt(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.5f * dy / v;
}

ARTEL__MATH float forward_rsqrt(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return 1.0f / artel__sqrtf(v);
}

ARTEL__MATH float backward_rsqrt(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -0.5f * dy * (v * v * v);
}

ARTEL__MATH float forward_square(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * v;
}

ARTEL__MATH float backward_square(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (2.0f * v);
}

ARTEL__MATH float forward_abs(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__absf(v);
}

ARTEL__MATH float backward_abs(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : v < 0.0f ? -dy : 0.0f;
}

ARTEL__MATH float forward_neg(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return -v;
}

ARTEL__MATH float backward_neg(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -dy;
}

ARTEL__MATH float forward_reciprocal(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return 1.0f / v;
}

ARTEL__MATH float backward_reciprocal(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -dy * (v * v);
}

ARTEL__MATH float forward_clip(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= a ? a : (v > b ? b : v);
}

ARTEL__MATH float backward_clip(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v >= a) & (v <= b)) ? dy : 0.0f;
}

ARTEL__MATH float forward_sin(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__sinf(v);
}

ARTEL__MATH float backward_sin(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * artel__cosf(v);
}

ARTEL__MATH float forward_cos(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__cosf(v);
}

ARTEL__MATH float backward_cos(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -dy * artel__sinf(v);
}

/* sin, cos and their gradients where all of some elements are near: the same bits at half the price. */
ARTEL__MATH float forward_near_sin(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__sin_of_near(v);
}

ARTEL__MATH float backward_near_sin(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * artel__cos_of_near(v);
}

ARTEL__MATH float forward_near_cos(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__cos_of_near(v);
}

ARTEL__MATH float backward_near_cos(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -dy * artel__sin_of_near(v);
}

ARTEL__MATH float forward_erf(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__erff(v);
}

ARTEL__MATH float backward_erf(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (1.12837917f * artel__expf(-(v * v)));
}

ARTEL__MATH float forward_sign(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : v + 0.0f; /* NaN; +0 of -0 */
}

ARTEL__MATH float backward_sign(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

ARTEL__MATH float forward_round(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    float magic = artel__copysignf(8388608.0f, v);
    float whole = (v + magic) - magic;
    return artel__absf(v) < 8388608.0f ? artel__copysignf(whole, v) : v;
}

ARTEL__MATH float backward_round(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

ARTEL__MATH float forward_floor(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    float whole = forward_round(v, a, b, c);
    return whole > v ? whole - 1.0f : whole;
}

ARTEL__MATH float backward_floor(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

ARTEL__MATH float forward_power(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__powf(v, a);
}

ARTEL__MATH float backward_power(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (a * artel__powf(v, a - 1.0f));
}

ARTEL__MATH float forward_zero_test(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v == 0.0f ? 1.0f : 0.0f;
}

ARTEL__MATH float backward_zero_test(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

#endif
