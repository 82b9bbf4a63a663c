/* SPDX-License-Identifier: Apache-2.0 */
/* The small products of kernel/micro.h in plain C, one element at a time. */
#include "kernel/micro.h"

#include "kernel/simd/micro_tables.h"

static float chain(const artel__gemm *g, int64_t i, int64_t j, const float *a, int64_t sa, const float *b, int64_t sb)
{
    float acc = g->accumulate ? g->c[i * g->ldc + j] : 0.0f;
    for (int64_t k = 0; k < g->k; k++) acc = __builtin_fmaf(a[k * sa], b[k * sb], acc);
    return acc;
}

static void panels(const artel__gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            const float *b = g->b + artel__panels_offset(g->k, g->n, 0, j);
            g->c[i * g->ldc + j] = chain(g, i, j, g->a + i * g->lda, 1, b, artel__panel_width(g->n, j / ARTEL__PANEL));
        }
    }
}

static void nn(const artel__gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) g->c[i * g->ldc + j] = chain(g, i, j, g->a + i * g->lda, 1, g->b + j, g->ldb);
    }
}

static void nt(const artel__gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) g->c[i * g->ldc + j] = chain(g, i, j, g->a + i * g->lda, 1, g->b + j * g->ldb, 1);
    }
}

static void tn(const artel__gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) g->c[i * g->ldc + j] = chain(g, i, j, g->a + i, g->lda, g->b + j, g->ldb);
    }
}

const artel__micro artel__micro_ref = {panels, nn, nt, tn};
