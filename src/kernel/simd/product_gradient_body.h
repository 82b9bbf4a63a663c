/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients of products and convolutions for one instruction set; included behind a micro_vec_*.h.
 *
 * The rows pass in chunks. Of each chunk the wanted columns of x are copied tile by tile ([tile][row][VEC_LANES], with
 * a column of ones behind the last one for the bias) and those of dy panel by panel, so that the register tile reads
 * two streams from the first-level cache. Tiles of a task keep their unfinished chain and the waiting subtrees in
 * scratch between chunks; when one chunk holds all rows, they share one place.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_GRADIENT_BODY_H
#define ARTEL_KERNEL_SIMD_PRODUCT_GRADIENT_BODY_H

#include "kernel/simd/product_gradient_take.h"

/* The pieces of one node in rows [begin, end). */
static int64_t gradient_node_pieces(gradient_tree *tree, int64_t begin, int64_t end, fold_piece *out, bool *resume)
{
    const int64_t *start = tree->fold->start, inner = tree->inner;
    int64_t count = 0;
    while (tree->shard < tree->last) {
        int64_t first = start[tree->shard] * inner, last = start[tree->shard + 1] * inner,
                at = first > begin ? first : begin;
        if (first >= end) break;
        if (first < begin && last > begin) *resume = true;
        if (last > end) {
            out[count++] = (fold_piece){end - at, -1, -1, 0};
            break;
        }
        fold_piece leaf = gradient_leaf(tree, last - at);
        if (last > begin) out[count++] = leaf; /* else of an earlier chunk */
    }
    return count;
}

/* The pieces of rows [begin, end); *resume: the first continues a shard that began earlier. Nodes without rows are
 * leaves without rows, at the front of the first chunk. */
static int64_t gradient_pieces(const gradient *g, int64_t begin, int64_t end, fold_piece *out, bool *resume)
{
    int64_t count = 0;
    *resume = false;
    for (int32_t node = 0; begin == 0 && node < g->fold->nodes; node++) {
        gradient_tree tree = gradient_node(g->fold, g->inner, node);
        if (tree.shard == tree.last) out[count++] = (fold_piece){0, 0, node, 0};
    }
    for (int32_t node = 0; node < g->fold->nodes; node++) {
        gradient_tree tree = gradient_node(g->fold, g->inner, node);
        count += gradient_node_pieces(&tree, begin, end, out + count, resume);
    }
    for (int64_t i = 0; i < count; i++) out[i].rows /= VEC_ROWS;
    return count;
}

typedef struct gradient_chunk {
    int64_t begin, end, pieces;
    bool resume;
    tile_ahead x, dy; /* what the next chunk will read */
    int64_t burst;
} gradient_chunk;

/* Stretches of `floats` floats, `step` floats apart. */
static tile_ahead gradient_stretches(const float *from, int64_t floats, int64_t step, int64_t rows)
{
    int64_t lines = (floats + 15) / 16;
    return (tile_ahead){(const char *)from, lines, lines, step * 4 - lines * 64, rows};
}

/* What of x the `rows` rows from `begin` on need: a product's columns; of a lone tap's pixels theirs, with the lines
 * that the stride leaves out; else the lines below those of the chunk before. */
static tile_ahead gradient_ahead_x(const gradient *g, int64_t begin, int64_t rows, int64_t t0, int64_t t1)
{
    const conv_walk *w = &g->walk;
    int64_t k0 = gradient_start(g, t0), k1 = gradient_start(g, t1), columns = (k1 < g->k ? k1 : g->k) - k0;
    if (w->ny == 0) return gradient_stretches(g->x + begin * g->ldx + k0, columns, g->ldx, rows);
    if (w->pixels <= 0) return (tile_ahead){0};
    int64_t q = begin / w->pixels, y = q % w->lines * w->sy + w->y0 + (w->ny - 1) * w->dy, row = w->w * w->c;
    if (y < 0) y = 0;
    if (y >= w->h) return (tile_ahead){0};
    const float *line = w->in + (q / w->lines * w->h + y) * row;
    if (w->ny * w->nx == 1 && w->sx > 1 && g->groups == 1)
        return gradient_stretches(line + k0, columns, w->sx * w->c, rows * w->sy);
    return gradient_stretches(line, row, row, rows / w->pixels * w->sy);
}

/* Tells what the chunk after `c` will read, and how many lines are to be fetched before every FOLD_BURST rows. */
static void gradient_look_ahead(const gradient *g, gradient_chunk *c, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
    int64_t rows = g->rows - c->end < g->chunk ? g->rows - c->end : g->chunk, column = p0 * ARTEL__PANEL;
    int64_t steps = (c->end - c->begin) / VEC_ROWS,
            bursts = (t1 - t0) * (p1 - p0) * GRADIENT_STRIPS * ((steps + FOLD_BURST - 1) / FOLD_BURST);
    int64_t floats = p1 * ARTEL__PANEL < g->n ? (p1 - p0) * ARTEL__PANEL : g->n - column;
    if (rows <= 0 || bursts <= 0) return;
    c->dy = gradient_stretches(g->dy + c->end * g->ldy + column, floats, g->ldy, rows);
    c->x = gradient_ahead_x(g, c->end, rows, t0, t1);
    c->burst = (c->x.lines * c->x.rows + c->dy.lines * c->dy.rows + bursts - 1) / bursts;
}

/* Tiles [first, last) of one panel and group over one chunk. x and dy of tiles [t0, t1) are in the room. `block`: which
 * of the held panels. */
static void gradient_panel(const gradient *g, const gradient_room *room, gradient_chunk *c, int64_t t0, int64_t t1,
                           int64_t first, int64_t last, int64_t panel, int64_t group, int64_t block)
{
    int64_t width = artel__panel_width(g->n, panel), base = panel * ARTEL__PANEL, wide = g->n / g->groups;
    int64_t from = group * wide > base ? group * wide - base : 0;
    int64_t to = group + 1 == g->groups || (group + 1) * wide > base + width ? width : (group + 1) * wide - base;
    int64_t copied = gradient_first_copied(g, t0, t1);
    int64_t k0 = room->start[first - t0];
    bool keep = g->rows > g->chunk;
    for (int64_t strip = 0; strip < width; strip += TILE_COLUMNS) {
        if (strip >= to || strip + TILE_COLUMNS <= from) continue;
        const float *direct = g->dy + c->begin * g->ldy + base + strip,
                    *copied_dy = room->dy + (block * ARTEL__PANEL + strip) * g->chunk;
        fold_tile t = {.b = g->direct ? direct : copied_dy,
                       .sb = g->direct              ? g->ldy
                             : width < TILE_COLUMNS ? width
                                                    : TILE_COLUMNS,
                       .pieces = room->pieces,
                       .count = c->pieces,
                       .resume = c->resume,
                       .so = width,
                       .burst = c->burst,
                       .node_stride = g->dw_stride,
                       .bias_stride = g->dbias_stride};
        float *out = g->follow.run ? room->part + strip : g->dw + base * g->k + k0 * width + strip;
        t.first = from > strip ? (int)(from - strip) : 0;
        t.last = to - strip < TILE_COLUMNS ? (int)(to - strip) : TILE_COLUMNS;
        t.bias_first = t.first;
        t.bias_last = g->n - base - strip < t.last ? (int)(g->n - base - strip) : t.last;
        for (int64_t i = first; i < last; i++) {
            int64_t start = room->start[i - t0], end = room->start[i - t0 + 1];
            int64_t place = keep ? (block * GRADIENT_DEEP + i - t0) * GRADIENT_STRIPS + strip / TILE_COLUMNS : 0;
            fold_lines lines;
            t.a = i < copied ? g->x + c->begin * g->ldx + start : room->x + (i - copied) * g->pitch;
            t.sa = i < copied ? g->ldx : VEC_LANES;
            t.lines = NULL;
            if (i < copied && g->walk.ny > 0) {
                lines = gradient_lines(g, c->begin, start);
                t.lines = &lines;
            } else if (i >= copied && gradient_rows_inside(g, c->begin, start, end, t.a, &lines)) {
                t.lines = &lines;
            }
            t.partial = room->partial + place * FOLD_TILE;
            t.stack = room->stack + place * g->levels * FOLD_TILE;
            t.next = c->resume && i + 1 < last ? t.partial + GRADIENT_STRIPS * FOLD_TILE : NULL;
            t.out = out + (start - k0) * width;
            t.bias = end > g->k ? g->dbias + base + strip : NULL;
            t.ahead = c->dy.rows > 0 ? &c->dy : &c->x;
            fold_run((int)(end - start), &t);
        }
    }
    if (g->follow.run && c->end == g->rows) {
        int64_t k1 = room->start[last - t0] < g->k ? room->start[last - t0] : g->k;
        g->follow.run(g->follow.user, room->part, base * g->k + k0 * width, (k1 - k0) * width);
    }
}

/* `fresh`: x is not in the room from the panels before. */
static void gradient_chunk_run(const gradient *g, const gradient_room *room, int64_t begin, int64_t t0, int64_t t1,
                               int64_t p0, int64_t p1, int64_t group, bool fresh)
{
    gradient_chunk c = {.begin = begin, .end = begin + g->chunk < g->rows ? begin + g->chunk : g->rows};
    c.pieces = gradient_pieces(g, c.begin, c.end, room->pieces, &c.resume);
    if (fresh) gradient_take_x(g, room, c.begin, c.end, group, gradient_first_copied(g, t0, t1), t1);
    if (!g->direct) gradient_take_dy(g, room, c.begin, c.end, p0, p1);
    gradient_look_ahead(g, &c, t0, t1, p0, p1);
    int64_t step = g->follow.run ? GRADIENT_PART : t1 - t0;
    for (int64_t panel = p0; panel < p1; panel++) {
        for (int64_t t = t0; t < t1; t += step)
            gradient_panel(g, room, &c, t0, t1, t, t + step < t1 ? t + step : t1, panel, group, panel - p0);
    }
}

/* Tiles [t0, t1) of k, at most GRADIENT_DEEP, by panels [p0, p1). */
static void gradient_rectangle(const gradient *g, gradient_room *room, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
    const conv_walk *w = &g->walk;
    bool joined = w->dx == 1 && w->depth == w->c;
    int64_t copied = gradient_first_copied(g, t0, t1);
    for (int64_t i = t0; i <= t1; i++) room->start[i - t0] = gradient_start(g, i);
    gradient_takes(g, copied, t1, w->ny == 0 ? g->k : joined ? w->nx * w->depth : w->depth, &room->joined);
    if (w->ny > 0) gradient_takes(g, copied, t1, w->depth, &room->cut);
    int64_t wide = g->n / g->groups, step = g->groups > 1 ? 1 : GRADIENT_WIDE;
    for (int64_t p = p0; p < p1; p += step) {
        int64_t last = p + step < p1 ? p + step : p1, end = last * ARTEL__PANEL < g->n ? last * ARTEL__PANEL : g->n;
        for (int64_t group = p * ARTEL__PANEL / wide; group < g->groups && group * wide < end; group++) {
            int64_t begin = 0;
            do {
                gradient_chunk_run(g, room, begin, t0, t1, p, last, group,
                                   g->groups > 1 || g->rows > g->chunk || p == p0);
                begin += g->chunk;
            } while (begin < g->rows);
        }
    }
}

static int64_t gradient_tasks(const gradient *g)
{
    return g->tiles * g->panels;
}

/* Tiles [t0, t1) by panels [p0, p1). */
static void gradient_block(const gradient *g, gradient_room *room, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
    for (; t0 < t1; t0 += g->most) gradient_rectangle(g, room, t0, t0 + g->most < t1 ? t0 + g->most : t1, p0, p1);
}

/* Tasks of a line: what is numbered first. The lines cut the longer side, so that few of them make a block in which x
 * and dy are copied for much work. */
static int64_t gradient_line_tasks(const gradient *g)
{
    return g->by_panels ? g->tiles : g->panels;
}

/* Whole lines are taken together. */
static void gradient_run(const gradient *g, int64_t begin, int64_t end, char *scratch)
{
    gradient_room room = gradient_lay(g, scratch);
    int64_t line_tasks = gradient_line_tasks(g);
    while (begin < end) {
        int64_t line = begin / line_tasks, from = begin % line_tasks, lines = 1, to = line_tasks;
        if (from == 0 && end - begin >= line_tasks)
            lines = (end - begin) / line_tasks;
        else if (end - begin < line_tasks - from)
            to = from + end - begin;
        if (g->by_panels)
            gradient_block(g, &room, from, to, line, line + lines);
        else
            gradient_block(g, &room, line, line + lines, from, to);
        begin += (to - from) * lines;
    }
    vec_leave();
}

static gradient gradient_of_product(const artel__product_weight_gradient *p)
{
    gradient g = {.fold = p->fold,
                  .inner = p->inner,
                  .k = p->k,
                  .n = p->n,
                  .groups = 1,
                  .x = p->x,
                  .ldx = p->ldx,
                  .dy = p->dy,
                  .ldy = p->ldy,
                  .dw = p->dw,
                  .dw_stride = p->dw_stride,
                  .dbias = p->dbias,
                  .dbias_stride = p->dbias_stride,
                  .follow = p->follow};
    gradient_finish(&g);
    return g;
}

static int64_t product_gradient_tasks(const void *params)
{
    gradient g = gradient_of_product(params);
    return gradient_tasks(&g);
}

static int64_t product_gradient_grain(const void *params)
{
    gradient g = gradient_of_product(params);
    return gradient_line_tasks(&g);
}

static bool product_gradient_follows(const void *params)
{
    gradient g = gradient_of_product(params);
    return gradient_follows(&g);
}

static size_t product_gradient_scratch(const void *params)
{
    gradient g = gradient_of_product(params);
    return gradient_lay(&g, NULL).bytes;
}

static void product_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    gradient g = gradient_of_product(params);
    gradient_run(&g, begin, end, scratch);
}

/* Pointwise convolutions without stride are products; the others walk. */
static gradient gradient_of_conv(const artel__conv2d_weight_gradient *p)
{
    const artel__conv2d_shape *s = &p->shape;
    gradient g = {.fold = p->fold,
                  .inner = artel__conv_images_a_row(s->images, p->fold->rows) * s->oh * s->ow,
                  .k = s->kh * s->kw * (s->ic / s->groups),
                  .n = s->oc,
                  .groups = s->groups,
                  .x = p->x,
                  .ldx = s->ic,
                  .dy = p->dy,
                  .ldy = s->oc,
                  .dw = p->dw,
                  .dw_stride = p->dw_stride,
                  .dbias = p->dbias,
                  .dbias_stride = p->dbias_stride,
                  .follow = p->follow};
    bool pointwise = s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1 && s->top == 0 && s->left == 0 &&
                     s->oh == s->ih && s->ow == s->iw && s->groups == 1;
    if (!pointwise) g.walk = conv_walk_forward(s, p->x);
    gradient_finish(&g);
    return g;
}

static int64_t conv_gradient_tasks(const void *params)
{
    gradient g = gradient_of_conv(params);
    return gradient_tasks(&g);
}

static int64_t conv_gradient_grain(const void *params)
{
    gradient g = gradient_of_conv(params);
    return gradient_line_tasks(&g);
}

static bool conv_gradient_follows(const void *params)
{
    gradient g = gradient_of_conv(params);
    return gradient_follows(&g);
}

static size_t conv_gradient_scratch(const void *params)
{
    gradient g = gradient_of_conv(params);
    return gradient_lay(&g, NULL).bytes;
}

static void conv_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    gradient g = gradient_of_conv(params);
    gradient_run(&g, begin, end, scratch);
}

#endif
