/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of functions of two arguments, one element at a time, shared by the reference and the fast kernels.
 *
 * binary_<name>(a, b), and its gradients binary_<name>_a(a, b, d) and binary_<name>_b(a, b, d) with d the gradient of
 * the result. Branch-free. Ties of max and min belong to a, as in TensorFlow.
 */
#ifndef ARTEL_KERNEL_BINARY_FORMULA_H
#define ARTEL_KERNEL_BINARY_FORMULA_H

#include "kernel/math.h"

ARTEL__MATH float binary_add(float a, float b)
{
    return a + b;
}

ARTEL__MATH float binary_add_a(float a, float b, float d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH float binary_add_b(float a, float b, float d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH float binary_sub(float a, float b)
{
    return a - b;
}

ARTEL__MATH float binary_sub_a(float a, float b, float d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH float binary_sub_b(float a, float b, float d)
{
    (void)a, (void)b;
    return -d;
}

ARTEL__MATH float binary_mul(float a, float b)
{
    return a * b;
}

ARTEL__MATH float binary_mul_a(float a, float b, float d)
{
    (void)a, (void)b;
    return d * b;
}

ARTEL__MATH float binary_mul_b(float a, float b, float d)
{
    (void)a, (void)b;
    return d * a;
}

ARTEL__MATH float binary_div(float a, float b)
{
    return a / b;
}

ARTEL__MATH float binary_div_a(float a, float b, float d)
{
    (void)a, (void)b;
    return d / b;
}

ARTEL__MATH float binary_div_b(float a, float b, float d)
{
    (void)a, (void)b;
    return d * ((-a / b) / b);
}

/* NaN on either side passes. */
ARTEL__MATH float binary_max(float a, float b)
{
    return ((a >= b) | (a != a)) ? a : b;
}

ARTEL__MATH float binary_max_a(float a, float b, float d)
{
    (void)a, (void)b;
    return a >= b ? d : 0.0f;
}

ARTEL__MATH float binary_max_b(float a, float b, float d)
{
    (void)a, (void)b;
    return a >= b ? 0.0f : d;
}

ARTEL__MATH float binary_min(float a, float b)
{
    return ((a <= b) | (a != a)) ? a : b;
}

ARTEL__MATH float binary_min_a(float a, float b, float d)
{
    (void)a, (void)b;
    return a <= b ? d : 0.0f;
}

ARTEL__MATH float binary_min_b(float a, float b, float d)
{
    (void)a, (void)b;
    return a <= b ? 0.0f : d;
}

ARTEL__MATH float binary_pow(float a, float b)
{
    return artel__powf(a, b);
}

ARTEL__MATH float binary_pow_a(float a, float b, float d)
{
    (void)a, (void)b;
    return d * (b * artel__powf(a, b - 1.0f));
}

ARTEL__MATH float binary_pow_b(float a, float b, float d)
{
    (void)a, (void)b;
    return d * (a > 0.0f ? artel__powf(a, b) * artel__logf(a) : 0.0f);
}

ARTEL__MATH float binary_squared_difference(float a, float b)
{
    return (a - b) * (a - b);
}

ARTEL__MATH float binary_squared_difference_a(float a, float b, float d)
{
    (void)a, (void)b;
    return d * (2.0f * (a - b));
}

ARTEL__MATH float binary_squared_difference_b(float a, float b, float d)
{
    (void)a, (void)b;
    return d * (-2.0f * (a - b));
}

ARTEL__MATH float binary_div_no_nan(float a, float b)
{
    return b == 0.0f ? 0.0f : a / b;
}

ARTEL__MATH float binary_div_no_nan_a(float a, float b, float d)
{
    (void)a, (void)b;
    return b == 0.0f ? 0.0f : d / b;
}

ARTEL__MATH float binary_div_no_nan_b(float a, float b, float d)
{
    (void)a, (void)b;
    return b == 0.0f ? 0.0f : d * ((-a / b) / b);
}

/* The remainder with the sign of b, exact: a - floor(a / b) * b would round where a / b is large or nearly whole. */
ARTEL__MATH float binary_mod(float a, float b)
{
    float r = fmodf(a, b);
    return ((r != 0.0f) & ((r < 0.0f) != (b < 0.0f))) ? r + b : r;
}

ARTEL__MATH float binary_mod_a(float a, float b, float d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH float binary_mod_b(float a, float b, float d)
{
    return -d * floorf(a / b);
}

#endif
