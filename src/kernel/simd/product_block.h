/* SPDX-License-Identifier: Apache-2.0 */
/* Deep products of many columns: a block of rows lies in the second-level cache while the panels pass over it.
 *
 * Where groups of panels lay there instead, as in product_body.h, all rows would come from memory once for each group,
 * from places far apart. Here a panel comes in one stretch, fetched while the one before it is computed. The partial
 * chains of a depth that is cut wait in scratch, tile behind tile, and the output is touched once. None of this changes
 * a bit. 4096 cubed, AMD Zen 5: 86 -> 93 % of peak.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_BLOCK_H
#define ARTEL_KERNEL_SIMD_PRODUCT_BLOCK_H

#include "kernel/simd/product_grid.h"
#include "kernel/simd/product_row.h"

enum {
    PRODUCT_BLOCK = 98 / TILE_ROWS,         /* tiles of a block: 400 KiB of rows at most, beside two panels */
    PRODUCT_BLOCK_FROM = 11,                /* panels: more than two groups */
    PRODUCT_BLOCK_PANELS = 128,             /* what passes over a block, so that partial chains stay within 1.6 MiB */
    PRODUCT_HELD = TILE_ROWS * TILE_COLUMNS /* floats of a tile's partial chains */
};

typedef struct product_block {
    const artel__product_forward *p;
    product_rect r;                   /* of which this is a block */
    int64_t first[PRODUCT_BLOCK + 1]; /* rows of A: of each tile, and behind the last one */
    int64_t tiles, cuts, cut, k0, k1;
    float *rows, *held; /* in scratch: rows that would collide; partial chains */
} product_block;

static bool product_in_blocks(const artel__product_forward *p)
{
    return !p->turned && p->k >= PRODUCT_DEPTH && artel__panel_count(p->n) >= PRODUCT_BLOCK_FROM;
}

/* The panels that pass over a block together. */
static int64_t product_block_panels(const artel__product_forward *p)
{
    int64_t panels = artel__panel_count(p->n);
    return panels < PRODUCT_BLOCK_PANELS ? panels : PRODUCT_BLOCK_PANELS;
}

/* Floats of scratch in front of the partial chains. */
static size_t product_block_rows(const artel__product_forward *p)
{
    return product_collides(p) ? PRODUCT_BLOCK * TILE_ROWS * PRODUCT_PITCH : 0;
}

static size_t product_block_floats(const artel__product_forward *p)
{
    size_t strips = (size_t)(product_block_panels(p) * (ARTEL__PANEL / TILE_COLUMNS));
    return product_block_rows(p) + (p->k > PRODUCT_DEPTH ? PRODUCT_BLOCK * PRODUCT_HELD * strips : 0);
}

/* What is fetched while a panel passes over the block: the next one, or the first of the next cut or the next block. */
static tile_ahead product_block_ahead(const product_block *b, tile *t, int64_t panel)
{
    const artel__product_forward *p = b->p;
    int64_t k0 = b->k0, k1 = b->k1, bursts = (k1 - k0 + TILE_BURST - 1) / TILE_BURST * b->tiles;
    if (++panel == b->r.panel1) {
        bool last = b->cut + 1 == b->cuts;
        if (last && b->first[b->tiles] == b->r.row1) return (tile_ahead){0};
        panel = b->r.panel0;
        k0 = last ? 0 : k1;
        k1 = tile_cut(p->k, b->cuts, last ? 1 : b->cut + 2);
    }
    int64_t width = artel__panel_width(p->n, panel), lines = (k1 - k0) * width / 16;
    t->burst = (lines + bursts - 1) / bursts;
    return (tile_ahead){(const char *)(p->w + panel * ARTEL__PANEL * p->k + k0 * width), lines, lines, 0, 1};
}

/* Where the rows of a tile are read. On the first strip those that would collide are copied, and the next tile's
 * fetched. */
static void product_block_take(const product_block *b, tile *t, int64_t i, int mr, bool first, tile_ahead *ahead)
{
    const artel__product_forward *p = b->p;
    int64_t row = b->first[i];
    float *place = product_collides(p) ? b->rows + (row - b->first[0]) * PRODUCT_PITCH : NULL;
    t->from0 = NULL;
    t->sa = p->lda;
    t->a0 = p->a + row * p->lda;
    t->a1 = t->a0 + (mr + 1) / 2 * p->lda;
    if (first) {
        tile_ahead next = product_ahead(p, t, row + mr, i + 1 < b->tiles ? b->first[i + 2] - row - mr : 0, 1);
        if (next.rows > 0) *ahead = next;
        if (place) product_take(t, mr, t->last, place);
    } else if (place) {
        t->sa = PRODUCT_PITCH;
        t->a0 = place - b->k0;
        t->a1 = t->a0 + (mr + 1) / 2 * PRODUCT_PITCH;
    }
}

/* Where the chains of a tile begin and end; `strip` of the rectangle begins at `column`. */
static void product_block_place(const product_block *b, tile *t, int64_t i, int mr, int64_t strip, int64_t column)
{
    const artel__product_forward *p = b->p;
    int64_t row = b->first[i], end = b->r.panel1 * ARTEL__PANEL < p->n ? b->r.panel1 * ARTEL__PANEL : p->n;
    int64_t after = column + TILE_COLUMNS < end ? TILE_COLUMNS - (row - b->first[0]) * p->ldo
                                                : 0; /* the first tile of the next strip */
    float *held = b->cuts > 1 ? b->held + (strip * b->tiles + i) * PRODUCT_HELD : NULL;
    bool last = b->cut + 1 == b->cuts;
    t->held = held;
    t->sc = last ? p->ldo : TILE_COLUMNS;
    t->c0 = last ? p->out + row * p->ldo + column : held;
    t->c1 = t->c0 + (mr + 1) / 2 * t->sc;
    t->claimed = !last ? PRODUCT_HELD : i + 1 < b->tiles ? mr * p->ldo : after;
}

/* The block against one panel; `t` tells what all its tiles have in common. */
static void product_block_panel(const product_block *b, tile t, int64_t panel)
{
    const artel__product_forward *p = b->p;
    int64_t width = artel__panel_width(p->n, panel);
    tile_ahead ahead = product_block_ahead(b, &t, panel);
    int64_t burst = t.burst;
    t.ahead = &ahead;
    for (int64_t at = 0; at < width && panel * ARTEL__PANEL + at < p->n; at += TILE_COLUMNS) {
        int64_t column = panel * ARTEL__PANEL + at, strip = (column - b->r.panel0 * ARTEL__PANEL) / TILE_COLUMNS;
        t.b = p->w + panel * ARTEL__PANEL * p->k + at;
        t.sb = width;
        t.last = p->n - column < TILE_COLUMNS ? (int)(p->n - column) : TILE_COLUMNS;
        t.bias = p->bias && b->k1 == p->k ? p->bias + column : NULL;
        for (int64_t i = 0; i < b->tiles; i++) {
            int mr = (int)(b->first[i + 1] - b->first[i]);
            t.burst = burst;
            product_block_take(b, &t, i, mr, strip == 0, &ahead);
            product_block_place(b, &t, i, mr, strip, column);
            product_tile(mr, &t);
        }
    }
}

/* A rectangle, block by block; all its panels pass over each. */
static void product_rectangle_blocks(const artel__product_forward *p, product_rect r, float *scratch)
{
    int64_t tiles = tile_count(r.row1 - r.row0), blocks = (tiles + PRODUCT_BLOCK - 1) / PRODUCT_BLOCK;
    bool stream = !p->narrow && product_streams(p->out, p->m * p->n, p->ldo, p->k);
    bool claim = !stream && product_claims(p);
    product_block b = {.p = p, .r = r, .cuts = product_cuts(p), .rows = scratch};
    if (b.cuts > 1) b.held = scratch + product_block_rows(p);
    for (int64_t i = 0; i < blocks; i++) {
        int64_t from = tile_cut(tiles, blocks, i);
        b.tiles = tile_cut(tiles, blocks, i + 1) - from;
        for (int64_t j = 0; j <= b.tiles; j++) b.first[j] = r.row0 + tile_cut(r.row1 - r.row0, tiles, from + j);
        for (b.cut = 0; b.cut < b.cuts; b.cut++) {
            bool last = b.cut + 1 == b.cuts;
            b.k0 = tile_cut(p->k, b.cuts, b.cut);
            b.k1 = tile_cut(p->k, b.cuts, b.cut + 1);
            segment all = {b.k0, b.k0, b.k1 - b.k0};
            tile t = {
                .segments = &all, .count = 1, .load = b.cut > 0, .stream = last && stream, .claim = !last || claim};
            t.relu = last && p->activation == ARTEL__FUSED_RELU;
            t.narrow = last ? p->narrow : ARTEL_DTYPE_FLOAT32;
            for (int64_t panel = r.panel0; panel < r.panel1; panel++) product_block_panel(&b, t, panel);
        }
    }
}

#endif
