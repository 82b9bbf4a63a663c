/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions as programs of devices.
 *
 * Each is a formula (op/lower_formula.h), kernel/unary_formula.h's and kernel/binary_formula.h's in words: operands u
 * and v (a function of one has v: what its row of unary.list reads), d the gradient of the result, a b c the constants
 * of the node. Exponentials and logarithms are the device's own: other bits than on processors.
 */
#include "op/lower_elementwise.h"

#include <math.h>

#include "op/elementwise.h"
#include "op/lower_formula.h"

#define CURVE "gelu_scale v 0.044715 v v v * * * + * tanh" /* of gelu_tanh */
#define HARD "v 3 + 0 max 6 min 6 /"                       /* hard sigmoid */
#define NORMAL "0.5 v -root_half * erfc *"   /* the normal distribution; 1 + erf has no digits far below 0 */
#define PLUS "v 0 max v abs neg exp log1p +" /* softplus */

typedef struct formula {
    const char *forward, *gradient[2];
} formula;

static const formula unary_formulas[ARTEL__UNARY_COUNT] = {
    [ARTEL__UNARY_LINEAR] = {"v", {"d"}},
    [ARTEL__UNARY_RELU] = {"v c > v b < v b ? a 0 == c 0 == v v != and v 0 ? a v c - * ? ?",
                           {"v c > v b < v b == b 6 != and or d 0 ? v c < c 0 == b inf == and or a 0 ? d * ?"}},
    [ARTEL__UNARY_LEAKY_RELU] = {"v 0 > v a v * ?", {"v 0 > d a d * ?"}},
    [ARTEL__UNARY_RELU6] = {"v 0 <= 0 v 6 > 6 v ? ?", {"v 0 > v 6 < and d 0 ?"}},
    [ARTEL__UNARY_ELU] = {"v 0 > v a v expm1 * ?", {"v 0 > d d a v exp * * ?"}},
    [ARTEL__UNARY_SELU] = {"v 0 > selu v * selu_below v expm1 * ?", {"v 0 >= d selu * d selu_below v exp * * ?"}},
    [ARTEL__UNARY_CELU] = {"v 0 <= 0 v ? a v 0 < v 0 ? a / expm1 * +", {"v 0 > d d v a / exp * ?"}},
    [ARTEL__UNARY_GELU] = {"v " NORMAL " *", {"d " NORMAL " v normal v v * -0.5 * exp * * + *"}},
    [ARTEL__UNARY_GELU_TANH] = {"0.5 v * 1 " CURVE " + *",
                                {"d 0.5 1 " CURVE " + * 0.5 v * 1 " CURVE " " CURVE
                                 " * - gelu_scale 1 0.134145 v v * * + * * * + *"}},
    [ARTEL__UNARY_SIGMOID] = {"v logistic", {"d 1 v - * v *"}},
    [ARTEL__UNARY_HARD_SIGMOID] = {HARD, {"v 3 + 0 > v 3 + 6 < and d 6 / 0 ?"}},
    [ARTEL__UNARY_SILU] = {"v v logistic *", {"d v logistic v 1 v logistic - * 1 + * *"}},
    [ARTEL__UNARY_HARD_SILU] = {"v " HARD " *", {"d " HARD " * v 3 + 0 > v 3 + 6 < and d v * 6 / 0 ? +"}},
    [ARTEL__UNARY_TANH] = {"v tanh", {"d 1 v v * - *"}},
    [ARTEL__UNARY_HARD_TANH] = {"v -1 max 1 min", {"v -1 >= v 1 <= and d 0 ?"}},
    [ARTEL__UNARY_TANH_SHRINK] = {"v v tanh -", {"d v tanh v tanh * *"}},
    [ARTEL__UNARY_SOFT_SHRINK] = {"v a > v a - v a neg < v a + 0 ? ?", {"v a > v a neg < or d 0 ?"}},
    [ARTEL__UNARY_HARD_SHRINK] = {"v abs a > v 0 ?", {"v abs a > d 0 ?"}},
    [ARTEL__UNARY_SOFTPLUS] = {PLUS, {"d v logistic *"}},
    [ARTEL__UNARY_SOFTSIGN] = {"v 1 v abs + /", {"d 1 v abs + 1 v abs + * /"}},
    [ARTEL__UNARY_MISH] = {"v " PLUS " tanh *",
                           {"d " PLUS " tanh v 1 " PLUS " tanh " PLUS " tanh * - v logistic * * + *"}},
    [ARTEL__UNARY_EXPONENTIAL] = {"v exp", {"d v *"}},
    [ARTEL__UNARY_LOG_SIGMOID] = {"v neg 0 max v abs neg exp log1p + neg", {"d v neg logistic *"}},
    [ARTEL__UNARY_SQUAREPLUS] = {"v v v * a + sqrt + 2 /", {"d 1 v v v * a + sqrt / + 2 / *"}},
    [ARTEL__UNARY_SPARSE_PLUS] = {"v -1 <= 0 v 1 < 0.25 v 1 + v 1 + * * v ? ?",
                                  {"v -1 <= 0 v 1 < d 0.5 v 1 + * * v v == d v ? ? ?"}},
    [ARTEL__UNARY_SPARSE_SIGMOID] = {"v -1 <= 0 v 1 >= 1 0.5 v 1 + * ? ?", {"v -1 > v 1 < and d 0.5 * 0 ?"}},
    [ARTEL__UNARY_THRESHOLD] = {"v a > v b ?", {"v a > d 0 ?"}},
    [ARTEL__UNARY_SCALE_SHIFT] = {"v a * b +", {"d a *"}},
    [ARTEL__UNARY_LOG] = {"v log", {"d v /"}},
    [ARTEL__UNARY_LOG1P] = {"v log1p", {"d 1 v + /"}},
    [ARTEL__UNARY_EXPM1] = {"v expm1", {"d v exp *"}},
    [ARTEL__UNARY_SQRT] = {"v sqrt", {"d 0 == d 0.5 d * v / ?"}},
    [ARTEL__UNARY_RSQRT] = {"1 v sqrt /", {"d 0 == d neg -0.5 d * v v v * * * ?"}},
    [ARTEL__UNARY_SQUARE] = {"v v *", {"d 2 v * *"}},
    [ARTEL__UNARY_ABS] = {"v abs", {"d v sign *"}},
    [ARTEL__UNARY_NEG] = {"v neg", {"d neg"}},
    [ARTEL__UNARY_RECIPROCAL] = {"1 v /", {"d 0 == d neg d neg v v * * ?"}},
    [ARTEL__UNARY_CLIP] = {"v a max b min", {"v a >= v b <= and d 0 ?"}},
    [ARTEL__UNARY_SIN] = {"v sin", {"d v cos *"}},
    [ARTEL__UNARY_COS] = {"v cos", {"d neg v sin *"}},
    [ARTEL__UNARY_ERF] = {"v erf", {"d erf_slope v v * neg exp * *"}},
    [ARTEL__UNARY_SIGN] = {"v 0 > 1 v 0 < -1 v v != v 0 ? ? ?", {"0"}},
    [ARTEL__UNARY_ROUND] = {"v round", {"0"}},
    [ARTEL__UNARY_FLOOR] = {"v floor", {"0"}},
    [ARTEL__UNARY_POWER] = {"v a pow", {"d a v a 1 - pow * *"}},
    [ARTEL__UNARY_ZERO_TEST] = {"v 0 == 1 0 ?", {"0"}},
};

static const formula binary_formulas[ARTEL__BINARY_COUNT] = {
    [ARTEL__BINARY_ADD] = {"u v +", {"d", "d"}},
    [ARTEL__BINARY_SUB] = {"u v -", {"d", "d neg"}},
    [ARTEL__BINARY_MUL] = {"u v *", {"d v *", "d u *"}},
    [ARTEL__BINARY_DIV] = {"u v /", {"d v /", "d u neg v / ! v / *"}},
    [ARTEL__BINARY_MAX] = {"u v max", {"u v >= d 0 ?", "u v >= 0 d ?"}},
    [ARTEL__BINARY_MIN] = {"u v min", {"u v <= d 0 ?", "u v <= 0 d ?"}},
    [ARTEL__BINARY_POW] = {"u v pow", {"d v u v 1 - pow * *", "d u v pow =y u 0 > y u log * y y - ? *"}},
    [ARTEL__BINARY_SQUARED_DIFFERENCE] = {"u v - u v - *", {"d 2 u v - * *", "d -2 u v - * *"}},
    [ARTEL__BINARY_DIV_NO_NAN] = {"v 0 == 0 u v / ?", {"v 0 == 0 d v / ?", "v 0 == 0 d u neg v / ! v / * ?"}},
    [ARTEL__BINARY_MOD] = {"u v rem 0 != u v rem 0 < v 0 < xor and u v rem v + u v rem ?",
                           {"d", "d neg u v / floor *"}},
};

const char *artel__unary_words(artel__unary function)
{
    return unary_formulas[function].forward;
}

const char *artel__binary_words(artel__binary function)
{
    return binary_formulas[function].forward;
}

/* -- nodes -- */

static void begin(artel__formula *f, artel__hlo *h, artel__hlo_value v, artel__hlo_value d)
{
    artel__formula_init(f, h, d >= 0 ? d : v);
    artel__formula_set(f, 'v', v);
    artel__formula_set(f, 'd', d);
}

static artel__hlo_value write_unary(artel__hlo *h, const double constant[3], artel__hlo_value v, artel__hlo_value d,
                                    const char *text)
{
    artel__formula f;
    begin(&f, h, v, d);
    for (int i = 0; i < 3; i++) artel__formula_number(&f, (char)('a' + i), constant[i]);
    return artel__formula_write(&f, text);
}

artel__hlo_value artel__lower_function(artel__hlo *h, artel__unary function, const float constant[3],
                                       artel__hlo_value v)
{
    const double exact[3] = {(double)constant[0], (double)constant[1], (double)constant[2]};
    return write_unary(h, exact, v, -1, unary_formulas[function].forward);
}

artel__hlo_value artel__lower_slope(artel__hlo *h, artel__unary function, const float constant[3], artel__hlo_value v,
                                    artel__hlo_value d)
{
    const double exact[3] = {(double)constant[0], (double)constant[1], (double)constant[2]};
    return write_unary(h, exact, v, d, unary_formulas[function].gradient[0]);
}

void artel__lower_unary(artel__lower *lower)
{
    const artel__unary_attributes *a = lower->attributes;
    if (artel__lower_out_type(lower, 0).dtype == ARTEL_DTYPE_FLOAT64)
        lower->out[0] = write_unary(lower->hlo, a->exact, lower->in[0], -1, unary_formulas[a->function].forward);
    else
        lower->out[0] = artel__lower_function(lower->hlo, a->function, a->parameter, lower->in[0]);
}

void artel__lower_unary_gradient(artel__lower *lower)
{
    const artel__unary_attributes *a = lower->attributes;
    artel__hlo_value d = lower->in[0], v = lower->in[1];
    if (artel__lower_out_type(lower, 0).dtype == ARTEL_DTYPE_FLOAT64)
        lower->out[0] = write_unary(lower->hlo, a->exact, v, d, unary_formulas[a->function].gradient[0]);
    else
        lower->out[0] = artel__lower_slope(lower->hlo, a->function, a->parameter, v, d);
}

artel__hlo_value artel__lower_spread(artel__lower *lower, int k, const artel__hlo_type *to)
{
    const artel__value *value = &lower->graph->value[lower->node->input[k]];
    artel__hlo_type type = *artel__hlo_type_of(lower->hlo, lower->in[k]);
    if (value->layout == ARTEL__LAYOUT_PANELS) return artel__hlo_reshape(lower->hlo, lower->in[k], to);
    bool by_row = value->domain == ARTEL__DOMAIN_ROW || value->domain == ARTEL__DOMAIN_BATCH;
    if (!by_row || type.rank == to->rank) return artel__hlo_broadcast_trailing(lower->hlo, lower->in[k], to);
    artel__hlo_type wide = {.dtype = type.dtype, .rank = to->rank};
    int ahead = to->rank - type.rank;
    for (int i = 0; i < to->rank; i++) wide.dim[i] = i == 0 ? type.dim[0] : i <= ahead ? 1 : type.dim[i - ahead];
    return artel__hlo_broadcast_trailing(lower->hlo, artel__hlo_reshape(lower->hlo, lower->in[k], &wide), to);
}

void artel__lower_binary(artel__lower *lower, artel__binary function)
{
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    artel__formula f;
    begin(&f, lower->hlo, artel__lower_spread(lower, 1, &to), -1);
    artel__formula_set(&f, 'u', artel__lower_spread(lower, 0, &to));
    lower->out[0] = artel__formula_write(&f, binary_formulas[function].forward);
}

void artel__lower_binary_gradient(artel__lower *lower, artel__binary function, int wrt)
{
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    artel__formula f;
    begin(&f, lower->hlo, artel__lower_spread(lower, 2, &to), lower->in[0]);
    artel__formula_set(&f, 'u', artel__lower_spread(lower, 1, &to));
    lower->out[0] = artel__formula_write(&f, binary_formulas[function].gradient[wrt]);
}

/* -- conversions -- */

static bool is_float(artel_dtype dtype)
{
    return dtype <= ARTEL_DTYPE_BFLOAT16;
}

/* The bounds of an integer type; the upper one is the power of two behind it, which a float can hold. */
static void find_bounds(artel_dtype dtype, double *low, double *end)
{
    bool sign = dtype >= ARTEL_DTYPE_INT8 && dtype <= ARTEL_DTYPE_INT64;
    int bits = 8 * (int)artel_dtype_size(dtype) - sign;
    *end = ldexp(1, bits);
    *low = sign ? -*end : 0;
}

static uint64_t largest(artel_dtype dtype)
{
    bool sign = dtype >= ARTEL_DTYPE_INT8 && dtype <= ARTEL_DTYPE_INT64;
    return UINT64_MAX >> (64 - 8 * (int)artel_dtype_size(dtype) + sign);
}

/* Towards zero, what is too large to the bound, NaN to 0: as artel__convert. */
static artel__hlo_value saturate(artel__hlo *h, artel__hlo_value x, const artel__hlo_type *to)
{
    double low, end;
    find_bounds(to->dtype, &low, &end);
    artel__hlo_value wide = artel__hlo_convert(h, x, ARTEL_DTYPE_FLOAT64), zero = artel__hlo_number(h, 0, wide);
    artel__hlo_value above = artel__hlo_compare(h, "GE", wide, artel__hlo_number(h, end, wide));
    artel__hlo_value number = artel__hlo_select(h, artel__hlo_compare(h, "EQ", wide, wide), wide, zero);
    number =
        artel__hlo_select(h, above, zero, artel__hlo_binary(h, "maximum", number, artel__hlo_number(h, low, number)));
    return artel__hlo_select(h, above, artel__hlo_integer(h, largest(to->dtype), to),
                             artel__hlo_convert(h, number, to->dtype));
}

static artel__hlo_value clamp(artel__hlo *h, artel__hlo_value x, artel_dtype to)
{
    double low, end, from_low, from_end;
    artel_dtype from = artel__hlo_type_of(h, x)->dtype;
    artel__hlo_type type = *artel__hlo_type_of(h, x);
    find_bounds(from, &from_low, &from_end);
    find_bounds(to, &low, &end);
    if (from_low < low) x = artel__hlo_binary(h, "maximum", x, artel__hlo_number(h, low, x));
    if (from_end > end) x = artel__hlo_binary(h, "minimum", x, artel__hlo_integer(h, largest(to), &type));
    return artel__hlo_convert(h, x, to);
}

artel__hlo_value artel__lower_convert(artel__hlo *h, artel__hlo_value x, artel_dtype to)
{
    artel__hlo_type type = *artel__hlo_type_of(h, x);
    artel_dtype from = type.dtype;
    type.dtype = to;
    if (from == to) return x;
    if (to == ARTEL_DTYPE_BOOL) return artel__hlo_compare(h, "NE", x, artel__hlo_number(h, 0, x));
    if (is_float(to) || from == ARTEL_DTYPE_BOOL) return artel__hlo_convert(h, x, to);
    return is_float(from) ? saturate(h, x, &type) : clamp(h, x, to);
}
