/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of unary.list, one element at a time, shared by the reference and the fast kernels.
 *
 * forward_<name>(x, a, b, c) is the function; backward_<name>(v, dy, a, b, c) is its gradient, where v is x or y as the
 * row of unary.list says. Branch-free, so that loops over them vectorise.
 */
#ifndef ARTEL_KERNEL_UNARY_FORMULA_H
#define ARTEL_KERNEL_UNARY_FORMULA_H

#include "kernel/activation_formula.h"
#include "kernel/real.h"

ARTEL__MATH artel__real forward_scale_shift(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * a + b;
}

ARTEL__MATH artel__real backward_scale_shift(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * a;
}

ARTEL__MATH artel__real forward_log(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_log(v);
}

ARTEL__MATH artel__real backward_log(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy / v;
}

ARTEL__MATH artel__real forward_log1p(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_log1p(v);
}

ARTEL__MATH artel__real backward_log1p(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy / (1.0f + v);
}

ARTEL__MATH artel__real forward_expm1(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v == 0.0f ? v : real_expm1(v);
}

ARTEL__MATH artel__real backward_expm1(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * real_exp(v);
}

ARTEL__MATH artel__real forward_sqrt(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_sqrt(v);
}

/* Of these that are infinite somewhere a gradient of 0 stays one there, as in TensorFlow: where the value is not used,
 * behind a choice, there is no NaN. */
ARTEL__MATH artel__real backward_sqrt(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy == 0.0f ? dy : 0.5f * dy / v;
}

ARTEL__MATH artel__real forward_rsqrt(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return 1.0f / real_sqrt(v);
}

ARTEL__MATH artel__real backward_rsqrt(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy == 0.0f ? -dy : -0.5f * dy * (v * v * v);
}

ARTEL__MATH artel__real forward_square(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * v;
}

ARTEL__MATH artel__real backward_square(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (2.0f * v);
}

ARTEL__MATH artel__real forward_abs(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_abs(v);
}

ARTEL__MATH artel__real backward_abs(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : v < 0.0f ? -dy : v == 0.0f ? dy - dy : v; /* NaN of NaN, and of an infinite dy at 0 */
}

ARTEL__MATH artel__real forward_neg(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return -v;
}

ARTEL__MATH artel__real backward_neg(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -dy;
}

ARTEL__MATH artel__real forward_reciprocal(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return 1.0f / v;
}

ARTEL__MATH artel__real backward_reciprocal(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy == 0.0f ? -dy : -dy * (v * v);
}

ARTEL__MATH artel__real forward_clip(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= a ? a : (v > b ? b : v);
}

ARTEL__MATH artel__real backward_clip(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v >= a) & (v <= b)) ? dy : 0.0f;
}

ARTEL__MATH artel__real forward_sin(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_sin(v);
}

ARTEL__MATH artel__real backward_sin(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * real_cos(v);
}

ARTEL__MATH artel__real forward_cos(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_cos(v);
}

ARTEL__MATH artel__real backward_cos(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -dy * real_sin(v);
}

/* sin, cos and their gradients where all of some elements are near: the same bits at half the price. */
ARTEL__MATH artel__real forward_near_sin(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_sin_of_near(v);
}

ARTEL__MATH artel__real backward_near_sin(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * real_cos_of_near(v);
}

ARTEL__MATH artel__real forward_near_cos(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_cos_of_near(v);
}

ARTEL__MATH artel__real backward_near_cos(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return -dy * real_sin_of_near(v);
}

ARTEL__MATH artel__real forward_erf(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_erf(v);
}

ARTEL__MATH artel__real backward_erf(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (REAL_ERF_SLOPE * real_exp(-(v * v)));
}

ARTEL__MATH artel__real forward_sign(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : v + 0.0f; /* NaN; +0 of -0 */
}

ARTEL__MATH artel__real backward_sign(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

ARTEL__MATH artel__real forward_round(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    artel__real magic = real_copysign(REAL_WHOLE, v);
    artel__real whole = (v + magic) - magic;
    return real_abs(v) < REAL_WHOLE ? real_copysign(whole, v) : v;
}

ARTEL__MATH artel__real backward_round(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

ARTEL__MATH artel__real forward_floor(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    artel__real whole = forward_round(v, a, b, c);
    return whole > v ? whole - 1.0f : whole;
}

ARTEL__MATH artel__real backward_floor(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

ARTEL__MATH artel__real forward_power(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_pow(v, a);
}

ARTEL__MATH artel__real backward_power(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (a * real_pow(v, a - 1.0f));
}

ARTEL__MATH artel__real forward_zero_test(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v == 0.0f ? 1.0f : 0.0f;
}

ARTEL__MATH artel__real backward_zero_test(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return 0.0f;
}

#endif
