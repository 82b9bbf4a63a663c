/* SPDX-License-Identifier: Apache-2.0 */
/* How products are cut into tasks: a grid of groups of panels (outer) by blocks of rows (inner).
 *
 * run() gets a contiguous range of tasks and turns it into rectangles again, as large as the second-level cache likes,
 * so that fine tasks cost nothing when one thread runs them all. Nothing here changes a bit of any result.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_GRID_H
#define ARTEL_KERNEL_SIMD_PRODUCT_GRID_H

#include "kernel/product.h"

/* Bytes of weights that a sweep over rows keeps in the second-level cache. */
enum {
    PRODUCT_CACHE = VEC_LANES == 16 ? 768 << 10 : 384 << 10,
    PRODUCT_TASKS = 128
};

typedef struct product_grid {
    int64_t rows, panels; /* the whole */
    int64_t block, group; /* rows and panels of a task */
    int64_t blocks, groups;
    int64_t
        wide; /* panels that a rectangle may have: those that fit the cache together, a multiple of group; or others */
    bool by_rows; /* tasks are numbered block by block, not group by group */
} product_grid;

typedef struct product_rect {
    int64_t row0, row1, panel0, panel1;
} product_rect;

/* `fine` is the least number of rows that a task should have, `coarse` the usual one. */
static inline product_grid product_grid_make(int64_t rows, int64_t depth, int64_t columns, int64_t coarse, int64_t fine)
{
    int64_t panels = artel__panel_count(columns), bytes = (depth + 1) * ARTEL__PANEL * 4;
    int64_t fit = PRODUCT_CACHE / bytes;
    if (fit < 1) fit = 1;
    if (fit > panels) fit = panels > 0 ? panels : 1;
    product_grid g = {.rows = rows, .panels = panels, .block = coarse, .group = fit};
    while (g.group > 1 && ((rows + g.block - 1) / g.block) * ((panels + g.group - 1) / g.group) < PRODUCT_TASKS)
        g.group /= 2;
    while (g.block > fine && ((rows + g.block - 1) / g.block) * ((panels + g.group - 1) / g.group) < PRODUCT_TASKS) {
        g.block = g.block / 2 > fine ? g.block / 2 : fine;
    }
    g.blocks = (rows + g.block - 1) / g.block;
    g.groups = (panels + g.group - 1) / g.group;
    g.wide = fit / g.group * g.group;
    return g;
}

/* Tasks [begin, end) that are still to be done, and what is left of the rectangle that was cut off them last. */
typedef struct product_range {
    int64_t begin, end;
    product_rect left;
} product_range;

/* Cuts the next whole lines of the grid, or a part of one, off the front. */
static inline product_rect product_grid_cut(const product_grid *g, int64_t *begin, int64_t end)
{
    int64_t across = g->by_rows ? g->groups : g->blocks, line = *begin / across, from = *begin % across, lines = 1,
            to = across;
    if (from == 0 && end - *begin >= across)
        lines = (end - *begin) / across;
    else if (end - *begin < across - from)
        to = from + end - *begin;
    *begin += (to - from) * lines;
    int64_t block = g->by_rows ? line : from, group = g->by_rows ? from : line;
    int64_t last_block = g->by_rows ? line + lines : to, last_group = g->by_rows ? to : line + lines;
    product_rect r = {block * g->block, last_block * g->block, group * g->group, last_group * g->group};
    if (r.row1 > g->rows) r.row1 = g->rows;
    if (r.panel1 > g->panels) r.panel1 = g->panels;
    return r;
}

/* The next rectangle whose weights fit the cache; false when nothing is left. */
static inline bool product_grid_next(const product_grid *g, product_range *range, product_rect *out)
{
    if (range->left.panel0 >= range->left.panel1) {
        if (range->begin >= range->end) return false;
        range->left = product_grid_cut(g, &range->begin, range->end);
    }
    *out = range->left;
    if (out->panel1 > out->panel0 + g->wide) out->panel1 = out->panel0 + g->wide;
    range->left.panel0 = out->panel1;
    return true;
}

#endif
