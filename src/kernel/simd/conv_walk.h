/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution walks over its input: lines of output pixels, taps at constant distances, zero padding by copying.
 *
 * Forward and weight gradient walk over x; the data gradient walks over dy, once for each phase of the strides, with
 * unit steps. Lines are numbered through all images, image * lines + y. For a band of lines each gets a pointer to the
 * input of its first pixel's first tap; taps and pixels lie at constant offsets from there. Where taps may leave the
 * image, the band's input is copied into a strip with its border of zeros, one for each image that the band touches.
 */
#ifndef ARTEL_KERNEL_SIMD_CONV_WALK_H
#define ARTEL_KERNEL_SIMD_CONV_WALK_H

#include <stdbool.h>
#include <string.h>

#include "kernel/conv.h"

typedef struct conv_walk {
    const float *in;
    int64_t images, h, w, c;      /* what is read */
    int64_t lines, valid, pixels; /* lines an image, of which the first `valid` exist; pixels a line */
    int64_t sy, sx;               /* input rows a line, input columns a pixel */
    int64_t y0, x0;               /* input position of the first tap of line 0, pixel 0; may lie outside */
    int64_t ny, nx, dy, dx;       /* taps and their distances */
    int64_t depth;                /* channels of a tap: c / groups */
    int64_t first, next_y,
        next_x;   /* which row of the weights the first tap starts at, and how many further the next ones */
    bool direct;  /* every tap lies inside, or those outside are left out: no strip */
    bool bare;    /* taps lie outside and are left out */
    int64_t wide; /* input columns of a row as the tile sees them */
} conv_walk;

typedef struct conv_line {
    const float *in;
    int64_t image, y;
} conv_line;

static inline void conv_walk_finish(conv_walk *w)
{
    int64_t below = (w->valid - 1) * w->sy + w->y0 + (w->ny - 1) * w->dy,
            across = (w->pixels - 1) * w->sx + w->x0 + (w->nx - 1) * w->dx;
    w->direct = w->ny == 0 || w->nx == 0 || w->pixels <= 0 || w->valid <= 0 ||
                (w->y0 >= 0 && w->x0 >= 0 && below < w->h && across < w->w);
    w->wide = w->direct ? w->w : (w->pixels - 1) * w->sx + (w->nx - 1) * w->dx + 1;
}

/* The positions i of 0 .. count - 1 with 0 <= at + i * step < extent: *first <= i < *last. */
static inline void conv_range(int64_t at, int64_t step, int64_t extent, int64_t count, int64_t *first, int64_t *last)
{
    *first = at < 0 ? (-at + step - 1) / step : 0;
    *last = extent > at ? (extent - 1 - at) / step + 1 : 0;
    if (*last > count) *last = count;
    if (*first > *last) *first = *last;
}

/* Pixels of a line of which tap column x lies inside the image. */
static inline void conv_pixels_inside(const conv_walk *w, int64_t x, int64_t *first, int64_t *last)
{
    conv_range(w->x0 + x * w->dx, w->sx, w->w, w->pixels, first, last);
}

/* Lines of an image of which tap row y lies inside it. */
static inline void conv_lines_inside(const conv_walk *w, int64_t y, int64_t *first, int64_t *last)
{
    conv_range(w->y0 + y * w->dy, w->sy, w->h, w->lines, first, last);
}

static inline int64_t conv_span(const conv_walk *w)
{
    return (w->ny - 1) * w->dy + 1;
}

/* Floats of strip that a band of `count` lines may need. */
static inline int64_t conv_strip_floats(const conv_walk *w, int64_t count)
{
    int64_t runs = count / (w->lines > 0 ? w->lines : 1) + 2;
    if (w->direct) return 0;
    return (count * w->sy + (runs < count ? runs : count) * conv_span(w)) * w->wide * w->c;
}

/* Input row y of an image, columns x0 .. x0 + wide - 1, zeros outside. */
static inline void conv_copy_row(const conv_walk *w, const float *image, int64_t y, float *to)
{
    int64_t left = w->x0 < 0 ? -w->x0 : 0, from = w->x0 < 0 ? 0 : w->x0;
    if (left > w->wide) left = w->wide;
    int64_t count = w->w - from < w->wide - left ? w->w - from : w->wide - left;
    if (count < 0 || y < 0 || y >= w->h) count = 0;
    memset(to, 0, (size_t)(left * w->c) * sizeof(float));
    if (count > 0) memcpy(to + left * w->c, image + (y * w->w + from) * w->c, (size_t)(count * w->c) * sizeof(float));
    memset(to + (left + count) * w->c, 0, (size_t)((w->wide - left - count) * w->c) * sizeof(float));
}

/* Fills `line` for the existing ones of lines [q0, q1), copying strips where they are needed; returns how many. */
static inline int64_t conv_band(const conv_walk *w, int64_t q0, int64_t q1, float *strip, conv_line *line)
{
    int64_t found = 0;
    while (q0 < q1) {
        int64_t image = q0 / w->lines, y = q0 % w->lines, end = w->lines < y + (q1 - q0) ? w->lines : y + (q1 - q0);
        const float *in = w->in + image * w->h * w->w * w->c, *base = in + (w->y0 * w->w + w->x0) * w->c;
        q0 += end - y;
        if (end > w->valid) end = w->valid;
        if (y >= end) continue;
        int64_t pitch = w->wide * w->c, rows = (end - y - 1) * w->sy + conv_span(w);
        if (!w->direct) {
            base = strip - y * w->sy * pitch;
            for (int64_t r = 0; r < rows; r++) conv_copy_row(w, in, y * w->sy + w->y0 + r, strip + r * pitch);
            strip += rows * pitch;
        } else if (w->ny == 0 || w->nx == 0) {
            base = in;
            pitch = 0;
        }
        for (; y < end; y++) line[found++] = (conv_line){base + y * w->sy * pitch, image, y};
    }
    return found;
}

/* The walk of forward and weight gradient. */
static inline conv_walk conv_walk_forward(const artel__conv2d_shape *s, const float *x)
{
    conv_walk w = {.in = x,
                   .images = s->images,
                   .h = s->ih,
                   .w = s->iw,
                   .c = s->ic,
                   .lines = s->oh,
                   .valid = s->oh,
                   .pixels = s->ow,
                   .sy = s->sh,
                   .sx = s->sw,
                   .y0 = -s->top,
                   .x0 = -s->left,
                   .ny = s->kh,
                   .nx = s->kw,
                   .dy = s->dh,
                   .dx = s->dw,
                   .depth = s->ic / s->groups,
                   .first = 0,
                   .next_y = s->kw,
                   .next_x = 1};
    conv_walk_finish(&w);
    return w;
}

/* One axis of the data gradient: the taps that reach phase `phase` of a stride, in reversed order. */
typedef struct conv_phase {
    int64_t count, first, step; /* taps, index of the first in the reversed kernel, and from one to the next */
    int64_t start, distance;    /* position in dy of the first tap for pixel 0, and from one tap to the next */
} conv_phase;

static inline conv_phase conv_phase_make(int64_t phase, int64_t kernel, int64_t stride, int64_t dilation,
                                         int64_t before)
{
    conv_phase p = {0, 0, 1, 0, 1};
    for (int64_t r = 0; r < kernel; r++) {
        int64_t at = phase + before - (kernel - 1 - r) * dilation;
        if (at % stride != 0) continue;
        if (p.count == 0) {
            p.first = r;
            p.start = at / stride;
        } else if (p.count == 1) {
            p.step = r - p.first;
            p.distance = at / stride - p.start;
        }
        p.count++;
    }
    return p;
}

/* The walk over dy that gives the pixels (phase_y + sh*i, phase_x + sw*j) of dx. */
static inline conv_walk conv_walk_data(const artel__conv2d_shape *s, const float *dy, int64_t phase_y, int64_t phase_x)
{
    conv_phase v = conv_phase_make(phase_y, s->kh, s->sh, s->dh, s->top),
               h = conv_phase_make(phase_x, s->kw, s->sw, s->dw, s->left);
    conv_walk w = {.in = dy,
                   .images = s->images,
                   .h = s->oh,
                   .w = s->ow,
                   .c = s->oc,
                   .lines = (s->ih + s->sh - 1) / s->sh,
                   .valid = (s->ih - phase_y + s->sh - 1) / s->sh,
                   .pixels = (s->iw - phase_x + s->sw - 1) / s->sw,
                   .sy = 1,
                   .sx = 1,
                   .y0 = v.start,
                   .x0 = h.start,
                   .ny = v.count,
                   .nx = h.count,
                   .dy = v.distance,
                   .dx = h.distance,
                   .depth = s->oc / s->groups,
                   .first = v.first * s->kw + h.first,
                   .next_y = v.step * s->kw,
                   .next_x = h.step};
    if (w.valid < 0 || phase_y >= s->ih) w.valid = 0;
    if (w.pixels < 0 || phase_x >= s->iw) w.pixels = 0;
    conv_walk_finish(&w);
    return w;
}

#endif
