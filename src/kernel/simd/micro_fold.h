/* SPDX-License-Identifier: Apache-2.0 */
/* The register tile of weight gradients: leaves of the fold are chains over rows, and the tree is folded in the tile.
 *
 * Included behind micro_tile.h. A finished leaf is + 0.0f and goes up the tree like a carry in a binary counter: it
 * meets the subtrees to its left that are complete before the next leaf comes, the newest first; the result waits on a
 * stack or, when the node is complete, is stored. Shards without rows are left out: their leaves are + 0.0f, and adding
 * that changes no bit. A leaf with a left sibling is not normalised on its own: it is added to one that was, and x +
 * (-0.0f) == x + 0.0f for every x but -0.0f. With 32 registers, tiles of few short leaves are computed a few rows at a
 * time, so that nothing but the first of two halves leaves the registers: with 8 rows a leaf, stores and loads of what
 * waits took a quarter of the time.
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_FOLD_H
#define ARTEL_KERNEL_SIMD_MICRO_FOLD_H

#include "kernel/simd/gradient_tree.h"
#include "kernel/simd/micro_tile.h"

/* Tiles in memory have rows of two vectors. */
enum {
    FOLD_ROW = 2 * VEC_LANES,
    FOLD_TILE = TILE_ROWS * FOLD_ROW,
    FOLD_BURST = 32,
    FOLD_SHORT = 16, /* rows of a leaf up to which a tile is cut to keep what waits in registers */
    FOLD_SOON = 10   /* lines fetched a burst, of a tile's FOLD_TILE floats */
};

/* Where the rows of x lie: pixels of lines of images, of which those outside the image are left out: in a leaf, which
 * ends with + 0.0f, their zeros would change no bit. */
typedef struct fold_lines {
    const float *line;           /* pixel 0 of the line under way */
    int64_t step, line_step;     /* floats between pixels, between lines */
    int64_t pixels, first, last; /* of a line; pixels first <= p < last exist */
    int64_t row, row_step, rows; /* the line's input row; from one to the next; rows 0 <= r < rows exist */
    int64_t number, lines,
        jump;      /* the line's number in its image; lines of an image; floats that lie between images besides */
    int64_t pixel; /* the next one */
} fold_lines;

typedef struct fold_tile {
    const float *a; /* [row]: mr columns of x */
    int64_t sa;
    fold_lines *lines; /* where they lie instead, or NULL */
    const float *b;    /* [row]: columns of dy */
    int64_t sb;
    const fold_piece *pieces;
    int64_t count;
    bool resume;    /* the first piece continues the chain in `partial` */
    float *partial; /* one tile */
    float *stack;   /* a tile for each subtree that waits */
    float *next;    /* the place of the next tile's unfinished chain, to be fetched; or NULL */
    float *out;     /* row 0 of the tile in node 0's block */
    int64_t so, node_stride;
    float *bias; /* where the last row of the tile goes instead: node 0's bias gradient; or NULL */
    int64_t bias_stride;
    int first, last; /* columns of the tile that are stored */
    int bias_first, bias_last;
    tile_ahead *ahead; /* fetched `burst` lines at a time, before every FOLD_BURST rows */
    int64_t burst;
} fold_tile;

VEC_INLINE void fold_read(int mr, int nv, bool add, tile_acc *acc, const float *from)
{
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        vec x = vec_load(from + i * FOLD_ROW);
        acc->p[i] = add ? vec_add(x, acc->p[i]) : x;
        if (nv == 2) {
            x = vec_load(from + i * FOLD_ROW + VEC_LANES);
            acc->q[i] = add ? vec_add(x, acc->q[i]) : x;
        }
    }
}

VEC_INLINE void fold_write(int mr, int nv, const tile_acc *acc, float *to)
{
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        vec_store(to + i * FOLD_ROW, acc->p[i]);
        if (nv == 2) vec_store(to + i * FOLD_ROW + VEC_LANES, acc->q[i]);
    }
}

VEC_INLINE void fold_normalise(int mr, int nv, tile_acc *acc)
{
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        acc->p[i] = vec_add(acc->p[i], vec_zero());
        if (nv == 2) acc->q[i] = vec_add(acc->q[i], vec_zero());
    }
}

VEC_INLINE void fold_store_row(int nv, float *to, vec p, vec q, int first, int last)
{
    if (first == 0 && last == nv * VEC_LANES) {
        vec_store(to, p);
        if (nv == 2) vec_store(to + VEC_LANES, q);
        return;
    }
    vec_store_part(to, vec_range(first, last), p);
    if (nv == 2) vec_store_part(to + VEC_LANES, vec_range(first - VEC_LANES, last - VEC_LANES), q);
}

VEC_INLINE void fold_store(int mr, int nv, const tile_acc *acc, const fold_tile *t, int32_t node)
{
    float *out = t->out + node * t->node_stride;
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        if (i == mr - 1 && t->bias) {
            fold_store_row(nv, t->bias + node * t->bias_stride, acc->p[i], nv == 2 ? acc->q[i] : acc->p[i],
                           t->bias_first, t->bias_last);
        } else {
            fold_store_row(nv, out + i * t->so, acc->p[i], nv == 2 ? acc->q[i] : acc->p[i], t->first, t->last);
        }
    }
}

/* Lines to be fetched into the first-level cache. */
typedef struct fold_soon {
    const float *at, *end;
} fold_soon;

/* What will be read when the piece is finished: the subtrees that it is added to; behind the last piece the next tile's
 * chain. */
VEC_INLINE fold_soon fold_after(const fold_tile *t, const fold_piece *piece, bool last)
{
    if (piece->merges > 0)
        return (fold_soon){t->stack + (piece->depth - piece->merges) * FOLD_TILE, t->stack + piece->depth * FOLD_TILE};
    if (last && t->next) return (fold_soon){t->next, t->next + FOLD_TILE};
    return (fold_soon){NULL, NULL};
}

VEC_INLINE void fold_fetch(fold_soon *soon)
{
    for (int i = 0; i < FOLD_SOON && soon->at < soon->end; i++, soon->at += 16) __builtin_prefetch(soon->at, 0, 3);
}

/* Asks for the lines that the next tile of the panel is going to write, so that they come from memory while this one is
 * computed. */
VEC_INLINE void fold_claim(int mr, int nv, const fold_tile *t)
{
    const fold_piece *last = t->pieces + t->count - 1;
    if (t->count == 0 || last->merges < 0 || last->node < 0) return;
    const float *out = t->out + last->node * t->node_stride + mr * t->so;
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        tile_claim(out + i * t->so);
        if (nv == 2) tile_claim(out + i * t->so + VEC_LANES);
    }
}

VEC_INLINE void fold_next_line(fold_lines *w)
{
    w->pixel = 0;
    w->line += w->line_step;
    w->row += w->row_step;
    if (++w->number < w->lines) return;
    w->number = 0;
    w->row -= w->lines * w->row_step;
    w->line += w->jump;
}

/* The next rows that lie even steps apart: how many, where, and how far apart; NULL: outside the image. */
VEC_INLINE int64_t fold_next(fold_lines *w, const float **a, int64_t *sa)
{
    if (w->pixel == w->pixels) fold_next_line(w);
    int64_t begin = w->pixel, end = w->pixels;
    bool inside = w->row >= 0 && w->row < w->rows;
    if (inside && begin < w->first) end = w->first, inside = false;
    if (inside && begin >= w->last) inside = false;
    if (inside) end = w->last;
    *a = inside ? w->line + begin * w->step : NULL;
    *sa = w->step;
    w->pixel = end;
    return end - begin;
}

VEC_INLINE void fold_compute(int mr, int nv, const fold_tile *t)
{
    tile_acc acc;
    const float *a = t->a, *b = t->b;
    int64_t sa = t->sa, even = t->lines ? 0 : INT64_MAX; /* rows that are left of those that lie even */
    fold_claim(mr, nv, t);
    if (t->resume)
        fold_read(mr, nv, false, &acc, t->partial);
    else
        tile_clear(mr, nv, &acc);
    for (const fold_piece *piece = t->pieces, *end = piece + t->count; piece < end; piece++) {
        vec_mask all = vec_range(0, VEC_LANES);
        fold_soon soon = fold_after(t, piece, piece + 1 == end);
        for (int64_t left = piece->rows, rows; left > 0; left -= rows) {
            if (even == 0) even = fold_next(t->lines, &a, &sa);
            rows = left < even ? left : even;
            if (a) {
                if (rows > FOLD_BURST) rows = FOLD_BURST;
                tile_fetch(t->ahead, t->burst);
                fold_fetch(&soon);
                tile_outer(mr, nv, false, &acc, a, sa, b, t->sb, rows, all, all);
                a += rows * sa;
            }
            b += rows * t->sb;
            even -= rows;
        }
        if (piece->merges < 0) {
            fold_write(mr, nv, &acc, t->partial);
            break;
        }
        if (piece->merges == 0) fold_normalise(mr, nv, &acc);
        for (int32_t i = 1; i <= piece->merges; i++)
            fold_read(mr, nv, true, &acc, t->stack + (piece->depth - i) * FOLD_TILE);
        if (piece->node >= 0)
            fold_store(mr, nv, &acc, t, piece->node);
        else
            fold_write(mr, nv, &acc, t->stack + (piece->depth - piece->merges) * FOLD_TILE);
        tile_clear(mr, nv, &acc);
    }
}

#if TILE_ROWS_ABOVE_6
/* -- nodes of 4 or 8 short leaves -- */

/* Where its next leaf is. */
typedef struct fold_walk {
    const fold_piece *piece;
    const float *a, *b;
    int64_t sa, sb;
} fold_walk;

VEC_INLINE void fold_leaf(int mr, fold_walk *w, tile_acc *acc)
{
    vec_mask all = vec_range(0, VEC_LANES);
    int64_t rows = w->piece++->rows;
    tile_clear(mr, 2, acc);
    tile_outer(mr, 2, false, acc, w->a, w->sa, w->b, w->sb, rows, all, all);
    w->a += rows * w->sa;
    w->b += rows * w->sb;
}

VEC_INLINE void fold_add(int mr, tile_acc *left, const tile_acc *right)
{
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        left->p[i] = vec_add(left->p[i], right->p[i]);
        left->q[i] = vec_add(left->q[i], right->q[i]);
    }
}

VEC_INLINE void fold_two(int mr, fold_walk *w, tile_acc *acc)
{
    tile_acc right;
    fold_leaf(mr, w, acc);
    fold_normalise(mr, 2, acc);
    fold_leaf(mr, w, &right);
    fold_add(mr, acc, &right);
}

VEC_INLINE void fold_four(int mr, fold_walk *w, tile_acc *acc)
{
    tile_acc right;
    fold_two(mr, w, acc);
    fold_two(mr, w, &right);
    fold_add(mr, acc, &right);
}

/* Rows [row, row + mr) of a tile. What waits stays in registers, but for the first half of eight leaves. */
VEC_INLINE void fold_rows(int mr, bool eight, const fold_tile *whole, int row, bool bias)
{
    fold_tile t = *whole;
    tile_acc acc;
    fold_walk w = {t.pieces, t.a + row, t.b, t.sa, t.sb};
    t.out += row * t.so;
    if (!bias) t.bias = NULL;
    fold_four(mr, &w, &acc);
    if (eight) {
        fold_write(mr, 2, &acc, t.stack);
        fold_four(mr, &w, &acc);
        fold_read(mr, 2, true, &acc, t.stack);
    }
    fold_store(mr, 2, &acc, &t, t.pieces[eight ? 7 : 3].node);
}

/* Functions of their own, without arguments that can be constants: where there is more in one, its loops run out of
 * integer registers and take the steps of the pointers from vector registers at every row, which cost a twentieth with
 * 8 leaves and a tenth with 4. */
VEC_APART void fold_4_rows_of_4(const fold_tile *t, int row)
{
    fold_rows(4, false, t, row, false);
}

VEC_APART void fold_3_rows_of_4(const fold_tile *t, int row)
{
    fold_rows(3, false, t, row, false);
}

VEC_APART void fold_last_3_of_4(const fold_tile *t, int row)
{
    fold_rows(3, false, t, row, true);
}

VEC_APART void fold_last_2_of_4(const fold_tile *t, int row)
{
    fold_rows(2, false, t, row, true);
}

VEC_APART void fold_4_rows_of_8(const fold_tile *t, int row)
{
    fold_rows(4, true, t, row, false);
}

VEC_APART void fold_3_rows_of_8(const fold_tile *t, int row)
{
    fold_rows(3, true, t, row, false);
}

VEC_APART void fold_last_3_of_8(const fold_tile *t, int row)
{
    fold_rows(3, true, t, row, true);
}

VEC_APART void fold_last_2_of_8(const fold_tile *t, int row)
{
    fold_rows(2, true, t, row, true);
}

/* A tile of 13 or 14 rows with 4 leaves. */
VEC_INLINE void fold_short_4(int mr, const fold_tile *t)
{
    fold_claim(mr, 2, t);
    fold_4_rows_of_4(t, 0);
    fold_4_rows_of_4(t, 4);
    fold_3_rows_of_4(t, 8);
    if (mr == 14)
        fold_last_3_of_4(t, 11);
    else
        fold_last_2_of_4(t, 11);
}

/* The same with 8. */
VEC_INLINE void fold_short_8(int mr, const fold_tile *t)
{
    fold_claim(mr, 2, t);
    fold_4_rows_of_8(t, 0);
    fold_4_rows_of_8(t, 4);
    fold_3_rows_of_8(t, 8);
    if (mr == 14)
        fold_last_3_of_8(t, 11);
    else
        fold_last_2_of_8(t, 11);
}

VEC_INLINE void fold_short(int mr, const fold_tile *t)
{
    if (t->count == 8)
        fold_short_8(mr, t);
    else
        fold_short_4(mr, t);
}

/* Whether the tile is whole and so are its pieces: one node of 4 or 8 leaves. Rows so few are copied, with zeros for
 * those outside the image. */
VEC_INLINE bool fold_is_short(const fold_tile *t)
{
    int64_t count = t->count;
    if (t->resume || (count != 4 && count != 8) || t->first > 0 || t->last < 2 * VEC_LANES) return false;
    if (t->bias && (t->bias_first > 0 || t->bias_last < 2 * VEC_LANES)) return false;
    for (int64_t i = 0; i < count; i++) {
        if (t->pieces[i].rows > FOLD_SHORT || t->pieces[i].merges != __builtin_ctz((unsigned)i + 1)) return false;
    }
    return t->pieces[count - 1].node >= 0;
}
#endif

VEC_INLINE void fold_dispatch(int mr, int nv, const fold_tile *t)
{
#if TILE_ROWS_ABOVE_6
    if (nv == 2 && mr > 12 && fold_is_short(t)) {
        tile_fetch(t->ahead, t->burst);
        if (mr == 13)
            fold_short(13, t);
        else
            fold_short(14, t);
        return;
    }
#endif
    switch (mr) {
    case 1: fold_compute(1, nv, t); break;
    case 2: fold_compute(2, nv, t); break;
    case 3: fold_compute(3, nv, t); break;
    case 4: fold_compute(4, nv, t); break;
    case 5: fold_compute(5, nv, t); break;
    case 6: fold_compute(6, nv, t); break;
#if TILE_ROWS_ABOVE_6
    case 7: fold_compute(7, nv, t); break;
    case 8: fold_compute(8, nv, t); break;
    case 9: fold_compute(9, nv, t); break;
    case 10: fold_compute(10, nv, t); break;
    case 11: fold_compute(11, nv, t); break;
    case 12: fold_compute(12, nv, t); break;
    case 13: fold_compute(13, nv, t); break;
    default: fold_compute(14, nv, t); break;
#endif
    }
}

/* Runs the tile: mr rows, `last` columns (a multiple of VEC_LANES unless groups cut the panel). */
static inline void fold_run(int mr, const fold_tile *t)
{
    if (t->last > VEC_LANES)
        fold_dispatch(mr, 2, t);
    else
        fold_dispatch(mr, 1, t);
}

#endif
