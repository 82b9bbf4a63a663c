/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation as programs of devices.
 *
 * Formulas: kernel/norm.h. Moments and the sums of gradients are float64 as on processors: float32 sums of so many
 * values lose three digits. Everything is seen as [rows][inner][channels].
 */
#include "op/lower_norm.h"

#include "op/norm.h"
#include "op/norm_attributes.h"

typedef struct batch {
    artel__hlo *hlo;
    artel__hlo_type type; /* [rows][inner][channels] float32 */
} batch;

/* `k`: the input that is normalised. */
static batch begin(artel__lower *lower, int k)
{
    artel__hlo_type x = *artel__hlo_type_of(lower->hlo, lower->in[k]);
    batch b = {lower->hlo, {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 3, .dim = {1, 1, 1}}};
    int first = lower->graph->value[lower->node->input[k]].domain == ARTEL__DOMAIN_GLOBAL ? 0 : 1;
    for (int i = 0; i < x.rank; i++) b.type.dim[i < first ? 0 : i < x.rank - 1 ? 1 : 2] *= x.dim[i];
    return b;
}

static artel__hlo_value whole(const batch *b, artel__hlo_value x)
{
    return artel__hlo_reshape(b->hlo, x, &b->type);
}

/* A number by channel, [rows][inner][channels]. */
static artel__hlo_value channels(const batch *b, artel__hlo_value x)
{
    artel__hlo_type flat = {.rank = 1, .dim = {b->type.dim[2]}};
    return artel__hlo_broadcast_trailing(b->hlo, artel__hlo_reshape(b->hlo, x, &flat), &b->type);
}

static artel__hlo_value add(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(h, "add", a, b);
}

static artel__hlo_value subtract(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(h, "subtract", a, b);
}

static artel__hlo_value multiply(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(h, "multiply", a, b);
}

static artel__hlo_value divide(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(h, "divide", a, b);
}

/* -- moments -- */

/* The sums of two values over the positions of a row: [rows][2][channels] float64. */
static artel__hlo_value sum_rows(const batch *b, artel__hlo_value first, artel__hlo_value second)
{
    artel__hlo_type one = {.rank = 3, .dim = {b->type.dim[0], 1, b->type.dim[2]}};
    artel__hlo_value sums[] = {artel__hlo_reshape(b->hlo, artel__hlo_reduce(b->hlo, "add", 0, first, 2), &one),
                               artel__hlo_reshape(b->hlo, artel__hlo_reduce(b->hlo, "add", 0, second, 2), &one)};
    return artel__hlo_concatenate(b->hlo, sums, 2, 1);
}

void artel__lower_moments_rows(artel__lower *lower)
{
    batch b = begin(lower, 0);
    artel__hlo_value x = artel__hlo_convert(b.hlo, whole(&b, lower->in[0]), ARTEL_DTYPE_FLOAT64);
    lower->out[0] = sum_rows(&b, x, multiply(b.hlo, x, x));
}

/* Line `i` of a matrix. */
static artel__hlo_value line(artel__hlo *h, artel__hlo_value a, int64_t i)
{
    artel__hlo_type flat = {.rank = 1, .dim = {artel__hlo_type_of(h, a)->dim[1]}};
    return artel__hlo_reshape(h, artel__hlo_slice_axis(h, a, 0, i, i + 1), &flat);
}

void artel__lower_moments_fold(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    double n = (double)(lower->rows * ((const artel__moments_attributes *)lower->attributes)->inner);
    artel__hlo_value sums = artel__hlo_reduce(h, "add", 0, lower->in[0], 1), sum = line(h, sums, 0),
                     zero = artel__hlo_number(h, 0, sum);
    artel__hlo_value count = artel__hlo_number(h, n, sum), mean = n > 0 ? divide(h, sum, count) : zero;
    artel__hlo_value rest = subtract(h, line(h, sums, 1), multiply(h, sum, mean));
    artel__hlo_value part[] = {count, mean, artel__hlo_select(h, artel__hlo_compare(h, "GT", rest, zero), rest, zero)};
    artel__hlo_type one = {.rank = 2, .dim = {1, artel__hlo_type_of(h, sum)->dim[0]}};
    for (int i = 0; i < 3; i++) part[i] = artel__hlo_reshape(h, part[i], &one);
    lower->out[0] = artel__hlo_concatenate(h, part, 3, 0);
}

void artel__lower_moments_finalize(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    double epsilon = (double)((const artel__epsilon_attributes *)lower->attributes)->epsilon;
    artel__hlo_value n = line(h, lower->in[0], 0), zero = artel__hlo_number(h, 0, n), m2 = line(h, lower->in[0], 2);
    artel__hlo_value variance = artel__hlo_select(h, artel__hlo_compare(h, "GT", n, zero), divide(h, m2, n), zero);
    artel__hlo_value deviation = artel__hlo_unary(h, "sqrt", add(h, variance, artel__hlo_number(h, epsilon, n)));
    lower->out[0] = artel__hlo_convert(h, line(h, lower->in[0], 1), ARTEL_DTYPE_FLOAT32);
    lower->out[1] = artel__hlo_convert(h, variance, ARTEL_DTYPE_FLOAT32);
    lower->out[2] = artel__hlo_convert(h, divide(h, artel__hlo_number(h, 1, n), deviation), ARTEL_DTYPE_FLOAT32);
}

void artel__lower_norm_inverse(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value variance = lower->in[0];
    artel__hlo_value epsilon =
        artel__hlo_number(h, (double)((const artel__epsilon_attributes *)lower->attributes)->epsilon, variance);
    lower->out[0] =
        divide(h, artel__hlo_number(h, 1, variance), artel__hlo_unary(h, "sqrt", add(h, variance, epsilon)));
}

void artel__lower_moving_statistics(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    double momentum = ((const artel__moving_attributes *)lower->attributes)->momentum;
    for (int k = 0; k < 2; k++) {
        artel__hlo_value was = lower->in[k], now = artel__hlo_reshape(h, lower->in[k + 2], artel__hlo_type_of(h, was));
        artel__hlo_value keep = artel__hlo_number(h, (double)(float)momentum, was);
        artel__hlo_value take = artel__hlo_number(h, (double)(float)(1.0 - momentum), was);
        lower->written[k] = add(h, multiply(h, was, keep), multiply(h, now, take));
    }
}

/* -- the normalisation -- */

void artel__lower_normalise(artel__lower *lower)
{
    const artel__norm_attributes *a = lower->attributes;
    batch b = begin(lower, 0);
    artel__hlo *h = b.hlo;
    artel__hlo_value scale = channels(&b, lower->in[2]),
                     y = subtract(h, whole(&b, lower->in[0]), channels(&b, lower->in[1]));
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    if (lower->in[3] >= 0) scale = multiply(h, scale, channels(&b, lower->in[3]));
    y = multiply(h, y, scale);
    if (lower->in[4] >= 0) y = add(h, y, channels(&b, lower->in[4]));
    if (lower->in[5] >= 0) y = add(h, y, whole(&b, lower->in[5]));
    if (a->activation != ARTEL__NORM_LINEAR) y = artel__hlo_binary(h, "maximum", y, artel__hlo_number(h, 0, y));
    if (a->activation == ARTEL__NORM_RELU6) y = artel__hlo_binary(h, "minimum", y, artel__hlo_number(h, 6, y));
    lower->out[0] = artel__hlo_reshape(h, y, &out);
}

/* dy where the activation has let y pass, else 0. */
static artel__hlo_value masked(const batch *b, artel__norm_activation activation, artel__hlo_value y,
                               artel__hlo_value dy)
{
    artel__hlo *h = b->hlo;
    dy = whole(b, dy);
    if (activation == ARTEL__NORM_LINEAR) return dy;
    y = whole(b, y);
    artel__hlo_value zero = artel__hlo_number(h, 0, y), passed = artel__hlo_compare(h, "GT", y, zero);
    if (activation == ARTEL__NORM_RELU6)
        passed = artel__hlo_binary(h, "and", passed, artel__hlo_compare(h, "LT", y, artel__hlo_number(h, 6, y)));
    return artel__hlo_select(h, passed, dy, zero);
}

static artel__hlo_value normal(const batch *b, artel__hlo_value x, artel__hlo_value mean, artel__hlo_value inverse)
{
    return multiply(b->hlo, subtract(b->hlo, whole(b, x), channels(b, mean)), channels(b, inverse));
}

void artel__lower_normalise_rows(artel__lower *lower)
{
    const artel__norm_attributes *a = lower->attributes;
    batch b = begin(lower, 0);
    artel__hlo_value d =
        artel__hlo_convert(b.hlo, masked(&b, a->activation, lower->in[1], lower->in[2]), ARTEL_DTYPE_FLOAT64);
    artel__hlo_value xhat =
        artel__hlo_convert(b.hlo, normal(&b, lower->in[0], lower->in[3], lower->in[4]), ARTEL_DTYPE_FLOAT64);
    lower->out[0] = sum_rows(&b, d, multiply(b.hlo, d, xhat));
}

/* Line `i` of the sums over the batch, as means. */
static artel__hlo_value mean_of(artel__lower *lower, const batch *b, int i)
{
    artel__hlo_value sum = line(b->hlo, lower->in[6], i);
    artel__hlo_value count =
        artel__lower_scalar_of(lower, offsetof(artel__batch_norm_gradient, count), ARTEL_DTYPE_FLOAT64);
    count = artel__hlo_broadcast(b->hlo, count, artel__hlo_type_of(b->hlo, sum), NULL);
    return channels(b, artel__hlo_convert(b->hlo, divide(b->hlo, sum, count), ARTEL_DTYPE_FLOAT32));
}

void artel__lower_normalise_gradient(artel__lower *lower)
{
    const artel__norm_attributes *a = lower->attributes;
    batch b = begin(lower, 1);
    artel__hlo *h = b.hlo;
    artel__hlo_value d = masked(&b, a->activation, lower->in[2], lower->in[0]), scale = channels(&b, lower->in[4]),
                     dx = d;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    if (lower->in[5] >= 0) scale = multiply(h, scale, channels(&b, lower->in[5]));
    if (lower->in[6] >= 0) {
        artel__hlo_value xhat = normal(&b, lower->in[1], lower->in[3], lower->in[4]);
        dx = subtract(h, subtract(h, d, mean_of(lower, &b, 0)), multiply(h, xhat, mean_of(lower, &b, 1)));
    }
    lower->out[0] = artel__hlo_reshape(h, multiply(h, scale, dx), &out);
    if (a->residual) lower->out[1] = artel__hlo_reshape(h, d, &out);
}
