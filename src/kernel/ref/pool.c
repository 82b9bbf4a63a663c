/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, the reference: one output value, or one channel of one row, at a time. Also the lists, and Keras' padding.
 */
#include "kernel/pool.h"

#include <math.h>

#include "kernel/pool_window.h"

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

bool artel__pool_apart(const artel__pool_shape *shape)
{
    bool apart = true;
    for (int d = 0; d < 3; d++) apart = apart && shape->stride[d] >= shape->window[d];
    return apart;
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

/* The sum of a channel of a row waits here: dx may be x. */
static size_t pool_gradient_scratch(const void *params)
{
    return (size_t)artel__pool_in(&((const artel__pool_gradient *)params)->shape) * sizeof(float);
}

/* What window o adds to the positions of a channel; x, y and dy are those of the channel. */
static void add_window(const artel__pool_gradient *p, int64_t o, const float *x, const float *y, const float *dy,
                       float *sum)
{
    const artel__pool_shape *s = &p->shape;
    artel__window w = window_of(s, o);
    int64_t count = artel__window_count(&w), to = o * s->channels;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = window_offset(s, &w, i);
        if (p->op == ARTEL__POOL_MAX && x[at] != y[to]) continue;
        sum[at / s->channels] += p->op == ARTEL__POOL_MAX ? dy[to] : dy[to] / (float)count;
        if (p->op == ARTEL__POOL_MAX) return;
    }
}

static void pool_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_gradient *p = params;
    const artel__pool_shape *s = &p->shape;
    int64_t in = artel__pool_in(s), out = artel__pool_out(s);
    bool max = p->op == ARTEL__POOL_MAX;
    float *sum = scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t c = task % s->channels, row = task / s->channels, from = row * in * s->channels + c,
                to = row * out * s->channels + c;
        const float *x = max ? p->x + from : NULL, *y = max ? p->y + to : NULL;
        for (int64_t i = 0; i < in; i++) sum[i] = 0.0f;
        for (int64_t o = 0; o < out; o++) add_window(p, o, x, y, p->dy + to, sum);
        for (int64_t i = 0; i < in; i++) {
            bool passed = !(max && p->relu) || x[i * s->channels] > 0.0f;
            p->dx[from + i * s->channels] = passed ? sum[i] : 0.0f * sum[i];
        }
    }
}

static const artel__kernel forward = {
    .name = "reference pool_forward", .tasks = pool_forward_tasks, .run = pool_forward_run};
static const artel__kernel gradient = {.name = "reference pool_gradient",
                                       .tasks = pool_gradient_tasks,
                                       .scratch_bytes = pool_gradient_scratch,
                                       .run = pool_gradient_run};

ARTEL__KERNEL_LIST(pool_forward, forward);
ARTEL__KERNEL_LIST(pool_gradient, gradient);
