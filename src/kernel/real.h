/* SPDX-License-Identifier: Apache-2.0 */
/* What the formulas of element-wise functions are written in: numbers of one type and the functions of these.
 *
 * float32 with the functions of kernel/math.h, or, where a file has included kernel/wide/real.h first, float64.
 */
#ifndef ARTEL_KERNEL_REAL_H
#define ARTEL_KERNEL_REAL_H

#include "kernel/math.h"

typedef float artel__real;

#define REAL_SELU 1.05070098f
#define REAL_SELU_BELOW 1.75809934f /* times 1.67326324 */
#define REAL_GELU_SCALE 0.79788456f /* sqrt(2 / pi) */
#define REAL_GELU_CUBE 0.044715f
#define REAL_GELU_CUBE_3 0.134145f
#define REAL_NORMAL 0.39894228f    /* 1 / sqrt(2 pi) */
#define REAL_ERF_SLOPE 1.12837917f /* 2 / sqrt(pi) */
#define REAL_WHOLE 8388608.0f      /* from here on all numbers are whole */

ARTEL__MATH artel__real real_abs(artel__real x)
{
    return artel__absf(x);
}

ARTEL__MATH artel__real real_copysign(artel__real size, artel__real sign)
{
    return artel__copysignf(size, sign);
}

ARTEL__MATH artel__real real_sqrt(artel__real x)
{
    return artel__sqrtf(x);
}

ARTEL__MATH artel__real real_exp(artel__real x)
{
    return artel__expf(x);
}

ARTEL__MATH artel__real real_expm1(artel__real x)
{
    return artel__expm1f(x);
}

ARTEL__MATH artel__real real_log(artel__real x)
{
    return artel__logf(x);
}

ARTEL__MATH artel__real real_log1p(artel__real x)
{
    return artel__log1pf(x);
}

ARTEL__MATH artel__real real_pow(artel__real x, artel__real y)
{
    return artel__powf(x, y);
}

ARTEL__MATH artel__real real_tanh(artel__real x)
{
    return artel__tanhf(x);
}

ARTEL__MATH artel__real real_sigmoid(artel__real x)
{
    return artel__sigmoidf(x);
}

ARTEL__MATH artel__real real_softplus(artel__real x)
{
    return artel__softplusf(x);
}

ARTEL__MATH artel__real real_erf(artel__real x)
{
    return artel__erff(x);
}

ARTEL__MATH artel__real real_normal_cdf(artel__real x, artel__real *bell)
{
    return artel__normal_cdf(x, bell);
}

ARTEL__MATH artel__real real_sin(artel__real x)
{
    return artel__sinf(x);
}

ARTEL__MATH artel__real real_cos(artel__real x)
{
    return artel__cosf(x);
}

ARTEL__MATH artel__real real_sin_of_near(artel__real x)
{
    return artel__sin_of_near(x);
}

ARTEL__MATH artel__real real_cos_of_near(artel__real x)
{
    return artel__cos_of_near(x);
}

ARTEL__MATH artel__real real_remainder(artel__real x, artel__real y)
{
    return fmodf(x, y);
}

ARTEL__MATH artel__real real_floor(artel__real x)
{
    return floorf(x);
}

ARTEL__MATH artel__real real_min(artel__real a, artel__real b)
{
    return a < b ? a : b;
}

ARTEL__MATH artel__real real_max(artel__real a, artel__real b)
{
    return a > b ? a : b;
}

#endif
