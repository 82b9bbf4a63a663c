/* SPDX-License-Identifier: Apache-2.0 */
/* The small products of kernel/micro.h in blocks; included behind a micro_vec_*.h and a tiles_multiply_*.h.
 *
 * Of up to 256 columns and 256 terms the right operand is packed on the stack; then strips of 32 rows of the left one
 * are, and meet it. Operands are rounded to bfloat16 as they are packed. Sums wait in C between cuts of the depth.
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_TILES_H
#define ARTEL_KERNEL_SIMD_MICRO_TILES_H

#include "kernel/micro.h"
#include "kernel/simd/tiles_pack.h"

enum {
    MICRO_WIDE = 256, /* columns packed at once */
    MICRO_DEEP = 256, /* terms of a cut */
    MICRO_BLOCKS = MICRO_DEEP / ARTEL__BLOCK,
    MICRO_PITCH = MICRO_DEEP + ARTEL__BLOCK, /* elements between rows of a strip */
    MICRO_PANEL = MICRO_BLOCKS * 2 * TILES_BYTES,
    MICRO_CHUNK = MICRO_WIDE / TILES_CELL * MICRO_PANEL /* bytes of what is packed at once */
};

typedef enum micro_form {
    MICRO_NN, /* a[i][k], b[k][j] */
    MICRO_NT, /* a[i][k], b[j][k] */
    MICRO_TN, /* a[k][i], b[k][j] */
    MICRO_PANELS,
    MICRO_PACKED /* as panels, packed before */
} micro_form;

/* What is packed at once: terms [k0, k1) of 32 columns or rows from `from` on, of which `real` are there. */
typedef struct micro_part {
    int64_t k0, k1, from;
    int real;
} micro_part;

VEC_INLINE vec micro_load(const float *p, int count)
{
    return vec_to_bfloat16(count >= VEC_LANES ? vec_load(p) : vec_load_part(p, vec_range(0, count > 0 ? count : 0)));
}

/* Rows (k, k + 1) of up to 32 neighbours as pairs. */
VEC_INLINE void micro_pairs(const float *even, const float *odd, int real, float *left, float *right)
{
    for (int j = 0; j < TILES_CELL; j += VEC_LANES) {
        vec pair = tiles_pair(micro_load(even + j, real - j), odd ? micro_load(odd + j, real - j) : vec_zero());
        vec_store((j < TILES_SIDE ? left : right) + j % TILES_SIDE, pair);
    }
}

/* A block of pairs of rows, 16 lines of 32 columns in two halves; those behind the last row are +0. */
static inline void micro_block_pairs(const float *from, int64_t step, int64_t rows, int real, float *left, float *right,
                                     int64_t pitch)
{
    for (int64_t i = 0; i < ARTEL__BLOCK; i += 2, from += 2 * step, left += pitch, right += pitch) {
        if (i < rows) {
            micro_pairs(from, i + 1 < rows ? from + step : NULL, real, left, right);
        } else {
            memset(left, 0, TILES_LINE);
            memset(right, 0, TILES_LINE);
        }
    }
}

/* A block of 32 rows' neighbours, turned: [pair][row] in two tiles. Rows behind the last are left out. */
static inline void micro_block_turned(const float *from, int64_t step, int64_t count, int real, char *tiles)
{
    _Alignas(64) float rows[TILES_CELL * TILES_SIDE], plain[ARTEL__BLOCK];
    for (int i = 0; i < real; i++, from += step) {
        for (int j = 0; j < ARTEL__BLOCK; j += VEC_LANES)
            vec_store(plain + j, micro_load(from + j, (int)(count - j < VEC_LANES ? count - j : VEC_LANES)));
        tiles_block(plain, ARTEL__BLOCK, (uint16_t *)(void *)(rows + i * TILES_SIDE), false);
    }
    for (int i = 0; i < real; i += TILES_SIDE)
        tiles_turn(rows + i * TILES_SIDE, TILES_SIDE, tiles + i / TILES_SIDE * TILES_BYTES, TILES_LINE);
}

static void micro_pack_right(const artel__gemm *g, micro_form form, micro_part p, char *to)
{
    for (int64_t k = p.k0; k < p.k1; k += ARTEL__BLOCK, to += 2 * TILES_BYTES) {
        float *left = (float *)(void *)to, *right = (float *)(void *)(to + TILES_BYTES);
        int64_t rows = p.k1 - k < ARTEL__BLOCK ? p.k1 - k : ARTEL__BLOCK;
        if (form == MICRO_NT) {
            micro_block_turned(g->b + p.from * g->ldb + k, g->ldb, rows, p.real, to);
        } else if (form == MICRO_PANELS) {
            int64_t width = artel__panel_width(g->n, p.from / ARTEL__PANEL);
            micro_block_pairs(g->b + artel__panels_offset(g->k, g->n, k, p.from), width, rows, p.real, left, right,
                              TILES_SIDE);
        } else {
            micro_block_pairs(g->b + k * g->ldb + p.from, g->ldb, rows, p.real, left, right, TILES_SIDE);
        }
    }
}

static void micro_pack_left(const artel__gemm *g, micro_form form, micro_part p, uint16_t *to)
{
    _Alignas(64) float pairs[TILES_SIDE * TILES_CELL], plain[ARTEL__BLOCK];
    for (int64_t k = p.k0; k < p.k1; k += ARTEL__BLOCK, to += ARTEL__BLOCK) {
        int64_t count = p.k1 - k < ARTEL__BLOCK ? p.k1 - k : ARTEL__BLOCK;
        if (form == MICRO_TN) {
            micro_block_pairs(g->a + k * g->lda + p.from, g->lda, count, p.real, pairs, pairs + TILES_SIDE, TILES_CELL);
            for (int i = 0; i < p.real; i += TILES_SIDE)
                tiles_turn(pairs + i, TILES_CELL, (char *)(to + i * MICRO_PITCH), MICRO_PITCH * 2);
            continue;
        }
        for (int i = 0; i < p.real; i++) {
            const float *row = g->a + (p.from + i) * g->lda + k;
            for (int j = 0; j < ARTEL__BLOCK; j += VEC_LANES)
                vec_store(plain + j, micro_load(row + j, (int)(count - j < VEC_LANES ? count - j : VEC_LANES)));
            tiles_block(plain, ARTEL__BLOCK, to + i * MICRO_PITCH, false);
        }
    }
}

/* A cell of C to the multiplier's and back. */
static void micro_cell(float *c, int64_t ldc, int rows, int columns, float *cell, bool back)
{
    for (int i = 0; i < rows; i++, c += ldc, cell += TILES_CELL) {
        for (int j = 0; j < columns; j += VEC_LANES) {
            vec_mask mask = vec_range(0, columns - j);
            if (back)
                vec_store_part(c + j, mask, vec_load(cell + j));
            else
                vec_store(cell + j, vec_load_part(c + j, mask));
        }
    }
}

/* One strip of rows against packed columns [j0, j1). */
static void micro_strip(const artel__gemm *g, const micro_part *p, const uint16_t *a, const char *b, int64_t j0,
                        int64_t j1)
{
    _Alignas(64) float cell[TILES_CELL * TILES_CELL];
    for (int64_t j = j0; j < j1; j += TILES_CELL, b += MICRO_PANEL) {
        int columns = (int)(j1 - j < TILES_CELL ? j1 - j : TILES_CELL);
        float *c = g->c + p->from * g->ldc + j;
        tiles_job job = {(const char *)a,
                         MICRO_PITCH * 2,
                         b,
                         2 * TILES_BYTES,
                         tiles_blocks(p->k1 - p->k0),
                         p->real,
                         columns,
                         p->k0 > 0 || g->accumulate,
                         cell};
        if (job.load) micro_cell(c, g->ldc, p->real, columns, cell, false);
        tiles_multiply(&job);
        micro_cell(c, g->ldc, p->real, columns, cell, true);
    }
}

/* Terms [k0, k1) of columns [j0, j1). */
static void micro_pack_chunk(const artel__gemm *g, micro_form form, micro_part p, int64_t j1, char *to)
{
    for (; p.from < j1; p.from += TILES_CELL, to += MICRO_PANEL) {
        p.real = (int)(j1 - p.from < TILES_CELL ? j1 - p.from : TILES_CELL);
        micro_pack_right(g, form, p, to);
    }
}

static void micro_product(const artel__gemm *g, micro_form form)
{
    _Alignas(64) char room[MICRO_CHUNK];
    _Alignas(64) uint16_t a[TILES_CELL * MICRO_PITCH];
    const char *b = form == MICRO_PACKED ? (const char *)g->b : room;
    int64_t deep = g->k > 0 ? g->k : 1; /* without terms C is cleared, or left */
    tiles_begin();
    for (int64_t j0 = 0; j0 < g->n; j0 += MICRO_WIDE) {
        int64_t j1 = g->n - j0 < MICRO_WIDE ? g->n : j0 + MICRO_WIDE;
        for (int64_t k0 = 0; k0 < deep; k0 += MICRO_DEEP) {
            micro_part p = {k0, g->k - k0 < MICRO_DEEP ? g->k : k0 + MICRO_DEEP, j0, 0};
            if (form != MICRO_PACKED) micro_pack_chunk(g, form, p, j1, room);
            for (p.from = 0; p.from < g->m; p.from += TILES_CELL) {
                p.real = (int)(g->m - p.from < TILES_CELL ? g->m - p.from : TILES_CELL);
                micro_pack_left(g, form, p, a);
                micro_strip(g, &p, a, b, j0, j1);
            }
            if (form == MICRO_PACKED) b += MICRO_CHUNK;
        }
    }
    tiles_end();
}

static size_t micro_packed_bytes(int64_t k, int64_t n)
{
    int64_t cuts = (k + MICRO_DEEP - 1) / MICRO_DEEP, chunks = (n + MICRO_WIDE - 1) / MICRO_WIDE;
    return (size_t)((cuts > 0 ? cuts : 1) * chunks) * MICRO_CHUNK;
}

/* Chunks in the order in which micro_product meets them. */
static void micro_pack(const float *panels, int64_t k, int64_t n, void *to)
{
    artel__gemm g = {.n = n, .k = k, .b = panels};
    char *chunk = to;
    for (int64_t j0 = 0; j0 < n; j0 += MICRO_WIDE) {
        for (int64_t k0 = 0; k0 < k; k0 += MICRO_DEEP, chunk += MICRO_CHUNK) {
            micro_part p = {k0, k - k0 < MICRO_DEEP ? k : k0 + MICRO_DEEP, j0, 0};
            micro_pack_chunk(&g, MICRO_PANELS, p, n - j0 < MICRO_WIDE ? n : j0 + MICRO_WIDE, chunk);
        }
    }
}

static void micro_packed(const artel__gemm *g)
{
    micro_product(g, MICRO_PACKED);
}

static void micro_panels(const artel__gemm *g)
{
    micro_product(g, MICRO_PANELS);
}

static void micro_nn(const artel__gemm *g)
{
    micro_product(g, MICRO_NN);
}

static void micro_nt(const artel__gemm *g)
{
    micro_product(g, MICRO_NT);
}

static void micro_tn(const artel__gemm *g)
{
    micro_product(g, MICRO_TN);
}

#endif
