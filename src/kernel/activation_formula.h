/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of activations, one element at a time: the part of unary_formula.h that Keras calls so.
 *
 * What the functions are, and what their arguments mean, says unary_formula.h, which everybody includes.
 */
#ifndef ARTEL_KERNEL_ACTIVATION_FORMULA_H
#define ARTEL_KERNEL_ACTIVATION_FORMULA_H

#include "kernel/real.h"

#define ARTEL__UNARY_ARGS artel__real v, artel__real a, artel__real b, artel__real c
#define ARTEL__UNARY_GRADIENT_ARGS artel__real v, artel__real dy, artel__real a, artel__real b, artel__real c
#define ARTEL__UNARY_UNUSED (void)v, (void)a, (void)b, (void)c

ARTEL__MATH artel__real forward_linear(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v;
}

ARTEL__MATH artel__real backward_linear(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy;
}

ARTEL__MATH artel__real forward_relu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    artel__real none =
        ((c == 0.0f) & (v != v)) ? v : 0.0f; /* NaN does not pass a threshold; 0 times (v - c) would be -0, or NaN */
    return v > c ? (v < b ? v : b) : a == 0.0f ? none : a * (v - c);
}

/* At the threshold the slope counts where Keras calls leaky_relu: with neither a threshold nor a maximum. */
ARTEL__MATH artel__real backward_relu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    artel__real slope = ((v < c) | ((c == 0.0f) & (b == INFINITY))) ? a : 0.0f;
    return v > c ? (((v < b) | ((v == b) & (b != 6.0f))) ? dy : 0.0f) : slope * dy;
}

ARTEL__MATH artel__real forward_leaky_relu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > 0.0f ? v : a * v;
}

ARTEL__MATH artel__real backward_leaky_relu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : a * dy;
}

ARTEL__MATH artel__real forward_relu6(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= 0.0f ? 0.0f : (v > 6.0f ? 6.0f : v);
}

ARTEL__MATH artel__real backward_relu6(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v > 0.0f) & (v < 6.0f)) ? dy : 0.0f;
}

ARTEL__MATH artel__real forward_elu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v < 0.0f ? a * real_expm1(v) : v;
}

ARTEL__MATH artel__real backward_elu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : dy * (a * real_exp(v));
}

ARTEL__MATH artel__real forward_selu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v < 0.0f ? REAL_SELU_BELOW * real_expm1(v) : REAL_SELU * v;
}

ARTEL__MATH artel__real backward_selu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v >= 0.0f ? dy * REAL_SELU : dy * (REAL_SELU_BELOW * real_exp(v));
}

ARTEL__MATH artel__real forward_celu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return (v <= 0.0f ? 0.0f : v) + a * real_expm1((v < 0.0f ? v : 0.0f) / a);
}

ARTEL__MATH artel__real backward_celu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > 0.0f ? dy : dy * real_exp(v / a);
}

ARTEL__MATH artel__real forward_gelu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    artel__real bell;
    return v * real_normal_cdf(v, &bell);
}

ARTEL__MATH artel__real backward_gelu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    artel__real bell, cdf = real_normal_cdf(v, &bell);
    return dy * (cdf + v * (REAL_NORMAL * bell));
}

ARTEL__MATH artel__real forward_gelu_tanh(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    artel__real t = real_tanh(REAL_GELU_SCALE * (v + REAL_GELU_CUBE * (v * v * v)));
    return 0.5f * v * (1.0f + t);
}

ARTEL__MATH artel__real backward_gelu_tanh(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    artel__real t = real_tanh(REAL_GELU_SCALE * (v + REAL_GELU_CUBE * (v * v * v)));
    artel__real slope = REAL_GELU_SCALE * (1.0f + REAL_GELU_CUBE_3 * (v * v));
    return dy * (0.5f * (1.0f + t) + 0.5f * v * ((1.0f - t * t) * slope));
}

ARTEL__MATH artel__real forward_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_sigmoid(v);
}

ARTEL__MATH artel__real backward_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (1.0f - v) * v;
}

ARTEL__MATH artel__real forward_hard_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return forward_relu6(v + 3.0f, a, b, c) / 6.0f;
}

ARTEL__MATH artel__real backward_hard_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v + 3.0f > 0.0f) & (v + 3.0f < 6.0f)) ? dy / 6.0f : 0.0f;
}

ARTEL__MATH artel__real forward_silu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * real_sigmoid(v);
}

ARTEL__MATH artel__real backward_silu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    artel__real s = real_sigmoid(v);
    return dy * (s * (1.0f + v * (1.0f - s)));
}

ARTEL__MATH artel__real forward_hard_silu(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * forward_hard_sigmoid(v, a, b, c);
}

ARTEL__MATH artel__real backward_hard_silu(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * forward_hard_sigmoid(v, a, b, c) + backward_hard_sigmoid(v, dy * v, a, b, c);
}

ARTEL__MATH artel__real forward_tanh(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_tanh(v);
}

ARTEL__MATH artel__real backward_tanh(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * (1.0f - v * v);
}

ARTEL__MATH artel__real forward_hard_tanh(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= -1.0f ? -1.0f : (v > 1.0f ? 1.0f : v);
}

ARTEL__MATH artel__real backward_hard_tanh(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v >= -1.0f) & (v <= 1.0f)) ? dy : 0.0f;
}

ARTEL__MATH artel__real forward_tanh_shrink(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v - real_tanh(v);
}

ARTEL__MATH artel__real backward_tanh_shrink(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    artel__real t = real_tanh(v);
    return dy * (t * t);
}

ARTEL__MATH artel__real forward_soft_shrink(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > a ? v - a : v < -a ? v + a : 0.0f;
}

ARTEL__MATH artel__real backward_soft_shrink(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v > a) | (v < -a)) ? dy : 0.0f;
}

ARTEL__MATH artel__real forward_hard_shrink(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_abs(v) > a ? v : 0.0f;
}

ARTEL__MATH artel__real backward_hard_shrink(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return real_abs(v) > a ? dy : 0.0f;
}

ARTEL__MATH artel__real forward_softplus(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_softplus(v);
}

ARTEL__MATH artel__real backward_softplus(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * real_sigmoid(v);
}

ARTEL__MATH artel__real forward_softsign(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v / (1.0f + real_abs(v));
}

ARTEL__MATH artel__real backward_softsign(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    artel__real d = 1.0f + real_abs(v);
    return dy / (d * d);
}

ARTEL__MATH artel__real forward_mish(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v * real_tanh(real_softplus(v));
}

ARTEL__MATH artel__real backward_mish(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    artel__real t = real_tanh(real_softplus(v));
    return dy * (t + v * ((1.0f - t * t) * real_sigmoid(v)));
}

ARTEL__MATH artel__real forward_exponential(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return real_exp(v);
}

ARTEL__MATH artel__real backward_exponential(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * v;
}

ARTEL__MATH artel__real forward_log_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return -real_softplus(-v);
}

ARTEL__MATH artel__real backward_log_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * real_sigmoid(-v);
}

ARTEL__MATH artel__real forward_squareplus(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return (v + real_sqrt(v * v + a)) / 2.0f;
}

ARTEL__MATH artel__real backward_squareplus(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return dy * ((1.0f + v / real_sqrt(v * v + a)) / 2.0f);
}

ARTEL__MATH artel__real forward_sparse_plus(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= -1.0f ? 0.0f : v < 1.0f ? 0.25f * ((v + 1.0f) * (v + 1.0f)) : v;
}

ARTEL__MATH artel__real backward_sparse_plus(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v <= -1.0f ? 0.0f : v < 1.0f ? dy * (0.5f * (v + 1.0f)) : v == v ? dy : v; /* NaN of NaN */
}

ARTEL__MATH artel__real forward_sparse_sigmoid(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v <= -1.0f ? 0.0f : v >= 1.0f ? 1.0f : 0.5f * (v + 1.0f);
}

ARTEL__MATH artel__real backward_sparse_sigmoid(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return ((v > -1.0f) & (v < 1.0f)) ? dy * 0.5f : 0.0f;
}

ARTEL__MATH artel__real forward_threshold(ARTEL__UNARY_ARGS)
{
    ARTEL__UNARY_UNUSED;
    return v > a ? v : b;
}

ARTEL__MATH artel__real backward_threshold(ARTEL__UNARY_GRADIENT_ARGS)
{
    ARTEL__UNARY_UNUSED, (void)dy;
    return v > a ? dy : 0.0f;
}

#endif
