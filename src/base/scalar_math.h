/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in double precision that give the same bits with every compiler, level and C library.
 *
 * They serve what is computed once and decides weights: learning-rate schedules, beta^t, initialisers, normal noise.
 * Each is a fixed sequence of IEEE double additions, multiplications, divisions and square roots; the caller rounds
 * to nearest and -ffp-contract=off keeps products and sums apart. No intermediate is a denormal, so FTZ and DAZ do
 * not matter. Accuracy, measured against libm in tests/base/test_scalar_math.c: 4e-16 relative for log, exp, sin, cos
 * (absolute for sin and cos); pow (2 + |y log x|) * 4e-16 relative. Thread-safe.
 */
#ifndef ARTEL_BASE_SCALAR_MATH_H
#define ARTEL_BASE_SCALAR_MATH_H

/* e^x; 0 below -708.39 (where the result would be a denormal), infinity above 709.78, NaN for NaN. */
double artel__exp64(double x);
/* The natural logarithm of a normal number; -infinity for 0 and denormals, NaN for negative numbers. */
double artel__log64(double x);
/* x^y as C defines it for finite x >= 0 or integral y; NaN for other negative x. Exact products for |y| <= 8 integral.
 */
double artel__pow64(double x, double y);
double artel__sqrt64(double x);
/* sin and cos of `turns` full turns, that is of 2 pi turns; exact at multiples of a quarter. |turns| <= 2^50. */
void artel__sincos_turns64(double turns, double *sin_out, double *cos_out);
/* cos and sin of radians; |x| <= 2^20, beyond that the error grows with |x| * 1e-22, and NaN from 2^30 on. */
double artel__cos64(double x);
double artel__sin64(double x);
/* The hyperbolic tangent, 2e-14 relative; not for tensors. */
double artel__tanh64(double x);

#endif
