/* SPDX-License-Identifier: Apache-2.0 */
/* The small products of kernel/micro.h in plain C, one element at a time. */
#include "kernel/micro.h"

#include "kernel/narrow.h"
#include "kernel/simd/micro_tables.h"
#include "kernel/tiles.h"

static float chain(const artel__gemm *g, int64_t i, int64_t j, const float *a, int64_t sa, const float *b, int64_t sb)
{
    float acc = g->accumulate ? g->c[i * g->ldc + j] : 0.0f;
    for (int64_t k = 0; k < g->k; k++) acc = __builtin_fmaf(a[k * sa], b[k * sb], acc);
    return acc;
}

static float blocks(const artel__gemm *g, int64_t i, int64_t j, const float *a, int64_t sa, const float *b, int64_t sb)
{
    artel__terms sum = {.arithmetic = ARTEL__ARITHMETIC_TILES, .acc = g->accumulate ? g->c[i * g->ldc + j] : 0.0f};
    for (int64_t k = 0; k < g->k; k++)
        artel__terms_add(&sum, artel__narrow_one(ARTEL_DTYPE_BFLOAT16, a[k * sa]),
                         artel__narrow_one(ARTEL_DTYPE_BFLOAT16, b[k * sb]));
    return artel__terms_end(&sum);
}

/* How the terms of one element are added. */
typedef float sum_fn(const artel__gemm *g, int64_t i, int64_t j, const float *a, int64_t sa, const float *b,
                     int64_t sb);

static void panels_by(const artel__gemm *g, sum_fn *sum)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            const float *b = g->b + artel__panels_offset(g->k, g->n, 0, j);
            g->c[i * g->ldc + j] = sum(g, i, j, g->a + i * g->lda, 1, b, artel__panel_width(g->n, j / ARTEL__PANEL));
        }
    }
}

static void nn_by(const artel__gemm *g, sum_fn *sum)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) g->c[i * g->ldc + j] = sum(g, i, j, g->a + i * g->lda, 1, g->b + j, g->ldb);
    }
}

static void nt_by(const artel__gemm *g, sum_fn *sum)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++)
            g->c[i * g->ldc + j] = sum(g, i, j, g->a + i * g->lda, 1, g->b + j * g->ldb, 1);
    }
}

static void tn_by(const artel__gemm *g, sum_fn *sum)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) g->c[i * g->ldc + j] = sum(g, i, j, g->a + i, g->lda, g->b + j, g->ldb);
    }
}

static void panels(const artel__gemm *g)
{
    panels_by(g, chain);
}

static void panels_blocks(const artel__gemm *g)
{
    panels_by(g, blocks);
}

static void nn(const artel__gemm *g)
{
    nn_by(g, chain);
}

static void nn_blocks(const artel__gemm *g)
{
    nn_by(g, blocks);
}

static void nt(const artel__gemm *g)
{
    nt_by(g, chain);
}

static void nt_blocks(const artel__gemm *g)
{
    nt_by(g, blocks);
}

static void tn(const artel__gemm *g)
{
    tn_by(g, chain);
}

static void tn_blocks(const artel__gemm *g)
{
    tn_by(g, blocks);
}

const artel__micro artel__micro_ref = {panels, nn, nt, tn, NULL, NULL, NULL};
const artel__micro artel__micro_tiles_ref = {panels_blocks, nn_blocks, nt_blocks, tn_blocks, NULL, NULL, NULL};
