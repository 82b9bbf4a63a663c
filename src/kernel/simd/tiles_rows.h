/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a product in blocks, gathered as bfloat16: rows of a matrix, or the channels of all taps of pixels side by
 * side, zeros for taps outside the image.
 */
#ifndef ARTEL_KERNEL_SIMD_TILES_ROWS_H
#define ARTEL_KERNEL_SIMD_TILES_ROWS_H

#include "kernel/simd/conv_walk.h"
#include "kernel/simd/tiles_pack.h"

typedef struct tiles_rows {
    conv_walk walk; /* ny > 0: rows are pixels, `valid` lines an image, each of all its taps' channels */
    int64_t group;  /* first channel */
    const float *a; /* else rows of a matrix */
    int64_t lda;
    bool half; /* either is stored as bfloat16 */
} tiles_rows;

static inline void tiles_clear(uint16_t *to, int64_t count)
{
    memset(to, 0, (size_t)count * sizeof *to);
}

/* Terms [from, end) of a row of taps whose first tap is at column x of the line of pixels at element `line`. A stretch
 * overwrites what the one before it wrote too much. */
static inline void tiles_taps(const tiles_rows *r, int64_t line, int64_t x, int64_t from, int64_t end, uint16_t *to)
{
    const conv_walk *w = &r->walk;
    if (w->dx == 1 && w->depth == w->c && x >= 0 && x + w->nx <= w->w) {
        tiles_along(artel__half_at(w->in, r->half, line + x * w->c + from), r->half, end - from, to);
        return;
    }
    for (int64_t k = from, next; k < end; k = next) {
        int64_t tap = k / w->depth, column = x + tap * w->dx;
        next = (tap + 1) * w->depth < end ? (tap + 1) * w->depth : end;
        if (column >= 0 && column < w->w)
            tiles_along(artel__half_at(w->in, r->half, line + column * w->c + k % w->depth), r->half, next - k,
                        to + (k - from));
        else
            tiles_clear(to + (k - from), (next - k + ARTEL__BLOCK - 1) / ARTEL__BLOCK * ARTEL__BLOCK);
    }
}

/* Terms [k0, k1) of pixel x of line y of an image. */
static inline void tiles_pixel(const tiles_rows *r, int64_t image, int64_t y, int64_t x, int64_t k0, int64_t k1,
                               uint16_t *to)
{
    const conv_walk *w = &r->walk;
    int64_t run = w->nx * w->depth, tap = run > 0 ? k0 / run : 0;
    for (int64_t k = k0, next; k < k1; k = next, tap++) {
        int64_t row = y * w->sy + w->y0 + tap * w->dy;
        next = (tap + 1) * run < k1 ? (tap + 1) * run : k1;
        if (row >= 0 && row < w->h)
            tiles_taps(r, (image * w->h + row) * w->w * w->c + r->group, x * w->sx + w->x0, k - tap * run,
                       next - tap * run, to + (k - k0));
        else
            tiles_clear(to + (k - k0), (next - k + ARTEL__BLOCK - 1) / ARTEL__BLOCK * ARTEL__BLOCK);
    }
}

/* Pixels of few channels, all taps: rows of taps are short runs that are read and written in one go. */
typedef struct tiles_runs {
    bool can;
    bool half;        /* of bfloat16 */
    int64_t run, row; /* elements of a row of taps; from one to the next */
    vec_mask left, right;
} tiles_runs;

/* Whether pixels of `terms` terms are gathered so, and how. */
static inline tiles_runs tiles_runs_of(const tiles_rows *r, int64_t terms)
{
    const conv_walk *w = &r->walk;
    int64_t run = w->nx * w->depth;
    if (VEC_LANES < 16 || w->dx != 1 || w->depth != w->c || run > ARTEL__BLOCK || terms != w->ny * run)
        return (tiles_runs){0};
    return (tiles_runs){
        true, r->half, run, w->w * w->c * w->dy, vec_range(0, (int)run), vec_range(0, (int)run - VEC_LANES)};
}

/* A pixel whose taps all lie inside the image, the first at `from`. */
VEC_INLINE void tiles_short_pixel(const tiles_runs *r, int64_t taps, const void *at, uint16_t *to)
{
#if defined(__AVX512BW__)
    if (r->half) {
        const uint16_t *from = at;
        __mmask32 mask = r->run < ARTEL__BLOCK ? (1u << r->run) - 1 : UINT32_MAX;
        for (; taps > 0; taps--, from += r->row, to += r->run)
            _mm512_storeu_si512(to, _mm512_maskz_loadu_epi16(mask, from));
        return;
    }
    for (const float *from = at; taps > 0; taps--, from += r->row, to += r->run)
        tiles_halves(vec_load_part(from, r->left), vec_load_part(from + VEC_LANES, r->right), to);
#else
    (void)r, (void)taps, (void)at, (void)to;
#endif
}

/* Terms [k0, k1) of `count` rows from `row` on, `pitch` elements apart; a block behind each may be written. */
static inline void tiles_gather(const tiles_rows *r, int64_t row, int64_t count, int64_t k0, int64_t k1, uint16_t *to,
                                int64_t pitch)
{
    const conv_walk *w = &r->walk;
    if (k0 >= k1) return;
    if (w->ny == 0) {
        for (int64_t i = 0; i < count; i++)
            tiles_along(artel__half_at(r->a, r->half, (row + i) * r->lda + k0), r->half, k1 - k0, to + i * pitch);
        return;
    }
    int64_t line = row / w->pixels, x = row % w->pixels, image = line / w->valid, y = line % w->valid,
            whole = (k1 - k0) / ARTEL__BLOCK;
    tiles_runs runs = tiles_runs_of(r, k1 - k0);
    for (int64_t i = 0; i < count; i++) {
        int64_t top = y * w->sy + w->y0, left = x * w->sx + w->x0;
        bool inside = top >= 0 && left >= 0 && top + (w->ny - 1) * w->dy < w->h && left + w->nx <= w->w;
        if ((k1 - k0) % ARTEL__BLOCK > 0) tiles_clear(to + i * pitch + whole * ARTEL__BLOCK, ARTEL__BLOCK);
        if (runs.can && inside)
            tiles_short_pixel(&runs, w->ny, artel__half_at(w->in, r->half, ((image * w->h + top) * w->w + left) * w->c),
                              to + i * pitch);
        else
            tiles_pixel(r, image, y, x, k0, k1, to + i * pitch);
        if (++x < w->pixels) continue;
        x = 0;
        if (++y < w->valid) continue;
        y = 0;
        image++;
    }
}

#endif
