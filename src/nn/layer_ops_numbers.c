/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations, element by element: trigonometric and hyperbolic functions and their inverses, tests for NaN and infinity,
 * functions of two numbers. Each is put together from kernels that have gradients. Where Keras divides cases by sign, so does this, by
 * selection: a product with the sign would have no gradient at 0. A function that needs another formula for large numbers selects what goes
 * into each, not only what comes out: the gradient of an overflow that nobody sees is 0 * inf. Infinities, NaN and zeros with a sign are
 * those of Keras on TensorFlow, numbers below 2^-126 apart, which that takes for 0. See layer_ops.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/layer_ops.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define HALF_PI 1.57079632679489661923
#define LOG_2 0.693147180559945309417

typedef artel__value_id one_fn(artel__graph *graph, artel__value_id x);
typedef artel__value_id two_fn(artel__graph *graph, artel__value_id a, artel__value_id b);

static artel_status one(artel__layer *layer, artel__call *call, one_fn *function)
{
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__call_return(call, function(call->graph, x));
    return ARTEL_OK;
}

static artel_status two(artel__layer *layer, artel__call *call, two_fn *function)
{
    artel__value_id a, b;
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    artel__call_return(call, function(call->graph, artel__as_float(call->graph, a), artel__as_float(call->graph, b)));
    return ARTEL_OK;
}

static artel__value_id unary(artel__graph *graph, artel__unary function, artel__value_id x)
{
    return artel__op_unary(graph, function, NULL, x);
}

static artel__value_id binary(artel__graph *graph, artel__binary function, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, function, a, b);
}

static artel__value_id negative(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_NEG, x);
}

static artel__value_id below(artel__graph *graph, artel__value_id x, double number)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, x, number);
}

static artel__value_id is(artel__graph *graph, artel__value_id x, double number)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, x, number);
}

static artel__value_id where(artel__graph *graph, artel__value_id condition, artel__value_id a, artel__value_id b)
{
    return artel__op_where(graph, condition, a, b);
}

static artel__value_id number(artel__graph *graph, double value)
{
    return artel__constant_scalar(graph, value);
}

static artel__value_id clip(artel__graph *graph, artel__value_id x, double low, double high)
{
    return artel__op_unary(graph, ARTEL__UNARY_CLIP, (float[]){(float)low, (float)high, 0}, x);
}

/* x * factor, which artel__op_affine with an offset of +0 is not for -0. */
static artel__value_id times(artel__graph *graph, artel__value_id x, double factor)
{
    return artel__op_affine(graph, x, (float)factor, -0.0f);
}

static artel__value_id above(artel__graph *graph, artel__value_id x, double number)
{
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, x, number);
}

/* |x| with the gradient 1 at 0. */
static artel__value_id size_of(artel__graph *graph, artel__value_id x)
{
    return where(graph, below(graph, x, 0), negative(graph, x), x);
}

static artel__value_id with_sign(artel__graph *graph, artel__value_id size, artel__value_id like)
{
    return where(graph, below(graph, like, 0), negative(graph, size), size);
}

/* 1 / x tells -0 from 0. */
static artel__value_id sign_bit(artel__graph *graph, artel__value_id x)
{
    return artel__op_logical_or(graph, below(graph, x, 0), below(graph, unary(graph, ARTEL__UNARY_RECIPROCAL, x), 0));
}

/* -- inverse functions -- */

/* Of -1 ... 1: twice atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), which leaves no more than tan(pi / 16); there five terms of the series
 * suffice. */
static artel__value_id arctan_of_flat(artel__graph *graph, artel__value_id u)
{
    for (int i = 0; i < 2; i++) {
        artel__value_id root = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, unary(graph, ARTEL__UNARY_SQUARE, u), 1, 1));
        u = binary(graph, ARTEL__BINARY_DIV, u, artel__op_affine(graph, root, 1, 1));
    }
    artel__value_id square = unary(graph, ARTEL__UNARY_SQUARE, u), sum = artel__op_affine(graph, square, 1.0f / 9, -1.0f / 7);
    static const float term[] = {1.0f / 5, -1.0f / 3, 1};
    for (int i = 0; i < 3; i++) sum = artel__op_affine(graph, binary(graph, ARTEL__BINARY_MUL, sum, square), 1, term[i]);
    return times(graph, binary(graph, ARTEL__BINARY_MUL, sum, u), 4);
}

/* A quarter of a turn less the angle of the reciprocal where x is steep, so that the gradient keeps its digits there too. */
static artel__value_id arctan(artel__graph *graph, artel__value_id x)
{
    artel__value_id steep = above(graph, unary(graph, ARTEL__UNARY_ABS, x), 1), one = number(graph, 1);
    artel__value_id inverse = unary(graph, ARTEL__UNARY_RECIPROCAL, where(graph, steep, x, one));
    artel__value_id angle = arctan_of_flat(graph, where(graph, steep, inverse, x));
    artel__value_id quarter = with_sign(graph, number(graph, HALF_PI), x);
    return where(graph, steep, binary(graph, ARTEL__BINARY_SUB, quarter, angle), angle);
}

static artel__value_id arcsin(artel__graph *graph, artel__value_id x)
{
    artel__value_id rest = binary(graph, ARTEL__BINARY_MUL, artel__op_affine(graph, x, -1, 1), artel__op_affine(graph, x, 1, 1));
    return arctan(graph, binary(graph, ARTEL__BINARY_MUL, x, unary(graph, ARTEL__UNARY_RSQRT, rest)));
}

/* Twice the angle of (sqrt(1 + x), sqrt(1 - x)): exact near 1, where a quarter less arcsin(x) would be a difference of equals. */
static artel__value_id arccos(artel__graph *graph, artel__value_id x)
{
    artel__value_id ratio = binary(graph, ARTEL__BINARY_DIV, artel__op_affine(graph, x, -1, 1), artel__op_affine(graph, x, 1, 1));
    return times(graph, arctan(graph, unary(graph, ARTEL__UNARY_SQRT, ratio)), 2);
}

/* The angle of (x, y): that of (|x|, |y|), the smaller by the larger, then turned. Zeros have a sign; two infinities count as equals. */
static artel__value_id arctan2(artel__graph *graph, artel__value_id y, artel__value_id x)
{
    artel__value_id left = sign_bit(graph, x), down = sign_bit(graph, y), one = number(graph, 1);
    artel__value_id width = where(graph, left, negative(graph, x), x), height = where(graph, down, negative(graph, y), y);
    artel__value_id steep = artel__op_compare(graph, ARTEL__COMPARE_GREATER, height, width);
    artel__value_id small = where(graph, steep, width, height), large = where(graph, steep, height, width);
    artel__value_id both = artel__op_logical_and(graph, is(graph, small, INFINITY), is(graph, large, INFINITY));
    large = where(graph, artel__op_logical_or(graph, both, is(graph, large, 0)), one, large);
    artel__value_id angle = arctan_of_flat(graph, binary(graph, ARTEL__BINARY_DIV, where(graph, both, one, small), large));
    angle = where(graph, steep, artel__op_affine(graph, angle, -1, (float)HALF_PI), angle);
    angle = where(graph, left, artel__op_affine(graph, angle, -1, (float)(2 * HALF_PI)), angle);
    return where(graph, down, negative(graph, angle), angle);
}

#define LARGE 1e4 /* from here on sqrt(x^2 +- 1) is x, and the square of larger ones would overflow */

/* log(2 size) where numbers are large, `rest` elsewhere. */
static artel__value_id log_where_large(artel__graph *graph, artel__value_id large, artel__value_id size, artel__value_id rest)
{
    artel__value_id log = unary(graph, ARTEL__UNARY_LOG, where(graph, large, size, number(graph, 1)));
    return where(graph, large, artel__op_affine(graph, log, 1, (float)LOG_2), rest);
}

/* log(x + sqrt(x^2 + 1)) of |x|, written so that small numbers keep their digits; -0 of -0. */
static artel__value_id arcsinh(artel__graph *graph, artel__value_id x)
{
    artel__value_id size = size_of(graph, x), large = above(graph, size, LARGE), held = where(graph, large, number(graph, 1), size);
    artel__value_id square = unary(graph, ARTEL__UNARY_SQUARE, held);
    artel__value_id root = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, square, 1, 1));
    artel__value_id more = binary(graph, ARTEL__BINARY_DIV, square, artel__op_affine(graph, root, 1, 1));
    artel__value_id rest = unary(graph, ARTEL__UNARY_LOG1P, artel__op_add(graph, held, more));
    return where(graph, is(graph, x, 0), x, with_sign(graph, log_where_large(graph, large, size, rest), x));
}

/* log(1 + t + sqrt(t (t + 2))) with t = x - 1, which is exact near 1. */
static artel__value_id arccosh(artel__graph *graph, artel__value_id x)
{
    artel__value_id large = above(graph, x, LARGE), t = artel__op_affine(graph, where(graph, large, number(graph, 2), x), 1, -1);
    artel__value_id low = unary(graph, ARTEL__UNARY_SQRT, t), high = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, t, 1, 2));
    artel__value_id more = artel__op_add(graph, t, binary(graph, ARTEL__BINARY_MUL, low, high));
    return log_where_large(graph, large, x, unary(graph, ARTEL__UNARY_LOG1P, more));
}

static artel__value_id arctanh(artel__graph *graph, artel__value_id x)
{
    artel__value_id up = unary(graph, ARTEL__UNARY_LOG1P, x), down = unary(graph, ARTEL__UNARY_LOG1P, negative(graph, x));
    return times(graph, binary(graph, ARTEL__BINARY_SUB, up, down), 0.5);
}

/* -- others of one number -- */

/* (f(x) -+ f(-x)) / 2, and the square of exp(|x| / 2) where exp(x) would overflow before its half. */
static artel__value_id halves(artel__graph *graph, artel__value_id x, artel__unary function, artel__binary joined)
{
    artel__value_id size = size_of(graph, x), large = above(graph, size, 80), held = where(graph, large, number(graph, 0), x);
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

/* 1 - erf(x), which has no digits where erf(x) is nearly 1; there from the normal distribution's tail, as gelu(v) = v * cdf(v). */
static artel__value_id erfc_of(artel__graph *graph, artel__value_id x)
{
    artel__value_id far = above(graph, x, 0.5), one = number(graph, 1);
    artel__value_id v = times(graph, clip(graph, where(graph, far, x, one), 0.5, 12), -1.41421356237309504880); /* 0 from 10.06 on */
    artel__value_id tail = times(graph, binary(graph, ARTEL__BINARY_DIV, unary(graph, ARTEL__UNARY_GELU, v), v), 2);
    return where(graph, far, tail, artel__op_affine(graph, unary(graph, ARTEL__UNARY_ERF, x), -1, 1));
}

static artel__value_id power_of_two(artel__graph *graph, artel__value_id x)
{
    return binary(graph, ARTEL__BINARY_POW, number(graph, 2), x);
}

static artel__value_id cbrt_of(artel__graph *graph, artel__value_id x)
{
    return with_sign(graph, artel__op_unary(graph, ARTEL__UNARY_POWER, (float[]){1.0f / 3, 0, 0}, size_of(graph, x)), x);
}

/* sin(pi x) / (pi x), and 1 at 0. */
static artel__value_id sinc(artel__graph *graph, artel__value_id x)
{
    artel__value_id zero = is(graph, x, 0),
                    angle = artel__op_affine(graph, where(graph, zero, number(graph, 1), x), (float)(2 * HALF_PI), 0);
    return where(graph, zero, number(graph, 1), binary(graph, ARTEL__BINARY_DIV, unary(graph, ARTEL__UNARY_SIN, angle), angle));
}

/* -- tests -- */

static artel__value_id not_a_number(artel__graph *graph, artel__value_id x)
{
    return artel__op_compare(graph, ARTEL__COMPARE_NOT_EQUAL, x, x);
}

static artel__value_id infinite(artel__graph *graph, artel__value_id x)
{
    return is(graph, unary(graph, ARTEL__UNARY_ABS, x), INFINITY);
}

static artel__value_id is_finite(artel__graph *graph, artel__value_id x)
{
    return below(graph, unary(graph, ARTEL__UNARY_ABS, x), INFINITY);
}

static artel__value_id positive_infinite(artel__graph *graph, artel__value_id x)
{
    return is(graph, x, INFINITY);
}

static artel__value_id negative_infinite(artel__graph *graph, artel__value_id x)
{
    return is(graph, x, -INFINITY);
}

static artel__value_id real(artel__graph *graph, artel__value_id x)
{
    return artel__op_cast(graph, artel__op_fill_like(graph, x, 1), ARTEL_DTYPE_BOOL);
}

static artel__value_id exclusive_or(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    artel__value_id some = artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, a, 0);
    artel__value_id other = artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, b, 0);
    return artel__op_logical_and(graph, artel__op_logical_or(graph, some, other),
                                 artel__op_logical_not(graph, artel__op_logical_and(graph, some, other)));
}

/* -- of two numbers -- */

/* As Keras writes it: the larger times sqrt(1 + ratio^2). */
static artel__value_id hypot_of(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    artel__value_id x = unary(graph, ARTEL__UNARY_ABS, a), y = unary(graph, ARTEL__UNARY_ABS, b);
    artel__value_id most = binary(graph, ARTEL__BINARY_MAX, x, y), least = binary(graph, ARTEL__BINARY_MIN, x, y);
    artel__value_id square = unary(graph, ARTEL__UNARY_SQUARE, binary(graph, ARTEL__BINARY_DIV_NO_NAN, least, most));
    return binary(graph, ARTEL__BINARY_MUL, most, unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, square, 1, 1)));
}

/* The second where the first is 0, or NaN. */
static artel__value_id heaviside(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return where(graph, below(graph, a, 0), number(graph, 0), where(graph, above(graph, a, 0), number(graph, 1), b));
}

/* The larger or smaller of the two, the other where one is NaN. */
static artel__value_id apart_from_nan(artel__graph *graph, artel__binary function, artel__value_id a, artel__value_id b)
{
    artel__value_id best = where(graph, not_a_number(graph, b), a, binary(graph, function, a, b));
    return where(graph, not_a_number(graph, a), b, best);
}

static artel__value_id fmax_of(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return apart_from_nan(graph, ARTEL__BINARY_MAX, a, b);
}

static artel__value_id fmin_of(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return apart_from_nan(graph, ARTEL__BINARY_MIN, a, b);
}

static artel__value_id fmod_of(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    artel__value_id rest = binary(graph, ARTEL__BINARY_MOD, unary(graph, ARTEL__UNARY_ABS, a), unary(graph, ARTEL__UNARY_ABS, b));
    return binary(graph, ARTEL__BINARY_MUL, unary(graph, ARTEL__UNARY_SIGN, a), rest);
}

/* The logarithm, to a base whose logarithm is `unit`, of the sum of two powers of it; of infinities of one sign that. */
static artel__value_id log_of_sum(artel__graph *graph, artel__value_id a, artel__value_id b, double unit)
{
    artel__value_id apart = binary(graph, ARTEL__BINARY_SUB, a, b), same = not_a_number(graph, apart);
    artel__value_id power = unary(graph, ARTEL__UNARY_EXPONENTIAL, times(graph, unary(graph, ARTEL__UNARY_ABS, apart), -unit));
    artel__value_id rest = times(graph, unary(graph, ARTEL__UNARY_LOG1P, power), 1 / unit);
    return where(graph, same, artel__op_add(graph, a, b), artel__op_add(graph, binary(graph, ARTEL__BINARY_MAX, a, b), rest));
}

static artel__value_id logaddexp(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return log_of_sum(graph, a, b, 1);
}

static artel__value_id logaddexp2(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return log_of_sum(graph, a, b, LOG_2);
}

/* Zero and infinity stay, whatever the power. */
static artel__value_id ldexp_of(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    artel__value_id stays = artel__op_logical_or(graph, infinite(graph, a), is(graph, a, 0));
    return where(graph, stays, a, binary(graph, ARTEL__BINARY_MUL, a, power_of_two(graph, b)));
}

/* A row has one of the two. */
typedef struct formula_row {
    const char *class_name;
    one_fn *one;
    two_fn *two;
} formula_row;

static const formula_row formulas[] = {
    {"ops.Arctan", arctan, NULL},
    {"ops.Arcsin", arcsin, NULL},
    {"ops.Arccos", arccos, NULL},
    {"ops.Arcsinh", arcsinh, NULL},
    {"ops.Arccosh", arccosh, NULL},
    {"ops.Arctanh", arctanh, NULL},
    {"ops.Sinh", sinh_of, NULL},
    {"ops.Cosh", cosh_of, NULL},
    {"ops.Erfc", erfc_of, NULL},
    {"ops.Exp2", power_of_two, NULL},
    {"ops.Cbrt", cbrt_of, NULL},
    {"ops.Sinc", sinc, NULL},
    {"ops.Isnan", not_a_number, NULL},
    {"ops.Isinf", infinite, NULL},
    {"ops.Isfinite", is_finite, NULL},
    {"ops.Isposinf", positive_infinite, NULL},
    {"ops.Isneginf", negative_infinite, NULL},
    {"ops.Signbit", sign_bit, NULL},
    {"ops.Isreal", real, NULL},
    {"ops.Arctan2", NULL, arctan2},
    {"ops.LogicalXor", NULL, exclusive_or},
    {"ops.Hypot", NULL, hypot_of},
    {"ops.Heaviside", NULL, heaviside},
    {"ops.Fmax", NULL, fmax_of},
    {"ops.Fmin", NULL, fmin_of},
    {"ops.Fmod", NULL, fmod_of},
    {"ops.Logaddexp", NULL, logaddexp},
    {"ops.Logaddexp2", NULL, logaddexp2},
    {"ops.Ldexp", NULL, ldexp_of},
};

artel_status artel__raw_formula(artel__layer *layer, artel__call *call)
{
    const formula_row *row = formulas;
    while (strcmp(row->class_name, layer->def->class_name) != 0) row++;
    return row->one ? one(layer, call, row->one) : two(layer, call, row->two);
}

/* Whether an operand has integers or truth values in Keras; a constant is a float32 here. */
static bool is_whole(const artel__call *call, int n, artel__value_id operand)
{
    const artel__value *value = &call->graph->value[operand];
    json_t *given = artel__raw_argument(call, n);
    const char *dtype = json_string_value(json_object_get(json_object_get(given, "config"), "dtype"));
    if (value->domain == ARTEL__DOMAIN_ROW) return value->dtype != ARTEL_DTYPE_FLOAT32;
    return json_is_integer(given) || json_is_boolean(given) || (dtype && !strstr(dtype, "float"));
}

/* |a - b| <= atol + rtol * |b| as it stands: any number is close to an infinity, which is not close to itself. Integers must be equal. */
artel_status artel__raw_isclose(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id a, b;
    double relative = 1e-5, absolute = 1e-8;
    bool equal_nan = json_is_true(artel__raw_setting(layer, call, "equal_nan", 4));
    artel__json_number(artel__raw_setting(layer, call, "rtol", 2), &relative);
    artel__json_number(artel__raw_setting(layer, call, "atol", 3), &absolute);
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    ARTEL_TRY(graph->status);
    if (is_whole(call, 0, a) && is_whole(call, 1, b)) {
        a = artel__op_cast(graph, a, ARTEL_DTYPE_INT32);
        b = artel__op_cast(graph, b, ARTEL_DTYPE_INT32);
        artel__call_return(call, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, a, b));
        return ARTEL_OK;
    }
    a = artel__as_float(graph, a);
    b = artel__as_float(graph, b);
    artel__value_id apart = unary(graph, ARTEL__UNARY_ABS, binary(graph, ARTEL__BINARY_SUB, a, b));
    artel__value_id limit = artel__op_affine(graph, unary(graph, ARTEL__UNARY_ABS, b), (float)relative, (float)absolute);
    artel__value_id close = artel__op_compare(graph, ARTEL__COMPARE_LESS_EQUAL, apart, limit);
    artel__value_id both = equal_nan ? artel__op_logical_and(graph, not_a_number(graph, a), not_a_number(graph, b)) : close;
    artel__call_return(call, equal_nan ? artel__op_logical_or(graph, close, both) : close);
    return ARTEL_OK;
}

artel_status artel__raw_nan_to_num(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    double nan = artel__raw_number(layer, call, "nan", 0);
    double high = artel__raw_number(layer, call, "posinf", FLT_MAX), low = artel__raw_number(layer, call, "neginf", -FLT_MAX);
    artel__value_id y = where(graph, is(graph, x, INFINITY), number(graph, high), x);
    y = where(graph, is(graph, x, -INFINITY), number(graph, low), y);
    artel__call_return(call, where(graph, not_a_number(graph, x), number(graph, nan), y));
    return ARTEL_OK;
}
