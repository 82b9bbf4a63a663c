/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of maxima. Include simd.h first.
 *
 * Windows apart: every element of dx is written once, right after the elements of x at its place are read. Windows that
 * overlap add to lines of dx, which are cleared when the first window comes to them. Lines of a result that goes past
 * the caches wait in scratch until no window is to come. `top` is the maximum until it has been found, then NaN, which
 * equals nothing.
 */
#ifndef ARTEL_KERNEL_VECTOR_POOL_MAX_H
#define ARTEL_KERNEL_VECTOR_POOL_MAX_H

#include "kernel/pool_window.h"
#include "kernel/vector/pool_block.h"
#include "kernel/simd/stream.h"

/* `n` channels of a row. */
typedef struct max_row {
    const artel__pool_shape *s;
    bool relu, waits;
    bool x_half, y_half, dy_half, dx_half;
    int64_t n;
    const float *x, *y, *dy;
    float *dx;
    float *line; /* of windows that overlap: a ring of `lines` lines of in[2] positions, `step` floats apart; dx or
                    scratch */
    int64_t lines, step;
} max_row;

static float max_relu(float v, float dy)
{
    return v > 0.0f ? dy : 0.0f * dy;
}

/* -- windows apart -- */

ARTEL__INLINE void apart_blocks(const max_row *r, const artel__window *w, int wide, bool stream, int64_t to, int64_t c)
{
    const artel__pool_shape *s = r->s;
    block_floats top[WIDE], slope[WIDE];
    for (int b = 0; b < wide; b++) {
        top[b] = block_from(r->y, r->y_half, to + c + b * BLOCK);
        slope[b] = block_from(r->dy, r->dy_half, to + c + b * BLOCK) + 0.0f;
        if (r->relu) slope[b] = block_relu(top[b], slope[b]);
    }
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++) {
            int64_t at = ((i * s->in[1] + j) * s->in[2] + w->begin[2]) * s->channels + c;
            for (int64_t k = w->begin[2]; k < w->end[2]; k++, at += s->channels)
                for (int b = 0; b < wide; b++) {
                    block_bits hit = block_from(r->x, r->x_half, at + b * BLOCK) == top[b];
                    top[b] = (block_floats)((block_bits)top[b] | hit);
                    block_put(stream, r->dx + at + b * BLOCK, block_where(hit, slope[b]));
                }
        }
}

static void apart_channel(const max_row *r, const artel__window *w, int64_t to, int64_t c)
{
    const artel__pool_shape *s = r->s;
    float top = element_from(r->y, r->y_half, to + c), slope = element_from(r->dy, r->dy_half, to + c) + 0.0f;
    bool open = true;
    if (r->relu) slope = max_relu(top, slope);
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                int64_t at = ((i * s->in[1] + j) * s->in[2] + k) * s->channels + c;
                bool hit = open & (element_from(r->x, r->x_half, at) == top);
                r->dx[at] = hit ? slope : 0.0f;
                open &= !hit;
            }
}

static bool in_a_window(const artel__pool_shape *s, int axis, int64_t i)
{
    int64_t from = i + s->pad[axis];
    return from % s->stride[axis] < s->window[axis] && from / s->stride[axis] < s->out[axis];
}

/* Clears what lies in no window. */
static void apart_clear(const max_row *r)
{
    const artel__pool_shape *s = r->s;
    bool whole = true;
    for (int64_t k = 0; k < s->in[2]; k++) whole = whole && in_a_window(s, 2, k);
    for (int64_t line = 0; line < s->in[0] * s->in[1]; line++) {
        bool inside = in_a_window(s, 0, line / s->in[1]) && in_a_window(s, 1, line % s->in[1]);
        if (inside && whole) continue;
        for (int64_t k = 0; k < s->in[2]; k++) {
            if (!inside || !in_a_window(s, 2, k))
                memset(r->dx + (line * s->in[2] + k) * s->channels, 0, (size_t)r->n * sizeof *r->dx);
        }
    }
}

/* Whether dx goes past the caches: in whole vectors. */
static bool apart_streams(const artel__pool_gradient *p, const max_row *r)
{
    bool whole = r->n % BLOCK == 0 && p->shape.channels % BLOCK == 0 && (uintptr_t)r->dx % sizeof(block_floats) == 0;
    return whole && p->dx != p->x && artel__streams(p->rows * artel__pool_in(&p->shape) * p->shape.channels);
}

ARTEL__INLINE void apart_row(const max_row *r, bool stream)
{
    const artel__pool_shape *s = r->s;
    int64_t to = 0;
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++) {
        artel__window w = artel__window_at(s, line / s->out[1], line % s->out[1], 0);
        for (int64_t o = 0; o < s->out[2]; o++, to += s->channels) {
            int64_t c = 0;
            artel__window_along(s, 2, o, &w);
            fetch_ahead(s, &w, r->x, r->x_half, r->n);
            for (; c + WIDE * BLOCK <= r->n; c += WIDE * BLOCK) apart_blocks(r, &w, WIDE, stream, to, c);
            for (; c + SOME * BLOCK <= r->n; c += SOME * BLOCK) apart_blocks(r, &w, SOME, stream, to, c);
            for (; c + BLOCK <= r->n; c += BLOCK) apart_blocks(r, &w, 1, stream, to, c);
            for (; c < r->n; c++) apart_channel(r, &w, to, c);
        }
    }
    apart_clear(r);
}

/* -- windows that overlap -- */

static bool is_plane(const artel__pool_shape *s)
{
    return s->in[0] == 1 && s->out[0] == 1 && s->window[0] == 1;
}

/* Whether lines wait in scratch: those of a result that goes past the caches, or is rounded to bfloat16. */
static bool max_waits(const artel__pool_gradient *p)
{
    const artel__pool_shape *s = &p->shape;
    if (p->dx_half) return true;
    return is_plane(s) && !artel__pool_apart(s) && artel__streams(p->rows * artel__pool_in(s) * s->channels);
}

ARTEL__INLINE void overlap_blocks(const max_row *r, const artel__window *w, int wide, int64_t to, int64_t c)
{
    const artel__pool_shape *s = r->s;
    block_floats top[WIDE], slope[WIDE];
    for (int b = 0; b < wide; b++) {
        top[b] = block_from(r->y, r->y_half, to + c + b * BLOCK);
        slope[b] = block_from(r->dy, r->dy_half, to + c + b * BLOCK);
    }
    for (int64_t i = w->begin[0]; i < w->end[0]; i++) {
        int64_t slot = (i * s->in[1] + w->begin[1]) % r->lines;
        for (int64_t j = w->begin[1]; j < w->end[1]; j++) {
            int64_t x = ((i * s->in[1] + j) * s->in[2] + w->begin[2]) * s->channels + c;
            float *sum = r->line + (slot * s->in[2] + w->begin[2]) * r->step + c;
            for (int64_t k = w->begin[2]; k < w->end[2]; k++, x += s->channels, sum += r->step)
                for (int b = 0; b < wide; b++) {
                    block_bits hit = block_from(r->x, r->x_half, x + b * BLOCK) == top[b];
                    top[b] = (block_floats)((block_bits)top[b] | hit);
                    block_store(sum + b * BLOCK, block_load(sum + b * BLOCK) + block_where(hit, slope[b]));
                }
            slot = slot + 1 < r->lines ? slot + 1 : 0;
        }
    }
}

static void overlap_channel(const max_row *r, const artel__window *w, int64_t to, int64_t c)
{
    const artel__pool_shape *s = r->s;
    float top = element_from(r->y, r->y_half, to + c), slope = element_from(r->dy, r->dy_half, to + c);
    for (int64_t i = w->begin[0]; i < w->end[0]; i++)
        for (int64_t j = w->begin[1]; j < w->end[1]; j++)
            for (int64_t k = w->begin[2]; k < w->end[2]; k++) {
                int64_t line = i * s->in[1] + j;
                if (element_from(r->x, r->x_half, (line * s->in[2] + k) * s->channels + c) != top) continue;
                float *sum = r->line + (line % r->lines * s->in[2] + k) * r->step + c;
                *sum = *sum + slope;
                return;
            }
}

static float *waiting_line(const max_row *r, int64_t line)
{
    return r->line + line % r->lines * r->s->in[2] * r->step;
}

static void clear_waiting(const max_row *r, int64_t begin, int64_t end)
{
    for (int64_t line = begin; line < end; line++) {
        float *sum = waiting_line(r, line);
        if (r->n == r->step)
            memset(sum, 0, (size_t)(r->s->in[2] * r->n) * sizeof *sum);
        else
            for (int64_t k = 0; k < r->s->in[2]; k++) memset(sum + k * r->step, 0, (size_t)r->n * sizeof *sum);
    }
}

static void finish_line(const max_row *r, int64_t line)
{
    const artel__pool_shape *s = r->s;
    int64_t at = line * s->in[2] * s->channels;
    float *sum = waiting_line(r, line);
    for (int64_t k = 0; r->relu && k < s->in[2]; k++) {
        int64_t x = at + k * s->channels;
        for (int64_t c = 0; c < r->n; c++)
            sum[k * r->step + c] = max_relu(element_from(r->x, r->x_half, x + c), sum[k * r->step + c]);
    }
    if (!r->waits) return;
    if (r->dx_half) {
        for (int64_t k = 0; k < s->in[2]; k++)
            artel__half_store(r->dx, true, at + k * s->channels, r->n, sum + k * r->step);
        return;
    }
    if (r->n == s->channels)
        artel__stream(r->dx + at, sum, s->in[2] * r->n);
    else
        for (int64_t k = 0; k < s->in[2]; k++) artel__stream(r->dx + at + k * s->channels, sum + k * r->step, r->n);
}

/* Lines up to `end` are reached by no window to come. */
static void finish_lines(const max_row *r, int64_t *done, int64_t *cleared, int64_t end)
{
    for (; *done < end; ++*done) {
        if (*done >= *cleared) clear_waiting(r, *done, ++*cleared);
        finish_line(r, *done);
    }
}

/* The first line of the input that windows behind line `line` of the output may reach. */
static int64_t first_to_come(const artel__pool_shape *s, int64_t line)
{
    int64_t all = s->in[0] * s->in[1], o0 = line / s->out[1], o1 = line % s->out[1], first = all;
    for (int k = 0; k < 2; k++) {
        if (k == 0 ? o1 + 1 == s->out[1] : o0 + 1 == s->out[0]) continue;
        artel__window w = artel__window_at(s, o0 + k, k == 0 ? o1 + 1 : 0, 0);
        int64_t begin = w.begin[0] * s->in[1] + w.begin[1];
        if (begin < first) first = begin;
    }
    return first;
}

static void overlap_row(const max_row *r)
{
    const artel__pool_shape *s = r->s;
    int64_t to = 0, cleared = 0, done = 0;
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++) {
        artel__window w = artel__window_at(s, line / s->out[1], line % s->out[1], 0);
        int64_t needed = (w.end[0] - 1) * s->in[1] + w.end[1], next = first_to_come(s, line);
        if (needed > cleared) {
            clear_waiting(r, cleared, needed);
            cleared = needed;
        }
        for (int64_t o = 0; o < s->out[2]; o++, to += s->channels) {
            int64_t c = 0;
            artel__window_along(s, 2, o, &w);
            fetch_ahead(s, &w, r->x, r->x_half, r->n);
            for (; c + WIDE * BLOCK <= r->n; c += WIDE * BLOCK) overlap_blocks(r, &w, WIDE, to, c);
            for (; c + SOME * BLOCK <= r->n; c += SOME * BLOCK) overlap_blocks(r, &w, SOME, to, c);
            for (; c + BLOCK <= r->n; c += BLOCK) overlap_blocks(r, &w, 1, to, c);
            for (; c < r->n; c++) overlap_channel(r, &w, to, c);
        }
        finish_lines(r, &done, &cleared, next);
    }
    finish_lines(r, &done, &cleared, s->in[0] * s->in[1]);
}

#endif
