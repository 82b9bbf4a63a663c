/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling; see simd.h for how this file is compiled, kernel/pool.h for the contracts. Inner loops run over channels. */
#include "kernel/simd/simd.h"

#include "kernel/pool_window.h"
#include "kernel/simd/pool_tables.h"

#include <math.h>
#include <string.h>

/* Channels of a maximum's gradient that stay in registers: a vector. */
#if defined(__AVX512F__)
#define BLOCK 16
#elif defined(__AVX2__)
#define BLOCK 8
#else
#define BLOCK 4
#endif

enum {
    CHANNELS = 64,
    TOGETHER = 8 * CHANNELS /* channels of a gradient done at once */
};

typedef float block_floats __attribute__((vector_size(4 * BLOCK)));
typedef int32_t block_bits __attribute__((vector_size(4 * BLOCK)));

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

/* At most BLOCK channels of one window. open: all bits are set until the maximum of a channel is found. */
ARTEL__INLINE void window_max_block(const artel__pool_shape *s, const artel__window *w, size_t bytes, const float *x, const float *y,
                                    const float *dy, float *dx)
{
    block_floats top = {0}, slope = {0}, value = {0}, sum = {0};
    block_bits open = ~(block_bits){0};
    memcpy(&top, y, bytes);
    memcpy(&slope, dy, bytes);
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                int64_t at = ((i * s->in[1] + j) * s->in[2] + k) * s->channels;
                memcpy(&value, x + at, bytes);
                memcpy(&sum, dx + at, bytes);
                block_bits hit = (value == top) & open;
                sum = sum + (block_floats)((block_bits)slope & hit);
                open &= ~hit;
                memcpy(dx + at, &sum, bytes);
            }
}

/* n channels of one window. */
static void window_max_gradient(const artel__pool_shape *s, const artel__window *w, int64_t n, const float *x, const float *y,
                                const float *dy, float *dx)
{
    int64_t c = 0;
    for (; c + BLOCK <= n; c += BLOCK) window_max_block(s, w, sizeof(block_floats), x + c, y + c, dy + c, dx + c);
    if (c < n) window_max_block(s, w, (size_t)(n - c) * sizeof *x, x + c, y + c, dy + c, dx + c);
}

static void window_average_gradient(const artel__pool_shape *s, const artel__window *w, int64_t n, const float *dy, float *restrict dx)
{
    float count = (float)artel__window_count(w), share[TOGETHER];
    for (int64_t c = 0; c < n; c++) share[c] = dy[c] / count;
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                float *to = dx + ((i * s->in[1] + j) * s->in[2] + k) * s->channels;
                for (int64_t c = 0; c < n; c++) to[c] = to[c] + share[c];
            }
}

/* Lines [begin, end) of dx, n channels of each position. */
static void clear_lines(const artel__pool_shape *s, int64_t begin, int64_t end, int64_t n, float *dx)
{
    for (int64_t i = begin * s->in[2]; i < end * s->in[2]; i++) memset(dx + i * s->channels, 0, (size_t)n * sizeof *dx);
}

/* n channels of a row, from `channel` on. Lines of dx are cleared when the first window comes to them: they are near then. */
static void row_gradient(const artel__pool_gradient *p, int64_t row, int64_t channel, int64_t n)
{
    const artel__pool_shape *s = &p->shape;
    int64_t from = row * artel__pool_in(s) * s->channels + channel, to = row * artel__pool_out(s) * s->channels + channel, cleared = 0;
    float *dx = p->dx + from;
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++) {
        for (int64_t o = 0; o < s->out[2]; o++, to += s->channels) {
            artel__window w = artel__window_at(s, line / s->out[1], line % s->out[1], o);
            int64_t needed = (w.end[0] - 1) * s->in[1] + w.end[1];
            if (needed > cleared) {
                clear_lines(s, cleared, needed, n, dx);
                cleared = needed;
            }
            if (p->op == ARTEL__POOL_MAX)
                window_max_gradient(s, &w, n, p->x + from, p->y + to, p->dy + to, dx);
            else
                window_average_gradient(s, &w, n, p->dy + to, dx);
        }
    }
    clear_lines(s, cleared, s->in[0] * s->in[1], n, dx);
}

/* Neighbouring tiles of a row are done together, so that memory is read in order. */
static void pool_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_gradient *p = params;
    int64_t channels = p->shape.channels, tiles = artel__pieces(channels, CHANNELS);
    (void)scratch;
    while (begin < end) {
        int64_t tile = begin % tiles, count = tiles - tile < end - begin ? tiles - tile : end - begin;
        if (count > TOGETHER / CHANNELS) count = TOGETHER / CHANNELS;
        int64_t channel = tile * CHANNELS, last = channel + count * CHANNELS < channels ? channel + count * CHANNELS : channels;
        row_gradient(p, begin / tiles, channel, last - channel);
        begin += count;
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
