/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of raw operations that float64 has for itself, because what float32 uses has not the digits or is one
 * kernel: the inverse of erf, the Bessel function I0, the next number. Each is put together from kernels that
 * have gradients. See layer_ops_formula.h.
 */
#include <float.h>
#include <math.h>

#include "nn/layer_ops_formula.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define SQRT_PI_HALF 0.88622692545275801365 /* sqrt(pi) / 2 */

static artel__value_id square_power(artel__graph *graph, artel__value_id y)
{
    return unary(graph, ARTEL__UNARY_EXPONENTIAL, unary(graph, ARTEL__UNARY_SQUARE, y));
}

/* Newton's step to the y of erf(y) = x: the inverse's slope is sqrt(pi) / 2 e^(y^2). */
static artel__value_id step_by_erf(artel__graph *graph, artel__value_id x, artel__value_id y)
{
    artel__value_id off = binary(graph, ARTEL__BINARY_SUB, x, unary(graph, ARTEL__UNARY_ERF, y));
    return artel__op_add(graph, y, times(graph, product(graph, off, square_power(graph, y)), SQRT_PI_HALF));
}

/* Newton's step to the y > 0 of log(erfc(y)) = rest, which has its digits where erf(y) is nearly 1. */
static artel__value_id step_by_erfc(artel__graph *graph, artel__value_id rest, artel__value_id y)
{
    artel__value_id tail = artel__raw_erfc(graph, y),
                    off = binary(graph, ARTEL__BINARY_SUB, unary(graph, ARTEL__UNARY_LOG, tail), rest);
    artel__value_id slope = times(graph, product(graph, tail, square_power(graph, y)), SQRT_PI_HALF);
    return artel__op_add(graph, y, product(graph, off, slope));
}

/* From a guess for float32, whose error each step squares: after the last one the derivatives of the first and the
 * second order have their digits, too. Where x is nearly 1 the guess is 0.1 off. */
artel__value_id artel__wide_erfinv(artel__graph *graph, artel__value_id x, artel__value_id guess)
{
    artel__value_id size = size_of(graph, x), far = above(graph, size, 0.5), inside = below(graph, size, 1),
                    tail = artel__op_logical_and(graph, far, inside);
    artel__value_id middle = where(graph, far, number(graph, 0), x), near = where(graph, far, number(graph, 0), guess);
    artel__value_id left = where(graph, tail, size, number(graph, 0.5)),
                    rest = unary(graph, ARTEL__UNARY_LOG, artel__op_affine(graph, left, -1, 1)),
                    out = where(graph, tail, size_of(graph, guess), number(graph, 0.476936276204469873));
    for (int i = 0; i < 2; i++) near = step_by_erf(graph, middle, near);
    for (int i = 0; i < 4; i++) out = step_by_erfc(graph, rest, out);
    artel__value_id y = where(graph, far, with_sign(graph, out, x), near);
    return where(graph, inside, y, guess); /* else infinities and NaN */
}

/* Chebyshev's series by Clenshaw's sum. After numpy's i0, which is Cephes'. */
static artel__value_id chebyshev(artel__graph *graph, artel__value_id x, const double *factor, int count)
{
    artel__value_id before = number(graph, factor[0]), sum = artel__op_affine(graph, x, factor[0], factor[1]),
                    last = before;
    for (int i = 2; i < count; i++) {
        artel__value_id next = artel__op_affine(graph, product(graph, x, sum), 1, factor[i]);
        last = before;
        before = sum;
        sum = binary(graph, ARTEL__BINARY_SUB, next, last);
    }
    return times(graph, binary(graph, ARTEL__BINARY_SUB, sum, last), 0.5);
}

artel__value_id artel__raw_overflows(artel__graph *graph, artel__value_id size)
{
    artel__value_id power = unary(graph, ARTEL__UNARY_EXPONENTIAL, size), infinite = is(graph, power, INFINITY);
    return artel__op_logical_and(graph, infinite, below(graph, size, INFINITY));
}

artel__value_id artel__raw_infinite_beyond(artel__graph *graph, artel__value_id over, artel__value_id size)
{
    return times(graph, where(graph, over, size, number(graph, 1)), INFINITY);
}

artel__value_id artel__wide_bessel_i0(artel__graph *graph, artel__value_id x)
{
    static const double middle[] = {
        -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
        -1.1685332877993451e-14, 7.676185498604936e-14,  -4.856446783111929e-13, 2.95505266312964e-12,
        -1.726826291441556e-11,  9.675809035373237e-11,  -5.189795601635263e-10, 2.6598237246823866e-09,
        -1.300025009986248e-08,  6.046995022541919e-08,  -2.670793853940612e-07, 1.1173875391201037e-06,
        -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
        -0.0005763755745385824,  0.0016394756169413357,  -0.004324309995050576,  0.010546460394594998,
        -0.02373741480589947,    0.04930528423967071,    -0.09490109704804764,   0.17162090152220877,
        -0.3046826723431984,     0.6767952744094761};
    static const double tail[] = {
        -7.233180487874754e-18,  -4.830504485944182e-18,  4.46562142029676e-17,    3.461222867697461e-17,
        -2.8276239805165836e-16, -3.425485619677219e-16,  1.7725601330565263e-15,  3.8116806693526224e-15,
        -9.554846698828307e-15,  -4.150569347287222e-14,  1.54008621752141e-14,    3.8527783827421426e-13,
        7.180124451383666e-13,   -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11,
        1.1889147107846439e-11,  4.94060238822497e-10,    3.3962320257083865e-09,  2.266668990498178e-08,
        2.0489185894690638e-07,  2.8913705208347567e-06,  6.889758346916825e-05,   0.0033691164782556943,
        0.8044904110141088};
    artel__value_id size = size_of(graph, x), far = above(graph, size, 8), eight = number(graph, 8);
    artel__value_id over = artel__raw_overflows(graph, size), held = where(graph, over, eight, size);
    artel__value_id low = where(graph, far, eight, held), high = where(graph, far, held, eight);
    artel__value_id near = chebyshev(graph, artel__op_affine(graph, low, 0.5, -2), middle, (int)ARTEL__COUNT(middle));
    near = product(graph, near, unary(graph, ARTEL__UNARY_EXPONENTIAL, low));
    artel__value_id share = artel__op_affine(graph, unary(graph, ARTEL__UNARY_RECIPROCAL, high), 32, -2);
    artel__value_id series = chebyshev(graph, share, tail, (int)ARTEL__COUNT(tail)),
                    out = product(graph, series, unary(graph, ARTEL__UNARY_RSQRT, high));
    out = product(graph, out, unary(graph, ARTEL__UNARY_EXPONENTIAL, high));
    out = where(graph, far, out, near);
    return where(graph, over, artel__raw_infinite_beyond(graph, over, size), out);
}

/* After Rump, Zimmermann, Boldo, Melquiond, Computing predecessor and successor in rounding to nearest (2009): the next
 * size is size + u (1 + 2u) size with u = 2^-53; where numbers are near the subnormal ones, of the number times 2^53.
 * Subnormal numbers have one distance. Nothing flows back. */
artel__value_id artel__wide_next_after(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    const double u = 1.0 / 9007199254740992.0, step = u * (1 + 2 * u), least = 4.9406564584124654e-324;
    a = artel__op_stop_gradient(graph, a);
    b = artel__op_stop_gradient(graph, b);
    artel__value_id size = unary(graph, ARTEL__UNARY_ABS, a), tiny = below(graph, size, 2 * DBL_MIN),
                    small = below(graph, size, DBL_MIN / u / u);
    artel__value_id wide = where(graph, small, times(graph, size, 1 / u), size), by = times(graph, wide, step);
    artel__value_id scale = where(graph, small, number(graph, u), number(graph, 1));
    artel__value_id up = product(graph, artel__op_add(graph, wide, by), scale),
                    down = product(graph, binary(graph, ARTEL__BINARY_SUB, wide, by), scale);
    up = where(graph, tiny, artel__op_affine(graph, size, 1, least), up);
    down = where(graph, tiny, artel__op_affine(graph, size, 1, -least), down);
    up = where(graph, is(graph, size, INFINITY), size, up);
    down = where(graph, is(graph, size, INFINITY), number(graph, DBL_MAX), down);
    artel__value_id rises = artel__op_compare(graph, ARTEL__COMPARE_GREATER, b, a), negative_a = below(graph, a, 0);
    artel__value_id of_positive = where(graph, rises, up, down);
    artel__value_id of_negative = negative(graph, where(graph, rises, down, up));
    artel__value_id y = where(graph, negative_a, of_negative, of_positive);
    artel__value_id from_zero = where(graph, rises, number(graph, least), number(graph, -least));
    y = where(graph, is(graph, a, 0), from_zero, y);
    y = where(graph, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, a, b), b, y);
    artel__value_id sum = artel__op_add(graph, a, b), a_is = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, a, a),
                    b_is = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, b, b);
    return where(graph, artel__op_logical_and(graph, a_is, b_is), y, sum); /* else NaN */
}
