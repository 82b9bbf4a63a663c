/* SPDX-License-Identifier: Apache-2.0 */
/* The pixels that no tap reaches in the data gradient of a 1x1 convolution with strides: zeros, three of four with
 * strides of two.
 *
 * A pass of its own over them is bound by memory. They are written a few at a time between the tiles that compute their
 * neighbours, past the caches when there are many, so that memory takes them while registers work.
 */
#ifndef ARTEL_KERNEL_SIMD_CONV_GAPS_H
#define ARTEL_KERNEL_SIMD_CONV_GAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Of an image that is written: pixel (y * sy, x * sx) is computed, the others near it are cleared. */
typedef struct conv_gaps {
    int64_t sy, sx, h, w; /* sy = 0: nothing is cleared */
    int64_t row, pixel;   /* floats */
    bool stream;          /* lines are whole and many */
} conv_gaps;

/* Neighbouring pixels of a line that are computed, and how far their surroundings have been cleared. */
typedef struct conv_run {
    float *out;
    int64_t rows, wide; /* what lies around them, themselves included; rows 0: nothing is cleared */
    int64_t y, x;       /* the next one */
} conv_run;

static inline conv_run conv_run_make(const conv_gaps *g, float *out, int64_t y, int64_t x, int64_t pixels)
{
    conv_run r = {.out = out};
    if (g->sy == 0 || pixels == 0) return r;
    r.rows = g->h - y * g->sy < g->sy ? g->h - y * g->sy : g->sy;
    r.wide = g->w - x * g->sx < pixels * g->sx ? g->w - x * g->sx : pixels * g->sx;
    return r;
}

static inline void conv_clear_pixel(bool stream, float *to, int64_t count)
{
    if (!stream) {
        memset(to, 0, (size_t)count * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < count; i += VEC_LANES) vec_stream(to + i, vec_zero());
}

/* The next `most` pixels of the run, `count` channels from `first` on; returns how many are left of `most`. */
static inline int64_t conv_clear(const conv_gaps *g, conv_run *r, int64_t most, int64_t first, int64_t count)
{
    while (most > 0 && r->y < r->rows) {
        if (r->y > 0 || r->x % g->sx != 0) {
            conv_clear_pixel(g->stream, r->out + r->y * g->row + r->x * g->pixel + first, count);
            most--;
        }
        if (++r->x == r->wide) r->x = 0, r->y++;
    }
    return most;
}

#endif
