/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations, element by element: trigonometric and hyperbolic functions and their inverses, roots, powers
 * and tails. Each is put together from kernels that have gradients. Where Keras divides cases by sign, so does this, by
 * selection: a product with the sign would have no gradient at 0. A function that needs another formula for large
 * numbers selects what goes into each, not only what comes out: the gradient of an overflow that nobody sees is 0 *
 * inf. Infinities, NaN and zeros with a sign are those of Keras on TensorFlow, numbers below 2^-126 apart, which that
 * takes for 0. See layer_ops.h.
 */
#include <math.h>

#include "nn/layer_ops_formula.h"

/* -- inverse functions -- */

static bool is_wide(const artel__graph *graph)
{
    return graph->real == ARTEL_DTYPE_FLOAT64;
}

/* Of -1 ... 1: twice atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), which leaves no more than tan(pi / 16); there five
 * terms of the series suffice. Of float64 three times, and eight terms. */
static artel__value_id arctan_of_flat(artel__graph *graph, artel__value_id u)
{
    bool wide = is_wide(graph);
    for (int i = 0; i < (wide ? 3 : 2); i++) {
        artel__value_id root =
            unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, unary(graph, ARTEL__UNARY_SQUARE, u), 1, 1));
        u = binary(graph, ARTEL__BINARY_DIV, u, artel__op_affine(graph, root, 1, 1));
    }
    static const double term[] = {-1.0 / 15, 1.0 / 13, -1.0 / 11, 1.0 / 9, -1.0 / 7, 1.0 / 5, -1.0 / 3, 1};
    int first = wide ? 0 : 3;
    artel__value_id square = unary(graph, ARTEL__UNARY_SQUARE, u),
                    sum = artel__op_affine(graph, square, term[first], term[first + 1]);
    for (int i = first + 2; i < (int)ARTEL__COUNT(term); i++)
        sum = artel__op_affine(graph, binary(graph, ARTEL__BINARY_MUL, sum, square), 1, term[i]);
    return times(graph, binary(graph, ARTEL__BINARY_MUL, sum, u), wide ? 8 : 4);
}

/* A quarter of a turn less the angle of the reciprocal where x is steep, so that the gradient keeps its digits there
 * too. */
static artel__value_id arctan(artel__graph *graph, artel__value_id x)
{
    artel__value_id steep = above(graph, unary(graph, ARTEL__UNARY_ABS, x), 1), one = number(graph, 1);
    artel__value_id inverse = unary(graph, ARTEL__UNARY_RECIPROCAL, where(graph, steep, x, one));
    artel__value_id angle = arctan_of_flat(graph, where(graph, steep, inverse, x));
    artel__value_id quarter = with_sign(graph, number(graph, HALF_PI), x);
    return where(graph, steep, binary(graph, ARTEL__BINARY_SUB, quarter, angle), angle);
}

/* Of 1 and -1, where the slope is infinite, as a root's; what `end` does not name is not read. */
static artel__value_id arcsin_of_end(artel__graph *graph, artel__value_id end, artel__value_id x)
{
    artel__value_id held = where(graph, end, x, number(graph, 0.5)),
                    rest = artel__op_affine(graph, size_of(graph, held), -1, 1);
    return with_sign(graph, artel__op_affine(graph, unary(graph, ARTEL__UNARY_SQRT, rest), -1, HALF_PI), held);
}

static artel__value_id is_end(artel__graph *graph, artel__value_id x)
{
    return is(graph, size_of(graph, x), 1);
}

static artel__value_id arcsin(artel__graph *graph, artel__value_id x)
{
    artel__value_id end = is_end(graph, x), held = where(graph, end, number(graph, 0), x);
    artel__value_id above_minus_one = artel__op_affine(graph, held, 1, 1),
                    rest = binary(graph, ARTEL__BINARY_MUL, artel__op_affine(graph, held, -1, 1), above_minus_one);
    artel__value_id angle =
        arctan(graph, binary(graph, ARTEL__BINARY_MUL, held, unary(graph, ARTEL__UNARY_RSQRT, rest)));
    return where(graph, end, arcsin_of_end(graph, end, x), angle);
}

/* Twice the angle of (sqrt(1 + x), sqrt(1 - x)): exact near 1, where a quarter less arcsin(x) would be a difference of
 * equals. */
static artel__value_id arccos(artel__graph *graph, artel__value_id x)
{
    artel__value_id end = is_end(graph, x), held = where(graph, end, number(graph, 0), x);
    artel__value_id above_minus_one = artel__op_affine(graph, held, 1, 1),
                    ratio = binary(graph, ARTEL__BINARY_DIV, artel__op_affine(graph, held, -1, 1), above_minus_one);
    artel__value_id angle = times(graph, arctan(graph, unary(graph, ARTEL__UNARY_SQRT, ratio)), 2);
    return where(graph, end, artel__op_affine(graph, arcsin_of_end(graph, end, x), -1, HALF_PI), angle);
}

/* The angle of (x, y): that of (|x|, |y|), the smaller by the larger, then turned. Zeros have a sign; two infinities
 * count as equals. */
artel__value_id artel__raw_arctan2(artel__graph *graph, artel__value_id y, artel__value_id x)
{
    artel__value_id left = sign_bit(graph, x), down = sign_bit(graph, y), one = number(graph, 1);
    artel__value_id width = where(graph, left, negative(graph, x), x),
                    height = where(graph, down, negative(graph, y), y);
    artel__value_id steep = artel__op_compare(graph, ARTEL__COMPARE_GREATER, height, width);
    artel__value_id small = where(graph, steep, width, height), large = where(graph, steep, height, width);
    artel__value_id both = artel__op_logical_and(graph, is(graph, small, INFINITY), is(graph, large, INFINITY));
    artel__value_id none = is(graph, artel__op_add(graph, small, large), 0); /* and not beside NaN */
    large = where(graph, artel__op_logical_or(graph, both, none), one, large);
    artel__value_id angle =
        arctan_of_flat(graph, binary(graph, ARTEL__BINARY_DIV, where(graph, both, one, small), large));
    angle = where(graph, steep, artel__op_affine(graph, angle, -1, HALF_PI), angle);
    angle = where(graph, left, artel__op_affine(graph, angle, -1, 2 * HALF_PI), angle);
    return where(graph, down, negative(graph, angle), angle);
}

/* From here on sqrt(x^2 +- 1) is x, and the square of larger ones would overflow. */
static double large_number(const artel__graph *graph)
{
    return is_wide(graph) ? 1e9 : 1e4;
}

/* log(2 size) where numbers are large, `rest` elsewhere. */
static artel__value_id log_where_large(artel__graph *graph, artel__value_id large, artel__value_id size,
                                       artel__value_id rest)
{
    artel__value_id log = unary(graph, ARTEL__UNARY_LOG, where(graph, large, size, number(graph, 1)));
    return where(graph, large, artel__op_affine(graph, log, 1, LOG_2), rest);
}

/* log(x + sqrt(x^2 + 1)) of |x|, written so that small numbers keep their digits; -0 of -0. */
static artel__value_id arcsinh(artel__graph *graph, artel__value_id x)
{
    artel__value_id size = size_of(graph, x), large = above(graph, size, large_number(graph)),
                    held = where(graph, large, number(graph, 1), size);
    artel__value_id square = unary(graph, ARTEL__UNARY_SQUARE, held);
    artel__value_id root = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, square, 1, 1));
    artel__value_id more = binary(graph, ARTEL__BINARY_DIV, square, artel__op_affine(graph, root, 1, 1));
    artel__value_id rest = unary(graph, ARTEL__UNARY_LOG1P, artel__op_add(graph, held, more));
    return where(graph, is(graph, x, 0), x, with_sign(graph, log_where_large(graph, large, size, rest), x));
}

/* log(1 + t + sqrt(t (t + 2))) with t = x - 1, which is exact near 1. */
static artel__value_id arccosh(artel__graph *graph, artel__value_id x)
{
    artel__value_id large = above(graph, x, large_number(graph)),
                    t = artel__op_affine(graph, where(graph, large, number(graph, 2), x), 1, -1);
    artel__value_id low = unary(graph, ARTEL__UNARY_SQRT, t),
                    high = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, t, 1, 2));
    artel__value_id more = artel__op_add(graph, t, binary(graph, ARTEL__BINARY_MUL, low, high));
    return log_where_large(graph, large, x, unary(graph, ARTEL__UNARY_LOG1P, more));
}

static artel__value_id arctanh(artel__graph *graph, artel__value_id x)
{
    artel__value_id up = unary(graph, ARTEL__UNARY_LOG1P, x),
                    down = unary(graph, ARTEL__UNARY_LOG1P, negative(graph, x));
    return times(graph, binary(graph, ARTEL__BINARY_SUB, up, down), 0.5);
}

/* -- others of one number -- */

/* (f(x) -+ f(-x)) / 2, and the square of exp(|x| / 2) where exp(x) would overflow before its half. */
static artel__value_id halves(artel__graph *graph, artel__value_id x, artel__unary function, artel__binary joined)
{
    artel__value_id size = size_of(graph, x), large = above(graph, size, 80),
                    held = where(graph, large, number(graph, 0), x);
    artel__value_id half = where(graph, large, times(graph, size, 0.5), number(graph, 0));
    artel__value_id root = unary(graph, ARTEL__UNARY_EXPONENTIAL, half);
    artel__value_id far = binary(graph, ARTEL__BINARY_MUL, times(graph, root, 0.5), root);
    artel__value_id other = unary(graph, function, negative(graph, held));
    artel__value_id near = times(graph, binary(graph, joined, unary(graph, function, held), other), 0.5);
    if (joined == ARTEL__BINARY_SUB) far = with_sign(graph, far, x);
    return where(graph, large, far, near);
}

static artel__value_id sinh_of(artel__graph *graph, artel__value_id x)
{
    return halves(graph, x, ARTEL__UNARY_EXPM1, ARTEL__BINARY_SUB);
}

static artel__value_id cosh_of(artel__graph *graph, artel__value_id x)
{
    return halves(graph, x, ARTEL__UNARY_EXPONENTIAL, ARTEL__BINARY_ADD);
}

/* 1 - erf(x), which has no digits where erf(x) is nearly 1; there from the normal distribution's tail, as gelu(v) = v *
 * cdf(v). */
artel__value_id artel__raw_erfc(artel__graph *graph, artel__value_id x)
{
    artel__value_id far = above(graph, x, 0.5), one = number(graph, 1);
    artel__value_id v =
        times(graph, clip(graph, where(graph, far, x, one), 0.5, is_wide(graph) ? 28 : 12), /* 0 from 10.06, 26.6 on */
              -1.41421356237309504880);
    artel__value_id tail = times(graph, binary(graph, ARTEL__BINARY_DIV, unary(graph, ARTEL__UNARY_GELU, v), v), 2);
    return where(graph, far, tail, artel__op_affine(graph, unary(graph, ARTEL__UNARY_ERF, x), -1, 1));
}

artel__value_id artel__raw_power_of_two(artel__graph *graph, artel__value_id x)
{
    return binary(graph, ARTEL__BINARY_POW, number(graph, 2), x);
}

static artel__value_id cbrt_of(artel__graph *graph, artel__value_id x)
{
    artel__value_id root =
        artel__op_unary_exact(graph, ARTEL__UNARY_POWER, (double[]){1.0 / 3, 0, 0}, size_of(graph, x));
    return with_sign(graph, root, x);
}

/* sin(pi x) / (pi x), and 1 at 0. */
static artel__value_id sinc(artel__graph *graph, artel__value_id x)
{
    artel__value_id zero = is(graph, x, 0),
                    angle = artel__op_affine(graph, where(graph, zero, number(graph, 1), x), 2 * HALF_PI, 0);
    return where(graph, zero, number(graph, 1),
                 binary(graph, ARTEL__BINARY_DIV, unary(graph, ARTEL__UNARY_SIN, angle), angle));
}

/* The polynomial with `first` for its highest power. */
static artel__value_id polynomial(artel__graph *graph, artel__value_id x, const float *factor, int count)
{
    artel__value_id sum = artel__op_affine(graph, x, factor[0], factor[1]);
    for (int i = 2; i < count; i++)
        sum = artel__op_affine(graph, binary(graph, ARTEL__BINARY_MUL, sum, x), 1, factor[i]);
    return sum;
}

/* Infinite with an infinite slope at 1 and -1; what `end` does not name is not read. */
static artel__value_id erfinv_of_end(artel__graph *graph, artel__value_id end, artel__value_id x)
{
    artel__value_id held = where(graph, end, x, number(graph, 0)),
                    rest = artel__op_affine(graph, square(graph, held), -1, 1);
    return binary(graph, ARTEL__BINARY_DIV, held, rest);
}

/* After M. Giles, Approximating the erfinv function (2010), in single precision. */
static artel__value_id erfinv_of(artel__graph *graph, artel__value_id x)
{
    static const float middle[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                   -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
    static const float tail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                                 -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
    artel__value_id one = artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, unary(graph, ARTEL__UNARY_ABS, x), 1);
    artel__value_id inside = where(graph, one, number(graph, 0), x);
    artel__value_id above_minus_one = artel__op_affine(graph, inside, 1, 1),
                    product = binary(graph, ARTEL__BINARY_MUL, artel__op_affine(graph, inside, -1, 1), above_minus_one);
    artel__value_id w = negative(graph, unary(graph, ARTEL__UNARY_LOG, product)), far = above(graph, w, 5);
    artel__value_id near_part =
        polynomial(graph, artel__op_affine(graph, where(graph, far, number(graph, 0), w), 1, -2.5f), middle, 9);
    artel__value_id root = unary(graph, ARTEL__UNARY_SQRT, where(graph, far, w, number(graph, 9)));
    artel__value_id far_part = polynomial(graph, artel__op_affine(graph, root, 1, -3), tail, 9);
    artel__value_id y = binary(graph, ARTEL__BINARY_MUL, where(graph, far, far_part, near_part), inside);
    y = where(graph, one, erfinv_of_end(graph, one, x), y);
    return is_wide(graph) ? artel__wide_erfinv(graph, x, y) : y;
}

/* After Abramowitz and Stegun, 9.8.1 and 9.8.2. */
static artel__value_id bessel_i0(artel__graph *graph, artel__value_id x)
{
    static const float middle[] = {0.0045813f, 0.0360768f, 0.2659732f, 1.2067492f, 3.0899424f, 3.5156229f, 1};
    static const float tail[] = {0.00392377f,  -0.01647633f, 0.02635537f, -0.02057706f, 0.00916281f,
                                 -0.00157565f, 0.00225319f,  0.01328592f, 0.39894228f};
    if (is_wide(graph)) return artel__wide_bessel_i0(graph, x);
    artel__value_id size = size_of(graph, x), far = above(graph, size, 3.75);
    artel__value_id low = times(graph, where(graph, far, number(graph, 0), size), 1 / 3.75),
                    over = artel__raw_overflows(graph, size);
    artel__value_id four = number(graph, 4), high = where(graph, far, where(graph, over, four, size), four);
    artel__value_id near_part = polynomial(graph, unary(graph, ARTEL__UNARY_SQUARE, low), middle, 7);
    artel__value_id share = polynomial(graph, times(graph, unary(graph, ARTEL__UNARY_RECIPROCAL, high), 3.75), tail, 9);
    artel__value_id slow = unary(graph, ARTEL__UNARY_RSQRT, high),
                    power = binary(graph, ARTEL__BINARY_MUL, unary(graph, ARTEL__UNARY_EXPONENTIAL, high), slow);
    artel__value_id far_part = binary(graph, ARTEL__BINARY_MUL, power, share);
    artel__value_id y = where(graph, far, far_part, near_part);
    return where(graph, over, artel__raw_infinite_beyond(graph, over, size), y);
}

const formula_row artel__raw_curves[] = {
    {"ops.Erfinv", erfinv_of, NULL},
    {"ops.I0", bessel_i0, NULL},
    {"ops.Arctan", arctan, NULL},
    {"ops.Arcsin", arcsin, NULL},
    {"ops.Arccos", arccos, NULL},
    {"ops.Arcsinh", arcsinh, NULL},
    {"ops.Arccosh", arccosh, NULL},
    {"ops.Arctanh", arctanh, NULL},
    {"ops.Sinh", sinh_of, NULL},
    {"ops.Cosh", cosh_of, NULL},
    {"ops.Erfc", artel__raw_erfc, NULL},
    {"ops.Exp2", artel__raw_power_of_two, NULL},
    {"ops.Cbrt", cbrt_of, NULL},
    {"ops.Sinc", sinc, NULL},
    {"ops.Arctan2", NULL, artel__raw_arctan2},
    {NULL, NULL, NULL},
};
