/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of functions of two arguments, one element at a time, shared by the reference and the fast kernels.
 *
 * binary_<name>(a, b), and its gradients binary_<name>_a(a, b, d) and binary_<name>_b(a, b, d) with d the gradient of
 * the result. Branch-free. Ties of max and min belong to a, as in TensorFlow.
 */
#ifndef ARTEL_KERNEL_BINARY_FORMULA_H
#define ARTEL_KERNEL_BINARY_FORMULA_H

#include "kernel/real.h"

ARTEL__MATH artel__real binary_add(artel__real a, artel__real b)
{
    return a + b;
}

ARTEL__MATH artel__real binary_add_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH artel__real binary_add_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH artel__real binary_sub(artel__real a, artel__real b)
{
    return a - b;
}

ARTEL__MATH artel__real binary_sub_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH artel__real binary_sub_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return -d;
}

ARTEL__MATH artel__real binary_mul(artel__real a, artel__real b)
{
    return a * b;
}

ARTEL__MATH artel__real binary_mul_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d * b;
}

ARTEL__MATH artel__real binary_mul_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d * a;
}

ARTEL__MATH artel__real binary_div(artel__real a, artel__real b)
{
    return a / b;
}

ARTEL__MATH artel__real binary_div_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d / b;
}

ARTEL__MATH artel__real binary_div_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d * ((-a / b) / b);
}

/* NaN on either side passes. */
ARTEL__MATH artel__real binary_max(artel__real a, artel__real b)
{
    return ((a >= b) | (a != a)) ? a : b;
}

ARTEL__MATH artel__real binary_max_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return a >= b ? d : 0.0f;
}

ARTEL__MATH artel__real binary_max_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return a >= b ? 0.0f : d;
}

ARTEL__MATH artel__real binary_min(artel__real a, artel__real b)
{
    return ((a <= b) | (a != a)) ? a : b;
}

ARTEL__MATH artel__real binary_min_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return a <= b ? d : 0.0f;
}

ARTEL__MATH artel__real binary_min_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return a <= b ? 0.0f : d;
}

ARTEL__MATH artel__real binary_pow(artel__real a, artel__real b)
{
    return real_pow(a, b);
}

ARTEL__MATH artel__real binary_pow_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d * (b * real_pow(a, b - 1.0f));
}

ARTEL__MATH artel__real binary_pow_b(artel__real a, artel__real b, artel__real d)
{
    artel__real y = real_pow(a, b);
    return d * (a > 0.0f ? y * real_log(a) : y - y); /* 0 of a number */
}

ARTEL__MATH artel__real binary_squared_difference(artel__real a, artel__real b)
{
    return (a - b) * (a - b);
}

ARTEL__MATH artel__real binary_squared_difference_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d * (2.0f * (a - b));
}

ARTEL__MATH artel__real binary_squared_difference_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d * (-2.0f * (a - b));
}

ARTEL__MATH artel__real binary_div_no_nan(artel__real a, artel__real b)
{
    return b == 0.0f ? 0.0f : a / b;
}

ARTEL__MATH artel__real binary_div_no_nan_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return b == 0.0f ? 0.0f : d / b;
}

ARTEL__MATH artel__real binary_div_no_nan_b(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return b == 0.0f ? 0.0f : d * ((-a / b) / b);
}

/* The remainder with the sign of b, exact: a - floor(a / b) * b would round where a / b is large or nearly whole. */
ARTEL__MATH artel__real binary_mod(artel__real a, artel__real b)
{
    artel__real r = real_remainder(a, b);
    return ((r != 0.0f) & ((r < 0.0f) != (b < 0.0f))) ? r + b : r;
}

ARTEL__MATH artel__real binary_mod_a(artel__real a, artel__real b, artel__real d)
{
    (void)a, (void)b;
    return d;
}

ARTEL__MATH artel__real binary_mod_b(artel__real a, artel__real b, artel__real d)
{
    return -d * real_floor(a / b);
}

#endif
