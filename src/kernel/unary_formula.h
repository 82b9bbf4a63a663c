/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of unary.list and of the binary functions, one element at a time, shared by the reference and the fast kernels.
 *
 * forward_<name>(x, a, b, c) is the function; backward_<name>(v, dy, a, b, c) is its gradient, where v is x or y as the
 * row of unary.list says. Branch-free, so that loops over them vectorise.
 */
#ifndef ARTEL_KERNEL_UNARY_FORMULA_H
#define ARTEL_KERNEL_UNARY_FORMULA_H

#include "kernel/math.h"

#define ARTEL__UNARY_ARGS float v, float a, float b, float c
#define ARTEL__UNARY_GRADIENT_ARGS float v, float dy, float a, float b, float c
#define ARTEL__UNARY_UNUSED (void)v, (void)a, (void)b, (void)c

ARTEL__MATH float forward_linear(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v;
}

ARTEL__MATH float backward_linear(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy;
}

ARTEL__MATH float forward_relu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    float none = ((c == 0.0f) & (v != v)) ? v : 0.0f; /* NaN does not pass a threshold; 0 times (v - c) would be -0, or NaN */
    return v > c ? (v < b ? v : b) : a == 0.0f ? none : a * (v - c);
}

/* At the threshold the slope counts where Keras calls leaky_relu: with neither a threshold nor a maximum. */
ARTEL__MATH float backward_relu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    float slope = ((v < c) | ((c == 0.0f) & (b == INFINITY))) ? a : 0.0f;
    return v > c ? (((v < b) | ((v == b) & (b != 6.0f))) ? dy : 0.0f) : slope * dy;
}

ARTEL__MATH float forward_leaky_relu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > 0.0f ? v : a * v;
}

ARTEL__MATH float backward_leaky_relu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : a * dy;
}

ARTEL__MATH float forward_relu6(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= 0.0f ? 0.0f : (v > 6.0f ? 6.0f : v);
}

ARTEL__MATH float backward_relu6(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v > 0.0f) & (v < 6.0f)) ? dy : 0.0f;
}

ARTEL__MATH float forward_elu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v < 0.0f ? a * artel__expm1f(v) : v;
}

ARTEL__MATH float backward_elu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : dy * (a * artel__expf(v));
}

ARTEL__MATH float forward_selu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v < 0.0f ? 1.75809934f * artel__expm1f(v) : 1.05070098f * v;
}

ARTEL__MATH float backward_selu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v >= 0.0f ? dy * 1.05070098f : dy * (1.75809934f * artel__expf(v));
}

ARTEL__MATH float forward_celu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return (v <= 0.0f ? 0.0f : v) + a * artel__expm1f((v < 0.0f ? v : 0.0f) / a);
}

ARTEL__MATH float backward_celu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : dy * artel__expf(v / a);
}

ARTEL__MATH float forward_gelu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    float bell;
    return v * artel__normal_cdf(v, &bell);
}

ARTEL__MATH float backward_gelu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    float bell, cdf = artel__normal_cdf(v, &bell);
    return dy * (cdf + v * (0.39894228f * bell));
}

ARTEL__MATH float forward_gelu_tanh(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    float t = artel__tanhf(0.79788456f * (v + 0.044715f * (v * v * v)));
    return 0.5f * v * (1.0f + t);
}

ARTEL__MATH float backward_gelu_tanh(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    float t = artel__tanhf(0.79788456f * (v + 0.044715f * (v * v * v)));
    float slope = 0.79788456f * (1.0f + 0.134145f * (v * v));
    return dy * (0.5f * (1.0f + t) + 0.5f * v * ((1.0f - t * t) * slope));
}

ARTEL__MATH float forward_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__sigmoidf(v);
}

ARTEL__MATH float backward_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (1.0f - v) * v;
}

ARTEL__MATH float forward_hard_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return forward_relu6(v + 3.0f, a, b, c) / 6.0f;
}

ARTEL__MATH float backward_hard_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v + 3.0f > 0.0f) & (v + 3.0f < 6.0f)) ? dy / 6.0f : 0.0f;
}

ARTEL__MATH float forward_silu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * artel__sigmoidf(v);
}

ARTEL__MATH float backward_silu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    float s = artel__sigmoidf(v);
    return dy * (s * (1.0f + v * (1.0f - s)));
}

ARTEL__MATH float forward_hard_silu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * forward_hard_sigmoid(v, a, b, c);
}

ARTEL__MATH float backward_hard_silu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * forward_hard_sigmoid(v, a, b, c) + backward_hard_sigmoid(v, dy * v, a, b, c);
}

ARTEL__MATH float forward_tanh(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__tanhf(v);
}

ARTEL__MATH float backward_tanh(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (1.0f - v * v);
}

ARTEL__MATH float forward_hard_tanh(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= -1.0f ? -1.0f : (v > 1.0f ? 1.0f : v);
}

ARTEL__MATH float backward_hard_tanh(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v >= -1.0f) & (v <= 1.0f)) ? dy : 0.0f;
}

ARTEL__MATH float forward_tanh_shrink(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v - artel__tanhf(v);
}

ARTEL__MATH float backward_tanh_shrink(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    float t = artel__tanhf(v);
    return dy * (t * t);
}

ARTEL__MATH float forward_soft_shrink(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > a ? v - a : v < -a ? v + a : 0.0f;
}

ARTEL__MATH float backward_soft_shrink(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v > a) | (v < -a)) ? dy : 0.0f;
}

ARTEL__MATH float forward_hard_shrink(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__absf(v) > a ? v : 0.0f;
}

ARTEL__MATH float backward_hard_shrink(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return artel__absf(v) > a ? dy : 0.0f;
}

ARTEL__MATH float forward_softplus(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__softplusf(v);
}

ARTEL__MATH float backward_softplus(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * artel__sigmoidf(v);
}

ARTEL__MATH float forward_softsign(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v / (1.0f + artel__absf(v));
}

ARTEL__MATH float backward_softsign(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    float d = 1.0f + artel__absf(v);
    return dy / (d * d);
}

ARTEL__MATH float forward_mish(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * artel__tanhf(artel__softplusf(v));
}

ARTEL__MATH float backward_mish(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    float t = artel__tanhf(artel__softplusf(v));
    return dy * (t + v * ((1.0f - t * t) * artel__sigmoidf(v)));
}

ARTEL__MATH float forward_exponential(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return artel__expf(v);
}

ARTEL__MATH float backward_exponential(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * v;
}

ARTEL__MATH float forward_log_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return -artel__softplusf(-v);
}

ARTEL__MATH float backward_log_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * artel__sigmoidf(-v);
}

ARTEL__MATH float forward_squareplus(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return (v + artel__sqrtf(v * v + a)) / 2.0f;
}

ARTEL__MATH float backward_squareplus(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * ((1.0f + v / artel__sqrtf(v * v + a)) / 2.0f);
}

ARTEL__MATH float forward_sparse_plus(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= -1.0f ? 0.0f : v < 1.0f ? 0.25f * ((v + 1.0f) * (v + 1.0f)) : v;
}

ARTEL__MATH float backward_sparse_plus(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v <= -1.0f ? 0.0f : v < 1.0f ? dy * (0.5f * (v + 1.0f)) : dy;
}

ARTEL__MATH float forward_sparse_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= -1.0f ? 0.0f : v >= 1.0f ? 1.0f : 0.5f * (v + 1.0f);
}

ARTEL__MATH float backward_sparse_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v > -1.0f) & (v < 1.0f)) ? dy * 0.5f : 0.0f;
}

ARTEL__MATH float forward_threshold(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > a ? v : b;
}

ARTEL__MATH float backward_threshold(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > a ? dy : 0.0f;
}

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
