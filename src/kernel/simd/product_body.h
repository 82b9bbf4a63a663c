/* SPDX-License-Identifier: Apache-2.0 */
/* product_forward for one instruction set; included behind a micro_vec_*.h.
 *
 * A block of panels stays in the second-level cache while the rows pass over it; a tile of rows stays in the first-level
 * cache while it meets the panels. Depths beyond PRODUCT_DEPTH are cut; the partial chains wait in the output,
 * which changes no bit. A is read in place: copying its rows into a denser block measured slower, also where they collide.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_BODY_H
#define ARTEL_KERNEL_SIMD_PRODUCT_BODY_H

#include "kernel/simd/micro_tile.h"
#include "kernel/simd/product_grid.h"

enum {
    PRODUCT_DEPTH = 1024,
    PRODUCT_LIGHT = 2048, /* depth by panels up to which reading A is the longer part then */
    PRODUCT_FAR = 3 << 20 /* bytes of A from which on it is not expected in the second-level cache */
};

static void product_tile(int mr, const tile *t)
{
    int nv = t->last > VEC_LANES ? 2 : 1;
    if (t->burst > 0 && nv == 2)
        tile_dispatch(TILE_AHEAD, mr, 2, t);
    else if (nv == 2)
        tile_dispatch(TILE_PANEL, mr, 2, t);
    else
        tile_dispatch(TILE_PANEL, mr, 1, t);
}

/* One tile of rows against panels [p0, p1), reduction [k0, k1). `t` holds A and the rows' stride of C. */
static void product_sweep(const artel__product_forward *p, tile *t, int mr, int64_t row, int64_t p0, int64_t p1, int64_t k1)
{
    int half = (mr + 1) / 2;
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
            product_tile(mr, t);
        }
    }
}

/* What the next tile will read: `rows` rows of A from `row` on, fetched while `panels` panels of this one are computed. */
static tile_ahead product_ahead(const artel__product_forward *p, tile *t, int64_t row, int64_t rows, int64_t depth, int64_t panels)
{
    int64_t lines = (depth + 15) / 16, bursts = (depth + TILE_BURST - 1) / TILE_BURST * panels;
    if (rows <= 0 || p->m * p->k * 4 < PRODUCT_FAR || depth * panels > PRODUCT_LIGHT) return (tile_ahead){0};
    t->burst = bursts > 0 ? (lines * rows + bursts - 1) / bursts : 0;
    return (tile_ahead){(const char *)(p->a + row * p->lda + t->segments->a), lines, lines, p->lda * 4 - lines * 64, rows};
}

static void product_rectangle(const artel__product_forward *p, product_rect r)
{
    int64_t tiles = tile_count(r.row1 - r.row0), cuts = (p->k + PRODUCT_DEPTH - 1) / PRODUCT_DEPTH;
    if (cuts == 0) cuts = 1;
    for (int64_t cut = 0; cut < cuts; cut++) {
        int64_t k0 = tile_cut(p->k, cuts, cut), k1 = tile_cut(p->k, cuts, cut + 1);
        segment all = {k0, k0, k1 - k0};
        tile t = {.sa = p->lda, .segments = &all, .count = 1, .sc = p->ldo, .load = cut > 0, .claim = p->k <= 32};
        t.relu = k1 == p->k && p->activation == ARTEL__FUSED_RELU;
        for (int64_t i = 0; i < tiles; i++) {
            int64_t row = r.row0 + tile_cut(r.row1 - r.row0, tiles, i);
            int mr = (int)(r.row0 + tile_cut(r.row1 - r.row0, tiles, i + 1) - row);
            t.a0 = p->a + row * p->lda;
            t.a1 = t.a0 + (mr + 1) / 2 * p->lda;
            tile_ahead ahead =
                product_ahead(p, &t, row + mr, i + 2 < tiles ? (int64_t)mr : r.row1 - row - mr, k1 - k0, r.panel1 - r.panel0);
            t.ahead = &ahead;
            product_sweep(p, &t, mr, row, r.panel0, r.panel1, k1);
        }
    }
}

static product_grid product_forward_grid(const artel__product_forward *p)
{
    return product_grid_make(p->m, p->k < PRODUCT_DEPTH ? p->k : PRODUCT_DEPTH, p->n, 56, 14);
}

static int64_t product_forward_tasks(const void *params)
{
    product_grid g = product_forward_grid(params);
    return g.blocks * g.groups;
}

static void product_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__product_forward *p = params;
    product_grid g = product_forward_grid(p);
    (void)scratch;
    while (begin < end) product_rectangle(p, product_grid_next(&g, &begin, end));
    vec_leave();
}

#endif
