/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_forward and conv2d_data_gradient for one instruction set; included behind a micro_vec_*.h.
 *
 * Both are the same sweep over a conv_walk. A tile is up to TILE_ROWS pixels of one line, or two short lines; the
 * reduction is a list of segments, one a tap row where the taps are neighbours in memory, else one a tap. Taps outside
 * the image are left out one by one where that pays, see conv_pieces.h; else they read zeros of a padded copy, and only
 * tap rows that no line of the tile has are left out. Pointwise convolutions without stride go to the product; those
 * with stride walk, and as in the product their depth is cut and pixels that lie badly are copied side by side; what
 * their data gradients leave out is cleared on the way, see conv_gaps.h.
 */
#ifndef ARTEL_KERNEL_SIMD_CONV_BODY_H
#define ARTEL_KERNEL_SIMD_CONV_BODY_H

#include "kernel/simd/conv_gaps.h"
#include "kernel/simd/conv_pieces.h"
#include "kernel/simd/conv_walk.h"
#include "kernel/simd/micro_tile.h"
#include "kernel/simd/product_body.h"
#include "kernel/simd/room.h"

enum {
    CONV_STRIP = VEC_LANES == 16 ? 96 << 10 : 48 << 10, /* floats of strip that a band should not pass */
    CONV_DEPTH = VEC_LANES == 16 ? 6144 : 2816, /* steps of the reduction whose panel stays in the second-level cache */
    CONV_JOINS = TILE_ROWS <= 6,                /* a line's half has too few chains with 6 rows, not with 14 */
    CONV_PIECE = VEC_LANES == 16 ? 4 : 8,       /* steps of the reduction that take as long as a tile cut in two */
    CONV_PIXELS = 16 * TILE_ROWS
};

/* What a sweep computes: columns [n] of out from a walk. */
typedef struct conv_sweep {
    const float *w; /* panels(k, n) */
    int64_t k, n, groups;
    const float *bias;
    bool relu, normalise;
    artel_dtype narrow;
    float *out;                             /* line 0, pixel 0 of image 0 */
    int64_t out_image, out_line, out_pixel; /* floats */
    conv_gaps gaps;
    bool stream;      /* past the caches */
    int64_t from, to; /* segments of the part under way */
} conv_sweep;

/* Lines of a band: enough pixels for even tiles, an even number of short lines, within the strip's limit. */
static int64_t conv_band_lines(const conv_walk *w)
{
    int64_t pixels = w->pixels > 0 ? w->pixels : 1, lines = (CONV_PIXELS + pixels - 1) / pixels;
    if (pixels <= TILE_PAIR && lines % 2) lines++;
    while (lines > 2 && conv_strip_floats(w, lines) > CONV_STRIP) lines = (lines / 2 + 1) / 2 * 2;
    return lines;
}

/* Whether the reduction is one stretch for each pixel, so that it may be cut and its pixels be moved. */
static bool conv_single(const conv_walk *w)
{
    return w->ny == 1 && w->nx == 1 && w->direct && !w->bare && w->depth == w->c;
}

static bool conv_collides(const conv_walk *w)
{
    return conv_single(w) && w->depth > 0 && w->sx * w->c % PRODUCT_COLLIDES == 0;
}

/* Where things lie in a thread's scratch. */
typedef struct conv_room {
    segment *segments;
    conv_line *line;
    float *strip;
    float *rows; /* the pixels of a tile side by side; NULL: they are read where they lie */
    conv_pieces pieces;
    size_t bytes;
} conv_room;

static conv_room conv_lay(const conv_walk *w, char *base)
{
    conv_room r = {0};
    int64_t lines = conv_band_lines(w), taps = w->ny * w->nx;
    r.segments = room_take(&r.bytes, base, taps * (int64_t)sizeof(segment));
    r.line = room_take(&r.bytes, base, lines * (int64_t)sizeof(conv_line));
    r.strip = room_take(&r.bytes, base, conv_strip_floats(w, lines) * 4);
    if (conv_collides(w)) r.rows = room_take(&r.bytes, base, TILE_ROWS * PRODUCT_PITCH * 4);
    if (!w->bare) return r;
    r.pieces.inside = room_take(&r.bytes, base, 2 * w->nx * (int64_t)sizeof(int64_t));
    r.pieces.piece = room_take(&r.bytes, base, 2 * taps * (int64_t)sizeof(conv_piece));
    r.pieces.segments = room_take(&r.bytes, base, taps * (int64_t)sizeof(segment));
    r.pieces.held = room_take(&r.bytes, base, TILE_ROWS * TILE_COLUMNS * 4);
    for (int64_t x = 0; base && x < w->nx; x++)
        conv_pixels_inside(w, x, &r.pieces.inside[2 * x], &r.pieces.inside[2 * x + 1]);
    return r;
}

static int64_t conv_segments(const conv_walk *w, segment *out)
{
    int64_t count = 0;
    bool joined = conv_joined(w);
    for (int64_t y = 0; y < w->ny; y++) {
        for (int64_t x = 0; x < (joined && w->nx > 0 ? 1 : w->nx); x++) {
            segment s = conv_segment(w, y, x);
            if (joined) s.count = w->nx * w->depth;
            out[count++] = s;
        }
    }
    return count;
}

/* A tile of pixels, given with its A and its two runs in out, against panels [p0, p1); in pieces, unless they are NULL.
 */
static void conv_tile(const conv_sweep *c, const conv_walk *w, tile *t, const conv_pieces *pieces, conv_run run[2],
                      int mr, int64_t p0, int64_t p1)
{
    const float *a0 = t->a0, *a1 = t->a1;
    int64_t wide = c->n / c->groups, left = p0 * ARTEL__PANEL,
            right = p1 * ARTEL__PANEL < c->n ? p1 * ARTEL__PANEL : c->n;
    int64_t around = run[0].rows * run[0].wide + run[1].rows * run[1].wide, each = (around + p1 - p0 - 1) / (p1 - p0);
    for (int64_t column = left; column < right; column += TILE_COLUMNS) {
        int64_t panel = column / ARTEL__PANEL, end = column + TILE_COLUMNS < c->n ? column + TILE_COLUMNS : c->n;
        t->sb = artel__panel_width(c->n, panel);
        t->b = c->w + panel * ARTEL__PANEL * c->k + column % ARTEL__PANEL;
        t->c0 = run[0].out + column;
        t->c1 = run[1].out + column;
        t->bias = c->bias ? c->bias + column : NULL;
        for (int64_t group = column / wide; group * wide < end; group++) {
            t->a0 = a0 + group * w->depth;
            t->a1 = a1 + group * w->depth;
            t->first = group * wide > column ? (int)(group * wide - column) : 0;
            t->last = (int)(((group + 1) * wide < end ? (group + 1) * wide : end) - column);
            if (pieces)
                conv_pieces_run(pieces, t, mr);
            else
                product_tile(mr, t);
            t->from0 = NULL;
        }
        if (around > 0)
            conv_clear(&c->gaps, &run[1], conv_clear(&c->gaps, &run[0], each, left, right - left), left, right - left);
    }
}

static conv_run conv_out(const conv_sweep *c, const conv_line *line, int64_t pixel, int64_t pixels)
{
    float *out = c->out + line->image * c->out_image + line->y * c->out_line + pixel * c->out_pixel;
    return conv_run_make(&c->gaps, out, line->y, pixel, pixels);
}

/* The tile's pixels begin at a0 and a1, `step` floats apart; they are moved side by side where they lie badly. */
static void conv_take(tile *t, const float *a0, const float *a1, int64_t step, int mr, int64_t columns, float *rows)
{
    t->a0 = a0;
    t->a1 = a1;
    t->sa = step;
    if (rows) product_take(t, mr, columns, rows);
}

/* The pixels behind those of the tile, fetched meanwhile where one stretch of each is read: the next ones of the line
 * or, behind its last, those that begin the next line of the image. */
static tile_ahead conv_ahead(const conv_walk *w, tile *t, const conv_stretch *last, int64_t rows, int64_t panels)
{
    int64_t step = w->sx * w->c, pixel = last->first + last->count;
    const float *next = pixel < w->pixels ? last->line->in + pixel * step : last->line->in + w->sy * w->wide * w->c;
    if (!conv_single(w) || w->images * w->h * w->w * w->c * 4 < PRODUCT_FAR) return (tile_ahead){0};
    return product_fetch(t, next, step, w->sx > 1 && rows > w->pixels ? w->pixels : rows, panels);
}

/* Leaves out the tap rows at either end that lie outside for both lines. */
static void conv_skip_rows(const conv_sweep *c, const conv_walk *w, const conv_room *room, const conv_line *a,
                           const conv_line *b, tile *t)
{
    int64_t each = conv_joined(w) ? 1 : w->nx, y0 = 0, y1 = w->ny;
    while (y0 < y1 && !conv_row_inside(w, a->y, y0) && !conv_row_inside(w, b->y, y0)) y0++;
    while (y0 < y1 && !conv_row_inside(w, a->y, y1 - 1) && !conv_row_inside(w, b->y, y1 - 1)) y1--;
    int64_t first = y0 * each > c->from ? y0 * each : c->from, last = y1 * each < c->to ? y1 * each : c->to;
    t->segments = room->segments + first;
    t->count = last > first ? last - first : 0;
}

/* A tile of two stretches, of which the first is as long as the second or one pixel longer, against panels [p0, p1). */
static void conv_pixels(const conv_sweep *c, const conv_walk *w, conv_room *room, const tile *from, conv_stretch a,
                        conv_stretch b, int64_t p0, int64_t p1)
{
    int64_t step = w->sx * w->c;
    int mr = (int)(a.count + b.count);
    const conv_pieces *pieces = NULL;
    tile t = *from;
    t.sc = c->out_pixel;
    tile_ahead ahead = conv_ahead(w, &t, &b, mr, p1 - p0);
    t.ahead = &ahead;
    if (w->bare) {
        conv_pieces_make(&room->pieces, w, &a, &b, c->from, c->to);
        t.segments = room->pieces.segments;
        t.count = room->pieces.used;
        if (!conv_pieces_whole(&room->pieces, mr)) pieces = &room->pieces;
    } else if (!w->direct && c->normalise) {
        conv_skip_rows(c, w, room, a.line, b.line, &t);
    }
    conv_take(&t, a.line->in + a.first * step, b.line->in + b.first * step, step, mr, c->n - p0 * ARTEL__PANEL,
              room->rows);
    conv_run run[] = {conv_out(c, a.line, a.first, a.count), conv_out(c, b.line, b.first, b.count)};
    conv_tile(c, w, &t, pieces, run, mr, p0, p1);
}

/* Of two lines that share three tiles, the pixels of each that the outer tile takes; 0: lines are not shared so. */
static int64_t conv_outer(int64_t pixels)
{
    int64_t outer = (2 * pixels + 1) / 3;
    return CONV_JOINS && pixels > TILE_ROWS && outer <= TILE_ROWS && pixels - outer <= TILE_PAIR ? outer : 0;
}

/* `lines` lines of the room against panels [p0, p1). */
static void conv_lines(const conv_sweep *c, const conv_walk *w, conv_room *room, int64_t lines, const tile *t,
                       int64_t p0, int64_t p1)
{
    int64_t tiles = tile_count(w->pixels), outer = conv_outer(w->pixels), inner = w->pixels - outer;
    for (int64_t i = 0; i < lines; i++) {
        const conv_line *line = &room->line[i], *next = line + 1;
        bool two = i + 1 < lines;
        if (two && w->pixels <= TILE_PAIR) {
            conv_pixels(c, w, room, t, (conv_stretch){line, 0, w->pixels}, (conv_stretch){next, 0, w->pixels}, p0, p1);
            i++;
        } else if (two && outer > 0) {
            int64_t half = (outer + 1) / 2;
            conv_pixels(c, w, room, t, (conv_stretch){line, 0, half}, (conv_stretch){line, half, outer - half}, p0, p1);
            conv_pixels(c, w, room, t, (conv_stretch){line, outer, inner}, (conv_stretch){next, 0, inner}, p0, p1);
            conv_pixels(c, w, room, t, (conv_stretch){next, inner, half},
                        (conv_stretch){next, inner + half, outer - half}, p0, p1);
            i++;
        } else {
            for (int64_t j = 0; j < tiles; j++) {
                int64_t x = tile_cut(w->pixels, tiles, j), end = tile_cut(w->pixels, tiles, j + 1),
                        middle = (x + end + 1) / 2;
                conv_pixels(c, w, room, t, (conv_stretch){line, x, middle - x},
                            (conv_stretch){line, middle, end - middle}, p0, p1);
            }
        }
    }
}

/* The parts into which the reduction is cut: depths of a lone tap, or segments. */
static int64_t conv_cuts(const conv_walk *w, int64_t segments)
{
    int64_t steps = w->ny * w->nx * w->depth, each = steps > 0 ? CONV_DEPTH * segments / steps : 1;
    if (conv_single(w)) return w->depth > PRODUCT_DEPTH ? (w->depth + PRODUCT_DEPTH - 1) / PRODUCT_DEPTH : 1;
    if (each < 1) each = 1;
    return segments > each ? (segments + each - 1) / each : 1;
}

/* Part `cut` of `cuts` of a reduction of `count` segments; of the sweep, its part. */
static tile conv_cut(const conv_walk *w, const conv_room *room, int64_t count, int64_t cuts, int64_t cut,
                     conv_sweep *part)
{
    int64_t k0 = tile_cut(w->depth, cuts, cut), k1 = tile_cut(w->depth, cuts, cut + 1);
    bool last = cut + 1 == cuts;
    tile t = {.segments = room->segments,
              .count = 1,
              .load = cut > 0,
              .relu = last && part->relu,
              .normalise = last && part->normalise};
    t.stream = cuts == 1 && part->stream;
    t.claim = !t.stream;
    t.narrow = last ? part->narrow : ARTEL_DTYPE_FLOAT32;
    if (!last) part->bias = NULL;
    if (cut > 0) part->gaps.sy = 0;
    if (conv_single(w)) {
        room->segments[0] = (segment){k0, w->first * w->depth + k0, k1 - k0};
        return t;
    }
    part->from = tile_cut(count, cuts, cut);
    part->to = tile_cut(count, cuts, cut + 1);
    t.segments += part->from;
    t.count = part->to - part->from;
    return t;
}

/* Lines [q0, q1) against panels [p0, p1). Where lines are copied each band meets all parts of the reduction before the
 * next one comes; else all lines pass over a part, which stays in the cache. */
static void conv_rectangle(const conv_sweep *c, const conv_walk *w, int64_t q0, int64_t q1, int64_t p0, int64_t p1,
                           char *scratch)
{
    conv_room room = conv_lay(w, scratch);
    int64_t band = conv_band_lines(w), count = conv_segments(w, room.segments), cuts = conv_cuts(w, count),
            turn = w->direct ? q1 - q0 : band;
    if (w->pixels == 0) return;
    for (int64_t q = q0; q < q1; q += turn) {
        int64_t end = q + turn < q1 ? q + turn : q1, lines = 0;
        for (int64_t cut = 0; cut < cuts; cut++) {
            conv_sweep part = *c;
            tile t = conv_cut(w, &room, count, cuts, cut, &part);
            for (int64_t b = q; b < end; b += band) {
                if (w->direct || cut == 0)
                    lines = conv_band(w, b, b + band < end ? b + band : end, room.strip, room.line);
                conv_lines(&part, w, &room, lines, &t, p0, p1);
            }
        }
    }
    vec_leave();
}

/* Whether the products of a line that are left out take longer than the pieces of its tiles, two of which have an end
 * of the line. */
static bool conv_pays(const conv_walk *w)
{
    int64_t outside = 0, pieces = 2;
    for (int64_t x = 0; x < w->nx; x++) {
        int64_t first, last;
        conv_pixels_inside(w, x, &first, &last);
        outside += w->pixels - (last - first);
        pieces += (first > 0) + (last < w->pixels);
    }
    return outside == 0 || outside * w->depth >= CONV_PIECE * TILE_ROWS * pieces;
}

/* The walk as it is swept: without strips where taps outside the image are left out one by one. */
static conv_walk conv_swept(const artel__conv2d_shape *s, conv_walk w)
{
    if (w.direct || !artel__conv_normalises(s) || !conv_pays(&w)) return w;
    w.direct = w.bare = true;
    w.wide = w.w;
    return w;
}

/* A task has about CONV_PIXELS / 2 pixels, and may shrink to a line or two. Depths may be cut. */
static product_grid conv_grid(int64_t lines, int64_t pixels, int64_t taps, int64_t depth, int64_t n)
{
    int64_t most = taps == 1 ? PRODUCT_DEPTH : CONV_DEPTH, k = taps * depth < most ? taps * depth : most;
    int64_t coarse = pixels > 0 ? (CONV_PIXELS / 2 + pixels - 1) / pixels : 1, fine = pixels <= TILE_PAIR ? 2 : 1;
    return product_grid_make(lines, k, n, coarse > fine ? coarse : fine, fine);
}

static bool conv_pointwise(const artel__conv2d_shape *s)
{
    return s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1 && s->top == 0 && s->left == 0 && s->oh == s->ih &&
           s->ow == s->iw && s->groups == 1;
}

static artel__product_forward conv_forward_product(const artel__conv2d_forward *p)
{
    const artel__conv2d_shape *s = &p->shape;
    return (artel__product_forward){.m = s->images * s->oh * s->ow,
                                    .n = s->oc,
                                    .k = s->ic,
                                    .a = p->x,
                                    .lda = s->ic,
                                    .w = p->w,
                                    .bias = p->bias,
                                    .activation = p->activation,
                                    .out = p->out,
                                    .ldo = s->oc,
                                    .narrow = p->narrow};
}

static product_grid conv_forward_grid(const artel__conv2d_shape *s)
{
    return conv_grid(s->images * s->oh, s->ow, s->kh * s->kw, s->ic / s->groups, s->oc);
}

static int64_t conv_forward_tasks(const void *params)
{
    const artel__conv2d_forward *p = params;
    if (conv_pointwise(&p->shape)) {
        artel__product_forward product = conv_forward_product(p);
        return product_forward_tasks(&product);
    }
    product_grid g = conv_forward_grid(&p->shape);
    return p->shape.ow > 0 ? g.blocks * g.groups : 0;
}

static size_t conv_forward_scratch(const void *params)
{
    const artel__conv2d_forward *p = params;
    if (conv_pointwise(&p->shape)) {
        artel__product_forward product = conv_forward_product(p);
        return product_forward_scratch(&product);
    }
    conv_walk w = conv_swept(&p->shape, conv_walk_forward(&p->shape, p->x));
    return conv_lay(&w, NULL).bytes;
}

static void conv_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__conv2d_forward *p = params;
    const artel__conv2d_shape *s = &p->shape;
    if (conv_pointwise(s)) {
        artel__product_forward product = conv_forward_product(p);
        product_forward_run(&product, begin, end, scratch);
        return;
    }
    conv_walk w = conv_swept(s, conv_walk_forward(s, p->x));
    product_grid g = conv_forward_grid(s);
    conv_sweep c = {.w = p->w,
                    .k = s->kh * s->kw * w.depth,
                    .n = s->oc,
                    .groups = s->groups,
                    .bias = p->bias,
                    .relu = p->activation == ARTEL__FUSED_RELU,
                    .normalise = artel__conv_normalises(s),
                    .narrow = p->narrow,
                    .out = p->out,
                    .out_image = s->oh * s->ow * s->oc,
                    .out_line = s->ow * s->oc,
                    .out_pixel = s->oc,
                    .stream = !p->narrow && product_streams(p->out, s->images * s->oh * s->ow * s->oc, s->oc,
                                                            s->kh * s->kw * w.depth)};
    product_range range = {.begin = begin, .end = end};
    product_rect r;
    while (product_grid_next(&g, &range, &r)) {
        conv_rectangle(&c, &w, r.row0, r.row1, r.panel0, r.panel1, scratch);
    }
    vec_fence();
}

static artel__product_forward conv_data_product(const artel__conv2d_data_gradient *p)
{
    const artel__conv2d_shape *s = &p->shape;
    return (artel__product_forward){.m = s->images * s->ih * s->iw,
                                    .n = s->ic,
                                    .k = s->oc,
                                    .a = p->dy,
                                    .lda = s->oc,
                                    .w = p->wt,
                                    .bias = p->bias,
                                    .activation = p->activation,
                                    .out = p->dx,
                                    .ldo = s->ic,
                                    .narrow = p->narrow};
}

/* Rows of the grid are lines of every phase at once. */
static product_grid conv_data_grid(const artel__conv2d_shape *s)
{
    int64_t lines = s->images * ((s->ih + s->sh - 1) / s->sh);
    return conv_grid(lines, (s->iw + s->sw - 1) / s->sw, s->kh * s->kw, s->oc / s->groups, s->ic);
}

static int64_t conv_data_tasks(const void *params)
{
    const artel__conv2d_data_gradient *p = params;
    if (conv_pointwise(&p->shape)) {
        artel__product_forward product = conv_data_product(p);
        return product_forward_tasks(&product);
    }
    product_grid g = conv_data_grid(&p->shape);
    return p->shape.iw > 0 ? g.blocks * g.groups : 0;
}

static size_t conv_data_scratch(const void *params)
{
    const artel__conv2d_data_gradient *p = params;
    size_t most = 0;
    if (conv_pointwise(&p->shape)) {
        artel__product_forward product = conv_data_product(p);
        return product_forward_scratch(&product);
    }
    for (int64_t y = 0; y < p->shape.sh; y++) {
        for (int64_t x = 0; x < p->shape.sw; x++) {
            conv_walk w = conv_swept(&p->shape, conv_walk_data(&p->shape, p->dy, y, x));
            size_t bytes = conv_lay(&w, NULL).bytes;
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

/* Without padding phase 0 is the only one with a tap, and the others lie around its pixels. */
static conv_gaps conv_data_gaps(const artel__conv2d_data_gradient *p)
{
    const artel__conv2d_shape *s = &p->shape;
    if (s->kh > 1 || s->kw > 1 || s->top > 0 || s->left > 0 || p->bias) return (conv_gaps){0};
    bool whole = (uintptr_t)p->dx % 64 == 0 && s->ic % 16 == 0;
    return (conv_gaps){
        s->sh, s->sw, s->ih, s->iw, s->iw * s->ic, s->ic, whole && s->images * s->ih * s->iw * s->ic * 4 > PRODUCT_FAR};
}

static void conv_data_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__conv2d_data_gradient *p = params;
    const artel__conv2d_shape *s = &p->shape;
    if (conv_pointwise(s)) {
        artel__product_forward product = conv_data_product(p);
        product_forward_run(&product, begin, end, scratch);
        return;
    }
    product_grid g = conv_data_grid(s);
    product_range range = {.begin = begin, .end = end};
    product_rect r;
    conv_gaps gaps = conv_data_gaps(p);
    int64_t phases = gaps.sy > 0 ? 1 : s->sh * s->sw;
    while (product_grid_next(&g, &range, &r)) {
        for (int64_t phase = 0; phase < phases; phase++) {
            int64_t y = phase / s->sw, x = phase % s->sw;
            conv_walk w = conv_swept(s, conv_walk_data(s, p->dy, y, x));
            conv_sweep c = {.w = p->wt,
                            .k = s->kh * s->kw * w.depth,
                            .n = s->ic,
                            .groups = s->groups,
                            .bias = p->bias,
                            .relu = p->activation == ARTEL__FUSED_RELU,
                            .normalise = artel__conv_normalises(s),
                            .narrow = p->narrow,
                            .out = p->dx + (y * s->iw + x) * s->ic,
                            .out_image = s->ih * s->iw * s->ic,
                            .out_line = s->sh * s->iw * s->ic,
                            .out_pixel = s->sw * s->ic,
                            .gaps = gaps,
                            .stream = !p->narrow && product_streams(p->dx, s->images * s->ih * s->iw * s->ic, s->ic,
                                                                    s->kh * s->kw * w.depth)};
            conv_rectangle(&c, &w, r.row0, r.row1, r.panel0, r.panel1, scratch);
        }
    }
    vec_fence();
}

#endif
