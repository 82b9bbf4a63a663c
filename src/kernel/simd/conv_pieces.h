/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of pixels some of whose taps lie outside the image, without a padded copy of it: those taps are left out.
 *
 * The taps are cut into pieces, each of neighbours that reach the same pixels of the tile; a piece is a register tile
 * of these pixels alone, and between pieces the chains wait in scratch. What it saves is a tenth of the products of a
 * 7x7 image with 3x3 taps along each axis, a twentieth at 14x14, and the copies. Loads and stores of what waits cost as
 * much as about two steps of the reduction a piece, so it pays where taps are deep.
 */
#ifndef ARTEL_KERNEL_SIMD_CONV_PIECES_H
#define ARTEL_KERNEL_SIMD_CONV_PIECES_H

#include "kernel/simd/conv_walk.h"
#include "kernel/simd/micro_tile.h"
#include "kernel/simd/product_row.h"

/* Neighbouring pixels of a line. */
typedef struct conv_stretch {
    const conv_line *line;
    int64_t first, count;
} conv_stretch;

typedef struct conv_piece {
    int rows, row0, row1; /* of the tile: how many, where its halves begin */
    const segment *segments;
    int64_t count;
} conv_piece;

typedef struct conv_pieces {
    /* of the walk */
    int64_t *inside; /* for each tap column the first pixel inside the image and the one behind the last */
    /* of the tile */
    conv_piece *piece;
    segment *segments;
    int64_t count, current, used; /* pieces; the first one of those with the latest taps; segments */
    float *held;                  /* the chains: rows of TILE_COLUMNS */
} conv_pieces;

/* Pixels of a tile that a tap reaches: rows of its two stretches. */
typedef struct conv_reach {
    int64_t a0, a1, b0, b1;
} conv_reach;

static segment conv_segment(const conv_walk *w, int64_t y, int64_t x)
{
    return (segment){(y * w->dy * w->wide + x * w->dx) * w->c, (w->first + y * w->next_y + x * w->next_x) * w->depth,
                     w->depth};
}

/* Whether the taps of a row are neighbours in memory, of x and of the weights. */
static bool conv_joined(const conv_walk *w)
{
    return w->dx == 1 && w->depth == w->c && w->next_x == 1;
}

/* Whether tap row `tap` of line y lies inside the image. */
static bool conv_row_inside(const conv_walk *w, int64_t y, int64_t tap)
{
    int64_t row = y * w->sy + w->y0 + tap * w->dy;
    return row >= 0 && row < w->h;
}

/* Pixels of the stretch among [first, last). */
static void conv_clip(const conv_stretch *s, int64_t first, int64_t last, int64_t *begin, int64_t *end)
{
    *begin = first > s->first ? first - s->first : 0;
    *end = last - s->first < s->count ? last - s->first : s->count;
    if (*begin >= *end) *begin = *end = 0;
}

static void conv_piece_add(conv_pieces *p, int64_t row0, int64_t row1, int64_t rows)
{
    p->piece[p->count++] = (conv_piece){(int)rows, (int)row0, (int)row1, p->segments + p->used, 0};
}

/* Rows that are neighbours: any half of them may begin anywhere. */
static void conv_piece_split(conv_pieces *p, int64_t row, int64_t rows)
{
    if (rows > 0) conv_piece_add(p, row, row + (rows + 1) / 2, rows);
}

/* A piece of the pixels `r`, or two where they cannot be the halves of one tile. */
static void conv_pieces_begin(conv_pieces *p, const conv_stretch *a, const conv_stretch *b, const conv_reach *r)
{
    int64_t left = r->a1 - r->a0, right = r->b1 - r->b0, begin = a->count + r->b0;
    p->current = p->count;
    if (left > 0 && right > 0 && a->line == b->line && r->a1 == a->count && r->b0 == 0 &&
        a->first + a->count == b->first) {
        conv_piece_split(p, r->a0, left + right);
    } else if (right > 0 && (left == right || left == right + 1)) {
        conv_piece_add(p, r->a0, begin, left + right);
    } else if (left > 0 && right == left + 1) {
        conv_piece_add(p, begin, r->a0, left + right);
    } else {
        conv_piece_split(p, r->a0, left);
        conv_piece_split(p, begin, right);
    }
}

/* The taps of segments [from, to) of the walk, for the tile of stretches a and b. */
static void conv_pieces_make(conv_pieces *p, const conv_walk *w, const conv_stretch *a, const conv_stretch *b,
                             int64_t from, int64_t to)
{
    bool joined = conv_joined(w);
    conv_reach last = {0};
    p->count = p->current = p->used = 0;
    for (int64_t s = from; s < to; s++) {
        int64_t y = joined ? s : s / w->nx, x = joined ? 0 : s % w->nx, end = joined ? w->nx : x + 1, before = -1;
        bool up = conv_row_inside(w, a->line->y, y), down = conv_row_inside(w, b->line->y, y);
        for (; x < end; x++) {
            conv_reach r = {0};
            if (up) conv_clip(a, p->inside[2 * x], p->inside[2 * x + 1], &r.a0, &r.a1);
            if (down) conv_clip(b, p->inside[2 * x], p->inside[2 * x + 1], &r.b0, &r.b1);
            if (r.a1 == 0 && r.b1 == 0) continue;
            bool same = r.a0 == last.a0 && r.a1 == last.a1 && r.b0 == last.b0 && r.b1 == last.b1;
            if (!same) conv_pieces_begin(p, a, b, &r);
            last = r;
            if (same && before >= 0 && before == x - 1) {
                p->segments[p->used - 1].count += w->depth;
            } else {
                p->segments[p->used++] = conv_segment(w, y, x);
                for (int64_t i = p->current; i < p->count; i++) p->piece[i].count++;
            }
            before = x;
        }
    }
}

/* Whether all taps reach all `rows` pixels. */
static bool conv_pieces_whole(const conv_pieces *p, int rows)
{
    return p->count == 1 && p->piece->rows == rows && p->piece->row0 == 0;
}

static const float *conv_row_of(const tile *t, int half, int row)
{
    return row < half ? t->a0 + row * t->sa : t->a1 + (row - half) * t->sa;
}

/* Computes the tile piece by piece. */
static void conv_pieces_run(const conv_pieces *p, const tile *whole, int rows)
{
    tile t = *whole;
    int half = (rows + 1) / 2;
    int64_t width = whole->last - whole->first;
    memset(p->held, 0, (size_t)rows * TILE_COLUMNS * sizeof(float));
    for (int i = 0; i < rows; i++) {
        const float *c = tile_c(whole, half, i);
        if (whole->load)
            memcpy(p->held + i * TILE_COLUMNS + whole->first, c + whole->first, (size_t)width * sizeof(float));
        for (int j = 0; whole->claim && j < whole->last; j += 16) tile_claim(c + j);
    }
    t.bias = NULL;
    t.load = true;
    t.relu = t.normalise = t.stream = t.claim = false;
    t.narrow = ARTEL_DTYPE_FLOAT32;
    t.sc = TILE_COLUMNS;
    for (const conv_piece *piece = p->piece; piece < p->piece + p->count; piece++) {
        t.segments = piece->segments;
        t.count = piece->count;
        t.a0 = conv_row_of(whole, half, piece->row0);
        t.a1 = conv_row_of(whole, half, piece->row1);
        t.c0 = p->held + piece->row0 * TILE_COLUMNS;
        t.c1 = p->held + piece->row1 * TILE_COLUMNS;
        product_tile(piece->rows, &t);
    }
    t = *whole;
    t.count = 0;
    t.load = true;
    t.claim = false;
    t.held = p->held;
    product_tile(rows, &t);
}

#endif
