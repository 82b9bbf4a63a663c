/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations, element by element: inverse trigonometric and hyperbolic functions, tests for NaN and infinity, functions of two
 * numbers, losses by element. Each is put together from kernels that have gradients. Where Keras divides cases by sign, so does this, by
 * selection: a product with the sign would have no gradient at 0. See layer_ops.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/layer_ops.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define HALF_PI 1.57079632679489661923

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

/* |x| with the gradient 1 at 0. */
static artel__value_id size_of(artel__graph *graph, artel__value_id x)
{
    return where(graph, below(graph, x, 0), negative(graph, x), x);
}

static artel__value_id with_sign(artel__graph *graph, artel__value_id size, artel__value_id like)
{
    return where(graph, below(graph, like, 0), negative(graph, size), size);
}

/* -- inverse functions -- */

/* Three times atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), which leaves less than tan(pi / 16); there five terms of the series suffice. */
static artel__value_id arctan(artel__graph *graph, artel__value_id x)
{
    artel__value_id u = clip(graph, x, -1e18, 1e18);
    for (int i = 0; i < 3; i++) {
        artel__value_id root = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, unary(graph, ARTEL__UNARY_SQUARE, u), 1, 1));
        u = binary(graph, ARTEL__BINARY_DIV, u, artel__op_affine(graph, root, 1, 1));
    }
    artel__value_id square = unary(graph, ARTEL__UNARY_SQUARE, u), sum = artel__op_affine(graph, square, 1.0f / 9, -1.0f / 7);
    static const float term[] = {1.0f / 5, -1.0f / 3, 1};
    for (int i = 0; i < 3; i++) sum = artel__op_affine(graph, binary(graph, ARTEL__BINARY_MUL, sum, square), 1, term[i]);
    return artel__op_affine(graph, binary(graph, ARTEL__BINARY_MUL, sum, u), 8, 0);
}

static artel__value_id arcsin(artel__graph *graph, artel__value_id x)
{
    artel__value_id rest = binary(graph, ARTEL__BINARY_MUL, artel__op_affine(graph, x, -1, 1), artel__op_affine(graph, x, 1, 1));
    return arctan(graph, binary(graph, ARTEL__BINARY_MUL, x, unary(graph, ARTEL__UNARY_RSQRT, rest)));
}

static artel__value_id arccos(artel__graph *graph, artel__value_id x)
{
    return artel__op_affine(graph, arcsin(graph, x), -1, (float)HALF_PI);
}

/* The angle of (x, y): atan(y / x), turned by half a turn where x is negative. */
static artel__value_id arctan2(artel__graph *graph, artel__value_id y, artel__value_id x)
{
    artel__value_id turn = where(graph, below(graph, y, 0), number(graph, -2 * HALF_PI), number(graph, 2 * HALF_PI));
    turn = where(graph, below(graph, x, 0), turn, number(graph, 0));
    artel__value_id angle = arctan(graph, binary(graph, ARTEL__BINARY_DIV_NO_NAN, y, x));
    artel__value_id upright = where(graph, is(graph, y, 0), number(graph, 0), with_sign(graph, number(graph, HALF_PI), y));
    return artel__op_add(graph, where(graph, is(graph, x, 0), upright, angle), turn);
}

/* log(x + sqrt(x^2 + 1)) of |x|, written so that small numbers keep their digits. */
static artel__value_id arcsinh(artel__graph *graph, artel__value_id x)
{
    artel__value_id size = size_of(graph, x), square = unary(graph, ARTEL__UNARY_SQUARE, size);
    artel__value_id root = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, square, 1, 1));
    artel__value_id more = binary(graph, ARTEL__BINARY_DIV, square, artel__op_affine(graph, root, 1, 1));
    return with_sign(graph, unary(graph, ARTEL__UNARY_LOG1P, artel__op_add(graph, size, more)), x);
}

static artel__value_id arccosh(artel__graph *graph, artel__value_id x)
{
    artel__value_id low = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, x, 1, -1));
    artel__value_id high = unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, x, 1, 1));
    return unary(graph, ARTEL__UNARY_LOG, artel__op_add(graph, x, binary(graph, ARTEL__BINARY_MUL, low, high)));
}

static artel__value_id arctanh(artel__graph *graph, artel__value_id x)
{
    artel__value_id up = unary(graph, ARTEL__UNARY_LOG1P, x), down = unary(graph, ARTEL__UNARY_LOG1P, negative(graph, x));
    return artel__op_affine(graph, binary(graph, ARTEL__BINARY_SUB, up, down), 0.5f, 0);
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

/* 1 / x tells -0 from 0. */
static artel__value_id sign_bit(artel__graph *graph, artel__value_id x)
{
    return artel__op_logical_or(graph, below(graph, x, 0), below(graph, unary(graph, ARTEL__UNARY_RECIPROCAL, x), 0));
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

static artel__value_id hypot_of(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    artel__value_id sum = artel__op_add(graph, unary(graph, ARTEL__UNARY_SQUARE, a), unary(graph, ARTEL__UNARY_SQUARE, b));
    return unary(graph, ARTEL__UNARY_SQRT, sum);
}

static artel__value_id heaviside(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    artel__value_id step = where(graph, below(graph, a, 0), number(graph, 0), number(graph, 1));
    return where(graph, is(graph, a, 0), b, step);
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
    return with_sign(graph, binary(graph, ARTEL__BINARY_MOD, size_of(graph, a), size_of(graph, b)), a);
}

static artel__value_id power_of_two(artel__graph *graph, artel__value_id x)
{
    return unary(graph, ARTEL__UNARY_EXPONENTIAL, artel__op_affine(graph, x, 0.693147180559945309f, 0));
}

static artel__value_id logaddexp2(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    artel__value_id apart = negative(graph, unary(graph, ARTEL__UNARY_ABS, binary(graph, ARTEL__BINARY_SUB, a, b)));
    artel__value_id rest = unary(graph, ARTEL__UNARY_LOG1P, power_of_two(graph, apart));
    return artel__op_add(graph, binary(graph, ARTEL__BINARY_MAX, a, b), artel__op_affine(graph, rest, 1.44269504088896341f, 0));
}

static artel__value_id ldexp_of(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_MUL, a, power_of_two(graph, b));
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
    {"ops.Logaddexp2", NULL, logaddexp2},
    {"ops.Ldexp", NULL, ldexp_of},
};

artel_status artel__raw_formula(artel__layer *layer, artel__call *call)
{
    const formula_row *row = formulas;
    while (strcmp(row->class_name, layer->def->class_name) != 0) row++;
    return row->one ? one(layer, call, row->one) : two(layer, call, row->two);
}

/* |a - b| <= atol + rtol * |b|, or equal infinities. */
artel_status artel__raw_isclose(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id a, b;
    double relative = 1e-5, absolute = 1e-8;
    if (json_is_true(artel__raw_setting(layer, call, "equal_nan", 4))) return artel__raw_refuse(layer, "equal_nan");
    artel__json_number(artel__raw_setting(layer, call, "rtol", 2), &relative);
    artel__json_number(artel__raw_setting(layer, call, "atol", 3), &absolute);
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    a = artel__as_float(graph, a);
    b = artel__as_float(graph, b);
    artel__value_id apart = unary(graph, ARTEL__UNARY_ABS, binary(graph, ARTEL__BINARY_SUB, a, b));
    artel__value_id limit = artel__op_affine(graph, unary(graph, ARTEL__UNARY_ABS, b), (float)relative, (float)absolute);
    artel__value_id near =
        artel__op_logical_and(graph, artel__op_compare(graph, ARTEL__COMPARE_LESS_EQUAL, apart, limit), is_finite(graph, b));
    artel__call_return(call, artel__op_logical_or(graph, near, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, a, b)));
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

/* -- losses by element -- */

#define EPSILON 1e-7 /* of keras.config */

artel_status artel__raw_binary_crossentropy(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id target, x;
    ARTEL_TRY(artel__raw_operands(layer, call, &target, &x));
    target = artel__as_float(graph, target);
    x = artel__as_float(graph, x);
    if (json_is_true(artel__raw_setting(layer, call, "from_logits", 2))) {
        artel__value_id most =
            binary(graph, ARTEL__BINARY_SUB, unary(graph, ARTEL__UNARY_SOFTPLUS, x), binary(graph, ARTEL__BINARY_MUL, x, target));
        artel__call_return(call, most);
        return ARTEL_OK;
    }
    x = clip(graph, x, EPSILON, 1 - EPSILON);
    artel__value_id hit = binary(graph, ARTEL__BINARY_MUL, target, unary(graph, ARTEL__UNARY_LOG, x));
    artel__value_id other = binary(graph, ARTEL__BINARY_MUL, artel__op_affine(graph, target, -1, 1),
                                   unary(graph, ARTEL__UNARY_LOG, artel__op_affine(graph, x, -1, 1)));
    artel__call_return(call, negative(graph, artel__op_add(graph, hit, other)));
    return ARTEL_OK;
}

/* The logarithm of the probabilities along an axis; Keras clips before it makes them sum to 1 where targets are class numbers. */
static artel__value_id log_probability(artel__graph *graph, artel__value_id x, int axis, bool logits, bool sparse)
{
    if (!logits && sparse) x = unary(graph, ARTEL__UNARY_LOG, clip(graph, x, EPSILON, 1 - EPSILON));
    if (logits || sparse) return artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, x, axis);
    artel__value_id share = binary(graph, ARTEL__BINARY_DIV, x, artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, 1u << axis, true));
    return unary(graph, ARTEL__UNARY_LOG, clip(graph, share, EPSILON, 1 - EPSILON));
}

static artel_status categorical(artel__layer *layer, artel__call *call, bool sparse)
{
    artel__graph *graph = call->graph;
    artel__value_id target, x;
    int axis;
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), &target));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 1), &x));
    x = artel__as_float(graph, x);
    ARTEL_TRY(graph->status);
    int rank = graph->value[x].shape.rank;
    ARTEL_TRY(artel__raw_axis(layer, call, "axis", -1, rank, &axis));
    bool fits = graph->value[target].shape.rank == rank - sparse && (!sparse || axis == rank - 1);
    if (!fits) return artel__raw_refuse(layer, "targets of this shape");
    target = sparse ? artel__op_one_hot(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), graph->value[x].shape.dim[axis])
                    : artel__as_float(graph, target);
    bool logits = json_is_true(artel__raw_setting(layer, call, "from_logits", 2));
    artel__value_id part = binary(graph, ARTEL__BINARY_MUL, target, log_probability(graph, x, axis, logits, sparse));
    artel__call_return(call, negative(graph, artel__op_reduce(graph, ARTEL__REDUCE_SUM, part, 1u << axis, false)));
    return ARTEL_OK;
}

artel_status artel__raw_categorical_crossentropy(artel__layer *layer, artel__call *call)
{
    return categorical(layer, call, false);
}

artel_status artel__raw_sparse_categorical_crossentropy(artel__layer *layer, artel__call *call)
{
    return categorical(layer, call, true);
}
