/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling; see simd.h for how this file is compiled, kernel/pool.h for the contracts. Inner loops run over channels. */
#include "kernel/simd/simd.h"

#include "kernel/pool_window.h"
#include "kernel/simd/pool_tables.h"

#include <math.h>
#include <string.h>

enum {
    CHANNELS = 64
};

static int64_t pool_forward_tasks(const void *params)
{
    const artel__pool_forward *p = params;
    return p->rows * p->shape.out[0] * p->shape.out[1];
}

ARTEL__INLINE void window_forward(bool max, const artel__pool_shape *s, const artel__window *w, const float *x, float *restrict y)
{
    int64_t channels = s->channels;
    for (int64_t c = 0; c < channels; c++) y[c] = max ? -INFINITY : 0.0f;
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                const float *from = x + ((i * s->in[1] + j) * s->in[2] + k) * channels;
                for (int64_t c = 0; c < channels; c++) y[c] = max ? (from[c] > y[c] ? from[c] : y[c]) : y[c] + from[c];
            }
    if (max) return;
    float count = (float)artel__window_count(w);
    for (int64_t c = 0; c < channels; c++) y[c] = y[c] / count;
}

static void pool_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_forward *p = params;
    const artel__pool_shape *s = &p->shape;
    int64_t lines = s->out[0] * s->out[1];
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / lines, line = task % lines;
        const float *x = p->x + row * artel__pool_in(s) * s->channels;
        for (int64_t o = 0; o < s->out[2]; o++) {
            artel__window w = artel__window_at(s, line / s->out[1], line % s->out[1], o);
            float *y = p->y + (task * s->out[2] + o) * s->channels;
            if (p->op == ARTEL__POOL_MAX)
                window_forward(true, s, &w, x, y);
            else
                window_forward(false, s, &w, x, y);
        }
    }
}

static int64_t pool_gradient_tasks(const void *params)
{
    const artel__pool_gradient *p = params;
    return p->rows * artel__pieces(p->shape.channels, CHANNELS);
}

/* n channels of one window; open[c] is 1 until the maximum of channel c is found. */
static void window_max_gradient(const artel__pool_shape *s, const artel__window *w, int64_t n, const float *x, const float *y,
                                const float *dy, float *restrict dx)
{
    int32_t open[CHANNELS];
    for (int64_t c = 0; c < n; c++) open[c] = 1;
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                int64_t at = ((i * s->in[1] + j) * s->in[2] + k) * s->channels;
                for (int64_t c = 0; c < n; c++) {
                    int32_t hit = x[at + c] == y[c] ? open[c] : 0;
                    dx[at + c] = dx[at + c] + (hit ? dy[c] : 0.0f);
                    open[c] = open[c] - hit;
                }
            }
}

static void window_average_gradient(const artel__pool_shape *s, const artel__window *w, int64_t n, const float *dy, float *restrict dx)
{
    float count = (float)artel__window_count(w), share[CHANNELS];
    for (int64_t c = 0; c < n; c++) share[c] = dy[c] / count;
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                float *to = dx + ((i * s->in[1] + j) * s->in[2] + k) * s->channels;
                for (int64_t c = 0; c < n; c++) to[c] = to[c] + share[c];
            }
}

static void pool_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_gradient *p = params;
    const artel__pool_shape *s = &p->shape;
    int64_t tiles = artel__pieces(s->channels, CHANNELS), in = artel__pool_in(s), out = artel__pool_out(s);
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / tiles, channel = task % tiles * CHANNELS;
        int64_t n = s->channels - channel < CHANNELS ? s->channels - channel : CHANNELS;
        int64_t from = row * in * s->channels + channel, to = row * out * s->channels + channel;
        float *dx = p->dx + from;
        for (int64_t i = 0; i < in; i++) memset(dx + i * s->channels, 0, (size_t)n * sizeof *dx);
        for (int64_t o = 0; o < out; o++, to += s->channels) {
            artel__window w = artel__window_at(s, o / (s->out[1] * s->out[2]), o / s->out[2] % s->out[1], o % s->out[2]);
            if (p->op == ARTEL__POOL_MAX)
                window_max_gradient(s, &w, n, p->x + from, p->y + to, p->dy + to, dx);
            else
                window_average_gradient(s, &w, n, p->dy + to, dx);
        }
    }
}

const artel__kernel ARTEL__SIMD_TABLE[ARTEL__POOL_KERNELS] = {
    [ARTEL__POOL_FORWARD] = {.name = ARTEL__SIMD_NAME " pool_forward",
                             .isa = ARTEL__SIMD_ISA,
                             .tasks = pool_forward_tasks,
                             .run = pool_forward_run},
    [ARTEL__POOL_GRADIENT] = {.name = ARTEL__SIMD_NAME " pool_gradient",
                              .isa = ARTEL__SIMD_ISA,
                              .tasks = pool_gradient_tasks,
                              .run = pool_gradient_run},
};
