/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: forward, packing of weights, weight gradient with the fold over shards in the tile.
 *
 * Weights W[K][N] live in panels: panel p holds columns 32p .. 32p+31 as [K][32] at float offset 32*K*p; the last one
 * is [K][16] when at most 16 columns remain, else [K][32]; columns past N are zero. The block of a weight matrix
 * starts on 64 bytes. Activations are plain row-major with a row stride in floats; they need no alignment.
 *
 * Every output element is one chain of fused multiply-adds in the order of the reduction index,
 *     acc = +0.0f;  for (k = 0; k < K; k++) acc = fmaf(a[k], b[k], acc);
 * then `+ bias` when there is one, then the activation. All kernels of a kind give these bits, whatever the split.
 * No buffer of a call may overlap another, reading the same input twice excepted.
 */
#ifndef ARTEL_KERNEL_PRODUCT_H
#define ARTEL_KERNEL_PRODUCT_H

#include "kernel/fold.h"
#include "kernel/kernel.h"

enum {
    ARTEL__PANEL = 32
};

static inline int64_t artel__panel_count(int64_t n)
{
    return (n + ARTEL__PANEL - 1) / ARTEL__PANEL;
}

/* Columns stored for panel p of N: 16 or 32. */
static inline int64_t artel__panel_width(int64_t n, int64_t p)
{
    return n - p * ARTEL__PANEL <= 16 ? 16 : ARTEL__PANEL;
}

/* Floats that panels(K, N) occupy; a multiple of 16. */
static inline int64_t artel__panels_floats(int64_t k, int64_t n)
{
    int64_t count = artel__panel_count(n);
    return count ? k * ((count - 1) * ARTEL__PANEL + artel__panel_width(n, count - 1)) : 0;
}

/* Where element (row, column) lies in panels(K, N). */
static inline int64_t artel__panels_offset(int64_t k, int64_t n, int64_t row, int64_t column)
{
    int64_t p = column / ARTEL__PANEL;
    return p * ARTEL__PANEL * k + row * artel__panel_width(n, p) + column % ARTEL__PANEL;
}

/* What is fused behind the bias. RELU is x < 0 ? +0.0f : x (so NaN passes and -0.0f stays). */
typedef enum artel__fused {
    ARTEL__FUSED_NONE,
    ARTEL__FUSED_RELU
} artel__fused;

/* product_forward: out[m][n] = activation(chain over k of a[m][k] * w[k][n] + bias[n]).
 * Zero extents are legal; with k = 0 the chain is +0.0f. Tasks: output tiles.
 * With `turned` the weights are given as their transpose and turned on the way: for data gradients of few rows, where a
 * pass that writes the transposed weights to memory would cost as much as the product. */
typedef struct artel__product_forward {
    int64_t m, n, k;
    const float *a; /* m rows */
    int64_t lda;
    const float *w;    /* panels(k, n); turned: panels(n, k) */
    const float *bias; /* n values, or NULL */
    artel__fused activation;
    float *out; /* m rows of n */
    int64_t ldo;
    bool turned;
    artel_dtype narrow;           /* the 16-bit type that results are rounded to last (narrow.h); FLOAT32: none */
    artel_dtype held;             /* BFLOAT16: a and w hold nothing else; FLOAT32: whatever they hold */
    artel__arithmetic arithmetic; /* TILES: held is BFLOAT16, and the chain is replaced by blocks (tiles.h) */
    bool a_half, out_half;        /* stored as bfloat16 (artel__kernel.halves): TILES only */
    bool w_raw;                   /* w is to be rounded to bfloat16 first (artel__kernel.halves): TILES only */
} artel__product_forward;

/* Where element (row, column) of the weights lies, both counted untransposed. */
static inline int64_t artel__product_weight(const artel__product_forward *p, int64_t row, int64_t column)
{
    return p->turned ? artel__panels_offset(p->n, p->k, column, row) : artel__panels_offset(p->k, p->n, row, column);
}

/* product_pack: moves weights between layouts; plain copies, every padding column written as +0.0f.
 * The matrix is seen as [taps][rows][columns], K = taps * rows, N = columns: a dense kernel has one tap, a convolution
 * kernel [kh][kw][ic][oc] has kh*kw taps of ic / groups rows.
 *   PLAIN_TO_PANELS   from [K][N] row-major, to panels(K, N)
 *   PANELS_TO_PLAIN   from panels(K, N), to [K][N] row-major
 *   TRANSPOSE         from panels(K, N), to panels(taps * (columns / groups), groups * rows): the operand of data
 * gradients. With T = taps, R = rows and C = columns / groups, element (t, c, g * R + r) of the result is element
 * (T-1-t, r, g * C + c) of the source: taps reversed, each group's block transposed. */
typedef enum artel__pack {
    ARTEL__PACK_PLAIN_TO_PANELS,
    ARTEL__PACK_PANELS_TO_PLAIN,
    ARTEL__PACK_TRANSPOSE
} artel__pack;

typedef struct artel__product_pack {
    artel__pack what;
    int64_t taps, rows, columns;
    int64_t groups; /* TRANSPOSE only; 1 for dense */
    const float *from;
    float *to;
} artel__product_pack;

/* Floats of the result of a TRANSPOSE. */
static inline int64_t artel__pack_transposed_floats(int64_t taps, int64_t rows, int64_t columns, int64_t groups)
{
    return artel__panels_floats(taps * (columns / groups), groups * rows);
}

/* product_weight_gradient: for each node of the fold plan a block dw = panels(k, n) (padding columns +0.0f) and, when
 * dbias is not NULL, dbias[n]. The leaf of a shard, over its rows r in ascending order (shard rows times `inner`):
 *     acc = +0.0f;  for r: acc = fmaf(x[r][k], dy[r][n], acc);  leaf = acc + 0.0f
 *     bias likewise with acc = acc + dy[r][n]
 * (an empty shard gives +0.0f); inner nodes of the tree are left + right. Node i goes to dw + i * dw_stride and
 * dbias + i * dbias_stride (floats). Rows are numbered from the first owned row. Tasks: output tiles. */
typedef struct artel__product_weight_gradient {
    const artel__fold_plan *fold;
    int64_t inner; /* rows of the product for each row of the batch */
    int64_t k, n;
    const float *x; /* fold->rows * inner rows of k */
    int64_t ldx;
    const float *dy; /* as many rows of n */
    int64_t ldy;
    float *dw;
    int64_t dw_stride;
    float *dbias; /* or NULL */
    int64_t dbias_stride;
    artel_dtype held;             /* BFLOAT16: x and dy hold nothing else; FLOAT32: whatever they hold */
    artel__consumer follow;       /* of dw */
    artel__arithmetic arithmetic; /* as in artel__product_forward; the sums for the bias stay chains */
    bool x_half, dy_half;         /* likewise */
} artel__product_weight_gradient;

extern const artel__kernel *const artel__product_forward_kernels[];
extern const artel__kernel *const artel__product_pack_kernels[];
extern const artel__kernel *const artel__product_weight_gradient_kernels[];

#endif
