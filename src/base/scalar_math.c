/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions from the four operations.
 *
 * Arguments are reduced exactly or with a split constant, then Taylor series are summed (Horner) on intervals so small
 * that the first omitted term is below half a unit: exp on |r| <= ln 2 / 2, log as 2 artanh(s) with |s| <= 0.172, sin
 * and cos on |t| <= pi / 4. Coefficients are quotients of small integers and need no table from elsewhere. Speed does
 * not matter here; tensors have their own kernels.
 */
#include "base/scalar_math.h"

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/context.h"

#define LN2_HIGH 0x1.62e42fep-1 /* 27 bits: n * LN2_HIGH is exact for |n| < 2^26 */
#define LN2_LOW 0x1.f473de6af278fp-30
#define LOG2_E 0x1.71547652b82fep+0
#define TWO_PI 0x1.921fb54442d18p+2
#define HALF_PI_HIGH 0x1.921fb544p+0 /* 33 bits each: exact products with |n| < 2^20 */
#define HALF_PI_MIDDLE 0x1.0b4611a6p-34
#define HALF_PI_LOW 0x1.3198a2e037073p-69
#define TWO_OVER_PI 0x1.45f306dc9c883p-1

static uint64_t bits_of(double x)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x = 0;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static double infinity(void)
{
    return from_bits(0x7FF0000000000000u);
}

static double not_a_number(void)
{
    return from_bits(0x7FF8000000000000u);
}

static bool is_nan(double x)
{
    return (bits_of(x) & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u;
}

/* 2^n for a normal result. */
static double power_of_two(int n)
{
    return from_bits((uint64_t)(n + 1023) << 52);
}

/* The nearest integer, halves away from zero; |x| < 2^62. */
static int64_t nearest(double x)
{
    return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* c[0] + x c[1] + ... */
static double horner(double x, const double *c, int count)
{
    double sum = c[count - 1];
    for (int i = count - 2; i >= 0; i--) sum = sum * x + c[i];
    return sum;
}

double artel__exp64(double x)
{
    static const double c[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                               1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    if (is_nan(x)) return not_a_number();
    if (x > 0x1.62e42fefa39efp+9) return infinity();
    if (x < -0x1.6232bdd7abcd2p+9) return 0; /* below the smallest normal number */
    int n = (int)nearest(x * LOG2_E);
    double high = x - n * LN2_HIGH, low = n * LN2_LOW, r = high - low;
    double rest = (high - r) - low; /* what rounding r has lost */
    double result = 1.0 + (r + (r * r * horner(r, c, (int)ARTEL__COUNT(c)) + rest));
    if (n > 1023) return result * 2.0 * power_of_two(n - 1);
    return result * power_of_two(n);
}

double artel__log64(double x)
{
    static const double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    uint64_t bits = bits_of(x);
    if (is_nan(x) || x < 0) return not_a_number();
    if ((bits & 0x7FFFFFFFFFFFFFFFu) < 0x0010000000000000u) return -infinity();
    if (bits == 0x7FF0000000000000u) return x;
    int n = (int)(bits >> 52) - 1023;
    double m = from_bits((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
    if (m > 0x1.6a09e667f3bcdp+0) { /* keeps m within sqrt(1/2) .. sqrt(2) */
        m *= 0.5;
        n++;
    }
    double f = m - 1.0, s = f / (m + 1.0), z = s * s;
    double series = s * z * horner(z, c, (int)ARTEL__COUNT(c)); /* log m - 2 s */
    /* 2 s = f - s f, which keeps the leading term exact. */
    return n * LN2_HIGH + (f + ((series - s * f) + n * LN2_LOW));
}

double artel__sqrt64(double x)
{
#if defined(__x86_64__)
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x)));
#else
    return __builtin_sqrt(x);
#endif
}

static double small_power(double x, int n)
{
    double result = 1;
    for (int i = 0; i < n; i++) result *= x;
    return result;
}

/* Of a finite base and exponent: true, and whether it is odd, when y is integral. */
static bool integral(double y, bool *odd)
{
    *odd = false;
    if (y >= 0x1p53 || y <= -0x1p53) return true;
    int64_t n = (int64_t)y;
    *odd = n & 1;
    return (double)n == y;
}

double artel__pow64(double x, double y)
{
    bool odd = false;
    if (y == 0 || x == 1) return 1;
    if (is_nan(x) || is_nan(y)) return not_a_number();
    bool whole = y - y == 0 && integral(y, &odd);
    if (whole && y >= -8 && y <= 8) return y > 0 ? small_power(x, (int)y) : 1.0 / small_power(x, (int)-y);
    if (y == 0.5 && x >= 0) return artel__sqrt64(x);
    if (x < 0 && !whole && y - y == 0 && x - x == 0) return not_a_number(); /* infinities have the sign of evens */
    double magnitude = x < 0 ? -x : x;
    if (magnitude == 0 && odd) return y > 0 ? x : 1.0 / x; /* of the sign of x */
    if (magnitude == 0) return y > 0 ? 0 : infinity();
    if (magnitude == 1) return odd && x < 0 ? -1 : 1;
    double result = artel__exp64(y * artel__log64(magnitude));
    return odd && x < 0 ? -result : result;
}

/* sin and cos of t on |t| <= pi / 4. */
static void sincos_small(double t, double *sin_out, double *cos_out)
{
    static const double s[] = {-1.0 / 6,
                               1.0 / 120,
                               -1.0 / 5040,
                               1.0 / 362880,
                               -1.0 / 39916800,
                               1.0 / 6227020800.0,
                               -1.0 / 1307674368000.0,
                               1.0 / 355687428096000.0};
    static const double c[] = {1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600,
                               -1.0 / 87178291200.0,
                               1.0 / 20922789888000.0,
                               -1.0 / 6402373705728000.0};
    double z = t * t;
    *sin_out = t + t * z * horner(z, s, (int)ARTEL__COUNT(s));
    *cos_out = 1.0 - (0.5 * z - z * z * horner(z, c, (int)ARTEL__COUNT(c)));
}

/* Turns a pair by `quadrant` quarter turns. */
static void turn(int64_t quadrant, double *s, double *c)
{
    double sine = *s, cosine = *c;
    switch (quadrant & 3) {
    case 1: *s = cosine, *c = -sine; break;
    case 2: *s = -sine, *c = -cosine; break;
    case 3: *s = -cosine, *c = sine; break;
    default: break;
    }
}

void artel__sincos_turns64(double turns, double *sin_out, double *cos_out)
{
    int64_t quadrant = nearest(turns * 4.0);
    double rest = turns - (double)quadrant * 0.25; /* exact */
    sincos_small(rest * TWO_PI, sin_out, cos_out);
    turn(quadrant, sin_out, cos_out);
}

static void sincos_radians(double x, double *s, double *c)
{
    if (!(x < 0x1p30 && x > -0x1p30)) {
        *s = *c = not_a_number();
        return;
    }
    int64_t quadrant = nearest(x * TWO_OVER_PI);
    double n = (double)quadrant;
    sincos_small(((x - n * HALF_PI_HIGH) - n * HALF_PI_MIDDLE) - n * HALF_PI_LOW, s, c);
    turn(quadrant, s, c);
}

double artel__cos64(double x)
{
    double s = 0, c = 0;
    sincos_radians(x, &s, &c);
    return c;
}

double artel__sin64(double x)
{
    double s = 0, c = 0;
    sincos_radians(x, &s, &c);
    return s;
}

double artel__tanh64(double x)
{
    double magnitude = x < 0 ? -x : x;
    if (magnitude < 0.01) { /* where 1 - e would cancel: the series to x^9 */
        double z = x * x;
        return x + x * z * (-1.0 / 3 + z * (2.0 / 15 + z * (-17.0 / 315 + z * (62.0 / 2835))));
    }
    double e = artel__exp64(-2.0 * magnitude), t = (1.0 - e) / (1.0 + e);
    return x < 0 ? -t : t;
}
