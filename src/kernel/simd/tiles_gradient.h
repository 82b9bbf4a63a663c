/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients in blocks (kernel/tiles.h) of products and convolutions, folded over shards; included behind a
 * micro_vec_*.h and a tiles_multiply_*.h.
 *
 * What is multiplied is the transpose: dw^T[n][k] = sum over rows of dy[r][n] x[r][k], since then x, of which a
 * convolution reads each pixel once for every tap, only wants its rows in pairs, while dy, which is turned, is packed
 * once. The rows pass in chunks; cells of 32 x 32 keep their sums under way and the subtrees that wait in scratch
 * between chunks. A finished leaf is + 0.0f and goes up the tree.
 */
#ifndef ARTEL_KERNEL_SIMD_TILES_GRADIENT_H
#define ARTEL_KERNEL_SIMD_TILES_GRADIENT_H

#include "kernel/conv.h"
#include "kernel/simd/room.h"
#include "kernel/simd/tiles_leaves.h"
#include "kernel/simd/tiles_rows.h"

enum {
    TILES_CELLS = 128, /* cells of a rectangle */
    TILES_PANELS = 8,  /* panels of dy packed at once */
    TILES_WIDE = 512,  /* columns of x packed at once */
    TILES_CELL_FLOATS = TILES_CELL * TILES_CELL
};

typedef struct tiles_gradient {
    const artel__fold_plan *fold;
    int64_t inner, k, n, groups;
    tiles_rows x;
    const float *dy;
    int64_t ldy;
    bool dy_half;
    float *dw;
    int64_t dw_stride;
    float *dbias;
    int64_t dbias_stride;
    artel__consumer follow;
    int64_t panels, strips; /* of n and of k, 32 each: a task is a panel by a strip */
    int64_t levels, chunk;  /* subtrees that may wait; blocks of a chunk */
    int64_t turned;         /* bytes between rows of turned dy */
    bool one_chunk;
} tiles_gradient;

typedef struct tiles_gradient_room {
    char *dy, *x;   /* [column][block], [block][tile] */
    uint16_t *rows; /* 32 rows of x */
    float *sums;    /* of each cell, of which `cell_floats` behind another: the sum under way, and what waits */
    float *part;    /* a cell of dw, where another takes it */
    float *bias;    /* of each panel the sums of the columns of dy under way, and what waits, TILES_CELL floats each */
    int64_t cell_floats;
    size_t bytes;
} tiles_gradient_room;

/* Strips [s0, s1) of x by panels [p0, p1) of dy, columns [first, last) of it: those of one group. */
typedef struct tiles_block_of {
    const tiles_gradient *g;
    const tiles_gradient_room *room;
    const tiles_chunk *chunk;
    int64_t s0, s1, p0, p1, first, last;
    bool bias; /* the sums of dy's columns are wanted, too */
} tiles_block_of;

static int64_t tiles_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t tiles_strip_end(const tiles_gradient *g, int64_t strip)
{
    return strip * TILES_CELL < g->k ? strip * TILES_CELL : g->k;
}

/* Two rows as pairs of 16 columns, `pitch` bytes apart: `columns` of them, of which `real` are there; a row that is
 * NULL is +0, and so is what does not exist. */
VEC_INLINE void tiles_pair_rows(const float *even, const float *odd, int64_t real, int64_t columns, char *to,
                                int64_t pitch)
{
    for (int64_t j = 0; j < columns; j += VEC_LANES) {
        vec_mask mask = vec_range(0, real - j > 0 ? (int)tiles_least(real - j, VEC_LANES) : 0);
        vec first = even ? vec_load_part(even + j, mask) : vec_zero(),
            second = odd ? vec_load_part(odd + j, mask) : vec_zero();
        vec_store((float *)(void *)(to + j / TILES_SIDE * pitch) + j % TILES_SIDE, tiles_pair(first, second));
    }
}

/* The same of bfloat16. */
VEC_INLINE void tiles_pair_half_rows(const uint16_t *even, const uint16_t *odd, int64_t real, int64_t columns, char *to,
                                     int64_t pitch)
{
    for (int64_t j = 0; j < columns; j += TILES_SIDE, to += pitch) {
        int64_t there = real - j > 0 ? tiles_least(real - j, TILES_SIDE) : 0;
        tiles_pair_halves(even ? even + j : NULL, odd ? odd + j : NULL, there, (uint16_t *)(void *)to);
    }
}

/* A block of `count` rows, `step` elements apart, as lines of pairs, `line` bytes apart; what does not exist is +0. Row
 * by row, since each lies in pages of its own. */
static inline void tiles_block_pairs(const void *from, bool half, int64_t step, int64_t count, int64_t real,
                                     int64_t columns, char *to, int64_t line, int64_t pitch)
{
    for (int64_t i = 0; i < ARTEL__BLOCK; i += 2, to += line) {
        const void *even = i < count ? artel__half_at(from, half, i * step) : NULL;
        const void *odd = i + 1 < count ? artel__half_at(from, half, (i + 1) * step) : NULL;
        if (half)
            tiles_pair_half_rows(even, odd, real, columns, to, pitch);
        else
            tiles_pair_rows(even, odd, real, columns, to, pitch);
    }
}

/* `count` rows of dy are added to the chains of up to 32 columns. */
static void tiles_bias_rows(const void *from, bool half, int64_t ldy, int64_t count, int64_t real, float *sum)
{
    for (int64_t j = 0; j < real; j += VEC_LANES) {
        vec_mask mask = vec_range(0, real - j > VEC_LANES ? VEC_LANES : (int)(real - j));
        vec acc = vec_load(sum + j);
        for (int64_t i = 0; i < count && !half; i++)
            acc = vec_add(acc, vec_load_part((const float *)from + i * ldy + j, mask));
        for (int64_t i = 0; i < count && half; i++)
            acc = vec_add(acc, vec_widen_part((const uint16_t *)from + i * ldy + j,
                                              real - j > VEC_LANES ? VEC_LANES : (int)(real - j)));
        vec_store(sum + j, acc);
    }
}

/* A leaf of the bias is finished: up the tree. */
static void tiles_bias_climb(const tiles_gradient *g, const fold_piece *leaf, int64_t column, int64_t real, float *sum)
{
    float *out = leaf->node >= 0 ? g->dbias + leaf->node * g->dbias_stride + column
                                 : sum + (1 + leaf->depth - leaf->merges) * TILES_CELL;
    for (int64_t j = 0; j < real; j++) {
        float x = sum[j] + 0.0f;
        for (int32_t m = 0; m < leaf->merges; m++) x = sum[(leaf->depth - m) * TILES_CELL + j] + x;
        out[j] = x;
    }
}

/* dy of one piece and one panel, turned; the sums of its columns besides. */
static void tiles_turn_dy(const tiles_block_of *b, const tiles_piece *piece, int64_t panel)
{
    const tiles_gradient *g = b->g;
    _Alignas(64) float pairs[TILES_SIDE * TILES_CELL];
    int64_t column = panel * ARTEL__PANEL, real = tiles_least(g->n - column, ARTEL__PANEL);
    char *to = b->room->dy + (panel - b->p0) * ARTEL__PANEL * g->turned + piece->block * TILES_LINE;
    float *sum = b->bias ? b->room->bias + (panel - b->p0) * (1 + g->levels) * TILES_CELL : NULL;
    if (sum && !piece->resume) memset(sum, 0, TILES_CELL * sizeof *sum);
    for (int64_t r = 0; r < piece->leaf.rows; r += ARTEL__BLOCK, to += TILES_LINE) {
        const void *from = artel__half_at(g->dy, g->dy_half, (piece->row + r) * g->ldy + column);
        tiles_block_pairs(from, g->dy_half, g->ldy, piece->leaf.rows - r, real, TILES_CELL, (char *)pairs,
                          2 * TILES_LINE, TILES_LINE);
        if (sum) tiles_bias_rows(from, g->dy_half, g->ldy, tiles_least(piece->leaf.rows - r, ARTEL__BLOCK), real, sum);
        tiles_turn(pairs, TILES_CELL, to, g->turned);
        if (real > TILES_SIDE) tiles_turn(pairs + TILES_SIDE, TILES_CELL, to + TILES_SIDE * g->turned, g->turned);
    }
    if (sum && piece->leaf.merges >= 0) tiles_bias_climb(g, &piece->leaf, column, real, sum);
}

static void tiles_take_dy(const tiles_block_of *b)
{
    for (int64_t panel = b->p0; panel < b->p1; panel++) {
        for (int i = 0; i < b->chunk->count; i++) tiles_turn_dy(b, &b->chunk->piece[i], panel);
    }
}

/* Tiles of 16 columns that a block of x has. */
static int64_t tiles_x_tiles(const tiles_block_of *b)
{
    return (tiles_strip_end(b->g, b->s1) - b->s0 * TILES_CELL + TILES_SIDE - 1) / TILES_SIDE;
}

/* One block of a matrix' rows: `count` of them are there. */
static void tiles_x_block(const tiles_block_of *b, int64_t row, int64_t count, char *to)
{
    const tiles_rows *x = &b->g->x;
    int64_t k0 = b->s0 * TILES_CELL, real = tiles_strip_end(b->g, b->s1) - k0;
    tiles_block_pairs(artel__half_at(x->a, x->half, row * x->lda + k0), x->half, x->lda, count, real,
                      tiles_x_tiles(b) * TILES_SIDE, to, TILES_LINE, TILES_BYTES);
}

/* The same of pixels: they are gathered first. */
static void tiles_x_pixels(const tiles_block_of *b, int64_t row, int64_t count, char *to)
{
    enum {
        PITCH = TILES_WIDE + 2 * ARTEL__BLOCK
    };
    int64_t k0 = b->s0 * TILES_CELL, k1 = tiles_strip_end(b->g, b->s1);
    uint16_t *rows = b->room->rows;
    tiles_gather(&b->g->x, row, count, k0, k1, rows, PITCH);
    for (int64_t i = count; i < ARTEL__BLOCK; i++) memset(rows + i * PITCH, 0, PITCH * sizeof *rows);
    for (int64_t k = 0; k < k1 - k0; k += TILES_SIDE, to += TILES_BYTES) {
        for (int64_t i = 0; i < ARTEL__BLOCK; i += 2)
            tiles_pair_halves(rows + i * PITCH + k, rows + (i + 1) * PITCH + k, TILES_SIDE,
                              (uint16_t *)(void *)(to + i / 2 * TILES_LINE));
    }
}

static void tiles_take_x(const tiles_block_of *b)
{
    int64_t bytes = tiles_x_tiles(b) * TILES_BYTES;
    for (int i = 0; i < b->chunk->count; i++) {
        const tiles_piece *piece = &b->chunk->piece[i];
        char *to = b->room->x + piece->block * bytes;
        for (int64_t r = 0; r < piece->leaf.rows; r += ARTEL__BLOCK, to += bytes) {
            int64_t count = piece->leaf.rows - r < ARTEL__BLOCK ? piece->leaf.rows - r : ARTEL__BLOCK;
            if (b->g->x.walk.ny == 0)
                tiles_x_block(b, piece->row + r, count, to);
            else
                tiles_x_pixels(b, piece->row + r, count, to);
        }
    }
}

/* A finished cell of dw^T to a node's dw, or to who takes it part by part. */
static void tiles_give(const tiles_block_of *b, int32_t node, int64_t panel, int64_t strip, float *cell)
{
    const tiles_gradient *g = b->g;
    int64_t width = artel__panel_width(g->n, panel), column = panel * ARTEL__PANEL, k0 = strip * TILES_CELL;
    int64_t at = column * g->k + k0 * width;
    float *to = g->follow.run ? b->room->part : g->dw + node * g->dw_stride + at;
    int64_t from = b->first > column ? b->first - column : 0, end = b->last - column < width ? b->last - column : width;
    int64_t count = tiles_strip_end(g, strip + 1) - k0;
    if (b->last == g->n) { /* and the padding behind the last column */
        for (int64_t n = end; n < width; n++) memset(cell + n * TILES_CELL, 0, TILES_CELL * sizeof *cell);
        end = width;
    }
    transpose_block(cell + from * TILES_CELL, TILES_CELL, to + from, width, end - from, count);
    if (g->follow.run) g->follow.run(g->follow.user, to, at, count * width);
}

/* A sum, normalised or not, to `to` behind `merges` subtrees, the newest at `left` and older ones in front of it. */
VEC_INLINE void tiles_merge(const float *leaf, bool normalise, const float *left, int32_t merges, float *to)
{
    for (int64_t i = 0; i < TILES_CELL_FLOATS; i += VEC_LANES) {
        vec x = vec_load(leaf + i);
        if (normalise) x = vec_add(x, vec_zero());
        for (int32_t m = 0; m < merges; m++) x = vec_add(vec_load(left - m * TILES_CELL_FLOATS + i), x);
        vec_store(to + i, x);
    }
}

/* A leaf, or two, is finished: up the tree. */
static void tiles_climb(const tiles_block_of *b, const tiles_sum *done, float *sum, int64_t panel, int64_t strip)
{
    const fold_piece *leaf = &done->leaf;
    float *stack = sum + TILES_CELL_FLOATS,
          *to = leaf->node >= 0 ? sum : stack + (leaf->depth - leaf->merges) * TILES_CELL_FLOATS;
    const float *left = leaf->merges > 0 ? stack + (leaf->depth - 1) * TILES_CELL_FLOATS : stack;
    if (leaf->merges == 0 && done->normalise)
        tiles_merge(sum, true, left, 0, to);
    else if (leaf->merges == 0 && to != sum)
        tiles_merge(sum, false, left, 0, to);
    else if (leaf->merges == 1 && !done->normalise)
        tiles_merge(sum, false, left, 1, to);
    else if (leaf->merges > 0)
        tiles_merge(sum, done->normalise, left, leaf->merges, to);
    if (leaf->node >= 0) tiles_give(b, leaf->node, panel, strip, sum);
}

/* One cell over the chunk. */
static void tiles_cell_chunk(const tiles_block_of *b, int64_t panel, int64_t strip, float *sum)
{
    int64_t tiles = tiles_x_tiles(b), columns = tiles_strip_end(b->g, strip + 1) - strip * TILES_CELL;
    const char *x = b->room->x + (strip - b->s0) * 2 * TILES_BYTES;
    const char *dy = b->room->dy + (panel - b->p0) * ARTEL__PANEL * b->g->turned;
    tiles_job job = {.sa = b->g->turned, .sb = tiles * TILES_BYTES, .c = sum};
    job.rows = (int)artel__panel_width(b->g->n, panel);
    job.columns = (int)columns;
    for (int i = 0; i < b->chunk->sums && columns > 0; i++) {
        const tiles_sum *part = &b->chunk->sum[i];
        job.a = dy + part->block * TILES_LINE;
        job.b = x + part->block * job.sb;
        job.blocks = part->blocks;
        job.load = part->resume;
        tiles_multiply(&job);
        if (part->leaf.merges >= 0) tiles_climb(b, part, sum, panel, strip);
    }
}

/* All chunks of one block and one group. `fresh`: dy is not in the room from the strips before. */
static void tiles_block_run(tiles_block_of *b, bool fresh)
{
    tiles_leaves leaves = tiles_leaves_begin(b->g->fold, b->g->inner, b->g->chunk);
    tiles_chunk chunk;
    b->chunk = &chunk;
    while (tiles_next_chunk(&leaves, &chunk)) {
        if (fresh) tiles_take_dy(b);
        tiles_take_x(b);
        for (int64_t panel = b->p0; panel < b->p1; panel++) {
            for (int64_t strip = b->s0; strip < b->s1; strip++) {
                int64_t cell = b->g->one_chunk ? 0 : (panel - b->p0) * (b->s1 - b->s0) + strip - b->s0;
                tiles_cell_chunk(b, panel, strip, b->room->sums + cell * b->room->cell_floats);
            }
        }
    }
}

/* Strips [s0, s1) by panels [p0, p1), few enough for the room, group by group. */
static void tiles_gradient_block(const tiles_gradient *g, const tiles_gradient_room *room, int64_t s0, int64_t s1,
                                 int64_t p0, int64_t p1, bool fresh)
{
    int64_t wide = g->n / g->groups, end = p1 * ARTEL__PANEL < g->n ? p1 * ARTEL__PANEL : g->n;
    for (int64_t group = p0 * ARTEL__PANEL / wide; group < g->groups && group * wide < end; group++) {
        tiles_gradient of = *g;
        of.x.group = group * g->x.walk.depth;
        tiles_block_of b = {&of, room, NULL, s0, s1, p0, p1, group * wide, (group + 1) * wide, false};
        b.bias = g->dbias && s0 == 0 && b.first <= p0 * ARTEL__PANEL; /* the first group of these panels */
        tiles_block_run(&b, fresh || !g->one_chunk);
    }
}

/* Strips of x that are packed at once: they and the sums of their cells stay in the second-level cache. */
static int64_t tiles_strips(const tiles_gradient *g)
{
    int64_t strips = g->chunk > TILES_CHUNK ? TILES_WIDE / TILES_CELL / 2 : TILES_WIDE / TILES_CELL;
    return tiles_least(strips,
                       TILES_CELLS / tiles_least(g->groups > 1 ? 1 : TILES_PANELS, g->panels > 0 ? g->panels : 1));
}

/* Any strips by any panels. */
static void tiles_gradient_rectangle(const tiles_gradient *g, const tiles_gradient_room *room, int64_t s0, int64_t s1,
                                     int64_t p0, int64_t p1)
{
    int64_t panels = g->groups > 1 ? 1 : TILES_PANELS;
    for (int64_t p = p0; p < p1; p += panels) {
        int64_t last = tiles_least(p + panels, p1), strips = tiles_strips(g);
        for (int64_t s = s0; s < s1; s += strips)
            tiles_gradient_block(g, room, s, tiles_least(s + strips, s1), p, last, s == s0);
    }
}

static void tiles_gradient_finish(tiles_gradient *g)
{
    g->panels = artel__panel_count(g->n);
    g->strips = g->k > 0 || !g->dbias ? (g->k + TILES_CELL - 1) / TILES_CELL : 1; /* the bias goes with the first */
    g->levels = tiles_levels(g->fold);
    int64_t blocks = tiles_all_blocks(g->fold, g->inner);
    g->one_chunk = blocks <= TILES_WHOLE;
    g->chunk = !g->one_chunk ? TILES_CHUNK : blocks > 0 ? blocks : 1;
    g->turned = g->chunk * TILES_LINE + TILES_LINE;
}

static int64_t tiles_gradient_tasks(const tiles_gradient *g)
{
    return g->panels * g->strips;
}

/* One node, whose cells are computed whole. */
static bool tiles_gradient_follows(const tiles_gradient *g)
{
    return g->groups == 1 && g->fold->nodes == 1;
}

static tiles_gradient_room tiles_gradient_lay(const tiles_gradient *g, char *base)
{
    tiles_gradient_room room = {.cell_floats = (1 + g->levels) * TILES_CELL_FLOATS};
    int64_t panels = tiles_least(g->panels, TILES_PANELS), strips = tiles_least(g->strips, tiles_strips(g));
    room.dy = room_take(&room.bytes, base, panels * ARTEL__PANEL * g->turned);
    room.x = room_take(&room.bytes, base, g->chunk * strips * 2 * TILES_BYTES);
    room.rows = room_take(&room.bytes, base, g->x.walk.ny > 0 ? ARTEL__BLOCK * (TILES_WIDE + 2 * ARTEL__BLOCK) * 2 : 0);
    room.part = room_take(&room.bytes, base, tiles_gradient_follows(g) ? TILES_CELL_FLOATS * 4 : 0);
    room.bias = room_take(&room.bytes, base, g->dbias ? panels * (1 + g->levels) * TILES_CELL * 4 : 0);
    room.sums = room_take(&room.bytes, base,
                          (g->one_chunk ? 1 : tiles_least(TILES_CELLS, panels * strips)) * room.cell_floats * 4);
    return room;
}

static void tiles_gradient_run(const tiles_gradient *g, int64_t begin, int64_t end, void *scratch)
{
    tiles_gradient_room room = tiles_gradient_lay(g, scratch);
    tiles_begin();
    while (begin < end) {
        int64_t strip = begin / g->panels, from = begin % g->panels, strips = 1, to = g->panels;
        if (from == 0 && end - begin >= g->panels)
            strips = (end - begin) / g->panels;
        else if (end - begin < g->panels - from)
            to = from + end - begin;
        tiles_gradient_rectangle(g, &room, strip, strip + strips, from, to);
        begin += (to - from) * strips;
    }
    tiles_end();
    vec_leave();
}

static tiles_gradient tiles_gradient_of_product(const artel__product_weight_gradient *p)
{
    tiles_gradient g = {.fold = p->fold,
                        .inner = p->inner,
                        .k = p->k,
                        .n = p->n,
                        .groups = 1,
                        .x = {.a = p->x, .lda = p->ldx, .half = p->x_half},
                        .dy = p->dy,
                        .dy_half = p->dy_half,
                        .ldy = p->ldy,
                        .dw = p->dw,
                        .dw_stride = p->dw_stride,
                        .dbias = p->dbias,
                        .dbias_stride = p->dbias_stride,
                        .follow = p->follow};
    tiles_gradient_finish(&g);
    return g;
}

static const char *tiles_weights_refuses(const void *params)
{
    return tiles_refuses(((const artel__product_weight_gradient *)params)->arithmetic);
}

static int64_t tiles_weights_tasks(const void *params)
{
    tiles_gradient g = tiles_gradient_of_product(params);
    return tiles_gradient_tasks(&g);
}

static bool tiles_weights_follows(const void *params)
{
    tiles_gradient g = tiles_gradient_of_product(params);
    return tiles_gradient_follows(&g);
}

static size_t tiles_weights_scratch(const void *params)
{
    tiles_gradient g = tiles_gradient_of_product(params);
    return tiles_gradient_lay(&g, NULL).bytes;
}

static void tiles_weights_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    tiles_gradient g = tiles_gradient_of_product(params);
    tiles_gradient_run(&g, begin, end, scratch);
}

static tiles_gradient tiles_gradient_of_conv(const artel__conv2d_weight_gradient *p)
{
    const artel__conv2d_shape *s = &p->shape;
    tiles_gradient g = {.fold = p->fold,
                        .inner = artel__conv_images_a_row(s->images, p->fold->rows) * s->oh * s->ow,
                        .k = s->kh * s->kw * (s->ic / s->groups),
                        .n = s->oc,
                        .groups = s->groups,
                        .x = {.walk = conv_walk_forward(s, p->x), .half = p->x_half},
                        .dy = p->dy,
                        .dy_half = p->dy_half,
                        .ldy = s->oc,
                        .dw = p->dw,
                        .dw_stride = p->dw_stride,
                        .dbias = p->dbias,
                        .dbias_stride = p->dbias_stride,
                        .follow = p->follow};
    if (s->groups == 1 && tiles_pointwise(s)) {
        g.x.walk.ny = 0;
        g.x.a = p->x;
        g.x.lda = s->ic;
    }
    tiles_gradient_finish(&g);
    return g;
}

static const char *tiles_conv_weights_refuses(const void *params)
{
    return tiles_refuses(((const artel__conv2d_weight_gradient *)params)->arithmetic);
}

static int64_t tiles_conv_weights_tasks(const void *params)
{
    tiles_gradient g = tiles_gradient_of_conv(params);
    return tiles_gradient_tasks(&g);
}

static bool tiles_conv_weights_follows(const void *params)
{
    tiles_gradient g = tiles_gradient_of_conv(params);
    return tiles_gradient_follows(&g);
}

static size_t tiles_conv_weights_scratch(const void *params)
{
    tiles_gradient g = tiles_gradient_of_conv(params);
    return tiles_gradient_lay(&g, NULL).bytes;
}

static void tiles_conv_weights_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    tiles_gradient g = tiles_gradient_of_conv(params);
    tiles_gradient_run(&g, begin, end, scratch);
}

#endif
