/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation: batch (moments of the whole global batch) and layer.
 *
 * Batch normalisation, training, on x [rows][inner][channels]:
 *   1 batch_moments_rows    each row: float64 sums of x and x * x over `inner`, in order            -> part
 * [rows][2][channels] 2 batch_moments_fold    leaf: the rows' sums added in order, mean = S / n, M2 = max(Q - S * mean,
 * 0); inner nodes: moments.h
 *                                                                                       -> nodes [nodes][3][channels]
 *     (all-reduce of kind MOMENTS -> root [3][channels])
 *   3 batch_norm_finalize   mean, variance = M2 / n (biased), inverse = 1 / sqrt(variance + epsilon), rounded to
 * float32 4 batch_norm_forward    y = activation((x - mean) * (inverse * gamma) + beta + residual) Backward, with dy' =
 * dy where the activation passed and 0 elsewhere, xhat = (x - mean) * inverse (float32): 5 batch_norm_gradient_rows
 * each row: float64 sums of dy' and of (double)dy' * xhat over `inner`   -> part [rows][2][channels] fold_columns
 * (float64, inner 1, columns 2 * channels), all-reduce                             -> sums [2][channels]: dbeta, dgamma
 *   6 batch_norm_gradient        dx = (gamma * inverse) * (dy' - mean(dy') - xhat * mean(dy' * xhat))
 * Operands with a flag ..._half may be stored as bfloat16 (artel__kernel.halves).
 * Sums of float32 squares in float64 are exact to about 1e-16 of the mean square, so no shift is needed.
 */
#ifndef ARTEL_KERNEL_NORM_H
#define ARTEL_KERNEL_NORM_H

#include "kernel/fold.h"
#include "kernel/kernel.h"

/* What follows the normalisation in the same pass. */
typedef enum artel__norm_activation {
    ARTEL__NORM_LINEAR,
    ARTEL__NORM_RELU,
    ARTEL__NORM_RELU6
} artel__norm_activation;

/* Tasks: rows times tiles of channels. */
typedef struct artel__batch_moments_rows {
    int64_t rows, inner, channels;
    const float *x;
    double *part; /* [rows][2][channels] */
    bool x_half;
} artel__batch_moments_rows;

typedef struct artel__batch_moments_fold {
    const artel__fold_plan *fold;
    int64_t inner, channels;
    const double *part;
    double *nodes; /* [nodes][3][channels] */
} artel__batch_moments_fold;

/* Outputs may be NULL when not wanted. momentum: moving = moving * momentum + value * (1 - momentum), as Keras, when
 * the moving pointers are given. */
typedef struct artel__batch_norm_finalize {
    int64_t channels;
    double epsilon;
    const double *root; /* [3][channels] */
    float *mean, *variance, *inverse;
} artel__batch_norm_finalize;

/* moving_x = moving_x * momentum + x * (1 - momentum); 1 - momentum is rounded from float64. */
typedef struct artel__batch_norm_moving {
    int64_t channels;
    double momentum;
    const float *mean, *variance;
    float *moving_mean, *moving_variance;
} artel__batch_norm_moving;

/* inverse = 1 / sqrt(variance + epsilon), for inference from moving statistics. */
typedef struct artel__batch_norm_inverse {
    int64_t channels;
    float epsilon;
    const float *variance;
    float *inverse;
} artel__batch_norm_inverse;

/* y may be x or residual. Tasks: runs of positions. */
typedef struct artel__batch_norm_forward {
    int64_t positions, channels;                    /* rows * inner */
    const float *x, *mean, *inverse, *gamma, *beta; /* gamma, beta: NULL for 1, 0 */
    const float *residual;                          /* same shape as x, or NULL */
    artel__norm_activation activation;
    float *y;
    bool x_half, residual_half, y_half;
} artel__batch_norm_forward;

/* y: the forward result, read only with an activation. */
typedef struct artel__batch_norm_gradient_rows {
    int64_t rows, inner, channels;
    const float *x, *y, *dy, *mean, *inverse;
    artel__norm_activation activation;
    double *part; /* [rows][2][channels] */
    bool x_half, y_half, dy_half;
} artel__batch_norm_gradient_rows;

/* count: rows of the global batch times inner. sums NULL: frozen statistics, dx = (gamma * inverse) * dy'.
 * dx may be dy. dresidual (or NULL) receives dy' and may be dy when dx is not. */
typedef struct artel__batch_norm_gradient {
    int64_t positions, channels;
    double count;
    const float *x, *y, *dy, *mean, *inverse, *gamma;
    const double *sums; /* [2][channels] */
    artel__norm_activation activation;
    float *dx, *dresidual;
    bool x_half, y_half, dy_half, dx_half, dresidual_half;
} artel__batch_norm_gradient;

extern const artel__kernel *const artel__batch_moments_rows_kernels[];
extern const artel__kernel *const artel__batch_moments_fold_kernels[];
extern const artel__kernel *const artel__batch_norm_finalize_kernels[];
extern const artel__kernel *const artel__batch_norm_moving_kernels[];
extern const artel__kernel *const artel__batch_norm_inverse_kernels[];
extern const artel__kernel *const artel__batch_norm_forward_kernels[];
extern const artel__kernel *const artel__batch_norm_gradient_rows_kernels[];
extern const artel__kernel *const artel__batch_norm_gradient_kernels[];

/* Layer normalisation over the last `length` elements of each position. Sums: 16 lanes and a tree as in reduce.h; two
 * passes. LAYER      mean, variance = mean((x - mean)^2), inverse = 1 / sqrt(variance + epsilon); y = (x - mean) *
 * inverse * gamma + beta RMS        inverse = 1 / sqrt(mean(x * x) + epsilon); y = x * inverse * gamma           (keras
 * RMSNormalization) RMS_SCALED inverse as LAYER, y = x * inverse * gamma (LayerNormalization(rms_scaling=True), its
 * known quirk kept) UNIT       inverse = min(1 / sqrt(sum(x * x)), 1 / epsilon); y = x * inverse (UnitNormalization,
 * epsilon 1e-12) beta is added in every mode when given. */
typedef enum artel__layer_norm_mode {
    ARTEL__LAYER_NORM_LAYER,
    ARTEL__LAYER_NORM_RMS,
    ARTEL__LAYER_NORM_RMS_SCALED,
    ARTEL__LAYER_NORM_UNIT
} artel__layer_norm_mode;

/* mean (LAYER and RMS_SCALED, else written as 0) and inverse are saved for the gradient; both required. y may be x. */
typedef struct artel__layer_norm_forward {
    artel__layer_norm_mode mode;
    int64_t positions, length;
    float epsilon;
    const float *x, *gamma, *beta; /* gamma, beta [length] or NULL */
    float *y;
    float *mean, *inverse; /* [positions] */
    bool x_half, y_half;
} artel__layer_norm_forward;

/* dx may be dy. */
typedef struct artel__layer_norm_gradient {
    artel__layer_norm_mode mode;
    int64_t positions, length;
    float epsilon;
    const float *x, *dy, *mean, *inverse, *gamma;
    float *dx;
    bool x_half, dy_half, dx_half;
} artel__layer_norm_gradient;

/* For each node: dgamma = fold of sum(dy * xhat), dbeta = fold of sum(dy), each [length]; row sums over `inner`
 * positions first, then as fold_columns. xhat = (x - mean) * inverse (RMS, RMS_SCALED, UNIT: x * inverse). dgamma or
 * dbeta may be NULL. */
typedef struct artel__layer_norm_parameters {
    artel__layer_norm_mode mode;
    const artel__fold_plan *fold;
    int64_t inner, length;
    const float *x, *dy, *mean, *inverse;
    float *dgamma, *dbeta;
    int64_t stride; /* floats between the blocks of two nodes */
    bool x_half, dy_half;
} artel__layer_norm_parameters;

extern const artel__kernel *const artel__layer_norm_forward_kernels[];
extern const artel__kernel *const artel__layer_norm_gradient_kernels[];
extern const artel__kernel *const artel__layer_norm_parameters_kernels[];

#endif
