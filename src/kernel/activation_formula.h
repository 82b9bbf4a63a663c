/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of activations, one element at a time: the part of unary_formula.h that Keras calls so.
 *
 * What the functions are, and what their arguments mean, says unary_formula.h, which everybody includes.
 */
#ifndef ARTEL_KERNEL_ACTIVATION_FORMULA_H
#define ARTEL_KERNEL_ACTIVATION_FORMULA_H

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

#endif
