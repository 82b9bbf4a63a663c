/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of float64: what graphs compute with in that type, each written once, without instruction sets.
 *
 * The parameters mean what those of the float32 kernel of the same name do (kernel/elementwise.h, reduce.h, gather.h),
 * sums have the same order, and each element is one fixed sequence of IEEE operations, without fused multiply-adds;
 * functions are those of kernel/wide/real.h.
 */
#ifndef ARTEL_KERNEL_WIDE_H
#define ARTEL_KERNEL_WIDE_H

#include "kernel/gather.h"
#include "kernel/optimize.h"
#include "kernel/reduce.h"

typedef struct artel__wide_unary {
    artel__unary op;
    int64_t count;
    const double *x;
    double *y;
    double a, b, c;
} artel__wide_unary;

/* v: x or y, whichever the row of unary.list reads; NULL where neither. */
typedef struct artel__wide_unary_gradient {
    artel__unary op;
    int64_t count;
    const double *v, *dy;
    double *dx;
    double a, b, c;
} artel__wide_unary_gradient;

typedef struct artel__wide_binary {
    artel__binary op;
    artel__loop loop;
    const double *a, *b;
    double *out;
} artel__wide_binary;

typedef struct artel__wide_binary_gradient {
    artel__binary op;
    int wrt;
    artel__loop loop;
    const double *a, *b, *dout;
    double *gradient;
} artel__wide_binary_gradient;

typedef struct artel__wide_select {
    artel__loop loop;
    const uint8_t *condition;
    const double *a, *b;
    double *out;
} artel__wide_select;

typedef struct artel__wide_reduce {
    artel__reduction op;
    int rank;
    int64_t dim[ARTEL__LOOP_RANK];
    bool reduced[ARTEL__LOOP_RANK];
    const double *x;
    double *y;
} artel__wide_reduce;

typedef struct artel__wide_reduce_gradient {
    artel__reduction op;
    int rank;
    int64_t dim[ARTEL__LOOP_RANK];
    bool reduced[ARTEL__LOOP_RANK];
    const double *x, *y, *dy;
    double *dx;
} artel__wide_reduce_gradient;

typedef struct artel__wide_order {
    int64_t outer, length; /* length < 2^31 */
    const double *x;
    int32_t *y;
} artel__wide_order;

typedef struct artel__wide_take_gradient {
    artel__take as; /* x, y and fault are not read */
    const double *dy;
    double *dx;
} artel__wide_take_gradient;

/* y[o][l][i][j] = sum over r of a[o][l][i][r] * b[o][l][j][r]: a chain of products and sums in the order of r, from +0.
 * A stride of 0 gives all of `outer` the same matrices. Tasks: lines of the result. */
typedef struct artel__wide_product {
    int64_t outer, lead, rows, columns, inner;
    int64_t a_stride, b_stride; /* elements from one of `outer` to the next */
    const double *a, *b;
    double *y;
} artel__wide_product;

/* dw[l][j][r] = fold over the rows of sum over i of dy[row][l][i][j] * x[row][l][i][r]: the sum of a row is a chain in
 * the order of i from +0, those of rows are added as kernel/reduce.h says. Tasks: lines of one node's result. */
typedef struct artel__wide_weight_gradient {
    const artel__fold_plan *fold;
    int64_t lead, rows, columns, inner; /* of dy [lead][rows][columns], x [lead][rows][inner] */
    const double *dy, *x;
    double *dw;
} artel__wide_weight_gradient;

/* y[row][i] = table[index[row][i]], table [extent][width]. Tasks: rows. */
typedef struct artel__wide_lookup {
    int64_t rows, picks, extent, width;
    const double *table;
    const int32_t *index;
    double *y;
    artel__fault_slot fault;
} artel__wide_lookup;

/* dtable[k] = fold over the rows of the sum over i with index[row][i] = k of dy[row][i]. Tasks: nodes. */
typedef struct artel__wide_lookup_gradient {
    const artel__fold_plan *fold;
    int64_t picks, extent, width;
    const int32_t *index;
    const double *dy;
    double *dtable;
} artel__wide_lookup_gradient;

/* out[row][i] = scale / d * weight, see kernel/seed.h; nothing is rounded on the way. */
typedef struct artel__wide_seed {
    int64_t rows, inner, weight_inner;
    const double *weight, *denominator;
    double count, scale;
    double *out;
} artel__wide_seed;

/* An optimizer's step on one variable: kernel/optimize.h says what they mean. */
typedef struct artel__wide_apply {
    artel__rule rule;
    int64_t count;
    double *variable;
    const double *gradient, *squares;
    double *slot[ARTEL__APPLY_SLOTS];
    artel__clip clip;
    double clip_a, clip_b;
    bool has_momentum, nesterov, centered, amsgrad, sizes;
    artel_dtype held; /* FLOAT32: nothing is rounded */
    double rate, decay;
    double scalar[8];
} artel__wide_apply;

void artel__wide_apply_prepare(artel__wide_apply *apply, const artel__apply_options *options, double rate,
                               int64_t iteration, double u_product);
/* artel__nadam_product, of doubles: there Keras rounds neither beta_1 nor 0.96. */
double artel__wide_nadam_product(double u_product, double beta_1, int64_t iteration);
/* artel__clip_by_global_norm, of doubles. */
double artel__wide_clip_factor(double squared_norm, double clipnorm);

typedef struct artel__wide_flat {
    artel__flat_op op;
    int64_t count;
    const double *x;
    double *y;
    double a, b;
} artel__wide_flat;

/* The greatest of the rows of each node of a fold (op/fold_max.c). Tasks: nodes. */
typedef struct artel__wide_fold_max {
    const artel__fold_plan *fold;
    int64_t columns;
    const double *x;
    double *y;
} artel__wide_fold_max;

extern const artel__kernel *const artel__wide_unary_kernels[];
extern const artel__kernel *const artel__wide_unary_gradient_kernels[];
extern const artel__kernel *const artel__wide_binary_kernels[];
extern const artel__kernel *const artel__wide_binary_gradient_kernels[];
extern const artel__kernel *const artel__wide_select_kernels[];
extern const artel__kernel *const artel__long_select_kernels[]; /* of int64, in the places of the float64 elements */
extern const artel__kernel *const artel__wide_reduce_kernels[];
extern const artel__kernel *const artel__wide_reduce_gradient_kernels[];
extern const artel__kernel *const artel__wide_order_kernels[];
extern const artel__kernel *const artel__wide_take_gradient_kernels[];
extern const artel__kernel *const artel__wide_product_kernels[];
extern const artel__kernel *const artel__wide_fold_max_kernels[];
extern const artel__kernel *const artel__wide_weight_gradient_kernels[];
extern const artel__kernel *const artel__wide_lookup_kernels[];
extern const artel__kernel *const artel__wide_lookup_gradient_kernels[];
extern const artel__kernel *const artel__wide_seed_kernels[];
extern const artel__kernel *const artel__wide_apply_kernels[];
extern const artel__kernel *const artel__wide_flat_kernels[];
/* With the parameters of kernel/matrix.h, kernel/decompose.h and kernel/pairs.h. */
extern const artel__kernel *const artel__wide_pairs_forward_kernels[];
extern const artel__kernel *const artel__wide_pairs_gradient_kernels[];
extern const artel__kernel *const artel__wide_matrix_kernels[];
extern const artel__kernel *const artel__wide_decompose_kernels[];
extern const artel__kernel *const artel__wide_decompose_gradient_kernels[];

#endif
