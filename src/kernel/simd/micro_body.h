/* SPDX-License-Identifier: Apache-2.0 */
/* The small products of kernel/micro.h for one instruction set; included behind a micro_vec_*.h.
 *
 * All four are sweeps of the register tile: rows outer, strips of columns inner. `nt` transposes 32 columns by
 * MICRO_DEPTH steps of B at a time into a panel on the stack; the partial chains wait in C.
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_BODY_H
#define ARTEL_KERNEL_SIMD_MICRO_BODY_H

#include "kernel/micro.h"
#include "kernel/simd/micro_tile.h"
#include "kernel/simd/micro_transpose.h"

enum {
    MICRO_DEPTH = 256
};

VEC_INLINE void micro_tile(tile_kind kind, int mr, const tile *t)
{
    if (t->last > VEC_LANES)
        tile_dispatch(kind, mr, 2, t);
    else
        tile_dispatch(kind, mr, 1, t);
}

static void micro_tile_panel(int mr, const tile *t)
{
    micro_tile(TILE_PANEL, mr, t);
}

static void micro_tile_part(int mr, const tile *t)
{
    micro_tile(TILE_PART, mr, t);
}

static void micro_tile_outer(int mr, const tile *t)
{
    micro_tile(TILE_OUTER, mr, t);
}

typedef void micro_tile_fn(int mr, const tile *t);

/* Columns [column, column + width) of C for all rows; b is column `column` of B. A advances by `row_step` a row. */
static void micro_columns(const artel__gemm *g, micro_tile_fn *run, int64_t row_step, int64_t sa,
                          const segment *run_of_k, const float *b, int64_t sb, int64_t column, int64_t width, bool load)
{
    int64_t tiles = tile_count(g->m);
    tile t = {.sa = sa, .sb = sb, .segments = run_of_k, .count = 1, .sc = g->ldc, .load = load};
    for (int64_t i = 0; i < tiles; i++) {
        int64_t row = tile_cut(g->m, tiles, i);
        int mr = (int)(tile_cut(g->m, tiles, i + 1) - row), half = (mr + 1) / 2;
        t.a0 = g->a + row * row_step;
        t.a1 = t.a0 + half * row_step;
        for (int64_t j = 0; j < width; j += TILE_COLUMNS) {
            t.b = b + j;
            t.c0 = g->c + row * g->ldc + column + j;
            t.c1 = t.c0 + half * g->ldc;
            t.last = width - j < TILE_COLUMNS ? (int)(width - j) : TILE_COLUMNS;
            run(mr, &t);
        }
    }
    vec_leave();
}

static void micro_panels(const artel__gemm *g)
{
    segment all = {0, 0, g->k};
    for (int64_t p = 0; p < artel__panel_count(g->n); p++) {
        int64_t column = p * ARTEL__PANEL, width = g->n - column < ARTEL__PANEL ? g->n - column : ARTEL__PANEL;
        micro_columns(g, micro_tile_panel, g->lda, g->lda, &all, g->b + column * g->k, artel__panel_width(g->n, p),
                      column, width, g->accumulate);
    }
}

static void micro_nn(const artel__gemm *g)
{
    segment all = {0, 0, g->k};
    micro_columns(g, micro_tile_part, g->lda, g->lda, &all, g->b, g->ldb, 0, g->n, g->accumulate);
}

static void micro_tn(const artel__gemm *g)
{
    segment all = {0, 0, g->k};
    micro_columns(g, micro_tile_outer, 1, g->lda, &all, g->b, g->ldb, 0, g->n, g->accumulate);
}

static void micro_nt(const artel__gemm *g)
{
    _Alignas(64) float panel[MICRO_DEPTH * ARTEL__PANEL];
    if (g->k == 0) {
        micro_nn(g);
        return;
    }
    for (int64_t column = 0; column < g->n; column += ARTEL__PANEL) {
        int64_t width = g->n - column < ARTEL__PANEL ? g->n - column : ARTEL__PANEL;
        for (int64_t k = 0; k < g->k; k += MICRO_DEPTH) {
            segment part = {k, 0, g->k - k < MICRO_DEPTH ? g->k - k : MICRO_DEPTH};
            transpose_block(g->b + column * g->ldb + k, g->ldb, panel, ARTEL__PANEL, width, part.count);
            micro_columns(g, micro_tile_part, g->lda, g->lda, &part, panel, ARTEL__PANEL, column, width,
                          g->accumulate || k > 0);
        }
    }
}

#endif
