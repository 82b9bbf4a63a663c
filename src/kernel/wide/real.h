/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/real.h in float64, in its place: included first, the formulas of unary.list and binary.list are those of
 * doubles.
 *
 * The functions are base/scalar_math.h's and what follows from them, so they have the same bits with every compiler and
 * C library. They are within some 1e-15 of the truth, of its size but for sin and cos.
 */
#ifndef ARTEL_KERNEL_REAL_H
#define ARTEL_KERNEL_REAL_H

#include <math.h>

#include "base/scalar_math.h"
#include "kernel/math.h"

typedef double artel__real;

#define REAL_SELU 1.0507009873554804934
#define REAL_SELU_BELOW 1.7580993408473768599
#define REAL_GELU_SCALE 0.79788456080286535588
#define REAL_GELU_CUBE 0.044715
#define REAL_GELU_CUBE_3 0.134145
#define REAL_NORMAL 0.39894228040143267794
#define REAL_ERF_SLOPE 1.12837916709551257390
#define REAL_WHOLE 4503599627370496.0
#define REAL_ROOT_HALF 0.70710678118654752440
#define REAL_ROOT_PI 1.77245385090551602730

static inline artel__real real_abs(artel__real x)
{
    return fabs(x);
}

static inline artel__real real_copysign(artel__real size, artel__real sign)
{
    return copysign(size, sign);
}

static inline artel__real real_sqrt(artel__real x)
{
    return artel__sqrt64(x);
}

static inline artel__real real_exp(artel__real x)
{
    return artel__exp64(x);
}

static inline artel__real real_log(artel__real x)
{
    return artel__log64(x);
}

/* After W. Kahan: what rounding e^x has lost near 1 is in its logarithm, too. */
static inline artel__real real_expm1(artel__real x)
{
    double power = artel__exp64(x), rest = power - 1.0;
    if (power == 1.0) return x;
    if (rest == -1.0 || power - power != 0.0) return rest;
    return rest * (x / artel__log64(power));
}

/* Likewise. */
static inline artel__real real_log1p(artel__real x)
{
    double sum = 1.0 + x;
    if (sum == 1.0) return x;
    if (sum - sum != 0.0 || sum <= 0.0) return artel__log64(sum);
    return artel__log64(sum) * (x / (sum - 1.0));
}

static inline artel__real real_pow(artel__real x, artel__real y)
{
    return artel__pow64(x, y);
}

static inline artel__real real_tanh(artel__real x)
{
    double fall = real_expm1(-2.0 * fabs(x));
    return x == 0.0 ? x : copysign(-fall / (2.0 + fall), x);
}

static inline artel__real real_sigmoid(artel__real x)
{
    double power = artel__exp64(-fabs(x));
    return x >= 0.0 ? 1.0 / (1.0 + power) : power / (1.0 + power);
}

static inline artel__real real_softplus(artel__real x)
{
    return (x > 0.0 ? x : 0.0) + real_log1p(artel__exp64(-fabs(x)));
}

/* e^(-x^2), the square in two parts. */
static inline double real_bell(double x)
{
    double high = (double)(float)x;
    return artel__exp64(-high * high) * artel__exp64((high - x) * (high + x));
}

/* erfc of x >= 2: a continued fraction, from its end. */
static inline double real_erfc_far(double x)
{
    double t = x;
    for (int k = 60; k > 0; k--) t = x + 0.5 * k / t;
    return x > 27.5 ? 0.0 : real_bell(x) / (t * REAL_ROOT_PI);
}

/* erf of |x| < 2: a series without changes of sign. */
static inline double real_erf_near(double x)
{
    double sum = 1.0, term = 1.0, square = 2.0 * x * x;
    for (int n = 1; n < 64; n++) {
        term = term * square / (2 * n + 1);
        sum = sum + term;
    }
    return REAL_ERF_SLOPE * real_bell(x) * (x * sum);
}

static inline artel__real real_erf(artel__real x)
{
    if (x != x || x == 0.0) return x;
    return fabs(x) < 2.0 ? real_erf_near(x) : copysign(1.0 - real_erfc_far(fabs(x)), x);
}

/* erfc(-x / sqrt(2)) / 2, and e^(-x^2 / 2). */
static inline artel__real real_normal_cdf(artel__real x, artel__real *bell)
{
    double scaled = fabs(x) * REAL_ROOT_HALF;
    *bell = artel__exp64(-0.5 * x * x);
    if (x != x) return x;
    double tail = scaled < 2.0 ? 0.5 * (1.0 - real_erf_near(scaled)) : 0.5 * real_erfc_far(scaled);
    return x > 0.0 ? 1.0 - tail : tail;
}

static inline artel__real real_sin(artel__real x)
{
    return x == 0.0 ? x : artel__sin64(x);
}

static inline artel__real real_cos(artel__real x)
{
    return artel__cos64(x);
}

static inline artel__real real_sin_of_near(artel__real x)
{
    return real_sin(x);
}

static inline artel__real real_cos_of_near(artel__real x)
{
    return real_cos(x);
}

static inline artel__real real_remainder(artel__real x, artel__real y)
{
    return fmod(x, y);
}

static inline artel__real real_floor(artel__real x)
{
    return floor(x);
}

static inline artel__real real_min(artel__real a, artel__real b)
{
    return a < b ? a : b;
}

static inline artel__real real_max(artel__real a, artel__real b)
{
    return a > b ? a : b;
}

#endif
