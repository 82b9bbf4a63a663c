/* SPDX-License-Identifier: Apache-2.0 */
/* Small products for kernels that have products inside: recurrent cells, attention.
 *
 * One table of functions for each instruction set, all with the same bits: every element of C is one chain of fused
 * multiply-adds in ascending order of the reduction index, started from +0.0f, or from the value that C holds when
 * `accumulate` is set; calling twice with the halves of the reduction, the second with accumulate, gives the bits of
 * one call. In the arithmetic of tiles (tiles.h) both operands are rounded to bfloat16, each element is a sum in
 * blocks, started likewise, and a reduction may be halved at whole blocks. No threads, no heap, at most 200 KiB of
 * stack; meant for operands that fit the second-level cache. C may not overlap A or B. Extents may be 0 (k = 0 clears
 * C, or leaves it with accumulate).
 */
#ifndef ARTEL_KERNEL_MICRO_H
#define ARTEL_KERNEL_MICRO_H

#include "kernel/product.h"

typedef struct artel__gemm {
    int64_t m, n, k;
    const float *a;
    int64_t lda; /* row strides in floats */
    const float *b;
    int64_t ldb;
    float *c;
    int64_t ldc;
    bool accumulate;
} artel__gemm;

typedef void artel__gemm_fn(const artel__gemm *gemm);

typedef struct artel__micro {
    artel__gemm_fn *panels; /* C[i][j] (+)= A[i][k] * W[k][j], b = panels(k, n), ldb unused */
    artel__gemm_fn *nn;     /* C[i][j] (+)= A[i][k] * B[k][j], both row-major */
    artel__gemm_fn *nt;     /* C[i][j] (+)= A[i][k] * B[j][k] */
    artel__gemm_fn *tn;     /* C[i][j] (+)= A[k][i] * B[k][j] */
    /* For panels that many products meet: put into the form of the multiplier once. NULL where they are in that form
     * already. */
    size_t (*packed_bytes)(int64_t k, int64_t n);                      /* a multiple of 64 */
    void (*pack)(const float *panels, int64_t k, int64_t n, void *to); /* `to` lies on 64 bytes */
    artel__gemm_fn *packed;                                            /* as panels, b being what pack made */
} artel__micro;

/* The table for an instruction set and an arithmetic; never NULL. */
const artel__micro *artel__micro_for(artel__isa isa, artel__arithmetic arithmetic);

#endif
