/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of recurrent cells are made of: activations over rows, and products with parts of the weights.
 * Included by recurrent_body.h behind simd.h. */
#ifndef ARTEL_KERNEL_SIMD_RECURRENT_GATES_H
#define ARTEL_KERNEL_SIMD_RECURRENT_GATES_H

#include <string.h>

#include "kernel/math.h"
#include "kernel/micro.h"
#include "kernel/recurrent.h"

typedef artel__cell_activation activation;

/* -- activations over arrays -- */

static void activate(const activation *a, int64_t n, const float *x, float *y)
{
    if (a->function == ARTEL__UNARY_TANH) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = artel__tanhf(x[i]);
    } else if (a->function == ARTEL__UNARY_SIGMOID) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = artel__sigmoidf(x[i]);
    } else {
        artel__unary_forward p = {.op = a->function,
                                  .count = n,
                                  .x = x,
                                  .y = y,
                                  .a = a->parameter[0],
                                  .b = a->parameter[1],
                                  .c = a->parameter[2]};
        const artel__kernel *kernel = artel__kernel_choose(artel__unary_forward_kernels, ARTEL__SIMD_ISA, &p);
        kernel->run(&p, 0, kernel->tasks(&p), NULL);
    }
}

/* dx = dy f', from y, or from x where the gradient reads that; dx may be dy. */
static void slope(const activation *a, int64_t n, const float *kept, const float *dy, float *dx)
{
    if (a->function == ARTEL__UNARY_TANH) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * (1.0f - kept[i] * kept[i]);
    } else if (a->function == ARTEL__UNARY_SIGMOID) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * (kept[i] * (1.0f - kept[i]));
    } else {
        artel__unary_gradient p = {.op = a->function,
                                   .count = n,
                                   .x = kept,
                                   .y = kept,
                                   .dy = dy,
                                   .dx = dx,
                                   .a = a->parameter[0],
                                   .b = a->parameter[1],
                                   .c = a->parameter[2]};
        const artel__kernel *kernel = artel__kernel_choose(artel__unary_gradient_kernels, ARTEL__SIMD_ISA, &p);
        kernel->run(&p, 0, kernel->tasks(&p), NULL);
    }
}

static bool keeps_argument(const activation *a)
{
    return artel__unary_table[a->function].reads == ARTEL__READS_X;
}

/* The values of a gate whose arguments are in z: in z itself, or in `room` where the arguments are what is kept. */
static const float *gate(const activation *a, int64_t n, float *z, float *room)
{
    float *to = keeps_argument(a) ? room : z;
    activate(a, n, z, to);
    return to;
}

/* The same from what was kept. */
static const float *gate_again(const activation *a, int64_t n, const float *kept, float *room)
{
    if (!keeps_argument(a)) return kept;
    activate(a, n, kept, room);
    return room;
}

/* -- products with a range of the rows or columns of panels(K, N) -- */

/* Floats that the weights take once more, packed for products; 0: they are met as they are. */
static int64_t packed_floats(const artel__micro *micro, int64_t k, int64_t n)
{
    return micro->pack ? (int64_t)(micro->packed_bytes(k, n) / sizeof(float)) : 0;
}

/* C (+)= A W; `packed`: W, packed, where the table packs. */
static void times_all(const artel__micro *micro, const artel__gemm *whole, const float *packed)
{
    artel__gemm g = *whole;
    if (!micro->pack) {
        micro->panels(whole);
        return;
    }
    g.b = packed;
    micro->packed(&g);
}

/* C (+)= A W[from .. from + k), all columns. */
static void times_rows(const artel__micro *micro, const artel__gemm *whole, int64_t from, int64_t rows)
{
    for (int64_t p = 0; p < artel__panel_count(whole->n); p++) {
        artel__gemm g = *whole;
        g.n = artel__panel_width(whole->n, p);
        g.b = whole->b + p * ARTEL__PANEL * rows + from * g.n;
        if (g.n > whole->n - p * ARTEL__PANEL) g.n = whole->n - p * ARTEL__PANEL;
        g.c = whole->c + p * ARTEL__PANEL;
        micro->panels(&g);
    }
}

/* C (+)= A W in columns [from .. from + columns) alone; `room` holds m panels' rows. */
static void times_columns(const artel__micro *micro, const artel__gemm *whole, int64_t from, int64_t columns,
                          float *room)
{
    for (int64_t p = from / ARTEL__PANEL; p * ARTEL__PANEL < from + columns; p++) {
        int64_t start = p * ARTEL__PANEL, width = artel__panel_width(whole->n, p), real = whole->n - start;
        int64_t first = from > start ? from - start : 0, end = from + columns - start;
        artel__gemm g = *whole;
        if (real > width) real = width;
        if (end > real) end = real;
        g.n = real;
        g.b = whole->b + start * whole->k;
        g.c = room;
        g.ldc = ARTEL__PANEL;
        for (int64_t r = 0; r < g.m; r++) {
            const float *c = whole->c + r * whole->ldc + start;
            memset(room + r * ARTEL__PANEL, 0, ARTEL__PANEL * sizeof *room);
            if (g.accumulate) memcpy(room + r * ARTEL__PANEL + first, c + first, (size_t)(end - first) * sizeof *room);
        }
        micro->panels(&g);
        for (int64_t r = 0; r < g.m; r++)
            memcpy(whole->c + r * whole->ldc + start + first, room + r * ARTEL__PANEL + first,
                   (size_t)(end - first) * sizeof *room);
    }
}

/* The factors of some rows: m rows of [gates][u]. */
typedef struct keep_block {
    const float *keep;
    int64_t m, gates, u;
} keep_block;

/* to = from, m rows of u, times the factors of one gate; `to` may be `from`. */
static void keep_rows(const keep_block *block, int64_t gate, const float *from, int64_t lda, float *to)
{
    for (int64_t r = 0; r < block->m; r++) {
        const float *k = block->keep + (r * block->gates + gate) * block->u, *x = from + r * lda;
        float *y = to + r * block->u;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < block->u; i++) y[i] = x[i] * k[i];
    }
}

#endif
