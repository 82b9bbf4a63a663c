/* SPDX-License-Identifier: Apache-2.0 */
/* The register tile under every product: up to TILE_ROWS rows by two vectors of columns, one fmaf chain an element.
 *
 * Included after a micro_vec_*.h. Row counts are compile-time constants (14 or 6 variants by constant propagation), so
 * the accumulators stay in registers. The rows of A come in two runs, a0 for the first half (rounded up) and a1 for the
 * rest, each with the same stride, so that a tile may span two lines of an image and needs only two pointers. The
 * reduction is a list of segments: stretches that are contiguous in A and in B. Inner loops take TILE_UNROLL steps at a
 * time: two with 32 registers, where longer ones measured slower; with 16 registers gcc 12 spills from two on, and four
 * steps are in assembly.
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_TILE_H
#define ARTEL_KERNEL_SIMD_MICRO_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/narrow.h"
#include "kernel/simd/micro_step.h"

/* count elements: A from float `a` of each row on, B from row `b` on. */
typedef struct segment {
    int64_t a, b, count;
} segment;

/* Lines of memory to be fetched while tiles are computed: `rows` stretches of `lines` lines. */
typedef struct tile_ahead {
    const char *at;
    int64_t left, lines, jump,
        rows; /* lines left of this stretch; from its end to the next one's start; stretches left */
} tile_ahead;

VEC_INLINE void tile_fetch(tile_ahead *ahead, int64_t count)
{
    for (; count > 0 && ahead->rows > 0; count--) {
        __builtin_prefetch(ahead->at, 0, 2);
        ahead->at += 64;
        if (--ahead->left > 0) continue;
        ahead->left = ahead->lines;
        ahead->at += ahead->jump;
        ahead->rows--;
    }
}

typedef struct tile {
    const float *a0, *a1;
    int64_t sa; /* floats between rows of A (rows kinds), between steps of the reduction (outer kind) */
    const float *b;
    int64_t sb; /* floats between rows of B */
    const segment *segments;
    int64_t count;
    float *c0, *c1; /* rows of C, in the two runs of A */
    int64_t sc;
    const float *bias;  /* of column 0 of the tile; NULL: none */
    int first, last;    /* columns first <= j < last exist in B and C; others are neither read (part) nor written */
    bool load, relu;    /* the chains go on from C; relu behind the bias */
    bool normalise;     /* + 0.0f in front of the bias */
    artel_dtype narrow; /* C is rounded to it by tile_narrow, and not written past the caches; FLOAT32: not */
    bool stream;        /* whole rows of C go past the caches; they lie on whole vectors */
    bool claim;         /* ask for C before computing: it is expected in memory */
    tile_ahead *ahead;  /* fetched `burst` lines at a time, before every TILE_BURST steps of the reduction */
    int64_t burst;
    const float *from0,
        *from1; /* where rows of A in scratch are still to be copied from, at segment->a; NULL: nowhere */
    int64_t sf;
    const float *held; /* the chains to be loaded wait here, rows TILE_COLUMNS apart; NULL: in C */
    int64_t claimed;   /* floats from C to what is asked for: C itself, or that of the next tile */
} tile;

enum {
    TILE_BURST = 32
};

typedef enum tile_kind {
    TILE_PANEL, /* rows of A contiguous in k, B readable in whole vectors */
    TILE_AHEAD, /* the same, and `ahead` is fetched meanwhile */
    TILE_COPY,  /* the same again; one segment, and A is copied meanwhile but for the first tile_head() columns, which
                   are there */
    TILE_PART,  /* the same, B read only where columns exist */
    TILE_OUTER  /* A is [k][row]: a0 the first row, sa the step of k; one segment; B as in TILE_PART */
} tile_kind;

typedef struct tile_acc {
    vec p[TILE_ROWS], q[TILE_ROWS]; /* columns 0 .. LANES-1 and LANES .. 2*LANES-1 */
} tile_acc;

VEC_INLINE void tile_clear(int mr, int nv, tile_acc *acc)
{
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        acc->p[i] = vec_zero();
        if (nv == 2) acc->q[i] = vec_zero();
    }
}

/* Row i of A at k + u; strides in bytes, s3 = 3 s, s5 = 5 s. */
VEC_INLINE float tile_element(int half, int i, const char *g0, const char *g1, int64_t s, int64_t s3, int64_t s5, int u)
{
    const char *g = (i < half ? g0 : g1) + 4 * u;
    switch (i < half ? i : i - half) {
    case 0: return *(const float *)g;
    case 1: return *(const float *)(g + s);
    case 2: return *(const float *)(g + 2 * s);
    case 3: return *(const float *)(g + s3);
    case 4: return *(const float *)(g + 4 * s);
    case 5: return *(const float *)(g + s5);
    default: return *(const float *)(g + 2 * s3);
    }
}

typedef struct tile_walk {
    const char *g0, *g1; /* A of the first and the second half */
    const float *b;
    int64_t s, s3, s5, sb;
    vec_mask m0, m1;
} tile_walk;

VEC_INLINE void tile_step(int mr, int nv, bool part, tile_acc *acc, const tile_walk *w, int u)
{
    const float *b = w->b + u * w->sb;
    vec b0 = part ? vec_load_part(b, w->m0) : vec_load(b);
    vec b1 = nv == 1 ? b0 : part ? vec_load_part(b + VEC_LANES, w->m1) : vec_load(b + VEC_LANES);
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        vec x = vec_set(tile_element((mr + 1) / 2, i, w->g0, w->g1, w->s, w->s3, w->s5, u));
        acc->p[i] = vec_step(x, b0, acc->p[i]);
        if (nv == 2) acc->q[i] = vec_step(x, b1, acc->q[i]);
    }
}

/* Steps one by one: 1 or 2 in a row, more in a loop. */
VEC_INLINE void tile_single(int mr, int nv, bool part, tile_acc *acc, const tile_walk *w, int count)
{
    if (TILE_UNROLL > 2) {
        VEC_LOOP
        for (int u = 0; u < count; u++) tile_step(mr, nv, part, acc, w, u);
        return;
    }
    if (count > 0) tile_step(mr, nv, part, acc, w, 0);
    if (count > 1) tile_step(mr, nv, part, acc, w, 1);
}

/* TILE_UNROLL steps of the reduction. */
VEC_INLINE void tile_steps(int mr, int nv, bool part, tile_acc *acc, tile_walk *w)
{
#if TILE_ASSEMBLY
    if (nv == 2 && !part)
        steps_of_rows(mr, acc->p, acc->q, w->g0, w->g1, w->s, w->b, w->sb * 4);
    else
#endif
        tile_single(mr, nv, part, acc, w, TILE_UNROLL);
    w->g0 += 4 * TILE_UNROLL;
    w->g1 += 4 * TILE_UNROLL;
    w->b += TILE_UNROLL * w->sb;
}

VEC_INLINE tile_walk tile_begin(const tile *t)
{
    int64_t s = t->sa * 4, s3 = s * 3, s5 = s * 5;
    __asm__("" : "+r"(s3), "+r"(s5)); /* keeps them two registers instead of a pointer for each row */
    return (tile_walk){0, 0, t->b, s, s3, s5, t->sb, vec_range(0, t->last), vec_range(0, t->last - VEC_LANES)};
}

VEC_INLINE void tile_rows(int mr, int nv, bool part, bool fetch, tile_acc *acc, const tile *t)
{
    tile_walk w = tile_begin(t);
    for (const segment *g = t->segments, *last = g + t->count; g < last; g++) {
        w.g0 = (const char *)(t->a0 + g->a);
        w.g1 = (const char *)(t->a1 + g->a);
        w.b = t->b + g->b * t->sb;
        const char *last_step = w.g0 + g->count / TILE_UNROLL * TILE_UNROLL * 4;
        while (w.g0 < last_step) {
            const char *end = !fetch || last_step - w.g0 < 4 * TILE_BURST ? last_step : w.g0 + 4 * TILE_BURST;
            if (fetch) tile_fetch(t->ahead, t->burst);
            while (w.g0 < end) tile_steps(mr, nv, part, acc, &w);
        }
        tile_single(mr, nv, part, acc, &w, (int)(g->count % TILE_UNROLL));
    }
}

/* Columns of a tile of `depth` that TILE_COPY finds copied: whole bursts remain. */
static inline int64_t tile_head(int64_t depth)
{
    return depth < TILE_BURST ? depth : TILE_BURST + depth % TILE_BURST;
}

/* A burst of columns of a row; the next one is fetched. */
VEC_INLINE void tile_copy(float *to, const float *from)
{
    VEC_UNROLL
    for (int i = 0; i < TILE_BURST; i += 16) __builtin_prefetch(from + TILE_BURST + i, 0, 3);
    VEC_UNROLL
    for (int i = 0; i < TILE_BURST; i += VEC_LANES) vec_store(to + i, vec_load(from + i));
}

/* The rows of A are copied burst by burst, each before the multiply-adds need it: a row for every TILE_UNROLL steps. */
VEC_INLINE void tile_rows_copied(int mr, int nv, tile_acc *acc, const tile *t)
{
    const segment *g = t->segments;
    const int half = (mr + 1) / 2;
    tile_walk w = tile_begin(t);
    w.g0 = (const char *)(t->a0 + g->a);
    w.g1 = (const char *)(t->a1 + g->a);
    w.b = t->b + g->b * t->sb;
    const char *last = w.g0 + g->count / TILE_UNROLL * TILE_UNROLL * 4;
    for (int64_t k = tile_head(g->count); k < g->count; k += TILE_BURST) {
        const float *from = t->from0 + k;
        float *to = (float *)t->a0 + g->a + k;
        tile_fetch(t->ahead, t->burst);
        for (int i = 0; i < mr; i++, from += t->sf, to += t->sa) {
            if (i == half) from = t->from1 + k;
            tile_copy(to, from);
            tile_steps(mr, nv, false, acc, &w);
        }
        for (int i = mr; i < TILE_BURST / TILE_UNROLL; i++) tile_steps(mr, nv, false, acc, &w);
    }
    tile_fetch(t->ahead, t->burst);
    while (w.g0 < last) tile_steps(mr, nv, false, acc, &w);
    tile_single(mr, nv, false, acc, &w, (int)(g->count % TILE_UNROLL));
}

/* count steps of k, each of VEC_ROWS rows: rows are neighbours in A. sa may be 0. */
VEC_INLINE void tile_outer(int mr, int nv, bool part, tile_acc *acc, const float *a, int64_t sa, const float *b,
                           int64_t sb, int64_t count, vec_mask m0, vec_mask m1)
{
#if TILE_ASSEMBLY
    if (nv == 2 && !part) {
        for (; count >= 4; count -= 4, a += 4 * sa, b += 4 * sb)
            steps_of_side(mr, acc->p, acc->q, a, sa * 4, b, sb * 4);
    }
#endif
    VEC_LOOP
    for (const float *end = b + count * sb; b < end; a += sa, b += sb) {
        vec b0 = part ? vec_load_part(b, m0) : vec_load(b);
        vec b1 = nv == 1 ? b0 : part ? vec_load_part(b + VEC_LANES, m1) : vec_load(b + VEC_LANES);
        VEC_UNROLL
        for (int i = 0; i < mr; i++) {
            vec x = vec_set(a[i]);
            acc->p[i] = vec_step(x, b0, acc->p[i]);
            if (nv == 2) acc->q[i] = vec_step(x, b1, acc->q[i]);
        }
    }
}

VEC_INLINE float *tile_c(const tile *t, int half, int i)
{
    return i < half ? t->c0 + i * t->sc : t->c1 + (i - half) * t->sc;
}

VEC_INLINE void tile_resume(int mr, int nv, tile_acc *acc, const tile *t)
{
    vec_mask m0 = vec_range(t->first, t->last), m1 = vec_range(t->first - VEC_LANES, t->last - VEC_LANES);
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        const float *c = t->held ? t->held + i * TILE_COLUMNS : tile_c(t, (mr + 1) / 2, i);
        acc->p[i] = vec_load_part(c, m0);
        if (nv == 2) acc->q[i] = vec_load_part(c + VEC_LANES, m1);
    }
}

VEC_INLINE void tile_finish(int mr, int nv, tile_acc *acc, const tile *t)
{
    if (t->normalise) {
        VEC_UNROLL
        for (int i = 0; i < mr; i++) {
            acc->p[i] = vec_add(acc->p[i], vec_zero());
            if (nv == 2) acc->q[i] = vec_add(acc->q[i], vec_zero());
        }
    }
    if (t->bias) {
        vec b0 = vec_load_part(t->bias, vec_range(0, t->last));
        vec b1 = nv == 2 ? vec_load_part(t->bias + VEC_LANES, vec_range(0, t->last - VEC_LANES)) : b0;
        VEC_UNROLL
        for (int i = 0; i < mr; i++) {
            acc->p[i] = vec_add(acc->p[i], b0);
            if (nv == 2) acc->q[i] = vec_add(acc->q[i], b1);
        }
    }
    if (t->relu) {
        VEC_UNROLL
        for (int i = 0; i < mr; i++) {
            acc->p[i] = vec_relu(acc->p[i]);
            if (nv == 2) acc->q[i] = vec_relu(acc->q[i]);
        }
    }
    if (t->stream && t->first == 0 && t->last == nv * VEC_LANES) {
        VEC_UNROLL
        for (int i = 0; i < mr; i++) {
            float *c = tile_c(t, (mr + 1) / 2, i);
            vec_stream(c, acc->p[i]);
            if (nv == 2) vec_stream(c + VEC_LANES, acc->q[i]);
        }
        return;
    }
    if (t->first == 0 && t->last == nv * VEC_LANES) {
        VEC_UNROLL
        for (int i = 0; i < mr; i++) {
            float *c = tile_c(t, (mr + 1) / 2, i);
            vec_store(c, acc->p[i]);
            if (nv == 2) vec_store(c + VEC_LANES, acc->q[i]);
        }
        return;
    }
    vec_mask m0 = vec_range(t->first, t->last), m1 = vec_range(t->first - VEC_LANES, t->last - VEC_LANES);
    VEC_UNROLL
    for (int i = 0; i < mr; i++) {
        float *c = tile_c(t, (mr + 1) / 2, i);
        vec_store_part(c, m0, acc->p[i]);
        if (nv == 2) vec_store_part(c + VEC_LANES, m1, acc->q[i]);
    }
}

/* Asks for a line that will be written; a no-op on processors that do not know it. */
VEC_INLINE void tile_claim(const float *p)
{
    __asm__ volatile("prefetchw %0" : : "m"(*p));
}

VEC_INLINE void tile_compute(tile_kind kind, int mr, int nv, const tile *t)
{
    tile_acc acc;
    if (t->load)
        tile_resume(mr, nv, &acc, t);
    else
        tile_clear(mr, nv, &acc);
    if ((kind == TILE_PANEL || kind == TILE_AHEAD || kind == TILE_COPY) && t->claim) {
        const float *c = t->c0 + t->claimed;
        VEC_UNROLL
        for (int i = 0; i < mr; i++, c += t->sc) {
            if (i == (mr + 1) / 2) c = t->c1 + t->claimed;
            tile_claim(c);
            if (nv == 2) tile_claim(c + VEC_LANES);
        }
    }
    if (kind == TILE_OUTER) {
        tile_outer(mr, nv, true, &acc, t->a0, t->sa, t->b, t->sb, t->segments->count, vec_range(0, t->last),
                   vec_range(0, t->last - VEC_LANES));
    } else if (kind == TILE_COPY) {
        tile_rows_copied(mr, nv, &acc, t);
    } else {
        tile_rows(mr, nv, kind == TILE_PART, kind == TILE_AHEAD, &acc, t);
    }
    tile_finish(mr, nv, &acc, t);
}

/* Computes a tile of mr rows, 1 <= mr <= TILE_ROWS, and `last` columns. With at most VEC_LANES columns the second
 * vector of B is not touched. */
VEC_INLINE void tile_dispatch(tile_kind kind, int mr, int nv, const tile *t)
{
    switch (mr) {
    case 1: tile_compute(kind, 1, nv, t); break;
    case 2: tile_compute(kind, 2, nv, t); break;
    case 3: tile_compute(kind, 3, nv, t); break;
    case 4: tile_compute(kind, 4, nv, t); break;
    case 5: tile_compute(kind, 5, nv, t); break;
    case 6: tile_compute(kind, 6, nv, t); break;
#if TILE_ROWS_ABOVE_6
    case 7: tile_compute(kind, 7, nv, t); break;
    case 8: tile_compute(kind, 8, nv, t); break;
    case 9: tile_compute(kind, 9, nv, t); break;
    case 10: tile_compute(kind, 10, nv, t); break;
    case 11: tile_compute(kind, 11, nv, t); break;
    case 12: tile_compute(kind, 12, nv, t); break;
    case 13: tile_compute(kind, 13, nv, t); break;
    default: tile_compute(kind, 14, nv, t); break;
#endif
    }
}

/* Tile t of `total` rows cut evenly into `tiles`: its first row. */
static inline int64_t tile_cut(int64_t total, int64_t tiles, int64_t t)
{
    return total * t / tiles;
}

static inline int64_t tile_count(int64_t total)
{
    return (total + TILE_ROWS - 1) / TILE_ROWS;
}

#endif
