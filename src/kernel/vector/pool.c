/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling; see simd.h for how this file is compiled, kernel/pool.h for the contracts. Inner loops run over channels. */
#include "kernel/simd/simd.h"

#include "kernel/vector/pool_max.h"

#include <math.h>
#include <string.h>

enum {
    CHANNELS = 64,
    LONG_POSITION = 128, /* floats */
    SHORT_LINE = 2048,
    TOGETHER = 8 * CHANNELS /* channels of a gradient done at once */
};

static int64_t pool_forward_tasks(const void *params)
{
    const artel__pool_forward *p = params;
    return p->rows * p->shape.out[0] * p->shape.out[1];
}

/* `wide` vectors of channels of one window. */
ARTEL__INLINE void forward_blocks(bool max, const artel__pool_forward *p, const artel__window *w, float count,
                                  int64_t x, float *y, int wide)
{
    const artel__pool_shape *s = &p->shape;
    block_floats sum[WIDE];
    for (int b = 0; b < wide; b++) sum[b] = (block_floats){0} + (max ? -INFINITY : 0.0f);
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++) {
            int64_t from = x + ((i * s->in[1] + j) * s->in[2] + w->begin[2]) * s->channels;
            for (int64_t k = w->begin[2]; k < w->end[2]; k++, from += s->channels)
                for (int b = 0; b < wide; b++) {
                    block_floats value = block_from(p->x, p->x_half, from + b * BLOCK);
                    sum[b] = max ? block_greater(value, sum[b]) : sum[b] + value;
                }
        }
    for (int b = 0; b < wide; b++) block_store(y + b * BLOCK, max ? sum[b] : sum[b] / count);
}

ARTEL__INLINE float forward_channel(bool max, const artel__pool_forward *p, const artel__window *w, float count,
                                    int64_t x)
{
    const artel__pool_shape *s = &p->shape;
    float y = max ? -INFINITY : 0.0f;
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                float v = element_from(p->x, p->x_half, x + ((i * s->in[1] + j) * s->in[2] + k) * s->channels);
                y = max ? (v > y ? v : y) : y + v;
            }
    return max ? y : y / count;
}

/* A line of windows. */
ARTEL__INLINE void forward_line(bool max, const artel__pool_forward *p, artel__window w, int64_t x, int64_t to,
                                float *room)
{
    const artel__pool_shape *s = &p->shape;
    /* Long lines whose positions are short the processor foresees itself. */
    bool ahead = s->channels > LONG_POSITION || s->in[2] * s->channels <= SHORT_LINE;
    for (int64_t o = 0; o < s->out[2]; o++, to += s->channels) {
        int64_t c = 0;
        float *y = artel__half_make(p->y, p->y_half, to, room);
        artel__window_along(s, 2, o, &w);
        float count = (float)artel__window_count(&w);
        if (ahead) fetch_ahead(s, &w, artel__half_at(p->x, p->x_half, x), p->x_half, s->channels);
        for (; c + WIDE * BLOCK <= s->channels; c += WIDE * BLOCK)
            forward_blocks(max, p, &w, count, x + c, y + c, WIDE);
        for (; c + SOME * BLOCK <= s->channels; c += SOME * BLOCK)
            forward_blocks(max, p, &w, count, x + c, y + c, SOME);
        for (; c + BLOCK <= s->channels; c += BLOCK) forward_blocks(max, p, &w, count, x + c, y + c, 1);
        for (; c < s->channels; c++) y[c] = forward_channel(max, p, &w, count, x + c);
        artel__half_store(p->y, p->y_half, to, s->channels, room);
    }
}

static size_t pool_forward_scratch(const void *params)
{
    const artel__pool_forward *p = params;
    return p->y_half ? (size_t)p->shape.channels * sizeof(float) : 0;
}

static void pool_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_forward *p = params;
    const artel__pool_shape *s = &p->shape;
    int64_t lines = s->out[0] * s->out[1];
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / lines, line = task % lines;
        int64_t x = row * artel__pool_in(s) * s->channels, y = task * s->out[2] * s->channels;
        artel__window w = artel__window_at(s, line / s->out[1], line % s->out[1], 0);
        if (p->op == ARTEL__POOL_MAX)
            forward_line(true, p, w, x, y, scratch);
        else
            forward_line(false, p, w, x, y, scratch);
    }
}

static int64_t pool_gradient_tasks(const void *params)
{
    const artel__pool_gradient *p = params;
    return p->rows * artel__pieces(p->shape.channels, CHANNELS);
}

static void window_average_gradient(const artel__pool_shape *s, const artel__window *w, int64_t n, const float *dy,
                                    float *restrict dx)
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

/* n channels of a row, from `channel` on. Lines of dx are cleared when the first window comes to them: they are near
 * then. */
static void row_average(const artel__pool_gradient *p, int64_t row, int64_t channel, int64_t n)
{
    const artel__pool_shape *s = &p->shape;
    const float *dy = p->dy + row * artel__pool_out(s) * s->channels + channel;
    float *dx = p->dx + row * artel__pool_in(s) * s->channels + channel;
    int64_t cleared = 0;
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++) {
        artel__window w = artel__window_at(s, line / s->out[1], line % s->out[1], 0);
        int64_t needed = (w.end[0] - 1) * s->in[1] + w.end[1];
        if (needed > cleared) {
            clear_lines(s, cleared, needed, n, dx);
            cleared = needed;
        }
        for (int64_t o = 0; o < s->out[2]; o++, dy += s->channels) {
            artel__window_along(s, 2, o, &w);
            window_average_gradient(s, &w, n, dy, dx);
        }
    }
    clear_lines(s, cleared, s->in[0] * s->in[1], n, dx);
}

static void row_max(const artel__pool_gradient *p, int64_t row, int64_t channel, int64_t n, float *scratch)
{
    const artel__pool_shape *s = &p->shape;
    int64_t from = row * artel__pool_in(s) * s->channels + channel,
            to = row * artel__pool_out(s) * s->channels + channel;
    max_row r = {.s = s,
                 .relu = p->relu,
                 .n = n,
                 .x_half = p->x_half,
                 .y_half = p->y_half,
                 .dy_half = p->dy_half,
                 .dx_half = p->dx_half};
    r.x = artel__half_at(p->x, p->x_half, from);
    r.y = artel__half_at(p->y, p->y_half, to);
    r.dy = artel__half_at(p->dy, p->dy_half, to);
    r.dx = (float *)(uintptr_t)artel__half_at(p->dx, p->dx_half, from);
    if (artel__pool_apart(s) && !p->dx_half) {
        if (apart_streams(p, &r))
            apart_row(&r, true);
        else
            apart_row(&r, false);
        return;
    }
    r.waits = max_waits(p);
    r.line = r.waits ? scratch : r.dx;
    r.lines = r.waits ? s->window[1] : s->in[0] * s->in[1];
    r.step = r.waits ? n : s->channels;
    overlap_row(&r);
}

/* Whether the gradient is gathered: averages, one apart, of planes or lines. Each element of dx is then written once,
 * where adding window by window reads and writes it for every window over it; the order of its sum is the same. */
static bool gathers(const artel__pool_gradient *p)
{
    const artel__pool_shape *s = &p->shape;
    return p->op == ARTEL__POOL_AVERAGE && s->in[0] == 1 && s->window[0] == 1 && s->stride[1] == 1 && s->stride[2] == 1;
}

/* Line `line` of dy over its windows' counts, n channels. */
static void share_line(const artel__pool_shape *s, int64_t line, int64_t n, const float *dy, float *restrict share)
{
    for (int64_t o = 0; o < s->out[2]; o++, dy += s->channels, share += n) {
        artel__window w = artel__window_at(s, 0, line, o);
        float count = (float)artel__window_count(&w);
        for (int64_t c = 0; c < n; c++) share[c] = dy[c] / count;
    }
}

/* `wide` blocks of channels of one position: the sum over windows [first[0], last[0]) by [first[1], last[1]). Lines lie
 * in a ring. */
ARTEL__INLINE void gather_blocks(const artel__pool_shape *s, const int64_t *first, const int64_t *last, int64_t n,
                                 const float *shares, float *dx, int wide)
{
    block_floats sum[4] = {{0}}, value;
    for (int64_t o = first[0]; o < last[0]; o++) {
        const float *from = shares + (o % s->window[1] * s->out[2] + first[1]) * n;
        for (int64_t k = first[1]; k < last[1]; k++, from += n)
            for (int b = 0; b < wide; b++) {
                memcpy(&value, from + b * BLOCK, sizeof value);
                sum[b] = sum[b] + value;
            }
    }
    for (int b = 0; b < wide; b++) memcpy(dx + b * BLOCK, &sum[b], sizeof value);
}

static void gather_position(const artel__pool_shape *s, const int64_t *first, const int64_t *last, int64_t n,
                            const float *shares, float *restrict dx)
{
    int64_t c = 0;
    for (; c + 4 * BLOCK <= n; c += 4 * BLOCK) gather_blocks(s, first, last, n, shares + c, dx + c, 4);
    for (; c + BLOCK <= n; c += BLOCK) gather_blocks(s, first, last, n, shares + c, dx + c, 1);
    for (; c < n; c++) {
        dx[c] = 0.0f;
        for (int64_t o = first[0]; o < last[0]; o++)
            for (int64_t k = first[1]; k < last[1]; k++)
                dx[c] = dx[c] + shares[(o % s->window[1] * s->out[2] + k) * n + c];
    }
}

/* The windows over position i along an axis. */
static void windows_over(const artel__pool_shape *s, int axis, int64_t i, int64_t *first, int64_t *last)
{
    int64_t begin = i + s->pad[axis] - s->window[axis] + 1, end = i + s->pad[axis] + 1;
    *first = begin < 0 ? 0 : begin;
    *last = end > s->out[axis] ? s->out[axis] : end;
}

static void row_gather(const artel__pool_gradient *p, int64_t row, int64_t channel, int64_t n, float *shares)
{
    const artel__pool_shape *s = &p->shape;
    const float *dy = p->dy + row * artel__pool_out(s) * s->channels + channel;
    float *dx = p->dx + row * artel__pool_in(s) * s->channels + channel;
    int64_t first[2], last[2], line = 0, across = s->out[2] * s->channels;
    for (int64_t i = 0; i < s->in[1]; i++) {
        windows_over(s, 1, i, &first[0], &last[0]);
        for (; line < last[0]; line++)
            share_line(s, line, n, dy + line * across, shares + line % s->window[1] * s->out[2] * n);
        for (int64_t k = 0; k < s->in[2]; k++, dx += s->channels) {
            windows_over(s, 2, k, &first[1], &last[1]);
            gather_position(s, first, last, n, shares, dx);
        }
    }
}

/* Maxima of planes: their lines wait in scratch. */
static bool pool_gradient_halves(const void *params)
{
    const artel__pool_gradient *p = params;
    return p->op == ARTEL__POOL_MAX && is_plane(&p->shape);
}

static size_t pool_gradient_scratch(const void *params)
{
    const artel__pool_gradient *p = params;
    const artel__pool_shape *s = &p->shape;
    int64_t n = s->channels < TOGETHER ? s->channels : TOGETHER;
    if (gathers(p)) return (size_t)(s->window[1] * s->out[2] * n) * sizeof(float);
    return p->op == ARTEL__POOL_MAX && max_waits(p) ? (size_t)(s->window[1] * s->in[2] * n) * sizeof(float) : 0;
}

/* Neighbouring tiles of a row are done together, so that memory is read in order. */
static void pool_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pool_gradient *p = params;
    int64_t channels = p->shape.channels, tiles = artel__pieces(channels, CHANNELS);
    while (begin < end) {
        int64_t tile = begin % tiles, count = tiles - tile < end - begin ? tiles - tile : end - begin;
        if (count > TOGETHER / CHANNELS) count = TOGETHER / CHANNELS;
        int64_t channel = tile * CHANNELS,
                last = channel + count * CHANNELS < channels ? channel + count * CHANNELS : channels;
        if (gathers(p))
            row_gather(p, begin / tiles, channel, last - channel, scratch);
        else if (p->op == ARTEL__POOL_AVERAGE)
            row_average(p, begin / tiles, channel, last - channel);
        else
            row_max(p, begin / tiles, channel, last - channel, scratch);
        begin += count;
    }
    artel__stream_end();
}

ARTEL__SIMD_KERNEL(pool_forward, .tasks = pool_forward_tasks, .scratch_bytes = pool_forward_scratch,
                   .halves = artel__halves_always, .run = pool_forward_run);
ARTEL__SIMD_KERNEL(pool_gradient, .tasks = pool_gradient_tasks, .scratch_bytes = pool_gradient_scratch,
                   .halves = pool_gradient_halves, .run = pool_gradient_run);
