/* SPDX-License-Identifier: Apache-2.0 */
/* Second derivatives of element-wise functions.
 *
 * A gradient node is dx = dy f'(v), v being x or y as the function's row of kernel/unary.list reads. With g the
 * gradient of dx: d dy = g f'(v), the same node on g      d v = g dy f''(v), or, where f' is written in y, g dy d f'/d
 * y Functions that are straight almost everywhere have 0 there; they are listed, so that one that nobody has thought of
 * is refused.
 */
#include <math.h>

#include "op/second.h"

/* Of one derivative that is being written. */
typedef struct writer {
    artel__graph *g;
    double a; /* the first constant */
    artel__value_id v;
} writer;

static artel__value_id one(const writer *w, artel__unary f, artel__value_id x)
{
    return artel__op_unary(w->g, f, NULL, x);
}

static artel__value_id mul(const writer *w, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(w->g, ARTEL__BINARY_MUL, a, b);
}

static artel__value_id line(const writer *w, artel__value_id x, double scale, double offset)
{
    return artel__op_affine(w->g, x, scale, offset);
}

static artel__value_id power(const writer *w, artel__value_id x, double exponent)
{
    return artel__op_unary_exact(w->g, ARTEL__UNARY_POWER, (double[]){exponent, 0, 0}, x);
}

/* 1 - x^2 */
static artel__value_id complement(const writer *w, artel__value_id x)
{
    return line(w, one(w, ARTEL__UNARY_SQUARE, x), -1, 1);
}

/* x where it is below 0, else 0 */
static artel__value_id below(const writer *w)
{
    return artel__op_unary(w->g, ARTEL__UNARY_CLIP, (float[]){-INFINITY, 0, 0}, w->v);
}

static artel__value_id if_below(const writer *w, double bound, artel__value_id x)
{
    return artel__op_where(w->g, artel__op_compare_scalar(w->g, ARTEL__COMPARE_LESS, w->v, bound), x, ARTEL__NO_VALUE);
}

static artel__value_id if_within(const writer *w, double bound, double number)
{
    artel__value_id inside = artel__op_compare_scalar(w->g, ARTEL__COMPARE_LESS, one(w, ARTEL__UNARY_ABS, w->v), bound);
    return artel__op_where(w->g, inside, artel__op_fill_like(w->g, w->v, number), ARTEL__NO_VALUE);
}

/* scale * exp(-rate x^2) */
static artel__value_id bell(const writer *w, double scale, double rate)
{
    return line(w, one(w, ARTEL__UNARY_EXPONENTIAL, line(w, one(w, ARTEL__UNARY_SQUARE, w->v), -rate, 0)), scale, 0);
}

/* s (1 - s), s the sigmoid of x */
static artel__value_id logistic(const writer *w, artel__value_id s)
{
    return mul(w, s, line(w, s, -1, 1));
}

/* u = c (x + k x^3), t = tanh(u): (1 - t^2) (u' + x u'' / 2 - x t u'^2) */
static artel__value_id gelu_tanh(const writer *w)
{
    const double c = 0.7978845608028654, k = 0.044715;
    artel__value_id square = one(w, ARTEL__UNARY_SQUARE, w->v);
    artel__value_id t = one(w, ARTEL__UNARY_TANH, line(w, mul(w, w->v, line(w, square, k, 1)), c, 0));
    artel__value_id slope = line(w, square, 3 * c * k, c), curve = line(w, square, 3 * c * k, 0);
    artel__value_id bend = one(w, ARTEL__UNARY_SQUARE, slope), third = mul(w, mul(w, w->v, t), bend);
    artel__value_id sum = artel__op_binary(w->g, ARTEL__BINARY_SUB, artel__op_add(w->g, slope, curve), third);
    return mul(w, complement(w, t), sum);
}

/* t = tanh(softplus(x)), s the sigmoid: f'' = 2 t' + x t'', t' = (1 - t^2) s, t'' = t' (1 - s - 2 t s) */
static artel__value_id mish(const writer *w)
{
    artel__value_id s = one(w, ARTEL__UNARY_SIGMOID, w->v),
                    t = one(w, ARTEL__UNARY_TANH, one(w, ARTEL__UNARY_SOFTPLUS, w->v));
    artel__value_id slope = mul(w, complement(w, t), s);
    artel__value_id lowered = mul(w, line(w, t, 2, 0), s),
                    rest = artel__op_binary(w->g, ARTEL__BINARY_SUB, line(w, s, -1, 1), lowered);
    return mul(w, slope, line(w, mul(w, w->v, rest), 1, 2));
}

/* s (1 - s) (2 + x (1 - 2 s)) */
static artel__value_id silu(const writer *w)
{
    artel__value_id s = one(w, ARTEL__UNARY_SIGMOID, w->v);
    artel__value_id bend = line(w, mul(w, w->v, line(w, s, -2, 1)), 1, 2);
    return mul(w, logistic(w, s), bend);
}

/* -2 sign(x) / (1 + |x|)^3 */
static artel__value_id softsign(const writer *w)
{
    artel__value_id wide = line(w, one(w, ARTEL__UNARY_ABS, w->v), 1, 1);
    artel__value_id falling = power(w, wide, -3);
    return mul(w, line(w, one(w, ARTEL__UNARY_SIGN, w->v), -2, 0), falling);
}

static artel__value_id tanh_shrink(const writer *w)
{
    artel__value_id t = one(w, ARTEL__UNARY_TANH, w->v);
    artel__value_id rest = complement(w, t);
    return mul(w, line(w, t, 2, 0), rest);
}

/* -- functions whose derivative is written in y -- */

static bool in_y(const writer *w, artel__unary function, artel__value_id *out)
{
    artel__value_id y = w->v;
    switch (function) {
    case ARTEL__UNARY_TANH: *out = line(w, y, -2, 0); return true;
    case ARTEL__UNARY_SIGMOID: *out = line(w, y, -2, 1); return true;
    case ARTEL__UNARY_EXPONENTIAL: *out = artel__op_fill_like(w->g, y, 1); return true;
    case ARTEL__UNARY_SQRT: *out = line(w, power(w, y, -2), -0.5, 0); return true;
    case ARTEL__UNARY_RSQRT: *out = line(w, one(w, ARTEL__UNARY_SQUARE, y), -1.5, 0); return true;
    case ARTEL__UNARY_RECIPROCAL: *out = line(w, y, -2, 0); return true;
    default: return false;
    }
}

static artel__value_id gelu(const writer *w)
{
    artel__value_id fall = line(w, one(w, ARTEL__UNARY_SQUARE, w->v), -1, 2);
    return mul(w, bell(w, 0.3989422804014327, 0.5), fall);
}

static artel__value_id erf_of(const writer *w)
{
    artel__value_id density = bell(w, 1.1283791670955126, 1);
    return mul(w, line(w, w->v, -2, 0), density);
}

/* -- in x -- */

static bool in_x(const writer *w, artel__unary function, artel__value_id *out)
{
    artel__value_id x = w->v;
    double a = w->a,
           selu = w->g->value[x].dtype == ARTEL_DTYPE_FLOAT64 ? 1.7580993408473768599 : 1.05070098 * 1.67326324;
    switch (function) {
    case ARTEL__UNARY_ELU:
        *out = if_below(w, 0, line(w, one(w, ARTEL__UNARY_EXPONENTIAL, below(w)), a, 0));
        return true;
    case ARTEL__UNARY_SELU:
        *out = if_below(w, 0, line(w, one(w, ARTEL__UNARY_EXPONENTIAL, below(w)), selu, 0));
        return true;
    case ARTEL__UNARY_CELU:
        *out = if_below(w, 0, line(w, one(w, ARTEL__UNARY_EXPONENTIAL, line(w, below(w), 1 / a, 0)), 1 / a, 0));
        return true;
    case ARTEL__UNARY_GELU: *out = gelu(w); return true;
    case ARTEL__UNARY_GELU_TANH: *out = gelu_tanh(w); return true;
    case ARTEL__UNARY_SILU: *out = silu(w); return true;
    case ARTEL__UNARY_HARD_SILU: *out = if_within(w, 3, 1.0 / 3); return true;
    case ARTEL__UNARY_TANH_SHRINK: *out = tanh_shrink(w); return true;
    case ARTEL__UNARY_SOFTPLUS: *out = logistic(w, one(w, ARTEL__UNARY_SIGMOID, x)); return true;
    case ARTEL__UNARY_SOFTSIGN: *out = softsign(w); return true;
    case ARTEL__UNARY_MISH: *out = mish(w); return true;
    case ARTEL__UNARY_LOG_SIGMOID:
        *out = one(w, ARTEL__UNARY_NEG, logistic(w, one(w, ARTEL__UNARY_SIGMOID, x)));
        return true;
    case ARTEL__UNARY_SQUAREPLUS:
        *out = line(w, power(w, line(w, one(w, ARTEL__UNARY_SQUARE, x), 1, a), -1.5), a / 2, 0);
        return true;
    case ARTEL__UNARY_SPARSE_PLUS: *out = if_within(w, 1, 0.5); return true;
    case ARTEL__UNARY_LOG: *out = line(w, power(w, x, -2), -1, 0); return true;
    case ARTEL__UNARY_LOG1P: *out = line(w, power(w, line(w, x, 1, 1), -2), -1, 0); return true;
    case ARTEL__UNARY_EXPM1: *out = one(w, ARTEL__UNARY_EXPONENTIAL, x); return true;
    case ARTEL__UNARY_SQUARE: *out = artel__op_fill_like(w->g, x, 2); return true;
    case ARTEL__UNARY_SIN: *out = one(w, ARTEL__UNARY_NEG, one(w, ARTEL__UNARY_SIN, x)); return true;
    case ARTEL__UNARY_COS: *out = one(w, ARTEL__UNARY_NEG, one(w, ARTEL__UNARY_COS, x)); return true;
    case ARTEL__UNARY_ERF: *out = erf_of(w); return true;
    case ARTEL__UNARY_POWER: *out = line(w, power(w, x, a - 2), a * (a - 1), 0); return true;
    default: return false;
    }
}

/* -- neither: pieces of lines -- */

static bool is_straight(artel__unary function)
{
    switch (function) {
    case ARTEL__UNARY_RELU:
    case ARTEL__UNARY_LEAKY_RELU:
    case ARTEL__UNARY_RELU6:
    case ARTEL__UNARY_HARD_SIGMOID:
    case ARTEL__UNARY_HARD_TANH:
    case ARTEL__UNARY_SOFT_SHRINK:
    case ARTEL__UNARY_HARD_SHRINK:
    case ARTEL__UNARY_SPARSE_SIGMOID:
    case ARTEL__UNARY_THRESHOLD:
    case ARTEL__UNARY_ABS:
    case ARTEL__UNARY_CLIP: return true;
    default: return false;
    }
}

artel_status artel__second_unary(artel__gradient *g)
{
    const artel__unary_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id inputs[2] = {g->out_gradient[0], g->in[1]}, curve;
    if (g->needed[0])
        g->in_gradient[0] = artel__graph_add(graph, &artel__op_unary_gradient_def, a, inputs, g->in[1] < 0 ? 1 : 2);
    if (!g->needed[1] || graph->status < 0) return graph->status;
    bool wide = graph->value[g->in[1]].dtype == ARTEL_DTYPE_FLOAT64;
    const writer w = {graph, wide ? a->exact[0] : (double)a->parameter[0], g->in[1]};
    bool bent = artel__unary_table[a->function].reads == ARTEL__READS_Y ? in_y(&w, a->function, &curve)
                                                                        : in_x(&w, a->function, &curve);
    if (!bent && !is_straight(a->function)) return artel__second_refuse(g, artel__unary_table[a->function].name);
    if (bent) g->in_gradient[1] = mul(&w, mul(&w, g->out_gradient[0], g->in[0]), curve);
    return graph->status;
}
