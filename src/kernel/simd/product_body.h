/* SPDX-License-Identifier: Apache-2.0 */
/* product_forward for one instruction set; included behind a micro_vec_*.h.
 *
 * A block of panels stays in the second-level cache while the rows pass over it; a tile of rows stays in the first-level
 * cache while it meets the panels. Turned weights are transposed, some panels at a time, just before the rows pass over them, and the
 * next ones fetched meanwhile. Depths beyond PRODUCT_DEPTH are cut; the partial chains wait in the output,
 * which changes no bit. A is read in place, except where its rows would push one another out of the first-level cache: then each
 * tile's rows are copied side by side while the first panel is computed. What the next tile reads is fetched meanwhile, and what a tile
 * writes is asked for at its beginning, or goes past the caches when it is much: memory works while the registers do.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_BODY_H
#define ARTEL_KERNEL_SIMD_PRODUCT_BODY_H

#include <string.h>

#include "kernel/simd/micro_tile.h"
#include "kernel/simd/micro_transpose.h"
#include "kernel/simd/product_grid.h"

enum {
    PRODUCT_DEPTH = 1024,
    PRODUCT_PITCH = PRODUCT_DEPTH + 16,
    PRODUCT_COLLIDES = 1024,        /* rows of A a multiple of so many floats apart fall into one set of the first-level cache */
    PRODUCT_COPIES = TILE_ROWS > 6, /* with fewer rows a tile has no room for moves beside its multiply-adds */
    PRODUCT_FAR = 3 << 20,          /* bytes of A from which on it is not expected in the second-level cache */
    PRODUCT_PAST = 12 << 20         /* bytes of the output from which on little of it would be found in a cache by who reads it */
};

static void product_tile(int mr, const tile *t)
{
    int nv = t->last > VEC_LANES ? 2 : 1;
    if (PRODUCT_COPIES && t->from0 && nv == 2)
        tile_dispatch(TILE_COPY, mr, 2, t);
    else if (t->burst > 0 && nv == 2)
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
            t->from0 = NULL;
        }
    }
}

/* `rows` rows of A, `pitch` floats apart, fetched while `panels` panels of the tile are computed. */
static tile_ahead product_fetch(tile *t, const float *row, int64_t pitch, int64_t rows, int64_t panels)
{
    int64_t depth = t->segments->count, lines = (depth + 15) / 16, bursts = (depth + TILE_BURST - 1) / TILE_BURST * panels;
    t->burst = bursts > 0 ? (lines * rows + bursts - 1) / bursts : 0;
    return (tile_ahead){(const char *)(row + t->segments->a), lines, lines, (pitch - lines * 16) * 4, rows};
}

/* What the next tile will read: `rows` rows of A from `row` on. */
static tile_ahead product_ahead(const artel__product_forward *p, tile *t, int64_t row, int64_t rows, int64_t panels)
{
    if (rows <= 0 || p->m * p->k * 4 < PRODUCT_FAR) return (tile_ahead){0};
    return product_fetch(t, p->a + row * p->lda, p->lda, rows, panels);
}

/* Lines of turned weights to be fetched with each burst of a rectangle of so many tiles. */
static int64_t product_turned_burst(const artel__product_forward *p, const product_rect *r, int64_t tiles)
{
    int64_t bursts = (p->k + TILE_BURST - 1) / TILE_BURST * (r->panel1 - r->panel0) * tiles;
    int64_t lines = (r->panel1 - r->panel0) * ARTEL__PANEL * p->k / 16;
    return bursts > 0 ? (lines + bursts - 1) / bursts : 0;
}

/* Rows of A, `depth` floats each, side by side and spread over the cache's sets. */
static void product_gather(const float *from, int64_t lda, int rows, int64_t depth, float *to)
{
    for (int i = 0; i < rows; i++, from += lda, to += PRODUCT_PITCH) {
        int64_t k = 0;
        for (; k + VEC_LANES <= depth; k += VEC_LANES) vec_store(to + k, vec_load(from + k));
        if (k < depth) vec_store_part(to + k, vec_range(0, (int)(depth - k)), vec_load_part(from + k, vec_range(0, (int)(depth - k))));
    }
}

/* The rows of a tile of `columns` are read from scratch: their beginning is copied now, the rest while the first panel is computed. */
static void product_take(tile *t, int mr, int64_t columns, float *rows)
{
    const segment *g = t->segments;
    int half = (mr + 1) / 2;
    int64_t head = PRODUCT_COPIES && columns > VEC_LANES ? tile_head(g->count) : g->count;
    const float *from0 = t->a0 + g->a, *from1 = t->a1 + g->a;
    product_gather(from0, t->sa, half, head, rows);
    product_gather(from1, t->sa, mr - half, head, rows + half * PRODUCT_PITCH);
    t->from0 = head < g->count ? from0 : NULL;
    t->from1 = from1;
    t->sf = t->sa;
    t->a0 = rows - g->a;
    t->a1 = t->a0 + half * PRODUCT_PITCH;
    t->sa = PRODUCT_PITCH;
}

static bool product_collides(const artel__product_forward *p)
{
    return p->lda % PRODUCT_COLLIDES == 0;
}

/* Whether so much is written that it goes past the caches; only with vectors of a whole line, as halves of lines cost more than is won. */
static bool product_streams(const float *out, int64_t count, int64_t pitch)
{
    return VEC_LANES == 16 && count * 4 >= PRODUCT_PAST && (uintptr_t)out % 64 == 0 && pitch % 16 == 0;
}

/* `next`: what is fetched instead of A; NULL: A. */
static void product_rectangle(const artel__product_forward *p, product_rect r, float *rows, tile_ahead *next)
{
    int64_t tiles = tile_count(r.row1 - r.row0), cuts = (p->k + PRODUCT_DEPTH - 1) / PRODUCT_DEPTH;
    bool collides = product_collides(p), stream = cuts == 1 && product_streams(p->out, p->m * p->n, p->ldo);
    if (cuts == 0) cuts = 1;
    for (int64_t cut = 0; cut < cuts; cut++) {
        int64_t k0 = tile_cut(p->k, cuts, cut), k1 = tile_cut(p->k, cuts, cut + 1);
        segment all = {k0, k0, k1 - k0};
        tile t = {.sa = p->lda, .segments = &all, .count = 1, .sc = p->ldo, .load = cut > 0, .claim = !stream, .stream = stream};
        t.relu = k1 == p->k && p->activation == ARTEL__FUSED_RELU;
        for (int64_t i = 0; i < tiles; i++) {
            int64_t row = r.row0 + tile_cut(r.row1 - r.row0, tiles, i);
            int mr = (int)(r.row0 + tile_cut(r.row1 - r.row0, tiles, i + 1) - row);
            t.a0 = p->a + row * p->lda;
            t.a1 = t.a0 + (mr + 1) / 2 * p->lda;
            t.sa = p->lda;
            if (collides) product_take(&t, mr, p->n - r.panel0 * ARTEL__PANEL, rows);
            tile_ahead ahead = product_ahead(p, &t, row + mr, i + 2 < tiles ? (int64_t)mr : r.row1 - row - mr, r.panel1 - r.panel0);
            t.ahead = next ? next : &ahead;
            if (next) t.burst = product_turned_burst(p, &r, tiles);
            product_sweep(p, &t, mr, row, r.panel0, r.panel1, k1);
        }
    }
}

/* Panels [p0, p1) of turned weights, one behind the other. */
static void product_turn(const artel__product_forward *p, int64_t p0, int64_t p1, float *to)
{
    for (int64_t panel = p0; panel < p1; panel++, to += ARTEL__PANEL * p->k) {
        int64_t width = artel__panel_width(p->n, panel), row = panel * ARTEL__PANEL, rows = p->n - row < width ? p->n - row : width;
        for (int64_t k = 0; k < p->k; k += ARTEL__PANEL) {
            int64_t columns = p->k - k < ARTEL__PANEL ? p->k - k : ARTEL__PANEL;
            const float *from = p->w + artel__panels_offset(p->n, p->k, row, k);
            transpose_block(from, artel__panel_width(p->k, k / ARTEL__PANEL), to + k * width, width, rows, columns);
        }
        for (int64_t k = 0; k < p->k && rows < width; k++) memset(to + k * width + rows, 0, (size_t)(width - rows) * sizeof(float));
    }
}

/* A rectangle of turned weights, behind which as many as `follow` panels will be needed: a stretch of each panel of the source. */
static void product_rectangle_turned(const artel__product_forward *p, product_rect r, int64_t follow, float *rows, float *turned)
{
    artel__product_forward straight = *p;
    int64_t lines = follow * ARTEL__PANEL * ARTEL__PANEL / 16;
    const float *from = p->w + r.panel1 * ARTEL__PANEL * ARTEL__PANEL;
    tile_ahead next = {(const char *)from, lines, lines, p->n * ARTEL__PANEL * 4 - lines * 64, follow > 0 ? artel__panel_count(p->k) : 0};
    product_turn(p, r.panel0, r.panel1, turned);
    straight.w = turned - r.panel0 * ARTEL__PANEL * p->k;
    product_rectangle(&straight, r, rows, &next);
}

/* Few panels of turned weights are held at once: they come from memory, and go no further than the second-level cache. */
static product_grid product_forward_grid(const artel__product_forward *p)
{
    bool shallow = p->k < PRODUCT_DEPTH;
    product_grid g = product_grid_make(p->m, shallow != p->turned ? p->k : PRODUCT_DEPTH, p->n, 56, 14);
    g.by_rows = p->m > p->n && !p->turned; /* every thread reads all of the smaller operand */
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
            product_rectangle_turned(p, r, follow < g.wide ? follow : g.wide, scratch, (float *)scratch + product_forward_rows(p));
        else
            product_rectangle(p, r, scratch, NULL);
    }
    vec_fence();
    vec_leave();
}

#endif
