/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions of float32 as plain, branch-free IEEE arithmetic.
 *
 * No libm, no fused multiply-add, no table: additions, multiplications, divisions, square roots, comparisons and bit
 * tricks, so that every compiler and instruction set gives the same bits, and loops over them vectorise. Results below
 * the smallest normal number may be flushed to zero (compute runs with FTZ and DAZ). NaN gives NaN; infinities and
 * poles as in C. Largest errors against libm in float64, in units in the last place (tests/kernel/test_math.c holds
 * them to this): exp 1, expm1 2, log 1, log1p 1.5, tanh 2.5, sigmoid 2.5, softplus 2, erf 1.5, normal_cdf 8 (above
 * -12), its bell 1.5, sin, cos (anywhere) and pow 0.51 Polynomials: exp and log after Cephes (S. Moshier), erf and its
 * complement fitted for this file. The float64 functions at the end serve schedules and powers of beta: below 2 units
 * of float64.
 */
#ifndef ARTEL_KERNEL_MATH_H
#define ARTEL_KERNEL_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Inlined whatever the size of the caller: a call in a loop would keep it from being vectorised. */
#define ARTEL__MATH static inline __attribute__((always_inline))

ARTEL__MATH uint32_t artel__bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ARTEL__MATH float artel__from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

ARTEL__MATH float artel__absf(float x)
{
    return artel__from_bits(artel__bits(x) & 0x7fffffffu);
}

/* |x| with the sign of y. */
ARTEL__MATH float artel__copysignf(float x, float y)
{
    return artel__from_bits((artel__bits(x) & 0x7fffffffu) | (artel__bits(y) & 0x80000000u));
}

/* a > b ? a : b, so a NaN in a gives b; the order of SSE's max. */
ARTEL__MATH float artel__maxf(float a, float b)
{
    return a > b ? a : b;
}

ARTEL__MATH float artel__minf(float a, float b)
{
    return a < b ? a : b;
}

/* The square root, correctly rounded (one instruction; -fno-math-errno). */
ARTEL__MATH float artel__sqrtf(float x)
{
    return sqrtf(x);
}

/* Nearest integer, ties to even, for |x| < 2^22; and that integer as bits. */
#define ARTEL__ROUND_MAGIC 12582912.0f /* 1.5 * 2^23 */

/* x = n ln2 + r, |r| <= ln2 / 2: returns exp(r) - 1 - r and sets r and n (two's complement bits). |x| <= 105. */
ARTEL__MATH float artel__exp_reduce(float x, float *r, uint32_t *n)
{
    float t = x * 1.44269504088896341f + ARTEL__ROUND_MAGIC;
    *n = artel__bits(t) - artel__bits(ARTEL__ROUND_MAGIC);
    float k = t - ARTEL__ROUND_MAGIC;
    float y = (x - k * 0.693359375f) - k * -2.12194440e-4f;
    *r = y;
    float p = 1.9875691500e-4f;
    p = p * y + 1.3981999507e-3f;
    p = p * y + 8.3334519073e-3f;
    p = p * y + 4.1665795894e-2f;
    p = p * y + 1.6666665459e-1f;
    p = p * y + 5.0000001201e-1f;
    return p * (y * y);
}

/* 2^n for n in [-126, 127] as two's complement bits. */
ARTEL__MATH float artel__exp2_bits(uint32_t n)
{
    return artel__from_bits((n + 127u) << 23);
}

ARTEL__MATH float artel__expf(float x)
{
    float limited = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
    float r;
    uint32_t n;
    float p = artel__exp_reduce(limited, &r, &n);
    uint32_t half = (n + 256u) / 2u - 128u; /* floor(n / 2) */
    return (((p + r) + 1.0f) * artel__exp2_bits(half)) * artel__exp2_bits(n - half);
}

ARTEL__MATH float artel__expm1f(float x)
{
    float limited = x > 89.0f ? 89.0f : x < -30.0f ? -30.0f : x;
    float r;
    uint32_t n;
    float p = artel__exp_reduce(limited, &r, &n) + r;
    float s = artel__exp2_bits(n - 1u); /* half of 2^n, which may not exist */
    return (p * s + (s - 0.5f)) * 2.0f;
}

/* log of a positive normal number. */
ARTEL__MATH float artel__log_normal(float x)
{
    uint32_t bits = artel__bits(x);
    uint32_t shifted = bits - 0x3f3504f3u; /* sqrt(1/2) */
    uint32_t e = shifted & 0xff800000u;
    float f = artel__from_bits(bits - e) - 1.0f;
    float k = (float)((int32_t)e / (1 << 23));
    float z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    float y = (p * f) * z;
    y = y + k * -2.12194440e-4f;
    y = y - 0.5f * z;
    return (f + y) + k * 0.693359375f;
}

ARTEL__MATH float artel__logf(float x)
{
    float y = artel__log_normal(x);
    y = x < 1.17549435e-38f ? -INFINITY : y; /* zero and what counts as zero */
    y = x == INFINITY ? INFINITY : y;
    return x < 0.0f ? NAN : x != x ? x : y;
}

/* log(u) + (what rounding took from u) / u, u = 1 + x. */
ARTEL__MATH float artel__log1pf(float x)
{
    float u = 1.0f + x;
    float lost = x - (u - 1.0f);
    float y = artel__log_normal(u) + lost / u;
    y = x == -1.0f ? -INFINITY : y;
    y = x == INFINITY ? INFINITY : y;
    return x < -1.0f ? NAN : x == 0.0f || x != x ? x : y;
}

/* -t / (t + 2) with t = expm1(-2 |x|). */
ARTEL__MATH float artel__tanhf(float x)
{
    float t = artel__expm1f(-2.0f * artel__absf(x));
    return x != x ? x : artel__copysignf(t / (t + 2.0f), x);
}

ARTEL__MATH float artel__sigmoidf(float x)
{
    return 1.0f / (1.0f + artel__expf(-x));
}

/* max(x, 0) + log1p(exp(-|x|)). */
ARTEL__MATH float artel__softplusf(float x)
{
    float positive = x > 0.0f ? x : 0.0f;
    float tail = artel__log1pf(artel__expf(-artel__absf(x)));
    return x != x ? x : positive + tail;
}

/* exp(-a * a) for a in [0, 12], the square kept to twice the precision. */
ARTEL__MATH float artel__exp_minus_square(float a)
{
    float high = artel__from_bits(artel__bits(a) & 0xfffff000u), low = a - high;
    float square = a * a;
    float rest = ((high * high - square) + 2.0f * high * low) + low * low;
    float e = artel__expf(-square);
    return e - e * rest;
}

/* P of erfc(a) = exp(-a^2) * P(q) / (1 + 2a), a in [0, 12], q = (a - 4) / (a + 4). */
ARTEL__MATH float artel__erfc_polynomial(float q)
{
    float p = -6.4196851175e-04f;
    p = p * q - 1.1365927168e-03f;
    p = p * q + 5.0434217941e-03f;
    p = p * q - 1.6024319473e-02f;
    p = p * q + 3.7221896386e-02f;
    p = p * q - 6.6354660146e-02f;
    p = p * q + 9.3721315208e-02f;
    p = p * q - 1.0103780916e-01f;
    p = p * q + 6.8097833089e-02f;
    p = p * q + 1.5379629406e-02f;
    p = p * q - 1.3962113070e-01f;
    return p * q + 1.2329951187e+00f;
}

/* erfc(a) for a in [0, 12]. */
ARTEL__MATH float artel__erfc_positive(float a)
{
    return artel__exp_minus_square(a) * artel__erfc_polynomial((a - 4.0f) / (a + 4.0f)) / (1.0f + 2.0f * a);
}

/* erf(x) for |x| <= 0.93. */
ARTEL__MATH float artel__erf_small(float x)
{
    float s = x * x;
    float p = 8.3167725827e-05f;
    p = p * s - 8.1300120020e-04f;
    p = p * s + 5.1999066062e-03f;
    p = p * s - 2.6858941482e-02f;
    p = p * s + 1.1283687188e-01f;
    p = p * s - 3.7612633188e-01f;
    p = p * s + 1.283791666e-01f;
    return x + x * p;
}

ARTEL__MATH float artel__erff(float x)
{
    float a = artel__absf(x);
    float far = artel__copysignf(1.0f - artel__erfc_positive(a > 12.0f ? 12.0f : a), x);
    return a > 0.93f ? far : artel__erf_small(x);
}

/* The normal distribution: its cumulative function erfc(-x / sqrt(2)) / 2, and *bell = exp(-x^2 / 2), which that is
 * made of. One division and one exponential for both; 0 from -13 on, where neither is a normal number, or soon is none.
 */
ARTEL__MATH float artel__normal_cdf(float x, float *bell)
{
    float v = artel__absf(x), limited = v > 13.0f ? 13.0f : v, a = limited * 0.70710678f;
    float high = artel__from_bits(artel__bits(limited) & 0xfffff000u), low = limited - high;
    float square = limited * limited;
    float rest = ((high * high - square) + 2.0f * high * low) + low * low;
    float r;
    uint32_t n;
    float p = artel__exp_reduce(-0.5f * square, &r, &n);
    float m = (p + r) + 1.0f;
    float plus = a + 4.0f, slope = 1.0f + 2.0f * a, q = 1.0f / (plus * slope);
    float e = v > 13.0f ? 0.0f : (m - m * (0.5f * rest)) * artel__exp2_bits(n);
    float tail = e * (0.5f * artel__erfc_polynomial((a - 4.0f) * (slope * q))) * (plus * q);
    *bell = e;
    return x > 0.0f ? 1.0f - tail : tail;
}

/* -- float64 -- */

ARTEL__MATH uint64_t artel__bits64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ARTEL__MATH double artel__from_bits64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define ARTEL__ROUND_MAGIC64 6755399441055744.0 /* 1.5 * 2^52 */

/* After fdlibm's e_exp.c. */
ARTEL__MATH double artel__expd(double x)
{
    double limited = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
    double t = limited * 1.44269504088896338700 + ARTEL__ROUND_MAGIC64;
    uint64_t n = artel__bits64(t) - artel__bits64(ARTEL__ROUND_MAGIC64);
    double k = t - ARTEL__ROUND_MAGIC64;
    double high = limited - k * 6.93147180369123816490e-01, low = k * 1.90821492927058770002e-10;
    double r = high - low, s = r * r;
    double p = 4.13813679705723846039e-08;
    p = p * s - 1.65339022054652515390e-06;
    p = p * s + 6.61375632143793436117e-05;
    p = p * s - 2.77777777770155933842e-03;
    p = p * s + 1.66666666666666019037e-01;
    double c = r - s * p;
    double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    uint64_t half = (n + 2048u) / 2u - 1024u;
    return (y * artel__from_bits64((half + 1023u) << 52)) * artel__from_bits64((n - half + 1023u) << 52);
}

/* After fdlibm's e_log.c. */
ARTEL__MATH double artel__logd(double x)
{
    uint64_t bits = artel__bits64(x);
    uint64_t e = (bits - 0x3fe6a09e667f3bcdu) & 0xfff0000000000000u;
    double f = artel__from_bits64(bits - e) - 1.0;
    double k = (double)((int32_t)(e >> 32) / (1 << 20));
    double s = f / (2.0 + f), z = s * s;
    double p = 1.479819860511658591e-01;
    p = p * z + 1.531383769920937332e-01;
    p = p * z + 1.818357216161805012e-01;
    p = p * z + 2.222219843214978396e-01;
    p = p * z + 2.857142874366239149e-01;
    p = p * z + 3.999999999940941908e-01;
    p = p * z + 6.666666666666735130e-01;
    double half = 0.5 * f * f;
    double y = k * 6.93147180369123816490e-01 - ((half - (s * (half + p * z) + k * 1.90821492927058770002e-10)) - f);
    y = x < 2.2250738585072014e-308 ? -(double)INFINITY : y;
    y = x == (double)INFINITY ? (double)INFINITY : y;
    return x < 0.0 ? (double)NAN : x != x ? x : y;
}

/* x^y as C's pow (C17 annex F.10.4.4). */
ARTEL__MATH double artel__powd(double x, double y)
{
    double magnitude = artel__from_bits64(artel__bits64(x) & 0x7fffffffffffffffu);
    double r = artel__expd(y * artel__logd(magnitude));
    double size = y < 0.0 ? -y : y;
    double whole = size >= 4503599627370496.0 ? size : (size + 4503599627370496.0) - 4503599627370496.0;
    double half = 0.5 * size;
    double half_whole = half >= 4503599627370496.0 ? half : (half + 4503599627370496.0) - 4503599627370496.0;
    double sign = artel__from_bits64((artel__bits64(x) & 0x8000000000000000u) | 0x3ff0000000000000u);
    double of_whole = half_whole != half ? r * sign : r,
           of_broken = x < 0.0 ? magnitude == (double)INFINITY ? r : (double)NAN : r;
    r = whole == size ? of_whole : of_broken;
    r = magnitude == 1.0 ? size == (double)INFINITY ? 1.0 : r : r;
    return x == 1.0 || y == 0.0 ? 1.0 : r;
}

/* Through float64, hence all but correctly rounded. */
ARTEL__MATH float artel__powf(float x, float y)
{
    return (float)artel__powd((double)x, (double)y);
}

/* -- sine and cosine: through float64, hence all but correctly rounded -- */

/* sin(q pi / 2 + r), |r| <= pi / 4. */
ARTEL__MATH double artel__sin_reduced(double r, uint64_t q)
{
    double s = r * r;
    double a = 1.58969099521155010221e-10;
    a = a * s - 2.50507602534068634195e-08;
    a = a * s + 2.75573137070700676789e-06;
    a = a * s - 1.98412698298579493134e-04;
    a = a * s + 8.33333333332248946124e-03;
    a = a * s - 1.66666666666666324348e-01;
    double b = -1.13596475577881948265e-11;
    b = b * s + 2.08757232129817482790e-09;
    b = b * s - 2.75573143513906633035e-07;
    b = b * s + 2.48015872894767294178e-05;
    b = b * s - 1.38888888888741095749e-03;
    b = b * s + 4.16666666666666019037e-02;
    double y = q & 1u ? (1.0 - 0.5 * s) + s * s * b : r + r * s * a;
    return q & 2u ? -y : y;
}

/* Up to here the multiple of pi / 2 that is taken away is near enough when pi / 2 has two parts. */
#define ARTEL__SIN_NEAR 8388608.0f

/* sin (quarter 0) or cos (quarter 1) of |x| <= ARTEL__SIN_NEAR. */
ARTEL__MATH float artel__sin_near(float x, uint64_t quarter)
{
    double d = (double)x;
    double t = d * 6.36619772367581382433e-01 + ARTEL__ROUND_MAGIC64;
    double k = t - ARTEL__ROUND_MAGIC64;
    uint64_t q = artel__bits64(t) - artel__bits64(ARTEL__ROUND_MAGIC64) + quarter;
    double r = (d - k * 1.57079632673412561417e+00) - k * 6.07710050650619224932e-11;
    return (float)artel__sin_reduced(r, q);
}

/* Adds one product d * part of d * 2 / pi to the fraction s, |s| <= 1/2, and counts in q the quarters that have become
 * whole. The product has 50 bits, hence is exact, and a multiple of 4 from 2^53 on: whole turns are left out. */
ARTEL__MATH double artel__add_quarters(double d, double part, double s, uint64_t *q)
{
    const double fours = 4.0 * ARTEL__ROUND_MAGIC64;
    double t = d * part;
    t = artel__from_bits64(artel__bits64(t) & 0x7fffffffffffffffu) < 9007199254740992.0 ? t : 0.0;
    double sum = s + (t - ((t + fours) - fours));
    double k = sum + ARTEL__ROUND_MAGIC64;
    *q += artel__bits64(k) - artel__bits64(ARTEL__ROUND_MAGIC64);
    return sum - (k - ARTEL__ROUND_MAGIC64);
}

/* The same of any x beyond: after Payne and Hanek (1983), with 208 bits of 2 / pi in parts of 26. */
ARTEL__MATH float artel__sin_far(float x, uint64_t quarter)
{
    double d = (double)x, s;
    uint64_t q = quarter;
    s = artel__add_quarters(d, 0x1.45f3068p-1, 0.0, &q);
    s = artel__add_quarters(d, 0x1.7272208p-27, s, &q);
    s = artel__add_quarters(d, 0x1.4a7f09p-54, s, &q);
    s = artel__add_quarters(d, 0x1.abe8fa8p-79, s, &q);
    s = artel__add_quarters(d, 0x1.a6ee06p-107, s, &q);
    s = artel__add_quarters(d, 0x1.b629590p-132, s, &q);
    s = artel__add_quarters(d, 0x1.278872p-157, s, &q);
    s = artel__add_quarters(d, 0x1.07f944p-186, s, &q);
    float y = (float)artel__sin_reduced(s * 1.57079632679489661923, q);
    return x != x ? x : artel__absf(x) == INFINITY ? NAN : y;
}

/* Both for near arguments only: artel__is_near says which those are. */
ARTEL__MATH float artel__sin_of_near(float x)
{
    return x == 0.0f ? x : artel__sin_near(x, 0);
}

ARTEL__MATH float artel__cos_of_near(float x)
{
    return artel__sin_near(x, 1);
}

/* False for NaN. */
ARTEL__MATH int artel__is_near(float x)
{
    return artel__absf(x) <= ARTEL__SIN_NEAR;
}

ARTEL__MATH float artel__sinf(float x)
{
    return artel__is_near(x) ? artel__sin_of_near(x) : artel__sin_far(x, 0);
}

ARTEL__MATH float artel__cosf(float x)
{
    return artel__is_near(x) ? artel__cos_of_near(x) : artel__sin_far(x, 1);
}

#endif
