/* SPDX-License-Identifier: Apache-2.0 */
/* How a tile of a product meets its rows of A: read in place, except where the rows would push one another out of the
 * first-level cache; then they are copied side by side while the first panel is computed. What the next tile reads is
 * fetched meanwhile, and what a tile writes is asked for ahead, or goes past the caches when it is much: memory works
 * while the registers do.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_ROW_H
#define ARTEL_KERNEL_SIMD_PRODUCT_ROW_H

#include "kernel/simd/product_tile.h"

enum {
    PRODUCT_DEPTH = VEC_LANES == 16
                        ? 1024
                        : 512, /* processors without AVX-512 have half the second-level cache and less of the first */
    PRODUCT_PITCH = PRODUCT_DEPTH + 16,
    PRODUCT_COLLIDES =
        1024,              /* rows of A a multiple of so many floats apart fall into one set of the first-level cache */
    PRODUCT_FAR = 3 << 20, /* bytes of A from which on it is not expected in the second-level cache */
    PRODUCT_PAST =
        12 << 20, /* bytes of the output from which on little of it would be found in a cache by who reads it */
    PRODUCT_PAST_SHALLOW = 6 << 20, /* the same where writing takes as long as computing */
    PRODUCT_SHALLOW = 256           /* steps of a reduction up to which it does */
};

/* `rows` rows of A, `pitch` floats apart, fetched while `panels` panels of the tile are computed. */
static tile_ahead product_fetch(tile *t, const float *row, int64_t pitch, int64_t rows, int64_t panels)
{
    int64_t depth = t->segments->count, lines = (depth + 15) / 16,
            bursts = (depth + TILE_BURST - 1) / TILE_BURST * panels;
    t->burst = bursts > 0 ? (lines * rows + bursts - 1) / bursts : 0;
    return (tile_ahead){(const char *)(row + t->segments->a), lines, lines, (pitch - lines * 16) * 4, rows};
}

/* What the next tile will read: `rows` rows of A from `row` on. */
static tile_ahead product_ahead(const artel__product_forward *p, tile *t, int64_t row, int64_t rows, int64_t panels)
{
    if (rows <= 0 || p->m * p->k * 4 < PRODUCT_FAR) return (tile_ahead){0};
    return product_fetch(t, p->a + row * p->lda, p->lda, rows, panels);
}

/* Rows of A, `depth` floats each, side by side and spread over the cache's sets. */
static void product_gather(const float *from, int64_t lda, int rows, int64_t depth, float *to)
{
    for (int i = 0; i < rows; i++, from += lda, to += PRODUCT_PITCH) {
        int64_t k = 0;
        for (; k + VEC_LANES <= depth; k += VEC_LANES) vec_store(to + k, vec_load(from + k));
        if (k < depth)
            vec_store_part(to + k, vec_range(0, (int)(depth - k)),
                           vec_load_part(from + k, vec_range(0, (int)(depth - k))));
    }
}

/* The rows of a tile of `columns` are read from scratch: their beginning is copied now, the rest while the first panel
 * is computed. */
static void product_take(tile *t, int mr, int64_t columns, float *rows)
{
    const segment *g = t->segments;
    int half = (mr + 1) / 2;
    int64_t head = columns > VEC_LANES ? tile_head(g->count) : g->count;
    const float *from0 = t->a0 + g->a, *from1 = t->a1 + g->a;
    product_gather(from0, t->sa, half, head, rows);
    product_gather(from1, t->sa, mr - half, head, rows + half * PRODUCT_PITCH);
    t->from0 = head < g->count ? from0 : NULL;
    t->from1 = from1;
    t->sf = t->sa;
    t->a0 = rows - g->a;
    t->a1 = t->a0 + half * PRODUCT_PITCH;
    t->sa = PRODUCT_PITCH;
}

static bool product_collides(const artel__product_forward *p)
{
    return p->lda % PRODUCT_COLLIDES == 0;
}

/* Whether so much is written that it goes past the caches; only with vectors of a whole line, as halves of lines cost
 * more than is won. */
static bool product_streams(const float *out, int64_t count, int64_t pitch, int64_t depth)
{
    int64_t past = depth > PRODUCT_SHALLOW ? PRODUCT_PAST : PRODUCT_PAST_SHALLOW;
    return VEC_LANES == 16 && count * 4 >= past && (uintptr_t)out % 64 == 0 && pitch % 16 == 0;
}

/* The parts into which the depth is cut. */
static int64_t product_cuts(const artel__product_forward *p)
{
    return (p->k + PRODUCT_DEPTH - 1) / PRODUCT_DEPTH;
}

#endif
