/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations, element by element: tests for NaN and infinity, functions of two numbers, and how every
 * formula is called. Each is put together from kernels that have gradients; infinities, NaN and zeros with a sign are
 * those of Keras on TensorFlow. Functions of one number are in layer_ops_curves.c. See layer_ops.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"

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
    artel__value_id second = artel__as_float(call->graph, b);
    artel__call_return(call, function(call->graph, artel__as_float(call->graph, a), second));
    return ARTEL_OK;
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
    return binary(graph, ARTEL__BINARY_MUL, most,
                  unary(graph, ARTEL__UNARY_SQRT, artel__op_affine(graph, square, 1, 1)));
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
    artel__value_id divisor = unary(graph, ARTEL__UNARY_ABS, b),
                    rest = binary(graph, ARTEL__BINARY_MOD, unary(graph, ARTEL__UNARY_ABS, a), divisor);
    return binary(graph, ARTEL__BINARY_MUL, unary(graph, ARTEL__UNARY_SIGN, a), rest);
}

/* The logarithm, to a base whose logarithm is `unit`, of the sum of two powers of it; of infinities of one sign that.
 */
static artel__value_id log_of_sum(artel__graph *graph, artel__value_id a, artel__value_id b, double unit)
{
    artel__value_id apart = binary(graph, ARTEL__BINARY_SUB, a, b), same = not_a_number(graph, apart);
    artel__value_id power =
        unary(graph, ARTEL__UNARY_EXPONENTIAL, times(graph, unary(graph, ARTEL__UNARY_ABS, apart), -unit));
    artel__value_id rest = times(graph, unary(graph, ARTEL__UNARY_LOG1P, power), 1 / unit);
    artel__value_id larger = artel__op_add(graph, binary(graph, ARTEL__BINARY_MAX, a, b), rest);
    return where(graph, same, artel__op_add(graph, a, b), larger);
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
    return where(graph, stays, a, binary(graph, ARTEL__BINARY_MUL, a, artel__raw_power_of_two(graph, b)));
}

/* Keras takes the next float64 and, of float32, rounds it to that, which is the first operand again. Nothing flows
 * back. */
static artel__value_id next_after(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    if (graph->real == ARTEL_DTYPE_FLOAT64) return artel__wide_next_after(graph, a, b);
    a = artel__op_stop_gradient(graph, a);
    b = artel__op_stop_gradient(graph, b);
    return where(graph, not_a_number(graph, b), b, a);
}

static const formula_row formulas[] = {
    {"ops.Isnan", not_a_number, NULL},
    {"ops.Isinf", infinite, NULL},
    {"ops.Isfinite", is_finite, NULL},
    {"ops.Isposinf", positive_infinite, NULL},
    {"ops.Isneginf", negative_infinite, NULL},
    {"ops.Signbit", sign_bit, NULL},
    {"ops.Isreal", real, NULL},
    {"ops.LogicalXor", NULL, exclusive_or},
    {"ops.Hypot", NULL, hypot_of},
    {"ops.Heaviside", NULL, heaviside},
    {"ops.Fmax", NULL, fmax_of},
    {"ops.Fmin", NULL, fmin_of},
    {"ops.Fmod", NULL, fmod_of},
    {"ops.Logaddexp", NULL, logaddexp},
    {"ops.Logaddexp2", NULL, logaddexp2},
    {"ops.Ldexp", NULL, ldexp_of},
    {"ops.Nextafter", NULL, next_after},
};

artel_status artel__raw_formula(artel__layer *layer, artel__call *call)
{
    const formula_row *row = artel__raw_curves;
    while (row->class_name && strcmp(row->class_name, layer->def->class_name) != 0) row++;
    if (!row->class_name) row = formulas;
    while (strcmp(row->class_name, layer->def->class_name) != 0) row++;
    return row->one ? one(layer, call, row->one) : two(layer, call, row->two);
}

/* Whether an operand has integers or truth values in Keras; a constant is a float32 here. */
static bool is_whole(const artel__call *call, int n, artel__value_id operand)
{
    const artel__value *value = &call->graph->value[operand];
    json_t *given = artel__raw_argument(call, n);
    const char *dtype = json_string_value(json_object_get(json_object_get(given, "config"), "dtype"));
    if (value->domain == ARTEL__DOMAIN_ROW || value->dtype == ARTEL_DTYPE_FLOAT64)
        return value->dtype > ARTEL_DTYPE_BFLOAT16;
    return json_is_integer(given) || json_is_boolean(given) || (dtype && !strstr(dtype, "float"));
}

/* |a - b| <= atol + rtol * |b| as it stands: any number is close to an infinity, which is not close to itself. Integers
 * must be equal. */
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
    artel__value_id limit = artel__op_affine(graph, unary(graph, ARTEL__UNARY_ABS, b), relative, absolute);
    artel__value_id close = artel__op_compare(graph, ARTEL__COMPARE_LESS_EQUAL, apart, limit);
    artel__value_id both =
        equal_nan ? artel__op_logical_and(graph, not_a_number(graph, a), not_a_number(graph, b)) : close;
    artel__call_return(call, equal_nan ? artel__op_logical_or(graph, close, both) : close);
    return ARTEL_OK;
}

static artel__value_id replaced(artel__graph *graph, artel__value_id x, double nan, double high, double low)
{
    artel__value_id y = where(graph, is(graph, x, INFINITY), number(graph, high), x);
    y = where(graph, is(graph, x, -INFINITY), number(graph, low), y);
    return where(graph, not_a_number(graph, x), number(graph, nan), y);
}

static double most_of(const artel__graph *graph)
{
    return graph->real == ARTEL_DTYPE_FLOAT64 ? DBL_MAX : (double)FLT_MAX;
}

artel__value_id artel__raw_finite(artel__graph *graph, artel__value_id x, double nan)
{
    return replaced(graph, x, nan, most_of(graph), -most_of(graph));
}

artel_status artel__raw_nan_to_num(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    double nan = artel__raw_number(layer, call, "nan", 0);
    double most = most_of(graph);
    double high = artel__raw_number(layer, call, "posinf", most), low = artel__raw_number(layer, call, "neginf", -most);
    artel__call_return(call, replaced(graph, x, nan, high, low));
    return ARTEL_OK;
}
