/* SPDX-License-Identifier: Apache-2.0 */
/* Losses, the reference: one position at a time; a task is a position. Also the lists.
 *
 * Element-wise losses take their terms from loss_formula.h. The others are written out here, and those from
 * probabilities, the hinge and the cosine have no other form.
 */
#include "kernel/loss.h"

#include "kernel/loss_formula.h"

bool artel__loss_is_sparse(artel__loss op)
{
    return op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY ||
           op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS;
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

/* -- values -- */

static float element_value(const position *p)
{
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, loss_element(p->in->op, target(p, i), p->x[i], &p->k));
    return loss_factor(p->in->op) * total(&l) / loss_divisor(p->in);
}

static float sum(const position *p)
{
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, p->x[i]);
    return total(&l);
}

static float clipped_sum(const position *p)
{
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, loss_clip(p->x[i], LOSS_EPSILON, LOSS_ALMOST_ONE));
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

static float categorical_value(const position *p)
{
    float s = sum(p);
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) {
        float c = loss_clip(p->x[i] / s, LOSS_EPSILON, LOSS_ALMOST_ONE), term = -smoothed(p, i) * artel__logf(c);
        bool focal = p->in->op == ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY;
        add(&l, i, focal ? artel__powf(1.0f - c, p->k.c) * p->k.b * term : term);
    }
    return total(&l);
}

static float categorical_logits_value(const position *p)
{
    float m = largest(p), log_sum = artel__logf(exponentials(p, m));
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, smoothed(p, i) * (log_sum - (p->x[i] - m)));
    return total(&l);
}

static float sparse_value(const position *p)
{
    int64_t class = loss_class(p->in, p->at);
    if (class == -2) loss_report(p->in, p->at);
    if (class < 0) return 0.0f;
    if (p->in->op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY)
        return artel__logf(clipped_sum(p)) - artel__logf(loss_clip(p->x[class], LOSS_EPSILON, LOSS_ALMOST_ONE));
    float m = largest(p);
    return artel__logf(exponentials(p, m)) - (p->x[class] - m);
}

/* neg - pos + 1, and neg. */
static float hinge_margin(const position *p, float *neg)
{
    lanes l = {0};
    *neg = -INFINITY;
    for (int64_t i = 0; i < p->n; i++) {
        add(&l, i, target(p, i) * p->x[i]);
        *neg = artel__maxf((1.0f - target(p, i)) * p->x[i], *neg);
    }
    return *neg - total(&l) + 1.0f;
}

/* min(1 / sqrt(sum of squares), 1 / epsilon) of the prediction and of the target. */
static void cosine_norms(const position *p, float *of_x, float *of_t)
{
    lanes x = {0}, t = {0};
    for (int64_t i = 0; i < p->n; i++) {
        add(&x, i, p->x[i] * p->x[i]);
        add(&t, i, target(p, i) * target(p, i));
    }
    *of_x = artel__minf(1.0f / artel__sqrtf(total(&x)), 1.0f / LOSS_EPSILON);
    *of_t = artel__minf(1.0f / artel__sqrtf(total(&t)), 1.0f / LOSS_EPSILON);
}

static float cosine_value(const position *p)
{
    float rx, rt;
    lanes l = {0};
    cosine_norms(p, &rx, &rt);
    for (int64_t i = 0; i < p->n; i++) add(&l, i, (target(p, i) * rt) * (p->x[i] * rx));
    return -total(&l);
}

static float value_of(const position *p)
{
    float neg;
    if (loss_is_element(p->in->op)) return element_value(p);
    if (artel__loss_is_sparse(p->in->op)) return sparse_value(p);
    switch (p->in->op) {
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY:
    case ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY: return categorical_value(p);
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS: return categorical_logits_value(p);
    case ARTEL__LOSS_CATEGORICAL_HINGE: return artel__maxf(hinge_margin(p, &neg), 0.0f);
    case ARTEL__LOSS_COSINE_SIMILARITY: return cosine_value(p);
    default: return 0.0f;
    }
}

/* -- slopes: written to out, times the upstream gradient -- */

static void element_slopes(const position *p, float upstream, float *out)
{
    float share = upstream * loss_factor(p->in->op) / loss_divisor(p->in);
    for (int64_t i = 0; i < p->n; i++) out[i] = share * loss_element_slope(p->in->op, target(p, i), p->x[i], &p->k);
}

/* d value / d o for o = x / sum, where the clip passes. */
static float categorical_inner(const position *p, int64_t i, float o)
{
    float c = loss_clip(o, LOSS_EPSILON, LOSS_ALMOST_ONE), t = smoothed(p, i);
    if (c != o) return 0.0f;
    if (p->in->op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY) return -t / c;
    float bend = p->k.c * artel__powf(1.0f - c, p->k.c - 1.0f) * artel__logf(c),
          straight = artel__powf(1.0f - c, p->k.c) / c;
    return t * p->k.b * (bend - straight);
}

static void categorical_slopes(const position *p, float upstream, float *out)
{
    float s = sum(p);
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, categorical_inner(p, i, p->x[i] / s) * (p->x[i] / s));
    float common = total(&l);
    for (int64_t i = 0; i < p->n; i++) out[i] = upstream * ((categorical_inner(p, i, p->x[i] / s) - common) / s);
}

static void categorical_logits_slopes(const position *p, float upstream, float *out)
{
    float m = largest(p), scale = 1.0f / exponentials(p, m);
    for (int64_t i = 0; i < p->n; i++) out[i] = upstream * (artel__expf(p->x[i] - m) * scale - smoothed(p, i));
}

static void sparse_slopes(const position *p, float upstream, float *out)
{
    int64_t class = loss_class(p->in, p->at);
    bool logits = p->in->op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS;
    float m = logits && class >= 0 ? largest(p) : 0.0f;
    float scale = class < 0 ? 0.0f : 1.0f / (logits ? exponentials(p, m) : clipped_sum(p));
    for (int64_t i = 0; i < p->n; i++) {
        float c = loss_clip(p->x[i], LOSS_EPSILON, LOSS_ALMOST_ONE),
              share = (logits ? artel__expf(p->x[i] - m) : c) * scale;
        float slope = i == class ? share - 1.0f : share;
        if (!logits) slope = c == p->x[i] ? slope / c : 0.0f;
        out[i] = class < 0 ? 0.0f : upstream * slope;
    }
}

static void hinge_slopes(const position *p, float upstream, float *out)
{
    float neg, margin = hinge_margin(p, &neg);
    int64_t ties = 0;
    for (int64_t i = 0; i < p->n; i++) ties += (1.0f - target(p, i)) * p->x[i] == neg;
    for (int64_t i = 0; i < p->n; i++) {
        float t = target(p, i), up = (1.0f - t) * p->x[i] == neg ? (1.0f - t) / (float)ties : 0.0f;
        out[i] = margin >= 0.0f ? upstream * (up - t) : 0.0f;
    }
}

static void cosine_slopes(const position *p, float upstream, float *out)
{
    float rx, rt;
    lanes l = {0};
    cosine_norms(p, &rx, &rt);
    for (int64_t i = 0; i < p->n; i++) add(&l, i, (p->x[i] * rx) * (target(p, i) * rt));
    float common = rx < 1.0f / LOSS_EPSILON ? total(&l) : 0.0f;
    for (int64_t i = 0; i < p->n; i++) out[i] = upstream * (rx * ((p->x[i] * rx) * common - target(p, i) * rt));
}

static void slopes_of(const position *p, float upstream, float *out)
{
    if (loss_is_element(p->in->op)) {
        element_slopes(p, upstream, out);
        return;
    }
    switch (p->in->op) {
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY:
    case ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY: categorical_slopes(p, upstream, out); break;
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS: categorical_logits_slopes(p, upstream, out); break;
    case ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY:
    case ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS: sparse_slopes(p, upstream, out); break;
    case ARTEL__LOSS_CATEGORICAL_HINGE: hinge_slopes(p, upstream, out); break;
    case ARTEL__LOSS_COSINE_SIMILARITY: cosine_slopes(p, upstream, out); break;
    default: break;
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
