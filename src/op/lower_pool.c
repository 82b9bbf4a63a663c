/* SPDX-License-Identifier: Apache-2.0 */
/* Pools as programs of devices, tap by tap.
 *
 * A tap is a strided slice of the padded input [rows][in][in][in][channels], one element for each window. The maximum
 * runs over the taps in order; its gradient first finds the tap that holds each window's first maximum, then gives
 * every tap what is its own, spread out by the strides. Taps are added from the last to the first: that is the order of
 * the windows. No window operation of StableHLO is used: its gradient of maxima adds in no order.
 */
#include "op/lower_pool.h"

#include <math.h>

#include "op/pool_attributes.h"

typedef struct pooling {
    artel__hlo *hlo;
    const artel__pool_attributes *attributes;
    const artel__pool_shape *shape;
    artel__hlo_type in, out; /* rows, three axes, channels */
    int64_t taps;
} pooling;

/* `k`: an input of the form of what is pooled, or, `pooled`, of the result. */
static pooling begin(artel__lower *lower, int k, bool pooled)
{
    const artel__pool_attributes *a = lower->attributes;
    const artel__pool_shape *s = &a->shape;
    artel__hlo_type found = *artel__hlo_type_of(lower->hlo, lower->in[k]);
    const int64_t *extent = pooled ? s->out : s->in;
    int64_t each = extent[0] * extent[1] * extent[2] * s->channels,
            rows = each ? artel__hlo_count(&found) / each : lower->rows;
    pooling p = {.hlo = lower->hlo, .attributes = a, .shape = s, .taps = s->window[0] * s->window[1] * s->window[2]};
    p.in = (artel__hlo_type){
        .dtype = ARTEL_DTYPE_FLOAT32, .rank = 5, .dim = {rows, s->in[0], s->in[1], s->in[2], s->channels}};
    p.out = (artel__hlo_type){
        .dtype = ARTEL_DTYPE_FLOAT32, .rank = 5, .dim = {rows, s->out[0], s->out[1], s->out[2], s->channels}};
    return p;
}

static artel__hlo_value scalar(const pooling *p, double number)
{
    return artel__hlo_splat(p->hlo, number, &(artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32});
}

/* Place `axis` of tap `t`. */
static int64_t place(const pooling *p, int64_t t, int axis)
{
    for (int i = 2; i > axis; i--) t /= p->shape->window[i];
    return t % p->shape->window[axis];
}

/* From the first window's first place to the last window's last. */
static artel__hlo_value padded(const pooling *p, artel__hlo_value x, double number)
{
    const artel__pool_shape *s = p->shape;
    int64_t low[5] = {0}, high[5] = {0}, inside[5] = {0};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        int64_t behind = (s->out[i] - 1) * s->stride[i] + s->window[i] - s->in[i] - s->pad[i];
        low[i + 1] = s->pad[i];
        high[i + 1] = behind > 0 ? behind : 0;
        any = any || low[i + 1] || high[i + 1];
    }
    x = artel__hlo_reshape(p->hlo, x, &p->in);
    return any ? artel__hlo_pad(p->hlo, x, scalar(p, number), low, high, inside) : x;
}

static artel__hlo_value tap(const pooling *p, artel__hlo_value x, int64_t t)
{
    int64_t first[5] = {0}, end[5] = {p->in.dim[0], 0, 0, 0, p->in.dim[4]}, step[5] = {1, 1, 1, 1, 1};
    for (int i = 0; i < 3; i++) {
        first[i + 1] = place(p, t, i);
        step[i + 1] = p->shape->stride[i];
        end[i + 1] = first[i + 1] + (p->shape->out[i] - 1) * step[i + 1] + 1;
    }
    return artel__hlo_slice(p->hlo, x, first, end, step);
}

/* What a tap gives back, where it lies in the input. */
static artel__hlo_value untap(const pooling *p, artel__hlo_value dy, int64_t t)
{
    const artel__pool_shape *s = p->shape;
    int64_t low[5] = {0}, high[5] = {0}, inside[5] = {0};
    for (int i = 0; i < 3; i++) {
        low[i + 1] = place(p, t, i) - s->pad[i];
        inside[i + 1] = s->stride[i] - 1;
        high[i + 1] = s->in[i] - low[i + 1] - (s->out[i] - 1) * s->stride[i] - 1;
    }
    return artel__hlo_pad(p->hlo, dy, scalar(p, 0), low, high, inside);
}

/* NaN is never greater. */
static artel__hlo_value greatest(const pooling *p, artel__hlo_value x)
{
    artel__hlo *h = p->hlo;
    artel__hlo_value y = artel__hlo_splat(h, (double)-INFINITY, &p->out);
    for (int64_t t = 0; t < p->taps; t++) {
        artel__hlo_value v = tap(p, x, t);
        y = artel__hlo_select(h, artel__hlo_compare(h, "GT", v, y), v, y);
    }
    return y;
}

/* How many places of each window lie inside the input, divided by. */
static artel__hlo_value share(const pooling *p, artel__hlo_value y)
{
    artel__hlo *h = p->hlo;
    const artel__pool_shape *s = p->shape;
    artel__hlo_value count = artel__hlo_splat(h, 1, &p->out);
    for (int i = 0; i < 3; i++) {
        artel__hlo_value at = artel__hlo_iota(h, &p->out, i + 1), zero = artel__hlo_number(h, 0, at);
        artel__hlo_value first = artel__hlo_binary(h, "multiply", at, artel__hlo_number(h, (double)s->stride[i], at));
        first = artel__hlo_binary(h, "subtract", first, artel__hlo_number(h, (double)s->pad[i], at));
        artel__hlo_value last = artel__hlo_binary(h, "add", first, artel__hlo_number(h, (double)s->window[i], at));
        last = artel__hlo_binary(h, "minimum", last, artel__hlo_number(h, (double)s->in[i], at));
        artel__hlo_value length = artel__hlo_binary(h, "subtract", last, artel__hlo_binary(h, "maximum", first, zero));
        count = artel__hlo_binary(h, "multiply", count, artel__hlo_binary(h, "maximum", length, zero));
    }
    return artel__hlo_binary(h, "divide", y, count);
}

static artel__hlo_value mean(const pooling *p, artel__hlo_value x)
{
    artel__hlo_value sum = tap(p, x, 0);
    for (int64_t t = 1; t < p->taps; t++) sum = artel__hlo_binary(p->hlo, "add", sum, tap(p, x, t));
    return share(p, sum);
}

void artel__lower_pool(artel__lower *lower)
{
    pooling p = begin(lower, 0, false);
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    bool max = p.attributes->function == ARTEL__POOL_MAX;
    if (artel__hlo_count(&p.out) == 0) {
        lower->out[0] = artel__hlo_splat(p.hlo, 0, &out);
        return;
    }
    artel__hlo_value x = padded(&p, lower->in[0], max ? (double)-INFINITY : 0), y = max ? greatest(&p, x) : mean(&p, x);
    lower->out[0] = artel__hlo_reshape(p.hlo, y, &out);
}

/* The number of the first tap that holds each window's maximum; `taps` where none does. Padding is NaN, which holds
 * nothing. */
static artel__hlo_value find_first(const pooling *p, artel__hlo_value x, artel__hlo_value y)
{
    artel__hlo_type type = p->out;
    type.dtype = p->taps < 256 ? ARTEL_DTYPE_UINT8 : ARTEL_DTYPE_INT32;
    x = padded(p, x, (double)NAN);
    y = artel__hlo_reshape(p->hlo, y, &p->out);
    artel__hlo_value first = artel__hlo_splat(p->hlo, (double)p->taps, &type);
    for (int64_t t = p->taps - 1; t >= 0; t--) {
        artel__hlo_value met = artel__hlo_compare(p->hlo, "EQ", tap(p, x, t), y);
        first = artel__hlo_select(p->hlo, met, artel__hlo_splat(p->hlo, (double)t, &type), first);
    }
    return artel__hlo_barrier(p->hlo, first); /* once, not once for each tap that asks */
}

static artel__hlo_value spread_out(const pooling *p, artel__hlo_value dy, artel__hlo_value first)
{
    artel__hlo *h = p->hlo;
    artel__hlo_value sum = -1;
    for (int64_t t = p->taps - 1; t >= 0; t--) {
        artel__hlo_value part = dy;
        if (first >= 0) {
            artel__hlo_value mine = artel__hlo_compare(h, "EQ", first, artel__hlo_number(h, (double)t, first));
            part = artel__hlo_select(h, mine, dy, artel__hlo_number(h, 0, dy));
        }
        part = untap(p, part, t);
        sum = sum < 0 ? part : artel__hlo_binary(h, "add", sum, part);
    }
    return sum;
}

/* dy, x, y */
void artel__lower_pool_gradient(artel__lower *lower)
{
    pooling p = begin(lower, 0, true);
    artel__hlo *h = p.hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    bool max = p.attributes->function == ARTEL__POOL_MAX;
    if (artel__hlo_count(&p.out) == 0 || p.taps == 0) {
        lower->out[0] = artel__hlo_splat(h, 0, &out);
        return;
    }
    artel__hlo_value dy = artel__hlo_reshape(h, lower->in[0], &p.out);
    artel__hlo_value dx =
        max ? spread_out(&p, dy, find_first(&p, lower->in[1], lower->in[2])) : spread_out(&p, share(&p, dy), -1);
    if (max && p.attributes->relu) {
        artel__hlo_value x = artel__hlo_reshape(h, lower->in[1], &p.in), zero = artel__hlo_number(h, 0, x);
        dx = artel__hlo_select(h, artel__hlo_compare(h, "GT", x, zero), dx, artel__hlo_binary(h, "multiply", zero, dx));
    }
    lower->out[0] = artel__hlo_reshape(h, dx, &out);
}
