/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 operands for AVX512_BF16: two steps of the reduction at once, as pairs (micro_step.h).
 *
 * A cut of the depth at a time, the panels of a rectangle are copied to scratch as pairs, turned ones on the way, where
 * they stay in the second-level cache; then each tile of rows is copied to the first-level cache and meets them.
 * Partial chains wait in the output. Behind an odd depth a pair ends with +0 times -0, which leaves every chain as it
 * is. The rows of a convolution are its pixels, with the channels of all taps side by side, zeros for taps outside the
 * image. Included behind micro_vec_avx512.h, in files compiled for AVX512_BF16.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_PAIRS_H
#define ARTEL_KERNEL_SIMD_PRODUCT_PAIRS_H

#include "kernel/simd/chain.h"
#include "kernel/simd/conv_walk.h"
#include "kernel/simd/micro_transpose.h"
#include "kernel/simd/product_grid.h"
#include "kernel/simd/product_tile.h"
#include "kernel/simd/room.h"

enum {
    PAIRS_LINES = 32, /* of VEC_LANES pairs, at most, in a cut: a tile of them lies in the first-level cache */
    PAIRS_DEPTH = PAIRS_LINES * VEC_LANES,
    PAIRS_PITCH = PAIRS_DEPTH + 16, /* floats between rows of a tile */
    PAIRS_FEW = 4                   /* rows below which copying the weights would cost more than is won */
};

typedef struct pairs_product {
    artel__product_forward p; /* of a convolution, its pixels by its columns; a and lda are not used */
    conv_walk walk;           /* of a convolution: where its pixels lie; else ny is 0 */
    bool normalise;           /* chains end with + 0.0f */
} pairs_product;

/* A cut of the depth, and where its operands go. */
typedef struct pairs_cut {
    const artel__product_forward *p;
    const conv_walk *walk;
    product_rect r;
    int64_t k0, k1;  /* steps; only the last cut has an odd number */
    int64_t depth;   /* pairs */
    float *w, *rows; /* [panel][pair][column], [row][pair] */
} pairs_cut;

/* 16 pairs of 32 neighbours. */
VEC_INLINE vec pairs_of(vec left, vec right)
{
    const __m512i halves = _mm512_set_epi16(61, 63, 57, 59, 53, 55, 49, 51, 45, 47, 41, 43, 37, 39, 33, 35, 29, 31, 25,
                                            27, 21, 23, 17, 19, 13, 15, 9, 11, 5, 7, 1, 3);
    return _mm512_castsi512_ps(
        _mm512_permutex2var_epi16(_mm512_castps_si512(left), halves, _mm512_castps_si512(right)));
}

/* `count` neighbours as pairs, whole vectors of them written; +0 behind the last. */
static void pairs_along(const float *from, int64_t count, float *to)
{
    int64_t k = 0;
    for (; k + ARTEL__PANEL <= count; k += ARTEL__PANEL)
        vec_store(to + k / 2, pairs_of(vec_load(from + k), vec_load(from + k + VEC_LANES)));
    if (k == count) return;
    int left = (int)(count - k);
    vec_store(to + k / 2, pairs_of(vec_load_part(from + k, vec_range(0, left)),
                                   vec_load_part(from + k + VEC_LANES, vec_range(-VEC_LANES, left - VEC_LANES))));
}

/* A panel of weights as they are: two rows become one. */
static void pairs_straight(const pairs_cut *c, int64_t panel, int64_t width, float *to)
{
    const float *from = c->p->w + panel * ARTEL__PANEL * c->p->k + c->k0 * width;
    for (int64_t k = c->k0; k < c->k1; k += 2, from += 2 * width, to += width) {
        for (int64_t j = 0; j < width; j += VEC_LANES) {
            vec_store(to + j, vec_join(vec_load(from + j), k + 1 < c->k1 ? vec_load(from + width + j) : vec_zero()));
        }
    }
}

/* A panel of turned weights, 32 steps at a time: what is turned are pairs. */
static void pairs_turned(const pairs_cut *c, int64_t panel, int64_t width, float *to)
{
    const artel__product_forward *p = c->p;
    _Alignas(64) float block[ARTEL__PANEL * VEC_LANES];
    int64_t row = panel * ARTEL__PANEL, rows = p->n - row < width ? p->n - row : width;
    for (int64_t k = c->k0; k < c->k1; k += ARTEL__PANEL, to += VEC_LANES * width) {
        int64_t count = c->k1 - k < ARTEL__PANEL ? c->k1 - k : ARTEL__PANEL,
                pitch = artel__panel_width(p->k, k / ARTEL__PANEL);
        const float *from = p->w + artel__panels_offset(p->n, p->k, row, k);
        for (int64_t i = 0; i < rows; i++) pairs_along(from + i * pitch, count, block + i * VEC_LANES);
        transpose_block(block, VEC_LANES, to, width, rows, (count + 1) / 2);
    }
}

/* The panels of the rectangle, one behind the other. */
static void pairs_weights(const pairs_cut *c)
{
    float *to = c->w;
    for (int64_t panel = c->r.panel0; panel < c->r.panel1; panel++, to += ARTEL__PANEL * c->depth) {
        int64_t width = artel__panel_width(c->p->n, panel);
        if (c->p->turned)
            pairs_turned(c, panel, width, to);
        else
            pairs_straight(c, panel, width, to);
        if ((c->k1 - c->k0) % 2 == 0) continue;
        for (int64_t j = 0; j < width; j++) {
            float *end = to + (c->depth - 1) * width + j;
            uint32_t bits;
            memcpy(&bits, end, sizeof bits);
            bits = (bits & 0xffff0000u) | 0x8000u;
            memcpy(end, &bits, sizeof bits);
        }
    }
}

/* Pairs of zeros for `count` steps, whole vectors of them. */
static void pairs_clear(float *to, int64_t count)
{
    for (int64_t k = 0; k < count; k += ARTEL__PANEL) vec_store(to + k / 2, vec_zero());
}

/* A row of taps of the pixel whose first tap is at column x: steps [from, end) of it. Each stretch overwrites what the
 * one before it wrote too much. */
static void pairs_taps(const conv_walk *w, const float *line, int64_t x, int64_t from, int64_t end, float *to)
{
    if (w->dx == 1 && x >= 0 && x + w->nx <= w->w) {
        pairs_along(line + x * w->c + from, end - from, to);
        return;
    }
    for (int64_t k = from, next; k < end; k = next) {
        int64_t tap = k / w->depth, column = x + tap * w->dx;
        next = (tap + 1) * w->depth < end ? (tap + 1) * w->depth : end;
        if (column >= 0 && column < w->w)
            pairs_along(line + column * w->c + k % w->depth, next - k, to + (k - from) / 2);
        else
            pairs_clear(to + (k - from) / 2, next - k);
    }
}

/* Pixel x of line y of an image. */
static void pairs_pixel(const pairs_cut *c, int64_t image, int64_t y, int64_t x, float *to)
{
    const conv_walk *w = c->walk;
    int64_t run = w->nx * w->depth, tap = c->k0 / run;
    for (int64_t k = c->k0, next; k < c->k1; k = next, tap++) {
        int64_t row = y * w->sy + w->y0 + tap * w->dy;
        next = (tap + 1) * run < c->k1 ? (tap + 1) * run : c->k1;
        if (row >= 0 && row < w->h)
            pairs_taps(w, w->in + (image * w->h + row) * w->w * w->c, x * w->sx + w->x0, k - tap * run,
                       next - tap * run, to + (k - c->k0) / 2);
        else
            pairs_clear(to + (k - c->k0) / 2, next - k);
    }
}

/* Rows [row, row + mr) to the first-level cache. */
static void pairs_rows(const pairs_cut *c, int64_t row, int mr)
{
    const artel__product_forward *p = c->p;
    const conv_walk *w = c->walk;
    if (w->ny == 0) {
        for (int i = 0; i < mr; i++)
            pairs_along(p->a + (row + i) * p->lda + c->k0, c->k1 - c->k0, c->rows + i * PAIRS_PITCH);
        return;
    }
    int64_t line = row / w->pixels, x = row % w->pixels, image = line / w->lines, y = line % w->lines;
    for (int i = 0; i < mr; i++) {
        pairs_pixel(c, image, y, x, c->rows + i * PAIRS_PITCH);
        if (++x < w->pixels) continue;
        x = 0;
        if (++y < w->lines) continue;
        y = 0;
        image++;
    }
}

/* One tile of rows against the panels. */
static void pairs_sweep(const pairs_cut *c, tile *t, int64_t row, int mr)
{
    const artel__product_forward *p = c->p;
    int half = (mr + 1) / 2;
    pairs_rows(c, row, mr);
    t->a0 = c->rows;
    t->a1 = t->a0 + half * PAIRS_PITCH;
    for (int64_t panel = c->r.panel0; panel < c->r.panel1; panel++) {
        int64_t column = panel * ARTEL__PANEL;
        t->b = c->w + (panel - c->r.panel0) * ARTEL__PANEL * c->depth;
        t->sb = artel__panel_width(p->n, panel);
        t->c0 = p->out + row * p->ldo + column;
        t->c1 = t->c0 + half * p->ldo;
        t->last = p->n - column < TILE_COLUMNS ? (int)(p->n - column) : TILE_COLUMNS;
        t->bias = p->bias && c->k1 == p->k ? p->bias + column : NULL;
        product_tile(mr, t);
    }
}

static void pairs_rectangle(const pairs_product *of, product_rect r, float *w, float *rows)
{
    const artel__product_forward *p = &of->p;
    int64_t lines = artel__panel_count(p->k), cuts = (lines + PAIRS_LINES - 1) / PAIRS_LINES,
            tiles = tile_count(r.row1 - r.row0);
    if (cuts == 0) cuts = 1;
    for (int64_t cut = 0; cut < cuts; cut++) {
        bool last = cut + 1 == cuts;
        pairs_cut c = {.p = p, .walk = &of->walk, .r = r, .w = w, .rows = rows};
        c.k0 = ARTEL__PANEL * tile_cut(lines, cuts, cut); /* where a panel of turned weights begins */
        c.k1 = last ? p->k : ARTEL__PANEL * tile_cut(lines, cuts, cut + 1);
        c.depth = (c.k1 - c.k0 + 1) / 2;
        segment all = {0, 0, c.depth};
        tile t = {
            .sa = PAIRS_PITCH, .segments = &all, .count = 1, .sc = p->ldo, .load = cut > 0, .claim = product_claims(p)};
        t.relu = last && p->activation == ARTEL__FUSED_RELU;
        t.normalise = last && of->normalise;
        t.narrow = last ? p->narrow : ARTEL_DTYPE_FLOAT32;
        pairs_weights(&c);
        for (int64_t i = 0; i < tiles; i++) {
            int64_t row = r.row0 + tile_cut(r.row1 - r.row0, tiles, i);
            pairs_sweep(&c, &t, row, (int)(r.row0 + tile_cut(r.row1 - r.row0, tiles, i + 1) - row));
        }
    }
}

/* Panels that stay in the second-level cache as pairs, beside as many that come from memory. */
static product_grid pairs_grid(const artel__product_forward *p)
{
    product_grid g = product_grid_make(p->m, p->k < 2 * PAIRS_DEPTH ? p->k : 2 * PAIRS_DEPTH, p->n, 56, 14);
    g.by_rows = p->m > p->n; /* every thread reads all of the smaller operand */
    return g;
}

static int64_t pairs_tasks(const artel__product_forward *p)
{
    product_grid g = pairs_grid(p);
    return g.blocks * g.groups;
}

typedef struct pairs_room {
    float *w, *rows;
    size_t bytes;
} pairs_room;

static pairs_room pairs_lay(const artel__product_forward *p, char *base)
{
    pairs_room room = {0};
    int64_t lines = artel__panel_count(p->k), depth = (lines < PAIRS_LINES ? lines : PAIRS_LINES) * VEC_LANES;
    room.w = room_take(&room.bytes, base, pairs_grid(p).wide * ARTEL__PANEL * depth * 4);
    room.rows = room_take(&room.bytes, base, TILE_ROWS * PAIRS_PITCH * 4);
    return room;
}

/* Why the product is not computed as one of pairs; NULL: it can be. */
static const char *pairs_refuse(const artel__product_forward *p)
{
    if (p->held != ARTEL_DTYPE_BFLOAT16) return "operands are not bfloat16";
    if (p->arithmetic != ARTEL__ARITHMETIC_CHAIN) return chain_refuses(p->arithmetic);
    return p->m < PAIRS_FEW ? "too few rows" : NULL;
}

static void pairs_run(const pairs_product *of, int64_t begin, int64_t end, void *scratch)
{
    pairs_room room = pairs_lay(&of->p, scratch);
    product_grid g = pairs_grid(&of->p);
    product_range range = {.begin = begin, .end = end};
    product_rect r;
    while (product_grid_next(&g, &range, &r)) pairs_rectangle(of, r, room.w, room.rows);
    vec_leave();
}

#endif
