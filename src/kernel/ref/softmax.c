/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions, the reference: one (outer, inner) pair at a time; a task is such a pair. Also the lists, and
 * sparsemax. */
#include "kernel/softmax.h"

#include "kernel/math.h"

/* A sum over a row: 16 lanes along the last axis, one chain along another. */
typedef struct sum {
    float lane[16];
    bool lanes;
} sum;

static void add(sum *s, int64_t i, float v)
{
    int64_t k = s->lanes ? i % 16 : 0;
    s->lane[k] = s->lane[k] + v;
}

static float total(sum *s)
{
    if (!s->lanes) return s->lane[0];
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) s->lane[i] = s->lane[i] + s->lane[i + half];
    return s->lane[0];
}

/* -- sparsemax, as Keras has it -- */

/* Downwards, by heap sort: no recursion, no memory. */
static void sift(float *x, int64_t root, int64_t n)
{
    for (int64_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && x[child + 1] < x[child]) child++;
        if (!(x[child] < x[root])) return;
        float swap = x[root];
        x[root] = x[child];
        x[child] = swap;
    }
}

static void sort_downwards(float *x, int64_t n)
{
    for (int64_t i = n / 2; i-- > 0;) sift(x, i, n);
    for (int64_t end = n - 1; end > 0; end--) {
        float swap = x[0];
        x[0] = x[end];
        x[end] = swap;
        sift(x, 0, end);
    }
}

/* tau and the size K of the support. */
static float sparsemax_threshold(const float *x, int64_t n, int64_t stride, float *sorted, int64_t *support)
{
    float running = 0.0f, above = 0.0f;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) sorted[i] = x[i * stride];
    sort_downwards(sorted, n);
    for (int64_t i = 0; i < n; i++) {
        running = running + sorted[i];
        bool inside = sorted[i] - (running - 1.0f) / (float)(i + 1) > 0.0f;
        above = inside ? above + running : above;
        count += inside;
    }
    *support = count;
    return (above - 1.0f) / (float)count;
}

static void sparsemax(const float *x, float *y, int64_t n, int64_t stride, float *sorted)
{
    int64_t support;
    float tau = sparsemax_threshold(x, n, stride, sorted, &support);
    for (int64_t i = 0; i < n; i++) y[i * stride] = artel__maxf(x[i * stride] - tau, 0.0f);
}

static int64_t rank_of(const float *x, int64_t n, int64_t stride, int64_t i)
{
    int64_t rank = 1;
    for (int64_t j = 0; j < n; j++) rank += x[j * stride] > x[i * stride] || (x[j * stride] == x[i * stride] && j < i);
    return rank;
}

static void sparsemax_gradient(const artel__softmax_gradient *p, int64_t at, float *sorted)
{
    int64_t n = p->length, stride = p->inner, support = 0, positive = 0;
    const float *y = p->y + at, *dy = p->dy + at, *x = p->x ? p->x + at : NULL;
    float sum_d = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        sum_d = y[i * stride] > 0.0f ? sum_d + dy[i * stride] : sum_d;
        positive += y[i * stride] > 0.0f;
    }
    if (x) sparsemax_threshold(x, n, stride, sorted, &support);
    for (int64_t i = 0; i < n; i++) {
        bool passes = y[i * stride] > 0.0f;
        int64_t rank = x ? rank_of(x, n, stride, i) : passes ? positive : positive + 1, size = x ? support : positive;
        float share = rank <= size ? sum_d * ((float)(size - rank + 1) / (float)size) : 0.0f;
        p->dx[at + i * stride] = (passes ? dy[i * stride] : 0.0f) - share;
    }
}

/* -- softmax -- */

static int64_t softmax_forward_tasks(const void *params)
{
    const artel__softmax_forward *p = params;
    return p->outer * p->inner;
}

static size_t softmax_forward_scratch(const void *params)
{
    const artel__softmax_forward *p = params;
    return p->op == ARTEL__SPARSEMAX ? (size_t)p->length * sizeof(float) : 0;
}

static void softmax_at(const artel__softmax_forward *p, const float *x, float *y)
{
    int64_t stride = p->inner;
    float m = x[0];
    sum s = {.lanes = p->inner == 1};
    for (int64_t i = 0; i < p->length; i++) m = artel__maxf(x[i * stride], m);
    for (int64_t i = 0; i < p->length; i++) add(&s, i, artel__expf(x[i * stride] - m));
    float all = total(&s);
    for (int64_t i = 0; i < p->length; i++) {
        float v = x[i * stride] - m;
        y[i * stride] = p->op == ARTEL__SOFTMAX ? artel__expf(v) * (1.0f / all) : v - artel__logf(all);
    }
}

static void softmax_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__softmax_forward *p = params;
    for (int64_t task = begin; task < end && p->length > 0; task++) {
        int64_t at = task / p->inner * p->length * p->inner + task % p->inner;
        if (p->op == ARTEL__SPARSEMAX)
            sparsemax(p->x + at, p->y + at, p->length, p->inner, scratch);
        else
            softmax_at(p, p->x + at, p->y + at);
    }
}

static int64_t softmax_gradient_tasks(const void *params)
{
    const artel__softmax_gradient *p = params;
    return p->outer * p->inner;
}

static size_t softmax_gradient_scratch(const void *params)
{
    const artel__softmax_gradient *p = params;
    return p->op == ARTEL__SPARSEMAX ? (size_t)p->length * sizeof(float) : 0;
}

static void gradient_at(const artel__softmax_gradient *p, const float *y, const float *dy, float *dx)
{
    int64_t stride = p->inner;
    bool logarithm = p->op == ARTEL__LOG_SOFTMAX;
    sum s = {.lanes = p->inner == 1};
    for (int64_t i = 0; i < p->length; i++) add(&s, i, logarithm ? dy[i * stride] : dy[i * stride] * y[i * stride]);
    float all = total(&s);
    for (int64_t i = 0; i < p->length; i++) {
        float v = y[i * stride], d = dy[i * stride];
        dx[i * stride] = logarithm ? d - artel__expf(v) * all : (d - all) * v;
    }
}

static void softmax_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__softmax_gradient *p = params;
    for (int64_t task = begin; task < end; task++) {
        int64_t at = task / p->inner * p->length * p->inner + task % p->inner;
        if (p->op == ARTEL__SPARSEMAX)
            sparsemax_gradient(p, at, scratch);
        else
            gradient_at(p, p->y + at, p->dy + at, p->dx + at);
    }
}

static const artel__kernel forward = {.name = "reference softmax_forward",
                                      .tasks = softmax_forward_tasks,
                                      .scratch_bytes = softmax_forward_scratch,
                                      .run = softmax_forward_run};
static const artel__kernel gradient = {.name = "reference softmax_gradient",
                                       .tasks = softmax_gradient_tasks,
                                       .scratch_bytes = softmax_gradient_scratch,
                                       .run = softmax_gradient_run};

/* -- glu; a task is an output element -- */

static int64_t glu_forward_tasks(const void *params)
{
    const artel__glu_forward *p = params;
    return p->outer * p->length * p->inner;
}

static void glu_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__glu_forward *p = params;
    int64_t half = p->length * p->inner;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        const float *a = p->x + i / half * 2 * half + i % half;
        p->y[i] = a[0] * artel__sigmoidf(a[half]);
    }
}

static int64_t glu_gradient_tasks(const void *params)
{
    const artel__glu_gradient *p = params;
    return p->outer * p->length * p->inner;
}

static void glu_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__glu_gradient *p = params;
    int64_t half = p->length * p->inner;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i / half * 2 * half + i % half;
        float s = artel__sigmoidf(p->x[at + half]);
        p->dx[at] = p->dy[i] * s;
        p->dx[at + half] = p->dy[i] * p->x[at] * (s * (1.0f - s));
    }
}

static const artel__kernel glu_forward = {
    .name = "reference glu_forward", .tasks = glu_forward_tasks, .run = glu_forward_run};
static const artel__kernel glu_gradient = {
    .name = "reference glu_gradient", .tasks = glu_gradient_tasks, .run = glu_gradient_run};

ARTEL__KERNEL_LIST(softmax_forward, forward);
ARTEL__KERNEL_LIST(softmax_gradient, gradient);
ARTEL__KERNEL_LIST(glu_forward, glu_forward);
ARTEL__KERNEL_LIST(glu_gradient, glu_gradient);
