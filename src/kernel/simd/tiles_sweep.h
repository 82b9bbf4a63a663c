/* SPDX-License-Identifier: Apache-2.0 */
/* Products in blocks (kernel/tiles.h), forward: of matrices, and of the pixels of convolutions and of their data
 * gradients.
 *
 * A cut of the depth at a time, the panels of a rectangle are packed to scratch, where they stay in the second-level
 * cache; then strips of rows are gathered to the first-level cache and meet them, a cell of 32 x 32 at a time. Sums
 * under way wait in scratch, band by band of rows. Columns of a convolution's group are a product of their own, and so
 * are the pixels of a phase of a strided data gradient. Included behind a micro_vec_*.h and a tiles_multiply_*.h.
 */
#ifndef ARTEL_KERNEL_SIMD_TILES_SWEEP_H
#define ARTEL_KERNEL_SIMD_TILES_SWEEP_H

#include "kernel/product.h"
#include "kernel/simd/product_grid.h"
#include "kernel/simd/room.h"
#include "kernel/simd/tiles_rows.h"

enum {
    TILES_DEPTH = 1024, /* terms of a cut: a strip of rows and a panel lie in the first-level cache */
    TILES_PITCH = TILES_DEPTH + ARTEL__BLOCK, /* elements between rows of a strip; spreads them over the cache's sets */
    TILES_SPARE = ARTEL__BLOCK,               /* elements that gathering may write behind the last row */
    TILES_WAITING = 384                       /* cells of a band, 4 KiB each */
};

/* A product of `m` rows, `k` terms and `n` columns of the weights from `column` on. */
typedef struct tiles_product {
    tiles_rows rows;
    int64_t m, n, k, column;
    const float *w;         /* panels(depth, columns); turned: panels(columns, depth) */
    int64_t depth, columns; /* of all weights */
    bool turned, raw;       /* raw: they are to be rounded to bfloat16 */
    const float *bias;      /* of column 0 of the weights, or NULL */
    artel__fused activation;
    artel_dtype narrow;
    bool normalise;                      /* + 0.0f in front of the bias */
    const float *out;                    /* of row 0, column 0 of the weights */
    bool half;                           /* it is stored as bfloat16 */
    int64_t lines, pixels;               /* a row lies at (image, line, pixel): lines an image, pixels a line */
    int64_t so_image, so_line, so_pixel; /* elements between them */
} tiles_product;

typedef struct tiles_cut {
    const tiles_product *p;
    product_rect r;
    int64_t k0, k1;
    char *w;
    uint16_t *rows;
    float *cell;          /* that of (strip, panel), row0 of the band and its first panel in front */
    char *at[TILES_CELL]; /* rows of the output */
    bool first, last, waits;
} tiles_cut;

typedef struct tiles_room {
    char *w;
    uint16_t *rows;
    float *cell; /* one, or those of a band */
    size_t bytes;
} tiles_room;

/* Columns of panel `panel` of a product. */
static int64_t tiles_columns(const tiles_product *p, int64_t panel)
{
    int64_t left = p->n - panel * ARTEL__PANEL;
    return left < ARTEL__PANEL ? left : ARTEL__PANEL;
}

/* The row of the weights that holds term k. */
static int64_t tiles_weight_row(const tiles_product *p, int64_t k)
{
    const conv_walk *w = &p->rows.walk;
    if (w->ny == 0 || w->depth == 0) return k;
    int64_t tap = k / w->depth;
    return (w->first + tap / w->nx * w->next_y + tap % w->nx * w->next_x) * w->depth + k % w->depth;
}

/* Where line `pair` of a block of packed columns begins; tiles lie one behind the other. */
static float *tiles_line(char *w, int64_t pair, int64_t column, int64_t block_bytes)
{
    return (float *)(void *)(w + pair / TILES_SIDE * block_bytes + column / TILES_SIDE * TILES_BYTES +
                             pair % TILES_SIDE * TILES_LINE);
}

/* A panel whose columns are those of a panel of the weights. */
VEC_INLINE void tiles_pack_panel(const tiles_cut *c, int64_t panel, char *to, bool raw)
{
    const tiles_product *p = c->p;
    int64_t first = p->column / ARTEL__PANEL + panel, width = artel__panel_width(p->columns, first),
            bytes = width * TILES_LINE;
    const float *w = p->w + first * ARTEL__PANEL * p->depth;
    for (int64_t k = c->k0; k < c->k0 + tiles_blocks(c->k1 - c->k0) * ARTEL__BLOCK; k += 2) {
        const float *even = k < c->k1 ? w + tiles_weight_row(p, k) * width : NULL;
        const float *odd = k + 1 < c->k1 ? w + tiles_weight_row(p, k + 1) * width : NULL;
        for (int64_t j = 0; j < width; j += VEC_LANES) {
            vec upper = even ? vec_load(even + j) : vec_zero(), lower = odd ? vec_load(odd + j) : vec_zero();
            vec pair = raw ? tiles_pair(vec_to_bfloat16(upper), vec_to_bfloat16(lower)) : tiles_pair(upper, lower);
            vec_store(tiles_line(to, (k - c->k0) / 2, j, bytes) + j % TILES_SIDE, pair);
        }
    }
}

/* A panel of turned weights: its columns are rows there, gathered and turned block by block. */
VEC_INLINE void tiles_pack_turned(const tiles_cut *c, int64_t panel, char *to, bool raw)
{
    const tiles_product *p = c->p;
    _Alignas(64) uint16_t block[TILES_CELL][ARTEL__BLOCK];
    int64_t row = panel * ARTEL__PANEL, real = tiles_columns(p, panel),
            bytes = (real > TILES_SIDE ? 2 : 1) * TILES_BYTES;
    memset(block, 0, sizeof block);
    for (int64_t k = c->k0; k < c->k1; k += ARTEL__BLOCK, to += bytes) {
        int64_t count = c->k1 - k < ARTEL__BLOCK ? c->k1 - k : ARTEL__BLOCK,
                pitch = artel__panel_width(p->depth, k / ARTEL__PANEL);
        const float *from = p->w + artel__panels_offset(p->columns, p->depth, row, k);
        for (int64_t i = 0; i < real; i++) tiles_block(from + i * pitch, (int)count, block[i], raw);
        for (int64_t i = 0; i < real; i += TILES_SIDE)
            tiles_turn((const float *)(const void *)block[i], TILES_SIDE, to + i / TILES_SIDE * TILES_BYTES,
                       TILES_LINE);
    }
}

/* Columns that begin anywhere, one by one: of a group. */
static void tiles_pack_any(const tiles_cut *c, int64_t panel, char *to)
{
    const tiles_product *p = c->p;
    int64_t real = tiles_columns(p, panel), bytes = (real > TILES_SIDE ? 2 : 1) * TILES_BYTES;
    memset(to, 0, (size_t)(tiles_blocks(c->k1 - c->k0) * bytes));
    for (int64_t k = c->k0; k < c->k1; k++) {
        int64_t row = tiles_weight_row(p, k);
        for (int64_t j = 0; j < real; j++) {
            char *pair = (char *)(tiles_line(to, (k - c->k0) / 2, j, bytes) + j % TILES_SIDE);
            uint16_t half = artel__half_round(
                p->w[artel__panels_offset(p->depth, p->columns, row, p->column + panel * ARTEL__PANEL + j)]);
            memcpy(pair + 2 * ((k - c->k0) % 2), &half, sizeof half);
        }
    }
}

static bool tiles_aligned(const tiles_product *p)
{
    return p->column % ARTEL__PANEL == 0 && (p->column + p->n == p->columns || p->n % ARTEL__PANEL == 0);
}

/* Bytes of a packed block of a panel. */
static int64_t tiles_block_bytes(const tiles_product *p, int64_t panel)
{
    return (tiles_columns(p, panel) > TILES_SIDE ? 2 : 1) * TILES_BYTES;
}

/* Where a panel of the rectangle is packed. */
static char *tiles_panel(const tiles_cut *c, int64_t panel)
{
    return c->w + (panel - c->r.panel0) * 2 * TILES_BYTES * tiles_blocks(c->k1 - c->k0);
}

static void tiles_weights(const tiles_cut *c)
{
    for (int64_t panel = c->r.panel0; panel < c->r.panel1; panel++) {
        if (c->p->turned && c->p->raw)
            tiles_pack_turned(c, panel, tiles_panel(c, panel), true);
        else if (c->p->turned)
            tiles_pack_turned(c, panel, tiles_panel(c, panel), false);
        else if (tiles_aligned(c->p) && c->p->raw)
            tiles_pack_panel(c, panel, tiles_panel(c, panel), true);
        else if (tiles_aligned(c->p))
            tiles_pack_panel(c, panel, tiles_panel(c, panel), false);
        else
            tiles_pack_any(c, panel, tiles_panel(c, panel));
    }
}

/* A cell's sums, with what belongs behind them, to the output. */
VEC_INLINE void tiles_store(const tiles_cut *c, const float *cell, int rows, int64_t column, int real, bool half)
{
    const tiles_product *p = c->p;
    for (int j = 0; j < real; j += VEC_LANES) {
        vec_mask mask = vec_range(0, real - j);
        vec bias = p->bias ? vec_load_part(p->bias + column + j, mask) : vec_zero();
        for (int i = 0; i < rows; i++) {
            vec x = vec_load(cell + i * TILES_CELL + j);
            if (p->normalise) x = vec_add(x, vec_zero());
            if (p->bias) x = vec_add(x, bias);
            if (p->activation == ARTEL__FUSED_RELU) x = vec_relu(x);
            if (!half && p->narrow == ARTEL_DTYPE_BFLOAT16) x = vec_to_bfloat16(x);
            if (!half && p->narrow == ARTEL_DTYPE_FLOAT16) x = vec_to_float16(x);
            if (half)
                vec_halve((uint16_t *)(void *)c->at[i] + column + j, real - j, x);
            else if (real - j >= VEC_LANES)
                vec_store((float *)(void *)c->at[i] + column + j, x);
            else
                vec_store_part((float *)(void *)c->at[i] + column + j, mask, x);
        }
    }
}

/* Where `count` rows of the output lie. */
static void tiles_place(tiles_cut *c, int64_t row, int count)
{
    const tiles_product *p = c->p;
    int64_t line = row / p->pixels, x = row % p->pixels, image = line / p->lines, y = line % p->lines;
    for (int i = 0; i < count; i++) {
        c->at[i] =
            (char *)(uintptr_t)artel__half_at(p->out, p->half, image * p->so_image + y * p->so_line + x * p->so_pixel);
        if (++x < p->pixels) continue;
        x = 0;
        if (++y < p->lines) continue;
        y = 0;
        image++;
    }
}

/* One strip of rows against the panels. */
static void tiles_strip_of(tiles_cut *c, int64_t row, int rows)
{
    const tiles_product *p = c->p;
    tiles_job job = {
        .a = (const char *)c->rows, .sa = TILES_PITCH * 2, .blocks = tiles_blocks(c->k1 - c->k0), .rows = rows};
    int64_t across = c->r.panel1 - c->r.panel0, strip = (row - c->r.row0) / TILES_CELL;
    job.load = !c->first;
    if (c->last) tiles_place(c, row, rows);
    tiles_gather(&p->rows, row, rows, c->k0, c->k1, c->rows, TILES_PITCH);
    for (int64_t panel = c->r.panel0; panel < c->r.panel1; panel++) {
        int64_t column = p->column + panel * ARTEL__PANEL;
        job.columns = (int)tiles_columns(p, panel);
        job.b = tiles_panel(c, panel);
        job.sb = tiles_block_bytes(p, panel);
        job.c = c->cell + (c->waits ? strip * across + panel - c->r.panel0 : 0) * TILES_CELL * TILES_CELL;
        tiles_multiply(&job);
        if (c->last && p->half)
            tiles_store(c, job.c, rows, column, job.columns, true);
        else if (c->last)
            tiles_store(c, job.c, rows, column, job.columns, false);
    }
}

static int64_t tiles_cuts(const tiles_product *p)
{
    return p->k > TILES_DEPTH ? (p->k + TILES_DEPTH - 1) / TILES_DEPTH : 1;
}

/* Where cut `cut` of the depth begins: on whole blocks. */
static int64_t tiles_cut_at(const tiles_product *p, int64_t cut)
{
    int64_t at = tiles_blocks(p->k) * cut / tiles_cuts(p) * ARTEL__BLOCK;
    return at < p->k ? at : p->k;
}

static void tiles_band(const tiles_product *p, product_rect r, const tiles_room *room)
{
    int64_t cuts = tiles_cuts(p);
    for (int64_t cut = 0; cut < cuts; cut++) {
        tiles_cut c = {.p = p,
                       .r = r,
                       .w = room->w,
                       .rows = room->rows,
                       .cell = room->cell,
                       .first = cut == 0,
                       .last = cut + 1 == cuts};
        c.waits = cuts > 1;
        c.k0 = tiles_cut_at(p, cut);
        c.k1 = tiles_cut_at(p, cut + 1);
        tiles_weights(&c);
        for (int64_t row = r.row0; row < r.row1; row += TILES_CELL)
            tiles_strip_of(&c, row, (int)(r.row1 - row < TILES_CELL ? r.row1 - row : TILES_CELL));
    }
}

/* Rows of a band of `panels` panels: all where nothing waits. */
static int64_t tiles_band_rows(const tiles_product *p, int64_t rows, int64_t panels)
{
    int64_t strips = (rows + TILES_CELL - 1) / TILES_CELL,
            most = TILES_WAITING / panels > 1 ? TILES_WAITING / panels : 1;
    if (tiles_cuts(p) == 1 || strips <= most) return strips * TILES_CELL;
    int64_t bands = (strips + most - 1) / most;
    return (strips + bands - 1) / bands * TILES_CELL;
}

static void tiles_rectangle(const tiles_product *p, product_rect r, const tiles_room *room)
{
    int64_t rows = tiles_band_rows(p, r.row1 - r.row0, r.panel1 - r.panel0), end = r.row1;
    for (; r.row0 < end; r.row0 = r.row1) {
        r.row1 = end - r.row0 < rows ? end : r.row0 + rows;
        tiles_band(p, r, room);
    }
}

static product_grid tiles_grid(const tiles_product *p)
{
    int64_t depth = p->k < TILES_DEPTH ? p->k : TILES_DEPTH;
    product_grid g = product_grid_make(p->m, depth / 2, p->n, 128, TILES_CELL);
    g.by_rows = p->m > p->n; /* every thread reads all of the smaller operand */
    return g;
}

static int64_t tiles_tasks(const tiles_product *p)
{
    product_grid g = tiles_grid(p);
    return g.blocks * g.groups;
}

/* Cells that may wait at once: a band has at most TILES_WAITING, or one strip. */
static int64_t tiles_cells(int64_t rows, int64_t panels)
{
    int64_t all = (rows + TILES_CELL - 1) / TILES_CELL * panels, most = panels > TILES_WAITING ? panels : TILES_WAITING;
    return all < most ? all : most;
}

static tiles_room tiles_lay(const tiles_product *p, char *base)
{
    tiles_room room = {0};
    int64_t depth = p->k < TILES_DEPTH ? p->k : TILES_DEPTH;
    product_grid g = tiles_grid(p);
    int64_t cells = tiles_cuts(p) > 1 ? tiles_cells(p->m, g.wide) : 1;
    room.cell = room_take(&room.bytes, base, cells * TILES_CELL * TILES_CELL * (int64_t)sizeof(float));
    room.rows = room_take(&room.bytes, base, (TILES_CELL * TILES_PITCH + TILES_SPARE) * 2);
    room.w = room_take(&room.bytes, base, g.wide * 2 * TILES_BYTES * (tiles_blocks(depth) + 1));
    return room;
}

/* Tasks [begin, end) of one product. */
static void tiles_run(const tiles_product *p, int64_t begin, int64_t end, void *scratch)
{
    tiles_room room = tiles_lay(p, scratch);
    product_grid g = tiles_grid(p);
    product_range range = {.begin = begin, .end = end};
    product_rect r;
    while (product_grid_next(&g, &range, &r)) tiles_rectangle(p, r, &room);
}

static tiles_product tiles_of_product(const artel__product_forward *f)
{
    return (tiles_product){.rows = {.a = f->a, .lda = f->lda, .half = f->a_half},
                           .m = f->m,
                           .n = f->n,
                           .k = f->k,
                           .w = f->w,
                           .depth = f->k,
                           .columns = f->n,
                           .turned = f->turned,
                           .raw = f->w_raw,
                           .bias = f->bias,
                           .activation = f->activation,
                           .narrow = f->narrow,
                           .out = f->out,
                           .half = f->out_half,
                           .lines = 1,
                           .pixels = f->m > 0 ? f->m : 1,
                           .so_pixel = f->ldo};
}

static const char *tiles_refuses(artel__arithmetic arithmetic)
{
    return arithmetic == ARTEL__ARITHMETIC_TILES ? NULL : "adds in blocks, not in chains";
}

static const char *tiles_product_refuses(const void *params)
{
    return tiles_refuses(((const artel__product_forward *)params)->arithmetic);
}

static int64_t tiles_product_tasks(const void *params)
{
    tiles_product p = tiles_of_product(params);
    return tiles_tasks(&p);
}

static size_t tiles_product_scratch(const void *params)
{
    tiles_product p = tiles_of_product(params);
    return tiles_lay(&p, NULL).bytes;
}

static void tiles_product_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    tiles_product p = tiles_of_product(params);
    tiles_begin();
    tiles_run(&p, begin, end, scratch);
    tiles_end();
    vec_leave();
}

#endif
