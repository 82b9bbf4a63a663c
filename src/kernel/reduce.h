/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions inside a row, and folds over the shards of a batch.
 *
 * Order of a reduction. Axes are merged first where neighbours are both kept or both reduced. When the last axis is
 * reduced, each contiguous run of it feeds 16 lanes (element i of the run goes to lane i % 16), runs follow one another
 * in row-major order into the same lanes, and the lanes are added as a tree: 8 apart, 4 apart, 2 apart, 1 apart. When
 * the last axis is kept, each output element is one sequential chain in row-major order. Chains start from +0.0f (sum,
 * mean), from 1 (prod) or from -inf or +inf (max, min; a NaN is passed on or not as it falls). The mean is the sum
 * divided by the count.
 *
 * Order of a fold: see fold.h; what a leaf does is said beside each struct.
 */
#ifndef ARTEL_KERNEL_REDUCE_H
#define ARTEL_KERNEL_REDUCE_H

#include "kernel/elementwise.h"
#include "kernel/fold.h"

typedef enum artel__reduction {
    ARTEL__REDUCE_SUM,
    ARTEL__REDUCE_MEAN,
    ARTEL__REDUCE_MAX,
    ARTEL__REDUCE_MIN,
    ARTEL__REDUCE_PROD
} artel__reduction;

/* y = reduction of x[dim...] over the axes marked; the batch is simply a kept first axis (or several). y is dense over
 * the kept axes. Tasks: runs of output elements. */
typedef struct artel__reduce {
    artel__reduction op;
    int rank;
    int64_t dim[ARTEL__LOOP_RANK];
    bool reduced[ARTEL__LOOP_RANK];
    const float *x;
    float *y;
    bool x_half, y_half; /* stored as bfloat16 (artel__kernel.halves) */
} artel__reduce;

/* dx, of the full shape: SUM dy; MEAN dy / n; MAX and MIN dy / ties where x == y, else 0 (TensorFlow shares a tie);
 * PROD dy times the product of the others. x and y are read by MAX, MIN and PROD only. This is also "broadcast dy
 * back". */
typedef struct artel__reduce_gradient {
    artel__reduction op;
    int rank;
    int64_t dim[ARTEL__LOOP_RANK];
    bool reduced[ARTEL__LOOP_RANK];
    const float *x, *y, *dy;
    float *dx;
    bool dy_half, dx_half;
} artel__reduce_gradient;

/* y[o][i] = index of the first maximum of x[o][.][i]; outer * length * inner elements. NaN is never a maximum. */
typedef struct artel__argmax {
    int64_t outer, length, inner;
    const float *x;
    int32_t *y;
} artel__argmax;

/* y[o] = 1 when element target[o] of the row x[o][0 .. length) is among its k largest, ties in its favour, else 0
 * (tf.math.in_top_k: a target out of range, or a value that is not finite, gives 0). */
typedef struct artel__in_top_k {
    int64_t outer, length;
    int32_t k;
    const float *x;
    const int32_t *target;
    float *y;
} artel__in_top_k;

extern const artel__kernel *const artel__reduce_kernels[];
extern const artel__kernel *const artel__reduce_gradient_kernels[];
extern const artel__kernel *const artel__argmax_kernels[];
extern const artel__kernel *const artel__in_top_k_kernels[];

/* Sums over rows: x [rows][inner][columns] -> for each node of the plan a block y[columns] (node k at y + k *
 * y_stride). Each row is summed first: s = 0; for i < inner: s += x[row][i][c]. Leaf of a shard: acc = 0; for its rows:
 * acc += s; leaf = acc + 0. So a caller may first reduce over `inner` (artel__reduce, last axis kept: the same chain)
 * and then fold with inner = 1: the same bits, more tasks. Conversions come first, sums are made in `to`. (from, to) is
 * one of (float32, float32), (float32, float64), (float64, float64), (int64, int64), (bool, int64), (int32, int64). The
 * gradient of anything broadcast from a GLOBAL value is this fold. Tasks: nodes times tiles of 16 columns. */
typedef struct artel__fold_columns {
    const artel__fold_plan *fold;
    artel_dtype from, to;
    int64_t inner, columns;
    const void *x;
    void *y;
    int64_t y_stride; /* elements */
} artel__fold_columns;

extern const artel__kernel *const artel__fold_columns_kernels[];

/* Values and weights in float64 in one pass: y[0] = fold of sum(value * weight), y[1] = fold of sum(weight) for each
 * node, over [rows][inner]; product in float64. weight NULL: 1; then y[1] is the count. weight_inner: 1 (one weight a
 * row) or inner. */
typedef struct artel__fold_weighted {
    const artel__fold_plan *fold;
    int64_t inner, weight_inner;
    const float *value, *weight;
    double *y; /* [nodes][2] */
} artel__fold_weighted;

extern const artel__kernel *const artel__fold_weighted_kernels[];

#endif
