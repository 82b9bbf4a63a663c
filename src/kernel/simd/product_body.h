/* SPDX-License-Identifier: Apache-2.0 */
/* product_forward for one instruction set; included behind a micro_vec_*.h.
 *
 * A block of panels stays in the second-level cache while the rows pass over it; a tile of rows stays in the
 * first-level cache while it meets the panels. Turned weights are transposed, some panels at a time, just before the
 * rows pass over them, and the next ones fetched meanwhile. Depths beyond PRODUCT_DEPTH are cut; the partial chains
 * wait in the output, which changes no bit. Deep products of many columns are cut the other way: see product_block.h.
 * How a tile meets its rows: product_row.h.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_BODY_H
#define ARTEL_KERNEL_SIMD_PRODUCT_BODY_H

#include <string.h>

#include "kernel/simd/micro_transpose.h"
#include "kernel/simd/product_block.h"
#include "kernel/simd/product_grid.h"
#include "kernel/simd/product_row.h"

/* One tile of rows against panels [p0, p1), reduction [k0, k1). `t` holds A and the rows' stride of C; more tiles
 * follow or this is the last one. */
static void product_sweep(const artel__product_forward *p, tile *t, int mr, int64_t row, int64_t p0, int64_t p1,
                          int64_t k1, bool more)
{
    int half = (mr + 1) / 2;
    int64_t end = p1 * ARTEL__PANEL < p->n ? p1 * ARTEL__PANEL : p->n;
    for (int64_t panel = p0; panel < p1; panel++) {
        int64_t width = artel__panel_width(p->n, panel);
        for (int64_t strip = 0; strip < width; strip += TILE_COLUMNS) {
            int64_t column = panel * ARTEL__PANEL + strip;
            if (column >= p->n) break;
            t->b = p->w + panel * ARTEL__PANEL * p->k + strip;
            t->sb = width;
            t->c0 = p->out + row * p->ldo + column;
            t->c1 = t->c0 + half * p->ldo;
            t->last = p->n - column < TILE_COLUMNS ? (int)(p->n - column) : TILE_COLUMNS;
            t->bias = p->bias && k1 == p->k ? p->bias + column : NULL;
            t->claimed = column + TILE_COLUMNS < end ? TILE_COLUMNS
                         : more                      ? mr * p->ldo + p0 * ARTEL__PANEL - column
                                                     : 0;
            product_tile(mr, t);
            t->from0 = NULL;
        }
    }
}

/* Lines of turned weights to be fetched with each burst of a rectangle of so many tiles. */
static int64_t product_turned_burst(const artel__product_forward *p, const product_rect *r, int64_t tiles)
{
    int64_t bursts = (p->k + TILE_BURST - 1) / TILE_BURST * (r->panel1 - r->panel0) * tiles;
    int64_t lines = (r->panel1 - r->panel0) * ARTEL__PANEL * p->k / 16;
    return bursts > 0 ? (lines + bursts - 1) / bursts : 0;
}

/* `next`: what is fetched instead of A; NULL: A. */
static void product_rectangle(const artel__product_forward *p, product_rect r, float *rows, tile_ahead *next)
{
    int64_t tiles = tile_count(r.row1 - r.row0), cuts = product_cuts(p);
    bool collides = product_collides(p),
         stream = cuts == 1 && !p->narrow && product_streams(p->out, p->m * p->n, p->ldo, p->k);
    bool claim = !stream && product_claims(p);
    if (cuts == 0) cuts = 1;
    for (int64_t cut = 0; cut < cuts; cut++) {
        int64_t k0 = tile_cut(p->k, cuts, cut), k1 = tile_cut(p->k, cuts, cut + 1);
        segment all = {k0, k0, k1 - k0};
        tile t = {.sa = p->lda,
                  .segments = &all,
                  .count = 1,
                  .sc = p->ldo,
                  .load = cut > 0,
                  .claim = claim,
                  .stream = stream};
        t.relu = k1 == p->k && p->activation == ARTEL__FUSED_RELU;
        t.narrow = k1 == p->k ? p->narrow : ARTEL_DTYPE_FLOAT32;
        for (int64_t i = 0; i < tiles; i++) {
            int64_t row = r.row0 + tile_cut(r.row1 - r.row0, tiles, i);
            int mr = (int)(r.row0 + tile_cut(r.row1 - r.row0, tiles, i + 1) - row);
            t.a0 = p->a + row * p->lda;
            t.a1 = t.a0 + (mr + 1) / 2 * p->lda;
            t.sa = p->lda;
            if (collides) product_take(&t, mr, p->n - r.panel0 * ARTEL__PANEL, rows);
            tile_ahead ahead =
                product_ahead(p, &t, row + mr, i + 2 < tiles ? (int64_t)mr : r.row1 - row - mr, r.panel1 - r.panel0);
            t.ahead = next ? next : &ahead;
            if (next) t.burst = product_turned_burst(p, &r, tiles);
            product_sweep(p, &t, mr, row, r.panel0, r.panel1, k1, i + 1 < tiles);
        }
    }
}

/* Panels [p0, p1) of turned weights, one behind the other. */
static void product_turn(const artel__product_forward *p, int64_t p0, int64_t p1, float *to)
{
    for (int64_t panel = p0; panel < p1; panel++, to += ARTEL__PANEL * p->k) {
        int64_t width = artel__panel_width(p->n, panel), row = panel * ARTEL__PANEL,
                rows = p->n - row < width ? p->n - row : width;
        for (int64_t k = 0; k < p->k; k += ARTEL__PANEL) {
            int64_t columns = p->k - k < ARTEL__PANEL ? p->k - k : ARTEL__PANEL;
            const float *from = p->w + artel__panels_offset(p->n, p->k, row, k);
            transpose_block(from, artel__panel_width(p->k, k / ARTEL__PANEL), to + k * width, width, rows, columns);
        }
        for (int64_t k = 0; k < p->k && rows < width; k++)
            memset(to + k * width + rows, 0, (size_t)(width - rows) * sizeof(float));
    }
}

/* A rectangle of turned weights, behind which as many as `follow` panels will be needed: a stretch of each panel of the
 * source. */
static void product_rectangle_turned(const artel__product_forward *p, product_rect r, int64_t follow, float *rows,
                                     float *turned)
{
    artel__product_forward straight = *p;
    int64_t lines = follow * ARTEL__PANEL * ARTEL__PANEL / 16;
    const float *from = p->w + r.panel1 * ARTEL__PANEL * ARTEL__PANEL;
    tile_ahead next = {(const char *)from, lines, lines, p->n * ARTEL__PANEL * 4 - lines * 64,
                       follow > 0 ? artel__panel_count(p->k) : 0};
    product_turn(p, r.panel0, r.panel1, turned);
    straight.w = turned - r.panel0 * ARTEL__PANEL * p->k;
    product_rectangle(&straight, r, rows, &next);
}

/* Few panels of turned weights are held at once: they come from memory, and go no further than the second-level cache.
 */
static product_grid product_forward_grid(const artel__product_forward *p)
{
    bool shallow = p->k < PRODUCT_DEPTH;
    product_grid g = product_grid_make(p->m, shallow != p->turned ? p->k : PRODUCT_DEPTH, p->n, 56, 14);
    g.by_rows = p->m > p->n && !p->turned; /* every thread reads all of the smaller operand */
    if (product_in_blocks(p)) g.wide = product_block_panels(p);
    return g;
}

static int64_t product_forward_tasks(const void *params)
{
    product_grid g = product_forward_grid(params);
    return g.blocks * g.groups;
}

/* The gathered rows; behind them the turned panels. */
static size_t product_forward_rows(const artel__product_forward *p)
{
    return product_collides(p) ? TILE_ROWS * PRODUCT_PITCH : 0;
}

static size_t product_forward_scratch(const void *params)
{
    const artel__product_forward *p = params;
    if (product_in_blocks(p)) return product_block_floats(p) * sizeof(float);
    size_t turned = p->turned ? (size_t)(product_forward_grid(p).wide * ARTEL__PANEL * p->k) : 0;
    return (product_forward_rows(p) + turned) * sizeof(float);
}

static void product_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__product_forward *p = params;
    product_grid g = product_forward_grid(p);
    product_range range = {.begin = begin, .end = end};
    product_rect r;
    while (product_grid_next(&g, &range, &r)) {
        int64_t follow = range.left.panel1 - range.left.panel0;
        if (p->turned)
            product_rectangle_turned(p, r, follow < g.wide ? follow : g.wide, scratch,
                                     (float *)scratch + product_forward_rows(p));
        else if (product_in_blocks(p))
            product_rectangle_blocks(p, r, scratch);
        else
            product_rectangle(p, r, scratch, NULL);
    }
    vec_fence();
    vec_leave();
}

#endif
