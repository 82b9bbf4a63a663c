/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, the reference: one output value, or one channel of one row, at a time. Also the lists, and Keras' padding. */
#include "kernel/pool.h"

#include <math.h>

#include "kernel/pool_window.h"
#include "kernel/simd/pool_tables.h"

void artel__pool_axis(artel__pool_shape *shape, int axis, int64_t in, int64_t window, int64_t stride, bool same)
{
    int64_t out = same ? (in + stride - 1) / stride : in < window ? 0 : (in - window) / stride + 1;
    int64_t pad = same && out > 0 ? (out - 1) * stride + window - in : 0;
    shape->in[axis] = in;
    shape->out[axis] = out;
    shape->window[axis] = window;
    shape->stride[axis] = stride;
    shape->pad[axis] = pad > 0 ? pad / 2 : 0;
}

/* Offsets of the window's positions in a row of the input, in row-major order: the i-th of them. */
static int64_t window_offset(const artel__pool_shape *s, const artel__window *w, int64_t i)
{
    int64_t width = w->end[2] - w->begin[2], height = w->end[1] - w->begin[1];
    int64_t k = w->begin[2] + i % width, j = w->begin[1] + i / width % height, d = w->begin[0] + i / width / height;
    return ((d * s->in[1] + j) * s->in[2] + k) * s->channels;
}

static artel__window window_of(const artel__pool_shape *s, int64_t o)
{
    return artel__window_at(s, o / (s->out[1] * s->out[2]), o / s->out[2] % s->out[1], o % s->out[2]);
}

static int64_t pool_forward_tasks(const void *params)
{
    const artel__pool_forward *p = params;
    return p->rows * artel__pool_out(&p->shape) * p->shape.channels;
}

static void pool_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_forward *p = params;
    const artel__pool_shape *s = &p->shape;
    int64_t out = artel__pool_out(s);
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t c = task % s->channels, o = task / s->channels % out, row = task / s->channels / out;
        const float *x = p->x + row * artel__pool_in(s) * s->channels + c;
        artel__window w = window_of(s, o);
        int64_t count = artel__window_count(&w);
        float y = p->op == ARTEL__POOL_MAX ? -INFINITY : 0.0f;
        for (int64_t i = 0; i < count; i++) {
            float v = x[window_offset(s, &w, i)];
            y = p->op == ARTEL__POOL_MAX ? (v > y ? v : y) : y + v;
        }
        p->y[task] = p->op == ARTEL__POOL_MAX ? y : y / (float)count;
    }
}

static int64_t pool_gradient_tasks(const void *params)
{
    const artel__pool_gradient *p = params;
    return p->rows * p->shape.channels;
}

static void pool_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_gradient *p = params;
    const artel__pool_shape *s = &p->shape;
    int64_t in = artel__pool_in(s), out = artel__pool_out(s);
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t c = task % s->channels, row = task / s->channels, from = row * in * s->channels + c;
        for (int64_t i = 0; i < in; i++) p->dx[from + i * s->channels] = 0.0f;
        for (int64_t o = 0; o < out; o++) {
            artel__window w = window_of(s, o);
            int64_t count = artel__window_count(&w), to = (row * out + o) * s->channels + c;
            for (int64_t i = 0; i < count; i++) {
                int64_t at = from + window_offset(s, &w, i);
                if (p->op == ARTEL__POOL_MAX && p->x[at] != p->y[to]) continue;
                p->dx[at] += p->op == ARTEL__POOL_MAX ? p->dy[to] : p->dy[to] / (float)count;
                if (p->op == ARTEL__POOL_MAX) break;
            }
        }
    }
}

static const artel__kernel forward = {.name = "reference pool_forward", .tasks = pool_forward_tasks, .run = pool_forward_run};
static const artel__kernel gradient = {.name = "reference pool_gradient", .tasks = pool_gradient_tasks, .run = pool_gradient_run};

#define FAST(row) &artel__pool_avx512[row], &artel__pool_avx2[row], &artel__pool_baseline[row]

const artel__kernel *const artel__pool_forward_kernels[] = {FAST(ARTEL__POOL_FORWARD), &forward, NULL};
const artel__kernel *const artel__pool_gradient_kernels[] = {FAST(ARTEL__POOL_GRADIENT), &gradient, NULL};
