/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions over one axis: softmax, log_softmax, sparsemax, glu.
 *
 * x is seen as [outer][length][inner] and the axis is the middle one. Orders of sums: inner == 1: 16 lanes and a tree,
 * as in reduce.h; otherwise one chain in order for each (outer, inner). softmax      m = max x;  e = exp(x - m);  y = e
 * * (1 / sum e) log_softmax  y = (x - m) - log(sum e) sparsemax    z = x sorted downwards, s = its running sums,
 * support: z_k > (s_k - 1) / k, K positions; tau = (sum over the support of s - 1) / K;  y = max(x - tau, 0). That is
 * keras.ops.sparsemax of Keras 3.15, which sums the running sums and so is not the sparsemax of Martins and Astudillo
 * (2016) unless K is 1. Gradients: softmax dx = (dy - sum(dy * y)) * y;  log_softmax dx = dy - exp(y) * sum(dy);
 *   sparsemax dx = (y > 0 ? dy : 0) - (rank <= K ? sum of dy where y > 0 times (K - rank + 1) / K : 0), rank 1 being
 * the largest x.
 */
#ifndef ARTEL_KERNEL_SOFTMAX_H
#define ARTEL_KERNEL_SOFTMAX_H

#include "kernel/kernel.h"

typedef enum artel__softmax_op {
    ARTEL__SOFTMAX,
    ARTEL__LOG_SOFTMAX,
    ARTEL__SPARSEMAX
} artel__softmax_op;

/* y may be x. Tasks: outer indices. */
typedef struct artel__softmax_forward {
    artel__softmax_op op;
    int64_t outer, length, inner;
    const float *x;
    float *y;
} artel__softmax_forward;

/* dx may be dy. */
typedef struct artel__softmax_gradient {
    artel__softmax_op op;
    int64_t outer, length, inner;
    const float *y, *dy;
    float *dx;
    const float *x; /* read by SPARSEMAX only, and needed there: without it the true sparsemax's gradient, dy - mean of
                       dy over y > 0 */
} artel__softmax_gradient;

/* x [outer][2 * length][inner]: y [outer][length][inner] = first half * sigmoid(second half). */
typedef struct artel__glu_forward {
    int64_t outer, length, inner;
    const float *x;
    float *y;
} artel__glu_forward;

typedef struct artel__glu_gradient {
    int64_t outer, length, inner;
    const float *x, *dy;
    float *dx; /* [outer][2 * length][inner] */
} artel__glu_gradient;

extern const artel__kernel *const artel__softmax_forward_kernels[];
extern const artel__kernel *const artel__softmax_gradient_kernels[];
extern const artel__kernel *const artel__glu_forward_kernels[];
extern const artel__kernel *const artel__glu_gradient_kernels[];

#endif
