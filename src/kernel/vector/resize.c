/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing of images; see simd.h for how this file is compiled, kernel/shape_ops.h for the contracts. Inner loops run
 * over channels. */
#include "kernel/simd/simd.h"

#include "kernel/resize_formula.h"

#include <string.h>

static int64_t resize_forward_tasks(const void *params)
{
    const artel__resize_forward *p = params;
    return p->rows * p->out_h;
}

static void nearest_line(const artel__resize_forward *p, const float *x, float *y)
{
    int64_t factor = p->out_w / p->in_w;
    for (int64_t o = 0; o < p->out_w; o++)
        memcpy(y + o * p->channels, x + o / factor * p->channels, (size_t)p->channels * sizeof *y);
}

/* One line of y between lines `top` and `bottom` of x. */
static void bilinear_line(const artel__resize_forward *p, const float *top, const float *bottom, float down, float *y)
{
    int64_t channels = p->channels;
    for (int64_t o = 0; o < p->out_w; o++, y += channels) {
        resize_tap w = resize_tap_of(o, p->in_w, p->out_w);
        const float *tl = top + w.lower * channels, *tr = top + w.upper * channels;
        const float *bl = bottom + w.lower * channels, *br = bottom + w.upper * channels;
        for (int64_t c = 0; c < channels; c++) y[c] = resize_blend(tl[c], tr[c], bl[c], br[c], w.share, down);
    }
}

static void resize_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__resize_forward *p = params;
    int64_t line = p->in_w * p->channels;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / p->out_h, o = task % p->out_h;
        const float *x = p->x + row * p->in_h * line;
        float *y = p->y + task * p->out_w * p->channels;
        resize_tap h = resize_tap_of(o, p->in_h, p->out_h);
        if (p->method == ARTEL__RESIZE_NEAREST)
            nearest_line(p, x + o / (p->out_h / p->in_h) * line, y);
        else
            bilinear_line(p, x + h.lower * line, x + h.upper * line, h.share, y);
    }
}

static int64_t resize_gradient_tasks(const void *params)
{
    return ((const artel__resize_gradient *)params)->rows;
}

static void add_scaled(float *dx, const float *dy, float weight, int64_t n)
{
    for (int64_t c = 0; c < n; c++) dx[c] = dx[c] + dy[c] * weight;
}

static void scatter_line(const artel__resize_gradient *p, float *top, float *bottom, float down, const float *dy)
{
    int64_t n = p->channels;
    for (int64_t o = 0; o < p->out_w; o++, dy += n) {
        resize_tap w = resize_tap_of(o, p->in_w, p->out_w);
        add_scaled(top + w.lower * n, dy, (1.0f - down) * (1.0f - w.share), n);
        add_scaled(top + w.upper * n, dy, (1.0f - down) * w.share, n);
        add_scaled(bottom + w.lower * n, dy, down * (1.0f - w.share), n);
        add_scaled(bottom + w.upper * n, dy, down * w.share, n);
    }
}

static void resize_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__resize_gradient *p = params;
    int64_t line = p->in_w * p->channels;
    (void)scratch;
    for (int64_t row = begin; row < end; row++) {
        float *dx = p->dx + row * p->in_h * line;
        memset(dx, 0, (size_t)(p->in_h * line) * sizeof *dx);
        for (int64_t o = 0; o < p->out_h; o++) {
            const float *dy = p->dy + (row * p->out_h + o) * p->out_w * p->channels;
            resize_tap h = resize_tap_of(o, p->in_h, p->out_h);
            if (p->method == ARTEL__RESIZE_BILINEAR) {
                scatter_line(p, dx + h.lower * line, dx + h.upper * line, h.share, dy);
                continue;
            }
            float *to = dx + o / (p->out_h / p->in_h) * line;
            int64_t factor = p->out_w / p->in_w;
            for (int64_t i = 0; i < p->out_w; i++)
                for (int64_t c = 0; c < p->channels; c++)
                    to[i / factor * p->channels + c] = to[i / factor * p->channels + c] + dy[i * p->channels + c];
        }
    }
}

ARTEL__SIMD_KERNEL(resize_forward, .tasks = resize_forward_tasks, .run = resize_forward_run);
ARTEL__SIMD_KERNEL(resize_gradient, .tasks = resize_gradient_tasks, .run = resize_gradient_run);
