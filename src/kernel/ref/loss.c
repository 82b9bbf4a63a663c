/* SPDX-License-Identifier: Apache-2.0 */
/* Losses, the reference: one position at a time; a task is a position. Also the lists.
 *
 * Element-wise losses take their terms from loss_formula.h, the others their values and slopes from their files
 * (losses.list).
 */
#include "kernel/loss.h"

#include "kernel/loss_formula.h"

bool artel__loss_is_sparse(artel__loss op)
{
    return loss_form_of(op).sparse;
}

/* One position. */
typedef struct position {
    const artel__loss_input *in;
    loss_constants k;
    int64_t at, n;
    const float *x;
} position;

/* 16 lanes and their tree. */
typedef struct lanes {
    float lane[16];
} lanes;

static void add(lanes *l, int64_t i, float v)
{
    l->lane[i % 16] = l->lane[i % 16] + v;
}

static float total(lanes *l)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) l->lane[i] = l->lane[i] + l->lane[i + half];
    return l->lane[0];
}

static position position_of(const artel__loss_input *in, int64_t at)
{
    return (position){in, loss_constants_of(in), at, in->length, in->prediction + at * in->length};
}

static float target(const position *p, int64_t i)
{
    int64_t at = p->at * p->n + i;
    return p->in->target_dtype == ARTEL_DTYPE_INT32 ? (float)((const int32_t *)p->in->target)[at]
                                                    : ((const float *)p->in->target)[at];
}

static float smoothed(const position *p, int64_t i)
{
    return target(p, i) * p->k.keep + p->k.add;
}

/* -- element-wise -- */

static float element_value(const position *p)
{
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, loss_element(p->in->op, target(p, i), p->x[i], &p->k));
    return loss_factor(p->in->op) * total(&l) / loss_divisor(p->in);
}

static void element_slopes(const position *p, float upstream, float *out)
{
    float share = upstream * loss_factor(p->in->op) / loss_divisor(p->in);
    for (int64_t i = 0; i < p->n; i++) out[i] = share * loss_element_slope(p->in->op, target(p, i), p->x[i], &p->k);
}

/* -- what others are made of -- */

static float sum(const position *p)
{
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, p->x[i]);
    return total(&l);
}

static float largest(const position *p)
{
    float m = p->x[0];
    for (int64_t i = 0; i < p->n; i++) m = artel__maxf(p->x[i], m);
    return m;
}

static float exponentials(const position *p, float m)
{
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, artel__expf(p->x[i] - m));
    return total(&l);
}

/* The sum over the classes of what a smoothed target makes of a share: x divided by its sum, and clipped. */
static float value_of_shares(const position *p, float (*of_share)(const position *p, float t, float share))
{
    float all = sum(p);
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, of_share(p, smoothed(p, i), loss_probability(p->x[i] / all)));
    return total(&l);
}

/* Its slopes, from that of a share where the clip passes: through the sum. */
static void slopes_of_shares(const position *p, float (*of_share)(const position *p, float t, float share),
                             float upstream, float *out)
{
    float all = sum(p);
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) {
        float o = p->x[i] / all, c = loss_probability(o);
        out[i] = c != o ? 0.0f : of_share(p, smoothed(p, i), c);
        add(&l, i, out[i] * o);
    }
    float common = total(&l);
    for (int64_t i = 0; i < p->n; i++) out[i] = upstream * ((out[i] - common) / all);
}

#define LOSS_REFERENCE
#include "kernel/losses.list"
#undef LOSS_REFERENCE

static float value_of(const position *p)
{
    float value = 0.0f;
    switch (p->in->op) {
#define ELEMENT_LOSS(NAME, name, ...) \
    case ARTEL__LOSS_##NAME:          \
        value = element_value(p);     \
        break;
#define ROW_LOSS(NAME, name, ...)   \
    case ARTEL__LOSS_##NAME:        \
        value = value_of_##name(p); \
        break;
#include "kernel/losses.list"
#undef ELEMENT_LOSS
#undef ROW_LOSS
    case ARTEL__LOSS_COUNT: break;
    }
    return value;
}

/* Written to out, times the upstream gradient. */
static void slopes_of(const position *p, float upstream, float *out)
{
    switch (p->in->op) {
#define ELEMENT_LOSS(NAME, name, ...)     \
    case ARTEL__LOSS_##NAME:              \
        element_slopes(p, upstream, out); \
        break;
#define ROW_LOSS(NAME, name, ...)           \
    case ARTEL__LOSS_##NAME:                \
        slopes_of_##name(p, upstream, out); \
        break;
#include "kernel/losses.list"
#undef ELEMENT_LOSS
#undef ROW_LOSS
    case ARTEL__LOSS_COUNT: break;
    }
}

/* -- kernels -- */

static int64_t loss_forward_tasks(const void *params)
{
    return ((const artel__loss_forward *)params)->in.positions;
}

static void loss_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__loss_forward *f = params;
    (void)scratch;
    for (int64_t at = begin; at < end; at++) {
        position p = position_of(&f->in, at);
        f->value[at] = value_of(&p);
    }
}

static int64_t loss_gradient_tasks(const void *params)
{
    return ((const artel__loss_gradient *)params)->in.positions;
}

static void loss_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__loss_gradient *g = params;
    (void)scratch;
    for (int64_t at = begin; at < end; at++) {
        position p = position_of(&g->in, at);
        slopes_of(&p, g->upstream[at], g->gradient + at * g->in.length);
    }
}

static const artel__kernel forward = {
    .name = "reference loss_forward", .tasks = loss_forward_tasks, .run = loss_forward_run};
static const artel__kernel gradient = {
    .name = "reference loss_gradient", .tasks = loss_gradient_tasks, .run = loss_gradient_run};

ARTEL__KERNEL_LIST(loss_forward, forward);
ARTEL__KERNEL_LIST(loss_gradient, gradient);
