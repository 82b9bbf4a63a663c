/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, log_softmax and glu; see simd.h for how this file is compiled, kernel/softmax.h for the contracts.
 *
 * Along the last axis a row is made on 16 lanes; along another one, on tiles of its inner columns, each a chain in
 * order.
 */
#include "kernel/simd/simd.h"

#include "kernel/simd/row.h"
#include "kernel/softmax.h"

enum {
    TILE = 128,
    ROW_TASK = 4096
};

static const char *op_refuses(artel__softmax_op op)
{
    return op == ARTEL__SPARSEMAX ? "sparsemax has no fast form" : NULL;
}

/* Outer indices of a task. */
static int64_t outer_per_task(int64_t length, int64_t inner)
{
    int64_t size = length * inner;
    return size >= ROW_TASK || size == 0 ? 1 : ROW_TASK / size;
}

/* Up to 64 rows of up to 16 elements. */
static void softmax_short(artel__softmax_op op, const float *x, float *y, int64_t n, int64_t rows)
{
    artel__short_rows s, e;
    float max[ARTEL__SHORT_ROWS], sum[ARTEL__SHORT_ROWS];
    artel__short_load(&s, x, n, rows);
    e = s;
    artel__short_exponentials(&e, max, sum);
    for (int r = 0; r < ARTEL__SHORT_ROWS; r++) sum[r] = op == ARTEL__SOFTMAX ? 1.0f / sum[r] : artel__logf(sum[r]);
    for (int64_t k = 0; k < n; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++)
            s.v[k][r] = op == ARTEL__SOFTMAX ? e.v[k][r] * sum[r] : (s.v[k][r] - max[r]) - sum[r];
    artel__short_store(&s, y);
}

static void softmax_row(artel__softmax_op op, const float *x, float *y, int64_t n)
{
    float m, sum = artel__row_exponentials(x, n, &m);
    int64_t i;
    if (op == ARTEL__SOFTMAX) {
        float scale = 1.0f / sum;
        ARTEL__INDEPENDENT
        for (i = 0; i < n; i++) y[i] = artel__expf(x[i] - m) * scale;
    } else {
        float log_sum = artel__logf(sum);
        ARTEL__INDEPENDENT
        for (i = 0; i < n; i++) y[i] = (x[i] - m) - log_sum;
    }
}

/* `width` columns that lie `stride` apart along the axis. */
static void softmax_columns(artel__softmax_op op, const float *x, float *y, int64_t n, int64_t stride, int64_t width)
{
    float m[TILE], sum[TILE];
    for (int64_t c = 0; c < width; c++) m[c] = x[c], sum[c] = 0.0f;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < width; c++) m[c] = artel__maxf(x[i * stride + c], m[c]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + artel__expf(x[i * stride + c] - m[c]);
    for (int64_t c = 0; c < width; c++) sum[c] = op == ARTEL__SOFTMAX ? 1.0f / sum[c] : artel__logf(sum[c]);
    for (int64_t i = 0; i < n; i++) {
        const float *from = x + i * stride;
        float *to = y + i * stride;
        ARTEL__INDEPENDENT
        for (int64_t c = 0; c < width; c++)
            to[c] = op == ARTEL__SOFTMAX ? artel__expf(from[c] - m[c]) * sum[c] : (from[c] - m[c]) - sum[c];
    }
}

static const char *softmax_forward_refuses(const void *params)
{
    return op_refuses(((const artel__softmax_forward *)params)->op);
}

static int64_t softmax_forward_tasks(const void *params)
{
    const artel__softmax_forward *p = params;
    return artel__pieces(p->outer, outer_per_task(p->length, p->inner));
}

static void softmax_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__softmax_forward *p = params;
    int64_t size = outer_per_task(p->length, p->inner), to = artel__piece_end(p->outer, size, end);
    (void)scratch;
    if (p->inner == 1 && p->length > 0 && p->length <= ARTEL__LANES) {
        for (int64_t o = begin * size, n = p->length; o < to; o += ARTEL__SHORT_ROWS)
            softmax_short(p->op, p->x + o * n, p->y + o * n, n,
                          to - o < ARTEL__SHORT_ROWS ? to - o : ARTEL__SHORT_ROWS);
        return;
    }
    for (int64_t o = begin * size; o < to && p->length > 0; o++) {
        int64_t at = o * p->length * p->inner;
        if (p->inner == 1) {
            softmax_row(p->op, p->x + at, p->y + at, p->length);
            continue;
        }
        for (int64_t c = 0; c < p->inner; c += TILE)
            softmax_columns(p->op, p->x + at + c, p->y + at + c, p->length, p->inner,
                            p->inner - c < TILE ? p->inner - c : TILE);
    }
}

/* -- gradient -- */

ARTEL__INLINE void gradient_row(bool logarithm, const float *y, const float *dy, float *dx, int64_t n)
{
    float lane[ARTEL__LANES] = {0};
    int64_t i = 0;
    for (; i + ARTEL__LANES <= n; i += ARTEL__LANES)
        for (int k = 0; k < ARTEL__LANES; k++) lane[k] = lane[k] + (logarithm ? dy[i + k] : dy[i + k] * y[i + k]);
    for (int k = 0; i + k < n; k++) lane[k] = lane[k] + (logarithm ? dy[i + k] : dy[i + k] * y[i + k]);
    float sum = artel__lanes_sum(lane);
    ARTEL__INDEPENDENT
    for (i = 0; i < n; i++) dx[i] = logarithm ? dy[i] - artel__expf(y[i]) * sum : (dy[i] - sum) * y[i];
}

ARTEL__INLINE void gradient_columns(bool logarithm, const float *y, const float *dy, float *dx, int64_t n,
                                    int64_t stride, int64_t width)
{
    float sum[TILE];
    for (int64_t c = 0; c < width; c++) sum[c] = 0.0f;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < width; c++)
            sum[c] = sum[c] + (logarithm ? dy[i * stride + c] : dy[i * stride + c] * y[i * stride + c]);
    for (int64_t i = 0; i < n; i++) {
        const float *v = y + i * stride, *d = dy + i * stride;
        float *to = dx + i * stride;
        ARTEL__INDEPENDENT
        for (int64_t c = 0; c < width; c++)
            to[c] = logarithm ? d[c] - artel__expf(v[c]) * sum[c] : (d[c] - sum[c]) * v[c];
    }
}

static const char *softmax_gradient_refuses(const void *params)
{
    return op_refuses(((const artel__softmax_gradient *)params)->op);
}

static int64_t softmax_gradient_tasks(const void *params)
{
    const artel__softmax_gradient *p = params;
    return artel__pieces(p->outer, outer_per_task(p->length, p->inner));
}

static void gradient_short(const artel__softmax_gradient *p, int64_t at, int64_t rows)
{
    artel__short_rows y, d, lanes = {.n = p->length};
    float sum[ARTEL__SHORT_ROWS];
    bool logarithm = p->op == ARTEL__LOG_SOFTMAX;
    artel__short_load(&y, p->y + at, p->length, rows), artel__short_load(&d, p->dy + at, p->length, rows);
    for (int64_t k = 0; k < p->length; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++)
            lanes.v[k][r] = 0.0f + (logarithm ? d.v[k][r] : d.v[k][r] * y.v[k][r]);
    artel__short_tree(&lanes, sum);
    for (int64_t k = 0; k < p->length; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++)
            d.v[k][r] = logarithm ? d.v[k][r] - artel__expf(y.v[k][r]) * sum[r] : (d.v[k][r] - sum[r]) * y.v[k][r];
    artel__short_store(&d, p->dx + at);
}

static void gradient_outer(const artel__softmax_gradient *p, int64_t at)
{
    const float *y = p->y + at, *dy = p->dy + at;
    float *dx = p->dx + at;
    int64_t n = p->length, inner = p->inner;
    bool logarithm = p->op == ARTEL__LOG_SOFTMAX;
    if (inner == 1 && logarithm) gradient_row(true, y, dy, dx, n);
    if (inner == 1 && !logarithm) gradient_row(false, y, dy, dx, n);
    for (int64_t c = 0; inner > 1 && c < inner; c += TILE) {
        int64_t width = inner - c < TILE ? inner - c : TILE;
        if (logarithm)
            gradient_columns(true, y + c, dy + c, dx + c, n, inner, width);
        else
            gradient_columns(false, y + c, dy + c, dx + c, n, inner, width);
    }
}

static void softmax_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__softmax_gradient *p = params;
    int64_t size = outer_per_task(p->length, p->inner), to = artel__piece_end(p->outer, size, end);
    (void)scratch;
    if (p->inner == 1 && p->length > 0 && p->length <= ARTEL__LANES) {
        for (int64_t o = begin * size; o < to; o += ARTEL__SHORT_ROWS)
            gradient_short(p, o * p->length, to - o < ARTEL__SHORT_ROWS ? to - o : ARTEL__SHORT_ROWS);
        return;
    }
    for (int64_t o = begin * size; o < to; o++) gradient_outer(p, o * p->length * p->inner);
}

/* -- glu: both halves of one outer index are contiguous -- */

static int64_t glu_forward_tasks(const void *params)
{
    const artel__glu_forward *p = params;
    return artel__pieces(p->outer, outer_per_task(p->length, p->inner));
}

static void glu_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__glu_forward *p = params;
    int64_t size = outer_per_task(p->length, p->inner), to = artel__piece_end(p->outer, size, end),
            half = p->length * p->inner;
    (void)scratch;
    for (int64_t o = begin * size; o < to; o++) {
        const float *a = p->x + o * 2 * half, *b = a + half;
        float *y = p->y + o * half;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < half; i++) y[i] = a[i] * artel__sigmoidf(b[i]);
    }
}

static int64_t glu_gradient_tasks(const void *params)
{
    const artel__glu_gradient *p = params;
    return artel__pieces(p->outer, outer_per_task(p->length, p->inner));
}

static void glu_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__glu_gradient *p = params;
    int64_t size = outer_per_task(p->length, p->inner), to = artel__piece_end(p->outer, size, end),
            half = p->length * p->inner;
    (void)scratch;
    for (int64_t o = begin * size; o < to; o++) {
        const float *a = p->x + o * 2 * half, *b = a + half, *dy = p->dy + o * half;
        float *da = p->dx + o * 2 * half, *db = da + half;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < half; i++) {
            float s = artel__sigmoidf(b[i]);
            da[i] = dy[i] * s;
            db[i] = dy[i] * a[i] * (s * (1.0f - s));
        }
    }
}

ARTEL__SIMD_KERNEL(softmax_forward, .refuses = softmax_forward_refuses, .tasks = softmax_forward_tasks,
                   .run = softmax_forward_run);
ARTEL__SIMD_KERNEL(softmax_gradient, .refuses = softmax_gradient_refuses, .tasks = softmax_gradient_tasks,
                   .run = softmax_gradient_run);
ARTEL__SIMD_KERNEL(glu_forward, .tasks = glu_forward_tasks, .run = glu_forward_run);
ARTEL__SIMD_KERNEL(glu_gradient, .tasks = glu_gradient_tasks, .run = glu_gradient_run);
